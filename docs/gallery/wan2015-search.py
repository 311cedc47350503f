"""Lattice-based search against the optimum: Adult records in Tennessee."""

import reidsim

result = reidsim.run(
    "wan2015-search",
    overrides={
        "sweep.values": {
            "economics.benefit": {"from": 50, "to": 2000, "points": 14},
            "economics.loss": {"from": 50, "to": 2000, "points": 14},
        }
    },
)
figure = result.plot("search-deviation")
figure.savefig("wan2015-search.png")

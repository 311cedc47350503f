"""Payoffs while one payoff parameter changes: Adult records in Tennessee."""

import reidsim

result = reidsim.run(
    "wan2015-sweep",
    overrides={
        "publisher.policies": ["safe-harbor", "basic", "no-attack"],
        "sweep.values": {
            "economics.benefit": {"from": 50, "to": 2000, "points": 7},
            "economics.loss": {"from": 50, "to": 2000, "points": 7},
            "economics.cost": {"from": 0, "to": 200, "points": 11},
        },
    },
)
figure = result.plot("sweep-lines")
figure.savefig("wan2015-sweep.png")

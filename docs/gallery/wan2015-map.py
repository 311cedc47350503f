"""The basic game over benefit and loss: Adult records in Tennessee."""

import reidsim

result = reidsim.run(
    "wan2015-map",
    overrides={
        "sweep.values": {
            "economics.benefit": {"from": 30, "to": 1500, "points": 15},
            "economics.loss": {"from": 25, "to": 25000, "points": 16, "scale": "log"},
        }
    },
)
figure = result.plot("sweep-map")
figure.savefig("wan2015-map.png")

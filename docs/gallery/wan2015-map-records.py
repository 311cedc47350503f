"""The basic game over benefit and loss: two people in Tennessee."""

import reidsim

result = reidsim.run(
    "wan2015-map-records",
    overrides={
        "sweep.values": {
            "economics.benefit": {"from": 30, "to": 1500, "points": 15},
            "economics.loss": {"from": 25, "to": 25000, "points": 16, "scale": "log"},
            "release.path": [
                "bundled:wan2015-map-records/black-man-19.csv",
                "bundled:wan2015-map-records/white-woman-62.csv",
            ],
        }
    },
)
figure = result.plot("sweep-map-1")
figure.savefig("wan2015-map-records.png")

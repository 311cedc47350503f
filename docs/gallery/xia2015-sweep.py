"""Deterrents of a sequential attack: Adult records against North Carolina's voter list."""

import reidsim

result = reidsim.run(
    "xia2015-sweep",
    overrides={
        "sweep.values": {
            "adversary.sequential.max_penalties": [100, 1, 100],
            "adversary.sequential.detection_slope": [0.0, 0.0, 0.18],
            "adversary.sequential.access_cost": {"from": 0, "to": 500, "points": 11},
            "economics.cost": {"from": 0, "to": 100, "points": 11},
            "adversary.sequential.penalty": {"from": 0, "to": 50000, "points": 11},
            "adversary.sequential.detection_intercept": {"from": -6.9068, "to": -2.1972, "points": 11},
        }
    },
)
figure = result.plot("attack-thresholds")
figure.savefig("xia2015-sweep.png")

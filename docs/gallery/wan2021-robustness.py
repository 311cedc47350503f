"""Robustness of the masking game to what subjects believe."""

import reidsim

result = reidsim.run(
    "wan2021-robustness",
    overrides={
        "population.recipe": "ystr-genealogy-small",
        "targets.size": 100,
        "resources.registry.size": 2000,
        "resources.genealogy.size": 2000,
        "replications": 5,
        "beliefs.sizes": {},
        "sweep": {"values": {"beliefs.cost": [10.0, 30.0], "economics.cost": [0.0, 10.0, 20.0, 30.0, 40.0]}},
    },
)
figure = result.plot("lines-payoff")
figure.savefig("wan2021-robustness.png")

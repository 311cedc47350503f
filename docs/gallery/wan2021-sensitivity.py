"""Sensitivity of the masking game to its parameters and settings."""

import reidsim

result = reidsim.run(
    "wan2021-sensitivity",
    overrides={
        "population.recipe": "ystr-genealogy-small",
        "targets.size": 100,
        "resources.registry.size": 2000,
        "resources.genealogy.size": 2000,
        "replications": 5,
        "sweep": {"values": {"economics.loss": [0.0, 100.0, 200.0, 300.0, 400.0]}},
    },
)
figure = result.plot("lines-payoff")
figure.savefig("wan2021-sensitivity.png")

"""What mistaken subjects lose: masking game against a multistage attack."""

import reidsim

result = reidsim.stress(
    "wan2021-stress",
    overrides={
        "population.recipe": "ystr-genealogy-small",
        "targets.size": 100,
        "resources.registry.size": 2000,
        "resources.genealogy.size": 2000,
        "replications": 1,
        "stress": {
            "outputs": ["publisher_payoff"],
            "beliefs": [{"key": "economics.cost", "true": [0.0, 10.0, 20.0, 30.0, 40.0], "believed": [10.0, 30.0]}],
        },
    },
)
figure = result.plot("beliefs-1")
figure.savefig("wan2021-stress.png")

"""Settings of the masking game: one strategy for all, weights, support of majorities."""

import reidsim

result = reidsim.run(
    "wan2021-settings",
    overrides={
        "population.recipe": "ystr-genealogy-small",
        "targets.size": 50,
        "resources.registry.size": 2000,
        "resources.genealogy.size": 2000,
        "replications": 5,
        "sweep.values": {"subjects.weights": ["entropy", "uniform"], "subjects.minority_support": [-2.0, 0.0, 2.0]},
    },
)
figure = result.plot("lines-fairness")
figure.savefig("wan2021-settings.png")

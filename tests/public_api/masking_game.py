"""Choose the released attributes of a genomic record, from tables in memory."""

import numpy as np
import pandas as pd

import reidsim

rng = np.random.default_rng(2)
rates = pd.DataFrame({"locus": ["DYS393", "DYS390", "DYS391"], "mutation_rate": [0.00076, 0.00311, 0.00265]})
men = pd.DataFrame({name: rng.integers(10, 16, 200) for name in rates["locus"]}).assign(
    surname=rng.integers(0, 40, 200)
)
registry = pd.DataFrame({"age": rng.integers(20, 80, 200), "state": rng.integers(0, 5, 200), "surname": men["surname"]})
resources = {"genealogy": {"file": men, "attributes": list(men)}, "registry": {"file": registry, "holds": "targets"}}
resources["registry"]["attributes"] = linked = ["age", "state", "surname"]
first = {"stage": "infer-surname", "resource": "genealogy", "mutation_rates": rates}

scenario = reidsim.Scenario.from_frames(
    pd.concat([registry[["age", "state"]], men], axis=1).head(12), game="masking", resources=resources,
    subjects={"attributes": ["age", "state", *rates["locus"]], "weights": "uniform"},
    adversary={"stages": [first, {"stage": "identify", "resource": "registry", "on": linked}]},
    economics={"benefit": 100, "loss": 150, "cost": 10}, policies=["no-protection", "masking", "no-attack-masking"],
)  # fmt: skip
records = scenario.run().records.set_index(["policy", "record"])
print(records["publisher_payoff"].groupby("policy", observed=True).mean().round(2))

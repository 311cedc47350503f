"""Choose the released attributes of a genomic record, from arrays."""

import numpy as np
import pandas as pd

import reidsim

rng = np.random.default_rng(2)
loci = {"DYS393": 0.00076, "DYS390": 0.00311, "DYS391": 0.00265}
men = pd.DataFrame({name: rng.integers(10, 16, 200) for name in loci}).assign(surname=rng.integers(0, 40, 200))
registry = pd.DataFrame({"age": rng.integers(20, 80, 200), "state": rng.integers(0, 5, 200), "surname": men["surname"]})
targets = pd.concat([registry[["age", "state"]], men], axis=1).head(12)

game = reidsim.masking_game(targets, men, registry, mutation_rates=loci, gain=150, cost=10, benefit=100, loss=150)
outcomes = reidsim.solve_masking(game, ["no-protection", "masking", "no-attack-masking"])
print(pd.DataFrame({policy: outcome.publisher_payoff for policy, outcome in outcomes.items()}).mean().round(2))

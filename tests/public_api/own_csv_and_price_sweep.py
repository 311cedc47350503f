"""Load CSV files, and compute the publisher's payoff at other parameters."""

import numpy as np
import pandas as pd

import reidsim

rng = np.random.default_rng(7)
people = pd.DataFrame({"age": rng.integers(20, 60, 900), "sex": rng.choice(["F", "M"], 900)})
people.to_csv("people.csv", index=False)
people.sample(80, random_state=1).to_csv("patients.csv", index=False)

scenario = reidsim.Scenario.from_frames(
    "patients.csv",
    population=reidsim.Population.from_frame(pd.read_csv("people.csv")),
    hierarchies={"age": reidsim.intervals(5, 20), "sex": "suppress"},
    economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 4},
)
result = scenario.sweep(loss=range(0, 500, 100), cost=[2, 4])
result.plot().savefig("prices.png")
payoffs = result.summary["publisher_payoff"].unstack("policy")
print(payoffs.round(2).to_string())

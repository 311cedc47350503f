"""A ward of ninety people, forty of whom are in the release, with one form for all."""

import numpy as np
import pandas as pd

SCENARIO = """
[adversary]
risk = "prosecutor"
[population]
path = "people.csv"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
cost = 10
[publisher]
unit = "table"
safe_class = "above"
policies = POLICIES
MORE"""
POLICIES = (
    "basic", "no-attack", "sh-friendly", "local-recoding", "local-recoding-no-attack", "record-level",
    "record-level-no-attack", "safe-harbor", "no-protection", "suppress-all", "multi-dimensional",
    "multi-dimensional-no-attack",
)  # fmt: skip
SAFE_HARBOR = '[safe_harbor]\nage = "age"\n'


def write_ward(folder, policies=POLICIES, more=SAFE_HARBOR + "[figures.nodes]\ntop = 4\n"):
    """Write the files of the ward; return the path of the scenario."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "age": np.minimum(20 + rng.geometric(0.12, 90), 59),
            "sex": rng.choice(["F", "M"], 90),
            "village": rng.choice(["Dale", "Hill", "Ford"], 90, p=[0.6, 0.3, 0.1]),
            "worth": rng.choice([50, 100], 90),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    people.head(40).to_csv(folder / "records.csv", index=False)
    text = SCENARIO.replace("POLICIES", str(list(policies))).replace("MORE", more)
    (folder / "ward.toml").write_text(text, encoding="utf-8")
    return folder / "ward.toml"

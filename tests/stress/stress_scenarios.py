"""A small town with uncertain payoff parameters, shared by the stress tests."""

from pathlib import Path

PEOPLE = "age,sex\n" + "".join(
    f"{age},{sex}\n" for age, sex, n in (
        (30, "F", 4), (30, "M", 2), (31, "F", 1), (31, "M", 3), (40, "F", 6), (40, "M", 1), (41, "F", 2), (41, "M", 12),
    ) for _ in range(n)
)  # fmt: skip
RECORDS = "age,sex\n30,F\n30,F\n31,F\n40,M\n41,M\n41,F\n40,F\n"
TOWN = """
title = "A small town"
seed = 4
[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 12
[publisher]
policies = ["no-protection", "basic", "no-attack", "suppress-all"]
"""
UNCERTAIN = """
[uncertainty]
samples = 12
[uncertainty.parameters]
"economics.benefit" = { distribution = "uniform", low = 20, high = 200 }
"economics.loss" = { distribution = "uniform", low = 10, high = 120 }
"economics.cost" = { distribution = "uniform", low = 2, high = 40 }
"""


def write_town(folder, more=UNCERTAIN, text=TOWN):
    """Write the town's files into a folder; return the scenario's path."""
    folder = Path(folder)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "people.toml").write_text('kind = "counts"\nfile = "people.csv"\n[columns]\nage = "age"\nsex = "sex"\n')
    (folder / "records.csv").write_text(RECORDS)
    path = folder / "town.toml"
    path.write_text(text + more)
    return path

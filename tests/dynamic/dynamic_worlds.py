"""Small scenario files of cases over time."""

from collections import Counter
from pathlib import Path

import plain_dynamic as plain

from reidsim.kinds.dynamic.kind import DYNAMIC
from reidsim.scenarios.scenario import Scenario

PEOPLE = {
    ("20", "F", "North"): 40, ("20", "M", "North"): 35, ("30", "F", "North"): 9, ("30", "M", "North"): 3,
    ("40", "F", "North"): 1, ("40", "M", "North"): 6, ("20", "F", "South"): 12, ("20", "M", "South"): 2,
    ("30", "F", "South"): 4, ("30", "M", "South"): 21, ("40", "F", "South"): 2, ("40", "M", "South"): 16,
}  # fmt: skip
# Voters: half of each kind of person, and none of some kinds.
VOTERS = {person: n // 2 for person, n in PEOPLE.items() if n // 2}
CASES = [
    (2, ("20", "F", "North")), (2, ("30", "M", "South")), (10, ("40", "F", "North")), (2, ("20", "F", "North")),
    (10, ("20", "F", "North")), (10, ("20", "M", "South")), (1, ("40", "M", "South")), (10, ("30", "M", "South")),
    (10, ("30", "M", "South")), (1, ("30", "M", "North")),
]  # fmt: skip
SCENARIO = """
game = "dynamic"
title = "Ten cases"
seed = 3
[population]
recipe = "people.toml"
[release]
path = "cases.csv"
period = "day"
[attributes.age]
hierarchy = { rule = "groups", groups = [[["20", "30"]]] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.county]
hierarchy = { rule = "suppress" }
[economics]
benefit = 10
loss = 30
cost = 1
[publisher]
policies = ["no-protection", "fixed", "pk", "basic", "no-attack"]
fixed = { age = 1 }
k = 2
threshold = 0.25
quantile = 0.9
simulations = 40
"""
RECIPE = """
kind = "counts"
file = "{name}.csv"
count = "people"
[columns]
age = "age"
sex = "sex"
county = "county"
"""
EPIDEMIC = {"epidemic": {"periods": 12, "cases": 60, "area": "county", "peak": 4, "spread": 3, "width": 2}}


def write_world(folder: Path, cases=None, forecast=None) -> Path:
    """Write people, voters, cases and a scenario; return the scenario's file."""
    cases, header = CASES if cases is None else cases, ",".join(plain.NAMES)
    for name, counts in (("people", PEOPLE), ("voters", VOTERS)):
        rows = [f"{','.join(person)},{n}" for person, n in counts.items()]
        (folder / f"{name}.csv").write_text("\n".join([f"{header},people", *rows, ""]))
        (folder / f"{name}.toml").write_text(RECIPE.format(name=name))
    worth = forecast or {}
    rows = [f"{day},{','.join(person)},{worth.get(day, 0)}" for day, person in cases]
    (folder / "cases.csv").write_text("\n".join([f"day,{header},worth", *rows, ""]))
    (folder / "cases.toml").write_text(SCENARIO)
    return folder / "cases.toml"


def study_of(path: Path, overrides=None):
    return DYNAMIC.build(Scenario.load(path, overrides))


def distinct(cases):
    return Counter(person for _, person in cases)

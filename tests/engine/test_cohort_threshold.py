"""Risks of a cohort against the accepted risk, recounted by brute force."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import reidsim

ACCEPTED, SHARE = 0.2, 0.9
RECIPE = """
title = "Neighbours"
source = "made up"

[[sources]]
kind = "groups"
name = "neighbours"

[[sources.profile]]
groups = [{ attributes = ["sex", "town"], probability = 0.5 }, { attributes = ["age"], probability = 0.3 }]
"""


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {"age": rng.integers(30, 36, 60).astype(str), "sex": rng.choice(["F", "M"], 60, p=[0.2, 0.8]),
         "town": rng.choice(["Dale", "Hill", "Ford"], 60, p=[0.6, 0.3, 0.1])}
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    made = tmp_path_factory.mktemp("cohort")
    people.to_csv(made / "cohort.csv", index=False)
    (made / "neighbours.toml").write_text(RECIPE, encoding="utf-8")
    (made / "cohort.toml").write_text(
        f"""
title = "Cohort"
game = "risk"
seed = 3

[release]
path = "cohort.csv"

[knowledge]
neighbours = "neighbours.toml"

[uniqueness]
method = "fixed"
value = 0.5

[threshold]
risk_accepted = {ACCEPTED}
percentile = {SHARE}
groups = ["sex", "town"]
sizes = [20, 60, 500]
draws = 8
""",
        encoding="utf-8",
    )
    return made


@pytest.fixture(scope="module")
def result(folder):
    return reidsim.run(folder / "cohort.toml")


def risk_of(people: pd.DataFrame, known: list[str]) -> np.ndarray:
    """Return 1 / group size of each person, counted one by one."""
    rows = people[known].to_dict("records")
    return np.array([1 / sum(other == row for other in rows) for row in rows])


def expected_risk(people: pd.DataFrame) -> np.ndarray:
    total = np.zeros(len(people))
    for place, age in itertools.product((True, False), repeat=2):
        known = ["sex", "town"] * place + ["age"] * age
        total += 0.5 * (0.3 if age else 0.7) * risk_of(people, known)
    return total


def percentile(risks: np.ndarray) -> float:
    """Return the smallest risk that the given share of people does not exceed."""
    ordered = sorted(risks)
    return ordered[math.ceil(SHARE * len(ordered) - 1e-12) - 1]


def test_risks_of_groups_are_those_counted_person_by_person(result, people):
    table = result.analysis.cohorts
    risks = {"neighbours": expected_risk(people), "worst-case": risk_of(people, list(people))}
    groups = {("everybody", "everybody"): np.ones(len(people), dtype=bool)}
    groups |= {(name, value): (people[name] == value).to_numpy() for name in ("sex", "town") for value in people[name]}
    own = table[table["records"] == len(people)]
    assert len(own) == 2 * len(groups)
    for row in own.itertuples():
        mine = risks[row.knowledge][groups[row.attribute, row.value]]
        assert row.persons == len(mine)
        assert row.percentile_risk == pytest.approx(percentile(mine), abs=1e-12)
        assert row.mean_risk == pytest.approx(mine.mean(), abs=1e-12)
        assert row.share_above == pytest.approx((mine > ACCEPTED + 1e-12).mean(), abs=1e-12)

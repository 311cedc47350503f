"""k-anonymity with several k next to other policies, against full enumeration."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.scenarios.load import Scenario

SCENARIO = """
[release]
path = "people.csv"
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [5, 10] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
unit = "{unit}"
{limit}
policies = ["basic", "k-anonymity"]
k = [2, 5, 11]
"""
AGES, SEXES = range(30, 50), ("F", "M")


def labels_of(age, sex):
    """Return the forms of a record by level, with the width of each.

    Utility is one minus the normalized sum of log widths.
    """
    widths = (1, 5, 10, 20)
    ages = [(age // width, width) if width < 20 else ("*", 20) for width in widths]
    return ages, [(sex, 1), ("*", 2)]


def best_by_enumeration(people, k, most_withheld):
    """Return the best total utility over all nodes, by counting labels."""
    best = -1.0
    for a, s in itertools.product(range(4), range(2)):
        forms = [(labels_of(*p)[0][a][0], labels_of(*p)[1][s][0]) for p in people]
        alike = pd.Series(forms).map(pd.Series(forms).value_counts())
        kept = int((alike >= k).sum())
        if len(people) - kept > most_withheld:
            continue
        loss = (np.log((1, 5, 10, 20)[a]) + np.log(2) * s) / np.log(40)
        best = max(best, kept * (1 - loss))
    return best


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    # Every value occurs, so that categories are the same in each draw.
    ages = [*AGES, *rng.choice(AGES, 30).tolist()]
    rows = [(age, SEXES[i % 2]) for i, age in enumerate(ages)]
    lines = "".join(f"{age},{sex}\n" for age, sex in rows)
    Path("people.csv").write_text("age,sex\n" + lines)
    return rows


@pytest.mark.parametrize(("unit", "limit"), [("record", 0.0), ("table", 0.0), ("table", 0.3)])
def test_each_k_is_the_best_of_all_generalizations(people, unit, limit):
    of_table = f"suppression_limit = {limit}" if unit == "table" else ""
    Path("game.toml").write_text(SCENARIO.format(unit=unit, limit=of_table))
    result = reidsim.run("game.toml")
    assert list(result.summary.index) == ["basic", "k-anonymity-2", "k-anonymity-5", "k-anonymity-11"]
    # With one form per record, all records are released.
    most = int(limit * len(people)) if unit == "table" else 0
    for k in (2, 5, 11):
        utility = result.summary.loc[f"k-anonymity-{k}", "utility"] * len(people)
        assert utility == pytest.approx(max(best_by_enumeration(people, k, most), 0.0), abs=1e-9)
        shared = result.records[(result.records["policy"] == f"k-anonymity-{k}") & result.records["age"].notna()]
        assert shared.groupby(["age", "sex"], observed=True).size().min() >= k
    if unit == "table":
        nodes = result.analysis.optima.set_index("policy")["node"]
        assert nodes["k-anonymity-11"].count(",") == 1
        assert set(result.analysis.classes["policy"]) == set(result.summary.index)


def test_one_number_keeps_its_name_and_its_results(people):
    Path("game.toml").write_text(SCENARIO.format(unit="record", limit=""))
    several = reidsim.run("game.toml").summary
    one = reidsim.run("game.toml", overrides={"publisher.k": 11}).summary.loc["k-anonymity"]
    pd.testing.assert_series_equal(one, several.loc["k-anonymity-11"], check_names=False, check_exact=True)
    named = {"publisher.k": 5, "publisher.policies": ["k-anonymity", "k-anonymity-2"]}
    both = reidsim.run("game.toml", overrides=named).summary
    assert list(both.index) == ["k-anonymity", "k-anonymity-2"]
    assert both["utility"].tolist() == several.loc[["k-anonymity-5", "k-anonymity-2"], "utility"].tolist()


def test_cross_play_and_sweeps_have_every_k(people):
    Path("game.toml").write_text(SCENARIO.format(unit="record", limit=""))
    rows = set(reidsim.cross_play("game.toml").table["defender"])
    assert {"k-anonymity-2", "k-anonymity-5", "k-anonymity-11"} <= rows
    assert "k-anonymity" not in rows
    swept = {"publisher.k": 2, "sweep.values": {"publisher.k": [2, 5, 11]}}
    runs = reidsim.run_batch("game.toml", overrides=swept, executor="serial").runs
    several = reidsim.run("game.toml").summary
    found = runs[runs["policy"] == "k-anonymity"]["utility"].tolist()
    assert found == several.loc[["k-anonymity-2", "k-anonymity-5", "k-anonymity-11"], "utility"].tolist()


@pytest.mark.parametrize(
    ("k", "says"),
    [
        ([], r"publisher\.k: value not allowed; found .*; expected a whole number"),
        ([2, 0], r"publisher\.k: value not allowed; found .*; expected a whole number"),
        (True, r"publisher\.k: value not allowed; found .*; expected a whole number"),
        ([3, 3], r"publisher\.policies: policy given twice; found 'k-anonymity-3'"),
    ],
)
def test_values_that_are_no_k_are_refused(people, k, says):
    Path("game.toml").write_text(SCENARIO.format(unit="record", limit=""))
    with pytest.raises(InputError, match=says):
        Scenario.load("game.toml", {"publisher.k": k})

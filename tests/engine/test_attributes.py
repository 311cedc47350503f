"""The cost of each column, against tables from which the column was removed."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiers import cases

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine import attributes as attributes_run
from reidsim.engine.attributes import ATTRIBUTE_COLUMNS, attributes_loaded
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.town]
hierarchy = { rule = "prefix", digits = [1] }
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
unit = "UNIT"
policies = ["no-protection", "basic", "k-anonymity-3"]
"""
NAMES = ("age", "sex", "town")
TOP = {"age": 3, "sex": 1, "town": 2}
MEASURES = ("publisher_payoff", "risk", "utility")


@pytest.fixture
def town(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    columns = {"age": rng.integers(20, 28, 60), "sex": rng.choice(["F", "M"], 60), "town": rng.choice([11, 12, 21], 60)}
    pd.DataFrame(columns).to_csv("people.csv", index=False)

    def load(unit="record", **more):
        Path("town.toml").write_text(SCENARIO.replace("UNIT", unit))
        return Scenario.load("town.toml", {key.replace("__", "."): value for key, value in more.items()})

    return load


def without(kept):
    """Run with constant values in the dropped columns; utility counts true values."""
    frame = pd.read_csv("people.csv", dtype=str)
    for name in set(NAMES) - kept:
        frame[name] = "00"
    frame.to_csv("dropped.csv", index=False)
    return reidsim.run("town.toml", overrides={"release.path": "dropped.csv"}).summary


@pytest.mark.deep
@pytest.mark.parametrize("unit", cases(["record", "table"], ["table"]))
def test_costs_of_columns_are_those_of_scenarios_with_lowest_levels_and_of_files_without_them(town, unit):
    loaded = town(unit)
    table = attributes_loaded(loaded).table
    assert list(table.columns) == list(ATTRIBUTE_COLUMNS)
    played = {}
    for kept in itertools.chain.from_iterable(itertools.combinations(NAMES, n) for n in range(4)):
        limits = {f"attributes.{name}.minimum_level": TOP[name] for name in NAMES if name not in kept}
        played[frozenset(kept)] = reidsim.run("town.toml", overrides=limits).summary
    everything, nothing = frozenset(NAMES), frozenset()
    for row in table[table["policy"] != "no-protection"].to_dict("records"):
        one = frozenset([row["attribute"]])
        told = {"all": everything, "without": everything - one, "alone": one, "none": nothing}
        for column, kept in told.items():
            assert row[column] == pytest.approx(played[kept].loc[row["policy"], row["measure"]], abs=1e-12)
        orders = list(itertools.permutations(NAMES))
        added = [
            played[before | one].loc[row["policy"], row["measure"]] - played[before].loc[row["policy"], row["measure"]]
            for order in orders
            for before in [frozenset(order[: order.index(row["attribute"])])]
        ]
        assert row["share"] == pytest.approx(np.mean(added), abs=1e-12)
        assert row["standard_error"] == 0
    # The shares sum to the total.
    sums = table.groupby(["policy", "measure"])["share"].sum()
    whole = table.groupby(["policy", "measure"]).first()
    np.testing.assert_allclose(sums, whole["all"] - whole["none"], atol=1e-10)
    rule = table[(table["policy"] == "no-protection") & (table["measure"] == "risk")].set_index("attribute")
    for name in NAMES:
        for column, kept in (("without", set(NAMES) - {name}), ("alone", {name})):
            expected = without(kept).loc["no-protection", "risk"]
            assert rule.loc[name, column] == pytest.approx(expected, abs=1e-12)


def test_many_columns_are_drawn_by_the_seed_with_errors(town, monkeypatch):
    loaded = town()
    exact = attributes_loaded(loaded)
    monkeypatch.setattr(attributes_run, "MOST_EXACT", 2)
    drawn, again = (attributes_loaded(loaded, orders=60) for _ in range(2))
    pd.testing.assert_frame_equal(drawn.table, again.table, check_exact=True)
    assert drawn.manifest["attributes"] == {"exact": False, "orders": 60, "played": 8}
    assert exact.manifest["attributes"] == {"exact": True, "orders": None, "played": 8}
    differs = (drawn.table["share"] - exact.table["share"]).abs()
    assert (differs <= 5 * drawn.table["standard_error"] + 1e-12).all()
    assert drawn.table["standard_error"].max() > 0
    other = attributes_loaded(town(seed=5), orders=60)
    assert not other.table["share"].equals(drawn.table["share"])


@pytest.mark.parametrize(("most_exact", "total"), [(10, 2**3), (2, 3 * 3)])
def test_each_set_of_columns_is_one_step_of_all_sets_or_of_at_most_the_orders_times_the_columns(
    town, monkeypatch, most_exact, total
):
    monkeypatch.setattr(attributes_run, "MOST_EXACT", most_exact)
    steps = []
    result = attributes_loaded(town(), orders=3, progress=lambda *step: steps.append(step))
    played = result.manifest["attributes"]["played"]
    assert [step for step in steps if step[0] == "playing"] == [("playing", done, total) for done in range(played)]


def test_policies_without_lowest_levels_are_left_out(town):
    prefixes = {"rule": "prefix", "digits": [1], "suppress": False}
    loaded = town(publisher__policies=["basic", "opt-in"], attributes__town__hierarchy=prefixes)
    result = attributes_loaded(loaded)
    assert set(result.table["policy"]) == {"basic"}
    assert result.warnings == (
        "policy opt-in is left out: the policy does not support a minimum level of a column",
        "column town keeps 2 groups when it is dropped: the highest level of its hierarchy",
    )
    with pytest.raises(InputError, match=r"publisher\.policies: no policy supports a minimum level"):
        attributes_loaded(town(publisher__policies=["opt-in", "lattice-search"]))

"""The adversary's worst payoffs under random attacks, against enumeration."""

import itertools
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim

GAIN = 60
SCENARIO = """
title = "Random attacks"
[release]
path = "records.csv"
[attributes.b]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
gain = 60
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
policies = ["no-protection"]
"""
PLANNERS = st.one_of(
    st.builds(lambda rate: {"planner": "random", "rate": rate}, st.sampled_from([0.1, 0.5, 0.9])),
    st.builds(lambda precision: {"rationality": "logit", "precision": precision}, st.sampled_from([0.0, 0.02, 0.3])),
    st.just({"planner": "always"}),
    st.just({}),
)
RECORDS = st.lists(st.sampled_from("uvw"), min_size=1, max_size=7)


def frequency(planner, success, cost):
    """Return the attack probability of a record, by docs/explanation/errors.md."""
    worth = GAIN * success - cost
    if planner.get("planner") == "random":
        return planner["rate"]
    if "rationality" in planner:
        return 1 / (1 + math.exp(-planner["precision"] * worth))
    return 1.0 if "planner" in planner or worth > 1e-9 else 0.0


def sums(parts):
    """Return the distribution of a sum of independent amounts.

    Each amount is a dict of probabilities.
    """
    total = {0.0: 1.0}
    for part in parts:
        before, total = total, {}
        for (one, p), (other, q) in itertools.product(before.items(), part.items()):
            total[round(one + other, 9)] = total.get(round(one + other, 9), 0.0) + p * q
    return total


def of_attempt(planner, success, cost):
    often, found = frequency(planner, success, cost), {}
    for amount, mass in ((0, 1 - often), (-cost, often * (1 - success)), (GAIN - cost, often * success)):
        found[amount] = found.get(amount, 0.0) + mass
    return found


def worst(outcomes, share=0.05):
    left, total = share, 0.0
    for amount in sorted(outcomes):
        taken = min(left, outcomes[amount])
        total, left = total + taken * amount, left - taken
    return total / share


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")

    def play(records, **overrides):
        records.to_csv(folder / "records.csv", index=False)
        (folder / "random.toml").write_text(SCENARIO)
        return reidsim.run(folder / "random.toml", overrides=overrides).summary.loc["no-protection"]

    return play


@examples(50, fast=5)
@given(RECORDS, PLANNERS, st.sampled_from([5, 20, 25]), st.sampled_from([0, 3]))
def test_one_adversary(played, records, planner, cost, rounds):
    """Rounds of agents are equally likely cases."""
    more = {"agents": {"rounds": rounds}} if rounds else {}
    changes = {"economics.cost": cost, **{f"adversary.{k}": v for k, v in planner.items()}, **more}
    found = played(pd.DataFrame({"b": records}), **changes)
    outcomes = sums([of_attempt(planner, 1 / records.count(each), cost) for each in records])
    assert found["adversary_payoff"] * len(records) == pytest.approx(sum(a * p for a, p in outcomes.items()), abs=1e-7)
    assert found["adversary_payoff_cvar"] * len(records) == pytest.approx(worst(outcomes), abs=1e-7)


@examples(50)
@given(st.lists(st.tuples(st.sampled_from("uvw"), st.integers(0, 3)), min_size=1, max_size=8), PLANNERS)
def test_people_with_several_records_are_attacked_once(played, rows, planner):
    people = sorted({person for _, person in rows})
    names = dict(zip(people, "klmn", strict=False))
    records = pd.DataFrame({"b": [b for b, _ in rows], "who": [names[person] for _, person in rows]})
    found = played(records, **{"release.person": "who"}, **{f"adversary.{k}": v for k, v in planner.items()})
    # A person's group holds all people with a record of that value; the record with the smallest group is attacked.
    alike = {value: len({person for b, person in rows if b == value}) for value in "uvw"}
    success = [max(1 / alike[b] for b, person in rows if person == each) for each in people]
    outcomes = sums([of_attempt(planner, each, 20) for each in success])
    assert found["adversary_payoff_cvar"] * len(people) == pytest.approx(worst(outcomes), abs=1e-7)
    assert found["adversary_payoff"] * len(people) == pytest.approx(sum(a * p for a, p in outcomes.items()), abs=1e-7)

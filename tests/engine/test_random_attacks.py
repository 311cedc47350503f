"""The adversary's worst payoffs under random attacks, against enumeration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim

GAIN, BENEFIT = 60, 100
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
    """Return the attack probability of a record, by docs/model.md."""
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


def mixed(cases):
    found = {}
    for weight, outcomes in cases:
        for amount, mass in outcomes.items():
            found[amount] = found.get(amount, 0.0) + weight * mass
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")

    def play(records, **overrides):
        records.to_csv(folder / "records.csv", index=False)
        (folder / "random.toml").write_text(SCENARIO)
        return reidsim.run(folder / "random.toml", overrides=overrides).summary.loc["no-protection"]

    return play


@examples(100)
@given(RECORDS, PLANNERS, st.sampled_from([5, 20, 25]), st.sampled_from([0, 3]))
def test_one_adversary(played, records, planner, cost, rounds):
    """Rounds of agents are equally likely cases."""
    more = {"agents": {"rounds": rounds}} if rounds else {}
    changes = {"economics.cost": cost, **{f"adversary.{k}": v for k, v in planner.items()}, **more}
    found = played(pd.DataFrame({"b": records}), **changes)
    outcomes = sums([of_attempt(planner, 1 / records.count(each), cost) for each in records])
    assert found["adversary_payoff"] * len(records) == pytest.approx(sum(a * p for a, p in outcomes.items()), abs=1e-7)
    assert found["adversary_payoff_cvar"] * len(records) == pytest.approx(worst(outcomes), abs=1e-7)


@examples(60)
@given(RECORDS, PLANNERS, PLANNERS, st.sampled_from([0.1, 0.5, 0.75]), st.booleans())
def test_several_types_of_whom_one_comes(played, records, one, other, weight, in_rounds):
    types = {"one": {"weight": weight, **one}, "other": {"weight": 1 - weight, "cost": 5.0, **other}}
    more = {"agents": {"rounds": 2}} if in_rounds else {}
    found = played(pd.DataFrame({"b": records}), adversaries=types, **more)
    cases = [
        (each["weight"], sums([of_attempt(planner, 1 / records.count(b), each.get("cost", 20)) for b in records]))
        for planner, each in ((one, types["one"]), (other, types["other"]))
    ]
    assert found["adversary_payoff_cvar"] * len(records) == pytest.approx(worst(mixed(cases)), abs=1e-7)


@examples(60)
@given(RECORDS, PLANNERS, PLANNERS, st.sampled_from([0.1, 0.5, 1.0]))
def test_types_that_come_together(played, records, one, other, weight):
    types = {"one": {"weight": weight, **one}, "other": {"weight": 0.5, "cost": 5.0, **other}}
    found = played(pd.DataFrame({"b": records}), adversaries=types, agents={"rounds": 1, "together": "all"})
    every = [
        sums([of_attempt(planner, 1 / records.count(b), cost) for b in records])
        for planner, cost in ((one, 20), (other, 5))
    ]
    cases = [
        (math.prod(p if there else 1 - p for p, there in zip((weight, 0.5), who, strict=True)),
         sums([each for each, there in zip(every, who, strict=True) if there]))
        for who in itertools.product((True, False), repeat=2)
    ]  # fmt: skip
    assert found["adversary_payoff_cvar"] * len(records) == pytest.approx(worst(mixed(cases)), abs=1e-7)


@examples(100)
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


@examples(60)
@given(st.lists(st.sampled_from("uvw"), min_size=1, max_size=4), st.lists(st.sampled_from("uvw"), max_size=4), PLANNERS)
def test_masking(tmp_path_factory, targets, others, planner):
    folder = tmp_path_factory.mktemp("masking")
    pd.DataFrame({"b": targets}).to_csv(folder / "targets.csv", index=False)
    pd.DataFrame({"b": targets + others}).to_csv(folder / "people.csv", index=False)
    stage = {"stage": "identify", "resource": "people", "on": ["b"]}
    scenario = {
        "game": "masking",
        "targets": {"file": str(folder / "targets.csv")},
        "resources": {"people": {"file": str(folder / "people.csv"), "attributes": ["b"]}},
        "economics": {"benefit": BENEFIT, "loss": GAIN, "cost": 20},
        "subjects": {"attributes": ["b"], "weights": {"b": 1.0}, "policies": ["no-protection"]},
        "adversary": {"stages": [stage], **planner},
    }
    (folder / "masking.toml").write_text('title = "Masking"\ngame = "masking"\n')
    found = reidsim.run(folder / "masking.toml", overrides=scenario).summary.loc["no-protection"]
    success = [1 / (targets + others).count(each) for each in targets]
    outcomes = sums([of_attempt(planner, each, 20) for each in success])
    assert found["adversary_payoff"] * len(targets) == pytest.approx(sum(a * p for a, p in outcomes.items()), abs=1e-7)
    assert found["adversary_payoff_cvar"] * len(targets) == pytest.approx(worst(outcomes), abs=1e-7)


def test_an_attack_that_is_not_made_costs_nothing(played):
    """One record, attacked with probability 1/2: outcomes 0 and 40, not -20 or -10."""
    found = played(pd.DataFrame({"b": ["u"]}), **{"adversary.planner": "random", "adversary.rate": 0.5})
    assert found["adversary_payoff"] == 20
    assert found["adversary_payoff_cvar"] == 0
    assert np.isclose(found["publisher_payoff_cvar"], BENEFIT - 60)

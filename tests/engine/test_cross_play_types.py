"""Cross-play with equipped adversaries, against rounds of agents and manual games."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from replies_to_types import replies_to_types

import reidsim
from reidsim.engine.cross_play import cross_play
from reidsim.errors import InputError
from reidsim.kinds.masking.kind import MASKING as MASKING_KIND
from reidsim.kinds.masking.study import build_masking_study
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.opponents import (
    AVERAGE_TYPE,
    TYPES,
    WORST_OF_TYPES,
)

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
# A non-binding budget makes them equipped adversaries.
CURIOUS, BROKER = {"weight": 0.7, "gain": 25, "budget": 1e9}, {"weight": 0.3, "gain": 400, "cost": 60}
RECORDS = {"agents": {}, "adversaries": {"curious": CURIOUS, "broker": BROKER}}
LISTED = {
    "resources": {"list": {"attributes": ["age", "district"], "coverage": 0.6}, "file": {}},
    "agents": {},
    "adversaries": {
        "clerk": {"weight": 0.5, "holds": ["list"], "gain": 200},
        "lucky": {"weight": 0.2, "planner": "random", "rate": 0.25},
        "sequential": {"weight": 0.3, "planner": "fmdp"},
    },
}
MASKING = {
    "population.recipe": "ystr-genealogy-small",
    "replications": 1,
    "targets.size": 40,
    "resources.registry.size": 600,
    "resources.genealogy.size": 600,
    "subjects.attributes": ["age", "state", "DYS19", "DYS385", "DYS390"],
    "subjects.policies": ["masking", "no-protection"],
    "agents": {},
    "adversaries": {
        "kin": {"weight": 0.4, "gain": 60},
        "broker": {"weight": 0.6, "holds": ["registry"], "cost": 30},
    },
}


def row(table, defender, adversary, against):
    chosen = table[
        (table["defender"] == defender) & (table["adversary"] == adversary) & (table["plans_against"] == against)
    ]
    assert len(chosen) == 1
    return chosen.iloc[0]


def one_round(scenario, sets, policy):
    return reidsim.run(scenario, overrides={**sets, "agents.rounds": 1}).summary.loc[policy]


def expected_in(sets, together):
    return {**sets, "agents": {"together": together}}


@pytest.mark.deep
@pytest.mark.parametrize("together", ["one-of", "all"])
@pytest.mark.parametrize(
    ("scenario", "sets", "policy"),
    [(TOWN, RECORDS, "basic"), ("wan2021", MASKING, "masking")],
    ids=["records", "masking"],
)
def test_all_types_together_are_one_round_of_agents(scenario, sets, policy, together):
    sets = expected_in(sets, together)
    play, run = cross_play(scenario, overrides=sets), one_round(scenario, sets, policy)
    found = row(play.table, policy, TYPES, TYPES)
    assert found["publisher_payoff"] == pytest.approx(run["publisher_payoff"], abs=1e-9)
    assert found["utility"] == pytest.approx(run["utility"], abs=1e-9)
    # No other belief beats the defender who weighs the types correctly.
    best = play.table[(play.table["adversary"] == TYPES) & (play.table["defender"] == policy)]
    assert found["publisher_payoff"] >= best["publisher_payoff"].max() - 1e-9
    assert found["regret"] == 0


DATASET = """
[population]
path = "people.csv"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
cost = 11
[adversary]
risk = "journalist"
[publisher]
unit = "table"
policies = ["basic"]
suppression_limit = 0.4
"""


@pytest.mark.parametrize("together", ["one-of", "all"])
def test_types_at_dataset_level_are_one_round_of_agents(tmp_path, together):
    rng = np.random.default_rng(np.random.SeedSequence(4))
    ages, villages = np.minimum(20 + rng.geometric(0.12, 90), 59), rng.choice(["Dale", "Hill"], 90)
    people = pd.DataFrame({"age": ages, "village": villages})
    people.to_csv(tmp_path / "people.csv", index=False)
    people.head(40).to_csv(tmp_path / "records.csv", index=False)
    (tmp_path / "ward.toml").write_text(DATASET, encoding="utf-8")
    sets = expected_in(RECORDS, together)
    play = cross_play(tmp_path / "ward.toml", overrides=sets)
    found, run = row(play.table, "basic", TYPES, TYPES), one_round(tmp_path / "ward.toml", sets, "basic")
    assert found["publisher_payoff"] == pytest.approx(run["publisher_payoff"], abs=1e-9)
    assert found["utility"] == pytest.approx(run["utility"], abs=1e-9)
    assert set(RECORDS["adversaries"]) < set(play.matrix("risk").columns)


def test_one_type_of_all_is_the_game_against_it_alone():
    play = cross_play(TOWN, overrides=RECORDS)
    for name, prices in (("curious", CURIOUS), ("broker", BROKER)):
        economics = {f"economics.{key}": value for key, value in prices.items() if key in ("gain", "cost")}
        alone = cross_play(TOWN, overrides=economics)
        for against in ("one-shot", "never"):
            same = row(play.table, "basic", name, name if against == "one-shot" else "never")
            expected = row(alone.table, "basic", "one-shot", against)
            for measure in ("publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"):
                assert same[measure] == pytest.approx(expected[measure], abs=1e-9), (name, against, measure)


@pytest.mark.parametrize("sets", [RECORDS, LISTED], ids=["prices", "planners"])
def test_replies_to_the_mix_the_average_and_the_worst(sets):
    play = cross_play(TOWN, overrides=sets)
    types = TABLES.opponent_types(build_study(load_scenario(TOWN, sets)))
    mix = next(opponent for opponent in types.opponents if opponent.name == TYPES)
    weights = np.bincount(build_study(load_scenario(TOWN, sets)).cell_of_record)
    replies = replies_to_types(mix.truth)
    for idea, against in (("types", TYPES), ("worst", WORST_OF_TYPES)):
        expected = np.average(replies[idea].expected.publisher_payoff, weights=weights)
        assert row(play.table, "basic", TYPES, against)["publisher_payoff"] == pytest.approx(expected, abs=1e-9)
    if sets is RECORDS:
        expected = np.average(replies["average"].expected.publisher_payoff, weights=weights)
        assert row(play.table, "basic", TYPES, AVERAGE_TYPE)["publisher_payoff"] == pytest.approx(expected, abs=1e-9)
    # The defender who plans for the worst type does best against the worst type, record by record and on average.
    names = [opponent.name for opponent in types.opponents if opponent.name != TYPES]
    assert list(play.matrix("risk").columns)[-len(names) - 1 :] == [*names, TYPES]
    mixed = play.table[play.table["adversary"] == TYPES].set_index(["defender", "plans_against"])
    parts = {
        name: play.table[play.table["adversary"] == name].set_index(["defender", "plans_against"]) for name in names
    }
    shares = {name: section["weight"] for name, section in sets["adversaries"].items()}
    for measure in ("publisher_payoff", "adversary_payoff", "share_attacked", "risk"):
        expected = sum(shares[name] * parts[name][measure] for name in names)
        pd.testing.assert_series_equal(mixed[measure], expected, check_names=False, atol=1e-9, rtol=0)


def test_a_type_that_attacks_at_random_is_expected_to_attack_that_share():
    share = cross_play(TOWN, overrides=LISTED).matrix("share_attacked")
    assert share.loc["no-protection", "lucky"] == pytest.approx(0.25)
    together = cross_play(TOWN, overrides=expected_in(LISTED, "all")).matrix("share_attacked")
    one_of = [together.loc["no-protection", name] for name in ("clerk", "lucky", "sequential")]
    # Each type is present independently; the probability that at least one attacks is between the largest and the sum.
    weighted = [0.5 * one_of[0], 0.2 * one_of[1], 0.3 * one_of[2]]
    assert max(weighted) - 1e-12 <= together.loc["no-protection", TYPES] <= sum(weighted) + 1e-12


def test_a_type_with_a_resource_to_buy_plays_with_it():
    """The type may buy the file with all attributes.

    Then it equals the informed adversary.
    """
    adversaries = {"buyer": {"buys": ["file"], "budget": 1}}
    buyer = {"resources": {"file": {"price": 1e6}}, "agents": {}, "adversaries": adversaries}
    play = cross_play(TOWN, overrides=buyer).matrix("publisher_payoff")
    np.testing.assert_allclose(play["buyer"], play["one-shot"], atol=1e-9)
    np.testing.assert_allclose(play[TYPES], play["buyer"], atol=1e-12)


def test_beliefs_about_types_are_planned_on():
    sets = {**RECORDS, "beliefs": {"cost": 1000}}
    play = cross_play(TOWN, overrides=sets)
    # Types without their own cost are believed not to attack.
    assert row(play.table, "basic", "curious", "curious")["share_attacked"] > 0
    run = one_round(TOWN, sets, "basic")
    assert row(play.table, "basic", TYPES, TYPES)["publisher_payoff"] == pytest.approx(run["publisher_payoff"])


def test_types_on_more_forms_than_can_be_searched_are_left_out(monkeypatch):
    monkeypatch.setattr("reidsim.kinds.masking.kind.MOST_FORMS", 4)
    study = build_masking_study(load_scenario("wan2021", MASKING))
    assert MASKING_KIND.opponent_types(study).left_out[0] == "types cannot play: there are more than 4 forms"
    assert MASKING_KIND.opponent_types(study).opponents == ()


def test_types_that_cannot_be_used_are_errors():
    wrong = {"agents": {}, "adversaries": {"thief": {"holds": ["nothing"]}}}
    with pytest.raises(InputError, match=r"adversaries.thief.holds: no such resource; found 'nothing'"):
        cross_play(TOWN, overrides=wrong)

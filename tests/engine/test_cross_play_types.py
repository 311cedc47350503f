"""Cross-play with equipped adversaries, against rounds of agents and manual games."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from replies_to_types import replies_to_types

from reidsim.engine.scenario import cross_play
from reidsim.kinds.masking.kind import MASKING as MASKING_KIND
from reidsim.kinds.masking.study import build_masking_study
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.adversary_schema import TOGETHER as TYPES
from reidsim.scenarios.agents import (
    AVERAGE_TYPE,
    WORST_OF_TYPES,
)
from reidsim.scenarios.scenario import Scenario

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
    "population.recipe": "ystr-genealogy-small", "replications": 1, "targets.size": 15, "resources.registry.size": 300,
    "resources.genealogy.size": 300, "subjects.attributes": ["age", "state", "DYS19", "DYS385", "DYS390"],
    "subjects.policies": ["masking", "no-protection"], "agents": {},
    "adversaries": {"kin": {"weight": 0.4, "gain": 60}, "broker": {"weight": 0.6, "holds": ["registry"], "cost": 30}},
}  # fmt: skip


def row(table, defender, adversary, against):
    chosen = table[
        (table["defender"] == defender) & (table["adversary"] == adversary) & (table["plans_against"] == against)
    ]
    assert len(chosen) == 1
    return chosen.iloc[0]


@pytest.mark.parametrize("sets", [RECORDS, LISTED], ids=["prices", "planners"])
def test_replies_to_the_mix_the_average_and_the_worst(sets):
    play = cross_play(TOWN, overrides=sets)
    types = TABLES.opponent_types(build_study(Scenario.load(TOWN, sets)))
    mix = next(opponent for opponent in types.opponents if opponent.name == TYPES)
    weights = np.bincount(build_study(Scenario.load(TOWN, sets)).cell_of_record)
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


def test_a_type_with_a_resource_to_buy_plays_with_it():
    """The type may buy the file with all attributes.

    Then it equals the informed adversary.
    """
    adversaries = {"buyer": {"buys": ["file"], "budget": 1}}
    buyer = {"resources": {"file": {"price": 1e6}}, "agents": {}, "adversaries": adversaries}
    play = cross_play(TOWN, overrides=buyer).matrix("publisher_payoff")
    np.testing.assert_allclose(play["buyer"], play["one-shot"], atol=1e-9)
    np.testing.assert_allclose(play[TYPES], play["buyer"], atol=1e-12)


def test_types_on_more_forms_than_can_be_searched_are_left_out(monkeypatch):
    study = build_masking_study(Scenario.load("wan2021", MASKING))
    monkeypatch.setattr("reidsim.kinds.masking.kind.MOST_FORMS", 2**5)
    assert MASKING_KIND.opponent_types(study).opponents
    monkeypatch.setattr("reidsim.kinds.masking.kind.MOST_FORMS", 2**5 - 1)
    assert "more than 31 possible releases" in MASKING_KIND.opponent_types(study).left_out[0]
    assert MASKING_KIND.opponent_types(study).opponents == ()

"""Agents with full-domain generalization: one adversary, several, participation."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import given
from hypothesis import strategies as st
from small_ward import SAFE_HARBOR, write_ward
from tiers import cases, examples

import reidsim
from reidsim.adversaries.response import OneShotAdversary
from reidsim.agents.foresight import Foreseen, Opponent
from reidsim.agents.profile import AdversaryProfile, Equipment
from reidsim.games.composite import AdversaryType, TypesAdversary, TypesGame, TypesLinker
from reidsim.games.full_domain.game import AnyAdversaryGame
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population

POLICIES = [
    "basic", "no-attack", "sh-friendly", "record-level", "record-level-no-attack", "safe-harbor", "no-protection",
    "suppress-all",
]  # fmt: skip


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    return write_ward(tmp_path_factory.mktemp("ward"), ["basic", "no-attack", "safe-harbor"], SAFE_HARBOR)


# Two values, and records that have one or both.
ROWS, TWO_AND_ONE = ((0, 1),), (((0,), (1,)), ((0,),))


def assert_same_records(expected, found):
    assert list(found.columns) == list(expected.columns)
    for name in expected.columns:
        if pd.api.types.is_float_dtype(expected[name]):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            pd.testing.assert_series_equal(found[name], expected[name], check_categorical=False)


# One publisher, one adversary, one round, expected outcomes: the analytic game.


MISTAKEN = {"adversary.risk": "journalist", "beliefs.risk": "prosecutor", "beliefs.cost": 20.0, "beliefs.loss": 30.0}
ANYTIME = {"publisher.search": "anytime", "publisher.nodes": 5, "publisher.policies": ["basic", "safe-harbor"]}
BY_RECORD = [
    {"economics.columns": {"benefit": "worth"}, "publisher.suppression_limit": 0.2},
    {"economics.columns": {"loss": "worth"}, "economics.gain": 50.0, "attributes.age.minimum_level": 1},
]


@pytest.mark.parametrize("changes", cases([MISTAKEN, ANYTIME, *BY_RECORD], [MISTAKEN, ANYTIME]))
def test_one_adversary_is_the_analytic_game(ward, changes):
    changes = {"publisher.policies": POLICIES, **changes}
    analytic = reidsim.run(ward, overrides=changes)
    agents = reidsim.run(ward, overrides={**changes, "agents.rounds": 1})
    assert_same_records(analytic.records, agents.records)
    for measure in analytic.summary:
        np.testing.assert_allclose(agents.summary[measure], analytic.summary[measure], rtol=1e-9, atol=1e-9)
    for policy, facts in agents.manifest["policies"].items():
        for fact in ("node", "nodes_evaluated"):
            assert facts[fact] == analytic.manifest["policies"][policy][fact], policy


# Several adversaries.


def linker_of(small, game):
    codes = np.array(small.records if small.people is None else small.people, dtype=np.int32)
    return PopulationLinker(GroupSizes(Population.from_records(game.lattice.domain, codes), game.lattice))


def played_by(small, game, types, together="one-of"):
    """Return the game against one-shot types (weight, gain and cost by record)."""
    linker = linker_of(small, game)
    benefit, loss = np.array(small.benefit, dtype=float), np.array(small.loss, dtype=float)
    each = [
        AdversaryType(f"t{number}", weight, linker, OneShotAdversary(np.array(gain, float), np.array(cost, float)))
        for number, (weight, gain, cost) in enumerate(types)
    ]
    return AnyAdversaryGame.from_record_game(game, TypesGame(game.lattice, each, benefit, loss, together))


def payout_by_hand(small, node, types, together):
    """Return a node's payout against types and its suppressed records.

    Written from the paper's equations.
    """
    payout, suppressed = 0.0, 0
    for i, row in enumerate(small.records):
        size = max(small.class_size(row, node), 1)
        attacking = [weight for weight, gain, cost in types if gain[i] > cost[i] * size]
        indifferent = any(gain[i] and gain[i] == cost[i] * size for _, gain, cost in types)
        worth = small.benefit[i] * (1 - small.information_loss(row, node))
        if together == "one-of":
            risk = sum(attacking) / size
        else:
            risk = 1 - math.prod(1 - weight / size for weight in attacking)
        pays = worth - small.loss[i] * risk
        keeps = not (attacking or indifferent) if small.no_attack else pays > 1e-9
        payout += pays if keeps else 0.0
        suppressed += not keeps
    return payout, suppressed


@given(variants(datasets(same_prices=True)), st.sampled_from(["one-of", "all"]), st.integers(0, 3))
@examples(60)
def test_several_adversaries_against_brute_force(small, together, kind):
    others = [(30.0, 10.0), (12.0, 1.0), (100.0, 4.0), (0.0, 0.0)][kind]
    types = [(0.25, small.gain, small.cost), (0.75, *((amount,) * small.n for amount in others))]
    played = played_by(small, game_of(small), types, together)
    solution = search(played)
    most = math.floor(small.limit * small.n)
    by_hand = {node: payout_by_hand(small, node, types, together) for node in small.nodes()}
    allowed = {node: payout for node, (payout, suppressed) in by_hand.items() if suppressed <= most}
    if not allowed:
        assert solution.node == -1
        return
    best = max(allowed.values())
    first = min((sum(node), node) for node, payout in allowed.items() if payout > best - 1e-7)[1]
    assert played.lattice.levels(solution.node) == first
    assert solution.payout == pytest.approx(best)
    assert solution.suppressed == by_hand[first][1]


@pytest.mark.parametrize("wrap", ["types", "budget", "types within types"])
def test_adversaries_within_others_attack_when_indifferent_in_the_no_attack_game(wrap):
    """A gain of 2 in a group of two equals the cost of 1.

    Foresight wraps the adversaries.
    """
    small = SmallDataset((ROWS,), ((0,), (0,), (1,)), None, (1,) * 3, (1,) * 3, (2,) * 3, (1,) * 3, no_attack=True)
    game = game_of(small)
    linker, one_shot = linker_of(small, game), OneShotAdversary(2.0, 1.0)
    types = tuple(AdversaryType(name, 0.5, linker, one_shot) for name in ("a", "b"))
    both = TypesLinker(types), TypesAdversary(types, "one-of")
    equipment = Equipment(linker, one_shot)
    profile = AdversaryProfile("one", lambda *_, **__: equipment, 1.0, gain=2.0, cheapest=1.0, budget=1.0)
    within = Opponent(profile, 1.0, frozenset(), 1.0).following(Foreseen(frozenset(), 0.0, 1.0))
    benefit = loss = np.ones(game.lattice.n_records)
    played = {
        "types": RecordGame(game.lattice, *both, benefit, loss),
        "budget": RecordGame(game.lattice, *within, benefit, loss),
        "types within types": TypesGame(game.lattice, [AdversaryType("all", 1.0, *both)], benefit, loss),
    }[wrap]
    alone = AnyAdversaryGame.from_record_game(game, RecordGame(game.lattice, linker, one_shot, benefit, loss))
    assert not alone.kept_at(0).any()
    assert not AnyAdversaryGame.from_record_game(game, played).kept_at(0).any()
    # In other games the adversary does not attack when indifferent.
    other = game_of(replace(small, no_attack=False))
    replies = AnyAdversaryGame.from_record_game(other, played).record_game.outcome(0).response
    assert replies.attacks.tolist() == [False, False, True]


# Additional adversaries never increase the publisher's payoff.

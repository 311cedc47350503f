"""Games against several adversary types, against brute force over every form."""

from dataclasses import replace

import numpy as np
import pytest
from contract_worlds import ATTACK, SMALL
from hypothesis import given
from hypothesis import strategies as st
from replies_to_types import against
from small_games import amounts, small_games
from tiers import examples

from reidsim.adversaries.response import NeverAttacks, OneShotAdversary
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.games.composite import AdversaryType, TypesGame, averaged, repriced
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import Constraint
from reidsim.games.solvers import backward_induction, branch_and_bound

WAYS = ("one-of", "all", "worst")


@st.composite
def games_of_types(draw, most_types=3):
    """Draw a game and its types, each with own people, payoff parameters and a weight."""
    small = draw(small_games(max_attributes=3, max_strategies=24, max_records=3))
    n = small.n_records
    types = []
    for _ in range(draw(st.integers(1, most_types))):
        people = draw(st.sampled_from([small.people, small.people[: len(small.people) // 2 + 1]]))
        gain = tuple(draw(amounts) for _ in range(n))
        cost = tuple(draw(st.sampled_from([g / 2, g / 3, 0.0, 1.0, 5.0])) for g in gain)
        types.append(replace(small, people=people, gain=gain, cost=cost))
    shares = [draw(st.integers(1 if not number else 0, 4)) for number in range(len(types))]
    return small, types, [share / sum(shares) for share in shares]


def types_game(small, types, weights, together="one-of"):
    lattice = small.lattice()
    made = [
        AdversaryType(
            f"type {number}", weight, each.linker(lattice), OneShotAdversary(np.array(each.gain), np.array(each.cost))
        )
        for number, (each, weight) in enumerate(zip(types, weights, strict=True))
    ]
    return TypesGame(lattice, made, np.array(small.benefit), np.array(small.loss), together)


def payoff_by_hand(small, types, weights, together, i, g):
    """Return the publisher's payoff of record i as g, and whether any type attacks."""
    hits = [each.paper(i).pi(g) if each.paper(i).attacks(g) else 0.0 for each in types]
    attacks = any(each.paper(i).attacks(g) for each, weight in zip(types, weights, strict=True) if weight > 0)
    if together == "one-of":
        risk = sum(weight * hit for weight, hit in zip(weights, hits, strict=True))
    elif together == "all":
        spared = 1.0
        for weight, hit in zip(weights, hits, strict=True):
            spared *= 1.0 - weight * hit
        risk = 1.0 - spared
    else:
        risk = max(hit for weight, hit in zip(weights, hits, strict=True) if weight > 0)
    return small.paper(i).v(g) - small.loss[i] * risk, attacks


@pytest.mark.parametrize("together", WAYS)
@given(no_attack=st.booleans(), case=games_of_types())
@examples(25)
def test_solvers_find_the_best_reply_to_all_types(together, no_attack, case):
    small, types, weights = case
    game = types_game(small, types, weights, together)
    constraint = Constraint(no_attack=no_attack)
    fast = branch_and_bound(game, constraint)
    thorough = backward_induction(game, constraint)
    np.testing.assert_array_equal(fast.strategies, thorough.strategies)
    found = evaluate(game, fast)
    for i in range(small.n_records):
        values = [payoff_by_hand(small, types, weights, together, i, g) for g in small.paper(i).strategies]
        allowed = [value for value, attacks in values if not (no_attack and attacks)]
        close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
        if not allowed:
            assert found.withheld[i]
            continue
        assert found.publisher_payoff[i] == pytest.approx(max(allowed), **close)
        value, attacks = values[fast.strategies[i]]
        assert found.publisher_payoff[i] == pytest.approx(value, **close)
        assert found.attacked[i] == attacks


@given(case=games_of_types())
@examples(25)
def test_the_expectation_is_the_weighted_mean_over_types(case):
    small, types, weights = case
    game = types_game(small, types, weights)
    for strategy in range(game.space.size):
        outcome = game.outcome(strategy)
        replies = outcome.response.by_type
        parts = [against(game, each.name).outcome(strategy) for each in game.types]
        for payoff, amounts_of in (
            (outcome.publisher_payoff, [part.publisher_payoff for part in parts]),
            (outcome.response.adversary_payoff, [reply.adversary_payoff for reply in replies]),
            (outcome.response.exploits, [reply.exploits for reply in replies]),
        ):
            np.testing.assert_allclose(payoff, np.tensordot(weights, amounts_of, 1), atol=1e-9 * small.scale.max())


def test_the_average_type_has_the_mean_gain_and_cost_of_the_heaviest_type_s_planner():
    linker, other = SMALL.linker(), SMALL.linker()
    types = (
        AdversaryType("a", 0.2, linker, OneShotAdversary(100.0, 10.0)),
        AdversaryType("b", 0.5, other, SequentialAdversary(ATTACK)),
        AdversaryType("c", 0.3, linker, NeverAttacks()),
    )
    average = averaged(types)[0]
    assert average.linker is other
    assert average.adversary.attack.gain == pytest.approx(0.2 * 100 + 0.5 * ATTACK.gain)
    assert average.adversary.attack.exploit_cost == pytest.approx(0.2 * 10 + 0.5 * ATTACK.exploit_cost)
    assert average.adversary.attack.penalty == ATTACK.penalty
    assert [(each.name, each.weight) for each in averaged(types)] == [("a", 0.2), ("b", 0.5), ("c", 0.3)]
    assert repriced(NeverAttacks(), 3.0, 1.0).gain == 3.0

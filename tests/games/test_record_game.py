"""Properties of every record-level game."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import game_of, small_games
from tiers import examples

from reidsim.adversaries.response import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.core.errors import InputError
from reidsim.games.outcomes import averages, evaluate
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.games.solvers import backward_induction, branch_and_bound, lattice_search

factors = st.floats(1e-3, 1e3, allow_nan=False, allow_infinity=False)


def solve(small, **constraint):
    game = small.game()
    return evaluate(game, backward_induction(game, Constraint(**constraint)))


@given(small=small_games(), factor=factors)
@examples(80, fast=5)
def test_the_unit_of_money_changes_no_strategy(small, factor):
    scaled = small.scaled(factor)
    for constraint in (Constraint(), Constraint(no_attack=True), Constraint(minimum=small.minimum_numbers())):
        here, there = (backward_induction(s.game(), constraint) for s in (small, scaled))
        np.testing.assert_array_equal(here.strategies, there.strategies)
        here, there = (branch_and_bound(s.game(), constraint) for s in (small, scaled))
        np.testing.assert_array_equal(here.strategies, there.strategies)
        np.testing.assert_array_equal(here.evaluated, there.evaluated)
    here, there = (lattice_search(s.game()) for s in (small, scaled))
    np.testing.assert_array_equal(here.strategies, there.strategies)
    before, after = solve(small), solve(scaled)
    for name in ("publisher_payoff", "adversary_payoff"):
        np.testing.assert_allclose(
            getattr(after, name), getattr(before, name) * factor, rtol=1e-9, atol=1e-9 * factor * small.scale.max()
        )


@given(small=small_games(), data=st.data())
def test_evaluating_any_strategies_gives_the_papers_payoffs(small, data):
    game = small.game()
    any_strategy = st.just(WITHHELD) | st.integers(0, game.space.size - 1)
    strategies = [data.draw(any_strategy) for _ in range(small.n_records)]
    equilibrium = evaluate(game, Choice(np.array(strategies), "drawn", np.arange(small.n_records), exact=False))
    assert equilibrium.solver == "drawn"
    assert equilibrium.evaluated.tolist() == list(range(small.n_records))
    for i, strategy in enumerate(strategies):
        paper = small.paper(i)
        found = equilibrium.expand(np.array([i]))
        if strategy < 0:
            assert found.withheld.tolist() == [True]
            assert found.publisher_payoff == found.adversary_payoff == found.utility == found.success_probability == 0
            assert found.generalization_intensity == 1
            assert not found.attacked.any()
        else:
            g = paper.strategies[strategy]
            publisher, adversary, attacks = paper.play(g)
            assert found.publisher_payoff[0] == pytest.approx(publisher, rel=1e-9, abs=1e-9 * small.scale[i])
            assert found.adversary_payoff[0] == pytest.approx(adversary, rel=1e-9, abs=1e-9 * small.scale[i])
            assert found.attacked[0] == attacks
            assert found.success_probability[0] == paper.pi(g)
            assert found.generalization_intensity[0] == pytest.approx(paper.intensity(g))


PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
MONEY = {"benefit": 10.0, "loss": 3.0, "gain": 5.0, "cost": 1.0}
THREE_RECORDS = game_of([PAIRS], [(0,), (1,), (1,), (2,)], [(0,), (1,), (3,)], **MONEY)


@pytest.mark.parametrize("name", ["benefit", "loss"])
@pytest.mark.parametrize("amount", [-1.0, float("nan")])
def test_a_game_rejects_negative_and_missing_amounts(name, amount):
    game = THREE_RECORDS.game()
    money = {"benefit": game.benefit, "loss": game.loss, name: np.array([1.0, amount, 2.0])}
    with pytest.raises(InputError, match=f"{name} of the publisher is negative"):
        RecordGame(game.space, game.linker, game.adversary, **money)


@given(small_games(), st.floats(0.01, 1), st.data())
def test_attacks_made_now_and_then_lie_between_those_always_and_never_made(small, rate, data):
    game, n = small.game(), small.n_records
    picked = data.draw(st.lists(st.integers(WITHHELD, game.space.size - 1), min_size=n, max_size=n))
    choice = Choice(np.array(picked), "by hand", np.zeros(n, dtype=np.int64), exact=False)

    def outcome(adversary):
        return evaluate(RecordGame(game.space, game.linker, adversary, game.benefit, game.loss), choice)

    gain, cost = np.array(small.gain), np.array(small.cost)
    now_and_then = outcome(RandomAttacks(gain, cost, rate))
    always, never = outcome(AlwaysAttacks(gain, cost)), outcome(NeverAttacks())
    for name in ("publisher_payoff", "adversary_payoff", "attack_probability", "risk"):
        between = rate * getattr(always, name) + (1 - rate) * getattr(never, name)
        assert getattr(now_and_then, name) == pytest.approx(between, rel=1e-9, abs=1e-9 * small.scale.max()), name
    shared = choice.strategies != WITHHELD
    assert now_and_then.withheld.tolist() == (~shared).tolist()
    assert now_and_then.attack_probability == pytest.approx(np.where(shared, rate, 0.0))
    weights = np.arange(1, n + 1)
    found = averages(now_and_then, weights, {})
    assert found["share_attacked"] == pytest.approx(rate * weights[shared].sum() / weights.sum())
    # The success probability of an attack does not depend on its frequency.
    if shared.any():
        expected = np.average(always.success_probability[shared], weights=weights[shared])
        assert found["risk_if_attacked"] == pytest.approx(expected)
    else:
        assert np.isnan(found["risk_if_attacked"])

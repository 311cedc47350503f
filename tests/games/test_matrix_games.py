"""Values and equilibria of matrix games: against Nashpy, Gambit, linear programs by hand, and as properties."""

import warnings

import nashpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.errors import InputError
from reidsim.games.matrix_games import Mixtures, equilibrium, exploitability, pure_exploitability, zero_sum

SIZES = st.integers(1, 5)


def games(seed, m, n, *, whole=False):
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    if whole:
        # Few values: equal rows, dominated ones, and whole edges of equilibria.
        return tuple(rng.integers(0, 3, size=(m, n)).astype(float) for _ in range(2))
    return tuple(rng.normal(scale=50, size=(m, n)) for _ in range(2))


def test_known_games():
    pennies = zero_sum(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_allclose([*pennies.rows, *pennies.columns], 0.5)
    assert pennies.row_payoff == pytest.approx(0.0, abs=1e-12)
    # Rock, paper, scissors in which paper pays twice (value 0 by symmetry: 1/4, 1/4, 1/2).
    rock = np.array([[0.0, -2.0, 1.0], [2.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    np.testing.assert_allclose(zero_sum(rock).rows, [0.25, 0.25, 0.5], atol=1e-12)
    least = pure_exploitability(np.array([[1.0, 3.0], [2.0, 0.0], [4.0, 5.0]]), 3.5)
    np.testing.assert_allclose(least, [2.5, 3.5, 0.0])
    # Battle of the sexes: three equilibria, of which these are the best and the worst for the row player.
    first, second = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])
    best, worst = equilibrium(first, second), equilibrium(first, second, for_rows="worst")
    assert (best.row_payoff, best.column_payoff) == pytest.approx((3.0, 2.0))
    assert worst.row_payoff == pytest.approx(1.2)
    np.testing.assert_allclose(worst.rows, [0.6, 0.4], atol=1e-6)


@examples(60)
@given(st.integers(0, 2**31), SIZES, SIZES, st.booleans())
def test_nobody_gains_by_leaving_an_optimal_mixture(seed, m, n, whole):
    payoff, _ = games(seed, m, n, whole=whole)
    found = zero_sum(payoff)
    assert found.rows.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.rows >= 0).all()
    assert (found.columns >= 0).all()
    assert (found.rows @ payoff).min() == pytest.approx(found.row_payoff, abs=1e-7)
    assert (payoff @ found.columns).max() == pytest.approx(found.row_payoff, abs=1e-7)
    assert exploitability(payoff, -payoff, found) <= 1e-6
    below = pure_exploitability(payoff, found.row_payoff)
    assert (below >= 0).all()
    assert payoff.min(axis=1).max() <= found.row_payoff + 1e-7 <= payoff.max(axis=0).min() + 2e-7


@examples(60)
@given(st.integers(0, 2**31), SIZES, SIZES, st.booleans())
def test_equilibria_are_none_to_leave_and_those_of_a_zero_sum_game_pay_its_value(seed, m, n, whole):
    first, second = games(seed, m, n, whole=whole)
    best, worst = equilibrium(first, second), equilibrium(first, second, for_rows="worst")
    for found in (best, worst):
        assert 0 <= exploitability(first, second, found) <= 1e-5 * (np.ptp(first) + np.ptp(second)) + 1e-12
    assert worst.row_payoff <= best.row_payoff + 1e-5 * np.ptp(first)
    for which in ("best", "worst"):
        payoff = equilibrium(first, -first, for_rows=which).row_payoff
        assert payoff == pytest.approx(zero_sum(first).row_payoff, abs=2e-5 * np.ptp(first) + 1e-12)


@examples(60)
@given(st.integers(0, 2**31), st.integers(0, 10), st.integers(1, 5), st.integers(1, 5))
def test_exploitability_is_never_negative(seed, other, m, n):
    """Of any mixtures, not only of those that are found."""
    first, second = games(seed, m, n)
    rng = np.random.default_rng(np.random.SeedSequence((seed, other)))
    rows, columns = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
    mixed = Mixtures(rows, columns, rows @ first @ columns, rows @ second @ columns)
    replies = max(rows @ second[:, j] for j in range(n)), max(first[i] @ columns for i in range(m))
    gains = replies[0] - mixed.column_payoff, replies[1] - mixed.row_payoff
    assert exploitability(first, second, mixed) == pytest.approx(sum(gains), abs=1e-9)
    assert exploitability(first, second, mixed) >= 0


@examples(30)
@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(2, 4))
def test_the_best_and_the_worst_are_those_of_all_that_nashpy_finds(seed, m, n):
    """By vertices of the best-reply polytopes; its enumeration of supports misses some of these."""
    first, second = games(seed, m, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        payoffs = [x @ first @ y for x, y in nashpy.Game(first, second).vertex_enumeration()]
    assert equilibrium(first, second).row_payoff == pytest.approx(max(payoffs), abs=1e-4)
    assert equilibrium(first, second, for_rows="worst").row_payoff == pytest.approx(min(payoffs), abs=1e-4)


@examples(15)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 4))
def test_the_value_and_the_equilibria_are_gambits(seed, m, n):
    """In exact arithmetic, matrices with equal rows among them: whole edges of equilibria have their ends listed."""
    gambit = pytest.importorskip("pygambit")
    first, second = games(seed, m, n, whole=True)
    game = gambit.Game.from_arrays(first.astype(int), second.astype(int))
    listed = gambit.nash.enummixed_solve(game, rational=True).equilibria
    player = next(iter(game.players)).label
    payoffs = [float(each.payoff(player)) for each in listed]
    assert equilibrium(first, second).row_payoff == pytest.approx(max(payoffs), abs=1e-6)
    assert equilibrium(first, second, for_rows="worst").row_payoff == pytest.approx(min(payoffs), abs=1e-6)
    zero = gambit.Game.from_arrays(first.astype(int), -first.astype(int))
    player = next(iter(zero.players)).label
    value = float(gambit.nash.lp_solve(zero, rational=True).equilibria[0].payoff(player))
    assert zero_sum(first).row_payoff == pytest.approx(value, abs=1e-9)


def test_payoffs_far_apart_and_far_from_zero():
    first, second = games(3, 4, 3)
    moved, scaled = zero_sum(1e6 + 1e-3 * first), zero_sum(first)
    np.testing.assert_allclose(moved.rows, scaled.rows, atol=1e-5)
    assert moved.row_payoff == pytest.approx(1e6 + 1e-3 * scaled.row_payoff, abs=1e-6)
    assert equilibrium(first * 1e5, second).row_payoff == pytest.approx(1e5 * equilibrium(first, second).row_payoff)


@pytest.mark.parametrize("payoff", [np.zeros((0, 2)), np.array([[1.0, np.nan]]), np.ones(3)], ids=str)
def test_what_is_no_game_is_refused(payoff):
    with pytest.raises(InputError, match="not the payoffs of a game"):
        zero_sum(payoff)


def test_equal_payoffs_everywhere():
    found = equilibrium(np.full((3, 2), 7.0), np.full((3, 2), 1.0))
    assert (found.row_payoff, found.column_payoff) == (7.0, 1.0)

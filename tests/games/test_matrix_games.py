"""Matrix games, against Nashpy, Gambit, enumeration of vertices, and properties."""

import itertools
import warnings

import nashpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases, examples

from reidsim.core.errors import InputError
from reidsim.games.matrix_games import equilibrium, exploitability, zero_sum

SIZES = st.integers(1, 5)


def games(seed, m, n, *, whole=False):
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    if whole:
        # Few values: equal rows, dominated rows, and edges of equilibria.
        return tuple(rng.integers(0, 3, size=(m, n)).astype(float) for _ in range(2))
    return tuple(rng.normal(scale=50, size=(m, n)) for _ in range(2))


def test_known_games():
    pennies = zero_sum(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_allclose([*pennies.rows, *pennies.columns], 0.5)
    assert pennies.row_payoff == pytest.approx(0.0, abs=1e-12)
    # Rock, paper, scissors in which paper pays twice (value 0 by symmetry: 1/4, 1/4, 1/2).
    rock = np.array([[0.0, -2.0, 1.0], [2.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    np.testing.assert_allclose(zero_sum(rock).rows, [0.25, 0.25, 0.5], atol=1e-12)
    # Battle of the sexes: three equilibria, including the best and the worst for the row player.
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
    assert payoff.min(axis=1).max() <= found.row_payoff + 1e-7 <= payoff.max(axis=0).min() + 2e-7


@examples(5)
@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(2, 4))
def test_the_best_and_the_worst_are_those_of_all_that_nashpy_finds(seed, m, n):
    """Use vertices of best-reply polytopes.

    Support enumeration misses some equilibria.
    """
    first, second = games(seed, m, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        payoffs = [x @ first @ y for x, y in nashpy.Game(first, second).vertex_enumeration()]
    assert equilibrium(first, second).row_payoff == pytest.approx(max(payoffs), abs=1e-6)
    assert equilibrium(first, second, for_rows="worst").row_payoff == pytest.approx(min(payoffs), abs=1e-6)


def vertices(payoff):
    """Return vertices of {(mixture, u): ``payoff @ mixture <= u``}.

    The array has shape (n_vertices, n + 1).
    """
    k, n = payoff.shape
    limits = np.vstack([np.hstack([-payoff, np.ones((k, 1))]), np.eye(n, n + 1)])
    whole = np.append(np.ones(n), 0.0)
    chosen = np.array(list(itertools.combinations(range(k + n), n)))
    systems = np.concatenate([limits[chosen], np.broadcast_to(whole, (len(chosen), 1, n + 1))], axis=1)
    systems = systems[np.abs(np.linalg.det(systems)) > 1e-9]
    found = np.linalg.solve(systems, np.append(np.zeros(n), 1.0)[:, None])[..., 0]
    return np.unique(found[(found @ limits.T > -1e-9).all(axis=1)].round(12), axis=0)


def row_payoffs_of_vertices(first, second):
    """Return the row player's payoffs in equilibria of two vertices.

    They include the best and the worst payoff.
    """
    payoffs = []
    for (*x, v), (*y, u) in itertools.product(vertices(second.T), vertices(first)):
        slack = np.concatenate([x * (u - first @ y), y * (v - x @ second)])
        if np.abs(slack).max() < 1e-9:
            payoffs.append(u)
    return payoffs


def matrices(seed):
    """Return a small game of one of four kinds.

    The kinds: any numbers, few integers, almost zero-sum with rounded payoffs, equal rows.
    """
    rng = np.random.default_rng(np.random.SeedSequence((seed, 1)))
    m, n = rng.integers(1, 5, 2)
    kind = seed % 4
    if kind == 0:
        return tuple(rng.normal(scale=50, size=(m, n)) for _ in range(2))
    if kind == 3:
        first = rng.integers(-20, 20, size=(m, n)).astype(float)
        return first, -2.0 * first + rng.integers(0, 3, size=(m, n))
    first, second = (rng.integers(0, 3, size=(m, n)).astype(float) for _ in range(2))
    if kind == 2:
        first[-1], second[-1] = first[0], second[0]
    return first, second


@pytest.mark.parametrize("seeds", cases([range(at, at + 25) for at in range(0, 400, 25)], [range(25)]), ids=str)
def test_the_best_and_the_worst_are_those_of_all_vertices_and_nothing_is_printed(seeds, capfd):
    for seed in seeds:
        first, second = matrices(seed)
        payoffs = row_payoffs_of_vertices(first, second)
        for which, payoff in (("best", max(payoffs)), ("worst", min(payoffs))):
            found = equilibrium(first, second, for_rows=which)
            assert found.row_payoff == pytest.approx(payoff, abs=1e-7), (seed, which)
            assert exploitability(first, second, found) < 1e-7
    assert capfd.readouterr() == ("", "")


@examples(15)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 4))
def test_the_value_and_the_equilibria_are_gambits(seed, m, n):
    """Exact arithmetic, also with equal rows.

    Gambit lists the ends of equilibrium edges.
    """
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


@pytest.mark.parametrize("payoff", [np.zeros((0, 2)), np.array([[1.0, np.nan]]), np.ones(3)], ids=str)
def test_what_is_no_game_is_refused(payoff):
    with pytest.raises(InputError, match="invalid payoff matrix"):
        zero_sum(payoff)


@pytest.mark.deep
def test_a_large_game_that_is_nearly_zero_sum_is_solved():
    rng = np.random.default_rng(5)
    first = rng.normal(scale=50, size=(30, 10))
    second = -first + rng.normal(size=(30, 10))
    best, worst = equilibrium(first, second), equilibrium(first, second, for_rows="worst")
    assert worst.row_payoff <= best.row_payoff + 1e-6
    assert exploitability(first, second, best) < 1e-6
    assert exploitability(first, second, worst) < 1e-6

"""Thinned strategies over many parameter points, against the single-point solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of, small_games
from tiers import examples

from reidsim.games.record_game import Constraint
from reidsim.games.solvers import backward_induction, best_options, undominated_options


def strategies_at(options, *amounts, no_attack=False):
    """Return the strategy of every record at one point, -1 if it is withheld."""
    chosen = best_options(options, *amounts, no_attack=no_attack)
    return np.where(chosen < 0, -1, options.strategies[chosen])


@st.composite
def points_of(draw, small):
    """Draw payoff parameters of a point: the game's own (often a tie), or others."""
    if draw(st.booleans()):
        return small.benefit[0], small.loss[0], small.gain[0], small.cost[0]
    gain = draw(amounts)
    worth = gain / small.paper(0).n_p(draw(st.sampled_from(small.paper(0).strategies)))
    return draw(amounts), draw(amounts), gain, draw(st.sampled_from([worth, 4.0, 0.0]))


@given(small=small_games(same_money=True), data=st.data())
@examples(100, fast=5)
def test_every_point_is_the_game_solved_there(small, data):
    money = [data.draw(points_of(small)) for _ in range(3)]
    minimum = small.minimum_numbers()
    lattice = small.lattice()
    for least in (None, minimum):
        options = undominated_options(lattice, small.linker(lattice), Constraint(minimum=least))
        for no_attack in (False, True):
            constraint = Constraint(no_attack=no_attack, minimum=least)
            for here_amounts in money:
                here = small.with_money(*here_amounts)
                choice = backward_induction(here.game(), constraint)
                solved = strategies_at(options, *here_amounts, no_attack=no_attack)
                np.testing.assert_array_equal(solved, choice.strategies)


@given(small=small_games())
@examples(30)
def test_records_thinned_a_few_at_a_time_keep_the_same_options(small):
    lattice = small.lattice()
    whole = undominated_options(lattice, small.linker(lattice))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reidsim.games.solvers._CHUNK", 1)
        chunked = undominated_options(lattice, small.linker(lattice))
    for name in ("start", "strategies", "utility", "success", "intensity"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(chunked, name))


def test_of_options_that_pay_the_same_the_first_in_lattice_order_is_played_though_another_shares_more():
    # (1, 0), strategy 2: 75 - 75/3 attacked; (0, 1), strategy 1: 50, not attacked among 15. All others pay less.
    a, b = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2, 3), (0, 0, 0, 0))
    people = [(0, 0)] + [(1, 0)] * 2 + [(0, 1)] * 14
    game = game_of([a, b], people, [(0, 0)], benefit=100.0, loss=75.0, gain=75.0, cost=5.0)
    assert backward_induction(game.game(), Constraint()).strategies.tolist() == [1]
    options = undominated_options(game.lattice(), game.linker())
    assert {1, 2} <= set(options.strategies.tolist())
    assert strategies_at(options, 100.0, 75.0, 75.0, 5.0).tolist() == [1]
    assert strategies_at(options, 100.0, 75.0 - 1e-6, 75.0, 5.0).tolist() == [2]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_utilities_that_differ_by_the_order_of_addition_are_equal(order):
    # Merging two values and five values loses log 2 + log 5, merging ten log 10. In both forms the record is one of
    # twelve, which is not attacked.
    def merging(k, size):
        return (tuple(range(size)), tuple(max(0, value - k + 1) for value in range(size)))

    people = [(0, 0, 0), (1, 0, 0)] + [(0, 0, 1)] * 11 + [(1, 1, 0)] * 10
    for k in (4, 5):
        for size in range(2 * k, 26, 5):
            hierarchies = [merging(2, 7), merging(k, 9), merging(2 * k, size)]
            game = game_of(hierarchies, people, [(0, 0, 0)], benefit=100.0, loss=90.0, gain=90.0, cost=90 / 12)
            game = game.with_attributes_in_order(order)
            options = undominated_options(game.lattice(), game.linker())
            best = backward_induction(game.game(), Constraint()).strategies
            np.testing.assert_array_equal(strategies_at(options, 100.0, 90.0, 90.0, 90 / 12), best)

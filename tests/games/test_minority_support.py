"""Masking with minority support of any degree, against brute force in plain loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from test_always_shared import partial, payoffs_that_share
from test_masking_game import CARRIED, game_of, random_game
from test_several_adversaries import best_by_hand, worlds_of_types

from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.masking.searches import anytime, best_first, greedy, masking_backward_induction
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.releases.masking import MaskingSpace


@given(data=st.data())
def test_exact_solvers_equal_brute_force(data):
    """Compare strategies and payoffs of every target; the oracle computes the weights."""
    small = data.draw(small_worlds(levels=data.draw(st.booleans()), supported=True))
    no_attack = data.draw(st.booleans())
    expected = [plain.solve(no_attack) for plain in small.plain]
    payoffs = [0.0 if s is None else plain.payoff(s) for plain, s in zip(small.plain, expected, strict=True)]
    for solver in (best_first, masking_backward_induction, anytime):
        choice = solver(small.game, no_attack=no_attack)
        assert choice.exact
        found = [None if s == WITHHELD else small.levels(s) for s in choice.strategies.tolist()]
        np.testing.assert_allclose(small.game.evaluate(choice).publisher_payoff, payoffs, atol=1e-9)
        # Anytime search visits the greedy strategies first, which changes the order of ties.
        assert found == expected or solver is anytime
    for plain in small.plain:
        event(f"its weights sum to less than the total: {sum(plain.weights) < plain.total - 1e-9}")


@given(data=st.data())
def test_other_ways_to_solve_equal_brute_force(data):
    small = data.draw(small_worlds(levels=data.draw(st.booleans()), supported=True))
    game = small.game
    found = [None if s == WITHHELD else small.levels(s) for s in greedy(game).strategies.tolist()]
    assert found == [plain.greedy() for plain in small.plain]
    sums = {s: sum(plain.payoff(small.levels(s)) for plain in small.plain) for s in range(small.space.size)}
    one = same_strategy(game).strategies[0]
    if max(sums.values()) < -1e-9:
        assert one == WITHHELD
    else:
        assert sums[one] == pytest.approx(max(sums.values()), abs=1e-9)
    general = game.evaluate(branch_and_bound(game.record_game, Constraint())).publisher_payoff
    best = [max(plain.payoff(s) for s in plain.strategies()) for plain in small.plain]
    np.testing.assert_allclose(general, best, atol=1e-9)


@given(worlds_of_types(supported=True, levels=True, most_targets=2), st.booleans())
def test_several_adversaries_equal_brute_force(worlds, no_attack):
    small, game, plain = worlds
    weights = [each.weight for each in game.types]
    expected = [
        best_by_hand(own, attacks, weights, game.together, no_attack)
        for own, attacks in zip(small.plain, plain, strict=True)
    ]
    choice = best_against_several(game, no_attack=no_attack)
    assert choice.solver == "best-first"
    np.testing.assert_array_equal(choice.strategies, expected)


@given(small_worlds(supported=True), st.integers(1, 2))
def test_what_is_always_shared_stays_so_against_one_and_several(small, n_always):
    limited = partial(small.game, n_always)
    best = payoffs_that_share(small.game, n_always).max(axis=0)
    linker, attack = limited.record_game.linker, limited.attack
    types = [AdversaryType(name, 0.5, linker, attack) for name in ("one", "other")]
    several = TypesGame(limited.space, types, np.asarray(limited.benefit), np.asarray(limited.loss))
    for strategies in (best_first(limited).strategies, best_against_several(several).strategies):
        assert (strategies < limited.space.size).all()
        choice = Choice(strategies, "", np.ones(len(strategies), np.int64), exact=True)
        found = limited.evaluate(choice).publisher_payoff
        np.testing.assert_allclose(found[strategies != WITHHELD], best[strategies != WITHHELD], atol=1e-9)


def test_sharing_everything_is_worth_the_whole_benefit_whatever_the_weights():
    game = random_game(3, 3)
    weights = np.array([[0.1, 0.2, 0.1, 0.1, 0.1], [9.0, 9.0, 9.0, 9.0, 9.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    space = MaskingSpace(game.space.attributes, weights, 3, total_weight=5.0)
    played = MaskingGame(space, game.attack, game.world, 100.0, 0.0)
    everything = Choice(np.zeros(3, np.int64), "", np.ones(3, np.int64), exact=False)
    # The last locus masked: for the first record the loss is far larger than the locus's own weight.
    last = Choice(np.ones(3, np.int64), "", np.ones(3, np.int64), exact=False)
    for found, expected in ((everything, [1.0, 1.0, 1.0]), (last, [0.1, 1.0, 0.8])):
        np.testing.assert_allclose(played.evaluate(found).utility, expected)
        np.testing.assert_allclose(space.utilities(found.strategies), expected)
        np.testing.assert_allclose(space.utility(int(found.strategies[0])), expected)


@pytest.mark.deep
@pytest.mark.parametrize("heavy", [1e6, 1e60])
def test_bounds_hold_where_a_few_values_weigh_very_much(heavy):
    """Sums without the heavy values must not lose digits by rounding."""
    town = game_of(np.load(CARRIED / "mid_bf_m8_clean.npz", allow_pickle=False))
    rng, n = np.random.default_rng(2), town.n_records
    weights = np.where(rng.random((n, 10)) < 0.3, heavy, 1.0) * rng.uniform(0.2, 2.0, (n, 10))
    space = MaskingSpace(town.space.attributes, weights, n, total_weight=10.0)
    game = MaskingGame(space, replace(town.attack, cost=0.5), town.world, 100.0, 10_000.0)
    payoffs = np.array([payoffs_of(game, strategy) for strategy in range(space.size)])
    for no_attack in (False, True):
        exact = masking_backward_induction(game, no_attack=no_attack).strategies
        np.testing.assert_array_equal(best_first(game, no_attack=no_attack).strategies, exact)
    choice = best_first(game)
    # The search does not enumerate all strategies.
    assert choice.evaluated.mean() < 0.9 * space.size
    found = game.evaluate(choice).publisher_payoff
    np.testing.assert_allclose(found, np.maximum(payoffs.max(axis=0), 0.0), atol=1e-9)
    assert payoffs[same_strategy(game).strategies[0]].mean() == pytest.approx(payoffs.mean(axis=1).max(), abs=1e-9)


def payoffs_of(game, strategy):
    """Return every record's payoff under one strategy, shape (n_records,)."""
    n = game.n_records
    one = Choice(np.full(n, strategy), "", np.ones(n, np.int64), exact=False)
    return game.evaluate(one).publisher_payoff

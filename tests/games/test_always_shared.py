"""Masking games with attributes that cannot be masked, by full enumeration."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.masking.game import MaskingGame, PartialMaskingSpace
from reidsim.games.masking.searches import (
    best_against_several,
    best_first,
    fixed_choice,
    greedy,
    masking_backward_induction,
    same_strategy,
)
from reidsim.games.record_game import Choice


def partial(game, n_always):
    space = game.space
    rest = (space.n_records, space.kept, space.groups, space.total_weight)
    limited = PartialMaskingSpace(space.attributes, space.weights, *rest, n_always=n_always)
    return MaskingGame(limited, game.attack, game.world, game.benefit, game.loss)


def payoffs_that_share(game, n_always, no_attack=False):
    """Return payoffs of all strategies that share the first attributes.

    The array has shape (n_strategies, n_records).
    """
    rows = []
    for strategy in range(game.space.size):
        if not game.space.shared(strategy)[:n_always].all():
            continue
        one = Choice(np.full(game.n_records, strategy), "", np.zeros(game.n_records, np.int64), exact=False)
        found = game.evaluate(one)
        rows.append(np.where(found.attacked & no_attack, -np.inf, found.publisher_payoff))
    return np.array(rows)


@examples(40)
@given(
    st.booleans().flatmap(lambda each: small_worlds(most_targets=2, supported=each)), st.integers(1, 2), st.booleans()
)
def test_exact_solvers_find_the_best_that_shares_what_must_be(small, n_always, no_attack):
    whole, limited = small.game, partial(small.game, n_always)
    linker = limited.record_game.linker
    types = [AdversaryType(name, 0.5, linker, limited.attack) for name in ("one", "other")]
    several = TypesGame(limited.space, types, np.asarray(limited.benefit), np.asarray(limited.loss))
    best = np.maximum(payoffs_that_share(whole, n_always, no_attack).max(axis=0), 0.0)
    for solver in (best_first, masking_backward_induction):
        found = limited.evaluate(solver(limited, no_attack=no_attack))
        np.testing.assert_allclose(found.publisher_payoff, best, atol=1e-9)
        shared = limited.space.shared(np.maximum(found.strategies, 0))
        assert (shared[:, :n_always].all(axis=1) | found.withheld).all()
    against_two = limited.evaluate(best_against_several(several, no_attack=no_attack))
    np.testing.assert_allclose(np.maximum(against_two.publisher_payoff, 0.0), best, atol=1e-9)
    costs = whole.evaluate(best_first(whole)).publisher_payoff > best + 1e-9
    event(f"the rule costs something: {costs.any()}")


@examples(30)
@given(small_worlds(levels=True), st.sampled_from(["greedy", "same-strategy", "demographics-only", "random-masking"]))
def test_every_other_way_to_choose_shares_what_must_be(small, way):
    limited = partial(small.game, 1)
    if way == "greedy":
        choice = greedy(limited)
    elif way == "same-strategy":
        choice = same_strategy(limited)
    else:
        choice = fixed_choice(limited, way, np.random.default_rng(1), sharing_rate=0.3)
    found = limited.evaluate(choice)
    assert (found.withheld | limited.space.shared(np.maximum(found.strategies, 0))[:, 0]).all()
    best = np.maximum(payoffs_that_share(small.game, 1).max(axis=0), 0.0)
    assert (found.publisher_payoff <= best + 1e-9).all()


def test_something_must_be_left_to_mask():
    with pytest.raises(InputError, match="no attribute can be masked; found 2; expected fewer than 2"):
        PartialMaskingSpace(("age", "state"), np.ones(2), 1, n_always=2)


@given(small_worlds())
def test_what_is_always_shared_must_be_linked_on(small):
    game = small.game
    n = len(game.space.attributes)
    if n < 4:
        return
    with pytest.raises(InputError, match="an attribute is always shared but not used for linkage; found 'locus0'"):
        partial(game, 3)

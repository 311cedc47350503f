"""Search from the most general node, against backward induction; group sizes."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from small_games import small_games
from tiers import examples

from reidsim.adversaries.response import arrays_of
from reidsim.games import record_game
from reidsim.games.backward_induction import backward_induction
from reidsim.games.equilibrium import evaluate
from reidsim.games.iceberg import fits, iceberg
from reidsim.games.record_game import Choice, Constraint


def constraints_of(small):
    minimum = small.minimum_numbers()
    return {
        "none": Constraint(),
        "no-attack": Constraint(no_attack=True),
        "minimum": Constraint(minimum=minimum),
        "both": Constraint(no_attack=True, minimum=minimum),
    }


@given(small=small_games())
@examples(300)
def test_iceberg_picks_the_strategies_of_backward_induction(small):
    game = small.game()
    constraints = constraints_of(small)
    assert fits(game)
    expected = backward_induction(game, constraints)
    found = iceberg(game, constraints)
    for name in constraints:
        assert found[name].solver == "iceberg"
        assert found[name].exact
        np.testing.assert_array_equal(found[name].strategies, expected[name].strategies)
        # A single constraint has no other constraint's result as its start.
        alone = iceberg(game, {name: constraints[name]})[name]
        np.testing.assert_array_equal(alone.strategies, expected[name].strategies)
    event(f"{game.space.size} strategies")


@given(small=small_games(), holds_records=st.booleans(), seed=st.integers(0, 2**32 - 1))
@examples(300)
def test_group_sizes_of_many_strategies_are_those_of_each(small, holds_records, seed):
    lattice = small.lattice()
    sizes = small.linker(lattice, holds_records=holds_records).group_sizes
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(small.n_records) < 0.8)
    strategies = rng.integers(0, lattice.size, len(rows))
    expected = [sizes.at(strategy)[row] for strategy, row in zip(strategies.tolist(), rows.tolist(), strict=True)]
    np.testing.assert_array_equal(sizes.each(strategies, rows), expected)


@given(small=small_games(mistaken_adversary=True))
@examples(60)
def test_iceberg_leaves_an_adversary_who_counts_other_people_to_branch_and_bound(small):
    game, constraints = small.game(), constraints_of(small)
    expected = backward_induction(game, constraints)
    found = iceberg(game, constraints)
    for name in constraints:
        assert found[name].solver == ("iceberg" if fits(game) else "branch-and-bound")
        np.testing.assert_array_equal(found[name].strategies, expected[name].strategies)


@given(small=small_games(), seed=st.integers(0, 2**32 - 1))
@examples(60)
def test_a_choice_of_many_strategies_is_evaluated_as_one_of_few(small, seed):
    game, rng = small.game(), np.random.default_rng(seed)
    strategies = rng.integers(-1, game.space.size, game.n_records)
    choice = Choice(strategies, "given", np.ones(game.n_records, dtype=np.int64), exact=False)
    few = evaluate(game, choice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_game, "_MANY_LINKED", 0)
        many = evaluate(game, choice)
    for name, array in arrays_of(few).items():
        np.testing.assert_array_equal(getattr(many, name), array)

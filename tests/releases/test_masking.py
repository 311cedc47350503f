"""The space of masking strategies: numbers, order, utility and weights."""

from dataclasses import replace

import numpy as np
import pytest
from contract_worlds import SMALL, masking_world
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from tiers import examples
from wan2021_oracle import supported_weights

from reidsim.core.errors import InputError
from reidsim.games.record_game import Constraint
from reidsim.games.solvers import branch_and_bound
from reidsim.releases.lattice import MaskingSpace, minority_weights, space_of_all


@st.composite
def spaces(draw):
    """Draw a space of few attributes with common weights or weights per record."""
    n, n_records = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    kept, groups = [], []
    for _ in range(n):
        between = sorted(draw(st.lists(st.floats(0, 1), max_size=2)), reverse=True)
        kept.append(np.array([1.0, *between, 0.0]))
        groups.append(tuple(np.array(draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))) for _ in between))
    weight = st.floats(0.01, 9)
    row = st.lists(weight, min_size=n, max_size=n)
    weights = draw(row | st.lists(row, min_size=n_records, max_size=n_records))
    return MaskingSpace(tuple(f"a{j}" for j in range(n)), np.array(weights), n_records, tuple(kept), tuple(groups))


@given(spaces())
def test_space_keeps_what_solvers_rely_on(space):
    """Successors have higher numbers and no higher utility.

    Predecessors have at least as much utility.
    """
    for strategy in range(space.size):
        levels = space.all_levels(strategy)
        following = list(space.successors(strategy))
        assert following == sorted(following)
        one_further = [
            number for number in range(space.size)
            if (space.all_levels(number) - levels).min() >= 0 and (space.all_levels(number) - levels).sum() == 1
        ]  # fmt: skip
        assert following == one_further
        for number in following:
            assert number > strategy
            assert (space.utility(number) <= space.utility(strategy)).all()
            assert space.average_utility(number) <= space.average_utility(strategy)
            assert space.at_least(number, np.array([strategy, number])).all()
            assert not space.at_least(strategy, np.array([number]))[0]
        assert 0 <= space.generalization_intensity(np.array([strategy]))[0] <= 1


@given(spaces(), st.data())
def test_utility_is_the_share_of_weight_kept(space, data):
    strategies = np.array(
        data.draw(st.lists(st.integers(0, space.size - 1), min_size=space.n_records, max_size=space.n_records))
    )
    weights = np.broadcast_to(space.weights, (space.n_records, len(space.attributes)))
    total = np.mean([sum(row) for row in weights])
    # Sharing everything has utility 1, whatever the sum of the record's own weights.
    for i, strategy in enumerate(strategies.tolist()):
        levels = space.all_levels(strategy)
        kept = sum(weights[i, j] * space.kept[j][level] for j, level in enumerate(levels))
        expected = pytest.approx(min(kept / total, 1.0) if strategy else 1.0)
        assert space.utility(strategy)[i] == expected
        assert space.utility(strategy, np.array([i]))[0] == expected


def test_masking_and_describe():
    space = MaskingSpace(
        ("age", "state", "DYS19"), np.array([2.0, 1.0, 1.0]), 2,
        (np.array([1.0, 0.6, 0.3, 0.0]), np.array([1.0, 0.0]), np.array([1.0, 0.0])),
        ((np.arange(100) // 10, np.arange(100) // 50), (), ()),
    )  # fmt: skip
    strategies = space.masking(np.array([[True, False, True], [False, False, False]]))
    assert strategies.tolist() == [2, 15]
    assert space.describe(0) == "age state DYS19"
    assert space.describe(int(space.number(np.array([1, 1, 0])))) == "age~1 DYS19"
    assert space.describe(15) == "nothing"
    assert space.shared(2).tolist() == [True, False, True]
    assert space.generalized(0, 1, np.array([7, 42, 73])).tolist() == [0, 4, 7]
    assert space.generalized(0, 2, np.array([7, 42, 73])).tolist() == [0, 0, 1]
    assert space.generalized(0, 0, np.array([7, 42])).tolist() == [7, 42]
    with pytest.raises(InputError, match="age: value without a group; found 100"):
        space.generalized(0, 1, np.array([100]))


@given(st.data())
def test_minority_weights_of_several_columns_are_those_of_plain_counting(data):
    """Columns of different lengths and numbers of values, some with missing alleles."""
    n = data.draw(st.integers(1, 5))
    at = data.draw(st.sets(st.integers(0, n - 1)))
    columns = [
        data.draw(st.lists(st.integers(0, data.draw(st.integers(0, 4))), min_size=1, max_size=12)) for _ in range(n)
    ]
    rows = data.draw(st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=4))
    weights = data.draw(st.lists(st.floats(0.0, 5.0), min_size=n, max_size=n))
    alpha = data.draw(st.floats(-2.0, 2.0))
    reference = tuple(np.array(column) for column in columns)
    unknown = tuple(0 if j in at else None for j in range(n))
    found = minority_weights(np.array(weights), np.array(rows), reference, alpha, unknown)
    expected = [supported_weights(weights, row, columns, alpha, at) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(2)}, "no attribute has a positive weight"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(InputError, match=message):
        MaskingSpace(**({"attributes": ("a", "b"), "weights": np.ones(2), "n_records": 2} | change))


# Searches over the adversary's attributes equal searches of the whole space.


@pytest.mark.parametrize("no_attack", [False, True])
@given(world=small_worlds(chain="two-stage", levels=True))
@examples(30)
def test_the_best_reply_is_that_of_the_whole_space(no_attack, world):
    game = world.game.one_stage().record_game
    focused = replace(game, space=replace(game.space, focus=frozenset(("age", "state", "surname"))))
    constraint = Constraint(no_attack=no_attack)
    found, expected = branch_and_bound(focused, constraint), branch_and_bound(game, constraint)
    np.testing.assert_array_equal(found.strategies, expected.strategies)
    assert (found.evaluated <= expected.evaluated).all()


def test_who_plans_against_several_looks_at_what_any_of_them_does():
    space, lattice = masking_world().space, SMALL.lattice()
    one, other = (replace(space, focus=frozenset(names)) for names in (("age", "state"), ("state", "locus0")))
    assert space_of_all([one, other]).focus == {"age", "state", "locus0"}
    assert space_of_all([one, space]).focus is None
    assert space_of_all([lattice, lattice]) is lattice

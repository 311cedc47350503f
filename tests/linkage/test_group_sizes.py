"""Group sizes of every node of a lattice, against counting people one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import game_of, small_games
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Domain, Population

memory_limits = st.sampled_from([0, 1, 200, 1000, 256 * 2**20])


def naive_sizes(small, weights=None):
    """Return group sizes by record and strategy, by counting people with equal values."""
    weights = weights or [1] * len(small.people)
    sizes = []
    for i, record in enumerate(small.records):
        of_record = []
        for g in small.paper(i).strategies:
            groups = [levels[level] for levels, level in zip(small.hierarchies, g, strict=True)]
            total = 0
            for person, weight in zip(small.people, weights, strict=True):
                if all(
                    group[theirs] == group[ours] for group, theirs, ours in zip(groups, person, record, strict=True)
                ):
                    total += weight
            of_record.append(max(total, 1))
        sizes.append(of_record)
    return np.array(sizes)


def asked_in(order, sizes):
    found = {strategy: sizes.at(strategy) for strategy in order}
    return np.column_stack([found[strategy] for strategy in sorted(found)])


def limited_to(memory_limit, sizes):
    """Return group sizes that keep tables within a number of bytes."""
    sizes._memory_limit = memory_limit
    return sizes


@given(small=small_games(), memory_limit=memory_limits, data=st.data())
@examples(60)
def test_sizes_are_those_of_a_count_whatever_is_kept_and_asked_first(small, memory_limit, data):
    lattice = small.lattice()
    order = data.draw(st.permutations(range(lattice.size)))
    rows = np.array(data.draw(st.lists(st.integers(0, small.n_records - 1), max_size=5)), dtype=np.intp)
    sizes = limited_to(memory_limit, GroupSizes(small.population(), lattice))
    np.testing.assert_array_equal(asked_in(order, sizes), naive_sizes(small))
    np.testing.assert_array_equal(asked_in(order[::-1], sizes), naive_sizes(small))
    np.testing.assert_array_equal(sizes.at(order[0], rows), sizes.at(order[0])[rows])
    rows = np.unique(rows)
    strategies = np.array([data.draw(st.sampled_from(order)) for _ in rows], dtype=np.int64)
    expected = [sizes.at(strategy)[row] for strategy, row in zip(strategies.tolist(), rows.tolist(), strict=True)]
    np.testing.assert_array_equal(sizes.each(strategies, rows), expected)
    assert sizes.at(0).dtype == np.int64
    assert sizes.outside.tolist() == [record not in small.people for record in small.records]


@given(small=small_games(), data=st.data())
def test_expected_counts_add_up_and_a_record_is_at_least_one_person(small, data):
    weights = [data.draw(st.floats(0.01, 3.0)) for _ in small.people]
    lattice = small.lattice()
    population = Population.from_records(small.domain(), np.array(small.people, dtype=np.int32), np.array(weights))
    sizes = asked_in(range(lattice.size), GroupSizes(population, lattice))
    assert sizes.dtype == np.float64
    np.testing.assert_allclose(sizes, naive_sizes(small, weights), rtol=1e-12)
    # Equal to the last digit for any order of requests and any number of cached tables.
    order, memory_limit = data.draw(st.permutations(range(lattice.size))), data.draw(memory_limits)
    again = asked_in(order, limited_to(memory_limit, GroupSizes(population, lattice)))
    np.testing.assert_array_equal(again, sizes)


@given(small=small_games(max_attributes=3))
def test_a_population_may_have_more_attributes_in_another_order(small):
    wider = [Attribute("extra", ("x", "y")), *reversed(small.domain().attributes)]
    codes = [(i % 2, *reversed(person)) for i, person in enumerate(small.people)]
    population = Population.from_records(Domain(tuple(wider)), np.array(codes, dtype=np.int32))
    lattice = small.lattice()
    sizes = asked_in(range(lattice.size), GroupSizes(population, lattice))
    np.testing.assert_array_equal(sizes, naive_sizes(small))


def test_a_population_of_other_categories_is_rejected():
    small = game_of([((0, 1), (0, 0))], [(0,)], [(0,)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    other = Population.from_records(Domain((Attribute("a", ("a0", "a2")),)), np.array([[0]], dtype=np.int32))
    with pytest.raises(InputError, match="different categories"):
        GroupSizes(other, small.lattice())


def test_a_registry_may_hold_nobody_of_a_group():
    levels = ((0, 1, 2), (0, 0, 1), (0, 0, 0))
    small = game_of([levels], [(0,), (0,)], [(0,), (1,), (2,)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    registry = GroupSizes(small.population(), small.lattice(), holds_records=False)
    everybody = GroupSizes(small.population(), small.lattice())
    assert [registry.at(strategy).tolist() for strategy in range(3)] == [[2, 0, 0], [2, 2, 0], [2, 2, 2]]
    assert [everybody.at(strategy).tolist() for strategy in range(3)] == [[2, 1, 1], [2, 2, 1], [2, 2, 2]]
    assert registry.total == 2

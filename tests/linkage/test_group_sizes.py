"""Group sizes of every node of a lattice, against counting people one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import game_of, small_games
from tiers import cases, examples

from reidsim.errors import InputError
from reidsim.linkage import group_sizes as module
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice

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


@given(small=small_games(), memory_limit=memory_limits, data=st.data())
@examples(100)
def test_sizes_are_those_of_a_count_whatever_is_kept_and_asked_first(small, memory_limit, data):
    lattice = small.lattice()
    order = data.draw(st.permutations(range(lattice.size)))
    sizes = GroupSizes(small.population(), lattice, memory_limit=memory_limit)
    np.testing.assert_array_equal(asked_in(order, sizes), naive_sizes(small))
    np.testing.assert_array_equal(asked_in(order[::-1], sizes), naive_sizes(small))


@given(small=small_games(), memory_limit=memory_limits, data=st.data())
@examples(60)
def test_sizes_in_a_domain_too_large_for_mixed_radix_keys_are_those_of_a_count(small, memory_limit, data):
    lattice = small.lattice()
    order = data.draw(st.permutations(range(lattice.size)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_KEYS", 0)
        sizes = GroupSizes(small.population(), lattice, memory_limit=memory_limit)
        np.testing.assert_array_equal(asked_in(order, sizes), naive_sizes(small))
        np.testing.assert_array_equal(asked_in(order[::-1], sizes), naive_sizes(small))


@given(small=small_games(), memory_limit=memory_limits, data=st.data())
@examples(60)
def test_other_people_on_the_same_records_are_counted_in_the_same_groups(small, memory_limit, data):
    lattice, n = small.lattice(), small.n_records
    order = data.draw(st.permutations(range(lattice.size)))
    people = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    among = replace(
        small, people=tuple(record for record, k in zip(small.records, people, strict=True) for _ in range(k))
    )
    sizes = GroupSizes(small.population(), lattice, memory_limit=memory_limit).among(people)
    np.testing.assert_array_equal(asked_in(order, sizes), naive_sizes(among))
    np.testing.assert_array_equal(sizes.outside, [record not in among.people for record in small.records])
    assert sizes.at(0).dtype == np.int64
    assert sizes.total == people.sum()


@pytest.mark.parametrize(("path", "factor"), [("sort", 0), ("direct addressing", 10**9)])
@given(small=small_games(), memory_limit=memory_limits)
def test_both_ways_of_merging_groups_count_the_same(path, factor, small, memory_limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DIRECT_ADDRESSING_FACTOR", factor)
        lattice = small.lattice()
        sizes = GroupSizes(small.population(), lattice, memory_limit=memory_limit)
        np.testing.assert_array_equal(asked_in(range(lattice.size), sizes), naive_sizes(small))


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
    again = asked_in(order, GroupSizes(population, lattice, memory_limit=memory_limit))
    np.testing.assert_array_equal(again, sizes)


@given(small=small_games())
def test_whole_counts_stay_whole_numbers(small):
    assert GroupSizes(small.population(), small.lattice()).at(0).dtype == np.int64


@given(small=small_games())
def test_records_outside_the_population_are_told(small):
    outside = GroupSizes(small.population(), small.lattice()).outside
    assert outside.tolist() == [record not in small.people for record in small.records]


@given(small=small_games(), data=st.data())
def test_sizes_of_some_rows_are_those_rows(small, data):
    sizes = GroupSizes(small.population(), small.lattice())
    strategy = data.draw(st.integers(0, small.lattice().size - 1))
    rows = np.array(data.draw(st.lists(st.integers(0, small.n_records - 1), max_size=5)), dtype=np.intp)
    np.testing.assert_array_equal(sizes.at(strategy, rows), sizes.at(strategy)[rows])


@given(small=small_games(), memory_limit=st.sampled_from([0, 100, 300, 1000]))
def test_tables_kept_stay_within_the_limit(small, memory_limit):
    sizes = GroupSizes(small.population(), small.lattice(), memory_limit=memory_limit)
    for strategy in range(small.lattice().size):
        sizes.at(strategy)
        kept = [table.nbytes for table in sizes._kept.values()]
        assert sum(kept) == sizes._kept_bytes
        assert sum(kept) <= memory_limit or len(kept) == 1


def test_the_table_not_asked_for_longest_is_dropped_first():
    levels = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    small = game_of([levels, levels], [(0, 0), (3, 3)], [(0, 0)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    sizes = GroupSizes(small.population(), small.lattice(), memory_limit=10**6)
    for strategy in (1, 2, 3, 1):
        sizes.at(strategy)
    sizes._memory_limit = sizes._kept_bytes
    sizes.at(6)
    assert 2 not in sizes._kept
    assert {1, 3, 6} <= set(sizes._kept)


@given(small=small_games(max_attributes=3))
def test_a_population_may_have_more_attributes_in_another_order(small):
    wider = [Attribute("extra", ("x", "y")), *reversed(small.domain().attributes)]
    codes = [(i % 2, *reversed(person)) for i, person in enumerate(small.people)]
    population = Population.from_records(Domain(tuple(wider)), np.array(codes, dtype=np.int32))
    lattice = small.lattice()
    sizes = asked_in(range(lattice.size), GroupSizes(population, lattice))
    np.testing.assert_array_equal(sizes, naive_sizes(small))


@given(small=small_games(), data=st.data())
def test_cells_listed_with_nobody_in_them_change_nothing(small, data):
    population = small.population()
    cells = np.array(sorted({*small.people, *small.records}), dtype=np.int32)
    counts = np.array([small.people.count(tuple(cell)) for cell in cells.tolist()])
    padded = Population(population.domain, cells, counts)
    lattice = small.lattice()
    sizes = GroupSizes(padded, lattice)
    np.testing.assert_array_equal(asked_in(range(lattice.size), sizes), naive_sizes(small))
    assert sizes.outside.tolist() == [record not in small.people for record in small.records]


def large_case(n_values, n_people, seed):
    rng = np.random.default_rng(seed)
    hierarchies, tables = [], []
    for name, n in zip("abc", n_values, strict=True):
        attribute = Attribute(name, tuple(map(str, range(n))))
        pairs, tens = np.arange(n) // 2, np.arange(n) // 10  # 10 is a multiple of 2, so the levels nest
        levels = [[f"{k}" for k in pairs], [f"{k}" for k in tens], ["*"] * n]
        hierarchies.append(Hierarchy.from_labels(attribute, levels))
        tables.append(np.stack([np.arange(n), pairs, tens, np.zeros(n, dtype=int)]))
    # Squared, so that low codes are frequent and high ones are rare.
    people = (rng.random((n_people, 3)) ** 2 * n_values).astype(np.int32)
    records = np.concatenate([people[:200], (rng.random((100, 3)) * n_values).astype(np.int32)])
    return GeneralizationLattice(tuple(hierarchies), records), people, tables


@pytest.mark.parametrize("n_values", [(20, 30, 10), (5000, 4000, 3000)], ids=["crowded domain", "sparse domain"])
@pytest.mark.parametrize("memory_limit", [0, 10**6, 10**9])
@pytest.mark.parametrize("which", cases([slice(4), slice(4, 20)], [slice(4)]))
def test_a_large_population_is_counted_as_numpy_counts_it(n_values, memory_limit, which):
    lattice, people, tables = large_case(np.array(n_values), 20_000, seed=3)
    sizes = GroupSizes(Population.from_records(lattice.domain, people), lattice, memory_limit=memory_limit)
    strategies = np.random.default_rng(1).permutation(lattice.size).tolist()
    for strategy in strategies[which]:
        levels = lattice.levels(strategy)
        released, crowd = (
            np.column_stack(
                [table[level, codes[:, f]] for f, (table, level) in enumerate(zip(tables, levels, strict=True))]
            )
            for codes in (lattice.codes, people)
        )
        kinds, counts = np.unique(crowd, axis=0, return_counts=True)
        count_of = dict(zip(map(tuple, kinds.tolist()), counts.tolist(), strict=True))
        expected = [count_of.get(tuple(row), 1) for row in released.tolist()]
        np.testing.assert_array_equal(sizes.at(strategy), expected)


def test_a_population_of_other_categories_is_rejected():
    small = game_of([((0, 1), (0, 0))], [(0,)], [(0,)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    other = Population.from_records(Domain((Attribute("a", ("a0", "a2")),)), np.array([[0]], dtype=np.int32))
    with pytest.raises(InputError, match="different categories"):
        GroupSizes(other, small.lattice())


def test_a_population_without_an_attribute_of_the_lattice_is_rejected():
    small = game_of([((0, 1), (0, 0))], [(0,)], [(0,)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    other = Population.from_records(Domain((Attribute("b", ("b0",)),)), np.array([[0]], dtype=np.int32))
    with pytest.raises(InputError, match="no such attribute; found 'a'"):
        GroupSizes(other, small.lattice())


def test_a_registry_may_hold_nobody_of_a_group():
    levels = ((0, 1, 2), (0, 0, 1), (0, 0, 0))
    small = game_of([levels], [(0,), (0,)], [(0,), (1,), (2,)], benefit=1.0, loss=1.0, gain=1.0, cost=1.0)
    registry = GroupSizes(small.population(), small.lattice(), holds_records=False)
    everybody = GroupSizes(small.population(), small.lattice())
    assert [registry.at(strategy).tolist() for strategy in range(3)] == [[2, 0, 0], [2, 2, 0], [2, 2, 2]]
    assert [everybody.at(strategy).tolist() for strategy in range(3)] == [[2, 1, 1], [2, 2, 1], [2, 2, 2]]
    assert registry.total == 2

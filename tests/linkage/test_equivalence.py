"""Record matching, against a naive scan of values and records."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reidsim.linkage.equivalence import TOP, ValueTree, count_matches, make_elements, split_groups, whole
from reidsim.linkage.people import RowGroups
from reidsim.populations.population import distinct_rows

TREES = (
    ValueTree.from_groups("a", {"xy": ["x", "y"], "all": ["xy", "z"]}),
    ValueTree.from_groups("b", {"all": ["p", "q"]}),
)


def group_sizes_on(elements, attributes):
    """Return the number of records that each person matches on the known attributes."""
    split = whole(elements)
    order, starts = split.order, split.starts
    for attribute in attributes:
        column = elements.columns[attribute]
        order, starts = split_groups(order, starts, column, np.zeros(int(column.max()) + 1, dtype=np.int64))
    matches = np.zeros(elements.n_persons, dtype=np.int64)
    everybody = np.ones(elements.n_persons, dtype=np.bool_)
    count_matches(order, starts, elements.asks, elements.records, elements.holders, everybody, matches)
    return matches


def includes(tree: ValueTree, group: int, value: int) -> bool:
    while value not in (group, TOP):
        value = int(tree.parent[value])
    return value == group


@st.composite
def releases(draw):
    """Draw persons, their records, and known attributes.

    Two attributes have trees and one has none.
    """
    n = draw(st.integers(1, 12))
    persons, records = [], []
    for _ in range(n):
        # A person's own value may be known as a group only.
        person = [draw(st.integers(0, tree.n_nodes - 1)) for tree in TREES] + [draw(st.integers(0, 2))]
        record = list(person)
        for position, tree in enumerate(TREES):
            if draw(st.booleans()):
                record[position] = draw(
                    st.sampled_from(tree.chain[person[position]][tree.chain[person[position]] >= 0])
                )
        persons.append(person)
        records.append(record)
    known = draw(st.sets(st.integers(0, 2)))
    return np.array(persons, dtype=np.int32), np.array(records, dtype=np.int32), sorted(known)


def scanned(persons, records, known):
    def matches(record, person):
        return all(
            includes(TREES[j], record[j], person[j]) if j < len(TREES) else record[j] == person[j] for j in known
        )

    return [sum(matches(record, person) for record in records) for person in persons]


@given(release=releases())
def test_records_match_whose_values_include_the_persons(release):
    persons, records, known = release
    elements = make_elements(persons, records, trees=dict(enumerate(TREES)))
    assert group_sizes_on(elements, known).tolist() == scanned(persons, records, known)
    # Rows that stand for several equal records count as often.
    first, kind = distinct_rows(list(records.T), len(records))
    merged = make_elements(persons, records[first], np.bincount(kind).astype(np.int64), dict(enumerate(TREES)))
    assert group_sizes_on(merged, known).tolist() == scanned(persons, records, known)


# Groups of equal rows, against counting by hand.


@st.composite
def tables(draw):
    n_columns, n_rows = draw(st.integers(0, 3)), draw(st.integers(1, 12))
    value = st.integers(0, 3)
    rows = draw(st.lists(st.tuples(*[value] * (n_columns + 1)), min_size=n_rows, max_size=n_rows))
    queries = draw(st.lists(st.tuples(*[st.integers(0, 4)] * n_columns), max_size=6))
    return n_columns, rows, queries


@given(tables())
def test_sizes_and_most_frequent_equal_counting(table):
    n_columns, rows, queries = table
    array = np.array(rows)
    groups = RowGroups([array[:, j] for j in range(n_columns)], len(rows))
    asked = np.array(queries, dtype=np.int64).reshape(len(queries), n_columns)
    found = groups.find([asked[:, j] for j in range(n_columns)], len(queries))
    common = groups.most_frequent(array[:, -1])
    for query, group, size in zip(queries, found.tolist(), groups.sizes_of(found).tolist(), strict=True):
        values = [row[-1] for row in rows if row[:-1] == query]
        assert size == len(values)
        assert (group < 0) == (not values)
        if values:
            most = max(Counter(values).values())
            expected = next(v for v in values if values.count(v) == most)
            assert common[0][group] == expected
            assert common[1][group] == most / len(values)


@given(tables(), st.data())
def test_rows_that_stand_for_several_people_are_as_many_rows(table, data):
    n_columns, rows, _ = table
    counts = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows))))
    array, every = np.array(rows), np.repeat(np.array(rows), counts, axis=0)
    counted = RowGroups([array[:, j] for j in range(n_columns)], len(rows), counts)
    expected = RowGroups([every[:, j] for j in range(n_columns)], len(every))
    np.testing.assert_array_equal(counted.sizes, expected.sizes)
    for one, other in zip(counted.most_frequent(array[:, -1]), expected.most_frequent(every[:, -1]), strict=True):
        np.testing.assert_array_equal(one, other)

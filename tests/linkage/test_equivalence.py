"""Record matching, against a naive scan of values and records."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.linkage.equivalence import (
    NOBODY,
    keep_groups,
    make_elements,
    matching_records,
    require_matches,
    split_groups,
    whole,
)
from reidsim.linkage.value_tree import TOP, ValueTree
from reidsim.populations.domain import distinct_rows

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
    matching_records(order, starts, elements.asks, elements.records, everybody, matches)
    require_matches(matches)
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


@given(release=releases())
def test_reported_values_stand_for_the_true_ones_where_these_are_not_given(release):
    _, records, known = release
    elements = make_elements(records, trees=dict(enumerate(TREES)))
    assert group_sizes_on(elements, known).tolist() == scanned(records, records, known)


@given(release=releases())
def test_rows_that_stand_for_several_records_count_as_often(release):
    persons, records, known = release
    first, kind = distinct_rows(list(records.T), len(records))
    counts = np.bincount(kind).astype(np.int64)
    merged = make_elements(persons, records[first], counts, dict(enumerate(TREES)))
    assert group_sizes_on(merged, known).tolist() == scanned(persons, records, known)


@given(release=releases(), data=st.data())
def test_generalizing_a_record_never_makes_a_group_smaller(release, data):
    persons, records, known = release
    before = group_sizes_on(make_elements(persons, records, trees=dict(enumerate(TREES))), known)
    row, position = data.draw(st.integers(0, len(records) - 1)), data.draw(st.integers(0, 1))
    parent = TREES[position].parent[records[row, position]]
    more = records.copy()
    more[row, position] = records[row, position] if parent == TOP else parent
    after = group_sizes_on(make_elements(persons, more, trees=dict(enumerate(TREES))), known)
    assert (after >= before).all()


@given(rows=st.lists(st.tuples(*[st.integers(0, 3)] * 4), max_size=20))
def test_distinct_rows_are_those_of_a_set(rows):
    columns = [np.array([row[j] for row in rows], dtype=np.int32) for j in range(4)]
    first, kind = distinct_rows(columns, len(rows))
    assert len(first) == len(set(rows))
    assert [rows[first[k]] for k in kind] == rows
    assert [rows[k] for k in first] == sorted(set(rows))


def test_distinct_rows_of_more_columns_than_a_number_can_hold():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 1000, (50, 30))
    rows = np.concatenate([rows, rows[::2]])
    first, kind = distinct_rows(list(rows.T), len(rows))
    assert len(first) == 50
    assert (rows[first[kind]] == rows).all()


def test_a_person_whom_no_record_matches_is_an_error():
    persons = np.array([[0], [1]], dtype=np.int32)
    with pytest.raises(InputError, match="person 1: a person whom no record matches"):
        group_sizes_on(make_elements(persons, persons[:1]), [0])


# Groups kept after a split: elements with the persons 0, 1, ... or none, and a number of records each.
ASKS = np.array([0, 1, 2, 3, NOBODY, NOBODY, NOBODY], dtype=np.int32)
RECORDS = np.array([0, 0, 0, 0, 1, 5, 0])


def kept(groups, wanted, asks=ASKS, records=RECORDS):
    """Keep groups of elements; return the kept groups with their elements in order."""
    order = np.array([element for group in groups for element in group], dtype=np.int32)
    starts = np.cumsum([0, *map(len, groups)])
    is_wanted = np.isin(np.arange(4), wanted)
    order, starts = keep_groups(order, starts, asks, records.astype(np.int64), is_wanted)
    assert starts[0] == 0
    assert starts[-1] == len(order)
    return [order[low:high].tolist() for low, high in pairwise(starts)]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        # Targets are the persons 0 and 2; the elements 4 and 5 represent records, and 6 none.
        ([[0, 4]], [[0, 4]]),
        ([[4, 0]], [[4, 0]]),
        ([[5, 2, 4, 0]], [[5, 2, 4, 0]]),
        ([[1, 0, 6, 4, 3]], [[0, 4]]),
        ([[0, 2]], []),
        ([[0, 6]], []),
        ([[0, 1]], []),
        ([[4, 5]], []),
        ([[1, 4]], []),
        ([[3, 1]], []),
        ([], []),
        ([[1, 4], [2, 5], [0], [3], [6, 0, 4]], [[2, 5], [0, 4]]),
        ([[2, 4], [0, 1, 2], [5, 3]], [[2, 4]]),
    ],
)
def test_kept_are_groups_in_which_somebody_wanted_meets_a_record(groups, expected):
    assert kept(groups, wanted=[0, 2]) == expected


def test_who_is_not_wanted_stays_as_a_record_where_persons_are_the_records():
    """`make_elements` returns this structure if the persons' own values are released."""
    persons, ones = np.arange(4, dtype=np.int32), np.ones(4, dtype=np.int64)
    assert kept([[1, 0], [2, 3]], [0], persons, ones) == [[1, 0]]
    assert kept([[1, 3], [0], [2]], [2, 0], persons, ones) == [[0], [2]]
    assert kept([[1, 3], [0], [2]], [], persons, ones) == []

"""Groups of equal rows, against counting by hand."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reidsim.linkage.row_groups import RowGroups, numbered


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
            assert common.values[group] == expected
            assert common.shares[group] == most / len(values)


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


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**31 - 1, 50) for _ in range(12)]
    groups = RowGroups(columns, 50)
    assert (groups.sizes_of(groups.find(columns, 50)) == 1).all()


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(-3, 10**12)), max_size=12))
def test_values_numbered_anew_are_those_of_numpy(values):
    """The results by counting and by sorting are equal."""
    array = np.array(values, dtype=np.int64)
    for found, expected in zip(numbered(array), np.unique(array, return_inverse=True), strict=True):
        np.testing.assert_array_equal(found, expected)

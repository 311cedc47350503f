"""People singled out by several columns, against counting every pair of people."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.reports.shared import records as kept_columns
from reidsim.reports.shared.records import people_singled_out, revealing_sets

TABLES = st.integers(1, 8).flatmap(
    lambda rows: st.tuples(
        st.lists(st.integers(0, 4), min_size=rows, max_size=rows),
        st.lists(st.lists(st.integers(0, 2), min_size=rows, max_size=rows), min_size=1, max_size=4),
    )
)


def alone(columns, person):
    """Count the people with a row that differs from every other person's rows."""
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(person)
    return len(
        {
            person[i]
            for i, row in enumerate(rows)
            if all(rows[j] != row for j in range(len(rows)) if person[j] != person[i])
        }
    )


@examples(60)
@given(TABLES)
def test_people_singled_out_are_those_of_a_count_of_pairs(table):
    person, columns = table
    arrays = [np.array(column) for column in columns]
    assert people_singled_out(arrays, np.array(person)) == alone(columns, person)


@examples(60)
@given(TABLES, st.data())
def test_people_with_equal_rows_are_counted_as_one_person_who_represents_them(table, data):
    columns = [np.array(column) for column in table[1]]
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(columns[0]), max_size=len(columns[0]))))
    every = np.repeat(np.arange(len(times)), times)
    found = people_singled_out(columns, np.arange(len(times)), times)
    assert found == alone([column[every].tolist() for column in columns], range(len(every)))


@examples(60)
@given(TABLES, st.sampled_from([0.0, 0.2, 0.5]), st.integers(0, 15))
def test_the_sets_are_the_smallest_that_are_not_declared(table, most, bits):
    person, columns = table
    released, kept = columns[:1], {f"k{i}": column for i, column in enumerate(columns[1:])}
    declared = {name for i, name in enumerate(kept) if bits >> i & 1}
    found = revealing_sets(
        [np.array(column) for column in released],
        {name: np.array(column) for name, column in kept.items()},
        np.array(person),
        most,
        declared,
    )
    allowed = alone(released, person) + most * len(set(person))

    def reveals(names):
        return alone([*released, *(kept[name] for name in names)], person) > allowed

    smallest = [
        names
        for size in range(1, len(kept) + 1)
        for names in combinations(kept, size)
        if reveals(names) and not any(reveals(names[:i] + names[i + 1 :]) for i in range(size))
    ]
    undeclared = [names for names in smallest if not set(names) <= declared]
    expected = [names for names in undeclared if len(names) == len(undeclared[0])]
    assert found == expected


def test_one_set_is_found_where_there_are_too_many_to_try(monkeypatch):
    monkeypatch.setattr(kept_columns, "_MOST_SETS", 3)
    rng = np.random.default_rng(1)
    kept = {f"k{i}": rng.integers(0, 3, 200) for i in range(12)}
    person = np.arange(200)
    (found,) = revealing_sets([np.zeros(200, dtype=int)], kept, person, 0.05, ["k0"])
    assert "k0" not in found

    def share(names):
        return people_singled_out([kept[name] for name in names], person) / 200

    assert share(found) > 0.05
    assert all(share([other for other in found if other != name]) <= 0.05 for name in found)

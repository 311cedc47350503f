"""Records completed from the population: conditional probabilities, fixed seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.population import UNKNOWN, Attribute, Domain, Population, complete_records

DOMAIN = Domain(
    (Attribute("age", ("young", "old")), Attribute("sex", ("F", "M")), Attribute("zip", ("1", "2", "3", "4")))
)
COUNTS = {
    (0, 0, 0): 50,
    (0, 0, 1): 30,
    (0, 0, 3): 20,
    (0, 1, 2): 7,
    (1, 0, 0): 1,
    (1, 0, 2): 3,
    (1, 1, 0): 400,
    (1, 1, 1): 100,
}
DRAWS = 20_000
# A share is allowed 5 standard errors: by chance it misses one bound in 1.7 million, one of the 40 below in 43,000.
SIGMAS = 5


def population(counts=COUNTS):
    cells = np.array(list(counts), dtype=np.int32)
    return Population.from_records(DOMAIN, cells, np.array(list(counts.values())))


def conditional(known, counts=COUNTS):
    """Return the exact probability of every cell consistent with the known values."""
    matching = {
        cell: count
        for cell, count in counts.items()
        if all(value in (UNKNOWN, mine) for value, mine in zip(known, cell, strict=True))
    }
    total = sum(matching.values())
    return {cell: count / total for cell, count in matching.items()}


def assert_drawn_in_proportion(completed, probabilities):
    kinds, counts = np.unique(completed, axis=0, return_counts=True)
    found = dict(zip(map(tuple, kinds.tolist()), (counts / len(completed)).tolist(), strict=True))
    assert set(found) <= set(probabilities)
    for cell, p in probabilities.items():
        assert abs(found.get(cell, 0) - p) <= SIGMAS * np.sqrt(p * (1 - p) / len(completed))


@pytest.mark.parametrize(
    "known",
    [
        (0, 0, UNKNOWN),
        (1, 0, UNKNOWN),
        (1, UNKNOWN, UNKNOWN),
        (UNKNOWN, UNKNOWN, 0),
        (UNKNOWN, 1, UNKNOWN),
        (UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
@pytest.mark.parametrize("unit", [1, 0.125], ids=["people", "expected counts"])
def test_unknown_values_are_drawn_in_proportion_to_the_people_who_match(known, unit):
    counts = {cell: count * unit for cell, count in COUNTS.items()}
    records = np.array([known] * DRAWS, dtype=np.int32)
    completed = complete_records(population(counts), records, np.random.default_rng(11))
    assert_drawn_in_proportion(completed, conditional(known))


def test_only_the_cells_allowed_are_drawn():
    people = population()
    among = people.cells[:, 2] != 0
    records = np.array([(UNKNOWN, UNKNOWN, UNKNOWN)] * DRAWS, dtype=np.int32)
    completed = complete_records(people, records, np.random.default_rng(13), among=among)
    left = {cell: count for cell, count in COUNTS.items() if cell[2] != 0}
    assert_drawn_in_proportion(completed, conditional((UNKNOWN,) * 3, left))


known_values = st.lists(st.tuples(*(st.one_of(st.just(UNKNOWN), st.integers(0, n - 1)) for n in DOMAIN.shape)))


@given(records=known_values, seed=st.integers(0, 2**32))
def test_known_values_stay_and_everybody_drawn_exists(records, seed):
    records = [record for record in records if conditional(record) or UNKNOWN not in record]
    codes = np.array(records, dtype=np.int32).reshape(len(records), 3)
    before = codes.copy()
    completed = complete_records(population(), codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(codes, before)
    for record, result in zip(records, completed.tolist(), strict=True):
        if UNKNOWN in record:
            assert tuple(result) in conditional(record)
        else:
            assert tuple(result) == record


def test_records_that_nobody_matches_are_told_with_their_row_and_values():
    records = np.array([(1, 1, 3), (0, 0, UNKNOWN), (0, UNKNOWN, 2), (1, UNKNOWN, 3)], dtype=np.int32)
    with pytest.raises(InputError) as caught:
        complete_records(population(), records, np.random.default_rng(1))
    message = str(caught.value)
    assert "row 4: nobody in population 'population' matches a record" in message
    assert "age = old, zip = 4" in message
    assert "sex" not in message

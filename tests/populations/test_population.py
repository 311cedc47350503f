from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute, Domain, Individuals, Population

DOMAIN = Domain((Attribute("a", ("a0", "a1", "a2")), Attribute("b", ("b0", "b1"))))
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=15)


def as_dict(population):
    cells = list(map(tuple, population.cells.tolist()))
    assert len(set(cells)) == len(cells)
    return dict(zip(cells, population.counts.tolist(), strict=True))


@given(people=rows, data=st.data())
def test_counted_rows_are_added_up_and_empty_cells_left_out(people, data):
    counts = data.draw(st.lists(st.integers(0, 4), min_size=len(people), max_size=len(people)).filter(any))
    population = Population.from_records(DOMAIN, np.array(people, dtype=np.int32), np.array(counts))
    expected = Counter()
    for cell, count in zip(people, counts, strict=True):
        expected[cell] += count
    assert as_dict(population) == +expected
    assert population.total == sum(counts)


@given(people=rows)
def test_a_marginal_counts_by_the_attributes_asked_for_in_their_order(people):
    population = Population.from_records(DOMAIN, np.array(people, dtype=np.int32), name="town", source="a census")
    assert as_dict(population.marginal(["b"])) == Counter((b,) for _, b in people)
    turned = population.marginal(["b", "a"])
    assert as_dict(turned) == Counter((b, a) for a, b in people)
    assert turned.domain.names == ("b", "a")
    assert (turned.name, turned.source, turned.total) == ("town", "a census", len(people))
    assert population.marginal(["a", "b"]) is population


@pytest.mark.parametrize("counts", [[], [0]])
def test_a_population_of_nobody_is_rejected(counts):
    cells = np.zeros((len(counts), 2), dtype=np.int32)
    with pytest.raises(InputError, match="town: the population is empty"):
        Population(DOMAIN, cells, np.array(counts), name="town")
    with pytest.raises(InputError, match="town: the population is empty"):
        Population.from_records(DOMAIN, cells, np.array(counts), name="town")


@pytest.mark.parametrize("make", [Population, Population.from_records], ids=["by cell", "by record"])
def test_negative_counts_are_rejected(make):
    with pytest.raises(InputError, match="negative count; found -1; expected 0 or more"):
        make(DOMAIN, np.array([[0, 0], [1, 1]], dtype=np.int32), np.array([5, -1]))


def individuals(people):
    return Individuals(DOMAIN, np.array(people, dtype=np.int32), name="town")


@given(people=rows)
def test_counting_individuals_and_listing_the_counted_are_inverse(people):
    counted = individuals(people).population()
    listed = Individuals.from_population(counted)
    assert sorted(map(tuple, listed.codes.tolist())) == sorted(people)
    assert counted.name == "town"


def test_missing_values_are_shown_and_refused_where_cells_are_needed():
    people = individuals([(0, -1), (1, 1), (2, -1), (2, 0)])
    assert people.to_frame()["a"].notna().all()
    assert people.to_frame()["b"].isna().tolist() == [True, False, True, False]
    with pytest.raises(InputError, match="people with missing values cannot be counted in cells; found '2 missing'"):
        people.population()


def test_expected_counts_and_too_many_people_are_not_listed():
    cell = np.zeros((1, 2), dtype=np.int32)
    with pytest.raises(InputError, match="expected whole numbers of people"):
        Individuals.from_population(Population(DOMAIN, cell, np.array([1.5])))
    with pytest.raises(InputError, match="too many people for one row per person: about 8,000 TB are needed"):
        Individuals.from_population(Population(DOMAIN, cell, np.array([10**15])))

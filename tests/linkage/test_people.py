"""People with several rows, as arrays: equal people, classes and best entries."""

import numpy as np

from reidsim.linkage.people import PeopleOfRows, RowSets, best_entries, distinct_people
from reidsim.populations.population import Attribute, Domain


def draws(times, seed):
    rng = np.random.default_rng(seed)
    for _ in range(times):
        lengths = rng.integers(1, 5, rng.integers(1, 8))
        yield rng, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def best_by_hand(start, keys):
    """Return the first entry of each set with the largest keys, compared in order."""
    entries = [range(low, high) for low, high in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]
    return [max(own, key=lambda entry: (*(key[entry] for key in keys), -entry)) for own in entries]


def test_the_adversary_goes_by_what_it_attacks_then_by_what_it_believes_then_by_truth_then_by_payoff():
    for rng, start in draws(200, 1):
        n = int(start[-1])
        attacks = rng.random(n) < 0.5
        believed, true, payoff = (rng.integers(0, 2, n) / 2 for _ in range(3))
        found = best_entries(start, attacks, believed, true, payoff)
        assert found.tolist() == best_by_hand(start, (attacks, believed, true, payoff))


def test_of_groups_believed_equal_the_smallest_in_truth_counts():
    for rng, start in draws(100, 2):
        believed, true = (rng.integers(1, 3, int(start[-1])) for _ in range(2))
        assert best_entries(start, -believed, -true).tolist() == best_by_hand(start, (-believed, -true))


def test_many_people_of_few_cells_are_told_apart():
    rng = np.random.default_rng(3)
    person = np.sort(rng.integers(0, 400, 1_200))
    person = np.unique(person, return_inverse=True)[1]
    cells = rng.integers(0, 3, len(person))
    row_sets, of_person = RowSets.from_rows(cells, person)
    bags = [tuple(sorted(cells[person == p].tolist())) for p in range(int(person.max()) + 1)]
    assert row_sets.n_sets == len(set(bags)) == len(set(zip(bags, of_person.tolist(), strict=True)))
    assert row_sets.people.sum() == len(bags)


def test_people_are_counted_once_in_every_margin():
    rng = np.random.default_rng(4)
    domain = Domain(tuple(Attribute(name, ("0", "1", "2")) for name in ("a", "b", "c")))
    codes = rng.integers(0, 3, (40, 3)).astype(np.int32)
    person = np.unique(rng.integers(0, 15, 40), return_inverse=True)[1]
    row_sets, _ = RowSets.from_rows(np.arange(40), person)
    people = PeopleOfRows.from_codes(domain, codes, row_sets, name="patients")
    assert people.total == int(person.max()) + 1
    assert people.marginal(("a", "b", "c")) is people
    for names in (("b",), ("c", "a")):
        margin = people.marginal(names)
        columns = [domain.names.index(name) for name in names]
        assert margin.domain.names == names
        assert margin.name == "patients"
        assert margin.total == people.total
        assert distinct_people(margin) is not None
        for cell, count in zip(margin.cells, margin.counts.tolist(), strict=True):
            assert count == len(set(person[(codes[:, columns] == cell).all(axis=1)].tolist()))


def test_people_are_counted_once_in_every_class():
    rng = np.random.default_rng(5)
    for _ in range(60):
        n_cells = int(rng.integers(1, 12))
        person = np.unique(rng.integers(0, 30, 50), return_inverse=True)[1]
        cells = rng.integers(0, n_cells, 50)
        row_sets, _ = RowSets.from_rows(cells, person)
        n_classes = int(rng.integers(1, n_cells + 1))
        class_of_cell = rng.integers(0, n_classes, n_cells)
        members = [set(person[class_of_cell[cells] == number].tolist()) for number in range(n_classes)]
        assert row_sets.in_classes(class_of_cell, n_classes).tolist() == list(map(len, members))

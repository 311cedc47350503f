"""Linkage by likelihood, against the sum over all pairs of a record and a person."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.linkage.likelihood import Candidates, joint_likelihood, match_rows
from reidsim.releases.noise import estimated, of_sets, replaced, with_added


@st.composite
def worlds(draw):
    """Draw people, records and a table of likelihoods per column."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_cells, n_records = draw(st.integers(1, 20)), draw(st.integers(1, 12))
    values = np.column_stack([rng.integers(0, size, n_cells) for size in sizes])
    columns = [rng.choice([0, 0.1, 0.5, 1.0], size=(rng.integers(1, 5), size)) for size in sizes]
    labels = np.column_stack([rng.integers(0, len(column), n_records) for column in columns])
    return values, rng.integers(0, 4, n_cells), labels, columns


@examples(200)
@given(worlds())
def test_match_equals_the_sum_over_all_pairs(world) -> None:
    values, people, labels, columns = world
    likelihood = np.ones((len(labels), len(values)))
    for place, column in enumerate(columns):
        likelihood *= column[labels[:, place]][:, values[:, place]]
    match = Candidates(values, people).match(labels, columns)
    best = np.where(people > 0, likelihood, 0.0).max(axis=1)
    tied = ((likelihood >= best[:, None] * (1 - 1e-12)) & (best[:, None] > 0)) @ people
    np.testing.assert_allclose(match.total, likelihood @ people, rtol=1e-12)
    np.testing.assert_allclose(match.likelihood, best, rtol=1e-12)
    np.testing.assert_array_equal(match.tied, tied)


@examples(200)
@given(worlds())
def test_rows_match_a_person_as_in_the_sum_over_all_pairs(world) -> None:
    values, people, labels, columns = world
    likelihood = np.ones((len(labels), len(values)))
    for place, column in enumerate(columns):
        likelihood *= column[labels[:, place]][:, values[:, place]]
    usual = likelihood @ people + 0.25
    weighted = likelihood / usual[:, None]
    match = match_rows(values, labels, columns, usual)
    best = weighted.max(axis=0)
    np.testing.assert_allclose(match.total, weighted.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(match.likelihood, best, rtol=1e-12)
    np.testing.assert_array_equal(match.tied, ((weighted >= best * (1 - 1e-12)) & (best > 0)).sum(axis=0))


def likelihoods(values, labels, columns):
    """Return the likelihood of each row (axis 0) given each person (axis 1)."""
    return np.prod([c[labels[:, k]][:, values[:, k]] for k, c in enumerate(columns)], axis=0)


@examples(60)
@given(st.integers(2, 4), st.integers(0, 2**32))
def test_exactly_one_row_is_the_persons_as_in_an_enumeration_of_files(n, seed) -> None:
    # The owner of each row is enumerated: the person owns one row, and each other row belongs to any other person.
    rng = np.random.default_rng(seed)
    values, labels = rng.integers(0, 3, (n, 2)), rng.integers(0, 3, (n, 2))
    columns = [rng.uniform(0.1, 1, (3, 3)) for _ in range(2)]
    likelihood = likelihoods(values, labels, columns)
    match = match_rows(values, labels, columns, likelihood.sum(axis=1), np.arange(n))
    for person in range(n):
        weights = np.zeros(n)
        for owners in itertools.product(range(n), repeat=n):
            if owners.count(person) == 1:
                weights[owners.index(person)] += math.prod(likelihood[row, owner] for row, owner in enumerate(owners))
        assert match.probability[person] == pytest.approx(weights.max() / weights.sum(), rel=1e-11)
        assert match.tied[person] == (weights >= weights.max() * (1 - 1e-12)).sum()


@examples(60)
@given(st.integers(2, 5), st.integers(2, 4), st.integers(0, 2**32))
def test_each_person_of_the_file_counts_once_as_in_an_enumeration_of_files(n, n_people, seed) -> None:
    # A row is compared with one row of each other person of the file; each row of that person is equally probable.
    rng = np.random.default_rng(seed)
    person = np.unique(rng.integers(0, n, n), return_inverse=True)[1]
    values, labels = rng.integers(0, 3, (n_people, 2)), rng.integers(0, 3, (n, 2))
    columns = [[[Fraction(int(each), 8) for each in row] for row in rng.integers(1, 9, (3, 3))] for _ in range(2)]
    likelihood = [
        [math.prod(column[row[k]][value[k]] for k, column in enumerate(columns)) for value in values] for row in labels
    ]
    total = np.array([float(sum(row)) for row in likelihood])
    match = match_rows(values, labels, [np.array(column, dtype=float) for column in columns], total, person)
    for searched in range(n_people):
        of_row = [Fraction(0)] * n
        for row, *others in itertools.product(range(n), *[range(n_people)] * (n - 1)):
            if searched not in others:
                owners = [*others[:row], searched, *others[row:]]
                of_row[row] += math.prod(likelihood[each][owner] for each, owner in enumerate(owners))
        expected = set()
        for row in np.flatnonzero([each == max(of_row) for each in of_row]):
            others = [each / (person == person[k]).sum() for k, each in enumerate(of_row) if person[k] != person[row]]
            expected.add(float(of_row[row] / (of_row[row] + sum(others))))
        same = {tuple(labels[row]) for row, each in enumerate(of_row) if each == max(of_row)}
        if len(same) == 1:
            # The row is any of the rows with the most probable label.
            assert min(expected) * (1 - 1e-11) <= match.probability[searched] <= max(expected) * (1 + 1e-11)
        if len(expected) == 1:
            assert match.probability[searched] == pytest.approx(expected.pop(), rel=1e-11)


@examples(30)
@given(st.integers(0, 2**32), st.sampled_from([3, 20, 300]))
def test_exactly_one_row_is_the_persons_as_in_the_sum_over_all_pairs(seed, n) -> None:
    # Probabilities of a row are above and below the limit up to which powers are added up, and 0 and 1.
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, size, n) for size in (8, 5, 3)])
    labels = np.column_stack([rng.integers(0, size, n) for size in (8, 5, 3)])
    columns = [rng.choice([0.0, 0.01, 0.5, 2.0], (size, size)) + np.eye(size) for size in (8, 5, 3)]
    likelihood = likelihoods(values, labels, columns)
    usual = likelihood.sum(axis=1)
    labels, likelihood, usual = labels[usual > 0], likelihood[usual > 0], usual[usual > 0]
    odds = likelihood / np.maximum(usual[:, None] - likelihood, 1e-12 * usual[:, None])
    match = match_rows(values, labels, columns, usual, np.arange(len(labels)))
    total = odds.sum(axis=0, initial=0.0)
    expected = np.divide(odds.max(axis=0, initial=0.0), total, out=np.zeros(n), where=total > 0)
    np.testing.assert_allclose(match.probability, expected, rtol=1e-9)


@examples(100)
@given(st.integers(1, 6), st.integers(0, 2**32))
def test_exchanged_roles_have_equal_sizes_if_labels_and_values_are_symmetric(n, seed) -> None:
    # Each value and each label occurs once, and all rows and columns of the model have the same sum.
    rng = np.random.default_rng(seed)
    model = sum(rng.random() * np.eye(n)[rng.permutation(n)] for _ in range(4))
    model, values = model + model.T, np.arange(n)[:, None]
    by_record = Candidates(values, np.ones(n)).match(values, [model])
    by_person = match_rows(values, values, [model], by_record.total)
    np.testing.assert_allclose(by_person.size, by_record.size, rtol=1e-12)
    np.testing.assert_array_equal(by_person.tied, by_record.tied)


def test_people_without_records_or_cells() -> None:
    match = Candidates(np.zeros((0, 2), dtype=np.int32), np.zeros(0)).match(
        np.zeros((1, 2), dtype=np.int32), [np.eye(2)] * 2
    )
    assert match.probability.tolist() == [0.0]
    assert match.success(np.array([0.0])).tolist() == [0.0]
    nothing = np.zeros((0, 2), dtype=np.int32)
    rows = match_rows(np.zeros((1, 2), dtype=np.int32), nothing, [np.eye(2)] * 2, np.zeros(0), np.zeros(0, dtype=int))
    assert rows.probability.tolist() == [0.0]


def test_without_noise_the_probability_is_one_over_the_group_size() -> None:
    values, people = np.array([[0, 0], [1, 0], [2, 1]]), np.array([3, 2, 1])
    columns = [of_sets([np.array([True, True, False]), np.array([True, False, False])]), np.eye(2)]
    labels = np.array([[0, 0], [1, 0]])
    match = Candidates(values, people).match(labels, columns)
    assert match.probability.tolist() == pytest.approx([1 / 5, 1 / 3])
    assert match.success(joint_likelihood(labels, values[[0, 0]], columns)).tolist() == pytest.approx([1 / 5, 1 / 3])


def test_right_guesses_are_as_frequent_as_predicted() -> None:
    # 20,000 records, whose values are replaced or get noise: the mean of the posterior probabilities is the frequency
    # of right guesses, up to 4 standard errors.
    rng = np.random.default_rng(5)
    values = np.column_stack([rng.integers(0, 6, 3000), rng.integers(0, 30, 3000)])
    own = values[rng.integers(0, 3000, 20_000)]
    shares = np.full(6, 1 / 6)
    kept = np.where(rng.random(20_000) < 0.7, own[:, 0], rng.integers(0, 6, 20_000))
    noisy, number = np.unique(own[:, 1] + rng.normal(0, 0.4, 20_000).round(1), return_inverse=True)
    # Rounding to 0.1 leaves the shape of the density.
    columns, labels = [replaced(0.7, shares), with_added(noisy, np.arange(30.0), 0.4)], np.column_stack([kept, number])
    match = Candidates(values, np.ones(3000)).match(labels, columns)
    right = match.success(joint_likelihood(labels, own, columns))
    assert abs(right.mean() - match.probability.mean()) < 4 * right.std() / np.sqrt(20_000)


def drawn_file(rng, people, n, sizes, keep=0.8):
    """Return values, labels and models of the first n of some people, whose values are kept or drawn anew."""
    own = people[:n]
    labels, columns = own.copy(), []
    for place, size in enumerate(sizes):
        shares = np.bincount(own[:, place], minlength=size) / len(own)
        changed = rng.random(len(own)) > keep
        labels[changed, place] = rng.choice(size, changed.sum(), p=shares)
        columns.append(replaced(keep, shares))
    return own, labels, columns


def drawn_people(rng, n, sizes):
    return np.column_stack([np.minimum(rng.geometric(2.5 / size, n) - 1, size - 1) for size in sizes])


def test_right_rows_are_as_frequent_as_predicted() -> None:
    # 2,000 of 100,000 people are in the file. The bound is 4 standard errors, as for people.
    rng, sizes = np.random.default_rng(3), (60, 40, 30)
    people = drawn_people(rng, 100_000, sizes)
    own, labels, columns = drawn_file(rng, people, 2000, sizes)
    usual = Candidates(people, np.ones(len(people))).match(labels, columns).total
    match = match_rows(own, labels, columns, usual, np.arange(2000))
    right = match.success(joint_likelihood(labels, own, columns) / usual)
    assert abs(right.mean() - match.probability.mean()) < 4 * right.std() / np.sqrt(len(own))


@pytest.mark.deep
@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, [(0.43, 0.42), (0.46, 0.45), (0.53, 0.48)]), (3, [(0.51, 0.49), (0.5, 0.5), (0.58, 0.52)])],
)
def test_stated_and_right_links_of_files_that_hold_all_people(most, expected) -> None:
    # 20 files of 500 people each, with 1 to `most` rows; docs/explanation/perturbation.md has these figures.
    sizes, n, means = (20, 10, 8), 500, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = drawn_people(rng, n, sizes)
        person = np.repeat(np.arange(n), rng.integers(1, most + 1, n)) if most > 1 else np.arange(n)
        own, labels, columns = drawn_file(rng, people[person], len(person), sizes)
        by_record = Candidates(people, np.ones(n)).match(labels, columns)
        likelihood = joint_likelihood(labels, own, columns)
        by_row = match_rows(own, labels, columns, by_record.total, person)
        right = by_row.success(likelihood / by_record.total) / np.bincount(person)[person]
        record = np.stack([by_record.probability, by_record.success(likelihood)])
        row = np.stack([by_row.probability, np.bincount(person, right)[person]])
        links = record, row, np.where(row[0] > record[0], row, record)
        # Of the rows of a person, the one with the highest stated probability is attacked.
        frames = [pd.DataFrame(each.T, index=person).sort_values([0, 1]) for each in links]
        means.append([frame.groupby(level=0).last().mean() for frame in frames])
    np.testing.assert_allclose(np.mean(means, axis=0), expected, atol=0.005)


@examples(50)
@given(st.integers(0, 2**32))
def test_estimated_model_predicts_each_record_best_by_the_others(seed) -> None:
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 15)
    labels, values = rng.integers(0, 3, n), rng.integers(0, 2, n)
    simple = [rng.dirichlet(np.ones(3), 2).T for _ in range(2)]

    def table(rows, base, weight):
        """Return the shares of labels by value in some of the records, with `weight` records of a simple model."""
        counts = np.array([[np.sum((labels[rows] == i) & (values[rows] == j)) for j in range(2)] for i in range(3)])
        return (counts + weight * base) / (counts.sum(axis=0) + weight)

    def fit(base, weight):
        rows = np.arange(n)
        return sum(np.log(table(rows[rows != i], base, weight)[labels[i], values[i]]) for i in range(n))

    tried = [(base, weight) for base in simple for weight in (1.0, 1e12)]
    fits = [fit(*each) for each in tried]
    best = [table(np.arange(n), *each) for each, value in zip(tried, fits, strict=True) if value > max(fits) - 1e-9]
    found = estimated(labels, values, simple)
    assert any(np.allclose(found, each, rtol=1e-9) for each in best)

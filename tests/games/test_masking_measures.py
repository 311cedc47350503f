"""Usefulness and fairness by hand; `test_masking_game` has the published code's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.games.masking.measures import (
    birth_decades,
    fairness,
    fairness_of_usefulness,
    gini,
    state_groups,
    usefulness,
)

VALUES = np.array([[1, 5], [1, 6], [2, 5], [2, 6]])


def test_usefulness_is_one_minus_the_weighted_distance():
    """Attribute 1: shared 1, 1, 2 of 1, 1, 2, 2, distance 1/6; attribute 2: 1."""
    shared = np.array([[1, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)
    assert usefulness(VALUES, shared, np.array([3.0, 1.0])) == pytest.approx(3 / 4 * 5 / 6)
    assert usefulness(VALUES, np.ones((4, 2), bool), np.array([3.0, 1.0])) == pytest.approx(1)
    assert usefulness(VALUES, np.zeros((4, 2), bool), np.array([3.0, 1.0])) == 0


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=12))
def test_gini_is_half_the_relative_mean_difference(values):
    n, moved = len(values), [v + 1e-7 for v in values]
    differences = sum(abs(a - b) for a in moved for b in moved)
    assert gini(np.array(values)) == pytest.approx(differences / (2 * n * sum(moved)), abs=1e-9)


def test_gini_of_known_values():
    assert gini(np.zeros(4)) == pytest.approx(0, abs=1e-12)
    assert gini(np.full(4, 3.0)) == pytest.approx(0, abs=1e-12)
    assert gini(np.array([0.0, 0.0, 0.0, 1.0])) == pytest.approx(3 / 4, abs=1e-6)
    assert gini(np.array([-1.0, -1.0, -1.0, 0.0])) == pytest.approx(3 / 4, abs=1e-6)


def test_fairness_is_the_mean_over_groupings():
    values = np.array([0.0, 0.0, 1.0, 1.0])
    apart, mixed = np.array([0, 0, 1, 1]), np.array([7, 9, 7, 9])
    assert fairness(values, [apart]) == pytest.approx(1 / 2, abs=1e-6)
    assert fairness(values, [mixed]) == pytest.approx(1)
    assert fairness(values, [apart, mixed]) == pytest.approx(3 / 4, abs=1e-6)


def test_who_masks_the_grouping_attribute_counts_in_no_group():
    """Both groups share the second attribute; the second group masks the grouping one."""
    shared = np.array([[1, 1], [1, 1], [0, 1], [0, 1]], dtype=bool)
    found = fairness_of_usefulness(VALUES, shared, np.ones(2), [(0, VALUES[:, 0])])
    assert found == pytest.approx(1 - gini(np.array([1.0, 0.0])))


def test_published_groups():
    years = np.array([1880, 1909, 1910, 1919, 1920, 1989, 1990, 2020])
    assert birth_decades(2020 - years).tolist() == [0, 0, 1, 1, 2, 8, 9, 9]
    assert state_groups(np.array([0, 10, 11, 20, 21, 40, 41, 50])).tolist() == [0, 0, 1, 1, 2, 3, 4, 4]

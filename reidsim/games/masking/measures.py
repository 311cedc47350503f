"""Usefulness of a shared dataset and its fairness between groups.

Follows Wan et al. 2021, notes S7 and S8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.releases.strategy_space import Floats

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Added to all values before a Gini coefficient, as published; it keeps the coefficient of zeros at 0.
_OFFSET = 1e-7

PUBLISHED_YEAR = 2020
"""Reference year of the ages in the published study."""


def usefulness(values: Integers, shared: Flags, weights: Floats) -> float:
    """Return the similarity of the distributions of shared and all values, in [0, 1].

    The usefulness is the weighted mean over attributes of 1 - d, where d is the total variation distance between the
    distributions of the attribute's values among all targets and among the targets who share it. If no target shares an
    attribute, d is 1.

    Parameters
    ----------
    values : ndarray of int, shape (n, n_attributes)
        True values of the targets.
    shared : ndarray of bool, shape (n, n_attributes)
        Whether the target shares the attribute.
    weights : ndarray of float64, shape (n_attributes,)
        Weight of each attribute; the sum must be above 0.
    """
    kept = 0.0
    for j, weight in enumerate(weights):
        distinct, code = np.unique(values[:, j], return_inverse=True)
        sharing = shared[:, j]
        if sharing.any():
            everybody = np.bincount(code, minlength=len(distinct)) / len(code)
            visible = np.bincount(code[sharing], minlength=len(distinct)) / sharing.sum()
            kept += weight * (1.0 - 0.5 * np.abs(everybody - visible).sum())
    return float(kept / np.sum(weights))


def gini(values: Floats) -> float:
    """Return the Gini coefficient of values, shape (n,); 0 for equal values.

    If any value is negative, all values are shifted so that the lowest is 0. As published, 1e-7 is then added to all.
    There must be at least one value.
    """
    ordered = np.sort(values - min(values.min(), 0.0)) + _OFFSET
    n = len(ordered)
    return float(((2 * np.arange(1, n + 1) - n - 1) * ordered).sum() / (n * ordered.sum()))


def fairness(values: Floats, groupings: Sequence[Integers]) -> float:
    """Return the fairness of a measure between groups; 1 if all group means are equal.

    This is the mean over groupings of 1 - Gini coefficient of the group means. Groups have equal weight.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Measure of each subject, such as payoff, privacy or utility.
    groupings : sequence of ndarray of int, shape (n,)
        Group of every subject, for each grouping; see `birth_decades` and `state_groups`.
    """
    evenness = []
    for groups in groupings:
        _, code = np.unique(groups, return_inverse=True)
        evenness.append(1.0 - gini(np.bincount(code, weights=values) / np.bincount(code)))
    return float(np.mean(evenness))


def fairness_of_usefulness(
    values: Integers, shared: Flags, weights: Floats, groupings: Sequence[tuple[int, Integers]]
) -> float:
    """Return the fairness of usefulness between groups; see `fairness`.

    This is the mean over groupings of 1 - Gini coefficient of the usefulness within each group. Subjects who mask the
    attribute that defines the groups have no visible group, so they do not count as sharing.

    Parameters
    ----------
    values, shared, weights
        See `usefulness`.
    groupings : sequence of tuple of int and ndarray of int, shape (n,)
        Position of the attribute that defines the groups, and the group of every subject.
    """
    evenness = []
    for attribute, groups in groupings:
        visible = shared & shared[:, [attribute]]
        by_group = [usefulness(values[groups == g], visible[groups == g], weights) for g in np.unique(groups)]
        evenness.append(1.0 - gini(np.array(by_group)))
    return float(np.mean(evenness))


def birth_decades(ages: Integers, year: int = PUBLISHED_YEAR) -> Integers:
    """Return the birth-year group of each subject, an integer from 0 to 9.

    The groups are: before 1910, the eight decades from 1910 on, 1990 and later. The birth year is `year` less the age
    (`ages`, shape (n,), in years).
    """
    return np.clip((year - ages) // 10 - 190, 0, 9)


def state_groups(states: Integers) -> Integers:
    """Return the group of each subject's state, an integer from 0 to 4.

    `states` (n,) holds state codes from 0 to 50; group 0 holds codes 0 to 10, and each other group the next ten.
    """
    return np.maximum(states - 1, 0) // 10

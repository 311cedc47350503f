"""Population uniqueness by a log-linear model of the cells of a sample (Skinner and Holmes 1998; Skinner, Shlomo 2008).

The people of cell k are Poisson with mean L_k, and each of them is sampled with probability p_k: so f_k records are
Poisson with mean p_k L_k, and the others of the cell, who are not sampled, with mean v_k = (1 - p_k) L_k, whatever f_k
is. Of a record that is alone in its cell, ::

    P(F_k = 1 | f_k = 1) = exp(-v_k)        E[1 / F_k | f_k = 1] = (1 - exp(-v_k)) / v_k

The means are those of a log-linear model with the main effects of all attributes, or also all interactions of two.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np

from reidsim.errors import InputError
from reidsim.linkage.individual_risk import individual_risk
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.linkage.uniqueness.sample_cells import Floats, SampleCells
from reidsim.linkage.uniqueness.sample_uniques import estimate_of_uniques

Interactions = Literal["none", "two-way"]
NAMES: dict[Interactions, str] = {"none": "log-linear-independence", "two-way": "log-linear"}

# Cells of the whole table, occupied or not, that are fitted: some seconds of work, and 100 MB.
MOST_CELLS = 2_000_000
# Quantile of the normal distribution: a bias beyond it is no chance, but once in twenty times.
SIGNIFICANT = 1.96
# Iterative proportional fitting ends when no margin is off by more than this share of all records.
_CLOSE_ENOUGH = 1e-7
_MOST_ROUNDS = 200


def log_linear_uniqueness(
    cells: SampleCells, *, interactions: Interactions = "two-way", level: float = 0.95
) -> UniquenessEstimate:
    """Estimate population uniqueness by a log-linear model.

    Parameters
    ----------
    cells : SampleCells
    interactions : {"two-way", "none"}
        Whether attributes may go together in pairs, or are independent.
    level : float
        Confidence level of the intervals; see `estimate_of_uniques`.

    Returns
    -------
    UniquenessEstimate
        Its parameters are the number of cells of the whole table, the `bias` of the expected number of sample uniques
        that are population unique, and `bias_z`, the same over its standard deviation under the model.

    Raises
    ------
    InputError
        If the whole table has more than 2,000,000 cells.

    Notes
    -----
    With weights that differ, the model is fitted to the sums of weights (pseudo maximum likelihood). The sampling
    probability of a unique record is one over its weight.

    `bias` looks at how far the records of cells are off the model: with d the error of L_k, f_k - p_k L_k estimates
    p_k d and (f_k - p_k L_k)^2 - f_k estimates (p_k d)^2 without bias, so that the expectation of the error of
    ``sum of exp(-v_k) over sample uniques``, to the second order in d, is estimated by ::

        B = sum (1 - p) exp(-L) {L (f - p L) + [2 - (1 + p) L] [(f - p L)^2 - f] / (2 p)}

    over all cells, with p_k the ratio of the means fitted to records and to weights. It is above 0 where the model
    leaves out interactions (the estimate is too high), and below where it has too many parameters (too low). Skinner
    and Shlomo (2008) propose to choose the model by a quantity of this kind.
    """
    records, people = _means(cells, interactions)
    unique = cells.unique
    means = people[tuple(cells.codes.T)][unique]
    others = (1 - 1 / cells.people[unique]) * means
    bias, deviation = _bias(cells.table(cells.records), records, people)
    return estimate_of_uniques(
        NAMES[interactions], cells, np.exp(-others),
        individual_risk(np.ones(len(others)), 1 + others, "poisson"), level=level,
        parameters={"cells": people.size, "bias": bias, "bias_z": bias / deviation if deviation > 0 else 0.0},
    )  # fmt: skip


def chosen_interactions(cells: SampleCells) -> Interactions:
    """Return "none" if independent attributes leave no bias that is significant at 5 %, else "two-way"."""
    z = log_linear_uniqueness(cells, interactions="none").parameters["bias_z"]
    return "none" if abs(z) <= SIGNIFICANT else "two-way"


def people_of_model(cells: SampleCells) -> SampleCells:
    """Return all cells that the model of a sample has people in, with the records and all people of each.

    The model is that of `chosen_interactions`. A cell's records stand for themselves and for the expected number of its
    people who are not sampled; cells without records are those of the latter alone.

    Raises
    ------
    InputError
        If the whole table has more than 2,000,000 cells.
    """
    records, people = _means(cells, chosen_interactions(cells))
    sampled = cells.table(cells.records)
    # The probability of being sampled is that of the cell's own records, if it has any.
    probability = np.divide(records, people, out=np.ones_like(people), where=people > 0)
    probability[tuple(cells.codes.T)] = cells.records / cells.people
    everybody = sampled + np.maximum(1 - probability, 0.0) * people
    codes = np.argwhere(everybody > 0)
    at = tuple(codes.T)
    return SampleCells(codes, sampled[at].astype(np.int64), everybody[at], cells.equal_weights)


def _means(cells: SampleCells, interactions: Interactions) -> tuple[Floats, Floats]:
    """Return the expected records and people of every cell of the whole table."""
    size = math.prod(cells.shape)
    if size > MOST_CELLS:
        raise InputError(
            "too many cells for a log-linear model", found=size, expected=f"at most {MOST_CELLS:,}",
            hint="take fewer attributes, or coarser values",
        )  # fmt: skip
    records = _fitted(cells.table(cells.records), interactions)
    if cells.equal_weights:
        return records, records * (cells.population_size / cells.records.sum())
    return records, _fitted(cells.table(cells.people), interactions)


def _fitted(table: Floats, interactions: Interactions) -> Floats:
    """Return the means of the model of largest likelihood, by iterative proportional fitting."""
    axes = range(table.ndim)
    order = min(2 if interactions == "two-way" else 1, table.ndim)
    margins = [
        (rest := tuple(axis for axis in axes if axis not in kept), table.sum(axis=rest, keepdims=True))
        for kept in itertools.combinations(axes, order)
    ]
    fitted = np.full(table.shape, table.sum() / table.size)
    for _ in range(_MOST_ROUNDS):
        off = 0.0
        for rest, wanted in margins:
            have = fitted.sum(axis=rest, keepdims=True)
            off = max(off, float(np.abs(have - wanted).max()))
            fitted *= np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
        if off <= _CLOSE_ENOUGH * table.sum():
            break
    return fitted


def _bias(table: Floats, records: Floats, people: Floats) -> tuple[float, float]:
    """Return the estimated bias of the number of population uniques in the sample, and its standard deviation."""
    there = people > 0
    f, mean, people = table[there], records[there], people[there]
    p = np.minimum(mean / people, 1.0)
    first = (1 - p) * np.exp(-people) * people
    second = (1 - p) * np.exp(-people) * (2 - (1 + p) * people) / (2 * p)
    bias = float((first * (f - mean) + second * ((f - mean) ** 2 - f)).sum())
    # Of a Poisson number the two terms are uncorrelated, with variances m and 2 m^2.
    return bias, float(np.sqrt((first**2 * mean + 2 * (second * mean) ** 2).sum()))


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
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.linkage.uniqueness.sample_cells import Floats, SampleCells
from reidsim.linkage.uniqueness.sample_uniques import estimate_of_uniques

Interactions = Literal["none", "two-way"]
NAMES: dict[Interactions, str] = {"none": "log-linear-independence", "two-way": "log-linear"}

# Cells of the whole table, occupied or not, that are fitted: some seconds of work, and 100 MB.
MOST_CELLS = 2_000_000
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
    size = math.prod(cells.shape)
    if size > MOST_CELLS:
        raise InputError(
            "too many cells for a log-linear model", found=size, expected=f"at most {MOST_CELLS:,}",
            hint="take fewer attributes, or coarser values",
        )  # fmt: skip
    at = tuple(cells.codes.T)
    records = _fitted(_table(cells, cells.records.astype(np.float64)), interactions)
    people = records * (cells.population_size / cells.records.sum())
    if not cells.equal_weights:
        people = _fitted(_table(cells, cells.people), interactions)
    unique = cells.unique
    means = people[at][unique]
    probability = 1 / cells.people[unique]
    others = (1 - probability) * means
    staying = np.exp(-others)
    # The mean of exp(-v z) over z from 0 to 1.
    share = np.where(others > 0, -np.expm1(-others) / np.where(others > 0, others, 1.0), 1.0)
    bias, deviation = _bias(_table(cells, cells.records.astype(np.float64)), records, people)
    return estimate_of_uniques(
        NAMES[interactions], cells, staying, share, level=level,
        parameters={"cells": size, "bias": bias, "bias_z": bias / deviation if deviation > 0 else 0.0},
    )  # fmt: skip


def _table(cells: SampleCells, amounts: Floats) -> Floats:
    table = np.zeros(cells.shape)
    table[tuple(cells.codes.T)] = amounts
    return table


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


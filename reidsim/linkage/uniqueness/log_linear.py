"""Population uniqueness by a log-linear model of the cells of a sample.

References: Skinner and Holmes 1998; Skinner and Shlomo 2008.

The number of people of cell k is Poisson with mean L_k, and each person is sampled with probability p_k. So the number
of records f_k is Poisson with mean p_k L_k, and the number of unsampled people is Poisson with mean
v_k = (1 - p_k) L_k, independent of f_k. For a record that is alone in its cell, ::

    P(F_k = 1 | f_k = 1) = exp(-v_k)        E[1 / F_k | f_k = 1] = (1 - exp(-v_k)) / v_k

The means follow a log-linear model with the main effects of all attributes, and with interactions of no, some or all
pairs of attributes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from reidsim.errors import InputError
from reidsim.linkage.individual_risk import individual_risk
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.linkage.uniqueness.sample_cells import Floats, SampleCells, estimate_of_uniques

Pair = tuple[int, int]

# Limit on the cells of the whole table, occupied or not. Fitting this many takes some seconds and 100 MB.
MOST_CELLS = 2_000_000
# Quantile of the normal distribution: random errors exceed it once in twenty times.
SIGNIFICANT = 1.96
# Iterative proportional fitting ends when no margin is off by more than this share of all records.
_CLOSE_ENOUGH = 1e-6
_MOST_ROUNDS = 200


class LogLinearModel:
    """A log-linear model of the people of all cells, including cells without a record.

    Parameters
    ----------
    cells : SampleCells
    pairs : sequence of (int, int)
        Positions of pairs of attributes that interact; without pairs, all attributes are independent.
    start : LogLinearModel, optional
        A fitted model with some of the pairs, from which fitting is faster.

    Raises
    ------
    InputError
        If the whole table (all combinations of values that occur) has more than 2,000,000 cells.

    Notes
    -----
    If weights differ, the model is fitted to the sums of weights (pseudo maximum likelihood). The sampling probability
    is one over the mean weight of a cell's records. For a cell without records, it is the ratio of the means fitted to
    records and to weights.
    """

    def __init__(self, cells: SampleCells, pairs: Sequence[Pair] = (), *, start: LogLinearModel | None = None) -> None:
        size = math.prod(cells.shape)
        if size > MOST_CELLS:
            problem, hint = "too many cells for a log-linear model", "use fewer attributes or coarser values"
            raise InputError(problem, found=size, expected=f"at most {MOST_CELLS:,}", hint=hint)
        self.cells, self.pairs = cells, tuple(pairs)
        begin = None if start is None else start._records
        self._records: Floats = _fitted(cells.table(cells.records), self.pairs, begin)
        if cells.equal_weights:
            self._people: Floats = self._records * (cells.population_size / cells.records.sum())
        else:
            self._people = _fitted(cells.table(cells.people), self.pairs, None if start is None else start._people)
        self.bias, deviation = self._bias()
        self.bias_z = self.bias / deviation if deviation > 0 else 0.0

    def _bias(self) -> tuple[float, float]:
        """Estimate the bias of the expected number of uniques, and its standard deviation.

        The number is that of population uniques in the sample.

        With d the error of L, f - p L estimates p d and (f - p L)^2 - f estimates (p d)^2 without bias. So the
        expectation of the error of ``sum of exp(-v) over sample uniques`` is, to the second order in d, estimated by ::

            B = sum (1 - p) exp(-L) {L (f - p L) + [2 - (1 + p) L] [(f - p L)^2 - f] / (2 p)}

        over all cells. B is above 0 if the model lacks interactions, and below 0 if it has too many parameters. For a
        Poisson number f with mean m = p L, the two terms are uncorrelated, with variances m and 2 m^2.
        """
        there = self._people > 0
        f, mean, people = self.cells.table(self.cells.records)[there], self._records[there], self._people[there]
        p = np.minimum(mean / people, 1.0)
        first = (1 - p) * np.exp(-people) * people
        second = (1 - p) * np.exp(-people) * (2 - (1 + p) * people) / (2 * p)
        bias = float((first * (f - mean) + second * ((f - mean) ** 2 - f)).sum())
        return bias, float(np.sqrt((first**2 * mean + 2 * (second * mean) ** 2).sum()))

    def uniqueness(self, *, level: float = 0.95) -> UniquenessEstimate:
        """Estimate population uniqueness.

        Parameters
        ----------
        level : float
            Confidence level of the intervals; see `estimate_of_uniques`.

        Returns
        -------
        UniquenessEstimate
            Its parameters are the number of cells of the whole table, the `bias` of the expected number of sample
            uniques that are population unique, and `bias_z`, the same over its standard deviation.
        """
        unique = self.cells.unique
        parameters = {"cells": self._people.size, "bias": self.bias, "bias_z": self.bias_z}
        staying, share = np.exp(-self._others()[unique]), self.individual_risk()[unique]
        return estimate_of_uniques(self.method, self.cells, staying, share, level=level, parameters=parameters)

    @property
    def method(self) -> str:
        """Name of the method in estimates."""
        if not self.pairs:
            return "log-linear-independence"
        return "log-linear" if len(self.pairs) < len(all_pairs(self.cells)) else "log-linear-pairs"

    def individual_risk(self) -> Floats:
        """Return the expected 1 / population size of each cell's group, shape (n_cells,)."""
        return individual_risk(self.cells.records, self.cells.records + self._others(), "poisson")

    def _others(self) -> Floats:
        """Return the expected number of unsampled people of each cell, shape (n_cells,)."""
        cells = self.cells
        return np.asarray((1 - cells.records / cells.people) * self._people[tuple(cells.codes.T)])

    def everybody(self) -> SampleCells:
        """Return all cells with a positive expected number of people.

        The people of a cell are its records and the expected number of people who are not sampled. Cells without a
        record, included here, have 0 `records`.
        """
        cells, at = self.cells, tuple(self.cells.codes.T)
        sampled = np.divide(self._records, self._people, out=np.ones_like(self._people), where=self._people > 0)
        sampled[at] = cells.records / cells.people
        records = cells.table(cells.records)
        people = records + np.maximum(1 - sampled, 0.0) * self._people
        codes = np.argwhere(people > 0)
        here = tuple(codes.T)
        return SampleCells(codes, records[here].astype(np.int64), people[here], cells.equal_weights)


def all_pairs(cells: SampleCells) -> tuple[Pair, ...]:
    """Return all pairs of attributes, by falling association beyond chance."""
    table = cells.table(cells.records)
    axes = range(table.ndim)

    def beyond_chance(pair: Pair) -> float:
        # Twice the log-likelihood that the interaction adds if all else is independent, less its expectation.
        joint = table.sum(axis=tuple(axis for axis in axes if axis not in pair))
        alone = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()
        there = joint > 0
        added = 2 * float((joint[there] * np.log(joint[there] / alone[there])).sum())
        return added - float(math.prod(n - 1 for n in joint.shape))

    return tuple(sorted(itertools.combinations(axes, 2), key=beyond_chance, reverse=True))


def fitting_model(cells: SampleCells) -> LogLinearModel:
    """Return the first model, from independent attributes to all pairs, without significant bias.

    Skinner and Shlomo (2008) recommend this forward search, in which each model has one more pair of `all_pairs`:
    estimates are too high if the model lacks interactions, and too low if it has too many. If a model is too high and
    the next too low, the high one is the safe choice. If all models are too high, the one with all pairs is returned;
    if the first is too low, the first.

    Raises
    ------
    InputError
        If the whole table has more than 2,000,000 cells.
    """
    before, model = None, LogLinearModel(cells)
    pairs = all_pairs(cells)
    while model.bias_z > SIGNIFICANT and len(model.pairs) < len(pairs):
        before, model = model, LogLinearModel(cells, pairs[: len(model.pairs) + 1], start=model)
    return before if before and model.bias_z < -SIGNIFICANT else model


def _fitted(table: Floats, pairs: Sequence[Pair], start: Floats | None) -> Floats:
    """Return maximum-likelihood means by iterative proportional fitting.

    The means have the shape of `table`, and its margins over each pair, and over each attribute that is in no pair.
    """
    axes = range(table.ndim)
    paired = {axis for pair in pairs for axis in pair}
    kept = [*((axis,) for axis in axes if axis not in paired), *pairs]
    margins = [
        (rest := tuple(axis for axis in axes if axis not in each), table.sum(axis=rest, keepdims=True)) for each in kept
    ]
    fitted = np.full(table.shape, table.sum() / table.size) if start is None else start.copy()
    for _ in range(_MOST_ROUNDS):
        off = 0.0
        for rest, wanted in margins:
            have = fitted.sum(axis=rest, keepdims=True)
            off = max(off, float(np.abs(have - wanted).max()))
            fitted *= np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
        if off <= _CLOSE_ENOUGH * table.sum():
            break
    return fitted

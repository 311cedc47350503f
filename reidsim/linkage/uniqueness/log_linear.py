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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.core.errors import InputError, locating
from reidsim.core.tables import numbers, require_columns
from reidsim.core.wording import counted
from reidsim.linkage.group_sizes import GroupFrequencies, individual_risk
from reidsim.linkage.uniqueness.group_sizes import UniquenessEstimate, UniquenessMethod, estimate_uniqueness
from reidsim.populations.population import added_up, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pair = tuple[int, int]

# Limit on the cells of the whole table, occupied or not. Fitting this many takes some seconds and 100 MB.
MOST_CELLS = 2_000_000
# Quantile of the normal distribution: random errors exceed it once in twenty times.
SIGNIFICANT = 1.96
# Iterative proportional fitting ends when no margin is off by more than this share of all records.
_CLOSE_ENOUGH = 1e-6
_MOST_ROUNDS = 200
# Methods that use only group sizes, for samples with equal probabilities.
_BY_GROUP_SIZES: tuple[UniquenessMethod, ...] = ("pitman", "ewens", "zayatz")


@dataclass(frozen=True, eq=False)
class SampleCells:
    """The occupied cells of a sample: combinations of values with at least one record.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_cells, n_attributes)
        Values of each cell, numbered from 0 over the values that occur.
    records : ndarray of int64, shape (n_cells,)
        Number of sampled records of each cell, 1 or more.
    people : ndarray of float64, shape (n_cells,)
        Sum of the weights of each cell's records: estimated number of people, no fewer than the records.
    equal_weights : bool
        Whether all records have the same weight.
    """

    codes: Integers
    records: Integers
    people: Floats
    equal_weights: bool

    @classmethod
    def of_records(
        cls, columns: Sequence[NDArray[np.integer]], weights: Floats, counts: Integers | None = None
    ) -> SampleCells:
        """Return the `SampleCells` of records: their number and weights by cell.

        Parameters
        ----------
        columns : sequence of ndarray of int, shape (n_rows,)
            Values of each attribute, as numbers from 0 on.
        weights : ndarray of float64, shape (n_rows,)
            Sampling weight of a record of the row, 1 or more.
        counts : ndarray of int64, shape (n_rows,), optional
            Number of records of each row; 1 if not given. Rows without records are ignored.

        Raises
        ------
        InputError
            If a weight is not finite or is below 1; the message names the row.
        """
        require_weights(weights)
        counts = np.ones(len(weights), dtype=np.int64) if counts is None else counts
        there = counts > 0
        weights, counts = weights[there], counts[there]
        numbered = [np.unique(column[there], return_inverse=True)[1].ravel() for column in columns]
        first, cell = distinct_rows(numbered, len(counts))
        records = added_up(counts, cell, len(first))
        people = np.bincount(cell, weights=weights * counts, minlength=len(first))
        codes = np.column_stack([column[first] for column in numbered]).astype(np.int64)
        return cls(codes, records, np.maximum(people, records), bool(np.ptp(weights) <= 1e-9 * weights.max()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of distinct values of each attribute in the sample: shape of `table`."""
        return tuple((self.codes.max(axis=0) + 1).tolist())

    def table(self, amounts: NDArray[np.number]) -> Floats:
        """Return amounts of the cells (n_cells,) as a table over all combinations.

        The table has one axis per attribute (shape `shape`). Combinations without a record have the amount 0.
        """
        table = np.zeros(self.shape)
        table[tuple(self.codes.T)] = amounts
        return table

    @property
    def unique(self) -> NDArray[np.bool_]:
        """Whether each cell has a single record, shape (n_cells,)."""
        return np.asarray(self.records == 1)

    @property
    def population_size(self) -> float:
        """Sum of all records' weights: estimated number of people in the population."""
        return float(self.people.sum())


def weights_in(frame: pd.DataFrame, column: str, source: str | Path) -> Floats:
    """Return the sampling weights in a column of a table of text, shape (n_rows,).

    `source` is the path of the table, for messages.

    Raises
    ------
    InputError
        If the column is missing, or a weight is not a finite number of 1 or more; the message names the row.
    """
    require_columns(frame, [column], Path(source))
    weights = np.asarray(numbers(frame, column, Path(source)), dtype=np.float64)
    with locating(source):
        require_weights(weights, f"row {{row}}, column {column!r}")
    return weights


def require_weights(weights: Floats, where: str = "row {row}") -> None:
    """Check that sampling weights are finite and at least 1.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_records,)
        Sampling weight of each record: number of people that it represents.
    where : str
        Place of a record in messages; ``{row}`` is its number from 1 on.

    Raises
    ------
    InputError
        If a weight is not finite or is below 1; the message names the first such record.
    """
    wrong = ~(np.isfinite(weights) & (weights >= 1))
    if wrong.any():
        row = int(wrong.argmax())
        expected = "a number of 1 or more: the number of people in the population that the record represents"
        advice = "the weights have mean 1: multiply them by the number of people in the population per record"
        hint = advice if abs(np.mean(weights) - 1) < 0.01 else None
        place, found = where.format(row=row + 1), float(weights[row])
        raise InputError("invalid sampling weight", where=place, found=found, expected=expected, hint=hint)


def benedetti_franconi_uniqueness(cells: SampleCells, *, level: float = 0.95) -> UniquenessEstimate:
    """Estimate population uniqueness from the weights of sample uniques only.

    Follows Benedetti and Franconi 1998.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
    level : float
        Confidence level of the intervals; see `estimate_of_uniques`.

    Returns
    -------
    UniquenessEstimate
        A record unique in the sample with weight w is unique in the population with probability 1 / w. So the expected
        number of population uniques is the number of sample uniques.
    """
    people = cells.people[cells.unique]
    share = individual_risk(np.ones(len(people)), people)
    return estimate_of_uniques("benedetti-franconi", cells, 1 / people, share, level=level)


def estimate_of_uniques(
    method: str,
    cells: SampleCells,
    staying: Floats,
    share: Floats,
    *,
    level: float,
    parameters: Mapping[str, float] | None = None,
) -> UniquenessEstimate:
    """Return the estimate from the probabilities of the sample uniques, one by one.

    Parameters
    ----------
    method : str
        Name of the method.
    cells : SampleCells
        Cells of the sample.
    staying : ndarray of float64, shape (n_uniques,)
        Probability of each record unique in the sample that it is unique in the population.
    share : ndarray of float64, shape (n_uniques,)
        Expectation of 1 / size of its group in the population.
    level : float
        Confidence level of the intervals: a normal approximation of the random number of population uniques in the
        sample, if the probabilities are correct and independent.
    parameters : mapping of str to float, optional
        Parameters of the fitted model, by name.

    Returns
    -------
    UniquenessEstimate
        The number of population uniques is the sum, over sample uniques, of weight times probability. Without sample
        uniques, it is 0, a note says so, and the risk is None.
    """
    weights = cells.people[cells.unique]
    n, size = len(staying), cells.population_size
    p, uniques = float(staying.sum()) / max(n, 1), float(weights @ staying)
    reach = float(scipy.stats.norm.ppf((1 + level) / 2))
    spread = staying * (1 - staying)
    of_share = reach * float(np.sqrt(spread.sum())) / max(n, 1)
    # Variance of uniqueness, and of the sampling of uniques.
    of_uniques = reach * float(np.sqrt((weights**2 * spread + weights * (weights - 1) * staying).sum()))
    sizes = round(size), int(cells.records.sum()), n
    of_population = min(uniques, size), max(uniques - of_uniques, 0.0), min(uniques + of_uniques, size)
    of_sample = p, max(p - of_share, 0.0), min(p + of_share, 1.0)
    note, risk = ("", float(share.mean())) if n else ("no record of the sample is unique", None)
    return UniquenessEstimate(method, *sizes, *of_population, *of_sample, level, dict(parameters or {}), note, risk)


class LogLinearModel:
    """A log-linear model of the people of all cells, including cells without a record.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
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

    The attribute `bias` estimates the bias of the expected number of population uniques in the sample, and `bias_z` is
    its ratio to its standard deviation. With d the error of L, f - p L estimates p d and (f - p L)^2 - f estimates
    (p d)^2 without bias. So the expectation of the error of ``sum of exp(-v) over sample uniques`` is, to the second
    order in d, estimated by ::

        B = sum (1 - p) exp(-L) {L (f - p L) + [2 - (1 + p) L] [(f - p L)^2 - f] / (2 p)}

    over all cells. B is above 0 if the model lacks interactions, and below 0 if it has too many parameters. For a
    Poisson number f with mean m = p L, the two terms are uncorrelated, with variances m and 2 m^2.
    """

    def __init__(self, cells: SampleCells, pairs: Sequence[Pair] = (), *, start: LogLinearModel | None = None) -> None:
        size = math.prod(cells.shape)
        if size > MOST_CELLS:
            problem, hint = "too many cells for a log-linear model", "use fewer attributes or coarser values"
            raise InputError(problem, found=size, expected=f"at most {MOST_CELLS:,}", hint=hint)
        self.cells, self.pairs = cells, tuple(pairs)
        records = cells.table(cells.records)
        self._records: Floats = _fitted(records, self.pairs, None if start is None else start._records)
        if cells.equal_weights:
            self._people: Floats = self._records * (cells.population_size / cells.records.sum())
        else:
            self._people = _fitted(cells.table(cells.people), self.pairs, None if start is None else start._people)
        n_pairs = math.comb(len(cells.shape), 2)
        kind = "-independence" if not self.pairs else "-pairs" if len(self.pairs) == n_pairs else ""
        self.method = f"log-linear{kind}"
        # Expected number of unsampled people of each cell.
        self._others = (1 - cells.records / cells.people) * self._people[tuple(cells.codes.T)]
        there = self._people > 0
        f, mean, people = records[there], self._records[there], self._people[there]
        p = np.minimum(mean / people, 1.0)
        first = (1 - p) * np.exp(-people) * people
        second = (1 - p) * np.exp(-people) * (2 - (1 + p) * people) / (2 * p)
        self.bias = float((first * (f - mean) + second * ((f - mean) ** 2 - f)).sum())
        deviation = float(np.sqrt((first**2 * mean + 2 * (second * mean) ** 2).sum()))
        self.bias_z = self.bias / deviation if deviation > 0 else 0.0

    def uniqueness(self, *, level: float = 0.95) -> UniquenessEstimate:
        """Estimate population uniqueness by this model.

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
        staying, share = np.exp(-self._others[unique]), self.individual_risk()[unique]
        return estimate_of_uniques(self.method, self.cells, staying, share, level=level, parameters=parameters)

    def individual_risk(self) -> Floats:
        """Return the expected 1 / population size of each cell's group, shape (n_cells,).

        The cells are the occupied cells of the sample.
        """
        return individual_risk(self.cells.records, self.cells.records + self._others, "poisson")

    def everybody(self) -> SampleCells:
        """Return `SampleCells` with all cells with a positive expected number of people.

        The people of a cell are its records and the expected number of people who are not sampled. Cells without a
        record, included here, have 0 `records`.
        """
        cells = self.cells
        sampled = np.divide(self._records, self._people, out=np.ones_like(self._people), where=self._people > 0)
        sampled[tuple(cells.codes.T)] = cells.records / cells.people
        records = cells.table(cells.records)
        people = records + np.maximum(1 - sampled, 0.0) * self._people
        there = people > 0
        return SampleCells(np.argwhere(there), records[there].astype(np.int64), people[there], cells.equal_weights)


def all_pairs(cells: SampleCells) -> tuple[Pair, ...]:
    """Return all pairs of attributes, by falling association beyond chance.

    A pair is two positions of attributes, the lower one first. The association is the likelihood-ratio statistic of
    independence in the sample's records, less its degrees of freedom.
    """
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
    """Return the first `LogLinearModel` without significant bias, as pairs are added.

    The first model has independent attributes, the last one all pairs; a bias is significant if its z is beyond 1.96.
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
    Fitting starts from `start` (None: equal means). It ends when no margin is off by more than a millionth of the
    table's sum, or after 200 rounds.
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


@dataclass(frozen=True)
class Uniqueness:
    """Estimates of population uniqueness from a sample by several methods.

    Parameters
    ----------
    estimates : tuple of UniquenessEstimate
        Estimates by all methods that could be used, one per method.
    taken : str
        Method of the chosen estimate.
    reason : str
        Reason of the choice, in a sentence without a full stop.
    cells : SampleCells
        Cells of the sample.
    risks : dict of str to ndarray of float64, shape (n_cells,)
        Expected 1 / size of each cell's group in the population, by method.
    """

    estimates: tuple[UniquenessEstimate, ...]
    taken: str
    reason: str
    cells: SampleCells
    risks: dict[str, Floats]


def uniqueness_of_sample(cells: SampleCells, *, rng: np.random.Generator, level: float = 0.95) -> Uniqueness:
    """Estimate population uniqueness by every method, and choose an estimate.

    The result is a `Uniqueness`. The methods are log-linear models (with independent attributes, with all pairs, and
    the model of `fitting_model`), Benedetti and Franconi's, Pitman's, Ewens's and Zayatz's. The choice is the
    log-linear model of `fitting_model`, with as many interactions as its bias requires. If the table of all
    combinations of values is too large to be fitted, log-linear models are omitted, and the choice is Pitman's formula.
    Among the methods that use only group sizes, it fits long tails, and on known populations it errs on the high side
    more often. The individual risk is never chosen, because it makes a record of weight w population unique with
    probability 1 / w, independent of its values.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
    rng : numpy.random.Generator
        Random generator for Zayatz's bootstrap.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    InputError
        If the sample is a single record of a larger population, or the level is not between 0 and 1.
    """
    models: list[LogLinearModel] = []
    risks = {"benedetti-franconi": individual_risk(cells.records, cells.people)}
    try:
        fitting = fitting_model(cells)
        models = [LogLinearModel(cells), LogLinearModel(cells, all_pairs(cells), start=fitting)]
        models.insert(1, fitting)
        taken, reason = fitting.method, _reason_of_model(models[0], fitting)
        risks = {model.method: model.individual_risk() for model in models} | risks
    except InputError as error:
        reason = f"the table of all combinations of values has {error.found:,} cells, too many for a log-linear model"
        reason += "" if cells.equal_weights else "; the estimate assumes equal sampling weights, but the weights differ"
        taken = "pitman"
    frequencies, size = GroupFrequencies.from_group_sizes(cells.records), round(cells.population_size)
    estimates = (
        *{model.method: model.uniqueness(level=level) for model in models}.values(),
        benedetti_franconi_uniqueness(cells, level=level),
        *[estimate_uniqueness(frequencies, size, method=method, level=level, rng=rng) for method in _BY_GROUP_SIZES],
    )
    return Uniqueness(estimates, taken, reason, cells, risks)


def _reason_of_model(independence: LogLinearModel, fitting: LogLinearModel) -> str:
    reason = f"the model with independent attributes has a bias of z = {independence.bias_z:.1f}"
    if fitting.pairs:
        pairs = counted(len(fitting.pairs), "interaction")
        reason += f", the model with {pairs} of two attributes has a bias of z = {fitting.bias_z:.1f}"
    if abs(fitting.bias_z) <= SIGNIFICANT:
        return f"{reason}: no significant bias"
    if fitting.bias_z < 0:
        return f"{reason}: the estimate is probably too low"
    return f"{reason}: the estimate is probably too high, which is conservative"

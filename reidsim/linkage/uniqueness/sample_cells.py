"""Cells of a sample (records that agree in all attributes, with weights), and uniqueness by weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.errors import InputError, locating
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.individual_risk import individual_risk
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.populations.domain import added_up, distinct_rows
from reidsim.tables import numbers, require_columns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
        """Count records and weights by cell.

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
        """Sum of all weights: estimated number of people in the population."""
        return float(self.people.sum())

    @property
    def frequencies(self) -> GroupFrequencies:
        """Number of cells by their number of records."""
        return GroupFrequencies.from_group_sizes(self.records)


def weights_in(frame: pd.DataFrame, column: str, source: str | Path) -> Floats:
    """Return the sampling weights in a column of a table of text, shape (n_rows,).

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
    cells : SampleCells
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
        The number of population uniques is the sum, over sample uniques, of weight times probability.
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

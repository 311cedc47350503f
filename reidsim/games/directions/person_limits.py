"""Limits on the sensitive values of the rows that fit each person.

The limits on a record's own group depend on its generalization alone. The rows that fit a person depend on the
strategies of all records, so limits on their sensitive values are part of the search. Each change to one row adds its
values to, or removes them from, the values of the rows that fit other persons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.core.numerics import borrowing, owning
from reidsim.games.record_game import WITHHELD, AdmissibleGroups
from reidsim.linkage.partition import FittingRows
from reidsim.linkage.sensitive_values import LIMIT_ROUNDING
from reidsim.releases.lattice import Floats, Strategies

# Limit on cells (distinct combinations of values) times sensitive values; each product is one count of 8 bytes.
MOST_COUNTED = 20_000_000
# Number of steps per unit in which the excess of a distance over its limit is counted, so that sums of excesses are
# exact. More steps distinguish smaller changes.
_STEPS_OF_DISTANCE = 1024
# Marks an excess that is not computed yet.
_UNKNOWN = np.iinfo(np.int32).min

Integers = NDArray[np.int64]


class FittingValues(NamedTuple):
    """Hold the sensitive values of the rows that fit each cell, and their limits.

    Rows and cells are defined in `reidsim.games.directions.effects`; for the excess over the limits see `excess_with`.
    The arrays are passed to compiled code. Values are numbered consecutively over all sensitive columns.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_cells, n_values)
        Number of released rows that fit, by sensitive value; modified in place.
    more, less : ndarray of int32, shape (n_cells, n_kinds)
        Decrease of a cell's excess with one row of each kind more, and increase with one row less; modified in place.
    kind : ndarray of int64, shape (n_records,)
        Index of each record's combination of sensitive values.
    values : ndarray of int64, shape (n_kinds, n_columns)
        Sensitive values of each combination (kind).
    start : ndarray of int64, shape (n_columns + 1,)
        Number of the first value of each column.
    groups : ndarray of int64, shape (n_levels, n_values)
        Group of each value at each level of its column; -1 above the highest level.
    overall : ndarray of float64, shape (n_values,)
        Share of each value in the table.
    limits : ndarray of float64, shape (3,)
        Minimum number of distinct values (l-diversity), largest share of a value, and largest distance (t-closeness);
        0, 1 and 1 without a limit.
    work : ndarray of float64, shape (n_values,)
        Working array for the differences of shares by group.
    """

    counts: Integers
    more: NDArray[np.int32]
    less: NDArray[np.int32]
    kind: Integers
    values: Integers
    start: Integers
    groups: Integers
    overall: Floats
    limits: Floats
    work: Floats


_NO_COUNTS, _NO_EXCESS = np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int32)
_NONE = np.zeros(0, dtype=np.int64)
UNLIMITED = FittingValues(
    _NO_COUNTS, _NO_EXCESS, _NO_EXCESS, _NONE, _NO_COUNTS, _NONE, _NO_COUNTS, np.zeros(0), np.zeros(3), np.zeros(0)
)


@dataclass(frozen=True, eq=False)
class PersonLimits:
    """Apply limits to the sensitive values of the rows that fit each person.

    Parameters
    ----------
    admissible : AdmissibleGroups
        The limits, and the sensitive columns of the records.
    rows : FittingRows
        Fitting rows of the records; each record is a person.
    """

    admissible: AdmissibleGroups
    rows: FittingRows

    def fitting_values(self, strategies: Strategies) -> FittingValues:
        """Return the sensitive values of the rows that fit each cell in a release.

        A cell is a distinct combination of quasi-identifying values. `strategies` has shape (n_records,); -1 marks a
        withheld record.

        Raises
        ------
        InputError
            If the number of cells, times the number of sensitive values or of their combinations (the larger), exceeds
            `MOST_COUNTED`.
        """
        columns, limits = self.admissible.columns, self.admissible.limits
        n_cells, sizes = len(self.rows.cells), [each.levels.shape[1] for each in columns]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        codes = np.column_stack([each.codes + begin for each, begin in zip(columns, start, strict=False)])
        values, kind = np.unique(codes, axis=0, return_inverse=True)
        counted = n_cells * max(len(values), int(start[-1]))
        if counted > MOST_COUNTED:
            raise InputError(
                "too many sensitive values for limits in direction person or both",
                found=counted,
                expected=f"at most {MOST_COUNTED:,} distinct records times values",
                hint="use coarser values in the sensitive columns",
            )
        groups = np.full((max(len(each.levels) for each in columns), start[-1]), -1, dtype=np.int64)
        overall = np.zeros(start[-1])
        counts = np.zeros((n_cells, start[-1]), dtype=np.int64)
        for each, begin, end in zip(columns, start[:-1], start[1:], strict=True):
            groups[: len(each.levels), begin:end] = each.levels
            overall[begin:end] = np.bincount(each.codes, minlength=end - begin) / max(len(each.codes), 1)
            for value in np.unique(each.codes[strategies != WITHHELD]).tolist():
                counts[:, begin + value] = self.rows.of_cells(np.where(each.codes == value, strategies, WITHHELD))
        excess = np.full((n_cells, len(values)), _UNKNOWN, dtype=np.int32)
        given = [limits.l_diversity or 0, limits.max_inference or 1.0, limits.t_closeness]
        return FittingValues(
            counts,
            excess,
            excess.copy(),
            kind.ravel().astype(np.int64),
            values.astype(np.int64),
            start,
            groups,
            overall,
            np.array([1.0 if limit is None else limit for limit in given], dtype=np.float64),
            np.zeros(start[-1]),
        )

    def without_exceeding(self, strategies: Strategies) -> Strategies:
        """Withhold records until the limits hold for every released person.

        Each round withholds all records whose person has rows that exceed a limit on sensitive values. Returns a new
        array of `strategies` (n_records,), -1 for withheld records.
        """
        strategies = strategies.copy()
        while True:
            exceeding = (_excess_of_cells(self.fitting_values(strategies))[self.rows.cell_of_entry] > 0) & (
                strategies != WITHHELD
            )
            if not exceeding.any():
                return strategies
            strategies[exceeding] = WITHHELD


@borrowing()
def excess_with(fitting: FittingValues, cell: int, kind: int, change: int) -> int:
    """Return the excess of a cell over the limits after adding rows of a kind.

    `cell` and `kind` (a combination of sensitive values) are positions in `fitting`. `change` is the number of rows
    added; negative for rows removed. The result is a sum over columns and limits, 0 within the limits or without rows.
    For l-diversity and the largest share, the excess is the number of missing rows with other values. For a distance,
    it is the number of steps above the limit (`_STEPS_OF_DISTANCE`).
    """
    excess = 0
    for column in range(len(fitting.start) - 1):
        begin, end, moved = fitting.start[column], fitting.start[column + 1], fitting.values[kind, column]
        rows, distinct, largest = 0, 0, 0
        for value in range(begin, end):
            count = fitting.counts[cell, value] + (change if value == moved else 0)
            rows += count
            distinct += count > 0
            largest = max(largest, count)
        if rows <= 0:
            continue
        excess += max(int(fitting.limits[0]) - distinct, 0)
        if largest / rows > fitting.limits[1] + LIMIT_ROUNDING:
            excess += max(int(np.ceil(largest / fitting.limits[1])) - rows, 1)
        if fitting.limits[2] < 1.0:
            beyond = _distance(fitting, cell, begin, end, moved, change, rows) - fitting.limits[2]
            if beyond > LIMIT_ROUNDING:
                excess += max(int(np.ceil(_STEPS_OF_DISTANCE * beyond)), 1)
    return excess


@borrowing()
def _distance(fitting: FittingValues, cell: int, begin: int, end: int, moved: int, change: int, rows: int) -> float:
    """Return the earth mover's distance of a cell's values from the table's values.

    It is the distance in `reidsim.linkage.sensitive_values`, in [0, 1], for the rows that fit `cell`. `begin` and `end`
    delimit the values of a column; `change` rows with the value `moved` are added first, and `rows` is the number of
    rows after that.
    """
    total, levels = 0.0, 0
    for level in range(len(fitting.groups)):
        if fitting.groups[level, begin] < 0:
            break
        for value in range(end - begin):
            fitting.work[value] = 0.0
        for value in range(begin, end):
            count = fitting.counts[cell, value] + (change if value == moved else 0)
            fitting.work[fitting.groups[level, value]] += count / rows - fitting.overall[value]
        for value in range(end - begin):
            total += abs(fitting.work[value])
        levels += 1
    return total / (2 * levels)


@borrowing()
def excess_saved(fitting: FittingValues, cell: int, kind: int, change: int) -> int:
    """Return the decrease of a cell's excess with one row of a kind more (`change` 1).

    With `change` -1, return the increase with one row less. `kind` is a combination of sensitive values; for the
    excess, a whole number, see `excess_with`. The result is kept for later calls.
    """
    kept = fitting.more if change > 0 else fitting.less
    if kept[cell, kind] == _UNKNOWN:
        kept[cell, kind] = change * (excess_with(fitting, cell, kind, 0) - excess_with(fitting, cell, kind, change))
    return int(kept[cell, kind])


@borrowing()
def add_row(fitting: FittingValues, cell: int, kind: int, change: int) -> None:
    """Add or remove one row of a kind to or from the rows that fit a cell.

    `change` is 1 to add the row and -1 to remove it; `kind` is a combination of sensitive values. Changes the counts of
    `fitting` in place, and drops the excesses computed for this cell.
    """
    for column in range(len(fitting.start) - 1):
        fitting.counts[cell, fitting.values[kind, column]] += change
    for each in range(len(fitting.values)):
        fitting.more[cell, each], fitting.less[cell, each] = _UNKNOWN, _UNKNOWN


@owning()
def _excess_of_cells(fitting: FittingValues) -> Integers:
    excess = np.zeros(len(fitting.counts), dtype=np.int64)
    for cell in range(len(excess)):
        excess[cell] = excess_with(fitting, cell, 0, 0)
    return excess

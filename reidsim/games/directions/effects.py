"""Compute the effects of a change to one row on other persons.

A row is a released record, and a cell is a distinct combination of values. A row fits a person if the person's values,
generalized like the row, equal the row. After a change of a record's strategy, the row no longer fits some persons, who
are harmed, and newly fits other persons, who benefit. The row fits a person under a strategy if the level of each
attribute is at least the lowest level at which the two values agree. The effects on others are therefore added up by
these lowest levels, once over all cells, and then accumulated upwards in the lattice. The functions are compiled.

A record may be a person with several rows, see `FittingRows`. Then each row has its own combination of lowest levels
for a cell, and the rows fit under every strategy that lies above at least one combination. Another person with several
rows is helped only if the new row fits all of its cells that have the fewest fitting rows. Both sets of strategies are
written as signed sums of "all strategies above a given one" (inclusion and exclusion).

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
from reidsim.core.numerics import borrowing, compiled
from reidsim.games.record_game import WITHHELD, AdmissibleGroups
from reidsim.linkage.partition import FittingRows, agreement, change_row, fits_any, padded
from reidsim.linkage.people import LIMIT_ROUNDING
from reidsim.releases.lattice import Floats, GeneralizationLattice, Strategies

# Limit on cells (distinct combinations of values) times sensitive values; each product is one count of 8 bytes.
MOST_COUNTED = 20_000_000
# Number of steps per unit in which the excess of a distance over its limit is counted, so that sums of excesses are
# exact. More steps distinguish smaller changes.
_STEPS_OF_DISTANCE = 1024
# Marks an excess that is not computed yet.
_UNKNOWN = np.iinfo(np.int32).min

Integers = NDArray[np.int64]


class FittingValues(NamedTuple):
    """Sensitive values of the rows that fit each cell, and their limits.

    For the excess over the limits see `excess_with`. The arrays are passed to compiled code. Values are numbered
    consecutively over all sensitive columns.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_cells, n_values)
        Number of released rows that fit, by sensitive value; modified in place.
    more, less : ndarray of int32, shape (n_cells, n_kinds)
        Decrease of a cell's excess with one row of each kind more, and increase with one row less; the lowest int32
        where not computed yet; modified in place.
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
    """Limits on the sensitive values of the rows that fit each person.

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
        """Return the `FittingValues`: sensitive values of the rows that fit each cell.

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
            problem = "too many sensitive values for limits in direction person or both"
            expected = f"at most {MOST_COUNTED:,} distinct records times values"
            hint = "use coarser values in the sensitive columns"
            raise InputError(problem, found=counted, expected=expected, hint=hint)
        groups = np.full((max(len(each.levels) for each in columns), start[-1]), -1, dtype=np.int64)
        overall = np.zeros(start[-1])
        counts = np.zeros((n_cells, start[-1]), dtype=np.int64)
        for each, begin, end in zip(columns, start[:-1], start[1:], strict=True):
            groups[: len(each.levels), begin:end] = each.levels
            overall[begin:end] = np.bincount(each.codes, minlength=end - begin) / max(len(each.codes), 1)
            for value in np.unique(each.codes[strategies != WITHHELD]).tolist():
                counts[:, begin + value] = self.rows.of_cells(np.where(each.codes == value, strategies, WITHHELD))
        excess = np.full((n_cells, len(values)), _UNKNOWN, dtype=np.int32)
        distance = 1.0 if limits.t_closeness is None else limits.t_closeness
        given = np.array([limits.l_diversity or 0, limits.max_inference or 1.0, distance], dtype=np.float64)
        kind = kind.ravel().astype(np.int64)
        values = values.astype(np.int64)
        return FittingValues(
            counts, excess, excess.copy(), kind, values, start, groups, overall, given, work=np.zeros(start[-1])
        )

    def without_exceeding(self, strategies: Strategies) -> Strategies:
        """Withhold records until the limits hold for every released person.

        Each round withholds every released record for which the rows that fit its person exceed a limit on sensitive
        values; the last round finds none. The result is a new array of strategies (n_records,), -1 for withheld
        records.
        """
        strategies = strategies.copy()
        while True:
            excess = _excess_of_cells(self.fitting_values(strategies))
            exceeding = (excess[self.rows.cell_of_entry] > 0) & (strategies != WITHHELD)
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

    It is the distance in `reidsim.linkage.people`, in [0, 1], for the rows that fit `cell`. `begin` and `end`
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
    """Return by how much one more, or one less, row of a kind changes a cell's excess.

    With `change` 1, the result is the decrease of the excess after a row is added; with `change` -1, the increase after
    a row is removed. `kind` is the number of the row's combination of sensitive values. The excess is a whole number;
    see `excess_with`. The result is stored in `fitting`, so that later calls need not compute it.
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


@compiled()
def _excess_of_cells(fitting: FittingValues) -> Integers:
    excess = np.zeros(len(fitting.counts), dtype=np.int64)
    for cell in range(len(excess)):
        excess[cell] = excess_with(fitting, cell, 0, 0)
    return excess


# Added to a strategy number if the present row does not fit the value, or if no level makes the values agree.
_APART, _NEVER = 2**40, 2**50


class Harm(NamedTuple):
    """Harm to a person by numbers of fitting rows and of fitting people.

    The harm is the publisher's expected loss, or the number of rows that a person lacks to be safe (`replies_in`). The
    smaller of the two numbers determines it; see `harm_of`.

    Attributes
    ----------
    kind : ndarray of int64, shape (n_records,)
        Index of each record's payoff parameters in `by_rows`.
    by_rows : ndarray of float64, shape (n_kinds, n_records + 2)
        Unweighted harm to a person of each kind by the number of rows that fit it.
    weight : ndarray of float64, shape (n_records,)
        Factor by which the harm to each record is multiplied.
    people : ndarray of float32, shape (n_records, n_strategies) or (0, 0)
        Number of people who fit the record's row under each strategy, at most the number of records plus 1; empty in
        direction "person".
    by_people : ndarray of float64, shape of `people` or (0, 0)
        Unweighted harm for that number of people. Empty if all numbers are integers: then `by_rows` holds the harm.
    values : FittingValues
        Sensitive values of the rows that fit each cell, and their limits; empty without limits.
    value_weight : float
        Harm to a person per unit of excess over the limits.
    """

    kind: Integers
    by_rows: Floats
    weight: Floats
    people: NDArray[np.float32]
    by_people: Floats
    values: FittingValues = UNLIMITED
    value_weight: float = 0.0


class Worth(NamedTuple):
    """Hold the levels of the strategies, and the benefit of each record under them.

    Attributes
    ----------
    levels, strides : ndarray of int64, shape (n_attributes,)
        Number of levels of each attribute, and step in the strategy number for one more level.
    losses : ndarray of float64, shape (n_records, n_attributes, most levels)
        Information loss by attribute and level, as a share of the maximum loss.
    benefit : ndarray of float64, shape (n_records,)
        Benefit of sharing each record unchanged, in currency units.
    """

    levels: Integers
    strides: Integers
    losses: Floats
    benefit: Floats


class Sums(NamedTuple):
    """Hold signed sums of strategies; a term represents all strategies above a given one.

    Attributes
    ----------
    forms, signs : ndarray of int64 and float64, shape (4, n_strategies)
        Terms of each sum, and their factors.
    at : ndarray of int64, shape (n_strategies,)
        Position of a strategy in the current sum, -1 if absent.
    """

    forms: Integers
    signs: Floats
    at: Integers


class Release(NamedTuple):
    """A release: strategies of records, rows that fit each cell, harm to persons.

    The last eight fields are working arrays for the effects of a change to a record; an entry is one of its distinct
    rows. Compiled functions receive every array of a tuple as several arguments, so functions that need few arrays
    take `Worth`, `Harm` or `Sums` and compile sooner.

    Attributes
    ----------
    cells, groups
        See `FittingRows`.
    begin, own : ndarray of int64
        The cells of each record, one per distinct row: ``own[begin[record]:begin[record + 1]]``.
    start, members : ndarray of int64
        Records with one cell, grouped by cell: ``members[start[cell]:start[cell + 1]]``.
    several : ndarray of int64
        Records with more than one cell.
    worth : Worth
        Benefit of the records.
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record, -1 if withheld; modified in place.
    fitting : ndarray of int64, shape (n_cells,)
        Number of shared rows that fit each cell; modified in place.
    harm : Harm
        Harm to persons.
    more, less : ndarray of float64, shape (n_cells,)
        Decrease of the harm in each cell with one row more, and increase with one row less: sums over the shared
        records that have this cell only, without harm from sensitive values; modified in place.
    shared : ndarray of int64, shape (n_cells,)
        Number of shared records that have this cell only; modified in place.
    least, place : ndarray of int16 and int64, shape (n_entries, n_attributes, n_values)
        Lowest level at which each value agrees with the entry, and its contribution to the number of the lowest
        strategy that fits.
    gained : ndarray of float64, shape (n_strategies,)
        Effect of each strategy on other persons.
    changed : ndarray of int64, shape (n_cells,)
        Cells that a change affects.
    before, after : ndarray of int64, shape (n_attributes,)
        Levels of the record before and after the change.
    sums : Sums
        Sets of strategies under which a row fits.
    fits : ndarray of bool, shape (n_cells,)
        Cells that the record's row fits.
    """

    cells: NDArray[np.int32]
    groups: NDArray[np.int32]
    begin: Integers
    own: Integers
    start: Integers
    members: Integers
    several: Integers
    worth: Worth
    strategies: Strategies
    fitting: Integers
    harm: Harm
    more: Floats
    less: Floats
    shared: Integers
    least: NDArray[np.int16]
    place: Integers
    gained: Floats
    changed: Integers
    before: Integers
    after: Integers
    sums: Sums
    fits: NDArray[np.bool_]


def release_of(
    lattice: GeneralizationLattice, rows: FittingRows, benefit: Floats, strategies: Strategies, harm: Harm
) -> Release:
    """Return the release in which each record has the given strategy; see `Release`.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Levels and information losses of the attributes.
    rows : FittingRows
        Cells (distinct combinations of values) and the records' rows.
    benefit : ndarray of float64, shape (n_records,)
        Benefit of sharing each record unchanged, in currency units.
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record, -1 if withheld; copied.
    harm : Harm
        Harm to persons.
    """
    begin, own, n_cells, n_forms = rows.begin.astype(np.int64), rows.cell_of_entry, len(rows.cells), lattice.size
    alone = np.flatnonzero(np.diff(begin) == 1)
    order = np.argsort(own[begin[alone]], kind="stable")
    n_attributes, _, widest = rows.groups.shape
    by_entry = (int(np.diff(begin).max(initial=1)), n_attributes, widest)
    release = Release(
        cells=rows.cells,
        groups=rows.groups,
        begin=begin,
        own=own,
        start=np.searchsorted(own[begin[alone]][order], np.arange(n_cells + 1)).astype(np.int64),
        members=alone[order].astype(np.int64),
        several=np.flatnonzero(np.diff(begin) > 1).astype(np.int64),
        worth=Worth(
            levels=np.array(lattice.shape, dtype=np.int64),
            strides=np.array(lattice.strides, dtype=np.int64),
            losses=np.ascontiguousarray(padded(lattice.record_losses).transpose(2, 0, 1)),
            benefit=np.array(benefit, dtype=np.float64),
        ),
        strategies=strategies.astype(np.int64),
        fitting=rows.of_cells(strategies).astype(np.int64),
        harm=harm,
        more=np.zeros(n_cells),
        less=np.zeros(n_cells),
        shared=np.zeros(n_cells, dtype=np.int64),
        least=np.zeros(by_entry, dtype=np.int16),
        place=np.zeros(by_entry, dtype=np.int64),
        gained=np.zeros(n_forms),
        changed=np.zeros(n_cells, dtype=np.int64),
        before=np.zeros(n_attributes, dtype=np.int64),
        after=np.zeros(n_attributes, dtype=np.int64),
        sums=Sums(np.zeros((4, n_forms), dtype=np.int64), np.zeros((4, n_forms)), np.full(n_forms, -1, dtype=np.int64)),
        fits=np.zeros(n_cells, dtype=np.bool_),
    )
    _set_margins(release)
    return release


@borrowing()
def benefit_in(worth: Worth, record: int, form: int) -> float:
    """Return the benefit of sharing a record under a strategy, in currency units.

    It is the benefit of the unchanged record times the utility of the strategy `form`; 0 if the information loss is 1.
    See `GeneralizationLattice.utility`.
    """
    loss = 0.0
    for attribute in range(len(worth.levels)):
        level = form // worth.strides[attribute] % worth.levels[attribute]
        if level > 0:
            loss += worth.losses[record, attribute, level]
    return 0.0 if loss > 1.0 - 1e-12 else worth.benefit[record] * (1.0 - loss)


@borrowing()
def harm_of(harm: Harm, record: int, form: int, rows: int) -> float:
    """Return the harm to a person under a strategy if `rows` rows fit its values.

    The person is that of `record`, and `form` is the strategy of its own row. The harm is the expected loss or the
    weighted number of missing rows; see `Harm`. Fewer than 1 row counts as 1. In direction "both", the number of people
    who fit the person's row replaces `rows` if it is not larger. Harm from sensitive values is not included.
    """
    rows = max(rows, 1)
    cost = harm.by_rows[harm.kind[record], rows]
    if len(harm.people) and harm.people[record, form] <= rows:
        whole = len(harm.by_people) == 0
        people = int(harm.people[record, form])
        cost = harm.by_rows[harm.kind[record], people] if whole else harm.by_people[record, form]
    return float(harm.weight[record] * cost)


@borrowing()
def own_harm(release: Release, record: int, form: int) -> float:
    """Return the harm to a person under a strategy if no other record changes.

    The person is that of `record`, and `form` is its new strategy. The row of `record` counts as shared, even if it is
    withheld at present. The harm, see `Harm`, includes harm from sensitive values.
    """
    total, harm = harm_of(release.harm, record, form, rows_of(release, record)), release.harm
    if harm.value_weight > 0.0:
        cell, change = release.own[release.begin[record]], 1 if release.strategies[record] < 0 else 0
        total += harm.value_weight * excess_with(harm.values, cell, harm.values.kind[record], change)
    return total


@borrowing()
def _value_gain(harm: Harm, record: int, cell: int, persons: int, fits: bool) -> float:
    """Return the decrease of a cell's harm from sensitive values by a record's row.

    The comparison is between the row that fits the cell and no such row; `fits` is whether it fits at present. The
    result is weighted with `persons`, the number of shared records with this cell; 0 without limits on sensitive
    values.
    """
    if harm.value_weight == 0.0 or persons == 0:
        return 0.0
    return harm.value_weight * persons * excess_saved(harm.values, cell, harm.values.kind[record], -1 if fits else 1)


@borrowing()
def rows_of(release: Release, record: int) -> int:
    """Return the number of released rows that fit the person of a record.

    The row of `record` counts even if it is withheld; other withheld rows do not count. If the person has several
    distinct rows, each of these is a cell, and the result is the smallest number of rows that fit one of these cells.
    """
    rows = release.fitting[release.own[release.begin[record]]]
    for entry in range(release.begin[record] + 1, release.begin[record + 1]):
        rows = min(rows, release.fitting[release.own[entry]])
    return int(rows + 1 if release.strategies[record] < 0 else rows)


@borrowing()
def total_harm(release: Release) -> float:
    """Return the total harm to the persons whose records are shared; see `Harm`."""
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            total += own_harm(release, record, release.strategies[record])
    return total


@borrowing()
def _margin(release: Release, cell: int) -> None:
    rows = release.fitting[cell]
    more, less, shared = 0.0, 0.0, 0
    for position in range(release.start[cell], release.start[cell + 1]):
        record = release.members[position]
        form = release.strategies[record]
        if form >= 0:
            shared += 1
            now = harm_of(release.harm, record, form, rows)
            more += now - harm_of(release.harm, record, form, rows + 1)
            less += harm_of(release.harm, record, form, rows - 1) - now
    release.more[cell] = more
    release.less[cell] = less
    release.shared[cell] = shared


@compiled()
def _set_margins(release: Release) -> None:
    for cell in range(len(release.cells)):
        _margin(release, cell)


@borrowing()
def _set_levels(worth: Worth, form: int, levels: Integers) -> None:
    for attribute in range(len(levels)):
        levels[attribute] = form // worth.strides[attribute] % worth.levels[attribute]


@borrowing()
def _set_places(release: Release, shared: bool, entries: int) -> None:
    """Set ``release.place``: each value's part of the lowest strategy that fits.

    `entries` is the number of the record's distinct rows, and `shared` whether the record is shared; ``release.least``
    and, if shared, ``release.before`` must have been filled. With one entry, `_APART` marks values that the record's
    present row does not fit; `_NEVER` marks values that agree at no level.
    """
    for entry in range(entries):
        for attribute in range(len(release.worth.levels)):
            for value in range(release.least.shape[2]):
                level = release.least[entry, attribute, value]
                place = level * release.worth.strides[attribute]
                if level >= release.worth.levels[attribute]:
                    place = _NEVER
                elif entries == 1 and (not shared or level > release.before[attribute]):
                    place += _APART
                release.place[entry, attribute, value] = place


@borrowing()
def _join(worth: Worth, first: int, second: int) -> int:
    """Return the number of the lowest strategy that generalizes two strategies.

    Each attribute has the higher of its levels in `first` and `second`, the numbers of the strategies.
    """
    form = 0
    for attribute in range(len(worth.levels)):
        stride, levels = worth.strides[attribute], worth.levels[attribute]
        form += max(first // stride % levels, second // stride % levels) * stride
    return form


@borrowing()
def _put(sums: Sums, row: int, length: int, form: int, sign: float) -> int:
    """Add the term "all strategies above `form`" to a signed sum.

    Return the new number of terms. The sum is in row `row` of ``sums.forms`` and ``sums.signs`` and has `length`
    terms; `sign` is added to the factor of an equal term, if there is one.
    """
    if sums.at[form] < 0:
        sums.at[form] = length
        sums.forms[row, length], sums.signs[row, length] = form, 0.0
        length += 1
    sums.signs[row, sums.at[form]] += sign
    return length


@borrowing()
def _settle(sums: Sums, row: int, length: int) -> int:
    """Remove the terms of a signed sum that cancel; return the number left.

    The sum is in row `row` of ``sums.forms`` and ``sums.signs`` and has `length` terms, whose factors are 0 if
    they cancel. The positions in ``sums.at`` are cleared.
    """
    kept = 0
    for term in range(length):
        sums.at[sums.forms[row, term]] = -1
        if sums.signs[row, term] != 0.0:
            sums.forms[row, kept], sums.signs[row, kept] = sums.forms[row, term], sums.signs[row, term]
            kept += 1
    return kept


@borrowing()
def _forms_that_fit(release: Release, entries: int, cell: int, row: int) -> int:
    """Write the strategies under which a record fits a cell as a signed sum.

    The record, whose places are in ``release.place``, has `entries` distinct rows; it fits if any of them fits. A term
    represents all strategies above a given one. The terms are written to row `row` of ``release.sums.forms`` and
    ``release.sums.signs``. Return their number.
    """
    length, sums = 0, release.sums
    for entry in range(entries):
        form = 0
        for attribute in range(len(release.worth.levels)):
            form += release.place[entry, attribute, release.cells[cell, attribute]]
        if form >= _NEVER:
            continue
        form %= _APART
        before = length
        for term in range(before):
            sums.signs[3, term] = sums.signs[row, term]
        length = _put(sums, row, length, form, 1.0)
        for term in range(before):
            length = _put(sums, row, length, _join(release.worth, sums.forms[row, term], form), -sums.signs[3, term])
    return _settle(sums, row, length)


@borrowing()
def _effect_on_several(release: Release, record: int, entries: int, shared: bool) -> float:
    """Add the effects on persons with several rows to ``release.gained``.

    The effect of a strategy is the decrease of harm to these persons compared with withholding `record`. Return the
    decrease due to the record's present row, 0 if the record is not `shared`; see `effect_on_others`. `entries` is the
    number of the record's distinct rows.
    """
    present = 0.0
    for other in release.several:
        form = release.strategies[other]
        if other == record or form < 0:
            continue
        begin, end = release.begin[other], release.begin[other + 1]
        rows = len(release.strategies) + 1
        for entry in range(begin, end):
            cell = release.own[entry]
            rows = min(rows, release.fitting[cell] - release.fits[cell])
        gain = harm_of(release.harm, other, form, rows) - harm_of(release.harm, other, form, rows + 1)
        if gain == 0.0:
            continue
        # The minimum over the cells rises only if the new row fits every cell at the minimum.
        fits_all, row, length = shared, 0, 0
        for entry in range(begin, end):
            cell = release.own[entry]
            if release.fitting[cell] - release.fits[cell] > rows:
                continue
            fits_all = fits_all and release.fits[cell]
            if length == 0:
                length = _forms_that_fit(release, entries, cell, row)
            else:
                terms, product = _forms_that_fit(release, entries, cell, 2), 0
                for first in range(length):
                    for second in range(terms):
                        both = _join(release.worth, release.sums.forms[row, first], release.sums.forms[2, second])
                        sign = release.sums.signs[row, first] * release.sums.signs[2, second]
                        product = _put(release.sums, 1 - row, product, both, sign)
                row, length = 1 - row, _settle(release.sums, 1 - row, product)
            if length == 0:
                break
        for term in range(length):
            release.gained[release.sums.forms[row, term]] += release.sums.signs[row, term] * gain
        if fits_all:
            present += gain
    return present


@borrowing()
def effect_on_others(release: Release, record: int) -> float:
    """Compute the decrease of harm to other persons under each strategy of a record.

    The comparison is with withholding the record. Fills ``release.gained``, shape (n_strategies,), and
    ``release.least``, the lowest levels at which values agree with the record's (see `reread`).

    Returns
    -------
    float
        Decrease of the harm to other persons due to the record's present row; 0 if the record is withheld. The effect
        of a change of strategy is the entry in ``release.gained`` minus this number.
    """
    form, entries = release.strategies[record], release.begin[record + 1] - release.begin[record]
    own = release.own[release.begin[record]] if entries == 1 else -1
    reread(release, record)
    gained = release.gained
    for form_ in range(len(gained)):
        gained[form_] = 0.0
    shared = form >= 0
    if shared:
        _set_levels(release.worth, form, release.before)
    _set_places(release, shared, entries)
    present, n_attributes = 0.0, len(release.worth.levels)
    if entries > 1 or len(release.several) > 0:
        for cell in range(len(release.cells)):
            release.fits[cell] = shared and fits_any(release.cells[cell], release.least, entries, release.before)
    if len(release.several) > 0:
        present += _effect_on_several(release, record, entries, shared)
    for cell in range(len(release.cells)):
        unharmed = release.more[cell] == 0.0 and release.less[cell] == 0.0
        if cell == own or (unharmed and (release.harm.value_weight == 0.0 or release.shared[cell] == 0)):
            continue
        if entries > 1:
            gain = release.less[cell] if release.fits[cell] else release.more[cell]
            for term in range(_forms_that_fit(release, entries, cell, 0)):
                gained[release.sums.forms[0, term]] += release.sums.signs[0, term] * gain
            present += gain if release.fits[cell] else 0.0
            continue
        place = 0
        for attribute in range(n_attributes):
            place += release.place[0, attribute, release.cells[cell, attribute]]
        if place < _NEVER:
            fits = place < _APART
            gain = release.less[cell] if fits else release.more[cell]
            gain += _value_gain(release.harm, record, cell, release.shared[cell], fits)
            gained[place % _APART] += gain
            present += gain if fits else 0.0
    if own >= 0:
        # Under every strategy, the row fits the persons with the same values.
        same, rows, change = 0.0, release.fitting[own], -1 if shared else 1
        for position in range(release.start[own], release.start[own + 1]):
            other = release.members[position]
            if other != record and release.strategies[other] >= 0:
                now = harm_of(release.harm, other, release.strategies[other], rows)
                same += change * (now - harm_of(release.harm, other, release.strategies[other], rows + change))
        same += _value_gain(release.harm, record, own, release.shared[own] - int(shared), shared)
        gained[0] += same
        present += same if shared else 0.0
    for attribute in range(len(release.worth.levels)):
        stride = release.worth.strides[attribute]
        block = stride * release.worth.levels[attribute]
        for begin in range(0, len(gained), block):
            for number in range(begin + stride, begin + block):
                gained[number] += gained[number - stride]
    return present


@borrowing()
def reread(release: Release, record: int) -> None:
    """Fill ``release.least`` with the lowest levels of agreement with a record.

    There is one entry for each distinct row of the record, attribute and value: the lowest level at which this value
    and the row's value are generalized to the same value, or the number of levels if there is no such level.
    """
    begin = release.begin[record]
    for entry in range(release.begin[record + 1] - begin):
        agreement(release.cells[release.own[begin + entry]], release.groups, release.worth.levels, release.least[entry])


@borrowing()
def share_as(release: Release, record: int, form: int) -> None:
    """Change a record's strategy to `form` (-1: withhold), and update the counts.

    Changes `release` and its sensitive values in place. ``release.least`` must have been filled for this record; see
    `reread`.
    """
    was, begin, values = release.strategies[record], release.begin[record], release.harm.values
    least, entries, before, after = release.least, release.begin[record + 1] - begin, release.before, release.after
    if was >= 0:
        _set_levels(release.worth, was, before)
    if form >= 0:
        _set_levels(release.worth, form, after)
    n_changed = change_row(
        release.cells, least, entries, before, was >= 0, after, form >= 0, release.fitting, release.changed
    )
    release.strategies[record] = form
    for cell in release.changed[:n_changed]:
        if len(values.start) > 0:
            gains = form >= 0 and fits_any(release.cells[cell], least, entries, after)
            add_row(values, cell, values.kind[record], 1 if gains else -1)
        _margin(release, cell)
    if entries == 1:
        _margin(release, release.own[begin])

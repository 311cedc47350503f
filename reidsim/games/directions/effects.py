"""What a change of one record's row does to everybody else, for every form at once: compiled.

A change harms the persons whom the row no longer fits, and helps those whom it fits anew. Whom it fits in a form
follows from the lowest levels at which their values read like the record's: so what a change does to others is summed
by those levels, once over all distinct values, and then upwards in the lattice.

A record may be a person with several rows, see `FittingRows`. Its rows then fit some values in the forms above any of
several lowest levels; and another person with several rows is only helped where all values are fitted that fewest rows
fit. Both sets of forms are written as sums of the forms above some levels, with signs (inclusion and exclusion).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.games.directions.person_limits import UNLIMITED, FittingValues, add_row, excess_saved, excess_with
from reidsim.linkage.fitting_rows import FittingRows, agreement, change_row, fits_any
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

Integers = NDArray[np.int64]

# Added to the number of a form where a person does not read like the record as it is shared, or does in no form.
_APART, _NEVER = 2**40, 2**50


class Release(NamedTuple):
    """How all records are shared, and how many rows fit each of the distinct values.

    Attributes
    ----------
    cells, groups
        See `FittingRows`.
    begin, own : ndarray of int64
        The cells of each record: ``own[begin[record]:begin[record + 1]]``.
    start, members : ndarray of int64
        Records of each cell that have no other: ``members[start[cell]:start[cell + 1]]``.
    several : ndarray of int64
        Records with several cells.
    levels, strides : ndarray of int64, shape (n_attributes,)
        See `GeneralizationLattice`.
    losses : ndarray of float64, shape (n_records, n_attributes, most levels)
        Share of the greatest information loss.
    benefit : ndarray of float64, shape (n_records,)
    strategies : ndarray of int64, shape (n_records,)
        Is changed; -1 where a record is withheld.
    fitting : ndarray of int64, shape (n_cells,)
        Shared rows that fit; is changed.
    """

    cells: NDArray[np.int32]
    groups: NDArray[np.int32]
    begin: Integers
    own: Integers
    start: Integers
    members: Integers
    several: Integers
    levels: Integers
    strides: Integers
    losses: Floats
    benefit: Floats
    strategies: Strategies
    fitting: Integers


class Harm(NamedTuple):
    """What it costs that few rows fit a person, and what it costs that few people fit its row.

    Attributes
    ----------
    kind : ndarray of int64, shape (n_records,)
    by_rows : ndarray of float64, shape (n_kinds, n_records + 1)
        Of a person of each kind whom so many rows fit.
    weight : ndarray of float64, shape (n_records,)
        Times which that counts for each record.
    people : ndarray of float32, shape (n_records, n_forms) or (0, 0)
        People who fit the record's row in each form, at most one more than the records; none where nobody looks rows
        up.
    by_people : ndarray of float64, shape of `people` or (0, 0)
        What that costs, before it is weighted; not given of whole people, who cost what as many rows do.
    values : FittingValues
        Sensitive values of the rows that fit each cell, with limits; empty without limits, and of whole people.
    value_weight : float
        Harm to a person per excess over the limits.
    """

    kind: Integers
    by_rows: Floats
    weight: Floats
    people: NDArray[np.float32]
    by_people: Floats
    values: FittingValues = UNLIMITED
    value_weight: float = 0.0


class Margins(NamedTuple):
    """What one row more takes of the harm to the persons of each cell, and one row less adds; shape (n_cells,).

    Of records that have no other cell, without harm by sensitive values. `shared` counts those whose row is shared.
    """

    more: Floats
    less: Floats
    shared: Integers


class Work(NamedTuple):
    """Arrays to work on: levels of agreement, what each form does to others, and cells that change.

    Levels and places are those of each entry of a record. `forms` and `signs`, shape (4, n_forms), hold sums of the
    forms above some others, `at` (n_forms,) where a form is in one of them; `fits` tells which cells the record's row
    fits.
    """

    least: NDArray[np.int16]
    place: Integers
    gained: Floats
    changed: Integers
    before: Integers
    after: Integers
    forms: Integers
    signs: Floats
    at: Integers
    fits: NDArray[np.bool_]


def release_of(lattice: GeneralizationLattice, rows: FittingRows, benefit: Floats, strategies: Strategies) -> Release:
    """Return a release of all records as strategies (n_records,) say."""
    begin, own = rows.begin.astype(np.int64), rows.cell_of_entry
    alone = np.flatnonzero(np.diff(begin) == 1)
    order = np.argsort(own[begin[alone]], kind="stable")
    start = np.searchsorted(own[begin[alone]][order], np.arange(len(rows.cells) + 1)).astype(np.int64)
    losses = np.zeros((lattice.n_records, len(lattice.shape), max(lattice.shape)))
    for position, table in enumerate(lattice.record_losses):
        losses[:, position, : len(table)] = table.T
    return Release(
        rows.cells, rows.groups, begin, own, start, alone[order].astype(np.int64),
        np.flatnonzero(np.diff(begin) > 1).astype(np.int64), np.array(lattice.shape, dtype=np.int64),
        np.array(lattice.strides, dtype=np.int64), losses, np.ascontiguousarray(benefit, dtype=np.float64),
        strategies.astype(np.int64).copy(), rows.of_cells(strategies).astype(np.int64),
    )  # fmt: skip


def work_for(release: Release, n_forms: int) -> Work:
    """Return arrays to work on."""
    n_attributes, _, widest = release.groups.shape
    shape = (int(np.diff(release.begin).max(initial=1)), n_attributes, widest)
    return Work(
        np.zeros(shape, dtype=np.int16), np.zeros(shape, dtype=np.int64), np.zeros(n_forms),
        np.zeros(len(release.cells), dtype=np.int64), np.zeros(n_attributes, dtype=np.int64),
        np.zeros(n_attributes, dtype=np.int64), np.zeros((4, n_forms), dtype=np.int64), np.zeros((4, n_forms)),
        np.full(n_forms, -1, dtype=np.int64), np.zeros(len(release.cells), dtype=np.bool_),
    )  # fmt: skip


def margins_of(release: Release, harm: Harm) -> Margins:
    """Return what a row more or less does to the persons of each cell."""
    n_cells = len(release.cells)
    margins = Margins(np.zeros(n_cells), np.zeros(n_cells), np.zeros(n_cells, dtype=np.int64))
    _all_margins(release, harm, margins)
    return margins


@numba.njit(cache=True)
def benefit_in(release: Release, record: int, form: int) -> float:
    """Return the benefit of sharing a record in a form; see `GeneralizationLattice.utility`."""
    loss = 0.0
    for attribute in range(len(release.levels)):
        level = form // release.strides[attribute] % release.levels[attribute]
        if level > 0:
            loss += release.losses[record, attribute, level]
    return 0.0 if loss > 1.0 - 1e-12 else release.benefit[record] * (1.0 - loss)


@numba.njit(cache=True)
def harm_of(release: Release, harm: Harm, record: int, form: int, rows: int) -> float:
    """Return the harm to a person whose row is shared in a form, if so many rows fit its values."""
    rows = max(rows, 1)
    cost = harm.by_rows[harm.kind[record], rows]
    if len(harm.people) and harm.people[record, form] <= rows:
        whole = len(harm.by_people) == 0
        people = int(harm.people[record, form])
        cost = harm.by_rows[harm.kind[record], people] if whole else harm.by_people[record, form]
    return float(harm.weight[record] * cost)


@numba.njit(cache=True)
def own_harm(release: Release, harm: Harm, record: int, form: int) -> float:
    """Return the harm to a person if its row is shared in a form and all others stay as they are."""
    total = harm_of(release, harm, record, form, rows_of(release, record))
    if harm.value_weight > 0.0:
        cell, change = release.own[release.begin[record]], 1 if release.strategies[record] < 0 else 0
        total += harm.value_weight * excess_with(harm.values, cell, harm.values.kind[record], change)
    return total


@numba.njit(cache=True)
def _harm_by_values(harm: Harm, record: int, cell: int, persons: int, change: int) -> float:
    """Return what a row of a record more (1), or its present one (-1), takes of harm to persons of a cell."""
    if harm.value_weight == 0.0 or persons == 0:
        return 0.0
    return harm.value_weight * persons * excess_saved(harm.values, cell, harm.values.kind[record], change)


@numba.njit(cache=True)
def rows_of(release: Release, record: int) -> int:
    """Return how many rows fit a person if its own is shared: of several values, those that fewest rows fit."""
    rows = release.fitting[release.own[release.begin[record]]]
    for entry in range(release.begin[record] + 1, release.begin[record + 1]):
        rows = min(rows, release.fitting[release.own[entry]])
    return int(rows + 1 if release.strategies[record] < 0 else rows)


@numba.njit(cache=True)
def total_harm(release: Release, harm: Harm) -> float:
    """Return the harm to all whose row is shared."""
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            total += own_harm(release, harm, record, release.strategies[record])
    return total


@numba.njit(cache=True)
def _margin(release: Release, harm: Harm, margins: Margins, cell: int) -> None:
    rows = release.fitting[cell]
    more, less, shared = 0.0, 0.0, 0
    for position in range(release.start[cell], release.start[cell + 1]):
        record = release.members[position]
        form = release.strategies[record]
        if form >= 0:
            shared += 1
            now = harm_of(release, harm, record, form, rows)
            more += now - harm_of(release, harm, record, form, rows + 1)
            less += harm_of(release, harm, record, form, rows - 1) - now
    margins.more[cell] = more
    margins.less[cell] = less
    margins.shared[cell] = shared


@numba.njit(cache=True)
def _all_margins(release: Release, harm: Harm, margins: Margins) -> None:
    for cell in range(len(release.cells)):
        _margin(release, harm, margins, cell)


@numba.njit(cache=True)
def _set_levels(release: Release, form: int, levels: Integers) -> None:
    for attribute in range(len(levels)):
        levels[attribute] = form // release.strides[attribute] % release.levels[attribute]


@numba.njit(cache=True)
def _set_places(release: Release, shared: bool, work: Work, entries: int) -> None:
    """Say by value of each attribute what it adds to the number of the least form in which a person reads alike."""
    for entry in range(entries):
        for attribute in range(len(release.levels)):
            for value in range(work.least.shape[2]):
                level = work.least[entry, attribute, value]
                place = level * release.strides[attribute]
                if level >= release.levels[attribute]:
                    place = _NEVER
                elif entries == 1 and (not shared or level > work.before[attribute]):
                    place += _APART
                work.place[entry, attribute, value] = place


@numba.njit(cache=True)
def _join(release: Release, first: int, second: int) -> int:
    """Return the least form above two others."""
    form = 0
    for attribute in range(len(release.levels)):
        stride, levels = release.strides[attribute], release.levels[attribute]
        form += max(first // stride % levels, second // stride % levels) * stride
    return form


@numba.njit(cache=True)
def _put(work: Work, row: int, length: int, form: int, sign: float) -> int:
    """Add the forms above one to a sum of such; return the new length of the sum."""
    if work.at[form] < 0:
        work.at[form] = length
        work.forms[row, length], work.signs[row, length] = form, 0.0
        length += 1
    work.signs[row, work.at[form]] += sign
    return length


@numba.njit(cache=True)
def _settle(work: Work, row: int, length: int) -> int:
    """End a sum: leave out what cancels; return the length that is left."""
    kept = 0
    for term in range(length):
        work.at[work.forms[row, term]] = -1
        if work.signs[row, term] != 0.0:
            work.forms[row, kept], work.signs[row, kept] = work.forms[row, term], work.signs[row, term]
            kept += 1
    return kept


@numba.njit(cache=True)
def _forms_that_fit(release: Release, work: Work, entries: int, cell: int, row: int) -> int:
    """Write the forms in which any of a record's rows fits a cell as a sum; return its length."""
    length = 0
    for entry in range(entries):
        form = 0
        for attribute in range(len(release.levels)):
            form += work.place[entry, attribute, release.cells[cell, attribute]]
        if form >= _NEVER:
            continue
        form %= _APART
        before = length
        for term in range(before):
            work.signs[3, term] = work.signs[row, term]
        length = _put(work, row, length, form, 1.0)
        for term in range(before):
            length = _put(work, row, length, _join(release, work.forms[row, term], form), -work.signs[3, term])
    return _settle(work, row, length)


@numba.njit(cache=True)
def _effect_on_several(release: Release, harm: Harm, record: int, work: Work, entries: int, shared: bool) -> float:
    """Do what `effect_on_others` does for other persons with several rows; adds to ``work.gained``."""
    present = 0.0
    for other in release.several:
        form = release.strategies[other]
        if other == record or form < 0:
            continue
        begin, end = release.begin[other], release.begin[other + 1]
        rows = len(release.strategies) + 1
        for entry in range(begin, end):
            cell = release.own[entry]
            rows = min(rows, release.fitting[cell] - work.fits[cell])
        gain = harm_of(release, harm, other, form, rows) - harm_of(release, harm, other, form, rows + 1)
        if gain == 0.0:
            continue
        # One row more helps in the forms that fit every value that fewest rows fit.
        fits_all, row, length = shared, 0, 0
        for entry in range(begin, end):
            cell = release.own[entry]
            if release.fitting[cell] - work.fits[cell] > rows:
                continue
            fits_all = fits_all and work.fits[cell]
            if length == 0:
                length = _forms_that_fit(release, work, entries, cell, row)
            else:
                terms, product = _forms_that_fit(release, work, entries, cell, 2), 0
                for first in range(length):
                    for second in range(terms):
                        both = _join(release, work.forms[row, first], work.forms[2, second])
                        sign = work.signs[row, first] * work.signs[2, second]
                        product = _put(work, 1 - row, product, both, sign)
                row, length = 1 - row, _settle(work, 1 - row, product)
            if length == 0:
                break
        for term in range(length):
            work.gained[work.forms[row, term]] += work.signs[row, term] * gain
        if fits_all:
            present += gain
    return present


@numba.njit(cache=True)
def effect_on_others(release: Release, harm: Harm, margins: Margins, record: int, work: Work) -> float:
    """Work out what sharing a record in each form does to the others, against not sharing it.

    Fills ``work.gained``, shape (n_forms,): by how much it lowers the harm to others; and ``work.least``.

    Returns
    -------
    float
        By how much the record's present row lowers it; 0 if it is withheld. A change to a form gains the difference.
    """
    form, entries = release.strategies[record], release.begin[record + 1] - release.begin[record]
    own = release.own[release.begin[record]] if entries == 1 else -1
    reread(release, record, work)
    gained = work.gained
    gained[:] = 0.0
    shared = form >= 0
    if shared:
        _set_levels(release, form, work.before)
    _set_places(release, shared, work, entries)
    present, n_attributes = 0.0, len(release.levels)
    if entries > 1 or len(release.several) > 0:
        for cell in range(len(release.cells)):
            work.fits[cell] = shared and fits_any(release.cells[cell], work.least, entries, work.before)
    if len(release.several) > 0:
        present += _effect_on_several(release, harm, record, work, entries, shared)
    limited = harm.value_weight > 0.0
    for cell in range(len(release.cells)):
        unharmed = margins.more[cell] == 0.0 and margins.less[cell] == 0.0
        if cell == own or (unharmed and not (limited and margins.shared[cell] > 0)):
            continue
        if entries > 1:
            gain = margins.less[cell] if work.fits[cell] else margins.more[cell]
            for term in range(_forms_that_fit(release, work, entries, cell, 0)):
                gained[work.forms[0, term]] += work.signs[0, term] * gain
            present += gain if work.fits[cell] else 0.0
            continue
        place = 0
        for attribute in range(n_attributes):
            place += work.place[0, attribute, release.cells[cell, attribute]]
        if place < _APART:
            less = margins.less[cell]
            if limited:
                less += _harm_by_values(harm, record, cell, margins.shared[cell], -1)
            gained[place] += less
            present += less
        elif place < _NEVER:
            more = margins.more[cell]
            if limited:
                more += _harm_by_values(harm, record, cell, margins.shared[cell], 1)
            gained[place % _APART] += more
    if own >= 0:
        # Those with the same values are fitted by the row in any form.
        same, rows = 0.0, release.fitting[own]
        for position in range(release.start[own], release.start[own + 1]):
            other = release.members[position]
            if other != record and release.strategies[other] >= 0:
                now = harm_of(release, harm, other, release.strategies[other], rows)
                if shared:
                    same += harm_of(release, harm, other, release.strategies[other], rows - 1) - now
                else:
                    same += now - harm_of(release, harm, other, release.strategies[other], rows + 1)
        others = margins.shared[own] - (1 if shared else 0)
        same += _harm_by_values(harm, record, own, others, -1 if shared else 1)
        gained[0] += same
        if shared:
            present += same
    for attribute in range(len(release.levels)):
        stride, levels = release.strides[attribute], release.levels[attribute]
        for number in range(len(gained)):
            if number // stride % levels > 0:
                gained[number] += gained[number - stride]
    return present


@numba.njit(cache=True)
def reread(release: Release, record: int, work: Work) -> None:
    """Fill ``work.least`` for a record."""
    begin = release.begin[record]
    for entry in range(release.begin[record + 1] - begin):
        agreement(release.cells[release.own[begin + entry]], release.groups, release.levels, work.least[entry])


@numba.njit(cache=True)
def share_as(release: Release, harm: Harm, margins: Margins, record: int, form: int, work: Work) -> None:
    """Share a record in another form, or withhold it (-1); ``work.least`` is that of the record."""
    was, begin, end = release.strategies[record], release.begin[record], release.begin[record + 1]
    if was >= 0:
        _set_levels(release, was, work.before)
    if form >= 0:
        _set_levels(release, form, work.after)
    n_changed = change_row(
        release.cells, work.least, end - begin, work.before, was >= 0, work.after, form >= 0, release.fitting,
        work.changed,
    )  # fmt: skip
    release.strategies[record] = form
    if len(harm.values.start) > 0:
        for number in range(n_changed):
            cell = work.changed[number]
            gains = form >= 0 and fits_any(release.cells[cell], work.least, end - begin, work.after)
            add_row(harm.values, cell, harm.values.kind[record], 1 if gains else -1)
    for number in range(n_changed):
        _margin(release, harm, margins, work.changed[number])
    if end - begin == 1:
        _margin(release, harm, margins, release.own[begin])

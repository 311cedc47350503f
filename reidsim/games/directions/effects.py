"""What a change of one record's row does to everybody else, for every form at once: compiled.

A change harms the persons whom the row no longer fits, and helps those whom it fits anew. Whom it fits in a form
follows from the lowest levels at which their values read like the record's: so what a change does to others is summed
by those levels, once over all distinct values, and then upwards in the lattice.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.fitting_rows import FittingRows, agreement, change_row
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

Integers = NDArray[np.int64]

# Added to the number of a form where a person does not read like the record as it is shared, or does in no form.
_APART, _NEVER = 2**40, 2**50


class Release(NamedTuple):
    """How all records are shared, and how many rows fit each of the distinct values.

    Parameters
    ----------
    cells, groups
        See `FittingRows`.
    cell : ndarray of int64, shape (n_records,)
        The distinct values of each record.
    start, members : ndarray of int64
        Records of each cell: ``members[start[cell]:start[cell + 1]]``.
    levels, strides : ndarray of int64, shape (n_attributes,)
        See `GeneralizationLattice`.
    losses : ndarray of float64, shape (n_attributes, most levels, most values)
        Share of the greatest information loss.
    benefit : ndarray of float64, shape (n_records,)
    strategies : ndarray of int64, shape (n_records,)
        Is changed; -1 where a record is withheld.
    fitting : ndarray of int64, shape (n_cells,)
        Shared rows that fit; is changed.
    """

    cells: NDArray[np.int32]
    groups: NDArray[np.int32]
    cell: Integers
    start: Integers
    members: Integers
    levels: Integers
    strides: Integers
    losses: Floats
    benefit: Floats
    strategies: Strategies
    fitting: Integers


class Harm(NamedTuple):
    """What it costs that few rows fit a person, and what it costs that few people fit its row.

    Parameters
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
    """

    kind: Integers
    by_rows: Floats
    weight: Floats
    people: NDArray[np.float32]
    by_people: Floats


class Margins(NamedTuple):
    """What one row more takes of the harm to the persons of each cell, and one row less adds; shape (n_cells,)."""

    more: Floats
    less: Floats


class Work(NamedTuple):
    """Arrays to work on: levels of agreement, what each form does to others, and cells that change."""

    least: NDArray[np.int16]
    place: Integers
    gained: Floats
    changed: Integers
    before: Integers
    after: Integers


def release_of(lattice: GeneralizationLattice, rows: FittingRows, benefit: Floats, strategies: Strategies) -> Release:
    """Return a release of all records as strategies (n_records,) say."""
    cell, shape = rows.cell_of_record.astype(np.int64), rows.groups.shape
    members = np.argsort(cell, kind="stable").astype(np.int64)
    start = np.searchsorted(cell[members], np.arange(len(rows.cells) + 1)).astype(np.int64)
    losses = np.zeros(shape)
    for position, table in enumerate(lattice.losses):
        losses[position, : table.shape[0], : table.shape[1]] = table
    return Release(
        rows.cells, rows.groups, cell, start, members, np.array(lattice.shape, dtype=np.int64),
        np.array(lattice.strides, dtype=np.int64), losses, np.ascontiguousarray(benefit, dtype=np.float64),
        strategies.astype(np.int64).copy(), rows.of_cells(strategies).astype(np.int64),
    )  # fmt: skip


def work_for(release: Release, n_forms: int) -> Work:
    """Return arrays to work on."""
    n_attributes, _, widest = release.groups.shape
    return Work(
        np.zeros((n_attributes, widest), dtype=np.int16), np.zeros((n_attributes, widest), dtype=np.int64),
        np.zeros(n_forms),
        np.zeros(len(release.cells), dtype=np.int64), np.zeros(n_attributes, dtype=np.int64),
        np.zeros(n_attributes, dtype=np.int64),
    )  # fmt: skip


def margins_of(release: Release, harm: Harm) -> Margins:
    """Return what a row more or less does to the persons of each cell."""
    margins = Margins(np.zeros(len(release.cells)), np.zeros(len(release.cells)))
    _all_margins(release, harm, margins)
    return margins


@numba.njit(cache=True)
def benefit_in(release: Release, record: int, form: int) -> float:
    """Return the benefit of sharing a record in a form; see `GeneralizationLattice.utility`."""
    loss = 0.0
    cell = release.cell[record]
    for attribute in range(len(release.levels)):
        level = form // release.strides[attribute] % release.levels[attribute]
        if level > 0:
            loss += release.losses[attribute, level, release.cells[cell, attribute]]
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
def total_harm(release: Release, harm: Harm) -> float:
    """Return the harm to all whose row is shared."""
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            rows = release.fitting[release.cell[record]]
            total += harm_of(release, harm, record, release.strategies[record], rows)
    return total


@numba.njit(cache=True)
def _margin(release: Release, harm: Harm, margins: Margins, cell: int) -> None:
    rows = release.fitting[cell]
    more, less = 0.0, 0.0
    for position in range(release.start[cell], release.start[cell + 1]):
        record = release.members[position]
        form = release.strategies[record]
        if form >= 0:
            now = harm_of(release, harm, record, form, rows)
            more += now - harm_of(release, harm, record, form, rows + 1)
            less += harm_of(release, harm, record, form, rows - 1) - now
    margins.more[cell] = more
    margins.less[cell] = less


@numba.njit(cache=True)
def _all_margins(release: Release, harm: Harm, margins: Margins) -> None:
    for cell in range(len(release.cells)):
        _margin(release, harm, margins, cell)


@numba.njit(cache=True)
def _set_levels(release: Release, form: int, levels: Integers) -> None:
    for attribute in range(len(levels)):
        levels[attribute] = form // release.strides[attribute] % release.levels[attribute]


@numba.njit(cache=True)
def _set_places(release: Release, shared: bool, work: Work) -> None:
    """Say by value of each attribute what it adds to the number of the least form in which a person reads alike."""
    for attribute in range(len(release.levels)):
        for value in range(work.least.shape[1]):
            level = work.least[attribute, value]
            place = level * release.strides[attribute]
            if level >= release.levels[attribute]:
                place = _NEVER
            elif not shared or level > work.before[attribute]:
                place += _APART
            work.place[attribute, value] = place


@numba.njit(cache=True)
def effect_on_others(release: Release, harm: Harm, margins: Margins, record: int, work: Work) -> float:
    """Work out what sharing a record in each form does to the others, against not sharing it.

    Fills ``work.gained``, shape (n_forms,): by how much it lowers the harm to others; and ``work.least``.

    Returns
    -------
    float
        By how much the record's present row lowers it; 0 if it is withheld. A change to a form gains the difference.
    """
    form, own = release.strategies[record], release.cell[record]
    reread(release, record, work)
    gained = work.gained
    gained[:] = 0.0
    shared = form >= 0
    if shared:
        _set_levels(release, form, work.before)
    _set_places(release, shared, work)
    present, n_attributes = 0.0, len(release.levels)
    for cell in range(len(release.cells)):
        if cell == own or (margins.more[cell] == 0.0 and margins.less[cell] == 0.0):
            continue
        place = 0
        for attribute in range(n_attributes):
            place += work.place[attribute, release.cells[cell, attribute]]
        if place < _APART:
            gained[place] += margins.less[cell]
            present += margins.less[cell]
        elif place < _NEVER:
            gained[place % _APART] += margins.more[cell]
    # Those with the same values are fitted by the row in any form.
    same = 0.0
    rows = release.fitting[own]
    for position in range(release.start[own], release.start[own + 1]):
        other = release.members[position]
        if other != record and release.strategies[other] >= 0:
            now = harm_of(release, harm, other, release.strategies[other], rows)
            if shared:
                same += harm_of(release, harm, other, release.strategies[other], rows - 1) - now
            else:
                same += now - harm_of(release, harm, other, release.strategies[other], rows + 1)
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
    agreement(release.cells[release.cell[record]], release.groups, release.levels, work.least)


@numba.njit(cache=True)
def share_as(release: Release, harm: Harm, margins: Margins, record: int, form: int, work: Work) -> None:
    """Share a record in another form, or withhold it (-1); ``work.least`` is that of the record."""
    was = release.strategies[record]
    if was >= 0:
        _set_levels(release, was, work.before)
    if form >= 0:
        _set_levels(release, form, work.after)
    n_changed = change_row(
        release.cells, work.least, work.before, was >= 0, work.after, form >= 0, release.fitting, work.changed
    )
    release.strategies[record] = form
    for number in range(n_changed):
        _margin(release, harm, margins, work.changed[number])
    _margin(release, harm, margins, release.cell[record])

"""How many shared rows fit a known person, where every record may be shared in a generalization of its own.

Somebody who looks a person up in a shared file compares the person's true values with every row. A row fits if the
person's values, generalized as the row is, read like it. Rows of one form are counted by their values; persons with
equal values share one answer, and so do the rows that come of equal values. A change of one row alters the counts of
those values alone that fit the row before or after it.

A person with several rows is found by the values of any of them, and all its rows are generalized alike. Then people
with a row that fits are counted, each once. Here a `record` is all the rows of a person, and an `entry` one of its
distinct rows; a record of one row is one entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.linkage.people import RowSets
from reidsim.populations.domain import Codes, distinct_rows, row_keys
from reidsim.populations.population import Counts
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

# Forms in use times distinct values of persons: beyond it, counting takes a minute.
MOST_LOOK_UPS = 1_000_000_000
# Generalized values are counted in an array with a place for each combination if these are at most so many times the
# distinct records, and else sorted.
_MOST_PLACES = 8

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittingRows:
    """The rows that fit the persons of a release, each of whom is a record of the lattice.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Over the records, one row each, unless there are row sets.
    row_sets : RowSets, optional
        Of each person, over the codes of the lattice.
    """

    lattice: GeneralizationLattice
    row_sets: RowSets | None = None

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return distinct_rows(list(self.lattice.codes.T), len(self.lattice.codes))

    @cached_property
    def cell_of_entry(self) -> Integers:
        """The distinct values of each entry, shape (n_entries,)."""
        cells = self._distinct[1]
        return (cells if self.row_sets is None else cells[self.row_sets.cells]).astype(np.int64)

    @cached_property
    def begin(self) -> Integers:
        """Where the entries of each record begin, shape (n_records + 1,)."""
        return np.arange(len(self.cell_of_entry) + 1) if self.row_sets is None else self.row_sets.start

    @cached_property
    def record_of_entry(self) -> Integers:
        """The record of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def cells(self) -> Codes:
        """The distinct values, shape (n_cells, n_attributes)."""
        return np.ascontiguousarray(self.lattice.codes[self._distinct[0]])

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """The group of each value, shape (n_attributes, most levels, most values); -1 where there is none."""
        hierarchies = self.lattice.hierarchies
        widest = max(hierarchy.attribute.size for hierarchy in hierarchies)
        groups = np.full((len(hierarchies), max(self.lattice.shape), widest), -1, dtype=np.int32)
        for position, hierarchy in enumerate(hierarchies):
            groups[position, : hierarchy.n_levels, : hierarchy.attribute.size] = hierarchy.groups
        return groups

    @cached_property
    def _by_cell(self) -> list[list[NDArray[np.int32]]]:
        return [
            [hierarchy.groups[level][self.cells[:, position]] for level in range(hierarchy.n_levels)]
            for position, hierarchy in enumerate(self.lattice.hierarchies)
        ]

    def of_cells(self, strategies: Strategies) -> Counts:
        """Return how many of the shared rows fit each of the distinct values, shape (n_cells,).

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_records,)
            The form of each record's row; negative where it is not shared.

        Raises
        ------
        InputError
            If there are too many forms in use and distinct values to compare.
        """
        return self._sums(strategies, np.ones(len(self.cell_of_entry))).astype(np.int64)

    def weight_of_entries(self, strategies: Strategies, weights: Floats) -> Floats:
        """Return the sum of weights of the rows that fit each entry's values, shape (n_entries,).

        `weights` are those of entries; entries of a person that read alike have one weight, which counts once.
        """
        return self._sums(strategies, weights)[self.cell_of_entry]

    def least(self, amounts: Counts) -> Counts:
        """Return the least amount (n_entries,) of the entries of each record, shape (n_records,)."""
        return amounts if self.row_sets is None else np.asarray(np.minimum.reduceat(amounts, self.begin[:-1]))

    def _sums(self, strategies: Strategies, weights: Floats) -> Floats:
        """Return the weights of the shared rows that fit each of the distinct values, shape (n_cells,).

        Raises
        ------
        InputError
            If there are too many forms in use and distinct values to compare.
        """
        sums = np.zeros(len(self.cells))
        forms, form_of_row = np.unique(strategies, return_inverse=True)
        look_ups = int(np.count_nonzero(forms >= 0)) * len(self.cells)
        if look_ups > MOST_LOOK_UPS:
            raise InputError(
                "too many generalizations in use to look everybody up", found=look_ups,
                expected=f"at most {MOST_LOOK_UPS:,} generalizations times distinct records",
            )  # fmt: skip
        form_of_entry = form_of_row[self.record_of_entry]
        order = np.argsort(form_of_entry, kind="stable")
        starts = np.searchsorted(form_of_entry[order], np.arange(len(forms) + 1))
        for number, form in enumerate(forms.tolist()):
            if form >= 0:
                keys = self._keys(form)
                rows = order[starts[number] : starts[number + 1]]
                which, places = keys[self.cell_of_entry[rows]], int(keys.max()) + 1
                if places > _MOST_PLACES * len(keys):
                    shared, which = np.unique(which, return_inverse=True)
                    places = len(shared)
                    place = np.minimum(np.searchsorted(shared, keys), places - 1)
                    keys = np.where(shared[place] == keys, place, places)
                if self.row_sets is not None:
                    once = np.unique(which * len(self.begin) + self.record_of_entry[rows], return_index=True)[1]
                    rows, which = rows[once], which[once]
                sums += np.bincount(which, weights[rows], places + 1)[keys]
        return sums

    def of_records(self, strategies: Strategies) -> Counts:
        """Return how many of the shared rows fit the true values of each record's person, shape (n_records,).

        Of a person with several rows, how many people have a row that fits, by the values that fewest fit.
        """
        return self.least(self.of_cells(strategies)[self.cell_of_entry])

    def _keys(self, form: int) -> Integers:
        """Return a number for each of the distinct values as shared in a form, equal where they read alike."""
        levels = self.lattice.levels(form)
        columns = [groups[level] for groups, level in zip(self._by_cell, levels, strict=True)]
        return row_keys(columns, len(self.cells))


@numba.njit(cache=True)
def agreement(
    values: NDArray[np.int32],
    groups: NDArray[np.int32],
    levels: Integers,
    least: NDArray[np.int16],
) -> None:
    """Find for each value of each attribute the lowest level at which it reads like a record's.

    Parameters
    ----------
    values : ndarray of int32, shape (n_attributes,)
        Of the record.
    groups : ndarray of int32
        See `FittingRows`.
    levels : ndarray of int64, shape (n_attributes,)
        Levels of each attribute.
    least : ndarray of int16, shape (n_attributes, most values)
        Is filled; the number of levels where they never agree.
    """
    for attribute in range(len(values)):
        own = values[attribute]
        for value in range(groups.shape[2]):
            level = 0
            while level < levels[attribute] and (
                groups[attribute, level, value] != groups[attribute, level, own] or groups[attribute, level, value] < 0
            ):
                level += 1
            least[attribute, value] = level


@numba.njit(cache=True)
def fits_any(values: NDArray[np.int32], least: NDArray[np.int16], entries: int, form: Integers) -> bool:
    """Tell whether a record's row, shared at the levels of a form, fits a person with some values.

    `least` is that of each entry of the record, of which any may fit; see `agreement`.
    """
    found = False
    for entry in range(entries):
        reads_alike = True
        for attribute in range(len(values)):
            reads_alike = reads_alike and least[entry, attribute, values[attribute]] <= form[attribute]
        found = found or reads_alike
    return found


@numba.njit(cache=True)
def change_row(
    cells: NDArray[np.int32],
    least: NDArray[np.int16],
    entries: int,
    before: Integers,
    was_shared: bool,
    after: Integers,
    is_shared: bool,
    fitting: Counts,
    changed: NDArray[np.int64],
) -> int:
    """Change one record's row from one form to another; update how many rows fit each of the distinct values.

    Parameters
    ----------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        The distinct values.
    least : ndarray of int16
        Of the entries of the record whose row it is; see `agreement`.
    entries : int
        How many they are.
    before, after : ndarray of int64, shape (n_attributes,)
        Levels of the two forms.
    was_shared, is_shared : bool
        Whether there is a row before and after.
    fitting : ndarray of int64, shape (n_cells,)
        Is changed.
    changed : ndarray of int64, shape (n_cells,)
        Is filled with the cells whose count changes.

    Returns
    -------
    int
        How many they are.
    """
    n_changed = 0
    for cell in range(len(cells)):
        loses = was_shared and fits_any(cells[cell], least, entries, before)
        gains = is_shared and fits_any(cells[cell], least, entries, after)
        if loses != gains:
            fitting[cell] += 1 if gains else -1
            changed[n_changed] = cell
            n_changed += 1
    return n_changed

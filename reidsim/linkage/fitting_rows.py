"""Number of released rows that match a person, with a generalization per record.

An adversary who looks up a person in a released file compares the person's true values with every row. A row matches if
the person's values, generalized to the levels of the row, equal the row. Rows with the same generalization are counted
by their values. Counts are computed once for people with equal values, and once for rows with equal true values. A
change of one row changes only the counts of values that match the row before or after the change.

A person with several rows is found by the values of any of them, and all rows of the person are generalized equally.
The counts are then numbers of distinct people with a matching row. In this module, a `record` is the set of all rows of
a person, and an `entry` is one of its distinct rows; a record with one row has one entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import borrowing
from reidsim.linkage.people import RowSets
from reidsim.linkage.row_groups import classes_at
from reidsim.populations.domain import Codes, distinct_rows
from reidsim.populations.population import Counts
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittingRows:
    """Counts of the released rows that match each person of a release.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over the records, one row each; with `row_sets`, over the cells of the row sets.
    row_sets : RowSets, optional
        Row set of each person, over the codes of the lattice.
    """

    lattice: GeneralizationLattice
    row_sets: RowSets | None = None

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return distinct_rows(list(self.lattice.codes.T), len(self.lattice.codes))

    @cached_property
    def cell_of_entry(self) -> Integers:
        """The cell (distinct combination of values) of each entry, shape (n_entries,).

        An entry is one of the distinct rows of a person.
        """
        cells = self._distinct[1]
        return (cells if self.row_sets is None else cells[self.row_sets.cells]).astype(np.int64)

    @cached_property
    def begin(self) -> Integers:
        """The first entry of each record, shape (n_records + 1,); the last item ends it.

        A record is the set of all rows of a person, and an entry is one of its distinct rows.
        """
        return np.arange(len(self.cell_of_entry) + 1) if self.row_sets is None else self.row_sets.start

    @cached_property
    def record_of_entry(self) -> Integers:
        """The record (person) of each entry (distinct row of a person), (n_entries,)."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def cells(self) -> Codes:
        """The distinct combinations of true values, shape (n_cells, n_attributes).

        They are codes of the lattice's attributes.
        """
        return np.ascontiguousarray(self.lattice.codes[self._distinct[0]])

    @cached_property
    def groups(self) -> NDArray[np.int32]:
        """The group of each value at each level, shape (n_attributes, n_levels, n_values).

        The shape has the most levels and the most values of any attribute; unused places are -1.
        """
        hierarchies = self.lattice.hierarchies
        widest = max(hierarchy.attribute.size for hierarchy in hierarchies)
        groups = np.full((len(hierarchies), max(self.lattice.shape), widest), -1, dtype=np.int32)
        for position, hierarchy in enumerate(hierarchies):
            groups[position, : hierarchy.n_levels, : hierarchy.attribute.size] = hierarchy.groups
        return groups

    def of_cells(self, strategies: Strategies) -> Counts:
        """Return the number of released rows that match each cell, shape (n_cells,).

        A cell is a distinct combination of true values. A row matches it if the cell's values, generalized to the
        levels of the row, equal the row. With row sets, these are numbers of distinct people with a matching row.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_records,)
            Node of each record; negative if the record is withheld.
        """
        return self._sums(strategies, np.ones(len(self.cell_of_entry))).astype(np.int64)

    def weight_of_entries(self, strategies: Strategies, weights: Floats) -> Floats:
        """Return the total weight of the rows that match each entry, shape (n_entries,).

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_records,)
            Node of each record; negative if the record is withheld.
        weights : ndarray of float64, shape (n_entries,)
            Weight of each entry. Entries of a person that are equal when generalized must have equal weights and count
            once.
        """
        return self._sums(strategies, weights)[self.cell_of_entry]

    def least(self, amounts: Counts) -> Counts:
        """Return the smallest amount over the entries of each record, shape (n_records,).

        An entry is one of the distinct rows of the record's person. `amounts` has shape (n_entries,).
        """
        return amounts if self.row_sets is None else np.asarray(np.minimum.reduceat(amounts, self.begin[:-1]))

    def _sums(self, strategies: Strategies, weights: Floats) -> Floats:
        """Return the total weight of the released rows that match each cell, (n_cells,).

        For the arguments see `weight_of_entries`. Rows of a person that are equal when generalized count once.
        """
        strategy, sums = strategies[self.record_of_entry], np.zeros(len(self.cells))
        lattice = GeneralizationLattice(self.lattice.hierarchies, self.cells)
        for node in np.unique(strategy[strategy >= 0]).tolist():
            entries, class_of_cell = np.flatnonzero(strategy == node), classes_at(lattice, node)
            found = class_of_cell[self.cell_of_entry[entries]]
            if self.row_sets is not None:
                # The rows of a person that are equal when generalized count once.
                pairs = found * len(self.begin) + self.record_of_entry[entries]
                once = np.unique(pairs, return_index=True)[1]
                entries, found = entries[once], found[once]
            sums += np.bincount(found, weights[entries], len(self.cells))[class_of_cell]
        return sums

    def of_records(self, strategies: Strategies) -> Counts:
        """Return the number of rows that match each record's person, (n_records,).

        The person's own row counts if it is released. For people with several rows, this is the number of distinct
        people with a matching row, for the entry (distinct row) of the person that the fewest people match.
        `strategies` is as in `of_cells`.
        """
        return self.least(self.of_cells(strategies)[self.cell_of_entry])


@borrowing()
def agreement(
    values: NDArray[np.int32],
    groups: NDArray[np.int32],
    levels: Integers,
    least: NDArray[np.int16],
) -> None:
    """Find the lowest level at which each value is in the group of a record's value.

    Parameters
    ----------
    values : ndarray of int32, shape (n_attributes,)
        Values of the record.
    groups : ndarray of int32, shape (n_attributes, n_levels, n_values)
        See `FittingRows.groups`.
    levels : ndarray of int64, shape (n_attributes,)
        Number of levels of each attribute.
    least : ndarray of int16, shape (n_attributes, n_values)
        Output: the lowest level; the number of levels for values that are in the same group at no level.
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


@borrowing()
def fits_any(values: NDArray[np.int32], least: NDArray[np.int16], entries: int, form: Integers) -> bool:
    """Return whether a record released at some levels matches a person's values.

    Parameters
    ----------
    values : ndarray of int32, shape (n_attributes,)
        True values of the person.
    least : ndarray of int16, shape (n_entries, n_attributes, n_values)
        Lowest level of agreement of each entry of the record; see `agreement`. One matching entry is enough.
    entries : int
        Number of entries of the record.
    form : ndarray of int64, shape (n_attributes,)
        Levels of the release.
    """
    found = False
    for entry in range(entries):
        reads_alike = True
        for attribute in range(len(values)):
            reads_alike = reads_alike and least[entry, attribute, values[attribute]] <= form[attribute]
        found = found or reads_alike
    return found


@borrowing()
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
    """Update the counts of matching rows after one record moves to another node.

    Parameters
    ----------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        The distinct combinations of values.
    least : ndarray of int16, shape (n_entries, n_attributes, n_values)
        Lowest level of agreement of each entry of the record; see `agreement`.
    entries : int
        Number of entries of the record.
    before, after : ndarray of int64, shape (n_attributes,)
        Levels of the record before and after the change.
    was_shared, is_shared : bool
        Whether the record is released before and after the change.
    fitting : ndarray of int64, shape (n_cells,)
        Number of rows that match each cell; updated in place.
    changed : ndarray of int64, shape (n_cells,)
        Output: the cells whose count changes.

    Returns
    -------
    int
        Number of cells in `changed`.
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

"""People with several rows: distinct people per class, and best row per person.

In a file with several rows per person, the adversary searches for people, not for rows. The size of an equivalence
class is the number of distinct people with a row in it, however many rows they have there. A person can be found by any
of their rows. People whose rows fall into the same cells equally often are interchangeable. They share a `row set`, so
that results are computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.populations.population import Codes, Counts, Domain, Population, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowSets:
    """The distinct sets of rows that people have, and the number of people per set.

    A set is a list of entries, one for each cell that contains rows of the person. The entries of set i are
    ``start[i]`` to ``start[i + 1] - 1``.

    Parameters
    ----------
    start : ndarray of int64, shape (n_sets + 1,)
        First entry of each set; no set is empty.
    cells : ndarray of int64, shape (n_entries,)
        Cell of each entry.
    rows : ndarray of int64, shape (n_entries,)
        Number of rows that a person of the set has in the cell.
    people : ndarray of int64, shape (n_sets,)
        Number of people with each set; float64 if a sampled person represents several people.
    """

    start: Integers
    cells: Positions
    rows: Integers
    people: NDArray[Any]

    @classmethod
    def from_rows(cls, cell_of_record: Positions, person_of_record: Positions) -> tuple[RowSets, Positions]:
        """Group the rows of each person into row sets.

        Parameters
        ----------
        cell_of_record : ndarray of int, shape (n_records,)
            Cell of each row.
        person_of_record : ndarray of int, shape (n_records,)
            Person of each row: 0, 1, ..., without gaps.

        Returns
        -------
        row_sets : RowSets
            Sets are in the order of their number of rows, then of their cells.
        set_of_person : ndarray of int, shape (n_people,)
            The set of each person.
        """
        order = np.lexsort((cell_of_record, person_of_record))
        cells, owner = cell_of_record[order], person_of_record[order]
        lengths = np.bincount(owner)
        begin = np.cumsum(lengths) - lengths
        set_of_person = _numbered(cells, begin, lengths)
        _, first = np.unique(set_of_person, return_index=True)
        positions, _ = ranges(begin[first], lengths[first])
        row_set = np.repeat(np.arange(len(first)), lengths[first])
        row_cells = cells[positions]
        # Several rows of a person in the same cell form one entry.
        new = np.ones(len(positions), dtype=np.bool_)
        new[1:] = (row_set[1:] != row_set[:-1]) | (row_cells[1:] != row_cells[:-1])
        entries = np.flatnonzero(new)
        rows = np.diff(np.append(entries, len(positions)))
        start = np.searchsorted(row_set[entries], np.arange(len(first) + 1)).astype(np.int64)
        return cls(start, row_cells[entries], rows, np.bincount(set_of_person, minlength=len(first))), set_of_person

    @property
    def n_sets(self) -> int:
        """Number of different row sets (sets of rows that a person has)."""
        return len(self.people)

    @cached_property
    def lengths(self) -> Integers:
        """Number of entries (cells with rows of a person) of each set, shape (n_sets,)."""
        return np.diff(self.start)

    @property
    def owner(self) -> Positions:
        """Number of the row set of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_sets), self.lengths)

    @property
    def rows_of_person(self) -> Integers:
        """Number of rows that one person of each set has, shape (n_sets,)."""
        return np.add.reduceat(self.rows, self.start[:-1])

    def entries_of(self, sets: Positions) -> tuple[Positions, Integers]:
        """Return the entries of some sets, set by set, and each set's start, (n + 1,).

        `sets` holds the numbers of n sets. Entries are positions in `cells` and `rows`. The entries of ``sets[i]`` are
        the items ``start[i]`` to ``start[i + 1] - 1`` of the first result, where `start` is the second.
        """
        return ranges(self.start[sets], self.lengths[sets])

    def in_classes(self, class_of_cell: NDArray[np.integer], n_classes: int) -> Counts:
        """Return the number of distinct people with a row in each class, (n_classes,).

        `class_of_cell` is the class of each cell: 0, 1, ..., `n_classes` - 1.
        """
        return _in_classes(self.start, self.cells, self.people, class_of_cell, n_classes)

    def by_cell(self, n_cells: int) -> tuple[Integers, Positions]:
        """Return the sets with a row in each cell, cell by cell.

        The first result, shape (n_cells + 1,), is the start of each cell in the second result, which holds numbers of
        sets.
        """
        order = np.argsort(self.cells, kind="stable")
        return np.searchsorted(self.cells[order], np.arange(n_cells + 1)).astype(np.int64), self.owner[order]

    def onto(self, cell: NDArray[np.integer]) -> RowSets:
        """Return the `RowSets` with each cell c replaced by ``cell[c]``.

        A set may then contain a cell more than once.
        """
        return replace(self, cells=cell[self.cells].astype(np.intp))

    def combined(self, operation: np.ufunc, amounts: NDArray[Any]) -> NDArray[Any]:
        """Return the amounts of the cells of each set, reduced by an operation, (n_sets,).

        The operation is a numpy function such as `np.maximum`. `amounts` has shape (n_cells,).
        """
        return np.asarray(operation.reduceat(amounts[self.cells], self.start[:-1]))

    def means(self, amounts: Floats, weights: Floats | None = None) -> Floats:
        """Return the mean amount over the rows of each set, shape (..., n_sets).

        All rows in a cell have the same amount and the same weight.

        Parameters
        ----------
        amounts : ndarray of float64, shape (..., n_cells)
            Amount of every row in a cell, by cell.
        weights : ndarray of float64, shape (n_cells,), optional
            Weight of every single row in a cell, by cell. The rows of a set have equal weights if this is not given, or
            if the weights of the set's rows sum to 0.
        """
        each = self.rows.astype(np.float64)
        if weights is not None:
            weighted = each * weights[self.cells]
            nothing = np.add.reduceat(weighted, self.start[:-1]) == 0
            each = np.where(np.repeat(nothing, self.lengths), each, weighted)
        totals = np.add.reduceat(each, self.start[:-1])
        return np.asarray(np.add.reduceat(each * amounts[..., self.cells], self.start[:-1], axis=-1) / totals)


@dataclass(frozen=True)
class PeopleOfRows(Population):
    """A population in which people may have rows in several cells.

    A person counts once in each cell with a row of theirs, and once in the total. For the other parameters see
    `Population`; `counts` are the numbers of people with a row in each cell.

    Parameters
    ----------
    row_sets : RowSets
        Row sets over the population's cells.
    """

    row_sets: RowSets = field(kw_only=True, compare=False)

    @classmethod
    def from_codes(cls, domain: Domain, codes: Codes, row_sets: RowSets, *, name: str = "population") -> PeopleOfRows:
        """Return the `PeopleOfRows` of row sets, given the codes of their cells.

        Parameters
        ----------
        domain : Domain
            Attributes of the codes.
        codes : ndarray of int32, shape (n_cells, n_attributes)
            Codes of the cells of `row_sets`; several cells may have equal codes.
        row_sets : RowSets
            Rows of the people by cell.
        name : str
            Name of the population in messages and results.
        """
        first, cell = distinct_rows(list(codes.T), len(codes))
        onto = row_sets.onto(cell)
        return cls(domain, codes[first], onto.in_classes(np.arange(len(first)), len(first)), name, row_sets=onto)

    @property
    def total(self) -> float:
        """Number of distinct people, each counted once however many rows they have."""
        return float(self.row_sets.people.sum())

    def marginal(self, names: Sequence[str]) -> PeopleOfRows:
        """Return the `PeopleOfRows` over some attributes, in the order of `names`."""
        if tuple(names) == self.domain.names:
            return self
        columns = [self.domain.position(name) for name in names]
        return PeopleOfRows.from_codes(self.domain.select(names), self.cells[:, columns], self.row_sets, name=self.name)


def distinct_people(population: Population) -> RowSets | None:
    """Return the `RowSets` of a population; None if each person has one row."""
    return getattr(population, "row_sets", None)


def best_entries(start: Integers, *amounts: NDArray[Any]) -> Positions:
    """Return the entry of each set with the largest amounts, shape (n,).

    An entry is a cell with rows of one person; the result holds positions of entries.

    Parameters
    ----------
    start : ndarray of int64, shape (n + 1,)
        The entries of set i are ``start[i]`` to ``start[i + 1] - 1``.
    amounts : ndarray, shape (n_entries,)
        Amounts of the entries. The first amount is compared first, a later one only among entries that are equal so
        far. Of equal entries, the first is returned.
    """
    return _largest_entries(start, np.stack(amounts).astype(np.float64))


@numba.njit(cache=True, nogil=True)
def _largest_entries(start: Integers, amounts: Floats) -> Positions:
    found = np.empty(len(start) - 1, dtype=np.intp)
    for row_set in range(len(found)):
        best = start[row_set]
        for entry in range(best + 1, start[row_set + 1]):
            for row in amounts:
                if row[entry] != row[best]:
                    if row[entry] > row[best]:
                        best = entry
                    break
        found[row_set] = best
    return found


def largest_in_groups(amounts: Floats, group: Positions) -> Floats:
    """Return for each member the largest amount in its group, shape (n,).

    Parameters
    ----------
    amounts : ndarray of float64, shape (n,)
        Amount of each member, 0 or more.
    group : ndarray of int, shape (n,)
        Group number of each member, 0 or more.
    """
    largest = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(largest, group, amounts)
    return np.asarray(largest[group])


def ranges(begin: Integers, lengths: Integers) -> tuple[Positions, Integers]:
    """Return the concatenated positions of ranges, and the start of each, (n + 1,).

    Range i has the positions ``begin[i]`` to ``begin[i] + lengths[i] - 1``.
    """
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(start[-1]) + np.repeat(begin - start[:-1], lengths), start


def _numbered(cells: Positions, begin: Integers, lengths: Integers) -> Positions:
    """Return a number for each person, equal for people with equal cells.

    Numbers are in the order of the number of rows, then of their cells. The numbers are 0, 1, ..., without gaps. The
    sorted cells of person i are ``lengths[i]`` items of `cells` from ``begin[i]`` on.
    """
    number, n_numbers = np.zeros(len(lengths), dtype=np.intp), 0
    for length in np.unique(lengths).tolist():
        people = np.flatnonzero(lengths == length)
        first, kind = distinct_rows([cells[begin[people] + at] for at in range(length)], len(people))
        number[people] = n_numbers + kind
        n_numbers += len(first)
    return number


@numba.njit(cache=True, nogil=True)
def _in_classes(
    start: Integers, cells: Positions, people: NDArray[Any], class_of_cell: NDArray[np.integer], n_classes: int
) -> Counts:
    """Return the number of people with a row in each class, shape (n_classes,).

    A person counts once per class. `start`, `cells` and `people` are the fields of `RowSets`.
    """
    counts = np.zeros(n_classes, dtype=people.dtype)
    # The set that was last counted in each class, so that a set counts once per class.
    last = np.full(n_classes, -1, dtype=np.int64)
    for each in range(len(people)):
        for entry in range(start[each], start[each + 1]):
            here = class_of_cell[cells[entry]]
            if last[here] != each:
                last[here] = each
                counts[here] += people[each]
    return counts

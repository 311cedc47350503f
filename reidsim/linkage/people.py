"""People who have several rows: how many of them are in a class, and the rows by which each is found.

The adversary of a file in which a person has several rows looks for people, not for rows. A class of rows that look
alike is as large as the number of different people who have a row in it, whatever number of rows they have there; and a
person can be found by any of their rows. People whose rows fall into the same cells equally often are alike in all that
counts, so they share a `row set`, and what holds of one is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.populations.domain import Codes, Domain, distinct_rows
from reidsim.populations.population import Counts, Population

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RowSets:
    """The different sets of rows that people have, by the cells that the rows are in, and how many people have each.

    Entries are the cells of all sets, one after the other; those of set i are ``start[i]`` to ``start[i + 1]``.

    Parameters
    ----------
    start : ndarray of int64, shape (n_sets + 1,)
        No set is empty.
    cells : ndarray of int64, shape (n_entries,)
    rows : ndarray of int64, shape (n_entries,)
        How many rows a person of the set has in the cell.
    people : ndarray of int64, shape (n_sets,)
        People of each set; float64 where a sampled person stands for several.
    """

    start: Integers
    cells: Positions
    rows: Integers
    people: NDArray[Any]

    @classmethod
    def of(cls, cell_of_record: Positions, person_of_record: Positions) -> tuple[RowSets, Positions]:
        """Put together the rows of each person.

        Parameters
        ----------
        cell_of_record : ndarray of int, shape (n_records,)
        person_of_record : ndarray of int, shape (n_records,)
            Numbers from 0 on, each of somebody.

        Returns
        -------
        RowSets
            Those of one row come in the order of their cells.
        ndarray of int, shape (n_people,)
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
        # A cell that holds several rows of a person is one entry.
        new = np.ones(len(positions), dtype=np.bool_)
        new[1:] = (row_set[1:] != row_set[:-1]) | (row_cells[1:] != row_cells[:-1])
        entries = np.flatnonzero(new)
        rows = np.diff(np.append(entries, len(positions)))
        start = np.searchsorted(row_set[entries], np.arange(len(first) + 1)).astype(np.int64)
        people = np.bincount(set_of_person, minlength=len(first))
        return cls(start, row_cells[entries], rows, people), set_of_person

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self.people)

    @cached_property
    def lengths(self) -> Integers:
        """Cells of each set, shape (n_sets,)."""
        return np.diff(self.start)

    @property
    def owner(self) -> Positions:
        """The set of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_sets), self.lengths)

    @property
    def rows_of_person(self) -> Integers:
        """Rows that a person of each set has, shape (n_sets,)."""
        return np.add.reduceat(self.rows, self.start[:-1])

    def entries_of(self, sets: Positions) -> tuple[Positions, Integers]:
        """Return the entries of some sets, one set after the other, and where each begins, shape (n + 1,)."""
        return ranges(self.start[sets], self.lengths[sets])

    def of_neighbours(self, sets: slice) -> RowSets:
        """Return some neighbouring sets."""
        start = self.start[sets.start : sets.stop + 1]
        entries = slice(start[0], start[-1])
        return RowSets(start - start[0], self.cells[entries], self.rows[entries], self.people[sets])

    def in_classes(self, class_of_cell: NDArray[np.integer], n_classes: int) -> Counts:
        """Count the different people who have a row in each class, shape (n_classes,)."""
        return self.classed(class_of_cell, n_classes).counts

    def classed(self, class_of_cell: NDArray[np.integer], n_classes: int) -> ClassedPeople:
        """Return who has a row in each class, in a form in which classes can be merged."""
        # Nobody has been found alone in a class of cells yet.
        nobody = np.zeros(0, dtype=self.people.dtype)
        return ClassedPeople(*_merged(nobody, self.start, self.cells, self.people, class_of_cell, n_classes))

    def by_cell(self, n_cells: int) -> tuple[Integers, Positions]:
        """Return the sets that have a row in each cell, cell after cell, and where each cell begins, (n_cells + 1,)."""
        order = np.argsort(self.cells, kind="stable")
        start = np.searchsorted(self.cells[order], np.arange(n_cells + 1)).astype(np.int64)
        return start, self.owner[order]

    def onto(self, cell: NDArray[np.integer]) -> RowSets:
        """Return the same people on other cells, given that of each; a set may then hold a cell more than once."""
        return replace(self, cells=cell[self.cells].astype(np.intp))

    def means(self, amounts: Floats, weights: Floats | None = None) -> Floats:
        """Return the mean over each set's rows of amounts of cells (..., n_cells), shape (..., n_sets).

        Parameters
        ----------
        amounts : ndarray of float64
        weights : ndarray of float64, shape (n_cells,), optional
            How much a row in each cell counts; all the same, if not given or if those of a set sum to 0.
        """
        each = self.rows.astype(np.float64)
        if weights is not None:
            weighted = each * weights[self.cells]
            nothing = np.add.reduceat(weighted, self.start[:-1]) == 0
            each = np.where(np.repeat(nothing, self.lengths), each, weighted)
        totals = np.add.reduceat(each, self.start[:-1])
        return np.asarray(np.add.reduceat(each * amounts[..., self.cells], self.start[:-1], axis=-1) / totals)


class ClassedPeople(NamedTuple):
    """People by the classes that their rows are in: the wider the classes, the fewer people are in several.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_classes,)
        Different people who have a row in the class.
    alone : ndarray of int64, shape (n_classes,)
        Those all of whose rows are in it.
    start : ndarray of int64, shape (n_sets + 1,)
        Where the classes of each set of people begin who have rows in several.
    classes : ndarray of int32, shape (n_entries,)
        Set after set.
    people : ndarray of int64, shape (n_sets,)
    """

    counts: Counts
    alone: Counts
    start: Integers
    classes: NDArray[np.int32]
    people: Counts

    @property
    def nbytes(self) -> int:
        """Memory held besides that of the counts, which tables hold as well."""
        return sum(each.nbytes for each in self[1:])

    def merged(self, class_of_class: NDArray[np.integer], n_classes: int) -> ClassedPeople:
        """Return the same people in wider classes, given that of each class."""
        return ClassedPeople(*_merged(*self[1:], class_of_class, n_classes))


@dataclass(frozen=True)
class PeopleOfRows(Population):
    """People of whom some have rows in several cells: a person counts in each of these once, and once in all.

    The other parameters are those of `Population`. `counts` are the people who have a row in each cell.

    Parameters
    ----------
    row_sets : RowSets
        Over the population's cells.
    """

    row_sets: RowSets = field(kw_only=True, compare=False)

    @classmethod
    def of(cls, domain: Domain, codes: Codes, row_sets: RowSets, *, name: str = "population") -> PeopleOfRows:
        """Count people by the codes (n_cells, n_attributes) of the cells of their rows, of which some may be equal."""
        first, cell = distinct_rows(list(codes.T), len(codes))
        onto = row_sets.onto(cell)
        return cls(domain, codes[first], onto.in_classes(np.arange(len(first)), len(first)), name, row_sets=onto)

    @property
    def total(self) -> float:
        """People in all cells."""
        return float(self.row_sets.people.sum())

    def marginal(self, names: Sequence[str]) -> PeopleOfRows:
        """Return the people counted by some of their attributes, in the order given."""
        if tuple(names) == self.domain.names:
            return self
        columns = [self.domain.position(name) for name in names]
        return PeopleOfRows.of(self.domain.select(names), self.cells[:, columns], self.row_sets, name=self.name)


def distinct_people(population: Population) -> RowSets | None:
    """Return the row sets of a population in which people have several rows; None of one in which each has one."""
    return getattr(population, "row_sets", None)


@numba.njit(cache=True, nogil=True)
def smallest_groups(start: Integers, believed: Counts, true: Counts) -> Positions:
    """Return the entry of each set whose group is believed to be the smallest, of equals that of the smallest in truth.

    Parameters
    ----------
    start : ndarray of int64, shape (n + 1,)
        Where the entries of each set begin.
    believed, true : ndarray, shape (n_entries,)
    """
    least = np.empty(len(start) - 1, dtype=np.intp)
    for row_set in range(len(least)):
        best = start[row_set]
        for entry in range(best + 1, start[row_set + 1]):
            if believed[entry] < believed[best] or (believed[entry] == believed[best] and true[entry] < true[best]):
                best = entry
        least[row_set] = best
    return least


@numba.njit(cache=True)
def best_entries(
    start: Integers, attacks: NDArray[np.bool_], believed: Floats, true: Floats, payoff: Floats
) -> Positions:
    """Return the entry of each set by which an adversary goes for the person.

    An entry that it attacks comes before one that it does not; then the one by which it believes to succeed most, of
    equals the one by which it does, of these the one that pays it most, then the first.

    Parameters
    ----------
    start : ndarray of int64, shape (n + 1,)
        Where the entries of each set begin.
    attacks : ndarray of bool, shape (n_entries,)
    believed, true : ndarray of float64, shape (n_entries,)
        Probabilities of success, in [0, 1].
    payoff : ndarray of float64, shape (n_entries,)
        The adversary's.
    """
    found = np.empty(len(start) - 1, dtype=np.intp)
    for row_set in range(len(found)):
        best = start[row_set]
        for entry in range(best + 1, start[row_set + 1]):
            if attacks[entry] != attacks[best]:
                better = attacks[entry]
            elif believed[entry] != believed[best]:
                better = believed[entry] > believed[best]
            elif true[entry] != true[best]:
                better = true[entry] > true[best]
            else:
                better = payoff[entry] > payoff[best]
            if better:
                best = entry
        found[row_set] = best
    return found


def largest_in_groups(amounts: Floats, group: Positions) -> Floats:
    """Return for each member the largest amount in its group: groups (n,) are numbers from 0 on, amounts 0 or more."""
    largest = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(largest, group, amounts)
    return np.asarray(largest[group])


def ranges(begin: Integers, lengths: Integers) -> tuple[Positions, Integers]:
    """Return the positions of several ranges one after the other, and where each begins among them, shape (n + 1,)."""
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(start[-1]) + np.repeat(begin - start[:-1], lengths), start


def _numbered(cells: Positions, begin: Integers, lengths: Integers) -> Positions:
    """Return a number for each person, the same for the same sorted cells; those of person i are from ``begin[i]`` on.

    Cell after cell, people who have been alike so far get numbers anew, so that numbers stay small.
    """
    radix = int(cells.max(initial=0)) + 1
    alike = np.zeros(len(lengths), dtype=np.int64)
    going = np.arange(len(lengths))
    number = np.zeros(len(lengths), dtype=np.int64)
    n_numbers, at = 0, 0
    while len(going):
        here = alike[going] * radix + cells[begin[going] + at]
        alike[going] = np.unique(here, return_inverse=True)[1]
        at += 1
        ended = lengths[going] == at
        _, position = np.unique(alike[going[ended]], return_inverse=True)
        number[going[ended]] = n_numbers + position
        n_numbers += int(position.max(initial=-1)) + 1
        going = going[~ended]
    return number.astype(np.intp)


@numba.njit(cache=True, nogil=True)
def _merged(
    alone: Counts,
    start: Integers,
    classes: NDArray[np.integer],
    people: Counts,
    class_of_class: NDArray[np.integer],
    n_classes: int,
) -> tuple[Counts, Counts, Integers, NDArray[np.int32], Counts]:
    """Return the fields of `ClassedPeople` in wider classes; those who are in one class then are alone in it."""
    now_alone = np.zeros(n_classes, dtype=people.dtype)
    for each in range(len(alone)):
        now_alone[class_of_class[each]] += alone[each]
    counts = now_alone.copy()
    now_start, now_people = np.zeros(len(start), dtype=np.int64), np.empty(len(people), dtype=people.dtype)
    now_classes = np.empty(len(classes), dtype=np.int32)
    # The set that was last met in each class.
    last = np.full(n_classes, -1, dtype=np.int64)
    n_sets, end = 0, 0
    for each in range(len(people)):
        begin = end
        for entry in range(start[each], start[each + 1]):
            here = class_of_class[classes[entry]]
            if last[here] != each:
                last[here] = each
                counts[here] += people[each]
                now_classes[end] = here
                end += 1
        if end - begin == 1:
            end = begin
            now_alone[now_classes[begin]] += people[each]
        else:
            now_people[n_sets] = people[each]
            n_sets += 1
            now_start[n_sets] = end
    return counts, now_alone, now_start[: n_sets + 1].copy(), now_classes[:end].copy(), now_people[:n_sets].copy()

"""Rows of a table that agree in some columns: how many there are, and what most of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.domain import added_up, distinct_rows
from reidsim.releases.lattice import GeneralizationLattice

Integers = NDArray[np.int64]

# Numbers up to so many times as many as there are, or up to so many, are counted instead of sorted.
_DENSE, _FEW = 8, 4096


class Common(NamedTuple):
    """The most frequent value in each group, shape (n_groups,), and the share of its rows that have it."""

    values: Integers
    shares: NDArray[np.float64]


class RowGroups:
    """Groups of rows of a table that have equal values in all of some columns.

    Parameters
    ----------
    columns : sequence of ndarray of int, shape (n_rows,)
        Without columns all rows are one group.
    n_rows : int
    counts : ndarray of int64, shape (n_rows,), optional
        People that each row stands for; one each, if not given.
    """

    def __init__(self, columns: Sequence[Integers], n_rows: int, counts: Integers | None = None) -> None:
        self._steps: list[tuple[Integers, Integers]] = []
        group = np.zeros(n_rows, dtype=np.int64)
        for column in columns:
            values, code = numbered(column)
            # Numbered anew at each column, so that keys stay small however many columns there are.
            keys, group = numbered(group * len(values) + code)
            self._steps.append((values, keys))
        self.group_of_row = group
        self._counts = counts
        self.sizes = _sums(group, counts, minlength=1)

    def find(self, columns: Sequence[Integers], n: int) -> Integers:
        """Return the group that has the values of each query, shape (n,); -1 where there is none."""
        group = np.zeros(n, dtype=np.int64)
        for (values, keys), column in zip(self._steps, columns, strict=True):
            code, known = _place(values, column)
            group, found = _place(keys, group * len(values) + code)
            group[~(known & found)] = -1
        return group

    def sizes_of(self, groups: Integers) -> Integers:
        """Return the sizes of groups, 0 for -1."""
        return np.where(groups >= 0, self.sizes[np.maximum(groups, 0)], 0)

    def most_frequent(self, values: Integers) -> Common:
        """Return the most frequent of `values`, shape (n_rows,), in each group; of equals the one in the first row."""
        distinct, code = np.unique(values, return_inverse=True)
        pairs, first, number = np.unique(
            self.group_of_row * len(distinct) + code, return_index=True, return_inverse=True
        )
        counts = _sums(number, self._counts)
        group = pairs // len(distinct)
        order = np.lexsort((first, -counts, group))
        best = order[np.unique(group[order], return_index=True)[1]]
        return Common(distinct[pairs[best] % len(distinct)], counts[best] / self.sizes[group[best]])


class OpenRowGroups:
    """Rows of a table that agree with a query in some columns, where a missing value agrees with every other.

    Parameters
    ----------
    columns : sequence of ndarray of int, shape (n_rows,)
    missing : sequence of ndarray of bool, shape (n_rows,), or None
        Of each column: where it lacks values; None where it has them all.
    n_rows : int
    """

    def __init__(self, columns: Sequence[Integers], missing: Sequence[NDArray[np.bool_] | None], n_rows: int) -> None:
        # Rows that lack the same values are grouped by the others.
        lacking = RowGroups([where.astype(np.int64) for where in missing if where is not None], n_rows)
        self._groups: list[tuple[list[int], RowGroups]] = []
        for number in range(len(lacking.sizes)):
            rows = np.flatnonzero(lacking.group_of_row == number)
            if len(rows):
                known = [j for j, where in enumerate(missing) if where is None or not where[rows[0]]]
                self._groups.append((known, RowGroups([columns[j][rows] for j in known], len(rows))))

    def count(self, columns: Sequence[Integers], n: int) -> Integers:
        """Return how many rows agree with each query, shape (n,)."""
        total = np.zeros(n, dtype=np.int64)
        for known, groups in self._groups:
            total += groups.sizes_of(groups.find([columns[j] for j in known], n))
        return total


def classes_at(lattice: GeneralizationLattice, node: int) -> Integers:
    """Return the class of each record of a lattice: equal where records look alike at a node.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Classes are numbered from 0 on, without gaps.
    """
    levels = lattice.levels(node)
    columns = [
        hierarchy.groups[level][lattice.codes[:, position]]
        for position, (hierarchy, level) in enumerate(zip(lattice.hierarchies, levels, strict=True))
    ]
    return distinct_rows(columns, lattice.n_records)[1].astype(np.int64)


def numbered(values: Integers) -> tuple[Integers, Integers]:
    """Return the distinct values in ascending order, and which of them each value is, shape (n,)."""
    size = int(values.max(initial=-1)) + 1
    if size > max(_DENSE * len(values), _FEW) or values.min(initial=0) < 0:
        distinct, number = np.unique(values, return_inverse=True)
        return distinct, number
    # Of whole numbers that are not high the same without sorting, at a tenth of the time.
    met = np.zeros(size, dtype=np.bool_)
    met[values] = True
    return np.flatnonzero(met), (np.cumsum(met) - 1)[values]


def _sums(group: Integers, counts: Integers | None, minlength: int = 0) -> Integers:
    """Return the people of each group."""
    if counts is None:
        return np.bincount(group, minlength=minlength)
    return added_up(counts, group, max(int(group.max(initial=-1)) + 1, minlength))


def _place(ordered: Integers, wanted: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return where the wanted values stand among ordered ones, and whether they are there."""
    if len(ordered) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return place, ordered[place] == wanted

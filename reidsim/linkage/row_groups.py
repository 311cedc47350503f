"""Groups of table rows that agree in some columns: sizes and most frequent values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.domain import added_up, distinct_rows
from reidsim.releases.lattice import GeneralizationLattice

Integers = NDArray[np.int64]

# Numbers are counted instead of sorted if they are at most `_DENSE` times their count, or at most `_FEW`.
_DENSE, _FEW = 8, 4096


class RowGroups:
    """Groups of table rows that have equal values in all given columns.

    Parameters
    ----------
    columns : sequence of ndarray of int, shape (n_rows,)
        Values of each column; without columns all rows form one group.
    n_rows : int
        Number of rows of the table.
    counts : ndarray of int64, shape (n_rows,), optional
        Number of people that each row represents; 1 if not given.

    Attributes
    ----------
    group_of_row : ndarray of int64, shape (n_rows,)
        Group of each row: 0, 1, ..., without gaps.
    sizes : ndarray of int64, shape (n_groups,)
        Number of people in each group.
    """

    def __init__(self, columns: Sequence[Integers], n_rows: int, counts: Integers | None = None) -> None:
        self._steps: list[tuple[Integers, Integers]] = []
        group = np.zeros(n_rows, dtype=np.int64)
        for column in columns:
            values, code = numbered(column)
            # Renumber after each column, so that keys stay small for any number of columns.
            keys, group = numbered(group * len(values) + code)
            self._steps.append((values, keys))
        self.group_of_row = group
        self._counts = counts
        self.sizes = _sums(group, counts, minlength=1)

    def find(self, columns: Sequence[Integers], n: int) -> Integers:
        """Return the group with the values of each query, shape (n,); -1 if there is none.

        Parameters
        ----------
        columns : sequence of ndarray of int, shape (n,)
            Values of the queries, in the order of the columns of the table.
        n : int
            Number of queries.
        """
        group = np.zeros(n, dtype=np.int64)
        for (values, keys), column in zip(self._steps, columns, strict=True):
            code, known = _place(values, column)
            group, found = _place(keys, group * len(values) + code)
            group[~(known & found)] = -1
        return group

    def sizes_of(self, groups: Integers) -> Integers:
        """Return the sizes of groups, in people, shape (n,); 0 for group -1.

        `groups` has numbers of groups, such as the result of `find`.
        """
        return np.where(groups >= 0, self.sizes[np.maximum(groups, 0)], 0)

    def most_frequent(self, values: Integers) -> tuple[Integers, NDArray[np.float64]]:
        """Return the most frequent value in each group, and its share of the people.

        Both arrays have shape (n_groups,); the share is that of the group's people. Of equally frequent values, the
        value with the earliest row is returned.

        Parameters
        ----------
        values : ndarray of int, shape (n_rows,)
            Value of each row.
        """
        distinct, code = np.unique(values, return_inverse=True)
        pairs, first, number = np.unique(
            self.group_of_row * len(distinct) + code, return_index=True, return_inverse=True
        )
        counts = _sums(number, self._counts)
        group = pairs // len(distinct)
        order = np.lexsort((first, -counts, group))
        best = order[np.unique(group[order], return_index=True)[1]]
        return distinct[pairs[best] % len(distinct)], counts[best] / self.sizes[group[best]]


class OpenRowGroups:
    """Table rows that agree with a query; a missing value agrees with all values.

    Parameters
    ----------
    columns : sequence of ndarray of int, shape (n_rows,)
        Values of each column.
    missing : sequence of ndarray of bool, shape (n_rows,), or None
        Whether the value is missing, for each column; None for a column without missing values.
    n_rows : int
        Number of rows of the table.
    """

    def __init__(self, columns: Sequence[Integers], missing: Sequence[NDArray[np.bool_] | None], n_rows: int) -> None:
        # Rows with the same missing columns are grouped by their other columns.
        lacking = RowGroups([where.astype(np.int64) for where in missing if where is not None], n_rows)
        self._groups: list[tuple[list[int], RowGroups]] = []
        for number in range(len(lacking.sizes)):
            rows = np.flatnonzero(lacking.group_of_row == number)
            if len(rows):
                known = [j for j, where in enumerate(missing) if where is None or not where[rows[0]]]
                self._groups.append((known, RowGroups([columns[j][rows] for j in known], len(rows))))

    def count(self, columns: Sequence[Integers], n: int) -> Integers:
        """Return the number of rows that agree with each query, shape (n,).

        A missing value in a row agrees with every value. `columns` are the values of the queries, in the order of the
        columns of the table.
        """
        total = np.zeros(n, dtype=np.int64)
        for known, groups in self._groups:
            total += groups.sizes_of(groups.find([columns[j] for j in known], n))
        return total


def classes_at(lattice: GeneralizationLattice, node: int) -> Integers:
    """Return the equivalence class of each record at a node of a lattice.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Class numbers 0, 1, ..., without gaps.
    """
    levels = lattice.levels(node)
    columns = [
        hierarchy.groups[level][lattice.codes[:, position]]
        for position, (hierarchy, level) in enumerate(zip(lattice.hierarchies, levels, strict=True))
    ]
    return distinct_rows(columns, lattice.n_records)[1].astype(np.int64)


def numbered(values: Integers) -> tuple[Integers, Integers]:
    """Return the distinct values, ascending, and each value's position among them.

    The second result has the shape of `values`.
    """
    size = int(values.max(initial=-1)) + 1
    if size > max(_DENSE * len(values), _FEW) or values.min(initial=0) < 0:
        distinct, number = np.unique(values, return_inverse=True)
        return distinct, number
    # For small non-negative numbers, counting gives the same result as sorting in a tenth of the time.
    met = np.zeros(size, dtype=np.bool_)
    met[values] = True
    return np.flatnonzero(met), (np.cumsum(met) - 1)[values]


def _sums(group: Integers, counts: Integers | None, minlength: int = 0) -> Integers:
    """Return the number of people in each group, by group number from 0.

    `counts` is the number of people of each row (None: 1), `group` the group of each row. The result has at least
    `minlength` items; groups without rows have 0.
    """
    if counts is None:
        return np.bincount(group, minlength=minlength)
    return added_up(counts, group, max(int(group.max(initial=-1)) + 1, minlength))


def _place(ordered: Integers, wanted: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return each wanted value's position in ordered values, and whether it occurs.

    `ordered` is ascending. The position of a value that does not occur has no meaning.
    """
    if len(ordered) == 0:
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return place, ordered[place] == wanted

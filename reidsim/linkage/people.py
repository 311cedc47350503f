"""People with several rows, and sensitive values in groups of rows.

In a file with several rows per person, the adversary searches for people, not for rows. The size of an equivalence
class is the number of distinct people with a row in it, however many rows they have there. A person can be found by any
of their rows. People whose rows fall into the same cells equally often are interchangeable. They share a `row set`, so
that results are computed once for all of them.

The second part describes groups of rows with equal values, and the sensitive values in them. The group of a record at a
node of the lattice consists of all records of the table that agree with it there. Groups do not depend on how other
records are released, so a limit on the sensitive values of a group is a property of the record and the node. A person
counts once in a group, and once for each of its different values there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.populations.population import (
    Codes,
    Counts,
    Domain,
    Population,
    added_up,
    distinct_rows,
    numbered,
    row_keys,
)
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import Floats, GeneralizationLattice

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
        # A stable sort is fast if the rows of a person already follow each other.
        order = np.argsort(row_keys([person_of_record, cell_of_record], len(cell_of_record)), kind="stable")
        cells, owner = cell_of_record[order], person_of_record[order]
        lengths = np.bincount(owner)
        begin = np.cumsum(lengths) - lengths
        set_of_person = _numbered(cells, begin, lengths)
        first, _ = distinct_rows([set_of_person], len(set_of_person))
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
        Number of rows that each person has in each cell of the population.
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
        """Return the `PeopleOfRows` over some attributes, in the order of `names`.

        Cells that become equal are merged; a person counts once in a merged cell.
        """
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


@compiled(nogil=True)
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


@compiled(nogil=True)
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
        self._steps: list[tuple[pd.Index[int], pd.Index[int]]] = []
        group = np.zeros(n_rows, dtype=np.int64)
        for column in columns:
            values, code = numbered(column)
            # Renumber after each column, so that keys stay small for any number of columns.
            keys, group = numbered(group * len(values) + code)
            self._steps.append((pd.Index(values), pd.Index(keys)))
        self.group_of_row = group
        self._counts = np.ones(n_rows, dtype=np.int64) if counts is None else counts
        self.sizes = added_up(self._counts, group, int(group.max(initial=0)) + 1)

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
            code = values.get_indexer(pd.Index(column))
            is_known = (group >= 0) & (code >= 0)
            group = np.where(is_known, keys.get_indexer(pd.Index(group * len(values) + code)), -1)
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
        counts = added_up(self._counts, number, len(pairs))
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
    return distinct_rows(lattice.groups_at(node, lattice.codes.T), lattice.n_records)[1].astype(np.int64)


GainsFrom = Literal["identity", "attribute", "either"]

# Rounding error of a share that still equals its limit.
LIMIT_ROUNDING = 1e-9
# Limit on the bytes of results by node that are kept; the others are computed again when needed.
_MOST_KEPT = 64 * 2**20


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """One sensitive column of the records.

    Parameters
    ----------
    name : str
        Name of the column.
    codes : ndarray of int64, shape (n_records,)
        Number of each record's value, from 0.
    levels : ndarray of int64, shape (n_levels, n_values)
        Group of each value at each level of its hierarchy below the root. One level, the values themselves, means that
        all values are equally far apart.
    alike : sequence of str
        Values that differ from another value only in spelling; see `reidsim.core.tables.spelled_plainly`.
    """

    name: str
    codes: Integers
    levels: Integers
    alike: Sequence[str] = ()

    @classmethod
    def from_codes(
        cls,
        name: str,
        codes: Integers,
        groups: NDArray[np.integer[Any]] | None = None,
        alike: Sequence[str] = (),
    ) -> SensitiveAttribute:
        """Return a `SensitiveAttribute`, given its hierarchy's groups, if any.

        `groups` has the group of each value at each level, shape (n_levels, n_values). A top level with a single group
        is dropped. Without a hierarchy, all values are equally far apart. For `alike`, see the class.
        """
        if groups is None:
            return cls(name, codes, np.arange(int(codes.max(initial=-1)) + 1)[None, :], alike)
        rooted = len(groups) > 1 and len(np.unique(groups[-1])) == 1
        return cls(name, codes, np.asarray(groups[:-1] if rooted else groups, dtype=np.int64), alike)


@dataclass(frozen=True)
class AttributeLimits:
    """Limits on the sensitive values of every group, separate for each column.

    A limit that is None does not apply.

    Parameters
    ----------
    l_diversity : int, optional
        Minimum number of distinct values in a group (distinct l-diversity).
    t_closeness : float, optional
        Maximum earth mover's distance between the distributions of values in a group and in the table, in [0, 1].
    max_inference : float, optional
        Maximum share of any value in a group, in [0, 1].
    """

    l_diversity: int | None = None
    t_closeness: float | None = None
    max_inference: float | None = None

    def __bool__(self) -> bool:
        """Return whether at least one of the three limits is set."""
        return self != AttributeLimits()

    def hold(self, values: GroupValues) -> NDArray[np.bool_]:
        """Return whether each group is within all limits, shape (n_groups,).

        `values` are the values of one sensitive column. Without limits, every group is.
        """
        within = np.ones(len(values.distinct), dtype=np.bool_)
        if self.l_diversity is not None:
            within &= values.distinct >= self.l_diversity
        if self.t_closeness is not None:
            within &= values.distance() <= self.t_closeness + LIMIT_ROUNDING
        if self.max_inference is not None:
            within &= values.largest_share <= self.max_inference + LIMIT_ROUNDING
        return within

    def describe(self) -> str:
        """Return the limits as text, such as ``l_diversity = 2, max_inference = 0.5``.

        Limits that do not apply are omitted; the text is empty if there are none.
        """
        return ", ".join(f"{key} = {limit}" for key, limit in vars(self).items() if limit is not None)


@dataclass(frozen=True, eq=False)
class GroupValues:
    """Values of one sensitive column in groups of rows; arrays of shape (n_groups,).

    Parameters
    ----------
    distinct : ndarray of int64
        Number of different values; 0 in an empty group.
    largest_share : ndarray of float64
        Share of people with the most frequent value; 0 in an empty group.
    distance : callable
        Takes no arguments, and returns the earth mover's distance, in [0, 1], between the distribution of values in
        each group and the distribution in the table.
    """

    distinct: Integers
    largest_share: Floats
    distance: Callable[[], Floats]

    @classmethod
    def from_counts(
        cls, group: Integers, value: Integers, count: Counts, people: Counts, overall: Floats, levels: Integers
    ) -> GroupValues:
        """Return the `GroupValues` of groups, given the number of people by value.

        Parameters
        ----------
        group, value, count : ndarray of int64, shape (n_pairs,)
            Numbers of a group and of a value, and number of people of the group who have the value; the pairs of group
            and value are distinct.
        people : ndarray of int64, shape (n_groups,)
            Number of people in each group.
        overall : ndarray of float64, shape (n_values,)
            Share of each value in the table.
        levels : ndarray of int64, shape (n_levels, n_values)
            See `SensitiveAttribute`.
        """
        largest = np.zeros(len(people))
        np.maximum.at(largest, group, count / people[group])

        def distance() -> Floats:
            share = np.asarray(count / np.bincount(group, count, len(people))[group], dtype=np.float64)
            return _distance(group, value, share, len(people), overall, levels)

        return cls(np.bincount(group, minlength=len(people)), largest, distance)


def share_of_values(
    codes: Integers, person: NDArray[np.integer[Any]], n_values: int, represented: Integers | None = None
) -> Floats:
    """Return the share of each value in a table, (n_values,).

    A person counts once for each of its different values. `codes` are the values of the records, as numbers from 0,
    and `person` is the number of each record's person, both of shape (n_records,). All shares are 0 without records.
    `represented` has the number of people whom each person represents, shape (n_people,); 1 by default.
    """
    persons, values = np.divmod(np.unique(person * n_values + codes), n_values)
    counts = np.bincount(values, None if represented is None else represented[persons], n_values)
    return np.asarray(counts / max(counts.sum(), 1), dtype=np.float64)


def _distance(
    of_group: Integers, of_value: Integers, share: Floats, n_groups: int, overall: Floats, levels: Integers
) -> Floats:
    """Return the earth mover's distance of each group from the table, (n_groups,).

    It is in [0, 1]. `share` is the share of value ``of_value[i]`` among the people of group ``of_group[i]``, by pair i.
    For `overall` and `levels` see `GroupValues.from_counts`. The distance of two values is the height of the lowest
    level at which they are in the same group, divided by the height of the hierarchy (Li et al. 2007). Moving a share
    between them crosses two edges of the tree at each lower level. So the distance of the distributions is half the
    mean, over the levels below the root, of the sum of absolute differences of shares.
    """
    total = np.zeros(n_groups)
    for level in levels:
        of_table = np.bincount(level, overall)
        pairs, place = np.unique(of_group * len(of_table) + level[of_value], return_inverse=True)
        groups, nodes = np.divmod(pairs, len(of_table))
        shares = np.bincount(place, share, len(pairs))
        total += 1.0 + np.bincount(groups, np.abs(shares - of_table[nodes]) - of_table[nodes], n_groups)
    return np.clip(total / (2 * len(levels)), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """Sensitive values of the records of a table.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_attributes)
        Quasi-identifiers of the records.
    columns : tuple of SensitiveAttribute
        Sensitive columns of the records.
    person : ndarray of int, shape (n_records,), optional
        Person of each record: 0, 1, ..., without gaps; by default, each record is another person.
    """

    codes: Codes
    columns: tuple[SensitiveAttribute, ...]
    person: NDArray[np.integer[Any]] | None = None


@lru_cache(maxsize=1)
def sensitive_groups(values: SensitiveValues, lattice: GeneralizationLattice) -> SensitiveGroups:
    """Return the `SensitiveGroups` of a lattice's rows; the last result is kept.

    The lattice must be over the quasi-identifiers of `values`.
    """
    return SensitiveGroups(values, lattice.hierarchies, lattice.codes)


class SensitiveGroups:
    """Sensitive values of the records that agree with each row, at every node.

    Parameters
    ----------
    values : SensitiveValues
        Sensitive values of the records.
    hierarchies : tuple of Hierarchy
        Hierarchies of the quasi-identifiers.
    codes : ndarray of int32, shape (n_rows, n_attributes)
        Quasi-identifiers of the rows. A row need not be a record; at nodes where it agrees with no record, its group
        has no sensitive values.
    """

    def __init__(self, values: SensitiveValues, hierarchies: tuple[Hierarchy, ...], codes: Codes) -> None:
        both = np.concatenate([codes, values.codes])
        first, place = distinct_rows(list(both.T), len(both))
        self._cells = GeneralizationLattice(hierarchies, both[first])
        self._row_cell, record_cell = place[: len(codes)], place[len(codes) :].astype(np.int64)
        person = np.arange(len(record_cell)) if values.person is None else values.person.astype(np.intp)
        self._people = RowSets.from_rows(record_cell, person)[0]
        self._columns = []
        for column in values.columns:
            n_values = column.levels.shape[1]
            pairs, pair = np.unique(record_cell * n_values + column.codes, return_inverse=True)
            row_sets = RowSets.from_rows(pair, person)[0]
            overall = share_of_values(column.codes, person, n_values)
            self._columns.append((pairs // n_values, pairs % n_values, row_sets, overall, column.levels))
        # Results by node, each of at most 8 bytes for a row.
        keep = lru_cache(maxsize=max(_MOST_KEPT // max(8 * len(self), 1), 1))
        self.within, self.success = keep(self._within), keep(self._success)

    def __len__(self) -> int:
        """Return the number of rows of `codes`."""
        return len(self._row_cell)

    def _at(self, node: int) -> tuple[Integers, Counts, list[GroupValues]]:
        of_cell = classes_at(self._cells, node)
        people, columns = self._people.in_classes(of_cell, int(of_cell.max(initial=-1)) + 1), []
        for cell, value, row_sets, overall, levels in self._columns:
            n_values = len(overall)
            pairs, place = np.unique(of_cell[cell] * n_values + value, return_inverse=True)
            count = row_sets.in_classes(place, len(pairs))
            columns.append(GroupValues.from_counts(pairs // n_values, pairs % n_values, count, people, overall, levels))
        return of_cell, people, columns

    def _within(self, limits: AttributeLimits, node: int) -> NDArray[np.bool_]:
        """Return whether each row's group meets the limits at a node, shape (n_rows,).

        The limits apply to every sensitive column. A group without records meets them.
        """
        of_cell, people, columns = self._at(node)
        within = np.ones(len(people), dtype=np.bool_)
        for values in columns:
            # A group without records discloses no sensitive value.
            within &= limits.hold(values) | (values.distinct == 0)
        return within[of_cell[self._row_cell]]

    def _success(self, gains_from: GainsFrom, node: int) -> Floats:
        """Return the success probability of an attack on each row at a node, (n_rows,).

        `gains_from` is ``"attribute"`` or ``"either"``. With n people in the group and s the largest share of a value,
        over the sensitive columns: s for ``"attribute"``; s + (1 - s) / n for ``"either"``, where the attack names a
        person of the group at random and asserts the most frequent value. The result is 1 for a row that agrees with no
        record.
        """
        of_cell, people, columns = self._at(node)
        share = np.max([values.largest_share for values in columns], axis=0)
        share = np.where(share > 0, share, 1.0)
        chance = share if gains_from == "attribute" else share + (1.0 - share) / np.maximum(people, 1)
        return np.asarray(chance[of_cell[self._row_cell]], dtype=np.float64)

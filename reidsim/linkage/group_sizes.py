"""Population group sizes of records at every node of a generalization lattice.

One table of the population is rolled up from node to node. Raising one attribute by one level only merges cells, so a
node's table is computed from the table of a node just below it, which is smaller than the population. Computed tables
are kept within a memory limit, and recomputed after they were dropped. Tables of whole counts are computed from the
smallest table just below that is still kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.linkage.partition import Rollup, group_sizes_of, rollup_of
from reidsim.linkage.people import RowSets, distinct_people
from reidsim.populations.population import Codes, Counts, Population, added_up, distinct_rows, numbered, row_keys
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies
from reidsim.releases.released import Members

# Memory for kept tables, in bytes: a thousand times the population's table, but within the minimum and the maximum.
# Tables beyond the limit are computed again when they are needed.
_MOST_KEPT, _LEAST_KEPT, _MANY_TABLES = 256 * 2**20, 32 * 2**20, 1_000


@dataclass(frozen=True)
class NodeTable:
    """The groups of the population at one node.

    Parameters
    ----------
    cell : ndarray of int, shape (n_groups,)
        One of the cells of each occupied group; groups are in the order of their released values.
    counts : ndarray, shape (n_groups,)
        Number of people in each group.
    group_of : ndarray of int32, shape (n_records,)
        Number of each record's group.
    group_of_cell : ndarray of int32, shape (n_cells,), optional
        Number of the group of each cell of the population, if people have rows in several cells.
    """

    cell: NDArray[np.intp]
    counts: Counts
    group_of: NDArray[np.int32]
    group_of_cell: NDArray[np.int32] | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        return sum(array.nbytes for array in vars(self).values() if array is not None)


class GroupSizes:
    """Population group sizes of the records of a lattice.

    This is n_p in Wan et al. 2015, Eq. 4.

    The person of a record belongs to the population. So a group with a count of 0 (or, with expected counts, below 1)
    has size 1; `outside` marks records that have no person in the population. A registry need not contain the record's
    person, so there a group may be empty.

    Parameters
    ----------
    population : Population
        Must have every attribute of the lattice, with the same categories. For `PeopleOfRows`, the size of a group is
        the number of distinct people with a row in it.
    lattice : GeneralizationLattice
        Lattice of the records.
    memory_limit : int, optional
        Memory limit for all kept tables, in bytes; by default in proportion to the population's table.
    holds_records : bool
        Whether every record's person is in the population.

    Attributes
    ----------
    total : float
        Number of people in the population.

    Raises
    ------
    InputError
        If the population has other categories than the lattice.
    """

    # Whether sizes are reciprocals of the probability of a right guess, instead of counts of people.
    by_chance: ClassVar[bool] = False

    def __init__(
        self,
        population: Population,
        lattice: GeneralizationLattice,
        *,
        memory_limit: int | None = None,
        holds_records: bool = True,
    ) -> None:
        self._smallest = 1 if holds_records else 0
        self._lattice = lattice
        self._kept: OrderedDict[int, NodeTable] = OrderedDict()
        self._kept_bytes = 0
        self._base, self._cells, self._row_sets = _base_table(population, lattice)
        usual = min(_MOST_KEPT, max(_LEAST_KEPT, _MANY_TABLES * self._base.nbytes))
        self._memory_limit = usual if memory_limit is None else memory_limit
        self.total = population.total

    @property
    def holds_records(self) -> bool:
        """Whether every record's person is in the population; sizes are then at least 1."""
        return self._smallest > 0

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Whether no person has the record's ungeneralized values, shape (n_records,)."""
        return np.asarray(self._base.counts[self._base.group_of] <= 0)

    def at(self, strategy: int, rows: Rows | None = None) -> Counts:
        """Return the group size of each record (or of `rows`) at a node, shape (n,).

        It is the number of people with the record's values at this node, but at least 1 if every record's person is in
        the population.
        """
        table = self.table(strategy)
        group_of = table.group_of if rows is None else table.group_of[rows]
        return _looked_up(table.counts, group_of, self._smallest)

    @cached_property
    def rollup(self) -> Rollup | None:
        """People and records as the rows of a `Rollup`, the input of `each`.

        It is None if counts are fractional, people have several rows, or the sizes are of a subclass.
        """
        base, lattice = self._base, self._lattice
        if type(self) is not GroupSizes or base.counts.dtype.kind not in "iu" or base.group_of_cell is not None:
            return None
        group, first = np.unique(base.group_of, return_index=True)
        other = np.delete(np.arange(len(self._cells)), group)
        people = np.zeros(lattice.n_records + len(other), dtype=np.int64)
        people[first], people[lattice.n_records :] = base.counts[group], base.counts[other]
        return rollup_of(lattice, self._cells[other], people)

    def each(self, strategies: Strategies, rows: Rows) -> Counts | None:
        """Return the group sizes of distinct records, each released at its own node.

        They are numbers of people, shape (n,), with the minimum of `at`. No table of any node is computed: with 8,000
        strategies on 300,000 records this takes seconds instead of minutes. The result is None if there is no `rollup`.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n,)
            Node of each of `rows`.
        rows : ndarray of int, shape (n,)
            The records, without repetition.
        """
        if self.rollup is None:
            return None
        return np.maximum(group_sizes_of(self.rollup, strategies, rows), self._smallest)

    def among(self, people: Counts) -> GroupSizes:
        """Return `GroupSizes` of the same records in another population.

        The groups stay the same; only the people are counted again at each node.

        Parameters
        ----------
        people : ndarray, shape (n_records,)
            Number of people of the other population with the values of each record.
        """
        return _SizesAmong(self, people)

    def table(self, strategy: int) -> NodeTable:
        """Return the `NodeTable` of the population at a node of the lattice.

        It is rolled up from the table of a node just below; node 0 is the ungeneralized table. Tables are kept within
        the memory limit.
        """
        if strategy == 0:
            return self._base
        if (kept := self._kept.get(strategy)) is not None:
            self._kept.move_to_end(strategy)
            return kept
        table = self._kept[strategy] = self._made(strategy)
        self._kept_bytes += table.nbytes
        while self._kept_bytes > self._memory_limit and len(self._kept) > 1:
            self._kept_bytes -= self._kept.popitem(last=False)[1].nbytes
        return table

    def _made(self, strategy: int) -> NodeTable:
        sources = list(self._lattice.predecessors(strategy))
        source = sources[-1]
        # Sums of whole numbers do not depend on the source table. Other sums always use the same source table, so that
        # they do not depend on which tables are kept.
        if self._base.counts.dtype.kind in "iu":
            kept = [s for s in sources if s == 0 or s in self._kept]
            source = min(kept, key=lambda s: len(self.table(s).cell), default=source)
        below = self.table(source)
        columns = [
            hierarchy.groups[level][codes]
            for hierarchy, level, codes in zip(
                self._lattice.hierarchies, self._lattice.levels(strategy), self._cells[below.cell].T, strict=True
            )
        ]
        groups, place = numbered(row_keys(columns, len(below.cell)))
        cell, inverse = np.empty(len(groups), dtype=np.intp), place.astype(np.int32)
        cell[inverse] = below.cell
        group_of = _looked_up(inverse, below.group_of, 0)
        if self._row_sets is None or below.group_of_cell is None:
            return NodeTable(cell, added_up(below.counts, inverse, len(cell)), group_of)
        group_of_cell = _looked_up(inverse, below.group_of_cell, 0)
        return NodeTable(cell, self._row_sets.in_classes(group_of_cell, len(cell)), group_of, group_of_cell)


class _SizesAmong(GroupSizes):
    """Group sizes for another population in the groups of an existing `GroupSizes`.

    Parameters
    ----------
    groups : GroupSizes
        Group sizes of the same records in the first population.
    people : ndarray, shape (n_records,)
        Number of people of the other population with the values of each record.
    """

    def __init__(self, groups: GroupSizes, people: Counts) -> None:
        self._groups, self._people, self._smallest = groups, people, groups._smallest
        self._kept, self._kept_bytes = OrderedDict(), 0
        self._base = self._made(0)
        self._memory_limit = groups._memory_limit
        self.total = people.sum()

    def _made(self, strategy: int) -> NodeTable:
        table = self._groups.table(strategy)
        return replace(table, counts=added_up(self._people, table.group_of, len(table.cell)))


def people_fitting(
    population: Population, names: Sequence[str], sets: Sequence[Sequence[Members]], rows: NDArray[np.int64]
) -> Floats:
    """Return the number of people whose values are in the sets of each row.

    A row is a released record: each value is a set of values, which need not come from one hierarchy. A person with
    several records counts once if any of the records is in the sets.

    Parameters
    ----------
    population : Population
        Population with the attributes `names`.
    names : sequence of str
        The attributes.
    sets : sequence of sequences of ndarray of bool, shape (n_values,)
        The sets of values of each attribute, as masks.
    rows : ndarray of int64, shape (n_rows, n_attributes)
        Position in `sets` of the set of each row and attribute.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Number of people.
    """
    people = population.marginal(tuple(names))
    cells, inside = np.array(people.cells, dtype=np.int64), []
    for position, members in enumerate(sets):
        # Values that are in the same sets are interchangeable and become one value.
        signatures, code = np.unique(np.stack(members, axis=1), axis=0, return_inverse=True)
        cells[:, position] = code.ravel()[cells[:, position]]
        inside.append(signatures)
    cells, place = np.unique(cells, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=people.counts.astype(np.float64), minlength=len(cells))
    several = distinct_people(people)
    onto = None if several is None else several.onto(place.ravel())
    distinct, row = np.unique(rows, axis=0, return_inverse=True)
    sizes = np.zeros(len(distinct))
    # Cells within the sets of the first attributes, for each number of attributes; rows in order share most of them.
    fitting: list[NDArray[np.intp]] = [np.arange(len(cells))]
    changes = [0, *(distinct[1:] != distinct[:-1]).argmax(axis=1).tolist()]
    for number, (values, change) in enumerate(zip(distinct.tolist(), changes, strict=False)):
        for position in range(change, len(sets)):
            fits = inside[position][cells[fitting[position], position], values[position]]
            fitting[position + 1 :] = [fitting[position][fits]]
        if onto is None:
            sizes[number] = counts[fitting[-1]].sum()
        else:
            others = np.ones(len(cells), dtype=np.int64)
            others[fitting[-1]] = 0
            sizes[number] = onto.in_classes(others, 2)[0]
    return sizes[row.ravel()]


def _base_table(population: Population, lattice: GeneralizationLattice) -> tuple[NodeTable, Codes, RowSets | None]:
    """Return the ungeneralized `NodeTable`, its cells and the population's `RowSets`.

    The table's groups are the cells of the population and of the records. The cells are codes, shape (n_cells,
    n_attributes). The row sets are None if each person has one row.

    Raises
    ------
    InputError
        If the population has other categories than the lattice.
    """
    marginal = population.marginal(lattice.domain.names)
    if marginal.domain != lattice.domain:
        raise InputError(
            "the population and the hierarchies have different categories",
            where=population.name,
            found=marginal.domain.shape,
            expected=f"{lattice.domain.shape} categories of {', '.join(lattice.domain.names)}",
        )
    codes = np.concatenate([marginal.cells, lattice.codes])
    first, inverse = distinct_rows(list(codes.T), len(codes))
    n_cells, group_of_cell = len(marginal.cells), None
    row_sets, counts = distinct_people(marginal), added_up(marginal.counts, inverse[:n_cells], len(first))
    if row_sets is not None:
        group_of_cell = inverse[:n_cells].astype(np.int32)
        counts = row_sets.in_classes(group_of_cell, len(first))
    group_of = inverse[n_cells:].astype(np.int32)
    return NodeTable(np.arange(len(first)), counts, group_of, group_of_cell), codes[first], row_sets


@numba.njit(cache=True)
def _looked_up(values: NDArray[Any], places: NDArray[np.integer[Any]], least: int) -> NDArray[Any]:
    """Return ``maximum(values[places], least)``, without conversion of the places."""
    found = np.empty(len(places), dtype=values.dtype)
    for i in range(len(places)):
        found[i] = max(values[places[i]], least)
    return found

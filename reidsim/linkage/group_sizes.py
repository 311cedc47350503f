"""Population group sizes of records at every node of a generalization lattice, and the risk of sampled records.

One table of the population is rolled up from node to node. Raising one attribute by one level only merges cells, so a
node's table is computed from the table of a node just below it, which is smaller than the population. Computed tables
are kept within a memory limit, and recomputed after they were dropped. Tables of whole counts are computed from the
smallest table just below that is still kept.

If only a sample is known, a group of f sampled records represents an estimated F people, of whom F - f are not in the
sample. The individual risk r is the expectation of one over the true size of the group.

- Benedetti and Franconi (1998), as in mu-Argus and sdcMicro: F is the sum of the records' weights, so that each person
  is sampled with probability f / F. Given f, the size of the group is then the number of draws until the f-th success,
  negative binomial, with ``r = integral from 0 to 1 of dz / (f + (F - f) z^(1/f))``.
- By a log-linear model (Skinner and Holmes 1998): the number of unsampled people is Poisson with mean F - f,
  independent of f, with ``r = integral from 0 to 1 of z^(f - 1) exp(-(F - f) (1 - z)) dz``.

In both models r equals 1 / f if F = f, and is at most 1 / f and at least 1 / F otherwise. If two groups are merged,
neither f nor F - f falls, because every weight is 1 or more. Both integrands fall at every z as f or F - f rises. So
generalization never raises the individual risk of a record.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.core.errors import InputError
from reidsim.core.numerics import compiled
from reidsim.linkage.likelihood import Candidates
from reidsim.linkage.partition import Rollup, group_sizes_of, rollup_of
from reidsim.linkage.people import PeopleOfRows, RowSets, distinct_people
from reidsim.populations.population import (
    Counts,
    Domain,
    Population,
    added_up,
    distinct_rows,
    numbered,
    row_keys,
)
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies

# Memory for kept tables, in bytes: a thousand times the population's table, but within the minimum and the maximum.
# Tables beyond the limit are computed again when they are needed.
_MOST_KEPT, _LEAST_KEPT, _MANY_TABLES = 256 * 2**20, 32 * 2**20, 1_000


@dataclass(frozen=True)
class NodeTable:
    """The groups of the population at one node.

    Parameters
    ----------
    cell : ndarray of int, shape (n_groups,)
        Position of one cell of each occupied group; groups are in the order of their released values.
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
    holds_records : bool
        Whether every record's person is in the population.

    Attributes
    ----------
    total : float
        Number of people in the population.
    holds_records : bool
        Whether every record's person is in the population; sizes are then at least 1.

    Raises
    ------
    InputError
        If the population has other categories than the lattice.
    """

    # Whether sizes are reciprocals of the probability of a right guess, instead of counts of people.
    by_chance: ClassVar[bool] = False

    def __init__(self, population: Population, lattice: GeneralizationLattice, *, holds_records: bool = True) -> None:
        self.holds_records, self._lattice = holds_records, lattice
        self._kept: OrderedDict[int, NodeTable] = OrderedDict()
        self._kept_bytes = 0
        self._base, self._cells, self._row_sets = _base_table(population, lattice)
        self._memory_limit = min(_MOST_KEPT, max(_LEAST_KEPT, _MANY_TABLES * self._base.nbytes))
        self.total = population.total

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Whether no person of the population has the record's ungeneralized values, shape (n_records,)."""
        return np.asarray(self._base.counts[self._base.group_of] <= 0)

    @property
    def candidates(self) -> Candidates:
        """People to whom perturbed records are linked.

        If every record's person is in the population, each record's cell has at least one person.
        """
        people = self._base.counts.astype(np.float64)
        own = self._base.group_of
        people[own] = np.maximum(people[own], int(self.holds_records))
        return Candidates(self._cells, people)

    def at(self, strategy: int, rows: Rows | None = None) -> Counts:
        """Return the group size of each record (or of `rows`) at a node, shape (n,).

        It is the number of people with the record's values at this node, but at least 1 if every record's person is in
        the population.
        """
        table = self.table(strategy)
        group_of = table.group_of if rows is None else table.group_of[rows]
        return _looked_up(table.counts, group_of, int(self.holds_records))

    @cached_property
    def rollup(self) -> Rollup | None:
        """People and records as the rows of a `Rollup`, the input of `each`.

        It is None if counts are fractional, people have several rows, or this object is of a subclass of `GroupSizes`.
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
        # Records with equal values have one group size at a node.
        first, pair = distinct_rows([self._base.group_of[rows], strategies], len(rows))
        is_needed = self.rollup.people > 0
        is_needed[rows[first]] = True
        needed = np.flatnonzero(is_needed)
        rollup = self.rollup._replace(codes=self.rollup.codes.take(needed, axis=1), people=self.rollup.people[needed])
        sizes = group_sizes_of(rollup, strategies[first], np.searchsorted(needed, rows[first]))
        return np.maximum(sizes, int(self.holds_records))[pair]

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
        columns = self._lattice.groups_at(strategy, (codes.take(below.cell) for codes in self._cells.T))
        groups, place = numbered(row_keys(columns, len(below.cell)))
        cell, inverse = np.empty(len(groups), dtype=np.intp), place.astype(np.int32)
        cell[inverse] = below.cell
        group_of = _looked_up(inverse, below.group_of, 0)
        if self._row_sets is None or below.group_of_cell is None:
            return NodeTable(cell, added_up(below.counts, inverse, len(cell)), group_of)
        group_of_cell = _looked_up(inverse, below.group_of_cell, 0)
        return NodeTable(cell, self._row_sets.in_classes(group_of_cell, len(cell)), group_of, group_of_cell)


def _base_table(
    population: Population, lattice: GeneralizationLattice
) -> tuple[NodeTable, NDArray[np.int32], RowSets | None]:
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
        problem, found = "the population and the hierarchies have different categories", marginal.domain.shape
        expected = f"{lattice.domain.shape} categories of {', '.join(lattice.domain.names)}"
        raise InputError(problem, where=population.name, found=found, expected=expected)
    codes = np.concatenate([marginal.cells, lattice.codes])
    first, inverse = distinct_rows(list(codes.T), len(codes))
    n_cells, group_of_cell = len(marginal.cells), None
    row_sets, counts = distinct_people(marginal), added_up(marginal.counts, inverse[:n_cells], len(first))
    if row_sets is not None:
        group_of_cell = inverse[:n_cells].astype(np.int32)
        counts = row_sets.in_classes(group_of_cell, len(first))
    group_of = inverse[n_cells:].astype(np.int32)
    # Columns are contiguous, because each is read alone.
    return NodeTable(np.arange(len(first)), counts, group_of, group_of_cell), np.asfortranarray(codes[first]), row_sets


@compiled()
def _looked_up(values: NDArray[Any], places: NDArray[np.integer[Any]], least: int) -> NDArray[Any]:
    """Return ``maximum(values[places], least)``, in the shape of `places`.

    Unlike numpy, it makes no copy of `places` with a wider integer type.
    """
    found = np.empty(len(places), dtype=values.dtype)
    for i in range(len(places)):
        found[i] = max(values[places[i]], least)
    return found


# 3, 5, 10, 11 and 20 are thresholds that data holders and regulators use.
THRESHOLDS = (2, 3, 5, 10, 11, 20)
# The smallest group size of each band; the last band has no upper end.
BANDS = (1, 2, 3, 5, 11, 21, 101, 1001)


@dataclass(frozen=True)
class GroupFrequencies:
    """Number of groups of indistinguishable records, by group size.

    The memory does not depend on the number of records: a file of 10**8 records takes one pair of numbers per size.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_sizes,)
        Group sizes in records, 1 or more, ascending, without repetition.
    frequencies : ndarray of int64, shape (n_sizes,)
        Number of groups of each size, 1 or more.
    """

    sizes: NDArray[np.int64]
    frequencies: NDArray[np.int64]

    @classmethod
    def from_group_sizes(cls, group_sizes: ArrayLike) -> GroupFrequencies:
        """Return the `GroupFrequencies`, given the size of each group.

        Parameters
        ----------
        group_sizes : array_like of int, shape (n_groups,)
            Group sizes, in records; empty groups are ignored.

        Raises
        ------
        InputError
            If all groups are empty.
        """
        values = np.asarray(group_sizes)
        sizes, frequencies = np.unique(values[values > 0], return_counts=True)
        if len(sizes) == 0:
            raise InputError("no group sizes", expected="at least one record")
        return cls(sizes, frequencies)

    @property
    def records(self) -> int:
        """Number of records in all groups."""
        return int(self.sizes @ self.frequencies)

    @property
    def groups(self) -> int:
        """Number of groups of all sizes."""
        return int(self.frequencies.sum())

    @property
    def uniques(self) -> int:
        """Number of groups with a single record."""
        return self.groups_between(1, 1)

    def groups_between(self, smallest: int, largest: int | None = None) -> int:
        """Return the number of groups with `smallest` to `largest` records.

        Both ends are included; there is no upper end if `largest` is None.
        """
        inside = (self.sizes >= smallest) & (self.sizes <= (np.inf if largest is None else largest))
        return int(self.frequencies[inside].sum())


@dataclass(frozen=True)
class KAnonymityProfile:
    """Number of records by group size.

    Group sizes counted in the file itself give the prosecutor risk (the adversary knows that the person is in the
    file). Group sizes counted in the population give the journalist risk. The average over records is the marketer
    risk: the expected share of correct names if the adversary guesses for every record.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_sizes,)
        Group sizes, 1 or more, ascending, without repetition.
    records : ndarray of int64, shape (n_sizes,)
        Number of records in groups of each size.
    """

    sizes: NDArray[np.int64]
    records: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    @property
    def smallest(self) -> int:
        """Size of the smallest group of a record.

        If sizes are counted in the file, it is the largest k for which the file is k-anonymous.
        """
        return int(self.sizes[0])

    @property
    def median(self) -> float:
        """Median over records of the size of the record's group.

        For an even number of records, it is the mean of the two middle sizes.
        """
        middle = [(self.total - 1) // 2, self.total // 2]
        return float(self.sizes[np.searchsorted(np.cumsum(self.records), middle, side="right")].mean())

    @property
    def average_risk(self) -> float:
        """Mean over all records of the success probability of a uniform guess: 1 / size."""
        return float((1.0 / self.sizes) @ self.records) / self.total

    def share_below(self, k: int) -> float:
        """Return the share of records in groups smaller than `k`, in [0, 1]."""
        return int(self.records[self.sizes < k].sum()) / self.total

    def bands(self) -> list[tuple[int, int | None, int, float]]:
        """Return, for each range of group sizes, its ends, the number of records and their share.

        The ranges start at the sizes in `BANDS`: 1, 2, 3, 5, 11, 21, 101 and 1001. Both ends are included; the last
        range has no upper end (None). The share, of all records, is in [0, 1].
        """
        counts = added_up(self.records, np.searchsorted(BANDS, self.sizes, side="right") - 1, len(BANDS)).tolist()
        ends = [*(start - 1 for start in BANDS[1:]), None]
        return [(low, high, n, n / self.total) for low, high, n in zip(BANDS, ends, counts, strict=True)]


# Distribution of the number of unsampled people of a group.
Missing = Literal["negative-binomial", "poisson"]

# A sum of falling terms ends at a term below this share of the sum (or, for probabilities, below this).
_NEGLIGIBLE = 1e-17
# From this number of records on, the series needs few terms for any weights.
_MANY_RECORDS = 20
# Up to this mean, sums over a Poisson number start at 0.
_SMALL_MEAN = 50.0


def individual_risk(records: Counts, people: Counts, missing: Missing = "negative-binomial") -> Floats:
    """Return the expected reciprocal of the population size of each group.

    Parameters
    ----------
    records : ndarray, shape (n,)
        Number of sampled records of each group (f), 1 or more.
    people : ndarray, shape (n,)
        Number of people that these records represent (F), at least the number of records.
    missing : {"negative-binomial", "poisson"}
        Distribution of the number of unsampled people: by weights, or by a log-linear model.

    Returns
    -------
    ndarray of float64, shape (n,)
        Individual risk of each record of a group, in (0, 1].

    Examples
    --------
    >>> individual_risk(np.array([1, 2, 3]), np.array([17.0, 84.5, 3.0])).round(4).tolist()
    [0.1771, 0.022, 0.3333]
    """
    f = np.asarray(records, dtype=np.float64)
    beyond = np.maximum(np.asarray(people, dtype=np.float64) - f, 0.0)
    risk: Floats = _negative_binomial(f, beyond) if missing == "negative-binomial" else _poisson(f, beyond)
    return risk


@compiled()
def _negative_binomial(records: Floats, beyond: Floats) -> Floats:
    risk = np.empty(len(records))
    for i in range(len(records)):
        f, people = records[i], records[i] + beyond[i]
        missing = beyond[i] / people
        if f < _MANY_RECORDS and missing > 0.5:
            # Integrals of y^(f - 1) / (1 + c y) by recurrence in f; stable because c = F / f - 1 is above 1.
            c = beyond[i] / f
            risk[i] = np.log1p(c) / c
            for below in range(1, int(f)):
                risk[i] = (1.0 / below - risk[i]) / c
            continue
        # Series of (1 / F) 2F1(1, 1; f + 1; 1 - f / F).
        total, term, k = 1.0, 1.0, 0
        while term > _NEGLIGIBLE * total:
            term *= (k + 1.0) * missing / (f + k + 1.0)
            total += term
            k += 1
        risk[i] = total / people
    return risk


@compiled()
def _poisson(records: Floats, beyond: Floats) -> Floats:
    risk = np.empty(len(records))
    for i in range(len(records)):
        f, mean = records[i], beyond[i]
        if mean > _SMALL_MEAN and f < mean:
            # Integration by parts as a recurrence in f; stable because the mean is larger than f.
            risk[i] = -np.expm1(-mean) / mean
            for below in range(1, int(f)):
                risk[i] = (1.0 - below * risk[i]) / mean
            continue
        # Sum over the Poisson number, starting 12 standard deviations below its mean.
        number = 0.0 if mean <= _SMALL_MEAN else max(np.floor(mean - 12.0 * np.sqrt(mean)), 0.0)
        chance = np.exp(number * np.log(mean) - mean - math.lgamma(number + 1.0)) if number > 0.0 else np.exp(-mean)
        total = 0.0
        while number <= mean or chance > _NEGLIGIBLE:
            total += chance / (f + number)
            number += 1.0
            chance *= mean / number
        risk[i] = total
    return risk


@dataclass(frozen=True)
class SampledPeople(Population):
    """A population estimated from the records of a sample.

    Parameters
    ----------
    domain, cells, name, source
        See `Population`.
    counts : ndarray of float64, shape (n_cells,)
        Estimated number of people in each cell: the sum of the records' weights, or a model's estimate.
    sample : Population
        The sampled records (or people with several records) only, without weights; may lack cells that a model adds.
    missing : {"negative-binomial", "poisson"}
        Distribution of the number of unsampled people.
    row_sets : RowSets, optional
        Row sets of people who may have records in several cells, weighted by the people they represent. `counts` are
        then numbers of people with a record in the cell.
    """

    sample: Population = field(kw_only=True)
    missing: Missing = "negative-binomial"
    row_sets: RowSets | None = None

    @classmethod
    def of_records(
        cls,
        domain: Domain,
        codes: NDArray[np.int32],
        weights: Floats,
        name: str,
        person: NDArray[np.intp] | None = None,
    ) -> SampledPeople:
        """Return the `SampledPeople` of records: their number and weights by cell.

        Parameters
        ----------
        domain : Domain
            Attributes of the records.
        codes : ndarray of int32, shape (n, n_attributes)
            Values of each record.
        weights : ndarray of float64, shape (n,)
            Number of people that the person of each record represents, 1 or more.
        name : str
            Name of the population in messages and results.
        person : ndarray of int, shape (n,), optional
            Person number of each record; all records of a person have the same weight. If not given, each record is a
            different person.
        """
        if person is None:
            people = Population.from_records(domain, codes, weights, name=name)
            return cls._of(people, Population.from_records(domain, codes, name=name))
        first, cell = distinct_rows(list(codes.T), len(codes))
        sampled, set_of_person = RowSets.from_rows(cell, person)
        first_row = np.unique(person, return_index=True)[1]
        row_sets = replace(sampled, people=np.bincount(set_of_person, weights[first_row]))
        people = PeopleOfRows.from_codes(domain, codes[first], row_sets, name=name)
        return cls._of(people, PeopleOfRows.from_codes(domain, codes[first], sampled, name=name))

    @classmethod
    def _of(cls, people: Population, sample: Population, missing: Missing = "negative-binomial") -> SampledPeople:
        cells, sets = (people.domain, people.cells, people.counts, people.name), distinct_people(people)
        return cls(*cells, sample=sample, missing=missing, row_sets=sets)

    @property
    def total(self) -> float:
        """Estimated number of people in the population; each counts once."""
        return super().total if self.row_sets is None else float(self.row_sets.people.sum())

    def marginal(self, names: Sequence[str]) -> SampledPeople:
        """Return the `SampledPeople` over some attributes, in the order of `names`.

        Cells that become equal are merged; a person with several rows counts once in a cell.

        Raises
        ------
        InputError
            If an attribute is unknown.
        """
        people = super().marginal(names)
        if self.row_sets is not None:
            codes = self.cells[:, [self.domain.position(name) for name in names]]
            people = PeopleOfRows.from_codes(people.domain, codes, self.row_sets, name=self.name)
        return self._of(people, self.sample.marginal(names), self.missing)


class EstimatedSizes(GroupSizes):
    """Effective group sizes: one over the individual risk of the records.

    A uniform guess in a group of this size succeeds with a probability equal to the individual risk.

    Parameters
    ----------
    people : SampledPeople
        The population, estimated from the records of a sample.
    lattice : GeneralizationLattice
        Lattice of the records whose group sizes are computed.
    """

    by_chance = True

    def __init__(self, people: SampledPeople, lattice: GeneralizationLattice) -> None:
        super().__init__(people, lattice)
        self._missing = people.missing
        self._sampled = GroupSizes(people.sample, lattice)

    def at(self, strategy: int, rows: Rows | slice | None = None) -> Counts:
        """Return one over the individual risk of each record at a node, shape (n,).

        `strategy` is the number of the node; only the records `rows` are returned, if given. If the group of a record
        has no sampled record, it counts as one sampled record.
        """
        table, sampled = self.table(strategy), self._sampled.table(strategy)
        # A group without sampled people counts as one record that represents one person.
        records = np.ones(len(table.counts))
        records[table.group_of] = np.maximum(sampled.counts[sampled.group_of], 1)
        sizes = 1.0 / individual_risk(records, np.maximum(table.counts, records), self._missing)
        return np.asarray(sizes[table.group_of if rows is None else table.group_of[rows]])


def sizes_among(people: Population, lattice: GeneralizationLattice, *, holds_records: bool = True) -> GroupSizes:
    """Return the `GroupSizes` of a lattice's records in a population.

    For `SampledPeople`, the sizes are effective: one over the individual risk; see `EstimatedSizes`. For other
    populations, `holds_records` is whether every record's person is in the population; sizes are then at least 1.
    """
    if isinstance(people, SampledPeople):
        return EstimatedSizes(people, lattice)
    return GroupSizes(people, lattice, holds_records=holds_records)

"""Individual risk of sampled records: expected reciprocal population group size.

A group of f sampled records represents an estimated F people, of whom F - f are not in the sample. The true number of
unsampled people is not known. The individual risk r is the expectation of one over the true size of the group.

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
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.core.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.people import PeopleOfRows, RowSets, distinct_people
from reidsim.populations.population import Codes, Counts, Domain, Population, added_up, distinct_rows
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows

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
class SizeBand:
    """Records whose group size is in a range.

    Parameters
    ----------
    smallest : int
        Smallest group size of the range.
    largest : int or None
        Largest group size of the range, included; None if the range has no upper end.
    records : int
        Number of records in groups of these sizes.
    share : float
        Share of all records, in [0, 1].
    """

    smallest: int
    largest: int | None
    records: int
    share: float


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

    @classmethod
    def of_file(cls, frequencies: GroupFrequencies) -> KAnonymityProfile:
        """Return the `KAnonymityProfile` with group sizes counted in the file itself.

        `frequencies` has the number of the file's groups by size.
        """
        return cls(frequencies.sizes, frequencies.sizes * frequencies.frequencies)

    @classmethod
    def of_records(cls, group_sizes: ArrayLike) -> KAnonymityProfile:
        """Return the `KAnonymityProfile` for a given group size of each record.

        Parameters
        ----------
        group_sizes : array_like of int, shape (n_records,)
            Group sizes of 1 or more, for example counted in the population.
        """
        return cls(*np.unique(group_sizes, return_counts=True))

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
    def unique_share(self) -> float:
        """Share of records with group size 1, in [0, 1]."""
        return self.share_below(2)

    @property
    def highest_risk(self) -> float:
        """Success probability of a uniform guess in the smallest group: 1 / its size."""
        return 1.0 / self.smallest

    @property
    def average_risk(self) -> float:
        """Mean over all records of the success probability of a uniform guess: 1 / size."""
        return float((1.0 / self.sizes) @ self.records) / self.total

    def share_below(self, k: int) -> float:
        """Return the share of records in groups smaller than `k`, in [0, 1]."""
        return int(self.records[self.sizes < k].sum()) / self.total

    def bands(self) -> tuple[SizeBand, ...]:
        """Return a `SizeBand` for each range of group sizes, also if it has no records.

        The ranges start at the sizes in `BANDS`: 1, 2, 3, 5, 11, 21, 101 and 1001.
        """
        counts = added_up(self.records, np.searchsorted(BANDS, self.sizes, side="right") - 1, len(BANDS)).tolist()
        largest = [*(start - 1 for start in BANDS[1:]), None]
        return tuple(
            SizeBand(low, high, n, n / self.total) for low, high, n in zip(BANDS, largest, counts, strict=True)
        )


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


@numba.njit(cache=True)
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


@numba.njit(cache=True)
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
        codes: Codes,
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
        of_person = weights[np.unique(person, return_index=True)[1]]
        row_sets = replace(sampled, people=np.bincount(set_of_person, of_person))
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
        """Return the `SampledPeople` over some attributes, in the order of `names`."""
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

    For `SampledPeople`, these are the effective sizes of `EstimatedSizes`. `holds_records` is whether every record's
    person is in the population; it has no effect on `SampledPeople`.
    """
    if isinstance(people, SampledPeople):
        return EstimatedSizes(people, lattice)
    return GroupSizes(people, lattice, holds_records=holds_records)

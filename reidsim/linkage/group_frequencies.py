"""Number of groups by size, and number of records by group size.

Uniqueness depends on the former, k-anonymity on the latter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.core.errors import InputError
from reidsim.populations.domain import added_up

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

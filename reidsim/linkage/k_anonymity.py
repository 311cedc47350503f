"""Group sizes of records as k-anonymity and as risk of a uniform guess."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.risk import UniformGuess
from reidsim.populations.domain import added_up

# 3, 5, 10, 11 and 20 are thresholds that data holders and regulators use.
THRESHOLDS = (2, 3, 5, 10, 11, 20)
# The smallest group size of each band.
BANDS = (1, 2, 3, 5, 11, 21, 101, 1001)


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
        """Return the profile with group sizes counted in the file itself."""
        return cls(frequencies.sizes, frequencies.sizes * frequencies.frequencies)

    @classmethod
    def of_records(cls, group_sizes: ArrayLike) -> KAnonymityProfile:
        """Return the profile for a given group size of each record.

        Parameters
        ----------
        group_sizes : array_like of int, shape (n_records,)
            Group sizes, for example counted in the population.

        Raises
        ------
        InputError
            If there is no record, or a size is not a whole number of 1 or more.
        """
        if np.any(np.asarray(group_sizes) == 0):
            raise InputError("a record is in no group", found=0, expected="group sizes of 1 or more")
        by_size = GroupFrequencies.from_group_sizes(group_sizes)
        return cls(by_size.sizes, by_size.frequencies)

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
        """Median group size over records."""
        below = np.cumsum(self.records)
        middle = [(self.total - 1) // 2, self.total // 2]
        return float(self.sizes[np.searchsorted(below, middle, side="right")].mean())

    @property
    def unique_share(self) -> float:
        """Share of records with group size 1, in [0, 1]."""
        return self.share_below(2)

    @property
    def highest_risk(self) -> float:
        """Success probability of a uniform guess for the record at highest risk."""
        return float(self._success().max())

    @property
    def average_risk(self) -> float:
        """Mean over all records of the success probability of a uniform guess."""
        return float(self._success() @ self.records) / self.total

    def share_below(self, k: int) -> float:
        """Return the share of records in groups smaller than `k`, in [0, 1]."""
        return int(self.records[self.sizes < k].sum()) / self.total

    def bands(self, starts: Sequence[int] = BANDS) -> tuple[SizeBand, ...]:
        """Return the number of records in each range of group sizes.

        Parameters
        ----------
        starts : sequence of int
            Smallest group size of each range, ascending from 1; a range ends below the next start, the last one has no
            upper end.

        Raises
        ------
        InputError
            If the starts are not ascending from 1.
        """
        if not starts or starts[0] != 1 or any(a >= b for a, b in itertools.pairwise(starts)):
            raise InputError("bands must start at 1 and ascend", where="starts", found=list(starts))
        band_of = np.searchsorted(starts, self.sizes, side="right") - 1
        records = added_up(self.records, band_of, len(starts))
        largest = [*(start - 1 for start in starts[1:]), None]
        return tuple(
            SizeBand(start, end, count, count / self.total)
            for start, end, count in zip(starts, largest, records.tolist(), strict=True)
        )

    def _success(self) -> NDArray[np.float64]:
        return UniformGuess().success_probability(self.sizes)

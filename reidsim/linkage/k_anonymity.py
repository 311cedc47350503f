"""How well records hide among those that look like them: k-anonymity and the risk of a uniform guess."""

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

# Customary: 3, 5, 10, 11 and 20 are thresholds of data holders and regulators.
THRESHOLDS = (2, 3, 5, 10, 11, 20)
# The smallest group size of each band.
BANDS = (1, 2, 3, 5, 11, 21, 101, 1001)


@dataclass(frozen=True)
class SizeBand:
    """Records whose group size is in a range.

    Parameters
    ----------
    smallest : int
    largest : int or None
        Of the range, both included; None where it is open.
    records : int
        Records in groups of such sizes.
    share : float
        Of all records, in [0, 1].
    """

    smallest: int
    largest: int | None
    records: int
    share: float


@dataclass(frozen=True)
class KAnonymityProfile:
    """Records by the size of the group that each hides in.

    Sizes counted in the records themselves give prosecutor risk (the attacker knows that the person is in the file);
    sizes counted in the population give journalist risk. The average over records is the marketer risk: the share that
    an attacker who guesses for every record would name rightly.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_sizes,)
        Group sizes, 1 or more, ascending, each once.
    records : ndarray of int64, shape (n_sizes,)
        Records in groups of each size.
    """

    sizes: NDArray[np.int64]
    records: NDArray[np.int64]

    @classmethod
    def of_file(cls, frequencies: GroupFrequencies) -> KAnonymityProfile:
        """Count group sizes in the records themselves."""
        return cls(frequencies.sizes, frequencies.sizes * frequencies.frequencies)

    @classmethod
    def of_records(cls, group_sizes: ArrayLike) -> KAnonymityProfile:
        """Take the size of each record's group, shape (n_records,), such as counted in the population.

        Raises
        ------
        InputError
            If there is no record, or a size is not a whole number of 1 or more.
        """
        if np.any(np.asarray(group_sizes) == 0):
            raise InputError("a record in no group", found=0, expected="group sizes of 1 or more")
        by_size = GroupFrequencies.from_group_sizes(group_sizes)
        return cls(by_size.sizes, by_size.frequencies)

    @property
    def total(self) -> int:
        """Records in all."""
        return int(self.records.sum())

    @property
    def smallest(self) -> int:
        """Size of the smallest group: the file is k-anonymous for k up to it."""
        return int(self.sizes[0])

    @property
    def median(self) -> float:
        """Median over records of the size of their group."""
        below = np.cumsum(self.records)
        middle = [(self.total - 1) // 2, self.total // 2]
        return float(self.sizes[np.searchsorted(below, middle, side="right")].mean())

    @property
    def unique_share(self) -> float:
        """Share of records that are alone, in [0, 1]."""
        return self.share_below(2)

    @property
    def highest_risk(self) -> float:
        """Probability that a uniform guess names the person of the most exposed record."""
        return float(self._success().max())

    @property
    def average_risk(self) -> float:
        """Mean over records of the probability that a uniform guess names the right person."""
        return float(self._success() @ self.records) / self.total

    def share_below(self, k: int) -> float:
        """Return the share of records in groups of fewer than `k`, in [0, 1]."""
        return int(self.records[self.sizes < k].sum()) / self.total

    def bands(self, starts: Sequence[int] = BANDS) -> tuple[SizeBand, ...]:
        """Add up records over ranges of group size, each from one of `starts` (ascending, the first 1) to the next.

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

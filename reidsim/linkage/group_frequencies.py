"""Number of groups by size, on which uniqueness and k-anonymity depend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.errors import InputError


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

    Raises
    ------
    InputError
        If there is no group, or sizes or frequencies are not as above.
    """

    sizes: NDArray[np.int64]
    frequencies: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", _whole(self.sizes, "sizes"))
        object.__setattr__(self, "frequencies", _whole(self.frequencies, "frequencies"))
        if self.sizes.ndim != 1 or self.sizes.shape != self.frequencies.shape:
            raise InputError(
                "sizes and frequencies have different shapes",
                found=f"shapes {self.sizes.shape} and {self.frequencies.shape}",
            )
        if len(self.sizes) == 0:
            raise InputError("no group sizes", expected="at least one record")
        for name, values in (("sizes", self.sizes), ("frequencies", self.frequencies)):
            if values.min() < 1:
                raise InputError("count below 1", where=name, found=int(values.min()))
        if (np.diff(self.sizes) <= 0).any():
            raise InputError("group sizes are not ascending", where="sizes", expected="distinct sizes, smallest first")

    @classmethod
    def from_group_sizes(cls, group_sizes: ArrayLike) -> GroupFrequencies:
        """Count groups by size, given the size of each group.

        Parameters
        ----------
        group_sizes : array_like of int, shape (n_groups,)
            Group sizes, in records; empty groups are ignored.

        Raises
        ------
        InputError
            If a size is negative or not a whole number, or all groups are empty.
        """
        values = _whole(group_sizes, "group sizes")
        if values.size and values.min() < 0:
            raise InputError("negative group size", found=int(values.min()), expected="0 or more")
        sizes, frequencies = np.unique(values[values > 0], return_counts=True)
        return cls(sizes, frequencies)

    @classmethod
    def from_mapping(cls, frequency_of: Mapping[int, int]) -> GroupFrequencies:
        """Return the frequencies from a mapping of group size to number of groups.

        Raises
        ------
        InputError
            If the mapping is empty, or a size or number is below 1 or not a whole number.
        """
        sizes = sorted(frequency_of)
        return cls(np.array(sizes), np.array([frequency_of[size] for size in sizes]))

    @property
    def records(self) -> int:
        """Number of records in all groups."""
        return int(self.sizes @ self.frequencies)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.frequencies.sum())

    @property
    def uniques(self) -> int:
        """Number of groups with a single record."""
        return self.groups_between(1, 1)

    def groups_between(self, smallest: int, largest: int | None = None) -> int:
        """Return the number of groups with `smallest` to `largest` records.

        Both ends are included; there is no upper end if `largest` is None.
        """
        inside = self.sizes >= smallest
        if largest is not None:
            inside &= self.sizes <= largest
        return int(self.frequencies[inside].sum())


def _whole(values: ArrayLike, where: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputError("values are not whole numbers", where=where, found=array.dtype.name, expected="integers")
    return array.astype(np.int64)

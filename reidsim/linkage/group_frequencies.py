"""How many groups of each size a file holds: all that uniqueness and k-anonymity depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.errors import InputError


@dataclass(frozen=True)
class GroupFrequencies:
    """Groups of indistinguishable records, counted by size; a file of 10**8 records takes one number per size.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_sizes,)
        Records in a group: 1 or more, ascending, each once.
    frequencies : ndarray of int64, shape (n_sizes,)
        Groups of each size: 1 or more.

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
                "sizes and frequencies disagree", found=f"shapes {self.sizes.shape} and {self.frequencies.shape}"
            )
        if len(self.sizes) == 0:
            raise InputError("no groups", expected="at least one record")
        for name, values in (("sizes", self.sizes), ("frequencies", self.frequencies)):
            if values.min() < 1:
                raise InputError("not a count of 1 or more", where=name, found=int(values.min()))
        if (np.diff(self.sizes) <= 0).any():
            raise InputError("sizes are not ascending", where="sizes", expected="each size once, smallest first")

    @classmethod
    def from_group_sizes(cls, group_sizes: ArrayLike) -> GroupFrequencies:
        """Count groups given one by one, shape (n_groups,); empty groups are passed over.

        Raises
        ------
        InputError
            If a size is negative or not a whole number, or no group holds anybody.
        """
        values = _whole(group_sizes, "group sizes")
        if values.size and values.min() < 0:
            raise InputError("negative group size", found=int(values.min()), expected="0 or more")
        sizes, frequencies = np.unique(values[values > 0], return_counts=True)
        return cls(sizes, frequencies)

    @classmethod
    def from_mapping(cls, frequency_of: Mapping[int, int]) -> GroupFrequencies:
        """Take the number of groups by size."""
        sizes = sorted(frequency_of)
        return cls(np.array(sizes), np.array([frequency_of[size] for size in sizes]))

    @property
    def records(self) -> int:
        """Records in all groups."""
        return int(self.sizes @ self.frequencies)

    @property
    def groups(self) -> int:
        """Groups of any size."""
        return int(self.frequencies.sum())

    @property
    def uniques(self) -> int:
        """Groups of one record."""
        return self.groups_between(1, 1)

    def groups_between(self, smallest: int, largest: int | None = None) -> int:
        """Return how many groups have from `smallest` to `largest` records, both included; no upper end if None."""
        inside = self.sizes >= smallest
        if largest is not None:
            inside &= self.sizes <= largest
        return int(self.frequencies[inside].sum())


def _whole(values: ArrayLike, where: str) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputError("not whole numbers", where=where, found=array.dtype.name, expected="integers")
    return array.astype(np.int64)

"""Masking strategies where some attributes are always shared, such as demographics that every contributor states.

They come first, so they are the most significant digits of a strategy's number. The strategies that share
them are therefore the lowest numbers, and keep the numbers that they have where everything can be masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Strategies


@dataclass(frozen=True, eq=False)
class PartialMaskingSpace(MaskingSpace):
    """All combinations of levels in which the first attributes are shared as they are.

    Parameters
    ----------
    attributes, weights, n_records, kept, groups, total_weight
        See `MaskingSpace`; attributes that are always shared count towards utility.
    n_always : int
        How many attributes are always shared.

    Raises
    ------
    InputError
        As `MaskingSpace`; also if nothing is left to mask.
    """

    n_always: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.n_always < len(self.attributes):
            expected = f"fewer than {len(self.attributes)}, the number of attributes"
            raise InputError("nothing can be masked", found=self.n_always, expected=expected)

    @property
    def size(self) -> int:
        """Number of strategies."""
        return prod(self.shape[self.n_always :])

    def masking(self, shared: NDArray[np.bool_]) -> Strategies:
        """Return the strategies that share these attributes and the ones always shared, and mask the others."""
        return super().masking(shared | (np.arange(len(self.attributes)) < self.n_always))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level further, in lattice order."""
        return (below for below in super().successors(strategy) if below < self.size)

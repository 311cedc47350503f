"""Masking strategies in which some attributes are always shared.

Examples are demographics that every contributor states.

The attributes that are always shared come first, so they are the most significant digits of a strategy's number. The
strategies that share them therefore have the lowest numbers, equal to their numbers in a game in which all attributes
can be masked.
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
    """All combinations of levels in which the first attributes are shared unmasked.

    Parameters
    ----------
    attributes, weights, n_records, kept, groups, total_weight
        See `MaskingSpace`; attributes that are always shared count towards utility.
    n_always : int
        Number of attributes that are always shared.

    Raises
    ------
    InputError
        If no attribute can be masked; or for the reasons given in `MaskingSpace`.
    """

    n_always: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.n_always < len(self.attributes):
            expected = f"fewer than {len(self.attributes)}, the number of attributes"
            raise InputError("no attribute can be masked", found=self.n_always, expected=expected)

    @property
    def size(self) -> int:
        """Number of strategies."""
        return prod(self.shape[self.n_always :])

    def masking(self, shared: NDArray[np.bool_]) -> Strategies:
        """Return the strategies that share the given attributes and mask all others.

        Attributes that are always shared stay shared. For the shape of `shared` see `MaskingSpace.masking`.
        """
        return super().masking(shared | (np.arange(len(self.attributes)) < self.n_always))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute masked by one more level.

        They are in lattice order.
        """
        return (below for below in super().successors(strategy) if below < self.size)

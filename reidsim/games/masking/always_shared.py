"""The masking game where some attributes cannot be masked, such as demographics that every contributor states.

Those attributes come first, so they are the most significant digits of a strategy's number. The strategies that share
them are therefore the lowest numbers, and keep the numbers that they have where everything can be masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.masking.game import GameArrays, MaskingGame
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
        """Return the strategies that share these attributes, and those that are always shared, and mask the others."""
        return super().masking(shared | (np.arange(len(self.attributes)) < self.n_always))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level further, in lattice order."""
        return (below for below in super().successors(strategy) if below < self.size)


@dataclass(frozen=True, eq=False)
class PartialMaskingGame(MaskingGame):
    """A masking game over a `PartialMaskingSpace`; the adversary links on what is always shared like on the rest.

    Raises
    ------
    InputError
        As `MaskingGame`; also if the last stage does not link on an attribute that is always shared.
    """

    space: PartialMaskingSpace

    def __post_init__(self) -> None:
        super().__post_init__()
        # Compiled solvers take what is not linked on for loci, which can all be masked.
        unused = [name for name in self.space.attributes[: self.space.n_always] if name not in self.attack.identify.on]
        if unused:
            expected = "an attribute that the last stage links on"
            raise InputError("attribute always shared that identifies nobody", found=unused[0], expected=expected)

    @cached_property
    def arrays(self) -> GameArrays:
        """The subjects' side as compiled solvers read it, with the forms that can be chosen only."""
        everything = super().arrays
        fixed = np.arange(len(everything.sizes)) < self.space.n_always
        return everything._replace(
            form_kept=everything.form_kept[: self.space.size >> everything.n_bits],
            # An attribute of one level has no level further.
            sizes=np.where(fixed, 1, everything.sizes),
        )

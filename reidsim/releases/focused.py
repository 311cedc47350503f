"""Restriction of masking searches to the attributes that the adversary uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace


@dataclass(frozen=True, eq=False)
class FocusedSpace:
    """A masking space whose searches only mask attributes that are used.

    The adversary uses them; the class is a `StrategySpace`. Strategies keep their numbers. Sharing an unused attribute
    causes no attack, loses no utility and has the lower number. Therefore a search that starts from sharing everything
    and masks only used attributes is exact. A search of the whole space would visit all combinations of unused
    attributes.

    Parameters
    ----------
    whole : MaskingSpace
    attributes : tuple of str
        Attributes that the adversary uses; names outside the space are ignored.
    """

    whole: MaskingSpace
    attributes: tuple[str, ...]

    @cached_property
    def _steps(self) -> frozenset[int]:
        """Difference in strategy number for one level of each used attribute."""
        steps = self.whole.number(np.eye(len(self.whole.attributes), dtype=np.int64)).tolist()
        return frozenset(
            step for name, step in zip(self.whole.attributes, steps, strict=True) if name in self.attributes
        )

    @property
    def size(self) -> int:
        """Number of strategies of the whole space."""
        return self.whole.size

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.whole.n_records

    @property
    def most_specific(self) -> int:
        """The strategy that shares everything."""
        return self.whole.most_specific

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one used attribute masked by one more level.

        They are in lattice order.
        """
        return (below for below in self.whole.successors(strategy) if below - strategy in self._steps)

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether the strategy is as protective as each minimum in every attribute."""
        return self.whole.at_least(strategy, minimum)

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the utility of each record, or of each of `rows`."""
        return self.whole.utility(strategy, rows)

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility over all records."""
        return self.whole.average_utility(strategy)

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the sum of levels divided by the largest possible sum."""
        return self.whole.generalization_intensity(strategies)

    def describe(self, strategy: int) -> str:
        """Return the names of the shared attributes; see `MaskingSpace`."""
        return self.whole.describe(strategy)


def space_of_all(spaces: Sequence[StrategySpace]) -> StrategySpace:
    """Return the space focused on the attributes of several spaces.

    The spaces have the same attributes; the result uses the union of their used attributes.
    """
    focused = [space for space in spaces if isinstance(space, FocusedSpace)]
    if not focused:
        return spaces[0]
    if len(focused) < len(spaces):
        return focused[0].whole
    seen = dict.fromkeys(name for space in focused for name in space.attributes)
    return FocusedSpace(focused[0].whole, tuple(seen))

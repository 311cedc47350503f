"""The interface of strategy spaces that solvers use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Strategies = NDArray[np.int64]


class StrategySpace(Protocol):
    """The strategies available for each record of a release.

    The number is the lattice order: solvers keep the lowest number among equal payoffs. A strategy has a lower number
    than the strategies that generalize it, and utility never rises from a strategy to its successors.
    """

    @property
    def size(self) -> int:
        """Number of strategies."""
        ...

    @property
    def n_records(self) -> int:
        """Number of records of the space."""
        ...

    @property
    def most_specific(self) -> int:
        """The strategy that shares the record unchanged."""
        ...

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies one step less specific, in the order of the space."""
        ...

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether the strategy is at least as protective as each minimum.

        The comparison holds in every attribute; equal strategies count. The shape is that of `minimum`.
        """
        ...

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the share of the full benefit that each record keeps, in [0, 1].

        The result covers all records, or `rows`. No strategy that generalizes `strategy` keeps more.
        """
        ...

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility over all records."""
        ...

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return how far each strategy is from sharing everything (0) to nothing (1)."""
        ...

    def describe(self, strategy: int) -> str:
        """Return the name of a strategy for results."""
        ...

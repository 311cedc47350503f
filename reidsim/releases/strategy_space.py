"""The interface of strategy spaces to solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Strategies = NDArray[np.int64]


class StrategySpace(Protocol):
    """The strategies of each record of a release, numbered 0 .. size - 1.

    The number is the lattice order: solvers keep the lowest number among equal payoffs. A strategy has a lower number
    than the strategies below it, and utility never rises from a strategy to its successors.
    """

    @property
    def size(self) -> int:
        """Number of strategies."""
        ...

    @property
    def n_records(self) -> int:
        """Number of records that the space was built for."""
        ...

    @property
    def most_specific(self) -> int:
        """The strategy that shares the record unchanged."""
        ...

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies one step less specific, in lattice order."""
        ...

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether the strategy is equal to or below (at least as protective as) each minimum."""
        ...

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the share of the full benefit that each record (or each of `rows`) keeps, in [0, 1].

        No strategy below `strategy` keeps more: its utility bounds everything beneath it.
        """
        ...

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility over all records."""
        ...

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the distance of each strategy from sharing everything (0) towards sharing nothing (1)."""
        ...

    def describe(self, strategy: int) -> str:
        """Return the name of a strategy in results."""
        ...

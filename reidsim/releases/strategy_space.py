"""What every space of sharing strategies can tell a solver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Strategies = NDArray[np.int64]


class StrategySpace(Protocol):
    """The forms in which each record of a release can be shared, numbered 0 .. size - 1.

    The number is the lattice order: solvers keep the lowest number among equal payoffs. Sharing more never has a
    higher number than a strategy below it, and utility never rises from a strategy to its successors.
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
        """The strategy that shares the record as it is."""
        ...

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies one step less specific, in lattice order."""
        ...

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Tell for which of the minima the strategy is equal to or below (at least as protective as) it."""
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
        """Return how far each strategy is from sharing everything (0) towards sharing nothing (1)."""
        ...

    def describe(self, strategy: int) -> str:
        """Name a strategy in results."""
        ...

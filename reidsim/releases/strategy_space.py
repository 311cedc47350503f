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

    They are numbered from 0 to size - 1. The numbers define the lattice order: among strategies with equal payoffs,
    solvers choose the lowest number. A strategy has a lower number than all strategies that are more protective, and
    utility never increases from a strategy to its successors.
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
        """Yield the strategies that are one step less specific, in lattice order."""
        ...

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether the strategy is at least as protective as each minimum.

        This must hold in every attribute.
        """
        ...

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the share of the full benefit that each record keeps, in [0, 1].

        `rows` selects some records. The result is an upper bound for all strategies that are more protective than
        `strategy`.
        """
        ...

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility over all records."""
        ...

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the degree of generalization of each strategy.

        It goes from 0 (shares everything) to 1 (shares nothing).
        """
        ...

    def describe(self, strategy: int) -> str:
        """Return the name of a strategy for results."""
        ...

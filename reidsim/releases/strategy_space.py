"""The interface of strategy spaces that solvers use, and spaces of levels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import prod
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


class LevelSpace:
    """Strategies with one level per attribute, numbered in lexicographic order.

    The first attribute is the most significant digit of the number; so every strategy comes after the strategies that
    it generalizes, and strategy 0 shares everything.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each attribute."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of strategies: the product of the numbers of levels."""
        return prod(self.shape)

    @property
    def most_specific(self) -> int:
        """The strategy that shares everything."""
        return 0

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Step in the strategy number for one more level of each attribute."""
        return tuple(prod(self.shape[position + 1 :]) for position in range(len(self.shape)))

    def all_levels(self, strategies: Strategies | int) -> NDArray[np.int64]:
        """Return the level of each attribute in each strategy, (..., n_attributes)."""
        return np.asarray(np.asarray(strategies)[..., None] // self.strides % self.shape)

    def number(self, levels: NDArray[np.int64]) -> Strategies:
        """Return the strategies with these levels; `levels` has shape (..., n_attributes)."""
        return np.asarray(np.asarray(levels, dtype=np.int64) @ np.array(self.strides, dtype=np.int64))

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether the strategy has at least the levels of each minimum.

        The shape is that of `minimum`.
        """
        return np.asarray((self.all_levels(strategy) >= self.all_levels(minimum)).all(axis=-1))

    def meet(self, first: Strategies, second: Strategies) -> Strategies:
        """Return the strategies that disclose as much as both together, shape (n,).

        They have the lower level of each attribute; levels must be nested.
        """
        return self.number(np.minimum(self.all_levels(first), self.all_levels(second)))

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the sum of levels as a share of the largest possible sum.

        This is Eq. 5 of Wan et al. 2015; 0 if no attribute has several levels. If attributes are only shared or masked,
        it is the share of attributes that are masked.
        """
        return np.asarray(self.all_levels(strategies).sum(axis=-1) / max(sum(self.shape) - len(self.shape), 1))

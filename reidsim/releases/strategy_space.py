"""The base class of strategy spaces that solvers use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Strategies = NDArray[np.int64]


class StrategySpace:
    """Strategies available for each record of a release: one level per attribute, numbered in lexicographic order.

    The first attribute is the most significant digit of the number; so every strategy comes after the strategies that
    it generalizes, and strategy 0 shares everything. Solvers keep the lowest number among equal payoffs. Utility never
    rises from a strategy to its successors.
    """

    # Number of records of the space.
    n_records: int
    most_specific = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each attribute."""
        raise NotImplementedError

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies one level more general in one attribute.

        They are in the order of the space.
        """
        raise NotImplementedError

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the share of the full benefit that each record keeps, in [0, 1].

        The records are released by one strategy. The result covers all records, or those in `rows` (numbers of
        records), in one dimension. No strategy that generalizes `strategy` keeps more.
        """
        raise NotImplementedError

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility of a strategy over all records, in [0, 1]."""
        raise NotImplementedError

    def describe(self, strategy: int) -> str:
        """Return the name of a strategy in results, such as its levels as text."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of strategies: the product of the numbers of levels."""
        return prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Step in the strategy number for one more level of each attribute."""
        return tuple(prod(self.shape[position + 1 :]) for position in range(len(self.shape)))

    def all_levels(self, strategies: Strategies | int) -> NDArray[np.int64]:
        """Return the level of each attribute in each strategy.

        `strategies` are numbers of strategies, the result has shape (..., n_attributes).
        """
        return np.asarray(np.asarray(strategies)[..., None] // self.strides % self.shape)

    def number(self, levels: NDArray[np.int64]) -> Strategies:
        """Return the numbers of the strategies with given levels, shape (...).

        `levels` has the level of each attribute, shape (..., n_attributes); it is not checked.
        """
        return np.asarray(np.asarray(levels, dtype=np.int64) @ np.array(self.strides, dtype=np.int64))

    def at_least(self, strategy: int, minimum: Strategies) -> NDArray[np.bool_]:
        """Return whether a strategy is at least as general as each minimum.

        It must have at least the level of the minimum strategy in every attribute. The shape is that of `minimum`, the
        numbers of the minimum strategies.
        """
        return np.asarray((self.all_levels(strategy) >= self.all_levels(minimum)).all(axis=-1))

    def meet(self, first: Strategies, second: Strategies) -> Strategies:
        """Return the strategies that disclose as much as two together, shape (n,).

        They have the lower level of each attribute, element by element of `first` and `second`; levels must be nested.
        """
        return self.number(np.minimum(self.all_levels(first), self.all_levels(second)))

    def generalization_intensity(self, strategies: Strategies) -> Floats:
        """Return the sum of levels as a share of the largest possible sum, in [0, 1].

        The result has one share per strategy. The shape is that of `strategies`. This is Eq. 5 of Wan et al. 2015; 0 if
        no attribute has several levels. If attributes are only shared or masked, it is the share of attributes that are
        masked.
        """
        return np.asarray(self.all_levels(strategies).sum(axis=-1) / max(sum(self.shape) - len(self.shape), 1))

"""Generalization lattice: strategies with one hierarchy level per attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, prod

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, require_among
from reidsim.core.numerics import log
from reidsim.populations.population import Codes, Domain
from reidsim.releases.hierarchy import Hierarchy

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


# Limit on the number of strategies, which are 64-bit numbers with room for arithmetic.
MOST_NUMBERED = 2**62
# Losses above this count as 1; otherwise rounding could leave a suppressed record a benefit of 1e-16.
NO_BENEFIT = 1.0 - 1e-12


@dataclass(frozen=True, eq=False)
class GeneralizationLattice(StrategySpace):
    """All combinations of hierarchy levels for a set of records.

    Level 0 keeps a value. Strategies are numbered in lexicographic order of their level vectors, the first attribute
    being the most significant; so every strategy comes after the strategies that it generalizes.

    Utility is 1 - the entropy-based information loss of Wan et al. 2015, Eqs. 1 to 3: the loss of a strategy is the sum
    over attributes of the logarithm of the number of values in the record's group, divided by the sum of the logarithms
    of the attributes' numbers of values. A costless level of a hierarchy counts like the level below it.

    Parameters
    ----------
    hierarchies : tuple of Hierarchy
        Hierarchy of each attribute.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Values of the records.
    loss_attributes : tuple of str, optional
        Attributes that count in the information loss; all, if not given.

    Raises
    ------
    InputError
        If an attribute of the information loss has no hierarchy.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    loss_attributes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        problem = "information loss counts an attribute that is not released"
        require_among(problem, self.loss_attributes or (), self.domain.names)

    def __repr__(self) -> str:
        names = ", ".join(each.attribute.name for each in self.hierarchies)
        return f"GeneralizationLattice({len(self.codes):,} records, {self.size:,} strategies: {names})"

    @cached_property
    def domain(self) -> Domain:
        """Attributes of the hierarchies, in their order: the quasi-identifiers."""
        return Domain(tuple(hierarchy.attribute for hierarchy in self.hierarchies))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each attribute."""
        return tuple(hierarchy.n_levels for hierarchy in self.hierarchies)

    @cached_property
    def n_records(self) -> int:  # type: ignore[override]
        """Number of records."""
        return len(self.codes)

    def levels(self, strategy: int) -> tuple[int, ...]:
        """Return the level of each attribute in a strategy, in the order of `hierarchies`."""
        return tuple(strategy // stride % levels for stride, levels in zip(self.strides, self.shape, strict=True))

    def index(self, levels: Sequence[int]) -> int:
        """Return the number of the strategy with these levels, one per attribute.

        Raises
        ------
        InputError
            If the number of levels is not that of the attributes, or an attribute has no such level.
        """
        fits = len(levels) == len(self.shape) and all(0 <= each < n for each, n in zip(levels, self.shape, strict=True))
        if not fits:
            expected = f"levels below {self.shape}"
            raise InputError("no such strategy in the lattice", found=list(levels), expected=expected)
        return sum(level * stride for level, stride in zip(levels, self.strides, strict=True))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level up, first attribute first.

        They are one step more general.
        """
        steps = zip(self.levels(strategy), self.shape, self.strides, strict=True)
        return (strategy + stride for level, levels, stride in steps if level + 1 < levels)

    def predecessors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level down, first attribute first.

        They are one step more specific.
        """
        steps = zip(self.levels(strategy), self.strides, strict=True)
        return (strategy - stride for level, stride in steps if level > 0)

    def join(self, first: Strategies, second: Strategies) -> Strategies:
        """Return the least general strategies that generalize both, shape (n,).

        They have the higher level of each attribute. `first` and `second` are strategy numbers of shape (n,).
        """
        return self.number(np.maximum(self.all_levels(first), self.all_levels(second)))

    @cached_property
    def losses(self) -> tuple[Floats, ...]:
        """Information loss of a value at each level, one array per attribute.

        Arrays have shape (n_levels, n_values). Losses are shares of the largest possible loss of a record over all
        attributes that count; 0 for an attribute that does not count, or if each of those has a single value.
        """
        counted = self.domain.names if self.loss_attributes is None else self.loss_attributes
        greatest = fsum(math.log(h.attribute.size) for h in self.hierarchies if h.attribute.name in counted)
        return tuple(
            log(hierarchy.charged_sizes) / greatest
            if greatest > 0 and hierarchy.attribute.name in counted
            else np.zeros(hierarchy.groups.shape)
            for hierarchy in self.hierarchies
        )

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Information loss of every record at each level, one array per attribute.

        Arrays have shape (n_levels, n_records). The losses of the attributes, each at its level, add up to the loss of
        a strategy for a record.
        """
        return tuple(
            np.ascontiguousarray(losses[:, self.codes[:, position]]) for position, losses in enumerate(self.losses)
        )

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return 1 - information loss of each record under a strategy, in [0, 1].

        With `rows`, only these records are returned, in this order. It is 0 for a loss within rounding (1e-12) of 1.
        """
        loss = np.zeros(self.n_records if rows is None else len(rows))
        for losses, level in zip(self.record_losses, self.levels(strategy), strict=True):
            if level > 0:
                loss += losses[level] if rows is None else losses[level][rows]
        return np.where(loss > NO_BENEFIT, 0.0, 1.0 - loss)

    @cached_property
    def _average_losses(self) -> tuple[list[float], ...]:
        return tuple(losses.mean(axis=1).tolist() for losses in self.record_losses)

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility of a strategy over all records, in [0, 1]."""
        lost = 0.0
        # A loop, because the rounding of `sum` depends on the version of Python.
        for losses, level in zip(self._average_losses, self.levels(strategy), strict=True):
            lost += losses[level]
        return 1.0 - lost

    def describe(self, strategy: int) -> str:
        """Return the levels of a strategy as text, such as ``"0,3,1,0"``."""
        return ",".join(map(str, self.levels(strategy)))

    def released(self, strategies: Strategies, rows: Rows) -> pd.DataFrame:
        """Return the released labels of records.

        Parameters
        ----------
        strategies : ndarray of int, shape (n,)
            Strategy of each row; negative for withheld records, whose released values are missing.
        rows : ndarray of int, shape (n,)
            Record of each row.

        Returns
        -------
        DataFrame
            One row per element of `rows`, in this order, and one categorical column of labels per attribute.
        """
        columns, withheld = {}, strategies < 0
        levels = self.all_levels(np.where(withheld, 0, strategies))
        for position, hierarchy in enumerate(self.hierarchies):
            number: dict[str, int] = {}
            table = np.array(
                [
                    np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int32)[groups]
                    for labels, groups in zip(hierarchy.labels, hierarchy.groups, strict=True)
                ]
            )
            codes = np.where(withheld, -1, table[levels[:, position], self.codes[rows, position]])
            columns[hierarchy.attribute.name] = pd.Categorical.from_codes(codes, pd.Index(list(number), dtype="str"))
        return pd.DataFrame(columns)

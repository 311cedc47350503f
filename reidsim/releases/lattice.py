"""Generalization lattice: strategies with one hierarchy level per attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, require_among
from reidsim.core.numerics import log
from reidsim.populations.domain import Codes, Domain
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

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
    def level_columns(self) -> NDArray[np.int64]:
        """Level of each attribute in every strategy, shape (n_attributes, size).

        It is meant for lattices of few strategies.
        """
        return np.ascontiguousarray(self.all_levels(np.arange(self.size)).T)

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

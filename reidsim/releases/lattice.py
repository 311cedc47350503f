"""Strategy spaces of a record: lattices of generalizations, and of masked attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_first, require_among
from reidsim.core.numerics import log, log2
from reidsim.populations.population import Codes, Domain, numbered
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
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """Step in the strategy number for one more level of each attribute."""
        return tuple(math.prod(self.shape[position + 1 :]) for position in range(len(self.shape)))

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

    def generalization_intensity(self, strategies: Strategies | int) -> Floats:
        """Return the sum of levels as a share of the largest possible sum, in [0, 1].

        The result has one share per strategy. The shape is that of `strategies`. This is Eq. 5 of Wan et al. 2015; 0 if
        no attribute has several levels. If attributes are only shared or masked, it is the share of attributes that are
        masked.
        """
        distinct, place = numbered(np.ravel(strategies))
        shares = self.all_levels(distinct).sum(axis=-1) / max(sum(self.shape) - len(self.shape), 1)
        return np.asarray(shares[place].reshape(np.shape(strategies)))


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

    def groups_at(self, strategy: int, columns: Iterable[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        """Return the group of each value at the levels of a strategy, one array per attribute.

        `columns` has the codes of the values, one array per attribute.
        """
        attributes = zip(self.hierarchies, self.levels(strategy), columns, strict=True)
        return [hierarchy.groups[level].take(codes) for hierarchy, level, codes in attributes]

    def index(self, levels: Sequence[int]) -> int:
        """Return the number of the strategy with these levels, one per attribute.

        Raises
        ------
        InputError
            If the number of levels is not that of the attributes, or an attribute has no such level.
        """
        fits = len(levels) == len(self.shape) and all(0 <= each < n for each, n in zip(levels, self.shape, strict=True))
        expected = f"levels below {self.shape}"
        refuse_first((not fits, "no such strategy in the lattice", None, list(levels), expected))
        return sum(level * stride for level, stride in zip(levels, self.strides, strict=True))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level up, first attribute first.

        They are one step more general.
        """
        steps = zip(self.levels(strategy), self.shape, self.strides, strict=True)
        return (strategy + stride for level, levels, stride in steps if level + 1 < levels)

    def predecessors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute one level lower, in attribute order.

        They are one step more specific; an attribute at level 0 has no lower level.
        """
        steps = zip(self.levels(strategy), self.strides, strict=True)
        return (strategy - stride for level, stride in steps if level > 0)

    def join(self, first: Strategies, second: Strategies) -> Strategies:
        """Return the least general strategies that generalize both, shape (n,).

        They have the higher level of each attribute. `first` and `second` are strategy numbers of shape (n,).
        """
        return self.number(np.maximum(self.all_levels(first), self.all_levels(second)))

    @cached_property
    def entropies_of_full_loss(self) -> Floats:
        """Entropy of the true value, in nats, that counts as a loss of 1, by attribute.

        For attributes that count, it is the entropy of a record of which nothing is known; for others, it is infinite.
        """
        counts = [self.loss_attributes is None or name in self.loss_attributes for name in self.domain.names]
        greatest = math.fsum(math.log(size) for size, counted in zip(self.domain.shape, counts, strict=True) if counted)
        # Attributes with a single value lose nothing.
        return np.where(counts, greatest or 1.0, np.inf)

    @cached_property
    def losses(self) -> tuple[Floats, ...]:
        """Information loss of a value at each level, one array per attribute.

        Arrays have shape (n_levels, n_values). Losses are shares of the largest possible loss of a record over all
        attributes that count; 0 for an attribute that does not count, or if each of those has a single value.
        """
        each = zip(self.hierarchies, self.entropies_of_full_loss, strict=True)
        return tuple(log(hierarchy.charged_sizes) / full for hierarchy, full in each)

    def of_game_rows(self, amounts: Floats) -> Floats:
        """Return the amount of each game row, shape (..., n_records), given those of its records; here it has one."""
        return amounts

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

        With `rows`, only these records are returned, in this order. The utility is 0 for a loss within rounding (1e-12)
        of 1.
        """
        loss = np.zeros(self.n_records if rows is None else len(rows))
        for losses, level in zip(self.record_losses, self.levels(strategy), strict=True):
            if level > 0:
                loss += losses[level] if rows is None else losses[level].take(rows)
        loss[loss > NO_BENEFIT] = 1.0
        return 1.0 - loss

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
        used, number_of_row = numbered(np.maximum(strategies, 0))
        levels = self.all_levels(used)
        for position, hierarchy in enumerate(self.hierarchies):
            number: dict[str, int] = {}
            table = np.empty(hierarchy.groups.shape, dtype=np.int32)
            for level, (labels, groups) in enumerate(zip(hierarchy.labels, hierarchy.groups, strict=True)):
                table[level] = np.array([number.setdefault(label, len(number)) for label in labels])[groups]
            # In a flat table, because numpy looks up pairs of numbers at half the speed.
            places = (levels[:, position] * len(table[0])).take(number_of_row)
            codes = table.ravel().take(places + self.codes[:, position].take(rows))
            codes[withheld] = -1
            released = pd.Index(list(number), dtype="str")
            columns[hierarchy.attribute.name] = pd.Categorical.from_codes(codes, released, validate=False)
        return pd.DataFrame(columns)


_MASKING = np.array([1.0, 0.0])


@dataclass(frozen=True, eq=False)
class MaskingSpace(StrategySpace):
    """All combinations of levels of the attributes of a record.

    The utility of a strategy is ``min(1, sum of weight x kept share / total weight)``. If weights are entropies, it is
    the share of information that the record keeps (Wan et al. 2021). Sharing everything has utility 1, even if the
    record's own weights sum to less than the total. So utility never rises if more is masked.

    Parameters
    ----------
    attributes : tuple of str
        Names of the attributes, in the order of the strategy's digits.
    weights : ndarray of float64, shape (n_attributes,) or (n_records, n_attributes)
        Weight of each attribute in the utility, 0 or more; one row per record if weights differ by record.
    n_records : int
        Number of records.
    kept : tuple of ndarray of float64, optional
        For each attribute, the share of its weight kept at each level: from 1 (shared), never rising, to 0 (masked).
        (1, 0) by default.
    groups : tuple of tuple of ndarray of int, optional
        For each attribute, and each of its levels between shared and masked, the group of each value 0, 1, ...; none
        by default.
    total_weight : float, optional
        Weight of utility 1; the mean over records of the sum of weights by default. If weights differ by record, the
        sum of a record may be larger, and its utility is 1.
    focus : frozenset of str, optional
        Attributes that the adversary uses; names outside the space are ignored. Only these have successors. Sharing an
        unused attribute brings no attack, costs nothing and has the lower number, so a search that starts from sharing
        everything is exact; without a focus, it visits all combinations of unused attributes.

    Raises
    ------
    InputError
        If all weights are 0, or there are more than 2**62 strategies.
    """

    attributes: tuple[str, ...]
    weights: Floats
    n_records: int
    kept: tuple[Floats, ...] = ()
    groups: tuple[tuple[NDArray[np.int64], ...], ...] = ()
    total_weight: float = 0.0
    focus: frozenset[str] | None = None

    def __post_init__(self) -> None:
        n, weights = len(self.attributes), np.asarray(self.weights, dtype=np.float64)
        kept = tuple(np.asarray(shares, dtype=np.float64) for shares in self.kept or (_MASKING,) * n)
        groups = self.groups or ((),) * n
        total = self.total_weight or float(weights.sum(axis=-1).mean() if weights.size else 0.0)
        vars(self).update(weights=weights, kept=kept, groups=groups, total_weight=total)
        refuse_first(
            (not total > 0, "no attribute has a positive weight", None, total, "a sum of weights above 0"),
            (self.size > MOST_NUMBERED, "too many strategies to number", None, f"{self.size:.1e}", "at most 2**62"),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each attribute."""
        return tuple(len(shares) for shares in self.kept)

    def masking(self, shared: NDArray[np.bool_]) -> Strategies:
        """Return the strategies that share some attributes unchanged and mask the others.

        `shared` is True for attributes to share, shape (..., n_attributes); the result has shape (...).
        """
        return self.number(np.where(shared, 0, np.array(self.shape) - 1))

    def shared(self, strategies: Strategies | int) -> NDArray[np.bool_]:
        """Return whether each strategy shares each attribute unchanged.

        The result has shape (..., n_attributes).
        """
        return np.asarray(self.all_levels(strategies) == 0)

    def generalized(self, attribute: int, level: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the released values of an attribute at a level other than masking.

        Values are unchanged at level 0, and group numbers at the levels above it. `attribute` is a position in
        `attributes`; `values` are numbers from 0, in any shape; the result has the same shape.

        Raises
        ------
        InputError
            If the level's groups do not cover the largest value.
        """
        if level == 0:
            return values
        groups = np.asarray(self.groups[attribute][level - 1])
        if len(values) and values.max() >= len(groups):
            where, found = self.attributes[attribute], int(values.max())
            expected = f"at most {len(groups) - 1}, the largest value in the groups of level {level}"
            raise InputError("value without a group", where=where, found=found, expected=expected)
        return np.asarray(groups[values], dtype=np.int64)

    @property
    def is_nested(self) -> bool:
        """Whether values in one group at a level are in one group at all later levels.

        This must hold for every attribute. It is true if no attribute has two levels between shared and masked.
        """
        for finer, coarser in (pair for maps in self.groups for pair in pairwise(maps)):
            size = min(len(finer), len(coarser))
            pairs = np.unique(np.stack([finer[:size], coarser[:size]]), axis=1)
            if len(np.unique(pairs[0])) < pairs.shape[1]:
                return False
        return True

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute in focus one level further towards masked.

        They are numbers in ascending order. Attributes in focus are the ones that the adversary uses; without a focus,
        all are. A masked attribute has no further level.
        """
        steps = zip(self.attributes[::-1], self.strides[::-1], self.shape[::-1], strict=True)
        return (
            strategy + place
            for name, place, size in steps
            if strategy // place % size + 1 < size and (self.focus is None or name in self.focus)
        )

    def utility(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the utility of a strategy for each record, or each of `rows`, in [0, 1].

        It is the weighted share of information that the record keeps; see `MaskingSpace`. The focus does not affect it.
        """
        n = self.n_records if rows is None else len(rows)
        weights = self.weights if self.weights.ndim == 1 or rows is None else self.weights[rows]
        return np.broadcast_to(self._utility_of(weights, self.all_levels(strategy)), (n,))

    def average_utility(self, strategy: int) -> float:
        """Return the mean utility of a strategy over all records, in [0, 1]."""
        return float(np.mean(self._utility_of(self.weights, self.all_levels(strategy))))

    def describe(self, strategy: int) -> str:
        """Return the names of the attributes that a strategy does not mask.

        Names are separated by spaces. Levels between shared and masked are appended, such as ``"age~1"``; the result is
        "nothing" if all attributes are masked.
        """
        named = [
            name if level == 0 else f"{name}~{level}"
            for name, level, size in zip(self.attributes, self.all_levels(strategy).tolist(), self.shape, strict=True)
            if level < size - 1
        ]
        return " ".join(named) or "nothing"

    def _utility_of(self, weights: Floats, levels: NDArray[np.int64]) -> Floats:
        share = np.stack([shares[levels[..., j]] for j, shares in enumerate(self.kept)], axis=-1)
        everything = (levels == 0).all(axis=-1)
        return np.where(everything, 1.0, np.minimum((weights * share).sum(axis=-1) / self.total_weight, 1.0))


def space_of_all(spaces: Sequence[StrategySpace]) -> StrategySpace:
    """Return the space whose focus is the union of the foci of several spaces with the same attributes.

    The focus are the attributes that the adversary uses; see `MaskingSpace`. If no space has a focus, or they are
    lattices, the first space is returned. If only some spaces have one, the result has no focus.
    """
    focused = [space for space in spaces if isinstance(space, MaskingSpace) and space.focus is not None]
    if not focused:
        return spaces[0]
    union = frozenset(name for space in focused for name in space.focus or ())
    return replace(focused[0], focus=union if len(focused) == len(spaces) else None)


def entropy(values: NDArray[np.generic]) -> float:
    """Return the entropy of a column in natural units; 0 if it has one value.

    It is also 0 without values. In Wan et al. 2021, it is the weight of an attribute in the utility.
    """
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(-(shares * log(shares)).sum())


def minority_weights(
    weights: Floats,
    values: NDArray[np.int64],
    reference: tuple[NDArray[np.int64], ...],
    alpha: float,
    unknown: tuple[int | None, ...] = (),
) -> Floats:
    """Return weights that are larger for rare values (minority support).

    This is the minority support of Wan et al. 2021. The weight of an attribute is multiplied by ``beta ** alpha``,
    ``beta = log2(n / (k c) + 1)``, where c of the n people of a reference population have the record's value, and k
    values occur among them. A value as frequent as the average has beta 1. A negative alpha favours frequent values. As
    c is n at most, beta is above 0, so no weight changes its sign.

    People with an unknown value count in n, but not in k. A value that no person of the reference has counts as if one
    more person had it, ``beta = log2((known + 1) / (k + 1) + 1)``, with ``known`` people whose value is known. Both are
    as in the published code. If a record's value is unknown, or all of the reference, the attribute keeps its weight.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_attributes,)
        Weight of each attribute.
    values : ndarray of int, shape (n_records, n_attributes)
        Values of the records.
    reference : tuple of ndarray of int
        Values of the reference population, one array per attribute.
    alpha : float
        Degree of support: 0 for none, above 0 for rare values, below 0 for frequent values.
    unknown : tuple of int or None, optional
        For each attribute, the number that denotes an unknown value, or None if all values are known; default: None for
        all attributes.

    Returns
    -------
    ndarray of float64, shape (n_records, n_attributes)
        Weight of each attribute for each record.

    Raises
    ------
    InputError
        If alpha is not finite, or so large that a weight is not finite.
    """
    if not np.isfinite(alpha):
        raise InputError("degree of minority support out of range", found=alpha, expected="a finite number")
    factors = np.ones(values.shape)
    for j, (column, missing) in enumerate(zip(reference, unknown or (None,) * len(reference), strict=True)):
        known = column if missing is None else column[column != missing]
        found, counts = np.unique(known, return_counts=True)
        if len(found):
            place = np.minimum(np.searchsorted(found, values[:, j]), len(found) - 1)
            seen = found[place] == values[:, j]
            average = np.where(seen, len(column) / len(found), (len(known) + 1) / (len(found) + 1))
            factors[:, j] = log2(average / np.where(seen, counts[place], 1) + 1.0)
        if missing is not None:
            factors[values[:, j] == missing, j] = 1.0
    with np.errstate(over="ignore"):
        adjusted = np.where(weights > 0, weights * factors**alpha, 0.0)
    if not np.isfinite(adjusted).all():
        expected = "a number closer to 0, so that weights stay finite"
        raise InputError("degree of minority support out of range", found=alpha, expected=expected)
    return adjusted

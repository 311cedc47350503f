"""Sharing or masking of each attribute: the strategies of the masking game.

Follows Wan et al. 2021. An attribute may also have levels between shared and masked, such as age in groups of ten
years; masking is its last level. The number of a strategy reads its levels as digits, the first attribute the most
significant. So strategy 0 shares everything, and with masking alone the bits of the number are the masked attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_first
from reidsim.core.numerics import log, log2
from reidsim.releases.lattice import MOST_NUMBERED, Floats, Rows, Strategies, StrategySpace

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
        kept, groups = self.kept or (_MASKING,) * n, self.groups or ((),) * n
        total = self.total_weight or float(weights.sum(axis=-1).mean() if weights.size else 0.0)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "kept", tuple(np.asarray(shares, dtype=np.float64) for shares in kept))
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "total_weight", total)
        many = "too many strategies to number"
        refuse_first(
            (not total > 0, "no attribute has a positive weight", None, total, "a sum of weights above 0"),
            (self.size > MOST_NUMBERED, many, None, f"{self.size:.1e}", "at most 2**62"),
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
        `attributes`; `values` are numbers from 0, in any shape, which the result has too.

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
        """Return the names of attributes that a strategy does not mask, with spaces.

        Levels between shared and masked are appended, such as ``"age~1"``; the result is "nothing" if all are masked.
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

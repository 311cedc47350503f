"""Generalizations of tables of cases, worth the mutual information of original and released values; tables drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population
from reidsim.portable_math import log
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats


@dataclass(frozen=True, eq=False)
class PeriodLattice(GeneralizationLattice):
    """The lattice of the distinct cases of each period's table; rows of a period are neighbours.

    A released value is a function of the original one, so their mutual information is the entropy of the released
    values. Normalised it is ``2 H(Y) / (H(X) + H(Y))`` of an attribute's original values X and released values Y in the
    table, 1 where all X are equal, and 0 where Y has one value whatever X is. Utility is its mean over attributes,
    weighted by the entropy of each among all cases (Gourabathina et al. 2023, as their program has it).

    Parameters
    ----------
    period : ndarray of int64, shape (n_rows,)
        Ascending, from 0 without gaps.
    counts : ndarray of int64, shape (n_rows,)
        Cases of each row.
    attribute_weights : ndarray of float64, shape (n_attributes,)
        Of the attributes in the utility; they sum to 1.
    """

    period: NDArray[np.int64] = field(kw_only=True)
    counts: NDArray[np.int64] = field(kw_only=True)
    attribute_weights: Floats = field(kw_only=True)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each period, and one more: rows of period t are from ``starts[t]`` on, (n_periods + 1,)."""
        return np.searchsorted(self.period, np.arange(int(self.period[-1]) + 2))

    @cached_property
    def information(self) -> tuple[Floats, ...]:
        """Normalised mutual information by attribute, level and period, shape (n_levels, n_periods) each."""
        found = []
        for position, hierarchy in enumerate(self.hierarchies):
            entropy = np.stack(
                [self._entropy(groups[self.codes[:, position]], int(groups.max()) + 1) for groups in hierarchy.groups]
            )
            both = entropy + entropy[0]
            shares = np.divide(2 * entropy, both, out=np.ones_like(entropy), where=both > 0)
            # What is the same for everybody tells nothing, also where everybody is the same.
            told = np.array(hierarchy.n_groups) > 1
            told[0] = True
            found.append(np.where(told[:, None], np.minimum(shares, 1.0), 0.0))
        return tuple(found)

    def _entropy(self, values: NDArray[np.int32], n_values: int) -> Floats:
        n_periods = len(self.starts) - 1
        cells = np.bincount(self.period * n_values + values, weights=self.counts, minlength=n_periods * n_values)
        return entropy(cells.reshape(n_periods, n_values))

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Utility lost of every row by attribute and level, shape (n_levels, n_rows) each."""
        return tuple(
            np.ascontiguousarray((weight * (1.0 - shares))[:, self.period])
            for weight, shares in zip(self.attribute_weights, self.information, strict=True)
        )

    def utilities(self, period: int) -> Floats:
        """Return the utility of every strategy in a period, shape (n_strategies,)."""
        levels, lost = self.all_levels(np.arange(self.size)), np.zeros(self.size)
        for position, (weight, shares) in enumerate(zip(self.attribute_weights, self.information, strict=True)):
            lost += weight * (1.0 - shares[levels[:, position], period])
        return 1.0 - lost

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Cases of each period's table, shape (n_periods,)."""
        return np.add.reduceat(self.counts, self.starts[:-1])


@numba.njit(cache=True)
def class_sizes(
    starts: NDArray[np.int64], group: NDArray[np.int32], counts: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    """Return how many cases of its table are in the group of each row, itself included, shape (n_rows,).

    Parameters
    ----------
    starts : ndarray of int64, shape (n_tables + 1,)
        First row of each table, whose rows are neighbours, and the number of rows.
    group : ndarray of int32, shape (n_rows,)
        Below `n_groups`.
    counts : ndarray of int64, shape (n_rows,)
        Cases of each row.
    n_groups : int
    """
    sizes = np.empty(len(group), dtype=np.int64)
    total = np.zeros(n_groups, dtype=np.int64)
    for table in range(len(starts) - 1):
        for row in range(starts[table], starts[table + 1]):
            total[group[row]] += counts[row]
        for row in range(starts[table], starts[table + 1]):
            sizes[row] = total[group[row]]
        # Of many groups a table may hold few.
        for row in range(starts[table], starts[table + 1]):
            total[group[row]] = 0
    return sizes


def entropy(counts: NDArray[np.number]) -> Floats:
    """Return the entropy of each row of counts (n, n_values) in natural units, shape (n,); 0 of a row of zeros."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = log(np.where(shares > 0, shares, 1.0))
    return np.asarray(np.maximum(-(shares * logs).sum(axis=1), 0.0))


# Tables that are looked at before the next are.
_AT_ONCE = 16
_ALL, _ROUNDING = slice(None), 1e-9


def share_below(sizes: NDArray[np.int64], weights: NDArray[np.int64], k: int) -> float:
    """Return PK: the share of records whose class has fewer than `k` records; 0 of no records.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_rows,)
        Of the class of each row's records.
    weights : ndarray of int64, shape (n_rows,)
        Records of each row.
    k : int
    """
    total = weights.sum()
    return float(weights[sizes < k].sum() / total) if total else 0.0


class SimulatedTables:
    """Tables of different people, every set of people being equally likely; smaller ones are parts of larger ones.

    Parameters
    ----------
    population : Population
        Over the attributes of the lattice, in whole people.
    lattice : GeneralizationLattice
    size : int
        Most records of a table.
    simulations : int
        Tables drawn.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        population: Population,
        lattice: GeneralizationLattice,
        size: int,
        simulations: int,
        rng: np.random.Generator,
    ) -> None:
        ends = np.cumsum(population.counts)
        people = np.stack([rng.choice(int(ends[-1]), size, replace=False) for _ in range(simulations)])
        cells = np.searchsorted(ends, people, side="right")
        # Only those who are in a table are told apart, of a population that may be much larger.
        occupied = np.zeros(len(ends), dtype=np.bool_)
        occupied[cells] = True
        self._cells = (np.cumsum(occupied) - 1)[cells].astype(np.int32)
        here = Population(population.domain, population.cells[occupied], population.counts[occupied])
        self._groups = GroupSizes(here, GeneralizationLattice(lattice.hierarchies, here.cells))

    def keep(self, strategy: int, size: int, k: int, threshold: float, quantile: float) -> bool:
        """Tell whether PK of tables of `size` records stays within the threshold, up to a quantile of the tables.

        The quantile is the least PK that so many of the tables do not exceed; where too many do, the others are left.
        """
        simulations = len(self._cells)
        left = simulations - 1 - math.ceil(quantile * (simulations - 1) - _ROUNDING)
        for first in range(0, simulations, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            left -= int((self.shares_below(strategy, size, k, some) > threshold).sum())
            if left < 0:
                return False
        return True

    def shares_below(self, strategy: int, size: int, k: int, some: slice = _ALL) -> Floats:
        """Return PK of each table, or some, of `size` records that is generalized as `strategy`, (n_simulations,)."""
        cells, classes = self._cells[some, :size], self._groups.table(strategy)
        starts, n = np.arange(len(cells) + 1) * size, cells.size
        sizes = class_sizes(starts, classes.group_of[cells.ravel()], np.ones(n, dtype=np.int64), len(classes.keys))
        return np.asarray((sizes < k).reshape(cells.shape).sum(axis=1) / size)

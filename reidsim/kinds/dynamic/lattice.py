"""Generalize tables of cases and measure their utility; simulate tables.

Utility is the normalized mutual information of original and released values.
"""

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
    """The generalizations of the tables of cases, and their utility.

    A row stands for the equal cases of one period's table; the rows of a period are contiguous.

    A released value is a function of the original value, so their mutual information is the entropy of the released
    values. Its normalized form is ``2 H(Y) / (H(X) + H(Y))`` for an attribute's original values X and released values Y
    in the table. It is 0 at a level above 0 that maps every value of the domain to one group; otherwise it is 1 if all
    X are equal. Utility is its mean over attributes, weighted by the entropy of each attribute among all cases
    (Gourabathina et al. 2023, following their program).

    Parameters
    ----------
    period : ndarray of int64, shape (n_rows,)
        Period of each row; ascending, from 0 without gaps.
    counts : ndarray of int64, shape (n_rows,)
        Number of cases of each row.
    attribute_weights : ndarray of float64, shape (n_attributes,)
        Weights of the attributes in the utility; they sum to 1.
    """

    period: NDArray[np.int64] = field(kw_only=True)
    counts: NDArray[np.int64] = field(kw_only=True)
    attribute_weights: Floats = field(kw_only=True)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each period, and the number of rows, shape (n_periods + 1,)."""
        return np.searchsorted(self.period, np.arange(int(self.period[-1]) + 2))

    @cached_property
    def information(self) -> tuple[Floats, ...]:
        """Normalized mutual information: per attribute, shape (n_levels, n_periods)."""
        found = []
        for position, hierarchy in enumerate(self.hierarchies):
            entropy = np.stack(
                [self._entropy(groups[self.codes[:, position]], int(groups.max()) + 1) for groups in hierarchy.groups]
            )
            both = entropy + entropy[0]
            shares = np.divide(2 * entropy, both, out=np.ones_like(entropy), where=both > 0)
            # Levels above 0 with one group carry no information, even if all original values in the table are equal.
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
        """Utility loss of each row at each level, by attribute, shape (n_levels, n_rows).

        It is the attribute's weight times (1 - information), equal for all rows of a period.
        """
        return tuple(
            np.ascontiguousarray((weight * (1.0 - shares))[:, self.period])
            for weight, shares in zip(self.attribute_weights, self.information, strict=True)
        )

    def utilities(self, period: int) -> Floats:
        """Return the utility of every strategy for a period's table, (n_strategies,)."""
        levels, lost = self.all_levels(np.arange(self.size)), np.zeros(self.size)
        for position, (weight, shares) in enumerate(zip(self.attribute_weights, self.information, strict=True)):
            lost += weight * (1.0 - shares[levels[:, position], period])
        return 1.0 - lost

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of cases of each period's table, shape (n_periods,)."""
        return np.add.reduceat(self.counts, self.starts[:-1])


@numba.njit(cache=True)
def class_sizes(
    starts: NDArray[np.int64], group: NDArray[np.int32], counts: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    """Return the number of cases in each row's group within its table, (n_rows,).

    The cases of the row itself are included.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_tables + 1,)
        First row of each table (its rows are contiguous), and the number of rows.
    group : ndarray of int32, shape (n_rows,)
        Group of each row, from 0 and below `n_groups`: rows of a group have equal released values.
    counts : ndarray of int64, shape (n_rows,)
        Number of cases of each row.
    n_groups : int
    """
    sizes = np.empty(len(group), dtype=np.int64)
    total = np.zeros(n_groups, dtype=np.int64)
    for table in range(len(starts) - 1):
        for row in range(starts[table], starts[table + 1]):
            total[group[row]] += counts[row]
        for row in range(starts[table], starts[table + 1]):
            sizes[row] = total[group[row]]
        # Reset only groups of this table: a table may contain few of many groups.
        for row in range(starts[table], starts[table + 1]):
            total[group[row]] = 0
    return sizes


def entropy(counts: NDArray[np.number]) -> Floats:
    """Return the entropy of each row of counts, in nats, shape (n,).

    Parameters
    ----------
    counts : ndarray, shape (n, n_values)
        A row of zeros has entropy 0.
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = log(np.where(shares > 0, shares, 1.0))
    return np.asarray(np.maximum(-(shares * logs).sum(axis=1), 0.0))


# Number of simulated tables evaluated per call: larger batches need fewer calls, but more memory, and a search that
# stops early has then evaluated more tables than necessary.
_AT_ONCE = 16
_ALL, _ROUNDING = slice(None), 1e-9


def share_below(sizes: NDArray[np.int64], weights: NDArray[np.int64], k: int) -> float:
    """Return PK, the share of records in equivalence classes of under `k` records.

    It is 0 for a table without records.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_rows,)
        Size of the class of each row's records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    k : int
    """
    total = weights.sum()
    return float(weights[sizes < k].sum() / total) if total else 0.0


class SimulatedTables:
    """Random tables of distinct people of a population.

    Every set of people is equally likely. Tables of smaller sizes are subsets of the tables of the largest size.

    Parameters
    ----------
    population : Population
        Whole people, by the attributes of the lattice.
    lattice : GeneralizationLattice
    size : int
        Largest number of records of a table.
    simulations : int
        Number of simulated tables.
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
        # The population may be much larger than all tables together; keep only cells that occur in a table.
        occupied = np.zeros(len(ends), dtype=np.bool_)
        occupied[cells] = True
        self._cells = (np.cumsum(occupied) - 1)[cells].astype(np.int32)
        here = Population(population.domain, population.cells[occupied], population.counts[occupied])
        self._groups = GroupSizes(here, GeneralizationLattice(lattice.hierarchies, here.cells))

    def keep(self, strategy: int, size: int, k: int, threshold: float, quantile: float) -> bool:
        """Return whether a quantile of PK over the simulated tables is within a threshold.

        PK is the share of a table's records in equivalence classes of fewer than `k` records. The quantile is the PK at
        position ``quantile * (n_simulations - 1)``, rounded up, of the PKs in ascending order, counted from 0.

        Parameters
        ----------
        strategy : int
            Generalization of all tables.
        size : int
            Number of records of each table, at most the largest size.
        k : int
        threshold : float
            Largest permitted PK.
        quantile : float
            Share of the tables, from 0 to 1.
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
        """Return PK of simulated tables of `size` records, shape (n_simulations,).

        For PK, see `share_below`. With `some`, return PK of only these tables.
        """
        cells, classes = self._cells[some, :size], self._groups.table(strategy)
        starts, n = np.arange(len(cells) + 1) * size, cells.size
        sizes = class_sizes(starts, classes.group_of[cells.ravel()], np.ones(n, dtype=np.int64), len(classes.keys))
        return np.asarray((sizes < k).reshape(cells.shape).sum(axis=1) / size)

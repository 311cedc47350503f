"""Generalize tables of cases and measure their utility; simulate tables.

Utility is the normalized mutual information of original and released values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import log
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PeriodLattice(GeneralizationLattice):
    """Generalizations of tables of cases, and their utility.

    A row represents all equal cases in the table of one period. Rows of the same period are adjacent.

    A released value is a function of the original value, so their mutual information is the entropy of the released
    values. Its normalized form is ``2 H(Y) / (H(X) + H(Y))`` for an attribute's original values X and released values Y
    in the table. It is 0 at a level above 0 that maps every value of the domain to one group; otherwise, it is 1 if X
    has one value in the table. The utility of a generalization for a table is the mean of the normalized mutual
    information over attributes, weighted by the entropy of each attribute among all cases (Gourabathina et al. 2023,
    following their program).

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
        """First row of each period's table, and the number of rows; (n_periods + 1,)."""
        return np.searchsorted(self.period, np.arange(int(self.period[-1]) + 2))

    @property
    def tables(self) -> list[slice]:
        """Rows of each period's table, as one slice per period."""
        return [slice(start, end) for start, end in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of cases of each period's table, shape (n_periods,)."""
        return np.add.reduceat(self.counts, self.starts[:-1])

    @cached_property
    def lost(self) -> tuple[Floats, ...]:
        """Utility loss by attribute: one array per attribute, shape (n_levels, n_periods).

        An element is the attribute's weight times (1 - normalized mutual information) at a level of the attribute, in
        the table of a period; see `PeriodLattice`.
        """
        n_periods, found = len(self.starts) - 1, []
        for position, (weight, hierarchy) in enumerate(zip(self.attribute_weights, self.hierarchies, strict=True)):
            levels = []
            for groups in hierarchy.groups:
                size = int(groups.max()) + 1
                cell = self.period * size + groups[self.codes[:, position]]
                cells = np.bincount(cell, weights=self.counts, minlength=n_periods * size)
                levels.append(entropy(cells.reshape(n_periods, size)))
            released = np.stack(levels)
            both = released + released[0]
            shares = np.divide(2 * released, both, out=np.ones_like(released), where=both > 0)
            # Levels above 0 with one group carry no information, even if all original values in the table are equal.
            told = np.array(hierarchy.n_groups) > 1
            told[0] = True
            found.append(weight * (1.0 - np.where(told[:, None], np.minimum(shares, 1.0), 0.0)))
        return tuple(found)

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Utility loss of each row: one array per attribute, shape (n_levels, n_rows).

        The loss at a level is the attribute's share of the loss of the whole table (see `lost`), and therefore equal
        for all rows of a period.
        """
        return tuple(np.ascontiguousarray(lost[:, self.period]) for lost in self.lost)

    def utilities(self, period: int) -> Floats:
        """Return the utility of every generalization for one table, shape (n_strategies,).

        A utility is in [0, 1]; strategy 0, no generalization, has utility 1.

        Parameters
        ----------
        period : int
            Number of the period of the table, from 0.
        """
        lost = np.zeros(self.size)
        for by_level, level in zip(self.lost, self.all_levels(np.arange(self.size)).T, strict=True):
            lost += by_level[level, period]
        return 1.0 - lost


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


def share_below(sizes: NDArray[np.int64], weights: NDArray[np.int64], k: int) -> float:
    """Return PK, the share of records in classes of fewer than `k` records.

    Classes are the equivalence classes of a released table. The share is in [0, 1], and 0 for a table without records.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_rows,)
        Number of records in the equivalence class of each row.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    k : int
    """
    total = weights.sum()
    return float(weights[sizes < k].sum() / total) if total else 0.0


class SimulatedTables:
    """Random tables of distinct people, drawn from a population.

    Every set of people is equally likely. The table of a smaller size consists of the first people of the table of the
    largest size.

    Parameters
    ----------
    population : Population
        Whole people, over the attributes of the lattice.
    lattice : GeneralizationLattice
        Its hierarchies define the generalizations; its records are not used.
    size : int
        Largest number of records of a table.
    simulations : int
        Number of simulated tables.
    rng : numpy.random.Generator
        Draws the tables.
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
        # The population may be much larger than all tables together; keep only cells that occur in a table.
        occupied, cells = np.unique(np.searchsorted(ends, people, side="right"), return_inverse=True)
        self._cells = cells.reshape(people.shape).astype(np.int32)
        here = Population(population.domain, population.cells[occupied], population.counts[occupied])
        self._groups = GroupSizes(here, GeneralizationLattice(lattice.hierarchies, here.cells))

    def keep(self, strategy: int, size: int, k: int, threshold: float, quantile: float) -> bool:
        """Return whether a quantile of PK over simulated tables is at most a threshold.

        PK is the share of a table's records in equivalence classes of fewer than `k` records, at the given
        generalization. The quantile is the PK at position ``quantile * (n_simulations - 1)``, rounded up, of the PKs in
        ascending order, counted from 0.

        Parameters
        ----------
        strategy : int
            Number of the generalization of all tables.
        size : int
            Number of records of each table, at most the largest size.
        k : int
        threshold : float
            Largest permitted PK.
        quantile : float
            Order of the quantile, from 0 to 1.
        """
        last = len(self._cells) - 1
        left = last - math.ceil(quantile * last - _ROUNDING)
        for share in self.shares_below(strategy, size, k):
            left -= share > threshold
            if left < 0:
                return False
        return True

    def shares_below(self, strategy: int, size: int, k: int) -> Iterator[float]:
        """Yield PK, in [0, 1], of each simulated table in turn; see `share_below`.

        Parameters
        ----------
        strategy : int
            Number of the generalization of all tables.
        size : int
            Number of records of each table, at most the largest size.
        k : int
            Smallest size of an equivalence class whose records do not count.
        """
        group_of = self._groups.table(strategy).group_of
        for cells in self._cells[:, :size]:
            # Each class of n records contributes n to the records in classes of that size.
            classes = np.bincount(group_of[cells])
            yield share_below(classes, classes, k)

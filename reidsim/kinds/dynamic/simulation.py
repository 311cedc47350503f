"""How many records of a table to come may stand out: tables of people drawn from the population (Brown et al. 2022)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.domain import mixed_radix_keys
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

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
        self._codes = population.cells[np.searchsorted(ends, people, side="right")]
        self._lattice = lattice

    def keep(self, strategy: int, size: int, k: int, threshold: float, quantile: float) -> bool:
        """Tell whether PK of tables of `size` records stays within the threshold, up to a quantile of the tables.

        The quantile is the least PK that so many of the tables do not exceed; where too many do, the others are left.
        """
        simulations = len(self._codes)
        left = simulations - 1 - math.ceil(quantile * (simulations - 1) - _ROUNDING)
        for first in range(0, simulations, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            left -= int((self.shares_below(strategy, size, k, some) > threshold).sum())
            if left < 0:
                return False
        return True

    def shares_below(self, strategy: int, size: int, k: int, some: slice = _ALL) -> Floats:
        """Return PK of each table, or some, of `size` records that is generalized as `strategy`, (n_simulations,)."""
        codes = self._codes[some, :size]
        simulations = len(codes)
        of_table = np.repeat(np.arange(simulations), size)
        columns, radices = [of_table], [simulations]
        hierarchies = self._lattice.hierarchies
        for position, (hierarchy, level) in enumerate(zip(hierarchies, self._lattice.levels(strategy), strict=True)):
            columns.append(hierarchy.groups[level][codes[:, :, position].ravel()])
            radices.append(hierarchy.n_groups[level])
        keys = mixed_radix_keys(np.column_stack(columns), radices, where="publisher.simulations")
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return np.bincount(of_table, weights=counts[inverse] < k, minlength=simulations) / size

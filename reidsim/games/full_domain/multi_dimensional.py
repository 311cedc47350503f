"""Multi-dimensional global recoding: each region of the domain has its own node.

A recoding starts from the whole domain at the top node and repeatedly splits regions, each time one attribute by one
level of its hierarchy (as Mondrian does: LeFevre et al. 2006, Mondrian Multidimensional K-Anonymity, ICDE). A region is
a class of some node. So equal records are released equally, every record of a region is released at the region's node,
and no record outside the region falls into its class: class sizes at the node equal class sizes in the release.

If all regions are split down to the same node, the recoding is a full-domain generalization. In record-level
generalization, each record chooses its own node without binding other records. The payout of multi-dimensional
recoding lies between the payouts of these two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import Ints
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame, Visit
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Floats, Strategies

Levels = tuple[int, ...]
# Marks a class that is not split.
_WHOLE = -1
# Limit on the bytes of classes held at a time.
_MEMORY_LIMIT = 2 * 2**30


@dataclass(frozen=True, eq=False)
class MultiDimensional:
    """A solution: the region of each cell at one parameter point.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        The node of the cell's region; -1 where its records are suppressed.
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region, whether its records are suppressed or not.
    payout : float
        Publisher's payoff over all records, in currency units; 0 if no recoding keeps to the suppression limit. Then
        all records are suppressed.
    bound : float
        Upper bound of the payout of any recoding by splits within the suppression limit.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.
    evaluated : int
        Number of nodes computed, over all walks.
    exact : bool
        Whether the payout is proved to be the optimum.
    """

    strategies: Strategies
    regions: Strategies
    payout: float
    bound: float
    best_case: float
    evaluated: int
    exact: bool

    @property
    def gap(self) -> float:
        """Bound on the distance to the optimal payout, as a share of `best_case`.

        It is 0 if the recoding is proved optimal.
        """
        return 0.0 if self.exact or not self.best_case else (self.bound - self.payout) / self.best_case


@dataclass(frozen=True, eq=False)
class Recoding:
    """One recoding, its payout and its number of suppressed records.

    Parameters
    ----------
    regions, strategies : ndarray of int64, shape (n_cells,)
        See `MultiDimensional`.
    payout : float
        Publisher's payoff over all records, in currency units.
    suppressed : int
        Number of suppressed records.
    """

    regions: Strategies
    strategies: Strategies
    payout: float
    suppressed: int

    def value(self, charge: float) -> float:
        """Return the payout minus `charge` for each suppressed record.

        The charge is in currency units.
        """
        return self.payout - charge * self.suppressed


def multi_dimensional(game: FullDomainGame) -> MultiDimensional:
    """Find the recoding with the highest payout within the suppression limit.

    If the best unconstrained recoding suppresses too many records, each suppressed record is charged (a Lagrange
    multiplier). The charge is set so that a recoding within the limit and a recoding beyond it have equal value. This
    is repeated until no recoding has a higher value at the charge. The recoding within the limit is then within `gap`
    of the optimum. The best single node for all records replaces it if its payout is higher.

    Parameters
    ----------
    game : FullDomainGame
        Only its first parameter point is solved.

    Returns
    -------
    MultiDimensional
        Exact if the best unconstrained recoding is within the limit, or the bound equals the payout.

    Raises
    ------
    InputError
        If the best choices of all classes do not fit in 2 GiB of memory.
    """
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    evaluated = 0

    def best(charge: float) -> Recoding:
        nonlocal evaluated
        splits = best_splits(game, charge=charge)
        evaluated += splits.evaluated
        strategies = splits.regions.copy()
        for node in np.unique(splits.regions).tolist():
            here = np.flatnonzero(splits.regions == node)
            strategies[here[~game.kept_at(node)[here]]] = WITHHELD
        suppressed = int(game.released[strategies == WITHHELD].sum())
        return Recoding(splits.regions, strategies, splits.value + charge * suppressed, suppressed)

    def one_node() -> Recoding | None:
        nonlocal evaluated
        solution = search(game)
        evaluated += solution.evaluated
        node = int(solution.nodes[0])
        if node == NO_SOLUTION:
            return None
        regions = np.full(game.lattice.n_records, node, dtype=np.int64)
        strategies = np.where(game.kept_at(node), regions, WITHHELD)
        return Recoding(regions, strategies, float(solution.payout[0]), int(solution.suppressed[0]))

    best_case = float(game.best_case[0])
    found, bound = within_limit(best, one_node, game.n_records, game.most_suppressed, best_case)
    exact = bound <= found.payout + INDIFFERENCE * max(best_case, 1.0)
    bound = max(bound, found.payout)
    return MultiDimensional(found.strategies, found.regions, found.payout, bound, best_case, evaluated, exact)


def within_limit(
    best: Callable[[float], Recoding],
    one_node: Callable[[], Recoding | None],
    n_records: int,
    most_suppressed: int,
    best_case: float,
) -> tuple[Recoding, float]:
    """Return the best recoding found within the suppression limit, and an upper bound.

    See `multi_dimensional` for the method.

    Parameters
    ----------
    best : callable
        Returns the recoding with the highest value at a charge (see `Recoding.value`), ignoring the suppression limit.
    one_node : callable
        Returns the best single node within the suppression limit, or None.
    n_records, most_suppressed : int
        Number of records, and maximum number of suppressed records.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.

    Returns
    -------
    recoding : Recoding
        Suppresses all records, with payout 0, if no recoding is within the limit.
    bound : float
        Upper bound of the payout of any recoding within the limit.
    """
    over = best(0.0)
    if over.suppressed <= most_suppressed:
        return over, over.payout
    # At this charge, releasing one more record is worth more than any loss of payout it can cause.
    kept = best(2 * max(best_case, 1.0))
    if kept.suppressed > most_suppressed:
        return Recoding(kept.regions, np.full_like(kept.regions, WITHHELD), 0.0, n_records), 0.0
    bound = over.payout
    tie = INDIFFERENCE * max(best_case, 1.0)
    while over.suppressed > kept.suppressed:
        charge = (over.payout - kept.payout) / (over.suppressed - kept.suppressed)
        between = best(charge)
        bound = min(bound, between.value(charge) + charge * most_suppressed)
        if between.value(charge) <= over.value(charge) + tie:
            break
        if between.suppressed > most_suppressed:
            over = between
        else:
            kept = between
    alone = one_node()
    return (kept if alone is None or alone.payout <= kept.payout + tie else alone), bound


class Splits(NamedTuple):
    """The best recoding by splits.

    Attributes
    ----------
    regions : ndarray of int64, shape (n_cells,)
        Node of each cell's region, whether its records are suppressed or not.
    value : float
        Publisher's payoff over all records (payout) minus the charge for suppressed records, in currency units.
    evaluated : int
        Number of nodes computed.
    """

    regions: Strategies
    value: float
    evaluated: int


def best_splits(game: FullDomainGame, *, charge: float = 0.0) -> Splits:
    """Find the recoding by splits with the highest value at a charge per suppression.

    The best payout of a class is the larger of its payout as one region and the sum of its parts' best payouts after
    the best split. Nodes are computed from the lowest node up, so that parts are computed before the class. If payouts
    are equal, the class is split if `splits_at_equal_payoff`, along the first such attribute; a class whose records are
    all suppressed is not split.

    Parameters
    ----------
    game : FullDomainGame
        Game at one parameter point; its suppression limit has no effect.
    charge : float
        Amount subtracted for each suppressed record, in currency units.

    Raises
    ------
    InputError
        If the best payouts of all classes do not fit in 2 GiB of memory.
    """
    found, evaluated = _BestSplits(game, charge), 0
    for visit in game.walk():
        found.visit(visit)
        evaluated += 1
    return Splits(found.regions(), found.value, evaluated)


class _BestSplits:
    """Decide whether, and by which attribute, to split each class, from the lowest node up."""

    def __init__(self, game: FullDomainGame, charge: float) -> None:
        self._game = game
        self._charge = charge
        self._roll_up = game.finest[0]
        self._tie = INDIFFERENCE * max(float(game.best_case[0]), 1.0)
        self._top = tuple(levels - 1 for levels in game.lattice.shape)
        # Keys and best payouts of the classes of each node, kept until all nodes just above have been visited.
        self._values: dict[Levels, tuple[Ints, Floats]] = {}
        # The attribute along which each class of a node is split, by key; only nodes with splits are kept.
        self._splits: dict[Levels, NDArray[np.int8]] = {}
        self._bytes = 0
        self.value = 0.0

    def visit(self, visit: Visit) -> None:
        """Decide for each class of a node."""
        here, game = visit.levels, self._game
        keys, class_of, released, payoff, kept = game.payoffs_at(visit)
        nothing = -self._charge * np.bincount(class_of, released, len(keys))
        paid = released * np.where(kept, payoff, -self._charge)
        value = np.asarray(np.bincount(class_of, paid, len(keys)), dtype=np.float64)
        split = np.full(len(keys), _WHOLE, dtype=np.int8)
        for position in range(len(here)):
            if here[position] > game.lowest[position]:
                parts, part_values = self._values[_at(here, position, here[position] - 1)]
                raised = self._roll_up.raised(parts, position, here[position] - 1)
                sums = np.bincount(np.searchsorted(keys, raised), part_values, len(keys))
                # A split replaces another split only if it pays more.
                least = value + np.where((split == _WHOLE) & game.splits_at_equal_payoff, -self._tie, self._tie)
                better = (sums > least) & (sums > nothing + self._tie)
                value[better], split[better] = sums[better], position
        self._values[here] = keys, value
        if (split != _WHOLE).any():
            self._splits[here] = split
        self._account(here, keys)
        if here == self._top:
            self.value = float(value.sum())

    def _account(self, here: Levels, keys: NDArray[np.int64]) -> None:
        """Drop values that no later node needs; raise `InputError` at the memory limit."""
        self._bytes += 17 * len(keys)
        for position in range(len(here)):
            below = _at(here, position, here[position] - 1)
            if below in self._values and self._last_above(below) == here:
                self._bytes -= 16 * len(self._values.pop(below)[0])
        if self._bytes > _MEMORY_LIMIT:
            raise InputError(
                "too many classes for multi-dimensional recoding",
                found=f"more than {self._bytes // 2**20:,} MiB of memory",
                expected=f"at most {_MEMORY_LIMIT // 2**20:,} MiB",
                hint="use fewer quasi-identifiers, or record-level generalization",
            )

    def _last_above(self, below: Levels) -> Levels:
        """Return the node just above that the walk visits last.

        The walk raises attributes with most values first.
        """
        for position in self._roll_up.order:
            if below[position] < self._top[position]:
                return _at(below, position, below[position] + 1)
        return below

    def regions(self) -> Strategies:
        """Return the node of each cell's region, following the splits from the top."""
        lattice = self._game.lattice
        occupied = np.flatnonzero(self._game.released)
        number = np.empty(lattice.n_records, dtype=np.intp)
        regions = np.full(lattice.n_records, lattice.size - 1, dtype=np.int64)
        open_nodes = {self._top: occupied}
        while open_nodes:
            # The highest node first, so that a node is processed only after all its cells have been assigned.
            here = max(open_nodes, key=sum)
            cells = open_nodes.pop(here)
            if here not in self._splits:
                regions[cells] = lattice.index(here)
                continue
            keys = self._roll_up.keys_at(lattice.codes[occupied], here)
            number[occupied] = np.unique(keys, return_inverse=True)[1]
            split = self._splits[here][number[cells]]
            for position in np.unique(split).tolist():
                group = cells[split == position]
                if position == _WHOLE:
                    regions[group] = lattice.index(here)
                    continue
                below = _at(here, position, here[position] - 1)
                open_nodes[below] = np.concatenate([open_nodes.get(below, group[:0]), group])
        return regions


def _at(levels: Levels, position: int, level: int) -> Levels:
    return (*levels[:position], level, *levels[position + 1 :])

"""Recodings with several nodes: in rounds, by region of the domain, and by record.

Local recoding generalizes in rounds, each for the records that earlier rounds suppressed.

Multi-dimensional recoding starts from the whole domain at the top node and repeatedly splits regions, each time one
attribute by one level of its hierarchy (as Mondrian does: LeFevre et al. 2006, Mondrian Multidimensional K-Anonymity,
ICDE). A region is a class of some node. So equal records are released equally, every record of a region is released at
the region's node, and no record outside the region falls into its class: class sizes at the node equal class sizes in
the release. If all regions are split down to the same node, the recoding is a full-domain generalization.

In record-level generalization (Algorithm 2 of Prasser et al. 2017), each record chooses its own node without binding
other records. The payout of multi-dimensional recoding lies between the payouts of full-domain and record-level
generalization.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.games.full_domain.class_table import Ints
from reidsim.games.full_domain.game import (
    NO_SOLUTION,
    PAYOUT,
    SUPPRESSED,
    Followed,
    FullDomainGame,
    Visit,
    record_outcomes,
    utilities_of,
)
from reidsim.games.full_domain.search import FullDomainSolution, search
from reidsim.games.record_game import WITHHELD
from reidsim.releases.lattice import Floats, Rows, Strategies

Levels = tuple[int, ...]
# Marks a class that is not split.
_WHOLE = -1
# Limit on the bytes of classes held at a time.
_MEMORY_LIMIT = 2 * 2**30


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """Result of local recoding: the node of each cell after all rounds.

    A cell is a distinct record.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        Node of each cell; -1 if its records stay suppressed.
    payout : float
        Publisher's payoff over all records, in currency units; 0 if more records would be suppressed than the limit
        allows. Then all are suppressed.
    rounds : tuple of FullDomainSolution
        The solution of each round, for the records that all earlier rounds suppressed.
    """

    strategies: Strategies
    payout: float
    rounds: tuple[FullDomainSolution, ...]


def local_recoding(
    game: FullDomainGame, *, rounds: int = 100, solve: Callable[[FullDomainGame], FullDomainSolution] = search
) -> LocalRecoding:
    """Solve a game in rounds, each for the records that earlier rounds suppressed.

    The rounds end when no node has a payoff above 0 for the records left. Under prosecutor risk, the group size of a
    record in a later round counts only the records of its class that were left for that round, because records released
    earlier are generalized differently and can be distinguished. Under journalist risk, it counts all people in the
    population who generalize to its class, as in every round. Each round may suppress any number of records; the
    suppression limit applies to the records left after the last round. If more are left, all records are suppressed.

    Parameters
    ----------
    game : FullDomainGame
        Game over all records, with the suppression limit.
    rounds : int
        Maximum number of rounds.
    solve : callable
        Returns the solution of the game of a round; the default is exact.

    Returns
    -------
    LocalRecoding
        Not necessarily the best use of several nodes, even if each round is optimal by itself.
    """
    cells = game.lattice.n_records
    strategies = np.full(cells, WITHHELD, dtype=np.int64)
    left = np.flatnonzero(game.released)
    solutions: list[FullDomainSolution] = []
    while len(solutions) < rounds and len(left):
        part = game.among(left)
        solution = solve(part)
        node = solution.node
        if node == NO_SOLUTION or not solution.payout > 0:
            break
        kept = part.kept_at(node)
        strategies[left[kept]] = node
        left = left[~kept]
        solutions.append(solution)
    if game.released[left].sum() > game.most_suppressed:
        return LocalRecoding(np.full(cells, WITHHELD, dtype=np.int64), 0.0, tuple(solutions))
    return LocalRecoding(strategies, float(sum(s.payout for s in solutions)), tuple(solutions))


def sizes_in_rounds(game: FullDomainGame, nodes: Sequence[int], strategies: Strategies) -> Floats:
    """Return the group size of each cell's records in the round that releases them.

    Parameters
    ----------
    game : FullDomainGame
        Determines the risk model, which may differ from the model of the game in which the rounds were chosen.
    nodes : sequence of int
        Node of each round.
    strategies : ndarray of int64, shape (n_cells,)
        Node of each cell; -1 if its records stay suppressed. Suppressed records get their size in the last round.

    Returns
    -------
    ndarray of float64, shape (n_cells,)
        Group sizes, in people; 1 for cells that no round includes, such as cells without records.
    """
    sizes = np.ones(game.lattice.n_records)
    left = np.flatnonzero(game.released)
    for node in nodes:
        if len(left):
            sizes[left] = game.among(left).sizes_at(node)
        left = left[strategies[left] != node]
    return sizes


@dataclass(frozen=True, eq=False)
class Recoding:
    """A multi-dimensional recoding, its payout and its number of suppressed records.

    Parameters
    ----------
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region, whether its records are suppressed or not.
    strategies : ndarray of int64, shape (n_cells,)
        The node of the cell's region; -1 where its records are suppressed.
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
        """Return the total payout minus `charge` times the number of suppressed records.

        Both amounts are in currency units.
        """
        return self.payout - charge * self.suppressed


@dataclass(frozen=True, eq=False)
class MultiDimensional(Recoding):
    """Result of multi-dimensional recoding: the region of each cell (distinct record).

    If no recoding keeps to the suppression limit, all records are suppressed, with payout 0.

    Parameters
    ----------
    bound : float
        Upper bound of the payout of any recoding by splits within the suppression limit.
    exact : bool
        Whether the payout is proved to be the optimum.
    gap : float
        Bound on the distance to the optimal payout, as a share of the payout of ungeneralized records without attacks;
        0 if the recoding is proved optimal.
    evaluated : int
        Number of nodes computed, over all walks.
    """

    bound: float
    exact: bool
    gap: float
    evaluated: int


def multi_dimensional(game: FullDomainGame) -> MultiDimensional:
    """Find the recoding with the highest payout within the suppression limit.

    If the best unconstrained recoding suppresses too many records, each suppressed record is charged (a Lagrange
    multiplier). The charge is set so that a recoding within the limit and a recoding beyond it have equal value. This
    is repeated until no recoding has a higher value at the charge. The recoding within the limit is then within `gap`
    of the optimum. The best single node for all records replaces it if its payout is higher.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the minimum levels and the suppression limit.

    Returns
    -------
    MultiDimensional
        Exact if the best unconstrained recoding is within the limit, or the bound equals the payout.

    Raises
    ------
    InputError
        If the best choices of all classes do not fit in 2 GiB of memory.
    """
    most, best_case, evaluated = game.most_suppressed, game.best_case, 0
    tie = INDIFFERENCE * max(best_case, 1.0)

    def best(charge: float) -> Recoding:
        nonlocal evaluated
        splits = _BestSplits(game, charge)
        for visit in game.walk():
            splits.visit(visit)
            evaluated += 1
        regions = splits.regions()
        strategies = regions.copy()
        for node in np.unique(regions).tolist():
            here = np.flatnonzero(regions == node)
            strategies[here[~game.kept_at(node)[here]]] = WITHHELD
        suppressed = int(game.released[strategies == WITHHELD].sum())
        return Recoding(regions, strategies, splits.value + charge * suppressed, suppressed)

    over = kept = best(0.0)
    bound = over.payout
    if over.suppressed > most:
        # At this charge, releasing one more record is worth more than any loss of payout it can cause.
        kept = best(2 * max(best_case, 1.0))
    if kept.suppressed > most:
        kept, bound = Recoding(kept.regions, np.full_like(kept.regions, WITHHELD), 0.0, game.n_records), 0.0
    elif over.suppressed > most:
        while over.suppressed > kept.suppressed:
            charge = (over.payout - kept.payout) / (over.suppressed - kept.suppressed)
            between = best(charge)
            bound = min(bound, between.value(charge) + charge * most)
            if between.value(charge) <= over.value(charge) + tie:
                break
            over, kept = (between, kept) if between.suppressed > most else (over, between)
        solution = search(game)
        evaluated += solution.evaluated
        node = solution.node
        if node != NO_SOLUTION and solution.payout > kept.payout + tie:
            regions = np.full_like(kept.regions, node)
            strategies = np.where(game.kept_at(node), regions, WITHHELD)
            kept = Recoding(regions, strategies, solution.payout, solution.suppressed)
    exact, bound = bound <= kept.payout + tie, max(bound, kept.payout)
    gap = 0.0 if exact or not best_case else (bound - kept.payout) / best_case
    return MultiDimensional(**vars(kept), bound=bound, exact=exact, gap=gap, evaluated=evaluated)


class _BestSplits:
    """Decide for each class, from the lowest node up, whether and how to split it.

    A split divides a class by one level of one attribute. The best payout of a class is the larger of its payout as one
    region and the sum of its parts' best payouts after the best split, minus a charge for each suppressed record. Parts
    are computed before the class. If payouts are equal, the class is split if `splits_at_equal_payoff`, along the first
    such attribute; a class whose records are all suppressed is not split.

    Parameters
    ----------
    game : FullDomainGame
        Its suppression limit has no effect.
    charge : float
        Amount subtracted for each suppressed record, in currency units.
    """

    def __init__(self, game: FullDomainGame, charge: float) -> None:
        self._game = game
        self._charge = charge
        self._roll_up = game.finest[0]
        self._tie = INDIFFERENCE * max(game.best_case, 1.0)
        self._top = tuple(levels - 1 for levels in game.lattice.shape)
        # Keys and best payouts of the classes of each node, kept until all nodes just above have been visited.
        self._values: dict[Levels, tuple[Ints, Floats]] = {}
        # The attribute along which each class of a node is split, by key; only nodes with splits are kept.
        self._splits: dict[Levels, NDArray[np.int8]] = {}
        self._bytes = 0
        self.value = 0.0

    def visit(self, visit: Visit) -> None:
        """Decide for each class of a node whether, and by which attribute, it is split.

        Nodes must be visited after all nodes that they generalize. At the top node, the best value of the whole domain
        is stored in `value`.

        Raises
        ------
        InputError
            If the best payouts of classes held do not fit in 2 GiB of memory.
        """
        here, game = visit.levels, self._game
        keys, class_of, released, outcomes = game.outcomes_by_row(visit)
        nothing = -self._charge * np.bincount(class_of, released, len(keys))
        paid = released * np.where(outcomes[SUPPRESSED], -self._charge, outcomes[PAYOUT])
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
        """Drop values that no later node needs; count the memory held.

        `here` is the levels of the visited node, and `keys` the keys of its classes.

        Raises
        ------
        InputError
            If the values held take more than 2 GiB.
        """
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
        """Return the levels of the node just above that the walk visits last.

        A node just above has one attribute one level higher than `below`. The walk raises attributes with most values
        first. At the top node, the result is `below` itself.
        """
        for position in self._roll_up.order:
            if below[position] < self._top[position]:
                return _at(below, position, below[position] + 1)
        return below

    def regions(self) -> Strategies:
        """Return the node of each cell's region, following the splits from the top.

        The result has shape (n_cells,); cells without records get the top node.
        """
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


@dataclass(frozen=True, eq=False)
class RecordLevelSolution:
    """The best node of every cell (distinct record); arrays (n_cells,).

    A record without a positive payoff at any node is withheld (strategy -1).

    Parameters
    ----------
    strategies : ndarray of int64
        Node of each cell; -1 if withheld.
    payoff : ndarray of float64
        Publisher's payoff per record, in currency units; 0 if withheld.
    evaluated : int
        Number of nodes computed for at least one cell.
    """

    strategies: Strategies
    payoff: Floats
    evaluated: int


def record_level(game: FullDomainGame) -> RecordLevelSolution:
    """Find each record's best node.

    Group sizes are counted in the whole dataset generalized to the record's node (or in a population); they do not
    depend on other records' choices.

    Nodes above a node whose benefit for a cell, without any attack, does not exceed the cell's best payoff are not
    computed for this cell. Among equal payoffs the first node in lattice order is kept. The suppression limit does not
    apply; the minimum levels do.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the risk model and the minimum levels.

    Returns
    -------
    RecordLevelSolution
        Exact: the best node of every cell, or -1 (withheld) if none pays more than 0.
    """
    cells, kind = game.lattice.n_records, game.cell_kind
    benefit = game.prices.benefit[kind]
    tie = INDIFFERENCE * (benefit + game.prices.loss[kind])
    strategies, payoff = np.full(cells, WITHHELD, dtype=np.int64), np.zeros(cells)

    def wins(node: int, rows: Rows, value: Floats) -> NDArray[np.bool_]:
        ahead = value - payoff[rows]
        return np.asarray((ahead > tie[rows]) | ((ahead >= -tie[rows]) & (node < strategies[rows])))

    def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        keep = wins(node, followed.rows, benefit[followed.rows] * utilities_of(followed.loss))
        rows, group_of, loss = followed
        return Followed(rows[keep], group_of[keep], loss[keep]) if keep.any() else None

    evaluated, everybody = 0, Followed(np.arange(cells), game.finest[2], np.zeros(cells))
    for visit in game.walk(enter, everybody):
        evaluated += 1
        rows, people = visit.followed.rows, visit.table.people[visit.followed.group_of]
        value, suppressed, *_ = record_outcomes(visit.followed.loss, people, game.terms, kind[rows])
        better = (suppressed == 0) & wins(visit.node, rows, value)
        payoff[rows[better]], strategies[rows[better]] = value[better], visit.node
    return RecordLevelSolution(strategies, payoff, evaluated)

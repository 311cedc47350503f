"""Record-level generalization with the class sizes of a dataset: each record goes to its own best node.

Prasser et al. 2017, Algorithm 2, for all records in one walk over the lattice. Group sizes are those of the whole
dataset generalized like the record (or of a population), whatever becomes of the other records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.node_payoffs import record_payoff, utility_of
from reidsim.games.full_domain.prices import FourArrays
from reidsim.games.full_domain.walk import Followed, walk
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Floats, Rows, Strategies


@dataclass(frozen=True, eq=False)
class RecordLevelSolution:
    """The best node of every cell at each parameter point; arrays of shape (n_points, n_cells).

    A record that pays nothing at any node is withheld (strategy -1).

    Parameters
    ----------
    strategies : ndarray of int64
    payoff : ndarray of float64
        Publisher's payoff per record; 0 when withheld.
    sizes : ndarray of float64
        Among how many people the record hides; 1 when withheld.
    evaluated : int
        Nodes that were computed for at least one cell.
    """

    strategies: Strategies
    payoff: Floats
    sizes: Floats
    evaluated: int


class _BestNodeOfEachCell:
    """A visitor that keeps the best node of each cell and follows the cells that can still find a better one."""

    def __init__(self, game: FullDomainGame) -> None:
        shape = (game.prices.n_points, game.lattice.n_records)
        self._prices = game.prices
        self._kind = game.cell_kind
        self._rule = game.rule
        self._allowance = INDIFFERENCE * (game.prices.benefit + game.prices.loss)
        self.strategies = np.full(shape, WITHHELD, dtype=np.int64)
        self.payoff = np.zeros(shape)
        self.sizes = np.ones(shape)

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        keep = _can_improve(
            followed.rows, followed.loss, self._kind, self._prices.benefit, self._allowance, node, self.payoff,
            self.strategies,
        )  # fmt: skip
        return followed.take(keep) if keep.any() else None

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        _improve(
            followed.rows, followed.loss, table.people, followed.group_of, self._kind, self._prices.arrays,
            self._allowance, self._rule, node, self.payoff, self.strategies, self.sizes,
        )  # fmt: skip


def record_level(game: FullDomainGame) -> RecordLevelSolution:
    """Find each record's best node at every parameter point of a game.

    A cell is not followed beneath a node whose benefit, without any attack, is no more than its best payoff: nothing
    there can pay more. Among equal payoffs the first node in lattice order is kept. The suppression limit does not
    apply; the minimum levels do.

    Returns
    -------
    RecordLevelSolution
        Exact.
    """
    visitor = _BestNodeOfEachCell(game)
    roll_up, finest, group_of = game.finest
    cells = game.lattice.n_records
    everybody = Followed(np.arange(cells), group_of, np.zeros(cells))
    evaluated = walk(roll_up, finest, visitor, followed=everybody, start=game.lowest)
    return RecordLevelSolution(visitor.strategies, visitor.payoff, visitor.sizes, evaluated)


@numba.njit(cache=True)
def _can_improve(
    rows: Rows,
    loss: Floats,
    kind: NDArray[np.int64],
    benefit: Floats,
    allowance: Floats,
    node: int,
    payoff: Floats,
    strategies: Strategies,
) -> NDArray[np.bool_]:
    """Tell for which rows the node, or one that generalizes it, can be better at some point."""
    keep = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        row = rows[i]
        utility = utility_of(loss[i])
        for point in range(len(benefit)):
            tie = allowance[point, kind[row]]
            ahead = benefit[point, kind[row]] * utility - payoff[point, row]
            if ahead > tie or (ahead >= -tie and node < strategies[point, row]):
                keep[i] = True
                break
    return keep


@numba.njit(cache=True)
def _improve(
    rows: Rows,
    loss: Floats,
    people: Floats,
    group_of: NDArray[np.int32],
    kind: NDArray[np.int64],
    prices: FourArrays,
    allowance: Floats,
    rule: int,
    node: int,
    payoff: Floats,
    strategies: Strategies,
    sizes: Floats,
) -> None:
    """Move to the node the rows and points for which it is better."""
    benefit, harm, gain, cost = prices
    for i in range(len(rows)):
        row, size = rows[i], people[group_of[i]]
        of = kind[row]
        for point in range(len(benefit)):
            value, _, kept = record_payoff(
                loss[i], size, benefit[point, of], harm[point, of], gain[point, of], cost[point, of], rule
            )
            ahead, tie = value - payoff[point, row], allowance[point, of]
            if kept and (ahead > tie or (ahead >= -tie and node < strategies[point, row])):
                payoff[point, row] = value
                strategies[point, row] = node
                sizes[point, row] = max(size, 1.0)

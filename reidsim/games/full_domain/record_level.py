"""Record-level generalization with the class sizes of a dataset.

Each record is generalized to its own best node.

This is Algorithm 2 of Prasser et al. 2017, for all records in one walk over the lattice. Group sizes are counted in the
whole dataset generalized to the record's node (or in a population); they do not depend on other records' choices.
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
from reidsim.games.full_domain.node_payoffs import Terms, record_payoff, utility_of
from reidsim.games.full_domain.walk import Followed, walk
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Floats, Rows, Strategies


@dataclass(frozen=True, eq=False)
class RecordLevelSolution:
    """The best node of every cell at each parameter point; arrays (n_points, n_cells).

    A record without a positive payoff at any node is withheld (strategy -1).

    Parameters
    ----------
    strategies : ndarray of int64
        Node of each cell; -1 if withheld.
    payoff : ndarray of float64
        Publisher's payoff per record, in currency units; 0 if withheld.
    sizes : ndarray of float64
        Group size of the record at its node, in people; 1 if withheld.
    evaluated : int
        Number of nodes computed for at least one cell.
    """

    strategies: Strategies
    payoff: Floats
    sizes: Floats
    evaluated: int


class _BestNodeOfEachCell:
    """A `Visitor` that keeps the best node of each cell.

    It follows only cells for which a better node is still possible.
    """

    def __init__(self, game: FullDomainGame) -> None:
        shape = (game.prices.n_points, game.lattice.n_records)
        self._kind = game.cell_kind
        self._terms = game.terms
        self._tie = INDIFFERENCE * (game.prices.benefit + game.prices.loss)
        self.strategies = np.full(shape, WITHHELD, dtype=np.int64)
        self.payoff = np.zeros(shape)
        self.sizes = np.ones(shape)

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        benefit, best = self._terms.benefit, (self.payoff, self.strategies)
        keep = _can_improve(followed.rows, followed.loss, self._kind, benefit, self._tie, node, *best)
        return followed.take(keep) if keep.any() else None

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        people, best = table.people[followed.group_of], (self.payoff, self.strategies, self.sizes)
        _improve(followed.rows, followed.loss, people, self._kind, self._terms, self._tie, node, *best)


def record_level(game: FullDomainGame) -> RecordLevelSolution:
    """Find each record's best node at every parameter point of a game.

    Nodes above a node whose benefit for a cell, without any attack, does not exceed the cell's best payoff are not
    computed for this cell. Among equal payoffs the first node in lattice order is kept. The suppression limit does not
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
def _wins(payoff: float, best: float, tie: float, node: int, strategy: int) -> bool:
    return payoff - best > tie or (payoff - best >= -tie and node < strategy)


@numba.njit(cache=True)
def _can_improve(
    rows: Rows,
    loss: Floats,
    kind: NDArray[np.int64],
    benefit: Floats,
    tie: Floats,
    node: int,
    payoff: Floats,
    strategies: Strategies,
) -> NDArray[np.bool_]:
    """Return for which rows the node or a generalization may be better at any point.

    `loss` has shape (n_rows,), `payoff` and `strategies` (n_points, n_cells), and `benefit` and `tie` (n_points,
    n_kinds).
    """
    keep = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        row, of, utility = rows[i], kind[rows[i]], utility_of(loss[i])
        for point in range(len(benefit)):
            most = benefit[point, of] * utility
            if _wins(most, payoff[point, row], tie[point, of], node, strategies[point, row]):
                keep[i] = True
                break
    return keep


@numba.njit(cache=True)
def _improve(
    rows: Rows,
    loss: Floats,
    people: Floats,
    kind: NDArray[np.int64],
    terms: Terms,
    tie: Floats,
    node: int,
    payoff: Floats,
    strategies: Strategies,
    sizes: Floats,
) -> None:
    """Replace the best node of rows at the points at which this node is better."""
    for i in range(len(rows)):
        row, of = rows[i], kind[rows[i]]
        for point in range(len(payoff)):
            value, _, kept = record_payoff(loss[i], people[i], terms, point, of)
            if kept and _wins(value, payoff[point, row], tie[point, of], node, strategies[point, row]):
                payoff[point, row], strategies[point, row] = value, node
                sizes[point, row] = max(people[i], 1.0)

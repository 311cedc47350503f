"""Record-level generalization with the class sizes of a dataset.

Each record is generalized to its own best node.

This is Algorithm 2 of Prasser et al. 2017, for all records in one walk over the lattice. Group sizes are counted in the
whole dataset generalized to the record's node (or in a population); they do not depend on other records' choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.full_domain.game import Followed, FullDomainGame
from reidsim.games.full_domain.node_payoffs import record_payoffs, utilities_of
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Floats, Rows, Strategies


@dataclass(frozen=True, eq=False)
class RecordLevelSolution:
    """The best node of every cell; arrays (n_cells,).

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


def record_level(game: FullDomainGame) -> RecordLevelSolution:
    """Find each record's best node at the first parameter point of a game.

    Nodes above a node whose benefit for a cell, without any attack, does not exceed the cell's best payoff are not
    computed for this cell. Among equal payoffs the first node in lattice order is kept. The suppression limit does not
    apply; the minimum levels do.

    Returns
    -------
    RecordLevelSolution
        Exact.
    """
    cells, kind = game.lattice.n_records, game.cell_kind
    benefit = game.prices.benefit[0, kind]
    tie = INDIFFERENCE * (benefit + game.prices.loss[0, kind])
    strategies, payoff, sizes = np.full(cells, WITHHELD, dtype=np.int64), np.zeros(cells), np.ones(cells)

    def wins(node: int, rows: Rows, value: Floats) -> NDArray[np.bool_]:
        ahead = value - payoff[rows]
        return np.asarray((ahead > tie[rows]) | ((ahead >= -tie[rows]) & (node < strategies[rows])))

    def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        keep = wins(node, followed.rows, benefit[followed.rows] * utilities_of(followed.loss))
        return followed.take(keep) if keep.any() else None

    evaluated, everybody = 0, Followed(np.arange(cells), game.finest[2], np.zeros(cells))
    for visit in game.walk(enter, everybody):
        evaluated += 1
        rows, people = visit.followed.rows, visit.table.people[visit.followed.group_of]
        value, kept = record_payoffs(visit.followed.loss, people, game.terms, kind[rows], 0)
        better = kept & wins(visit.node, rows, value)
        payoff[rows[better]], strategies[rows[better]] = value[better], visit.node
        sizes[rows[better]] = np.maximum(people[better], 1.0)
    return RecordLevelSolution(strategies, payoff, sizes, evaluated)

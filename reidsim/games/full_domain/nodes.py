"""What many nodes lead to: those that pay most, and the Pareto front of payout against records attacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.node_payoffs import ADVERSARY, ATTACKED, PAYOUT, SUPPRESSED
from reidsim.games.full_domain.walk import Followed, walk
from reidsim.releases.strategy_space import Floats, Strategies

# Beyond it a walk takes hours on any data.
MOST_NODES = 5_000_000


@dataclass(frozen=True, eq=False)
class NodeOutcomes:
    """What nodes lead to at one parameter point; arrays of shape (n_nodes,), in lattice order.

    Parameters
    ----------
    nodes : ndarray of int64
    payout, adversary_payoff : ndarray of float64
        Over all records, in currency units.
    suppressed, attacked : ndarray of int64
        Records.
    feasible : ndarray of bool
        Whether the node keeps to the suppression limit.
    """

    nodes: Strategies
    payout: Floats
    suppressed: NDArray[np.int64]
    attacked: NDArray[np.int64]
    adversary_payoff: Floats
    feasible: NDArray[np.bool_]

    @classmethod
    def of(cls, game: FullDomainGame, nodes: Sequence[int], outcomes: Sequence[Floats]) -> NodeOutcomes:
        """Return the outcomes (4,) of distinct nodes, given in any order."""
        order = np.argsort(nodes)
        table = np.array(outcomes, dtype=np.float64).reshape(-1, 4)[order]
        suppressed, attacked = (np.rint(table[:, column]).astype(np.int64) for column in (SUPPRESSED, ATTACKED))
        return cls(
            nodes=np.array(nodes, dtype=np.int64)[order],
            payout=table[:, PAYOUT],
            suppressed=suppressed,
            attacked=attacked,
            adversary_payoff=table[:, ADVERSARY],
            feasible=suppressed <= game.most_suppressed,
        )

    def take(self, rows: NDArray[np.intp]) -> NodeOutcomes:
        """Return some of the nodes."""
        return NodeOutcomes(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    def best(self, count: int) -> NodeOutcomes:
        """Return the feasible nodes with the highest payouts, descending; among equals in lattice order."""
        rows = np.flatnonzero(self.feasible)
        payout = self.payout[rows]
        # Payouts that differ by rounding alone are equal.
        relative = np.round(payout / max(float(np.abs(payout).max(initial=0.0)), 1.0), 12)
        return self.take(rows[np.argsort(-relative, kind="stable")][:count])

    def pareto_front(self) -> NodeOutcomes:
        """Return the feasible nodes that no other beats in both payout and share attacked, in order of that share."""
        rows = np.flatnonzero(self.feasible)
        rows = rows[np.lexsort((self.nodes[rows], -self.payout[rows], self.attacked[rows]))]
        best_before = np.concatenate([[-np.inf], np.maximum.accumulate(self.payout[rows])])[:-1]
        tie = INDIFFERENCE * np.abs(self.payout[rows])
        return self.take(rows[self.payout[rows] > best_before + tie])


class _EveryNode:
    """A visitor that keeps the outcome of every node at one point."""

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self.nodes: list[int] = []
        self.outcomes: list[Floats] = []

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        return followed

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        self.nodes.append(node)
        self.outcomes.append(self._game.outcomes(node, table, followed)[0])


def every_node(game: FullDomainGame) -> NodeOutcomes:
    """Work out every node at the game's first parameter point; those below the minimum levels are left out.

    Raises
    ------
    InputError
        If the lattice has too many nodes to list.
    """
    if game.lattice.size > MOST_NODES:
        raise InputError("too many nodes to list", found=game.lattice.size, expected=f"at most {MOST_NODES:,}")
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    visitor = _EveryNode(game)
    roll_up, finest, _ = game.finest
    walk(roll_up, finest, visitor, followed=game.followed, start=game.lowest)
    return NodeOutcomes.of(game, visitor.nodes, visitor.outcomes)

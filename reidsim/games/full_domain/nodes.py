"""Outcomes of nodes: best nodes, and the Pareto front of payout and attacks."""

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

# A walk over more nodes takes hours on any data.
MOST_NODES = 5_000_000


@dataclass(frozen=True, eq=False)
class NodeOutcomes:
    """Outcomes of nodes at one parameter point; arrays of shape (n_nodes,).

    Parameters
    ----------
    nodes : ndarray of int64
        Node numbers, ascending.
    payout, adversary_payoff : ndarray of float64
        Payoffs of the publisher and the adversary over all records, in currency units.
    suppressed, attacked : ndarray of int64
        Numbers of suppressed and attacked records.
    feasible : ndarray of bool
        Whether the node is within the suppression limit.
    """

    nodes: Strategies
    payout: Floats
    suppressed: NDArray[np.int64]
    attacked: NDArray[np.int64]
    adversary_payoff: Floats
    feasible: NDArray[np.bool_]

    @classmethod
    def of(cls, game: FullDomainGame, nodes: Sequence[int], outcomes: Sequence[Floats]) -> NodeOutcomes:
        """Collect the outcomes of distinct nodes, which may be in any order.

        Each outcome has shape (4,), see `FullDomainGame.outcomes`.
        """
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
        """Return the outcomes of the nodes at these positions."""
        return NodeOutcomes(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    def best(self, count: int) -> NodeOutcomes:
        """Return the `count` feasible nodes with the highest payouts, descending.

        Nodes with equal payouts are in ascending order of their numbers. If fewer nodes are feasible, all of these are
        returned.
        """
        rows = np.flatnonzero(self.feasible)
        payout = self.payout[rows]
        # Payouts that differ only by floating-point rounding count as equal.
        relative = np.round(payout / max(float(np.abs(payout).max(initial=0.0)), 1.0), 12)
        return self.take(rows[np.argsort(-relative, kind="stable")][:count])

    def pareto_front(self) -> NodeOutcomes:
        """Return the Pareto front of the feasible nodes in payout and attacked records.

        These are the nodes for which no other node has at least the payout with at most as many attacked records. Of
        nodes that are equal in both, the lowest number is kept. Nodes are in ascending order of the number of attacked
        records.
        """
        rows = np.flatnonzero(self.feasible)
        rows = rows[np.lexsort((self.nodes[rows], -self.payout[rows], self.attacked[rows]))]
        best_before = np.concatenate([[-np.inf], np.maximum.accumulate(self.payout[rows])])[:-1]
        tie = INDIFFERENCE * np.abs(self.payout[rows])
        return self.take(rows[self.payout[rows] > best_before + tie])


class _EveryNode:
    """A `Visitor` that keeps the outcome of every node at one point."""

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
    """Compute the outcomes of all nodes at or above the minimum levels.

    Only the first parameter point is used.

    Raises
    ------
    InputError
        If the lattice has more than 5 million nodes.
    """
    if game.lattice.size > MOST_NODES:
        raise InputError("too many nodes to list", found=game.lattice.size, expected=f"at most {MOST_NODES:,}")
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    visitor = _EveryNode(game)
    roll_up, finest, _ = game.finest
    walk(roll_up, finest, visitor, followed=game.followed, start=game.lowest)
    return NodeOutcomes.of(game, visitor.nodes, visitor.outcomes)

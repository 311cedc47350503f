"""Solutions of the full-domain game: best nodes, and the Pareto front of all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.node_payoffs import ADVERSARY, ATTACKED, PAYOUT, SUPPRESSED
from reidsim.releases.strategy_space import Floats, Strategies

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FullDomainSolution:
    """The best node at each point; arrays (n_points,), amounts in currency units.

    If no node is within the suppression limit there is no solution, and no record is released: all are suppressed and
    none is attacked.

    Parameters
    ----------
    nodes : ndarray of int64
        Number of the node; -1 without a solution.
    payout : ndarray of float64
        Publisher's payoff over all records; 0 without a solution.
    suppressed, attacked : ndarray of int64
        Numbers of suppressed and attacked records.
    adversary_payoff : ndarray of float64
        Adversary's payoff over all records.
    bound : ndarray of float64
        Upper bound of the payout of any node within the suppression limit.
    best_case : ndarray of float64
        Payout if every record were released ungeneralized and none attacked.
    evaluated : int
        Number of nodes whose payout was computed; if points are solved separately, their sum.
    proved : ndarray of bool
        Whether the node is proved optimal.
    """

    nodes: Strategies
    payout: Floats
    suppressed: NDArray[np.int64]
    attacked: NDArray[np.int64]
    adversary_payoff: Floats
    bound: Floats
    best_case: Floats
    evaluated: int
    proved: NDArray[np.bool_]

    @property
    def exact(self) -> bool:
        """Whether the nodes are proved optimal at all points."""
        return bool(self.proved.all())

    @property
    def gap(self) -> Floats:
        """Bound on the distance to the optimal payout, as a share of the best case.

        It is 0 if the node is proved optimal.
        """
        distance = np.maximum(self.bound - self.payout, 0.0)
        return np.divide(distance, self.best_case, out=np.zeros_like(distance), where=self.best_case > 0)


class Incumbents:
    """The best nodes found so far, one for each point.

    Among payouts that are equal up to rounding the node with the lower total level is better, then the first in
    lattice order.
    """

    def __init__(self, game: FullDomainGame) -> None:
        points = game.prices.n_points
        self._game = game
        self.outcomes = np.zeros((points, 4))
        self.outcomes[:, SUPPRESSED] = game.n_records
        # Less than any node pays, and more than the bound of a branch without a feasible node.
        self.payout = np.full(points, np.finfo(np.float64).min)
        self.nodes = np.full(points, NO_SOLUTION, dtype=np.int64)
        self._height = np.full(points, np.iinfo(np.int64).max, dtype=np.int64)
        self._tie = INDIFFERENCE * np.maximum(game.best_case, 1.0)

    def offer(self, node: int, height: int, outcomes: Floats) -> None:
        """Replace the incumbents by a node at the points where it is better.

        The node must be within the suppression limit. `height` is the sum of its levels, and `outcomes` has shape
        (n_points, 4), see `FullDomainGame.outcomes`.
        """
        better = self.beaten_at(outcomes[:, PAYOUT], node, height)
        better &= outcomes[:, SUPPRESSED] <= self._game.most_suppressed
        if not better.any():
            return
        self.payout[better] = outcomes[better, PAYOUT]
        self.outcomes[better] = outcomes[better]
        self.nodes[better] = node
        self._height[better] = height

    def beaten_at(self, bound: Floats, node: int, height: int) -> Bools:
        """Return at which points a node with a payout of at most `bound` can be better.

        The result, shape (n_points,), also holds for generalizations of the node.
        """
        ahead = bound - self.payout
        first = (height < self._height) | ((height == self._height) & (node < self.nodes))
        return np.asarray((ahead > self._tie) | (first & (ahead >= -self._tie)))

    def solution(self, bound: Floats, evaluated: int, *, exact: bool) -> FullDomainSolution:
        """Return the incumbents as the solution.

        `bound` (n_points,) is an upper bound of the payout of nodes that were not evaluated.
        """
        return FullDomainSolution(
            nodes=self.nodes,
            payout=self.outcomes[:, PAYOUT],
            suppressed=np.rint(self.outcomes[:, SUPPRESSED]).astype(np.int64),
            attacked=np.rint(self.outcomes[:, ATTACKED]).astype(np.int64),
            adversary_payoff=self.outcomes[:, ADVERSARY],
            bound=np.maximum(bound, self.outcomes[:, PAYOUT]),
            best_case=self._game.best_case,
            evaluated=evaluated,
            proved=np.full(len(self.nodes), exact),
        )


def joined(parts: Sequence[FullDomainSolution]) -> FullDomainSolution:
    """Combine the solutions at several points into one solution."""
    names = [item.name for item in fields(FullDomainSolution) if item.name != "evaluated"]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return FullDomainSolution(**arrays, evaluated=sum(part.evaluated for part in parts))


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
    def from_outcomes(cls, game: FullDomainGame, nodes: Sequence[int], outcomes: Sequence[Floats]) -> NodeOutcomes:
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


def every_node(game: FullDomainGame) -> NodeOutcomes:
    """Compute the outcomes of all nodes at or above the minimum levels.

    The game has one parameter point.

    Raises
    ------
    InputError
        If the lattice has more than 5 million nodes.
    """
    if game.lattice.size > MOST_NODES:
        raise InputError("too many nodes to list", found=game.lattice.size, expected=f"at most {MOST_NODES:,}")
    found = {visit.node: game.outcomes(visit.node, visit.table, visit.followed)[0] for visit in game.walk()}
    return NodeOutcomes.from_outcomes(game, list(found), list(found.values()))

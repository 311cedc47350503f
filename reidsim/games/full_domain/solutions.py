"""Solutions of the full-domain game: best nodes, and the Pareto front of all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

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
    """The best node; amounts in currency units.

    If no node is within the suppression limit there is no solution, and no record is released: all are suppressed and
    none is attacked.

    Parameters
    ----------
    node : int
        Number of the node; -1 without a solution.
    payout : float
        Publisher's payoff over all records; 0 without a solution.
    suppressed, attacked : int
        Numbers of suppressed and attacked records.
    adversary_payoff : float
        Adversary's payoff over all records.
    bound : float
        Upper bound of the payout of any node within the suppression limit.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.
    evaluated : int
        Number of nodes whose payout was computed.
    exact : bool
        Whether the node is proved optimal.
    """

    node: int
    payout: float
    suppressed: int
    attacked: int
    adversary_payoff: float
    bound: float
    best_case: float
    evaluated: int
    exact: bool

    @property
    def gap(self) -> float:
        """Bound on the distance to the optimal payout, as a share of the best case.

        The distance is from the payout of this solution. It is 0 if the node is proved optimal, or if the best case is
        0.
        """
        return max(self.bound - self.payout, 0.0) / self.best_case if self.best_case > 0 else 0.0


class Incumbent:
    """The best node found so far in a search of a full-domain game.

    Among payouts that are equal up to rounding the node with the lower total level is better, then the first in lattice
    order.

    Parameters
    ----------
    game : FullDomainGame
        Game with the suppression limit; before the first node is found, all of its records are suppressed.
    """

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self._outcomes = np.array([0.0, game.n_records, 0.0, 0.0])
        # Less than any node pays, and more than the bound of a branch without a feasible node.
        self.payout = float(np.finfo(np.float64).min)
        self.node, self._height = NO_SOLUTION, int(np.iinfo(np.int64).max)
        self._tie = INDIFFERENCE * max(game.best_case, 1.0)

    def offer(self, node: int, height: int, outcomes: Floats) -> None:
        """Replace the best node found by a better one within the suppression limit.

        Otherwise, nothing changes. `height` is the sum of the levels of `node`, and `outcomes` has shape (4,), see
        `FullDomainGame.outcomes`.
        """
        within = outcomes[SUPPRESSED] <= self._game.most_suppressed
        if within and self.is_beaten_at(float(outcomes[PAYOUT]), node, height):
            self.payout, self._outcomes, self.node, self._height = float(outcomes[PAYOUT]), outcomes, node, height

    def is_beaten_at(self, bound: float, node: int, height: int) -> bool:
        """Return whether a node with a payout of at most `bound` can be better.

        It can be better than the best node found so far if `bound` is higher by more than the tie tolerance, or equal
        within it while the node has a lower sum of levels (`height`), or the same sum and a lower number (`node`). The
        result also holds for generalizations of the node.
        """
        ahead, first = bound - self.payout, (height, node) < (self._height, self.node)
        return ahead > self._tie or (first and ahead >= -self._tie)

    def solution(self, bound: float, evaluated: int, *, exact: bool) -> FullDomainSolution:
        """Return the best node found as a `FullDomainSolution`.

        `bound` is an upper bound of the payout of nodes that were not evaluated; the payout replaces it if it is
        higher. `evaluated` is the number of nodes evaluated, and `exact` whether the node is proved optimal.
        """
        payout, suppressed, attacked, adversary = self._outcomes.tolist()
        numbers, bound = (round(suppressed), round(attacked)), max(bound, payout)
        return FullDomainSolution(self.node, payout, *numbers, adversary, bound, self._game.best_case, evaluated, exact)


# A walk over more nodes takes hours on any data.
MOST_NODES = 5_000_000


@dataclass(frozen=True, eq=False)
class NodeOutcomes:
    """Outcomes of nodes; arrays of shape (n_nodes,).

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

        `outcomes` holds one array of shape (4,) for each number in `nodes`, see `FullDomainGame.outcomes`. The result
        is sorted by node number, and numbers of records are rounded. A node is feasible if it keeps the suppression
        limit of `game`.
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
        """Return the outcomes of the nodes at positions `rows`, in the order of `rows`."""
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

        These are the nodes for which no other node has at least the payout (within the tie tolerance) with at most as
        many attacked records. Of nodes that are equal in both, the lowest number is kept. Nodes are in ascending order
        of the number of attacked records.
        """
        rows = np.flatnonzero(self.feasible)
        rows = rows[np.lexsort((self.nodes[rows], -self.payout[rows], self.attacked[rows]))]
        best_before = np.concatenate([[-np.inf], np.maximum.accumulate(self.payout[rows])])[:-1]
        tie = INDIFFERENCE * np.abs(self.payout[rows])
        return self.take(rows[self.payout[rows] > best_before + tie])


def every_node(game: FullDomainGame) -> NodeOutcomes:
    """Compute the outcomes of all nodes at or above the game's minimum levels.

    Raises
    ------
    InputError
        If the lattice has more than 5 million nodes.
    """
    if game.lattice.size > MOST_NODES:
        raise InputError("too many nodes to list", found=game.lattice.size, expected=f"at most {MOST_NODES:,}")
    found = {visit.node: game.outcomes(visit.node, visit.table, visit.followed) for visit in game.walk()}
    return NodeOutcomes.from_outcomes(game, list(found), list(found.values()))

"""The best nodes found so far at each parameter point, and the solution that they make."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.node_payoffs import ADVERSARY, ATTACKED, PAYOUT, SUPPRESSED
from reidsim.releases.strategy_space import Floats, Strategies


@dataclass(frozen=True, eq=False)
class FullDomainSolution:
    """The best node at each parameter point; arrays of shape (n_points,), money in currency units.

    Where no node keeps to the suppression limit there is no solution: nothing is released.

    Parameters
    ----------
    nodes : ndarray of int64
        -1 where there is no solution.
    payout : ndarray of float64
        Publisher's payoff over all records; 0 without a solution.
    suppressed, attacked : ndarray of int64
        Records.
    adversary_payoff : ndarray of float64
        Over all records.
    bound : ndarray of float64
        No node pays more than this.
    best_case : ndarray of float64
        The payout if every record were shared as it is and none attacked.
    evaluated : int
        Nodes whose payout was computed.
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
        """Whether the node is proved optimal at every point."""
        return bool(self.proved.all())

    @property
    def gap(self) -> Floats:
        """How far the payout may be from the optimum, as a share of the best case; 0 when proved optimal."""
        distance = np.maximum(self.bound - self.payout, 0.0)
        return np.divide(distance, self.best_case, out=np.zeros_like(distance), where=self.best_case > 0)


class Incumbents:
    """The best nodes so far, one for each point.

    Among payouts that differ by rounding alone the node with the lower total level is better, then the one that comes
    first in lattice order.
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
        self._everywhere = np.ones(points, dtype=np.bool_)

    def offer(self, node: int, height: int, outcomes: Floats, points: NDArray[np.bool_] | None = None) -> None:
        """Take a node where it is better, of some points or all; `height` is the sum of its levels."""
        better = self.beaten_at(outcomes, node, height, self._everywhere if points is None else points)
        if better.any():
            self.payout[better] = outcomes[better, PAYOUT]
            self.nodes[better] = node
            self._height[better] = height
            self.outcomes[better] = outcomes[better]

    def beaten_by(self, bound: Floats, node: int, height: int) -> bool:
        """Tell whether a node that pays at most `bound`, or one that generalizes it, can be better at any point."""
        outcomes = np.zeros((len(bound), 4))
        outcomes[:, PAYOUT] = bound
        return bool(self.beaten_at(outcomes, node, height, self._everywhere).any())

    def beaten_at(self, outcomes: Floats, node: int, height: int, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell at which of some points a node can be better that leads to these outcomes at best."""
        return np.asarray(
            _better(
                outcomes, node, height, points, self.payout, self.nodes, self._height, self._tie,
                self._game.most_suppressed,
            )
        )  # fmt: skip

    def promises(self, outcomes: Floats, points: NDArray[np.bool_]) -> Floats:
        """Return the most that nodes pay that lead to each of these outcomes at best, over some points.

        `outcomes` have shape (n, n_points, 4).
        """
        return np.asarray(_most(outcomes, points, self._game.most_suppressed))

    def solution(self, bound: Floats, evaluated: int, *, exact: bool) -> FullDomainSolution:
        """Return the nodes held."""
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


@numba.njit(cache=True)
def _better(
    outcomes: Floats,
    node: int,
    height: int,
    points: NDArray[np.bool_],
    payout: Floats,
    nodes: Strategies,
    heights: NDArray[np.int64],
    tie: Floats,
    most_suppressed: int,
) -> NDArray[np.bool_]:
    """Tell where a node is better than those held, shape (n_points,)."""
    better = np.zeros(len(points), dtype=np.bool_)
    for point in range(len(points)):
        if points[point] and outcomes[point, SUPPRESSED] <= most_suppressed:
            ahead = outcomes[point, PAYOUT] - payout[point]
            first = height < heights[point] or (height == heights[point] and node < nodes[point])
            better[point] = ahead > tie[point] or (first and ahead >= -tie[point])
    return better


@numba.njit(cache=True)
def _most(outcomes: Floats, points: NDArray[np.bool_], most_suppressed: int) -> Floats:
    most = np.full(len(outcomes), -np.inf)
    for number in range(len(outcomes)):
        for point in range(len(points)):
            if points[point] and outcomes[number, point, SUPPRESSED] <= most_suppressed:
                most[number] = max(most[number], outcomes[number, point, PAYOUT])
    return most

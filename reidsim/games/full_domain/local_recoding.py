"""Local recoding: rounds of full-domain generalization of the suppressed records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.search import search
from reidsim.games.full_domain.solutions import FullDomainSolution
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Floats, Strategies


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """A solution: the node of each cell after all rounds, at one parameter point.

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

    def suppressed(self, released: NDArray[np.int64]) -> int:
        """Return how many records stay suppressed.

        `released` (n_cells,) is the number of records of each cell.
        """
        return int(released[self.strategies == WITHHELD].sum())


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
        Only its first parameter point is solved.
    rounds : int
        Maximum number of rounds.
    solve : callable
        Finds the node of a round; the default is exact.

    Returns
    -------
    LocalRecoding
        Not necessarily the best use of several nodes, even if each round is optimal by itself.
    """
    cells = game.lattice.n_records
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    strategies = np.full(cells, WITHHELD, dtype=np.int64)
    left = np.flatnonzero(game.released)
    solutions: list[FullDomainSolution] = []
    while len(solutions) < rounds and len(left):
        part = game.among(left)
        solution = solve(part)
        node = int(solution.nodes[0])
        if node == NO_SOLUTION or not solution.payout[0] > 0:
            break
        kept = part.kept_at(node)
        strategies[left[kept]] = node
        left = left[~kept]
        solutions.append(solution)
    if game.released[left].sum() > game.most_suppressed:
        return LocalRecoding(np.full(cells, WITHHELD, dtype=np.int64), 0.0, tuple(solutions))
    return LocalRecoding(strategies, float(sum(s.payout[0] for s in solutions)), tuple(solutions))


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

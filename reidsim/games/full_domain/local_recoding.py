"""Local recoding: what a full-domain generalization suppresses is generalized again, in rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.incumbents import FullDomainSolution
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import WITHHELD
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """The node of each cell after all rounds, at one parameter point.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        -1 where the records stay suppressed.
    payout : float
        Publisher's payoff over all records; 0 when more records are suppressed than the limit allows.
    rounds : tuple of FullDomainSolution
        What each round found for the records that the rounds before it had left.
    """

    strategies: Strategies
    payout: float
    rounds: tuple[FullDomainSolution, ...]

    def suppressed(self, released: NDArray[np.int64]) -> int:
        """Return how many of the `released` records (n_cells,) stay suppressed."""
        return int(released[self.strategies == WITHHELD].sum())


def local_recoding(
    game: FullDomainGame, *, rounds: int = 100, solve: Callable[[FullDomainGame], FullDomainSolution] = search
) -> LocalRecoding:
    """Solve a game, then solve it again for the records that it suppresses, until that pays nothing more.

    A record generalized in a later round hides, under prosecutor risk, among the records of its class that were left
    for that round: those released before are generalized otherwise and can be told apart. Under journalist risk it
    hides among everybody in the population who generalizes to its class, as ever. Each round may suppress any number
    of records; the limit holds for what is left after the last one.

    Parameters
    ----------
    game : FullDomainGame
        Its first parameter point is played.
    rounds : int
        The most rounds.
    solve : callable
        Finds the node of a round; by default exactly.

    Returns
    -------
    LocalRecoding
        Rounds that are each the best need not together be the best use of several nodes.
    """
    cells = game.lattice.n_records
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    strategies = np.full(cells, WITHHELD, dtype=np.int64)
    left = np.flatnonzero(game.released)
    solutions: list[FullDomainSolution] = []
    while len(solutions) < rounds and len(left):
        part = _of_cells(game, left)
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
    """Return among how many people the records of each cell hide in the round that releases them.

    Parameters
    ----------
    game : FullDomainGame
        Its risk counts: another than that of the game in which the rounds were chosen, if need be.
    nodes : sequence of int
        Of the rounds.
    strategies : ndarray of int64, shape (n_cells,)
        The node of each cell, -1 where its records stay suppressed; these are counted in the last round.

    Returns
    -------
    ndarray of float64, shape (n_cells,)
        1 for cells that no round looks at.
    """
    sizes = np.ones(game.lattice.n_records)
    left = np.flatnonzero(game.released)
    for node in nodes:
        if len(left):
            sizes[left] = _of_cells(game, left).sizes_at(node)
        left = left[strategies[left] != node]
    return sizes


def _of_cells(game: FullDomainGame, cells: NDArray[np.intp]) -> FullDomainGame:
    """Return the game of some cells' records, any number of which may be suppressed."""
    lattice = GeneralizationLattice(game.lattice.hierarchies, game.lattice.codes[cells], game.lattice.loss_attributes)
    kind = None if game.kind is None else game.kind[cells]
    return replace(game, lattice=lattice, released=game.released[cells], kind=kind, suppression_limit=1.0)

"""Exact search over the whole lattice: the best node at each parameter point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reidsim.adversaries.response import arrays_of
from reidsim.games.full_domain.branches import search_branches
from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import FullDomainSolution, Incumbents
from reidsim.games.full_domain.node_payoffs import PAYOUT
from reidsim.games.full_domain.walk import Followed, walk

# Points solved in one walk: the table that points share has as many rows and columns.
_POINTS_PER_WALK = 100


class _BestNodes:
    """A visitor that keeps the best nodes and leaves out branches that cannot hold a better one."""

    def __init__(self, game: FullDomainGame, prune: bool, progress: Callable[[int], None]) -> None:
        self._game = game
        self._prune = prune
        self._progress = progress
        self.incumbents = Incumbents(game)
        self.seen = 0

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        if not self._prune or self.incumbents.beaten_by(self._game.bound(levels), node, sum(levels)):
            return followed
        return None

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        self.seen += 1
        self._progress(self.seen)
        self.incumbents.offer(node, sum(levels), self._game.outcomes(node, table, followed))


def search(
    game: FullDomainGame, *, prune: bool = True, progress: Callable[[int, int], None] | None = None
) -> FullDomainSolution:
    """Find the best node at every parameter point.

    Parameters
    ----------
    game : FullDomainGame
    prune : bool
        Leave out a node and those that generalize it when its benefit without any attack is no more than the best
        payout so far. That changes the time taken, never the solution.
    progress : callable, optional
        Called with nodes done and in all; with pruning the end comes early.

    Returns
    -------
    FullDomainSolution
        Exact.
    """
    points = game.prices.n_points
    parts = []
    for begin in range(0, points, _POINTS_PER_WALK):
        numbers = np.arange(begin, min(begin + _POINTS_PER_WALK, points))
        part = game if len(numbers) == points else game.at_points(numbers)
        parts.append(_search(part, prune, progress))
    return parts[0] if len(parts) == 1 else joined(parts)


def _search(game: FullDomainGame, prune: bool, progress: Callable[[int, int], None] | None) -> FullDomainSolution:
    size = game.lattice.size
    report = (lambda done: None) if progress is None else (lambda done: progress(done, size))
    if prune and game.outcomes_of_classes:
        incumbents, seen = search_branches(game, report)
        return incumbents.solution(incumbents.outcomes[:, PAYOUT], seen, exact=True)
    visitor = _BestNodes(game, prune, report)
    roll_up, finest, _ = game.finest
    shown = walk(roll_up, finest, visitor, followed=game.followed, start=game.lowest)
    return visitor.incumbents.solution(visitor.incumbents.outcomes[:, PAYOUT], shown, exact=True)


def joined(parts: Sequence[FullDomainSolution]) -> FullDomainSolution:
    """Return the solutions of several points as one."""
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays_of(parts[0])
    }
    return FullDomainSolution(**arrays, evaluated=sum(part.evaluated for part in parts))

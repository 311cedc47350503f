"""Search of large lattices within a budget, with a bound on the optimum."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import Followed, FullDomainGame
from reidsim.games.full_domain.node_payoffs import PAYOUT
from reidsim.games.full_domain.solutions import FullDomainSolution, Incumbents, NodeOutcomes, joined
from reidsim.releases.strategy_space import Floats

Levels = tuple[int, ...]
# Classes at a node, and the class of each row followed.
_Classes = tuple[ClassTable, NDArray[np.int32]]
# Number of nodes whose classes are kept, so that a node above merges them instead of the ungeneralized classes. More
# nodes take more memory.
_MOST_RECENT = 256


def anytime_search(
    game: FullDomainGame, *, nodes: int | None = None, seconds: float | None = None
) -> FullDomainSolution:
    """Find a good node at each parameter point within a budget, and bound the optimum.

    Two searches take turns. A climb follows the best successor from the lowest node to the top, and a local search
    moves from the best node found to a better neighbour while there is one: that finds good nodes early. The rest of
    the budget goes to open branches of the lattice in order of their bound (the benefit at their lowest node without
    any attack): no node exceeds the highest bound still open, or the best payout if that is more. When no open branch
    can hold a better node, the solution is proved optimal.

    Parameters
    ----------
    game : FullDomainGame
    nodes : int, optional
        Largest number of nodes to evaluate at each point; no limit, if not given. With this budget alone the result is
        reproducible.
    seconds : float, optional
        Time in seconds after which to stop, at each point; no limit, if not given. At least one node is evaluated.

    Returns
    -------
    FullDomainSolution
        Exact if proved; otherwise `gap` bounds the distance to the optimum.
    """
    points = np.arange(game.prices.n_points)
    return joined([explore(game.at_points(points[[point]]), nodes=nodes, seconds=seconds)[0] for point in points])


def explore(
    game: FullDomainGame, *, nodes: int | None = None, seconds: float | None = None
) -> tuple[FullDomainSolution, NodeOutcomes]:
    """Run `anytime_search` at one point and also return all outcomes evaluated.

    `game` has one parameter point; for `nodes` and `seconds` see `anytime_search`.

    Returns
    -------
    FullDomainSolution
    NodeOutcomes
        Outcomes of the evaluated nodes only; other nodes may pay more if the solution is not proved optimal.
    """
    search = _Search(game, nodes, seconds)
    solution = search.run()
    evaluated = [game.lattice.index(levels) for levels in search.outcomes]
    return solution, NodeOutcomes.from_outcomes(game, evaluated, list(search.outcomes.values()))


class _BudgetSpentError(Exception):
    """The budget is spent."""


class _Search:
    """Climb, local search and branches at one parameter point; see `anytime_search`."""

    def __init__(self, game: FullDomainGame, nodes: int | None, seconds: float | None) -> None:
        self._game = game
        self._most_nodes = nodes
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._incumbents = Incumbents(game)
        self._order = game.finest[0].order
        self._rows = game.followed.rows
        self._recent: dict[Levels, _Classes] = {}
        self.outcomes: dict[Levels, Floats] = {}

    def run(self) -> FullDomainSolution:
        game, lowest = self._game, self._game.lowest
        # A branch: its lowest node, and the first place in the order whose attributes may be raised.
        branches = [(-float(game.bound(lowest)[0]), sum(lowest), lowest, 0)]
        try:
            self._evaluate(lowest)
            self._climb()
            self._improve()
            while branches:
                negated, _, levels, first = branches[0]
                if not self._can_win(-negated, levels):
                    # Branches with a lower bound close later in the same way, unless they win a tie.
                    heapq.heappop(branches)
                    continue
                best = self._best
                self._evaluate(levels)
                heapq.heappop(branches)
                for branch in self._split(levels, first):
                    heapq.heappush(branches, branch)
                if self._best > best:
                    self._improve()
        except _BudgetSpentError:
            pass
        bound = np.array([-branches[0][0] if branches else -np.inf])
        return self._incumbents.solution(bound, len(self.outcomes), exact=not branches)

    @property
    def _best(self) -> float:
        return float(self._incumbents.payout[0])

    def _can_win(self, bound: float, levels: Levels) -> bool:
        return bool(self._incumbents.beaten_at(np.array([bound]), self._game.lattice.index(levels), sum(levels)).any())

    def _split(self, levels: Levels, first: int) -> Iterator[tuple[float, int, Levels, int]]:
        """Yield the branches just above a node that can hold a better node.

        Only attributes from place `first` in the order on are raised. A branch is its negative bound, the sum of its
        levels, its lowest node, and the first place whose attributes may be raised.
        """
        for place in range(first, len(self._order)):
            for raised in self._moved(levels, [self._order[place]], 1):
                bound = float(self._game.bound(raised)[0])
                if self._can_win(bound, raised):
                    yield -bound, sum(raised), raised, place

    def _moved(self, levels: Levels, positions: Sequence[int], step: int) -> Iterator[Levels]:
        """Yield the nodes with one of the attributes `positions` moved by `step`."""
        for position in positions:
            level = levels[position] + step
            if self._game.lowest[position] <= level < self._game.lattice.shape[position]:
                yield (*levels[:position], level, *levels[position + 1 :])

    def _climb(self) -> None:
        """Go from the lowest node to the top, each time to the best successor.

        It has the highest payout.
        """
        here = self._game.lowest
        while above := list(self._moved(here, self._order, 1)):
            here = max(above, key=lambda levels: (self._evaluate(levels), self._game.bound(levels)[0]))

    def _improve(self) -> None:
        """Move from the best node to a better neighbour until there is none."""
        best = -np.inf
        while self._best > best:
            best, here = self._best, self._game.lattice.levels(int(self._incumbents.nodes[0]))
            for step in (-1, 1):
                for levels in self._moved(here, self._order, step):
                    self._evaluate(levels)

    def _evaluate(self, levels: Levels) -> float:
        """Return the payout of a node, and keep it if it is the best.

        Raises
        ------
        _BudgetSpentError
            If the node is new and the budget is spent.
        """
        if levels not in self.outcomes:
            spent = self._most_nodes is not None and len(self.outcomes) >= self._most_nodes
            if spent or (self._deadline is not None and self.outcomes and time.monotonic() >= self._deadline):
                raise _BudgetSpentError
            game, node = self._game, self._game.lattice.index(levels)
            (table, group_of), rows = self._classes(levels), self._rows
            loss = 1.0 - game.lattice.utility(node, rows)
            outcomes = game.outcomes(node, table, Followed(rows, group_of, loss))
            self._incumbents.offer(node, sum(levels), outcomes)
            self.outcomes[levels] = outcomes[0]
        return float(self.outcomes[levels][PAYOUT])

    def _classes(self, levels: Levels) -> _Classes:
        """Return the classes at a node, merged from a recent node just below if possible."""
        roll_up, finest, group_of = self._game.finest
        below = [at for at in range(len(levels)) if _lowered(levels, at) in self._recent]
        if below:
            at = min(below, key=lambda at: len(self._recent[_lowered(levels, at)][0].keys))
            table, group_of = self._recent[_lowered(levels, at)]
            table, inverse = roll_up.up(table, at, levels[at] - 1, follow=len(group_of) > 0)
            made = table, inverse[group_of] if len(group_of) else group_of
        else:
            made = roll_up.at(finest, levels, group_of[: len(self._rows)])
        self._recent[levels] = made
        if len(self._recent) > _MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        return made


def _lowered(levels: Levels, position: int) -> Levels:
    return (*levels[:position], levels[position] - 1, *levels[position + 1 :])

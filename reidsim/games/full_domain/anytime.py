"""Search of lattices too large to enumerate: the best node within a budget, and how far it may be from optimal."""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import FullDomainSolution, Incumbents
from reidsim.games.full_domain.node_payoffs import PAYOUT
from reidsim.games.full_domain.nodes import NodeOutcomes
from reidsim.games.full_domain.search import joined
from reidsim.games.full_domain.walk import Followed
from reidsim.releases.strategy_space import Floats

Levels = tuple[int, ...]
# Tables kept so that nodes just above them are quick to make.
_MEMORY_LIMIT = 256 * 2**20


def anytime_search(
    game: FullDomainGame,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> FullDomainSolution:
    """Find a good node at each parameter point within a budget, and bound what the best one can pay.

    Two things take turns. A climb follows the best successor from the lowest node to the top, and a local search
    moves from the best node found to a better neighbour while there is one: that finds good nodes early. The rest of
    the budget goes to open branches of the lattice in order of their bound (the benefit at their lowest node without
    any attack): the highest bound still open, or the best payout if that is more, is what no node can exceed. When no
    open branch can hold a better node, the solution is proved optimal.

    Parameters
    ----------
    game : FullDomainGame
    nodes : int, optional
        The most nodes to work out at each point; with this budget alone the result is reproducible.
    seconds : float, optional
        Time after which to stop, at each point.
    progress : callable, optional
        Called with the number of nodes done.

    Returns
    -------
    FullDomainSolution
        Exact if proved; `gap` says how far from optimal the payout can be otherwise.

    Raises
    ------
    InputError
        If a budget is not above zero.
    """
    points = range(game.prices.n_points)
    solved = [
        explore(
            game if len(points) == 1 else game.at_points(np.array([point])),
            nodes=nodes,
            seconds=seconds,
            progress=progress,
        )[0]
        for point in points
    ]
    return solved[0] if len(solved) == 1 else joined(solved)


def explore(
    game: FullDomainGame,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[FullDomainSolution, NodeOutcomes]:
    """Search as `anytime_search` does, at one parameter point, and tell what the nodes computed lead to.

    Returns
    -------
    FullDomainSolution
    NodeOutcomes
        Of the nodes computed alone; others may pay more where the solution is not proved optimal, and even where it
        is, nodes that pay less than the best may be missing.
    """
    _check_budgets(nodes=nodes, seconds=seconds)
    search = _Search(game, nodes, seconds, progress)
    return search.run(), search.worked_out


def _check_budgets(**budgets: float | None) -> None:
    for name, budget in budgets.items():
        if budget is not None and not budget > 0:
            raise InputError("not a budget", where=name, found=budget, expected="more than 0")


class _BudgetSpentError(Exception):
    """The budget is spent."""


class _Search:
    """One search at one parameter point."""

    def __init__(
        self, game: FullDomainGame, nodes: int | None, seconds: float | None, progress: Callable[[int], None] | None
    ) -> None:
        self._game = game
        self._most_nodes = nodes
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._progress = progress
        self._incumbents = Incumbents(game)
        self._tables = _Tables(game)
        self._outcomes: dict[Levels, Floats] = {}
        self._order = game.finest[0].order

    def run(self) -> FullDomainSolution:
        game, lowest = self._game, self._game.lowest
        # A branch: its lowest node, and from which place in the order on attributes may be raised.
        branches = [(-float(game.bound(lowest)[0]), sum(lowest), lowest, 0)]
        try:
            self._work_out(lowest)
            self._climb()
            self._improve()
            while branches:
                negated, _, levels, first = branches[0]
                if not self._can_win(-negated, levels):
                    # Bounds below this one are closed as well, up to those that would win a tie.
                    heapq.heappop(branches)
                    continue
                best = self._best
                self._work_out(levels)
                heapq.heappop(branches)
                for branch in self._split(levels, first):
                    heapq.heappush(branches, branch)
                if self._best > best:
                    self._improve()
        except _BudgetSpentError:
            pass
        bound = np.array([-branches[0][0] if branches else -np.inf])
        return self._incumbents.solution(bound, len(self._outcomes), exact=not branches)

    @property
    def worked_out(self) -> NodeOutcomes:
        """What the nodes computed so far lead to."""
        nodes = [self._game.lattice.index(levels) for levels in self._outcomes]
        return NodeOutcomes.of(self._game, nodes, list(self._outcomes.values()))

    @property
    def _best(self) -> float:
        return float(self._incumbents.payout[0])

    def _can_win(self, bound: float, levels: Levels) -> bool:
        node = self._game.lattice.index(levels)
        return self._incumbents.beaten_by(np.array([bound]), node, sum(levels))

    def _split(self, levels: Levels, first: int) -> Iterator[tuple[float, int, Levels, int]]:
        """Yield the branches just above a node that can hold a better one."""
        for place in range(first, len(self._order)):
            raised = self._moved(levels, self._order[place], 1)
            if raised is not None:
                bound = float(self._game.bound(raised)[0])
                if self._can_win(bound, raised):
                    yield -bound, sum(raised), raised, place

    def _moved(self, levels: Levels, position: int, step: int) -> Levels | None:
        level = levels[position] + step
        if not self._game.lowest[position] <= level < self._game.lattice.shape[position]:
            return None
        return (*levels[:position], level, *levels[position + 1 :])

    def _neighbours(self, levels: Levels, steps: Sequence[int]) -> list[Levels]:
        moved = (self._moved(levels, position, step) for step in steps for position in self._order)
        return [levels for levels in moved if levels is not None]

    def _climb(self) -> None:
        """Go from the lowest node to the top, always to the successor that pays most."""
        here = self._game.lowest
        while above := self._neighbours(here, (1,)):
            here = max(above, key=lambda levels: (self._work_out(levels), self._game.bound(levels)[0]))

    def _improve(self) -> None:
        """Move from the best node to a better neighbour until there is none."""
        best = -np.inf
        while self._best > best:
            best = self._best
            for levels in self._neighbours(self._game.lattice.levels(int(self._incumbents.nodes[0])), (-1, 1)):
                self._work_out(levels)

    def _work_out(self, levels: Levels) -> float:
        """Return the payout of a node, and keep it if it is the best."""
        if levels not in self._outcomes:
            spent = self._most_nodes is not None and len(self._outcomes) >= self._most_nodes
            if spent or (self._deadline is not None and self._outcomes and time.monotonic() >= self._deadline):
                raise _BudgetSpentError
            node = self._game.lattice.index(levels)
            outcomes = self._game.outcomes(node, *self._tables.at(levels))
            self._incumbents.offer(node, sum(levels), outcomes)
            self._outcomes[levels] = outcomes[0]
            if self._progress is not None:
                self._progress(len(self._outcomes))
        return float(self._outcomes[levels][PAYOUT])


class _Tables:
    """The classes at nodes, made from those of a node just below where one is kept."""

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self._roll_up, self._finest, self._group_of = game.finest
        self._cells = np.arange(0 if game.by_class else game.lattice.n_records)
        self._kept: OrderedDict[Levels, tuple[ClassTable, NDArray[np.int32]]] = OrderedDict()
        self._bytes = 0

    def at(self, levels: Levels) -> tuple[ClassTable, Followed]:
        """Return the classes at a node and the rows to follow there."""
        table, group_of = self._classes(levels)
        if not len(self._cells):
            return table, Followed(self._cells, group_of, np.empty(0))
        loss = 1.0 - self._game.lattice.utility(self._game.lattice.index(levels))
        return table, Followed(self._cells, group_of, loss)

    def _classes(self, levels: Levels) -> tuple[ClassTable, NDArray[np.int32]]:
        below = [
            (at, levels[at] - 1)
            for at in range(len(levels))
            if levels[at] > 0 and (*levels[:at], levels[at] - 1, *levels[at + 1 :]) in self._kept
        ]
        if below:
            sources = {at: self._kept[(*levels[:at], level, *levels[at + 1 :])] for at, level in below}
            position, level = min(below, key=lambda step: len(sources[step[0]][0].keys))
            table, group_of = sources[position]
            table, inverse = self._roll_up.up(table, position, level, follow=len(group_of) > 0)
            made = table, inverse[group_of] if len(group_of) else group_of
        else:
            made = self._roll_up.at(self._finest, levels, self._group_of[: len(self._cells)])
        self._keep(levels, made)
        return made

    def _keep(self, levels: Levels, made: tuple[ClassTable, NDArray[np.int32]]) -> None:
        self._kept[levels] = made
        self._bytes += _size(made)
        while self._bytes > _MEMORY_LIMIT and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= _size(dropped)


def _size(made: tuple[ClassTable, NDArray[np.int32]]) -> int:
    table, group_of = made
    return sum(array.nbytes for array in table) + group_of.nbytes

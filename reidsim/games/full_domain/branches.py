"""Exact search that fixes the levels of one attribute after the other and closes what cannot hold the best node.

A branch holds all nodes with given levels of the first attributes in the order of `RollUp.order`. A record pays more
the more of its utility is left and the more people it hides among. In no node of the branch does it keep more than in
the lowest one, or hide among more people than agree with it in the first attributes: with these numbers of people and
that utility, a node would pay at least as much as each of the branch, and suppress no more. Both are functions of the
first attributes alone (of the least information loss in each of their classes), so that a bound takes as long as there
are combinations of their values, and most branches are closed before all attributes are looked at. Once all have their
levels, the bound is what the node pays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import Incumbents
from reidsim.games.full_domain.node_payoffs import PAYOUT, SUPPRESSED
from reidsim.games.full_domain.walk import NOBODY
from reidsim.releases.strategy_space import Floats


def search_branches(game: FullDomainGame, progress: Callable[[int], None]) -> tuple[Incumbents, int]:
    """Find the best node at every parameter point, for a game whose classes stand for their records.

    Parameters
    ----------
    game : FullDomainGame
    progress : callable
        Called with the number of nodes worked out.

    Returns
    -------
    Incumbents
    int
        Nodes whose payout was worked out.
    """
    search = _Search(game, progress)
    roll_up, finest, _ = game.finest
    table, _ = roll_up.at(finest, game.lowest, np.empty(0, dtype=np.int32))
    search.explore(0, _Marginals(roll_up, table))
    return search.incumbents, search.seen


class _Marginals:
    """The classes of a node in its first attributes, up to each depth of the order."""

    def __init__(self, roll_up: RollUp, table: ClassTable) -> None:
        self._roll_up = roll_up
        self._tables = [table]

    @property
    def whole(self) -> ClassTable:
        """The classes of the node."""
        return self._tables[0]

    def first(self, number: int) -> ClassTable:
        """Return the classes in the first attributes, in so many of them."""
        n_attributes = len(self._roll_up.order)
        while len(self._tables) <= n_attributes - number:
            self._tables.append(self._roll_up.project(self._tables[-1], n_attributes - len(self._tables)))
        return self._tables[n_attributes - number]


class _Search:
    """One search; `levels` are those of the lowest node of the branch that it is in."""

    def __init__(self, game: FullDomainGame, progress: Callable[[int], None]) -> None:
        self._game = game
        self._progress = progress
        self._roll_up = game.finest[0]
        self._levels = list(game.lowest)
        self.incumbents = Incumbents(game)
        self.seen = 0

    def explore(self, depth: int, marginals: _Marginals) -> None:
        """Look for better nodes among those with the levels of the first `depth` attributes.

        Parameters
        ----------
        depth : int
        marginals : _Marginals
            Of the lowest of these nodes.
        """
        game, levels = self._game, self._levels
        position, lowest = self._roll_up.order[depth], game.lowest[self._roll_up.order[depth]]
        table, found = marginals.first(depth + 1), []
        for level in range(lowest, game.lattice.shape[position]):
            levels[position] = level
            if level > lowest:
                table, _ = self._roll_up.up(table, position, level - 1, follow=False)
            outcomes = game.outcomes(game.lattice.index(levels), table, NOBODY)
            if depth + 1 == len(levels):
                self._offer(outcomes)
            else:
                bound = np.where(outcomes[:, SUPPRESSED] <= game.most_suppressed, outcomes[:, PAYOUT], -np.inf)
                found.append((-float(bound.max()), level, bound))
        at_level = {lowest: marginals}
        # What promises most comes first: good nodes close the rest.
        for _, level, bound in sorted(found, key=lambda each: each[:2]):
            levels[position] = level
            if self._can_win(bound):
                self.explore(depth + 1, self._raised(at_level, position, level))
        levels[position] = lowest

    def _raised(self, at_level: dict[int, _Marginals], position: int, level: int) -> _Marginals:
        """Return the marginals of the lowest node with an attribute at a level, given those at lower ones."""
        if level not in at_level:
            below = self._raised(at_level, position, level - 1).whole
            table, _ = self._roll_up.up(below, position, level - 1, follow=False)
            at_level[level] = _Marginals(self._roll_up, table)
        return at_level[level]

    def _can_win(self, bound: Floats) -> bool:
        return self.incumbents.beaten_by(bound, self._game.lattice.index(self._levels), sum(self._levels))

    def _offer(self, outcomes: Floats) -> None:
        self.seen += 1
        self._progress(self.seen)
        self.incumbents.offer(self._game.lattice.index(self._levels), sum(self._levels), outcomes)

"""Exact search that fixes the levels of one attribute after the other and closes what cannot hold the best node.

A branch holds all nodes with given levels of the first attributes in the order of `RollUp.order`. A record pays more
the more of its utility is left and the more people it hides among. In no node of the branch does it keep more than in
the lowest one, or hide among more people than agree with it in the first attributes: with these numbers of people and
that utility, a node would pay at least as much as each of the branch, and suppress no more. Both are functions of the
first attributes alone (of the least information loss in each of their classes), so that a bound takes as long as there
are combinations of their values, and most branches are closed before all attributes are looked at. Once all have their
levels, the bound is what the node pays.

What agrees in the first attributes stays together in the branch: if that many people and that utility would not keep a
record, none of its nodes does. Such classes are left out of the tables of the branch. Parameter points at which it
cannot hold the best node are left out of account, and all others share its tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.branch_tables import BranchTables
from reidsim.games.full_domain.class_table import ClassTable
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import Incumbents
from reidsim.games.full_domain.node_payoffs import SUPPRESSED
from reidsim.releases.strategy_space import Floats


def search_branches(game: FullDomainGame, progress: Callable[[int], None]) -> tuple[Incumbents, int]:
    """Find the best node at every parameter point, for a game whose classes stand for their records.

    Parameters
    ----------
    game : FullDomainGame
    progress : callable
        Called with the number of nodes computed.

    Returns
    -------
    Incumbents
    int
        Nodes whose payout was computed.
    """
    search = _Search(game, progress)
    roll_up, finest, _ = game.finest
    table, _ = roll_up.at(finest, game.lowest, np.empty(0, dtype=np.int32))
    points = np.ones(game.prices.n_points, dtype=np.bool_)
    search.explore(0, _Branch(game.lattice.index(game.lowest), sum(game.lowest), table, 0, points))
    return search.incumbents, search.seen


class _Branch(NamedTuple):
    """A branch, and what may still be decided in it.

    Attributes
    ----------
    node, height : int
        Its lowest node, and the sum of its levels.
    table : ClassTable
        The classes of that node, without those that keep no record at any of the points in any node of the branch.
    dropped : int
        Records in the classes left out.
    points : ndarray of bool, shape (n_points,)
        Where one of its nodes may be the best.
    """

    node: int
    height: int
    table: ClassTable
    dropped: int
    points: NDArray[np.bool_]


class _Levels(NamedTuple):
    """The branches within another, by the steps that one attribute more is raised.

    The classes that bounds follow from, one branch after the other; where each begins; and the most that the nodes of
    each pay, as outcomes of shape (n_levels, n_points, 4).
    """

    tables: ClassTable
    starts: NDArray[np.int64]
    most: Floats

    def table(self, step: int) -> ClassTable:
        """Return the classes of one branch."""
        here = slice(self.starts[step], self.starts[step + 1])
        keys, released, people, loss = self.tables
        return ClassTable(keys[here], released[here], people[here], loss[here])


class _Search:
    """One search."""

    def __init__(self, game: FullDomainGame, progress: Callable[[int], None]) -> None:
        self._game = game
        self._progress = progress
        self._roll_up = game.finest[0]
        self._tables = BranchTables(game.finest[0], game.lowest)
        self.incumbents = Incumbents(game)
        self._seen: set[int] = set()
        self._dives: list[Callable[[], None]] = []

    @property
    def seen(self) -> int:
        """How many nodes have been computed."""
        return len(self._seen)

    def explore(self, depth: int, branch: _Branch, *, dive: bool = False) -> None:
        """Look for better nodes in a branch in which the first `depth` attributes have their levels.

        A dive looks at what promises most alone, at each depth.
        """
        game, position = self._game, self._roll_up.order[depth]
        tables, starts = self._tables.levels(branch.table, depth)
        levels = _Levels(tables, starts, game.outcomes_of_tables(tables, starts, branch.points))
        levels.most[:, :, SUPPRESSED] += branch.dropped
        if depth + 1 == len(self._roll_up.order):
            for step, outcomes in enumerate(levels.most):
                node = branch.node + step * game.lattice.strides[position]
                self._seen.add(node)
                self._progress(self.seen)
                self.incumbents.offer(node, branch.height + step, outcomes, branch.points)
            # Taken off at once, as one within the other would hold the tables of all.
            dives, self._dives = self._dives, []
            for look in dives:
                look()
            return
        # What promises most comes first: good nodes close the rest.
        promises = self.incumbents.promises(levels.most, branch.points)
        steps = np.argsort(-promises, kind="stable").tolist()
        if not depth:
            # A bound by the first attribute alone says little of what a branch holds, so each has a dive, once the
            # first dive has closed what is far behind.
            self._dives = [partial(self._open, depth, branch, levels, step, dive=True) for step in steps[1:]]
        for step in steps[: 1 if dive else None]:
            self._open(depth, branch, levels, step, dive=dive)

    def _open(self, depth: int, branch: _Branch, levels: _Levels, step: int, *, dive: bool) -> None:
        """Look for better nodes in a branch within another."""
        node = branch.node + step * self._game.lattice.strides[self._roll_up.order[depth]]
        height = branch.height + step
        points = self.incumbents.beaten_at(levels.most[step], node, height, branch.points)
        if not points.any():
            return
        table, dropped, kept = branch.table, 0, self._game.may_keep(levels.table(step), points)
        # At the levels of the branch, fewer are not worth copying the others.
        if step or 4 * (len(kept) - np.count_nonzero(kept)) >= len(table.keys):
            table, dropped = self._tables.within(table, depth, step, kept)
        within = _Branch(node, height, table, branch.dropped + dropped, points)
        self.explore(depth + 1, within, dive=dive)

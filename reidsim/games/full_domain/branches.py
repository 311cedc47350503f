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

from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import Incumbents
from reidsim.games.full_domain.node_payoffs import SUPPRESSED
from reidsim.games.full_domain.walk import NOBODY
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
    node, height = game.lattice.index(game.lowest), sum(game.lowest)
    search.explore(0, _Branch(node, height, _Marginals(roll_up, [table]), 0, points))
    return search.incumbents, search.seen


class _Marginals:
    """The classes of a node in its first attributes, up to each depth of the order; `tables` begin with all."""

    def __init__(self, roll_up: RollUp, tables: list[ClassTable]) -> None:
        self._roll_up = roll_up
        self._tables = tables

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

    def within(self, chosen: NDArray[np.int64], number: int) -> _Marginals:
        """Return the marginals of those classes that have one of the chosen keys in so many of the attributes."""
        tables = self._tables[: len(self._roll_up.order) - number + 1]
        return _Marginals(self._roll_up, [self._roll_up.within(table, chosen, number) for table in tables])


class _Branch(NamedTuple):
    """A branch, and what may still be decided in it.

    Parameters
    ----------
    node, height : int
        Its lowest node, and the sum of its levels.
    marginals : _Marginals
        Of that node, without classes that keep no record at any of the points in any node of the branch.
    dropped : int
        Records in these.
    points : ndarray of bool, shape (n_points,)
        Where one of its nodes may be the best.
    """

    node: int
    height: int
    marginals: _Marginals
    dropped: int
    points: NDArray[np.bool_]


class _Inside(NamedTuple):
    """A branch within another, by the steps that one attribute more is raised.

    How far its nodes may be ahead comes first, with a minus; then the most that they pay at each point, as outcomes,
    and the classes that this follows from.
    """

    negated: float
    step: int
    most: Floats
    table: ClassTable


class _Search:
    """One search."""

    def __init__(self, game: FullDomainGame, progress: Callable[[int], None]) -> None:
        self._game = game
        self._progress = progress
        self._roll_up = game.finest[0]
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
        game, position, inside = self._game, self._roll_up.order[depth], []
        lowest, stride = game.lowest[position], game.lattice.strides[position]
        table = branch.marginals.first(depth + 1)
        for step in range(game.lattice.shape[position] - lowest):
            node, height = branch.node + step * stride, branch.height + step
            if step:
                table, _ = self._roll_up.up(table, position, lowest + step - 1, follow=False)
            outcomes = game.outcomes(node, table, NOBODY, branch.points)
            if branch.dropped:
                outcomes[:, SUPPRESSED] += branch.dropped
            if depth + 1 == len(self._roll_up.order):
                self._seen.add(node)
                self._progress(self.seen)
                self.incumbents.offer(node, height, outcomes, branch.points)
            else:
                inside.append(_Inside(-self.incumbents.promise(outcomes, branch.points), step, outcomes, table))
        # What promises most comes first: good nodes close the rest.
        inside.sort(key=lambda each: each[:2])
        raised = [branch.marginals.whole]
        if not depth:
            # A bound by the first attribute alone says little of what a branch holds, so each has a dive, once the
            # first dive has closed what is far behind.
            self._dives = [partial(self._open, depth, branch, raised, each, dive=True) for each in inside[1:]]
        for each in inside[: 1 if dive else None]:
            self._open(depth, branch, raised, each, dive=dive)
        if depth + 1 == len(self._roll_up.order):
            # Taken off at once, as one within the other would hold the tables of all.
            dives, self._dives = self._dives, []
            for look in dives:
                look()

    def _open(self, depth: int, branch: _Branch, raised: list[ClassTable], inside: _Inside, *, dive: bool) -> None:
        """Look for better nodes in a branch within another; `raised` are the classes at its levels, from the lowest."""
        position, step = self._roll_up.order[depth], inside.step
        node, height = branch.node + step * self._game.lattice.strides[position], branch.height + step
        points = self.incumbents.beaten_at(inside.most, node, height, branch.points)
        if not points.any():
            return
        while len(raised) <= step:
            level = self._game.lowest[position] + len(raised) - 1
            raised.append(self._roll_up.up(raised[-1], position, level, follow=False)[0])
        # Those in the first attributes are let go with the branch.
        marginals = _Marginals(self._roll_up, [raised[step]]) if step else branch.marginals
        within = _Branch(node, height, marginals, branch.dropped, points)
        self.explore(depth + 1, self._narrowed(within, depth + 1, inside.table), dive=dive)

    def _narrowed(self, branch: _Branch, number: int, table: ClassTable) -> _Branch:
        """Leave out classes of a branch, given those at its lowest node in so many of the attributes."""
        kept = self._game.may_keep(table, branch.points)
        # Fewer are not worth copying the others.
        if 4 * (len(kept) - np.count_nonzero(kept)) >= len(branch.marginals.whole.keys):
            branch = branch._replace(
                marginals=branch.marginals.within(table.keys[kept], number),
                dropped=branch.dropped + int(table.released[~kept].sum()),
            )
        return branch

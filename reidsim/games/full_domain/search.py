"""Exact search of the lattice: the best node at each parameter point.

Two searches find the same nodes. Any game can be solved by walking the lattice from the lowest node up and closing
branches whose benefit without any attack does not exceed the best payout so far. If all records of a class have the
same outcome, `_BranchSearch` fixes the levels of one attribute at a time, in `RollUp.order`, with a tighter bound.

A branch contains all nodes with given levels of the first attributes. The payoff of a record increases with its utility
and its group size. In the whole branch, its utility is at most its utility at the lowest node, and its group is at most
the group of records that agree with it in the first attributes. With this utility and group size for every record, a
node would have at least the payout of each node of the branch, and suppress no more records; this gives the bound.
Computing it takes time proportional to the number of combinations of values of the first attributes, so most branches
are closed before all attributes are evaluated. If all attributes have fixed levels, the bound is the payout of the
node.

Records that agree in the first attributes stay together in the whole branch. If they would be suppressed with the
utility and group size above, they are suppressed at every node of the branch, and the branch drops their classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.class_table import ClassTable, merge_prefixes, part, raise_kept
from reidsim.games.full_domain.game import Followed, FullDomainGame
from reidsim.games.full_domain.node_payoffs import PAYOUT, SUPPRESSED
from reidsim.games.full_domain.solutions import Bools, FullDomainSolution, Incumbents, joined
from reidsim.releases.strategy_space import Floats

# Parameter points solved at once: the table of sums that points share has as many rows and columns, so more points take
# more memory and fewer points more searches.
_MOST_POINTS = 100


def search(game: FullDomainGame, *, prune: bool = True) -> FullDomainSolution:
    """Find the best node at every parameter point.

    Parameters
    ----------
    game : FullDomainGame
    prune : bool
        Close branches that cannot hold the best node. That changes the time taken and `evaluated`, never the best node.

    Returns
    -------
    FullDomainSolution
        Exact. Of nodes with equal payout, see `Incumbents` for the one chosen.
    """
    points = game.prices.n_points
    if points > _MOST_POINTS:
        parts = np.split(np.arange(points), range(_MOST_POINTS, points, _MOST_POINTS))
        return joined([search(game.at_points(numbers), prune=prune) for numbers in parts])
    incumbents, evaluated = Incumbents(game), 0
    if prune and game.outcomes_of_classes:
        evaluated = _BranchSearch(game, incumbents).run()
    else:

        def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
            may_win = not prune or incumbents.beaten_at(game.bound(levels), node, sum(levels)).any()
            return followed if may_win else None

        for visit in game.walk(enter):
            evaluated += 1
            outcomes = game.outcomes(visit.node, visit.table, visit.followed)
            incumbents.offer(visit.node, sum(visit.levels), outcomes)
    return incumbents.solution(incumbents.outcomes[:, PAYOUT], evaluated, exact=True)


class _Branch(NamedTuple):
    """A branch of the lattice and its undecided part.

    Attributes
    ----------
    node, height : int
        Lowest node of the branch, and the sum of its levels.
    table : ClassTable
        Classes of the lowest node, without the classes that are suppressed at every point in every node of the branch.
    dropped : int
        Number of records in the dropped classes.
    points : ndarray of bool, shape (n_points,)
        Parameter points at which one of its nodes may be the best.
    """

    node: int
    height: int
    table: ClassTable
    dropped: int
    points: Bools


class _BranchSearch:
    """Depth-first search over the levels of one attribute at a time."""

    def __init__(self, game: FullDomainGame, incumbents: Incumbents) -> None:
        self._game = game
        self._incumbents = incumbents
        self._order = game.finest[0].order
        self._fields = [game.finest[0].field(position, game.lowest[position]) for position in self._order]
        self._strides = [game.lattice.strides[position] for position in self._order]
        self._seen: set[int] = set()
        self._dives: list[partial[None]] = []

    def run(self) -> int:
        """Search all branches, and return the number of nodes whose payout was computed."""
        roll_up, finest, _ = self._game.finest
        table, _ = roll_up.at(finest, self._game.lowest, np.empty(0, dtype=np.int32))
        points = np.ones(self._game.prices.n_points, dtype=np.bool_)
        self._explore(
            0,
            _Branch(self._game.lattice.index(self._game.lowest), sum(self._game.lowest), table, 0, points),
            dive=False,
        )
        return len(self._seen)

    def _explore(self, depth: int, branch: _Branch, *, dive: bool) -> None:
        """Search for better nodes in a branch whose first `depth` attributes are fixed.

        A dive looks at the most promising level alone, at each depth, to find a good node early.
        """
        game = self._game
        tables, starts = merge_prefixes(branch.table, self._fields[depth])
        bounds = game.outcomes_of_tables(tables, starts, branch.points)
        bounds[:, :, SUPPRESSED] += branch.dropped
        bounds[:, :, PAYOUT][~branch.points | (bounds[:, :, SUPPRESSED] > game.most_suppressed)] = -np.inf
        if depth + 1 == len(self._order):
            for step, outcomes in enumerate(bounds):
                node = branch.node + step * self._strides[depth]
                self._seen.add(node)
                self._incumbents.offer(node, branch.height + step, outcomes)
            # Dives start here, because a dive inside another branch would keep the tables of both in memory.
            dives, self._dives = self._dives, []
            for look in dives:
                look()
            return
        # Visit the most promising level first, because good nodes close other branches.
        steps = np.argsort(-bounds[:, :, PAYOUT].max(axis=1), kind="stable").tolist()
        look_at = partial(self._enter, depth, branch, tables, starts, bounds)
        if not depth:
            # A bound from the first attribute alone is loose. Therefore each level of it gets a dive, after the first
            # dive has closed branches that are far behind.
            self._dives = [partial(look_at, step, dive=True) for step in steps[1:]]
        for step in steps[: 1 if dive else None]:
            look_at(step, dive=dive)

    def _enter(
        self,
        depth: int,
        branch: _Branch,
        tables: ClassTable,
        starts: NDArray[np.int64],
        bounds: Floats,
        step: int,
        *,
        dive: bool,
    ) -> None:
        """Look for better nodes in the part of a branch with one level of an attribute.

        The attribute is at place `depth` in the order, `step` levels above its lowest. `tables`, `starts` and `bounds`
        are by level, see `merge_prefixes` and `class_outcomes`.
        """
        node, height = branch.node + step * self._strides[depth], branch.height + step
        points = self._incumbents.beaten_at(bounds[step, :, PAYOUT], node, height)
        if not points.any():
            return
        table, dropped = branch.table, 0
        kept = self._game.may_keep(part(tables, starts[step], starts[step + 1]), points)
        # At the branch's own level, dropping only a few classes is not worth copying the other classes.
        if step or 4 * np.count_nonzero(~kept) >= len(table.keys):
            table, dropped = raise_kept(table, self._fields[depth], step, kept)
        self._explore(depth + 1, _Branch(node, height, table, branch.dropped + dropped, points), dive=dive)

"""Best node of the lattice, exact or within a budget, and recodings with several nodes.

Two exact searches find the same nodes. Any game can be solved by walking the lattice from the lowest node up and
closing branches whose benefit without any attack does not exceed the best payout so far. If all records of a class have
the same outcome, `_BranchSearch` fixes the levels of one attribute at a time, in `RollUp.order`, with a tighter bound.

A branch contains all nodes with given levels of the first attributes. The payoff of a record increases with its utility
and its group size. In the whole branch, its utility is at most its utility at the lowest node, and its group is at most
the group of records that agree with it in the first attributes. With this utility and group size for every record, a
node would have at least the payout of each node of the branch, and suppress no more records; this gives the bound.
Computing it takes time proportional to the number of combinations of values of the first attributes, so most branches
are closed before all attributes are evaluated. If all attributes have fixed levels, the bound is the payout of the
node.

Records that agree in the first attributes stay together in the whole branch. If they would be suppressed with the
utility and group size above, they are suppressed at every node of the branch, and the branch drops their classes.

Recodings use several nodes. Local recoding generalizes in rounds, each for the records that earlier rounds suppressed.

Multi-dimensional recoding starts from the whole domain at the top node and repeatedly splits regions, each time one
attribute by one level of its hierarchy (as Mondrian does: LeFevre et al. 2006, Mondrian Multidimensional K-Anonymity,
ICDE). A region is a class of some node. So equal records are released equally, every record of a region is released at
the region's node, and no record outside the region falls into its class: class sizes at the node equal class sizes in
the release. If all regions are split down to the same node, the recoding is a full-domain generalization.

In record-level generalization (Algorithm 2 of Prasser et al. 2017), each record chooses its own node without binding
other records. The payout of multi-dimensional recoding lies between the payouts of full-domain and record-level
generalization.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.games.full_domain.boxes import (
    BoxWalk,
    begin_walk,
    bounds_of,
    box_walk,
    boxed_rows,
    parts_below,
    split_boxes,
)
from reidsim.games.full_domain.class_table import ClassTable, Ints, merge_prefixes, part, raise_kept, rests_of
from reidsim.games.full_domain.game import (
    NO_SOLUTION,
    NOBODY,
    PAYOUT,
    SUPPRESSED,
    Followed,
    FullDomainGame,
    Visit,
    record_outcomes,
    utilities_of,
)
from reidsim.games.record_game import WITHHELD
from reidsim.games.solvers import beats
from reidsim.releases.lattice import Floats, Rows, Strategies


@dataclass(frozen=True, eq=False)
class FullDomainSolution:
    """The best node; amounts in currency units.

    If no node is within the suppression limit there is no solution, and no record is released: all are suppressed and
    none is attacked.

    Parameters
    ----------
    node : int
        Number of the node; -1 without a solution.
    payout : float
        Publisher's payoff over all records; 0 without a solution.
    suppressed, attacked : int
        Numbers of suppressed and attacked records.
    adversary_payoff : float
        Adversary's payoff over all records.
    bound : float
        Upper bound of the payout of any node within the suppression limit.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.
    evaluated : int
        Number of nodes whose payout was computed.
    exact : bool
        Whether the node is proved optimal.
    """

    node: int
    payout: float
    suppressed: int
    attacked: int
    adversary_payoff: float
    bound: float
    best_case: float
    evaluated: int
    exact: bool

    @property
    def gap(self) -> float:
        """Bound on the distance to the optimal payout, as a share of the best case.

        The distance is from the payout of this solution. It is 0 if the node is proved optimal, or if the best case is
        0.
        """
        return max(self.bound - self.payout, 0.0) / self.best_case if self.best_case > 0 else 0.0


class Incumbent:
    """The best node found so far in a search of a full-domain game.

    Among payouts that are equal up to rounding the node with the lower total level is better, then the first in lattice
    order.

    Parameters
    ----------
    game : FullDomainGame
        Game with the suppression limit; before the first node is found, all of its records are suppressed.
    """

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self._outcomes = np.array([0.0, game.n_records, 0.0, 0.0])
        # Less than any node pays, and more than the bound of a branch without a feasible node.
        self.payout = float(np.finfo(np.float64).min)
        self.node, self._height = NO_SOLUTION, int(np.iinfo(np.int64).max)
        self.tie = INDIFFERENCE * max(game.best_case, 1.0)

    def offer(self, node: int, height: int, outcomes: Floats) -> None:
        """Replace the best node found by a better one within the suppression limit.

        Otherwise, nothing changes. `height` is the sum of the levels of `node`, and `outcomes` has shape (4,), see
        `FullDomainGame.outcomes`.
        """
        if self.accepts(node, height, outcomes):
            self.payout, self._outcomes, self.node, self._height = float(outcomes[PAYOUT]), outcomes, node, height

    def accepts(self, node: int, height: int, outcomes: Floats) -> bool:
        """Return whether a node is better and within the suppression limit; for the arguments see `offer`."""
        within = outcomes[SUPPRESSED] <= self._game.most_suppressed
        return bool(within and self.is_beaten_at(float(outcomes[PAYOUT]), node, height))

    def is_beaten_at(self, bound: Any, node: Any, height: Any) -> Any:
        """Return whether a node with a payout of at most `bound` can be better.

        It can be better than the best node found so far if `bound` is higher by more than the tie tolerance, or equal
        within it while the node has a lower sum of levels (`height`), or the same sum and a lower number (`node`). The
        result also holds for generalizations of the node. Arguments and result are single values or arrays.
        """
        ahead = bound - self.payout
        first = (height < self._height) | ((height == self._height) & (node < self.node))
        return (ahead > self.tie) | (first & (ahead >= -self.tie))

    @property
    def best(self) -> tuple[float, float, int, int]:
        """Payout of the best node found, the tie tolerance, the sum of its levels and its number."""
        return self.payout, self.tie, self._height, self.node

    def solution(self, bound: float, evaluated: int, *, exact: bool) -> FullDomainSolution:
        """Return the best node found as a `FullDomainSolution`.

        `bound` is an upper bound of the payout of nodes that were not evaluated; the payout replaces it if it is
        higher. `evaluated` is the number of nodes evaluated, and `exact` whether the node is proved optimal.
        """
        payout, suppressed, attacked, adversary = self._outcomes.tolist()
        n_suppressed, n_attacked = round(suppressed), round(attacked)
        bound, best_case = max(bound, payout), self._game.best_case
        return FullDomainSolution(
            self.node, payout, n_suppressed, n_attacked, adversary, bound, best_case, evaluated, exact
        )


# A walk over more nodes takes hours on any data.
MOST_NODES = 5_000_000


def node_outcomes(game: FullDomainGame, outcomes: Mapping[int, Floats]) -> pd.DataFrame:
    """Return a table of the outcomes of nodes, ascending by number.

    `outcomes` holds an array of shape (4,) for each node, see `FullDomainGame.outcomes`. Columns: ``nodes`` (number),
    ``payout`` and ``adversary_payoff`` (of publisher and adversary over all records, in currency units), ``suppressed``
    and ``attacked`` (numbers of records, rounded), and ``feasible`` (whether the node keeps the suppression limit).
    """
    columns = ["payout", "suppressed", "attacked", "adversary_payoff"]
    table = pd.DataFrame.from_dict(dict(outcomes), orient="index", columns=columns).sort_index()
    counts = table[["suppressed", "attacked"]].round().astype(np.int64)
    return table.assign(**counts, feasible=counts["suppressed"] <= game.most_suppressed).reset_index(names="nodes")


def best_nodes(nodes: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the `count` feasible nodes with the highest payouts, descending.

    `nodes` is a table of `node_outcomes`, and so is the result. Nodes with equal payouts are in ascending order of
    their numbers. If fewer nodes are feasible, all of these are returned.
    """
    feasible = nodes[nodes["feasible"]]
    payout = feasible["payout"].to_numpy()
    # Payouts that differ only by floating-point rounding count as equal.
    relative = np.round(payout / max(float(np.abs(payout).max(initial=0.0)), 1.0), 12)
    return feasible.iloc[np.argsort(-relative, kind="stable")[:count]]


def pareto_front(nodes: pd.DataFrame) -> pd.DataFrame:
    """Return the Pareto front of the feasible nodes in payout and attacked records.

    These are the nodes for which no other node has at least the payout (within the tie tolerance) with at most as many
    attacked records. Of nodes that are equal in both, the lowest number is kept. Nodes are in ascending order of the
    number of attacked records. `nodes` is a table of `node_outcomes`, and so is the result.
    """
    feasible = nodes[nodes["feasible"]].sort_values(["attacked", "payout", "nodes"], ascending=[True, False, True])
    payout = feasible["payout"]
    return feasible[payout > payout.cummax().shift(fill_value=-np.inf) + INDIFFERENCE * payout.abs()]


def every_node(game: FullDomainGame) -> pd.DataFrame:
    """Return the outcomes of all nodes at or above the minimum levels.

    The result is a table of `node_outcomes`.

    Raises
    ------
    InputError
        If the lattice has more than 5 million nodes.
    """
    if game.lattice.size > MOST_NODES:
        raise InputError("too many nodes to list", found=game.lattice.size, expected=f"at most {MOST_NODES:,}")
    return node_outcomes(game, {visit.node: game.outcomes(visit) for visit in game.walk()})


Levels = tuple[int, ...]


def search(game: FullDomainGame, *, prune: bool = True) -> FullDomainSolution:
    """Find the best node of a full-domain game.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the minimum levels and the suppression limit.
    prune : bool
        Close branches that cannot hold the best node. That changes the time taken and `evaluated`, never the best node.

    Returns
    -------
    FullDomainSolution
        Exact; its node is -1 if no node is within the suppression limit. Of nodes with equal payout, see `Incumbent`
        for the one chosen.
    """
    incumbent, evaluated = Incumbent(game), 0
    if prune and game.relaxed is not None:
        evaluated = _BranchSearch(game, game.relaxed, incumbent).run()
    else:

        def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
            may_win = not prune or incumbent.is_beaten_at(game.bound(levels), node, sum(levels))
            return followed if may_win else None

        for visit in game.walk(enter):
            evaluated += 1
            for outcomes in game.rounds(visit):
                if not incumbent.accepts(visit.node, sum(visit.levels), outcomes):
                    break
            incumbent.offer(visit.node, sum(visit.levels), outcomes)
    return incumbent.solution(-np.inf, evaluated, exact=True)


class _Branch(NamedTuple):
    """A branch of the lattice and its undecided part.

    Attributes
    ----------
    node, height : int
        Lowest node of the branch, and the sum of its levels.
    table : ClassTable
        Classes of the lowest node, without the classes that are suppressed in every node of the branch.
    rest_of : ndarray of int64, shape (n_classes,)
        For each class, the number of its combination of values of the attributes without fixed levels; see `Rests`.
    """

    node: int
    height: int
    table: ClassTable
    rest_of: Ints


class _BranchSearch:
    """Depth-first search over the levels of one attribute at a time.

    Parameters
    ----------
    game : FullDomainGame
    relaxed : FullDomainGame
        Game whose bounds close branches; see `FullDomainGame.relaxed`.
    incumbent : Incumbent
        Best node found, which is replaced by better ones.
    """

    def __init__(self, game: FullDomainGame, relaxed: FullDomainGame, incumbent: Incumbent) -> None:
        self._exact = game
        self._game = relaxed
        self._incumbent = incumbent
        self._order = relaxed.finest[0].order
        self._fields = [relaxed.finest[0].field(position, game.lowest[position]) for position in self._order]
        self._strides = [game.lattice.strides[position] for position in self._order]
        self._seen: set[int] = set()
        self._dives: list[partial[None]] = []

    def run(self) -> int:
        """Search all branches of the lattice; return the number of nodes evaluated.

        The best node is in the incumbent. A node is evaluated if its payout is computed.
        """
        roll_up, finest, _ = self._game.finest
        table, _ = roll_up.at(finest, self._game.lowest, np.empty(0, dtype=np.int32))
        node, height = self._game.lattice.index(self._game.lowest), sum(self._game.lowest)
        self._rests = rests_of(table.keys, self._fields)
        self._explore(0, _Branch(node, height, table, np.arange(len(table.keys))), dive=False)
        return len(self._seen)

    def _explore(self, depth: int, branch: _Branch, *, dive: bool) -> None:
        """Search for better nodes in a branch whose first `depth` attributes are fixed.

        Attributes are in the order of `RollUp.order`. Better nodes are offered to the incumbent. A dive looks at the
        most promising level alone, at each depth, to find a good node early.
        """
        game = self._game
        tables, starts = merge_prefixes(branch.table, self._fields[depth])
        bounds, kept = game.bounds(tables, starts)
        dropped = game.n_records - branch.table.released.sum()
        bounds[:, SUPPRESSED] += dropped
        bounds[bounds[:, SUPPRESSED] > game.most_suppressed, PAYOUT] = -np.inf
        if depth + 1 == len(self._order):
            for step, bound in enumerate(bounds[:, PAYOUT].tolist()):
                node, height = branch.node + step * self._strides[depth], branch.height + step
                self._seen.add(node)
                if self._incumbent.is_beaten_at(bound, node, height):
                    visit = Visit(node, (), part(tables, starts[step], starts[step + 1]), NOBODY)
                    outcomes = self._exact.outcomes(visit)
                    if game is self._exact:
                        outcomes[SUPPRESSED] += dropped
                    self._incumbent.offer(node, height, outcomes)
            # Dives start here, because a dive inside another branch would keep the tables of both in memory.
            dives, self._dives = self._dives, []
            for look in dives:
                look()
            return

        def enter(step: int, *, dive: bool) -> None:
            """Search the nodes of the branch in which this attribute has one level.

            The level is `step` above the attribute's lowest level. Nothing is done if the bound of these nodes cannot
            beat the incumbent. For `dive`, see `_explore`.
            """
            node, height = branch.node + step * self._strides[depth], branch.height + step
            if self._incumbent.is_beaten_at(float(bounds[step, PAYOUT]), node, height):
                keeps = kept[starts[step] : starts[step + 1]]
                raised = raise_kept(branch.table, branch.rest_of, self._rests[depth], step, keeps)
                self._explore(depth + 1, _Branch(node, height, *raised), dive=dive)

        # Visit the most promising level first, because good nodes close other branches.
        steps = np.argsort(-bounds[:, PAYOUT], kind="stable").tolist()
        if not depth:
            # A bound from the first attribute alone is loose. Therefore each level of it gets a dive, after the first
            # dive has closed branches that are far behind.
            self._dives = [partial(enter, step, dive=True) for step in steps[1:]]
        for step in steps[: 1 if dive else None]:
            enter(step, dive=dive)


def explore(
    game: FullDomainGame, *, nodes: int | None = None, seconds: float | None = None
) -> tuple[FullDomainSolution, pd.DataFrame]:
    """Find a good node of a full-domain game within a budget, and bound the optimum.

    A walk from the top node to the lowest one follows the best node below, and a local search moves from the best node
    found to a better neighbour while there is one: that finds good nodes early. The rest of the budget goes into
    rounds. A round splits the lattice into boxes (see `boxes`) until all bounds are at most a target, which is lower in
    each round; then no node exceeds the highest of these bounds, or the best payout if that is more. After each round,
    a local search starts from the most promising highest node of a box. When no box can hold a better node, the
    solution is proved optimal.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the minimum levels and the suppression limit.
    nodes : int, optional
        Largest number of nodes to evaluate; 30 bounds of boxes count as one node. No limit, if not given. With this
        budget alone the result is reproducible.
    seconds : float, optional
        Time in seconds after which to stop; no limit, if not given. At least one node is evaluated.

    Returns
    -------
    FullDomainSolution
        Exact if proved; otherwise `gap` bounds the distance to the optimum.
    DataFrame
        Outcomes of the evaluated nodes only (`node_outcomes`); other nodes may pay more if the solution is not proved
        optimal.
    """
    search = _BudgetSearch(game, nodes, seconds)
    solution = search.run()
    return solution, node_outcomes(game, {game.lattice.index(at): found for at, found in search.outcomes.items()})


# Share of the gap that a round is to close: with 15 attributes, it then takes two to three times as many splits as the
# round before. A smaller share repeats more splits of earlier rounds, a larger one loses more if the budget ends. The
# share doubles after a round that took less than 1.5 times as many splits.
_STEP = 0.15
# Largest numbers of splits at a time, and of rows that these splits pass, so that they take less than a second and a
# budget in seconds holds for large tables too.
_SPLITS_AT_ONCE, _ROWS_AT_ONCE = 4000, 40_000_000
# Splits that count as one node in a budget of nodes; the evaluation of a node takes 30 to 70 times as long as a split.
_SPLITS_PER_NODE = 30


class _BudgetSpentError(Exception):
    """Raised when the budget of a search, in nodes or seconds, is spent."""


class _BudgetSearch:
    """Search within a budget, by local search and boxes; see `explore`.

    For the parameters see `explore`. `outcomes` holds the outcomes of each node evaluated, by its levels.
    """

    def __init__(self, game: FullDomainGame, nodes: int | None, seconds: float | None) -> None:
        self._game = game
        self._most_nodes = nodes
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._incumbent = Incumbent(game)
        self._splits = 0
        self.outcomes: dict[Levels, Floats] = {}

    def run(self) -> FullDomainSolution:
        game, incumbent = self._game, self._incumbent
        low = np.array(game.lowest, dtype=np.int16)
        high = np.array(game.lattice.shape, dtype=np.int16) - 1
        bound, step, splits, exact = game.bound(game.lowest), _STEP, 0, False
        try:
            self._rows = boxed_rows(game.relaxed or game)
            self._evaluate(game.lowest)
            self._descend(high, low)
            if incumbent.node != NO_SOLUTION:
                self._improve(game.lattice.levels(incumbent.node))
            walk = box_walk(self._rows)
            while bound >= incumbent.payout - incumbent.tie:
                begin_walk(self._rows, walk, low, high)
                gap, begun, before = abs(bound - max(incumbent.payout, 0.0)), self._splits, splits
                bound = self._walk(walk, bound - step * gap - incumbent.tie if step < 1 else -np.inf)
                splits = self._splits - begun
                if splits < 1.5 * before:
                    step *= 2
            exact = True
        except _BudgetSpentError:
            pass
        return incumbent.solution(bound, len(self.outcomes), exact=exact)

    def _walk(self, walk: BoxWalk, target: float) -> float:
        """Walk through boxes down to bounds of at most `target`, and evaluate the single nodes that have higher bounds.

        Return the highest bound of boxes that may hold a better node than the best one found.

        Raises
        ------
        _BudgetSpentError
            If the budget is spent.
        """
        rows, incumbent, highest, promising = self._rows, self._incumbent, -np.inf, -np.inf
        most = min(_SPLITS_AT_ONCE, _ROWS_AT_ONCE // rows.counts.shape[1] + 1)
        while walk.depth[0] >= 0:
            self._require_budget()
            if self._most_nodes is not None:
                # Half of the budget left remains for the nodes that the splits reach.
                most = min(most, (self._most_nodes - self._spent) * _SPLITS_PER_NODE // 2 + 1)
            nodes, bounds, splits, top = split_boxes(rows, walk, target, incumbent.best, most)
            self._splits += splits
            highest = max(highest, top)
            if bounds[0] > promising:
                promising, start = bounds[0], tuple(nodes[0].tolist())
            for at in np.argsort(-bounds[1:], kind="stable") + 1:
                node = self._game.lattice.number(nodes[at])
                if incumbent.is_beaten_at(bounds[at], node, nodes[at].sum()):
                    self._evaluate(tuple(nodes[at].tolist()))
        if promising > -np.inf and start not in self.outcomes:
            self._improve(start)
        return highest

    def _descend(self, here: NDArray[np.int16], lowest: NDArray[np.int16]) -> None:
        """Follow the node below with the highest bound, from a node to the lowest one, and evaluate better nodes.

        Raises
        ------
        _BudgetSpentError
            If the budget is spent.
        """
        self._evaluate(tuple(here.tolist()))
        while (here > lowest).any():
            self._require_budget()
            near, bounds = parts_below(self._rows, here, lowest)
            self._splits += len(near)
            here = near[bounds.argmax()]
            if bounds.max() > self._incumbent.payout:
                self._evaluate(tuple(here.tolist()))

    def _improve(self, here: Levels) -> None:
        """Move from a node to a better neighbour, until none is better.

        A neighbour has one attribute one level lower, or higher if no lower one is better. Neighbours with higher
        bounds come first.

        Raises
        ------
        _BudgetSpentError
            If the budget is spent.
        """
        lattice, lowest, tie = self._game.lattice, np.array(self._game.lowest, dtype=np.int16), self._incumbent.tie
        payout, below = self._evaluate(here), True
        while True:
            self._require_budget()
            node = np.array(here, dtype=np.int16)
            if below:
                near, bounds = parts_below(self._rows, node, lowest)
            else:
                near = node + np.eye(len(here), dtype=np.int16)[node + 1 < lattice.shape]
                bounds = bounds_of(self._rows, near, near)
            self._splits += len(near)
            for at in np.argsort(-bounds, kind="stable"):
                there = tuple(near[at].tolist())
                if bounds[at] > payout + tie and self._evaluate(there) > payout + tie:
                    here, payout, below = there, self._evaluate(there), True
                    break
            else:
                if not below:
                    return
                below = False

    def _evaluate(self, levels: Levels) -> float:
        """Return the payout of a node, and keep it as the incumbent if it is the best.

        `levels` are the node's levels. The payout, in currency units over all records, is computed only once for each
        node; it is -inf for a node beyond the suppression limit.

        Raises
        ------
        _BudgetSpentError
            If the node is new and the budget is spent.
        """
        if levels not in self.outcomes:
            self._require_budget()
            game, node = self._game, self._game.lattice.index(levels)
            self.outcomes[levels] = game.outcomes(game.at(node))
            self._incumbent.offer(node, sum(levels), self.outcomes[levels])
        payout, suppressed = self.outcomes[levels][[PAYOUT, SUPPRESSED]].tolist()
        return payout if suppressed <= self._game.most_suppressed else -np.inf

    @property
    def _spent(self) -> int:
        """Part of the budget of nodes that is spent."""
        return len(self.outcomes) + self._splits // _SPLITS_PER_NODE

    def _require_budget(self) -> None:
        """Check that the budget is not spent.

        Raises
        ------
        _BudgetSpentError
            If it is spent.
        """
        spent = self._most_nodes is not None and self._spent >= self._most_nodes
        if spent or (self._deadline is not None and self.outcomes and time.monotonic() >= self._deadline):
            raise _BudgetSpentError


# Marks a class that is not split.
_WHOLE = -1
# Limit on the bytes of classes held at a time.
_MEMORY_LIMIT = 2 * 2**30


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """Result of local recoding: the node of each cell after all rounds.

    A cell is a distinct record.

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


def local_recoding(
    game: FullDomainGame, *, rounds: int = 100, solve: Callable[[FullDomainGame], FullDomainSolution] = search
) -> LocalRecoding:
    """Solve a game in rounds, each for the records that earlier rounds suppressed.

    The rounds end when no node has a payoff above 0 for the records left, when no records are left, or after `rounds`
    rounds. Under prosecutor risk, the group size of a record in a later round counts only the records of its class that
    were left for that round, because records released earlier are generalized differently and can be distinguished.
    Under journalist risk, it counts all people in the population who generalize to its class, as in every round. Each
    round may suppress any number of records; the suppression limit applies to the records left after the last round. If
    more are left, all records are suppressed.

    Parameters
    ----------
    game : FullDomainGame
        Game over all records, with the suppression limit.
    rounds : int
        Maximum number of rounds.
    solve : callable
        Returns the solution of the game of a round; the default is exact.

    Returns
    -------
    LocalRecoding
        Not necessarily the best use of several nodes, even if each round is optimal by itself.
    """
    cells = game.lattice.n_records
    strategies = np.full(cells, WITHHELD, dtype=np.int64)
    left = np.flatnonzero(game.released)
    solutions: list[FullDomainSolution] = []
    while len(solutions) < rounds and len(left):
        part = game.among(left)
        solution = solve(part)
        node = solution.node
        if node == NO_SOLUTION or not solution.payout > 0:
            break
        kept = part.kept_at(node)
        strategies[left[kept]] = node
        left = left[~kept]
        solutions.append(solution)
    if game.released[left].sum() > game.most_suppressed:
        return LocalRecoding(np.full(cells, WITHHELD, dtype=np.int64), 0.0, tuple(solutions))
    return LocalRecoding(strategies, float(sum(s.payout for s in solutions)), tuple(solutions))


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


@dataclass(frozen=True, eq=False)
class Recoding:
    """A multi-dimensional recoding, its payout and its number of suppressed records.

    Parameters
    ----------
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region, whether its records are suppressed or not.
    strategies : ndarray of int64, shape (n_cells,)
        The node of the cell's region; -1 where its records are suppressed.
    payout : float
        Publisher's payoff over all records, in currency units.
    suppressed : int
        Number of suppressed records.
    """

    regions: Strategies
    strategies: Strategies
    payout: float
    suppressed: int

    def value(self, charge: float) -> float:
        """Return the total payout minus `charge` times the number of suppressed records.

        Both amounts are in currency units.
        """
        return self.payout - charge * self.suppressed


@dataclass(frozen=True, eq=False)
class MultiDimensional(Recoding):
    """Result of multi-dimensional recoding: the region of each cell (distinct record).

    If no recoding keeps to the suppression limit, all records are suppressed, with payout 0.

    Parameters
    ----------
    bound : float
        Upper bound of the payout of any recoding by splits within the suppression limit.
    exact : bool
        Whether the payout is proved to be the optimum.
    gap : float
        Bound on the distance to the optimal payout, as a share of the payout of ungeneralized records without attacks;
        0 if the recoding is proved optimal.
    evaluated : int
        Number of nodes computed, over all walks.
    """

    bound: float
    exact: bool
    gap: float
    evaluated: int


def multi_dimensional(game: FullDomainGame) -> MultiDimensional:
    """Find the recoding with the highest payout within the suppression limit.

    If the best unconstrained recoding suppresses too many records, each suppressed record is charged (a Lagrange
    multiplier). The charge is set so that a recoding within the limit and a recoding beyond it have equal value. This
    is repeated until no recoding has a higher value at the charge. The recoding within the limit is then within `gap`
    of the optimum. The best single node for all records replaces it if its payout is higher.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the minimum levels and the suppression limit.

    Returns
    -------
    MultiDimensional
        Exact if the best unconstrained recoding is within the limit, or the bound equals the payout.

    Raises
    ------
    InputError
        If the best choices of all classes do not fit in 2 GiB of memory.
    """
    most, best_case, evaluated = game.most_suppressed, game.best_case, 0
    tie = INDIFFERENCE * max(best_case, 1.0)

    def best(charge: float) -> Recoding:
        nonlocal evaluated
        splits = _BestSplits(game, charge)
        for visit in game.walk():
            splits.visit(visit)
            evaluated += 1
        regions = splits.regions()
        strategies = regions.copy()
        for node in np.unique(regions).tolist():
            here = np.flatnonzero(regions == node)
            strategies[here[~game.kept_at(node)[here]]] = WITHHELD
        suppressed = int(game.released[strategies == WITHHELD].sum())
        return Recoding(regions, strategies, splits.value + charge * suppressed, suppressed)

    over = kept = best(0.0)
    bound = over.payout
    if over.suppressed > most:
        # At this charge, releasing one more record is worth more than any loss of payout it can cause.
        kept = best(2 * max(best_case, 1.0))
    if kept.suppressed > most:
        kept, bound = Recoding(kept.regions, np.full_like(kept.regions, WITHHELD), 0.0, game.n_records), 0.0
    elif over.suppressed > most:
        while over.suppressed > kept.suppressed:
            charge = (over.payout - kept.payout) / (over.suppressed - kept.suppressed)
            between = best(charge)
            bound = min(bound, between.value(charge) + charge * most)
            if between.value(charge) <= over.value(charge) + tie:
                break
            over, kept = (between, kept) if between.suppressed > most else (over, between)
        solution = search(game)
        evaluated += solution.evaluated
        node = solution.node
        if node != NO_SOLUTION and solution.payout > kept.payout + tie:
            regions = np.full_like(kept.regions, node)
            strategies = np.where(game.kept_at(node), regions, WITHHELD)
            kept = Recoding(regions, strategies, solution.payout, solution.suppressed)
    exact, bound = bound <= kept.payout + tie, max(bound, kept.payout)
    gap = 0.0 if exact or not best_case else (bound - kept.payout) / best_case
    return MultiDimensional(**vars(kept), bound=bound, exact=exact, gap=gap, evaluated=evaluated)


class _BestSplits:
    """Decisions for each class, from the lowest node up, whether and how to split it.

    A split divides a class by one level of one attribute. The best payout of a class is the larger of its payout as one
    region and the sum of its parts' best payouts after the best split, minus a charge for each suppressed record. Parts
    are computed before the class. If payouts are equal, the class is split if `splits_at_equal_payoff`, along the first
    such attribute; a class whose records are all suppressed is not split.

    Parameters
    ----------
    game : FullDomainGame
        Its suppression limit has no effect.
    charge : float
        Amount subtracted for each suppressed record, in currency units.
    """

    def __init__(self, game: FullDomainGame, charge: float) -> None:
        self._game = game
        self._charge = charge
        self._roll_up = game.finest[0]
        self._tie = INDIFFERENCE * max(game.best_case, 1.0)
        self._top = tuple(levels - 1 for levels in game.lattice.shape)
        # Keys and best payouts of the classes of each node, kept until all nodes just above have been visited.
        self._values: dict[Levels, tuple[Ints, Floats]] = {}
        # The attribute along which each class of a node is split, by key; only nodes with splits are kept.
        self._splits: dict[Levels, NDArray[np.int8]] = {}
        self._bytes = 0
        self.value = 0.0

    def visit(self, visit: Visit) -> None:
        """Decide for each class of a node whether, and by which attribute, it is split.

        Nodes must be visited after all nodes that they generalize. At the top node, the best value of the whole domain
        is stored in `value`.

        Raises
        ------
        InputError
            If the best payouts of classes held do not fit in 2 GiB of memory.
        """
        here, game = visit.levels, self._game
        keys, class_of, released, outcomes = game.outcomes_by_row(visit)
        nothing = -self._charge * np.bincount(class_of, released, len(keys))
        paid = released * np.where(outcomes[SUPPRESSED], -self._charge, outcomes[PAYOUT])
        value = np.asarray(np.bincount(class_of, paid, len(keys)), dtype=np.float64)
        split = np.full(len(keys), _WHOLE, dtype=np.int8)
        for position in range(len(here)):
            if here[position] > game.lowest[position]:
                parts, part_values = self._values[_at(here, position, here[position] - 1)]
                raised = self._roll_up.raised(parts, position, here[position] - 1)
                sums = np.bincount(np.searchsorted(keys, raised), part_values, len(keys))
                # A split replaces another split only if it pays more.
                least = value + np.where((split == _WHOLE) & game.splits_at_equal_payoff, -self._tie, self._tie)
                better = (sums > least) & (sums > nothing + self._tie)
                value[better], split[better] = sums[better], position
        self._values[here] = keys, value
        if (split != _WHOLE).any():
            self._splits[here] = split
        self._account(here, keys)
        if here == self._top:
            self.value = float(value.sum())

    def _account(self, here: Levels, keys: NDArray[np.int64]) -> None:
        """Drop values that no later node needs; count the memory held.

        `here` is the levels of the visited node, and `keys` the keys of its classes.

        Raises
        ------
        InputError
            If the values held take more than 2 GiB.
        """
        self._bytes += 17 * len(keys)
        for position in range(len(here)):
            below = _at(here, position, here[position] - 1)
            if below in self._values and self._last_above(below) == here:
                self._bytes -= 16 * len(self._values.pop(below)[0])
        if self._bytes > _MEMORY_LIMIT:
            raise InputError(
                "too many classes for multi-dimensional recoding",
                found=f"more than {self._bytes // 2**20:,} MiB of memory",
                expected=f"at most {_MEMORY_LIMIT // 2**20:,} MiB",
                hint="use fewer quasi-identifiers, or record-level generalization",
            )

    def _last_above(self, below: Levels) -> Levels:
        """Return the levels of the node just above that the walk visits last.

        A node just above has one attribute one level higher than `below`. The walk raises attributes with most values
        first. At the top node, the result is `below` itself.
        """
        for position in self._roll_up.order:
            if below[position] < self._top[position]:
                return _at(below, position, below[position] + 1)
        return below

    def regions(self) -> Strategies:
        """Return the node of each cell's region, following the splits from the top.

        The result has shape (n_cells,); cells without records get the top node.
        """
        lattice = self._game.lattice
        occupied = np.flatnonzero(self._game.released)
        number = np.empty(lattice.n_records, dtype=np.intp)
        regions = np.full(lattice.n_records, lattice.size - 1, dtype=np.int64)
        open_nodes = {self._top: occupied}
        while open_nodes:
            # The highest node first, so that a node is processed only after all its cells have been assigned.
            here = max(open_nodes, key=sum)
            cells = open_nodes.pop(here)
            if here not in self._splits:
                regions[cells] = lattice.index(here)
                continue
            keys = self._roll_up.keys_at(lattice.codes[occupied], here)
            number[occupied] = np.unique(keys, return_inverse=True)[1]
            split = self._splits[here][number[cells]]
            for position in np.unique(split).tolist():
                group = cells[split == position]
                if position == _WHOLE:
                    regions[group] = lattice.index(here)
                    continue
                below = _at(here, position, here[position] - 1)
                open_nodes[below] = np.concatenate([open_nodes.get(below, group[:0]), group])
        return regions


def _at(levels: Levels, position: int, level: int) -> Levels:
    return (*levels[:position], level, *levels[position + 1 :])


@dataclass(frozen=True, eq=False)
class RecordLevelSolution:
    """The best node of every cell (distinct record); arrays (n_cells,).

    A record without a positive payoff at any node is withheld (strategy -1).

    Parameters
    ----------
    strategies : ndarray of int64
        Node of each cell; -1 if withheld.
    payoff : ndarray of float64
        Publisher's payoff per record, in currency units; 0 if withheld.
    evaluated : int
        Number of nodes computed for at least one cell.
    """

    strategies: Strategies
    payoff: Floats
    evaluated: int


def record_level(game: FullDomainGame) -> RecordLevelSolution:
    """Find each record's best node.

    Group sizes are counted in the whole dataset generalized to the record's node (or in a population); they do not
    depend on other records' choices.

    Nodes above a node whose benefit for a cell, without any attack, does not exceed the cell's best payoff are not
    computed for this cell. Among equal payoffs the first node in lattice order is kept. The suppression limit does not
    apply; the minimum levels do.

    Parameters
    ----------
    game : FullDomainGame
        Game with the payoff parameters, the risk model and the minimum levels.

    Returns
    -------
    RecordLevelSolution
        Exact: the best node of every cell, or -1 (withheld) if none pays more than 0.
    """
    cells, kind = game.lattice.n_records, game.cell_kind
    benefit = game.prices.benefit[kind]
    tie = INDIFFERENCE * (benefit + game.prices.loss[kind])
    strategies, payoff = np.full(cells, WITHHELD, dtype=np.int64), np.zeros(cells)

    def wins(node: int, rows: Rows, value: Floats) -> NDArray[np.bool_]:
        return beats(node, value, strategies[rows], payoff[rows], tie[rows])

    def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        keep = wins(node, followed.rows, benefit[followed.rows] * utilities_of(followed.loss))
        rows, group_of, loss = followed
        return Followed(rows[keep], group_of[keep], loss[keep]) if keep.any() else None

    evaluated = 0
    for visit in game.walk(enter, Followed(np.arange(cells), game.finest[2], np.zeros(cells))):
        evaluated += 1
        rows, people = visit.followed.rows, visit.table.people[visit.followed.group_of]
        value, suppressed, *_ = record_outcomes(visit.followed.loss, people, game.terms, kind[rows])
        better = (suppressed == 0) & wins(visit.node, rows, value)
        payoff[rows[better]], strategies[rows[better]] = value[better], visit.node
    return RecordLevelSolution(strategies, payoff, evaluated)

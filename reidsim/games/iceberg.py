"""Exact search for large tables that splits groups from the most general node."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.rationality import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.record_game import WITHHELD, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import Progress, branch_and_bound, no_progress
from reidsim.linkage.partition import Integers, Positions, Rollup, split, vertices
from reidsim.releases.lattice import NO_BENEFIT, Floats, GeneralizationLattice, Strategies

# Minimum number of parts of the search; progress is reported after each part.
_PARTS = 64


class Held(NamedTuple):
    """Best strategy found so far for each record.

    Attributes
    ----------
    payoff : ndarray of float64, shape (n_records,)
        The publisher's payoff, in currency units; minus infinity where no strategy is found yet.
    strategies : ndarray of int64, shape (n_records,)
        Number of the best strategy; ``WITHHELD`` (-1) where none is found yet.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies whose payoff was computed.
    """

    payoff: Floats
    strategies: Strategies
    evaluated: Integers


def iceberg(game: RecordGame, constraint: Constraint | None = None, progress: Progress = no_progress) -> Choice:
    """Return the best strategy of every record.

    The search is meant for lattices of many nodes. A vertex of the search tree fixes the levels of some attributes and
    omits the others (`Rollup`). For a group at a vertex, two facts bound every node beneath the vertex. First, no
    record of the group loses less information than with the fixed levels and all other levels at 0. Second, no group
    beneath is larger than this group. Let n be the size of the group, L the publisher's loss, and v the benefit at this
    least information loss. Then a strategy beneath pays a record at most v - L / n if an attack on a group of n people
    pays, and at most v otherwise. Under the No-Attack constraint, no strategy beneath is allowed in the first case,
    because an attack on fewer people pays as well.

    A group is not split further if, for each of its records, this bound is below the best payoff found, or equal to it
    with a higher strategy number. Every strategy is either evaluated or lies beneath such a group. Hence payoff and
    strategy are the same as in `backward_induction`.

    Reason for this order: if the search starts at the most specific node (`branch_and_bound`), nothing bounds it until
    it finds a strategy that is not attacked, and nearly every record is alone in its group at nearly every node
    visited. With 300,000 records and 69,120 strategies, it would make some 50,000 tables of 300,000 groups. If the
    search starts at the most general node, groups too small for the constraint are skipped with all nodes beneath them.

    Parameters
    ----------
    game : RecordGame
        If `fits` is false for the game, `branch_and_bound` is used instead.
    constraint : Constraint, optional
        No constraint, if not given; limits on sensitive columns are not supported, because the size of a group alone
        does not determine whether it may be released.
    progress : callable, optional
        Called with the number of parts of the search done and the total number.

    Returns
    -------
    Choice
        Exact choice; a record is withheld if no strategy satisfies the constraint. `evaluated` counts the strategies
        whose payoff was computed.
    """
    constraint = constraint or Constraint()
    if not fits(game):
        return branch_and_bound(game, constraint, progress)
    found = _search(game, constraint, progress)
    return Choice(found.strategies, "iceberg", found.evaluated, exact=True)


def fits(game: RecordGame) -> bool:
    """Return whether `iceberg` can solve a game: payoffs depend on group sizes alone.

    It can if the adversary is a `OneShotAdversary` (one attempt per record, a uniform guess within the group), the
    linker is a `PopulationLinker` over a population that contains every record's person and whose groups can be rolled
    up, and the strategies form a `GeneralizationLattice`. Subclasses of the adversary, linker or lattice do not fit.
    """
    adversary, linker, space = game.adversary, game.linker, game.space
    return (
        type(adversary) is OneShotAdversary
        and type(space) is GeneralizationLattice
        and type(linker) is PopulationLinker
        and linker.group_sizes.holds_records
        and linker.group_sizes.rollup is not None
    )


class Search(NamedTuple):
    """Data of one search, with its work arrays.

    Attributes
    ----------
    rollup : Rollup
        Groups of all people.
    records : ndarray of int64, shape (n_rows,)
        0 for records, -1 for other people.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and cost of an attack including the tie tolerance, in currency units. An attack pays if its
        expected gain exceeds this cost.
    lowest : ndarray of int16, shape (n_attributes, n_records) or (n_attributes, 1)
        Lowest allowed level of each record's attributes; one column if level 0 is allowed for all records.
    least : int
        Smallest group size that is searched; smaller groups are skipped.
    no_attack : bool
        Whether strategies under which an attack pays are forbidden.
    fixed, levels : ndarray of int64, shape (n_attributes,)
        The only level of each attribute to be searched, -1 for all levels; levels of the current vertex.
    buffers : ndarray of int32, shape (n_attributes + 1, n_rows)
        Row numbers of the groups of each depth.
    counts : ndarray of int64, shape (n_groups, 3)
        Work array.
    held : Held
        Best strategies found.
    """

    rollup: Rollup
    records: Integers
    amounts: Floats
    lowest: NDArray[np.int16]
    least: int
    no_attack: bool
    fixed: Integers
    levels: Integers
    buffers: Positions
    counts: Integers
    held: Held


def _search(game: RecordGame, constraint: Constraint, progress: Progress) -> Held:
    # As `fits` found: a population linker with a roll-up, a one-shot adversary and a lattice.
    linker, adversary, space, n = cast("Any", game.linker), cast("Any", game.adversary), game.space, game.n_records
    rollup: Rollup = linker.group_sizes.rollup
    n_attributes, n_rows = rollup.codes.shape
    price = np.asarray(adversary.cost) * np.float64(1 + INDIFFERENCE)
    amounts = np.array([np.broadcast_to(each, (n,)) for each in (game.benefit, game.loss, adversary.gain, price)])
    lowest = np.zeros((n_attributes, 1 if constraint.minimum is None else n), dtype=np.int16)
    if constraint.minimum is not None:
        lowest[:] = np.asarray(constraint.minimum) // rollup.strides[:, None] % rollup.shape[:, None]
    held = Held(np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64), np.zeros(n, dtype=np.int64))
    if constraint.minimum is None:
        # Evaluate the unchanged and the fully suppressed release first, so that most groups are skipped at once.
        for strategy in (space.most_specific, space.size - 1):
            outcome = game.outcome(strategy)
            better = constraint.allows(space, strategy, outcome.response.invited)
            ahead = outcome.publisher_payoff - held.payoff
            better &= (ahead > game.tie()) | ((ahead >= -game.tie()) & (strategy < held.strategies))
            held.payoff[better], held.strategies[better] = outcome.publisher_payoff[better], strategy
            held.evaluated[:] += 1
    search = Search(
        rollup,
        np.where(np.arange(n_rows) < n, 0, -1),
        amounts,
        lowest,
        least=_least_safe(amounts) if constraint.no_attack else 0,
        no_attack=constraint.no_attack,
        fixed=np.empty(n_attributes, dtype=np.int64),
        levels=np.zeros(n_attributes, dtype=np.int64),
        buffers=np.empty((n_attributes + 1, n_rows), dtype=np.int32),
        counts=np.zeros((int(rollup.n_groups.max()), 3), dtype=np.int64),
        held=held,
    )
    search.buffers[0] = np.arange(n_rows)
    parts = vertices(rollup.shape.tolist(), _PARTS)
    for done, first_levels in enumerate(parts, start=1):
        search.fixed[:] = -1
        search.fixed[: len(first_levels)] = first_levels
        _walk(0, 0, n_rows, int(rollup.people.sum()), 0.0, 0, search)
        progress(done, len(parts))
    return held


def _least_safe(amounts: Floats) -> int:
    """Return a group size below which an attack on every record pays, or 0.

    `amounts`, shape (4, n_records), is that of `Search`: benefit, loss, gain and cost, in currency units. The result is
    a whole number of people, one less than the smallest ratio of gain to cost over records, rounded down; at most
    2**62.
    """
    _, _, gain, price = amounts
    with np.errstate(divide="ignore", invalid="ignore"):
        people = np.where(gain > 0, gain / price, 0.0).min(initial=np.inf)
    # One less, so that rounding errors cannot exclude a group that is not attacked.
    return int(min(max(people - 1.0, 0.0), 2.0**62))


@numba.njit(cache=True)
def _wins(payoff: float, strategy: int, record: int, amounts: Floats, held: Held) -> bool:
    """Return whether a strategy's payoff beats the best found so far for a record.

    It does if it is larger by more than the tie tolerance, or equal within it and the strategy's number is lower.
    `amounts` and `held` are those of `Search`; `payoff` is in currency units.
    """
    ahead, tie = payoff - held.payoff[record], INDIFFERENCE * (amounts[0, record] + amounts[1, record])
    return bool(ahead > tie or (ahead >= -tie and strategy < held.strategies[record]))


@numba.njit(cache=True)
def _walk(depth: int, begin: int, end: int, size: int, lost: float, strategy: int, search: Search) -> None:
    """Search beneath a vertex for better strategies of the records of a group.

    Better strategies are written to `search.held`.

    Parameters
    ----------
    depth : int
        Number of attributes whose levels the vertex fixes (the first ones); all of them at a node of the lattice.
    begin, end : int
        The group: positions in ``buffers[depth]``.
    size : int
        Number of people in the group.
    lost : float
        Least information loss of a record of the group under the levels of the vertex.
    strategy : int
        Number of the strategy with these levels, and level 0 of all other attributes.
    search : Search
        Data of the search; `levels`, `buffers` and `counts` are overwritten.
    """
    rollup, records, levels, buffers, held = search.rollup, search.records, search.levels, search.buffers, search.held
    benefit, loss, gain, price = search.amounts
    is_bounded = search.lowest.shape[1] > 1 or len(benefit) == 1
    if depth == len(rollup.shape):
        for place in range(begin, end):
            record = buffers[depth, place]
            if records[record] < 0:
                continue
            attacked = gain[record] * (1.0 / size) > price[record]
            loses, allowed = 0.0, not (attacked and search.no_attack)
            for at in range(len(levels)):
                if levels[at] > 0:
                    loses += rollup.losses[at, levels[at], rollup.codes[at, record]]
                if is_bounded and levels[at] < search.lowest[at, record]:
                    allowed = False
            if not allowed:
                continue
            payoff = benefit[record] * (0.0 if loses > NO_BENEFIT else 1.0 - loses)
            payoff -= loss[record] * (1.0 / size) if attacked else 0.0
            held.evaluated[record] += 1
            if _wins(payoff, strategy, record, search.amounts, held):
                held.payoff[record], held.strategies[record] = payoff, strategy
        return
    column = rollup.codes[depth]
    for level in range(rollup.shape[depth]):
        if search.fixed[depth] >= 0 and search.fixed[depth] != level:
            continue
        levels[depth] = level
        number, groups = strategy + level * rollup.strides[depth], rollup.groups[depth, level]
        here, below = buffers[depth], buffers[depth + 1]
        starts, sizes = split(
            here, begin, end, below, column, groups, rollup.people, records, 0, 1, search.least, search.counts
        )
        for group in range(len(sizes)):
            people = max(sizes[group], 1)
            loses = lost + rollup.least_losses[depth, level, column[below[starts[group]]]]
            share, found = 1.0 / people, False
            for place in range(starts[group], starts[group + 1]):
                record = below[place]
                if records[record] < 0 or (is_bounded and level < search.lowest[depth, record]):
                    continue
                most = benefit[record] * (1.0 - loses)
                if gain[record] * share > price[record]:
                    if search.no_attack:
                        continue
                    most -= loss[record] * share
                if _wins(most, number, record, search.amounts, held):
                    found = True
                    break
            if found:
                _walk(depth + 1, starts[group], starts[group + 1], people, loses, number, search)

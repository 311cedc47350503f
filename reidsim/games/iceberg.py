"""Search of record games with many strategies, in which payoffs depend on group sizes alone.

The search splits the people into groups, from the most general node, and skips groups without a better strategy: an
iceberg cube (Beyer and Ramakrishnan 1999). Records that take too many steps in this way are decided one by one: people
are counted by the least level of each attribute at which they agree with the record, and cumulative sums of these
counts are the group sizes of all strategies.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, OneShotAdversary
from reidsim.core.errors import refuse_first
from reidsim.core.numerics import borrowing, compiled, random_stream
from reidsim.games.record_game import WITHHELD, BoundedChoice, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import Progress, beats, branch_and_bound, no_progress
from reidsim.linkage.partition import Integers, Positions, Rollup, split, vertices
from reidsim.releases.lattice import NO_BENEFIT, Floats, GeneralizationLattice, Strategies

# Minimum number of parts of the tree, and number of parts of the records that are decided one by one. Progress is
# reported, and a budget is checked, after each part.
_PARTS, _RECORD_PARTS = 64, 16
# Largest number of nodes beneath a group whose records are decided one by one, and largest number per row.
_COUNTED, _PER_ROW = 2**17, 256
# Steps per record before records are decided one by one: a share of the steps that a decision takes. A step of a group
# takes about ten times as long as a step of a decision. With 8, a search of 4,000 records and 65,536 strategies takes
# twice as long.
_SHARE = 64
# Steps per record in the first pass of a search with a budget, and their growth from pass to pass.
_FIRST, _LONGER = 64, 8
_UNLIMITED = 2**62
# Records whose strategies are offered to all others, rounds by which they are improved before, and rounds for all.
_POOL, _POOL_ROUNDS, _ROUNDS = 100, 12, 8
# Number of strategies compared in one improvement of a record, and of records that vary the levels of the same
# attributes. With a quarter or four times as many strategies, a round gains less for its time.
_NEIGHBOURS, _TOGETHER = 2**10, 512
# Shares of a budget after which the pool, the first passes and the improvement of all records end. If the budget is
# enough to decide every record, at this number of steps per second, the passes take all of it.
_POOLED, _PASSED, _IMPROVED, _STEPS_PER_SECOND = 0.2, 0.3, 0.7, 10**8
# Largest number of records drawn and solved exactly, and the number solved at a time.
_MOST_DRAWN, _DRAWN_AT_ONCE = 400, 8
# Probability that the likely gap is too low.
RISK = 0.01
# Bits by which a row's distance is more precise than its interval, see `_decide`.
_FINE = 20
# Steps between two checks of a budget while rows are counted: some tenths of a second.
_COUNT_STEPS = 2**28
# Tables of joint values: least number of rows per entry, so that filling a table takes less time than it saves, and
# largest number of entries, so that it fits in the fastest cache.
_ROWS_PER_ENTRY, _LARGEST_TABLE = 16, 2**12


def iceberg(
    game: RecordGame,
    constraint: Constraint | None = None,
    progress: Progress = no_progress,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    weights: Integers | None = None,
    seed: int = 0,
) -> BoundedChoice:
    """Return the best strategy of every record, or the best one found within a budget.

    The search is meant for lattices of many nodes. A vertex of the search tree fixes the levels of some attributes and
    omits the others (`Rollup`). For a group at a vertex, two facts bound every node beneath the vertex. First, no
    record of the group loses less information than with the fixed levels and all other levels at 0. Second, no group
    beneath is larger than this group. Let n be the size of the group, L the publisher's loss, and v the benefit at this
    least information loss. Then a strategy beneath pays a record at most v - L / n if an attack on a group of n people
    pays, and at most v otherwise. Under the No-Attack constraint, no strategy beneath is allowed in the first case,
    because an attack on fewer people pays as well.

    A group is not split further if, for each of its records, this bound is below the best payoff found, or equal to it
    with a higher strategy number. Every strategy is either evaluated or lies beneath such a group. Hence payoff and
    strategy are the same as in `backward_induction`. Where splitting takes more steps than comparing each record with
    all rows of its group, the records that are left open are decided one by one, see `_decide`.

    Reason for this order: if the search starts at the most specific node (`branch_and_bound`), nothing bounds it until
    it finds a strategy that is not attacked, and nearly every record is alone in its group at nearly every node
    visited. With 300,000 records and 69,120 strategies, it would make some 50,000 tables of 300,000 groups. If the
    search starts at the most general node, groups too small for the constraint are skipped with all nodes beneath them.

    With a budget, the search first improves some random records and offers their strategies to all others (`_pool`).
    Then it makes passes over the tree. In each pass, every part of the tree has a limit of steps, which grows from pass
    to pass; the bounds of the groups that a pass leaves open bound the payoff of every strategy. On independent columns
    these bounds fall slowly, so open records also get a bound from the levels of a few attributes and the distance of
    every row in the others (`_decide`). Records that are still open are improved one by one (`_improve`).

    The bounds stay far above the optimum of many columns, while the strategies are near it. So the rest of the budget
    solves random records exactly and estimates the gap of all records (`_solve_sample`).

    Parameters
    ----------
    game : RecordGame
        If `fits` is false for the game, `branch_and_bound` is used instead.
    constraint : Constraint, optional
        No constraint, if not given; limits on sensitive columns are not supported, because the size of a group alone
        does not determine whether it may be released.
    progress : callable, optional
        Called with the number of parts of a pass done and the total number.
    nodes : int, optional
        Budget: steps per record, after which the search ends at the end of a part. A step is the comparison of a record
        with a row or a strategy.
    seconds : float, optional
        Budget: seconds, after which the search ends at the end of a part.
    weights : ndarray of int64, shape (n_records,), optional
        Number of times that each record counts in the likely gap; 1, if not given.
    seed : int
        Root seed of the records and attributes that a search with a budget draws.

    Returns
    -------
    BoundedChoice
        Exact without a budget, or if the search ends within it. A record is withheld if no strategy that satisfies the
        constraint is found. `evaluated` counts the strategies whose payoff was computed.

    Raises
    ------
    InputError
        If there is a budget and `fits` is false for the game.
    """
    constraint = constraint or Constraint()
    is_limited = nodes is not None or seconds is not None
    if not fits(game):
        problem = "the anytime search of records needs payoffs that depend on group sizes alone"
        expected = 'a one-shot adversary who links with a population that holds every record, or search = "exact"'
        refuse_first((is_limited, problem, "publisher.search", "anytime", expected))
        choice = branch_and_bound(game, constraint, progress)
        return BoundedChoice(**vars(choice), gap=np.zeros(game.n_records))
    search, likely, drawn = _begin(game, constraint), math.inf, 0
    bound = search.amounts[0].copy()
    if not is_limited:
        _pass(search, bound, _UNLIMITED, progress)
    else:
        steps = math.inf if nodes is None else nodes * game.n_records
        longest, begun, spent = math.inf if seconds is None else seconds, time.monotonic(), 0

        def goes_on(share: float, taken: int) -> bool:
            nonlocal spent
            spent += taken
            return spent < share * steps and time.monotonic() - begun < share * longest

        rng, index = random_stream(seed, "search"), _index(search.rollup)
        decided = game.n_records * (search.buffers.shape[1] + int(search.beneath[0]))
        first = 1.0 if decided <= min(steps, longest * _STEPS_PER_SECOND) else _PASSED
        _pool(game, constraint, search, index, rng, lambda taken: goes_on(_POOLED, 0))
        _within(search, bound, partial(goes_on, first), progress)
        for _ in range(_ROUNDS):
            _improve(search, np.flatnonzero(_open(search, bound)), index, rng, partial(goes_on, _IMPROVED))
        amounts = _gap(search, bound) * (1 if weights is None else weights)
        shares = _solve_sample(search, bound, amounts, rng, partial(goes_on, 1.0))
        likely, drawn = upper_mean(shares) * float(amounts.sum()), len(shares)
        _within(search, bound, partial(goes_on, 1.0), progress)
    gap = _gap(search, bound)
    return BoundedChoice(search.strategies, "iceberg", search.evaluated, not gap.any(), gap, likely, drawn)


def fits(game: RecordGame) -> bool:
    """Return whether `iceberg` can solve a game: payoffs depend on group sizes alone.

    The result is True if the adversary is a `OneShotAdversary` (one attempt per record, a uniform guess within the
    group), the linker is a `PopulationLinker` over a population that contains every record's person and whose groups
    can be rolled up, and the strategies form a `GeneralizationLattice`. Subclasses of the adversary, linker or lattice
    do not fit.
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
    lowest : ndarray of int16, shape (n_attributes, n_records)
        Lowest allowed level of each record's attributes.
    no_attack : bool
        Whether strategies under which an attack pays are forbidden.
    fixed, levels : ndarray of int64, shape (n_attributes,)
        The only level of each attribute to be searched, -1 for all levels; levels of the current vertex.
    beneath : ndarray of int64, shape (n_attributes + 1,)
        Number of nodes beneath a vertex that fixes the levels of the first attributes.
    buffers : ndarray of int32, shape (n_attributes + 1, n_rows)
        Row numbers of the groups of each depth.
    counts : ndarray of int64, shape (n_groups, 3)
        Work array.
    sizes : ndarray of int64, shape (n_counted,)
        Work array: group sizes of a record under the strategies beneath a vertex, or at the nodes of another lattice.
    lost, path : ndarray of float64, shape (n_attributes,), and ndarray of int64, shape (3, n_attributes)
        Work arrays: information loss, node, strategy number and next level at each depth.
    numbers : ndarray of int32, shape (n_attributes, n_values)
        Work array: numbers of the values that occur in a group, from 1; 0 for other values.
    steps : ndarray of int64, shape (2,)
        Number of steps left, without which groups are left open; and whether records are decided one by one (1) or not
        (0).
    payoff : ndarray of float64, shape (n_records,)
        The publisher's best payoff found so far, in currency units; minus infinity without a strategy.
    strategies : ndarray of int64, shape (n_records,)
        Number of the best strategy; ``WITHHELD`` (-1) where none is found yet.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies whose payoff was computed.
    bound : ndarray of float64, shape (n_records,)
        Upper bound of the payoff of the strategies that were left open; minus infinity if none was.
    """

    rollup: Rollup
    records: Integers
    amounts: Floats
    lowest: NDArray[np.int16]
    no_attack: bool
    fixed: Integers
    levels: Integers
    beneath: Integers
    buffers: Positions
    counts: Integers
    sizes: Integers
    lost: Floats
    path: Integers
    numbers: Positions
    steps: Integers
    payoff: Floats
    strategies: Strategies
    evaluated: Integers
    bound: Floats


def _begin(game: RecordGame, constraint: Constraint) -> Search:
    """Return the data of a search that knows the payoffs of the unchanged and of the fully suppressed release.

    These payoffs let most groups be skipped without a search. For the parameters see `iceberg`.
    """
    # As `fits` found: a population linker with a roll-up, a one-shot adversary and a lattice.
    linker, adversary, space, n = cast("Any", game.linker), cast("Any", game.adversary), game.space, game.n_records
    rollup: Rollup = linker.group_sizes.rollup
    n_attributes, n_rows = rollup.codes.shape
    price = np.asarray(adversary.cost) * np.float64(1 + INDIFFERENCE)
    amounts = np.array([np.broadcast_to(each, (n,)) for each in (game.benefit, game.loss, adversary.gain, price)])
    lowest = np.zeros((n_attributes, n), dtype=np.int16)
    if constraint.minimum is not None:
        lowest[:] = np.asarray(constraint.minimum) // rollup.strides[:, None] % rollup.shape[:, None]
    beneath = np.append(np.cumprod(rollup.shape[::-1])[::-1], 1)
    search = Search(
        rollup,
        records=np.where(np.arange(n_rows) < n, 0, -1),
        amounts=amounts,
        lowest=lowest,
        no_attack=constraint.no_attack,
        fixed=np.zeros(n_attributes, dtype=np.int64),
        levels=np.zeros(n_attributes, dtype=np.int64),
        beneath=beneath,
        buffers=np.empty((n_attributes + 1, n_rows), dtype=np.int32),
        counts=np.zeros((int(rollup.n_groups.max()), 3), dtype=np.int64),
        sizes=np.empty(beneath[beneath <= _COUNTED].max(), dtype=np.int64),
        lost=np.zeros(n_attributes),
        path=np.zeros((3, n_attributes), dtype=np.int64),
        numbers=np.zeros(rollup.groups.shape[::2], dtype=np.int32),
        steps=np.zeros(2, dtype=np.int64),
        payoff=np.full(n, -np.inf),
        strategies=np.full(n, WITHHELD, dtype=np.int64),
        evaluated=np.zeros(n, dtype=np.int64),
        bound=np.full(n, -np.inf),
    )
    for strategy in (space.most_specific, space.size - 1):
        _offer(game, constraint, search, strategy)
    search.buffers[0] = np.arange(n_rows)
    return search


def _offer(game: RecordGame, constraint: Constraint, search: Search, strategy: int) -> None:
    """Evaluate a strategy for all records, and take it where it is better."""
    outcome = game.outcome(strategy)
    allowed = constraint.allows(game.space, strategy, outcome.response.invited)
    better = allowed & beats(strategy, outcome.publisher_payoff, search.strategies, search.payoff, game.tie())
    search.payoff[better], search.strategies[better] = outcome.publisher_payoff[better], strategy
    search.evaluated[:] += 1


class _Index(NamedTuple):
    """Rows of each group of each attribute.

    Attributes
    ----------
    order : ndarray of int32, shape (n_attributes, n_rows)
        Rows sorted by each attribute; those of a group follow each other, as groups of different levels are nested.
    spans : ndarray of int64, shape (n_attributes, n_levels, n_groups, 2)
        First position of each group in the order, and the position after its last one.
    """

    order: Positions
    spans: Integers


def _index(rollup: Rollup) -> _Index:
    """Return the rows of each group."""
    spans = np.zeros((*rollup.groups.shape[:2], int(rollup.n_groups.max()), 2), dtype=np.int64)
    order = np.empty(rollup.codes.shape, dtype=np.int32)
    for at, (codes, n_levels) in enumerate(zip(rollup.codes, rollup.shape, strict=True)):
        # The last key, the highest level, sorts first.
        place = np.lexsort(rollup.groups[at, :n_levels]).argsort()
        order[at] = place[codes].argsort(kind="stable")
        for level in range(n_levels):
            groups = rollup.groups[at, level, codes[order[at]]]
            group, first, size = np.unique(groups, return_index=True, return_counts=True)
            spans[at, level, group] = np.stack([first, first + size], axis=1)
    return _Index(order, spans)


def _pool(
    game: RecordGame,
    constraint: Constraint,
    search: Search,
    index: _Index,
    rng: np.random.Generator,
    goes_on: Callable[[int], bool],
) -> None:
    """Improve the strategies of some random records, and offer them to all records, for the first strategies."""
    rows = rng.permutation(game.n_records)[:_POOL]
    for _ in range(_POOL_ROUNDS):
        _improve(search, rows, index, rng, goes_on)
    for strategy in dict.fromkeys(search.strategies[rows].tolist()):
        if strategy != WITHHELD and goes_on(game.n_records):
            _offer(game, constraint, search, strategy)


def _improve(
    search: Search, rows: Integers, index: _Index, rng: np.random.Generator, goes_on: Callable[[int], bool]
) -> None:
    """Look for better strategies of some records among those that differ from their best one in a few attributes.

    The attributes are drawn anew for every few records; see `_vary`.
    """
    shape = search.rollup.shape
    search = search._replace(sizes=np.empty(max(_NEIGHBOURS, shape.max()), dtype=np.int64))
    for first in range(0, len(rows), _TOGETHER):
        if not goes_on(0):
            return
        drawn = rng.permutation(len(shape))
        varied = drawn[shape[drawn].cumprod() <= len(search.sizes)]
        search.steps[0] = 0
        _vary(rows[first : first + _TOGETHER].astype(np.int32), varied, index, search)
        goes_on(-int(search.steps[0]))


def _within(search: Search, bound: Floats, goes_on: Callable[[int], bool], progress: Progress) -> None:
    """Search in passes of growing length, until all is searched or a budget ends.

    For the parameters see `_pass`.
    """
    per_record = _FIRST
    while goes_on(0) and _open(search, bound).any():
        _relax(search, bound, per_record, goes_on)
        _pass(search, bound, per_record, progress, goes_on)
        per_record *= _LONGER


def _solve_sample(
    search: Search, bound: Floats, amounts: Floats, rng: np.random.Generator, goes_on: Callable[[int], bool]
) -> Floats:
    """Solve random records exactly; return how much of its gap each drawn record's optimum reaches.

    The probability of a record is proportional to its `amounts`, (n_records,), its gap times its weight. So the
    expected share, times the sum of the amounts, is the distance of all records to their optima. A share, (n_drawn,),
    is between 0 and 1. Records are drawn with replacement and solved in groups. If the budget ends in the middle of a
    group, this group is left out.
    """
    summed, known, gap = amounts.cumsum(), _known(search), _gap(search, bound)
    drawn = np.searchsorted(summed, rng.random(_MOST_DRAWN) * summed[-1], side="right")
    n = 0
    while n < _MOST_DRAWN and amounts.any():
        if not _one_by_one(search, bound, drawn[n : n + _DRAWN_AT_ONCE], _UNLIMITED, goes_on):
            break
        n += _DRAWN_AT_ONCE
    return np.asarray(((_known(search) - known)[drawn[:n]] / gap[drawn[:n]]).clip(0.0, 1.0))


def upper_mean(shares: Floats) -> float:
    """Return an upper confidence bound of a mean, from independent values between 0 and 1, shape (n,).

    It is too low with a probability of at most `RISK`, also if the number of values depends on them: a gambler who bets
    that the values are below their mean, always the same share of the wealth, multiplies the initial wealth by
    1 / `RISK` at any time with at most this probability (Ville 1939; Waudby-Smith and Ramdas 2024). The bound is the
    smallest mean at which the average gambler, over several shares, did so.
    """
    bets, low, high = np.arange(1, 20)[:, None] / 20, 0.0, 1.0
    for _ in range(40):
        mean = (low + high) / 2
        wealth = (1 + bets * (mean - shares)).prod(axis=1).mean()
        low, high = (low, mean) if wealth >= 1 / RISK else (mean, high)
    return high


def _relax(search: Search, bound: Floats, per_record: int, goes_on: Callable[[int], bool]) -> None:
    """Lower the bounds of open records by a search of the levels of the first attributes.

    One further axis replaces the other attributes, see `_decide`. Nothing is done if a pass decides the records in as
    many steps, or as long as passes are short compared to a count of all rows.

    For the parameters see `_pass`.
    """
    shape, (_, n_rows) = search.rollup.shape, search.buffers.shape
    limit = max(per_record, n_rows)
    # Nodes of the lattice by the number of attributes whose levels are searched.
    wide = search.beneath[0] // search.beneath[:-1] * (1 + (shape - 1)[::-1].cumsum()[::-1])
    upto = int(np.flatnonzero(wide <= limit).max(initial=0))
    if search.beneath[0] <= limit or upto == 0 or limit > per_record * _LONGER:
        return
    rows, n = np.flatnonzero(_open(search, bound)), len(bound)
    relaxed = search._replace(
        sizes=np.empty(wide[upto], dtype=np.int64),
        payoff=search.payoff.copy(),
        strategies=np.full(n, _UNLIMITED),
        evaluated=search.evaluated * 0,
    )
    for part in np.array_split(rows, len(rows) * (n_rows + wide[upto]) // _COUNT_STEPS + 1):
        search.records[:n], search.steps[:] = -1, _UNLIMITED
        search.records[part] = 0
        _decide(0, upto, True, 0, n_rows, 0, 0, relaxed)
        most = np.where(relaxed.strategies[part] == _UNLIMITED, -np.inf, relaxed.payoff[part])
        bound[part] = np.minimum(bound[part], most)
        if not goes_on(_UNLIMITED - int(search.steps[0])):
            return


def _open(search: Search, bound: Floats) -> NDArray[np.bool_]:
    """Return whether each record's bound leaves room for a better strategy, (n_records,)."""
    # Bounds, like payoffs, may be too low by the tie tolerance.
    tie = 2 * INDIFFERENCE * (search.amounts[0] + search.amounts[1])
    return np.asarray(np.isfinite(bound) & (bound >= search.payoff - tie))


def _known(search: Search) -> Floats:
    """Return the payoff of each record's best strategy, in currency units, (n_records,); 0 if it is withheld."""
    return np.where(search.strategies == WITHHELD, 0.0, search.payoff)


def _gap(search: Search, bound: Floats) -> Floats:
    """Return the most by which a better strategy could raise each record's payoff, in currency units, (n_records,)."""
    # An open record may have an equally good strategy with a lower number.
    tie = INDIFFERENCE * (search.amounts[0] + search.amounts[1])
    return np.where(_open(search, bound), np.maximum(bound - _known(search), tie), 0.0)


def _pass(
    search: Search,
    bound: Floats,
    per_record: int,
    progress: Progress,
    goes_on: Callable[[int], bool] = lambda taken: True,
) -> None:
    """Search every part of the tree once; then decide the records that are left open one by one.

    Parameters
    ----------
    search : Search
        Data of the search.
    bound : ndarray of float64, shape (n_records,)
        Upper bound of the payoff of every strategy, in currency units; lowered in place.
    per_record : int
        Limit of steps per record, or `_UNLIMITED`. Records are decided one by one if it is high enough.
    progress : callable
        See `iceberg`.
    goes_on : callable
        Returns whether the pass continues after a part, given the steps of the part.
    """
    n, n_nodes, shape = len(bound), int(search.beneath[0]), search.rollup.shape.tolist()
    # With more rows than nodes, splitting groups takes fewer steps than comparing every record with every row.
    splits = _UNLIMITED if search.buffers.shape[1] > n_nodes else n_nodes // _SHARE
    parts = vertices(shape, _PARTS)
    search.records[:n], search.bound[:] = np.where(_open(search, bound), 0, -1), -np.inf
    left = 0
    for done, levels in enumerate(parts, start=1):
        # What a part leaves is for later parts.
        left += min(per_record, splits) * n // len(parts)
        taken = _search(search, levels, left, counting=False)
        left = max(left - taken, 0)
        progress(done, len(parts) + _RECORD_PARTS)
        if not goes_on(taken):
            return
    np.minimum(bound, search.bound, out=bound)
    if per_record <= splits:
        return
    for done, rows in enumerate(np.array_split(np.flatnonzero(_open(search, bound)), _RECORD_PARTS), start=1):
        if not _one_by_one(search, bound, rows, per_record, goes_on):
            return
        progress(len(parts) + done, len(parts) + _RECORD_PARTS)


def _one_by_one(search: Search, bound: Floats, rows: Integers, per_record: int, goes_on: Callable[[int], bool]) -> bool:
    """Decide some records one by one; return whether the budget was enough. For the parameters see `_pass`."""
    roots = list(np.ndindex(*search.rollup.shape[: int(np.argmax(search.beneath <= _COUNTED))].tolist()))
    search.records[: len(bound)], search.bound[rows] = -1, -np.inf
    search.records[rows] = 0
    for levels in roots:
        if not goes_on(_search(search, levels, per_record * len(rows) // len(roots), counting=True)):
            return False
    bound[rows] = np.minimum(bound[rows], search.bound[rows])
    return True


def _search(search: Search, levels: tuple[int, ...], steps: int, *, counting: bool) -> int:
    """Search the tree beneath a vertex with given levels of the first attributes; return the number of steps taken.

    `steps` is the limit of steps. With `counting`, records are decided one by one in groups of suitable size.
    """
    search.fixed[:] = -1
    search.fixed[: len(levels)] = levels
    steps = min(steps, _UNLIMITED)
    search.steps[:] = steps, counting
    _walk(0, 0, search.buffers.shape[1], int(search.rollup.people.sum()), 0.0, 0, search)
    return steps - int(search.steps[0])


@borrowing()
def _wins(payoff: float, strategy: int, record: int, search: Search) -> bool:
    """Return whether a strategy's payoff beats the best found so far for a record.

    A payoff beats the best one if it is larger by more than the tie tolerance, or if both are equal within the
    tolerance and the strategy's number is lower. `payoff` is in currency units.
    """
    ahead, tie = payoff - search.payoff[record], INDIFFERENCE * (search.amounts[0, record] + search.amounts[1, record])
    return bool(ahead > tie or (ahead >= -tie and strategy < search.strategies[record]))


@borrowing()
def _most(loses: float, people: int, record: int, search: Search) -> float:
    """Return an upper bound of a record's payoff, in currency units; minus infinity if no strategy is allowed.

    The bound holds for strategies with at least the information loss `loses` and at most `people` in the group, and is
    the payoff of a strategy with exactly these values.
    """
    payoff = search.amounts[0, record] * (0.0 if loses > NO_BENEFIT else 1.0 - loses)
    share = 1.0 / people
    if search.amounts[2, record] * share > search.amounts[3, record]:
        payoff = -np.inf if search.no_attack else payoff - search.amounts[1, record] * share
    return float(payoff)


@compiled()
def _walk(depth: int, begin: int, end: int, size: int, lost: float, strategy: int, search: Search) -> None:
    """Search beneath a vertex for better strategies of the records of a group.

    Better strategies are written to `search`.

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
    rollup, records, levels, buffers = search.rollup, search.records, search.levels, search.buffers
    if depth == len(rollup.shape):
        for place in range(begin, end):
            record = buffers[depth, place]
            if records[record] < 0:
                continue
            loses, allowed = 0.0, True
            for at in range(depth):
                if levels[at] > 0:
                    loses += rollup.losses[at, levels[at], rollup.codes[at, record]]
                allowed &= levels[at] >= search.lowest[at, record]
            payoff = _most(loses, size, record, search)
            if allowed and payoff > -np.inf:
                search.evaluated[record] += 1
                if _wins(payoff, strategy, record, search):
                    search.payoff[record], search.strategies[record] = payoff, strategy
        return
    rows, nodes = end - begin, search.beneath[depth]
    if search.steps[1] and search.fixed[depth] < 0 and nodes // _PER_ROW <= rows <= nodes <= _COUNTED:
        _decide(depth, len(rollup.shape), False, begin, end, size, strategy, search)
        return
    column = rollup.codes[depth]
    for level in range(rollup.shape[depth]):
        if search.fixed[depth] >= 0 and search.fixed[depth] != level:
            continue
        levels[depth] = level
        number, below = strategy + level * rollup.strides[depth], buffers[depth + 1]
        starts, sizes = split(rollup, depth, level, begin, end, buffers, records, 0, 1, search.counts)
        search.steps[0] -= end - begin
        for group in range(len(sizes)):
            people = max(sizes[group], 1)
            loses = lost + rollup.least_losses[depth, level, column[below[starts[group]]]]
            found = False
            for place in range(starts[group], starts[group + 1]):
                record = below[place]
                if records[record] < 0 or level < search.lowest[depth, record]:
                    continue
                most = _most(loses, people, record, search)
                if not _wins(most, number, record, search):
                    continue
                found = True
                if search.steps[0] > 0:
                    break
                search.bound[record] = max(search.bound[record], most)
            if not found or search.steps[0] <= 0:
                continue
            _walk(depth + 1, starts[group], starts[group + 1], people, loses, number, search)


@compiled()
def _vary(rows: Positions, varied: Integers, index: _Index, search: Search) -> None:
    """Find the best strategy of records among those that differ from their best one in some attributes alone.

    Only rows that agree with the record in the other attributes are counted: the smallest group of an attribute is
    looked through.

    Parameters
    ----------
    rows : ndarray of int32, shape (n,)
        The records.
    varied : ndarray of int64, shape (n_varied,)
        Attributes whose levels vary.
    index : _Index
    search : Search
        Better strategies and steps are written to it.
    """
    rollup, sizes, levels = search.rollup, search.sizes, search.levels
    codes, groups, shape = rollup.codes, rollup.groups, rollup.shape[varied]
    beneath = np.append(shape[::-1].cumprod()[::-1], 1)
    low, losses = np.zeros(len(shape), dtype=np.int64), np.zeros((len(shape), rollup.losses.shape[1]))
    for record in rows:
        for at in range(len(levels)):
            # A withheld record, of strategy -1, has the highest levels.
            levels[at] = search.strategies[record] // rollup.strides[at] % rollup.shape[at]
        for at in varied:
            levels[at] = 0
        number, lost, column, begin, end = 0, 0.0, 0, 0, codes.shape[1] + 1
        for at in range(len(levels)):
            number += levels[at] * rollup.strides[at]
            if levels[at] > 0:
                lost += rollup.losses[at, levels[at], codes[at, record]]
        for place, at in enumerate(varied):
            levels[at], low[place] = rollup.shape[at] - 1, search.lowest[at, record]
            losses[place, 1 : shape[place]] = rollup.losses[at, 1 : shape[place], codes[at, record]]
        for at in range(len(levels)):
            span = index.spans[at, levels[at], groups[at, levels[at], codes[at, record]]]
            if span[1] - span[0] < end - begin:
                column, begin, end = at, span[0], span[1]
        sizes[: beneath[0]] = 0
        for row in index.order[column, begin:end]:
            at, node = 0, 0
            while at < len(levels) and (
                groups[at, levels[at], codes[at, row]] == groups[at, levels[at], codes[at, record]]
            ):
                at += 1
            if at < len(levels):
                continue
            for place, each in enumerate(varied):
                level = 0
                while groups[each, level, codes[each, row]] != groups[each, level, codes[each, record]]:
                    level += 1
                node += level * beneath[place + 1]
            sizes[node] += rollup.people[row]
        _accumulate(sizes[: beneath[0]], beneath)
        search.lost[0], search.path[1, 0] = lost, number
        _choose(record, low, losses, beneath, rollup.strides[varied], search)
        search.steps[0] -= end - begin + beneath[0]


@compiled()
def _decide(
    depth: int, upto: int, bounds: bool, begin: int, end: int, size: int, strategy: int, search: Search
) -> None:
    """Find better strategies beneath a vertex for the records of a group, or bound their payoffs, record by record.

    The rows of the group are counted by the least level of each attribute at which they agree with the record; levels
    are nested, so that they agree at all higher levels. The cumulative sums of these counts over the levels of every
    attribute are the group sizes of all strategies beneath the vertex.

    For bounds, one further axis of the lattice replaces the attributes from `upto` on. It has intervals of the distance
    of a row: the least loss that the record has in the other attributes if it is released so that the row agrees. Under
    any strategy, all rows of the group are within the loss in the other attributes. Hence the node with the same levels
    and with the interval of this loss has at least as many people and at most the same loss.

    Parameters
    ----------
    depth, begin, end, size, strategy, search
        See `_walk`. For bounds, `payoff` is set to the bounds where they exceed it, and `strategies` to node numbers.
    upto : int
        Number of attributes whose levels are searched or fixed by the vertex; all of them without bounds.
    bounds : bool
        Whether bounds are computed.
    """
    rollup, rows = search.rollup, search.buffers[depth, begin:end]
    n_attributes, most_levels = len(rollup.shape), rollup.losses.shape[1]
    shape, fine, intervals = rollup.shape[depth:upto].copy(), 0, 0
    if bounds:
        # As many intervals as there are sums of levels.
        intervals, fine = (rollup.shape[upto:] - 1).sum(), _FINE
        shape, most_levels = np.append(shape, intervals + 1), max(most_levels, intervals + 1)
    beneath = np.append(shape[::-1].cumprod()[::-1], 1)
    wide, strides = beneath[0], beneath[1:] if bounds else rollup.strides[depth:upto]
    # Without a sign, because numba otherwise checks every index for negative values, which takes a third of the time.
    codes, people = np.empty((n_attributes, len(rows)), dtype=np.uint32), rollup.people[rows]
    nodes = np.empty(len(rows), dtype=np.int64)
    values = np.empty((n_attributes, min(len(rows), rollup.groups.shape[2])), dtype=np.int32)
    n_values = np.zeros(n_attributes, dtype=np.int64)
    # Values of the group are numbered from 0, so that the tables of a record are small.
    for at in range(depth, n_attributes):
        for place in range(len(rows)):
            value = rollup.codes[at, rows[place]]
            if search.numbers[at, value] == 0:
                values[at, n_values[at]] = value
                n_values[at] += 1
                search.numbers[at, value] = n_values[at]
            codes[at, place] = search.numbers[at, value] - 1
        for number in range(n_values[at]):
            search.numbers[at, values[at, number]] = 0
    # Few lookups per row: attributes share a table of the combinations of their values while it is small.
    table_of, widths, n_tables = np.zeros(n_attributes, dtype=np.int64), np.ones(n_attributes, dtype=np.int64), 1
    joint = np.zeros(codes.shape, dtype=np.uint32)
    for at in range(depth, n_attributes):
        if at > depth and widths[n_tables - 1] * n_values[at] > min(len(rows) // _ROWS_PER_ENTRY, _LARGEST_TABLE):
            n_tables += 1
        table_of[at] = n_tables - 1
        widths[n_tables - 1] *= n_values[at]
        for place in range(len(rows)):
            joint[n_tables - 1, place] = joint[n_tables - 1, place] * n_values[at] + codes[at, place]
    tables = np.zeros((n_tables, widths.max()), dtype=np.int64)
    low, losses = np.zeros(len(shape), dtype=np.int64), np.zeros((len(shape), most_levels))
    of_level = np.empty(rollup.losses.shape[1], dtype=np.int64)
    for own in range(len(rows)):
        record = rows[own]
        if search.records[record] < 0:
            continue
        lost, allowed, number, farthest = 0.0, True, strategy, 0.0
        for at in range(depth):
            if search.levels[at] > 0:
                lost += rollup.losses[at, search.levels[at], rollup.codes[at, record]]
            allowed &= search.levels[at] >= search.lowest[at, record]
        if allowed and search.steps[0] <= 0:
            search.bound[record] = max(search.bound[record], _most(lost, size, record, search))
        if not allowed or search.steps[0] <= 0:
            continue
        for at in range(depth, upto):
            low[at - depth] = search.lowest[at, record]
            losses[at - depth, 1 : rollup.shape[at]] = rollup.losses[at, 1 : rollup.shape[at], rollup.codes[at, record]]
        for at in range(upto, n_attributes):
            farthest += rollup.losses[at, rollup.shape[at] - 1, rollup.codes[at, record]]
        scale = (intervals << fine) / farthest if farthest > 0 else 0.0
        if bounds:
            for interval in range(intervals + 1):
                losses[upto - depth, interval] = (
                    max((interval << fine) - n_attributes, 0) * farthest / (intervals << fine)
                )
        for at in range(depth, n_attributes):
            groups = rollup.groups[at, : rollup.shape[at]]
            for level in range(rollup.shape[at]):
                if at < upto:
                    of_level[level] = level * beneath[at - depth + 1] << fine
                else:
                    of_level[level] = math.ceil(rollup.losses[at, level, rollup.codes[at, record]] * scale)
            lowest = search.lowest[at, record]
            if at == depth or table_of[at] != table_of[at - 1]:
                tables[table_of[at], 0], entries = 0, 1
            table = tables[table_of[at]]
            _agree(groups, values[at, : n_values[at]], codes[at, own], lowest, of_level, wide << fine, table, entries)
            entries *= n_values[at]
        search.sizes[:wide] = 0
        _count(joint[:n_tables], people, tables, fine, wide, nodes, search.sizes)
        _accumulate(search.sizes[:wide], beneath)
        search.lost[0], search.path[1, 0] = lost, number
        _choose(record, low, losses, beneath, strides, search)
        search.steps[0] -= len(rows) + wide


@borrowing()
def _agree(
    groups: Positions, values: Positions, own: int, low: int, of_level: Integers, never: int, table: Integers, n: int
) -> None:
    """Extend a table of combinations of values by an attribute, in place.

    The table has the sum of the steps of the values. The step of a value depends on the least level of the attribute at
    which the value agrees with the record's value.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_levels, n_values)
        Group of each value at each level.
    values : ndarray of int32, shape (n_numbered,)
        Values to compare.
    own : int
        Position of the record's value in `values`.
    low : int
        Lowest allowed level.
    of_level : ndarray of int64, shape (n_levels,)
        Step of values by the least level at which they agree.
    never : int
        Step of values that agree at no level.
    table : ndarray of int64, shape (n_entries,)
        Sums of the steps of the earlier attributes; then also of this attribute, whose value varies fastest.
    n : int
        Number of combinations of the earlier attributes.
    """
    for entry in range(n - 1, -1, -1):
        before = table[entry]
        for number in range(len(values)):
            level = low
            while level < len(groups) and groups[level, values[number]] != groups[level, values[own]]:
                level += 1
            step = of_level[level] if level < len(groups) else never
            table[entry * len(values) + number] = before + step


@borrowing()
def _count(
    codes: NDArray[np.uint32],
    people: Integers,
    steps: Integers,
    fine: int,
    n_nodes: int,
    nodes: Integers,
    counts: Integers,
) -> None:
    """Count people by the least node at which they agree with a record.

    Parameters
    ----------
    codes : ndarray of uint32, shape (n_attributes, n_rows)
        Values of each row.
    people : ndarray of int64, shape (n_rows,)
        Number of people that each row represents.
    steps : ndarray of int64, shape (n_attributes, n_values)
        See `_agree`. Their sum over the attributes, without the last `fine` bits, is a node's number.
    fine, n_nodes : int
        Rows with a node from this number on agree at no node.
    nodes : ndarray of int64, shape (n_rows,)
        Work array: the node of each row.
    counts : ndarray of int64
        Output: the numbers of people are added to the places of their nodes.
    """
    for place in range(len(people)):
        nodes[place] = 0
    for at in range(len(codes)):
        for place in range(len(people)):
            nodes[place] += steps[at, codes[at, place]]
    for place in range(len(people)):
        node = nodes[place] >> fine
        if node < n_nodes:
            counts[node] += people[place]


@compiled()
def _accumulate(sizes: Integers, beneath: Integers) -> None:
    """Replace counts by their cumulative sums over the levels of every attribute, in place.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_nodes,)
        Counts at the nodes of a lattice, in lexicographic order.
    beneath : ndarray of int64, shape (n_attributes + 1,)
        Number of nodes beneath a vertex that fixes the levels of the first attributes.
    """
    for first in range(0, len(sizes), beneath[-2]):
        total = 0
        for place in range(first, first + beneath[-2]):
            total += sizes[place]
            sizes[place] = total
    for at in range(len(beneath) - 2):
        width = beneath[at + 1]
        for first in range(0, len(sizes), beneath[at]):
            for start in range(first + width, first + beneath[at], width):
                # Separate arrays, so that the sum is vectorized.
                low, high = sizes[start - width : start], sizes[start : start + width]
                for place in range(width):
                    high[place] += low[place]


@borrowing()
def _choose(record: int, low: Integers, losses: Floats, beneath: Integers, strides: Integers, search: Search) -> None:
    """Find the best strategy of a record beneath a vertex, given the group sizes of all strategies beneath it.

    Levels of the further attributes are fixed one after the other. A branch is skipped if it cannot hold a better
    strategy: its strategies lose at least the information of the levels fixed so far, and no group in it is larger than
    at the highest levels of the other attributes. If this largest group is not larger than at the next lower level of
    the attribute fixed last, no person joins a group by the higher level.

    Parameters
    ----------
    record : int
        Row of the record.
    low : ndarray of int64, shape (n_further,)
        Lowest allowed level of each further attribute.
    losses : ndarray of float64, shape (n_further, n_levels)
        Information loss of the record at each level of each attribute.
    beneath : ndarray of int64, shape (n_further + 1,)
        See `Search`, for the further attributes.
    strides : ndarray of int64, shape (n_further,)
        Step in the strategy number for one level of each attribute.
    search : Search
        Data of the search; `lost` and `path` start with the information loss and the strategy number at the vertex.
    """
    sizes, last = search.sizes, len(strides) - 1
    lost_at, node_at, number_at, untried = search.lost, search.path[0], search.path[1], search.path[2]
    node_at[0], untried[0], at = 0, low[0], 0
    while at >= 0:
        level, width = untried[at], beneath[at + 1]
        untried[at] += 1
        if level * width == beneath[at]:
            at -= 1
            continue
        node, loses = node_at[at] + level * width, lost_at[at] + losses[at, level]
        number = number_at[at] + level * strides[at]
        if not _wins(search.amounts[0, record] * (0.0 if loses > NO_BENEFIT else 1.0 - loses), number, record, search):
            at -= 1
            continue
        largest, number = sizes[node + width - 1], number_at[at] + level * strides[at]
        if level > low[at] and largest == sizes[node - 1]:
            continue
        # A record whose values no person has counts as the only such person.
        payoff = _most(loses, max(largest, 1), record, search)
        search.evaluated[record] += at == last
        if not _wins(payoff, number, record, search):
            continue
        if at == last:
            search.payoff[record], search.strategies[record] = payoff, number
        else:
            at += 1
            lost_at[at], node_at[at], number_at[at], untried[at] = loses, node, number, low[at]

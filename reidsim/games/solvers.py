"""Solvers of record games.

Backward induction, branch and bound, and greedy lattice search; `reidsim.games.iceberg` has a search for many
strategies.

Other solvers decide for many parameter points. The four payoff parameters (benefit, loss, gain, cost) change from point
to point; utility and success probability of a strategy do not. Against a one-shot adversary, each record's strategies
are reduced once to the strategies that can be best at some point, and each point compares only these.

If the true point is not known when the records are shared, three criteria rank a strategy by its payoffs at all points:
the worst payoff (maximin, Wald 1945), the largest difference from the best strategy of each point (minimax regret,
Savage 1951), and a low quantile of the payoffs. Each record is decided separately, so the worst point may differ by
record: the sum of the records' worst payoffs is a lower bound of the worst sum.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import mul
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.core.files import require_memory
from reidsim.core.numerics import compiled
from reidsim.games.record_game import WITHHELD, Choice, Constraint, Linker, RecordGame
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace

Progress = Callable[..., object]


def no_progress(done: int = 0, total: int = 1) -> None:
    """Ignore the progress of a computation: `done` of `total` steps; return None."""


def backward_induction(
    game: RecordGame, constraint: Constraint | None = None, progress: Progress = no_progress
) -> Choice:
    """Return the best strategy of every record.

    The search makes one pass over the space. A strategy replaces the best so far if its payoff is larger by more than
    the tie tolerance (`RecordGame.tie`). Among equal payoffs, the first strategy in lattice order is therefore kept, as
    in Algorithm 1. A strategy is skipped for records whose benefit, which bounds the payoff, is not larger than the
    best payoff. Memory is a few arrays with one value per record, independent of the size of the space.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.
    constraint : Constraint, optional
        No constraint, if not given.
    progress : callable, optional
        Called with the number of strategies done and the total number.

    Returns
    -------
    Choice
        Exact choice; a record is withheld if no strategy satisfies the constraint.
    """
    constraint = constraint or Constraint()
    n, size, tie = game.n_records, game.space.size, game.tie()
    # Best payoff so far plus the tie tolerance.
    beaten, strategies = np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64)
    # Strategies below the minimum of every record are skipped.
    shape, strides, lowest = game.space.shape, game.space.strides, constraint.lowest_levels(game.space)
    allowed_levels = [range(least, levels) for least, levels in zip(lowest, shape, strict=True)]
    total = math.prod(map(len, allowed_levels))
    # Records that a strategy with the present levels of the first k attributes may win, for each k. Generalizing never
    # raises the benefit, so the strategy with the lowest levels of the others bounds them all.
    among = [np.arange(n)] * (len(shape) + 1)
    for done, levels in enumerate(product(*allowed_levels), start=1):
        strategy = sum(map(mul, levels, strides))
        k = next((k for k in range(len(shape)) if levels[k + 1 :] == lowest[k + 1 :]), len(shape))
        rows = among[k]
        if len(rows):
            benefit = game.benefit_of(strategy, rows)
            can_win = np.flatnonzero(benefit > beaten[rows])
            rows, benefit = rows[can_win], benefit[can_win]
        among[k + 1 :] = [rows] * (len(shape) - k)
        if len(rows):
            response = game.adversary.respond(game.linker.link(strategy, rows), rows)
            allowed = np.flatnonzero(constraint.allows(game.space, strategy, response.invited, rows))
            rows = rows[allowed]
            payoff = benefit[allowed] - game.loss[rows] * response.reidentified[allowed]
            better = payoff > beaten[rows]
            rows, payoff = rows[better], payoff[better]
            beaten[rows], strategies[rows] = payoff + tie[rows], strategy
        progress(done, total)
    return Choice(strategies, "backward-induction", np.full(n, size, dtype=np.int64), exact=True)


def beats(strategy: int, payoff: Floats, chosen: Strategies, best: Floats, tie: Floats) -> NDArray[np.bool_]:
    """Return whether a strategy's payoff of each record beats the best found so far.

    A payoff beats the best one if it is larger by more than the tie tolerance `tie`, or if both are equal within `tie`
    and the strategy's number is lower. All arrays, and the result, have shape (n_rows,); `chosen` and `best` are the
    best strategies found and their payoffs.
    """
    ahead = payoff - best
    return np.asarray((ahead > tie) | ((ahead >= -tie) & (strategy < chosen)))


# Largest number of open nodes (nodes that wait for a visit); it bounds memory and time.
_MOST_OPEN = 4_000_000
# Bytes of an open node without its records, and number of bytes allocated between two checks of free memory.
_OF_OPEN, _ASKED = 512, 2**26
_TOO_MANY = "too many candidate strategies for branch and bound"
_FEWER = "use fewer attributes or levels"


def branch_and_bound(
    game: RecordGame, constraint: Constraint | None = None, progress: Progress = no_progress
) -> Choice:
    """Find the best strategy of every record while evaluating only few strategies.

    Nodes are visited in the order of decreasing average utility, starting with the most specific node. A record visits
    a node only if it visited a direct predecessor and left the node open there. Here "below" a node means its
    generalizations. Two rules close nodes, with v(g) the benefit of a strategy and U(g) <= v(g) its payoff:

    1. No node below a node g that is allowed and not attacked is visited.
    2. A node g is not visited if v(g) is below the best payoff found, or equal to it with a higher strategy number.

    No better strategy is missed, for the following reasons. The payoff is the benefit less an expected loss: U(g) =
    v(g) - L q(g) p(g). Here q is the probability of an attack, which is 0 or 1 unless the adversary errs or attacks at
    random, and p is the success probability of the attack. So U(g) <= v(g) for every adversary. Let h lie below g.
    Generalizing never raises the benefit, so U(h) <= v(h) <= v(g): v(g) bounds g and all nodes below it. If g is not
    attacked, q(g) = 0 and U(g) = v(g), so no h below pays more. Since h has a higher strategy number, it would also
    lose a tie. And g itself is allowed. This proves rule 1.

    Only limits on sensitive attributes forbid a node that is not attacked. Such a node stays open, because a
    generalization of a forbidden node may be allowed, and a generalization of an allowed node may be forbidden. Rule 2
    discards only strategies whose payoff cannot exceed the best payoff found, or that would lose the tie against it,
    since every h below g has a higher number than g. Every strategy allowed by the constraint lies below its starting
    node, and is either visited or below a closed node. Hence payoff and strategy are the same as in
    `backward_induction`.

    If an adversary may attack every strategy, such as an adversary with logit errors, rule 1 closes no node, and rule 2
    alone limits the search. The bound makes no assumption about how attacks depend on the success probability.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.
    constraint : Constraint, optional
        No constraint, if not given.
    progress : callable, optional
        Called without arguments at each visited node; their total number is not known in advance.

    Returns
    -------
    Choice
        Exact choice; a record is withheld if no strategy satisfies the constraint. `evaluated` counts the strategies
        whose payoff was computed.

    Raises
    ------
    InputError
        If the open nodes (nodes that wait for a visit) exceed the free memory, or their number would exceed 4 million.
    """
    constraint = constraint or Constraint()
    space, n, tie = game.space, game.n_records, game.tie()
    best, strategies = np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64)
    evaluated = np.zeros(n, dtype=np.int64)
    open_rows: dict[int, list[Rows]] = {}
    is_open = np.zeros(n, dtype=np.bool_)
    # In this order parents precede their children: utility never rises with generalization, and numbers always do.
    queue: list[tuple[float, int]] = []

    # Bytes that open nodes took since the last check of free memory.
    taken = 0

    def leave_open(node: int, rows: Rows) -> None:
        if not len(rows):
            return
        if node not in open_rows:
            if len(queue) >= _MOST_OPEN:
                raise InputError(_TOO_MANY, found=len(queue), expected=f"fewer than {_MOST_OPEN:,}", hint=_FEWER)
            open_rows[node] = []
            heapq.heappush(queue, (-space.average_utility(node), node))
        open_rows[node].append(rows)

    def wins(node: int, rows: Rows, payoff: Floats) -> NDArray[np.bool_]:
        return beats(node, payoff, strategies[rows], best[rows], tie[rows])

    if constraint.minimum is None:
        leave_open(space.most_specific, np.arange(n))
    else:
        for start in np.unique(constraint.minimum).tolist():
            leave_open(start, np.flatnonzero(constraint.minimum == start))

    while queue:
        progress()
        _, node = heapq.heappop(queue)
        # Equivalent to `np.unique` of the concatenated rows, in a tenth of the time.
        for rows in open_rows.pop(node):
            is_open[rows] = True
        rows = np.flatnonzero(is_open)
        is_open[rows] = False
        benefit = game.benefit_of(node, rows)
        can_win = wins(node, rows, benefit)
        rows, benefit = rows[can_win], benefit[can_win]
        if not len(rows):
            continue
        response = game.adversary.respond(game.linker.link(node, rows), rows)
        payoff = benefit - game.loss[rows] * response.reidentified
        evaluated[rows] += 1
        allowed = constraint.allows(space, node, response.invited, rows)
        better = wins(node, rows, payoff) & allowed
        best[rows[better]], strategies[rows[better]] = payoff[better], node
        unsettled = rows[response.attacks | ~allowed]
        n_open = len(queue)
        for child in space.successors(node):
            leave_open(child, unsettled)
        taken += unsettled.nbytes + _OF_OPEN * (len(queue) - n_open)
        if taken >= _ASKED:
            require_memory(taken, _TOO_MANY, hint=_FEWER)
            taken = 0
    return Choice(strategies, "branch-and-bound", evaluated, exact=True)


def lattice_search(game: RecordGame) -> Choice:
    """Return the choice of a greedy search from the most specific strategy.

    As in the printed algorithm, a node that is not attacked is returned. Otherwise the search moves to the child (a
    strategy one step less specific) with the largest ``v(g) - L pi(g)``, if this value is at least the node's own
    (within the tie tolerance); later children win ties. Here v(g) is the benefit of strategy g, L the publisher's loss,
    and pi(g) the success probability of an attack. The printed comparison also subtracts the loss for children that
    would not be attacked; payoffs of the returned strategy do not. If the adversary attacks with some frequency, the
    loss is multiplied by this frequency. The printed loop never ends if no child is better; by the accompanying text,
    the search halts there.

    The search takes no constraint, because a greedy path need not reach a strategy that satisfies it.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.

    Returns
    -------
    Choice
        Not exact; no record is withheld. `evaluated` counts the distinct nodes whose value was computed, including the
        first node.
    """
    n = game.n_records
    current = np.full(n, game.space.most_specific, dtype=np.int64)
    evaluated = np.ones(n, dtype=np.int64)
    tie = game.tie()
    active = np.arange(n)
    while len(active):
        moved = []
        for node in np.unique(current[active]).tolist():
            rows = active[current[active] == node]
            start = game.outcome(node, rows)
            rows = rows[start.response.attacks]
            if not len(rows):
                continue
            best = start.publisher_payoff[start.response.attacks]
            chosen = np.full(len(rows), node, dtype=np.int64)
            for child in game.space.successors(node):
                outcome = game.outcome(child, rows)
                charge, often = game.loss[rows] * outcome.response.success, outcome.response.frequency
                charged = game.benefit_of(child, rows) - (charge if often is None else charge * often)
                better = charged >= best - tie[rows]
                best[better] = charged[better]
                chosen[better] = child
                evaluated[rows] += 1
            current[rows] = chosen
            moved.append(rows[chosen != node])
        active = np.concatenate(moved) if moved else np.empty(0, dtype=np.intp)
    return Choice(current, "lattice-search", evaluated, exact=False)


# Limit on records x strategies, or records x points, that are in memory together; a higher limit takes more memory and
# fewer passes.
_CHUNK = 1_000_000
# Utilities closer than this are equal: sums of the same logarithms in another order differ by less.
_SAME_UTILITY = 1e-12


class Options(NamedTuple):
    """Strategies of each record that can be best at some parameter point.

    The options of a record are in the order of decreasing utility.

    Attributes
    ----------
    start : ndarray of int64, shape (n_records + 1,)
        Options of record i are at positions ``start[i]`` to ``start[i + 1] - 1``.
    strategies : ndarray of int64, shape (n_options,)
        Strategy of each option.
    utility, success : ndarray of float64, shape (n_options,)
        Utility for the record, and success probability of an attack on it, in [0, 1].
    intensity : ndarray of float64, shape (n_options,)
        Generalization intensity, from 0 (unchanged) to 1 (suppressed).
    """

    start: NDArray[np.int64]
    strategies: Strategies
    utility: Floats
    success: Floats
    intensity: Floats


def undominated_options(space: StrategySpace, linker: Linker, constraint: Constraint | None = None) -> Options:
    """Return the strategies of each record that can be best at some parameter point.

    Strategy g is dominated by another allowed strategy g' with at least its utility and at most its success
    probability, if g' is earlier in lattice order or has strictly more utility. At every point g' then pays the
    publisher at least as much as g (an attack on g' implies one on g, and costs no more) and wins the tie. With
    strictly more utility it pays strictly more, if the benefit is positive. Hence the best strategy, ties included, is
    never dropped. A no-attack constraint changes nothing, since g' is attacked only where g is.

    Where the benefit is 0, utility does not count: the best strategy is the first in lattice order that is not
    attacked, else the first of the least success probability. Either has a lower success probability than every
    strategy before it, and such strategies are kept for any utility.

    Parameters
    ----------
    space : StrategySpace
        Strategies under which records can be shared.
    linker : Linker
        Linker whose true group sizes are used; believed group sizes are not.
    constraint : Constraint, optional
        Only `minimum` is applied; `admissible` is ignored. For `no_attack`, which depends on the point, see
        `best_options`.

    Returns
    -------
    Options
    """
    n, size = space.n_records, space.size
    minimum = None if constraint is None else constraint.minimum
    chunk, parts = max(1, _CHUNK // size), []
    for begin in range(0, n, chunk):
        rows = np.arange(begin, min(begin + chunk, n))
        by_strategy = np.empty((2, size, len(rows)))
        for strategy in range(size):
            by_strategy[0, strategy] = space.utility(strategy, rows)
            by_strategy[1, strategy] = 1.0 / linker.link(strategy, rows).group_sizes
            if minimum is not None:
                # A success probability that is not below any other excludes the strategy.
                by_strategy[1, strategy, ~space.at_least(strategy, minimum[rows])] = np.inf
        utility, success = np.ascontiguousarray(by_strategy.swapaxes(1, 2))
        orders = np.argsort(-utility, axis=1, kind="stable")
        record, place = np.nonzero(_undominated(utility, success, orders))
        keep = orders[record, place]
        parts.append((np.bincount(record, minlength=len(rows)), keep, utility[record, keep], success[record, keep]))
    per_record, strategies, utility, success = map(np.concatenate, zip(*parts, strict=True))
    start = np.append(0, np.cumsum(per_record))
    return Options(start, strategies, utility, success, space.generalization_intensity(np.arange(size))[strategies])


@compiled()
def best_options(
    options: Options, benefit: float, loss: float, gain: float, cost: float, no_attack: bool = False
) -> NDArray[np.int64]:
    """Return the position of each record's best option at a point, (n_records,).

    A point is a combination of the four payoff parameters, equal for all records. Positions refer to the arrays of
    `options`. Among equal payoffs (within the tie tolerance), the strategy with the lowest number is best. The
    adversary attacks if the expected gain exceeds the cost; never, if the gain is 0.

    Parameters
    ----------
    options : Options
        Result of `undominated_options`.
    benefit, loss : float
        The publisher's benefit of an unchanged record, and its loss from a re-identification; in currency units.
    gain, cost : float
        The adversary's gain from a re-identification, and its cost of an attack.
    no_attack : bool
        Allow only strategies that are not attacked; a record without such a strategy is withheld, position -1.
    """
    start, strategies, utility, success = options.start, options.strategies, options.utility, options.success
    best_of_record = np.full(len(start) - 1, -1, dtype=np.int64)
    tie = INDIFFERENCE * (benefit + loss)
    # An attack pays exactly above this success probability.
    attacked_above = cost * (1 + INDIFFERENCE) / gain if gain > 0 else np.inf
    for i in range(len(start) - 1):
        first, best = -1, -np.inf
        for option in range(start[i], start[i + 1]):
            value = benefit * utility[option]
            if value < best - tie:
                break
            if success[option] > attacked_above:
                if no_attack:
                    continue
                value -= loss * success[option]
            ahead = value - best
            if ahead > tie or (ahead >= -tie and strategies[option] < first):
                best, best_of_record[i], first = value, option, strategies[option]
    return best_of_record


@compiled()
def _undominated(utility: Floats, success: Floats, orders: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which strategies of each record are undominated.

    A strategy is undominated if its success probability is lower than that of every strategy before it in the order, or
    than that of every strategy with a lower number. The order is by decreasing utility, with equal utilities in lattice
    order. All arrays have shape (n_records, n_strategies). `orders` holds the strategies by decreasing utility; equal
    utilities are put in lattice order, in place. The result has an entry for each place in `orders`. `success` is
    infinite where a strategy is not allowed.
    """
    kept, safer_than_all_before = np.zeros(utility.shape, dtype=np.bool_), np.zeros(utility.shape[1], dtype=np.bool_)
    for i in range(len(utility)):
        begin, highest, order = 0, np.inf, orders[i]
        # Insertion sort, because few strategies of equal utility are out of order.
        for at in range(len(order)):
            strategy, place = order[at], at
            if utility[i, strategy] <= highest - _SAME_UTILITY:
                begin, highest = at, utility[i, strategy]
            while place > begin and order[place - 1] > strategy:
                order[place] = order[place - 1]
                place -= 1
            order[place] = strategy
        safest = np.inf
        for strategy in range(len(order)):
            safer_than_all_before[strategy] = success[i, strategy] < safest
            safest = min(safest, success[i, strategy])
        safest = np.inf
        for at in range(len(order)):
            kept[i, at] = success[i, order[at]] < safest or safer_than_all_before[order[at]]
            safest = min(safest, success[i, order[at]])
    return kept


Criterion = Literal["maximin", "minimax-regret", "quantile"]
CRITERIA: tuple[Criterion, ...] = ("maximin", "minimax-regret", "quantile")
# Largest number of strategies; all are evaluated at all points, so more would take too long.
_MOST_STRATEGIES = 5_000_000


class RobustChoice(NamedTuple):
    """Strategies that a criterion selects, and their values.

    Attributes
    ----------
    strategies : ndarray of int64, shape (n_records,)
        One strategy per record; no record is withheld.
    value : ndarray of float64, shape (n_records,)
        Value of the criterion for the chosen strategy over the parameter points, in currency units per record: worst
        payoff, largest regret (lower is better) or quantile of payoffs.
    """

    strategies: Strategies
    value: Floats


# Value of a criterion, larger is better, given the payoffs of a strategy, shape (n_points, n_rows), the payoffs of the
# best strategy of each point, and the level of the quantile.
_VALUE: Mapping[str, Callable[[Floats, Floats, float], Floats]] = {
    "maximin": lambda payoff, best, level: payoff.min(axis=0),
    "minimax-regret": lambda payoff, best, level: -(best - payoff).max(axis=0, initial=0.0),
    "quantile": lambda payoff, best, level: np.quantile(payoff, level, axis=0, method="inverted_cdf"),
}


def robust_choices(
    games: Sequence[RecordGame],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    quantile: float = 0.1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[Criterion, RobustChoice]:
    """Return, by criterion, the strategy of each record that ranks highest.

    Each record is decided separately. All strategies are evaluated. Among strategies of equal rank (within the tie
    tolerance, `RecordGame.tie`), the first in lattice order is chosen, as in all solvers.

    Parameters
    ----------
    games : sequence of RecordGame
        Game at each parameter point, one or more; all games share a strategy space and a linker.
    criteria : sequence of str
        Names from `CRITERIA`.
    quantile : float
        Level of criterion ``quantile``, in [0, 1]; 0 is maximin. No payoffs are interpolated.
    progress : callable, optional
        Called with the number of records done and the total number.

    Returns
    -------
    dict of str to RobustChoice
        Strategies and values by criterion, in the order of `criteria`.

    Raises
    ------
    InputError
        If there are more than 5 million strategies.
    """
    size, n, chunk = games[0].space.size, games[0].n_records, max(1, _CHUNK // len(games))
    if size > _MOST_STRATEGIES:
        problem = "too many strategies per record for robust strategies"
        expected = f"at most {_MOST_STRATEGIES:,}"
        hint = "set criteria = [] to compare policies only"
        raise InputError(problem, where="stress.robustness.criteria", found=size, expected=expected, hint=hint)
    found = {name: RobustChoice(np.full(n, WITHHELD, dtype=np.int64), np.full(n, -np.inf)) for name in criteria}
    tie = np.max([game.tie() for game in games], axis=0)
    for begin in range(0, n, chunk):
        rows = np.arange(begin, min(begin + chunk, n))
        best = np.full((len(games), len(rows)), -np.inf)
        for strategy in range(size) if "minimax-regret" in criteria else ():
            np.maximum(best, _payoffs(games, strategy, rows), out=best)
        for strategy in range(size):
            payoff = _payoffs(games, strategy, rows)
            for criterion, held in found.items():
                value = _VALUE[criterion](payoff, best, quantile)
                better = value > held.value[rows] + tie[rows]
                held.strategies[rows[better]], held.value[rows[better]] = strategy, value[better]
        progress(int(rows[-1]) + 1, n)
    return {
        name: held._replace(value=-held.value) if name == "minimax-regret" else held for name, held in found.items()
    }


def _payoffs(games: Sequence[RecordGame], strategy: int, rows: Rows) -> Floats:
    """Return the payoffs of a strategy at every parameter point, (n_points, n_rows).

    They are the publisher's expected payoffs from `rows` (record numbers), in currency units per record. All games have
    the same strategy space and linker, so linkage is computed once.
    """
    linkage, utility = games[0].linker.link(strategy, rows), games[0].space.utility(strategy, rows)
    replies = [game.adversary.respond(linkage, rows).reidentified for game in games]
    return np.array(
        [game.benefit[rows] * utility - game.loss[rows] * risk for game, risk in zip(games, replies, strict=True)]
    )

"""Solve the record-level game at many parameter points: best responses at each, robust ones over all.

The four payoff parameters (benefit, loss, gain, cost) change from point to point; utility and success probability of a
strategy do not. Against a one-shot adversary, each record's strategies are reduced once to the strategies that can be
best at some point, and each point compares only these.

If the true point is not known when the records are shared, three criteria rank a strategy by its payoffs at all points:
the worst payoff (maximin, Wald 1945), the largest difference from the best strategy of each point (minimax regret,
Savage 1951), and a low quantile of the payoffs. Each record is decided separately, so the worst point may differ by
record: the sum of the records' worst payoffs is a lower bound of the worst sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.games.record_game import WITHHELD, Constraint, Linker, RecordGame
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace

# Limit on records x strategies, or x points, in memory at once; more take more memory and fewer passes.
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
    """Return the strategies that can be best for a record at a parameter point.

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
        utility, success = np.empty((2, len(rows), size))
        for strategy in range(size):
            utility[:, strategy] = space.utility(strategy, rows)
            success[:, strategy] = 1.0 / linker.link(strategy, rows).group_sizes
            if minimum is not None:
                utility[~space.at_least(strategy, minimum[rows]), strategy] = -1.0
        orders = np.argsort(-utility, axis=1, kind="stable")
        keep, per_record = _undominated(utility, success, orders)
        record = np.repeat(np.arange(len(rows)), per_record)
        parts.append((per_record, keep, utility[record, keep], success[record, keep]))
    per_record, strategies, utility, success = map(np.concatenate, zip(*parts, strict=True))
    start = np.append(0, np.cumsum(per_record))
    return Options(start, strategies, utility, success, space.generalization_intensity(strategies))


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def _undominated(
    utility: Floats, success: Floats, orders: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the strategies kept, grouped by record, and their number by record.

    The strategies of a record are in the order of decreasing utility.

    Parameters
    ----------
    utility, success : ndarray of float64, shape (n_records, n_strategies)
        Utility, -1 where a strategy is not allowed, and success probability.
    orders : ndarray of int64, shape (n_records, n_strategies)
        Strategies by decreasing utility; equal utilities are put in lattice order, in place.
    """
    n, size = utility.shape
    keep = np.empty(n * size, dtype=np.int64)
    per_record = np.zeros(n, dtype=np.int64)
    safer_than_all_before = np.empty(size, dtype=np.bool_)
    found = 0
    for i in range(n):
        order = orders[i]
        allowed = _settle(utility[i], order)
        safest = np.inf
        for strategy in range(size):
            safer_than_all_before[strategy] = utility[i, strategy] >= 0.0 and success[i, strategy] < safest
            if safer_than_all_before[strategy]:
                safest = success[i, strategy]
        safest = np.inf
        for at in range(allowed):
            strategy = order[at]
            if success[i, strategy] < safest or safer_than_all_before[strategy]:
                safest = min(safest, success[i, strategy])
                keep[found] = strategy
                found += 1
                per_record[i] += 1
    return keep[:found].copy(), per_record


@numba.njit(cache=True)
def _settle(utility: Floats, falling: NDArray[np.int64]) -> int:
    """Sort strategies of equal utility in lattice order; return how many are allowed.

    All arrays, shape (n_strategies,), are of one record. `falling` holds the strategies by decreasing utility and is
    changed in place. `utility` is -1 for strategies that are not allowed, which come last.
    """
    allowed = 0
    while allowed < len(falling) and utility[falling[allowed]] >= 0.0:
        allowed += 1
    begin, highest = 0, np.inf
    for at in range(allowed):
        strategy = falling[at]
        if utility[strategy] <= highest - _SAME_UTILITY:
            begin, highest = at, utility[strategy]
        place = at
        while place > begin and falling[place - 1] > strategy:
            falling[place] = falling[place - 1]
            place -= 1
        falling[place] = strategy
    return allowed


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
        raise InputError(
            "too many strategies per record for robust strategies",
            where="stress.robustness.criteria",
            found=size,
            expected=f"at most {_MOST_STRATEGIES:,}",
            hint="set criteria = [] to compare policies only",
        )
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

"""Solve the record-level game with a one-shot adversary at many parameter points.

The four payoff parameters (benefit, loss, gain, cost) change from point to point; utility and success probability of a
strategy do not. Each record's strategies are reduced once to the strategies that can be best at some point, and each
point compares only these.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.record_game import Constraint, Linker
from reidsim.releases.lattice import Floats, Strategies, StrategySpace

# Limit on records x strategies in memory at once during the reduction; more take more memory and fewer passes.
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
        keep, per_record = _undominated(utility, success, orders, _SAME_UTILITY)
        record = np.repeat(np.arange(len(rows)), per_record)
        parts.append((per_record, keep, utility[record, keep], success[record, keep]))
    per_record, strategies, utility, success = map(np.concatenate, zip(*parts, strict=True))
    start = np.append(0, np.cumsum(per_record))
    return Options(start, strategies, utility, success, space.generalization_intensity(strategies))


def best_options(
    options: Options, benefit: float, loss: float, gain: float, cost: float, *, no_attack: bool = False
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
    # An attack pays exactly above this success probability.
    attacked_above = cost * (1 + INDIFFERENCE) / gain if gain > 0 else np.inf
    return _best_options(options, attacked_above, float(benefit), float(loss), no_attack, INDIFFERENCE)


@numba.njit(cache=True)
def _best_options(
    options: Options, attacked_above: float, benefit: float, loss: float, no_attack: bool, indifference: float
) -> NDArray[np.int64]:
    start, strategies, utility, success = options.start, options.strategies, options.utility, options.success
    best_of_record = np.full(len(start) - 1, -1, dtype=np.int64)
    tie = indifference * (benefit + loss)
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
    utility: Floats, success: Floats, orders: NDArray[np.int64], same: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the strategies kept, grouped by record, and their number by record.

    The strategies of a record are in the order of decreasing utility.

    Parameters
    ----------
    utility, success : ndarray of float64, shape (n_records, n_strategies)
        Utility, -1 where a strategy is not allowed, and success probability.
    orders : ndarray of int64, shape (n_records, n_strategies)
        Strategies by decreasing utility; equal utilities are put in lattice order, in place.
    same : float
        Utilities closer than this are equal.
    """
    n, size = utility.shape
    keep = np.empty(n * size, dtype=np.int64)
    per_record = np.zeros(n, dtype=np.int64)
    safer_than_all_before = np.empty(size, dtype=np.bool_)
    found = 0
    for i in range(n):
        order = orders[i]
        allowed = _settle(utility[i], same, order)
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
def _settle(utility: Floats, same: float, falling: NDArray[np.int64]) -> int:
    """Sort strategies of equal utility in lattice order; return how many are allowed.

    All arrays, shape (n_strategies,), are of one record. `falling` holds the strategies by decreasing utility and is
    changed in place. `utility` is -1 for strategies that are not allowed, which come last. Utilities closer than `same`
    are equal.
    """
    allowed = 0
    while allowed < len(falling) and utility[falling[allowed]] >= 0.0:
        allowed += 1
    begin, highest = 0, np.inf
    for at in range(allowed):
        strategy = falling[at]
        if utility[strategy] <= highest - same:
            begin, highest = at, utility[strategy]
        place = at
        while place > begin and falling[place - 1] > strategy:
            falling[place] = falling[place - 1]
            place -= 1
        falling[place] = strategy
    return allowed

"""The record-level game at thousands of parameter points: maps over benefit and loss, lines over one parameter.

Benefit, loss, gain and cost change from point to point; utility and success probability of a strategy do not. So
each record's strategies are thinned once to those that can be best at some point, and every point looks at those only.
Maps go through the records one after the other: of a record, points of the same threshold of attack and neighbouring
ratios of loss to benefit mostly share the best strategy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.map_sums import Options as Options
from reidsim.games.map_sums import best_of, sums_at_points
from reidsim.games.record_game import Constraint, Linker
from reidsim.linkage.risk import RiskModel, UniformGuess
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

# Records x strategies held at once while thinning.
_CHUNK = 1_000_000
# Utilities closer than this are equal: sums of the same logarithms in another order differ by less.
_SAME_UTILITY = 1e-12


@dataclass(frozen=True)
class ParameterPoints:
    """Values of the four parameters, arrays of shape (n_points,), in currency units per record."""

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    @classmethod
    def broadcast(cls, benefit: object, loss: object, gain: object, cost: object) -> ParameterPoints:
        """Make points of scalars and arrays of one length."""
        arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=float)) for v in (benefit, loss, gain, cost)))
        return cls(*(np.ascontiguousarray(array) for array in arrays))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.benefit)


@dataclass(frozen=True)
class PointAverages:
    """Averages over records at each point; arrays of shape (n_points,)."""

    publisher_payoff: Floats
    adversary_payoff: Floats
    generalization_intensity: Floats
    share_attacked: Floats
    risk: Floats


def undominated_options(
    space: StrategySpace, linker: Linker, constraint: Constraint | None = None, *, risk: RiskModel | None = None
) -> Options:
    """Keep of each record's strategies those that are the best reply at some parameter point.

    Strategy g is dropped when another allowed strategy g' has at least its utility and at most its success
    probability and either comes first in lattice order or has strictly more utility. Then g' pays the publisher at
    least as much as g whatever benefit, loss, gain and cost are (an attack on g' implies one on g, and costs no more),
    and wins the tie; with strictly more utility it pays strictly more, as long as the benefit is positive. So the
    best strategy, ties included, is never dropped. (A constraint of no attack keeps this true, since g' is attacked
    only where g is.)

    Where sharing is worth nothing, utility does not count: the best strategy is the first in lattice order that is
    not attacked, else the first of the least success probability. Either is less likely to succeed than every one
    before it, and such strategies are kept whatever their utility.

    Parameters
    ----------
    space : StrategySpace
    linker : Linker
        True group sizes are used.
    constraint : Constraint, optional
        Only its minimum is applied here; ``no_attack`` depends on the point, see `average_outcomes`.
    risk : RiskModel, optional
        1 / group size, if not given.

    Returns
    -------
    Options
    """
    risk = risk or UniformGuess()
    n, size = space.n_records, space.size
    minimum = None if constraint is None else constraint.minimum
    intensity = space.generalization_intensity(np.arange(size))
    chunk = max(1, _CHUNK // size)
    kept: list[NDArray[np.int64]] = []
    utilities: list[Floats] = []
    successes: list[Floats] = []
    counts = [np.zeros(1, dtype=np.int64)]
    for begin in range(0, n, chunk):
        rows = np.arange(begin, min(begin + chunk, n))
        by_strategy = np.empty((2, size, len(rows)))
        for strategy in range(size):
            by_strategy[0, strategy] = space.utility(strategy, rows)
            by_strategy[1, strategy] = risk.success_probability(linker.link(strategy, rows).group_sizes)
            if minimum is not None:
                by_strategy[0, strategy, ~space.at_least(strategy, minimum[rows])] = -1.0
        utility, success = np.ascontiguousarray(by_strategy.transpose(0, 2, 1))
        keep, per_record = _undominated(utility, success, _SAME_UTILITY)
        record = np.repeat(np.arange(len(rows)), per_record)
        kept.append(keep)
        utilities.append(utility[record, keep])
        successes.append(success[record, keep])
        counts.append(per_record)
    strategies = np.concatenate(kept)
    start = np.cumsum(np.concatenate(counts))
    return Options(start, strategies, np.concatenate(utilities), np.concatenate(successes), intensity[strategies])


def fixed_options(space: StrategySpace, linker: Linker, strategies: Strategies) -> Options:
    """Return the one option of each record under a policy that prescribes its strategy."""
    n = space.n_records
    utility, success = np.empty(n), np.empty(n)
    for strategy in np.unique(strategies).tolist():
        rows: Rows = np.flatnonzero(strategies == strategy)
        utility[rows] = space.utility(strategy, rows)
        success[rows] = UniformGuess().success_probability(linker.link(strategy, rows).group_sizes)
    return Options(np.arange(n + 1), strategies, utility, success, space.generalization_intensity(strategies))


def average_outcomes(
    options: Options, weights: NDArray[np.int64], points: ParameterPoints, *, no_attack: bool = False
) -> PointAverages:
    """Solve the game against a one-shot adversary at every point and average over records.

    Parameters
    ----------
    options : Options
    weights : ndarray of int64, shape (n_records,)
        How often each record counts.
    points : ParameterPoints
    no_attack : bool
        Only strategies that are not attacked; a record that has none is withheld (no payoff, intensity 1).

    Returns
    -------
    PointAverages
    """
    never = np.full(points.n_points, np.inf)
    attacked_above = np.divide(points.cost * (1 + INDIFFERENCE), points.gain, out=never, where=points.gain > 0)
    both = points.benefit + points.loss
    # By threshold, and in it by what a loss weighs: where one option is best at two points, it is between them, too.
    # Where nothing is at stake, all options are equal: such points come last, and apart.
    weight = np.divide(points.loss, both, out=np.full(points.n_points, 2.0), where=both > 0)
    order = np.lexsort((weight, -attacked_above))
    thresholds, at_stake = attacked_above[order], both[order] > 0
    other = (thresholds[1:] != thresholds[:-1]) | (at_stake[1:] != at_stake[:-1])
    begins = np.concatenate([[0], np.flatnonzero(other) + 1, [points.n_points]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(points.benefit > 0, points.loss / points.benefit, np.inf)[order]
    slack = 3 * INDIFFERENCE * (1 + np.maximum.reduceat(ratio, begins[:-1]))
    sums = sums_at_points(
        options, weights, begins, thresholds[begins[:-1]], slack, points.benefit[order], points.loss[order],
        weight[order], no_attack, INDIFFERENCE,
    )  # fmt: skip
    of_point = np.empty_like(sums)
    of_point[:, order] = sums
    utility, intensity, risk, attacks = of_point / weights.sum()
    return PointAverages(
        points.benefit * utility - points.loss * risk, points.gain * risk - points.cost * attacks,
        intensity, attacks, risk,
    )  # fmt: skip


def best_options(
    options: Options, points: ParameterPoints, point: int, *, no_attack: bool = False
) -> NDArray[np.int64]:
    """Return the position of every record's best option at one point, -1 where it is withheld, shape (n_records,)."""
    benefit, loss, gain, cost = (each[point] for each in (points.benefit, points.loss, points.gain, points.cost))
    # An attack pays exactly above this success probability.
    attacked_above = cost * (1 + INDIFFERENCE) / gain if gain > 0 else np.inf
    return _best_option(options, attacked_above, benefit, loss, no_attack, INDIFFERENCE)


def _undominated(utility: Floats, success: Floats, same: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the strategies kept, record after record, by falling utility, and how many each record keeps."""
    # Records share few rows of utilities, which are put in order once each.
    rows, order_of = _rows_met(utility.view(np.int64))
    orders = np.argsort(-utility[rows], axis=1, kind="stable")
    return _kept(utility, success, orders, order_of, same)


@numba.njit(cache=True)
def _rows_met(bits: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each kind, and by row which of these is equal to it; found by a number made of bits."""
    n, size = bits.shape
    places = 2
    while places < 2 * n:
        places *= 2
    met = np.full(places, -1, dtype=np.int64)
    rows, which = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    found = 0
    for i in range(n):
        number = 0
        for strategy in range(size):
            number = number * 31 + (bits[i, strategy] ^ (bits[i, strategy] >> 29))
        place = (number ^ (number >> 32)) & (places - 1)
        while met[place] >= 0:
            same = 0
            while same < size and bits[rows[met[place]], same] == bits[i, same]:
                same += 1
            if same == size:
                break
            place = (place + 1) & (places - 1)
        if met[place] < 0:
            met[place], rows[found] = found, i
            found += 1
        which[i] = met[place]
    return rows[:found].copy(), which


@numba.njit(cache=True)
def _kept(
    utility: Floats, success: Floats, orders: NDArray[np.int64], order_of: NDArray[np.int64], same: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what `_undominated` does; ``orders[order_of[i]]`` has the strategies of record i by falling utility."""
    n, size = utility.shape
    keep = np.empty(n * size, dtype=np.int64)
    per_record, allowed = np.zeros(n, dtype=np.int64), np.full(len(orders), -1, dtype=np.int64)
    safer_than_all_before = np.empty(size, dtype=np.bool_)
    found = 0
    for i in range(n):
        order = orders[order_of[i]]
        if allowed[order_of[i]] < 0:
            allowed[order_of[i]] = _settle(utility[i], same, order)
        safest = np.inf
        for strategy in range(size):
            safer_than_all_before[strategy] = utility[i, strategy] >= 0.0 and success[i, strategy] < safest
            if safer_than_all_before[strategy]:
                safest = success[i, strategy]
        safest = np.inf
        for at in range(allowed[order_of[i]]):
            strategy = order[at]
            if success[i, strategy] < safest or safer_than_all_before[strategy]:
                safest = min(safest, success[i, strategy])
                keep[found] = strategy
                found += 1
                per_record[i] += 1
    return keep[:found].copy(), per_record


@numba.njit(cache=True)
def _settle(utility: Floats, same: float, falling: NDArray[np.int64]) -> int:
    """Put strategies of one utility, but for rounding, in lattice order; return how many strategies are allowed."""
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


@numba.njit(cache=True)
def _best_option(
    options: Options, attacked_above: float, benefit: float, loss: float, no_attack: bool, indifference: float
) -> NDArray[np.int64]:
    """Return the position of each record's best option, -1 if none is allowed."""
    start, n = options.start, len(options.start) - 1
    chosen, positions = np.empty(n, dtype=np.int64), np.arange(len(options.strategies))
    for i in range(n):
        chosen[i] = best_of(
            options, positions, start[i], start[i + 1] - 1, attacked_above, benefit, loss, no_attack, indifference
        )
    return chosen

"""The record-level game at thousands of parameter points: maps over benefit and loss, lines over one parameter.

Benefit, loss, gain and cost change from point to point; utility and success probability of a strategy do not. So
each record's strategies are thinned once to those that can be best at some point, and every point looks at those only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.record_game import Constraint, Linker
from reidsim.linkage.risk import RiskModel, UniformGuess
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

# Records x strategies held at once while thinning.
_CHUNK = 1_000_000
# Utilities closer than this are equal: sums of the same logarithms in another order differ by less.
_SAME_UTILITY = 1e-12
# Strategies before another one that are compared with it ahead of sorting.
_BEFORE = 12
# Points of one threshold of attack from which on thinning what is attacked there takes less than it saves.
_WORTH_THINNING = 3


@dataclass(frozen=True)
class Options:
    """The strategies that each record may have to play, by falling utility.

    Parameters
    ----------
    start : ndarray of int64, shape (n_records + 1,)
        Options of record i are at positions ``start[i]`` to ``start[i + 1]``.
    strategies : ndarray of int64, shape (n_options,)
    utility, success : ndarray of float64, shape (n_options,)
    intensity : ndarray of float64, shape (n_options,)
        Generalization intensity.
    """

    start: NDArray[np.int64]
    strategies: Strategies
    utility: Floats
    success: Floats
    intensity: Floats

    def of_record(self, record: int) -> Options:
        """Return the options of one record alone."""
        low, high = int(self.start[record]), int(self.start[record + 1])
        return Options(
            np.array([0, high - low]),
            self.strategies[low:high],
            self.utility[low:high],
            self.success[low:high],
            self.intensity[low:high],
        )


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
    totals = np.empty((5, points.n_points))
    never = np.full(points.n_points, np.inf)
    attacked_above = np.divide(points.cost * (1 + INDIFFERENCE), points.gain, out=never, where=points.gain > 0)
    thresholds, group = np.unique(attacked_above, return_inverse=True)
    for number, threshold in enumerate(thresholds.tolist()):
        together = np.flatnonzero(group == number)
        looked_at = options
        if len(together) >= _WORTH_THINNING:
            looked_at = _thinned_options(options, points.benefit[together], points.loss[together], threshold)
        for point in together.tolist():
            totals[:, point] = _total(
                looked_at.utility,
                looked_at.success,
                looked_at.intensity,
                best_options(looked_at, points, point, no_attack=no_attack),
                weights,
                points.benefit[point],
                points.loss[point],
                points.gain[point],
                points.cost[point],
                INDIFFERENCE,
            )
    return PointAverages(*(totals / weights.sum()))


def _thinned_options(options: Options, benefit: Floats, loss: Floats, attacked_above: float) -> Options:
    """Leave out options that are never best at points (n_points,) of one threshold of attack.

    Let d be ten times `INDIFFERENCE`. Of the options before the first that is not attacked, one of utility u and
    success probability s is left out if two others of them have, at some weights that sum to one, a mean utility of at
    least u + d and a mean success probability of at most s - d: one of the two then pays more by d (benefit + loss).
    After the first that is not attacked, those are left out whose utility is lower by so much that they pay less by two
    ties or more wherever benefit is above 0. What pays less than the best by three ties never has a say in which of
    equal options is kept, and at two ties below what comes before it the search of the options has ended.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = 3 * INDIFFERENCE * (1 + float(np.where(benefit > 0, loss / benefit, np.inf).max()))
    start, kept = _thinned(options.start, options.utility, options.success, attacked_above, 10 * INDIFFERENCE, slack)
    return Options(
        start, options.strategies[kept], options.utility[kept], options.success[kept], options.intensity[kept]
    )


def best_options(
    options: Options, points: ParameterPoints, point: int, *, no_attack: bool = False
) -> NDArray[np.int64]:
    """Return the position of every record's best option at one point, -1 where it is withheld, shape (n_records,)."""
    chosen: NDArray[np.int64] = _best_option(
        options.start,
        options.strategies,
        options.utility,
        options.success,
        points.benefit[point],
        points.loss[point],
        points.gain[point],
        points.cost[point],
        no_attack,
        INDIFFERENCE,
    )
    return chosen


@numba.njit(cache=True)
def _undominated(utility: Floats, success: Floats, same: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the strategies kept, record after record, by falling utility, and how many each record keeps."""
    n, size = utility.shape
    keep = np.empty(n * size, dtype=np.int64)
    per_record = np.zeros(n, dtype=np.int64)
    safer_than_all_before = np.empty(size, dtype=np.bool_)
    candidate, falling = np.empty(size, dtype=np.int64), np.empty(size)
    found = 0
    for i in range(n):
        safest = np.inf
        for strategy in range(size):
            safer_than_all_before[strategy] = utility[i, strategy] >= 0.0 and success[i, strategy] < safest
            if safer_than_all_before[strategy]:
                safest = success[i, strategy]
        # Most are no better than one shortly before them, which has at least their utility: what is sorted is less.
        candidates = 0
        for strategy in range(size):
            before = candidates
            while before > max(0, candidates - _BEFORE) and (
                utility[i, candidate[before - 1]] < utility[i, strategy]
                or success[i, candidate[before - 1]] > success[i, strategy]
            ):
                before -= 1
            if before <= max(0, candidates - _BEFORE) and utility[i, strategy] >= 0.0:
                candidate[candidates] = strategy
                falling[candidates] = -utility[i, strategy]
                candidates += 1
        order = candidate[np.argsort(falling[:candidates], kind="mergesort")]
        safest_above = np.inf
        begin = 0
        while begin < candidates:
            # One level of utility, its strategies in lattice order.
            end = begin + 1
            while end < candidates and utility[i, order[end]] > utility[i, order[begin]] - same:
                end += 1
            level = order[begin:end]
            if end > begin + 1:
                level = np.sort(level)
            safest = safest_above
            for strategy in level:
                if success[i, strategy] < safest or safer_than_all_before[strategy]:
                    safest = min(safest, success[i, strategy])
                    keep[found] = strategy
                    found += 1
                    per_record[i] += 1
            safest_above = safest
            begin = end
    return keep[:found].copy(), per_record


@numba.njit(cache=True)
def _thinned(
    start: NDArray[np.int64],
    utility: Floats,
    success: Floats,
    attacked_above: float,
    margin: float,
    slack: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the options of each record begin among those kept, and the positions of these."""
    n = len(start) - 1
    begins, kept, found = np.zeros(n + 1, dtype=np.int64), np.empty(len(utility), dtype=np.int64), 0
    for i in range(n):
        option = start[i]
        while option < start[i + 1] and success[option] > attacked_above:
            while found > begins[i] + 1:
                above, here = kept[found - 2], kept[found - 1]
                span = utility[above] - utility[option]
                share = (utility[here] + margin - utility[option]) / span if span > 0.0 else 2.0
                line = share * success[above] + (1.0 - share) * success[option]
                if share > 1.0 or line > success[here] - margin:
                    break
                found -= 1
            kept[found] = option
            found += 1
            option += 1
        safe = option
        while option < start[i + 1] and utility[option] >= utility[safe] - slack:
            kept[found] = option
            found += 1
            option += 1
        begins[i + 1] = found
    return begins, kept[:found].copy()


@numba.njit(cache=True)
def _best_option(
    start: NDArray[np.int64],
    strategies: Strategies,
    utility: Floats,
    success: Floats,
    benefit: float,
    loss: float,
    gain: float,
    cost: float,
    no_attack: bool,
    indifference: float,
) -> NDArray[np.int64]:
    """Return the position of each record's best option, -1 if none is allowed."""
    n = len(start) - 1
    chosen = np.full(n, -1, dtype=np.int64)
    tie = indifference * (benefit + loss)
    # An attack pays exactly above this success probability.
    attacked_above = cost * (1 + indifference) / gain if gain > 0 else np.inf
    for i in range(n):
        best = -np.inf
        for option in range(start[i], start[i + 1]):
            value = benefit * utility[option]
            if value < best - tie:
                break
            if success[option] > attacked_above:
                if no_attack:
                    continue
                value -= loss * success[option]
            ahead = value - best
            if ahead > tie or (ahead >= -tie and strategies[option] < strategies[chosen[i]]):
                best = value
                chosen[i] = option
    return chosen


@numba.njit(cache=True)
def _total(
    utility: Floats,
    success: Floats,
    intensity: Floats,
    chosen: NDArray[np.int64],
    weights: NDArray[np.int64],
    benefit: float,
    loss: float,
    gain: float,
    cost: float,
    indifference: float,
) -> tuple[float, float, float, float, float]:
    """Add up payoffs, intensity, attacks and re-identifications of the chosen options."""
    publisher, adversary, intensities, attacks, risk = 0.0, 0.0, 0.0, 0.0, 0.0
    attacked_above = cost * (1 + indifference) / gain if gain > 0 else np.inf
    for i in range(len(chosen)):
        option, weight = chosen[i], weights[i]
        if option < 0:
            intensities += weight
            continue
        publisher += weight * benefit * utility[option]
        intensities += weight * intensity[option]
        if success[option] > attacked_above:
            publisher -= weight * loss * success[option]
            adversary += weight * (gain * success[option] - cost)
            attacks += weight
            risk += weight * success[option]
    return publisher, adversary, intensities, attacks, risk

"""The best of a record's options at one parameter point, and sums over records at thousands of points.

Records are gone through one after the other. Of a record, points of the same threshold of attack share the options that
can win, and those with neighbouring ratios of loss to benefit mostly the best of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.releases.strategy_space import Floats, Strategies

# Of an option: utility, intensity and success probability where it is attacked; records with any of each.
_AMOUNTS = 6


class Options(NamedTuple):
    """The strategies that each record may have to play, by falling utility.

    Attributes
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
        arrays: list[Any] = [array[low:high] for array in self[1:]]
        return Options(np.array([0, high - low]), *arrays)


@numba.njit(cache=True)
def best_of(
    options: Options,
    kept: NDArray[np.int64],
    low: int,
    high: int,
    attacked_above: float,
    benefit: float,
    loss: float,
    no_attack: bool,
    indifference: float,
) -> int:
    """Return which of the options kept, from `low` to `high`, is best, -1 if none is allowed."""
    strategies, utility, success = options.strategies, options.utility, options.success
    chosen, first, best = -1, -1, -np.inf
    tie = indifference * (benefit + loss)
    for number in range(low, high + 1):
        option = kept[number]
        value = benefit * utility[option]
        if value < best - tie:
            break
        if success[option] > attacked_above:
            if no_attack:
                continue
            value -= loss * success[option]
        ahead = value - best
        if ahead > tie or (ahead >= -tie and strategies[option] < first):
            best, chosen, first = value, number, strategies[option]
    return chosen


def sums_at_points(
    options: Options,
    weights: NDArray[np.int64],
    begins: NDArray[np.int64],
    thresholds: Floats,
    slack: Floats,
    benefit: Floats,
    loss: Floats,
    weight: Floats,
    no_attack: bool,
    indifference: float,
) -> Floats:
    """Add up utility, intensity, success probabilities and attacks of the best options, shape (4, n_points).

    Points are in the order of `parameter_grid.average_outcomes`; those from ``begins[g]`` to ``begins[g + 1]`` share a
    threshold of attack and a slack. Let d be ten times `indifference`. Of the options before the first that is not
    attacked, one of utility u and success probability s is left out if two others of them have, at some weights that
    sum to one, a mean utility of at least u + d and a mean success probability of at most s - d: one of the two then
    pays more by d (benefit + loss). After the first that is not attacked, those are left out whose utility is lower by
    more than the slack, so that they pay less by two ties or more wherever benefit is above 0. What pays less than the
    best by three ties never has a say in which of equal options is kept, and at two ties below what comes before it the
    search of the options has ended.
    """
    steps, widest = np.zeros((len(benefit), _AMOUNTS)), int(np.diff(options.start).max(initial=1))
    _steps_at_points(
        options, weights, begins, thresholds, slack, benefit, loss, weight, no_attack, indifference, widest, steps
    )
    sums = np.empty((_AMOUNTS, len(benefit)))
    for begin, end in pairwise(begins.tolist()):
        np.cumsum(steps[begin:end].T, axis=1, out=sums[:, begin:end])
    # Steps up and down do not cancel to the last bit; whole numbers of records do, and tell where there is nothing.
    return np.concatenate((np.where(sums[3:] > 0.0, sums[:3], 0.0), sums[5:]))


@numba.njit(cache=True)
def _steps_at_points(
    options: Options,
    weights: NDArray[np.int64],
    begins: NDArray[np.int64],
    thresholds: Floats,
    slack: Floats,
    benefit: Floats,
    loss: Floats,
    weight: Floats,
    no_attack: bool,
    indifference: float,
    widest: int,
    steps: Floats,
) -> None:
    """Put by how much the sums differ from those at the point before; where a threshold begins, from nothing."""
    start, utility, success = options.start, options.utility, options.success
    kept = np.empty(widest, dtype=np.int64)
    right, best_of_right = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    margin = 10 * indifference
    for i in range(len(start) - 1):
        found, option, end = 0, start[i], start[i + 1]
        for group in range(len(thresholds)):
            attacked_above = thresholds[group]
            # Thresholds fall: what is attacked at one is at the next.
            while option < end and success[option] > attacked_above:
                while found > 1:
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
            size, last = found, option
            while last < end and utility[last] >= utility[option] - slack[group]:
                kept[size] = last
                size += 1
                last += 1
            # As losses weigh more, the best option moves on, so that between two points it is among those between
            # theirs: one is looked at where two differ, about where they would tie, and those on the right wait.
            reached = look = begin = begins[group]
            after = begins[group + 1]
            chosen, waiting, low, high = -1, 0, 0, size - 1
            while True:
                best = best_of(
                    options, kept, low, high, attacked_above, benefit[look], loss[look], no_attack, indifference
                )
                if look == begin:
                    chosen = best
                else:
                    right[waiting], best_of_right[waiting] = look, best
                    waiting += 1
                while waiting and (best_of_right[waiting - 1] == chosen or right[waiting - 1] == reached + 1):
                    waiting -= 1
                    reached = right[waiting]
                    if best_of_right[waiting] != chosen:
                        added = _amounts(options, kept, chosen, weights[i], attacked_above)
                        for row in range(_AMOUNTS):
                            steps[begin, row] += added[row]
                            steps[reached, row] -= added[row]
                        begin, chosen = reached, best_of_right[waiting]
                if waiting:
                    low, high = chosen, best_of_right[waiting - 1]
                    look = _tie(options, kept[low], kept[high], attacked_above, weight, reached, right[waiting - 1])
                elif reached < after - 1:
                    look, low = after - 1, max(chosen, 0)
                else:
                    break
            added = _amounts(options, kept, chosen, weights[i], attacked_above)
            for row in range(_AMOUNTS):
                steps[begin, row] += added[row]


@numba.njit(cache=True)
def _tie(options: Options, first: int, second: int, attacked_above: float, weight: Floats, low: int, high: int) -> int:
    """Return the first point, between two, at which the second of two options pays about as much as the first."""
    utility, success = options.utility, options.success
    more = utility[first] - utility[second]
    risk = success[first] - (success[second] if success[second] > attacked_above else 0.0)
    at = more / (more + risk) if more + risk > 0.0 else 0.0
    high -= 1
    low += 1
    while low < high:
        middle = (low + high) // 2
        if weight[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True)
def _amounts(
    options: Options, kept: NDArray[np.int64], chosen: int, weight: int, attacked_above: float
) -> tuple[float, float, float, float, float, float]:
    """Return what one option of a record adds to each sum, and to the numbers of records with any of it."""
    one, utility, success, intensity = float(weight), options.utility, options.success, options.intensity
    if chosen < 0:
        return 0.0, one, 0.0, 0.0, one, 0.0
    option = kept[chosen]
    worth, general, attacked = utility[option], intensity[option], one if success[option] > attacked_above else 0.0
    useful, generalized = one if worth > 0.0 else 0.0, one if general > 0.0 else 0.0
    return one * worth, one * general, attacked * success[option], useful, generalized, attacked

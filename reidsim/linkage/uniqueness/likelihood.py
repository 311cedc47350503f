"""Likelihood of models with two parameters: best parameters and intervals.

Intervals are profile likelihood intervals. Also sums over arithmetic progressions and ratios of gamma functions,
accurate for any number of terms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

# Number of outer parameters at which the edge of the region is evaluated before its extremes are refined.
_POINTS = 24
# Tolerance of a refined extreme, relative to the width of the region; quantities are flat at an extreme.
_TOLERANCE = 1e-6
# Below this ratio of the progression's length to its start, four terms of a series are exact to 1e-12, while the
# gamma functions of the closed form cancel.
_SHORT = 1e-3
# From here on, four terms of Stirling's series are exact to 1e-14.
_LARGE = 16.0

# An estimate with the lower and the upper end of its interval.
Interval = tuple[float, float, float]


class TwoParameterModel:
    """A log-likelihood of two positive parameters, the outer and the inner one.

    It is ``inner_part(outer, inner) + outer_part(outer)``; subclasses define the parts. The search is in the logarithms
    of the parameters. Given the outer parameter, the log-likelihood has one maximum in the inner one. It is at minus or
    plus infinity if `at_infinity` is not 0.

    Attributes
    ----------
    start, lowest, highest : float
        Log of the inner parameter at which the search begins, and limits of the search.
    at_infinity : float
        Log of the inner parameter of the maximum, if it is infinite; else 0.
    of_best, of_ends : mapping of str to float
        Tolerances of the best inner parameter and of the ends of a range, as options of `scipy.optimize.brentq`.
    """

    start: float = 0.0
    lowest: float = -math.inf
    highest: float = math.inf
    at_infinity: float = 0.0
    of_best: ClassVar[Mapping[str, float]] = {"xtol": 1e-14, "rtol": 1e-14}
    of_ends: ClassVar[Mapping[str, float]] = of_best

    def inner_part(self, outer: float, inner: float) -> float:
        """Return the part of the log-likelihood that depends on the inner parameter.

        Subclasses define it; here, it raises NotImplementedError.
        """
        raise NotImplementedError

    def outer_part(self, outer: float) -> float:
        """Return the part of the log-likelihood without the inner parameter; here 0."""
        return 0.0

    def slope(self, outer: float, inner: float) -> float:
        """Return the derivative of the log-likelihood in the log of the inner parameter.

        Subclasses define it; here, it raises NotImplementedError.
        """
        raise NotImplementedError

    def outer_slope(self, outer: float, inner: float) -> float:
        """Return the derivative of the log-likelihood in the outer parameter.

        It can be multiplied by a positive number, because only its sign and zeros are used. Subclasses define it; here,
        it raises NotImplementedError.
        """
        raise NotImplementedError

    def best_inner(self, log_outer: float) -> float:
        """Return the log of the inner parameter with the largest log-likelihood.

        The outer parameter is fixed, given by its log. The result is near `lowest` or `highest` if the log-likelihood
        still rises beyond this limit of the search, and `at_infinity` if that is not 0.
        """
        if self.at_infinity:
            return self.at_infinity
        outer = math.exp(log_outer)

        def slope(log_inner: float) -> float:
            return self.slope(outer, math.exp(log_inner))

        low = high = self.start
        while low > self.lowest and slope(low) <= 0:
            low -= 2
        while high < self.highest and slope(high) >= 0:
            high += 2
        if slope(low) <= 0:
            return low
        return high if slope(high) >= 0 else float(scipy.optimize.brentq(slope, low, high, **self.of_best))

    def profile(self, log_outer: float) -> float:
        """Return the largest log-likelihood over the inner parameter.

        The outer parameter is fixed, given by its log.
        """
        outer = math.exp(log_outer)
        return self.inner_part(outer, math.exp(self.best_inner(log_outer))) + self.outer_part(outer)

    def peaks(self, grid: Sequence[float], **tolerances: float) -> list[float]:
        """Return the logs of the outer parameter at maxima of the profile.

        A maximum is searched between neighbours on a grid if the profile rises at the first and does not rise at the
        second. The list is empty if there is none.

        Parameters
        ----------
        grid : sequence of float
            Logs of the outer parameter, ascending.
        tolerances : float
            Options of `scipy.optimize.brentq`.
        """

        def slope(log_outer: float) -> float:
            return self.outer_slope(math.exp(log_outer), math.exp(self.best_inner(log_outer)))

        rises = [slope(at) > 0 for at in grid]
        return [
            scipy.optimize.brentq(slope, *between, **tolerances)
            for between, rising, still_rising in zip(itertools.pairwise(grid), rises, rises[1:], strict=False)
            if rising and not still_rising
        ]

    def inner_range(self, log_outer: float, floor: float) -> tuple[float, float]:
        """Return the logs of the least and largest inner parameters as likely as `floor`.

        The outer parameter is fixed, given by its log; `floor` is a log-likelihood. If no inner parameter has it, both
        are `best_inner`. The range is cut off near the limits of the search.
        """
        best, outer = self.best_inner(log_outer), math.exp(log_outer)
        target = floor - self.outer_part(outer)

        def excess(log_inner: float) -> float:
            return self.inner_part(outer, math.exp(log_inner)) - target

        if excess(best) <= 0:
            return best, best

        def end(step: float) -> float:
            if self.at_infinity * step > 0:
                return best
            inside = outside = self.start if self.at_infinity else best
            while self.lowest - 1 < outside < self.highest + 1 and excess(outside) > 0:
                inside, outside = outside, outside + step
            if excess(outside) > 0:
                return outside
            while excess(inside) < 0:
                inside -= step
            low, high = sorted((inside, outside))
            return float(scipy.optimize.brentq(excess, low, high, **self.of_ends))

        return end(-1.0), end(1.0)

    def intervals(
        self, grid: Sequence[float], best: float, level: float, *quantities: Callable[[float, float], float]
    ) -> list[Interval]:
        """Return estimates and profile likelihood intervals of quantities.

        An interval holds the values for all parameters whose log-likelihood is within half the quantile of chi-square
        with 1 degree of freedom of the largest.

        Parameters
        ----------
        grid : sequence of float
            Logs of the outer parameter, ascending: from end to end of its range, and as dense as the profile varies.
        best : float
            Log of the outer parameter of the largest log-likelihood.
        level : float
            Confidence level.
        quantities : callable
            Functions of the outer and the inner parameter, monotonic in the inner one.

        Returns
        -------
        list of (float, float, float)
            For each quantity, its value at the best parameters, and the lower and upper end of its interval.
        """
        floor = self.profile(best) - float(scipy.stats.chi2.ppf(level, 1)) / 2
        points = sorted({*grid, best})
        inside = [at for at, outer in enumerate(points) if outer == best or self.profile(outer) >= floor]

        def edge(within: int, beyond: int) -> float:
            if not 0 <= beyond < len(points):
                return points[within]
            ends = points[within], points[beyond]
            return float(scipy.optimize.brentq(lambda outer: self.profile(outer) - floor, *ends, xtol=1e-14))

        ends = edge(inside[0], inside[0] - 1), edge(inside[-1], inside[-1] + 1)

        def extreme(quantity: Callable[[float, float], float], sign: float) -> float:
            """Return the minimum of the quantity in the region, or for sign -1 the maximum.

            The region has the parameters whose log-likelihood is at least `floor`.
            """

            def at(outer: float) -> float:
                inner = self.inner_range(outer, floor)
                return min(sign * quantity(math.exp(outer), math.exp(each)) for each in inner)

            places = np.linspace(*ends, _POINTS).tolist()
            values = [at(outer) for outer in places]
            least = int(np.argmin(values))
            bounds, found = (places[max(least - 1, 0)], places[min(least + 1, _POINTS - 1)]), [values[least]]
            if bounds[0] < bounds[1]:
                options = {"xatol": _TOLERANCE * (ends[1] - ends[0])}
                refined = scipy.optimize.minimize_scalar(at, bounds=bounds, method="bounded", options=options)
                found.append(float(refined.fun))
            return sign * min(found)

        parameters = math.exp(best), math.exp(self.best_inner(best))
        return [(each(*parameters), extreme(each, 1.0), extreme(each, -1.0)) for each in quantities]


def progression_sums(start: float, step: float, terms: int) -> tuple[float, float, float]:
    """Return three sums over an arithmetic progression of `terms` items.

    The items are ``x_i = start + i step``, from i = 0. The sums are the sums of log(x_i), 1 / x_i and i / x_i. The
    start must be positive, and the step 0 or more.
    """
    r = step / start
    if r * terms < _SHORT:
        # Series in r; p1 to p4 are the sums of i, i^2, i^3 and i^4.
        m = float(terms - 1)
        p1 = m * (m + 1) / 2
        p2, p3 = p1 * (2 * m + 1) / 3, p1 * p1
        p4 = p2 * (3 * m * m + 3 * m - 1) / 5
        return (
            terms * math.log(start) + r * (p1 - r * (p2 / 2 - r * (p3 / 3 - r * p4 / 4))),
            (terms - r * (p1 - r * (p2 - r * (p3 - r * p4)))) / start,
            (p1 - r * (p2 - r * (p3 - r * p4))) / start,
        )
    first = start / step
    logs = terms * math.log(step) + math.lgamma(first + terms) - math.lgamma(first)
    reciprocals = float(digamma(first + terms) - digamma(first)) / step
    return logs, reciprocals, (terms - start * reciprocals) / step


def log_gamma_ratio(x: ArrayLike, d: ArrayLike) -> NDArray[np.float64]:
    """Return ``log(gamma(x + d) / gamma(x))`` without loss of precision for large x.

    x must be positive, and d 0 or more; the result has their common shape.
    """
    x, d = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(d, dtype=np.float64))
    large = np.maximum(x, _LARGE)
    stirling = (large - 0.5) * np.log1p(d / large) + d * (np.log(large + d) - 1)
    ratio = stirling + _stirling_correction(large + d) - _stirling_correction(large)
    return np.asarray(np.where(x < _LARGE, gammaln(x + d) - gammaln(x), ratio))


def _stirling_correction(x: NDArray[np.float64]) -> NDArray[np.float64]:
    square = 1 / (x * x)
    return np.asarray((1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x)

"""Profile likelihood intervals of quantities that depend on two parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import scipy

# Number of outer parameters at which the edge of the region is evaluated before its extremes are refined.
_POINTS = 24
# Tolerance of a refined extreme, relative to the width of the region; quantities are flat at an extreme.
_TOLERANCE = 1e-6


def peaks(slope: Callable[[float], float], grid: Sequence[float], **tolerances: float) -> list[float]:
    """Return the points at which a slope falls through 0 on an ascending grid.

    One point is found between two neighbours of the grid with a slope above 0 and a slope of at most 0. `tolerances`
    are options of `scipy.optimize.brentq`.
    """
    rises = [slope(at) > 0 for at in grid]
    return [
        scipy.optimize.brentq(slope, *between, **tolerances)
        for between, (rising, still_rising) in zip(itertools.pairwise(grid), itertools.pairwise(rises), strict=True)
        if rising and not still_rising
    ]


class LikelyRegion:
    """The parameters whose log-likelihood is within `drop` of the largest.

    Half the quantile of chi-square with 1 degree of freedom as `drop` makes the extremes of a quantity over the region
    the ends of its profile likelihood interval.

    Parameters
    ----------
    profile : callable
        Largest log-likelihood over the inner parameter, given the outer one.
    inner_range : callable
        Smallest and largest inner parameter whose log-likelihood reaches a floor, given the outer one and the floor.
    grid : sequence of float
        Values of the outer parameter, ascending: from end to end of its range, and as dense as the profile varies.
    best : float
        Outer parameter of the largest log-likelihood.
    drop : float
        Difference from the largest log-likelihood, above 0.
    """

    def __init__(
        self,
        profile: Callable[[float], float],
        inner_range: Callable[[float, float], tuple[float, float]],
        grid: Sequence[float],
        best: float,
        drop: float,
    ) -> None:
        self._profile, self._inner_range = profile, inner_range
        self._floor = profile(best) - drop
        points = sorted({*grid, best})
        inside = [at for at, outer in enumerate(points) if outer == best or profile(outer) >= self._floor]
        self._first = self._end(points, inside[0], inside[0] - 1)
        self._last = self._end(points, inside[-1], inside[-1] + 1)

    def extremes(self, quantity: Callable[[float, float], float]) -> tuple[float, float]:
        """Return the smallest and the largest value of a quantity over the region.

        The quantity must be monotonic in the inner parameter.

        Parameters
        ----------
        quantity : callable
            Function of the outer and the inner parameter.
        """

        def smallest(outer: float) -> float:
            return min(quantity(outer, inner) for inner in self._inner_range(outer, self._floor))

        def opposite_of_largest(outer: float) -> float:
            return -max(quantity(outer, inner) for inner in self._inner_range(outer, self._floor))

        return self._minimum(smallest), -self._minimum(opposite_of_largest)

    def _end(self, points: Sequence[float], inside: int, outside: int) -> float:
        if not 0 <= outside < len(points):
            return points[inside]
        return float(
            scipy.optimize.brentq(
                lambda outer: self._profile(outer) - self._floor, points[inside], points[outside], xtol=1e-14
            )
        )

    def _minimum(self, function: Callable[[float], float]) -> float:
        points = np.linspace(self._first, self._last, _POINTS)
        values = [function(outer) for outer in points.tolist()]
        best = int(np.argmin(values))
        bounds = float(points[max(best - 1, 0)]), float(points[min(best + 1, _POINTS - 1)])
        if bounds[0] == bounds[1]:
            return values[best]
        width = self._last - self._first
        refined = scipy.optimize.minimize_scalar(
            function, bounds=bounds, method="bounded", options={"xatol": _TOLERANCE * width}
        )
        return float(min(values[best], refined.fun))

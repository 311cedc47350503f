"""Exactly rounded sums of float arrays, equal to `math.fsum` without a list."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

# Fewer non-overlapping floats than this cover all exponents of float64.
_MOST_PARTIALS = 64


@numba.njit(cache=True)
def exact_sum(values: NDArray[np.float64]) -> float:
    """Return the float nearest to the exact sum of finite numbers, as `math.fsum`.

    The running sum is kept exactly, as a list of non-overlapping floats (Shewchuk 1997).

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    """
    partials = np.empty(_MOST_PARTIALS)
    n = 0
    for value in values:
        large, kept = value, 0
        for place in range(n):
            small = partials[place]
            if abs(large) < abs(small):
                large, small = small, large
            total = large + small
            rest = small - (total - large)
            if rest != 0.0:
                partials[kept] = rest
                kept += 1
            large = total
        partials[kept] = large
        n = kept + 1
    rounded, rest = 0.0, 0.0
    while n > 0 and rest == 0.0:
        n -= 1
        total = rounded + partials[n]
        rest = partials[n] - (total - rounded)
        rounded = total
    # In a half-way case, the sign of the remainder decides the rounding.
    if n > 0 and (rest < 0.0) == (partials[n - 1] < 0.0) and rest != 0.0 and partials[n - 1] != 0.0:
        double = 2.0 * rest
        beyond = rounded + double
        if double == beyond - rounded:
            rounded = beyond
    return rounded

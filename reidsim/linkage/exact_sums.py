"""Sums of many floats rounded once, as by `math.fsum`, of arrays and without a list of their numbers."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

# Floats that do not overlap cover all exponents with fewer.
_MOST_PARTIALS = 64


@numba.njit(cache=True)
def exact_sum(values: NDArray[np.float64]) -> float:
    """Return the float nearest to the sum of finite numbers, shape (n,): that of `math.fsum`.

    The sum so far is kept exactly, as floats that do not overlap (Shewchuk 1997).
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
    # Half-way cases are rounded by what is left.
    if n > 0 and (rest < 0.0) == (partials[n - 1] < 0.0) and rest != 0.0 and partials[n - 1] != 0.0:
        double = 2.0 * rest
        beyond = rounded + double
        if double == beyond - rounded:
            rounded = beyond
    return rounded

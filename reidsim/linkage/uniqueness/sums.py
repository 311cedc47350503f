"""Sums over arithmetic progressions and ratios of gamma functions.

The results are accurate for any number of terms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

# Below this ratio of the progression's length to its start, four terms of a series are exact to 1e-12, while the
# gamma functions of the closed form cancel.
_SHORT = 1e-3
# From here on, four terms of Stirling's series are exact to 1e-14.
_LARGE = 16.0


def sum_of_logs(start: float, step: float, terms: int) -> float:
    """Return ``log(start) + log(start + step) + ...``, a sum of `terms` terms.

    The start must be positive, and the step 0 or more.
    """
    if terms == 0:
        return 0.0
    r = step / start
    if r * terms < _SHORT:
        p1, p2, p3, p4 = _power_sums(terms)
        return terms * math.log(start) + r * (p1 - r * (p2 / 2 - r * (p3 / 3 - r * p4 / 4)))
    return terms * math.log(step) + math.lgamma(start / step + terms) - math.lgamma(start / step)


def sum_of_reciprocals(start: float, step: float, terms: int) -> float:
    """Return ``1 / start + 1 / (start + step) + ...``, a sum of `terms` terms.

    The start must be positive, and the step 0 or more.
    """
    if terms == 0:
        return 0.0
    r = step / start
    if r * terms < _SHORT:
        p1, p2, p3, p4 = _power_sums(terms)
        return (terms - r * (p1 - r * (p2 - r * (p3 - r * p4)))) / start
    return float(digamma(start / step + terms) - digamma(start / step)) / step


def sum_of_weighted_reciprocals(start: float, step: float, terms: int) -> float:
    """Return ``0 / start + 1 / (start + step) + 2 / (start + 2 step) + ...``.

    The sum has `terms` terms. The start must be positive, and the step 0 or more.
    """
    if terms == 0:
        return 0.0
    r = step / start
    if r * terms < _SHORT:
        p1, p2, p3, p4 = _power_sums(terms)
        return (p1 - r * (p2 - r * (p3 - r * p4))) / start
    return (terms - start * sum_of_reciprocals(start, step, terms)) / step


def log_gamma_ratio(x: ArrayLike, d: ArrayLike) -> NDArray[np.float64]:
    """Return ``log(gamma(x + d) / gamma(x))`` without loss of precision for large x.

    x must be positive, and d 0 or more.
    """
    x, d = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(d, dtype=np.float64))
    large = np.maximum(x, _LARGE)
    stirling = (large - 0.5) * np.log1p(d / large) + d * (np.log(large + d) - 1)
    ratio = stirling + _stirling_correction(large + d) - _stirling_correction(large)
    return np.asarray(np.where(x < _LARGE, gammaln(x + d) - gammaln(x), ratio))


def _power_sums(terms: int) -> tuple[float, float, float, float]:
    """Return the sums of i, i^2, i^3 and i^4 over 0 <= i < terms."""
    m = float(terms - 1)
    p1 = m * (m + 1) / 2
    p2 = p1 * (2 * m + 1) / 3
    return p1, p2, p1 * p1, p2 * (3 * m * m + 3 * m - 1) / 5


def _stirling_correction(x: NDArray[np.float64]) -> NDArray[np.float64]:
    square = 1 / (x * x)
    return np.asarray((1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x)

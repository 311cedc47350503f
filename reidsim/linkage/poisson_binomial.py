"""The number of successes among independent attempts of different probabilities (Poisson-binomial distribution)."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import binom

Floats = NDArray[np.float64]

# Products of shorter distributions are summed term by term.
_SHORT = 512
# Probabilities that are left out at both ends of a distribution; in all they add up to less than a millionth.
_NEGLIGIBLE = 1e-14


def quantile_of_successes(probabilities: Floats, level: float) -> int:
    """Return the least number that the successes do not exceed with some probability.

    Attempts of one probability are a binomial distribution; these are convolved, which is exact but for rounding, of
    less than a millionth of the probability in all.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Of success, in [0, 1].
    level : float
        In (0, 1).

    Examples
    --------
    >>> quantile_of_successes(np.array([0.5, 0.5, 1.0]), 0.95)
    3
    """
    certain = int((probabilities >= 1).sum())
    distinct, numbers = np.unique(probabilities[(probabilities > 0) & (probabilities < 1)], return_counts=True)
    order = count()
    # The shortest first, so that long ones are convolved as rarely as can be.
    parts = [
        (len(masses), next(order), start, masses)
        for start, masses in (_binomial(number, p) for p, number in zip(distinct, numbers, strict=True))
    ]
    heapq.heapify(parts)
    while len(parts) > 1:
        _, _, first, a = heapq.heappop(parts)
        _, _, second, b = heapq.heappop(parts)
        both = np.convolve(a, b) if min(len(a), len(b)) < _SHORT else np.maximum(fftconvolve(a, b), 0.0)
        start, masses = _trimmed(first + second, both)
        heapq.heappush(parts, (len(masses), next(order), start, masses))
    if not parts:
        return certain
    _, _, start, masses = parts[0]
    # Rounding must not put 0.95, added up, below 0.95.
    return certain + start + int(np.searchsorted(np.cumsum(masses), level - 1e-9))


def _binomial(number: int, probability: float) -> tuple[int, Floats]:
    masses = np.asarray(binom.pmf(np.arange(number + 1), number, probability), dtype=np.float64)
    return _trimmed(0, masses)


def _trimmed(start: int, masses: Floats) -> tuple[int, Floats]:
    """Leave out negligible ends of a distribution that begins at `start`."""
    kept = np.flatnonzero(masses > _NEGLIGIBLE)
    first, last = int(kept[0]), int(kept[-1])
    return start + first, masses[first : last + 1]

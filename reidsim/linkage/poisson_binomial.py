"""Poisson-binomial distribution: successes of attempts of unequal probability.

The characteristic function ``phi(w) = product of 1 + p (exp(iw) - 1)`` is evaluated at the frequencies of a window of
whole numbers and transformed back (Fernandez and Williams 2010; Hong 2013). Three approximations, each with an error
bound, make the time proportional to the number of attempts:

- The window omits a probability of at most 1e-14, by Bernstein's inequality.
- Since ``|phi(w)| <= exp(-2 v sin(w/2)^2)``, with v the variance, frequencies beyond ``2 v sin(w/2)^2 = 40 + ln M``
  are 0 to within 4e-18 over all M numbers of the window. A few dozen frequencies remain for any number of attempts.
- For probabilities above 1/2, failures are counted instead of successes. Then ``|p u|`` for ``u = exp(iw) - 1`` is
  mostly small, and the sum of ``log(1 + p u)`` is a series in the sums of powers of p. The error of its 20 terms is
  below 1e-17 of phi. The few attempts with ``|p u| > 0.1`` are summed directly.

The total error is below 1e-12 of the probability. The error of floating-point rounding is smaller, because every factor
is computed around its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import asin, ceil, floor, fsum, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Largest probability that the window omits.
LEFT_OUT = 1e-14
# Frequencies are omitted if the characteristic function is below exp(-_VANISHED) over the size of the window.
_VANISHED = 40.0
# The series is used for attempts with |p u| up to _SMALL; the error of _TERMS terms is then below 1e-17.
_SMALL = 0.1
_TERMS = 20
# Terms computed at once; intermediate results of this size stay in the processor's cache.
_AT_ONCE = 2**14
# Tolerance for sums of probabilities that fall short of a level by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Successes:
    """The distribution of a number of successes.

    Parameters
    ----------
    start : int
        The smallest number in `masses`.
    masses : ndarray of float64, shape (n_numbers,)
        Probabilities of ``start``, ``start + 1``, ...; they sum to 1.
    """

    start: int
    masses: Floats

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of successes of each entry of `masses`, shape (n_numbers,)."""
        return self.start + np.arange(len(self.masses))

    @cached_property
    def at_most(self) -> Floats:
        """Probability of at most each number in `numbers`, shape (n_numbers,)."""
        return np.minimum(np.cumsum(self.masses), 1.0)

    @property
    def mean(self) -> float:
        """Expected number of successes."""
        return float((self.numbers * self.masses).sum())

    @property
    def any(self) -> float:
        """Probability of at least one success."""
        return min(float(self.masses[1:].sum()), 1.0) if self.start == 0 else 1.0

    def quantile(self, level: float) -> int:
        """Return the smallest number that is not exceeded with this probability or more.

        Numbers at either end with a total probability below 1e-9 are ignored.

        Parameters
        ----------
        level : float
            Probability, in [0, 1].
        """
        place = int(np.searchsorted(self.at_most, max(level - _ROUNDING, _ROUNDING)))
        return self.start + min(place, len(self.masses) - 1)


def successes(probabilities: Floats, numbers: NDArray[np.number[Any]] | None = None) -> Successes:
    """Return the distribution of the number of successes among independent attempts.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Success probabilities, in [0, 1].
    numbers : ndarray of int64, shape (n,), optional
        Number of attempts with each probability; 1 if not given.

    Examples
    --------
    >>> successes(np.array([0.5, 0.5, 1.0])).masses.round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    chance = np.asarray(probabilities, dtype=np.float64)
    each = np.ones(len(chance), dtype=np.int64) if numbers is None else np.asarray(numbers, dtype=np.int64)
    certain = int(each[chance >= 1].sum())
    open_ = (chance > 0) & (chance < 1) & (each > 0)
    uncertain = _uncertain(chance[open_], each[open_])
    return Successes(certain + uncertain.start, uncertain.masses)


def mixture(weights: Sequence[float], parts: Sequence[Successes]) -> Successes:
    """Return the mixture of distributions: one of them applies, drawn by weight.

    Parameters
    ----------
    weights : sequence of float
        Probability of each distribution; they sum to 1.
    parts : sequence of Successes
        The distributions; at least one.
    """
    first = min(part.start for part in parts)
    last = max(part.start + len(part.masses) for part in parts)
    masses = np.zeros(last - first)
    for weight, part in zip(weights, parts, strict=True):
        masses[part.start - first : part.start - first + len(part.masses)] += weight * part.masses
    return Successes(first, masses)


def reach_of(variance: float, span: float = 1.0) -> float:
    """Return a bound on the distance of a sum of independent terms from its mean.

    The distance exceeds the bound with probability at most 1e-14 (Bernstein's inequality).

    Parameters
    ----------
    variance : float
        Variance of the sum.
    span : float
        Largest distance of a term from its own mean.
    """
    far = log(2 / LEFT_OUT)
    third = far * span / 3
    return third + sqrt(third * third + 2 * far * variance)


def _uncertain(chance: Floats, each: NDArray[np.int64]) -> Successes:
    """Return the distribution for probabilities strictly between 0 and 1.

    `each` is the number of attempts with each probability, 1 or more.
    """
    if not len(chance):
        return Successes(0, np.ones(1))
    expected = each * chance
    mean, variance = fsum(expected.tolist()), float((expected * (1.0 - chance)).sum())
    reach = reach_of(variance)
    start, last = max(0, floor(mean - reach)), min(int(each.sum()), ceil(mean + reach))
    size = last - start + 1
    # Last frequency at which the characteristic function is not negligible, in the lower half of the spectrum.
    vanishing = (_VANISHED + log(size)) / (2 * variance)
    most = size // 2 if vanishing >= 1 else min(size // 2, ceil(size * asin(sqrt(vanishing)) / np.pi))
    frequency = 2 * np.pi * np.arange(most + 1) / size
    likely = chance > 0.5
    around = _log_around_mean(*_those(~likely, chance, each), frequency)
    if likely.any():
        around += _log_around_mean(1.0 - chance[likely], each[likely], frequency).conj()
    transformed = np.zeros(size // 2 + 1, dtype=np.complex128)
    transformed[: most + 1] = np.exp(around + 1j * frequency * (mean - start)).conj()
    masses = np.maximum(np.fft.irfft(transformed, size), 0.0) if size > 1 else np.ones(1)
    return Successes(start, masses / masses.sum())


def _log_around_mean(chance: Floats, each: NDArray[np.int64], frequency: Floats) -> Complex:
    """Return the sum of ``log(1 + p u) - iwp`` over attempts at each frequency w."""
    half = np.sin(frequency / 2)
    step = -2 * half * half + 1j * np.sin(frequency)
    by_series = chance * (2 * half.max()) <= _SMALL
    total = np.zeros(len(frequency), dtype=np.complex128)
    small, of_small = _those(by_series, chance, each)
    if len(small):
        power, sums = of_small * small, np.empty(_TERMS)
        raised, against = np.empty((_TERMS, len(frequency)), dtype=np.complex128), -step
        raised[0], sums[0] = step, power.sum()
        for term in range(1, _TERMS):
            power *= small
            sums[term] = np.add.reduce(power)
            np.multiply(raised[term - 1], against, out=raised[term])
        terms = sums[:, None] * raised / np.arange(1, _TERMS + 1)[:, None]
        terms[0] = sums[0] * (-2 * half * half + 1j * _sine_less_itself(frequency))
        total += terms.sum(axis=0)
    others, of_others = _those(~by_series, chance, each)
    # Many attempts have equal probabilities, such as one over the size of a group.
    distinct, which = np.unique(others, return_inverse=True)
    at_once = max(_AT_ONCE // max(len(others), 1), 1)
    for begin in range(0, len(frequency) if len(others) else 0, at_once):
        part = slice(begin, begin + at_once)
        around = np.log1p(np.multiply.outer(step[part], distinct)) - np.multiply.outer(1j * frequency[part], distinct)
        total[part] += (of_others * around.take(which, axis=1)).sum(axis=1)
    return total


def _those(chosen: NDArray[np.bool_], chance: Floats, each: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    # Avoid a copy if all attempts are chosen.
    return (chance, each) if chosen.all() else (chance[chosen], each[chosen])


def _sine_less_itself(angle: Floats) -> Floats:
    """Return ``sin(w) - w``, by its series for small angles to avoid cancellation."""
    square = angle * angle
    series = -angle * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110))))
    return np.where(angle < 0.1, series, np.sin(angle) - angle)

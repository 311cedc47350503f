"""The number of successes among independent attempts of different probabilities (Poisson-binomial distribution).

The characteristic function ``phi(w) = product of 1 + p (exp(iw) - 1)`` is taken at the frequencies of a window of whole
numbers and transformed back (Fernandez and Williams 2010; Hong 2013). Three things make that take time in proportion to
the number of attempts, and each has a bound:

- The window leaves out a probability of at most 1e-14, by Bernstein's inequality.
- Since ``|phi(w)| <= exp(-2 v sin(w/2)^2)``, with v the variance, frequencies beyond ``2 v sin(w/2)^2 = 40 + ln M``
  are 0 to within 4e-18 over all M numbers of the window. A few dozen are left, however many attempts there are.
- With probabilities above 1/2 counted as failures, ``|p u|`` for ``u = exp(iw) - 1`` is mostly small, and the sum of
  ``log(1 + p u)`` is a series in the sums of powers of p. Its 20 terms leave out less than 1e-17 of phi; the few
  attempts with ``|p u| > 0.1`` are summed as they are.

Together that is less than 1e-12 of the probability, besides the rounding of floating-point numbers, which is less still
as every factor is taken around its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import asin, ceil, floor, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.linkage.exact_sums import exact_sum

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Probability that the window leaves out at most.
LEFT_OUT = 1e-14
# Natural logarithm of one over what is left out of the characteristic function.
_VANISHED = 40.0
# The series is used where no probability times `u` exceeds this; so many terms leave out less than 1e-17.
_SMALL = 0.1
_TERMS = 20
# Terms of sums that are computed at once: what is kept of them stays in the cache.
_AT_ONCE = 2**14
# Sums of probabilities may be below a level by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Successes:
    """The distribution of a number of successes.

    Parameters
    ----------
    start : int
        The least number that has a probability.
    masses : ndarray of float64, shape (n_numbers,)
        Of `start`, the number after it, and so on; they sum to 1.
    """

    start: int
    masses: Floats

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers that `masses` belong to, shape (n_numbers,)."""
        return self.start + np.arange(len(self.masses))

    @cached_property
    def at_most(self) -> Floats:
        """Probability of at most each number, shape (n_numbers,)."""
        return np.minimum(np.cumsum(self.masses), 1.0)

    @property
    def mean(self) -> float:
        """The expected number."""
        return float((self.numbers * self.masses).sum())

    @property
    def any(self) -> float:
        """Probability of one success at least."""
        return min(float(self.masses[1:].sum()), 1.0) if self.start == 0 else 1.0

    def quantile(self, level: float) -> int:
        """Return the least number that is not exceeded with probability `level`, in [0, 1].

        Numbers at either end whose probabilities sum to less than 1e-9 do not count.
        """
        place = int(np.searchsorted(self.at_most, max(level - _ROUNDING, _ROUNDING)))
        return self.start + min(place, len(self.masses) - 1)


def successes(probabilities: Floats, numbers: NDArray[np.number[Any]] | None = None) -> Successes:
    """Return the distribution of the number of successes among independent attempts.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        Of success, in [0, 1].
    numbers : ndarray of int64, shape (n,), optional
        How many attempts have each; one, if not given.

    Raises
    ------
    InputError
        If a probability is out of range.

    Examples
    --------
    >>> successes(np.array([0.5, 0.5, 1.0])).masses.round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    chance = np.asarray(probabilities, dtype=np.float64)
    each = np.ones(len(chance), dtype=np.int64) if numbers is None else np.asarray(numbers, dtype=np.int64)
    if len(chance) and not (chance.min() >= 0 and chance.max() <= 1 + _ROUNDING):
        found = float(chance.min() if not chance.min() >= 0 else chance.max())
        raise InputError("probability out of range", found=found, expected="0 to 1")
    certain = int(each[chance >= 1].sum())
    open_ = (chance > 0) & (chance < 1) & (each > 0)
    uncertain = _uncertain(chance[open_], each[open_])
    return Successes(certain + uncertain.start, uncertain.masses)


def mixture(weights: Sequence[float], parts: Sequence[Successes]) -> Successes:
    """Return the distribution of a number that is one of several, each with its own probability.

    Parameters
    ----------
    weights : sequence of float
        Probabilities, which sum to 1.
    parts : sequence of Successes
    """
    first = min(part.start for part in parts)
    last = max(part.start + len(part.masses) for part in parts)
    masses = np.zeros(last - first)
    for weight, part in zip(weights, parts, strict=True):
        masses[part.start - first : part.start - first + len(part.masses)] += weight * part.masses
    return Successes(first, masses)


def reach_of(variance: float, span: float = 1.0) -> float:
    """Return how far a sum of independent terms may be from its mean, but for a probability of 1e-14 (Bernstein).

    Parameters
    ----------
    variance : float
        Of the sum.
    span : float
        Largest distance of a term from its own mean.
    """
    far = log(2 / LEFT_OUT)
    third = far * span / 3
    return third + sqrt(third * third + 2 * far * variance)


def _uncertain(chance: Floats, each: NDArray[np.int64]) -> Successes:
    """Return the distribution where no probability is 0 or 1."""
    if not len(chance):
        return Successes(0, np.ones(1))
    expected = each * chance
    mean, variance = exact_sum(expected), float((expected * (1.0 - chance)).sum())
    reach = reach_of(variance)
    start, last = max(0, floor(mean - reach)), min(int(each.sum()), ceil(mean + reach))
    size = last - start + 1
    # Frequencies at which anything is left, of the half that the others mirror.
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
    """Return the sum of ``log(1 + p u) - iwp`` over attempts at each frequency w, shape (n_frequencies,)."""
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
    # Attempts share few chances, such as one over the size of a group.
    distinct, which = np.unique(others, return_inverse=True)
    at_once = max(_AT_ONCE // max(len(others), 1), 1)
    for begin in range(0, len(frequency) if len(others) else 0, at_once):
        part = slice(begin, begin + at_once)
        around = np.log1p(np.multiply.outer(step[part], distinct)) - np.multiply.outer(1j * frequency[part], distinct)
        total[part] += (of_others * around.take(which, axis=1)).sum(axis=1)
    return total


def _those(
    chosen: NDArray[np.bool_], chance: Floats, each: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:  # fmt: skip
    # Of all of them nothing is copied.
    return (chance, each) if chosen.all() else (chance[chosen], each[chosen])


def _sine_less_itself(angle: Floats) -> Floats:
    """Return ``sin(w) - w``, of small angles by its series, as the two are almost equal."""
    square = angle * angle
    series = -angle * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110))))
    return np.where(angle < 0.1, series, np.sin(angle) - angle)

"""Distributions of the number of successes and of the total payoff of independent attempts.

The number of successes is Poisson-binomial. Its characteristic function ``phi(w) = product of 1 + p (exp(iw) - 1)`` is
evaluated at the frequencies of a window of whole numbers and transformed back (Fernandez and Williams 2010; Hong 2013).
The window omits a probability of at most 1e-14, by Bernstein's inequality. Since ``|phi(w)| <= exp(-2 v sin(w/2)^2)``,
with v the variance, frequencies beyond ``2 v sin(w/2)^2 = 40 + ln M`` are 0 to within 4e-18 over all M numbers of the
window. A few dozen frequencies remain for any number of attempts. Each factor is computed around its mean, so that
rounding errors stay small. The total error is below 1e-12 of the probability.

The total payoff is computed by convolution if all amounts are multiples of one unit, and otherwise drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import asin, ceil, floor, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.numerics import draw_binomial

Floats = NDArray[np.float64]

# Largest probability that a window omits.
_LEFT_OUT = 1e-14
# Frequencies are omitted if the characteristic function is below exp(-_VANISHED) over the size of the window.
_VANISHED = 40.0
# With more distinct probabilities than `_MANY`, the logarithms of all factors ``1 + p u`` with ``|p u| <= _SMALL`` are
# added up as one power series of `_TERMS` terms, which omits less than 1e-17 of each logarithm.
_MANY, _SMALL, _TERMS = 1_000, 0.1, 16
# Number of terms computed together; intermediate results of this size stay in the processor's cache.
_AT_ONCE = 2**14
# Tolerance for sums of probabilities that fall short of a level by rounding, and for amounts that are whole hundredths,
# as a fraction of an attempt's payoff.
_ROUNDING = 1e-9
# Limits of exact payoffs: numbers of distinct amounts and of distinct sums, on whole multiples of one unit.
_MOST_AMOUNTS = 32
_MOST_SUMS = 1 << 18
# The finest unit is one hundredth, as in currencies.
_FINEST = 100
# Limit of exact payoffs on distinct random attempts; a convolution takes 10 microseconds for each.
_MOST_KINDS = 20_000
# Number of sums drawn at random otherwise: _MOST_DRAWN over the number of kinds, from _LEAST_DRAWS to DRAWS. More draws
# lower the standard error and take more time.
DRAWS = 10_000
_LEAST_DRAWS = 1_000
_MOST_DRAWN = 20_000_000
# Distributions up to this length are convolved directly, longer ones by Fourier transform.
_SHORT = 64
# Exact distributions omit sums below this probability, which is beyond floating-point precision.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of a number of successes or of an amount.

    Parameters
    ----------
    values : ndarray, shape (n_values,)
        Numbers, ascending, or amounts, in any order.
    masses : ndarray of float64, shape (n_values,)
        Their probabilities, which sum to 1.
    drawn : int
        Number of random draws behind `values`; 0 if the distribution is exact.
    """

    values: NDArray[Any]
    masses: Floats
    drawn: int = 0

    @cached_property
    def at_most(self) -> Floats:
        """Probability that the result is at most ``values[i]``, shape (n_values,).

        The values must be ascending.
        """
        return np.minimum(np.cumsum(self.masses), 1.0)

    @property
    def any(self) -> float:
        """Probability of a value above 0."""
        return min(float(self.masses[self.values > 0].sum()), 1.0)

    def quantile(self, level: float) -> float:
        """Return the smallest value x such that P(X <= x) is at least `level`.

        The values must be ascending. Probabilities are compared with a tolerance of 1e-9; at level 0, values below
        which the total probability is less than this are skipped.
        """
        place = int(np.searchsorted(self.at_most, max(level - _ROUNDING, _ROUNDING)))
        return float(self.values[min(place, len(self.values) - 1)])

    def shifted(self, amount: float, factor: float = 1.0) -> Distribution:
        """Return the distribution of ``amount + factor * X`` for this amount X."""
        return Distribution(amount + factor * self.values, self.masses, self.drawn)

    def mean_of_lowest(self, share: float) -> float:
        """Return the mean of the lowest part of the distribution, of probability `share`.

        `share` is above 0 and at most 1. This is the conditional value at risk if higher amounts are better.
        """
        values, taken = self._lowest(share)
        return float((values * taken).sum()) / share

    def standard_error(self, share: float) -> float:
        """Return the standard error of `mean_of_lowest` from the draws; 0 if it is exact."""
        if not self.drawn:
            return 0.0
        values, taken = self._lowest(share)
        below = np.maximum(values[np.searchsorted(np.cumsum(taken), share * (1 - 1e-12))] - self.values, 0.0)
        variance = float(self.masses @ below**2) - float(self.masses @ below) ** 2
        return float(np.sqrt(max(variance, 0.0) / self.drawn)) / share

    def _lowest(self, share: float) -> tuple[Floats, Floats]:
        """Return the values, ascending, and the part of each mass in the lowest `share`.

        The parts, shape (n_values,), are equal to the masses up to a total of `share`, and 0 beyond.
        """
        order = np.argsort(self.values, kind="stable")
        masses = self.masses[order]
        return self.values[order], np.clip(share - (np.cumsum(masses) - masses), 0.0, masses)


def mixture(weights: Sequence[float], parts: Sequence[Distribution]) -> Distribution:
    """Return the mixture of distributions, given the probability of each; values are ascending.

    `drawn` of the mixture is the smallest number of draws of the parts that are drawn at random.
    """
    masses = np.concatenate([weight * part.masses for weight, part in zip(weights, parts, strict=True)])
    drawn = min((part.drawn for part in parts if part.drawn), default=0)
    return Distribution(*weight_by_value(np.concatenate([part.values for part in parts]), masses), drawn)


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
    far = log(2 / _LEFT_OUT)
    third = far * span / 3
    return third + sqrt(third * third + 2 * far * variance)


def weight_by_value(values: Floats, weights: NDArray[np.number[Any]]) -> tuple[Floats, Floats]:
    """Return the distinct values in ascending order, and the sum of the weights of each.

    `values` and `weights` have shape (n,).
    """
    # Values are few, such as one over the size of a group, so a hash table is faster than sorting.
    place, distinct = pd.factorize(values)
    order = np.argsort(distinct)
    return distinct[order], np.bincount(place, weights, len(distinct)).astype(np.float64)[order]


def successes(probabilities: Floats, numbers: NDArray[np.number[Any]] | None = None) -> Distribution:
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
    certain, is_open = int(each[chance >= 1].sum()), (chance > 0) & (chance < 1) & (each > 0)
    # Many attempts have equal probabilities, such as one over the size of a group.
    p, of_each = weight_by_value(chance[is_open], each[is_open])
    each = of_each.astype(np.int64)
    mean, variance = float((each * p).sum()), float((each * p * (1.0 - p)).sum())
    start, last = max(0, floor(mean - reach_of(variance))), min(int(each.sum()), ceil(mean + reach_of(variance)))
    size = last - start + 1
    if size == 1:
        return Distribution(np.array([certain + start]), np.ones(1))
    # Last frequency at which the characteristic function is not negligible, in the lower half of the spectrum.
    vanishing = (_VANISHED + log(size)) / (2 * variance)
    most = size // 2 if vanishing >= 1 else min(size // 2, ceil(size * asin(sqrt(vanishing)) / np.pi))
    frequency = 2 * np.pi * np.arange(most + 1) / size
    step = -2.0 * np.sin(frequency / 2) ** 2 + 1j * np.sin(frequency)
    around = 1j * frequency * (mean - start)
    # For probabilities above 1/2, the angle is computed by the failures, so that no digits cancel.
    rare, signed = np.minimum(p, 1.0 - p), np.where(p > 0.5, -each, each)
    small = rare * abs(step[-1]) <= (_SMALL if len(p) > _MANY else 0.0)
    base, power = rare[small], np.stack([each[small], signed[small]]).astype(np.float64)
    for term in range(1, _TERMS + 1 if len(base) else 1):
        power *= base
        raised = -((-step) ** term) / term - (1j * frequency if term == 1 else 0.0)
        around += raised.real * power[0].sum() + 1j * raised.imag * power[1].sum()
    p, rare, each, signed = p[~small], rare[~small], each[~small], signed[~small]
    at_once = max(_AT_ONCE // max(len(p), 1), 1)
    for begin in range(0, most + 1 if len(p) else 0, at_once):
        w = frequency[begin : begin + at_once, None]
        square = np.sin(w / 2) ** 2
        with np.errstate(divide="ignore"):
            modulus = np.log1p(-4.0 * square * (p * (1.0 - p))) / 2
        angle = np.arctan2(np.sin(w) * rare, 1.0 - 2.0 * square * rare) - w * rare
        around[begin : begin + at_once] += (each * modulus).sum(axis=1) + 1j * (signed * angle).sum(axis=1)
    masses = np.maximum(np.fft.irfft(np.exp(around).conj(), size), 0.0)
    return Distribution(certain + start + np.arange(size), masses / masses.sum())


@dataclass(frozen=True, eq=False)
class Tries:
    """Independent attempts, grouped by equal parameters; arrays of shape (n_groups,).

    An attempt pays 0 if it is not made, `failure` if it is made and fails, and ``failure + amounts`` if it succeeds.

    Parameters
    ----------
    chance : ndarray of float64
        Probability that each attempt of the group is made and succeeds.
    numbers : ndarray of int64
        Number of attempts of the group.
    amounts : ndarray of float64
        Additional payoff of each success, in currency units.
    attempted, failure : ndarray of float64, optional
        Probability that each attempt is made, and payoff of a failed attempt. Default: failures pay nothing.
    """

    chance: Floats
    numbers: NDArray[np.number[Any]]
    amounts: Floats
    attempted: Floats | None = None
    failure: Floats | None = None

    @cached_property
    def successes(self) -> Distribution:
        """Distribution of the number of attempts that are made and succeed."""
        return successes(self.chance, self.numbers)

    @property
    def expected(self) -> float:
        """Expected total payoff of all attempts of all groups, in currency units."""
        of_successes = float((self.numbers * self.chance * self.amounts).sum())
        if self.attempted is None or self.failure is None:
            return of_successes
        return of_successes + float((self.numbers * self.attempted * self.failure).sum())

    def payoffs(self, rng: Callable[[], np.random.Generator]) -> Distribution:
        """Return the distribution of the total payoff.

        It is exact if failures pay nothing and all gains are equal. It is also exact if all amounts are whole
        hundredths with at most 262,144 distinct sums and, if failures pay nothing, 32 distinct gains, otherwise 20,000
        kinds of attempts. In other cases, sums are drawn at random.

        Parameters
        ----------
        rng : callable
            Returns the random generator; called only if sums are drawn.
        """
        chance, numbers, gain = self.chance, self.numbers, self.amounts
        attempted, failure = self.attempted, self.failure
        free = attempted is None or failure is None
        distinct = np.unique(gain[(chance > 0) & (numbers > 0)])
        if attempted is None or failure is None:
            if len(distinct) <= 1:
                # The only gain, or 0 if no attempt can succeed.
                return self.successes.shifted(0.0, float(distinct.sum()))
            attempted, failure, numbers = chance, np.zeros(len(chance)), np.where(gain != 0, numbers, 0)
        made = (attempted > 0) & (numbers > 0)
        # Costs that are differences of expected amounts contain rounding errors.
        cents = np.round(failure * _FINEST)
        whole = np.abs(failure * _FINEST - cents) <= _ROUNDING * _FINEST * (np.abs(failure) + np.abs(gain))
        failure = np.where(whole, cents / _FINEST, failure)
        each = np.stack([attempted, np.minimum(chance, attempted), failure, gain])[:, made]
        kinds, place = np.unique(each, axis=1, return_inverse=True)
        many = np.bincount(place.ravel(), numbers[made], minlength=kinds.shape[1]).astype(np.int64)
        fits = len(distinct) <= _MOST_AMOUNTS if free else len(many) <= _MOST_KINDS
        return (_on_grid(kinds, many, free) if fits else None) or _drawn(kinds, many, free, rng())


# The smallest sum, and the probabilities of this sum and the following ones.
_Part = tuple[int, Floats]


def _on_grid(kinds: Floats, many: NDArray[np.int64], free: bool) -> Distribution | None:
    """Return the distribution on multiples of a unit; None if no unit fits the limits.

    The rows of `kinds`, shape (4, n_kinds), are the probability that an attempt is made, the probability that it is
    made and succeeds, the payoff of a failure, and the gain; `many` is the number of attempts of each kind. If `free`,
    failures pay nothing, and attempts of equal gain are added up by their number of successes. The limits are those of
    `Tries.payoffs`.
    """
    attempted, chance, failure, gain = kinds
    fine = np.stack([failure, failure + gain]) * _FINEST
    if (np.abs(fine - np.round(fine)) > _ROUNDING * np.abs(fine)).any() or np.abs(fine).max(initial=0) >= 2**53:
        return None
    whole = np.round(fine).astype(np.int64)
    unit = int(np.gcd.reduce(whole, axis=None)) or 1
    steps = whole // unit
    low, high = np.minimum(steps.min(axis=0), 0), np.maximum(steps.max(axis=0), 0)
    span = float((high - low).max(initial=0))
    parts: list[_Part] = []
    if free:
        gains = [(step, successes(chance[steps[1] == step], many[steps[1] == step])) for step in set(steps[1].tolist())]
        if sum((len(number.masses) - 1) * abs(step) + 1 for step, number in gains) > _MOST_SUMS:
            return None
        for step, number in gains:
            spread = np.zeros((len(number.masses) - 1) * abs(step) + 1)
            spread[:: abs(step)] = number.masses[:: int(np.sign(step))]
            parts.append((step * int(number.values[0 if step > 0 else -1]), spread))
    else:
        masses = np.stack([attempted - chance, chance])
        mean = (masses * steps).sum(axis=0)
        variance = float((many * ((masses * steps.astype(np.float64) ** 2).sum(axis=0) - mean**2)).sum())
        if min(float((many * (high - low)).sum()), 2 * reach_of(variance, span)) > _MOST_SUMS:
            return None
        for place, number in enumerate(many.tolist()):
            of_one = np.zeros(int(high[place] - low[place]) + 1)
            of_one[-low[place]] = 1.0 - attempted[place]
            np.add.at(of_one, steps[:, place] - low[place], masses[:, place])
            parts.append(_repeated((int(low[place]), of_one), number, span))
    while len(parts) > 1:
        parts.sort(key=lambda part: len(part[1]))
        pairs = [_added(one, other, span) for one, other in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    start, total = parts[0] if parts else (0, np.ones(1))
    kept = total > _NEGLIGIBLE
    return Distribution((start + np.flatnonzero(kept)) * (unit / _FINEST), total[kept] / total[kept].sum())


def _repeated(part: _Part, number: int, span: float) -> _Part:
    """Return the distribution of the sum of `number` independent terms, 1 or more.

    `part` is the distribution of one term. A part is the lowest amount, in units, and the probability of each amount
    from there on. For `span` see `reach_of`.
    """
    half = part if number < 2 else _repeated(_added(part, part, span), number // 2, span)
    return _added(part, half, span) if number > 1 and number % 2 else half


def _added(one: _Part, other: _Part, span: float) -> _Part:
    """Return the distribution of the sum of two independent amounts.

    For the arguments see `_repeated`. Sums far from the mean are dropped; their total probability is below 1e-14.
    """
    if min(len(one[1]), len(other[1])) <= _SHORT:
        masses = np.convolve(one[1], other[1])
    else:
        size = len(one[1]) + len(other[1]) - 1
        masses = np.maximum(np.fft.irfft(np.fft.rfft(one[1], size) * np.fft.rfft(other[1], size), size), 0.0)
    places = np.arange(len(masses))
    mean = float(masses @ places)
    reach = reach_of(float(masses @ (places - mean) ** 2), span)
    first = max(int(mean - reach), 0)
    return one[0] + other[0] + first, masses[first : int(mean + reach) + 2]


def _drawn(kinds: Floats, many: NDArray[np.int64], free: bool, rng: np.random.Generator) -> Distribution:
    draws = int(np.clip(_MOST_DRAWN // len(many), _LEAST_DRAWS, DRAWS))
    values = np.zeros(draws)
    for (attempted, chance, failure, gain), number in zip(kinds.T.tolist(), many.tolist(), strict=True):
        made = draw_binomial(rng, np.full(draws, number), attempted)
        values += failure * made + gain * (made if free else draw_binomial(rng, made, min(chance / attempted, 1.0)))
    return Distribution(values, np.full(draws, 1.0 / draws), draws)

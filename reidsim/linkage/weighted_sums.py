"""Distribution of the total payoff of independent attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.core.randomness import draw_binomial
from reidsim.linkage.poisson_binomial import Successes, reach_of, successes

Floats = NDArray[np.float64]

# Limits of the exact method: numbers of distinct amounts and of distinct sums, on whole multiples of one unit.
_MOST_AMOUNTS = 32
_MOST_SUMS = 1 << 18
# The finest unit is one hundredth, as in currencies.
_FINEST = 100
# Amounts count as whole hundredths if they differ by less than this fraction of an attempt's payoff.
_ROUNDING = 1e-9
# Limit of the exact method on distinct random attempts; a convolution takes 10 microseconds for each.
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
class Sums:
    """The distribution of an amount.

    Parameters
    ----------
    values, masses : ndarray of float64, shape (n_values,)
        Amounts, in any order, and their probabilities, which sum to 1.
    drawn : int
        Number of random draws behind `values`; 0 if the distribution is exact.
    """

    values: Floats
    masses: Floats
    drawn: int = 0

    def shifted(self, amount: float, factor: float = 1.0) -> Sums:
        """Return the distribution of ``amount + factor * X`` for this amount X."""
        return Sums(amount + factor * self.values, self.masses, self.drawn)

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
        """Return the values, ascending, and the mass of each within the lowest `share`."""
        order = np.argsort(self.values, kind="stable")
        masses = self.masses[order]
        before = np.cumsum(masses) - masses
        return self.values[order], np.clip(share - before, 0.0, masses)


def mixture_of_sums(weights: Sequence[float], parts: Sequence[Sums]) -> Sums:
    """Return the mixture of distributions, given the probability of each.

    `drawn` of the mixture is the smallest number of draws of the parts that are drawn at random.
    """
    values = np.concatenate([part.values for part in parts])
    masses = np.concatenate([weight * part.masses for weight, part in zip(weights, parts, strict=True)])
    drawn = [part.drawn for part in parts if part.drawn]
    return Sums(values, masses, min(drawn, default=0))


def sum_of_attempts(
    chance: Floats,
    numbers: NDArray[np.number[Any]],
    gain: Floats,
    rng: Callable[[], np.random.Generator],
    *,
    attempted: Floats | None = None,
    failure: Floats | None = None,
    known: Successes | None = None,
) -> Sums:
    """Return the distribution of the total payoff of independent attempts.

    An attempt pays 0 if it is not made, `failure` if it is made and fails, and ``failure + gain`` if it succeeds. The
    distribution is exact if failures pay nothing and all gains are equal. It is also exact if all amounts are whole
    hundredths with at most 262,144 distinct sums and, if failures pay nothing, 32 distinct gains, otherwise 20,000
    kinds of attempts. In other cases, sums are drawn at random.

    Parameters
    ----------
    chance : ndarray of float64, shape (n,)
        Probability that the attempt is made and succeeds.
    numbers : ndarray of int64, shape (n,)
        Number of attempts of each kind.
    gain : ndarray of float64, shape (n,)
        Additional payoff of a success, in currency units.
    rng : callable
        Returns the random generator; called only if sums are drawn.
    attempted, failure : ndarray of float64, shape (n,), optional
        Probability that the attempt is made, and payoff of a failed attempt. Default: failures pay nothing.
    known : Successes, optional
        Distribution of the total number of successes, if already computed. It is used if failures pay nothing and all
        gains are equal.
    """
    free = attempted is None or failure is None
    if attempted is None or failure is None:
        distinct = np.unique(gain[(chance > 0) & (numbers > 0)])
        if len(distinct) <= 1:
            # The only gain, or 0 if no attempt can succeed.
            number = known or successes(chance, numbers)
            return Sums(number.numbers * distinct.sum(), number.masses)
        attempted, failure, numbers = chance, np.zeros(len(chance)), np.where(gain != 0, numbers, 0)
        fits = len(distinct) <= _MOST_AMOUNTS
    made = (attempted > 0) & (numbers > 0)
    attempted, chance, failure, gain = (
        values[made] for values in (attempted, np.minimum(chance, attempted), failure, gain)
    )
    # Costs that are differences of expected amounts contain rounding errors.
    cents = np.round(failure * _FINEST)
    whole = np.abs(failure * _FINEST - cents) <= _ROUNDING * _FINEST * (np.abs(failure) + np.abs(gain))
    failure = np.where(whole, cents / _FINEST, failure)
    kinds, place = np.unique(np.stack([attempted, chance, failure, gain]), axis=1, return_inverse=True)
    many = np.bincount(place.ravel(), numbers[made], minlength=kinds.shape[1]).astype(np.int64)
    if not free:
        fits = len(many) <= _MOST_KINDS
    return (_on_grid(kinds, many, free) if fits else None) or _drawn(kinds, many, free, rng())


# The smallest sum, and the probabilities of this sum and the following ones.
_Part = tuple[int, Floats]


def _on_grid(kinds: Floats, many: NDArray[np.int64], free: bool) -> Sums | None:
    """Return the distribution on multiples of a unit; None if no unit fits the limits.

    If `free`, failures pay nothing, and attempts of equal gain are added up by their number of successes.
    """
    attempted, chance, failure, gain = kinds
    fine = np.stack([failure, failure + gain]) * _FINEST
    off = np.abs(fine - np.round(fine)) > _ROUNDING * np.abs(fine)
    if off.any() or np.abs(fine).max(initial=0) >= 2**53:
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
            parts.append((step * int(number.numbers[0 if step > 0 else -1]), spread))
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
    values = (start + np.flatnonzero(kept)) * (unit / _FINEST)
    return Sums(np.asarray(values, dtype=np.float64), total[kept] / total[kept].sum())


def _repeated(part: _Part, number: int, span: float) -> _Part:
    """Return the distribution of the sum of `number` independent terms, 1 or more."""
    half = part if number < 2 else _repeated(_added(part, part, span), number // 2, span)
    return _added(part, half, span) if number > 1 and number % 2 else half


def _added(one: _Part, other: _Part, span: float) -> _Part:
    """Return the distribution of the sum of two amounts.

    Sums far from the mean are dropped; their total probability is below 1e-14.
    """
    masses = _convolved(one[1], other[1])
    places = np.arange(len(masses))
    mean = float(masses @ places)
    reach = reach_of(float(masses @ (places - mean) ** 2), span)
    first = max(int(mean - reach), 0)
    return one[0] + other[0] + first, masses[first : int(mean + reach) + 2]


def _convolved(first: Floats, second: Floats) -> Floats:
    if min(len(first), len(second)) <= _SHORT:
        return np.convolve(first, second)
    size = len(first) + len(second) - 1
    return np.maximum(np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size), 0.0)


def _drawn(kinds: Floats, many: NDArray[np.int64], free: bool, rng: np.random.Generator) -> Sums:
    draws = int(np.clip(_MOST_DRAWN // len(many), _LEAST_DRAWS, DRAWS))
    values = np.zeros(draws)
    for (attempted, chance, failure, gain), number in zip(kinds.T.tolist(), many.tolist(), strict=True):
        made = draw_binomial(rng, np.full(draws, number), attempted)
        values += failure * made + gain * (made if free else draw_binomial(rng, made, min(chance / attempted, 1.0)))
    return Sums(values, np.full(draws, 1.0 / draws), draws)

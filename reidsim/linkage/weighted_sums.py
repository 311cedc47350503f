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


def sum_of_amounts(
    chance: Floats,
    numbers: NDArray[np.number[Any]],
    amounts: Floats,
    rng: Callable[[], np.random.Generator],
    known: Successes | None = None,
) -> Sums:
    """Return the distribution of the total amount of the successful attempts.

    The distribution is exact if all amounts are equal, or if they are whole hundredths with at most 32 distinct amounts
    and about 262,144 distinct sums. Otherwise sums are drawn at random.

    Parameters
    ----------
    chance : ndarray of float64, shape (n,)
        Success probability, in [0, 1].
    numbers : ndarray of int64, shape (n,)
        Number of attempts of each kind.
    amounts : ndarray of float64, shape (n,)
        Amount that a successful attempt pays, in currency units.
    rng : callable
        Returns the random generator; called only if sums are drawn.
    known : Successes, optional
        Distribution of the total number of successes, if already computed. It is used if all amounts are equal.
    """
    if _are_alike(amounts):
        number = known or successes(chance, numbers)
        return Sums(number.numbers * (amounts[0] if len(amounts) else 0.0), number.masses)
    counts = (chance > 0) & (numbers > 0)
    if _are_alike(amounts[counts]):
        return sum_of_amounts(chance[counts], numbers[counts], amounts[counts], rng, known)
    distinct, paying = np.unique(amounts[counts]), counts & (amounts != 0)
    chance, numbers, amounts = chance[paying], numbers[paying], amounts[paying]
    exact = _on_multiples(chance, numbers, amounts) if len(distinct) <= _MOST_AMOUNTS else None
    return exact or _drawn(chance, numbers, amounts, rng())


def sum_of_attempts(
    attempted: Floats,
    chance: Floats,
    numbers: NDArray[np.number[Any]],
    failure: Floats,
    gain: Floats,
    rng: Callable[[], np.random.Generator],
) -> Sums:
    """Return the distribution of the total payoff of attempts that are made at random.

    An attempt pays 0 if it is not made, `failure` if it is made and fails, and ``failure + gain`` if it succeeds. The
    distribution is exact if these amounts are whole hundredths, and there are at most 20,000 kinds of attempts and
    262,144 distinct sums. Otherwise sums are drawn at random.

    Parameters
    ----------
    attempted, chance : ndarray of float64, shape (n,)
        Probability that the attempt is made, and that it is made and succeeds.
    numbers : ndarray of int64, shape (n,)
        Number of attempts of each kind.
    failure, gain : ndarray of float64, shape (n,)
        Payoff of a failed attempt, and additional payoff of a success, in currency units.
    rng : callable
        Returns the random generator; called only if sums are drawn.
    """
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
    return _on_grid(kinds, many) or _drawn_attempts(kinds, many, rng())


def _on_grid(kinds: Floats, many: NDArray[np.int64]) -> Sums | None:
    """Return the distribution on multiples of a unit; None if no unit fits the limits."""
    attempted, chance, failure, gain = kinds
    fine = np.stack([failure, failure + gain]) * _FINEST
    off = np.abs(fine - np.round(fine)) > _ROUNDING * np.abs(fine)
    if off.any() or np.abs(fine).max(initial=0) >= 2**53 or len(many) > _MOST_KINDS:
        return None
    whole = np.round(fine).astype(np.int64)
    unit = int(np.gcd.reduce(whole, axis=None)) or 1
    steps = whole // unit
    low, high = np.minimum(steps.min(axis=0), 0), np.maximum(steps.max(axis=0), 0)
    masses = np.stack([attempted - chance, chance])
    mean = (masses * steps).sum(axis=0)
    variance = float((many * ((masses * steps.astype(np.float64) ** 2).sum(axis=0) - mean**2)).sum())
    span = float((high - low).max(initial=0))
    if min(float((many * (high - low)).sum()), 2 * reach_of(variance, span)) > _MOST_SUMS:
        return None
    parts = []
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


# The smallest sum, and the probabilities of this sum and the following ones.
_Part = tuple[int, Floats]


def _repeated(part: _Part, number: int, span: float) -> _Part:
    """Return the distribution of the sum of `number` independent terms, 1 or more."""
    total: _Part | None = None
    while True:
        if number & 1:
            total = part if total is None else _added(total, part, span)
        number >>= 1
        if not number:
            return total or part
        part = _added(part, part, span)


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


def _drawn_attempts(kinds: Floats, many: NDArray[np.int64], rng: np.random.Generator) -> Sums:
    draws = _draws_of(len(many))
    values = np.zeros(draws)
    for (attempted, chance, failure, gain), number in zip(kinds.T.tolist(), many.tolist(), strict=True):
        made = draw_binomial(rng, np.full(draws, number), attempted)
        values += failure * made + gain * draw_binomial(rng, made, min(chance / attempted, 1.0))
    return Sums(values, np.full(draws, 1.0 / draws), draws)


def _draws_of(n_kinds: int) -> int:
    return int(np.clip(_MOST_DRAWN // n_kinds, _LEAST_DRAWS, DRAWS))


def _are_alike(amounts: Floats) -> bool:
    return not len(amounts) or bool(amounts.min() == amounts.max())


def _on_multiples(chance: Floats, numbers: NDArray[np.number[Any]], amounts: Floats) -> Sums | None:
    """Return the distribution on multiples of a unit; None if no unit fits the limits."""
    distinct, group = np.unique(amounts, return_inverse=True)
    fine = distinct * _FINEST
    if (np.abs(fine - np.round(fine)) > 1e-9 * np.abs(fine)).any() or np.abs(fine).max() >= 2**53:
        return None
    whole = np.round(fine).astype(np.int64)
    steps = whole // np.gcd.reduce(whole)
    unit = float(np.gcd.reduce(whole)) / _FINEST
    of_each = [successes(chance[group == place], numbers[group == place]) for place in range(len(distinct))]
    sizes = [(len(number.masses) - 1) * abs(int(step)) + 1 for number, step in zip(of_each, steps, strict=True)]
    if sum(sizes) > _MOST_SUMS:
        return None
    start, masses = 0, np.ones(1)
    for number, step, size in sorted(zip(of_each, steps.tolist(), sizes, strict=True), key=lambda each: each[2]):
        spread = np.zeros(size)
        spread[:: abs(step)] = number.masses if step > 0 else number.masses[::-1]
        last = number.start + len(number.masses) - 1
        start += number.start * step if step > 0 else last * step
        masses = _convolved(masses, spread)
    kept = masses > _NEGLIGIBLE
    return Sums(np.asarray((start + np.flatnonzero(kept)) * unit, dtype=np.float64), masses[kept] / masses[kept].sum())


def _convolved(first: Floats, second: Floats) -> Floats:
    if min(len(first), len(second)) <= _SHORT:
        return np.convolve(first, second)
    size = len(first) + len(second) - 1
    return np.maximum(np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size), 0.0)


def _drawn(chance: Floats, numbers: NDArray[np.number[Any]], amounts: Floats, rng: np.random.Generator) -> Sums:
    alike, place = np.unique(np.stack([chance, amounts]), axis=1, return_inverse=True)
    many = np.bincount(place.ravel(), numbers, minlength=alike.shape[1]).astype(np.int64)
    draws = _draws_of(len(many))
    values = np.zeros(draws)
    for p, amount, number in zip(*alike.tolist(), many.tolist(), strict=True):
        values += amount * draw_binomial(rng, np.full(draws, number), p)
    return Sums(values, np.full(draws, 1.0 / draws), draws)

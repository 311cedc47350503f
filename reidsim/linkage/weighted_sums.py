"""What independent attempts come to in money: each pays an amount of its own if it succeeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.poisson_binomial import Successes, successes
from reidsim.random_counts import draw_binomial

Floats = NDArray[np.float64]

# Sums are exact where amounts are whole multiples of one unit, with no more different amounts and sums than these.
_MOST_AMOUNTS = 32
_MOST_SUMS = 1 << 18
# Units are looked for among hundredths, as of money.
_FINEST = 100
# Otherwise so many sums are drawn, fewer where that would take more numbers than the second.
DRAWS = 10_000
_LEAST_DRAWS = 1_000
_MOST_DRAWN = 20_000_000
# Products of shorter distributions are summed term by term.
_SHORT = 64
# Sums with less than this probability are left out of exact distributions, beyond rounding.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, eq=False)
class Sums:
    """The distribution of an amount.

    Parameters
    ----------
    values, masses : ndarray of float64, shape (n_values,)
        In any order; masses sum to 1.
    drawn : int
        How many draws `values` are; 0 where the distribution is exact.
    """

    values: Floats
    masses: Floats
    drawn: int = 0

    def shifted(self, amount: float, factor: float = 1.0) -> Sums:
        """Return the distribution of the amount times a factor, and another one added."""
        return Sums(amount + factor * self.values, self.masses, self.drawn)

    def mean_of_lowest(self, share: float) -> float:
        """Return the mean of the lowest part of the distribution that has the probability `share`.

        That is the conditional value at risk of amounts that are better the higher they are.
        """
        values, taken = self._lowest(share)
        return float((values * taken).sum()) / share

    def standard_error(self, share: float) -> float:
        """Return the standard error of `mean_of_lowest`, by the spread of the draws; 0 where it is exact."""
        if not self.drawn:
            return 0.0
        values, taken = self._lowest(share)
        below = np.maximum(values[np.searchsorted(np.cumsum(taken), share * (1 - 1e-12))] - self.values, 0.0)
        variance = float(self.masses @ below**2) - float(self.masses @ below) ** 2
        return float(np.sqrt(max(variance, 0.0) / self.drawn)) / share

    def _lowest(self, share: float) -> tuple[Floats, Floats]:
        """Return the values in rising order, and how much of the mass of each belongs to the lowest share."""
        order = np.argsort(self.values, kind="stable")
        masses = self.masses[order]
        before = np.cumsum(masses) - masses
        return self.values[order], np.clip(share - before, 0.0, masses)


def mixture_of_sums(weights: Sequence[float], parts: Sequence[Sums]) -> Sums:
    """Return the distribution of an amount that is one of several, each with its own probability."""
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
    """Return the distribution of the sum of the amounts of attempts that succeed.

    It is exact where amounts are alike, or whole multiples of a unit that is not too small; else it is drawn.

    Parameters
    ----------
    chance : ndarray of float64, shape (n,)
        Of success, in [0, 1].
    numbers : ndarray of int64, shape (n,)
        How many attempts have each.
    amounts : ndarray of float64, shape (n,)
        What each pays.
    rng : callable
        Returns the generator, where sums are drawn.
    known : Successes, optional
        Distribution of the number of all successes, if that has been computed.
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


def _are_alike(amounts: Floats) -> bool:
    return not len(amounts) or bool(amounts.min() == amounts.max())


def _on_multiples(chance: Floats, numbers: NDArray[np.number[Any]], amounts: Floats) -> Sums | None:
    """Return the distribution on multiples of a unit; None if there is none, or there are too many of them."""
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
    draws = int(np.clip(_MOST_DRAWN // len(many), _LEAST_DRAWS, DRAWS))
    values = np.zeros(draws)
    for p, amount, number in zip(*alike.tolist(), many.tolist(), strict=True):
        values += amount * draw_binomial(rng, np.full(draws, number), p)
    return Sums(values, np.full(draws, 1.0 / draws), draws)

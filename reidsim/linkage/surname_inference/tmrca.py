"""Time to the most recent common ancestor of two men, from the loci at which they agree and differ.

Sets of loci are bits of an unsigned integer: bit j stands for locus j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]

MOST_LOCI = 60

_ONE = np.uint64(1)


class AncestryTables(NamedTuple):
    """Factors of the posterior by locus and generation, as the compiled functions read them.

    Parameters
    ----------
    agree, differ : ndarray of float64, shape (n_loci, horizon + 1)
        ``exp(-2 mu t)`` and ``1 - exp(-2 mu t)``.
    prior : ndarray of float64, shape (horizon + 1,)
        ``exp(-t / N_e)``.
    unrelated_survival : ndarray of float64, shape (horizon + 1,)
        ``Pr(T > t)`` for two men taken at random.
    order : ndarray of intp, shape (n_loci,)
        Loci by mutation rate. Factors are multiplied in this order, those of agreement first, so that patterns with
        the same rates have bit-identical distances: ties between them decide who is nearest.
    """

    agree: Floats
    differ: Floats
    prior: Floats
    unrelated_survival: Floats
    order: NDArray[np.intp]


@dataclass(frozen=True)
class Ancestry:
    """How loci mutate from father to son and how far back two men meet (Wan et al. 2021, after Gymrek et al. 2013).

    Given a pattern of agreement, ``P(t)`` is proportional to ``exp(-t / N_e)`` times ``exp(-2 mu t)`` for each
    locus that agrees and ``1 - exp(-2 mu t)`` for each that differs, ``t = 0 .. horizon``. A locus missing in either
    man counts for nothing. Two men who differ at a locus that never mutates do not meet within the horizon: their
    distance is infinite.

    Parameters
    ----------
    mutation_rates : ndarray of float64, shape (n_loci,)
        mu, mutations per generation.
    effective_population : float
        N_e.
    horizon : int
        Generations looked back.

    Raises
    ------
    InputError
        If there are too many loci, or a rate, N_e or the horizon is out of its range.
    """

    mutation_rates: Floats
    effective_population: float = 10_000.0
    horizon: int = 200

    def __post_init__(self) -> None:
        rates = np.asarray(self.mutation_rates, dtype=np.float64)
        if rates.ndim != 1 or not 1 <= len(rates) <= MOST_LOCI:
            raise InputError("unusable number of mutation rates", found=rates.shape, expected=f"1 to {MOST_LOCI} loci")
        wrong = np.flatnonzero(~((rates >= 0) & (rates < 1)))
        if len(wrong):
            raise InputError(
                "mutation rate out of range",
                where=f"locus {wrong[0] + 1}",
                found=float(rates[wrong[0]]),
                expected="a share of generations, at least 0 and below 1",
            )
        if not 1 <= self.effective_population < np.inf:
            raise InputError("effective population out of range", found=self.effective_population, expected="1 or more")
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or self.horizon < 1:
            raise InputError("horizon out of range", found=self.horizon, expected="a whole number of generations")
        object.__setattr__(self, "mutation_rates", rates)

    @property
    def n_loci(self) -> int:
        """Number of loci."""
        return len(self.mutation_rates)

    def tables(self) -> AncestryTables:
        """Return the factors of the posterior."""
        generations = np.arange(self.horizon + 1, dtype=np.float64)
        agree = np.exp(-2.0 * np.outer(self.mutation_rates, generations))
        differ = -np.expm1(-2.0 * np.outer(self.mutation_rates, generations))
        # Two men taken at random meet after a geometric number of generations, cut off at the horizon.
        meeting = (1.0 - 1.0 / self.effective_population) ** generations
        later = np.append(np.cumsum(meeting[::-1])[::-1][1:], 0.0) / meeting.sum()
        order = np.argsort(self.mutation_rates, kind="stable")
        return AncestryTables(agree, differ, np.exp(-generations / self.effective_population), later, order)


class DistanceCache(NamedTuple):
    """Distances already worked out, by pattern; a later pattern takes the place of an earlier one with its hash.

    A distance is a function of its pattern alone, so what is kept and what is worked out again changes no result.

    Parameters
    ----------
    patterns : ndarray of uint64, shape (2**bits, 2)
        Loci that agree, and that differ.
    distances : ndarray of float64, shape (2**bits,)
        Negative where nothing is kept.
    """

    patterns: Bits
    distances: Floats


def distance_cache(bits: int = 18) -> DistanceCache:
    """Return an empty cache of ``2**bits`` patterns."""
    return DistanceCache(np.zeros((1 << bits, 2), np.uint64), np.full(1 << bits, -1.0))


@numba.njit(cache=True)
def posterior(tables: AncestryTables, agreeing: np.uint64, differing: np.uint64, out: Floats) -> float:
    """Fill `out` with ``P(t)``, t = 0 .. horizon, and return its mean.

    Where no t is possible `out` is all 0 and the mean is infinite.
    """
    n = len(tables.prior)
    out[:] = tables.prior
    for j in tables.order:
        if agreeing >> np.uint64(j) & _ONE:
            for t in range(n):
                out[t] *= tables.agree[j, t]
    for j in tables.order:
        if differing >> np.uint64(j) & _ONE:
            for t in range(n):
                out[t] *= tables.differ[j, t]
    total, moment = 0.0, 0.0
    for t in range(n):
        total += out[t]
        moment += t * out[t]
    if total == 0.0:
        return np.inf
    for t in range(n):
        out[t] /= total
    return moment / total


@numba.njit(cache=True)
def slot_of(agreeing: np.uint64, differing: np.uint64, size: int) -> int:
    """Return the place of a pattern in a cache of `size` places, a power of two."""
    mixed = agreeing * np.uint64(0x9E3779B97F4A7C15) ^ differing * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return int((mixed >> np.uint64(32)) & np.uint64(size - 1))


@numba.njit(cache=True)
def confidence_score(unrelated_survival: Floats, nearest: Floats, runner_up: Floats, has_runner_up: bool) -> float:
    """Return the probability that the nearest man's ancestor is the closest of three.

    ``sum over t >= 1 of P_1(t) Pr(T_2 > t) Pr(T_3 > t)``: the nearest man meets the target t generations back, and
    both the nearest man of another surname and a man taken at random meet him further back. Without a runner-up the
    second factor is 1.
    """
    confidence, later = 0.0, 0.0
    for t in range(len(nearest) - 1, 0, -1):
        factor = later if has_runner_up else 1.0
        confidence += nearest[t] * factor * unrelated_survival[t]
        later += runner_up[t]
    return confidence

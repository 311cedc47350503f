"""Time to the most recent common ancestor of two men, from their loci.

Time is counted in generations, and its posterior mean is the distance of the two men. The posterior depends on the loci
at which the two men agree and the loci at which they differ.

Sets of loci are bits of an unsigned integer: bit j is locus j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import borrowing, owning
from reidsim.errors import InputError

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]

# Limit on loci, which are bits of one 64-bit number.
MOST_LOCI = 60

# Products of the factors of this many loci are tabulated for all patterns; number of these patterns.
_LOCI_TOGETHER = 4
_PATTERNS = 1 << 2 * _LOCI_TOGETHER
# Below this sum, single weights may have lost digits.
SMALLEST_SUM = 1e-280
# Bound on the relative difference between distances from tables and from `posterior`, with a wide margin.
ROUNDING = 1e-11

# Bit that is set in the first number of every cached pattern, so that an empty place equals no pattern.
TAKEN = np.uint64(1 << 63)

_ONE = np.uint64(1)


class AncestryTables(NamedTuple):
    """Factors of the posterior by locus and generation, for compiled functions.

    Attributes
    ----------
    agree, differ : ndarray of float64, shape (n_loci, horizon + 1)
        Factors of a locus with mutation rate mu that agrees and that differs, for an ancestor t generations ago:
        ``exp(-2 mu t)`` and ``1 - exp(-2 mu t)``.
    prior : ndarray of float64, shape (horizon + 1,)
        ``exp(-t / N_e)``, with N_e the effective population size.
    unrelated_survival : ndarray of float64, shape (horizon + 1,)
        ``Pr(T > t)`` for two men taken at random; 0 for t = 0, which counts for nothing.
    order : ndarray of intp, shape (n_loci,)
        Loci by mutation rate. Factors are multiplied in this order, agreements first, so that patterns with
        the same rates have bit-identical distances: ties between them decide who is nearest.
    by_pattern : ndarray of float64, shape (256 * n_quartets, horizon + 1)
        Products of the factors of four consecutive loci, by the quartet (times 256) and the loci of the four that
        agree (times 16) and differ; the prior is part of the first. There are three quartets or more.
    nearest : ndarray of float64, shape (n_loci + 1, n_loci + 1)
        Lower bound on distances: no man who agrees at i loci and differs at j is nearer than ``nearest[i, j]``.
    """

    agree: Floats
    differ: Floats
    prior: Floats
    unrelated_survival: Floats
    order: NDArray[np.intp]
    by_pattern: Floats
    nearest: Floats


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Model of mutations and of the generations to a common ancestor of two men.

    Follows Wan et al. 2021, after Gymrek et al. 2013.

    Given a pattern of agreement, the probability ``P(t)`` of a common ancestor t generations ago is proportional to
    ``exp(-t / N_e)`` times ``exp(-2 mu t)`` for each locus that agrees and ``1 - exp(-2 mu t)`` for each that differs,
    ``t = 0 .. horizon``. A locus missing in either man is ignored. The distance of the two men is the mean of t under
    ``P(t)``. It is infinite if they differ at a locus that never mutates (mu = 0), because no t is possible then.

    Parameters
    ----------
    mutation_rates : ndarray of float64, shape (n_loci,)
        Mutations of each locus per generation (mu), in [0, 1).
    effective_population : float
        Effective population size (N_e), 1 or more.
    horizon : int
        Maximum number of generations back to the common ancestor.

    Raises
    ------
    InputError
        If there is no locus or more than 60, or a rate or N_e is out of its range.
    """

    mutation_rates: Floats
    effective_population: float = 10_000.0
    horizon: int = 200

    def __post_init__(self) -> None:
        rates = np.asarray(self.mutation_rates, dtype=np.float64)
        if rates.ndim != 1 or not 1 <= len(rates) <= MOST_LOCI:
            raise InputError("wrong number of mutation rates", found=rates.shape, expected=f"1 to {MOST_LOCI} loci")
        wrong = np.flatnonzero(~((rates >= 0) & (rates < 1)))
        if len(wrong):
            raise InputError(
                "mutation rate out of range",
                where=f"locus {wrong[0] + 1}",
                found=float(rates[wrong[0]]),
                expected="a probability per generation, at least 0 and below 1",
            )
        if not 1 <= self.effective_population < np.inf:
            raise InputError("effective population out of range", found=self.effective_population, expected="1 or more")
        object.__setattr__(self, "mutation_rates", rates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ancestry) and self._said == other._said

    def __hash__(self) -> int:
        return hash(self._said)

    @property
    def _said(self) -> tuple[bytes, float, int]:
        return self.mutation_rates.tobytes(), self.effective_population, self.horizon

    @property
    def n_loci(self) -> int:
        """Number of loci."""
        return len(self.mutation_rates)

    def tables(self) -> AncestryTables:
        """Return the factors of the posterior by locus and generation."""
        generations = np.arange(self.horizon + 1, dtype=np.float64)
        agree = np.exp(-2.0 * np.outer(self.mutation_rates, generations))
        differ = -np.expm1(-2.0 * np.outer(self.mutation_rates, generations))
        # Two men taken at random meet after a geometric number of generations, cut off at the horizon.
        meeting = (1.0 - 1.0 / self.effective_population) ** generations
        later = np.append(np.cumsum(meeting[::-1])[::-1][1:], 0.0) / meeting.sum()
        later[0] = 0.0
        order = np.argsort(self.mutation_rates, kind="stable")
        prior = np.exp(-generations / self.effective_population)
        n_quartets = max(3, -(-self.n_loci // _LOCI_TOGETHER))
        products = np.ones((n_quartets, _PATTERNS, len(generations)))
        products[0] *= prior
        patterns = np.arange(_PATTERNS)
        for locus in range(self.n_loci):
            quartet, bit = divmod(locus, _LOCI_TOGETHER)
            products[quartet, (patterns >> _LOCI_TOGETHER + bit & 1).astype(np.bool_)] *= agree[locus]
            products[quartet, (patterns >> bit & 1).astype(np.bool_)] *= differ[locus]
        by_pattern = products.reshape(-1, len(generations))
        return AncestryTables(agree, differ, prior, later, order, by_pattern, _nearest(agree, differ, prior, order))


def _nearest(agree: Floats, differ: Floats, prior: Floats, order: NDArray[np.intp]) -> Floats:
    """Return a lower bound on distances by number of agreeing and differing loci.

    The ratio of a factor ``exp(-2 mu t)`` or ``1 - exp(-2 mu t)`` to the same factor with a lower rate decreases in t.
    Therefore replacing a rate by a higher rate lowers the mean, and the loci with the highest rates, used for both the
    agreeing and the differing loci, give a lower bound for all patterns.
    """
    fastest = order[::-1]
    agreeing = np.cumprod(np.vstack([np.ones_like(prior), agree[fastest]]), axis=0)
    differing = np.cumprod(np.vstack([np.ones_like(prior), differ[fastest]]), axis=0)
    total = (agreeing * prior) @ differing.T
    moment = (agreeing * prior * np.arange(len(prior))) @ differing.T
    return np.where(total > SMALLEST_SUM, moment / np.maximum(total, SMALLEST_SUM), 0.0) * (1.0 - ROUNDING)


class DistanceCache(NamedTuple):
    """Cache of distances by pattern of agreeing and differing loci.

    A later pattern replaces an earlier pattern with the same hash.

    A distance is a function of its pattern alone, so results do not depend on the entries kept.

    Attributes
    ----------
    patterns : ndarray of uint64, shape (2**bits, 4)
        In the first two columns, the sets of loci that agree (with `TAKEN`) and that differ.
    distances : ndarray of float64, shape (2**bits, 4)
        The same memory: in the last two columns, the distance from tables, and the distance of `posterior` or -1 if not
        computed. So one line of the processor's cache holds all of a pattern.
    """

    patterns: Bits
    distances: Floats


def distance_cache(bits: int = 18) -> DistanceCache:
    """Return an empty cache of ``2**bits`` patterns."""
    patterns = np.zeros((1 << bits, 4), np.uint64)
    return DistanceCache(patterns, patterns.view(np.float64))


@owning()
def posterior(tables: AncestryTables, agreeing: np.uint64, differing: np.uint64, out: Floats) -> float:
    """Fill `out` with ``P(t)``, t = 0 .. horizon, and return its mean in generations.

    `agreeing` and `differing` are sets of loci. If no t is possible, `out` is all 0 and the mean is infinite.
    """
    prior, n = tables.prior, len(tables.prior)
    for t in range(n):
        out[t] = prior[t]
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


# Sums may be computed in any order, so that the processor adds several terms at once.
@borrowing(fastmath={"reassoc"})
def weigh_generations(
    by_pattern: Floats, agreeing: np.uint64, differing: np.uint64, weights: Floats
) -> tuple[float, float]:
    """Fill `weights` with ``P(t)`` up to a factor, and return two sums.

    The sums, over t = 0 .. horizon, are the sum of the weights and the sum of t times the weights.

    The function takes only one array of `AncestryTables`, because passing all of them takes as long as the rest of the
    work. If the sum is below `SMALLEST_SUM`, use `weigh_unlikely` instead.
    """
    one, two, three = (
        _quartet(agreeing, differing, 0),
        _quartet(agreeing, differing, 1),
        _quartet(agreeing, differing, 2),
    )
    total, moment = 0.0, 0.0
    for t in range(len(weights)):
        weight = by_pattern[one, t] * by_pattern[two, t] * by_pattern[three, t]
        weights[t] = weight
        total += weight
        moment += t * weight
    for quartet in range(3, len(by_pattern) // _PATTERNS):
        more = _quartet(agreeing, differing, quartet)
        total, moment = 0.0, 0.0
        for t in range(len(weights)):
            weight = weights[t] * by_pattern[more, t]
            weights[t] = weight
            total += weight
            moment += t * weight
    return total, moment


@borrowing()
def weigh_unlikely(
    tables: AncestryTables, agreeing: np.uint64, differing: np.uint64, weights: Floats
) -> tuple[float, float]:
    """Do as `weigh_generations`, if its products may have lost digits.

    The weights and sums are 0 if no t is possible.
    """
    moment = posterior(tables, agreeing, differing, weights)
    return (0.0, 0.0) if moment == np.inf else (1.0, moment)


@borrowing()
def _quartet(agreeing: np.uint64, differing: np.uint64, quartet: int) -> np.uint64:
    """Return the row of `AncestryTables.by_pattern` for the loci of a quartet."""
    shift, low = np.uint64(quartet * _LOCI_TOGETHER), np.uint64((1 << _LOCI_TOGETHER) - 1)
    pattern = (agreeing >> shift & low) << np.uint64(_LOCI_TOGETHER) | (differing >> shift & low)
    return np.uint64(quartet * _PATTERNS) + pattern


@borrowing()
def confidence_score(
    unrelated_survival: Floats, nearest: Floats, nearest_sum: float, runner_up: Floats, runner_up_sum: float
) -> float:
    """Return the probability that the nearest man's ancestor is the closest of three.

    ``sum over t >= 1 of P_1(t) Pr(T_2 > t) Pr(T_3 > t)``: the nearest man meets the target t generations back, and
    both the nearest man of another surname and a man taken at random meet him further back. Without a runner-up, whose
    sum is then 0, the second factor is 1. Weights and their sums come from `weigh_generations`.
    """
    if nearest_sum == 0.0:
        return 0.0
    confidence, later = 0.0, 0.0
    if runner_up_sum == 0.0:
        for t in range(len(nearest)):
            confidence += nearest[t] * unrelated_survival[t]
        return confidence / nearest_sum
    # Each step of a running sum waits for the step before. Two halves are therefore summed at the same time.
    half = len(nearest) // 2
    confidence_late, later_late, weight_early = 0.0, 0.0, 0.0
    for t in range(half, 0, -1):
        if half + t < len(nearest):
            confidence_late += nearest[half + t] * unrelated_survival[half + t] * later_late
            later_late += runner_up[half + t]
        weight = nearest[t] * unrelated_survival[t]
        weight_early += weight
        confidence += weight * later
        later += runner_up[t]
    return (confidence + weight_early * later_late + confidence_late) / nearest_sum / runner_up_sum


@borrowing()
def slot_of(agreeing: np.uint64, differing: np.uint64, size: int) -> int:
    """Return the place of a pattern in a cache of `size` places, a power of two."""
    mixed = agreeing * np.uint64(0x9E3779B97F4A7C15) ^ differing * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return int((mixed >> np.uint64(32)) & np.uint64(size - 1))


@borrowing()
def exact_distance(
    tables: AncestryTables, cache: DistanceCache, agreeing: np.uint64, differing: np.uint64, weights: Floats
) -> float:
    """Return the mean that `posterior` returns, from the cache if it is there.

    `weights` is a work array. The result is kept if the pattern is in the cache.
    """
    slot = slot_of(agreeing, differing, len(cache.patterns))
    kept = cache.patterns[slot, 0] == agreeing | TAKEN and cache.patterns[slot, 1] == differing
    if kept and cache.distances[slot, 3] >= 0.0:
        return float(cache.distances[slot, 3])
    distance = posterior(tables, agreeing, differing, weights)
    if kept:
        cache.distances[slot, 3] = distance
    return distance

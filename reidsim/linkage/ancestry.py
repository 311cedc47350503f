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

from reidsim.core.errors import InputError
from reidsim.core.numerics import borrowing

Floats = NDArray[np.float64]

# Limit on loci, which are bits of one 64-bit number.
MOST_LOCI = 60
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
    """

    agree: Floats
    differ: Floats
    prior: Floats
    unrelated_survival: Floats
    order: NDArray[np.intp]


@dataclass(frozen=True)
class Ancestry:
    """Model of mutations and of the generations to a common ancestor of two men.

    Follows Wan et al. 2021, after Gymrek et al. 2013.

    Given a pattern of agreement, the probability ``P(t)`` of a common ancestor t generations ago is proportional to
    ``exp(-t / N_e)`` times ``exp(-2 mu t)`` for each locus that agrees and ``1 - exp(-2 mu t)`` for each that differs,
    ``t = 0 .. horizon``. A locus missing in either man is ignored. The distance of the two men is the mean of t under
    ``P(t)``. It is infinite if they differ at a locus that never mutates (mu = 0), because no t is possible then.

    Parameters
    ----------
    mutation_rates : sequence of float
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

    mutation_rates: tuple[float, ...]
    effective_population: float = 10_000.0
    horizon: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "mutation_rates", tuple(map(float, self.mutation_rates)))
        if not 1 <= len(self.mutation_rates) <= MOST_LOCI:
            found, expected = len(self.mutation_rates), f"1 to {MOST_LOCI} loci"
            raise InputError("wrong number of mutation rates", found=found, expected=expected)
        for locus, rate in enumerate(self.mutation_rates, 1):
            if not 0 <= rate < 1:
                expected = "a probability per generation, at least 0 and below 1"
                raise InputError("mutation rate out of range", where=f"locus {locus}", found=rate, expected=expected)
        if not 1 <= self.effective_population < np.inf:
            raise InputError("effective population out of range", found=self.effective_population, expected="1 or more")

    def tables(self) -> AncestryTables:
        """Return the factors of the posterior by locus and generation."""
        generations, rates = np.arange(self.horizon + 1, dtype=np.float64), np.array(self.mutation_rates)
        agree = np.exp(-2.0 * np.outer(rates, generations))
        differ = -np.expm1(-2.0 * np.outer(rates, generations))
        # Two men taken at random meet after a geometric number of generations, cut off at the horizon.
        meeting = (1.0 - 1.0 / self.effective_population) ** generations
        later = np.append(np.cumsum(meeting[::-1])[::-1][1:], 0.0) / meeting.sum()
        later[0] = 0.0
        order = np.argsort(rates, kind="stable")
        prior = np.exp(-generations / self.effective_population)
        return AncestryTables(agree, differ, prior, later, order)


# Sums may be computed in any order, so that the processor adds several terms at once.
@borrowing(fastmath={"reassoc"})
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


@borrowing()
def confidence_score(unrelated_survival: Floats, nearest: Floats, runner_up: Floats, beyond: float) -> float:
    """Return the probability that the nearest man's ancestor is the closest of three.

    ``sum over t >= 1 of P_1(t) Pr(T_2 > t) Pr(T_3 > t)``: the nearest man meets the target t generations back, and
    both the nearest man of another surname and a man taken at random meet him further back.

    Parameters
    ----------
    unrelated_survival : ndarray of float64, shape (horizon + 1,)
        See `AncestryTables`.
    nearest, runner_up : ndarray of float64, shape (horizon + 1,)
        Posterior of the nearest man, and of the nearest man of another surname.
    beyond : float
        Probability that the ancestor of the nearest man of another surname is beyond the horizon; 1 without such a man.
    """
    confidence, later = 0.0, beyond
    for t in range(len(nearest) - 1, 0, -1):
        confidence += nearest[t] * unrelated_survival[t] * later
        later += runner_up[t]
    return confidence

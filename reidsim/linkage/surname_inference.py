"""Surname of the nearest man in a genealogy, and the confidence in it.

This is stage I of Wan et al. 2021. A genealogy lists men with their surnames and alleles: numbers of repeats at loci of
the Y chromosome. A target is a man whose surname is inferred. The distance of two men is the posterior mean of the
time to their most recent common ancestor, in generations. The posterior depends on the loci at which the two men agree
and the loci at which they differ. Sets of loci are bits of an unsigned integer: bit j is locus j. `SurnameInference` is
the interface for arrays of targets and of sets of shared loci.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from reidsim.core.errors import refuse_first
from reidsim.core.numerics import borrowing, compiled

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]
Integers = NDArray[np.int64]

# Limit on loci, which are bits of one 64-bit number.
MOST_LOCI = 60
_ONE = np.uint64(1)

NO_SURNAME = -1
"""Surname code if no surname can be inferred."""

NEAREST = 10
"""Number of nearest men among whom the runner-up is searched."""

# Number of cached distances, a power of two. A later pattern replaces an earlier pattern with the same hash.
_CACHED = 1 << 18


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
        n, people = len(self.mutation_rates), self.effective_population
        problem, expected = "mutation rate out of range", "a probability per generation, at least 0 and below 1"
        rates = enumerate(self.mutation_rates, 1)
        refuse_first(
            (not 1 <= n <= MOST_LOCI, "wrong number of mutation rates", None, n, f"1 to {MOST_LOCI} loci"),
            *((not 0 <= rate < 1, problem, f"locus {locus}", rate, expected) for locus, rate in rates),
            (not 1 <= people < np.inf, "effective population out of range", None, people, "1 or more"),
        )

    def tables(self) -> AncestryTables:
        """Return the factors of the posterior by locus and generation, `AncestryTables`."""
        generations, rates = np.arange(self.horizon + 1, dtype=np.float64), np.array(self.mutation_rates)
        agree = np.exp(-2.0 * np.outer(rates, generations))
        differ = -np.expm1(-2.0 * np.outer(rates, generations))
        # Two men taken at random meet after a geometric number of generations, cut off at the horizon.
        meeting = (1.0 - 1.0 / self.effective_population) ** generations
        later = np.append(np.cumsum(meeting[::-1])[::-1][1:], 0.0) / meeting.sum()
        later[0] = 0.0
        order = np.argsort(rates, kind="stable")
        return AncestryTables(agree, differ, np.exp(-generations / self.effective_population), later, order)


# Sums may be computed in any order, so that the processor adds several terms in one instruction.
@borrowing(fastmath={"reassoc"})
def posterior(tables: AncestryTables, agreeing: np.uint64, differing: np.uint64, out: Floats) -> float:
    """Fill `out` with ``P(t)``, t = 0 .. horizon, and return its mean in generations.

    ``P(t)`` is the probability that the most recent common ancestor of two men lived t generations ago; see `Ancestry`.
    `agreeing` and `differing` are sets of loci at which they agree and differ (bit j for locus j). If no t is possible,
    `out` is all 0 and the mean is infinite.
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


class GenealogyArrays(NamedTuple):
    """Arrays of a genealogy for compiled functions.

    Attributes
    ----------
    alleles : ndarray of int32, shape (n_loci, n_men)
        Numbers of repeats, 0 where missing.
    observed : ndarray of uint64, shape (n_men,)
        Set of loci at which the man's allele is not missing.
    surnames : ndarray of int64, shape (n_men,)
        Surname codes, 0 or more.
    """

    alleles: NDArray[np.int32]
    observed: Bits
    surnames: Integers


class Workspace(NamedTuple):
    """Work arrays for one target at a time, and a cache of distances for all targets.

    Attributes
    ----------
    by_row : ndarray of uint64, shape (n_men,)
        Set of loci at which each man of the genealogy agrees with the target.
    agreeing : ndarray of uint64, shape (n_men,)
        The same sets by falling number of loci, in the order of the genealogy among equals.
    rows : ndarray of int32, shape (n_men,)
        Row in the genealogy of each man in `agreeing`.
    known : ndarray of uint64, shape (1,)
        Set of loci at which the target's allele is not missing.
    distances : ndarray of float64, shape (n_men,)
        Distance from the target of each man in `agreeing`, in mean generations to the common ancestor.
    weights : ndarray of float64, shape (2, horizon + 1)
        Posterior of generations, for the nearest man and the runner-up; see `posterior`.
    patterns : ndarray of uint64, shape (n_cached, 2)
        Cached patterns: sets of loci that agree and that differ. A distance is a function of its pattern alone, so
        results do not depend on the cache.
    cached : ndarray of float64, shape (n_cached,)
        Distance of each pattern.
    """

    by_row: Bits
    agreeing: Bits
    rows: NDArray[np.int32]
    known: Bits
    distances: Floats
    weights: Floats
    patterns: Bits
    cached: Floats


def genealogy_arrays(alleles: Integers, surnames: Integers) -> GenealogyArrays:
    """Return the `GenealogyArrays` of a genealogy.

    Parameters
    ----------
    alleles : ndarray of int, shape (n_men, n_loci)
        Numbers of repeats, 0 where missing.
    surnames : ndarray of int, shape (n_men,)
        Surname codes, 0 or more.
    """
    columns = np.ascontiguousarray(alleles.T, dtype=np.int32)
    return GenealogyArrays(columns, pack_bits(alleles > 0), np.ascontiguousarray(surnames, dtype=np.int64))


def workspace(genealogy: GenealogyArrays, horizon: int) -> Workspace:
    """Return an empty `Workspace` for a genealogy.

    `horizon` is the maximum number of generations back to a common ancestor; see `Ancestry`.
    """
    n = len(genealogy.surnames)
    return Workspace(
        by_row=np.zeros(n, np.uint64),
        agreeing=np.zeros(n, np.uint64),
        rows=np.zeros(n, np.int32),
        known=np.zeros(1, np.uint64),
        distances=np.zeros(n),
        weights=np.zeros((2, horizon + 1)),
        # No pattern has all 64 bits.
        patterns=np.full((_CACHED, 2), 2**64 - 1, np.uint64),
        cached=np.zeros(_CACHED),
    )


def _type_count_bits(typing_context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.trunc(builder.ctpop(arguments[0]), context.get_value_type(types.int32))

    return types.int32(types.uint64), build


# The number of bits set, in one machine instruction where there is one; numba has no name for it.
count_bits: Any = intrinsic(_type_count_bits)


@compiled()
def compare_target(genealogy: GenealogyArrays, target: NDArray[np.int32], room: Workspace) -> None:
    """Compare a target with all men of the genealogy, for all sets of shared loci.

    The result is written to `by_row`, `agreeing`, `rows` and `known` of `room`. `target` (n_loci,) holds the alleles, 0
    where missing. Men are put in order of the number of loci at which they agree with the target, most loci first. A
    set of shared loci can only lower that number, so the search for men who agree enough ends early.
    """
    n_loci, n = genealogy.alleles.shape
    by_row, agreeing, rows = room.by_row, room.agreeing, room.rows
    by_row[:] = 0
    room.known[0] = 0
    for j in range(n_loci):
        if target[j] > 0:
            allele, men, bit = target[j], genealogy.alleles[j], np.uint64(j)
            room.known[0] |= _ONE << bit
            for row in range(n):
                by_row[row] |= np.uint64(men[row] == allele) << bit
    place = np.zeros(n_loci + 2, np.int64)
    for row in range(n):
        place[n_loci - count_bits(by_row[row]) + 1] += 1
    for fewer in range(1, n_loci + 1):
        place[fewer] += place[fewer - 1]
    for row in range(n):
        fewer = n_loci - count_bits(by_row[row])
        agreeing[place[fewer]], rows[place[fewer]] = by_row[row], row
        place[fewer] += 1


@borrowing()
def nearest_surname(
    tables: AncestryTables, genealogy: GenealogyArrays, room: Workspace, shared: np.uint64, candidate_share: float
) -> tuple[int, float]:
    """Return the inferred surname and its confidence, after `compare_target`.

    `shared` is the set of the target's released loci (bit j for locus j). Candidates are the men whose number of
    agreeing loci is at least `candidate_share` of the largest such number of any man. They are ordered by distance
    (mean generations to the common ancestor), the earlier row first among equals. The first gives the surname. The
    runner-up, used for the confidence, is the first of the ten nearest with another surname, if there is one. Without
    shared loci, the result is -1 and 0.
    """
    if shared == 0:
        return NO_SURNAME, 0.0
    # Unpack the tuples once: passing a tuple of arrays costs more than looking up a distance.
    agreeing, rows, surnames = room.agreeing, room.rows, genealogy.surnames
    distances, patterns, cached, weights = room.distances, room.patterns, room.cached, room.weights
    best, observed = 0, room.known[0] & shared
    for i in range(len(rows)):
        if count_bits(agreeing[i]) <= best:
            break
        best = max(best, count_bits(agreeing[i] & shared))
    fewest = max(int(np.ceil(candidate_share * best - 1e-9)), 0)
    # Positions of the nearest man so far and of the nearest with another surname; men further away do not matter.
    first, other, end = -1, -1, 0
    for i in range(len(rows)):
        if count_bits(agreeing[i]) < fewest:
            break
        end, distances[i], agree = i + 1, np.inf, agreeing[i] & shared
        if count_bits(agree) < fewest:
            continue
        differ = genealogy.observed[rows[i]] & observed & ~agree
        slot = _slot_of(agree, differ)
        if patterns[slot, 0] != agree or patterns[slot, 1] != differ:
            patterns[slot, 0], patterns[slot, 1] = agree, differ
            cached[slot] = posterior(tables, agree, differ, weights[0])
        distances[i] = cached[slot]
        if first < 0 or _is_nearer(distances, rows, i, first):
            if first >= 0 and surnames[rows[i]] != surnames[rows[first]]:
                other = first
            first = i
        elif surnames[rows[i]] != surnames[rows[first]] and (other < 0 or _is_nearer(distances, rows, i, other)):
            other = i
    ahead = 0
    for i in range(end if other >= 0 else 0):
        ahead += _is_nearer(distances, rows, i, other)
    agree = agreeing[first] & shared
    posterior(tables, agree, genealogy.observed[rows[first]] & observed & ~agree, weights[0])
    # Without another surname among the nearest, the common ancestor of its bearer is beyond the horizon.
    weights[1, :] = 0.0
    beyond = 1.0
    if other >= 0 and ahead < NEAREST:
        agree = agreeing[other] & shared
        mean = posterior(tables, agree, genealogy.observed[rows[other]] & observed & ~agree, weights[1])
        beyond = 1.0 if mean == np.inf else 0.0
    return surnames[rows[first]], confidence_score(tables.unrelated_survival, weights[0], weights[1], beyond)


@borrowing()
def _is_nearer(distances: Floats, rows: NDArray[np.int32], one: int, other: int) -> bool:
    """Return whether a man is nearer than another, or earlier at equal distance.

    `one` and `other` are positions of men in `distances` and in `rows`, which holds their rows in the genealogy.
    """
    return bool(distances[one] < distances[other] or (distances[one] == distances[other] and rows[one] < rows[other]))


@borrowing()
def _slot_of(agreeing: np.uint64, differing: np.uint64) -> int:
    """Return the place of a pattern of agreement in the cache, from 0 to 262,143.

    The pattern is the sets of loci at which two men agree and differ. Patterns can share a place.
    """
    mixed = agreeing * np.uint64(0x9E3779B97F4A7C15) ^ differing * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return int((mixed >> np.uint64(32)) & np.uint64(_CACHED - 1))


@compiled()
def _infer_all(
    tables: AncestryTables,
    genealogy: GenealogyArrays,
    room: Workspace,
    targets: NDArray[np.int32],
    shared: Bits,
    candidate_share: float,
) -> tuple[Integers, Floats]:
    surnames, confidence = np.empty(shared.shape, np.int64), np.empty(shared.shape)
    for i in range(len(targets)):
        compare_target(genealogy, targets[i], room)
        for k in range(shared.shape[1]):
            surnames[i, k], confidence[i, k] = nearest_surname(tables, genealogy, room, shared[i, k], candidate_share)
    return surnames, confidence


class SurnameInference:
    """A genealogy prepared for surname inference of many targets.

    Parameters
    ----------
    ancestry : Ancestry
        Mutation rates of the loci, and model of common ancestors.
    alleles : ndarray of int, shape (n_men, n_loci)
        Numbers of repeats of the men in the genealogy, 0 where missing.
    surnames : ndarray of int, shape (n_men,)
        Surname codes of these men, 0 or more.
    candidate_share : float
        Candidates are men whose number of agreeing loci is at least this share of the largest such number of any man.
    """

    def __init__(
        self, ancestry: Ancestry, alleles: Integers, surnames: Integers, *, candidate_share: float = 0.8
    ) -> None:
        self.candidate_share = float(candidate_share)
        self.tables = ancestry.tables()
        self.genealogy = genealogy_arrays(alleles, surnames)
        self.room = workspace(self.genealogy, ancestry.horizon)

    def infer(self, targets: Integers, shared: NDArray[np.bool_]) -> tuple[Integers, Floats]:
        """Return each target's surname, inferred from shared loci, and its confidence.

        Parameters
        ----------
        targets : ndarray of int, shape (n, n_loci)
            Alleles of the targets, 0 where missing.
        shared : ndarray of bool, shape (n_loci,), (n, n_loci) or (n, n_sets, n_loci)
            Loci shared: by all targets, by each target, or several sets for each target.

        Returns
        -------
        surnames : ndarray of int64, shape (n,) or (n, n_sets)
            Surname code; -1 where no locus is shared.
        confidence : ndarray of float64, shape (n,) or (n, n_sets)
            Confidence in the surname, in [0, 1]; 0 where no locus is shared. See `confidence_score`.
        """
        people, bits = np.ascontiguousarray(targets, dtype=np.int32), pack_bits(np.asarray(shared, dtype=np.bool_))
        shape = bits.shape if bits.ndim == 2 else (len(people),)
        bits = np.array(np.broadcast_to(bits, shape).reshape(len(people), -1))
        found = _infer_all(self.tables, self.genealogy, self.room, people, bits, self.candidate_share)
        return found[0].reshape(shape), found[1].reshape(shape)


def pack_bits(shared: NDArray[np.bool_]) -> Bits:
    """Return sets of loci, masks of shape (..., n_loci), as numbers, shape (...).

    The type is uint64. Bit j of a number is locus j.
    """
    return np.asarray((shared * (_ONE << np.arange(shared.shape[-1], dtype=np.uint64))).sum(axis=-1, dtype=np.uint64))


def nearest_neighbour_surnames(
    alleles: Integers, surnames: Integers, targets: Integers, shared: NDArray[np.bool_]
) -> tuple[Integers, Floats]:
    """Return each target's inferred surname and confidence, by L1 distance.

    The surname is that of the nearest man of the genealogy: the sum of absolute differences in repeats, over the shared
    loci, is smallest.

    This is the alternative inference of Wan et al. 2021. A missing allele counts as the number 0, as in the published
    files, so a man with gaps is far from all others. The earlier row wins a tie. The confidence is 1; without a shared
    locus, the surname is -1 and the confidence 0. For the parameters see `SurnameInference`; `shared` has shape
    (n_loci,) or (n, n_loci).
    """
    genealogy, people = genealogy_arrays(alleles, surnames), np.ascontiguousarray(targets, dtype=np.int32)
    sets = np.broadcast_to(pack_bits(np.asarray(shared, dtype=np.bool_)), len(targets))
    found = np.array([nearest_neighbour_surname(genealogy, *each) for each in zip(people, sets, strict=True)], np.int64)
    return found, (found != NO_SURNAME).astype(np.float64)


@compiled()
def nearest_neighbour_surname(genealogy: GenealogyArrays, target: NDArray[np.int32], shared: np.uint64) -> int:
    """Return the surname of the man nearest to a target at a set of loci.

    The distance of a man is the sum of absolute differences in repeats over the loci in `shared` (bit j for locus j).
    Among equally near men, the first is taken. The surname is -1 if `shared` contains no locus.
    """
    if shared == 0:
        return NO_SURNAME
    n_loci, n = genealogy.alleles.shape
    distances = np.zeros(n, np.int32)
    for j in range(n_loci):
        if shared >> np.uint64(j) & _ONE:
            distances += np.abs(genealogy.alleles[j] - target[j])
    return int(genealogy.surnames[np.argmin(distances)])

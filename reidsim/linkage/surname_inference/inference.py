"""The surname of the nearest man in a genealogy, and the confidence in it (Wan et al. 2021, stage I).

`GenealogyArrays` and `Workspace` are what the compiled functions read and write. `SurnameInference` is the door for
whole arrays of targets and of sets of shared loci.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.linkage.number_checks import check_share, check_whole, checked_alleles
from reidsim.linkage.surname_inference.tmrca import (
    ROUNDING,
    SMALLEST_SUM,
    TAKEN,
    Ancestry,
    AncestryTables,
    Bits,
    DistanceCache,
    Floats,
    confidence_score,
    distance_cache,
    exact_distance,
    slot_of,
    weigh_generations,
    weigh_unlikely,
)

Integers = NDArray[np.int64]

NO_SURNAME = -1
"""Surname code where nothing can be inferred."""

NEAREST = 10
"""Men among whom the runner-up is looked for."""

_ONE = np.uint64(1)
_BLOCK = 8192
# About so many men are looked at one by one at first, judged by as many as are sampled.
_FIRST_LEADERS = 256
_SAMPLE = 2048


class GenealogyArrays(NamedTuple):
    """A genealogy as the compiled functions read it.

    Parameters
    ----------
    alleles : ndarray of uint8, shape (n_loci, n_men)
        0 where missing; of int32 if there are higher numbers of repeats than 255.
    observed : ndarray of uint64, shape (n_men,)
        Loci that are not missing.
    surnames : ndarray of int64, shape (n_men,)
        Codes, 0 or more.
    """

    alleles: NDArray[Any]
    observed: Bits
    surnames: Integers


class Workspace(NamedTuple):
    """Room for one target at a time: the men of the genealogy by the number of loci at which they agree with him.

    Only those who agree at many loci are looked at one by one; the others when a set of shared loci needs them.

    Parameters
    ----------
    agreeing, observed : ndarray of uint64, shape (n_men,)
        Loci at which each man agrees with the target, and those known of both; men by falling number of agreements,
        in the order of the genealogy among equals.
    rows : ndarray of int32, shape (n_men,)
        Their rows in the genealogy.
    ends : ndarray of int64, shape (n_loci + 1,)
        ``ends[k]`` of the men who are here agree at k loci or more.
    floor : ndarray of int64, shape (1,)
        All men with so many agreements are here, and nobody with fewer.
    target : ndarray of int32, shape (n_loci,)
        The target's alleles.
    counts : ndarray of uint8, shape (n_men,)
        Agreements in the order of the genealogy.
    distances : ndarray of float64, shape (n_men,)
        Of the candidates from the target.
    candidates : ndarray of int32, shape (n_men,)
        Their places here.
    weights : ndarray of float64, shape (2, horizon + 1)
        Of generations, for the nearest man and the runner-up.
    """

    agreeing: Bits
    observed: Bits
    rows: NDArray[np.int32]
    ends: Integers
    floor: Integers
    target: NDArray[np.int32]
    counts: NDArray[np.uint8]
    distances: Floats
    candidates: NDArray[np.int32]
    weights: Floats


@dataclass(frozen=True)
class InferredSurnames:
    """Surnames inferred for targets and sets of shared loci; arrays of one shape.

    Parameters
    ----------
    surnames : ndarray of int64
        Code of the surname; -1 where no locus is shared.
    confidence : ndarray of float64
        In [0, 1]; 0 where no locus is shared.
    """

    surnames: Integers
    confidence: Floats


def genealogy_arrays(alleles: Integers, surnames: Integers) -> GenealogyArrays:
    """Lay out a genealogy for the compiled functions.

    Parameters
    ----------
    alleles : ndarray of int, shape (n_men, n_loci)
        0 where missing.
    surnames : ndarray of int, shape (n_men,)
    """
    powers = _ONE << np.arange(alleles.shape[1], dtype=np.uint64)
    observed = np.zeros(len(alleles), dtype=np.uint64)
    for locus, power in enumerate(powers):
        observed |= np.where(alleles[:, locus] > 0, power, np.uint64(0))
    narrow = alleles.size == 0 or alleles.max() <= np.iinfo(np.uint8).max
    columns = np.ascontiguousarray(alleles.T, dtype=np.uint8 if narrow else np.int32)
    return GenealogyArrays(columns, observed, np.ascontiguousarray(surnames, dtype=np.int64))


def workspace(genealogy: GenealogyArrays, horizon: int) -> Workspace:
    """Return room to work in for one target at a time."""
    n_loci, n = genealogy.alleles.shape
    return Workspace(
        agreeing=np.zeros(n, np.uint64),
        observed=np.zeros(n, np.uint64),
        rows=np.zeros(n, np.int32),
        ends=np.zeros(n_loci + 1, np.int64),
        floor=np.zeros(1, np.int64),
        target=np.zeros(n_loci, np.int32),
        counts=np.zeros(n, np.uint8),
        distances=np.zeros(n),
        candidates=np.zeros(n, np.int32),
        weights=np.zeros((2, horizon + 1)),
    )


def _type_count_bits(typing_context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.trunc(builder.ctpop(arguments[0]), context.get_value_type(types.int32))

    return types.int32(types.uint64), build


# The number of bits set, in one machine instruction where there is one; numba has no name for it.
_count_bits: Any = intrinsic(_type_count_bits)


@numba.njit(cache=True)
def compare_target(genealogy: GenealogyArrays, target: NDArray[np.int32], room: Workspace) -> None:
    """Compare a target with everybody in the genealogy, once for all sets of shared loci.

    Men are put in order of the number of loci at which they agree. A set of shared loci can only lower that number,
    so the search for men who agree enough ends early.
    """
    n_loci, n = genealogy.alleles.shape
    room.target[:] = target
    wanted = np.zeros(n_loci, genealogy.alleles.dtype)
    for j in range(n_loci):
        wanted[j] = target[j]
    for start in range(0, n, _BLOCK):
        # In blocks, so that one pass per locus stays in the cache.
        end = min(n, start + _BLOCK)
        counts = room.counts[start:end]
        counts[:] = 0
        for j in range(n_loci):
            # A number too high for the alleles here is nobody's.
            if target[j] > 0 and wanted[j] == target[j]:
                men, allele = genealogy.alleles[j, start:end], wanted[j]
                for row in range(end - start):
                    counts[row] += men[row] == allele
    step = max(1, n // _SAMPLE)
    sampled = np.zeros(n_loci + 1, np.int64)
    for row in range(0, n, step):
        sampled[room.counts[row]] += 1
    room.ends[:] = 0
    room.floor[0] = n_loci + 1
    floor, expected = n_loci, sampled[n_loci]
    while floor > 0 and (expected + sampled[floor - 1]) * step <= _FIRST_LEADERS:
        floor -= 1
        expected += sampled[floor]
    lower_floor(genealogy, room, floor)


@numba.njit(cache=True)
def lower_floor(genealogy: GenealogyArrays, room: Workspace, floor: int) -> None:
    """Add the men who agree at fewer loci than those here, and at `floor` loci or more."""
    n_loci, n = genealogy.alleles.shape
    before = room.ends[0]
    counts, found, above = room.counts, room.candidates, room.floor[0]
    n_found = 0
    for row in range(n):
        found[n_found] = row
        n_found += (counts[row] >= floor) & (counts[row] < above)
    place = np.zeros(n_loci + 1, np.int64)
    for i in range(n_found):
        place[counts[found[i]]] += 1
    total = before
    for agreements in range(above - 1, floor - 1, -1):
        total, place[agreements] = total + place[agreements], total
        room.ends[agreements] = total
    room.ends[:floor] = total
    room.floor[0] = floor
    known = np.uint64(0)
    for j in range(n_loci):
        known |= np.uint64(room.target[j] > 0) << np.uint64(j)
    for i in range(n_found):
        row = found[i]
        to = place[counts[row]]
        place[counts[row]] += 1
        bits = np.uint64(0)
        for j in range(n_loci):
            bits |= np.uint64(genealogy.alleles[j, row] == room.target[j]) << np.uint64(j)
        room.agreeing[to] = bits & known
        room.observed[to] = genealogy.observed[row] & known
        room.rows[to] = row


@numba.njit(cache=True)
def fewest_agreements(agreeing: Bits, ends: Integers, shared: np.uint64, candidate_share: float) -> int:
    """Return at how many loci of a set a man must agree to be a candidate, if nobody counts but the men given."""
    best, start = 0, 0
    for agreements in range(len(ends) - 1, 0, -1):
        if agreements <= best:
            break
        for i in range(start, ends[agreements]):
            best = max(best, _count_bits(agreeing[i] & shared))
        start = ends[agreements]
    return max(int(np.ceil(candidate_share * best - 1e-9)), 0)


@numba.njit(cache=True)
def nearest_surname(
    tables: AncestryTables,
    genealogy: GenealogyArrays,
    room: Workspace,
    cache: DistanceCache,
    shared: np.uint64,
    candidate_share: float,
) -> tuple[int, float]:
    """Return the inferred surname and the confidence in it for a target seen by `compare_target`.

    Candidates are the men who agree at `candidate_share` or more of the most loci at which anyone agrees. They are
    ordered by distance, the earlier row first among equals. The first gives the surname; the runner-up is the first
    of the ten nearest with another one.
    """
    if shared == 0:
        return NO_SURNAME, 0.0
    fewest = fewest_agreements(room.agreeing, room.ends, shared, candidate_share)
    # Whoever is not here agrees at fewer loci than the floor; so if candidates need that many, none is missed.
    while fewest < room.floor[0]:
        lower_floor(genealogy, room, fewest)
        fewest = fewest_agreements(room.agreeing, room.ends, shared, candidate_share)
    # Taken out of their tuples once: handing a tuple of arrays on costs more than looking a distance up.
    agreeing, observed, rows, surnames = room.agreeing, room.observed, room.rows, genealogy.surnames
    by_pattern, weights, other_weights = tables.by_pattern, room.weights[0], room.weights[1]
    candidates, distances, patterns, kept = room.candidates, room.distances, cache.patterns, cache.distances
    n = 0
    for i in range(room.ends[fewest]):
        candidates[n] = i
        n += _count_bits(agreeing[i] & shared) >= fewest
    first = runner_up = -1
    # Distances of the nearest man so far and of the nearest with another surname, beyond whom nobody matters.
    nearest, next_nearest, name, surname = np.inf, np.inf, NO_SURNAME, NO_SURNAME
    for k in range(n):
        i = candidates[k]
        agree = agreeing[i] & shared
        differ = observed[i] & shared & ~agree
        if tables.nearest[_count_bits(agree), _count_bits(differ)] > next_nearest:
            distances[k] = np.inf
            continue
        slot = slot_of(agree, differ, len(patterns))
        if patterns[slot, 0] != agree | TAKEN or patterns[slot, 1] != differ:
            total, moment = weigh_generations(by_pattern, agree, differ, weights)
            if total < SMALLEST_SUM:
                total, moment = weigh_unlikely(tables, agree, differ, weights)
            patterns[slot, 0], patterns[slot, 1] = agree | TAKEN, differ
            kept[slot, 2] = moment / total if total > 0.0 else np.inf
            kept[slot, 3] = -1.0
        distance = kept[slot, 2]
        distances[k] = distance
        if distance > next_nearest * (1.0 + ROUNDING):
            continue
        name = surnames[rows[i]]
        if (
            first < 0
            or distance < nearest * (1.0 - ROUNDING)
            or (distance <= nearest * (1.0 + ROUNDING) and _is_nearer(tables, room, cache, shared, k, first))
        ):
            if name != surname:
                runner_up, next_nearest = first, nearest
            first, nearest, surname = k, distance, name
        elif name != surname and (
            runner_up < 0
            or distance < next_nearest * (1.0 - ROUNDING)
            or _is_nearer(tables, room, cache, shared, k, runner_up)
        ):
            runner_up, next_nearest = k, distance
    ahead = 0
    for k in range(n if runner_up >= 0 else 0):
        if distances[k] <= next_nearest * (1.0 + ROUNDING) and k != runner_up:
            near = distances[k] < next_nearest * (1.0 - ROUNDING)
            ahead += near or _is_nearer(tables, room, cache, shared, k, runner_up)
    agree = agreeing[candidates[first]] & shared
    differ = observed[candidates[first]] & shared & ~agree
    total, _ = weigh_generations(by_pattern, agree, differ, weights)
    if total < SMALLEST_SUM:
        total, _ = weigh_unlikely(tables, agree, differ, weights)
    other_total = 0.0
    if runner_up >= 0 and ahead < NEAREST:
        agree = agreeing[candidates[runner_up]] & shared
        differ = observed[candidates[runner_up]] & shared & ~agree
        other_total, _ = weigh_generations(by_pattern, agree, differ, other_weights)
        if other_total < SMALLEST_SUM:
            other_total, _ = weigh_unlikely(tables, agree, differ, other_weights)
    return surname, confidence_score(tables.unrelated_survival, weights, total, other_weights, other_total)


@numba.njit(cache=True)
def _is_nearer(
    tables: AncestryTables, room: Workspace, cache: DistanceCache, shared: np.uint64, one: int, other: int
) -> bool:
    """Tell which of two candidates, whose distances differ by rounding at most, is nearer or else earlier.

    They are compared by distances that are equal where rates are.
    """
    i, j = room.candidates[one], room.candidates[other]
    agree, other_agree = room.agreeing[i] & shared, room.agreeing[j] & shared
    differ, other_differ = room.observed[i] & shared & ~agree, room.observed[j] & shared & ~other_agree
    if agree != other_agree or differ != other_differ:
        mine = exact_distance(tables, cache, agree, differ, room.weights[0])
        its = exact_distance(tables, cache, other_agree, other_differ, room.weights[0])
        if mine != its:
            return mine < its
    return bool(room.rows[i] < room.rows[j])


@numba.njit(cache=True)
def _infer_all(
    tables: AncestryTables,
    genealogy: GenealogyArrays,
    room: Workspace,
    cache: DistanceCache,
    targets: NDArray[np.int32],
    shared: Bits,
    candidate_share: float,
    surnames: Integers,
    confidence: Floats,
) -> None:
    for i in range(len(targets)):
        compare_target(genealogy, targets[i], room)
        for k in range(shared.shape[1]):
            surnames[i, k], confidence[i, k] = nearest_surname(
                tables, genealogy, room, cache, shared[i, k], candidate_share
            )


class SurnameInference:
    """A genealogy made ready to infer the surnames of many targets.

    Parameters
    ----------
    ancestry : Ancestry
        Mutation rates of the loci.
    alleles : ndarray of int, shape (n_men, n_loci)
        0 where missing.
    surnames : ndarray of int, shape (n_men,)
    candidate_share : float
        Share of the most agreements that makes a man a candidate.

    Raises
    ------
    InputError
        If shapes do not fit, an allele or surname is not a whole number of 0 or more, or nobody is in the genealogy.
    """

    def __init__(
        self, ancestry: Ancestry, alleles: Integers, surnames: Integers, *, candidate_share: float = 0.8
    ) -> None:
        check_share("candidate_share", candidate_share)
        men = checked_alleles("genealogy", alleles, ancestry.n_loci)
        names = check_whole("genealogy: surname", surnames)
        if len(men) == 0 or names.shape != (len(men),):
            expected = "one surname for each man, and at least one man"
            raise InputError("genealogy unusable", found=(len(men), len(names)), expected=expected)
        self.n_loci = ancestry.n_loci
        self.candidate_share = float(candidate_share)
        self.tables = ancestry.tables()
        self.genealogy = genealogy_arrays(men, names)
        self.room = workspace(self.genealogy, ancestry.horizon)
        self.cache = distance_cache()

    def infer(self, targets: Integers, shared: NDArray[np.bool_]) -> InferredSurnames:
        """Infer the surname of each target from the loci it shares.

        Parameters
        ----------
        targets : ndarray of int, shape (n, n_loci)
            0 where missing.
        shared : ndarray of bool, shape (n_loci,), (n, n_loci) or (n, n_sets, n_loci)
            Loci shared: by everybody, by each target, or several sets for each target.

        Returns
        -------
        InferredSurnames
            Arrays of shape (n,), or (n, n_sets) where several sets are given.

        Raises
        ------
        InputError
            If shapes do not fit, or an allele is not a whole number of 0 or more.
        """
        people = checked_alleles("targets", targets, self.n_loci)
        masks = np.asarray(shared, dtype=np.bool_)
        several = masks.ndim == 3
        n_sets = masks.shape[1] if several else 1
        bits = pack_bits(np.broadcast_to(masks if several else masks[..., None, :], (len(people), n_sets, self.n_loci)))
        surnames = np.zeros(bits.shape, dtype=np.int64)
        confidence = np.zeros(bits.shape)
        columns = np.ascontiguousarray(people, dtype=np.int32)
        _infer_all(
            self.tables,
            self.genealogy,
            self.room,
            self.cache,
            columns,
            bits,
            self.candidate_share,
            surnames,
            confidence,
        )
        return InferredSurnames(surnames, confidence) if several else InferredSurnames(surnames[:, 0], confidence[:, 0])


def pack_bits(shared: NDArray[np.bool_]) -> Bits:
    """Turn sets of loci, shape (..., n_loci), into bits, shape (...)."""
    powers = _ONE << np.arange(shared.shape[-1], dtype=np.uint64)
    return np.asarray((shared * powers).sum(axis=-1, dtype=np.uint64))

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
# More than so many, and an eighth of all, are not sorted for a set of loci.
_MOST_LEADERS = 2048
_NOTHING = np.uint64(0)
_ALL_LOCI = np.uint64(2**64 - 1)


# A man's distance and row in the genealogy, and the loci of a set at which he agrees with the target and differs.
_Man = tuple[float, int | np.signedinteger, np.uint64, np.uint64]


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
    shared_counts : ndarray of uint8, shape (n_men,)
        The same at the loci of one set.
    expected : ndarray of int64, shape (n_loci + 1,)
        ``expected[k]`` men of the genealogy agree at k loci or more, judged by a sample.
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
    shared_counts: NDArray[np.uint8]
    expected: Integers
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
        shared_counts=np.zeros(n, np.uint8),
        expected=np.zeros(n_loci + 1, np.int64),
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
    _count_agreements(genealogy, target, _ALL_LOCI, room.counts)
    step = max(1, n // _SAMPLE)
    sampled = np.zeros(n_loci + 1, np.int64)
    for row in range(0, n, step):
        sampled[room.counts[row]] += 1
    room.ends[:] = 0
    room.floor[0] = n_loci + 1
    floor, expected = n_loci, 0
    for agreements in range(n_loci, -1, -1):
        expected += sampled[agreements] * step
        room.expected[agreements] = expected
        if expected <= _FIRST_LEADERS:
            floor = agreements
    _lower_floor(genealogy, room, floor)


@numba.njit(cache=True)
def _count_agreements(
    genealogy: GenealogyArrays, target: NDArray[np.int32], shared: np.uint64, counts: NDArray[np.uint8]
) -> None:
    """Count the loci of a set at which each man agrees with a target."""
    n_loci, n = genealogy.alleles.shape
    wanted = np.zeros(n_loci, genealogy.alleles.dtype)
    for j in range(n_loci):
        wanted[j] = target[j]
    for start in range(0, n, _BLOCK):
        # In blocks, so that one pass per locus stays in the cache.
        end = min(n, start + _BLOCK)
        of_block = counts[start:end]
        of_block[:] = 0
        for j in range(n_loci):
            # A number too high for the alleles here is nobody's.
            if shared >> np.uint64(j) & _ONE and target[j] > 0 and wanted[j] == target[j]:
                men, allele = genealogy.alleles[j, start:end], wanted[j]
                for row in range(end - start):
                    of_block[row] += men[row] == allele


@numba.njit(cache=True)
def _candidates_among_all(
    genealogy: GenealogyArrays, room: Workspace, shared: np.uint64, candidate_share: float
) -> int:
    """Put down the candidates for a set of loci that asks for many men; return how many.

    Those who are not here yet are put behind the others, and forgotten after this set.
    """
    n = len(room.rows)
    counts, floor = room.shared_counts, room.floor[0]
    _count_agreements(genealogy, room.target, shared, counts)
    fewest = max(int(np.ceil(candidate_share * counts.max() - 1e-9)), 0)
    found, end = 0, room.ends[0]
    for i in range(end):
        room.candidates[found] = i
        found += _count_bits(room.agreeing[i] & shared) >= fewest
    for row in range(n):
        if counts[row] >= fewest and room.counts[row] < floor:
            _put(genealogy, room, row, end)
            room.candidates[found] = end
            found, end = found + 1, end + 1
    return found


@numba.njit(cache=True)
def _put(genealogy: GenealogyArrays, room: Workspace, row: int, to: int) -> None:
    """Compare a man with the target, locus by locus."""
    bits, known = np.uint64(0), np.uint64(0)
    for j in range(len(room.target)):
        known |= np.uint64(room.target[j] > 0) << np.uint64(j)
        bits |= np.uint64(genealogy.alleles[j, row] == room.target[j]) << np.uint64(j)
    room.agreeing[to] = bits & known
    room.observed[to] = genealogy.observed[row] & known
    room.rows[to] = row


@numba.njit(cache=True)
def _lower_floor(genealogy: GenealogyArrays, room: Workspace, floor: int) -> None:
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
    for i in range(n_found):
        row = found[i]
        _put(genealogy, room, row, place[counts[row]])
        place[counts[row]] += 1


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
    everybody = False
    while fewest < room.floor[0] and not everybody:
        everybody = room.expected[fewest] > max(_MOST_LEADERS, len(room.rows) // 8)
        if not everybody:
            _lower_floor(genealogy, room, fewest)
            fewest = fewest_agreements(room.agreeing, room.ends, shared, candidate_share)
    # Taken out of their tuples once: handing a tuple of arrays on costs more than looking a distance up.
    agreeing, observed, rows, surnames = room.agreeing, room.observed, room.rows, genealogy.surnames
    by_pattern, weights, other_weights = tables.by_pattern, room.weights[0], room.weights[1]
    candidates, distances, patterns, kept = room.candidates, room.distances, cache.patterns, cache.distances
    n = _candidates_among_all(genealogy, room, shared, candidate_share) if everybody else 0
    for i in range(0 if everybody else room.ends[fewest]):
        candidates[n] = i
        n += _count_bits(agreeing[i] & shared) >= fewest
    # The nearest man so far and the nearest with another surname, beyond whom nobody matters.
    first = other = (np.inf, np.int32(-1), _NOTHING, _NOTHING)
    surname = NO_SURNAME
    for k in range(n):
        i = candidates[k]
        agree = agreeing[i] & shared
        differ = observed[i] & shared & ~agree
        if tables.nearest[_count_bits(agree), _count_bits(differ)] > other[0]:
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
        if distance > other[0] * (1.0 + ROUNDING):
            continue
        row, name = rows[i], surnames[rows[i]]
        man, order = (distance, row, agree, differ), _order(distance, row, agree, differ, first)
        if order < 0 or (order == 0 and _is_nearer(tables, cache, weights, man, first)):
            if name != surname:
                other = first
            first, surname = man, name
        elif name != surname:
            order = _order(distance, row, agree, differ, other)
            if order < 0 or (order == 0 and _is_nearer(tables, cache, weights, man, other)):
                other = man
    ahead = 0
    for k in range(n):
        if other[1] < 0 or ahead >= NEAREST:
            break
        if distances[k] <= other[0] * (1.0 + ROUNDING):
            i = candidates[k]
            row, agree = rows[i], agreeing[i] & shared
            differ = observed[i] & shared & ~agree
            order = _order(distances[k], row, agree, differ, other)
            man = (distances[k], row, agree, differ)
            ahead += order < 0 or (order == 0 and _is_nearer(tables, cache, weights, man, other))
    total, _ = weigh_generations(by_pattern, first[2], first[3], weights)
    if total < SMALLEST_SUM:
        total, _ = weigh_unlikely(tables, first[2], first[3], weights)
    other_total = 0.0
    if other[1] >= 0 and ahead < NEAREST:
        other_total, _ = weigh_generations(by_pattern, other[2], other[3], other_weights)
        if other_total < SMALLEST_SUM:
            other_total, _ = weigh_unlikely(tables, other[2], other[3], other_weights)
    return surname, confidence_score(tables.unrelated_survival, weights, total, other_weights, other_total)


@numba.njit(cache=True)
def _order(distance: float, row: int | np.signedinteger, agree: np.uint64, differ: np.uint64, other: _Man) -> int:
    """Return -1 if a man comes before another, 1 if after; 0 where their distances differ by rounding at most."""
    if other[1] < 0 or distance < other[0] * (1.0 - ROUNDING):
        return -1
    if distance > other[0] * (1.0 + ROUNDING):
        return 1
    if agree == other[2] and differ == other[3]:
        return -1 if row < other[1] else 1
    return 0


@numba.njit(cache=True)
def _is_nearer(tables: AncestryTables, cache: DistanceCache, weights: Floats, one: _Man, other: _Man) -> bool:
    """Tell which of two men is nearer by distances that are equal where rates are, or else earlier."""
    mine = exact_distance(tables, cache, one[2], one[3], weights)
    its = exact_distance(tables, cache, other[2], other[3], weights)
    return bool(mine < its or (mine == its and one[1] < other[1]))


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

"""Comparison of a target with the men of a genealogy: candidates for the nearest.

A genealogy lists men with their surnames and alleles: numbers of repeats at loci of the Y chromosome. A target is a man
whose surname is inferred. Sets of loci are bits of an unsigned integer: bit j is locus j. Compiled functions read and
write `GenealogyArrays` and `Workspace`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from reidsim.core.numerics import borrowing, owning
from reidsim.linkage.surname_inference.tmrca import Bits, Floats

Integers = NDArray[np.int64]

_ONE = np.uint64(1)
_BLOCK = 8192
# About this many men are compared one by one at first; their number is estimated from a sample of about this size.
_FIRST_LEADERS = 256
_SAMPLE = 2048
_EACH_BYTE = np.uint64(0x0101010101010101)
_HIGHEST_BITS = np.uint64(0x8080808080808080)
_ALL_LOCI = np.uint64(2**64 - 1)


class GenealogyArrays(NamedTuple):
    """Arrays of a genealogy for compiled functions.

    Attributes
    ----------
    alleles : ndarray of uint8, shape (n_loci, n_men)
        Numbers of repeats, 0 where missing; int32 if there are higher numbers than 255.
    by_man : ndarray of the same type, shape (n_men, n_loci)
        The same, man by man.
    observed : ndarray of uint64, shape (n_men,)
        Set of loci at which the man's allele is not missing.
    surnames : ndarray of int64, shape (n_men,)
        Surname codes, 0 or more.
    """

    alleles: NDArray[Any]
    by_man: NDArray[Any]
    observed: Bits
    surnames: Integers


class Workspace(NamedTuple):
    """Work arrays for one target: men of the genealogy by number of agreeing loci.

    Only men who agree at many loci are compared one by one; other men are added when a set of shared loci needs them.

    Attributes
    ----------
    agreeing, observed : ndarray of uint64, shape (n_men,)
        Set of loci at which each man agrees with the target, and set of loci known of both; men by falling number of
        agreements, in the order of the genealogy among equals.
    rows : ndarray of int32, shape (n_men,)
        Row of each of these men in the genealogy.
    ends : ndarray of int64, shape (n_loci + 1,)
        Number of men in the workspace who agree at k loci or more, for k = 0 .. n_loci.
    floor : ndarray of int64, shape (1,)
        Minimum number of agreements of the men in the workspace; all such men are in it.
    target : ndarray of int32, shape (n_loci,)
        The target's alleles.
    counts : ndarray of uint8, shape (n_men, rounded up to a multiple of 8)
        Number of agreements of each man, in the order of the genealogy; 0 behind its end.
    eights : ndarray of uint64
        View of `counts` in which each element covers eight men.
    shared_counts : ndarray of uint8, shape (n_men,)
        The same, counting only the loci of a set of shared loci.
    expected : ndarray of int64, shape (n_loci + 1,)
        Estimated number of men in the genealogy who agree at k loci or more, from a sample.
    distances : ndarray of float64, shape (n_men,)
        Distances of the candidates from the target: mean generations to the common ancestor.
    candidates : ndarray of int32, shape (n_men,)
        Positions of the candidates in the workspace.
    weights : ndarray of float64, shape (2, horizon + 1)
        Weights of generations, for the nearest man and the runner-up; see `weigh_generations`.
    """

    agreeing: Bits
    observed: Bits
    rows: NDArray[np.int32]
    ends: Integers
    floor: Integers
    target: NDArray[np.int32]
    counts: NDArray[np.uint8]
    eights: Bits
    shared_counts: NDArray[np.uint8]
    expected: Integers
    distances: Floats
    candidates: NDArray[np.int32]
    weights: Floats


def genealogy_arrays(alleles: Integers, surnames: Integers) -> GenealogyArrays:
    """Lay out a genealogy for the compiled functions.

    Parameters
    ----------
    alleles : ndarray of int, shape (n_men, n_loci)
        Numbers of repeats, 0 where missing.
    surnames : ndarray of int, shape (n_men,)
        Surname codes, 0 or more.
    """
    narrow = alleles.size == 0 or alleles.max() <= np.iinfo(np.uint8).max
    by_man = np.ascontiguousarray(alleles, dtype=np.uint8 if narrow else np.int32)
    columns = np.ascontiguousarray(by_man.T)
    observed = np.zeros(len(alleles), dtype=np.uint64)
    for locus, column in enumerate(columns):
        observed |= (column > 0).astype(np.uint64) << np.uint64(locus)
    return GenealogyArrays(columns, by_man, observed, np.ascontiguousarray(surnames, dtype=np.int64))


def workspace(genealogy: GenealogyArrays, horizon: int) -> Workspace:
    """Return an empty workspace for one target at a time.

    `horizon` is the maximum number of generations, see `Ancestry`.
    """
    n_loci, n = genealogy.alleles.shape
    counts = np.zeros(-(-n // 8) * 8, np.uint8)
    return Workspace(
        agreeing=np.zeros(n, np.uint64),
        observed=np.zeros(n, np.uint64),
        rows=np.zeros(n, np.int32),
        ends=np.zeros(n_loci + 1, np.int64),
        floor=np.zeros(1, np.int64),
        target=np.zeros(n_loci, np.int32),
        counts=counts,
        eights=counts.view(np.uint64),
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
count_bits: Any = intrinsic(_type_count_bits)


@owning()
def compare_target(genealogy: GenealogyArrays, target: NDArray[np.int32], room: Workspace) -> None:
    """Compare a target with all men of the genealogy, for all sets of shared loci.

    The result is written to `room`. `target` (n_loci,) holds the alleles, 0 where missing. Men are put in order of the
    number of loci at which they agree. A set of shared loci can only lower that number, so the search for men who agree
    enough ends early.
    """
    n_loci, n = genealogy.alleles.shape
    held = room.target
    for locus in range(n_loci):
        held[locus] = target[locus]
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
    lower_floor(genealogy, room, floor)


@owning()
def _count_agreements(
    genealogy: GenealogyArrays, target: NDArray[np.int32], shared: np.uint64, counts: NDArray[np.uint8]
) -> None:
    """Write to `counts` at how many loci of a set each man agrees with a target."""
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
            # A target allele that overflows the genealogy's type matches no man.
            if shared >> np.uint64(j) & _ONE and target[j] > 0 and wanted[j] == target[j]:
                men, allele = genealogy.alleles[j, start:end], wanted[j]
                for row in range(end - start):
                    of_block[row] += men[row] == allele


@owning()
def candidates_among_all(genealogy: GenealogyArrays, room: Workspace, shared: np.uint64, candidate_share: float) -> int:
    """Write the candidates of a set of loci to the workspace; return their number.

    All men of the genealogy are compared. Candidates outside the workspace are appended temporarily, for this set only.
    For `candidate_share` see `fewest_agreements`.
    """
    n = len(room.rows)
    counts, floor = room.shared_counts, room.floor[0]
    _count_agreements(genealogy, room.target, shared, counts)
    fewest = max(int(np.ceil(candidate_share * counts.max() - 1e-9)), 0)
    found, end = 0, room.ends[0]
    for i in range(end):
        room.candidates[found] = i
        found += count_bits(room.agreeing[i] & shared) >= fewest
    for row in range(n):
        if counts[row] >= fewest and room.counts[row] < floor:
            _put(genealogy, room, row, end)
            room.candidates[found] = end
            found, end = found + 1, end + 1
    return found


@borrowing()
def _put(genealogy: GenealogyArrays, room: Workspace, row: int, to: int) -> None:
    """Compare a man with the target, and write him to position `to` of the workspace."""
    bits, known = np.uint64(0), np.uint64(0)
    for j in range(len(room.target)):
        known |= np.uint64(room.target[j] > 0) << np.uint64(j)
        bits |= np.uint64(genealogy.by_man[row, j] == room.target[j]) << np.uint64(j)
    room.agreeing[to] = bits & known
    room.observed[to] = genealogy.observed[row] & known
    room.rows[to] = row


@owning()
def lower_floor(genealogy: GenealogyArrays, room: Workspace, floor: int) -> None:
    """Extend the workspace to all men who agree at `floor` loci or more."""
    n_loci, n = genealogy.alleles.shape
    before = room.ends[0]
    counts, found, above = room.counts, room.candidates, room.floor[0]
    n_found = 0
    # Added to a byte, it sets the highest bit if enough loci agree; counts are below 64.
    enough = np.uint64(128 - floor) * _EACH_BYTE
    for eight in range(len(room.eights)):
        if (room.eights[eight] + enough) & _HIGHEST_BITS:
            for row in range(8 * eight, min(n, 8 * eight + 8)):
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


@borrowing()
def fewest_agreements(agreeing: Bits, ends: Integers, shared: np.uint64, candidate_share: float) -> int:
    """Return the minimum number of agreeing loci of a candidate, for a set of loci.

    It is `candidate_share` of the most loci of the set at which a man agrees with the target, rounded up. Only the men
    in the workspace (`agreeing`, `ends`) are considered.
    """
    best, start = 0, 0
    for agreements in range(len(ends) - 1, 0, -1):
        if agreements <= best:
            break
        for i in range(start, ends[agreements]):
            best = max(best, count_bits(agreeing[i] & shared))
        start = ends[agreements]
    return max(int(np.ceil(candidate_share * best - 1e-9)), 0)

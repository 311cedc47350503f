"""Surname of the nearest man in a genealogy, and the confidence in it.

This is stage I of Wan et al. 2021.

`SurnameInference` is the interface for arrays of targets and of sets of shared loci. For targets, alleles and loci see
`comparison`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import borrowing
from reidsim.linkage.surname_inference.comparison import (
    GenealogyArrays,
    Integers,
    Workspace,
    candidates_among_all,
    compare_target,
    count_bits,
    fewest_agreements,
    genealogy_arrays,
    lower_floor,
    workspace,
)
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

NO_SURNAME = -1
"""Surname code if no surname can be inferred."""

NEAREST = 10
"""Number of nearest men among whom the runner-up is searched."""

_ONE = np.uint64(1)
# Beyond this number, and beyond an eighth of all men, the men needed for a set of loci are not added to the workspace;
# all men are compared for this set instead.
_MOST_LEADERS = 2048
_NOTHING = np.uint64(0)


# A man's distance and row in the genealogy, and the loci of a set at which he agrees with the target and differs.
_Man = tuple[float, int | np.signedinteger, np.uint64, np.uint64]


@dataclass(frozen=True)
class InferredSurnames:
    """Surnames inferred for targets and sets of shared loci; arrays of equal shape.

    Parameters
    ----------
    surnames : ndarray of int64
        Surname code; -1 where no locus is shared.
    confidence : ndarray of float64
        Confidence in the surname, in [0, 1]; 0 where no locus is shared. See `confidence_score`.
    """

    surnames: Integers
    confidence: Floats


@borrowing()
def nearest_surname(
    tables: AncestryTables,
    genealogy: GenealogyArrays,
    room: Workspace,
    cache: DistanceCache,
    shared: np.uint64,
    candidate_share: float,
) -> tuple[int, float]:
    """Return the inferred surname and its confidence, after `compare_target`.

    Candidates are the men whose number of agreeing loci is at least `candidate_share` of the largest such number of any
    man. They are ordered by distance (mean generations to the common ancestor), the earlier row first among equals. The
    first gives the surname. The runner-up, used for the confidence, is the first of the ten nearest with another
    surname, if there is one. Without shared loci, the result is -1 and 0.
    """
    if shared == 0:
        return NO_SURNAME, 0.0
    fewest = fewest_agreements(room.agreeing, room.ends, shared, candidate_share)
    # Men outside the workspace agree at fewer loci than the floor. So no candidate is missed if candidates need at
    # least that many agreements.
    everybody = False
    while fewest < room.floor[0] and not everybody:
        everybody = room.expected[fewest] > max(_MOST_LEADERS, len(room.rows) // 8)
        if not everybody:
            lower_floor(genealogy, room, fewest)
            fewest = fewest_agreements(room.agreeing, room.ends, shared, candidate_share)
    # Unpack the tuples once: passing a tuple of arrays costs more than looking up a distance.
    agreeing, observed, rows, surnames = room.agreeing, room.observed, room.rows, genealogy.surnames
    by_pattern, weights, other_weights = tables.by_pattern, room.weights[0], room.weights[1]
    candidates, distances, patterns, kept = room.candidates, room.distances, cache.patterns, cache.distances
    n = candidates_among_all(genealogy, room, shared, candidate_share) if everybody else 0
    for i in range(0 if everybody else room.ends[fewest]):
        candidates[n] = i
        n += count_bits(agreeing[i] & shared) >= fewest
    # The nearest man so far and the nearest with another surname; men further away do not matter.
    first = other = (np.inf, np.int32(-1), _NOTHING, _NOTHING)
    surname = NO_SURNAME
    for k in range(n):
        i = candidates[k]
        agree = agreeing[i] & shared
        differ = observed[i] & shared & ~agree
        if tables.nearest[count_bits(agree), count_bits(differ)] > other[0]:
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


@borrowing()
def _order(distance: float, row: int | np.signedinteger, agree: np.uint64, differ: np.uint64, other: _Man) -> int:
    """Return -1 if a man comes before another, 1 if after, 0 if undecided by rounding."""
    if other[1] < 0 or distance < other[0] * (1.0 - ROUNDING):
        return -1
    if distance > other[0] * (1.0 + ROUNDING):
        return 1
    if agree == other[2] and differ == other[3]:
        return -1 if row < other[1] else 1
    return 0


@borrowing()
def _is_nearer(tables: AncestryTables, cache: DistanceCache, weights: Floats, one: _Man, other: _Man) -> bool:
    """Return whether a man is nearer by exact distance, or earlier at equal distance."""
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
        self.cache = distance_cache()

    def infer(self, targets: Integers, shared: NDArray[np.bool_]) -> InferredSurnames:
        """Infer the surname of each target from the loci it shares.

        Parameters
        ----------
        targets : ndarray of int, shape (n, n_loci)
            Alleles of the targets, 0 where missing.
        shared : ndarray of bool, shape (n_loci,), (n, n_loci) or (n, n_sets, n_loci)
            Loci shared: by all targets, by each target, or several sets for each target.

        Returns
        -------
        InferredSurnames
            Arrays of shape (n,), or (n, n_sets) where several sets are given.
        """
        people = np.ascontiguousarray(targets, dtype=np.int32)
        masks = np.asarray(shared, dtype=np.bool_)
        several = masks.ndim == 3
        n_sets = masks.shape[1] if several else 1
        shape = (len(people), n_sets, people.shape[1])
        bits = pack_bits(np.broadcast_to(masks if several else masks[..., None, :], shape))
        surnames = np.zeros(bits.shape, dtype=np.int64)
        confidence = np.zeros(bits.shape)
        _infer_all(
            self.tables,
            self.genealogy,
            self.room,
            self.cache,
            people,
            bits,
            self.candidate_share,
            surnames,
            confidence,
        )
        return InferredSurnames(surnames, confidence) if several else InferredSurnames(surnames[:, 0], confidence[:, 0])


def pack_bits(shared: NDArray[np.bool_]) -> Bits:
    """Return sets of loci, masks of shape (..., n_loci), as bits, shape (...).

    Bit j is locus j.
    """
    powers = _ONE << np.arange(shared.shape[-1], dtype=np.uint64)
    return np.asarray((shared * powers).sum(axis=-1, dtype=np.uint64))

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
    Ancestry,
    AncestryTables,
    Bits,
    DistanceCache,
    Floats,
    confidence_score,
    distance_cache,
    posterior,
    slot_of,
)

Integers = NDArray[np.int64]

NO_SURNAME = -1
"""Surname code where nothing can be inferred."""

NEAREST = 10
"""Men among whom the runner-up is looked for."""

_ONE = np.uint64(1)
_BLOCK = 4096


class GenealogyArrays(NamedTuple):
    """A genealogy as the compiled functions read it.

    Parameters
    ----------
    alleles : ndarray of int32, shape (n_loci, n_men)
        0 where missing.
    observed : ndarray of uint64, shape (n_men,)
        Loci that are not missing.
    surnames : ndarray of int64, shape (n_men,)
        Codes, 0 or more.
    """

    alleles: NDArray[np.int32]
    observed: Bits
    surnames: Integers


class Workspace(NamedTuple):
    """Room for one target at a time: the men of the genealogy by the number of loci at which they agree with him.

    Parameters
    ----------
    agreeing, observed : ndarray of uint64, shape (n_men,)
        Loci at which each man agrees with the target, and those known of both; men by falling number of agreements,
        in the order of the genealogy among equals.
    rows : ndarray of int32, shape (n_men,)
        Their rows in the genealogy.
    ends : ndarray of int64, shape (n_loci + 1,)
        ``ends[k]`` men agree at k loci or more.
    unsorted : ndarray of uint64, shape (n_men,)
        Agreements in the order of the genealogy.
    distances : ndarray of float64, shape (NEAREST,)
        Distances of the nearest men, best first.
    nearest : ndarray of uint64, shape (NEAREST, 3)
        Their rows, and the loci at which they agree and differ.
    posteriors : ndarray of float64, shape (2, horizon + 1)
        Of the nearest man and the runner-up.
    """

    agreeing: Bits
    observed: Bits
    rows: NDArray[np.int32]
    ends: Integers
    unsorted: Bits
    distances: Floats
    nearest: Bits
    posteriors: Floats


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
    columns = np.ascontiguousarray(alleles.T, dtype=np.int32)
    return GenealogyArrays(columns, observed, np.ascontiguousarray(surnames, dtype=np.int64))


def workspace(genealogy: GenealogyArrays, horizon: int) -> Workspace:
    """Return room to work in for one target at a time."""
    n_loci, n = genealogy.alleles.shape
    return Workspace(
        agreeing=np.zeros(n, np.uint64),
        observed=np.zeros(n, np.uint64),
        rows=np.zeros(n, np.int32),
        ends=np.zeros(n_loci + 1, np.int64),
        unsorted=np.zeros(n, np.uint64),
        distances=np.zeros(NEAREST),
        nearest=np.zeros((NEAREST, 3), np.uint64),
        posteriors=np.zeros((2, horizon + 1)),
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
    counts = np.zeros(n_loci + 1, np.int64)
    known = np.uint64(0)
    for j in range(n_loci):
        if target[j] > 0:
            known |= _ONE << np.uint64(j)
    for start in range(0, n, _BLOCK):
        # In blocks, so that one pass per locus stays in the cache.
        end = min(n, start + _BLOCK)
        room.unsorted[start:end] = np.uint64(0)
        for j in range(n_loci):
            allele = target[j]
            if allele > 0:
                for row in range(start, end):
                    room.unsorted[row] |= np.uint64(genealogy.alleles[j, row] == allele) << np.uint64(j)
        for row in range(start, end):
            counts[_count_bits(room.unsorted[row])] += 1
    place = np.zeros(n_loci + 1, np.int64)
    total = 0
    for agreements in range(n_loci, -1, -1):
        place[agreements] = total
        total += counts[agreements]
        room.ends[agreements] = total
    for row in range(n):
        bits = room.unsorted[row]
        agreements = _count_bits(bits)
        to = place[agreements]
        place[agreements] += 1
        room.agreeing[to] = bits
        room.observed[to] = genealogy.observed[row] & known
        room.rows[to] = row


@numba.njit(cache=True)
def most_agreements(agreeing: Bits, ends: Integers, shared: np.uint64) -> int:
    """Return the most loci of a set at which anyone agrees with the target; see `Workspace`."""
    best, start = 0, 0
    for agreements in range(len(ends) - 1, 0, -1):
        if agreements <= best:
            break
        for i in range(start, ends[agreements]):
            best = max(best, _count_bits(agreeing[i] & shared))
        start = ends[agreements]
    return best


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
    fewest = max(int(np.ceil(candidate_share * most_agreements(room.agreeing, room.ends, shared) - 1e-9)), 0)
    # Taken out of their tuples once: handing a tuple of arrays on costs more than looking a distance up.
    all_agreeing, all_observed, rows = room.agreeing, room.observed, room.rows
    patterns, kept = cache.patterns, cache.distances
    distances, nearest = room.distances, room.nearest
    first, second = room.posteriors[0], room.posteriors[1]
    found = 0
    for i in range(room.ends[fewest]):
        agreeing = all_agreeing[i] & shared
        if _count_bits(agreeing) < fewest:
            continue
        differing = all_observed[i] & shared & ~agreeing
        slot = slot_of(agreeing, differing, len(kept))
        if kept[slot] < 0.0 or patterns[slot, 0] != agreeing or patterns[slot, 1] != differing:
            patterns[slot, 0] = agreeing
            patterns[slot, 1] = differing
            kept[slot] = posterior(tables, agreeing, differing, first)
        distance, row = kept[slot], np.uint64(rows[i])
        if found == NEAREST:
            last = NEAREST - 1
            if distance > distances[last] or (distance == distances[last] and row > nearest[last, 0]):
                continue
        else:
            last = found
            found += 1
        while last > 0 and (
            distance < distances[last - 1] or (distance == distances[last - 1] and row < nearest[last - 1, 0])
        ):
            distances[last] = distances[last - 1]
            nearest[last] = nearest[last - 1]
            last -= 1
        distances[last] = distance
        nearest[last, 0], nearest[last, 1], nearest[last, 2] = row, agreeing, differing
    surname = genealogy.surnames[nearest[0, 0]]
    runner_up = 0
    for k in range(1, found):
        if genealogy.surnames[nearest[k, 0]] != surname:
            runner_up = k
            break
    posterior(tables, nearest[0, 1], nearest[0, 2], first)
    has_runner_up = runner_up > 0
    if has_runner_up:
        has_runner_up = posterior(tables, nearest[runner_up, 1], nearest[runner_up, 2], second) < np.inf
    return surname, confidence_score(tables.unrelated_survival, first, second, has_runner_up)


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

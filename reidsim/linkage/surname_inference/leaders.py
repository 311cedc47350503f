"""Surnames of the same targets inferred again and again: the men who agree most with each are kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.borrowed_arrays import borrowing, owning
from reidsim.linkage.number_checks import checked_alleles
from reidsim.linkage.surname_inference.comparison import (
    GenealogyArrays,
    Integers,
    Workspace,
    compare_target,
    fewest_agreements,
)
from reidsim.linkage.surname_inference.inference import InferredSurnames, SurnameInference, nearest_surname, pack_bits
from reidsim.linkage.surname_inference.tmrca import AncestryTables, Bits, DistanceCache, Floats

_MOST_KEPT = 3_000_000
_FEWEST_PER_TARGET = 64


def kept_of_target(n_targets: int, n_men: int) -> int:
    """Return how many men are kept of each target."""
    return min(max(_FEWEST_PER_TARGET, _MOST_KEPT // max(n_targets, 1)), n_men)


class Leaders(NamedTuple):
    """For each target, the men at the head of its `Workspace`.

    Attributes
    ----------
    agreeing, observed : ndarray of uint64, shape (n_targets, n_kept)
    rows : ndarray of int32, shape (n_targets, n_kept)
    ends : ndarray of int64, shape (n_targets, n_loci + 1)
        As in `Workspace`, as if there were nobody but the men kept.
    floor : ndarray of int64, shape (n_targets,)
        All men with so many agreements are kept; one more than there are loci for a target not compared yet.
    """

    agreeing: Bits
    observed: Bits
    rows: NDArray[np.int32]
    ends: Integers
    floor: Integers


class SurnamesOfTargets:
    """Infers surnames of the same targets from ever other sets of loci.

    Only the first time is a target compared with the whole genealogy: from then on with the men who agree most, as
    long as all candidates are among them. Results are those of `SurnameInference`.

    Parameters
    ----------
    inference : SurnameInference
    targets : ndarray of int, shape (n_targets, n_loci)
    n_kept : int, optional
        Men kept per target; by default so many that all take some 60 MB.
    """

    def __init__(self, inference: SurnameInference, targets: Integers, n_kept: int | None = None) -> None:
        self.inference = inference
        people = checked_alleles("targets", targets, inference.n_loci)
        self.targets = np.ascontiguousarray(people, dtype=np.int32)
        n, n_men = len(people), inference.genealogy.alleles.shape[1]
        size = min(n_kept, n_men) if n_kept else kept_of_target(n, n_men)
        self.leaders = Leaders(
            agreeing=np.zeros((n, size), np.uint64),
            observed=np.zeros((n, size), np.uint64),
            rows=np.zeros((n, size), np.int32),
            ends=np.zeros((n, inference.n_loci + 1), np.int64),
            floor=np.full(n, inference.n_loci + 1, np.int64),
        )

    def infer(self, rows: NDArray[np.intp], shared: NDArray[np.bool_]) -> InferredSurnames:
        """Infer the surnames of some targets who share the same loci.

        Parameters
        ----------
        rows : ndarray of int, shape (n,)
            Which targets.
        shared : ndarray of bool, shape (n_loci,)
        """
        surnames, confidence = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        made = self.inference
        _infer_rows(
            made.tables,
            made.genealogy,
            made.room,
            made.cache,
            self.leaders,
            self.targets,
            np.asarray(rows),
            np.uint64(pack_bits(shared)),
            made.candidate_share,
            surnames,
            confidence,
        )
        return InferredSurnames(surnames, confidence)


@owning()
def _keep_leaders(room: Workspace, leaders: Leaders, target: int) -> None:
    n_kept = leaders.rows.shape[1]
    floor = room.floor[0]
    while floor < len(room.ends) and room.ends[floor] > n_kept:
        floor += 1
    kept = room.ends[floor] if floor < len(room.ends) else 0
    agreeing, observed, rows = leaders.agreeing[target], leaders.observed[target], leaders.rows[target]
    own_agreeing, own_observed, own_rows = room.agreeing, room.observed, room.rows
    for man in range(kept):
        agreeing[man], observed[man], rows[man] = own_agreeing[man], own_observed[man], own_rows[man]
    for agreements in range(len(room.ends)):
        leaders.ends[target, agreements] = min(room.ends[agreements], kept)
    leaders.floor[target] = floor


@borrowing()
def _infer_rows(
    tables: AncestryTables,
    genealogy: GenealogyArrays,
    room: Workspace,
    cache: DistanceCache,
    leaders: Leaders,
    targets: NDArray[np.int32],
    rows: NDArray[np.intp],
    shared: np.uint64,
    candidate_share: float,
    surnames: Integers,
    confidence: Floats,
) -> None:
    for i, target in enumerate(rows):
        kept = Workspace(
            leaders.agreeing[target],
            leaders.observed[target],
            leaders.rows[target],
            leaders.ends[target],
            leaders.floor[target : target + 1],
            room.target,
            room.counts,
            room.eights,
            room.shared_counts,
            room.expected,
            room.distances,
            room.candidates,
            room.weights,
        )
        room_of = kept
        enough = shared == 0 or fewest_agreements(kept.agreeing, kept.ends, shared, candidate_share) >= kept.floor[0]
        if not enough:
            compare_target(genealogy, targets[target], room)
            room_of = room
        surnames[i], confidence[i] = nearest_surname(tables, genealogy, room_of, cache, shared, candidate_share)
        if not enough:
            # What this set needed, others may need too.
            _keep_leaders(room, leaders, target)

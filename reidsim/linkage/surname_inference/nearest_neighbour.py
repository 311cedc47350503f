"""The surname of the nearest man by the sum of differences in repeats: the alternative inference of Wan et al. 2021."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reidsim.borrowed_arrays import owning
from reidsim.linkage.surname_inference.comparison import GenealogyArrays, Integers
from reidsim.linkage.surname_inference.inference import NO_SURNAME, InferredSurnames

_ONE = np.uint64(1)


def nearest_neighbour_surnames(
    genealogy_alleles: Integers, genealogy_surnames: Integers, targets: Integers, shared: NDArray[np.bool_]
) -> InferredSurnames:
    """Infer the surname of each target from the nearest man in L1 distance over the loci shared.

    A missing allele is the number 0, as in the published files, so that a man with gaps is far from everybody. Of
    equally near men the earlier row counts. The confidence is 1; without a shared locus nothing is inferred.

    Parameters
    ----------
    genealogy_alleles : ndarray of int, shape (n_men, n_loci)
    genealogy_surnames : ndarray of int, shape (n_men,)
    targets : ndarray of int, shape (n, n_loci)
    shared : ndarray of bool, shape (n_loci,) or (n, n_loci)

    Returns
    -------
    InferredSurnames
        Arrays of shape (n,).
    """
    # Slow to import, and few attacks use it.
    from sklearn.metrics import pairwise_distances_chunked

    masks = np.broadcast_to(np.asarray(shared, dtype=np.bool_), targets.shape)
    surnames = np.full(len(targets), NO_SURNAME, dtype=np.int64)
    for loci in np.unique(masks, axis=0):
        rows = np.flatnonzero((masks == loci).all(axis=1))
        if not loci.any() or not len(rows):
            continue
        # Whole distances rather than a search tree: among equals argmin takes the first row, a tree any.
        chunks: Iterator[NDArray[np.intp]] = pairwise_distances_chunked(
            targets[np.ix_(rows, np.flatnonzero(loci))],
            genealogy_alleles[:, loci],
            reduce_func=lambda distances, _: distances.argmin(axis=1),
            metric="manhattan",
        )
        surnames[rows] = genealogy_surnames[np.concatenate(list(chunks))]
    return InferredSurnames(surnames, (surnames != NO_SURNAME).astype(np.float64))


@owning()
def nearest_neighbour_surname(genealogy: GenealogyArrays, target: NDArray[np.int32], shared: np.uint64) -> int:
    """Return the same for one target and set of loci, as compiled solvers need it by the hundred thousand."""
    if shared == 0:
        return NO_SURNAME
    n_loci, n = genealogy.alleles.shape
    distances = np.zeros(n, np.int32)
    for j in range(n_loci):
        if shared >> np.uint64(j) & _ONE:
            allele = target[j]
            for row in range(n):
                distances[row] += abs(genealogy.alleles[j, row] - allele)
    return int(genealogy.surnames[np.argmin(distances)])

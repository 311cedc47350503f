"""Surname of the nearest man by the sum of differences in repeats.

This is the alternative inference of Wan et al. 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import owning
from reidsim.linkage.surname_inference.comparison import GenealogyArrays, Integers, genealogy_arrays
from reidsim.linkage.surname_inference.inference import NO_SURNAME, InferredSurnames, pack_bits

_ONE = np.uint64(1)


def nearest_neighbour_surnames(
    genealogy_alleles: Integers, genealogy_surnames: Integers, targets: Integers, shared: NDArray[np.bool_]
) -> InferredSurnames:
    """Infer each target's surname from the nearest man in L1 distance at shared loci.

    A missing allele counts as the number 0, as in the published files, so a man with gaps is far from all others. The
    earlier row wins a tie. The confidence is 1; without a shared locus nothing is inferred.

    Parameters
    ----------
    genealogy_alleles : ndarray of int, shape (n_men, n_loci)
        Numbers of repeats, 0 where missing.
    genealogy_surnames : ndarray of int, shape (n_men,)
        Surname codes, 0 or more.
    targets : ndarray of int, shape (n, n_loci)
        Alleles of the targets, 0 where missing.
    shared : ndarray of bool, shape (n_loci,) or (n, n_loci)
        Loci shared: by all targets, or by each target.

    Returns
    -------
    InferredSurnames
        Arrays of shape (n,).
    """
    genealogy = genealogy_arrays(genealogy_alleles, genealogy_surnames)
    sets = pack_bits(np.broadcast_to(np.asarray(shared, dtype=np.bool_), targets.shape))
    people = np.ascontiguousarray(targets, dtype=np.int32)
    nearest = [nearest_neighbour_surname(genealogy, one, known) for one, known in zip(people, sets, strict=True)]
    surnames = np.array(nearest, dtype=np.int64)
    return InferredSurnames(surnames, (surnames != NO_SURNAME).astype(np.float64))


@owning()
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
            allele = target[j]
            for row in range(n):
                distances[row] += abs(genealogy.alleles[j, row] - allele)
    return int(genealogy.surnames[np.argmin(distances)])

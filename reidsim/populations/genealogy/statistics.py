"""Figures that describe the haplotypes of a genealogy.

Haplotypes are those of men; women have none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.genealogy.genealogy import Haplotypes

Ints = NDArray[np.int64]


def haplotype_diversity(haplotypes: Haplotypes) -> float:
    """Return the probability that two different people have different haplotypes.

    Parameters
    ----------
    haplotypes : ndarray of uint8, shape (n, n_loci)
        Of at least two people.

    Notes
    -----
    ``n / (n - 1) (1 - sum of squared frequencies)``: Nei, Molecular Evolutionary Genetics (1987), Eq. 8.4.
    """
    _require_two(len(haplotypes))
    return 1 - _same_pairs(_groups(haplotypes)) / _pairs(len(haplotypes))


def same_surname_given_same_haplotype(haplotypes: Haplotypes, surnames: NDArray[np.integer]) -> float:
    """Return the probability that two different people of the same haplotype have the same surname.

    Parameters
    ----------
    haplotypes : ndarray of uint8, shape (n, n_loci)
    surnames : ndarray of int, shape (n,)

    Returns
    -------
    float
        Over all pairs alike; NaN if no two people have the same haplotype.
    """
    _require_two(len(haplotypes))
    haplotype = _groups(haplotypes)
    alike = _same_pairs(haplotype)
    both = haplotype * (int(surnames.max()) + 1) + surnames
    return _same_pairs(both) / alike if alike else float("nan")


def _groups(haplotypes: Haplotypes) -> Ints:
    """Return the number of each person's haplotype among the distinct ones."""
    whole = np.ascontiguousarray(haplotypes).view(np.dtype((np.void, haplotypes.shape[1]))).ravel()
    _, inverse = np.unique(whole, return_inverse=True)
    return inverse.astype(np.int64)


def _same_pairs(keys: Ints) -> float:
    _, counts = np.unique(keys, return_counts=True)
    return float((counts * (counts - 1)).sum() / 2)


def _pairs(n: int) -> float:
    return n * (n - 1) / 2


def _require_two(n: int) -> None:
    if n < 2:
        raise InputError("too few people to compare", found=n, expected="at least 2")

"""Figures by which the engines of genealogies are compared with each other and with the published world."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.genealogy.genealogy import NO_PARENT, Genealogy, Haplotypes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def allele_frequencies(haplotypes: Haplotypes) -> Floats:
    """Return the share of each allele at each locus, shape (n_loci, 256)."""
    columns = haplotypes.astype(np.int64).T
    return np.array([np.bincount(column, minlength=256) / len(haplotypes) for column in columns])


def surname_spectrum(surnames: NDArray[np.integer], n_surnames: int) -> Floats:
    """Return the share of people with the most frequent surname, the second, and so on, shape (n_surnames,)."""
    return np.sort(np.bincount(surnames, minlength=n_surnames))[::-1] / len(surnames)


def couples(genealogy: Genealogy) -> tuple[Ints, Ints]:
    """Return the rows of husbands and wives: each couple with a child once, in the order of its first child."""
    children = np.flatnonzero(genealogy.father != NO_PARENT)
    pairs = genealogy.father[children].astype(np.int64) * len(genealogy) + genealogy.mother[children]
    _, first = np.unique(pairs, return_index=True)
    chosen = children[np.sort(first)]
    return genealogy.father[chosen].astype(np.int64), genealogy.mother[chosen].astype(np.int64)


def marriage_gaps(genealogy: Genealogy) -> Ints:
    """Return how many years each husband was born after his wife (negative: before), shape (n_couples,)."""
    husbands, wives = couples(genealogy)
    return (genealogy.birth_year[husbands] - genealogy.birth_year[wives]).astype(np.int64)

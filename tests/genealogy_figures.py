"""Statistics that compare genealogy engines with each other and published data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.populations.genealogy.genealogy import MAN, NO_ALLELE, NO_PARENT, WOMAN, Genealogy, Haplotypes, Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def allele_frequencies(haplotypes: Haplotypes) -> Floats:
    """Return the share of each allele at each locus, shape (n_loci, 256)."""
    columns = haplotypes.astype(np.int64).T
    return np.array([np.bincount(column, minlength=256) / len(haplotypes) for column in columns])


def surname_spectrum(surnames: NDArray[np.integer], n_surnames: int) -> Floats:
    """Return surname shares in descending order, shape (n_surnames,)."""
    return np.sort(np.bincount(surnames, minlength=n_surnames))[::-1] / len(surnames)


def couples(genealogy: Genealogy) -> tuple[Ints, Ints]:
    """Return the rows of husbands and of wives, once per couple with a child.

    Couples are in the order of their first child.
    """
    children = np.flatnonzero(genealogy.father != NO_PARENT)
    pairs = genealogy.father[children].astype(np.int64) * len(genealogy) + genealogy.mother[children]
    _, first = np.unique(pairs, return_index=True)
    chosen = children[np.sort(first)]
    return genealogy.father[chosen].astype(np.int64), genealogy.mother[chosen].astype(np.int64)


def marriage_gaps(genealogy: Genealogy) -> Ints:
    """Return husbands' birth years minus their wives', in years, shape (n_couples,)."""
    husbands, wives = couples(genealogy)
    return (genealogy.birth_year[husbands] - genealogy.birth_year[wives]).astype(np.int64)


def haplotype_diversity(haplotypes: Haplotypes) -> float:
    """Return the probability that two different people have different haplotypes.

    ``n / (n - 1) (1 - sum of squared frequencies)``: Nei, Molecular Evolutionary Genetics (1987), Eq. 8.4.
    """
    n = len(haplotypes)
    return 1 - _same_pairs(_groups(haplotypes)) / (n * (n - 1) / 2)


def same_surname_given_same_haplotype(haplotypes: Haplotypes, surnames: NDArray[np.integer]) -> float:
    """Return the probability that two people of the same haplotype share a surname.

    NaN if no two people have the same haplotype.
    """
    haplotype = _groups(haplotypes)
    alike = _same_pairs(haplotype)
    both = haplotype * (int(surnames.max()) + 1) + surnames
    return _same_pairs(both) / alike if alike else float("nan")


def _groups(haplotypes: Haplotypes) -> Ints:
    """Return the index of each person's haplotype among the distinct haplotypes."""
    return np.unique(haplotypes, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _same_pairs(keys: Ints) -> float:
    _, counts = np.unique(keys, return_counts=True)
    return float((counts * (counts - 1)).sum() / 2)


def check_pedigree(genealogy: Genealogy) -> None:
    """Raise an error unless a genealogy obeys the rules of every genealogy.

    Parents are a man and a woman of earlier generations, born before their children. Surnames follow the paternal line.
    A son's haplotype is his father's except for the father's recorded mutations. Women have no haplotype.

    Raises
    ------
    InputError
        For the first broken rule; names the row (from 0) of the first child or mutation that breaks it.
    """
    g = genealogy
    children = np.flatnonzero(g.father != NO_PARENT)
    father, mother = g.father[children], g.mother[children]
    _require((g.father == NO_PARENT) == (g.mother == NO_PARENT), "an individual with one parent")
    for parent, name in ((father, "father"), (mother, "mother")):
        _require((parent >= 0) & (parent < len(g)), f"a {name} who is not in the genealogy", children)
    _require(g.sex[father] == MAN, "a father who is not a man", children)
    _require(g.sex[mother] == WOMAN, "a mother who is not a woman", children)
    for parent, name in ((father, "father"), (mother, "mother")):
        _require(g.generation[parent] < g.generation[children], f"a {name} of no earlier generation", children)
        _require(g.birth_year[parent] < g.birth_year[children], f"a child as old as the {name}", children)
    _require(g.surname[father] == g.surname[children], "a surname that is not the father's", children)
    _require((g.haplotypes == NO_ALLELE).all(axis=1) == (g.sex == WOMAN), "a haplotype that does not go with the sex")
    mutations = g.mutations
    before = g.haplotypes[mutations.individual, mutations.locus]
    _require((before == mutations.before) & (before != mutations.after), "a mutation that does not fit the haplotype")
    sons = children[g.sex[children] == MAN]
    same = transmitted(g, g.father[sons].astype(np.int64)) == g.haplotypes[sons]
    _require(same.all(axis=1), "a haplotype that differs from the father's by more than his mutations", sons)


def _require(holds: NDArray[np.bool_], problem: str, rows: Rows | None = None) -> None:
    if not holds.all():
        row = int(holds.argmin())
        raise InputError(problem, where=f"row {row if rows is None else rows[row]}")


def transmitted(genealogy: Genealogy, rows: Rows) -> Haplotypes:
    """Return the haplotypes at birth of the sons of men, shape (n_rows, n_loci)."""
    passed_on = genealogy.haplotypes[rows]
    order = np.argsort(rows, kind="stable")
    # A man is listed once per son, each time with all of his mutations.
    first = np.searchsorted(rows[order], genealogy.mutations.individual, side="left")
    times = np.searchsorted(rows[order], genealogy.mutations.individual, side="right") - first
    mutation = np.repeat(np.arange(len(times)), times)
    within = np.arange(len(mutation)) - np.repeat(np.cumsum(times) - times, times)
    sons = order[first[mutation] + within]
    passed_on[sons, genealogy.mutations.locus[mutation]] = genealogy.mutations.after[mutation]
    return passed_on

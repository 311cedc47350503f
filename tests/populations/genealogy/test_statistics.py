"""Statistics of genealogies against sums over all pairs."""

import math
from itertools import combinations

import numpy as np
import pytest
from genealogy_figures import (
    allele_frequencies,
    couples,
    haplotype_diversity,
    marriage_gaps,
    same_surname_given_same_haplotype,
    surname_spectrum,
)
from hypothesis import given
from hypothesis import strategies as st

from reidsim.populations.genealogy.vectorised import simulate

people = st.integers(1, 20).flatmap(
    lambda n_loci: st.lists(
        st.tuples(st.tuples(*[st.sampled_from([9, 10, 255])] * n_loci), st.integers(0, 3)), min_size=2, max_size=12
    )
)


@given(people)
def test_pairs(drawn):
    haplotypes = np.array([haplotype for haplotype, _ in drawn], dtype=np.uint8)
    surnames = np.array([surname for _, surname in drawn])
    pairs = list(combinations(drawn, 2))
    alike = [pair for pair in pairs if pair[0][0] == pair[1][0]]
    assert haplotype_diversity(haplotypes) == pytest.approx(1 - len(alike) / len(pairs))
    found = same_surname_given_same_haplotype(haplotypes, surnames)
    if alike:
        assert found == pytest.approx(sum(first[1] == second[1] for first, second in alike) / len(alike))
    else:
        assert math.isnan(found)


@given(people)
def test_shares(drawn):
    haplotypes = np.array([haplotype for haplotype, _ in drawn], dtype=np.uint8)
    frequencies = allele_frequencies(haplotypes)
    assert frequencies.shape == (haplotypes.shape[1], 256)
    for locus in range(haplotypes.shape[1]):
        for allele in (9, 10, 255):
            assert frequencies[locus, allele] == pytest.approx((haplotypes[:, locus] == allele).mean())
    spectrum = surname_spectrum(np.array([surname for _, surname in drawn]), 5)
    assert spectrum.shape == (5,)
    assert spectrum.sum() == pytest.approx(1)
    assert (np.diff(spectrum) <= 0).all()
    names = [surname for _, surname in drawn]
    assert sorted(spectrum[spectrum > 0]) == pytest.approx(
        sorted(names.count(name) / len(names) for name in set(names))
    )


def test_couples_and_gaps(villages, parameters_of):
    genealogy = simulate(parameters_of(villages), 2)
    first_child = {}
    for child, pair in enumerate(zip(genealogy.father.tolist(), genealogy.mother.tolist(), strict=True)):
        if pair != (-1, -1):
            first_child.setdefault(pair, child)
    husbands, wives = couples(genealogy)
    assert list(zip(husbands.tolist(), wives.tolist(), strict=True)) == list(first_child)
    years = genealogy.birth_year.tolist()
    assert marriage_gaps(genealogy).tolist() == [years[man] - years[woman] for man, woman in first_child]

"""Relatives by nearest common ancestors, and probabilities that a search matches."""

import itertools
from functools import cache
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.linkage.relatives import Ancestry, Matching, at_least, relatives_within

# Grandparents 0 and 1, their children 2 and 3 with spouses 4 and 5, half-sibling 8 of 6, cousins 6 and 7.
FATHER = np.array([-1, -1, 0, 0, -1, -1, 2, 3, 2])
MOTHER = np.array([-1, -1, 1, 1, -1, -1, 4, 5, -1])


def pairs_of(found):
    n = len(found.starts) - 1
    return {
        (i, int(found.other[at])): (int(found.meioses[at]), float(found.relatedness[at]))
        for i in range(n)
        for at in range(found.starts[i], found.starts[i + 1])
    }


def test_a_family_of_three_generations_by_hand():
    found = pairs_of(relatives_within(FATHER, MOTHER, np.arange(9), 2))
    assert found[0, 2] == (1, 0.5)
    assert found[2, 3] == (2, 0.5)
    assert found[0, 6] == (2, 0.25)
    assert found[6, 8] == (2, 0.25)
    assert found[3, 6] == (3, 0.25)
    assert found[6, 7] == (4, 0.125)
    assert (0, 1) not in found
    assert (4, 5) not in found
    assert (6, 7) not in pairs_of(relatives_within(FATHER, MOTHER, np.arange(9), 1))
    assert pairs_of(relatives_within(FATHER, MOTHER, np.array([6, 7]), 2)) == {(0, 1): (4, 0.125), (1, 0): (4, 0.125)}


def inbred_pedigree(seed, n=12):
    """Return a small pedigree in random order, mostly with related parents.

    Some people have one known parent.
    """
    rng = np.random.default_rng(seed)
    parents = np.full((2, n), -1)
    for child in range(3, n):
        if rng.random() < 0.8:
            parents[:, child] = rng.choice(child, 2, replace=False)
            parents[rng.integers(2), child] *= rng.random() < 0.9
    order = rng.permutation(n)
    place = np.append(np.argsort(order), -1)
    return tuple(place[each[order]] for each in np.where(parents < 0, -1, parents))


def kinship(father, mother):
    """Return the kinship of all pairs, by recursion over the later person's parents."""

    @cache
    def depth(person):
        return 0 if person < 0 else 1 + max(depth(father[person]), depth(mother[person]))

    @cache
    def of(one, other):
        if min(one, other) < 0:
            return 0.0
        if one == other:
            return (1 + of(father[one], mother[one])) / 2
        if depth(one) < depth(other):
            one, other = other, one
        return (of(father[one], other) + of(mother[one], other)) / 2

    father, mother = father.tolist(), mother.tolist()
    return np.array([[of(i, j) for j in range(len(father))] for i in range(len(father))])


@examples(300)
@given(st.integers(0, 2**32 - 1))
def test_relatedness_in_inbred_pedigrees_is_that_of_the_kinship_recursion(seed):
    father, mother = inbred_pedigree(seed)
    found = kinship(father, mother)
    of_own = 2 * np.diag(found)
    expected = 2 * found / np.sqrt(np.outer(of_own, of_own))
    rows = np.random.default_rng(seed).permutation(12)[:9]
    pairs = pairs_of(relatives_within(father, mother, rows, 12))
    related = {(i, j) for i, j in itertools.permutations(range(9), 2) if found[rows[i], rows[j]] > 0}
    assert set(pairs) == related
    for (i, j), (_, relatedness) in pairs.items():
        assert relatedness == pytest.approx(expected[rows[i], rows[j]], abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_meioses_are_those_of_the_shortest_way_up_and_down(seed):
    """Enumerate every path of ancestors from each of two people."""
    n = 12
    father, mother = inbred_pedigree(seed)

    def ways(person, length=0):
        yield person, length
        for parent in (father[person], mother[person]):
            if parent >= 0:
                yield from ways(parent, length + 1)

    expected = {}
    for one, other in itertools.permutations(range(n), 2):
        meeting = [a + b for (i, a), (j, b) in itertools.product(ways(one), ways(other)) if i == j]
        if meeting and min(meeting) <= 4:
            expected[one, other] = min(meeting)
    found = pairs_of(relatives_within(father, mother, np.arange(n), 2))
    assert {pair: meioses for pair, (meioses, _) in found.items()} == expected


@pytest.mark.parametrize("generations", [1, 2, 3, 4, 5, 6])
def test_matches_are_those_of_the_printed_formula(generations):
    """Erlich et al. 2018, supplement, equation 4, as a sum."""
    g, n = generations, 2 * 35 * generations + 22
    p = exp(-2 * g * 0.06) / 2 ** (2 * g - 2)
    expected = 1 - sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(2))
    found = Matching().probability(np.array([2 * g]), np.array([2.0 ** (1 - 2 * g)]))
    assert found[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_the_chance_of_several_successes_is_a_binomial_tail(chance):
    for trials, number in itertools.product(range(5), range(1, 5)):
        tail = sum(comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(number, trials + 1))
        assert at_least(number, trials, chance) == pytest.approx(tail, rel=1e-12)


def test_common_ancestors_are_those_of_the_printed_formula():
    """Equation 2, for three generations of the population of Guo et al. 2023, Table 1."""
    couples = [90e6 * (2 / 2.5) ** g for g in (1, 2, 3)]
    each = [4.0 ** (g - 1) / n for g, n in zip((1, 2, 3), couples, strict=True)]
    expected = [each[0], each[1] * (1 - each[0]), each[2] * (1 - each[0]) * (1 - each[1])]
    assert Ancestry().sharing(3) == pytest.approx(expected, rel=1e-12)

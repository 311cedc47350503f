"""The default engine, rule by rule, against closed forms in simple populations.

Bounds of Monte Carlo comparisons are 4.5 standard errors (or the chi-square value exceeded with probability 1e-5).
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from genealogy_figures import check_pedigree
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.populations.genealogy.genealogy import MAN, NO_PARENT, Columns, Rules, marry, simulate

ERRORS = 4.5


def assert_shares(counts, shares):
    """Check counts of independent draws against their probabilities."""
    expected = np.asarray(shares) * np.sum(counts)
    assert expected.min() > 5
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < scipy.stats.chi2.ppf(1 - 1e-5, len(expected) - 1)


def children_of(genealogy):
    return np.flatnonzero(genealogy.father != NO_PARENT)


# Reproducibility


@examples(40)
@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=4),
    generations=st.integers(1, 6),
    n_loci=st.integers(1, 5),
    seed=st.integers(0, 2**64),
    rate=st.sampled_from([0.0, 0.3, 1.0]),
    leaves_pool=st.sampled_from([0.0, 0.5, 1.0]),
    wealth_steps=st.lists(st.integers(-3, 3), min_size=1, max_size=3),
    migrates=st.booleans(),
)
def test_pedigrees_of_any_size_hold(
    one_village, sizes, generations, n_loci, seed, rate, leaves_pool, wealth_steps, migrates
):
    p = one_village(
        2,
        generations,
        n_loci=n_loci,
        rate=rate,
        bounds=(9, 11),
        subpopulations=np.array(sizes),
        migration_generations=(0, 2) if migrates else (),
        migration_shares=np.full((len(sizes), len(sizes)), 1 / len(sizes)),
        leaves_pool=leaves_pool,
        wealth_steps=np.array(wealth_steps),
        state_from=np.array([0.2, 0.3, 0.5]),
        mother_ages=np.array([15, 40]),
        mother_age_shares=np.array([0.5, 0.5]),
    )
    try:
        genealogy = simulate(p, seed)
    except InputError as error:
        # In a village this small, all people may be of one sex.
        assert error.problem.startswith("no rank has both a man and a woman")  # noqa: PT017
        return
    assert len(genealogy) == p.total == len(genealogy.haplotypes)
    assert np.bincount(genealogy.generation).tolist() == [sum(sizes)] * generations
    of_each = [np.bincount(genealogy.subpopulation[genealogy.generation == g]).tolist() for g in range(generations)]
    assert of_each == [sizes] * generations
    check_pedigree(genealogy)
    men = genealogy.haplotypes[genealogy.sex == MAN]
    assert men.size == 0 or (men.min() >= 9 and men.max() <= 11)


def test_founders(published):
    founders = simulate(replace(published, generations=1), 4)
    n = len(founders)
    assert founders.sex[:4].tolist() == [MAN, 0, MAN, 0]
    assert founders.sex.sum() * 2 == n
    assert (founders.father == NO_PARENT).all()
    assert_shares(np.bincount(founders.birth_year - 1720, minlength=30), np.full(30, 1 / 30))
    assert_shares(np.bincount(founders.surname, minlength=1000), published.surname_shares)
    assert_shares(np.bincount(founders.state, minlength=51), published.state_shares)
    assert_shares(np.bincount(founders.wealth, minlength=41), published.wealth_shares)
    np.testing.assert_array_equal(
        founders.rank, np.where(founders.wealth < 16, 0, np.where(founders.wealth < 40, 1, 2))
    )
    men = founders.haplotypes[founders.sex == MAN]
    for locus, shares in enumerate(published.founder_alleles):
        possible = shares > 0
        counts = np.bincount(men[:, locus], minlength=256)
        assert counts[~possible].sum() == 0
        assert_shares(counts[possible], shares[possible])
    assert len(founders.mutations) == 0


def people_to_marry(sexes, birth_years, wealth, ranks, room):
    """Return columns whose first rows are people and whose others are for children."""
    n = len(sexes)

    def filled(values, dtype):
        return np.concatenate([values, np.zeros(room)]).astype(dtype)

    return Columns(
        father=np.full(n + room, NO_PARENT, dtype=np.int32),
        mother=np.full(n + room, NO_PARENT, dtype=np.int32),
        sex=filled(sexes, np.uint8),
        generation=np.zeros(n + room, dtype=np.int16),
        subpopulation=np.zeros(n + room, dtype=np.int16),
        surname=np.zeros(n + room, dtype=np.int32),
        birth_year=filled(birth_years, np.int32),
        state=np.zeros(n + room, dtype=np.int16),
        wealth=filled(wealth, np.int16),
        rank=filled(ranks, np.int8),
        haplotypes=np.zeros((n + room, 1), dtype=np.uint8),
    )


def marriage_rules(*rules):
    """Return rules for marriages in which every couple has one child; rules of births have no effect."""
    return Rules(
        *rules, np.array([1.0]), np.array([1]), np.array([1.0]), 0, *[np.array([1])] * 2, *[np.array([1.0])] * 2
    )


def test_who_marries_whom():
    """Ranks are drawn in proportion to size; suitable pairs have odds 1, others 0.3."""
    sexes = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 1])
    years = np.array([1800, 1794, 1807, 1803, 1800, 1810, 1806, 1811, 1820, 1800])
    wealth = np.array([1, 2, 0, 1, 2, 6, 6, 5, 7, 12])
    ranks = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2])  # no partner for the one man of the third
    room = 200_000
    columns = people_to_marry(sexes, years, wealth, ranks, room)
    rules = marriage_rules(3, 6, 3, 0.3, 0.0)
    assert marry(np.random.default_rng(1), np.arange(10, dtype=np.int32), columns, rules, 10, room)
    expected = np.zeros((10, 10))
    for rank, people_of_rank in ((0, 5), (1, 4)):
        for man in np.flatnonzero((sexes == 1) & (ranks == rank)):
            for woman in np.flatnonzero((sexes == 0) & (ranks == rank)):
                suited = -6 <= years[man] - years[woman] <= 3 and wealth[man] >= wealth[woman]
                expected[man, woman] = 1 if suited else 0.3
        of_rank = ranks == rank
        expected[of_rank] *= people_of_rank / 9 / expected[of_rank].sum()
    counts = np.zeros((10, 10))
    np.add.at(counts, (columns.father[10:], columns.mother[10:]), 1)
    assert counts[expected == 0].sum() == 0
    assert len(np.unique(np.round(expected[expected > 0], 9))) == 4  # suited and unsuited pairs, in both ranks
    assert_shares(counts[expected > 0], expected[expected > 0])


@pytest.mark.parametrize(("leaves_pool", "marriages_of_each"), [(1.0, 1.0), (0.8, 1.25)])
def test_how_often_people_marry(leaves_pool, marriages_of_each):
    """A probability q of leaving gives 1 / q marriages if the pool is emptied."""
    n = 2_000
    sexes = np.arange(2 * n) % 2
    room = int(n * marriages_of_each * 0.99)
    columns = people_to_marry(sexes, np.zeros(2 * n), np.zeros(2 * n), np.zeros(2 * n), room)
    rules = marriage_rules(1, 0, 0, 1.0, leaves_pool)
    assert marry(np.random.default_rng(1), np.arange(2 * n, dtype=np.int32), columns, rules, 2 * n, room)
    times = np.bincount(columns.father[2 * n :], minlength=2 * n)[sexes == 1]
    if leaves_pool == 1:
        assert times.max() == 1
    # The pool is nearly empty, so almost all people have had their last marriage.
    assert (times == 0).mean() < 0.03
    assert times.mean() == pytest.approx(marriages_of_each * 0.99, abs=1e-3)


def test_children_of_a_couple_are_poisson_without_zero(one_village):
    # Each person marries once, so a couple is one marriage; the last couple may have had no room for children.
    genealogy = simulate(one_village(40_000, 2, leaves_pool=1.0), 2)
    children = children_of(genealogy)
    pairs = genealogy.father[children].astype(np.int64) * len(genealogy) + genealogy.mother[children]
    sizes = np.unique(pairs, return_counts=True)[1]
    shares = scipy.stats.poisson.pmf(np.arange(1, 6), 1.6) / (1 - np.exp(-1.6))
    assert_shares(np.append(np.bincount(sizes)[1:6], (sizes > 5).sum()), np.append(shares, 1 - shares.sum()))
    assert sizes.mean() == pytest.approx(2.005, abs=ERRORS * 1.1 / np.sqrt(len(sizes)))
    # Siblings are adjacent.
    assert np.count_nonzero(np.diff(pairs)) == len(sizes) - 1


def test_nobody_can_marry(one_village):
    with pytest.raises(InputError, match="subpopulation 0, generation 0: no rank has both a man and a woman"):
        simulate(one_village(2, 3, wealth_shares=np.full(100, 1 / 100), rank_starts=np.arange(1, 100)), 1)


def test_migrants(villages, parameters_of):
    """Shares of 60, 80 and 100 people; the parents of children reveal migration."""
    genealogy = simulate(parameters_of(villages), 6)
    for generation in range(1, 5):
        born = genealogy.generation == generation
        moves = {
            (int(genealogy.subpopulation[parent]), int(home))
            for parents in (genealogy.father, genealogy.mother)
            for parent, home in zip(parents[born], genealogy.subpopulation[born], strict=True)
        }
        stayed = {(0, 0), (1, 1), (2, 2)}
        # Generations 0 and 2 move before their marriages; no person moves from the third village to the first.
        moved = {(0, 1), (0, 2), (1, 0), (1, 2), (2, 1)}
        assert moves == (stayed | moved if generation in (1, 3) else stayed)


def test_mutations_are_as_many_as_their_rates_say(published):
    genealogy = simulate(published, 3)
    men = ((genealogy.sex == MAN) & (genealogy.generation < 9)).sum()
    counts = np.bincount(genealogy.mutations.locus, minlength=16)
    expected = men * published.mutation_rates
    # No allele reaches a bound within ten generations.
    assert (np.abs(counts - expected) < ERRORS * np.sqrt(expected)).all()
    up = genealogy.mutations.after > genealogy.mutations.before
    assert abs(up.mean() - 0.5) < ERRORS * 0.5 / np.sqrt(len(up))
    assert (np.abs(genealogy.mutations.after.astype(int) - genealogy.mutations.before) == 1).all()


def test_sons_share_their_fathers_mutations(one_village):
    genealogy = simulate(one_village(2_000, 2, n_loci=3, rate=0.5), 3)
    sons = children_of(genealogy)
    sons = sons[genealogy.sex[sons] == MAN]
    different = {}
    for son in sons:
        different.setdefault(genealogy.father[son], set()).add(tuple(genealogy.haplotypes[son]))
    assert max(map(len, different.values())) == 1
    assert len({haplotype for haplotypes in different.values() for haplotype in haplotypes}) == 27


def test_birth_years(one_village):
    p = one_village(
        60_000,
        2,
        founder_birth_years=(1800, 1809),
        father_at_least=21,
        mother_ages=np.array([15, 20, 30]),
        mother_age_shares=np.array([0.2, 0.3, 0.5]),
    )
    genealogy = simulate(p, 5)
    children = children_of(genealogy)
    born = genealogy.birth_year[children]
    by_father = genealogy.birth_year[genealogy.father[children]] + 21
    after_mother = born - genealogy.birth_year[genealogy.mother[children]]
    assert (born >= by_father).all()
    assert np.isin(after_mother[born > by_father], [15, 20, 30]).all()
    # A father born up to 15 years after the mother cannot delay a birth.
    free = by_father <= genealogy.birth_year[genealogy.mother[children]] + 15
    assert_shares([np.sum(after_mother[free] == age) for age in (15, 20, 30)], [0.2, 0.3, 0.5])


def test_wealth_is_cut_towards_zero(one_village):
    """Parents of levels 0 and 1 average 1/2; steps -1, 0, 1 give levels 0, 0, 1."""
    p = one_village(30_000, 2, wealth_shares=np.array([0.5, 0.5]), wealth_steps=np.array([-1, 0, 1]))
    genealogy = simulate(p, 5)
    children = children_of(genealogy)
    mixed = genealogy.wealth[genealogy.father[children]] != genealogy.wealth[genealogy.mother[children]]
    levels = genealogy.wealth[children][mixed]
    assert set(levels) == {0, 1}
    assert_shares(np.bincount(levels), [2 / 3, 1 / 3])


def test_states(one_village):
    genealogy = simulate(one_village(60_000, 2, state_from=np.array([0.5, 0.2, 0.3])), 5)
    children = children_of(genealogy)
    own, his, hers = (
        genealogy.state[rows] for rows in (children, genealogy.father[children], genealogy.mother[children])
    )
    shares = np.array([0.5, 0.3, 0.2])
    for father in range(3):
        for mother in range(3):
            given = own[(his == father) & (hers == mother)]
            expected = 0.3 * shares + 0.5 * np.eye(3)[father] + 0.2 * np.eye(3)[mother]
            assert_shares(np.bincount(given, minlength=3), expected)

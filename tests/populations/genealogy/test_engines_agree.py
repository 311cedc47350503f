"""The two engines agree in distribution; they share rules, not code or draws.

Each figure's mean over replicate runs is compared by Welch's t statistic with the replicates of both engines. If the
engines agree, all figures of a group together exceed the tolerance with probability 1e-3.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from genealogy_figures import (
    allele_frequencies,
    couples,
    haplotype_diversity,
    marriage_gaps,
    same_surname_given_same_haplotype,
    surname_spectrum,
)

from reidsim.populations.genealogy import genealogy as vectorised
from reidsim.populations.genealogy import simupop_engine
from reidsim.populations.genealogy.genealogy import MAN

pytest.importorskip("simuOpt", reason="simuPOP is not installed (extra simupop)")

REPLICATES = {"vectorised": 60, "simupop": 20}


def figures(genealogy):
    """Return the figures of one genealogy by group, each a vector."""
    g = genealogy
    men = g.living()
    haplotypes, surnames = g.haplotypes[men], g.surname[men]
    spectrum = surname_spectrum(surnames, len(g.surnames))
    gaps = marriage_gaps(g)
    husbands, wives = couples(g)
    children = np.flatnonzero(g.father >= 0)
    pairs = g.father[children].astype(np.int64) * len(g) + g.mother[children]
    family_sizes = np.bincount(np.unique(pairs, return_counts=True)[1], minlength=8)
    later = range(1, g.n_generations)
    birth_years = [g.birth_year[g.generation == generation] for generation in later]
    wealth = [g.wealth[g.generation == generation] for generation in later]
    ranks = [np.bincount(g.rank[g.generation == generation], minlength=3) for generation in later]
    frequencies = allele_frequencies(haplotypes)
    return {
        "haplotype diversity": [haplotype_diversity(haplotypes[:, :m]) for m in (1, 2, 4, 8, 12, 16)],
        "allele frequencies": frequencies[:, 8:33].ravel(),
        "surname spectrum": [*spectrum[:20], spectrum[:100].sum(), (spectrum**2).sum(), (spectrum > 0).sum()],
        "same surname given same haplotype": [
            same_surname_given_same_haplotype(haplotypes[:, :m], surnames) for m in (1, 2, 3, 4, 6, 8)
        ],
        "birth years": [[years.mean(), years.std(), np.percentile(years, 10)] for years in birth_years],
        "states": np.bincount(g.state[men], minlength=51) / len(men),
        "states of fathers": np.mean(g.state[children] == g.state[g.father[children]]),
        "marriage gaps": [
            gaps.mean(), gaps.std(), *np.percentile(gaps, [1, 10, 90, 99]), np.mean((gaps >= -12) & (gaps <= 2)),
        ],
        "couples": [
            len(husbands), len(np.unique(husbands)), len(np.unique(wives)), *family_sizes[1:8],
            np.mean(g.wealth[husbands] >= g.wealth[wives]),
            np.mean(g.subpopulation[husbands] != g.subpopulation[wives]),
        ],
        "wealth": [[level.mean(), level.std(), level.min(), level.max()] for level in wealth],
        "ranks": ranks,
        "sexes": [np.mean(g.sex[g.generation == generation] == MAN) for generation in later],
        "mutations": [
            len(g.mutations),
            *np.bincount(g.mutations.locus, minlength=16),
            np.mean(g.mutations.after > g.mutations.before),
            np.mean(g.sex[g.mutations.individual] == MAN),
        ],
    }  # fmt: skip


def replicates(simulate, parameters, number):
    """Return by group the figures of `number` runs, shape (number, n_figures)."""
    runs = [figures(simulate(parameters, seed)) for seed in range(number)]
    return {name: np.array([np.ravel(run[name]) for run in runs], dtype=np.float64) for name in runs[0]}


def excess(first, second):
    """Return a group's largest Welch statistic as a multiple of its tolerance."""
    variances = first.var(axis=0, ddof=1) / len(first), second.var(axis=0, ddof=1) / len(second)
    spread = np.sqrt(variances[0] + variances[1])
    difference = np.abs(first.mean(axis=0) - second.mean(axis=0))
    varying = spread > 0
    if (difference[~varying] > 0).any():
        return np.inf
    freedom = spread[varying] ** 4 / (
        variances[0][varying] ** 2 / (len(first) - 1) + variances[1][varying] ** 2 / (len(second) - 1)
    )
    tolerance = scipy.stats.t.ppf(1 - 0.5e-3 / varying.sum(), freedom)
    return (difference[varying] / spread[varying] / tolerance).max()


@pytest.fixture(scope="module")
def rules(published):
    return replace(published, subpopulations=np.full(3, 400), generations=8)


@pytest.fixture(scope="module")
def by_vectorised(rules):
    return replicates(vectorised.simulate, rules, REPLICATES["vectorised"])


@pytest.fixture(scope="module")
def by_simupop(rules):
    return replicates(simupop_engine.simulate, rules, REPLICATES["simupop"])


GROUPS = (
    "haplotype diversity", "allele frequencies", "surname spectrum", "same surname given same haplotype", "birth years",
    "states", "states of fathers", "marriage gaps", "couples", "wealth", "ranks", "sexes", "mutations",
)  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("group", GROUPS)
def test_the_engines_agree(by_vectorised, by_simupop, group):
    assert set(by_simupop) == set(GROUPS)
    assert excess(by_vectorised[group], by_simupop[group]) < 1

"""The simuPOP engine: the same invariants, and the rules of simuPOP's operators."""

import subprocess
import sys

import numpy as np
import pytest
import scipy
from genealogy_figures import check_pedigree

from reidsim.errors import InputError
from reidsim.populations.genealogy.genealogy import MAN
from reidsim.populations.genealogy.simupop_engine import simulate

pytest.importorskip("simuOpt", reason="simuPOP is not installed (extra simupop)")


def test_pedigrees_hold(villages, parameters_of):
    p = parameters_of(villages)
    genealogy = simulate(p, 1)
    assert len(genealogy) == p.total == 1200
    assert np.bincount(genealogy.generation).tolist() == [240] * 5
    assert np.bincount(genealogy.subpopulation[:240]).tolist() == [60, 80, 100]
    check_pedigree(genealogy)
    assert len(genealogy.mutations) > 0
    assert (genealogy.engine, genealogy.seed, genealogy.recipe) == ("simupop", 1, "villages")


def test_founders_alone(villages, parameters_of):
    genealogy = simulate(parameters_of(villages).resized(generations=1), 1)
    assert len(genealogy) == 240
    assert (genealogy.father == -1).all()
    assert genealogy.sex[:4].tolist() == [1, 0, 1, 0]
    assert set(genealogy.birth_year.tolist()) == set(range(1800, 1810))
    assert (genealogy.haplotypes[genealogy.sex == MAN, 2] == 20).all()


def test_the_seed_decides_every_byte_in_any_process(villages, parameters_of):
    p = parameters_of(villages)
    expected = simulate(p, 7).content_digest()
    assert simulate(p, 8).content_digest() != expected
    # The state of the global generator has changed, without effect.
    assert simulate(p, 7).content_digest() == expected
    code = (
        "import sys; from reidsim.populations.genealogy.make import make_genealogy; "
        "print(make_genealogy(sys.argv[1], seed=7, engine='simupop').content_digest())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(villages)], capture_output=True, text=True, check=True)
    # Only the digest is printed: simuPOP's banner is suppressed.
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")


def test_bounds_of_alleles(one_village):
    genealogy = simulate(one_village(400, 6, n_loci=2, rate=0.5, bounds=(9, 11)), 3)
    check_pedigree(genealogy)
    men = genealogy.haplotypes[genealogy.sex == MAN]
    assert (men.min(), men.max()) == (9, 11)


def test_rates_of_mutation(one_village):
    rates = np.array([0.0, 0.01, 0.2, 1.0])
    genealogy = simulate(one_village(6_000, 3, n_loci=4, mutation_rates=rates), 3)
    men = len(genealogy.males_of(range(2)))
    counts = np.bincount(genealogy.mutations.locus, minlength=4)
    assert (counts[0], counts[3]) == (0, men)
    for locus in (1, 2):
        assert scipy.stats.binomtest(int(counts[locus]), men, rates[locus]).pvalue > 1e-4


def test_nobody_can_marry(one_village, capfd):
    p = one_village(2, 3, wealth_shares=np.full(1000, 1 / 1000), rank_starts=np.arange(1, 1000))
    with pytest.raises(InputError, match="subpopulation 0, generation 0: no rank has both a man and a woman"):
        simulate(p, 1)
    # simuPOP prints errors of its callbacks; there are none.
    assert capfd.readouterr() == ("", "")

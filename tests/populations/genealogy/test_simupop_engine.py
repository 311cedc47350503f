"""The simuPOP engine: the same invariants, and the rules of simuPOP's operators."""

import numpy as np
import pytest
from genealogy_figures import check_pedigree

from reidsim.core.errors import InputError
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


def test_bounds_of_alleles(one_village):
    genealogy = simulate(one_village(400, 6, n_loci=2, rate=0.5, bounds=(9, 11)), 3)
    check_pedigree(genealogy)
    men = genealogy.haplotypes[genealogy.sex == MAN]
    assert (men.min(), men.max()) == (9, 11)


def test_nobody_can_marry(one_village, capfd):
    p = one_village(2, 3, wealth_shares=np.full(1000, 1 / 1000), rank_starts=np.arange(1, 1000))
    with pytest.raises(InputError, match="subpopulation 0, generation 0: no rank has both a man and a woman"):
        simulate(p, 1)
    # simuPOP prints errors of its callbacks; there are none.
    assert capfd.readouterr() == ("", "")

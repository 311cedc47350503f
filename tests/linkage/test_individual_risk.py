"""Individual risk of sampled records: closed forms, published values, Monte Carlo."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from tiers import examples

from reidsim.linkage.group_sizes import EstimatedSizes, SampledPeople, individual_risk, sizes_among
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice

MISSING = ("negative-binomial", "poisson")


def one(records, people, missing="negative-binomial"):
    return float(individual_risk(np.array([records]), np.array([people]), missing)[0])


def by_quadrature(f, people, missing):
    """Integrate the definitions over t = -log z, which has no singularity."""

    def integrand(t):
        if missing == "negative-binomial":
            return f * math.exp(-f * t) / (f + (people - f) * math.exp(-t))
        return math.exp(-f * t + (people - f) * math.expm1(-t))

    ends = [0.0, 1 / people, 1 / f, 5 / f, 60 / f]
    return sum(quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("records", [1, 2, 3, 5, 19, 20, 21, 49, 60, 200, 1000])
def test_the_definitions_by_quadrature(records, missing):
    for beyond in (1e-6, 0.3, 0.99, 1.01, 7.0, 49.0, 51.0, 70.0, 400.0, 5000.0):
        people = records * (1 + beyond)
        assert one(records, people, missing) == pytest.approx(by_quadrature(records, people, missing), rel=1e-10)


def test_what_sdcmicro_prints():
    """Compare with `indivRisk`, which approximates groups of three.

    The data are sdcMicro's data set francdat and the data of its own tests.
    """
    francdat = {(2, 110.0): 0.01714426, (2, 84.5): 0.02204233, (1, 17.0): 0.17707583, (1, 541.0): 0.01165448,
                (1, 8.0): 0.29706308, (1, 5.0): 0.40235948}  # fmt: skip
    tests = {(1, 45.5): 0.08579129, (2, 100.0): 0.01877883, (1, 123.5): 0.03931625}
    for (records, people), printed in (francdat | tests).items():
        assert one(records, people) == pytest.approx(printed, abs=5e-9)
    # For three records that represent 108 people it uses p / (f - (1 - p)).
    p = 3 / 108
    assert p / (3 - (1 - p)) == pytest.approx(0.01369863, abs=5e-9)
    assert one(3, 108.0) == pytest.approx(0.01369863, rel=0.02)
    assert one(3, 108.0) < 0.01369863


def small_lattice(codes):
    first, second = Attribute("a", tuple("pqrs")), Attribute("b", tuple("xyz"))
    hierarchies = (
        Hierarchy.from_labels(first, [["pq", "pq", "rs", "rs"], ["*"] * 4]),
        Hierarchy.from_labels(second, [["*"] * 3]),
    )
    return GeneralizationLattice(hierarchies, codes), Domain((first, second))


@given(data=st.data(), missing=st.sampled_from(MISSING))
@examples(40)
def test_sizes_of_every_node_are_those_of_counting(data, missing):
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25))
    drawn = data.draw(st.lists(st.floats(1, 50), min_size=len(rows), max_size=len(rows)))
    codes, weights = np.array(rows, dtype=np.int32), np.array(drawn)
    lattice, domain = small_lattice(codes)
    people = SampledPeople.of_records(domain, codes, weights, "sample")
    people = replace(people, missing=missing)
    sizes = sizes_among(people, lattice)
    assert isinstance(sizes, EstimatedSizes)
    assert sizes.total == pytest.approx(weights.sum())
    assert not sizes.outside.any()
    some = np.arange(len(rows))[::2]
    # In an order that rolls up from other nodes than the previous order.
    for node in data.draw(st.permutations(range(lattice.size))):
        levels = lattice.levels(node)
        labels = [tuple(h.groups[level][code] for h, level, code in zip(lattice.hierarchies, levels, row, strict=True))
                  for row in rows]  # fmt: skip
        expected = []
        for label in labels:
            alike = [weight for weight, other in zip(drawn, labels, strict=True) if other == label]
            expected.append(by_quadrature(len(alike), max(sum(alike), len(alike)), missing))
        assert 1 / sizes.at(node) == pytest.approx(expected, rel=1e-9)
        assert sizes.at(node, some).tolist() == sizes.at(node)[some].tolist()


def test_records_of_which_the_sample_has_none_are_the_only_ones():
    codes = np.array([[0, 0], [1, 1]], dtype=np.int32)
    lattice, domain = small_lattice(np.array([[3, 2], [0, 0]], dtype=np.int32))
    sizes = sizes_among(SampledPeople.of_records(domain, codes, np.array([4.0, 9.0]), "sample"), lattice)
    assert 1 / sizes.at(0) == pytest.approx([1.0, math.log(4) / 3])


def test_cells_of_a_model_without_records_count():
    codes = np.array([[0, 0], [1, 0], [2, 0]], dtype=np.int32)
    lattice, domain = small_lattice(codes[:1])
    sample = Population(domain, codes, np.array([1, 0, 2]))
    people = SampledPeople(domain, codes, np.array([3.0, 0.5, 8.0]), "model", sample=sample, missing="poisson")
    sizes = sizes_among(people, lattice)
    upward = lattice.index((1, 0))
    assert 1 / sizes.at(0) == pytest.approx([one(1, 3.0, "poisson")])
    assert 1 / sizes.at(upward) == pytest.approx([one(1, 3.5, "poisson")])
    assert 1 / sizes.at(lattice.index((2, 0))) == pytest.approx([one(3, 11.5, "poisson")])
    marginal = people.marginal(("b",))
    assert (marginal.counts.tolist(), marginal.sample.counts.tolist(), marginal.missing) == ([11.5], [3], "poisson")

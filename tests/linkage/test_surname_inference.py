"""Surname inference, against plain loops from the paper, and its properties."""

import math

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from wan2021_oracle import distribution, infer_surname, nearest_neighbour

from reidsim.core.errors import InputError
from reidsim.linkage.surname_inference import Ancestry, SurnameInference, nearest_neighbour_surnames, posterior

RATES = (0.002381, 0.002081, 0.000425, 0.005762, 0.002081, 0.0)


def infer_surnames(ancestry, men, surnames, targets, shared, **options):
    return SurnameInference(ancestry, men, surnames, **options).infer(targets, shared)


@st.composite
def genealogies(draw, most_men=14, rates=RATES):
    """Draw rates, alleles (0 = missing), surnames and a target, with many ties."""
    n_loci = draw(st.integers(1, 5))
    n_men = draw(st.integers(1, most_men))
    chosen = draw(st.lists(st.sampled_from(rates), min_size=n_loci, max_size=n_loci))
    row = st.lists(st.integers(0, 3), min_size=n_loci, max_size=n_loci)
    men = draw(st.lists(row, min_size=n_men, max_size=n_men))
    surnames = draw(st.lists(st.integers(0, 3), min_size=n_men, max_size=n_men))
    return chosen, men, surnames, draw(row)


@given(genealogies(), st.data())
def test_equals_plain_loops(genealogy, data):
    rates, men, surnames, target = genealogy
    shared = data.draw(st.lists(st.booleans(), min_size=len(rates), max_size=len(rates)))
    surname, confidence = infer_surname(target, shared, list(zip(men, surnames, strict=True)), rates)
    found = infer_surnames(Ancestry(np.array(rates)), np.array(men), np.array(surnames), np.array([target]), shared)
    event("nothing shared" if surname is None else "inferred")
    assert found[0][0] == (-1 if surname is None else surname)
    assert found[1][0] == pytest.approx(confidence, abs=1e-12)


@given(
    st.lists(st.sampled_from(RATES), min_size=1, max_size=6), st.integers(0, 63), st.sampled_from((1.0, 50.0, 10_000.0))
)
def test_posterior_is_a_distribution_with_the_printed_ratios(rates, agreeing, n_e):
    n = len(rates)
    agree = [mu for j, mu in enumerate(rates) if agreeing >> j & 1]
    differ = [mu for j, mu in enumerate(rates) if not agreeing >> j & 1]
    out = np.zeros(201)
    everything = (1 << n) - 1
    mean = posterior(
        Ancestry(np.array(rates), n_e).tables(),
        np.uint64(agreeing & everything),
        np.uint64(everything & ~agreeing),
        out,
    )
    plain = distribution(agree, differ, n_e)
    if plain is None:
        assert mean == math.inf
        assert not out.any()
    else:
        np.testing.assert_allclose(out, plain, rtol=1e-9, atol=1e-300)
        assert mean == pytest.approx(sum(t * p for t, p in enumerate(plain)), rel=1e-9)


@given(genealogies(), st.data())
def test_sets_in_one_call_equal_sets_one_by_one(genealogy, data):
    rates, men, surnames, _ = genealogy
    n = len(rates)
    targets = np.array(data.draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=3)))
    masks = np.array(
        data.draw(
            st.lists(
                st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=2, max_size=2),
                min_size=len(targets),
                max_size=len(targets),
            )
        )
    )
    inference = SurnameInference(Ancestry(np.array(rates)), np.array(men), np.array(surnames))
    together = inference.infer(targets, masks)
    for k in range(2):
        alone = infer_surnames(Ancestry(np.array(rates)), np.array(men), np.array(surnames), targets, masks[:, k])
        np.testing.assert_array_equal(together[0][:, k], alone[0])
        np.testing.assert_array_equal(together[1][:, k], alone[1])


@given(genealogies(), st.data())
def test_nearest_neighbour_equals_plain_loops(genealogy, data):
    rates, men, surnames, target = genealogy
    shared = np.array(data.draw(st.lists(st.booleans(), min_size=len(rates), max_size=len(rates))))
    surname, confidence = nearest_neighbour(target, shared.tolist(), list(zip(men, surnames, strict=True)))
    found = nearest_neighbour_surnames(np.array(men), np.array(surnames), np.array([target]), shared)
    assert found[0][0] == (-1 if surname is None else surname)
    assert found[1][0] == confidence


@pytest.mark.parametrize("rates", [[], [0.1, -0.1], [0.1, 1.0], [0.1, np.nan], [0.1] * 61])
def test_impossible_mutation_rates_are_refused(rates):
    with pytest.raises(InputError, match="mutation rate"):
        Ancestry(np.array(rates))
    assert len(Ancestry((0.1,) * 60).mutation_rates) == 60


@pytest.mark.parametrize("people", [0.9, np.inf, np.nan])
def test_an_impossible_effective_population_is_refused(people):
    with pytest.raises(InputError, match="effective population out of range"):
        Ancestry((0.1,), people)


def test_few_loci_of_a_large_genealogy_equal_plain_loops():
    """Many candidates are not sorted by agreements; one target has several locus sets."""
    rng = np.random.default_rng(11)
    rates = rng.uniform(1e-3, 5e-3, 8)
    men, surnames, target = rng.integers(0, 4, (4000, 8)), rng.integers(0, 50, 4000), np.ones(8, int)
    masks = np.zeros((1, 4, 8), bool)
    for k in range(4):
        masks[0, k, : (8, 1, 2, 7)[k]] = True
    found = SurnameInference(Ancestry(rates), men, surnames).infer(target[None], masks)
    rows = list(zip(men.tolist(), surnames.tolist(), strict=True))
    for k in range(4):
        surname, confidence = infer_surname(target.tolist(), masks[0, k].tolist(), rows, rates.tolist())
        assert found[0][0, k] == surname
        assert found[1][0, k] == pytest.approx(confidence, abs=1e-12)

"""Ewens's formula: the number of groups is a sum of independent draws."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from found import at_least
from hypothesis import assume, given
from hypothesis import strategies as st
from simulated_samples import frequencies_of

from reidsim.linkage import uniqueness
from reidsim.linkage.uniqueness import estimate_uniqueness

CHI_SQUARE = 3.841458820694124


def expected_groups(theta, records):
    return math.fsum(theta / (theta + i) for i in range(records))


def log_likelihood(theta, groups, records):
    return groups * math.log(theta) - math.fsum(math.log(theta + i) for i in range(records))


def sample_of(groups, records):
    """Return a sample with given numbers of groups and records.

    Theta depends on these two numbers only.
    """
    largest = records - groups + 1
    if largest == 1:
        return frequencies_of({1: groups})
    return frequencies_of({1: groups - 1, largest: 1} if groups > 1 else {largest: 1})


@given(data=st.data(), records=st.integers(3, 400), factor=st.integers(2, 1000))
def test_theta_explains_the_number_of_groups(data, records, factor):
    groups = data.draw(st.integers(2, records - 1))
    people = factor * records
    estimate = estimate_uniqueness(sample_of(groups, records), people, method="ewens")
    theta = estimate.parameters["theta"]
    assert expected_groups(theta, records) == pytest.approx(groups, rel=1e-9)
    assert estimate.p_unique_given_sample_unique == pytest.approx(
        (theta + records - 1) / (theta + people - 1), rel=1e-12
    )
    # Each other record is as likely unique as the last one: a founder, theta / (theta + N - 1).
    staying = (groups - 1) * estimate.p_unique_given_sample_unique
    others = (people - records) * theta / (theta + people - 1)
    assert estimate.expected_uniques == pytest.approx(staying + others, rel=1e-10)
    top = log_likelihood(theta, groups, records)
    for limit in (estimate.low, estimate.high):
        end = (limit * (people - 1) - (records - 1)) / (1 - limit)
        drop = 2 * (top - log_likelihood(end, groups, records))
        # Theta is recovered from the limit only to a few digits unless it is near 1.
        assert drop == pytest.approx(CHI_SQUARE, rel=1e-6 + 1e-10 / (1 - limit))
    assert estimate.low < estimate.p_unique_given_sample_unique < estimate.high


def test_when_every_record_is_unique_so_may_be_everybody():
    estimate = estimate_uniqueness(frequencies_of({1: 30}), 900, method="ewens")
    assert (estimate.expected_uniques, estimate.p_unique_given_sample_unique, estimate.high) == (900, 1, 1)
    assert estimate.parameters == {"theta": math.inf}
    assert 0 < estimate.low < 1
    assert estimate.note == "every record of the sample is unique: only the lower limits are informative"


# Zayatz's estimator, against ARX, exact fractions and an enumerated bootstrap.


VECTORS = json.loads((Path(__file__).parent / "pitman_vectors.json").read_text(encoding="utf-8"))
POPULATIONS = at_least(6, ((vector, population) for vector in VECTORS for population in vector["populations"]))

samples = st.dictionaries(st.integers(1, 9), st.integers(1, 9), min_size=1, max_size=4).map(frequencies_of)


def estimate_of(sizes, people, seed=0, **options):
    rng = np.random.default_rng(seed)
    return estimate_uniqueness(frequencies_of(sizes), people, method="zayatz", rng=rng, **options)


def by_fractions(sizes, people):
    """Return Bayes's rule with hypergeometric probabilities, in fractions."""
    records = sum(size * count for size, count in sizes.items())

    def one_drawn(size):
        return Fraction(size * math.comb(people - size, records - 1), math.comb(people, records))

    total = sum(count * one_drawn(size) for size, count in sizes.items())
    p = sizes.get(1, 0) * one_drawn(1) / total if total else Fraction(0)
    return p, sizes.get(1, 0) * p * people / records


@pytest.mark.parametrize(("vector", "population"), POPULATIONS)
def test_uniques_are_those_of_arx(vector, population):
    sizes = {int(size): count for size, count in vector["sizes"].items()}
    estimate = estimate_of(sizes, population["population_size"])
    assert estimate.expected_uniques == pytest.approx(population["arx_zayatz"], rel=1e-13)


@given(sample=samples, extra=st.integers(1, 300))
def test_the_probability_is_that_of_exact_fractions(sample, extra):
    assume(sample.records > 1)
    sizes = dict(zip(sample.sizes.tolist(), sample.frequencies.tolist(), strict=True))
    people = sample.records + extra
    p, uniques = by_fractions(sizes, people)
    estimate = estimate_of(sizes, people)
    assert estimate.p_unique_given_sample_unique == pytest.approx(float(p), rel=1e-11)
    assert estimate.expected_uniques == pytest.approx(float(uniques), rel=1e-11)
    assert 0 <= estimate.low <= estimate.high <= 1
    assert 0 <= estimate.uniques_low <= estimate.uniques_high <= people * (1 + 1e-12)


def test_intervals_are_percentiles_over_groups_drawn_again(monkeypatch):
    monkeypatch.setattr(uniqueness, "REPLICATES", 4000)
    # With two groups, one of them a single record, a draw has 0, 1 or 2 single records with probabilities 1/4, 1/2,
    # 1/4.
    middle = float(by_fractions({1: 1, 3: 1}, 40)[0])
    wide = estimate_of({1: 1, 3: 1}, 40, level=0.6)
    assert (wide.low, wide.high) == (0, 1)
    narrow = estimate_of({1: 1, 3: 1}, 40, level=0.4)
    assert (narrow.low, narrow.high) == pytest.approx((middle, middle))
    assert narrow.uniques_high == pytest.approx(middle * 10)


def test_when_every_record_is_unique_the_lower_limit_allows_for_pairs_not_seen():
    estimate = estimate_of({1: 40}, 4000)
    assert (estimate.p_unique_given_sample_unique, estimate.high, estimate.expected_uniques) == (1, 1, 4000)
    # With a share x of pairs, a sample has 40 single-record groups with probability (1 - x)^40 = 2.5 %.
    share = 1 - 0.025 ** (1 / 40)
    twice = 2 * (4000 - 40) / 3999
    assert estimate.low == pytest.approx((1 - share) / (1 - share + share * twice), rel=1e-12)
    assert 0 < estimate.uniques_low < 4000
    assert estimate.note == "every record of the sample is unique: only the lower limits are informative"

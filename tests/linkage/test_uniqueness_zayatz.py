"""Zayatz's estimator, against ARX, exact fractions and an enumerated bootstrap."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from found import at_least
from hypothesis import assume, given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.zayatz import zayatz_uniqueness

VECTORS = json.loads((Path(__file__).parent / "pitman_vectors.json").read_text(encoding="utf-8"))
POPULATIONS = at_least(6, ((vector, population) for vector in VECTORS for population in vector["populations"]))

samples = st.dictionaries(st.integers(1, 9), st.integers(1, 9), min_size=1, max_size=4).map(
    GroupFrequencies.from_mapping
)


def estimate_of(sizes, people, seed=0, **options):
    rng = np.random.default_rng(seed)
    return zayatz_uniqueness(GroupFrequencies.from_mapping(sizes), people, rng=rng, **options)


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
    estimate = estimate_of(sizes, people, replicates=50)
    assert estimate.p_unique_given_sample_unique == pytest.approx(float(p), rel=1e-11)
    assert estimate.expected_uniques == pytest.approx(float(uniques), rel=1e-11)
    assert 0 <= estimate.low <= estimate.high <= 1
    assert 0 <= estimate.uniques_low <= estimate.uniques_high <= people * (1 + 1e-12)


def test_intervals_are_percentiles_over_groups_drawn_again():
    # With two groups, one of them a single record, a draw has 0, 1 or 2 single records with probabilities 1/4, 1/2,
    # 1/4.
    middle = float(by_fractions({1: 1, 3: 1}, 40)[0])
    wide = estimate_of({1: 1, 3: 1}, 40, level=0.6, replicates=4000)
    assert (wide.low, wide.high) == (0, 1)
    narrow = estimate_of({1: 1, 3: 1}, 40, level=0.4, replicates=4000)
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


@pytest.mark.parametrize(
    ("sizes", "people", "options", "message"),
    [
        ({1: 5}, 4, {}, "population_size: the population is smaller than the sample"),
        ({1: 1}, 4, {}, "one record does not suffice"),
        ({1: 5}, 9, {"level": 0.0}, "level: not a confidence level"),
        ({1: 5}, 9, {"replicates": 0}, "replicates: no bootstrap samples; found 0"),
    ],
)
def test_what_cannot_be_estimated_is_said(sizes, people, options, message):
    with pytest.raises(InputError, match=message):
        estimate_of(sizes, people, **options)

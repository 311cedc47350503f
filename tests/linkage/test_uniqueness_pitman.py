"""Pitman's formula, against other software and Hoshino's (2001) likelihood.

`pitman_vectors.json` has estimates of a separate program, and of ARX for another estimator (`arx_zayatz`,
commit aacd487).
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from simulated_samples import frequencies_of
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.linkage.uniqueness import PitmanLikelihood, estimate_uniqueness

VECTORS = at_least(3, json.loads((Path(__file__).parent / "pitman_vectors.json").read_text(encoding="utf-8")))
SIZES = {vector["name"]: {int(size): count for size, count in vector["sizes"].items()} for vector in VECTORS}
POPULATIONS = at_least(6, ((vector, population) for vector in VECTORS for population in vector["populations"]))
# The 95 % quantile of chi-square with one degree of freedom.
CHI_SQUARE = 3.841458820694124

samples = st.dictionaries(st.integers(1, 12), st.integers(1, 40), min_size=1, max_size=6).map(frequencies_of)
ordinary_samples = samples.filter(lambda sample: 1 < sample.groups < sample.records)
parameters = st.tuples(st.floats(0, 0.95), st.floats(0.01, 30)).map(lambda pair: (pair[1] - pair[0], pair[0]))


def fitted(sample):
    """Return theta and a of the largest likelihood."""
    parameters = estimate_uniqueness(sample, 2 * sample.records).parameters
    return parameters["theta"], parameters["a"]


def likelihood(sample, theta, a):
    """Return the log-likelihood without constants."""
    model = PitmanLikelihood(sample, sample.records)
    return model.founding(1 - a, theta + a) + model.joining(1 - a)


def by_definition(sizes, theta, a):
    """Return Hoshino's (2001) log-likelihood of {size: groups}, without constants."""
    records = sum(size * count for size, count in sizes.items())
    groups = sum(sizes.values())
    return (
        math.fsum(math.log(theta + i * a) for i in range(1, groups))
        - math.fsum(math.log(theta + i) for i in range(1, records))
        + math.fsum(count * math.log(i - a) for size, count in sizes.items() for i in range(1, size))
    )


def as_mapping(sample):
    return dict(zip(sample.sizes.tolist(), sample.frequencies.tolist(), strict=True))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_parameters_are_those_of_another_program(vector):
    sample = frequencies_of(SIZES[vector["name"]])
    theta, a = fitted(sample)
    # On the boundary the other program stopped slightly before the maximum.
    tolerance = 1e-7 if vector["boundary"] else 1e-12
    assert theta == pytest.approx(vector["theta"], rel=tolerance)
    assert a == pytest.approx(vector["a"], abs=1e-12)
    assert (a == 0) == vector["boundary"]
    assert likelihood(sample, theta, a) == pytest.approx(vector["log_likelihood"], rel=1e-13)
    assert likelihood(sample, theta, a) >= vector["log_likelihood"] - 1e-9


@pytest.mark.parametrize(("vector", "population"), POPULATIONS)
def test_uniques_are_those_of_other_programs(vector, population):
    sample = frequencies_of(SIZES[vector["name"]])
    people = population["population_size"]
    estimate = estimate_uniqueness(sample, people)
    assert estimate.p_unique_given_sample_unique == pytest.approx(population["p_unique_given_sample_unique"], rel=2e-8)


@given(sample=ordinary_samples, parameters=parameters, step=st.sampled_from([1e-3, 1e-2, 0.1, 0.5]))
@examples(150, fast=4)
def test_no_parameters_are_likelier_than_those_found(sample, parameters, step):
    sizes = as_mapping(sample)
    theta, a = fitted(sample)
    assert 0 <= a < 1
    assert theta > -a
    best = by_definition(sizes, theta, a)
    assert likelihood(sample, theta, a) == pytest.approx(best, rel=1e-10, abs=1e-8)
    assert best >= by_definition(sizes, *parameters) - 1e-8
    for da, factor in itertools.product((-step, 0, step), (1 - step, 1, 1 + step)):
        other = min(max(a + da * (1 - a), 0.0), 1 - 1e-9)
        tau = (theta + a) * factor
        if tau > 0:
            assert best >= by_definition(sizes, tau - other, other) - 1e-8


@pytest.mark.deep
@pytest.mark.parametrize(("sizes", "people"), [(SIZES["toy"], 1000), ({1: 6, 2: 2, 3: 1}, 100)])
def test_intervals_hold_the_values_of_all_likely_parameters_and_no_others(sizes, people):
    sample = frequencies_of(sizes)
    estimate = estimate_uniqueness(sample, people)
    floor = likelihood(sample, *fitted(sample)) - CHI_SQUARE / 2
    likely, uniques, model = [], [], PitmanLikelihood(sample, people)
    for a in np.linspace(0, 0.995, 200):
        for tau in np.geomspace(1e-2, 1e6, 400):
            if likelihood(sample, tau - a, a) >= floor:
                likely.append(model.staying_unique(1 - a, tau))
                uniques.append(model.uniques(1 - a, tau))
    assert min(likely) >= estimate.low * (1 - 1e-6)
    assert max(likely) <= estimate.high * (1 + 1e-6)
    assert min(uniques) >= estimate.uniques_low * (1 - 1e-6)
    assert max(uniques) <= estimate.uniques_high * (1 + 1e-6)
    # The grid steps are 2 % and .005, so its extremes are that close to the edge.
    assert min(likely) == pytest.approx(estimate.low, rel=0.05)
    assert max(likely) == pytest.approx(estimate.high, rel=0.05)
    assert min(uniques) == pytest.approx(estimate.uniques_low, rel=0.05)
    assert max(uniques) == pytest.approx(estimate.uniques_high, rel=0.05)


def test_when_every_record_is_unique_so_may_be_everybody():
    estimate = estimate_uniqueness(frequencies_of({1: 100}), 5000)
    assert (estimate.expected_uniques, estimate.p_unique_given_sample_unique, estimate.high) == (5000, 1, 1)
    assert estimate.parameters == {"theta": math.inf, "a": 0.0}
    assert estimate.note == "every record of the sample is unique: only the lower limits are informative"
    # The lower limit has a = 0, where the likelihood is the product of theta / (theta + i).
    theta = (estimate.low * 4999 - 99) / (1 - estimate.low)
    assert -2 * math.fsum(math.log(theta / (theta + i)) for i in range(1, 100)) == pytest.approx(CHI_SQUARE, rel=1e-6)


@pytest.mark.parametrize("sizes", [{1: 1}, {1: 7}, {7: 1}, {1: 3, 2: 2}])
def test_when_everybody_is_in_the_sample_nothing_is_estimated(sizes):
    sample = frequencies_of(sizes)
    estimate = estimate_uniqueness(sample, sample.records)
    assert estimate.expected_uniques == estimate.uniques_low == estimate.uniques_high == sample.uniques
    assert estimate.p_unique_given_sample_unique == estimate.low == estimate.high == estimate.level == 1
    assert estimate.note == "the sample is the whole population"


@pytest.mark.parametrize(
    ("sizes", "people", "level", "message"),
    [
        (
            {1: 5},
            4,
            0.95,
            "population_size: the population is smaller than the sample; found 4; expected at least the 5",
        ),
        ({1: 1}, 9, 0.95, "too few records for an estimate"),
        ({1: 5}, 9, 1.0, "level: confidence level out of range; found 1.0"),
        ({1: 5}, 9.5, 0.95, "population_size: population size is not a whole number; found 9.5"),
        ({1: 5}, math.inf, 0.95, "population_size: population size is not a whole number; found inf"),
    ],
)
@pytest.mark.parametrize("method", ["pitman", "ewens", "zayatz"])
def test_what_cannot_be_estimated_is_said(method, sizes, people, level, message):
    with pytest.raises(InputError) as error:
        estimate_uniqueness(frequencies_of(sizes), people, method=method, level=level)
    assert str(error.value).startswith(message)

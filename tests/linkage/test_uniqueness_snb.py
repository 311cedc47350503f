"""The slide negative binomial, against its definition and simulated populations."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.snb import SlideNegativeBinomial, snb_uniqueness

CHI_SQUARE = 3.841458820694124
SAMPLE = GroupFrequencies.from_mapping({1: 210, 2: 61, 3: 30, 4: 16, 5: 9, 7: 4, 11: 2, 18: 1})


def group_in_sample(shape, mean, fraction, largest=12):
    """Return probabilities of 0, 1, ... sampled records of a group.

    The group size is 1 + a negative binomial number.
    """
    people = np.arange(1, 4000)
    of_population = scipy.stats.nbinom.pmf(people - 1, shape, shape / (shape + mean))
    return np.array(
        [of_population @ scipy.stats.binom.pmf(records, people, fraction) for records in range(largest + 1)]
    )


def drawn(groups, shape, mean, fraction, rng):
    """Draw a population of the model, and its group sizes in a sample."""
    population = 1 + rng.negative_binomial(shape, shape / (shape + mean), groups)
    sample = rng.multivariate_hypergeometric(population, round(fraction * population.sum()), method="marginals")
    return population, sample


@given(
    log_shape=st.floats(-3, 3),
    mean=st.floats(0.05, 40),
    fraction=st.floats(0.01, 0.95),
)
@examples(40)
def test_the_model_is_that_of_its_definition(log_shape, mean, fraction):
    shape = math.exp(log_shape)
    probabilities = group_in_sample(shape, mean, fraction)
    sizes = {1: 5, 2: 3, 3: 1, 12: 2}
    model = SlideNegativeBinomial(GroupFrequencies.from_mapping(sizes), fraction)
    expected = sum(count * math.log(probabilities[size] / (1 - probabilities[0])) for size, count in sizes.items())
    seen = fraction * mean
    assert model.log_likelihood(shape, seen) == pytest.approx(expected, rel=1e-8)
    alone = scipy.stats.nbinom.pmf(0, shape, shape / (shape + mean))
    assert model.staying_unique(shape, seen) == pytest.approx(alone * fraction / probabilities[1], rel=1e-8)
    not_seen = 11 / (1 - probabilities[0]) * alone * (1 - fraction)
    expected_uniques = 5 * model.staying_unique(shape, seen) + not_seen
    assert model.uniques(shape, seen) == pytest.approx(expected_uniques, rel=1e-8)


@given(log_shape=st.floats(-3, 3), fraction=st.floats(0.05, 0.95))
def test_no_mean_is_likelier_than_the_best(log_shape, fraction):
    """Includes samples of few records, whose likelihood changes slowly."""
    for sizes in ({1: 2, 2: 1, 3: 1}, {1: 20, 2: 13, 4: 9}):
        model = SlideNegativeBinomial(GroupFrequencies.from_mapping(sizes), fraction)
        found = model.profile(log_shape)
        for log_mean in np.arange(-8.0, 8.0, 0.25):
            assert model.log_likelihood(math.exp(log_shape), math.exp(log_mean)) <= found + 1e-9


@given(x=st.floats(-6, 6), y=st.floats(-5, 8), fraction=st.floats(0.01, 0.95))
def test_the_slope_is_that_of_the_likelihood(x, y, fraction):
    model = SlideNegativeBinomial(SAMPLE, fraction)

    def value(x, y):
        return model.log_likelihood(math.exp(x), math.exp(y))

    step = 1e-5
    slopes = [
        (value(x + step, y) - value(x - step, y)) / (2 * step),
        (value(x, y + step) - value(x, y - step)) / (2 * step),
    ]
    # Rounding error of the log-likelihood, some thousands, divided by the step.
    assert model.slopes(math.exp(x), math.exp(y)) == pytest.approx(slopes, rel=1e-5, abs=1e-3)


@pytest.mark.deep
@pytest.mark.parametrize("people", [2000, 10_000, 10**5])
def test_intervals_hold_the_values_of_all_likely_parameters_and_no_others(people):
    estimate = snb_uniqueness(SAMPLE, people)
    model = SlideNegativeBinomial(SAMPLE, SAMPLE.records / people)
    shape, mean = estimate.parameters["shape"], estimate.parameters["mean"] * model.fraction
    top = model.log_likelihood(shape, mean)
    likely, uniques = [], []
    for tried in np.geomspace(1e-5, 10, 150):
        # The likely means depend on the shape so strongly that the search is centred on it.
        for ratio in np.geomspace(1 / 4, 8, 150):
            value = model.log_likelihood(tried, tried * ratio)
            assert value <= top + 1e-9
            if value >= top - CHI_SQUARE / 2:
                likely.append(model.staying_unique(tried, tried * ratio))
                uniques.append(model.uniques(tried, tried * ratio))
    for values, low, high in (
        (likely, estimate.low, estimate.high),
        (uniques, estimate.uniques_low, estimate.uniques_high),
    ):
        assert min(values) >= low * (1 - 1e-6)
        assert max(values) <= high * (1 + 1e-6)
        # The grid steps are 10 % in shape and 2 % in the ratio, so it misses the tips of a narrow region.
        assert (min(values), max(values)) == pytest.approx((low, high), rel=0.2)


@pytest.mark.deep
def test_the_truth_of_populations_of_the_model_is_recovered():
    # b is the negative binomial probability; b to the power of the shape is the share of groups of one person.
    groups, shape, b, fraction, replicates = 20_000, 0.6, 0.05, 0.1, 25
    mean = shape * (1 - b) / b
    rng = np.random.default_rng(2)
    ratios, held, errors = [], 0, []
    for _ in range(replicates):
        population, sample = drawn(groups, shape, mean, fraction, rng)
        estimate = snb_uniqueness(GroupFrequencies.from_group_sizes(sample), int(population.sum()))
        truth = float(np.mean(population[sample == 1] == 1))
        ratios.append(estimate.expected_uniques / (population == 1).sum())
        errors.append(estimate.p_unique_given_sample_unique - truth)
        model = SlideNegativeBinomial(GroupFrequencies.from_group_sizes(sample), fraction)
        expected = model.staying_unique(shape, fraction * mean)
        held += estimate.low <= expected <= estimate.high
    # Four standard errors of the mean.
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios, ddof=1) / math.sqrt(replicates))
    assert np.mean(errors) == pytest.approx(0, abs=4 * np.std(errors, ddof=1) / math.sqrt(replicates))
    assert np.std(ratios) < 0.2
    # 95 % of 25, minus four standard errors.
    assert held >= 20


@pytest.mark.parametrize(
    ("sizes", "people", "message"),
    [
        ({1: 50}, 500, "cannot be fitted: all groups have the same size (use another method)"),
        ({9: 5}, 500, "cannot be fitted: all groups have the same size"),
        ({5: 50, 6: 60, 7: 50}, 5000, "cannot be fitted: the likelihood has no maximum (use another method)"),
        ({1: 60, 2: 1}, 6000, "cannot be fitted: the likelihood has no maximum"),
    ],
)
def test_samples_that_the_model_does_not_fit_are_named(sizes, people, message):
    with pytest.raises(InputError) as error:
        snb_uniqueness(GroupFrequencies.from_mapping(sizes), people)
    assert str(error.value).startswith(f"the slide negative binomial {message}")

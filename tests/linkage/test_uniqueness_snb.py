"""The slide negative binomial, against its definition and simulated populations."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from simulated_samples import frequencies_of
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.linkage.uniqueness.group_sizes import SlideNegativeBinomial, estimate_uniqueness


def group_in_sample(shape, mean, fraction, largest=12):
    """Return probabilities of 0, 1, ... sampled records of a group.

    The group size is 1 + a negative binomial number.
    """
    people = np.arange(1, 4000)
    of_population = scipy.stats.nbinom.pmf(people - 1, shape, shape / (shape + mean))
    return np.array(
        [of_population @ scipy.stats.binom.pmf(records, people, fraction) for records in range(largest + 1)]
    )


@given(log_shape=st.floats(-3, 3), mean=st.floats(0.05, 40), fraction=st.floats(0.01, 0.95))
@examples(40)
def test_the_model_is_that_of_its_definition(log_shape, mean, fraction):
    shape = math.exp(log_shape)
    probabilities = group_in_sample(shape, mean, fraction)
    sizes = {1: 5, 2: 3, 3: 1, 12: 2}
    model = SlideNegativeBinomial(frequencies_of(sizes), fraction)
    expected = sum(count * math.log(probabilities[size] / (1 - probabilities[0])) for size, count in sizes.items())
    seen = fraction * mean
    assert model.inner_part(shape, seen) == pytest.approx(expected, rel=1e-8)
    alone = scipy.stats.nbinom.pmf(0, shape, shape / (shape + mean))
    assert model.staying_unique(shape, seen) == pytest.approx(alone * fraction / probabilities[1], rel=1e-8)
    not_seen = 11 / (1 - probabilities[0]) * alone * (1 - fraction)
    expected_uniques = 5 * model.staying_unique(shape, seen) + not_seen
    assert model.uniques(shape, seen) == pytest.approx(expected_uniques, rel=1e-8)


@given(log_shape=st.floats(-3, 3), fraction=st.floats(0.05, 0.95))
def test_no_mean_is_likelier_than_the_best(log_shape, fraction):
    """Includes samples of few records, whose likelihood changes slowly."""
    for sizes in ({1: 2, 2: 1, 3: 1}, {1: 20, 2: 13, 4: 9}):
        model = SlideNegativeBinomial(frequencies_of(sizes), fraction)
        found = model.profile(log_shape)
        for log_mean in np.arange(-8.0, 8.0, 0.25):
            assert model.inner_part(math.exp(log_shape), math.exp(log_mean)) <= found + 1e-9


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
        estimate_uniqueness(frequencies_of(sizes), people, method="snb")
    assert str(error.value).startswith(f"the slide negative binomial {message}")

"""Counted or given uniqueness, and estimators by name."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.uniqueness import (
    PitmanLikelihood,
    estimate_uniqueness,
    log_gamma_ratio,
    progression_sums,
)
from reidsim.populations.population import keys_of_both
from reidsim.populations.resources import draw_registry

# Half the quantile of chi-square with one degree of freedom is .64 at this level.
LEVEL = float(scipy.stats.chi2.cdf(1.28, 1))


# In a sample of one in a thousand about 55 people are population uniques, so the truth itself varies by 13 % between
# draws: its tolerance has two of these in addition to the model's error of a tenth.
@pytest.mark.parametrize(("share", "tolerance"), [(0.001, 0.37), (0.1, 0.25), (0.5, 0.1)])
def test_pitman_is_near_the_truth_of_a_census_population(tennessee, share, tolerance):
    sample = draw_registry(tennessee, round(share * tennessee.total), np.random.default_rng(4))
    alone = np.isin(*keys_of_both(tennessee.cells, sample.cells[sample.counts == 1]))
    unique = tennessee.counts == 1
    estimate = estimate_uniqueness(GroupFrequencies.from_group_sizes(sample.counts), int(tennessee.total))
    assert estimate.expected_uniques == pytest.approx(unique.sum(), rel=tolerance)
    assert estimate.p_unique_given_sample_unique == pytest.approx(unique[alone].mean(), rel=tolerance)


class Parabola(PitmanLikelihood):
    """A log-likelihood that falls by the square of the distance from the best outer parameter, on a log scale."""

    def __init__(self, best):
        self.best = best

    def profile(self, log_b):
        return -((log_b - self.best) ** 2)

    def best_tau(self, log_b):
        return 0.0

    def tau_range(self, log_b, floor):
        return 0.0, 0.0


@pytest.mark.parametrize("best", [1.5, 1.0])
def test_the_region_ends_where_the_likelihood_has_fallen_so_far(best):
    """-(x - best)^2 falls by .64 at a distance of .8, inside or beyond the grid."""
    interval = Parabola(best).intervals([0.0, 1.0, 2.0, 3.0], best, LEVEL, lambda b, tau: math.log(b))[0]
    assert interval == pytest.approx((best, best - 0.8, best + 0.8))
    interval = Parabola(best).intervals([best - 0.5, best + 0.3], best, LEVEL, lambda b, tau: math.log(b))[0]
    assert interval == pytest.approx((best, best - 0.5, best + 0.3))


# Closed forms, against sums term by term.


starts = st.floats(-8, 12).map(lambda exponent: 10**exponent)
steps = st.one_of(st.just(0.0), st.floats(-14, 0).map(lambda exponent: 10**exponent))


@given(start=starts, step=steps, terms=st.integers(0, 500))
def test_sums_over_a_progression_are_those_of_its_terms(start, step, terms):
    values = [start + i * step for i in range(terms)]
    scale = sum(abs(math.log(value)) for value in values) + terms
    logs, reciprocals, by_place = progression_sums(start, step, terms)
    assert logs == pytest.approx(math.fsum(map(math.log, values)), abs=1e-12 * scale)
    assert reciprocals == pytest.approx(math.fsum(1 / v for v in values), rel=1e-11)
    weighted = math.fsum(i / v for i, v in enumerate(values))
    assert by_place == pytest.approx(weighted, rel=1e-9)


@given(x=starts.filter(lambda start: start > 1e-3), d=st.integers(0, 300))
def test_a_ratio_of_gamma_functions_is_a_product_of_factors(x, d):
    logs = [math.log(x + i) for i in range(d)]
    assert float(log_gamma_ratio(x, d)) == pytest.approx(math.fsum(logs), abs=1e-13 * (1 + sum(map(abs, logs))))


def test_a_ratio_is_exact_where_the_gamma_functions_themselves_are_not():
    # Two half steps are one step, log x.
    for x in (1e3, 1e8, 1e13):
        halves = log_gamma_ratio(x, 0.5) + log_gamma_ratio(x + 0.5, 0.5)
        assert float(halves) == pytest.approx(math.log(x), rel=1e-14)

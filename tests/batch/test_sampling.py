"""Points of uncertain parameters: distributions, correlations and spread."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import draw_points, quantiles, spread
from reidsim.scenarios.schema import (
    Beta,
    Discrete,
    LogNormal,
    LogUniform,
    Normal,
    Triangular,
    UncertaintySection,
    Uniform,
)

SHARES = np.linspace(0.001, 0.999, 41)


def uncertainty(parameters, **more):
    return UncertaintySection.model_validate({"parameters": parameters, **more})


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (Uniform(distribution="uniform", low=-2.0, high=3.0), lambda: scipy.stats.uniform(-2, 5)),
        (LogUniform(distribution="log-uniform", low=0.1, high=100.0), lambda: scipy.stats.loguniform(0.1, 100)),
        (Normal(distribution="normal", mean=1.0, sd=2.0), lambda: scipy.stats.norm(1, 2)),
        (Normal(distribution="normal", mean=1.0, sd=2.0, low=0.0), lambda: scipy.stats.truncnorm(-0.5, np.inf, 1, 2)),
        (Normal(distribution="normal", mean=0.0, sd=1.0, low=9.0, high=9.5), lambda: scipy.stats.truncnorm(9, 9.5)),
        (LogNormal(distribution="lognormal", median=3.0, sigma=0.5), lambda: scipy.stats.lognorm(0.5, scale=3)),
        (Triangular(distribution="triangular", low=1.0, mode=2.0, high=5.0), lambda: scipy.stats.triang(0.25, 1, 4)),
        (Beta(distribution="beta", a=2.0, b=5.0, low=10.0, high=20.0), lambda: scipy.stats.beta(2, 5, 10, 10)),
    ],
)
def test_quantiles_are_those_of_scipy(distribution, reference):
    assert quantiles(distribution, SHARES) == pytest.approx(reference().ppf(SHARES), rel=1e-7)


def test_a_lognormal_that_is_cut_off():
    found = quantiles(LogNormal(distribution="lognormal", median=3.0, sigma=0.5, low=2.0, high=4.0), SHARES)
    whole = scipy.stats.lognorm(0.5, scale=3)
    below, above = whole.cdf([2.0, 4.0])
    assert found == pytest.approx(whole.ppf(below + (above - below) * SHARES))


def test_discrete_values_come_as_often_as_their_weights_say():
    values = ("a", 2, True, 4.5)
    distribution = Discrete(distribution="discrete", values=values, weights=(1.0, 0.0, 2.0, 1.0))
    found = quantiles(distribution, (np.arange(400) + 0.5) / 400)
    assert [sum(v is value for v in found) for value in values] == [100, 0, 200, 100]


@given(st.sampled_from(["latin-hypercube", "sobol"]), st.sampled_from([4, 16, 64]), st.integers(1, 5))
def test_each_parameter_is_spread_evenly(method, n, n_parameters):
    shares = spread(method, n, n_parameters, np.random.default_rng(n))
    assert np.array_equal(np.sort(np.floor(shares * n), axis=0), np.tile(np.arange(n)[:, None], n_parameters))


def test_correlations_hold_and_margins_stay():
    parameters = {name: {"distribution": "uniform", "low": 0, "high": 1} for name in ("a.a", "b.b", "c.c", "d.d")}
    correlations = ({"keys": ("a.a", "c.c"), "rank": 0.7}, {"keys": ("b.b", "c.c"), "rank": -0.4})
    free = draw_points(uncertainty(parameters, samples=500), 4)
    tied = draw_points(uncertainty(parameters, samples=500, correlations=correlations), 4)
    for name in parameters:
        assert np.sort(tied[name]) == pytest.approx(np.sort(free[name]))
    found = scipy.stats.spearmanr(tied).statistic
    assert found[0, 2] == pytest.approx(0.7, abs=0.03)
    assert found[1, 2] == pytest.approx(-0.4, abs=0.03)
    assert found[0, 1] == pytest.approx(0, abs=0.03)
    assert found[3, :3] == pytest.approx(0, abs=0.15)
    assert tied["d.d"].equals(free["d.d"])


def test_points_depend_on_the_seed_alone():
    section = uncertainty({"a.a": {"distribution": "normal", "mean": 0, "sd": 1}}, samples=5)
    assert draw_points(section, 1).equals(draw_points(section, 1))
    assert not draw_points(section, 1).equals(draw_points(section, 2))


def test_correlations_that_cannot_be():
    parameters = {name: {"distribution": "uniform", "low": 0, "high": 1} for name in ("a.a", "b.b", "c.c")}
    pairs = (("a.a", "b.b", 0.9), ("b.b", "c.c", 0.9), ("a.a", "c.c", -0.9))
    correlations = tuple({"keys": (one, other), "rank": rank} for one, other, rank in pairs)
    with pytest.raises(InputError, match="correlations are inconsistent"):
        draw_points(uncertainty(parameters, correlations=correlations), 1)
    with pytest.raises(InputError, match="too few samples"):
        draw_points(uncertainty(parameters, samples=3, correlations=correlations[:1]), 1)

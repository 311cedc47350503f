"""Statistics of runs, against scipy, simulation and tables computed by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reidsim.engine.batch.design import Design
from reidsim.engine.batch.statistics import (
    differences_table,
    error_of_estimates,
    mean_interval,
    measured,
    quantiles,
    required_runs,
    statistics_table,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12)


@given(NUMBERS, st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.booleans())
def test_replications_alone_have_students_interval(values, level, are_points):
    table = np.array(values)[:, None] if are_points else np.array(values)[None]
    found = mean_interval(table, level)
    error = scipy.stats.sem(values)
    assert found["runs"] == len(values)
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-6)
    assert found["standard_error"] == pytest.approx(error, rel=1e-6, abs=1e-6)
    half = scipy.stats.t.ppf((1 + level) / 2, len(values) - 1) * error
    assert (found["high"] - found["low"]) / 2 == pytest.approx(half, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize(("n_points", "n_replications"), [(1, 6), (15, 1), (8, 5), (3, 3)])
def test_intervals_cover_the_truth_as_often_as_they_say(n_points, n_replications):
    """Parameters, draws and residuals have effects; intervals cover the varying ones."""
    rng = np.random.default_rng(5)
    n = 6000
    of_points = rng.normal(size=(n, n_points, 1)) * (n_points > 1)
    of_draws = 0.7 * rng.normal(size=(n, 1, n_replications)) * (n_replications > 1)
    values = 3 + of_points + of_draws + 0.5 * rng.normal(size=(n, n_points, n_replications))
    found = mean_interval(values)
    coverage = np.mean((found["low"] <= 3) & (found["high"] >= 3))
    # Three standard errors of the simulation; intervals may be too wide if both vary.
    assert coverage > 0.95 - 0.009
    if 1 in (n_points, n_replications):
        assert coverage < 0.95 + 0.009


def test_runs_without_a_value_are_left_out_and_counted():
    values = np.array([[1.0, np.nan, 3.0, 5.0], [np.nan, np.nan, 4.0, np.nan], [np.nan] * 4])
    found = mean_interval(values[:, None])
    assert found["runs"].tolist() == [3, 1, 0]
    assert found["mean"][:2].tolist() == [3.0, 4.0]
    assert found["standard_error"][0] == pytest.approx(scipy.stats.sem([1, 3, 5]))
    assert np.isnan(found["standard_error"][1:]).all()
    assert np.isnan(found["mean"][2])


def test_pairing_takes_out_what_both_share():
    rng = np.random.default_rng(1)
    shared = 100 * rng.normal(size=(1, 50))
    first, second = shared + 1 + 0.1 * rng.normal(size=(1, 50)), shared + 0.1 * rng.normal(size=(1, 50))
    difference = mean_interval(first - second)
    test = scipy.stats.ttest_rel(first[0], second[0]).confidence_interval()
    assert (difference["low"], difference["high"]) == pytest.approx((test.low, test.high))
    assert difference["high"] - difference["low"] < 0.01 * (mean_interval(first)["high"] - mean_interval(first)["low"])


@pytest.mark.parametrize("half_width", [1.0, 2.5, 4.0, 10.0])
def test_required_runs_count_identical_replications_once(half_width):
    drawn = np.random.default_rng(4).normal(100, 10, 40)
    t_halves = {n: scipy.stats.t.ppf(0.975, n - 1) * np.std(drawn, ddof=1) / np.sqrt(n) for n in range(2, 1000)}
    alone = min(n for n, half in t_halves.items() if half <= half_width)
    for n_replications in (1, 3, 10):
        runs, points = required_runs(np.repeat(drawn[:, None], n_replications, axis=1), half_width)
        assert (runs, points) == (alone, alone)
        runs, points = required_runs(np.repeat(drawn[None], n_replications, axis=0), half_width)
        assert (runs, points) == (alone, 1)


@pytest.mark.parametrize(("of_points", "of_replications"), [(3.0, 3.0), (8.0, 1.0), (0.5, 6.0)])
def test_required_runs_are_nearly_the_fewest_where_points_and_replications_differ(of_points, of_replications):
    rng = np.random.default_rng(9)
    effects = [spread * scipy.stats.zscore(rng.normal(size=30), ddof=1) for spread in (of_points, of_replications)]
    runs, points = required_runs(effects[0][:, None] + effects[1][None], 1.0)
    replications = runs / points

    def half(n_points, n_replications, quantile):
        return quantile * np.sqrt(of_points**2 / n_points + of_replications**2 / n_replications)

    assert half(points, replications, 1.96) <= 1.0
    n = np.arange(2, 2000)
    enough = half(n[:, None], n[None], 1.96) <= 1.0
    fewest = (n[:, None] * n[None])[enough].min()
    # For few draws, Student's quantiles are larger than 1.96.
    assert fewest <= runs <= 2.5 * fewest


def test_required_runs_of_what_is_constant_or_unknown():
    assert required_runs(np.full((3, 2), 5.0), 0.05) == (2, 2)
    assert required_runs(np.full((1, 4), 5.0), 0.05) == (2, 1)
    assert np.isnan(required_runs(np.full((1, 1), 5.0), 0.05)).all()
    assert np.isnan(required_runs(np.array([[1.0, 2.0], [np.nan, np.nan]]), 0.0)).all()
    gaps = np.array([[1.0, np.nan], [2.0, 2.0], [np.nan, np.nan]])
    assert np.isfinite(required_runs(gaps, 0.5)).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.integers(0, 3))
def test_quantiles_are_those_of_numpy(values, missing):
    shares = [0, 0.05, 0.3, 0.5, 1]
    with_gaps = np.array([np.nan] * missing + values)
    assert quantiles(with_gaps, shares) == pytest.approx(np.quantile(values, shares), rel=1e-12, abs=1e-9)


def test_tables_by_point_of_the_sweep_policy_and_measure():
    design = Design(pd.DataFrame({"loss": [1, 1, 2, 2], "cost": [5.0, 6.0, 5.0, 6.0]}), 2, ("loss",), 2)
    rows = [
        {"point": point, "replication": replication, "policy": policy, "payoff": 10 * point + replication + bonus}
        for point in range(4)
        for replication in range(2)
        for policy, bonus in (("a", 0), ("b", 3 + point))
    ]
    runs = pd.DataFrame(rows).assign(scenario="s", state="complete", error="", seed=1, run="k", loss=1, cost=5.0)
    # The run of point 3 and replication 1 failed.
    lost = (runs["point"] == 3) & (runs["replication"] == 1)
    runs.loc[lost, ["state", "payoff"]] = ["failed", np.nan]
    found = measured(runs, design)
    table = statistics_table(found)
    assert table[["loss", "policy", "measure"]].to_numpy().tolist() == [
        [1, "a", "payoff"], [1, "b", "payoff"], [2, "a", "payoff"], [2, "b", "payoff"],
    ]  # fmt: skip
    assert table["runs"].tolist() == [4, 4, 3, 3]
    assert table["mean"].tolist() == pytest.approx([5.5, 9.0, 71 / 3, 71 / 3 + 16 / 3])
    assert table["median"].tolist() == pytest.approx([5.5, 9.0, 21.0, 26.0])
    differences = differences_table(found)
    assert differences[["loss", "policy", "reference"]].to_numpy().tolist() == [[1, "b", "a"], [2, "b", "a"]]
    assert differences["mean"].tolist() == pytest.approx([3.5, 16 / 3])
    assert differences["share_above"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("n_points", "n_replications"), [(1, 1), (1, 5), (4, 1), (4, 5)])
def test_errors_of_estimates_are_at_least_those_of_a_simulation(n_points, n_replications):
    """Points of a replication are assumed to share one error.

    Replications are independent.
    """
    rng = np.random.default_rng(8)
    errors = rng.uniform(0.5, 2, size=(n_points, n_replications))
    shared = rng.normal(size=(20_000, 1, n_replications)) * errors
    apart = rng.normal(size=(20_000, n_points, n_replications)) * errors
    found = error_of_estimates(errors)
    assert shared.mean(axis=(1, 2)).std() == pytest.approx(found, rel=0.03)
    assert apart.mean(axis=(1, 2)).std() <= found * 1.03


def test_errors_of_runs_without_a_value_do_not_count():
    errors = np.array([[[3.0, np.nan], [1.0, 2.0]], [[np.nan, np.nan], [np.nan, np.nan]], [[0.0, 0.0], [0.0, 0.0]]])
    assert error_of_estimates(errors) == pytest.approx([np.sqrt(4**2 + 2**2) / 3, np.nan, 0], nan_ok=True)


def test_standard_errors_that_runs_tell_are_no_measures():
    """In the game `risk`, each run here has two releases with separate errors."""
    design = Design(pd.DataFrame(index=range(1)), 2)
    some = [(0.1, 0.03), (0.3, 0.04), (0.2, 0.05), (0.4, 0.12)]
    rows = [
        {"point": 0, "replication": replication, "records": 40, "knowledge": name, "sample": sample,
         "overall_risk": value, "high": value + 1, "overall_standard_error": error}
        for name, found in {"all": [(0.5, 0.0)] * 4, "some": some}.items()
        for (replication, sample), (value, error) in zip([(0, 0), (0, 1), (1, 0), (1, 1)], found, strict=True)
    ]  # fmt: skip
    runs = pd.DataFrame(rows).assign(scenario="s", state="complete", error="", seed=1, run="k")
    found = measured(runs, design)
    assert set(differences_table(found)["measure"]) == {"overall_risk", "high"}
    table = statistics_table(found).set_index(["knowledge", "measure"])
    assert set(table.index.get_level_values("measure")) == {"overall_risk", "high"}
    assert table.loc[("some", "overall_risk"), "mean"] == pytest.approx(0.25)
    # Four releases, each with an error of its own.
    expected = np.sqrt(0.03**2 + 0.04**2 + 0.05**2 + 0.12**2) / 4
    assert table.loc[("some", "overall_risk"), "estimation_error"] == pytest.approx(expected)
    assert table.loc[("all", "overall_risk"), "estimation_error"] == 0
    assert table["estimation_error"].isna().tolist() == [False, True] * 2

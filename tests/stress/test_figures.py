"""Figures of a stress test: positions of the data, and refused tables."""

import itertools

import numpy as np
import pandas as pd
from layout import misplaced

from reidsim.engine.stress.run import StressResult
from reidsim.figures.maps import policy_map
from reidsim.figures.studies import belief_curves, regret_ranges, sensitivity_dots, tornado_bars
from reidsim.games.outcomes import RISK
from reidsim.reports.drawing import figures_of

INDICES = pd.DataFrame(
    {
        "policy": ["basic", "no-attack"] * 4,
        "output": "risk",
        "index": ["total"] * 4 + ["first-order"] * 4,
        "parameter": ["economics.loss", "economics.loss", "economics.cost", "economics.cost"] * 2,
        "other": "",
        "value": [0.7, 0.2, 0.4, 0.9, 0.6, 0.1, 0.3, 0.8],
        "low": 0.0,
        "high": 1.0,
    }
)
MEASURES = {"risk": RISK}
CURVES = pd.DataFrame(
    {
        "key": "economics.cost",
        "true": [1.0, 2.0, 3.0, 2.0, 2.0],
        "believed": [2.0, 2.0, 2.0, 1.0, 3.0],
        "policy": "basic",
        "publisher_payoff": [5.0, 8.0, 8.0, 7.0, 6.0],
    }
)
CHART = pd.DataFrame(
    {
        "x": [1.0, 1.0, 2.0, 2.0],
        "y": [5.0, 6.0, 5.0, 6.0],
        "best": ["basic", "no-attack", "no-attack", ""],
        "publisher_payoff": [1.0, 2.0, 3.0, np.nan],
        "margin": [0.5, 0.0, 2.0, np.nan],
    }
)


def test_dots_of_a_policy_are_at_total_indices_and_squares_at_first_order():
    figure = sensitivity_dots(INDICES, MEASURES)
    assert misplaced(figure) == []
    places = {}
    for axes, policy in zip(figure.axes, ("basic", "no-attack"), strict=True):
        for group in axes.containers:
            (dots, _, (interval,)) = group
            places[policy, group.get_label()] = dots.get_xdata().tolist()
            assert [segment[:, 0].tolist() for segment in interval.get_segments()] == [[0, 1], [0, 1]]
    for (policy, index), values in places.items():
        rows = INDICES[(INDICES["policy"] == policy) & (INDICES["index"] == index)]
        assert values == rows["value"].tolist()
    assert len(places) == 4


def test_ranges_of_regret_reach_from_the_smallest_to_the_largest_and_the_worst_is_written():
    table = pd.DataFrame({"policy": "basic", "publisher_payoff": [5.0, 1.0, 9.0], "regret": [4.0, 8.25, 0.0]})
    figure = regret_ranges(pd.concat([table, table.assign(policy="no-attack")]))
    assert misplaced(figure) == []
    payoff, regret = figure.axes
    assert [axes.lines[0].get_xdata().tolist() for axes in (payoff, regret)] == [[1, 9], [0, 8.25]]
    assert [text.get_text() for text in payoff.texts] == ["smallest", "1.00", "1.00"]
    assert [text.get_text() for text in regret.texts] == ["largest", "8.25", "8.25"]


def test_tornado_bars_reach_from_the_own_value_to_both_ends_and_the_largest_swing_is_on_top():
    outputs = {"at_low": [1.0, 3.0, 5.0], "at_own": 4.0, "at_high": [9.0, 6.0, 5.0], "swing": [8.0, 3.0, 1.0]}
    places = {"policy": ["basic", "basic", "no-attack"], "output": "risk", "parameter": ["a", "b", "a"]}
    table = pd.DataFrame({**places, **outputs})
    axes = tornado_bars(table, MEASURES).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    bars = [sorted((bar.get_x(), bar.get_x() + bar.get_width())) for group in axes.containers for bar in group]
    assert bars == [[3, 4], [1, 4], [4, 6], [4, 9]]


def test_curves_have_a_panel_over_the_truth_and_one_over_the_belief():
    figure = belief_curves(CURVES)
    over_truth, over_belief = (axes for axes in figure.axes if axes.get_visible())
    assert over_truth.lines[0].get_xydata().tolist() == [[1, 5], [2, 8], [3, 8]]
    assert over_belief.lines[0].get_xydata().tolist() == [[1, 7], [2, 8], [3, 6]]
    # The point at which the belief is right.
    assert over_truth.lines[1].get_xdata() == [2.0, 2.0]


def test_a_grid_of_truths_and_beliefs_has_a_map_per_policy_with_the_payoffs_in_its_cells():
    grid = pd.DataFrame(itertools.product([1.0, 2.0, 3.0], [2.0, 3.0], ["basic", "no-attack"]))
    grid = grid.set_axis(["true", "believed", "policy"], axis=1).assign(key="economics.cost")
    grid["publisher_payoff"] = np.arange(12.0)
    figure = belief_curves(grid.sample(frac=1, random_state=1))
    assert misplaced(figure) == []
    for axes, policy in zip([axes for axes in figure.axes if axes.images], ("basic", "no-attack"), strict=True):
        own = grid[grid["policy"] == policy].pivot(index="believed", columns="true", values="publisher_payoff")
        np.testing.assert_array_equal(axes.images[0].get_array(), own)
        assert [float(text.get_text()) for text in axes.texts] == own.to_numpy().ravel().tolist()
        # Frames are where the belief is right: true 2 and 3.
        assert [frame.get_xy() for frame in axes.patches] == [(0.5, -0.5), (1.5, 0.5)]


def test_the_map_has_the_best_policy_in_each_cell_and_nothing_where_a_run_failed():
    figure = policy_map(CHART, "economics.loss", "economics.cost")
    cells = figure.axes[0].collections[0].get_array()
    assert np.ma.filled(cells.astype(float), np.nan).ravel()[:3].tolist() == [0, 1, 1]
    assert not np.isfinite(np.ma.filled(cells.astype(float), np.nan).ravel()[3])


def test_figures_are_those_of_the_tables_that_can_be_drawn():
    """Text gives no map, and missing numbers give no curves or indices."""
    tables = {
        "sensitivity": INDICES.assign(value=np.nan),
        "belief_curves": CURVES.assign(error=np.nan),
        "policy_map": CHART.assign(x=["a", "a", "b", "b"]),
    }
    manifest = {"content": {"stress": {"map": {"x": {"key": "a"}, "y": {"key": "b"}}}}}
    common = {"name": "town", "manifest": manifest, "warnings": ()}
    assert list(figures_of(StressResult(tables, **common))) == []
    names = [name for name, _ in figures_of(StressResult({**tables, "policy_map": CHART}, **common))]
    assert names == ["policy-map"]

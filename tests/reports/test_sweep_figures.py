"""Figures of sweeps: drawn keys, and no sweep that stops a batch from completing."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reidsim.engine.scenario import run_batch
from reidsim.kinds.masking.figures import lines_of_runs
from reidsim.reports.drawing import figures_of
from reidsim.scenarios.schema import SweepSection

TESTS = Path(__file__).resolve().parents[1]
LOSS, COST, BENEFIT = "economics.loss", "economics.cost", "economics.benefit"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """Return the path of a copy of the town."""
    folder = tmp_path_factory.mktemp("sweeps") / "work"
    shutil.copytree(TESTS / "scenarios" / "town", folder)
    return folder / "town.toml"


def figures(town, values, **changes):
    sweep = {"values": values, **{key: changes.pop(key) for key in ("together", "one_at_a_time") if key in changes}}
    overrides = {"sweep": sweep, **{key.replace("__", "."): value for key, value in changes.items()}}
    result = run_batch(town, overrides=overrides, executor="serial")
    return result, dict(figures_of(result))


def lines(figure, panel):
    return {line.get_label(): np.column_stack(line.get_data()) for line in figure.axes[panel].get_lines()}


def test_a_key_with_numbers_makes_a_curve_of_each_policy(town):
    result, drawn = figures(town, {LOSS: [20, 60, 100]})
    assert list(drawn) == ["sweep-lines"]
    for panel, measure in enumerate(("publisher_payoff", "adversary_payoff")):
        curves = lines(drawn["sweep-lines"], panel)
        assert list(curves) == ["Basic", "No-attack"]
        own = result.runs[result.runs["policy"] == "basic"]
        np.testing.assert_array_equal(curves["Basic"], own[[LOSS, measure]].to_numpy())


def test_keys_changed_one_at_a_time_make_a_row_each_at_the_scenarios_own_values(town):
    result, drawn = figures(town, {LOSS: [20, 60, 100], COST: [5, 20]}, one_at_a_time=[LOSS, COST])
    (figure,) = drawn.values()
    assert len(figure.axes) == 4
    assert lines(figure, 0)["Basic"][:, 0].tolist() == [20, 60, 100]
    # The point with the scenario's own values belongs to both lines.
    assert lines(figure, 2)["Basic"][:, 0].tolist() == [5, 10, 20]
    own = result.runs[(result.runs[LOSS] == 60) & (result.runs["policy"] == "basic")].sort_values(COST)
    assert lines(figure, 2)["Basic"][:, 1].tolist() == own["publisher_payoff"].tolist()


@pytest.mark.deep
def test_a_second_key_with_few_values_makes_lines_and_with_many_a_map(town):
    _, drawn = figures(town, {LOSS: [20, 40, 60], COST: [5, 10]})
    assert [figure.get_suptitle() for figure in drawn.values()] == ["Cost 5", "Cost 10"]
    losses = {"from": 10, "to": 80, "points": 8}
    result, drawn = figures(town, {LOSS: losses, COST: {"from": 2, "to": 14, "points": 7}})
    assert list(drawn) == ["sweep-map-1", "sweep-map-2"]
    figure = drawn["sweep-map-1"]
    assert figure.get_suptitle() == "Basic"
    assert figure.axes[2].get_xlabel().startswith("Adversary's cost")
    assert figure.axes[0].get_ylabel().startswith("Publisher's loss")
    basic = result.runs[result.runs["policy"] == "basic"].sort_values([LOSS, COST])
    surface = figure.axes[2].collections[0].get_array()
    np.testing.assert_array_equal(np.ravel(surface), basic["publisher_payoff"])


def test_sequential_sweeps_draw_thresholds(town):
    intercept = "adversary.sequential.detection_intercept"
    values = {"adversary.sequential.penalty": [0, 50, 500], intercept: [-4.0, 0.0]}
    own = {"adversary__planner": "fmdp", "adversary__sequential__penalty": 50}
    result, drawn = figures(
        town, values, one_at_a_time=list(values), adversary__sequential__detection_intercept=-3.0, **own
    )
    figure = drawn["attack-thresholds"]
    (penalty,) = (points for label, points in lines(figure, 0).items() if label == "as in the scenario")
    assert penalty[:, 0].tolist() == [0, 50, 500]
    (detection,) = (points for label, points in lines(figure, 1).items() if label == "as in the scenario")
    assert detection[:, 0] == pytest.approx([1 / (1 + np.exp(4)), 1 / (1 + np.exp(3)), 0.5])
    own = result.runs[(result.runs[intercept] == -3.0) & (result.runs["adversary.sequential.penalty"] == 50)]
    assert penalty[1, 1] == detection[1, 1] == own["attack_threshold"].iloc[0] == own["attack_threshold"].iloc[1]


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        ({LOSS: [60, 70], "release.path": ["patients.csv", "missing.csv"]}, {}),
        ({"publisher.policies": [["basic"], ["no-attack"]], LOSS: [1, 2]},
         {"one_at_a_time": ["publisher.policies", LOSS]}),
        ({BENEFIT: [0, 0.5]}, {"economics__cost": 0, "economics__loss": 0}),
        *(pytest.param(*each, marks=pytest.mark.deep) for each in (
            ({"adversary.planner": ["one-shot", "fmdp"], COST: [1, 20]}, {}),
            ({"agents.rounds": [1, 2]}, {"agents": {"rounds": 1}}),
            ({LOSS: [1, 2]}, {"replications": 2, "uncertainty__samples": 2, "uncertainty__parameters":
                              {COST: {"distribution": "uniform", "low": 1, "high": 9}}}),
        )),
    ],
)  # fmt: skip
def test_every_sweep_completes_whether_or_not_it_has_a_figure(monkeypatch, town, values, changes):
    # Paths in an override are relative to the working folder.
    monkeypatch.chdir(town.parent)
    result, _ = figures(town, values, **changes)
    assert len(result.runs) >= 1


def test_databases_that_change_in_size_are_lines_of_their_own():
    keys = [f"resources.{name}.size" for name in ("registry", "genealogy")]
    sweep = SweepSection(values={key: [10, 20] for key in keys}, one_at_a_time=tuple(keys))
    points = [(10, 10), (20, 10), (10, 20)]
    runs = pd.DataFrame(points, columns=keys).assign(state="complete", policy="masking", publisher_payoff=[1.0, 2, 3])
    content = {"resources": {"registry": {"size": 10}, "genealogy": {"size": 10}}}
    lines = lines_of_runs(runs, sweep, content)
    assert lines.groupby("line", sort=False)["publisher_payoff"].agg(list).to_dict() == {
        "Size of registry": [1, 2],
        "Size of genealogy": [1, 3],
    }

"""The figures are checked by the data in their artists, not by their pixels."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from layout import misplaced
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from tiers import cases
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.figures.maps import parameter_maps
from reidsim.figures.runs import rounds_by_policy
from reidsim.figures.style import (
    UNIT,
    draw_lines,
    legend_below,
    looks,
    means_with_intervals,
    new_figure,
    policy_name,
)
from reidsim.figures.sweeps import sensitivity_lines
from reidsim.kinds.dynamic.figures import levels_by_period
from reidsim.kinds.tables.figures import (
    payoff_difference_curves,
    payoff_difference_scatter,
    search_deviation,
    strategy_payoffs,
)
from reidsim.reports.drawing import figures_of
from reidsim.scenarios.kind import kinds_at_hand

POLICIES = ("safe-harbor", "basic", "no-attack", "sh-friendly")


def strategies_table() -> pd.DataFrame:
    names = [",".join(map(str, levels)) for levels in itertools.product(range(3), range(2), range(4))]
    position = np.arange(len(names))
    attacked = position % 5 == 0
    payoff = 1000.0 - 30 * position - 200 * attacked
    payoff[[7, 9]] = 1049.7  # equally good: the first counts
    return pd.DataFrame(
        {
            "record": "48, API, Female, 38363",
            "strategy": names,
            "generalization_intensity": position / 23,
            "utility": 1 - position / 23,
            "publisher_payoff": payoff,
            "adversary_payoff": np.where(attacked, 38.86 - position, 0.0),
            "attacked": attacked,
            "success_probability": 0.1,
        }
    )


def records_table(n: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(5)
    harbor = random.uniform(600, 860, n)
    publisher = {
        "safe-harbor": harbor,
        "basic": harbor + random.uniform(0, 350, n),
        "no-attack": harbor + random.normal(200, 90, n),
        "sh-friendly": np.where(np.arange(n) % 10 == 0, harbor + 20, harbor),
        "no-protection": np.full(n, -5000.0),
    }
    frames = []
    for policy, payoff in publisher.items():
        adversary = np.maximum(0, payoff - 900) / 10
        frame = pd.DataFrame({"record": np.arange(n), "publisher_payoff": payoff, "adversary_payoff": adversary})
        # Each policy has its own order of rows: only the number of the record matches them.
        frames.append(frame.assign(policy=policy).sample(frac=1, random_state=len(policy)))
    table = pd.concat(frames, ignore_index=True)
    return table.assign(policy=pd.Categorical(table["policy"], categories=list(publisher)))


def maps_table(
    benefits: tuple[float, ...] = (0.0, 500.0, 1000.0, 1500.0),
    losses: tuple[float, ...] = (10.0, 100.0, 1000.0, 10000.0, 100000.0),
) -> pd.DataFrame:
    grid = pd.DataFrame(list(itertools.product(benefits, losses)), columns=["benefit", "loss"])
    attacked = (grid["loss"] >= 1000) & (grid["benefit"] > 0)
    return grid.assign(
        generalization_intensity=grid["loss"] / (grid["loss"] + grid["benefit"]),
        share_attacked=attacked * 0.25,
        publisher_payoff=grid["benefit"] - grid["loss"] / 1000,
        adversary_payoff=attacked * grid["loss"] / 100,
    )


def lines_table() -> pd.DataFrame:
    values = {"cost": (1.0, 4.0, 16.0, 64.0), "benefit": (0.0, 500.0, 1000.0), "loss": (0.0, 300.0, 600.0)}
    rows = [
        (parameter, value, policy, 1000 - 10 * rank - value / 9, value / 50 + rank)
        for parameter, all_values in values.items()
        for value in reversed(all_values)
        for rank, policy in enumerate(reversed(POLICIES))
    ]
    return pd.DataFrame(rows, columns=["parameter", "value", "policy", "publisher_payoff", "adversary_payoff"])


def deviations_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "parameter": ["benefit", "benefit", "benefit", "loss", "loss"],
            "value": [300.0, 0.0, 1200.0, 0.0, 25000.0],
            "publisher_payoff_difference": [0.9, 0.0, 0.3, 0.0, 8.0],
            "share_optimal": [0.98, 1.0, 0.9947, 1.0, 0.92],
        }
    )


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def line_of(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (line,) = [line for line in axes.get_lines() if line.get_label() == label]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def payoffs_of(table: pd.DataFrame, policy: str, column: str) -> np.ndarray:
    return table[table["policy"] == policy].sort_values("record")[column].to_numpy()


# ---------------------------------------------------------------------------------------------- all figures


def test_a_policy_looks_the_same_in_every_figure() -> None:
    names = {name: kind for kind in kinds_at_hand() for name in kind.policies}
    fixed = [name for name, kind in names.items() if looks([name])[name] == looks(list(names))[name]]
    assert {"safe-harbor", "basic", "no-attack", "no-protection", "opt-in", "masking", "k-anonymity"} <= set(fixed)
    for name in ("no-protection", "masking", "opt-in"):
        assert looks([name])[name] == looks(["basic", name])[name]


def test_a_figure_names_a_policy_by_its_name_in_tables_and_scenarios() -> None:
    for kind in kinds_at_hand():
        for name in kind.policies:
            assert policy_name(name).lower().replace(" ", "-") == name.lower()


@pytest.mark.deep
@pytest.mark.parametrize("name", cases(["wan2015", "prasser2017", "xia2015"], ["prasser2017"]))
def test_figures_of_bundled_scenarios_have_no_layout_faults(name) -> None:
    faults = {figure: misplaced(drawn) for figure, drawn in figures_of(reidsim.run(name))}
    assert not any(faults.values()), faults


@pytest.mark.deep
@pytest.mark.parametrize("ending", cases(["svg", "pdf"], ["svg"]))
def test_figures_of_a_folder_are_drawn_in_the_requested_format_and_not_by_the_run(tmp_path, ending) -> None:
    result = reidsim.new(pd.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})).run()
    result.save(tmp_path / "run")
    assert not (tmp_path / "run/figures").exists()
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--figures", ending])
    assert done.exit_code == 0, done.output
    for name, _ in figures_of(result):
        result.save_figure(tmp_path / f"{name}.{ending}", name)
        written = tmp_path / "run/figures" / f"{name}.{ending}"
        assert written.read_bytes() == (tmp_path / f"{name}.{ending}").read_bytes()
    assert not (tmp_path / "run/report.html").exists()
    # Options of the report are refused, not ignored.
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--figures", "png", "--no-cells"])
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "run/figures/payoffs.png").exists()
    (tmp_path / "run/figures").rename(tmp_path / "figures")
    (tmp_path / "run/figures").touch()
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--figures", "png"])
    assert isinstance(done.exception, InputError)
    assert str(tmp_path / "run/figures") in str(done.exception)


def test_names_of_many_lines_are_apart_and_in_the_order_of_the_ends() -> None:
    names = [f"policy {number}" for number in range(9)]
    ends = np.array([0.0, 0.1, 0.11, 0.12, 5.0, 5.01, 9.0, 9.9, 10.0])
    lines = pd.DataFrame({"policy": np.repeat(names, 2), "x": [0, 1] * 9, "y": np.repeat(ends, 2)})
    figure, [[axes]] = new_figure(1, 1, panel=(5.0, 3.0))
    draw_lines(axes, lines, "x", "y", looks(names))
    legend_below(figure)
    assert not figure.legends
    texts = sorted((text for text in axes.texts if text.get_text()), key=lambda text: text.get_position()[1])
    assert [text.get_text() for text in texts] == names
    assert misplaced(figure) == []


def test_error_bars_are_the_t_interval_of_each_mean() -> None:
    runs = pd.DataFrame({"policy": "basic", "x": np.repeat([1, 2, 3], [4, 3, 1]), "y": [1.0, 2, 4, 9, 5, 5, 8, 7]})
    means = means_with_intervals(runs, ["policy", "x"], ["y"])
    for row in means.to_dict("records"):
        values = runs.loc[runs["x"] == row["x"], "y"]
        assert row["y"] == values.mean()
        if len(values) > 1:
            interval = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
            assert (row["y low"], row["y high"]) == pytest.approx(tuple(interval))
        else:
            assert math.isnan(row["y low"])
            assert math.isnan(row["y high"])


# ------------------------------------------------------------------------------------------ rounds and periods


def rounds_table() -> pd.DataFrame:
    rows = itertools.product(range(21), ("basic", "no-attack"), range(1, 5))
    table = pd.DataFrame(rows, columns=["draw", "policy", "round"])
    payoff = table["round"] * (table["policy"] == "basic") - 2 + table["draw"] / 10
    return table.assign(publisher_payoff=payoff, adversary_payoff=-payoff, participation=1.0, risk=table["draw"] / 20)


@pytest.mark.deep
def test_rounds_have_a_row_per_policy_with_means_and_the_interval_of_draws() -> None:
    table = rounds_table()
    figure = rounds_by_policy(table)
    assert misplaced(figure) == []
    # Participation is the same in all rounds, and so is the mean risk.
    grid = np.reshape(np.array(figure.axes, dtype=object), (2, 2))
    columns = ("publisher_payoff", "adversary_payoff")
    for (row, policy), (place, column) in itertools.product(enumerate(("basic", "no-attack")), enumerate(columns)):
        axes, own = grid[row, place], table[table["policy"] == policy].groupby("round")[column]
        bars, _, *others = (patch for patch in axes.patches if isinstance(patch, StepPatch))
        np.testing.assert_allclose(bars.get_data().values, own.mean())
        np.testing.assert_allclose(bars.get_data().edges, [0.5, 1.5, 2.5, 3.5, 4.5])
        assert len(others) == 1
        (whiskers,) = axes.collections
        expected = np.column_stack([own.quantile(0.05), own.quantile(0.95)])
        np.testing.assert_allclose([part[:, 1] for part in whiskers.get_segments()], expected)
        low, high = axes.get_ylim()
        assert low <= expected.min()
        assert expected.max() <= high


def test_levels_have_a_cell_per_policy_and_period_and_grey_where_nothing_is_released() -> None:
    periods = pd.DataFrame(
        {
            "policy": ["basic"] * 3 + ["no-attack"] * 3,
            "number": [1, 2, 3] * 2,
            "records": [5, 9, 2] * 2,
            "level age": [0, 1, 3, 2, None, 0],
            "level sex": [0, 1, 0, 1, None, 1],
        }
    )
    figure = levels_by_period(periods)
    assert misplaced(figure) == []
    age, sex, cases, levels = figure.axes
    for axes, column in ((age, "level age"), (sex, "level sex")):
        (mesh,) = [item for item in axes.collections if isinstance(item, QuadMesh)]
        drawn = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(2, 3)
        np.testing.assert_array_equal(drawn, periods[column].to_numpy(float).reshape(2, 3))
        assert [label.get_text() for label in axes.get_yticklabels()] == ["Basic", "No-attack"]
    assert [bar.get_height() for bar in cases.patches] == [5, 9, 2]
    assert levels.get_yticks().tolist() == [0, 1, 2, 3]
    assert levels.get_ylabel() == "Level (0: unchanged)"
    assert legend_of(figure) == ["nothing released"]


# ------------------------------------------------------------------------------------------------- Fig. 5


def test_strategy_payoffs_draws_every_strategy_by_reply_at_its_place() -> None:
    table = strategies_table()
    figure = strategy_payoffs(table)
    attacked = np.flatnonzero(table["attacked"])
    left = np.flatnonzero(~table["attacked"])
    for axes, column in zip(figure.axes, ("publisher_payoff", "adversary_payoff"), strict=True):
        assert line_of(axes, "Attacked") == (attacked.tolist(), table[column].iloc[attacked].tolist())
        assert line_of(axes, "Not attacked") == (left.tolist(), table[column].iloc[left].tolist())
        assert line_of(axes, "Publisher's best strategy") == ([7], [table[column].iloc[7]])
    assert figure.get_suptitle() == "Record (48, API, Female, 38363)"
    assert legend_of(figure) == ["Not attacked", "Attacked", "Publisher's best strategy"]


# -------------------------------------------------------------------------------------------- Figs. 6 and 7


def test_curves_show_the_share_of_records_at_or_below_each_difference() -> None:
    table = records_table()
    figure = payoff_difference_curves(table)
    assert legend_of(figure) == ["Basic", "No-attack", "SH-friendly"]
    for axes, column in zip(figure.axes, ("publisher_payoff", "adversary_payoff"), strict=True):
        for label, policy in zip(legend_of(figure), POLICIES[1:], strict=True):
            difference = payoffs_of(table, policy, column) - payoffs_of(table, "safe-harbor", column)
            x, y = line_of(axes, label)
            assert x == sorted(difference)
            # The last of equal differences counts all of them, and itself by half.
            for value in (x[0], x[150], x[-1]):
                highest = max(share for at, share in zip(x, y, strict=True) if at == value)
                assert highest == pytest.approx((difference <= value).mean() - 0.5 / len(difference))


def test_scatter_draws_each_record_against_the_reference() -> None:
    table = records_table()
    figure = payoff_difference_scatter(table)
    panels = zip(itertools.product(POLICIES[1:], ("publisher_payoff", "adversary_payoff")), figure.axes, strict=True)
    for (policy, column), axes in panels:
        (points,) = [item for item in axes.collections if isinstance(item, PathCollection)]
        x, y = np.asarray(points.get_offsets()).T
        order = np.lexsort((y, x))
        harbor = payoffs_of(table, "safe-harbor", column)
        expected = payoffs_of(table, policy, column) - harbor
        other = np.lexsort((expected, harbor))
        np.testing.assert_allclose(x[order], harbor[other])
        np.testing.assert_allclose(y[order], expected[other], atol=1e-9)


# ------------------------------------------------------------------------------------------- Figs. 8 to 10


def meshes(figure: Figure) -> list[QuadMesh]:
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    return [item for axes in panels for item in axes.collections if isinstance(item, QuadMesh)]


def test_maps_hold_the_grid_whatever_the_order_of_rows() -> None:
    table = maps_table()
    figure = parameter_maps(table.sample(frac=1, random_state=3), axes=("benefit", "loss"), title="Basic")
    columns = ("generalization_intensity", "share_attacked", "publisher_payoff", "adversary_payoff")
    for mesh, column in zip(meshes(figure), columns, strict=True):
        surface = np.asarray(mesh.get_array())
        assert surface.shape == (4, 5)
        np.testing.assert_array_equal(surface, table.pivot_table(index="benefit", columns="loss", values=column))
        corners = mesh.get_coordinates()
        # Evenly spaced benefits from 0; losses grow by a factor of ten, so borders are at the geometric middle.
        np.testing.assert_allclose(corners[:, 0, 1], [0, 250, 750, 1250, 1750])
        np.testing.assert_allclose(corners[0, :, 0], 10 ** np.arange(0.5, 6))
        assert (mesh.axes.get_xscale(), mesh.axes.get_yscale()) == ("log", "linear")
    # All panels have the same axes, which are labelled at the left and below.
    assert mesh.axes.get_xlabel() == f"Publisher's loss, L ({UNIT})"
    assert figure.axes[0].get_ylabel() == f"Publisher's benefit, V\n({UNIT})"


def test_attacks_of_one_record_are_two_categories_and_payoffs_of_both_signs_are_neutral_at_zero() -> None:
    table = maps_table()
    attacked = (table["share_attacked"] > 0).astype(float)
    table = table.assign(share_attacked=attacked, publisher_payoff=table["publisher_payoff"] - 2000)
    mesh = meshes(parameter_maps(table, axes=("benefit", "loss"), title=""))[1]
    assert mesh.cmap.N == 2
    colours = np.unique(mesh.to_rgba(mesh.get_array()).reshape(-1, 4), axis=0)
    assert len(colours) == 2
    signed = meshes(
        parameter_maps(table.assign(publisher_payoff=np.arange(20.0) - 5), axes=("benefit", "loss"), title="")
    )
    assert signed[2].get_clim() == (-14, 14)


# ----------------------------------------------------------------------------------------- Figs. 11 and 12


def test_lines_are_those_of_the_table_in_order_of_the_parameter() -> None:
    table = lines_table()
    figure = sensitivity_lines(table)
    labels = ["Safe Harbor", "Basic", "No-attack", "SH-friendly"]
    assert legend_of(figure) == labels
    panels = itertools.product(("loss", "benefit", "cost"), ("publisher_payoff", "adversary_payoff"))
    for (parameter, column), axes in zip(panels, figure.axes, strict=True):
        for policy, label in zip(POLICIES, labels, strict=True):
            rows = table[(table["parameter"] == parameter) & (table["policy"] == policy)].sort_values("value")
            assert line_of(axes, label) == (rows["value"].tolist(), rows[column].tolist())
        assert parameter in axes.get_xlabel()
        assert axes.get_xscale() == ("log" if parameter == "cost" else "linear")


def test_search_deviation_draws_the_table_in_order_of_the_parameter() -> None:
    table = deviations_table()
    drawn = [np.asarray(line.get_xydata()).tolist() for axes in search_deviation(table).axes for line in axes.lines]
    for _, rows in table.sort_values("value").groupby("parameter"):
        for column in ("publisher_payoff_difference", "share_optimal"):
            assert rows[["value", column]].to_numpy().tolist() in drawn


@pytest.mark.parametrize(("person", "unit"), [(None, "record"), ("patient", "person")])
def test_amounts_are_per_unit_of_the_scenario(tmp_path, person, unit):
    table = pd.DataFrame({"patient": [1, 1, 2, 3], "age": [30, 31, 50, 52]})
    scenario = reidsim.Scenario.from_frames(
        table, hierarchies={"age": reidsim.intervals(5)}, economics={"benefit": 100, "loss": 60, "cost": 16}
    )
    changes = {} if person is None else {"release.person": person}
    figure = scenario.with_(changes).run().plot("payoffs")
    assert {axes.get_xlabel() for axes in figure.axes} == {f"Currency units per {unit}"}


@pytest.mark.deep
def test_positions_have_no_digits_that_differ_between_processes(tmp_path):
    figure, [row] = new_figure(1, 3, panel=(3.1, 2.3))
    figure.savefig(tmp_path / "panels.png")
    corners = np.array([axes.get_position(original=True).get_points() for axes in row])
    np.testing.assert_array_equal(corners, np.round(corners, 6))

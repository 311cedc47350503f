"""Draw stress tests, attributions, switch points, cross-play and the reliability of attacks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from reidsim.core.wording import BLACK, BLUE, GREY, VERMILION, Measure
from reidsim.figures import style
from reidsim.figures.maps import colour_bar, draw_cells, signed_colours, write_cells
from reidsim.games.outcomes import (
    PUBLISHER_PAYOFF,
    RISK,
)
from reidsim.scenarios.kind import loss_text

# Axis label of sensitivity indices, and the name of each index that is drawn.
_INDICES = {
    "total": ("Sobol index", {"total": "total", "first-order": "first-order"}),
    "mu_star": ("Elementary effects", {"mu_star": "mu*", "sigma": "sigma"}),
}
_MARKS: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "marker": "o", "markersize": 5},
    {"color": VERMILION, "marker": "s", "markersize": 4.5, "markerfacecolor": "white"},
)
_COLUMNS = 3
# Number of columns of a heat map up to which its cells contain numbers, and most numbers on its axes.
_MOST_WRITTEN = 8
# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1
# Height of a row and width of a column of cross-play, inches.
_ROW, _COLUMN = 0.24, 0.75


def sensitivity_dots(indices: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw the sensitivity indices of every output, with a row of panels per policy and a column per output.

    Parameters
    ----------
    indices : DataFrame
        Table ``sensitivity`` of a stress test: one row per ``output``, ``policy``, ``index`` (its name) and
        ``parameter``, with ``value`` and its interval, ``low`` and ``high``. Indices of pairs of parameters (``other``
        is not empty) and missing indices are not drawn.
    measures : mapping of str to Measure
        Measure of each output, by column name; it gives the title of the column.

    Returns
    -------
    Figure
        Dots are total indices, squares first-order indices (Sobol), or mu* and sigma (Morris), each with its interval.
        Sobol indices have the same axis in all panels.
    """
    table = indices[(indices["other"] == "") & indices["value"].notna()]
    bar = "total" if (table["index"] == "total").any() else "mu_star"
    title, names = _INDICES[bar]
    outputs, parameters = table["output"].unique(), list(table["parameter"].unique())
    policies = style.ordered_policies(table["policy"])
    sharex: bool | Literal["col"] = True if bar == "total" else "col"
    # The first panel has the names of parameters and of its policy beside it.
    panel = (1.6 + 1.4 / len(outputs), max(1.1, 0.55 + 0.24 * len(parameters)))
    figure, grid = style.new_figure(len(policies), len(outputs), panel=panel, sharex=sharex, sharey=True)
    found = table.set_index(["output", "policy", "index", "parameter"])[["value", "low", "high"]].astype(np.float64)
    for row, policy in zip(grid, policies, strict=True):
        for axes, output in zip(row, outputs, strict=True):
            axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
            for (index, label), own, shift in zip(names.items(), _MARKS, (-0.15, 0.15), strict=True):
                here = found.reindex([(output, policy, index, name) for name in parameters])
                ends = np.nan_to_num(np.abs(here[["low", "high"]].to_numpy().T - here["value"].to_numpy()))
                at = np.arange(len(parameters)) + shift
                axes.errorbar(here["value"], at, xerr=ends, label=label, linestyle="none", elinewidth=1, **own)
            heading = textwrap.fill(measures[output].label, 22) if row is grid[0] else ""
            style.label_axes(axes, title=heading, x=title if row is grid[-1] else "", numbers="x")
            axes.locator_params("x", nbins=3)
        row[0].set_yticks(range(len(parameters)), [style.key_words(name) for name in parameters], fontsize=9)
        row[0].set_ylim(len(parameters) - 0.5, -0.5)
        style.name_row(row[0], policy)
    style.legend_below(figure, axes.get_legend_handles_labels()[0])
    return figure


def tornado_bars(table: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw a tornado chart of the first output, with a panel per policy.

    Parameters
    ----------
    table : DataFrame
        Table ``tornado`` of a stress test: one row per ``output``, ``policy`` and ``parameter``, with the outputs
        ``at_low``, ``at_own`` and ``at_high``, and their ``swing``. Rows without a swing are omitted.
    measures : mapping of str to Measure
        Measure of each output, by column name.

    Returns
    -------
    Figure
        A bar from the output at the own values to the output at each end of a parameter; the largest swing is on top.
    """
    rows = table[(table["output"] == table["output"].iloc[0]) & table["swing"].notna()]
    look = style.ordered_looks(rows["policy"])
    figure, every = style.panels(len(look), _COLUMNS, panel=(3.8, 2.9))
    for policy, axes in zip(look, every, strict=True):
        own = rows[rows["policy"] == policy][::-1]
        for column, colour, label in (("at_low", BLUE, "Low end"), ("at_high", VERMILION, "High end")):
            # In grey print, the edge tells bars that overlap apart.
            width, left = own[column] - own["at_own"], own["at_own"]
            axes.barh(range(len(own)), width, left=left, color=colour, edgecolor=BLACK, alpha=0.6, label=label)
        axes.axvline(own["at_own"].iloc[0], color=GREY, linewidth=0.8)
        axes.set_yticks(range(len(own)), [style.key_words(name) for name in own["parameter"]], fontsize=9)
        style.label_axes(axes, title=style.policy_name(policy), x=measures[rows["output"].iloc[0]].label, numbers="x")
    style.legend_below(figure, axes.get_legend_handles_labels()[0])
    return figure


def regret_ranges(regrets: pd.DataFrame) -> Figure:
    """Draw the range of payoff and regret over the points, with a row per policy.

    Parameters
    ----------
    regrets : DataFrame
        Table ``regrets`` of a stress test: one row per point and policy, with ``policy``, ``publisher_payoff`` and
        ``regret`` (money per record). Rows without a regret are omitted.

    Returns
    -------
    Figure
        Two panels, payoff and regret; see `style.range_panels`. The worst value, the smallest payoff or the largest
        regret, is written.
    """
    table = regrets[regrets["regret"].notna()]
    look = style.ordered_looks(table["policy"])
    panels = ("publisher_payoff", "Payoff", "smallest", np.min), ("regret", "Regret", "largest", np.max)
    drawn = [(table, column, f"{name} ({style.UNIT})") for column, name, _, _ in panels]
    figure, row = style.range_panels(drawn, look, width=4.4, values="points")
    for axes, (column, _, worst, end) in zip(row, panels, strict=True):
        beside: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        style.write_at(axes, worst, (1.16, -0.8), (0, 0), **beside)
        for place, policy in enumerate(look):
            text = style.money_text(end(table.loc[table["policy"] == policy, column]))
            style.write_at(axes, text, (1.16, place), (0, 0), **beside)
    return figure


def belief_curves(curves: pd.DataFrame, payoff: Measure = PUBLISHER_PAYOFF) -> Figure:
    """Draw the payoff of policies whose publisher is mistaken about one parameter.

    Parameters
    ----------
    curves : DataFrame
        Rows of a single key in the table ``belief_curves`` of a stress test: ``key``, ``true`` and ``believed`` (values
        of the key, numbers), ``policy`` and the payoff. The key is a parameter of the scenario.
    payoff : Measure
        The publisher's payoff, with its label.

    Returns
    -------
    Figure
        For a grid of true and believed values, one panel per policy; see `_belief_maps`. Otherwise, one panel per
        believed value, over the true value; then one panel per true value, over the believed value. A panel whose x
        values are all equal is omitted. A vertical line marks where both agree. Only the first six of all panels are
        drawn.
    """
    curves = curves.drop_duplicates()
    name, number = str(curves["key"].iloc[0]), {x: curves[x].nunique() for x in ("true", "believed")}
    words, look = style.key_words(name), style.ordered_looks(curves["policy"])
    labels = {x: style.with_unit(f"{x.capitalize()} {words}", name) for x in number}
    if min(number.values()) > 1 and len(curves) == number["true"] * number["believed"] * len(look):
        return _belief_maps(curves, list(look), labels, payoff)
    drawn = [
        (f"{style.sentence(words)} {verb} {value:.6g}", x, fixed, rows)
        for x, fixed, verb in (("true", "believed", "believed to be"), ("believed", "true", "is"))
        for value, rows in curves.groupby(fixed, observed=True)
        if rows[x].min() < rows[x].max()
    ]
    drawn = drawn[: 2 * _COLUMNS] or [(style.sentence(words), "true", "believed", curves)]
    figure, every = style.panels(len(drawn), 2, panel=(4.2, 3.0))
    for (title, x, fixed, rows), axes in zip(drawn, every, strict=True):
        handles = style.draw_lines(axes, rows, x, payoff.column, look)
        axes.axvline(rows[fixed].iloc[0], color=GREY, linewidth=0.8, zorder=0.5)
        style.label_axes(axes, title=title, x=labels[x], y=style.measure_label(payoff), numbers="xy")
    style.legend_below(figure, handles, columns=2 if len(drawn) == 1 else 4)
    return figure


def _belief_maps(curves: pd.DataFrame, policies: list[str], labels: Mapping[str, str], payoff: Measure) -> Figure:
    """Draw a heat map per policy of the payoff by true (x) and believed value (y).

    Cells in which both values agree have a frame. The payoff is written in each cell, if there are at most eight true
    values. All panels have the same colours; for `curves` and `payoff`, see `belief_curves`. `labels` are those of the
    columns ``true`` and ``believed``.
    """
    true, believed = (np.unique(curves[column]) for column in labels)
    height = max(1.1, 0.4 + _ROW * len(believed))
    figure, every = style.new_figure(len(policies), 1, panel=(5.4, height), sharex=True)
    colours, (low, high) = signed_colours(curves[payoff.column])
    for (axes,), policy in zip(every, policies, strict=True):
        own = curves[curves["policy"] == policy].pivot(index="believed", columns="true", values=payoff.column)
        image = axes.imshow(own, colours, vmin=low, vmax=high, aspect="auto", origin="lower")
        if len(true) <= _MOST_WRITTEN:
            write_cells(axes, image, own, payoff)
        for row, column in np.argwhere(believed[:, None] == true).tolist():
            corner = column - 0.5, row - 0.5
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=BLACK, linewidth=2, clip_on=False))
        for axis, values in ((axes.xaxis, true), (axes.yaxis, believed)):
            shown = np.arange(0, len(values), -(-len(values) // _MOST_WRITTEN))
            axis.set_ticks(shown, map(style.number_text, values[shown]))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        style.label_axes(axes, title=style.policy_name(policy), y=textwrap.fill(labels["believed"], 16))
    style.label_axes(axes, x=labels["true"])
    colour_bar(figure, [axes for (axes,) in every], image, style.measure_label(payoff), fraction=0.04, pad=0.02)
    frame = Patch(facecolor="white", edgecolor=BLACK, linewidth=2, label="belief is right")
    style.legend_below(figure, [frame])
    return figure


def attribute_shares(table: pd.DataFrame, measures: Sequence[Measure]) -> Figure:
    """Draw the Shapley share of each column, one panel per measure.

    A bar shows the share of a column (attribute) under a policy. Error bars of two standard errors are drawn where
    shares are estimates (a standard error is not 0).

    Parameters
    ----------
    table : DataFrame
        One row per policy, attribute and measure, with columns ``policy``, ``attribute``, ``measure`` (its column
        name), ``share`` and ``standard_error``.
    measures : sequence of Measure
        Measures of the panels, at most three.
    """
    attributes = list(table["attribute"].unique())
    look = style.ordered_looks(table["policy"])
    places, height = np.arange(len(attributes)), 0.8 / len(look)
    figure, [row] = style.new_figure(1, len(measures), panel=(4.4, 0.9 + 0.45 * len(attributes)))
    for measure, letter, axes in zip(measures, "abc", row, strict=False):
        for place, (policy, own) in enumerate(look.items()):
            rows = table[(table["policy"] == policy) & (table["measure"] == measure.column)]
            rows = rows.set_index("attribute").loc[attributes]
            at, errors = places + (place - (len(look) - 1) / 2) * height, 2 * rows["standard_error"].to_numpy()
            axes.barh(at, rows["share"], height=height, color=own.colour, xerr=errors if errors.any() else None)
        axes.axvline(0, color=GREY, linewidth=0.8)
        labels = attributes if axes is row[0] else [""] * len(attributes)
        axes.set_yticks(places, labels, fontsize=9, parse_math=False)
        axes.invert_yaxis()
        unit = f"\n({style.UNIT})" if measure.column in style.PAYOFFS else ""
        style.label_axes(axes, title=f"({letter}) {measure.label}", x=f"Shapley share of the column{unit}", numbers="x")
    style.legend_below(figure, style.patches(look))
    return figure


def reliability_diagram(reliability: pd.DataFrame) -> Figure:
    """Draw the share of correct claims over their probability, with 95 % intervals.

    Parameters
    ----------
    reliability : DataFrame
        Classes of claims; see `reidsim.engine.red_team.AttackResult`.
    """
    names = {"predicted": "Predicted by the game", "probability": "Posterior of the attack"}
    look = style.looks([*names])
    figure, [[axes]] = style.new_figure(1, 1, panel=(4.8, 4.2))
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    handles = []
    for estimate, label in names.items():
        rows, own = reliability[reliability["estimate"] == estimate], look[estimate]
        around = (rows["precision"] - rows["precision_low"], rows["precision_high"] - rows["precision"])
        axes.errorbar(rows["mean"], rows["precision"], np.abs(around), fmt="none", ecolor=own.colour, elinewidth=0.8)
        handles += style.draw_line(axes, rows["mean"], rows["precision"], own, label)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    style.label_axes(axes, x="Mean probability of the claims", y="Share of correct claims", numbers="xy")
    style.legend_below(figure, handles, columns=2)
    return figure


def switch_lines(lines: pd.DataFrame, bands: pd.DataFrame, *, parameter: str, own: float) -> Figure:
    """Draw payoffs against a payoff parameter, over bands of the best policy.

    Parameters
    ----------
    lines : DataFrame
        One row per value of the parameter and policy: ``value``, ``policy`` and ``publisher_payoff`` (per record).
    bands : DataFrame
        One row per interval of the parameter, ascending: ``low``, ``high`` and ``policy``, the best policy, empty where
        it is unknown. Intervals with an unknown policy have no colour.
    parameter : str
        Name of the payoff parameter, such as ``"loss"``.
    own : float
        The scenario's own value, marked by a line.
    """
    look = style.ordered_looks(lines["policy"])
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    handles = style.draw_lines(axes, lines, "value", "publisher_payoff", look, marker=None)
    for band in bands[bands["policy"].isin(look)].to_dict("records"):
        axes.axvspan(band["low"], band["high"], color=look[band["policy"]].colour, alpha=0.08, linewidth=0)
    style.headline(figure, "The background has the colour of the best policy", fontsize=10)
    low, high = bands["low"].min(), bands["high"].max()
    named = low
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
        if value - named > _APART * (high - low):
            named, above = value, ("data", "axes fraction")
            style.write_at(axes, loss_text(value), (value, 1.0), (0, 3), xycoords=above, ha="center")
    if low <= own <= high:
        axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":")
        # Above the amounts at which the best policy changes.
        text = f"the scenario's {loss_text(own)}"
        style.write_at(axes, text, (own, 1.0), (0, 15), xycoords=("data", "axes fraction"), ha="center")
    axes.set_xlim(low, high)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=3)
    return figure


def policy_map(chart: pd.DataFrame, x: str, y: str) -> Figure:
    """Draw the best policy over two parameters, and its margin over the second best.

    If one policy is best everywhere, draw only the margin. A missing margin is drawn as 0.

    Parameters
    ----------
    chart : DataFrame
        Table ``policy_map`` of a stress test: a full grid with one row per pair of values, and columns ``x``, ``y``
        (the values), ``best`` (a policy; empty if unknown, for some rows at most) and ``margin`` (money per record).
    x, y : str
        Names of the parameters on the axes.
    """
    look = style.ordered_looks(name for name in chart["best"] if name)
    position = {policy: number for number, policy in enumerate(look)}
    table = chart.assign(margin=chart["margin"].fillna(0), position=chart["best"].map(position))
    ahead = f"ahead of the second best ({style.UNIT})"
    if len(look) > 1:
        drawn = [("position", "(a) Best policy"), ("margin", f"(b) {style.sentence(ahead)}")]
    else:
        drawn = [("margin", f"{style.policy_name(next(iter(look)))}, best everywhere: {ahead}")]
    figure, [row] = style.new_figure(1, len(drawn), panel=(4.4 if len(drawn) > 1 else 6.4, 3.4))
    for axes, (column, title) in zip(row, drawn, strict=True):
        surface = table.pivot(index="y", columns="x", values=column)
        if column == "position":
            colours = ListedColormap([own.colour for own in look.values()])
            draw_cells(axes, surface, colours, (-0.5, len(look) - 0.5))
        else:
            limits = 0.0, max(float(np.nanmax(surface.to_numpy())), 1e-9)
            colour_bar(figure, axes, draw_cells(axes, surface, "cividis", limits))
        style.label_axes(axes, title=title, x=style.parameter_label(x), y=style.parameter_label(y).replace(" (", "\n("))
    if len(drawn) > 1:
        style.legend_below(figure, style.patches(look))
    return figure


def cross_play_maps(payoff: pd.DataFrame, risk: pd.DataFrame) -> Figure:
    """Draw the defender's payoff and the risk of re-identification as heat maps.

    Parameters
    ----------
    payoff : DataFrame
        Defender's payoff in currency units per record; one row per defender, one column per adversary, missing for
        combinations that could not be played.
    risk : DataFrame
        Mean probability of re-identification; same rows and columns as `payoff`.

    Returns
    -------
    Figure
        Every cell contains its number, except combinations that could not be played. The colour scale of payoffs is
        symmetric around 0 up to the largest absolute payoff, so no value is clipped. Larger risks are brighter; their
        scale is logarithmic if positive risks differ by more than a factor of 2, and then risks below 1/10,000 of the
        largest have the darkest colour; otherwise, it is linear from 0 to 1.
    """
    rows, columns = payoff.shape
    figure, [[left, right]] = style.new_figure(1, 2, panel=(1.5 + _COLUMN * columns, 1.2 + _ROW * rows))
    largest = float(np.nanmax(np.abs(payoff.to_numpy()))) or 1.0
    positive = risk.to_numpy()[risk.to_numpy() > 0]
    lowest, highest = (positive.min(), positive.max()) if len(positive) else (1.0, 1.0)
    spread = LogNorm(max(lowest, highest / 1e4), highest, clip=True) if highest > 2 * lowest else Normalize(0.0, 1.0)
    for axes, table, scale, colours, measure, title, unit in (
        # The colours of payoffs are neutral at 0. Colour-blind readers can distinguish the colours of both maps.
        (left, payoff, Normalize(-largest, largest), "PuOr", PUBLISHER_PAYOFF, "(a) Defender's payoff", style.UNIT),
        (right, risk, spread, "cividis", RISK, f"(b) {RISK.label}", "probability"),
    ):
        image = axes.imshow(table, cmap=colours, norm=scale, aspect="auto")
        write_cells(axes, image, table, measure)
        axes.set_xticks(np.arange(columns), table.columns, rotation=30, ha="right", rotation_mode="anchor")
        axes.set_yticks(np.arange(rows), table.index if axes is left else [""] * rows)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        colour_bar(figure, axes, image, unit, fraction=0.04, pad=0.02)
        style.label_axes(axes, title=title)
    return figure

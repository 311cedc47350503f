"""Draw stress tests, attributions, switch points, cross-play and the reliability of attacks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.wording import BLACK, BLUE, GREY, VERMILION, Measure
from reidsim.figures import style
from reidsim.figures.maps import belief_maps
from reidsim.games.outcomes import PUBLISHER_PAYOFF
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
# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1


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
        style.name_rows(row[0], map(style.key_words, parameters))
        style.name_row(row[0], policy)
    style.legend_below(figure)
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
    style.legend_below(figure)
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
        For a grid of true and believed values, one panel per policy; see `belief_maps`. Otherwise, one panel per
        believed value, over the true value; then one panel per true value, over the believed value. A panel whose x
        values are all equal is omitted. A vertical line marks where both agree. Only the first six of all panels are
        drawn.
    """
    curves = curves.drop_duplicates()
    name, number = str(curves["key"].iloc[0]), {x: curves[x].nunique() for x in ("true", "believed")}
    words, look = style.key_words(name), style.ordered_looks(curves["policy"])
    labels = {x: style.with_unit(f"{x.capitalize()} {words}", name) for x in number}
    if min(number.values()) > 1 and len(curves) == number["true"] * number["believed"] * len(look):
        return belief_maps(curves, list(look), labels, payoff)
    drawn = [
        (f"{style.sentence(words)} {verb} {value:.6g}", x, fixed, rows)
        for x, fixed, verb in (("true", "believed", "believed to be"), ("believed", "true", "is"))
        for value, rows in curves.groupby(fixed, observed=True)
        if rows[x].min() < rows[x].max()
    ]
    drawn = drawn[: 2 * _COLUMNS] or [(style.sentence(words), "true", "believed", curves)]
    figure, every = style.panels(len(drawn), 2, panel=(4.2, 3.0))
    for (title, x, fixed, rows), axes in zip(drawn, every, strict=True):
        style.draw_lines(axes, rows, x, payoff.column, look)
        axes.axvline(rows[fixed].iloc[0], color=GREY, linewidth=0.8, zorder=0.5)
        style.label_axes(axes, title=title, x=labels[x], y=style.measure_label(payoff), numbers="xy")
    style.legend_below(figure, columns=2 if len(drawn) == 1 else 4)
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
    look = style.looks(names)
    figure, [[axes]] = style.new_figure(1, 1, panel=(4.8, 4.2))
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    for estimate, label in names.items():
        rows, own = reliability[reliability["estimate"] == estimate], look[estimate]
        around = (rows["precision"] - rows["precision_low"], rows["precision_high"] - rows["precision"])
        axes.errorbar(rows["mean"], rows["precision"], np.abs(around), fmt="none", ecolor=own.colour, elinewidth=0.8)
        style.draw_line(axes, rows["mean"], rows["precision"], own, label=label)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    style.label_axes(axes, x="Mean probability of the claims", y="Share of correct claims", numbers="xy")
    style.legend_below(figure, columns=2)
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
    style.draw_lines(axes, lines, "value", "publisher_payoff", look, marker=None)
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
    style.legend_below(figure, columns=3)
    return figure

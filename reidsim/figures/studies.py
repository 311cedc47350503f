"""Draw the results of stress tests, attributions and switch points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.measures import Measure
from reidsim.figures import style
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.palette import GREY
from reidsim.scenarios.report_sentences import loss_text

# Index drawn as a bar, and the index that is marked on it.
_BARS = {
    "total": ("total (bar) and first-order (mark)", "first-order"),
    "mu_star": ("mu* (bar) and sigma (mark)", "sigma"),
}
_COLUMNS = 3
# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1


def sensitivity_bars(indices: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw the sensitivity indices of every output, with a bar per policy.

    Each output has one panel, in which the parameters are side by side.

    Parameters
    ----------
    indices : DataFrame
        Table ``sensitivity`` of a stress test. Indices of pairs of parameters and missing indices are not drawn.
    measures : mapping of str to Measure
        Outputs by column.

    Returns
    -------
    Figure
        Bars are total indices and marks first-order indices (Sobol), or bars are mu* and marks sigma (Morris), with the
        intervals of the bars.
    """
    table = indices[(indices["other"] == "") & indices["value"].notna()]
    bar = "total" if (table["index"] == "total").any() else "mu_star"
    title, mark = _BARS[bar]
    outputs, parameters = table["output"].unique(), table["parameter"].unique()
    look = style.ordered_looks(table["policy"])
    figure, every = style.panels(len(outputs), _COLUMNS, panel=(3.8, 2.9))
    figure.suptitle(title, fontsize=10)
    width = 0.8 / len(look)
    by_bar = table.set_index(["output", "policy", "index", "parameter"])[["value", "low", "high"]].astype(np.float64)
    for output, axes in zip(outputs, every, strict=True):
        for place, (policy, own) in enumerate(look.items()):
            at = np.arange(len(parameters)) + (place - (len(look) - 1) / 2) * width
            bars, marks = (by_bar.reindex([(output, policy, of, name) for name in parameters]) for of in (bar, mark))
            spread = np.abs(bars[["low", "high"]].to_numpy().T - bars["value"].to_numpy())
            axes.bar(at, bars["value"], width * 0.9, color=own.colour, alpha=0.6, label=style.policy_name(policy))
            axes.errorbar(at, bars["value"], yerr=np.nan_to_num(spread), fmt="none", ecolor=GREY, elinewidth=0.8)
            axes.plot(at, marks["value"], linestyle="none", marker=own.marker, color=own.colour, markersize=4)
        axes.set_xticks(range(len(parameters)), [style.key_words(name) for name in parameters], fontsize=9)
        style.label_axes(axes, title=measures[output].label, numbers="y")
    style.legend_below(figure, style.patches(look, alpha=0.6), columns=2 if len(outputs) == 1 else 4)
    return figure


def regret_curves(regrets: pd.DataFrame) -> Figure:
    """Draw the distribution of payoff and regret over the points, by policy.

    Parameters
    ----------
    regrets : DataFrame
        Table ``regrets`` of a stress test.

    Returns
    -------
    Figure
        The share of points (y) with a payoff, or regret, of at most the value (x).
    """
    table = regrets[regrets["regret"].notna()]
    look = style.ordered_looks(table["policy"])
    figure, [row] = style.new_figure(1, 2, panel=(4.4, 3.0))
    labels = ("publisher_payoff", "Payoff", "Share of points at or below"), ("regret", "Regret", "")
    for axes, (column, name, label) in zip(row, labels, strict=True):
        handles = []
        for policy, own in look.items():
            values = table.loc[table["policy"] == policy, column].to_numpy()
            handles += style.draw_shares(axes, values, own, style.policy_name(policy))
        axes.set_ylim(0, 1.02)
        style.label_axes(axes, x=f"{name} ({style.UNIT})", y=label, numbers="x")
    style.legend_below(figure, handles)
    return figure


def belief_curves(curves: pd.DataFrame, payoff: Measure = PUBLISHER_PAYOFF) -> Figure:
    """Draw the payoff of policies whose publisher is mistaken about one parameter.

    Parameters
    ----------
    curves : DataFrame
        Rows of a single key in the table ``belief_curves`` of a stress test. The values of the key are numbers.
    payoff : Measure
        The publisher's payoff, with its label.

    Returns
    -------
    Figure
        One panel per believed value, over the true value; then one panel per true value, over the believed value. A
        vertical line marks where both agree. Only the first six of all panels are drawn.
    """
    curves = curves.drop_duplicates()
    name = str(curves["key"].iloc[0])
    words = style.key_words(name)
    drawn = [
        (f"{style.sentence(words)} {verb} {value:.6g}", x, fixed, rows)
        for x, fixed, verb in (("true", "believed", "believed to be"), ("believed", "true", "is"))
        for value, rows in curves.groupby(fixed, observed=True)
        if rows[x].min() < rows[x].max()
    ]
    # A grid of beliefs and truths has too many panels; draw the first few.
    drawn = drawn[: 2 * _COLUMNS] or [(style.sentence(words), "true", "believed", curves)]
    look = style.ordered_looks(curves["policy"])
    figure, every = style.panels(len(drawn), _COLUMNS, panel=(4.0, 3.0))
    for (title, x, fixed, rows), axes in zip(drawn, every, strict=True):
        handles = style.draw_lines(axes, rows, x, payoff.column, look, marker=None)
        axes.axvline(rows[fixed].iloc[0], color=GREY, linewidth=0.8, zorder=0.5)
        label = style.with_unit(f"{x.capitalize()} {words}", name)
        style.label_axes(axes, title=title, x=label, y=f"{payoff.label}\n({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=2 if len(drawn) == 1 else 4)
    return figure


def attribute_shares(table: pd.DataFrame, measures: Sequence[Measure]) -> Figure:
    """Draw the Shapley share of each column, one panel per measure.

    Error bars of two standard errors are drawn where shares are estimates.

    Parameters
    ----------
    table : DataFrame
        Columns ``policy``, ``attribute``, ``measure``, ``share`` and ``standard_error``.
    measures : sequence of Measure
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
        style.label_axes(axes, title=f"({letter}) {measure.label}", x="Shapley share of the column", numbers="x")
    style.legend_below(figure, style.patches(look))
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
    handles = style.draw_lines(axes, lines, "value", "publisher_payoff", look, marker=None, linewidth=1.6)
    for band in bands[bands["policy"].isin(look)].to_dict("records"):
        axes.axvspan(band["low"], band["high"], color=look[band["policy"]].colour, alpha=0.08, linewidth=0)
    low, high = bands["low"].min(), bands["high"].max()
    named = low
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
        if value - named > _APART * (high - low):
            named, above = value, ("data", "axes fraction")
            style.write_at(axes, loss_text(value), (value, 1.0), (0, 3), xycoords=above, ha="center")
    if low <= own <= high:
        handles.append(axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":", label="as in the scenario"))
    axes.set_xlim(low, high)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=3)
    return figure

"""Draw the results of a stress test: indices, regret, beliefs and best policies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from reidsim.core.measures import Measure
from reidsim.figures import style
from reidsim.figures.spacing import draw_cells
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.palette import GREY

# Index drawn as a bar, and the index that is marked on it.
_BARS = {
    "total": ("total (bar) and first-order (mark)", "first-order"),
    "mu_star": ("mu* (bar) and sigma (mark)", "sigma"),
}
_COLUMNS = 3


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
    single = indices[(indices["other"] == "") & indices["value"].notna()]
    table = single
    table[["low", "high"]] = single[["low", "high"]].to_numpy(dtype=np.float64)
    bar = "total" if (table["index"] == "total").any() else "mu_star"
    title, mark = _BARS[bar]
    outputs, parameters = list(dict.fromkeys(table["output"])), list(dict.fromkeys(table["parameter"]))
    look = style.looks(style.ordered_policies(table["policy"]))
    figure, every = style.panels(len(outputs), _COLUMNS, panel=(3.8, 2.9))
    figure.suptitle(title, fontsize=10)
    width = 0.8 / len(look)
    for output, axes in zip(outputs, every, strict=True):
        for place, (policy, own) in enumerate(look.items()):
            at = np.arange(len(parameters)) + (place - (len(look) - 1) / 2) * width
            here = table[(table["output"] == output) & (table["policy"] == policy)].set_index(["index", "parameter"])
            heights = here.reindex([(bar, name) for name in parameters])
            spread = np.abs(heights[["low", "high"]].to_numpy().T - heights["value"].to_numpy())
            axes.bar(at, heights["value"], width * 0.9, color=own.colour, alpha=0.6, label=style.policy_name(policy))
            axes.errorbar(at, heights["value"], yerr=np.nan_to_num(spread), fmt="none", ecolor=GREY, elinewidth=0.8)
            marks = here.reindex([(mark, name) for name in parameters])["value"]
            axes.plot(at, marks, linestyle="none", marker=own.marker, color=own.colour, markersize=4)
        axes.set_xticks(range(len(parameters)), [style.key_words(name) for name in parameters], fontsize=9)
        style.number_ticks(axes.yaxis)
        style.label_axes(axes, title=measures[output].label)
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
    complete = regrets[regrets["regret"].notna()]
    table = complete
    look = style.looks(style.ordered_policies(table["policy"]))
    figure, grid = style.new_figure(1, 2, panel=(4.4, 3.0))
    for axes, (column, name) in zip(grid[0], (("publisher_payoff", "Payoff"), ("regret", "Regret")), strict=True):
        handles = []
        for policy, own in look.items():
            values = table.loc[table["policy"] == policy, column].to_numpy()
            handles += style.draw_shares(axes, values, own, style.policy_name(policy))
        style.number_ticks(axes.xaxis)
        axes.set_ylim(0, 1.02)
        style.label_axes(
            axes, x=f"{name} ({style.UNIT})", y="Share of points at or below" if column != "regret" else ""
        )
    style.legend_below(figure, handles)
    return figure


def belief_curves(curves: pd.DataFrame, payoff: Measure = PUBLISHER_PAYOFF) -> Figure:
    """Draw the payoff of policies whose publisher is mistaken about one parameter.

    Parameters
    ----------
    curves : DataFrame
        Rows of a single key in the table ``belief_curves`` of a stress test. The values of the key are numbers.
    payoff : Measure
        Payoff of the mistaken player.

    Returns
    -------
    Figure
        One panel per believed value, over the true value; and one panel per true value, over the believed value. A
        vertical line marks where both agree. Only the first six panels are drawn.
    """
    curves = curves.drop_duplicates()
    name = str(curves["key"].iloc[0])
    words = style.key_words(name)
    true, believed = (style.with_unit(f"{whose} {words}", name) for whose in ("True", "Believed"))
    drawn = [
        (f"{style.sentence(words)} believed to be {value:.6g}", "true", true, rows)
        for value, rows in curves.groupby("believed", observed=True)
        if rows["true"].min() < rows["true"].max()
    ] + [
        (f"{style.sentence(words)} is {value:.6g}", "believed", believed, rows)
        for value, rows in curves.groupby("true", observed=True)
        if rows["believed"].min() < rows["believed"].max()
    ]
    drawn = drawn or [(style.sentence(words), "true", true, curves)]
    # A grid of beliefs and truths has too many panels; draw the first few.
    drawn = drawn[: 2 * _COLUMNS]
    look = style.looks(style.ordered_policies(curves["policy"]))
    figure, every = style.panels(len(drawn), _COLUMNS, panel=(4.0, 3.0))
    for (title, x, label, rows), axes in zip(drawn, every, strict=True):
        handles = []
        for policy, own in look.items():
            line = rows[rows["policy"] == policy].sort_values(x)
            handles += axes.plot(
                line[x], line[payoff.column], color=own.colour, linestyle=own.dashes, label=style.policy_name(policy)
            )
        right = rows["believed" if x == "true" else "true"].iloc[0]
        axes.axvline(right, color=GREY, linewidth=0.8, zorder=0.5)
        style.number_ticks(axes.xaxis, axes.yaxis)
        style.label_axes(axes, title=title, x=label, y=f"{payoff.label}\n({style.UNIT})")
    style.legend_below(figure, handles, columns=2 if len(drawn) == 1 else 4)
    return figure


def policy_map(chart: pd.DataFrame, x: str, y: str) -> Figure:
    """Draw the best policy over two parameters, and its margin over the second best.

    If one policy is best everywhere, draw only the margin. A missing margin is drawn as 0.

    Parameters
    ----------
    chart : DataFrame
        Table ``policy_map`` of a stress test; a full grid.
    x, y : str
        Names of the parameters.
    """
    table = chart.assign(margin=chart["margin"].fillna(0))
    policies = style.ordered_policies(name for name in table["best"] if name)
    look = style.looks(policies)
    xs, ys = np.unique(table["x"]), np.unique(table["y"])
    position = table["best"].map({policy: number for number, policy in enumerate(policies)})
    ahead = f"ahead of the second best ({style.UNIT})"
    if len(policies) > 1:
        drawn = [(position, "(a) Best policy"), (table["margin"], f"(b) {style.sentence(ahead)}")]
    else:
        drawn = [(table["margin"], f"{style.policy_name(policies[0])}, best everywhere: {ahead}")]
    figure, grid = style.new_figure(1, len(drawn), panel=(4.4 if len(drawn) > 1 else 6.4, 3.4))
    for axes, (values, title) in zip(grid[0], drawn, strict=True):
        surface = (
            table.assign(value=values).pivot(index="y", columns="x", values="value").reindex(ys)[xs].to_numpy(float)
        )
        best = values is position
        colours = ListedColormap([look[policy].colour for policy in policies]) if best else "cividis"
        limits = (-0.5, len(policies) - 0.5) if best else (0.0, float(max(np.nanmax(surface), 1e-9)))
        mesh = draw_cells(axes, xs, ys, surface, colours, limits)
        if not best:
            bar = figure.colorbar(mesh, ax=axes).ax
            bar.tick_params(labelsize=9)
            style.number_ticks(bar.yaxis)
        style.label_axes(axes, title=title, x=style.parameter_label(x), y=style.parameter_label(y))
    if len(drawn) > 1:
        style.legend_below(figure, style.patches(look))
    return figure

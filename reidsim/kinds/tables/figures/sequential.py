"""Figures of the sequential attack (Xia et al. 2015, Figs. 6 to 10)."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reidsim.core.palette import BLACK, BLUE, GREY, VERMILION
from reidsim.figures import style
from reidsim.figures.style import UNIT, Look, draw_line, label_axes, legend_below, looks
from reidsim.releases.lattice import Floats

_GROUP_SIZE = "Group size in the registry (records)"
_BASELINE = "Baseline (Eq. 7)"
# Sign of the risk difference, marker shape, edge colour, face colour and label. Shapes and fills differ, so that the
# markers can be distinguished in greyscale.
_SIGNS = (
    (1, "^", "white", VERMILION, "the group is known"),
    (-1, "o", BLUE, "none", "it is unknown"),
)
# Columns that `by_group_size` draws, by name of the figure, and their axis labels.
GROUP_SIZE_CURVES = {
    "risk-by-group-size": "risk",
    "payoff-by-group-size": "value",
    "exploits-by-group-size": "exploits",
}
_CURVE_LABELS = {
    "risk": "Probability of re-identification",
    "value": f"Adversary's expected payoff\nat the outset ({UNIT})",
    "exploits": "Candidates exploited before terminating\n(none hit, none detected)",
}
# Axis labels of known parameters; panels follow this order.
_PARAMETER_LABELS = {
    "access_cost": f"Cost of accessing the registry ({UNIT})",
    "exploit_cost": "Cost of an exploit (per exploit)",
    "penalty": "Penalty (per detected exploit)",
    "detection": "Probability that the first exploit is detected",
}


def by_group_size(attacks: pd.DataFrame, column: str) -> Figure:
    """Draw the attack by group size and planner (Xia et al. 2015, Figs. 6 to 8).

    Parameters
    ----------
    attacks : DataFrame
        One row per setting, planner and group size, with columns ``setting``, ``planner`` (``"fmdp"``, or
        ``"baseline"`` for one random exploit), ``group_size`` (in the registry, from 1) and `column`.
    column : {"risk", "value", "exploits"}
        Probability of re-identification, expected payoff at the outset (money per record), or number of exploits before
        termination if none succeeds and none is detected.

    Returns
    -------
    Figure
        One line per setting, and one for the baseline, or one per setting if it differs between them. For exploits, a
        thin line for exploits of all candidates in the group is drawn in place of the baseline.
    """
    everybody = column == "exploits"
    baseline = attacks[attacks["planner"] == ("" if everybody else "baseline")]
    planned = attacks[attacks["planner"] == "fmdp"].groupby("setting", sort=False, observed=True)
    lines = {str(name): rows for name, rows in planned}
    bases = {f"{_BASELINE}, {name}": rows for name, rows in baseline.groupby("setting", sort=False, observed=True)}
    wide = baseline.pivot(index="group_size", columns="setting", values=column)
    if bases and np.isclose(wide, wide.iloc[:, [0]], rtol=1e-9, atol=0).all():
        bases = {_BASELINE: next(iter(bases.values()))}
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    handles = _draw_lines(axes, lines | bases, "group_size", column)
    sizes = np.unique(attacks["group_size"])
    style.scale_axis(axes, "x", sizes)
    if axes.get_xscale() == "linear":
        _whole_ticks(axes.xaxis)
    style.zero_line(axes)
    label_axes(axes, x=_GROUP_SIZE, y=_CURVE_LABELS[column], numbers="y")
    if everybody:
        axes.set_ylim(axes.get_ylim())
        # A straight line is curved on a logarithmic axis, which needs many points.
        sizes = np.linspace(sizes[0], sizes[-1], 500)
        handles += axes.plot(sizes, sizes, color=GREY, linewidth=0.8, zorder=0.6, label="everybody in the group")
    legend_below(figure, handles, columns=3)
    return figure


def belief_risks(beliefs: pd.DataFrame) -> Figure:
    """Draw risks by knowledge of the group size (Xia et al. 2015, Fig. 9).

    Parameters
    ----------
    beliefs : DataFrame
        One row per setting and kind of record (equal group size and match probability), with columns ``setting``,
        ``group_size`` (in the registry, from 0), ``match_probability`` (share of the population with the record's
        values), ``risk_known``, ``risk_unknown`` (probabilities of re-identification if the adversary knows the group
        size at the outset, and if it knows only ``match_probability``) and ``records`` (number of records of the kind).

    Returns
    -------
    Figure
        One panel per setting, with a marker for each row whose two risks differ. The area of a marker is proportional
        to the number of records; very small markers are enlarged. The numbers of records are above the panel.
    """
    # Risks that differ only by rounding errors count as equal.
    same = np.isclose(beliefs["risk_known"], beliefs["risk_unknown"], rtol=1e-9, atol=0)
    larger = np.where(same, 0.0, np.sign(beliefs["risk_known"] - beliefs["risk_unknown"]))
    beliefs = beliefs.assign(sign=larger, per_million=1e6 * beliefs["match_probability"])
    # Draw small markers last, on top of large ones.
    shown = beliefs[(beliefs["sign"] != 0) & (beliefs["records"] > 0)]
    shown = shown.sort_values("records", ascending=False, kind="stable")
    kind = "risk only" if (shown[["risk_known", "risk_unknown"]].min(axis=1) == 0).all() else "more risk"
    largest = shown["records"].max() if len(shown) else 1.0
    # Marker area per record in square points; the largest marker has at most 300 square points.
    area, settings, handles = min(24.0, 300 / largest), list(dict.fromkeys(beliefs["setting"])), list[Line2D]()
    panel = (6.0 if len(settings) == 1 else 4.4, 4.0)
    figure, (grid,) = style.new_figure(1, len(settings), panel=panel, sharex=True, sharey=True)
    for sign, marker, edge, face, when in _SIGNS:
        label, signed = f"{kind} if {when}", shown[shown["sign"] == sign]
        for setting, axes in zip(settings, grid, strict=True):
            points = signed[signed["setting"] == setting]
            x, y, size = points["group_size"], points["per_million"], np.maximum(area * points["records"], 4)
            axes.scatter(x, y, s=size, marker=marker, edgecolors=edge, facecolors=face, linewidths=0.6, label=label)
        own: dict[str, Any] = {"markeredgecolor": edge, "markerfacecolor": face, "label": label}
        handles.append(Line2D([], [], linestyle="none", marker=marker, **own))
    for setting, axes in zip(settings, grid, strict=True):
        totals = beliefs[beliefs["setting"] == setting].groupby("sign", observed=True)["records"].sum()
        known, unknown, equal = map(style.number_text, totals.reindex([1, -1, 0], fill_value=0))
        text = f"{kind} if known: {known} records; if unknown: {unknown} records\nsame risk: {equal} records"
        style.write_at(axes, text, (0, 1), (0, 4), xycoords="axes fraction")
        axes.set_title(setting, fontsize=10, loc="left", pad=27, parse_math=False)
        label_axes(axes, x=_GROUP_SIZE)
    _whole_ticks(grid[0].xaxis)
    positive = shown.loc[shown["per_million"] > 0, "per_million"].to_numpy()
    if len(positive) == len(shown) and positive.max(initial=0) > 100 * positive.min(initial=np.inf):
        _log_axis(grid[0], positive)
    else:
        style.number_ticks(grid[0].yaxis)
    label_axes(grid[0], y="Share of the population that matches\n(people per million)")
    if len(shown):
        label = f"{style.number_text(largest)} record{'' if largest == 1 else 's'} (area of the marker)"
        circle: dict[str, Any] = {"marker": "o", "color": GREY, "markerfacecolor": "none", "label": label}
        handles.append(Line2D([], [], linestyle="none", markersize=float(np.sqrt(area * largest)), **circle))
    legend_below(figure, handles, columns=3)
    return figure


def attack_thresholds(thresholds: pd.DataFrame) -> Figure:
    """Draw the smallest group size not attacked (Xia et al. 2015, Fig. 10).

    It is drawn by deterrent: a parameter that makes attacks less profitable.

    Parameters
    ----------
    thresholds : DataFrame
        One row per parameter, value and setting, with columns ``parameter`` (``"access_cost"``, ``"exploit_cost"``,
        ``"penalty"`` or ``"detection"``, the probability that the first exploit is detected), ``value``, ``setting``
        and ``threshold`` (the smallest group size, from 1, that is not attacked; missing if every size is).

    Returns
    -------
    Figure
        One panel per parameter, one line per setting; a marker on the upper edge if every size is attacked. The x axis
        is logarithmic if the values grow by a factor, the y axis if thresholds span more than two decades.
    """
    parameters = style.known_first(thresholds["parameter"], _PARAMETER_LABELS)
    look, several = looks(list(dict.fromkeys(thresholds["setting"]))), len(parameters) > 1
    figure, panels = style.panels(len(parameters), 2, panel=(4.4 if several else 5.6, 2.9))
    for parameter, axes, letter in zip(parameters, panels, ascii_lowercase, strict=False):
        here = thresholds[thresholds["parameter"] == parameter]
        lines = {setting: here[here["setting"] == setting] for setting in look}
        handles, known = _draw_lines(axes, lines, "value", "threshold"), here["threshold"].dropna().to_numpy()
        style.scale_axis(axes, "x", np.unique(here["value"]))
        if len(known) == 0:
            axes.set_yticks([])
        elif known.max() > 100 * known.min():
            _log_axis(axes, known)
        else:
            axes.set_ylim(0, max(1.1 * known.max(), 2))
            _whole_ticks(axes.yaxis)
        _mark_upper_edge(axes, lines, look)
        if several:
            # The padding keeps the title clear of markers on the upper edge.
            axes.set_title(f"({letter})", fontsize=10, loc="left", pad=11)
        x = _PARAMETER_LABELS.get(parameter, parameter)
        label_axes(axes, x=x, y="Smallest group size\nnot attacked (records)")
    if thresholds["threshold"].isna().any():
        label = "marker on the upper edge: every size attacked"
        handles.append(Line2D([], [], color=BLACK, linestyle="none", marker=r"$\uparrow$", markersize=8, label=label))
    legend_below(figure, handles, columns=3)
    return figure


def _draw_lines(axes: Axes, lines: Mapping[str, pd.DataFrame], x: str, y: str) -> list[Line2D]:
    """Draw a line per name through columns `x` and `y`, and return the lines.

    Earlier lines are wider than later lines on top of them, so that coinciding lines stay visible. In long lines,
    markers of different lines are at different points.

    Parameters
    ----------
    axes : Axes
    lines : mapping of str to DataFrame
        Points of each line, in any order, by the name in the legend.
    x, y : str
        Columns of the coordinates.
    """
    handles, look = [], looks(list(lines))
    for number, (name, line) in enumerate(lines.items()):
        points, every = line.sort_values(x), max(1, len(line) // 10)
        handles += draw_line(
            axes,
            points[x],
            points[y],
            look[name],
            name,
            linewidth=2.5 - 1.2 * number / max(1, len(lines) - 1),
            markevery=(every * number // len(lines), every),
            markeredgewidth=1.2,
            markerfacecolor="white" if every > 1 else "none",
        )
    return handles


def _log_axis(axes: Axes, values: Floats) -> None:
    """Make the y axis logarithmic, with room around the given positive values.

    Ticks are plain numbers.
    """
    low, high = float(values.min()), float(values.max())
    # Wide enough limits contain at least two of the ticks 1, 2, 5 and 10.
    room = 2.5 if high < 10 * low else max((high / low) ** 0.06, 1.3)
    axes.set(yscale="log", ylim=(low / room, high * room))
    style.log_ticks(axes.yaxis, high / low)


def _whole_ticks(axis: Axis) -> None:
    """Set whole-number ticks, at most eight, on a linear axis of counts."""
    axis.set_major_locator(MaxNLocator(7, integer=True, steps=[1, 2, 5, 10]))
    style.write_out(axis)


def _mark_upper_edge(axes: Axes, lines: Mapping[str, pd.DataFrame], look: Mapping[str, Look]) -> None:
    """Mark values without a threshold on the upper edge of a panel.

    There, every group size is attacked. Markers of later settings are smaller, so that they fit inside earlier ones.

    Parameters
    ----------
    axes : Axes
    lines : mapping of str to DataFrame
        Rows of each setting, with columns ``value`` and ``threshold``.
    look : mapping of str to Look
        Colour and marker of each setting.
    """
    for number, (setting, line) in enumerate(lines.items()):
        beyond, own = line.loc[line["threshold"].isna(), "value"], look[setting]
        size, edge = 5 + 3.5 * (len(lines) - 1 - number), axes.get_xaxis_transform()
        marker: dict[str, Any] = {
            "color": own.colour,
            "marker": own.marker,
            "markersize": size,
            "markerfacecolor": "none",
        }
        if len(beyond):
            axes.plot(beyond, np.ones(len(beyond)), transform=edge, linestyle="none", clip_on=False, **marker)

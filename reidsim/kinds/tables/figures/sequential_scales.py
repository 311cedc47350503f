"""The sequential attack as deterrents grow (Xia et al. 2015, Fig. 10), and lines for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from reidsim.errors import refuse_rows
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.figures.spacing import log_ticks, scale_axis
from reidsim.figures.style import UNIT, Look, draw_line, known_first, label_axes, legend_below, looks, panels, write_out
from reidsim.palette import BLACK
from reidsim.releases.strategy_space import Floats

# Known parameters come first, in this order.
_PARAMETER_LABELS = {
    "access_cost": f"Cost of accessing the registry ({UNIT})",
    "exploit_cost": "Cost of an exploit (per exploit)",
    "penalty": "Penalty (per detected exploit)",
    "detection": "Probability that the first exploit is detected",
}


def attack_thresholds(thresholds: pd.DataFrame) -> Figure:
    """Draw from which group size on records are left alone, along one deterrent at a time (Fig. 10).

    Parameters
    ----------
    thresholds : DataFrame
        One row per parameter, value and setting, with columns ``parameter`` (``"access_cost"``, ``"exploit_cost"``,
        ``"penalty"`` or ``"detection"``, the probability that the first exploit is detected), ``value``, ``setting``
        and ``threshold`` (the smallest group size, from 1, that is not attacked; missing if every size is).

    Returns
    -------
    Figure
        One panel per parameter, one line per setting; a marker on the upper edge where every size is attacked. The x
        axis is logarithmic where the values grow by a factor, the y axis where thresholds span over two decades.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, has two rows for the same parameter, value and setting, or a threshold
        below 1.
    """
    table = _checked_thresholds(thresholds)
    parameters = known_first(table["parameter"], _PARAMETER_LABELS)
    settings = list(dict.fromkeys(table["setting"]))
    look = looks(settings)
    figure, every = panels(len(parameters), 2, panel=(5.6 if len(parameters) == 1 else 4.4, 2.9))
    for parameter, axes, letter in zip(parameters, every, "abcdefghijklmnopqrstuvwxyz", strict=False):
        here = table[table["parameter"] == parameter]
        lines = {setting: here[here["setting"] == setting] for setting in settings}
        handles = draw_lines(axes, lines, "value", "threshold", look)
        scale_axis(axes, "x", np.unique(here["value"]))
        known = here["threshold"].dropna().to_numpy()
        if len(known) == 0:
            axes.set_yticks([])
        elif known.max() > 100 * known.min():
            log_axis(axes, "y", known)
        else:
            axes.set_ylim(0, max(1.1 * known.max(), 2))
            whole_ticks(axes.yaxis)
        _mark_upper_edge(axes, lines, look)
        if len(parameters) > 1:
            # Above the markers on the edge.
            axes.set_title(f"({letter})", fontsize=10, loc="left", pad=11)
        x = _PARAMETER_LABELS.get(parameter, parameter)
        label_axes(axes, x=x, y="Smallest group size\nnot attacked (records)")
    if table["threshold"].isna().any():
        label = "marker on the upper edge: every size attacked"
        handles.append(Line2D([], [], color=BLACK, linestyle="none", marker=r"$\uparrow$", markersize=8, label=label))
    legend_below(figure, handles, columns=3)
    return figure


def draw_lines(axes: Axes, lines: Mapping[str, pd.DataFrame], x: str, y: str, look: Mapping[str, Look]) -> list[Line2D]:
    """Draw a line per name through a table's columns `x` and `y`, so that each shows where several coincide.

    Earlier lines are wider than the later ones on top of them, and markers of long lines take turns.

    Returns
    -------
    list of Line2D
        In the order of the names, which are their labels.
    """
    handles = []
    for number, (name, line) in enumerate(lines.items()):
        points = line.sort_values(x)
        every = max(1, len(points) // 10)
        handles += draw_line(
            axes, points[x], points[y], look[name], name, linewidth=2.5 - 1.2 * number / max(1, len(lines) - 1),
            markevery=(every * number // len(lines), every), markeredgewidth=1.2,
            markerfacecolor="white" if every > 1 else "none",
        )  # fmt: skip
    return handles


def log_axis(axes: Axes, which: Literal["x", "y"], values: Floats) -> None:
    """Make the ``"x"`` or ``"y"`` axis logarithmic, with room around values above 0, and write its numbers out."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = float(values.min()), float(values.max())
    room = max((high / low) ** 0.06, 1.3)
    if high < 10 * low:
        # At least two of 1, 2, 5 and 10 are within the limits.
        room = 2.5
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low / room, high * room)})
    log_ticks(axis, high / low)


def whole_ticks(axis: Axis) -> None:
    """Put at most eight numbers on a linear axis of counts."""
    axis.set_major_locator(MaxNLocator(7, integer=True, steps=[1, 2, 5, 10]))
    write_out(axis)


def refuse_outside(table: pd.DataFrame, column: str, name: str, limits: tuple[float, float], expected: str) -> None:
    """Check that the numbers of a column lie between two limits, or on them.

    Raises
    ------
    InputError
        For the first row that does not.
    """
    outside = ~table[column].between(*limits)
    found = table[column].astype(float)
    refuse_rows(outside, "value out of range", source=f"{name} table", column=column, found=found, expected=expected)


def _checked_thresholds(thresholds: pd.DataFrame) -> pd.DataFrame:
    missing = thresholds["threshold"].isna().to_numpy() if "threshold" in thresholds else np.zeros(0, dtype=bool)
    if missing.any():
        filled = [1 if gone else size for size, gone in zip(thresholds["threshold"], missing, strict=True)]
        thresholds = thresholds.assign(threshold=filled)
    table = checked(thresholds, "thresholds", text=("parameter", "setting"), numbers=("value", "threshold"))
    refuse_outside(table, "threshold", "thresholds", (1, np.inf), "1 or more, or missing")
    refuse_repeated(table, ("parameter", "value", "setting"), "thresholds")
    if missing.any():
        table.loc[missing, "threshold"] = np.nan
    return table


def _mark_upper_edge(axes: Axes, lines: Mapping[str, pd.DataFrame], look: Mapping[str, Look]) -> None:
    """Put a setting's marker on the upper edge where it has no threshold, later ones inside earlier ones."""
    for number, (setting, line) in enumerate(lines.items()):
        beyond = line.loc[line["threshold"].isna(), "value"]
        if len(beyond):
            axes.plot(
                beyond,
                np.ones(len(beyond)),
                transform=axes.get_xaxis_transform(),
                color=look[setting].colour,
                linestyle="none",
                marker=look[setting].marker,
                markersize=5 + 3.5 * (len(lines) - 1 - number),
                markerfacecolor="none",
                clip_on=False,
            )

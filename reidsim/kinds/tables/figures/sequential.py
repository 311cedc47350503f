"""The sequential attack's case study by group size (Xia et al. 2015, Figs. 6 to 9)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.errors import InputError, not_among
from reidsim.figures import style
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.figures.spacing import scale_axis
from reidsim.kinds.tables.figures.sequential_scales import (
    draw_lines,
    log_axis,
    refuse_outside,
    whole_ticks,
)
from reidsim.palette import BLUE, GREY, VERMILION

_GROUP_SIZE = "Group size in the registry (records)"
_BASELINE = "Baseline (Eq. 7)"
_PLANNERS = ("fmdp", "baseline")
# Which risk is larger, and its look: filled against hollow, and of another shape, seen in grey as well.
_SIGNS = (
    (1, "^", "white", VERMILION, "the group is known"),
    (-1, "o", BLUE, "none", "it is unknown"),
)


def risk_by_group_size(attacks: pd.DataFrame) -> Figure:
    """Draw the risk against the group size, under plans step by step and under the baseline (Fig. 6).

    Parameters
    ----------
    attacks : DataFrame
        One row per setting, planner and group size, with columns ``setting``, ``planner`` (``"fmdp"`` or
        ``"baseline"``), ``group_size`` (from 1) and ``risk`` (probability of re-identification).

    Returns
    -------
    Figure
        One line per setting, and one for the baseline, or one per setting if it differs between them.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, has two rows for the same setting, planner and group size, or a
        planner, group size or probability that is none.
    """
    table = _checked_attacks(attacks, "risk")
    refuse_outside(table, "risk", "attacks", (0, 1), "a probability from 0 to 1")
    figure, _, handles = _by_group_size(table, "risk", "Probability of re-identification")
    style.legend_below(figure, handles, columns=3)
    return figure


def payoff_by_group_size(attacks: pd.DataFrame) -> Figure:
    """Draw the payoff that the adversary expects against the group size, with that of the baseline (Fig. 7).

    Parameters
    ----------
    attacks : DataFrame
        As for `risk_by_group_size`, with ``value`` (expected payoff at the outset, money per record) for ``risk``.

    Returns
    -------
    Figure
        One line per setting, and one for the baseline, or one per setting if it differs between them.

    Raises
    ------
    InputError
        As `risk_by_group_size`.
    """
    table = _checked_attacks(attacks, "value")
    figure, _, handles = _by_group_size(table, "value", f"Adversary's expected payoff\nat the outset ({style.UNIT})")
    style.legend_below(figure, handles, columns=3)
    return figure


def exploits_by_group_size(attacks: pd.DataFrame) -> Figure:
    """Draw how many candidates are exploited before the adversary gives up, against the group size (Fig. 8).

    Parameters
    ----------
    attacks : DataFrame
        As for `risk_by_group_size`, with ``exploits`` (number before terminating if none hits and none is detected)
        for ``risk``. Rows of the baseline are checked, but not drawn.

    Returns
    -------
    Figure
        One line per setting, and a thin one where everybody in the group is exploited.

    Raises
    ------
    InputError
        As `risk_by_group_size`; also if no row is of planner ``"fmdp"``.
    """
    table = _checked_attacks(attacks, "exploits")
    refuse_outside(table, "exploits", "attacks", (0, np.inf), "0 or more")
    planned = table[table["planner"] == "fmdp"]
    if planned.empty:
        raise InputError(
            "no planner to draw", source="attacks table", where="column 'planner'", expected="'fmdp' in some rows"
        )
    label = "Candidates exploited before terminating\n(none hit, none detected)"
    figure, axes, handles = _by_group_size(planned, "exploits", label)
    axes.set_ylim(axes.get_ylim())
    # Many points, as a logarithmic axis bends the line.
    everybody = np.linspace(planned["group_size"].min(), planned["group_size"].max(), 500)
    handles += axes.plot(everybody, everybody, color=GREY, linewidth=0.8, zorder=0.6, label="everybody in the group")
    style.legend_below(figure, handles, columns=3)
    return figure


def belief_risks(beliefs: pd.DataFrame) -> Figure:
    """Draw the records whose risk depends on whether the adversary knows the group size beforehand (Fig. 9).

    Parameters
    ----------
    beliefs : DataFrame
        One row per setting and kind of record, with columns ``setting``, ``group_size`` (in the registry, from 0),
        ``match_probability`` (share of the population with the record's values), ``risk_known``, ``risk_unknown``
        (probabilities of re-identification if the group size is known at the outset, and if only
        ``match_probability`` is) and ``records`` (how many there are of the kind).

    Returns
    -------
    Figure
        One panel per setting with a marker per row whose two risks differ, its area in proportion to the number of
        records (tiny ones are enlarged), and the numbers of records above it.

    Raises
    ------
    InputError
        If the table is empty or lacks a column, or a number is negative or a probability above 1.
    """
    shares = ("match_probability", "risk_known", "risk_unknown")
    table = checked(beliefs, "beliefs", text=("setting",), numbers=("group_size", *shares, "records"))
    for column in ("group_size", "records"):
        refuse_outside(table, column, "beliefs", (0, np.inf), "0 or more")
    for column in shares:
        refuse_outside(table, column, "beliefs", (0, 1), "a probability from 0 to 1")
    # Risks that differ by rounding alone are the same.
    same = np.isclose(table["risk_known"], table["risk_unknown"], rtol=1e-9, atol=0)
    table["sign"] = np.where(same, 0.0, np.sign(table["risk_known"] - table["risk_unknown"]))
    table["per_million"] = 1e6 * table["match_probability"]
    # Small markers come last, on top of large ones.
    shown = table[(table["sign"] != 0) & (table["records"] > 0)]
    shown = shown.sort_values("records", ascending=False, kind="stable")
    kind = "risk only" if (shown[["risk_known", "risk_unknown"]].min(axis=1) == 0).all() else "more risk"
    labels = [f"{kind} if {when}" for *_, when in _SIGNS]
    largest = shown["records"].max() if len(shown) else 1.0
    # Square points per record; the largest marker has at most 300.
    area = min(24.0, 300 / largest)
    settings = list(dict.fromkeys(table["setting"]))
    width = 6.0 if len(settings) == 1 else 4.4
    figure, grid = style.new_figure(1, len(settings), panel=(width, 4.0), sharex=True, sharey=True)
    for setting, axes in zip(settings, grid[0], strict=True):
        for (sign, marker, edge, face, _), label in zip(_SIGNS, labels, strict=True):
            points = shown[(shown["setting"] == setting) & (shown["sign"] == sign)]
            size = np.maximum(area * points["records"], 4)
            x, y = points["group_size"], points["per_million"]
            axes.scatter(x, y, s=size, marker=marker, edgecolors=edge, facecolors=face, linewidths=0.6, label=label)
        style.label_axes(axes, x=_GROUP_SIZE)
        _write_totals(axes, setting, kind, table[table["setting"] == setting])
    whole_ticks(grid[0][0].xaxis)
    positive = shown.loc[shown["per_million"] > 0, "per_million"].to_numpy()
    if len(positive) == len(shown) and positive.max(initial=0) > 100 * positive.min(initial=np.inf):
        log_axis(grid[0][0], "y", positive)
    else:
        style.number_ticks(grid[0][0].yaxis)
    style.label_axes(grid[0][0], y="Share of the population that matches\n(people per million)")
    handles = [
        Line2D([], [], linestyle="none", marker=marker, markeredgecolor=edge, markerfacecolor=face, label=label)
        for (_, marker, edge, face, _), label in zip(_SIGNS, labels, strict=True)
    ]
    if len(shown):
        label = f"{style.number_text(largest)} record{'' if largest == 1 else 's'} (area of the marker)"
        circle = Line2D([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="none", label=label)
        circle.set_markersize(np.sqrt(area * largest))
        handles.append(circle)
    style.legend_below(figure, handles, columns=3)
    return figure


def _write_totals(axes: Axes, setting: str, kind: str, rows: pd.DataFrame) -> None:
    """Put the setting above a panel, and under it how many records are at which risk."""
    totals = rows.groupby("sign")["records"].sum().reindex([1, -1, 0], fill_value=0)
    known, unknown, equal = (style.number_text(total) for total in totals)
    axes.annotate(
        f"{kind} if known: {known} records; if unknown: {unknown} records\nsame risk: {equal} records",
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set_title(setting, fontsize=10, loc="left", pad=27, parse_math=False)


def _checked_attacks(attacks: pd.DataFrame, column: str) -> pd.DataFrame:
    table = checked(attacks, "attacks", text=("setting", "planner"), numbers=("group_size", column))
    unknown = ~table["planner"].isin(_PLANNERS).to_numpy()
    if unknown.any():
        row = int(unknown.argmax())
        planner = table["planner"].iloc[row]
        raise not_among(
            "no such planner", planner, _PLANNERS, source="attacks table", where=f"row {row + 1}, column 'planner'"
        )
    refuse_outside(table, "group_size", "attacks", (1, np.inf), "1 or more")
    refuse_repeated(table, ("setting", "planner", "group_size"), "attacks")
    return table


def _by_group_size(table: pd.DataFrame, column: str, label: str) -> tuple[Figure, Axes, list[Line2D]]:
    lines = {str(setting): rows for setting, rows in table[table["planner"] == "fmdp"].groupby("setting", sort=False)}
    lines |= _baselines(table[table["planner"] == "baseline"], column)
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    handles = draw_lines(axes, lines, "group_size", column, style.looks(list(lines)))
    scale_axis(axes, "x", np.unique(table["group_size"]))
    if axes.get_xscale() == "linear":
        whole_ticks(axes.xaxis)
    style.number_ticks(axes.yaxis)
    style.zero_line(axes)
    style.label_axes(axes, x=_GROUP_SIZE, y=label)
    return figure, axes, handles


def _baselines(table: pd.DataFrame, column: str) -> dict[str, pd.DataFrame]:
    """Return the rows of each line of the baseline by its label: one line if it is the same in all settings."""
    lines = {str(setting): rows.sort_values("group_size") for setting, rows in table.groupby("setting", sort=False)}
    if not lines:
        return {}
    first = next(iter(lines.values()))[["group_size", column]].to_numpy()
    others = [rows[["group_size", column]].to_numpy() for rows in lines.values()]
    if all(other.shape == first.shape and np.allclose(other, first, rtol=1e-9, atol=0) for other in others):
        return {_BASELINE: next(iter(lines.values()))}
    return {f"{_BASELINE}, {setting}": rows for setting, rows in lines.items()}

"""Draw the runs, sweeps and search paths of masking games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.figures import style
from reidsim.figures.style import (
    UNIT,
    draw_line,
    key_words,
    label_axes,
    legend_below,
    number_ticks,
    panels,
    policy_name,
    sentence,
    with_unit,
)
from reidsim.games.measures import RISK, UTILITY
from reidsim.kinds.masking.figures.subjects import (
    effectiveness,
    masking_look,
    masks_by_attribute,
    ordered_masking_policies,
    policy_legend,
    strategy_map,
)
from reidsim.kinds.masking.measures import PRIVACY_FAIRNESS, SUBJECT_PAYOFF, USEFULNESS, USEFULNESS_FAIRNESS
from reidsim.palette import BLACK, GREY, VERMILION
from reidsim.scenarios.design_schema import SweepSection
from reidsim.scenarios.presentation import Shown, ShownSweep
from reidsim.scenarios.swept_values import rows_along, value_labels
from reidsim.validation import validated


def run_figures(result: Shown) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs, masking, fairness and a search path."""
    yield "effectiveness", effectiveness(result.runs, result.records)
    mapped = masks_by_attribute(result.records["policy"])
    if mapped:
        yield "strategy-map", strategy_map(result.records, mapped)
    # Fairness compares groups, which need at least two subjects.
    several = len(result.records["record"].unique()) > 1
    if (
        several
        and set(FAIRNESS_COLUMNS) <= set(result.runs)
        and result.runs[list(FAIRNESS_COLUMNS)].notna().all(axis=1).any()
    ):
        yield "fairness", usefulness_and_fairness(result.runs)
    path = result.analysis.tables().get("search_path")
    if path is not None:
        yield "search-path", search_path_figure(path)


def sweep_figures(result: ShownSweep) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of each measure along the lines of a sweep."""
    content = result.manifest["content"]
    if "sweep" in content:
        lines = lines_of_runs(result.runs, validated(SweepSection, content["sweep"], result.name), content)
        for name, measure in LINE_MEASURES.items() if len(lines) else ():
            if measure.column in lines and lines[measure.column].notna().any():
                yield name, masking_lines(lines, measure.column)


_PANELS = (("utility", "Utility"), ("payoff", f"Payoff ({style.UNIT})"), ("privacy", "Privacy (1 \N{MINUS SIGN} risk)"))


def search_path_figure(path: pd.DataFrame) -> Figure:
    """Draw the outcomes of a search's strategies against the inference's confidence.

    Parameters
    ----------
    path : DataFrame
        One row per strategy, with columns ``step`` (missing off the path), ``confidence`` (missing without an
        inference, drawn at 0), ``attacked``, ``utility``, ``payoff``, ``privacy`` and ``recommended_by``.

    Returns
    -------
    Figure
        Panels of utility, payoff and privacy; a line joins the strategies in the order of the search. Attacked
        strategies are red; strategies that a policy recommends have a ring.
    """
    table = path[path["step"].notna()].assign(confidence=path["confidence"].fillna(0.0)).sort_values("step")
    attacked = path.loc[table.index, "attacked"].to_numpy(dtype=bool)
    ringed = (path.loc[table.index, "recommended_by"] != "").to_numpy()
    figure, grid = style.new_figure(1, len(_PANELS), panel=(3.4, 3.2))
    for axes, (name, words) in zip(grid[0], _PANELS, strict=True):
        axes.plot(table["confidence"], table[name], color=GREY, linewidth=0.7, zorder=1)
        for chosen, colour in ((attacked, VERMILION), (~attacked, BLACK)):
            axes.scatter(table["confidence"][chosen], table[name][chosen], s=18, color=colour, linewidths=0, zorder=3)
        axes.scatter(
            table["confidence"][ringed], table[name][ringed], s=70, facecolors="none", edgecolors=BLACK, zorder=2
        )
        style.number_ticks(axes.xaxis, axes.yaxis)
        style.label_axes(axes, x="Confidence of the inference", y=words)
    looks = {
        "attacked": (VERMILION, VERMILION),
        "not attacked": (BLACK, BLACK),
        "recommended by a policy": ("none", BLACK),
    }
    style.legend_below(
        figure,
        [
            Line2D([], [], marker="o", markersize=6, linestyle="", markerfacecolor=face, color=colour, label=label)
            for label, (face, colour) in looks.items()
        ],
    )
    return figure


FAIRNESS_COLUMNS = (USEFULNESS.column, USEFULNESS_FAIRNESS.column, PRIVACY_FAIRNESS.column)


def usefulness_and_fairness(runs: pd.DataFrame) -> Figure:
    """Draw fairness against usefulness and against privacy, by policy.

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy, with columns ``replication``, ``policy``, ``risk``, ``usefulness``,
        ``usefulness_fairness`` and ``privacy_fairness``; missing where a policy shares nothing.

    Returns
    -------
    Figure
        One mark per replication and policy without a missing measure. Left: fairness of usefulness against usefulness.
        Right: fairness of privacy against mean privacy (1 - risk).
    """
    complete = runs.dropna(subset=list(FAIRNESS_COLUMNS))
    table = complete.assign(privacy=1 - complete[RISK.column])
    policies = ordered_masking_policies(table["policy"])
    figure, grid = style.new_figure(1, 2, panel=(4.4, 3.6))
    panels = (
        (USEFULNESS.column, USEFULNESS.label, USEFULNESS_FAIRNESS, "(a) Usefulness"),
        ("privacy", "Mean privacy (1 \N{MINUS SIGN} risk)", PRIVACY_FAIRNESS, "(b) Privacy"),
    )
    for axes, (column, words, fairness, title) in zip(grid[0], panels, strict=True):
        for policy in policies:
            rows, look = table[table["policy"] == policy], masking_look(policy)
            axes.scatter(
                rows[column],
                rows[fairness.column],
                s=40,
                marker=look.marker,
                color=look.colour,
                alpha=0.75,
                linewidths=0,
            )
        style.number_ticks(axes.xaxis, axes.yaxis)
        style.label_axes(axes, title=title, x=words, y=fairness.label)
    policy_legend(figure, policies)
    return figure


_COLUMNS = 3
# Figures of lines, and the measure that each shows.
LINE_MEASURES = {
    "lines-payoff": SUBJECT_PAYOFF,
    "lines-privacy": RISK,
    "lines-utility": UTILITY,
    "lines-usefulness": USEFULNESS,
    "lines-fairness": USEFULNESS_FAIRNESS,
}


def masking_lines(lines: pd.DataFrame, measure: str = SUBJECT_PAYOFF.column) -> Figure:
    """Draw a measure along each line of a sweep, by policy, with its spread.

    Parameters
    ----------
    lines : DataFrame
        One row per line, value, replication and policy, with columns ``line``, ``value`` (text), ``policy`` and
        `measure`.
    measure : {"publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness"}
        Measure to draw; risk is drawn as privacy, 1 - risk.

    Returns
    -------
    Figure
        One panel per line. If all values are numbers, the x axis is numeric; otherwise the values are evenly spaced.
        Error bars are one standard deviation over replications.
    """
    lines = lines[lines[measure].notna()] if measure in lines else lines
    table = lines.assign(**{measure: 1 - lines[measure]}) if measure == RISK.column else lines
    names = list(dict.fromkeys(table["line"]))
    policies = ordered_masking_policies(table["policy"])
    figure, every = panels(len(names), _COLUMNS, panel=(3.6 if len(names) > 1 else 6.4, 2.9))
    label = {
        **{shown.column: shown.label for shown in LINE_MEASURES.values()},
        SUBJECT_PAYOFF.column: f"{SUBJECT_PAYOFF.label}\n({UNIT})",
        RISK.column: "Privacy (1 - risk)",
    }
    for name, axes in zip(names, every, strict=True):
        here = table[table["line"] == name]
        values = list(dict.fromkeys(here["value"]))
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy()
        positions = np.arange(len(values), dtype=np.float64) if np.isnan(numbers).any() else numbers
        handles = []
        for policy in policies:
            own = masking_look(policy)
            points = here[here["policy"] == policy].groupby("value", sort=False, observed=True)[measure]
            mean, spread = points.mean().reindex(values), points.std(ddof=0).reindex(values)
            dashes = own.dashes if positions is numbers else "none"
            handles += draw_line(axes, positions, mean, own, policy_name(policy), linestyle=dashes)
            axes.errorbar(positions, mean, yerr=spread, color=own.colour, fmt="none", capsize=2, elinewidth=0.8)
        if positions is not numbers:
            axes.set_xticks(positions, values)
        number_ticks(axes.yaxis)
        label_axes(axes, x=name, y=label[measure])
    legend_below(figure, handles)
    return figure


def lines_of_runs(runs: pd.DataFrame, sweep: SweepSection, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the runs on each line of a sweep, in one table.

    Lines follow the axis with the most values. If an axis changes several keys in turn, each key has a line. Each
    combination of the values of the other axes has its own line.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy, with a column for each key.
    sweep : SweepSection
    content : mapping
        The scenario as plain data.

    Returns
    -------
    DataFrame
        The completed rows of `runs`, with columns ``line`` and ``value`` (text). The text of a list is its length, if
        the lengths are distinct.
    """
    runs = runs[runs["state"] == "complete"]
    sizes = {axis: sum(sweep.values[group[0]].size for group in axis) for axis in sweep.axes}
    longest = max(sweep.axes, key=lambda axis: sizes[axis])
    others = [key for axis in sweep.axes if axis != longest for group in axis for key in group]
    parts = []
    for group in longest:
        rows = rows_along(runs, longest, group, content)
        settings = [
            "".join(f", {key_words(key)} {_text(value)}" for key, value in zip(others, row, strict=True))
            for row in rows[others].to_numpy(dtype=object)
        ]
        labels, what = value_labels(rows[group[0]])
        words = with_unit(sentence(key_words(group[0])), group[0])
        part = rows.assign(line=[f"{words}{what}{setting}" for setting in settings], value=labels)
        numbers = pd.to_numeric(part["value"], errors="coerce")
        parts.append(part if numbers.isna().any() else part.iloc[np.argsort(numbers.to_numpy(), kind="stable")])
    return pd.concat(parts, ignore_index=True)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""The masking game along one key of its scenario at a time (Wan et al. 2021, Figs. 4 to 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.games.measures import RISK, UTILITY
from reidsim.kinds.masking.measures import SUBJECT_PAYOFF
from reidsim.reports.figures.inputs import checked
from reidsim.reports.figures.masking import masking_look, masking_name, ordered_masking_policies
from reidsim.reports.figures.style import UNIT, label_axes, legend_below, new_figure, number_ticks

_COLUMNS = 3
# Figures of the lines, each of a measure.
LINE_MEASURES = {"lines-payoff": SUBJECT_PAYOFF.column, "lines-privacy": RISK.column, "lines-utility": UTILITY.column}


def masking_lines(lines: pd.DataFrame, measure: str = SUBJECT_PAYOFF.column) -> Figure:
    """Draw a measure under each policy along each line of a sweep, with its spread over replications.

    Parameters
    ----------
    lines : DataFrame
        One row per line, value, replication and policy, with columns ``line``, ``value`` (text), ``policy`` and
        `measure`.
    measure : {"publisher_payoff", "utility", "risk"}
        Risk is drawn as privacy, 1 - risk.

    Returns
    -------
    Figure
        One panel per line. Values that are numbers lie on an axis of numbers, others side by side; bars are one
        standard deviation over replications.

    Raises
    ------
    InputError
        If the table is empty or lacks a column.
    """
    table = checked(lines, "lines", text=("line", "value", "policy"), numbers=(measure,))
    if measure == RISK.column:
        table[measure] = 1 - table[measure]
    names = list(dict.fromkeys(table["line"]))
    policies = ordered_masking_policies(table["policy"])
    figure, grid = new_figure(-(-len(names) // _COLUMNS), min(len(names), _COLUMNS), panel=(3.6, 2.7))
    label = {
        SUBJECT_PAYOFF.column: f"{SUBJECT_PAYOFF.label}\n({UNIT})",
        UTILITY.column: UTILITY.label,
        RISK.column: "Privacy (1 - risk)",
    }
    panels = [axes for row in grid for axes in row]
    for name, axes in zip(names, panels, strict=False):
        here = table[table["line"] == name]
        values = list(dict.fromkeys(here["value"]))
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy()
        positions = np.arange(len(values), dtype=np.float64) if np.isnan(numbers).any() else numbers
        handles = []
        for policy in policies:
            own = masking_look(policy)
            points = here[here["policy"] == policy].groupby("value", sort=False)[measure]
            mean, spread = points.mean().reindex(values), points.std(ddof=0).reindex(values)
            (handle,) = axes.plot(
                positions,
                mean,
                color=own.colour,
                linestyle="-" if positions is numbers else "none",
                marker=own.marker,
                markersize=4,
                markerfacecolor="white",
                label=masking_name(policy),
            )
            axes.errorbar(positions, mean, yerr=spread, color=own.colour, fmt="none", capsize=2, elinewidth=0.8)
            handles.append(handle)
        if positions is not numbers:
            axes.set_xticks(positions, values)
        number_ticks(axes.yaxis)
        label_axes(axes, x=name, y=label[measure])
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    legend_below(figure, handles)
    return figure

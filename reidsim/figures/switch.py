"""What policies pay along one amount of money, and which pays most where."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures import style
from reidsim.figures.inputs import checked
from reidsim.palette import GREY


def switch_lines(lines: pd.DataFrame, bands: pd.DataFrame, *, parameter: str, own: float) -> Figure:
    """Draw what each policy pays along an amount, over bands of the policy that pays most.

    Parameters
    ----------
    lines : DataFrame
        Columns ``value``, ``policy`` and ``publisher_payoff``.
    bands : DataFrame
        Columns ``low``, ``high`` and ``policy``, one row per interval; the policy is empty where nothing is known.
    parameter : str
        The amount, such as ``"loss"``.
    own : float
        The scenario's own value, marked by a line.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If a table is empty or lacks a column.
    """
    table = checked(lines, "lines", text=("policy",), numbers=("value", "publisher_payoff"))
    look = style.looks(style.ordered_policies(table["policy"]))
    figure, grid = style.new_figure(1, 1, panel=(6.4, 3.6))
    axes = grid[0][0]
    handles = []
    for policy, each in look.items():
        points = table[table["policy"] == policy].sort_values("value")
        handles += axes.plot(
            points["value"], points["publisher_payoff"], color=each.colour, linestyle=each.dashes, linewidth=1.6,
            label=style.policy_name(policy),
        )  # fmt: skip
    for band in bands.to_dict("records"):
        low, high, policy = float(band["low"]), float(band["high"]), str(band["policy"])
        if policy in look:
            axes.axvspan(low, high, color=look[policy].colour, alpha=0.08, linewidth=0)
            axes.annotate(
                style.policy_name(policy), ((low + high) / 2, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
                textcoords="offset points", ha="center", fontsize=9, parse_math=False,
            )  # fmt: skip
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
    low, high = np.min(bands["low"].to_numpy()), np.max(bands["high"].to_numpy())
    if low <= own <= high:
        handles.append(axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":", label="as in the scenario"))
    axes.set_xlim(low, high)
    style.number_ticks(axes.xaxis)
    style.number_ticks(axes.yaxis)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})")
    style.legend_below(figure, handles, columns=3)
    return figure

"""Draw the payoffs of policies against one amount of money, and the best policy."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures import style
from reidsim.palette import GREY
from reidsim.scenarios.report_sentences import loss_text

# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1


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

    Returns
    -------
    Figure
    """
    look = style.looks(style.ordered_policies(lines["policy"]))
    figure, grid = style.new_figure(1, 1, panel=(6.4, 3.6))
    axes = grid[0][0]
    handles = []
    for policy, each in look.items():
        points = lines[lines["policy"] == policy].sort_values("value")
        handles += axes.plot(
            points["value"],
            points["publisher_payoff"],
            color=each.colour,
            linestyle=each.dashes,
            linewidth=1.6,
            label=style.policy_name(policy),
        )
    for band in bands.to_dict("records"):
        low, high, policy = float(band["low"]), float(band["high"]), str(band["policy"])
        if policy in look:
            axes.axvspan(low, high, color=look[policy].colour, alpha=0.08, linewidth=0)
    low, high = np.min(bands["low"].to_numpy()), np.max(bands["high"].to_numpy())
    named = low
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
        if value - named > _APART * (high - low):
            named = value
            axes.annotate(
                loss_text(value),
                (value, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
    if low <= own <= high:
        handles.append(axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":", label="as in the scenario"))
    axes.set_xlim(low, high)
    style.number_ticks(axes.xaxis, axes.yaxis)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})")
    style.legend_below(figure, handles, columns=3)
    return figure

"""The strategies that a greedy search goes through (Wan et al. 2021, Fig. S5)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.figures import style
from reidsim.figures.inputs import checked
from reidsim.palette import BLACK, GREY, VERMILION

_PANELS = (("utility", "Utility"), ("payoff", f"Payoff ({style.UNIT})"), ("privacy", "Privacy (1 \N{MINUS SIGN} risk)"))


def search_path_figure(path: pd.DataFrame) -> Figure:
    """Draw what the strategies of a search lead to, against the confidence of the inference that each allows.

    Parameters
    ----------
    path : DataFrame
        One row per strategy, with columns ``step`` (missing off the path), ``confidence`` (missing where nothing is
        inferred, drawn at 0), ``attacked``, ``utility``, ``payoff``, ``privacy`` and ``recommended_by``.

    Returns
    -------
    Figure
        Panels of utility, payoff and privacy, in the order of the search joined by a line. Strategies that are attacked
        are red; those that a policy recommends have a ring.

    Raises
    ------
    InputError
        If no strategy is on the path or a column is missing.
    """
    table = path[path["step"].notna()].assign(confidence=path["confidence"].fillna(0.0))
    table = checked(table, "search_path", numbers=("step", "confidence", *(name for name, _ in _PANELS))).sort_values(
        "step"
    )
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
    style.legend_below(figure, [
        Line2D([], [], marker="o", markersize=6, linestyle="", markerfacecolor=face, color=colour, label=label)
        for label, (face, colour) in looks.items()
    ])  # fmt: skip
    return figure

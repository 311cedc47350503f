"""Who re-identifies how many people through which resources, round by round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from reidsim.figures import style
from reidsim.figures.inputs import checked

# Patterns tell bars apart where colours do not.
_HATCHES = ("", "///", "...", "xxx", "---", "ooo")


def found_through_resources(through: pd.DataFrame) -> Figure:
    """Draw how many people each adversary re-identifies in a round, by resources used, as means over draws.

    Parameters
    ----------
    through : DataFrame
        One row per draw, policy, round, adversary and combination of resources, with columns ``policy``, ``round``,
        ``adversary``, ``through`` and ``breaches``.

    Returns
    -------
    Figure
        One panel per policy; bars are stacked.

    Raises
    ------
    InputError
        If the table is empty or lacks a column.
    """
    numbers = ("replication", "draw", "round", "breaches")
    table = checked(through, "through", text=("policy", "adversary", "through"), numbers=numbers)
    n_draws = len(table[["replication", "draw"]].drop_duplicates())
    who = table["adversary"].astype(str)
    table = table.assign(finder=who.where(table["through"] == "", who + ": " + table["through"].astype(str)))
    found = table.groupby(["policy", "finder", "round"], sort=False)["breaches"].sum() / n_draws
    finders, policies = list(dict.fromkeys(table["finder"])), style.ordered_policies(table["policy"])
    rounds = np.arange(1, int(table["round"].max()) + 1)
    look = style.looks(finders)
    figure, grid = style.new_figure(1, len(policies), panel=(3.2, 2.8), sharey=True)
    handles: list[Artist] = []
    for axes, policy in zip(grid[0], policies, strict=True):
        handles, below = [], np.zeros(len(rounds))
        for number, finder in enumerate(finders):
            here = np.array([found.get((policy, finder, each), 0.0) for each in rounds.tolist()])
            drawn: dict[str, Any] = {
                "facecolor": look[finder].colour, "edgecolor": "white", "linewidth": 0.4,
                "hatch": _HATCHES[number % len(_HATCHES)],
            }  # fmt: skip
            axes.bar(rounds, here, bottom=below, **drawn)
            handles.append(Patch(**drawn, label=style.given_name(finder)))
            below += here
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        style.number_ticks(axes.yaxis)
        style.label_axes(
            axes, title=style.policy_name(policy), x="round", y="people re-identified" if axes is grid[0][0] else ""
        )
    style.legend_below(figure, handles)
    return figure

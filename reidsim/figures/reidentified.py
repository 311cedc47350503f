"""How many people are re-identified: the probability of at most so many, by policy."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reidsim.figures.inputs import checked
from reidsim.figures.style import label_axes, legend_below, looks, new_figure, ordered_policies, policy_name

# Beyond so many people, numbers are drawn by their logarithm, as policies differ by orders of magnitude.
_MANY = 50
# What is drawn ends where every policy has reached this.
_ALMOST_ALL = 0.999


def reidentified_by_policy(distributions: pd.DataFrame) -> Figure:
    """Draw for each policy the probability that at most so many people are re-identified.

    Parameters
    ----------
    distributions : DataFrame
        One row per policy and number, with columns ``policy``, ``people`` and ``at_most``.

    Raises
    ------
    InputError
        If the table is empty or lacks a column.
    """
    table = checked(distributions, "reidentified", text=("policy",), numbers=("people", "at_most"))
    figure, [[axes]] = new_figure(1, 1, panel=(5.2, 3.0))
    last = max(1.0, float(table.loc[table["at_most"] < _ALMOST_ALL, "people"].max()) if len(table) > 1 else 1.0)
    lines = []
    for policy, own in looks(ordered_policies(table["policy"])).items():
        chosen = table[table["policy"] == policy].sort_values("people")
        people, at_most = chosen["people"].tolist(), chosen["at_most"].tolist()
        # From nobody on, and to the end of the picture.
        lines += axes.step(
            [0.0, *people, max(1.1 * last, people[-1])], [0.0, *at_most, at_most[-1]], where="post", color=own.colour,
            linestyle=own.dashes, label=policy_name(policy),
        )  # fmt: skip
    if last > _MANY:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlim(0, 1.1 * last)
    axes.set_ylim(0, 1.02)
    label_axes(axes, title="Number re-identified", x="People re-identified", y="Probability of at most this many")
    legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure

"""Both players' payoffs by strategy for a single record (Wan et al. 2015, Fig. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.palette import BLACK, BLUE, VERMILION

_SIDES = ((PUBLISHER_PAYOFF, "(a) Publisher"), (ADVERSARY_PAYOFF, "(b) Adversary"))
# Shapes and fills differ, so that the markers can be distinguished in greyscale.
_REPLIES: tuple[tuple[bool, str, dict[str, Any]], ...] = (
    (False, "not attacked", {"marker": "o", "color": BLUE, "markerfacecolor": "none"}),
    (True, "attacked", {"marker": "^", "color": VERMILION, "markerfacecolor": VERMILION}),
)


def strategy_payoffs(strategies: pd.DataFrame) -> Figure:
    """Draw both players' payoffs for all strategies of a record (Fig. 5).

    Parameters
    ----------
    strategies : DataFrame
        One row per strategy in lattice order, with columns ``record`` (the same in every row), ``strategy``,
        ``publisher_payoff``, ``adversary_payoff`` (money per record) and ``attacked``.

    Returns
    -------
    Figure
        Filled triangles mark strategies that the adversary attacks, hollow circles the others. A ring with name and
        payoff marks the publisher's best strategy (the first, if several are equally good).
    """
    record = strategies["record"].iloc[0]
    best = int(np.argmax(strategies["publisher_payoff"]))
    figure, grid = style.new_figure(2, 1, panel=(8.0, 2.6), sharex=True)
    figure.suptitle(f"Record ({record})", fontsize=11, parse_math=False)
    for (measure, title), (axes,) in zip(_SIDES, grid, strict=True):
        handles = _draw_side(axes, strategies, measure.column, best)
        style.label_axes(axes, title=title, y=f"{measure.label}\n({style.UNIT})")
        style.number_ticks(axes.yaxis)
    _annotate_best(grid[0][0], strategies, best)
    style.label_axes(grid[1][0], x="Strategy (position in lattice order; 0 generalizes nothing)")
    style.number_ticks(grid[1][0].xaxis)
    style.legend_below(figure, handles)
    return figure


def _draw_side(axes: Axes, table: pd.DataFrame, column: str, best: int) -> list[Line2D]:
    payoffs = table[column].to_numpy()
    axes.axvline(best, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
    handles = []
    for attacked, label, marker in _REPLIES:
        rows = np.flatnonzero(table["attacked"] == attacked)
        handles += axes.plot(rows, payoffs[rows], linestyle="none", markersize=4, label=label, **marker)
    handles += axes.plot(
        best,
        payoffs[best],
        linestyle="none",
        marker="o",
        markersize=11,
        markeredgewidth=1.6,
        markerfacecolor="none",
        color=BLACK,
        label="publisher's best strategy",
    )
    axes.set_xlim(-0.02 * len(table) - 0.5, 1.02 * len(table) - 0.5)
    style.zero_line(axes)
    return handles


def _annotate_best(axes: Axes, table: pd.DataFrame, best: int) -> None:
    low, high = axes.get_ylim()
    # Add a strip above all points for the text, which is on the wider side of the line.
    axes.set_ylim(low, high + 0.18 * (high - low))
    to_the_right = best < len(table) / 2
    payoff = float(table["publisher_payoff"].iloc[best])
    axes.annotate(
        f"best: levels {table['strategy'].iloc[best].replace(',', ', ')} pay {style.money_text(payoff)}",
        xy=(best, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4 if to_the_right else -4, -2),
        textcoords="offset points",
        horizontalalignment="left" if to_the_right else "right",
        verticalalignment="top",
        fontsize=9,
        parse_math=False,
    )

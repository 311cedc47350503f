"""Payoffs by record and by strategy (Wan et al. 2015, Figs. 5 to 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.palette import BLACK, BLUE, GREY, VERMILION

_SIDES = ((PUBLISHER_PAYOFF, "Publisher"), (ADVERSARY_PAYOFF, "Adversary"))
# Default reference policy of the comparison.
REFERENCE = "safe-harbor"
# Policies that are not drawn by default: their extreme payoffs stretch the axes and do not help to compare the others.
EXTREMES = ("no-protection", "suppress-all")
# Shapes and fills differ, so that the markers can be distinguished in greyscale.
_REPLIES: tuple[tuple[bool, str, dict[str, Any]], ...] = (
    (False, "not attacked", {"marker": "o", "color": BLUE, "markerfacecolor": "none"}),
    (True, "attacked", {"marker": "^", "color": VERMILION, "markerfacecolor": VERMILION}),
)


def payoff_difference_curves(records: pd.DataFrame, reference: str = REFERENCE) -> Figure:
    """Draw the distribution of payoff differences to a reference policy (Fig. 6).

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff`` (money per record). Rows of different policies are matched by ``record``.
    reference : str
        The policy whose payoffs are subtracted.

    Returns
    -------
    Figure
        The publisher on the left, the adversary on the right. A point is the share of records (y) with a difference of
        at most x (currency units per record).
    """
    _, differences = _compared(records, reference)
    look, handles = style.looks(list(differences)), list[Line2D]()
    figure, grid = style.new_figure(1, 2, panel=(4.5, 3.4), sharey=True)
    for (measure, player), axes, letter in zip(_SIDES, grid[0], "ab", strict=True):
        handles = []
        for policy, difference in differences.items():
            shares = difference[measure.column].to_numpy()
            handles += style.draw_shares(axes, shares, look[policy], style.policy_name(policy))
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
        style.number_ticks(axes.xaxis)
        x = f"{measure.label} minus that under {style.policy_name(reference)}\n({style.UNIT})"
        style.label_axes(axes, title=f"({letter}) {player}", x=x)
    grid[0][0].set_ylim(0, 1.02)
    style.label_axes(grid[0][0], y="Share of records at or below")
    style.legend_below(figure, handles)
    return figure


def payoff_difference_scatter(records: pd.DataFrame, reference: str = REFERENCE) -> Figure:
    """Draw each record's payoff difference against its reference payoff (Fig. 7).

    Parameters
    ----------
    records : DataFrame
        See `payoff_difference_curves`.
    reference : str
        The policy whose payoffs are subtracted.

    Returns
    -------
    Figure
        One row per policy, the publisher on the left, the adversary on the right; one point per record, drawn as
        pixels even in vector formats.
    """
    payoffs, differences = _compared(records, reference)
    look, letters = style.looks(list(differences)), iter("abcdefghijklmnopqrstuvwxyz")
    figure, grid = style.new_figure(len(differences), 2, panel=(4.2, 2.5), sharex="col", sharey="col")
    points: dict[str, Any] = {"s": 7, "alpha": 0.3, "linewidths": 0, "rasterized": True}
    for (policy, difference), row in zip(differences.items(), grid, strict=True):
        for (measure, player), axes in zip(_SIDES, row, strict=True):
            axes.scatter(payoffs[measure.column], difference[measure.column], color=look[policy].colour, **points)
            style.zero_line(axes)
            style.number_ticks(axes.yaxis)
            title = f"({next(letters, '')}) {style.policy_name(policy)}: {player.lower()}"
            style.label_axes(axes, title=title, y=f"Payoff difference\n({style.UNIT})")
    for (measure, _), axes in zip(_SIDES, grid[-1], strict=True):
        style.number_ticks(axes.xaxis)
        style.label_axes(axes, x=f"{measure.label} under {style.policy_name(reference)} ({style.UNIT})")
    return figure


def _compared(records: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return both players' payoffs under the reference, and differences to these payoffs.

    There is one row per record, matched by ``record``. The differences are by policy, in display order: all policies
    except the reference, no-protection and suppress-all.
    """
    policies = [each for each in style.ordered_policies(records["policy"]) if each not in (reference, *EXTREMES)]
    columns = [measure.column for measure, _ in _SIDES]
    by_policy = records.groupby("policy", sort=False, observed=True)
    payoffs = {name: rows.set_index("record")[columns].astype(np.float64) for name, rows in by_policy}
    base, differences = payoffs[reference], dict[str, pd.DataFrame]()
    for policy in policies:
        own = payoffs[policy].loc[base.index]
        # Sums in a different order differ by rounding errors, which are not payoff differences.
        rounding = 1e-9 * np.maximum(own.abs(), base.abs()).max()
        differences[policy] = (own - base).where((own - base).abs() > rounding, 0.0)
    return base, differences


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
    best, handles = int(np.argmax(strategies["publisher_payoff"])), list[Line2D]()
    figure, grid = style.new_figure(2, 1, panel=(8.0, 2.6), sharex=True)
    figure.suptitle(f"Record ({strategies['record'].iloc[0]})", fontsize=11, parse_math=False)
    ring: dict[str, Any] = {"marker": "o", "markersize": 11, "markeredgewidth": 1.6, "markerfacecolor": "none"}
    for (measure, player), (axes,), letter in zip(_SIDES, grid, "ab", strict=True):
        payoffs, handles = strategies[measure.column].to_numpy(), []
        axes.axvline(best, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
        for attacked, label, marker in _REPLIES:
            rows = np.flatnonzero(strategies["attacked"] == attacked)
            handles += axes.plot(rows, payoffs[rows], linestyle="none", markersize=4, label=label, **marker)
        label = "publisher's best strategy"
        handles += axes.plot(best, payoffs[best], linestyle="none", color=BLACK, label=label, **ring)
        axes.set_xlim(-0.02 * len(strategies) - 0.5, 1.02 * len(strategies) - 0.5)
        style.zero_line(axes)
        style.label_axes(axes, title=f"({letter}) {player}", y=f"{measure.label}\n({style.UNIT})")
        style.number_ticks(axes.yaxis)
    top, bottom = grid[0][0], grid[1][0]
    low, high = top.get_ylim()
    # Add a strip above all points for the text, which is on the wider side of the line.
    top.set_ylim(low, high + 0.18 * (high - low))
    to_the_right, chosen = best < len(strategies) / 2, strategies.iloc[best]
    levels, payoff = chosen["strategy"].replace(",", ", "), style.money_text(float(chosen["publisher_payoff"]))
    top.annotate(
        f"best: levels {levels} pay {payoff}",
        xy=(best, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(4 if to_the_right else -4, -2),
        textcoords="offset points",
        horizontalalignment="left" if to_the_right else "right",
        verticalalignment="top",
        fontsize=9,
        parse_math=False,
    )
    style.label_axes(bottom, x="Strategy (position in lattice order; 0 generalizes nothing)")
    style.number_ticks(bottom.xaxis)
    style.legend_below(figure, handles)
    return figure

"""Figures of full-domain games: payout curves, run times and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reidsim.figures import style
from reidsim.games.measures import SHARE_ATTACKED
from reidsim.kinds.tables.policy import policy_named
from reidsim.palette import BLACK, GREY

_METHODS = {
    "safe-harbor": "Safe Harbor",
    "no-protection": "No protection",
    "basic": "Full-domain",
    "no-attack": "Full-domain",
    "sh-friendly": "Full-domain, SH-friendly",
    "record-level": "Record-level",
    "record-level-no-attack": "Record-level",
}
_PLANNED_WITH = {
    "prosecutor": "risks from the dataset",
    "journalist": "risks from the population",
    "sample": "risks estimated from the sample",
}


def payout_curves(curves: pd.DataFrame) -> Figure:
    """Draw payouts along a parameter by game and planned risk (Prasser 2017, Fig. 5).

    Parameters
    ----------
    curves : DataFrame
        One row per value, policy and planned risk, with columns ``parameter`` (only the first parameter is drawn),
        ``value``, ``policy``, ``risk`` (with which the publisher plans; empty for rules) and ``relative_payout`` (share
        of the best case, in which all records are unchanged and none is attacked).

    Returns
    -------
    Figure
        One row of panels per game (basic, No-Attack), one panel per planned risk; rules are in every panel.
    """
    parameter = str(curves["parameter"].iloc[0])
    curves = curves[curves["parameter"] == parameter].sort_values("value")
    of_rule = curves["policy"].map(lambda policy: policy_named(policy).is_rule)
    of_game = curves["policy"].map(lambda policy: policy_named(policy).forbids_attacks)
    games = [game for game in (False, True) if (~of_rule & (of_game == game)).any()] or [False]
    risks = [risk for risk in _PLANNED_WITH if (curves["risk"] == risk).any()] or [""]
    look = style.looks(list(dict.fromkeys(_METHODS.get(policy, policy) for policy in curves["policy"])))
    figure, grid = style.new_figure(len(games), len(risks), panel=(4.6, 3.0), sharey=True)
    handles: dict[str, Artist] = {}
    letters = iter("abcdefghijklmnop")
    for game, row in zip(games, grid, strict=True):
        for risk, axes in zip(risks, row, strict=True):
            here = curves[(of_game == game) & (curves["risk"] == risk) | of_rule]
            for policy, points in here.groupby("policy", sort=False, observed=True):
                name = _METHODS.get(str(policy), str(policy))
                (handles[name],) = style.draw_line(
                    axes, points["value"], points["relative_payout"], look[name], name, marks=8
                )
            axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
            style.number_ticks(axes.xaxis)
            title = "No-Attack game" if game else "Basic game"
            planned = f", {_PLANNED_WITH[risk]}" if risk else ""
            style.label_axes(axes, title=f"({next(letters)}) {title}{planned}", x=style.parameter_label(parameter))
        style.label_axes(row[0], y="Publisher's payout\n(share of the best case)")
    style.legend_below(figure, list(handles.values()))
    return figure


_RUNTIME_PANELS: tuple[tuple[str, tuple[tuple[str, bool, str], ...]], ...] = (
    ("Pruning, basic game", (("basic", True, "with pruning"), ("basic", False, "every node"))),
    ("Transformation", (("basic", True, "full-domain"), ("record-level", True, "record-level, all records"))),
    ("Pruning, No-Attack game", (("no-attack", True, "with pruning"), ("no-attack", False, "every node"))),
)


def full_domain_runtimes(runtimes: pd.DataFrame) -> Figure:
    """Draw the run time of solvers along the loss (Prasser 2017, Fig. 6).

    Parameters
    ----------
    runtimes : DataFrame
        One row per value, policy and ``pruned``, with columns ``value`` (of the loss), ``policy``, ``pruned`` (whether
        the search skipped nodes that cannot be best) and ``seconds``.

    Returns
    -------
    Figure
        Up to three panels of run times in milliseconds: the basic game with and without pruning, full-domain against
        record-level generalization, and the No-Attack game with and without pruning. A panel without the runs of both
        of its lines is left out.
    """
    panels = [panel for panel in _RUNTIME_PANELS if all(len(_runs(runtimes, *line[:2])) for line in panel[1])]
    figure, grid = style.new_figure(1, max(len(panels), 1), panel=(4.2, 3.0), sharey=True)
    for axes, (title, lines), letter in zip(grid[0], panels, "abc", strict=False):
        look = style.looks([name for _, _, name in lines])
        for policy, pruned, name in lines:
            runs = _runs(runtimes, policy, pruned).sort_values("value")
            style.draw_line(axes, runs["value"], 1000 * runs["seconds"], look[name], name)
        style.number_ticks(axes.xaxis, axes.yaxis)
        style.label_axes(axes, title=f"({letter}) {title}", x=style.parameter_label("loss"))
        # Leave room above all lines, so that the legend hides none of them.
        axes.legend(fontsize=9, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.02))
    style.label_axes(grid[0][0], y="Milliseconds")
    grid[0][0].set_ylim(0, 1.35 * float(1000 * runtimes["seconds"].max()))
    return figure


def _runs(table: pd.DataFrame, policy: str, pruned: bool) -> pd.DataFrame:
    return table[(table["policy"] == policy) & (table["pruned"] == pruned)]


def payout_front(front: pd.DataFrame, chosen: pd.DataFrame) -> Figure:
    """Draw the Pareto front of nodes by payout and share of records attacked.

    Parameters
    ----------
    front : DataFrame
        One row per policy and node, with columns ``policy``, ``node``, ``relative_payout`` (planned, as a share of the
        best case) and ``share_attacked``.
    chosen : DataFrame
        The chosen node of each policy, with columns ``policy`` and ``node``.

    Returns
    -------
    Figure
        One panel per policy with at least two nodes (per policy, if none has): a step line of the payout against the
        share attacked, and a ring around the chosen node.
    """
    nodes_of = front["policy"].value_counts(sort=False)
    # The front of the No-Attack game is a single node, because no record is attacked.
    policies: Sequence[str] = list(nodes_of[nodes_of > 1].index) or list(nodes_of.index)
    figure, grid = style.new_figure(1, len(policies), panel=(4.4, 3.0), sharey=True)
    look = style.looks(policies)
    for axes, policy, letter in zip(grid[0], policies, "abcdefgh", strict=False):
        nodes = front[front["policy"] == policy].sort_values("share_attacked")
        picked = nodes[nodes["node"].isin(chosen.loc[chosen["policy"] == policy, "node"])]
        axes.step(nodes["share_attacked"], nodes["relative_payout"], where="post", color=GREY, linewidth=0.8)
        own: dict[str, Any] = {
            "color": look[policy].colour,
            "marker": look[policy].marker,
            "markersize": 5,
            "markerfacecolor": "white",
        }
        ring = {"color": BLACK, "marker": "o", "markersize": 12, "markerfacecolor": "none"}
        for points, marker in ((nodes, own), (picked, ring)):
            axes.plot(points["share_attacked"], points["relative_payout"], linestyle="none", **marker)
        for node in picked["node"]:
            # The lower right corner is free, as the steps rise to the right.
            text = f"ring: chosen, levels {node.replace(',', ', ')}"
            axes.text(0.98, 0.04, text, transform=axes.transAxes, fontsize=9, ha="right", parse_math=False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(xmax=1, decimals=None))
        axes.margins(0.08, 0.12)
        name = style.policy_name(policy)
        style.label_axes(axes, title=f"({letter}) {name}" if len(policies) > 1 else name, x=SHARE_ATTACKED.label)
    style.label_axes(grid[0][0], y="Payout planned\n(share of the best case)")
    return figure

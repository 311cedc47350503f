"""Draw repeated rounds: payoffs, beliefs and re-identifications by round."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from reidsim.agents.attack import DISTINCT, PARTICIPATION
from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK
from reidsim.palette import BLACK, GREY

_EXPOSED = "exposed"
# Panels of figures of rounds and of figures of releases: column, title and axis label.
_PANELS = (
    (PUBLISHER_PAYOFF.column, "Publisher's payoff", style.UNIT),
    (ADVERSARY_PAYOFF.column, "Payoff of all adversaries", style.UNIT),
    (PARTICIPATION.column, PARTICIPATION.label, "share of data subjects"),
    (RISK.column, RISK.label, "share of records re-identified"),
)
_PANELS_OF_WAVES = (
    (PUBLISHER_PAYOFF.column, "Publisher's payoff", style.UNIT),
    (_EXPOSED, "Exposed so far", "share of data subjects"),
    (PARTICIPATION.column, "In the release", "share of data subjects"),
    (RISK.column, RISK.label, "records re-identified, share"),
)
# Bars below this share of the highest stack are invisible.
_SEEN = 0.005
# Hatches distinguish bars without colour.
_HATCHES = ("", "///", "...", "xxx", "---", "ooo")


def rounds_by_policy(rounds: pd.DataFrame) -> Figure:
    """Draw four panels over the rounds or waves, with one line per policy.

    Over rounds, the panels show payoffs, participation and risk. Over waves, exposure replaces the adversaries' payoff:
    the share of data subjects whose record may have been attacked in this or an earlier release (the cumulative sum of
    ``newly_exposed``). Values are means over draws.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round, with columns ``policy``, ``round``, ``publisher_payoff``,
        ``adversary_payoff``, ``participation`` and ``risk``; for waves also ``draw``, ``wave`` and ``newly_exposed``.
    """
    waves, panels = "wave" in rounds, _PANELS
    if waves:
        exposed = rounds.groupby(["draw", "policy"], sort=False, observed=True)["newly_exposed"].cumsum()
        rounds, panels = rounds.assign(**{_EXPOSED: exposed.to_numpy()}), _PANELS_OF_WAVES
    columns = [column for column, _, _ in panels]
    means = rounds.groupby(["policy", "round"], sort=False, observed=True)[columns].mean().reset_index()
    look = style.ordered_looks(means["policy"])
    figure, grid = style.new_figure(2, 2, panel=(4.4, 2.8), sharex=True)
    for axes, (column, title, unit), letter in zip(itertools.chain(*grid), panels, "abcd", strict=True):
        handles = style.draw_lines(axes, means, "round", column, look)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if column == PARTICIPATION.column:
            axes.set_ylim(0, 1.04)
        elif column == RISK.column:
            axes.set_ylim(bottom=0)
        style.label_axes(axes, title=f"({letter}) {title}", y=unit, numbers="y")
    named = rounds.drop_duplicates("round").sort_values("round")
    for axes in grid[-1]:
        style.label_axes(axes, x="wave" if waves else "round")
        if waves:
            axes.set_xticks(named["round"], named["wave"])
    style.legend_below(figure, handles)
    return figure


def beliefs_by_round(adversaries: pd.DataFrame) -> Figure:
    """Draw the publisher's belief about each adversary's weight, by round.

    Parameters
    ----------
    adversaries : DataFrame
        One row per draw, policy, round and adversary, with columns ``policy``, ``round``, ``adversary``, ``belief``
        and ``weight``.

    Returns
    -------
    Figure
        One panel per policy, one line per adversary, with means over draws; a thin line marks the true weight.
    """
    keys = ["policy", "round", "adversary"]
    means = adversaries.groupby(keys, sort=False, observed=True)[["belief", "weight"]].mean().reset_index()
    policies = style.ordered_policies(means["policy"])
    look = style.looks(list(dict.fromkeys(means["adversary"])))
    figure, [row] = style.new_figure(1, len(policies), panel=(3.4, 2.8))
    for axes, policy in zip(row, policies, strict=True):
        handles: list[Artist] = []
        for name, own in look.items():
            here = means[(means["policy"] == policy) & (means["adversary"] == name)]
            handles += style.draw_line(axes, here["round"], here["belief"], own, name)
            axes.axhline(float(here["weight"].iloc[0]), color=own.colour, linewidth=0.7, alpha=0.6)
        axes.set_ylim(0, 1)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        label = "believed weight" if axes is row[0] else ""
        style.label_axes(axes, title=style.policy_name(policy), x="round", y=label)
    style.legend_below(figure, handles)
    return figure


def found_through_resources(through: pd.DataFrame, rounds: pd.DataFrame, note: str = "") -> Figure:
    """Draw re-identifications by adversary and resources, and distinct people so far.

    Re-identifications of a round are counted under the adversary and the combination of resources with which it
    attacked.

    Parameters
    ----------
    through : DataFrame
        One row per draw, policy, round, adversary and combination of resources, with columns ``replication``, ``draw``,
        ``policy``, ``round``, ``adversary``, ``through`` and ``breaches``.
    rounds : DataFrame
        One row per draw, policy and round, with columns ``policy``, ``round``, ``subjects`` and
        ``distinct_reidentified``.
    note : str
        Text above the panels.

    Returns
    -------
    Figure
        One column of panels per policy, with means over draws. Upper panel: stacked bars of re-identifications in each
        round. Lower panel: distinct people re-identified so far, and the number of data subjects as a dashed line.
    """
    n_draws = len(through[["replication", "draw"]].drop_duplicates())
    who = through["adversary"].astype(str)
    through = through.assign(finder=who.where(through["through"] == "", who + ": " + through["through"].astype(str)))
    found = through.groupby(["policy", "finder", "round"], sort=False, observed=True)["breaches"].sum() / n_draws
    distinct = rounds.groupby(["policy", "round"], observed=True)[DISTINCT.column].mean()
    subjects = int(rounds["subjects"].max())
    # The legend gives the number for bars that are too low to see.
    totals = found.groupby(["policy", "finder"], observed=True).sum().groupby("finder", observed=True).max()
    low = totals < _SEEN * found.groupby(["policy", "round"], observed=True).sum().max()
    unseen = {str(finder): f" (at most {total:.2g} in all rounds)" for finder, total in totals[low].items()}
    look, policies = style.looks(list(dict.fromkeys(through["finder"]))), style.ordered_policies(through["policy"])
    places = np.arange(1, int(through["round"].max()) + 1)
    figure, (above, below) = style.new_figure(2, len(policies), panel=(3.2, 2.4), sharex=True)
    for upper, lower, policy in zip(above, below, policies, strict=True):
        handles: list[Artist] = []
        bottom = np.zeros(len(places))
        for number, (finder, own) in enumerate(look.items()):
            here = np.array([found.get((policy, finder, each), 0.0) for each in places.tolist()])
            hatch = _HATCHES[number % len(_HATCHES)]
            drawn: dict[str, Any] = {"facecolor": own.colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
            upper.bar(places, here, bottom=bottom, **drawn)
            handles.append(Patch(**drawn, label=style.given_name(finder) + unseen.get(finder, "")))
            bottom += here
        so_far = distinct[policy]
        lower.plot(so_far.index, so_far, color=BLACK, marker="o", markersize=4)
        lower.axhline(subjects, color=GREY, linestyle="--", linewidth=1)
        last = so_far.iloc[-1]
        style.write_at(lower, f"{last:,.1f} of {subjects:,}", (so_far.index[-1], last), (0, 6), ha="right")
        style.label_axes(upper, title=style.policy_name(policy))
        style.label_axes(lower, x="round")
    tops = max(axes.get_ylim()[1] for axes in above), 1.1 * subjects
    labels = "re-identifications\nin the round", "distinct people\nre-identified so far"
    for row, top, label in zip((above, below), tops, labels, strict=True):
        for axes in row:
            axes.set_ylim(0, top)
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
            style.number_ticks(axes.yaxis)
        style.label_axes(row[0], y=label)
    handles.append(Line2D([], [], color=GREY, linestyle="--", label="all data subjects"))
    if note:
        lines = textwrap.fill(note, int(13 * figure.get_figwidth()))
        figure.suptitle(lines, fontsize=9, x=0.02, ha="left", parse_math=False)
        figure.set_figheight(figure.get_figheight() + 0.17 * (lines.count("\n") + 1))
    style.legend_below(figure, handles)
    return figure

"""Draw payoffs, risks and numbers of re-identified people by policy, and repeated rounds."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from reidsim.agents.attack import DISTINCT, PARTICIPATION
from reidsim.core.palette import BLACK, BLUE, GREY, VERMILION
from reidsim.core.wording import Measure, measures_among
from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF, RISK
from reidsim.scenarios.study import once_each

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
# Above this number of people, the axis is logarithmic, as policies differ by orders of magnitude.
_MANY = 50
# The axis ends at the smallest number of people at which every policy reaches this cumulative probability.
_ALMOST_ALL = 0.999
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


def figures_by_policy(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a run by policy, each with its name.

    The names are ``payoffs``, ``risks`` and ``reidentified`` (number of people). Figures for which the run, `result`,
    has no table are omitted.
    """
    if {"policy", *_COLOURS} <= set(result.runs.columns):
        yield "payoffs", payoffs_by_policy(result.summary.reset_index(), result.measures)
    if {"policy", "attacked", "success_probability"} <= set(result.records.columns) and len(result.records):
        yield "risks", risks_by_policy(once_each(result.records, result.manifest["content"]))
    if len(result.analysis.reidentified):
        yield "reidentified", reidentified_by_policy(result.analysis.reidentified)


def payoffs_by_policy(summary: pd.DataFrame, measures: Iterable[Measure] = MEASURES) -> Figure:
    """Draw the payoffs of both players under each policy as bars with amounts.

    Amounts are at the right end of bars, and right of zero for negative bars.

    Parameters
    ----------
    summary : DataFrame
        One row per policy (and point), drawn from top to bottom: ``policy``, ``publisher_payoff`` and
        ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Measures of the scenario's kind, which give the labels and number formats of both payoffs.
    """
    figure, [row] = style.new_figure(1, 2, panel=(4.2, 0.8 + 0.45 * len(summary)), sharey=True)
    for (column, measure), axes in zip(measures_among(measures, _COLOURS).items(), row, strict=True):
        axes.barh(range(len(summary)), summary[column], color=_COLOURS[column], height=0.6)
        for place, value in enumerate(summary[column].tolist()):
            text = measure.format.format(value).replace("-", "\N{MINUS SIGN}")
            style.write_at(axes, text, (max(0.0, value), place), (3, 0), va="center")
        axes.margins(x=0.2)
        if (summary[column] < 0).any():
            axes.axvline(0, color=GREY, linewidth=0.8)
        style.label_axes(axes, title=measure.label, x=style.UNIT, numbers="x")
    row[0].set_yticks(range(len(summary)), map(style.policy_name, summary["policy"]), parse_math=False)
    row[0].invert_yaxis()
    return figure


def risks_by_policy(records: pd.DataFrame) -> Figure:
    """Draw, by policy, the share of records with at least a given risk.

    The risk of a record is its success probability if it is attacked, else 0.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``policy``, ``attacked`` (whether the record is attacked) and
        ``success_probability``.
    """
    risks, steps, highest = records["success_probability"].where(records["attacked"].astype(bool), 0.0), {}, 0.0
    for policy, own in risks.groupby(records["policy"], sort=False, observed=True):
        found, numbers = np.unique(-own, return_counts=True)
        share = np.cumsum(numbers) / numbers.sum()
        highest = max(highest, float(share[found < 0].max(initial=0.0)))
        steps[str(policy)] = [1.0, *-found, 0.0], [0.0, *share, 1.0]
    labels = {"title": "Risk by record", "x": "Probability of being re-identified", "y": "Share of records at or above"}
    figure, axes = _drawn_steps(steps, **labels)
    axes.set(xlim=(0, 1), ylim=(0, min(1.0, 1.1 * highest) or 1.0))
    return figure


def reidentified_by_policy(distributions: pd.DataFrame) -> Figure:
    """Draw, by policy, the distribution of the number of re-identified people.

    The y axis is the probability of at most this many. The x axis ends where every policy has reached probability
    0.999; it is logarithmic if this is above 50 people.

    Parameters
    ----------
    distributions : DataFrame
        One row per policy and number, with columns ``policy``, ``people`` (the number) and ``at_most`` (probability
        that at most this many people are re-identified).
    """
    ends = distributions[distributions["at_most"] >= _ALMOST_ALL].groupby("policy", observed=True)["people"].min()
    last = max(1.0, float(ends.max()))
    shown = distributions[distributions["people"] <= last].sort_values("people", kind="stable")
    steps = {}
    for policy in distributions["policy"].unique():
        people, at_most = shown.loc[shown["policy"] == policy, ["people", "at_most"]].to_numpy().T
        steps[str(policy)] = [0.0, *people, 1.1 * last], [0.0, *at_most, at_most[-1]]
    labels = {"x": "People re-identified", "y": "Probability of at most this many"}
    figure, axes = _drawn_steps(steps, title="Number re-identified", **labels)
    if last > _MANY:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set(xlim=(0, 1.1 * last), ylim=(0, 1.02))
    return figure


def _drawn_steps(steps: Mapping[str, tuple[list[float], list[float]]], **labels: str) -> tuple[Figure, Axes]:
    """Draw a step function per policy; return the figure and its axes.

    The figure has one panel. `steps` has x and y of the steps by policy. For `labels` (title, x, y, numbers), see
    `style.label_axes`.
    """
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    lines: list[Artist] = []
    for policy, own in style.ordered_looks(steps).items():
        lines += style.draw_steps(axes, *steps[policy], own, style.policy_name(policy))
    style.label_axes(axes, **labels)
    # Names of policies are longer in scenarios with many policies.
    style.legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure, axes


def rounds_by_policy(rounds: pd.DataFrame) -> Figure:
    """Draw four panels over the rounds or waves, with one line per policy.

    Over rounds, the panels show payoffs, participation and risk. Over waves, exposure replaces the adversaries' payoff:
    the share of data subjects whose record may have been attacked in this or an earlier release (the cumulative sum of
    ``newly_exposed``). Values are means over draws.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round, with columns ``policy``, ``round``, ``publisher_payoff``,
        ``adversary_payoff``, ``participation`` and ``risk``; for waves also ``draw``, ``wave`` (the label of the round)
        and ``newly_exposed``. Rounds are waves if there is a column ``wave``.
    """
    waves, panels = "wave" in rounds, _PANELS
    if waves:
        exposed = rounds.groupby(["draw", "policy"], sort=False, observed=True)["newly_exposed"].cumsum()
        rounds, panels = rounds.assign(**{_EXPOSED: exposed.to_numpy()}), _PANELS_OF_WAVES
    columns = [column for column, _, _ in panels]
    means = rounds.groupby(["policy", "round"], sort=False, observed=True)[columns].mean().reset_index()
    look = style.ordered_looks(means["policy"])
    figure, grid = style.new_figure(2, 2, panel=(4.4, 2.8), sharex=True)
    named = rounds.drop_duplicates("round").sort_values("round")
    for axes, (column, title, unit), letter in zip(itertools.chain(*grid), panels, "abcd", strict=True):
        handles = style.draw_lines(axes, means, "round", column, look)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        if column == PARTICIPATION.column:
            axes.set_ylim(0, 1.04)
        elif column == RISK.column:
            axes.set_ylim(bottom=0)
        x = ("wave" if waves else "round") if axes in grid[-1] else ""
        style.label_axes(axes, title=f"({letter}) {title}", x=x, y=unit, numbers="y")
        if waves:
            axes.set_xticks(named["round"], named["wave"])
    style.legend_below(figure, handles)
    return figure


def beliefs_by_round(adversaries: pd.DataFrame) -> Figure:
    """Draw the publisher's belief about each adversary's weight, by round.

    The weight is the probability of the adversary.

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
    policies = style.ordered_policies(adversaries["policy"])
    look = style.looks(list(dict.fromkeys(adversaries["adversary"])))
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
        Text above the panels; none if empty.

    Returns
    -------
    Figure
        One column of panels per policy, with means over draws. Upper panel: stacked bars of re-identifications in each
        round. Lower panel: distinct people re-identified so far, and the number of data subjects as a dashed line.
    """
    n_draws = len(through[["replication", "draw"]].drop_duplicates())
    who = through["adversary"].astype(str)
    through = through.assign(finder=who.where(through["through"] == "", who + ": " + through["through"].astype(str)))
    found = through.groupby(["policy", "round", "finder"], observed=True)["breaches"].sum() / n_draws
    distinct = rounds.groupby(["policy", "round"], observed=True)[DISTINCT.column].mean()
    subjects = int(rounds["subjects"].max())
    look, policies = style.looks(list(dict.fromkeys(through["finder"]))), style.ordered_policies(through["policy"])
    heights = found.unstack(fill_value=0)[list(look)]
    # The legend gives the number for bars that are too low to see.
    totals = heights.groupby("policy", observed=True).sum().max()
    low = totals[totals < _SEEN * heights.sum(axis=1).max()]
    unseen = {str(finder): f" (at most {total:.2g} in all rounds)" for finder, total in low.items()}
    figure, (above, below) = style.new_figure(2, len(policies), panel=(3.2, 2.4), sharex=True)
    for upper, lower, policy in zip(above, below, policies, strict=True):
        handles: list[Artist] = []
        bars, so_far = heights.loc[[policy]].droplevel("policy"), distinct[policy]
        tops = bars.cumsum(axis=1)
        for hatch, (finder, own) in zip(itertools.cycle(_HATCHES), look.items(), strict=False):
            drawn: dict[str, Any] = {"facecolor": own.colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
            upper.bar(bars.index, bars[finder], bottom=tops[finder] - bars[finder], **drawn)
            handles.append(Patch(**drawn, label=style.given_name(finder) + unseen.get(finder, "")))
        lower.plot(so_far.index, so_far, color=BLACK, marker="o", markersize=4)
        lower.axhline(subjects, color=GREY, linestyle="--", linewidth=1)
        last = so_far.iloc[-1]
        style.write_at(lower, f"{last:,.1f} of {subjects:,}", (so_far.index[-1], last), (0, 6), ha="right")
        style.label_axes(upper, title=style.policy_name(policy))
        style.label_axes(lower, x="round")
    tops_of_rows = max(axes.get_ylim()[1] for axes in above), 1.1 * subjects
    labels = "re-identifications\nin the round", "distinct people\nre-identified so far"
    for row, top, label in zip((above, below), tops_of_rows, labels, strict=True):
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

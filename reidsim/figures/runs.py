"""Draw runs: payoffs and risks by policy, rounds, beliefs about adversaries and re-identified people."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.scale import SymmetricalLogScale

from reidsim.agents.attack import DISTINCT, PARTICIPATION
from reidsim.core.wording import BLACK, BLUE, GREY, VERMILION, Measure, measures_among
from reidsim.figures import style
from reidsim.games.outcomes import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF, RISK

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
# Above this number of people, the axis is logarithmic, as policies differ by orders of magnitude.
_MANY = 50
_QUANTILES = (0.05, 0.5, 0.95)
_EXPOSED = "exposed"
_BAR = "#D9D9D9"
# Columns of figures of rounds and of figures of releases: column, title and axis label.
_PANELS = (
    (PUBLISHER_PAYOFF.column, "Publisher's payoff", style.UNIT),
    (ADVERSARY_PAYOFF.column, "All adversaries' payoff", style.UNIT),
    (PARTICIPATION.column, PARTICIPATION.label, "share of data subjects"),
    (RISK.column, RISK.label, "share of records"),
)
_PANELS_OF_WAVES = (
    (PUBLISHER_PAYOFF.column, "Publisher's payoff", style.UNIT),
    (_EXPOSED, "Exposed so far", "share of data subjects"),
    (PARTICIPATION.column, "In the release", "share of data subjects"),
    (RISK.column, RISK.label, "share of records"),
)
# Axis labels of the map of risk against utility loss, by measure, and whether the loss is the measure's complement.
_LOSSES = {
    "interval_overlap": ("Utility loss: 1 \N{MINUS SIGN} mean overlap of the coefficients' 95% intervals", True),
    "classifier_accuracy": ("Utility loss: error rate of the classifier on held-out original records", True),
    "correlation_change": ("Utility loss: mean change of correlations, without sign", False),
    "mean_change": ("Utility loss: mean relative change of means, without sign", False),
}
# Points of this map share a label if they are closer than the height and the width of a label, as shares of the axes.
_LABEL_SIZE = (0.06, 0.3)
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
        yield "payoffs", payoffs_by_policy(result.runs, result.measures, by=result.by)
    risks = result.risks
    if {"policy", "attacked", "success_probability"} <= set(risks.columns) and len(risks):
        yield "risks", risks_by_policy(risks)
    if "reidentified" in result.analysis.tables():
        yield "reidentified", reidentified_by_policy(result.analysis.reidentified)
    yield from risk_utility_maps(result.summary)


def payoffs_by_policy(
    runs: pd.DataFrame, measures: Iterable[Measure] = MEASURES, by: Sequence[str] = ("policy",)
) -> Figure:
    """Draw the payoffs of both players under each policy as bars with amounts.

    Bars are means over runs, with 95% confidence intervals if there are several. Amounts are right of bars and
    intervals, and right of zero for negative bars.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy: ``policy``, ``publisher_payoff`` and ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Measures of the scenario's kind, which give the labels and number formats of both payoffs.
    by : sequence of str
        Columns of `runs`; there is one bar for each combination of their values, from top to bottom.
    """
    summary = style.means_with_intervals(runs, by, [*_COLOURS])
    figure, [row] = style.new_figure(1, 2, panel=(4.2, 0.8 + 0.45 * len(summary)), sharey=True)
    for (column, measure), axes in zip(measures_among(measures, _COLOURS).items(), row, strict=True):
        places, (low, high) = np.arange(len(summary)), summary[style.interval_of(column)].to_numpy().T
        axes.barh(places, summary[column], color=_COLOURS[column], height=0.6)
        axes.hlines(places, low, high, color=BLACK, linewidth=1.2)
        for place, (value, end) in enumerate(zip(summary[column], high, strict=True)):
            text = measure.format.format(value).replace("-", "\N{MINUS SIGN}")
            # Left of a negative bar, an amount would cover the names of policies.
            style.write_at(axes, text, (float(np.nanmax([0.0, value, end])), place), (3, 0), va="center")
        axes.margins(x=0.2)
        if not summary[column].any():
            axes.set_xlim(0, 1)
        axes.axvline(0, color=GREY, linewidth=0.8)
        style.label_axes(axes, title=measure.label, x=style.UNIT, numbers="x")
    row[0].set_yticks(range(len(summary)), map(style.policy_name, summary["policy"]), parse_math=False)
    row[0].invert_yaxis()
    return figure


def risk_utility_maps(summary: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield the map of risk against utility loss (R-U map, Duncan et al. 2001) as ``risk-utility``.

    It has one labelled point per policy and scored file. The loss is the first of these that `summary` (measures by
    policy, including files) has: the mean part of the intervals of coefficients that is not common to original and
    released records, the error rate of the classifier, the mean change of correlations, the mean relative change of
    means. Without these, or without two points, there is no map.
    """
    column = next((column for column in _LOSSES if column in summary), None)
    if column is None or RISK.column not in summary or summary[column].notna().sum() < 2:
        return
    label, is_complement = _LOSSES[column]
    points = summary[[RISK.column]].assign(loss=1 - summary[column] if is_complement else summary[column]).dropna()
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.0, 4.2))
    look = style.looks(points.index)
    # Points whose labels would print on each other share one; so do points that are connected by such pairs.
    shares = (points / points.max().replace(0.0, 1.0)).to_numpy()
    near = (np.abs(shares[:, None] - shares) < _LABEL_SIZE).all(axis=2)
    for _, same in points.groupby(scipy.sparse.csgraph.connected_components(near)[1], sort=False):
        for policy, risk, loss in same.itertuples():
            own = look[str(policy)]
            axes.plot(loss, risk, own.marker, color=own.colour, markerfacecolor="white", markersize=7, clip_on=False)
        names = "\n".join(style.policy_name(str(policy)) for policy in same.index)
        place = (float(same["loss"].max()), float(same[RISK.column].mean()))
        style.write_at(axes, names, place, (6, 4), va="bottom", parse_math=False)
    axes.margins(0.12)
    axes.set(xlim=(0, None), ylim=(0, None))
    style.label_axes(axes, x=label, y=f"{RISK.label} (mean probability over all records)", numbers="xy")
    yield "risk-utility", figure


def risks_by_policy(records: pd.DataFrame) -> Figure:
    """Draw, by policy, the share of records with at least a given risk.

    The risk of a record is its success probability if it is attacked, else 0. The y axis is logarithmic if shares
    differ by more than a factor of 20. Policies without a record at risk are named in the figure.

    Parameters
    ----------
    records : DataFrame
        Rows of records by policy, with columns ``policy``, ``attacked`` (whether the record is attacked),
        ``success_probability``, and ``weight``, the number of records in the row.
    """
    risks = records["success_probability"].where(records["attacked"].astype(bool), 0.0)
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    safe, shares = list[str](), list[float]()
    for policy, own in style.ordered_looks(records["policy"]).items():
        rows = (records["policy"] == policy).to_numpy()
        numbers = records["weight"][rows].groupby(risks[rows]).sum().sort_index(ascending=False)
        above = (numbers.cumsum() / numbers.sum())[numbers.index > 0][::-1]
        if above.empty:
            safe.append(style.policy_name(policy))
            continue
        shares += [above.iloc[0], above.iloc[-1]]
        x, y = [0.0, *above.index], [above.iloc[0], *above]
        style.draw_steps(axes, x, y, own, style.policy_name(policy), where="pre")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    title = textwrap.fill("Risk by record" + f" (no record at risk: {', '.join(safe)})" * bool(safe), 60)
    labels = {"x": "Probability of being re-identified", "y": "Share of records at or above"}
    style.label_axes(axes, title=title, **labels, numbers="xy")
    if shares and max(shares) > 20 * min(shares):
        axes.set(yscale="log", ylim=(min(shares) / 1.5, max(shares) * 1.5))
        style.log_ticks(axes.yaxis, max(shares) / min(shares))
    style.legend_below(figure, columns=3)
    return figure


def reidentified_by_policy(distributions: pd.DataFrame) -> Figure:
    """Draw, by policy, the median and the 90% interval of the number of re-identified people.

    The interval extends from the 5% to the 95% quantile. The axis is logarithmic if it extends beyond 50 people.

    Parameters
    ----------
    distributions : DataFrame
        One row per policy and number, with columns ``policy``, ``people`` (the number) and ``at_most`` (probability
        that at most this many people are re-identified).
    """
    quantiles = {
        str(policy): [own.loc[own["at_most"] >= share * own["at_most"].max(), "people"].min() for share in _QUANTILES]
        for policy, own in distributions.groupby("policy", sort=False, observed=True)
    }
    look = style.ordered_looks(quantiles)
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 0.8 + 0.35 * len(look)))
    for place, (policy, own) in enumerate(look.items()):
        low, median, high = quantiles[policy]
        axes.plot([low, high], [place, place], color=own.colour, linewidth=3, solid_capstyle="butt")
        axes.plot(median, place, own.marker, color=own.colour, markerfacecolor="white", markersize=7, clip_on=False)
        text = f"{median:,.0f}" if low == high else f"{median:,.0f} ({low:,.0f} to {high:,.0f})"
        style.write_at(axes, text, (high, place), (8, 0), va="center")
    last = max(1.0, *(high for _, _, high in quantiles.values()))
    style.number_ticks(axes.xaxis, whole=True)
    if last > _MANY:
        axes.set_xscale(SymmetricalLogScale(axes.xaxis, linthresh=1.0))
        style.write_out(axes.xaxis)
    axes.set_xlim(0, 1.05 * last)
    style.label_axes(axes, title="Number re-identified: median and 90% interval", x="People re-identified")
    style.name_rows(axes, map(style.policy_name, look))
    return figure


def rounds_by_policy(rounds: pd.DataFrame) -> Figure:
    """Draw outcomes over the rounds or waves, with a row of panels per policy and a column per measure.

    Over rounds, the measures are payoffs, participation and risk. Over waves, exposure replaces the adversaries'
    payoff: the share of data subjects whose record may have been attacked in this or an earlier release (the cumulative
    sum of ``newly_exposed``). A measure that is constant over all rounds and policies is left out, unless all are.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round, with columns ``policy``, ``round``, ``publisher_payoff``,
        ``adversary_payoff``, ``participation`` and ``risk``; for waves also ``draw``, ``wave`` (the label of the round)
        and ``newly_exposed``. Rounds are waves if there is a column ``wave``.

    Returns
    -------
    Figure
        Bars are means over draws of the row's policy, grey steps the means of the others. If draws differ, whiskers
        extend from their 5th to their 95th percentile.
    """
    waves, every = "wave" in rounds, _PANELS
    if waves:
        exposed = rounds.groupby(["draw", "policy"], sort=False, observed=True)["newly_exposed"].cumsum()
        rounds, every = rounds.assign(**{_EXPOSED: exposed.to_numpy()}), _PANELS_OF_WAVES
    draws = rounds.groupby(["policy", "round"], observed=True)[[column for column, _, _ in every]]
    means, low, high = draws.mean(), draws.quantile(0.05), draws.quantile(0.95)
    panels = [panel for panel in every if np.ptp(means[panel[0]]) > 0] or every
    look, named = style.ordered_looks(rounds["policy"]), rounds.drop_duplicates("round").sort_values("round")
    edges = np.append(named["round"] - 0.5, named["round"].max() + 0.5)
    figure, grid = style.new_figure(len(look), len(panels), panel=(2.5, 1.15), sharex=True, sharey="col")
    for row, (policy, own) in zip(grid, look.items(), strict=True):
        for axes, (column, title, unit) in zip(row, panels, strict=True):
            bars = means[column].loc[policy]
            axes.stairs(bars, edges, fill=True, color=own.colour, alpha=0.35)
            axes.stairs(bars, edges, baseline=None, color=own.colour, linewidth=1.8)
            for other in (name for name in look if name != policy):
                axes.stairs(means[column].loc[other], edges, baseline=None, color=GREY, linewidth=0.8)
            ends = np.abs([bars - low[column].loc[policy], high[column].loc[policy] - bars])
            if ends.any():
                axes.errorbar(bars.index, bars, ends, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=1.5)
            style.zero_line(axes)
            heading = f"{title}\n({unit})" if row is grid[0] else ""
            x = ("Wave" if waves else "Round") if row is grid[-1] else ""
            style.label_axes(axes, title=heading, x=x, numbers="y")
            axes.locator_params("y", nbins=4)
            if waves:
                axes.set_xticks(named["round"], named["wave"])
            else:
                style.number_ticks(axes.xaxis, whole=True)
        style.name_row(row[0], policy)
    handles: list[Artist] = [Patch(facecolor=_BAR, edgecolor=BLACK, label="policy of the row")]
    handles.append(Line2D([], [], color=GREY, linewidth=0.8, label="other policies"))
    if (low < high).to_numpy().any():
        handles.append(Line2D([], [], color=BLACK, linewidth=0.8, label="9 of 10 draws"))
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
    means = style.means_with_intervals(adversaries, ["policy", "adversary", "round"], ["belief", "weight"])
    policies, look = style.ordered_policies(adversaries["policy"]), style.looks(adversaries["adversary"])
    figure, [row] = style.new_figure(1, len(policies), panel=(3.4, 2.8))
    for axes, policy in zip(row, policies, strict=True):
        here = means[means["policy"] == policy]
        style.draw_lines(axes, here, "round", "belief", look, by="adversary")
        for name, weight in here.groupby("adversary", observed=True)["weight"].first().items():
            axes.axhline(weight, color=look[str(name)].colour, linewidth=0.7, alpha=0.6)
        axes.set_ylim(-0.04, 1.04)
        style.number_ticks(axes.xaxis, whole=True)
        label = "believed weight" if axes is row[0] else ""
        style.label_axes(axes, title=style.policy_name(policy), x="round", y=label, numbers="y")
    style.legend_below(figure, [Line2D([], [], color=GREY, linewidth=0.7, label="True weight (thin line)")])
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
        round. Lower panel: distinct people re-identified so far, with 95% confidence intervals.
    """
    n_draws = len(through[["replication", "draw"]].drop_duplicates())
    who = through["adversary"].astype(str)
    through = through.assign(finder=who.where(through["through"] == "", who + ": " + through["through"].astype(str)))
    found = through.groupby(["policy", "round", "finder"], observed=True)["breaches"].sum() / n_draws
    distinct = style.means_with_intervals(rounds, ["policy", "round"], [DISTINCT.column])
    subjects = int(rounds["subjects"].max())
    look, policies = style.looks(through["finder"]), style.ordered_policies(through["policy"])
    heights = found.unstack(fill_value=0)[list(look)]
    # The legend gives the number for bars that are too low to see.
    totals = heights.groupby("policy", observed=True).sum().max()
    low = totals[totals < _SEEN * heights.sum(axis=1).max()]
    unseen = {str(finder): f" (at most {total:.2g} in all rounds)" for finder, total in low.items()}
    figure, (above, below) = style.new_figure(2, len(policies), panel=(3.2, 2.4), sharex=True, sharey="row")
    black = style.Look(BLACK, "-", "o")
    for upper, lower, policy in zip(above, below, policies, strict=True):
        bars = heights.loc[[policy]].droplevel("policy")
        tops = bars.cumsum(axis=1)
        for hatch, (finder, own) in zip(itertools.cycle(_HATCHES), look.items(), strict=False):
            drawn: dict[str, Any] = {"facecolor": own.colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
            label = style.given_name(finder) + unseen.get(finder, "")
            upper.bar(bars.index, bars[finder], bottom=tops[finder] - bars[finder], label=label, **drawn)
        style.draw_lines(lower, distinct, "round", DISTINCT.column, {policy: black}, label="_")
        people = distinct[distinct["policy"] == policy].set_index("round")[DISTINCT.column]
        last = people.index.max()
        number = people[last]
        style.write_at(lower, f"{number:,.1f} of {subjects:,}", (last, number), (0, 6), ha="right")
        lower.set_ylim(0, 1.25 * distinct[DISTINCT.column].max() or 1)
        style.number_ticks(lower.xaxis, whole=True)
        style.label_axes(upper, title=style.policy_name(policy), numbers="y")
        style.label_axes(lower, x="round", numbers="y")
    style.label_axes(above[0], y="re-identifications\nin the round")
    style.label_axes(below[0], y="distinct people\nre-identified so far")
    if note:
        lines = textwrap.fill(note, int(13 * figure.get_figwidth()))
        figure.suptitle(lines, fontsize=9, x=0.02, ha="left", parse_math=False)
        figure.set_figheight(figure.get_figheight() + 0.17 * (lines.count("\n") + 1))
    style.legend_below(figure)
    return figure

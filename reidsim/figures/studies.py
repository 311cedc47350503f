"""Draw runs, rounds, cross-play, sweeps, stress tests, attributions and switch points."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.scale import SymmetricalLogScale
from scipy.sparse.csgraph import connected_components

from reidsim.agents.attack import DISTINCT, PARTICIPATION
from reidsim.core.validation import validated
from reidsim.core.wording import BLACK, BLUE, GREY, VERMILION, Measure, columns_of, measures_among
from reidsim.figures import style
from reidsim.games.outcomes import (
    ADVERSARY_PAYOFF,
    GENERALIZATION_INTENSITY,
    MEASURES,
    PUBLISHER_PAYOFF,
    RISK,
    SHARE_ATTACKED,
)
from reidsim.releases.lattice import Floats
from reidsim.scenarios.kind import gain_goes_with_loss, loss_text
from reidsim.scenarios.schema import SweepSection, rows_along

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
# Characters of a policy's name on one line beside a row of panels.
_NAME_WIDTH = 13
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
    look = style.looks(list(map(str, points.index)))
    # Points whose labels would print on each other share one; so do points that are connected by such pairs.
    shares = (points / points.max().replace(0.0, 1.0)).to_numpy()
    near = (np.abs(shares[:, None] - shares) < _LABEL_SIZE).all(axis=2)
    for _, same in points.groupby(connected_components(near)[1], sort=False):
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
    safe, shares, handles = list[str](), list[float](), list[Any]()
    for policy, own in style.ordered_looks(records["policy"]).items():
        rows = (records["policy"] == policy).to_numpy()
        numbers = records["weight"][rows].groupby(risks[rows]).sum().sort_index(ascending=False)
        above = (numbers.cumsum() / numbers.sum())[numbers.index > 0][::-1]
        if above.empty:
            safe.append(style.policy_name(policy))
            continue
        shares += [above.iloc[0], above.iloc[-1]]
        x, y = [0.0, *above.index], [above.iloc[0], *above]
        handles += style.draw_steps(axes, x, y, own, style.policy_name(policy), where="pre")
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    title = textwrap.fill("Risk by record" + f" (no record at risk: {', '.join(safe)})" * bool(safe), 60)
    labels = {"x": "Probability of being re-identified", "y": "Share of records at or above"}
    style.label_axes(axes, title=title, **labels, numbers="xy")
    if shares and max(shares) > 20 * min(shares):
        axes.set(yscale="log", ylim=(min(shares) / 1.5, max(shares) * 1.5))
        style.log_ticks(axes.yaxis, max(shares) / min(shares))
    style.legend_below(figure, handles, columns=3)
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
    axes.set(xlim=(0, 1.05 * last), ylim=(len(look) - 0.5, -0.5))
    style.label_axes(axes, title="Number re-identified: median and 90% interval", x="People re-identified")
    axes.set_yticks(range(len(look)), map(style.policy_name, look), parse_math=False)
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
        style.label_axes(row[0], y=textwrap.fill(style.policy_name(policy), _NAME_WIDTH))
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
    policies, look = style.ordered_policies(adversaries["policy"]), style.looks(list(adversaries["adversary"].unique()))
    figure, [row] = style.new_figure(1, len(policies), panel=(3.4, 2.8))
    for axes, policy in zip(row, policies, strict=True):
        here = means[means["policy"] == policy].drop(columns="policy").rename(columns={"adversary": "policy"})
        handles: list[Any] = style.draw_lines(axes, here, "round", "belief", look)
        for name, weight in here.groupby("policy", observed=True)["weight"].first().items():
            axes.axhline(weight, color=look[str(name)].colour, linewidth=0.7, alpha=0.6)
        axes.set_ylim(-0.04, 1.04)
        style.number_ticks(axes.xaxis, whole=True)
        label = "believed weight" if axes is row[0] else ""
        style.label_axes(axes, title=style.policy_name(policy), x="round", y=label, numbers="y")
    style.legend_below(figure, [*handles, Line2D([], [], color=GREY, linewidth=0.7, label="True weight (thin line)")])
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
    look, policies = style.looks(list(through["finder"].unique())), style.ordered_policies(through["policy"])
    heights = found.unstack(fill_value=0)[list(look)]
    # The legend gives the number for bars that are too low to see.
    totals = heights.groupby("policy", observed=True).sum().max()
    low = totals[totals < _SEEN * heights.sum(axis=1).max()]
    unseen = {str(finder): f" (at most {total:.2g} in all rounds)" for finder, total in low.items()}
    figure, (above, below) = style.new_figure(2, len(policies), panel=(3.2, 2.4), sharex=True, sharey="row")
    black = style.Look(BLACK, "-", "o")
    for upper, lower, policy in zip(above, below, policies, strict=True):
        bars = heights.loc[[policy]].droplevel("policy")
        tops, patches = bars.cumsum(axis=1), []
        for hatch, (finder, own) in zip(itertools.cycle(_HATCHES), look.items(), strict=False):
            drawn: dict[str, Any] = {"facecolor": own.colour, "edgecolor": "white", "linewidth": 0.4, "hatch": hatch}
            upper.bar(bars.index, bars[finder], bottom=tops[finder] - bars[finder], **drawn)
            patches.append(Patch(**drawn, label=style.given_name(finder) + unseen.get(finder, "")))
        [line] = style.draw_lines(lower, distinct, "round", DISTINCT.column, {policy: black})
        last, number = np.asarray(line.get_xydata())[-1]
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
    style.legend_below(figure, patches)
    return figure


_PLAYERS = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)
_PAYOFFS = columns_of(_PLAYERS)
_MAPPED = [*columns_of((GENERALIZATION_INTENSITY, SHARE_ATTACKED)), *_PAYOFFS]
# Draw a map over two axes if the second has more values than can be distinguished as lines.
_MOST_LINES = 6
_FILES = (".csv", ".csv.gz", ".parquet", ".toml")
# Maximum number of figures, one for each combination of the sweep's other values.
_MOST_FIGURES = 6
# Axis label of sensitivity indices, and the name of each index that is drawn.
_INDICES = {
    "total": ("Sobol index", {"total": "total", "first-order": "first-order"}),
    "mu_star": ("Elementary effects", {"mu_star": "mu*", "sigma": "sigma"}),
}
_MARKS: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "marker": "o", "markersize": 5},
    {"color": VERMILION, "marker": "s", "markersize": 4.5, "markerfacecolor": "white"},
)
_COLUMNS = 3
# Number of columns of a heat map up to which its cells contain numbers, and most numbers on its axes.
_MOST_WRITTEN = 8
# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1
# Height of a row and width of a column of cross-play, inches.
_ROW, _COLUMN = 0.24, 0.75
# Weights of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Swept:
    """A sweep arranged for drawing.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy, with a column per key of the sweep, ``policy``, a column per measure with its
        mean, and the intervals of the means (see `style.interval_of`).
    along : tuple of str
        Numeric keys along which lines are drawn, one at a time.
    others : tuple of str
        Keys that distinguish lines or figures.
    second : str
        Key of the second axis of a map; empty for lines.
    in_turn : tuple of tuple of str
        Groups of keys of a one-at-a-time sweep: at each point, the keys of at most one group differ from the scenario's
        values. Empty for other sweeps.
    content : mapping
        The scenario as plain data.
    """

    table: pd.DataFrame
    along: tuple[str, ...]
    others: tuple[str, ...]
    second: str
    in_turn: tuple[tuple[str, ...], ...]
    content: Mapping[str, Any]

    def lines(self, measures: list[str]) -> pd.DataFrame:
        """Return the points of all lines in one table.

        There is one row per key in `along`, point on its lines and policy: ``key``, ``parameter`` (the short name of
        the key), ``value`` (of this key, ascending), ``setting`` (values of the keys in `others`, in words),
        ``policy``, the keys in `others` and the measures, with their intervals. In a one-at-a-time sweep, the lines
        have the points at which the keys of the other groups have the scenario's own values.
        """
        parts = []
        names = (name for measure in measures for name in (measure, *style.interval_of(measure)))
        columns = [*self.others, "policy", *(name for name in names if name in self.table)]
        for key in self.along:
            group = next((group for group in self.in_turn if key in group), ())
            rows = rows_along(self.table, self.in_turn, group, self.content).sort_values(key, kind="stable")
            settings = [
                ", ".join(f"{style.key_words(other)} {_value_words(row[other])}" for other in self.others)
                for row in rows.to_dict("records")
            ]
            named: dict[str, Any] = {"key": key, "parameter": key.removeprefix("economics."), "setting": settings}
            parts.append(rows[columns].assign(**named, value=rows[key].astype(np.float64)))
        return pd.concat(parts, ignore_index=True)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs along numeric keys, or of maps over two keys.

    `result` is that of a batch. Nothing is yielded if it has no sweep that can be drawn; see `swept_of`.
    """
    if (swept := swept_of(result)) is not None:
        yield from lines_or_maps(swept)


def lines_or_maps(swept: Swept) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of maps, if the sweep has a second axis, else of lines.

    Both show the payoffs. The name is ``sweep-map`` or ``sweep-lines``, with ``-1``, ``-2``, ... if there are several
    figures (at most six). Without columns of both payoffs, no lines are drawn.
    """
    name, figures = ("sweep-map", _maps) if swept.second else ("sweep-lines", _payoff_lines)
    drawn = list(figures(swept))
    for number, figure in enumerate(drawn, start=1):
        yield name if len(drawn) == 1 else f"{name}-{number}", figure


def swept_of(result: Any) -> Swept | None:
    """Return the statistics of a batch arranged for drawing; see `Swept`.

    The result is None for a batch without a sweep, policies or successful runs, and for a sweep without a numeric key
    that identifies its points.
    """
    content, found = result.manifest["content"], result.statistics
    if "sweep" not in content or found.empty or "policy" not in found or "records" in found:
        return None
    index = [*result.design.swept, "policy"]
    means, low, high = (
        found.pivot_table(index=index, columns="measure", values=value, sort=False, observed=True)
        for value in ("mean", "low", "high")
    )
    table = means.join([low.add_suffix(" low"), high.add_suffix(" high")]).reset_index()
    if table.empty:
        return None
    axes = validated(SweepSection, content["sweep"], result.name).axes
    keys = {axis: tuple(key for group in axis if (key := _leading(group, table))) for axis in axes}
    drawn = [axis for axis in axes if keys[axis]]
    drawn.sort(key=lambda axis: (-len(axis), -max(table[key].nunique() for key in keys[axis])))
    if not drawn:
        return None
    first, second = drawn[0], ""
    if len(drawn) > 1 and all(len(axis) == 1 for axis in drawn[:2]) and set(_MAPPED) <= set(table):
        (key,) = keys[drawn[1]]
        second = key if table[key].nunique() > _MOST_LINES else ""
    taken = drawn[: 2 if second else 1]
    others = tuple(key for axis in axes if axis not in taken for group in axis for key in group)
    return Swept(table, keys[first], others, second, first if len(first) > 1 else (), content)


def _leading(group: tuple[str, ...], table: pd.DataFrame) -> str:
    """Return the first numeric key of a group that identifies its points; "" if none.

    The keys of a group vary together. A key identifies the points if all its values in `table` are finite, and it has
    as many distinct values as the group has combinations, at least two.
    """
    for key, column in table[list(group)].select_dtypes("number").items():
        # If the values of a key repeat, they do not identify the values of the group's other keys.
        if np.isfinite(column).all() and column.nunique() == len(table[list(group)].drop_duplicates()) > 1:
            return str(key)
    return ""


def _payoff_lines(swept: Swept) -> Iterator[Figure]:
    if not set(_PAYOFFS) <= set(swept.table):
        return
    lines = swept.lines(_PAYOFFS).dropna(subset=_PAYOFFS)
    if gain_goes_with_loss(swept.content, (*swept.along, *swept.others)):
        lines["parameter"] = lines["parameter"].replace("loss", style.LOSS_AND_GAIN)
    for setting in list(dict.fromkeys(lines["setting"]))[:_MOST_FIGURES]:
        figure = sensitivity_lines(lines[lines["setting"] == setting])
        if setting:
            style.headline(figure, setting)
        yield figure


def _maps(swept: Swept) -> Iterator[Figure]:
    y, x = sorted((swept.along[0], swept.second), key=list(swept.table.columns).index)
    names, case = {key: key.removeprefix("economics.") for key in (y, x)}, None
    if set(names.values()) == {"benefit", "loss"}:
        case = float(swept.content["economics"]["benefit"]), float(swept.content["economics"]["loss"])
        y, x = sorted((y, x))
    grouped = swept.table.dropna(subset=_MAPPED).groupby(["policy", *swept.others], sort=False, observed=True)
    for values, rows in itertools.islice(grouped, _MOST_FIGURES):
        title = ", ".join((style.policy_name(str(values[0])), *map(_value_words, values[1:])))
        if len(rows) == rows[x].nunique() * rows[y].nunique():
            maps = rows[[*_MAPPED, x, y]].rename(columns=names)
            yield parameter_maps(maps, case, axes=(names[y], names[x]), title=title)


def _value_words(value: object) -> str:
    """Return a value of a scenario key as a title shows it.

    A float is formatted by `style.number_text`. Of a path, only the last part is kept; the name of a table or TOML file
    also loses its suffixes, and hyphens become spaces.
    """
    if isinstance(value, float):
        return style.number_text(value)
    name = str(value).rpartition("/")[2]
    return name.partition(".")[0].replace("-", " ") if name.endswith(_FILES) else name


def sensitivity_lines(lines: pd.DataFrame, measures: Sequence[Measure] = _PLAYERS) -> Figure:
    """Draw measures under each policy against one parameter at a time.

    The figure of payoffs corresponds to Fig. 11 of Wan et al. 2015.

    Parameters
    ----------
    lines : DataFrame
        One row per parameter, value and policy, with columns ``parameter`` (such as ``"loss"`` or ``"cost"``),
        ``value``, ``policy``, and those of the measures (averages).
    measures : sequence of Measure
        Measures to draw; by default, the payoffs of both players.

    Returns
    -------
    Figure
        One row per parameter, one column per measure, and one line per policy. The x axis is logarithmic if the values
        are spaced by a factor.
    """
    parameters, look = style.ordered_parameters(lines["parameter"]), style.ordered_looks(lines["policy"])
    figure, grid = style.new_figure(len(parameters), len(measures), panel=(4.4, 2.7))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for parameter, row in zip(parameters, grid, strict=True):
        here = lines[lines["parameter"] == parameter]
        for measure, axes in zip(measures, row, strict=True):
            style.draw_lines(axes, here, "value", measure.column, look)
            style.scale_axis(axes, "x", np.unique(here["value"]))
            y = f"{measure.label}\n({style.UNIT})" if measure.column in _PAYOFFS else measure.label
            style.label_axes(axes, title=f"({next(letters, '')})", x=style.parameter_label(parameter), y=y, numbers="y")
    style.legend_below(figure, axes.get_lines())
    return figure


def sensitivity_dots(indices: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw the sensitivity indices of every output, with a row of panels per policy and a column per output.

    Parameters
    ----------
    indices : DataFrame
        Table ``sensitivity`` of a stress test: one row per ``output``, ``policy``, ``index`` (its name) and
        ``parameter``, with ``value`` and its interval, ``low`` and ``high``. Indices of pairs of parameters (``other``
        is not empty) and missing indices are not drawn.
    measures : mapping of str to Measure
        Measure of each output, by column name; it gives the title of the column.

    Returns
    -------
    Figure
        Dots are total indices, squares first-order indices (Sobol), or mu* and sigma (Morris), each with its interval.
        Sobol indices have the same axis in all panels.
    """
    table = indices[(indices["other"] == "") & indices["value"].notna()]
    bar = "total" if (table["index"] == "total").any() else "mu_star"
    title, names = _INDICES[bar]
    outputs, parameters = table["output"].unique(), list(table["parameter"].unique())
    policies = style.ordered_policies(table["policy"])
    sharex: bool | Literal["col"] = True if bar == "total" else "col"
    # The first panel has the names of parameters and of its policy beside it.
    panel = (1.6 + 1.4 / len(outputs), max(1.1, 0.55 + 0.24 * len(parameters)))
    figure, grid = style.new_figure(len(policies), len(outputs), panel=panel, sharex=sharex, sharey=True)
    found = table.set_index(["output", "policy", "index", "parameter"])[["value", "low", "high"]].astype(np.float64)
    for row, policy in zip(grid, policies, strict=True):
        for axes, output in zip(row, outputs, strict=True):
            axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
            for (index, label), own, shift in zip(names.items(), _MARKS, (-0.15, 0.15), strict=True):
                here = found.reindex([(output, policy, index, name) for name in parameters])
                ends = np.nan_to_num(np.abs(here[["low", "high"]].to_numpy().T - here["value"].to_numpy()))
                at = np.arange(len(parameters)) + shift
                axes.errorbar(here["value"], at, xerr=ends, label=label, linestyle="none", elinewidth=1, **own)
            heading = textwrap.fill(measures[output].label, 22) if row is grid[0] else ""
            style.label_axes(axes, title=heading, x=title if row is grid[-1] else "", numbers="x")
            axes.locator_params("x", nbins=3)
        row[0].set_yticks(range(len(parameters)), [style.key_words(name) for name in parameters], fontsize=9)
        row[0].set_ylim(len(parameters) - 0.5, -0.5)
        style.label_axes(row[0], y=textwrap.fill(style.policy_name(policy), _NAME_WIDTH))
    style.legend_below(figure, axes.get_legend_handles_labels()[0])
    return figure


def tornado_bars(table: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw a tornado chart of the first output, with a panel per policy.

    Parameters
    ----------
    table : DataFrame
        Table ``tornado`` of a stress test: one row per ``output``, ``policy`` and ``parameter``, with the outputs
        ``at_low``, ``at_own`` and ``at_high``, and their ``swing``. Rows without a swing are omitted.
    measures : mapping of str to Measure
        Measure of each output, by column name.

    Returns
    -------
    Figure
        A bar from the output at the own values to the output at each end of a parameter; the largest swing is on top.
    """
    rows = table[(table["output"] == table["output"].iloc[0]) & table["swing"].notna()]
    look = style.ordered_looks(rows["policy"])
    figure, every = style.panels(len(look), _COLUMNS, panel=(3.8, 2.9))
    for policy, axes in zip(look, every, strict=True):
        own = rows[rows["policy"] == policy][::-1]
        for column, colour, label in (("at_low", BLUE, "Low end"), ("at_high", VERMILION, "High end")):
            # In grey print, the edge tells bars that overlap apart.
            width, left = own[column] - own["at_own"], own["at_own"]
            axes.barh(range(len(own)), width, left=left, color=colour, edgecolor=BLACK, alpha=0.6, label=label)
        axes.axvline(own["at_own"].iloc[0], color=GREY, linewidth=0.8)
        axes.set_yticks(range(len(own)), [style.key_words(name) for name in own["parameter"]], fontsize=9)
        style.label_axes(axes, title=style.policy_name(policy), x=measures[rows["output"].iloc[0]].label, numbers="x")
    style.legend_below(figure, axes.get_legend_handles_labels()[0])
    return figure


def regret_ranges(regrets: pd.DataFrame) -> Figure:
    """Draw the range of payoff and regret over the points, with a row per policy.

    Parameters
    ----------
    regrets : DataFrame
        Table ``regrets`` of a stress test: one row per point and policy, with ``policy``, ``publisher_payoff`` and
        ``regret`` (money per record). Rows without a regret are omitted.

    Returns
    -------
    Figure
        Two panels, payoff and regret; see `style.range_panels`. The worst value, the smallest payoff or the largest
        regret, is written.
    """
    table = regrets[regrets["regret"].notna()]
    look = style.ordered_looks(table["policy"])
    panels = ("publisher_payoff", "Payoff", "smallest", np.min), ("regret", "Regret", "largest", np.max)
    drawn = [(table, column, f"{name} ({style.UNIT})") for column, name, _, _ in panels]
    figure, row = style.range_panels(drawn, look, width=4.4, values="points")
    for axes, (column, _, worst, end) in zip(row, panels, strict=True):
        beside: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        style.write_at(axes, worst, (1.16, -0.8), (0, 0), **beside)
        for place, policy in enumerate(look):
            text = style.money_text(end(table.loc[table["policy"] == policy, column]))
            style.write_at(axes, text, (1.16, place), (0, 0), **beside)
    return figure


def belief_curves(curves: pd.DataFrame, payoff: Measure = PUBLISHER_PAYOFF) -> Figure:
    """Draw the payoff of policies whose publisher is mistaken about one parameter.

    Parameters
    ----------
    curves : DataFrame
        Rows of a single key in the table ``belief_curves`` of a stress test: ``key``, ``true`` and ``believed`` (values
        of the key, numbers), ``policy`` and the payoff. The key is a parameter of the scenario.
    payoff : Measure
        The publisher's payoff, with its label.

    Returns
    -------
    Figure
        For a grid of true and believed values, one panel per policy; see `_belief_maps`. Otherwise, one panel per
        believed value, over the true value; then one panel per true value, over the believed value. A panel whose x
        values are all equal is omitted. A vertical line marks where both agree. Only the first six of all panels are
        drawn.
    """
    curves = curves.drop_duplicates()
    name, number = str(curves["key"].iloc[0]), {x: curves[x].nunique() for x in ("true", "believed")}
    words, look = style.key_words(name), style.ordered_looks(curves["policy"])
    labels = {x: style.with_unit(f"{x.capitalize()} {words}", name) for x in number}
    if min(number.values()) > 1 and len(curves) == number["true"] * number["believed"] * len(look):
        return _belief_maps(curves, list(look), labels, payoff)
    drawn = [
        (f"{style.sentence(words)} {verb} {value:.6g}", x, fixed, rows)
        for x, fixed, verb in (("true", "believed", "believed to be"), ("believed", "true", "is"))
        for value, rows in curves.groupby(fixed, observed=True)
        if rows[x].min() < rows[x].max()
    ]
    drawn = drawn[: 2 * _COLUMNS] or [(style.sentence(words), "true", "believed", curves)]
    figure, every = style.panels(len(drawn), 2, panel=(4.2, 3.0))
    for (title, x, fixed, rows), axes in zip(drawn, every, strict=True):
        handles = style.draw_lines(axes, rows, x, payoff.column, look)
        axes.axvline(rows[fixed].iloc[0], color=GREY, linewidth=0.8, zorder=0.5)
        style.label_axes(axes, title=title, x=labels[x], y=f"{payoff.label}\n({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=2 if len(drawn) == 1 else 4)
    return figure


def _belief_maps(curves: pd.DataFrame, policies: list[str], labels: Mapping[str, str], payoff: Measure) -> Figure:
    """Draw a heat map per policy of the payoff by true (x) and believed value (y).

    Cells in which both values agree have a frame. The payoff is written in each cell, if there are at most eight true
    values. All panels have the same colours; for `curves` and `payoff`, see `belief_curves`. `labels` are those of the
    columns ``true`` and ``believed``.
    """
    true, believed = (np.unique(curves[column]) for column in labels)
    height = max(1.1, 0.4 + _ROW * len(believed))
    figure, every = style.new_figure(len(policies), 1, panel=(5.4, height), sharex=True)
    colours, (low, high) = _signed_colours(curves[payoff.column])
    for (axes,), policy in zip(every, policies, strict=True):
        own = curves[curves["policy"] == policy].pivot(index="believed", columns="true", values=payoff.column)
        image = axes.imshow(own, colours, vmin=low, vmax=high, aspect="auto", origin="lower")
        if len(true) <= _MOST_WRITTEN:
            _write_cells(axes, image, own, payoff)
        for row, column in np.argwhere(believed[:, None] == true).tolist():
            corner = column - 0.5, row - 0.5
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=BLACK, linewidth=2, clip_on=False))
        for axis, values in ((axes.xaxis, true), (axes.yaxis, believed)):
            shown = np.arange(0, len(values), -(-len(values) // _MOST_WRITTEN))
            axis.set_ticks(shown, map(style.number_text, values[shown]))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        style.label_axes(axes, title=style.policy_name(policy), y=textwrap.fill(labels["believed"], 16))
    style.label_axes(axes, x=labels["true"])
    _colour_bar(figure, [axes for (axes,) in every], image, f"{payoff.label}\n({style.UNIT})", fraction=0.04, pad=0.02)
    frame = Patch(facecolor="white", edgecolor=BLACK, linewidth=2, label="belief is right")
    style.legend_below(figure, [frame])
    return figure


def attribute_shares(table: pd.DataFrame, measures: Sequence[Measure]) -> Figure:
    """Draw the Shapley share of each column, one panel per measure.

    A bar shows the share of a column (attribute) under a policy. Error bars of two standard errors are drawn where
    shares are estimates (a standard error is not 0).

    Parameters
    ----------
    table : DataFrame
        One row per policy, attribute and measure, with columns ``policy``, ``attribute``, ``measure`` (its column
        name), ``share`` and ``standard_error``.
    measures : sequence of Measure
        Measures of the panels, at most three.
    """
    attributes = list(table["attribute"].unique())
    look = style.ordered_looks(table["policy"])
    places, height = np.arange(len(attributes)), 0.8 / len(look)
    figure, [row] = style.new_figure(1, len(measures), panel=(4.4, 0.9 + 0.45 * len(attributes)))
    for measure, letter, axes in zip(measures, "abc", row, strict=False):
        for place, (policy, own) in enumerate(look.items()):
            rows = table[(table["policy"] == policy) & (table["measure"] == measure.column)]
            rows = rows.set_index("attribute").loc[attributes]
            at, errors = places + (place - (len(look) - 1) / 2) * height, 2 * rows["standard_error"].to_numpy()
            axes.barh(at, rows["share"], height=height, color=own.colour, xerr=errors if errors.any() else None)
        axes.axvline(0, color=GREY, linewidth=0.8)
        labels = attributes if axes is row[0] else [""] * len(attributes)
        axes.set_yticks(places, labels, fontsize=9, parse_math=False)
        axes.invert_yaxis()
        unit = f"\n({style.UNIT})" if measure.column in _COLOURS else ""
        style.label_axes(axes, title=f"({letter}) {measure.label}", x=f"Shapley share of the column{unit}", numbers="x")
    style.legend_below(figure, style.patches(look))
    return figure


def reliability_diagram(reliability: pd.DataFrame) -> Figure:
    """Draw the share of correct claims over their probability, with 95 % intervals.

    Parameters
    ----------
    reliability : DataFrame
        Classes of claims; see `reidsim.engine.red_team.AttackResult`.
    """
    names = {"predicted": "Predicted by the game", "probability": "Posterior of the attack"}
    look = style.looks([*names])
    figure, [[axes]] = style.new_figure(1, 1, panel=(4.8, 4.2))
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    handles = []
    for estimate, label in names.items():
        rows, own = reliability[reliability["estimate"] == estimate], look[estimate]
        around = (rows["precision"] - rows["precision_low"], rows["precision_high"] - rows["precision"])
        axes.errorbar(rows["mean"], rows["precision"], np.abs(around), fmt="none", ecolor=own.colour, elinewidth=0.8)
        handles += style.draw_line(axes, rows["mean"], rows["precision"], own, label)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02))
    style.label_axes(axes, x="Mean probability of the claims", y="Share of correct claims", numbers="xy")
    style.legend_below(figure, handles, columns=2)
    return figure


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
    """
    look = style.ordered_looks(lines["policy"])
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    handles = style.draw_lines(axes, lines, "value", "publisher_payoff", look, marker=None)
    for band in bands[bands["policy"].isin(look)].to_dict("records"):
        axes.axvspan(band["low"], band["high"], color=look[band["policy"]].colour, alpha=0.08, linewidth=0)
    style.headline(figure, "The background has the colour of the best policy", fontsize=10)
    low, high = bands["low"].min(), bands["high"].max()
    named = low
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
        if value - named > _APART * (high - low):
            named, above = value, ("data", "axes fraction")
            style.write_at(axes, loss_text(value), (value, 1.0), (0, 3), xycoords=above, ha="center")
    if low <= own <= high:
        axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":")
        # Above the amounts at which the best policy changes.
        text = f"the scenario's {loss_text(own)}"
        style.write_at(axes, text, (own, 1.0), (0, 15), xycoords=("data", "axes fraction"), ha="center")
    axes.set_xlim(low, high)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=3)
    return figure


def parameter_maps(
    maps: pd.DataFrame, case: tuple[float, float] | None = None, *, axes: tuple[str, str], title: str
) -> Figure:
    """Draw both players' strategies and payoffs over two parameters (Wan et al. 2015, Fig. 10).

    Parameters
    ----------
    maps : DataFrame
        A full grid, one row per value of both parameters, with a column for each of them, and averages over all
        records: ``publisher_payoff``, ``adversary_payoff`` (money per record), ``generalization_intensity`` and
        ``share_attacked``.
    case : tuple of float, optional
        Values (y and x) of a case study, marked by a cross; outside the map, only the legend mentions it.
    axes : tuple of str
        Columns on the y axis and on the x axis.
    title : str
        Title of the figure.

    Returns
    -------
    Figure
        Four maps: generalization intensity, share attacked, publisher's payoff and adversary's payoff. Each axis is
        logarithmic if its values are spaced by a factor. More generalization and more attacks are darker; a single
        record is either attacked or not. Payoffs of both signs have colours that are neutral at 0.
    """
    y, x = axes
    figure, grid = style.new_figure(2, 2, panel=(4.4, 3.1), sharex=True, sharey=True)
    style.headline(figure, title)
    # Round up to tenths, so that averages far below 1 are distinguishable.
    darkest = min(1.0, max(0.1, float(np.ceil(10 * maps[GENERALIZATION_INTENSITY.column].max())) / 10))
    attacks: tuple[Any, ...] = "Oranges", (0.0, 1.0), f"{SHARE_ATTACKED.label} (share)"
    if is_binary := maps[SHARE_ATTACKED.column].isin([0, 1]).all():
        attacks = ListedColormap(["white", VERMILION]), (-0.5, 1.5), ""
    panels: list[tuple[Any, ...]] = [
        (GENERALIZATION_INTENSITY, "Publisher's strategy", "Greys", (0.0, darkest), GENERALIZATION_INTENSITY.label),
        (SHARE_ATTACKED, "Adversary's strategy", *attacks),
        *((measure, measure.label, *_signed_colours(maps[measure.column]), style.UNIT) for measure in _PLAYERS),
    ]
    for place, letter, (measure, name, *colours, unit) in zip(itertools.chain(*grid), "abcd", panels, strict=True):
        surface = maps.pivot(index=y, columns=x, values=measure.column)
        bar = _colour_bar(figure, place, _draw_cells(place, surface, *colours), unit)
        if measure is SHARE_ATTACKED and is_binary:
            bar.set_ticks([0, 1], labels=["not attacked", "attacked"])
        style.label_axes(
            place,
            title=f"({letter}) {name}",
            x=style.parameter_label(x),
            y=style.parameter_label(y).replace(" (", "\n("),
        )
        place.label_outer()
        if case is not None:
            # Black with a white rim is visible on black, white and grey.
            rim = [withStroke(linewidth=5, foreground="white")]
            cross: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 9, "markeredgewidth": 2}
            (left, right), (bottom, upper) = place.get_xlim(), place.get_ylim()
            outside = "" if left <= case[1] <= right and bottom <= case[0] <= upper else " (outside the map)"
            amounts = f"V = {style.number_text(case[0])}, L = {style.number_text(case[1])} {style.UNIT}"
            label = f"Case study: {amounts}{outside}"
            place.plot(case[1], case[0], **cross, color="black", path_effects=rim, clip_on=bool(outside), label=label)
    if case is not None:
        style.legend_below(figure, place.get_lines())
    return figure


def policy_map(chart: pd.DataFrame, x: str, y: str) -> Figure:
    """Draw the best policy over two parameters, and its margin over the second best.

    If one policy is best everywhere, draw only the margin. A missing margin is drawn as 0.

    Parameters
    ----------
    chart : DataFrame
        Table ``policy_map`` of a stress test: a full grid with one row per pair of values, and columns ``x``, ``y``
        (the values), ``best`` (a policy; empty if unknown, for some rows at most) and ``margin`` (money per record).
    x, y : str
        Names of the parameters on the axes.
    """
    look = style.ordered_looks(name for name in chart["best"] if name)
    position = {policy: number for number, policy in enumerate(look)}
    table = chart.assign(margin=chart["margin"].fillna(0), position=chart["best"].map(position))
    ahead = f"ahead of the second best ({style.UNIT})"
    if len(look) > 1:
        drawn = [("position", "(a) Best policy"), ("margin", f"(b) {style.sentence(ahead)}")]
    else:
        drawn = [("margin", f"{style.policy_name(next(iter(look)))}, best everywhere: {ahead}")]
    figure, [row] = style.new_figure(1, len(drawn), panel=(4.4 if len(drawn) > 1 else 6.4, 3.4))
    for axes, (column, title) in zip(row, drawn, strict=True):
        surface = table.pivot(index="y", columns="x", values=column)
        if column == "position":
            colours = ListedColormap([own.colour for own in look.values()])
            _draw_cells(axes, surface, colours, (-0.5, len(look) - 0.5))
        else:
            limits = 0.0, max(float(np.nanmax(surface.to_numpy())), 1e-9)
            _colour_bar(figure, axes, _draw_cells(axes, surface, "cividis", limits))
        style.label_axes(axes, title=title, x=style.parameter_label(x), y=style.parameter_label(y).replace(" (", "\n("))
    if len(drawn) > 1:
        style.legend_below(figure, style.patches(look))
    return figure


def cross_play_maps(payoff: pd.DataFrame, risk: pd.DataFrame) -> Figure:
    """Draw the defender's payoff and the risk of re-identification as heat maps.

    Parameters
    ----------
    payoff : DataFrame
        Defender's payoff in currency units per record; one row per defender, one column per adversary, missing for
        combinations that could not be played.
    risk : DataFrame
        Mean probability of re-identification; same rows and columns as `payoff`.

    Returns
    -------
    Figure
        Every cell contains its number, except combinations that could not be played. The colour scale of payoffs is
        symmetric around 0 up to the largest absolute payoff, so no value is clipped. Larger risks are brighter; their
        scale is logarithmic if positive risks differ by more than a factor of 2, and then risks below 1/10,000 of the
        largest have the darkest colour; otherwise, it is linear from 0 to 1.
    """
    rows, columns = payoff.shape
    figure, [[left, right]] = style.new_figure(1, 2, panel=(1.5 + _COLUMN * columns, 1.2 + _ROW * rows))
    largest = float(np.nanmax(np.abs(payoff.to_numpy()))) or 1.0
    positive = risk.to_numpy()[risk.to_numpy() > 0]
    lowest, highest = (positive.min(), positive.max()) if len(positive) else (1.0, 1.0)
    spread = LogNorm(max(lowest, highest / 1e4), highest, clip=True) if highest > 2 * lowest else Normalize(0.0, 1.0)
    for axes, table, scale, colours, measure, title, unit in (
        # The colours of payoffs are neutral at 0. Colour-blind readers can distinguish the colours of both maps.
        (left, payoff, Normalize(-largest, largest), "PuOr", PUBLISHER_PAYOFF, "(a) Defender's payoff", style.UNIT),
        (right, risk, spread, "cividis", RISK, f"(b) {RISK.label}", "probability"),
    ):
        image = axes.imshow(table, cmap=colours, norm=scale, aspect="auto")
        _write_cells(axes, image, table, measure)
        axes.set_xticks(np.arange(columns), table.columns, rotation=30, ha="right", rotation_mode="anchor")
        axes.set_yticks(np.arange(rows), table.index if axes is left else [""] * rows)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        _colour_bar(figure, axes, image, unit, fraction=0.04, pad=0.02)
        style.label_axes(axes, title=title)
    return figure


def cell_edges(values: Floats) -> Floats:
    """Return the cell borders around increasing values, shape (n + 1,).

    Borders are midway between values, on a linear or logarithmic scale, as `is_geometric` decides. On a linear scale,
    the first border of values that are not negative is 0 or more. A single value v has borders 0.5 v and 1.5 v, or 0
    and 1 if it is 0.
    """
    if len(values) == 1:
        # A single cell has no natural width; any width shows its value.
        return values[0] * np.array([0.5, 1.5]) if values[0] else np.array([0.0, 1.0])
    geometric = style.is_geometric(values)
    positions = np.log(values) if geometric else values
    middle = (positions[1:] + positions[:-1]) / 2
    first = positions[0] - (middle[0] - positions[0])
    if not geometric and positions[0] >= 0:
        # Half a cell below the smallest amount of money would be negative.
        first = max(first, 0.0)
    edges = np.concatenate([[first], middle, [positions[-1] + (positions[-1] - middle[-1])]])
    return np.exp(edges) if geometric else edges


def _draw_cells(axes: Axes, surface: pd.DataFrame, colours: str | Colormap, limits: tuple[float, float]) -> QuadMesh:
    """Draw values over two increasing parameters as coloured cells.

    Return the mesh of cells. `surface` has the values, with those of the y parameter as index and of the x parameter as
    columns. Each axis is linear or logarithmic. `limits` are the values of the first and the last colour.
    """
    x, y = (np.asarray(labels, dtype=np.float64) for labels in (surface.columns, surface.index))
    edges, (low, high) = (cell_edges(x), cell_edges(y)), limits
    mesh = axes.pcolormesh(*edges, surface.to_numpy(float), cmap=colours, vmin=low, vmax=high, rasterized=True)
    style.scale_axis(axes, "x", x)
    style.scale_axis(axes, "y", y)
    axes.set(xlim=edges[0][[0, -1]], ylim=edges[1][[0, -1]])
    return mesh


def _write_cells(axes: Axes, image: AxesImage, table: pd.DataFrame, measure: Measure) -> None:
    """Write the numbers of a table into the cells of its image, in the format of a measure.

    Missing cells stay empty.
    """
    numbers = table.to_numpy()
    for row, column in np.argwhere(table.notna().to_numpy()).tolist():
        bright = float(np.dot(image.to_rgba(numbers[row, column])[:3], _LUMINANCE)) > 0.5
        text = measure.format.format(numbers[row, column])
        text = (text if text.strip("-0.,") else text.lstrip("-")).replace("-", "\N{MINUS SIGN}")
        centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
        axes.text(column, row, text, **centred, color="black" if bright else "white")


def _signed_colours(payoffs: pd.Series[float]) -> tuple[str, tuple[float, float]]:
    """Return a colour map for payoffs and the payoffs of its first and last colour.

    Payoffs of both signs have a map that is neutral at 0 and symmetric around it, others a sequential map.
    """
    low, high = float(payoffs.min()), float(payoffs.max())
    largest = max(-low, high)
    return ("PuOr", (-largest, largest)) if low < 0 < high else ("cividis", (low, high))


def _colour_bar(figure: Figure, axes: Axes | list[Axes], drawn: Any, unit: str = "", **more: Any) -> Colorbar:
    bar = figure.colorbar(drawn, ax=axes, **more)
    bar.ax.tick_params(labelsize=9)
    style.label_axes(bar.ax, y=unit, numbers="" if isinstance(drawn.norm, LogNorm) else "y")
    return bar

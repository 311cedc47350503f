"""Draw payoffs, risks and numbers of re-identified people by policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reidsim.core.measures import Measure, measures_among
from reidsim.figures import style
from reidsim.figures.style import label_axes, legend_below, looks, new_figure, ordered_policies, policy_name
from reidsim.games.measures import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF
from reidsim.palette import BLUE, GREY, VERMILION
from reidsim.scenarios.people import once_each

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
_RISKS = {"policy", "attacked", "success_probability"}
# Height of a policy's row, inches.
_ROW = 0.45


def figures_by_policy(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs, risks and people re-identified.

    Figures for which the run has no table are left out.
    """
    if {"policy", *_COLOURS} <= set(result.runs.columns):
        yield "payoffs", payoffs_by_policy(result.summary.reset_index(), result.measures)
    if set(result.records.columns) >= _RISKS and len(result.records):
        yield "risks", risks_by_policy(once_each(result.records, result.manifest["content"]))
    if len(result.analysis.reidentified):
        yield "reidentified", reidentified_by_policy(result.analysis.reidentified)


def payoffs_by_policy(summary: pd.DataFrame, measures: Iterable[Measure] = MEASURES) -> Figure:
    """Draw the payoffs of both players under each policy as bars with amounts.

    Parameters
    ----------
    summary : DataFrame
        One row per policy (and point): ``policy``, ``publisher_payoff`` and ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Measures of the scenario's kind.
    """
    names = [style.policy_name(policy) for policy in summary["policy"]]
    figure, grid = style.new_figure(1, 2, panel=(4.2, 0.8 + _ROW * len(summary)), sharey=True)
    places = np.arange(len(summary))
    for (column, measure), axes in zip(measures_among(measures, _COLOURS).items(), grid[0], strict=True):
        bars = axes.barh(places, summary[column], color=_COLOURS[column], height=0.6)
        _label_bars(axes, bars, [measure.format.format(value) for value in summary[column].tolist()])
        style.label_axes(axes, title=measure.label, x=style.UNIT)
        style.number_ticks(axes.xaxis)
    grid[0][0].set_yticks(places, names, parse_math=False)
    grid[0][0].invert_yaxis()
    return figure


def _label_bars(axes: Axes, bars: BarContainer, texts: list[str]) -> None:
    """Write amounts at the right end of bars, and right of zero for negative bars."""
    for bar, text in zip(bars, texts, strict=True):
        end = max(0.0, bar.get_x() + bar.get_width())
        axes.annotate(
            text.replace("-", "\N{MINUS SIGN}"),
            (end, bar.get_y() + bar.get_height() / 2),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.margins(x=0.2)
    if any(bar.get_width() < 0 for bar in bars):
        axes.axvline(0, color=GREY, linewidth=0.8)


def risks_by_policy(records: pd.DataFrame) -> Figure:
    """Draw, by policy, the share of records with at least a given risk.

    The risk of a record is its success probability if it is attacked, else 0.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``policy``, ``attacked`` and ``success_probability``.
    """
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    lines, highest = [], 0.0
    rows = {str(name): places for name, places in records.groupby("policy", sort=False, observed=True).indices.items()}
    risks = np.where(records["attacked"], records["success_probability"], 0.0)
    for policy, own in style.looks(style.ordered_policies(rows)).items():
        found, numbers = np.unique(-risks[rows[policy]], return_counts=True)
        risk, share = -found, np.cumsum(numbers) / numbers.sum()
        highest = max(highest, float(share[risk > 0].max(initial=0.0)))
        lines += axes.step(
            [1.0, *risk, 0.0],
            [0.0, *share, 1.0],
            where="post",
            color=own.colour,
            linestyle=own.dashes,
            label=style.policy_name(policy),
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, min(1.0, 1.1 * highest) or 1.0)
    style.label_axes(
        axes, title="Risk by record", x="Probability of being re-identified", y="Share of records at or above"
    )
    # Names of policies are longer in scenarios with many policies.
    style.legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure


# Above this number of people, the axis is logarithmic, as policies differ by orders of magnitude.
_MANY = 50
# The axis ends at the smallest number of people at which every policy reaches this cumulative probability.
_ALMOST_ALL = 0.999


def reidentified_by_policy(distributions: pd.DataFrame) -> Figure:
    """Draw, by policy, the distribution function of re-identified people.

    Parameters
    ----------
    distributions : DataFrame
        One row per policy and number, with columns ``policy``, ``people`` (the number) and ``at_most`` (probability
        that at most this many people are re-identified).
    """
    figure, [[axes]] = new_figure(1, 1, panel=(5.2, 3.0))
    ends = distributions[distributions["at_most"] >= _ALMOST_ALL].groupby("policy", observed=True)["people"].min()
    last = max(1.0, float(ends.max()))
    lines = []
    for policy, own in looks(ordered_policies(distributions["policy"])).items():
        chosen = distributions[(distributions["policy"] == policy) & (distributions["people"] <= last)].sort_values(
            "people"
        )
        people, at_most = chosen["people"].tolist(), chosen["at_most"].tolist()
        lines += axes.step(
            [0.0, *people, 1.1 * last],
            [0.0, *at_most, at_most[-1]],
            where="post",
            color=own.colour,
            linestyle=own.dashes,
            label=policy_name(policy),
        )
    if last > _MANY:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlim(0, 1.1 * last)
    axes.set_ylim(0, 1.02)
    label_axes(axes, title="Number re-identified", x="People re-identified", y="Probability of at most this many")
    legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure

"""Draw payoffs, risks and numbers of re-identified people by policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reidsim.core.measures import Measure, measures_among
from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF
from reidsim.palette import BLUE, GREY, VERMILION
from reidsim.scenarios.people import once_each

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
# Above this number of people, the axis is logarithmic, as policies differ by orders of magnitude.
_MANY = 50
# The axis ends at the smallest number of people at which every policy reaches this cumulative probability.
_ALMOST_ALL = 0.999


def figures_by_policy(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs, risks and people re-identified.

    Figures for which the run has no table are left out.
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
        One row per policy (and point): ``policy``, ``publisher_payoff`` and ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Measures of the scenario's kind.
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
        One row per record and policy, with columns ``policy``, ``attacked`` and ``success_probability``.
    """
    rows = {str(name): places for name, places in records.groupby("policy", sort=False, observed=True).indices.items()}
    risks = np.where(records["attacked"], records["success_probability"], 0.0)
    steps, highest = {}, 0.0
    for policy, places in rows.items():
        found, numbers = np.unique(-risks[places], return_counts=True)
        share = np.cumsum(numbers) / numbers.sum()
        highest = max(highest, float(share[found < 0].max(initial=0.0)))
        steps[policy] = [1.0, *-found, 0.0], [0.0, *share, 1.0]
    labels = {"title": "Risk by record", "x": "Probability of being re-identified", "y": "Share of records at or above"}
    figure, axes = _drawn_steps(steps, **labels)
    axes.set(xlim=(0, 1), ylim=(0, min(1.0, 1.1 * highest) or 1.0))
    return figure


def reidentified_by_policy(distributions: pd.DataFrame) -> Figure:
    """Draw, by policy, the distribution function of re-identified people.

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
    """Draw a step function per policy; see `style.label_axes` for the labels."""
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    lines: list[Artist] = []
    for policy, own in style.ordered_looks(steps).items():
        lines += style.draw_steps(axes, *steps[policy], own, style.policy_name(policy))
    style.label_axes(axes, **labels)
    # Names of policies are longer in scenarios with many policies.
    style.legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure, axes

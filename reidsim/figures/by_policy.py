"""What each policy leads to: payoffs of both players, the risks of records, how many people are re-identified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reidsim.figures import style
from reidsim.figures.inputs import checked
from reidsim.figures.style import label_axes, legend_below, looks, new_figure, ordered_policies, policy_name
from reidsim.figures.switch import loss_switches
from reidsim.games.measures import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF
from reidsim.measures import Measure, measures_among
from reidsim.palette import BLUE, VERMILION
from reidsim.scenarios.faces import Shown
from reidsim.scenarios.people import once_each
from reidsim.scenarios.registry import kind_of_content
from reidsim.scenarios.releases_by_loss import releases_by_loss

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
_RISKS = {"policy", "attacked", "success_probability"}
# Inches of a policy.
_ROW = 0.45


def figures_by_policy(result: Shown) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of what a run of any kind of scenario has: payoffs, people at risk, the switch point."""
    if {"policy", *_COLOURS} <= set(result.runs.columns):
        yield "payoffs", payoffs_by_policy(result.summary.reset_index(), result.measures)
    if set(result.records.columns) >= _RISKS and len(result.records):
        yield "risks", risks_by_policy(once_each(result.records, result.manifest["content"]))
    if len(result.analysis.reidentified):
        yield "reidentified", reidentified_by_policy(result.analysis.reidentified)
    by_loss = releases_by_loss(result.summary, result.manifest, kind_of_content(result.manifest["content"]).policies)
    if by_loss is not None:
        yield "switch", loss_switches(by_loss)


def payoffs_by_policy(summary: pd.DataFrame, measures: Iterable[Measure] = MEASURES) -> Figure:
    """Draw the payoffs of both players under each policy as bars, with their amounts.

    Parameters
    ----------
    summary : DataFrame
        One row per policy (and point): ``policy``, ``publisher_payoff`` and ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Those of the scenario's kind.
    """
    table = checked(summary, "summary", text=("policy",), numbers=list(_COLOURS))
    names = [style.policy_name(policy) for policy in table["policy"]]
    figure, grid = style.new_figure(1, 2, panel=(4.2, 0.8 + _ROW * len(table)), sharey=True)
    places = np.arange(len(table))
    for (column, measure), axes in zip(measures_among(measures, _COLOURS).items(), grid[0], strict=True):
        bars = axes.barh(places, table[column], color=_COLOURS[column], height=0.6)
        axes.bar_label(bars, fmt=measure.format, fontsize=9, padding=3)
        axes.margins(x=0.2)
        style.label_axes(axes, title=measure.label, x=style.UNIT)
        style.number_ticks(axes.xaxis)
    grid[0][0].set_yticks(places, names, parse_math=False)
    grid[0][0].invert_yaxis()
    return figure


def risks_by_policy(records: pd.DataFrame) -> Figure:
    """Draw for each policy the share of records whose risk of re-identification is at least so high.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``policy``, ``attacked`` and ``success_probability``.
    """
    table = checked(records, "records", text=("policy",), numbers=("success_probability",), flags=("attacked",))
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    lines, highest = [], 0.0
    rows = {str(name): places for name, places in table.groupby("policy", sort=False, observed=True).indices.items()}
    risks = np.where(table["attacked"], table["success_probability"], 0.0)
    for policy, own in style.looks(style.ordered_policies(rows)).items():
        found, numbers = np.unique(-risks[rows[policy]], return_counts=True)
        risk, share = -found, np.cumsum(numbers) / numbers.sum()
        highest = max(highest, float(share[risk > 0].max(initial=0.0)))
        lines += axes.step(
            [1.0, *risk, 0.0], [0.0, *share, 1.0], where="post", color=own.colour, linestyle=own.dashes,
            label=style.policy_name(policy),
        )  # fmt: skip
    axes.set_xlim(0, 1)
    axes.set_ylim(0, min(1.0, 1.1 * highest) or 1.0)
    style.label_axes(
        axes, title="Risk by record", x="Probability of being re-identified", y="Share of records at or above"
    )
    # Names of many policies are long ones.
    style.legend_below(figure, lines, columns=3 if len(lines) <= 4 else 2)
    return figure


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

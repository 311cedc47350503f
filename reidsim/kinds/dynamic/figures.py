"""Figures of cases over time: what is released when, what it pays, and whom it exposes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reidsim.figures import style
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.palette import GREY
from reidsim.scenarios.faces import Shown

_LEVEL = "level "


def run_figures(result: Shown) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of the chosen levels, the payoffs so far, and the cases exposed so far."""
    periods = result.analysis.tables()["periods"]
    yield "levels", levels_by_period(periods)
    yield "cumulative-payoff", cumulative_payoff(periods)
    yield "exposed", exposed_cases(periods)


def levels_by_period(periods: pd.DataFrame) -> Figure:
    """Draw the level of each attribute over periods by policy, and the number of cases.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number``, ``records``, and ``level ATTRIBUTE`` for each attribute,
        missing where nothing is released.
    """
    attributes = [column for column in periods.columns if column.startswith(_LEVEL)]
    table = _checked(periods, ("records",))
    levels = periods[attributes].apply(pd.to_numeric).reset_index(drop=True)
    look = style.looks(list(table["policy"].unique()))
    figure, axes_of = style.panels(len(attributes) + 1, 2, panel=(4.6, 2.3))
    for place, (policy, rows) in enumerate(table.groupby("policy", sort=False, observed=True)):
        # Steps beside each other, as policies often choose alike.
        shift = 0.06 * (place - (len(look) - 1) / 2)
        for column, axes in zip(attributes, axes_of, strict=False):
            drawn = levels.loc[rows.index, column].to_numpy() + shift
            steps: dict[str, Any] = {"drawstyle": "steps-mid", "markersize": 3.5, "linewidth": 1.1}
            name = str(policy)
            style.draw_line(axes, rows["number"].to_numpy(), drawn, look[name], style.policy_name(name), **steps)
    for column, axes in zip(attributes, axes_of, strict=False):
        style.label_axes(axes, title=style.sentence(column.removeprefix(_LEVEL)), x="Period", y="Level")
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    first = table[table["policy"] == table["policy"].iloc[0]]
    axes_of[-1].bar(first["number"], first["records"], color=GREY, width=0.9)
    style.label_axes(axes_of[-1], title="Cases", x="Period", y="Records of the table")
    style.legend_below(figure, axes_of[0].get_lines())
    return figure


def cumulative_payoff(periods: pd.DataFrame) -> Figure:
    """Draw the publisher's payoff of all periods so far, by policy.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number`` and ``publisher_payoff``, money of the whole table.
    """
    table = _checked(periods, ("publisher_payoff",))
    figure, ((axes,),) = style.new_figure(1, 1, panel=(6.4, 3.6))
    _lines_so_far(axes, table, "publisher_payoff")
    style.zero_line(axes)
    style.label_axes(axes, x="Period", y="Cumulative payoff, all cases")
    style.number_ticks(axes.yaxis)
    style.legend_below(figure, axes.get_lines()[: table["policy"].nunique()])
    return figure


def exposed_cases(periods: pd.DataFrame) -> Figure:
    """Draw the cases released in attacked records so far, and those expected to be re-identified, by policy.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number``, ``attacked`` and ``reidentified``.
    """
    columns = {"attacked": "Attacked so far", "reidentified": "Expected re-identified so far"}
    table = _checked(periods, tuple(columns))
    figure, (row,) = style.new_figure(1, 2, panel=(4.4, 3.4))
    for (column, title), axes in zip(columns.items(), row, strict=True):
        _lines_so_far(axes, table, column)
        style.label_axes(axes, title=title, x="Period", y="Records")
        style.number_ticks(axes.yaxis)
    style.legend_below(figure, row[0].get_lines())
    return figure


def _checked(periods: pd.DataFrame, numbers: tuple[str, ...]) -> pd.DataFrame:
    table = checked(periods, "periods", text=("policy",), numbers=("number", *numbers))
    refuse_repeated(table, ("policy", "number"), "periods")
    return table


def _lines_so_far(axes: Axes, table: pd.DataFrame, column: str) -> None:
    look = style.looks(list(table["policy"].unique()))
    for policy, rows in table.groupby("policy", sort=False, observed=True):
        so_far = np.cumsum(rows[column].to_numpy())
        style.draw_line(axes, rows["number"].to_numpy(), so_far, look[str(policy)], style.policy_name(str(policy)))

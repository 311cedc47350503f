"""Draw levels, payoffs and exposed records of tables of cases, by policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from reidsim.core.wording import GREY
from reidsim.figures import style

_LEVEL = "level "
# Height of a policy's row in a heat map, inches.
_ROW = 0.24


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a run of this kind.

    The names are ``levels``, ``cumulative-payoff`` and ``exposed``. The plots use the table ``periods`` of the run; see
    `reidsim.kinds.dynamic.kind.period_table`.
    """
    periods = result.analysis.tables()["periods"]
    yield "levels", levels_by_period(periods)
    yield "cumulative-payoff", cumulative_payoff(periods)
    yield "exposed", exposed_cases(periods)


def levels_by_period(periods: pd.DataFrame) -> Figure:
    """Draw the level of each attribute by period and policy, and the number of cases.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number``, ``records``, and ``level ATTRIBUTE`` for each attribute,
        missing where nothing is released.

    Returns
    -------
    Figure
        One heat map per attribute, with one row of cells per policy and one cell per period; grey where nothing is
        released. All attributes have one colour per level. The last panel has a bar per period: the records of its
        table.
    """
    attributes = [column for column in periods.columns if column.startswith(_LEVEL)]
    levels = periods[attributes].apply(pd.to_numeric)
    policies = list(periods["policy"].unique())
    numbers = np.unique(periods["number"])
    highest = int(np.nanmax(levels.to_numpy(), initial=1))
    colours = colormaps["YlGnBu"].resampled(highest + 1).with_extremes(bad=GREY)
    height = 0.4 + _ROW * len(policies)
    figure, grid = style.new_figure(len(attributes) + 1, 1, panel=(5.4, height), sharex=True)
    edges, rows = np.append(numbers - 0.5, numbers[-1] + 0.5), np.arange(len(policies))
    for column, (axes,) in zip(attributes, grid, strict=False):
        cells = levels[column].set_axis([periods["policy"], periods["number"]]).unstack().reindex(policies)[numbers]
        shown, ends = np.ma.masked_invalid(cells.to_numpy()), np.append(rows, len(rows)) - 0.5
        axes.pcolormesh(edges, ends, shown, cmap=colours, vmin=-0.5, vmax=highest + 0.5)
        axes.hlines(rows[1:] - 0.5, edges[0], edges[-1], color="white", linewidth=2)
        axes.set_yticks(rows, map(style.policy_name, policies), parse_math=False)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        style.label_axes(axes, title=style.sentence(column.removeprefix(_LEVEL)))
    first, [last] = periods[periods["policy"] == policies[0]], grid[-1]
    last.bar(first["number"], first["records"], color=GREY, width=0.9)
    last.set_xlim(edges[0], edges[-1])
    style.label_axes(last, title="Cases", x="Period", y="Records of\nthe table", numbers="y")
    last.locator_params("y", nbins=4)
    last.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    names = {0: "unchanged"} | {level: f"level {level}" for level in range(1, highest + 1)}
    handles = [Patch(facecolor=colours(level), edgecolor=GREY, label=name) for level, name in names.items()]
    if levels.isna().to_numpy().any():
        handles.append(Patch(color=GREY, label="nothing released"))
    style.legend_below(figure, handles, columns=len(handles))
    return figure


def cumulative_payoff(periods: pd.DataFrame) -> Figure:
    """Draw the publisher's cumulative payoff over the periods, by policy.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number`` and ``publisher_payoff``, the sum over the table in
        currency units.

    Returns
    -------
    Figure
        One line per policy: number of the period on the x axis, sum of the payoffs up to this period on the y axis.
    """
    figure, ((axes,),) = style.new_figure(1, 1, panel=(6.4, 3.6))
    _lines_so_far(axes, periods, "publisher_payoff")
    style.zero_line(axes)
    style.label_axes(axes, x="Period", y="Cumulative payoff, all cases", numbers="y")
    style.legend_below(figure, axes.get_lines()[: periods["policy"].nunique()])
    return figure


def exposed_cases(periods: pd.DataFrame) -> Figure:
    """Draw cumulative numbers of attacked and re-identified records, by policy.

    A case counts in each table in which it is released, so more than once with cumulative tables.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number``, ``attacked`` and ``reidentified``, expected numbers of
        records.

    Returns
    -------
    Figure
        Two panels, attacked and expected re-identified records up to each period; one line per policy.
    """
    columns = {"attacked": "Attacked so far", "reidentified": "Expected re-identified so far"}
    figure, (row,) = style.new_figure(1, 2, panel=(4.4, 3.4))
    for (column, title), axes in zip(columns.items(), row, strict=True):
        _lines_so_far(axes, periods, column)
        style.label_axes(axes, title=title, x="Period", y="Records", numbers="y")
    style.legend_below(figure, row[0].get_lines())
    return figure


def _lines_so_far(axes: Axes, periods: pd.DataFrame, column: str) -> None:
    so_far = periods.assign(so_far=periods.groupby("policy", observed=True)[column].cumsum())
    style.draw_lines(axes, so_far, "number", "so_far", style.looks(list(periods["policy"].unique())))

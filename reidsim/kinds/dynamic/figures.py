"""Draw levels, payoffs and exposed records of tables of cases, by policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Patch

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
    payoff = f"Publisher's payoff so far, all cases\n({style.CURRENCY})"
    yield "cumulative-payoff", sums_so_far(periods, {"publisher_payoff": payoff})
    attacks = {"attacked": "Records attacked so far", "reidentified": "Expected re-identifications so far"}
    yield "exposed", sums_so_far(periods, attacks)


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
        mesh = axes.pcolormesh(edges, ends, shown, cmap=colours, vmin=-0.5, vmax=highest + 0.5)
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
    style.number_ticks(last.xaxis, whole=True)
    bar = figure.colorbar(mesh, ax=[axes for row in grid for axes in row], ticks=range(highest + 1), aspect=60)
    style.label_axes(bar.ax, y="Level (0: unchanged)")
    if levels.isna().to_numpy().any():
        style.legend_below(figure, [Patch(color=GREY, label="nothing released")])
    return figure


def sums_so_far(periods: pd.DataFrame, columns: Mapping[str, str]) -> Figure:
    """Draw cumulative sums over the periods, by policy.

    A case counts in each table in which it is released, so more than once with cumulative tables.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period: ``policy``, ``number`` and the columns to sum.
    columns : mapping of str to str
        Axis label of each column.

    Returns
    -------
    Figure
        One panel per column, with one line per policy over the number of the period.
    """
    look = style.looks(periods["policy"])
    figure, [row] = style.new_figure(1, len(columns), panel=(4.4, 3.4))
    for (column, label), axes in zip(columns.items(), row, strict=True):
        sums = periods.assign(so_far=periods.groupby("policy", observed=True)[column].cumsum())
        style.draw_lines(axes, sums, "number", "so_far", look)
        style.zero_line(axes)
        style.label_axes(axes, x="Period", y=label, numbers="y")
    style.legend_below(figure)
    return figure

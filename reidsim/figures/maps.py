"""Draw the equilibrium over benefit and loss (Wan et al. 2015, Figs. 8 to 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from reidsim.figures import style
from reidsim.figures.spacing import cell_edges, draw_cells
from reidsim.games.measures import ADVERSARY_PAYOFF, GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.releases.strategy_space import Floats

# Value of the column `record` in tables of averages over all records.
ALL_RECORDS = "all records"


@dataclass(frozen=True)
class _Panel:
    """Content of a panel: a column, in which larger values are brighter.

    `unit` and `ticks` label the colour bar. Without `limits`, the colours span the range of the data.
    """

    column: str
    title: str
    unit: str
    colours: str | ListedColormap
    limits: tuple[float, float] | None = None
    ticks: tuple[str, ...] = ()


def parameter_maps(
    maps: pd.DataFrame,
    case: tuple[float, float] | None = None,
    *,
    axes: tuple[str, str] = ("benefit", "loss"),
    title: str = "",
) -> Figure:
    """Draw both players' strategies and payoffs over benefit and loss.

    The figure corresponds to Figs. 8 and 9 of Wan et al. 2015; for all records, to their Fig. 10.

    Parameters
    ----------
    maps : DataFrame
        A full grid, one row per benefit and loss, with columns ``record`` (the same in every row: the record's label,
        or ``"all records"`` for averages), ``benefit``, ``loss``, ``publisher_payoff``, ``adversary_payoff`` (money
        per record), ``generalization_intensity`` and ``share_attacked`` (share of all records; 0 or 1 for one record).
    case : tuple of float, optional
        Benefit and loss of a case study, marked by a cross (outside the map, the legend mentions it instead).
    axes : tuple of str
        Columns on the y axis and on the x axis, in place of benefit and loss.
    title : str
        Title in place of the record's label.

    Returns
    -------
    Figure
        Loss on the x axis, benefit on the y axis, each logarithmic if its values are spaced by a factor; larger values
        are brighter.
    """
    record = str(maps["record"].iloc[0])
    upwards, rightwards = (np.unique(maps[name]) for name in axes)
    maps = maps.sort_values(list(axes))
    figure, grid = style.new_figure(2, 2, panel=(4.6, 3.5))
    title = title or ("All records (averages)" if record == ALL_RECORDS else f"Record ({record})")
    figure.suptitle(title, fontsize=11, parse_math=False)
    for panel, place in zip(_panels(record, maps), [place for row in grid for place in row], strict=True):
        surface = maps[panel.column].to_numpy().reshape(len(upwards), len(rightwards))
        _draw_panel(figure, place, panel, upwards, rightwards, surface)
        style.label_axes(place, x=style.parameter_label(axes[1]), y=style.parameter_label(axes[0]))
        if case is not None and _is_inside(case, upwards, rightwards):
            place.add_line(_cross([case[1]], [case[0]]))
    if case is not None:
        outside = "" if _is_inside(case, upwards, rightwards) else " (outside the map)"
        label = f"case study: V = {style.number_text(case[0])}, L = {style.number_text(case[1])} per record{outside}"
        style.legend_below(figure, [_cross([], [], label)])
    return figure


def _panels(record: str, table: pd.DataFrame) -> tuple[_Panel, ...]:
    # Round up to tenths, so that averages far below 1 are distinguishable.
    brightest = min(1.0, max(0.1, float(np.ceil(10 * table["generalization_intensity"].max())) / 10))
    intensity = _Panel(
        GENERALIZATION_INTENSITY.column,
        "(a) Publisher's strategy",
        GENERALIZATION_INTENSITY.label,
        "gray",
        (0.0, brightest),
    )
    share = _Panel(
        SHARE_ATTACKED.column, "(b) Adversary's strategy", f"{SHARE_ATTACKED.label} (share)", "gray", (0.0, 1.0)
    )
    if record != ALL_RECORDS:
        share = _Panel(
            "share_attacked",
            "(b) Adversary's strategy",
            "",
            ListedColormap(["black", "white"]),
            (0.0, 1.0),
            ("no attack", "attack"),
        )
    return (
        intensity,
        share,
        _Panel(PUBLISHER_PAYOFF.column, f"(c) {PUBLISHER_PAYOFF.label}", style.UNIT, "cividis"),
        _Panel(ADVERSARY_PAYOFF.column, f"(d) {ADVERSARY_PAYOFF.label}", style.UNIT, "cividis"),
    )


def _draw_panel(
    figure: Figure, axes: Axes, panel: _Panel, upwards: Floats, rightwards: Floats, surface: Floats
) -> None:
    low, high = panel.limits or (float(surface.min()), float(surface.max()))
    mesh = draw_cells(axes, rightwards, upwards, surface, panel.colours, (low, high))
    bar = figure.colorbar(mesh, ax=axes, ticks=[0.25, 0.75] if panel.ticks else None)
    bar.ax.tick_params(labelsize=9)
    if panel.ticks:
        bar.ax.set_yticklabels(panel.ticks, rotation=90, verticalalignment="center")
    else:
        style.number_ticks(bar.ax.yaxis)
    style.label_axes(bar.ax, y=panel.unit)
    axes.set_xlim(*cell_edges(rightwards)[[0, -1]])
    axes.set_ylim(*cell_edges(upwards)[[0, -1]])
    style.label_axes(axes, title=panel.title)


def _is_inside(case: tuple[float, float], benefits: Floats, losses: Floats) -> bool:
    borders = (cell_edges(benefits), cell_edges(losses))
    return all(edges[0] <= value <= edges[-1] for value, edges in zip(case, borders, strict=True))


def _cross(x: list[float], y: list[float], label: str = "") -> Line2D:
    # Black with a white rim is visible on black, white and grey, and is not clipped at the map's border.
    rim = [withStroke(linewidth=5, foreground="white")]
    return Line2D(
        x,
        y,
        linestyle="none",
        marker="x",
        markersize=9,
        markeredgewidth=2,
        color="black",
        path_effects=rim,
        clip_on=False,
        label=label,
    )

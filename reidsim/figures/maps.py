"""Draw heat maps: payoffs over two parameters, the best policy, and cross-play."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from reidsim.core.measures import Measure
from reidsim.figures import style
from reidsim.games.measures import ADVERSARY_PAYOFF, GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED
from reidsim.releases.lattice import Floats

# Value of the column `record` in tables of averages over all records.
ALL_RECORDS = "all records"
# Height of a row and width of a column of cross-play, inches.
_ROW, _COLUMN = 0.24, 0.78
# Colour maps of cross-play: the first is neutral in its middle, where payoffs are 0. Both are distinguishable by
# colour-blind readers.
_PAYOFFS, _RISKS = "PuOr", "cividis"
# Weights of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


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
        Benefit and loss (y and x) of a case study, marked by a cross; outside the map, only the legend mentions it.
    axes : tuple of str
        Columns on the y axis and on the x axis, in place of benefit and loss.
    title : str
        Title in place of the record's label; "" for the label.

    Returns
    -------
    Figure
        Four maps: generalization intensity, share attacked, publisher's payoff and adversary's payoff. Loss is on the x
        axis, benefit on the y axis, each logarithmic if its values are spaced by a factor; larger values are brighter.
    """
    (y, x), record = axes, str(maps["record"].iloc[0])
    of_all = record == ALL_RECORDS
    figure, grid = style.new_figure(2, 2, panel=(4.6, 3.5))
    title = title or ("All records (averages)" if of_all else f"Record ({record})")
    figure.suptitle(title, fontsize=11, parse_math=False)
    # Round up to tenths, so that averages far below 1 are distinguishable.
    brightest = min(1.0, max(0.1, float(np.ceil(10 * maps[GENERALIZATION_INTENSITY.column].max())) / 10))
    attacked = (f"{SHARE_ATTACKED.label} (share)", "gray") if of_all else ("", ListedColormap(["black", "white"]))
    panels: list[tuple[Measure, str, str, str | Colormap, float | None]] = [
        (GENERALIZATION_INTENSITY, "Publisher's strategy", GENERALIZATION_INTENSITY.label, "gray", brightest),
        (SHARE_ATTACKED, "Adversary's strategy", *attacked, 1.0),
        *((measure, measure.label, style.UNIT, "cividis", None) for measure in (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)),
    ]
    outside = ""
    for place, letter, (measure, name, unit, colours, top) in zip(itertools.chain(*grid), "abcd", panels, strict=True):
        surface = maps.pivot(index=y, columns=x, values=measure.column)
        limits = (0.0, top) if top else (float(surface.to_numpy().min()), float(surface.to_numpy().max()))
        bar = _colour_bar(figure, place, _draw_cells(place, surface, colours, limits), unit)
        if measure is SHARE_ATTACKED and not of_all:
            bar.set_ticks([0.25, 0.75], labels=["no attack", "attack"], rotation=90, verticalalignment="center")
        style.label_axes(place, title=f"({letter}) {name}", x=style.parameter_label(x), y=style.parameter_label(y))
        if case is not None:
            (bottom, upper), (left, right) = place.get_ylim(), place.get_xlim()
            if bottom <= case[0] <= upper and left <= case[1] <= right:
                place.add_line(_cross([case[1]], [case[0]]))
            else:
                outside = " (outside the map)"
    if case is not None:
        label = f"case study: V = {style.number_text(case[0])}, L = {style.number_text(case[1])} per record{outside}"
        style.legend_below(figure, [_cross([], [], label)])
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
        style.label_axes(axes, title=title, x=style.parameter_label(x), y=style.parameter_label(y))
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
        largest have the darkest colour.
    """
    rows, columns = payoff.shape
    figure, [[left, right]] = style.new_figure(1, 2, panel=(2.2 + _COLUMN * columns, 1.2 + _ROW * rows))
    largest = float(np.nanmax(np.abs(payoff.to_numpy()))) or 1.0
    positive = risk.to_numpy()[risk.to_numpy() > 0]
    spread: Normalize = Normalize(0.0, 1.0)
    if len(positive) and positive.max() > 2 * positive.min():
        spread = LogNorm(max(float(positive.min()), float(positive.max()) / 1e4), float(positive.max()), clip=True)
    for axes, table, scale, colours, measure, title, unit in (
        (left, payoff, Normalize(-largest, largest), _PAYOFFS, PUBLISHER_PAYOFF, "(a) Defender's payoff", style.UNIT),
        (right, risk, spread, _RISKS, RISK, f"(b) {RISK.label}", "probability"),
    ):
        shown = np.maximum(table.to_numpy(), scale.vmin or 0.0) if isinstance(scale, LogNorm) else table.to_numpy()
        image = axes.imshow(shown, cmap=colours, norm=scale, aspect="auto")
        for row, column in np.argwhere(table.notna().to_numpy()).tolist():
            bright = float(np.dot(image.to_rgba(shown[row, column])[:3], _LUMINANCE)) > 0.5
            text = measure.format.format(table.iloc[row, column])
            text = text if text.strip("-0.,") else text.lstrip("-")
            colour = "black" if bright else "white"
            axes.text(
                column, row, text.replace("-", "\N{MINUS SIGN}"), ha="center", va="center", fontsize=9, color=colour
            )
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


def _colour_bar(figure: Figure, axes: Axes, drawn: ScalarMappable, unit: str = "", **more: Any) -> Colorbar:
    bar = figure.colorbar(drawn, ax=axes, **more)
    bar.ax.tick_params(labelsize=9)
    style.label_axes(bar.ax, y=unit, numbers="" if isinstance(drawn.norm, LogNorm) else "y")
    return bar


def _cross(x: list[float], y: list[float], label: str = "") -> Line2D:
    # Black with a white rim is visible on black, white and grey, and is not clipped at the map's border.
    rim = [withStroke(linewidth=5, foreground="white")]
    marker: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 9, "markeredgewidth": 2}
    return Line2D(x, y, **marker, color="black", path_effects=rim, clip_on=False, label=label)

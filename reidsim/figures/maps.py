"""Draw heat maps: over two parameters, of beliefs against truth, and of players against each other."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from reidsim.core.wording import BLACK, VERMILION, Measure
from reidsim.figures import style
from reidsim.games.outcomes import GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED
from reidsim.releases.lattice import Floats

# Number of columns of a heat map up to which its cells contain numbers, and most numbers on its axes.
_MOST_WRITTEN = 8
# Height of a row and width of a column of cross-play, inches.
_ROW, _COLUMN = 0.24, 0.75
# Weights of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


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
        *((measure, measure.label, *_signed_colours(maps[measure.column]), style.UNIT) for measure in style.PLAYERS),
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
    style.legend_below(figure)
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


def belief_maps(curves: pd.DataFrame, policies: list[str], labels: Mapping[str, str], payoff: Measure) -> Figure:
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
    _colour_bar(figure, [axes for (axes,) in every], image, style.measure_label(payoff), fraction=0.04, pad=0.02)
    frame = Patch(facecolor="white", edgecolor=BLACK, linewidth=2, label="belief is right")
    style.legend_below(figure, [frame])
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
    defenders = (str(name).split(" vs ") for name in payoff.index)
    names = [" vs ".join([style.policy_name(policy), *planned_against]) for policy, *planned_against in defenders]
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
        axes.set_yticks(np.arange(rows), names if axes is left else [""] * rows)
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
    """Add a colour bar for cells, `drawn`, beside panels, with a unit.

    `more` are options of matplotlib's ``colorbar``.
    """
    bar = figure.colorbar(drawn, ax=axes, **more)
    bar.ax.tick_params(labelsize=9)
    style.label_axes(bar.ax, y=unit, numbers="" if isinstance(drawn.norm, LogNorm) else "y")
    return bar

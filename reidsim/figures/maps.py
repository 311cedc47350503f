"""Draw heat maps: coloured cells over two parameters, numbers in cells and colour bars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from reidsim.core.wording import Measure
from reidsim.figures import style
from reidsim.releases.lattice import Floats

# Weights of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


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


def draw_cells(axes: Axes, surface: pd.DataFrame, colours: str | Colormap, limits: tuple[float, float]) -> QuadMesh:
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


def write_cells(axes: Axes, image: AxesImage, table: pd.DataFrame, measure: Measure) -> None:
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


def signed_colours(payoffs: pd.Series[float]) -> tuple[str, tuple[float, float]]:
    """Return a colour map for payoffs and the payoffs of its first and last colour.

    Payoffs of both signs have a map that is neutral at 0 and symmetric around it, others a sequential map.
    """
    low, high = float(payoffs.min()), float(payoffs.max())
    largest = max(-low, high)
    return ("PuOr", (-largest, largest)) if low < 0 < high else ("cividis", (low, high))


def colour_bar(figure: Figure, axes: Axes | list[Axes], drawn: Any, unit: str = "", **more: Any) -> Colorbar:
    """Add a colour bar for cells, `drawn`, beside panels, with a unit.

    `more` are options of matplotlib's ``colorbar``.
    """
    bar = figure.colorbar(drawn, ax=axes, **more)
    bar.ax.tick_params(labelsize=9)
    style.label_axes(bar.ax, y=unit, numbers="" if isinstance(drawn.norm, LogNorm) else "y")
    return bar

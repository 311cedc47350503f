"""Choose linear or logarithmic axes by the spacing of the values."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap
from matplotlib.ticker import LogLocator, NullFormatter

from reidsim.figures.style import number_ticks, write_out
from reidsim.releases.strategy_space import Floats


def is_geometric(values: Floats) -> bool:
    """Return whether increasing values are spaced more evenly by factor than by step."""
    if len(values) < 3 or values[0] <= 0:
        return False
    steps, factors = np.diff(values), np.diff(np.log(values))
    # The margin absorbs rounding: if both spacings are even, use the linear axis.
    return bool(factors.max() / factors.min() < steps.max() / steps.min() * (1 - 1e-9))


def cell_edges(values: Floats) -> Floats:
    """Return the cell borders around increasing values, shape (n + 1,).

    Borders are midway between values, on a linear or logarithmic scale, as `is_geometric` decides.
    """
    if len(values) == 1:
        # A single cell has no natural width; any width shows its value.
        return values[0] * np.array([0.5, 1.5]) if values[0] else np.array([0.0, 1.0])
    geometric = is_geometric(values)
    positions = np.log(values) if geometric else values
    middle = (positions[1:] + positions[:-1]) / 2
    first = positions[0] - (middle[0] - positions[0])
    last = positions[-1] + (positions[-1] - middle[-1])
    if not geometric and positions[0] >= 0:
        # Half a cell below the smallest amount of money would be negative.
        first = max(first, 0.0)
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(edges) if geometric else edges


def draw_cells(
    axes: Axes, x: Floats, y: Floats, surface: Floats, colours: str | Colormap, limits: tuple[float, float]
) -> QuadMesh:
    """Draw values over two increasing parameters as coloured cells.

    Parameters
    ----------
    axes : Axes
    x, y : ndarray
        Increasing values of the parameters, shapes (n_x,) and (n_y,); each axis is linear or logarithmic.
    surface : ndarray, shape (n_y, n_x)
    colours : str or Colormap
    limits : tuple of float
        Values of the first and the last colour.

    Returns
    -------
    QuadMesh
    """
    edges, (low, high) = (cell_edges(x), cell_edges(y)), limits
    mesh = axes.pcolormesh(*edges, surface, cmap=colours, vmin=low, vmax=high, rasterized=True)
    scale_axis(axes, "x", x)
    scale_axis(axes, "y", y)
    return mesh


def scale_axis(axes: Axes, which: Literal["x", "y"], values: Floats) -> None:
    """Set a linear or logarithmic scale that suits the values, and format its numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if not is_geometric(values):
        number_ticks(axis)
        return
    axes.set(**{f"{which}scale": "log"})
    log_ticks(axis, values[-1] / values[0])


def log_ticks(axis: Axis, factor: float) -> None:
    """Format a logarithmic axis; `factor` is its largest value over its smallest."""
    axis.set_major_locator(LogLocator(subs=(1.0,) if factor >= 100 else (1.0, 2.0, 5.0)))
    write_out(axis)
    axis.set_minor_formatter(NullFormatter())

"""Choose linear or logarithmic axes by the spacing of the values."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
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

"""Check a figure: texts inside the canvas, apart, large enough; lines inside the axes; round ticks; short legends."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

SMALLEST = 9  # points
# Overlap in pixels allowed between text boxes, because a line's box is higher than its letters.
SLACK = 2.0
MOST_ENTRIES = 4


def misplaced(figure: Figure) -> list[str]:
    """Return the layout faults of a figure, drawn at the saved size."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    hidden = labels_not_drawn(figure)
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]
    assert texts
    # The box of an annotation itself would include its line to a point.
    boxes = np.array([Text.get_window_extent(text, renderer).extents for text in texts])
    low, high = boxes[:, :2], boxes[:, 2:]
    outside = ((low < -SLACK) | (high > np.array(canvas.get_width_height()) + SLACK)).any(axis=1)
    shared = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    over = np.argwhere(np.triu((shared > SLACK).all(axis=2), k=1))
    return [
        *(f"small: {text.get_text()!r}" for text in texts if text.get_fontsize() < SMALLEST),
        *(f"outside: {texts[place].get_text()!r}" for place in np.flatnonzero(outside)),
        *(f"overlap: {texts[one].get_text()!r} and {texts[other].get_text()!r}" for one, other in over),
        *(f"legend of {len(each.get_lines())}" for each in figure.legends if len(each.get_lines()) > MOST_ENTRIES),
        *(fault for axes in figure.findobj(Axes) for fault in (*beyond(axes), *uneven(axes))),
    ]


def beyond(axes: Axes) -> list[str]:
    """Return the lines with a point outside the axis limits; steps may begin outside."""
    limits = np.sort([axes.get_xlim(), axes.get_ylim()], axis=1)
    slack = 1e-9 * np.ptp(limits, axis=1)
    found = []
    for line in axes.get_lines():
        points = np.asarray(line.get_xydata(), dtype=float)
        outside = (points < limits[:, 0] - slack) | (points > limits[:, 1] + slack)
        joined = line.get_drawstyle() == "default" and line.get_transform() == axes.transData
        if joined and outside.any():
            found.append(f"beyond the axes: {line.get_label()!r}")
    return found


def uneven(axes: Axes) -> list[str]:
    """Return the linear axes of numbers whose ticks are not 1, 2 or 5 times a power of ten apart."""
    found = []
    for axis in (axes.xaxis, axes.yaxis):
        ticks = axis.get_majorticklocs()
        fixed = isinstance(axis.get_major_locator(), FixedLocator) or axis.get_scale() != "linear"
        if fixed or len(ticks) < 2 or not (axes.axison and axis.get_visible()):
            continue
        step = ticks[1] - ticks[0]
        if not np.isclose(step / 10 ** np.floor(np.log10(step) + 1e-9), [1, 2, 5]).any():
            found.append(f"ticks {step:g} apart: {axis.get_label_text()!r}")
    return found


def labels_not_drawn(figure: Figure) -> set[int]:
    """Return the ids of tick labels outside their axis limits, which are not drawn."""
    hidden = set()
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            shown = axes.get_visible() and axes.axison and axis.get_visible()
            drawn = axis._update_ticks() if shown else []
            every = [*axis.majorTicks, *axis.minorTicks]
            hidden |= {id(label) for tick in every if tick not in drawn for label in (tick.label1, tick.label2)}
    return hidden

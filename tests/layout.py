"""Check the texts of a figure: inside the canvas, not overlapping, large enough."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

SMALLEST = 9  # points
# Overlap in pixels allowed between text boxes, because a line's box is higher than its letters.
SLACK = 2.0


def misplaced(figure: Figure) -> list[str]:
    """Return the layout faults of a figure's texts, drawn at the saved size."""
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
    ]


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

"""Where the texts of a figure are: none outside of the canvas, none over another, none too small to read."""

from __future__ import annotations

import itertools

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SMALLEST = 9  # points
# Pixels by which boxes of texts may touch: the box of a line of text is higher than its letters.
SLACK = 2.0


def misplaced(figure: Figure) -> list[str]:
    """Return what is wrong with the texts of a figure, drawn at the size at which it is saved."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    width, height = canvas.get_width_height()
    hidden = labels_not_drawn(figure)
    shown = [
        (text, text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]
    small = [f"small: {text.get_text()!r}" for text, _ in shown if text.get_fontsize() < SMALLEST]
    outside = [
        f"outside: {text.get_text()!r}"
        for text, box in shown
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK
    ]
    over = [
        f"overlap: {one.get_text()!r} and {other.get_text()!r}"
        for (one, here), (other, there) in itertools.combinations(shown, 2)
        if overlap(here, there)
    ]
    return [*small, *outside, *over]


def labels_not_drawn(figure: Figure) -> set[int]:
    """Return the labels of ticks that are made and not drawn: those beyond the limits of their axis."""
    hidden = set()
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            shown = axes.get_visible() and axes.axison and axis.get_visible()
            drawn = axis._update_ticks() if shown else []
            every = [*axis.majorTicks, *axis.minorTicks]
            hidden |= {id(label) for tick in every if tick not in drawn for label in (tick.label1, tick.label2)}
    return hidden


def overlap(one: Bbox, other: Bbox) -> bool:
    """Tell whether two boxes share more than their slack in both directions."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > SLACK and high > SLACK

"""Draw heat maps of payoff and risk for defenders against adversaries."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from reidsim.figures.style import UNIT, label_axes, new_figure, number_ticks
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.releases.strategy_space import Floats

# Height of a row and width of a column, inches.
_ROW, _COLUMN = 0.24, 0.78
# Colour maps: the first is neutral in its middle, where payoffs are 0. Both are distinguishable by colour-blind
# readers.
_PAYOFFS, _RISKS = "PuOr", "cividis"
# Weights of red, green and blue in the brightness of a colour (ITU-R BT.601).
_LUMINANCE = (0.299, 0.587, 0.114)


def cross_play_maps(payoff: pd.DataFrame, risk: pd.DataFrame) -> Figure:
    """Draw the defender's payoff and the risk of re-identification as heat maps.

    Rows are defenders; columns are adversaries.

    Parameters
    ----------
    payoff : DataFrame
        Defender's payoff in currency units per record.
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
    figure, grid = new_figure(1, 2, panel=(2.2 + _COLUMN * columns, 1.2 + _ROW * rows))
    largest = float(np.nanmax(np.abs(payoff.to_numpy()))) or 1.0
    title = "(a) Defender's payoff"
    _draw(figure, grid[0][0], payoff, Normalize(-largest, largest), _PAYOFFS, PUBLISHER_PAYOFF.format, title, UNIT)
    probabilities = risk.to_numpy()
    positive = probabilities[probabilities > 0]
    spread: Normalize = Normalize(0.0, 1.0)
    if len(positive) and positive.max() > 2 * positive.min():
        spread = LogNorm(max(float(positive.min()), float(positive.max()) / 1e4), float(positive.max()), clip=True)
    _draw(figure, grid[0][1], risk, spread, _RISKS, RISK.format, f"(b) {RISK.label}", "probability")
    grid[0][1].set_yticklabels([])
    return figure


def _draw(
    figure: Figure, axes: Axes, table: pd.DataFrame, scale: Normalize, colours: str, form: str, title: str, unit: str
) -> None:
    values: Floats = table.to_numpy()
    shown = np.maximum(values, scale.vmin or 0.0) if isinstance(scale, LogNorm) else values
    image = axes.imshow(shown, cmap=colours, norm=scale, aspect="auto")
    for row, column in np.argwhere(np.isfinite(values)).tolist():
        bright = float(np.dot(image.to_rgba(shown[row, column])[:3], _LUMINANCE)) > 0.5
        text = form.format(values[row, column]).replace("-", "\N{MINUS SIGN}")
        if not text.strip("\N{MINUS SIGN}0.,"):
            text = text.lstrip("\N{MINUS SIGN}")
        axes.text(column, row, text, ha="center", va="center", fontsize=9, color="black" if bright else "white")
    axes.set_xticks(np.arange(values.shape[1]), table.columns, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks(np.arange(values.shape[0]), table.index)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=9)
    if not isinstance(scale, LogNorm):
        number_ticks(bar.ax.yaxis)
    label_axes(bar.ax, y=unit)
    label_axes(axes, title=title)

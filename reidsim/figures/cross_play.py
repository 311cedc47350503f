"""Defenders against adversaries: heat maps of what each defender gets, and of the risk that it leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from reidsim.figures.style import UNIT, label_axes, new_figure, number_ticks
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.releases.strategy_space import Floats

# Inches of a row and of a column.
_ROW, _COLUMN = 0.24, 0.78


def cross_play_maps(payoff: pd.DataFrame, risk: pd.DataFrame) -> Figure:
    """Draw the defender's payoff and the risk of re-identification, defenders as rows and adversaries as columns.

    Parameters
    ----------
    payoff : DataFrame
        Defender's payoff in currency units per record.
    risk : DataFrame
        Mean probability of re-identification, of the same rows and columns.

    Returns
    -------
    Figure
        Every cell has its number, but where nobody could play; the brighter, the larger. Payoffs are coloured from the
        tenth percentile up, so that a policy that shares next to nothing does not take away the differences between the
        others.
    """
    rows, columns = payoff.shape
    figure, grid = new_figure(1, 2, panel=(2.2 + _COLUMN * columns, 1.2 + _ROW * rows))
    values = payoff.to_numpy()
    low = float(np.nanquantile(values, 0.1))
    scale = Normalize(low, max(float(np.nanmax(values)), low + 1e-9))
    _draw(figure, grid[0][0], payoff, scale, PUBLISHER_PAYOFF.format, "(a) Defender's payoff", UNIT)
    probabilities = risk.to_numpy()
    positive = probabilities[probabilities > 0]
    spread: Normalize = Normalize(0.0, 1.0)
    if len(positive) and positive.max() > 2 * positive.min():
        spread = LogNorm(max(float(positive.min()), float(positive.max()) / 1e4), float(positive.max()), clip=True)
    _draw(figure, grid[0][1], risk, spread, RISK.format, f"(b) {RISK.label}", "probability")
    grid[0][1].set_yticklabels([])
    return figure


def _draw(figure: Figure, axes: Axes, table: pd.DataFrame, scale: Normalize, form: str, title: str, unit: str) -> None:
    values: Floats = table.to_numpy()
    shown = np.maximum(values, scale.vmin or 0.0) if isinstance(scale, LogNorm) else values
    image = axes.imshow(shown, cmap="cividis", norm=scale, aspect="auto")
    for row, column in np.argwhere(np.isfinite(values)).tolist():
        bright = float(scale(shown[row, column])) > 0.55
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

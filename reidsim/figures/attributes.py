"""Draw the contribution of each quasi-identifier to the measures as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.measures import Measure
from reidsim.figures import style
from reidsim.palette import GREY


def attribute_shares(table: pd.DataFrame, measures: Sequence[Measure]) -> Figure:
    """Draw the Shapley share of each column, one panel per measure.

    Error bars of two standard errors are drawn where shares are estimates.

    Parameters
    ----------
    table : DataFrame
        Columns ``policy``, ``attribute``, ``measure``, ``share`` and ``standard_error``.
    measures : sequence of Measure

    Returns
    -------
    Figure
    """
    attributes, policies = list(table["attribute"].unique()), style.ordered_policies(table["policy"])
    look, height = style.looks(policies), 0.8 / len(policies)
    places = np.arange(len(attributes))
    figure, grid = style.new_figure(1, len(measures), panel=(4.4, 0.9 + 0.45 * len(attributes)))
    for number, (measure, axes) in enumerate(zip(measures, grid[0], strict=True)):
        for place, policy in enumerate(policies):
            rows = table[(table["policy"] == policy) & (table["measure"] == measure.column)]
            rows = rows.set_index("attribute").loc[attributes]
            errors = 2 * rows["standard_error"].to_numpy()
            axes.barh(
                places + (place - (len(policies) - 1) / 2) * height,
                rows["share"].to_numpy(),
                height=height,
                color=look[policy].colour,
                xerr=errors if errors.any() else None,
            )
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set_yticks(places, attributes if number == 0 else [""] * len(attributes), fontsize=9, parse_math=False)
        axes.invert_yaxis()
        style.number_ticks(axes.xaxis)
        style.label_axes(axes, title=f"({'abc'[number]}) {measure.label}", x="Shapley share of the column")
    style.legend_below(figure, style.patches(look))
    return figure

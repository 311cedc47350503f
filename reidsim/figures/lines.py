"""Outcomes along one parameter at a time (Wan et al. 2015, Figs. 11 and 12)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures import style
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.figures.spacing import scale_axis
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.measures import columns_of

_SIDES = ((PUBLISHER_PAYOFF, "Publisher"), (ADVERSARY_PAYOFF, "Adversary"))


def sensitivity_lines(lines: pd.DataFrame) -> Figure:
    """Draw how the payoffs under each policy change with one parameter at a time (Fig. 11).

    Parameters
    ----------
    lines : DataFrame
        One row per parameter, value and policy, with columns ``parameter`` (``"loss"``, ``"benefit"``, ``"cost"``),
        ``value``, ``policy``, ``publisher_payoff`` and ``adversary_payoff`` (averages, money per record).

    Returns
    -------
    Figure
        One row per parameter, the publisher on the left, the adversary on the right, one line per policy; the x axis
        is logarithmic where the values grow by a factor.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, or has two rows for the same parameter, value and policy.
    """
    columns = columns_of(measure for measure, _ in _SIDES)
    table = checked(lines, "lines", text=("parameter", "policy"), numbers=("value", *columns))
    refuse_repeated(table, ("parameter", "value", "policy"), "lines")
    parameters = style.ordered_parameters(table["parameter"])
    look = style.looks(style.ordered_policies(table["policy"]))
    figure, grid = style.new_figure(len(parameters), 2, panel=(4.4, 2.7))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for parameter, row in zip(parameters, grid, strict=True):
        here = table[table["parameter"] == parameter].sort_values("value")
        for (measure, side), axes in zip(_SIDES, row, strict=True):
            handles = []
            for policy, own in look.items():
                points = here[here["policy"] == policy]
                handles += style.draw_line(
                    axes, points["value"], points[measure.column], own, style.policy_name(policy)
                )
            scale_axis(axes, "x", np.unique(here["value"]))
            style.number_ticks(axes.yaxis)
            style.label_axes(
                axes,
                title=f"({next(letters, '')}) {side}, by {style.key_words(parameter)}",
                x=style.parameter_label(parameter),
                y=f"{measure.label}\n({style.UNIT})",
            )
    style.legend_below(figure, handles)
    return figure

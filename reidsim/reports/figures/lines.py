"""Outcomes along one parameter at a time (Wan et al. 2015, Figs. 11 and 12)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.measures import columns_of
from reidsim.palette import BLACK, VERMILION
from reidsim.reports.figures.inputs import checked, refuse_repeated
from reidsim.reports.figures.spacing import scale_axis
from reidsim.reports.figures.style import (
    UNIT,
    label_axes,
    legend_below,
    looks,
    new_figure,
    number_ticks,
    ordered_parameters,
    ordered_policies,
    parameter_label,
    policy_name,
)

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
    parameters = ordered_parameters(table["parameter"])
    look = looks(ordered_policies(table["policy"]))
    figure, grid = new_figure(len(parameters), 2, panel=(4.4, 2.7))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for parameter, row in zip(parameters, grid, strict=True):
        here = table[table["parameter"] == parameter].sort_values("value")
        for (measure, side), axes in zip(_SIDES, row, strict=True):
            handles = []
            for policy, own in look.items():
                points = here[here["policy"] == policy]
                handles += axes.plot(
                    points["value"],
                    points[measure.column],
                    color=own.colour,
                    linestyle=own.dashes,
                    marker=own.marker,
                    markevery=_marked(len(points)),
                    markersize=5,
                    markerfacecolor="white",
                    label=policy_name(policy),
                )
            scale_axis(axes, "x", np.unique(here["value"]))
            number_ticks(axes.yaxis)
            label_axes(
                axes,
                title=f"({next(letters, '')}) {side}",
                x=parameter_label(parameter),
                y=f"{measure.label}\n({UNIT})",
            )
    legend_below(figure, handles)
    return figure


def search_deviation(deviations: pd.DataFrame) -> Figure:
    """Draw how far lattice-based search stays from the optimum along each parameter (Fig. 12).

    Parameters
    ----------
    deviations : DataFrame
        One row per parameter and value, with columns ``parameter``, ``value``, ``publisher_payoff_difference`` (mean
        absolute difference of the publisher's payoff from the optimum, Eq. 6; money per record) and ``share_optimal``
        (of records whose payoff is the optimum).

    Returns
    -------
    Figure
        One panel per parameter: the difference on the left axis, the share on the right one.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, or has two rows for the same parameter and value.
    """
    table = checked(
        deviations, "deviations", text=("parameter",), numbers=("value", "publisher_payoff_difference", "share_optimal")
    )
    refuse_repeated(table, ("parameter", "value"), "deviations")
    parameters = ordered_parameters(table["parameter"])
    figure, grid = new_figure(1, len(parameters), panel=(4.8, 3.0))
    for parameter, axes, letter in zip(parameters, grid[0], "abcdefghijklmnopqrstuvwxyz", strict=False):
        here = table[table["parameter"] == parameter].sort_values("value")
        every = _marked(len(here))
        (difference,) = axes.plot(
            here["value"], here["publisher_payoff_difference"], color=BLACK, marker="o", markersize=5, markevery=every,
            clip_on=False, label="mean payoff difference from the optimum",
        )  # fmt: skip
        right = axes.twinx()
        (share,) = right.plot(
            here["value"], here["share_optimal"], color=VERMILION, linestyle="--", marker="s", markersize=5,
            markerfacecolor="white", markevery=every, clip_on=False,
            label="records with the optimal payoff (right axis)",
        )  # fmt: skip
        # Both axes end where the search is as good as the optimum; markers there are drawn whole.
        axes.set_ylim(bottom=0)
        right.set_ylim(min(right.get_ylim()[0], 0.99), 1)
        scale_axis(axes, "x", np.unique(here["value"]))
        number_ticks(axes.yaxis)
        right.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        right.spines["top"].set_visible(False)
        right.tick_params(labelsize=8)
        label_axes(
            axes,
            title=f"({letter}) Lattice-based search",
            x=parameter_label(parameter),
            y=f"Publisher's payoff difference, D\N{LATIN SUBSCRIPT SMALL LETTER P}\n({UNIT})",
        )
        label_axes(right, y="Share of records\nwith the optimal payoff")
    legend_below(figure, [difference, share], columns=len(parameters))
    return figure


def _marked(points: int) -> int:
    # Markers tell lines apart; on every point of a long line they would be a blur.
    return max(1, points // 12)

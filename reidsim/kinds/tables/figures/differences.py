"""What each record gains under a policy over another policy (Wan et al. 2015, Figs. 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures.style import (
    UNIT,
    label_axes,
    legend_below,
    looks,
    new_figure,
    number_ticks,
    policy_name,
    write_out,
    zero_line,
)
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.kinds.tables.figures.comparison import compare
from reidsim.palette import GREY
from reidsim.releases.strategy_space import Floats

_SIDES = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)
_PLAYERS = ("Publisher", "Adversary")
_BINS = 40
# The policy that others are compared with.
REFERENCE = "safe-harbor"


def payoff_difference_histogram(
    records: pd.DataFrame, reference: str = REFERENCE, policies: Sequence[str] | None = None
) -> Figure:
    """Draw how the payoff differences between policies and a reference policy are distributed (Fig. 6).

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff`` (money per record). Rows of different policies are matched by ``record``.
    reference : str
        The policy whose payoffs are subtracted.
    policies : sequence of str, optional
        The policies to show, in this order (all but the reference, no-protection and suppress-all, if not given).

    Returns
    -------
    Figure
        The publisher on the left, the adversary on the right; number of records on a logarithmic axis. The bins of a
        panel are the same for all policies, and one is centred on no difference.

    Raises
    ------
    InputError
        If the table is empty or lacks a column, a policy or a record under one of the policies.
    """
    comparison = compare(records, reference, policies)
    look = looks(comparison.policies)
    figure, grid = new_figure(1, 2, panel=(4.5, 3.4), sharey=True)
    for side, (axes, letter) in enumerate(zip(grid[0], "ab", strict=True)):
        edges = _bin_edges(np.concatenate([comparison.differences(policy)[side] for policy in comparison.policies]))
        handles = [
            axes.stairs(
                np.histogram(comparison.differences(policy)[side], edges)[0],
                edges,
                color=look[policy].colour,
                linestyle=look[policy].dashes,
                linewidth=1.6,
                label=policy_name(policy),
            )
            for policy in comparison.policies
        ]
        axes.set_yscale("log")
        write_out(axes.yaxis)
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
        number_ticks(axes.xaxis)
        label_axes(
            axes,
            title=f"({letter}) {_PLAYERS[side]}",
            x=f"{_SIDES[side].label} minus that under {policy_name(reference)}\n({UNIT})",
        )
    # Bins without records fall below the axis instead of to minus infinity.
    grid[0][0].set_ylim(bottom=0.7)
    label_axes(grid[0][0], y="Number of records")
    legend_below(figure, handles)
    return figure


def payoff_difference_scatter(
    records: pd.DataFrame, reference: str = REFERENCE, policies: Sequence[str] | None = None
) -> Figure:
    """Draw each record's payoff difference against its payoff under the reference policy (Fig. 7).

    Parameters
    ----------
    records : DataFrame
        As for `payoff_difference_histogram`.
    reference : str
        The policy whose payoffs are subtracted.
    policies : sequence of str, optional
        The policies to show, in this order (all but the reference, no-protection and suppress-all, if not given).

    Returns
    -------
    Figure
        One row per policy, the publisher on the left, the adversary on the right; one point per record, drawn as
        pixels even in vector formats.

    Raises
    ------
    InputError
        If the table is empty or lacks a column, a policy or a record under one of the policies.
    """
    comparison = compare(records, reference, policies)
    look = looks(comparison.policies)
    figure, grid = new_figure(len(comparison.policies), 2, panel=(4.2, 2.5), sharex="col", sharey="col")
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for policy, row in zip(comparison.policies, grid, strict=True):
        differences = comparison.differences(policy)
        for side, axes in enumerate(row):
            axes.scatter(
                comparison.payoffs[reference][side],
                differences[side],
                s=7,
                alpha=0.3,
                color=look[policy].colour,
                linewidths=0,
                rasterized=True,
            )
            zero_line(axes)
            number_ticks(axes.yaxis)
            label_axes(
                axes,
                title=f"({next(letters, '')}) {policy_name(policy)}: {_PLAYERS[side].lower()}",
                y=f"Payoff difference\n({UNIT})",
            )
    for side, axes in enumerate(grid[-1]):
        number_ticks(axes.xaxis)
        label_axes(axes, x=f"{_SIDES[side].label} under {policy_name(reference)} ({UNIT})")
    return figure


def _bin_edges(differences: Floats) -> Floats:
    low, high = float(differences.min()), float(differences.max())
    # The same difference for all records, give or take rounding, gets one bin of one currency unit.
    alike = high - low <= 1e-9 * max(abs(low), abs(high))
    width = 1.0 if alike else (high - low) / _BINS
    first, last = np.floor(np.array([low, high]) / width + 0.5)
    # An empty bin on either side closes the outline, and holds a value that rounding moves over an edge.
    return width * (np.arange(first - 1, last + 3) - 0.5)

"""Payoff differences between policies by record (Wan et al. 2015, Figs. 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.measures import columns_of
from reidsim.figures import style
from reidsim.figures.style import ordered_policies
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF
from reidsim.palette import GREY
from reidsim.releases.strategy_space import Floats

_SIDES = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)
_PLAYERS = ("Publisher", "Adversary")
# Default reference policy of the comparison.
REFERENCE = "safe-harbor"


def payoff_difference_curves(
    records: pd.DataFrame, reference: str = REFERENCE, policies: Sequence[str] | None = None
) -> Figure:
    """Draw the distribution of payoff differences to a reference policy (Fig. 6).

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff`` (money per record). Rows of different policies are matched by ``record``.
    reference : str
        The policy whose payoffs are subtracted.
    policies : sequence of str, optional
        The policies to show, in this order. Default: all except the reference, no-protection and suppress-all.

    Returns
    -------
    Figure
        The publisher on the left, the adversary on the right. A point is the share of records (y) with a difference of
        at most x (currency units per record).
    """
    comparison = compare(records, reference, policies)
    look = style.looks(comparison.policies)
    figure, grid = style.new_figure(1, 2, panel=(4.5, 3.4), sharey=True)
    for side, (axes, letter) in enumerate(zip(grid[0], "ab", strict=True)):
        handles = []
        for policy in comparison.policies:
            handles += style.draw_shares(
                axes, comparison.differences(policy)[side], look[policy], style.policy_name(policy)
            )
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
        style.number_ticks(axes.xaxis)
        style.label_axes(
            axes,
            title=f"({letter}) {_PLAYERS[side]}",
            x=f"{_SIDES[side].label} minus that under {style.policy_name(reference)}\n({style.UNIT})",
        )
    grid[0][0].set_ylim(0, 1.02)
    style.label_axes(grid[0][0], y="Share of records at or below")
    style.legend_below(figure, handles)
    return figure


def payoff_difference_scatter(
    records: pd.DataFrame, reference: str = REFERENCE, policies: Sequence[str] | None = None
) -> Figure:
    """Draw each record's payoff difference against its reference payoff (Fig. 7).

    Parameters
    ----------
    records : DataFrame
        See `payoff_difference_curves`.
    reference : str
        The policy whose payoffs are subtracted.
    policies : sequence of str, optional
        The policies to show, in this order. Default: all except the reference, no-protection and suppress-all.

    Returns
    -------
    Figure
        One row per policy, the publisher on the left, the adversary on the right; one point per record, drawn as
        pixels even in vector formats.
    """
    comparison = compare(records, reference, policies)
    look = style.looks(comparison.policies)
    figure, grid = style.new_figure(len(comparison.policies), 2, panel=(4.2, 2.5), sharex="col", sharey="col")
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
            style.zero_line(axes)
            style.number_ticks(axes.yaxis)
            style.label_axes(
                axes,
                title=f"({next(letters, '')}) {style.policy_name(policy)}: {_PLAYERS[side].lower()}",
                y=f"Payoff difference\n({style.UNIT})",
            )
    for side, axes in enumerate(grid[-1]):
        style.number_ticks(axes.xaxis)
        style.label_axes(axes, x=f"{_SIDES[side].label} under {style.policy_name(reference)} ({style.UNIT})")
    return figure


_PAYOFFS = columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF))
# Policies that are not drawn by default: their extreme payoffs stretch the axes and do not help to compare the others.
EXTREMES = ("no-protection", "suppress-all")


@dataclass(frozen=True)
class Comparison:
    """Payoffs under a reference policy and the policies compared with it.

    Parameters
    ----------
    reference : str
    policies : list of str
        Compared policies, in display order.
    payoffs : dict of str to ndarray of float64, shape (2, n_records)
        The publisher's and the adversary's payoff by policy, in currency units; all policies have one record order.
    """

    reference: str
    policies: list[str]
    payoffs: dict[str, Floats]

    def differences(self, policy: str) -> Floats:
        """Return the policy's payoffs minus the reference's, shape (2, n_records)."""
        own, reference = self.payoffs[policy], self.payoffs[self.reference]
        difference = own - reference
        # Sums in a different order differ by rounding errors, which are not payoff differences.
        rounding = 1e-9 * np.maximum(np.abs(own), np.abs(reference)).max(axis=1, keepdims=True)
        return np.where(np.abs(difference) <= rounding, 0.0, difference)


def compare(records: pd.DataFrame, reference: str, policies: Sequence[str] | None) -> Comparison:
    """Match the rows of different policies by record.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff``.
    reference : str
        The policy whose payoffs are subtracted.
    policies : sequence of str, optional
        The compared policies; by default, all but the reference, no-protection and suppress-all.
    """
    present = ordered_policies(records["policy"])
    others = [policy for policy in present if policy != reference]
    chosen = (
        [policy for policy in others if policy not in EXTREMES] if policies is None else list(dict.fromkeys(policies))
    )
    by_policy = {name: rows.set_index("record") for name, rows in records.groupby("policy", sort=False, observed=True)}
    order = by_policy[reference].index
    payoffs = {}
    for policy in (reference, *chosen):
        rows = by_policy[policy]
        payoffs[policy] = rows.loc[order, _PAYOFFS].to_numpy(dtype=np.float64).T
    return Comparison(reference, chosen, payoffs)

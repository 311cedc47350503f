"""Figures of the record-level game and of the sequential attack, each drawn from one table of results.

They are those of Wan et al. 2015 (Figs. 5 to 12) and of Xia et al. 2015 (Figs. 5 to 10).

Every function takes a table and returns a `matplotlib.figure.Figure` of its own: nothing is kept, shown or set for
other figures, so they can be drawn in any process and in any order.
"""

from __future__ import annotations

from reidsim.reports.figures.differences import payoff_difference_histogram, payoff_difference_scatter
from reidsim.reports.figures.full_domain import full_domain_runtimes, payout_curves, payout_front
from reidsim.reports.figures.lines import search_deviation, sensitivity_lines
from reidsim.reports.figures.maps import parameter_maps
from reidsim.reports.figures.masking import effectiveness, strategy_map
from reidsim.reports.figures.payoffs import strategy_payoffs
from reidsim.reports.figures.risk import capability_reductions, risk_maps, risk_reductions
from reidsim.reports.figures.saving import save_figure
from reidsim.reports.figures.sequential import (
    belief_risks,
    exploits_by_group_size,
    payoff_by_group_size,
    risk_by_group_size,
)
from reidsim.reports.figures.sequential_scales import attack_thresholds

__all__ = [
    "attack_thresholds",
    "belief_risks",
    "capability_reductions",
    "effectiveness",
    "exploits_by_group_size",
    "full_domain_runtimes",
    "parameter_maps",
    "payoff_by_group_size",
    "payoff_difference_histogram",
    "payoff_difference_scatter",
    "payout_curves",
    "payout_front",
    "risk_by_group_size",
    "risk_maps",
    "risk_reductions",
    "save_figure",
    "search_deviation",
    "sensitivity_lines",
    "strategy_map",
    "strategy_payoffs",
]

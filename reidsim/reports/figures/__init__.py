"""Figures of the record-level game (Wan et al. 2015, Figs. 5 to 12), each drawn from one table of results.

Every function takes a table and returns a `matplotlib.figure.Figure` of its own: nothing is kept, shown or set for
other figures, so they can be drawn in any process and in any order.
"""

from __future__ import annotations

from reidsim.reports.figures.differences import payoff_difference_histogram, payoff_difference_scatter
from reidsim.reports.figures.lines import search_deviation, sensitivity_lines
from reidsim.reports.figures.maps import parameter_maps
from reidsim.reports.figures.payoffs import strategy_payoffs
from reidsim.reports.figures.saving import save_figure

__all__ = [
    "parameter_maps",
    "payoff_difference_histogram",
    "payoff_difference_scatter",
    "save_figure",
    "search_deviation",
    "sensitivity_lines",
    "strategy_payoffs",
]

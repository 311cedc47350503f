"""Which figures a run of a publisher's game has the tables for."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from reidsim.kinds.tables.figures.comparison import EXTREMES
from reidsim.kinds.tables.figures.differences import REFERENCE, payoff_difference_curves, payoff_difference_scatter
from reidsim.kinds.tables.figures.full_domain import payout_front
from reidsim.kinds.tables.figures.sequential import (
    belief_risks,
    exploits_by_group_size,
    payoff_by_group_size,
    risk_by_group_size,
)
from reidsim.kinds.tables.figures.strategies import strategy_payoffs
from reidsim.kinds.tables.figures.sweeps import sweep_figures
from reidsim.scenarios.faces import Shown
from reidsim.scenarios.people import once_each

__all__ = ["run_figures", "sweep_figures"]


def run_figures(result: Shown) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure, in the order of the papers' figures."""
    tables = result.analysis.tables()
    if "front" in tables:
        yield "payout-front", payout_front(tables["front"], tables["optima"])
    if "strategies" in tables:
        yield "strategies", strategy_payoffs(tables["strategies"])
    # Of one generalization for all records, each record's gain over Safe Harbor tells little.
    of_records = result.manifest["content"].get("publisher", {}).get("unit", "record") == "record"
    policies = list(result.summary.index)
    if of_records and REFERENCE in policies and set(policies) - {REFERENCE, *EXTREMES}:
        records = once_each(result.records, result.manifest["content"])
        yield "payoff-differences", payoff_difference_curves(records, REFERENCE)
        yield "payoff-scatter", payoff_difference_scatter(records, REFERENCE)
    if "attacks" in tables:
        yield "risk-by-group-size", risk_by_group_size(tables["attacks"])
        yield "payoff-by-group-size", payoff_by_group_size(tables["attacks"])
        yield "exploits-by-group-size", exploits_by_group_size(tables["attacks"])
    if "beliefs" in tables:
        yield "belief-risks", belief_risks(tables["beliefs"])

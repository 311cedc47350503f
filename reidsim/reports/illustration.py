"""Drawing every figure that a result has the tables for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from reidsim.engine.batch.result import BatchResult
from reidsim.engine.results import once_each
from reidsim.engine.rounds import AgentAnalysis
from reidsim.engine.run_result import RunResult
from reidsim.kinds.assessment.assessing import RiskAnalysis
from reidsim.kinds.masking.outcomes import MaskingAnalysis
from reidsim.kinds.tables.full_domain_nodes import FullDomainTables
from reidsim.kinds.tables.record_figures import RecordFigures
from reidsim.reports.figures import (
    belief_risks,
    capability_reductions,
    effectiveness,
    exploits_by_group_size,
    payoff_by_group_size,
    payoff_difference_histogram,
    payoff_difference_scatter,
    payout_front,
    risk_by_group_size,
    risk_maps,
    risk_reductions,
    save_figure,
    strategy_map,
    strategy_payoffs,
)
from reidsim.reports.figures.agents import beliefs_by_round, rounds_by_policy
from reidsim.reports.figures.masking import masks_by_attribute
from reidsim.reports.figures.outcome import plot
from reidsim.reports.figures.sweep import sweep_figures
from reidsim.scenarios.study import AnalysisTables

_REFERENCE = "safe-harbor"


def illustrate(result: RunResult, folder: Path) -> list[str]:
    """Draw the figures of a result into a folder.

    Returns
    -------
    list of str
        Names of the files, in the order of the paper's figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, figure in figures_of(result):
        save_figure(figure, folder / f"{name}.png")
        names.append(f"{name}.png")
    return names


def figures_of(result: RunResult) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure for everything that the result's tables allow."""
    if isinstance(result.analysis, RecordFigures):
        yield from _record_figures(result, result.analysis)
    if isinstance(result.analysis, FullDomainTables):
        yield from _full_domain_figures(result.analysis)
    if isinstance(result.analysis, MaskingAnalysis):
        yield from _masking_figures(result)
    if isinstance(result.analysis, RiskAnalysis):
        yield from _risk_figures(result, result.analysis)
    if isinstance(result.analysis, AgentAnalysis):
        yield from _agent_figures(result.analysis)
    if type(result.analysis) is AnalysisTables:
        # Of a kind that has no tables of its own.
        yield "payoffs", plot(result)
    if isinstance(result, BatchResult):
        yield from sweep_figures(result)


def _agent_figures(analysis: AgentAnalysis) -> Iterator[tuple[str, Figure]]:
    yield "rounds", rounds_by_policy(analysis.rounds)
    learned = analysis.adversaries.groupby(["policy", "adversary"], observed=True)["belief"].nunique()
    if (learned > 1).any():
        yield "beliefs", beliefs_by_round(analysis.adversaries)


def _risk_figures(result: RunResult, analysis: RiskAnalysis) -> Iterator[tuple[str, Figure]]:
    # Maps are of one release; the smallest shows the risks best.
    smallest = result.records["records"].min()
    yield "risk-maps", risk_maps(result.records[result.records["records"] == smallest])
    yield "risk-reductions", risk_reductions(analysis.reductions)
    if not analysis.settings.empty:
        yield "capability-reductions", capability_reductions(analysis.settings)


def _masking_figures(result: RunResult) -> Iterator[tuple[str, Figure]]:
    yield "effectiveness", effectiveness(result.runs, result.records)
    mapped = masks_by_attribute(result.records["policy"])
    if mapped:
        yield "strategy-map", strategy_map(result.records, mapped)


def _full_domain_figures(analysis: FullDomainTables) -> Iterator[tuple[str, Figure]]:
    if not analysis.front.empty:
        yield "payout-front", payout_front(analysis.front, analysis.optima)


def _record_figures(result: RunResult, analysis: RecordFigures) -> Iterator[tuple[str, Figure]]:
    if not analysis.strategies.empty:
        yield "strategies", strategy_payoffs(analysis.strategies)
    games = [policy for policy in result.summary.index if policy not in (_REFERENCE, "no-protection", "suppress-all")]
    if _REFERENCE in result.summary.index and games:
        records = once_each(result.records, result.manifest["content"])
        yield "payoff-differences", payoff_difference_histogram(records, _REFERENCE)
        yield "payoff-scatter", payoff_difference_scatter(records, _REFERENCE)
    yield from _sequential_figures(analysis)


def _sequential_figures(analysis: RecordFigures) -> Iterator[tuple[str, Figure]]:
    if not analysis.attacks.empty:
        yield "risk-by-group-size", risk_by_group_size(analysis.attacks)
        yield "payoff-by-group-size", payoff_by_group_size(analysis.attacks)
        yield "exploits-by-group-size", exploits_by_group_size(analysis.attacks)
    if not analysis.beliefs.empty:
        yield "belief-risks", belief_risks(analysis.beliefs)

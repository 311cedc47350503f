"""Drawing every figure that a result has the tables for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from reidsim.experiments.agent_run import AgentAnalysis
from reidsim.experiments.analysis import ALL_RECORDS, Analysis
from reidsim.experiments.batch.result import BatchResult
from reidsim.experiments.full_domain_analysis import FullDomainAnalysis
from reidsim.experiments.masking_run import MaskingAnalysis
from reidsim.experiments.risk_run import RiskAnalysis
from reidsim.experiments.run_result import RunResult
from reidsim.reports.figures import (
    attack_thresholds,
    belief_risks,
    capability_reductions,
    effectiveness,
    exploits_by_group_size,
    full_domain_runtimes,
    parameter_maps,
    payoff_by_group_size,
    payoff_difference_histogram,
    payoff_difference_scatter,
    payout_curves,
    payout_front,
    risk_by_group_size,
    risk_maps,
    risk_reductions,
    save_figure,
    search_deviation,
    sensitivity_lines,
    solver_runtimes,
    strategy_map,
    strategy_payoffs,
)
from reidsim.reports.figures.agents import beliefs_by_round, rounds_by_policy
from reidsim.reports.figures.masking import masks_by_attribute
from reidsim.reports.figures.masking_lines import masking_lines
from reidsim.reports.figures.sweep import sweep_figures

_REFERENCE = "safe-harbor"
# Figures of lines of the masking game, each of a measure.
_LINES = {"lines-payoff": "publisher_payoff", "lines-privacy": "risk", "lines-utility": "utility"}


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
    if isinstance(result.analysis, Analysis):
        yield from _record_figures(result, result.analysis)
    if isinstance(result.analysis, FullDomainAnalysis):
        yield from _full_domain_figures(result.analysis)
    if isinstance(result.analysis, MaskingAnalysis):
        yield from _masking_figures(result, result.analysis)
    if isinstance(result.analysis, RiskAnalysis):
        yield from _risk_figures(result, result.analysis)
    if isinstance(result.analysis, AgentAnalysis):
        yield from _agent_figures(result.analysis)
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


def _masking_figures(result: RunResult, analysis: MaskingAnalysis) -> Iterator[tuple[str, Figure]]:
    yield "effectiveness", effectiveness(result.runs, result.records)
    mapped = masks_by_attribute(result.records["policy"])
    if mapped:
        yield "strategy-map", strategy_map(result.records, mapped)
    if not analysis.lines.empty:
        for name, measure in _LINES.items():
            yield name, masking_lines(analysis.lines, measure)


def _full_domain_figures(analysis: FullDomainAnalysis) -> Iterator[tuple[str, Figure]]:
    for parameter in analysis.curves["parameter"].unique() if len(analysis.curves) else ():
        yield f"payout-curves-{parameter}", payout_curves(analysis.curves[analysis.curves["parameter"] == parameter])
    if not analysis.front.empty:
        yield "payout-front", payout_front(analysis.front, analysis.optima)
    if not analysis.runtimes.empty:
        yield "full-domain-runtimes", full_domain_runtimes(analysis.runtimes)


def _record_figures(result: RunResult, analysis: Analysis) -> Iterator[tuple[str, Figure]]:
    if not analysis.strategies.empty:
        yield "strategies", strategy_payoffs(analysis.strategies)
    games = [policy for policy in result.summary.index if policy not in (_REFERENCE, "no-protection", "suppress-all")]
    if _REFERENCE in result.summary.index and games:
        yield "payoff-differences", payoff_difference_histogram(result.records, _REFERENCE)
        yield "payoff-scatter", payoff_difference_scatter(result.records, _REFERENCE)
    if not analysis.maps.empty:
        economics = result.manifest["content"]["economics"]
        case = (float(economics["benefit"]), float(economics["loss"]))
        for number, record in enumerate(analysis.maps["record"].unique(), start=1):
            name = "map-all-records" if record == ALL_RECORDS else f"map-record-{number}"
            yield name, parameter_maps(analysis.maps[analysis.maps["record"] == record], case=case)
    if not analysis.lines.empty:
        yield "lines", sensitivity_lines(analysis.lines)
    if not analysis.deviations.empty:
        yield "search-deviation", search_deviation(analysis.deviations)
    yield from _sequential_figures(analysis)


def _sequential_figures(analysis: Analysis) -> Iterator[tuple[str, Figure]]:
    if not analysis.runtimes.empty:
        yield "solver-runtimes", solver_runtimes(analysis.runtimes)
    if not analysis.attacks.empty:
        yield "risk-by-group-size", risk_by_group_size(analysis.attacks)
        yield "payoff-by-group-size", payoff_by_group_size(analysis.attacks)
        yield "exploits-by-group-size", exploits_by_group_size(analysis.attacks)
    if not analysis.beliefs.empty:
        yield "belief-risks", belief_risks(analysis.beliefs)
    if not analysis.thresholds.empty:
        yield "attack-thresholds", attack_thresholds(analysis.thresholds)

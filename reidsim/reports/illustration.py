"""Drawing every figure that a result has the tables for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from reidsim.experiments.analysis import ALL_RECORDS, Analysis
from reidsim.experiments.run import RunResult
from reidsim.reports.figures import (
    attack_thresholds,
    belief_risks,
    exploits_by_group_size,
    parameter_maps,
    payoff_by_group_size,
    payoff_difference_histogram,
    payoff_difference_scatter,
    risk_by_group_size,
    save_figure,
    search_deviation,
    sensitivity_lines,
    solver_runtimes,
    strategy_payoffs,
)

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
    analysis = result.analysis
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

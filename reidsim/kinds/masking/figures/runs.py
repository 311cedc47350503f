"""Which figures runs and sweeps of data subjects who mask have."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from reidsim.kinds.masking.figures.lines import LINE_MEASURES, lines_of_runs, masking_lines
from reidsim.kinds.masking.figures.search import search_path_figure
from reidsim.kinds.masking.figures.subjects import effectiveness, masks_by_attribute, strategy_map
from reidsim.kinds.masking.figures.usefulness import FAIRNESS_COLUMNS, usefulness_and_fairness
from reidsim.scenarios.design_schema import SweepSection
from reidsim.scenarios.faces import Shown, ShownSweep
from reidsim.validation import validated


def run_figures(result: Shown) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs, privacy and utility, and of what each subject masks."""
    yield "effectiveness", effectiveness(result.runs, result.records)
    mapped = masks_by_attribute(result.records["policy"])
    if mapped:
        yield "strategy-map", strategy_map(result.records, mapped)
    # Of one subject there are no groups.
    several = len(result.records["record"].unique()) > 1
    if (
        several
        and set(FAIRNESS_COLUMNS) <= set(result.runs)
        and result.runs[list(FAIRNESS_COLUMNS)].notna().all(axis=1).any()
    ):
        yield "fairness", usefulness_and_fairness(result.runs)
    path = result.analysis.tables().get("search_path")
    if path is not None:
        yield "search-path", search_path_figure(path)


def sweep_figures(result: ShownSweep) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoff, privacy and utility along each line of a sweep."""
    content = result.manifest["content"]
    if "sweep" in content:
        lines = lines_of_runs(result.runs, validated(SweepSection, content["sweep"], result.name), content)
        for name, measure in LINE_MEASURES.items() if len(lines) else ():
            if measure.column in lines and lines[measure.column].notna().any():
                yield name, masking_lines(lines, measure.column)

"""How each bundled scenario is shown in the gallery: made how small, with which figure, finding what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from reidsim.kinds.tables.figures.differences import payoff_difference_curves
from reidsim.reports.gallery import findings, sweep_findings
from reidsim.reports.gallery.findings import Numbers, Result
from reidsim.validation import read_toml


@dataclass(frozen=True)
class Exhibit:
    """How a scenario is shown.

    Parameters
    ----------
    figure : str
        Name of the figure, without ending; empty for the first there is.
    finding : str
        Two sentences, with the names of their numbers in braces; empty for what any comparison of policies allows.
    numbers : callable
        Makes the numbers of the finding of a result.
    reductions : mapping
        What is replaced so that the run is short, by key path. It is shown on the page.
    command : {"run", "stress"}
        What is done with the scenario.
    draw : callable, optional
        Draws the figure, where it is none of the result's own.
    """

    figure: str = ""
    finding: str = ""
    numbers: Callable[[Result], Numbers] = findings.measures
    reductions: Mapping[str, Any] = field(default_factory=dict)
    command: str = "run"
    draw: Callable[[Result], Figure] | None = None


def _against_safe_harbor(result: Result) -> Figure:
    return payoff_difference_curves(result.records, "safe-harbor")


# Who makes the numbers, where they are not the measures alone.
_NUMBERS: Mapping[str, Callable[[Result], Numbers]] = {
    "wan2015": findings.wan2015,
    "xia2015": findings.xia2015,
    "prasser2017": findings.prasser2017,
    "wan2021": findings.wan2021,
    "wan2021-robustness": findings.robustness,
    "wan2021-sensitivity": findings.sensitivity,
    "wan2021-settings": findings.settings,
    "wan2021-stress": findings.mistaken_beliefs,
    "xia2021": findings.xia2021,
    "guo2023": findings.guo2023,
    "guo2023-families": findings.guo2023_families,
    "cohort-threshold": findings.cohort_threshold,
    "market": findings.market,
    "voter-vs-twitter": findings.voter_vs_twitter,
    "sequential-publisher": findings.sequential_publisher,
    "genealogy-market": findings.genealogy_market,
    "one-world": findings.one_world,
    "wan2015-stress": findings.stress,
    "wan2015-sweep": sweep_findings.prices_in_turn,
    "wan2015-map": sweep_findings.benefit_and_loss,
    "wan2015-map-records": sweep_findings.two_records,
    "wan2015-search": sweep_findings.search_against_optimum,
    "prasser2017-sweep": sweep_findings.payouts,
    "prasser2017-runtimes": sweep_findings.nodes_left_out,
    "xia2015-sweep": sweep_findings.deterrents,
}
# One round makes no curves.
_DRAWN = {"voter-vs-twitter": _against_safe_harbor}
# Every scenario that needs more than its own name.
EXHIBITS: Mapping[str, Exhibit] = {
    name: Exhibit(**shown, numbers=_NUMBERS.get(name, findings.measures), draw=_DRAWN.get(name))
    for name, shown in read_toml(Path(__file__).with_name("exhibits.toml")).items()
}

"""Entries of the gallery: settings, figure and finding of each bundled scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import findings
from findings import Numbers, Result

from reidsim.core.files import read_toml


@dataclass(frozen=True)
class Exhibit:
    """How a scenario is shown.

    Parameters
    ----------
    figure : str
        Name of the figure, as `Result.plot` takes it.
    finding : str
        Two sentences with the names of their numbers in braces; empty for the general sentence on policies.
    numbers : callable
        Makes the numbers of the finding of a result.
    reductions : mapping
        Overrides by key path that shorten the run, shown on the page.
    command : {"run", "stress"}
        Command that runs the scenario.
    compared_with : str
        Policy from which the figure draws how payoffs differ, where it is none of the result's own.
    """

    figure: str = "payoffs"
    finding: str = ""
    numbers: Callable[[Result], Numbers] = findings.measures
    reductions: Mapping[str, Any] = field(default_factory=dict)
    command: str = "run"
    compared_with: str = ""


# Every scenario that needs more than its own name.
EXHIBITS: Mapping[str, Exhibit] = {
    name: Exhibit(**{**shown, "numbers": getattr(findings, shown.get("numbers", "measures"))})
    for name, shown in read_toml(Path(__file__).with_name("exhibits.toml")).items()
}

"""What a stress test found, in memory and as a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from reidsim.engine.results import Result

# Tables of a stress test, in the order of the analysis.
TABLES = (
    "sensitivity",
    "samples",
    "robustness",
    "regrets",
    "robust_strategies",
    "boxes",
    "belief_curves",
    "policy_map",
    "guarantee",
)


@dataclass(frozen=True, eq=False)
class StressResult(Result):
    """What a stress test found.

    Parameters
    ----------
    name : str
        Scenario.
    tables : dict of str to DataFrame
        Those of `TABLES` that were asked for.
    manifest : dict
        What made the result.
    warnings : tuple of str
        What a reader of the result should know.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"StressResult({self.name!r}: {', '.join(self.tables)})"

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return its tables."""
        return self.tables

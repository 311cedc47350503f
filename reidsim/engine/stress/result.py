"""What a stress test found, in memory and as a results folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import reidsim
from reidsim.engine.results import write_json, write_parquet, write_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
class StressResult:
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

    def plot(self) -> Figure:
        """Draw the first figure that the tables allow; see `reidsim.plot`."""
        figure: Figure = reidsim.plot(self)
        return figure

    def save(self, folder: str | Path, *, illustrate: Callable[[StressResult, Path], list[str]] | None = None) -> Path:
        """Write the results folder: manifest, tables, and figures if `illustrate` is given.

        Raises
        ------
        InputError
            If the folder holds something or cannot be written; then nothing is left behind.
        """
        folder = Path(folder)

        def write(into: Path) -> None:
            for name, table in self.tables.items():
                write_parquet(into / f"{name}.parquet", table)
            figures = [] if illustrate is None else illustrate(self, into / "figures")
            write_json(into / "manifest.json", {**self.manifest, "figures": figures, "warnings": list(self.warnings)})

        write_results(folder, write)
        return folder

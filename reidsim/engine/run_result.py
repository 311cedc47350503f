"""What a run of a scenario found, in memory and as a results folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import reidsim
from reidsim.engine.results import measures_told, write_json, write_parquet, write_results
from reidsim.measures import Measure
from reidsim.scenarios.study import AnalysisTables
from reidsim.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Columns of a run that say which run it is and how it ended; the others are measures.
RUN_COLUMNS = ("scenario", "point", "replication", "policy", "state", "seed")

# Draws the figures of a result into a folder; returns the files' names.
Illustrator = Callable[["RunResult", Path], list[str]]


@dataclass(frozen=True, eq=False)
class Played:
    """What came of playing a study: the parts of a `RunResult` that its kind knows of."""

    runs: pd.DataFrame
    records: pd.DataFrame
    analysis: AnalysisTables
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run of a scenario found.

    Parameters
    ----------
    name : str
        Scenario.
    runs : DataFrame
        One row per replication and policy: averages over records of each of `MEASURES`, and other measures of the
        game, as results folders keep them.
    records : DataFrame
        One row per record and policy.
    analysis : AnalysisTables
        Tables behind the figures.
    manifest : dict
        What made the result.
    warnings : tuple of str
        What a reader of the result should know.
    by : tuple of str
        Columns of `runs` that tell apart what is averaged.
    measured : tuple of str
        Columns of `runs` that are averaged; all that are measures, if not given.
    """

    name: str
    runs: pd.DataFrame
    records: pd.DataFrame
    analysis: AnalysisTables
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the scenario's kind: what columns of `runs` are called and mean."""
        return measures_told(self.manifest)

    @property
    def summary(self) -> pd.DataFrame:
        """Measures by policy, averaged over replications; of a release, by its size and adversary."""
        measures = list(self.measured) or [column for column in self.runs.columns if column not in RUN_COLUMNS]
        by = self.by[0] if len(self.by) == 1 else list(self.by)
        return self.runs.groupby(by, sort=False, observed=True)[measures].mean()

    def __repr__(self) -> str:
        policies = ", ".join(map(str, self.runs["policy"].unique())) if "policy" in self.runs else ""
        return f"{type(self).__name__}({self.name!r}: {policies or counted(len(self.runs), 'row')})"

    def plot(self) -> Figure:
        """Draw the payoffs by policy, or along what was swept; see `reidsim.plot`."""
        figure: Figure = reidsim.plot(self)
        return figure

    def save(self, folder: str | Path, *, illustrate: Illustrator | None = None) -> Path:
        """Write the results folder: manifest, tables, and figures if `illustrate` is given.

        Raises
        ------
        InputError
            If the folder holds something or cannot be written; then nothing is left behind.
        """
        folder = Path(folder)
        write_results(folder, lambda into: write_json(into / "manifest.json", self.write_tables(into, illustrate)))
        return folder

    def write_tables(self, folder: Path, illustrate: Illustrator | None = None) -> dict[str, Any]:
        """Write tables and figures into a folder that is there; return the manifest that belongs to them."""
        write_parquet(folder / "runs.parquet", self.runs)
        if len(self.records.columns):
            write_parquet(folder / "records.parquet", self.records)
        for name, table in self.analysis.tables().items():
            write_parquet(folder / f"{name}.parquet", table)
        figures = [] if illustrate is None else illustrate(self, folder / "figures")
        return {**self.manifest, "figures": figures, "warnings": list(self.warnings)}


def run_table(name: str, seed: int, replication: int, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one replication as results folders keep them, of measures indexed by policy."""
    table = summary.reset_index()
    table.insert(0, "scenario", name)
    table.insert(1, "point", 0)
    table.insert(2, "replication", replication)
    return table.assign(state="complete", seed=seed)

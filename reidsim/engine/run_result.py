"""The result of a run, in memory and as a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pandas as pd

from reidsim.core.measures import Measure
from reidsim.engine.results import Result, measures_in_manifest
from reidsim.scenarios.study import AnalysisTables
from reidsim.wording import counted

# Columns that identify a run and its state; other columns are measures.
RUN_COLUMNS = ("scenario", "point", "replication", "policy", "state", "seed")


@dataclass(frozen=True, eq=False)
class RunResult(Result):
    """The result of a run.

    Parameters
    ----------
    name : str
        Name of the scenario.
    runs : DataFrame
        One row per replication and policy (in assessments, per row of the assessment): `RUN_COLUMNS`, averages of
        `MEASURES` over records, and further measures of the game. Stored as ``runs.parquet`` in results folders.
    records : DataFrame
        One row per record and policy, from the first replication.
    analysis : AnalysisTables
        Tables from which the figures are drawn.
    manifest : dict
        Scenario, versions and options that produced the result.
    warnings : tuple of str
        Notes for readers of the result.
    by : tuple of str
        Columns of `runs` that group the rows of `summary`.
    measured : tuple of str
        Columns of `runs` that `summary` averages; default: all measures.
    held : object
        Owner of the result's temporary files, referenced so that they exist as long as the result.
    """

    name: str
    runs: pd.DataFrame
    records: pd.DataFrame
    analysis: AnalysisTables
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()
    held: object = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the scenario's kind, which label and define columns of `runs`."""
        return measures_in_manifest(self.manifest)

    @property
    def summary(self) -> pd.DataFrame:
        """Averages of the columns `measured` of `runs`, indexed by the columns `by`.

        By default, these are measures by policy, averaged over replications. In assessments, they are averages by size
        of the release and adversary.
        """
        measures = list(self.measured) or [column for column in self.runs.columns if column not in RUN_COLUMNS]
        by = self.by[0] if len(self.by) == 1 else list(self.by)
        return self.runs.groupby(by, sort=False, observed=True)[measures].mean()

    def __repr__(self) -> str:
        policies = ", ".join(map(str, self.runs["policy"].unique())) if "policy" in self.runs else ""
        return f"{type(self).__name__}({self.name!r}: {policies or counted(len(self.runs), 'row')})"

    def share(self, policy: str | None = None, **options: Any) -> pd.DataFrame:
        """Return the records as released by a policy; see `reidsim.share`."""
        table: pd.DataFrame = import_module("reidsim").share(self, policy, **options)
        return table

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder, by name.

        They are runs, records (if any), and the tables for figures.
        """
        records = {"records": self.records} if len(self.records.columns) else {}
        return {"runs": self.runs, **records, **self.analysis.tables()}


def run_table(name: str, seed: int, replication: int, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one replication for the table of runs.

    `summary` holds the measures, indexed by policy, and `seed` the root seed. The point is 0 and the state
    ``complete``.
    """
    table = summary.reset_index()
    table.insert(0, "scenario", name)
    table.insert(1, "point", 0)
    table.insert(2, "replication", replication)
    return table.assign(state="complete", seed=seed)

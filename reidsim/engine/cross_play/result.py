"""What cross-play found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import Design
from reidsim.engine.batch.statistics_tables import measured, statistics_table
from reidsim.engine.batch.tasks import COMPLETE
from reidsim.engine.cross_play.equilibria import equilibrium_tables
from reidsim.engine.cross_play.options import CrossPlayOptions
from reidsim.engine.cross_play.worst_cases import worst_cases_table
from reidsim.engine.results import Result, measures_told
from reidsim.games.cross_play import REGRET, matrix_of
from reidsim.measures import Measure, measures_among
from reidsim.wording import counted


@dataclass(frozen=True, eq=False)
class CrossPlayResult(Result):
    """What came of every defender against every adversary of a scenario.

    Parameters
    ----------
    name : str
        Scenario.
    table : DataFrame
        One row per defender, adversary planned against and adversary met; of several runs one of each run.
    manifest : dict
        What made the result.
    warnings : tuple of str
        Adversaries and defenders that cannot play, with the reason.
    design : Design, optional
        Points and replications; None of a single run.
    replies : dict of str to DataFrame
        Tables ``double_oracle`` and ``double_oracle_mixtures``, if best replies were added; see `DoubleOracle`.
    equilibria : dict of str to DataFrame
        Tables ``equilibria``, ``mixtures`` and ``exploitability``, if asked for; see `equilibrium_tables`.
    """

    name: str
    table: pd.DataFrame
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    design: Design | None = field(default=None)
    replies: dict[str, pd.DataFrame] = field(default_factory=dict)
    equilibria: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def runs(self) -> pd.DataFrame:
        """The table of the runs that ended well."""
        return self.table[self.table["state"] == COMPLETE] if "state" in self.table else self.table

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures of the table, by column, in the words of the scenario's kind."""
        return measures_among((*measures_told(self.manifest), REGRET), self.table.columns)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Means with confidence intervals, and quantiles over runs, of each cell and measure; empty of a single run."""
        return pd.DataFrame() if self.design is None else statistics_table(measured(self.table, self.design))

    @cached_property
    def worst_cases(self) -> pd.DataFrame:
        """What each defender gets at worst and regrets at most; see `worst_cases_table`."""
        return worst_cases_table(*self.arranged)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return the mean of a measure over runs, defenders as rows and adversaries as columns; see `CrossPlay`."""
        return matrix_of(self.runs, measure)

    def __repr__(self) -> str:
        runs = "" if self.design is None else f", {counted(self.design.n_runs, 'run')}"
        return (
            f"CrossPlayResult({self.name!r}: {counted(self.runs['defender'].nunique(), 'defender')}, "
            f"{counted(self.runs['adversary'].nunique(), 'adversary', 'adversaries')}{runs})"
        )

    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the table, and what is to be said of it."""
        tables = {"cross_play": self.table, "statistics": self.statistics, "worst_cases": self.worst_cases}
        tables |= {**self.equilibria, **self.replies}
        return {name: table for name, table in tables.items() if len(table)}

    @property
    def arranged(self) -> tuple[pd.DataFrame, Design]:
        """Return the runs with their places, and the design; a single run is point and replication 0."""
        if self.design is not None:
            return self.table, self.design
        return self.table.assign(point=0, replication=0, state=COMPLETE), Design(pd.DataFrame(index=range(1)))


def with_equilibria(result: CrossPlayResult, options: CrossPlayOptions) -> CrossPlayResult:
    """Return a result with its equilibria, if they are asked for, and warnings of what these leave out."""
    if not options.equilibrium:
        return result
    runs, design = result.arranged
    tables, left_out = equilibrium_tables(runs[runs["state"] == COMPLETE], design)
    return replace(result, equilibria=tables, warnings=(*result.warnings, *left_out))


def replies_among(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of a double oracle among those of a batch."""
    return {name: table for name, table in tables.items() if name.startswith("double_oracle")}

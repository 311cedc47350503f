"""The result of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import Design
from reidsim.engine.batch.statistics import differences_table, measured, statistics_table
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome
from reidsim.engine.run_result import RunResult
from reidsim.scenarios.study import AnalysisTables


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchAnalysis(AnalysisTables):
    """Statistics of a batch, and the tables of its runs besides measures.

    Parameters
    ----------
    statistics : DataFrame
        Means with confidence intervals, and quantiles over runs.
    differences : DataFrame
        The same for differences between policies in the same run.
    distributions : DataFrame
        Quantiles over the records of each run.
    rounds, adversaries, through : DataFrame
        Rounds of agents.
    """

    statistics: pd.DataFrame = field(default_factory=pd.DataFrame)
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    distributions: pd.DataFrame = field(default_factory=pd.DataFrame)
    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    adversaries: pd.DataFrame = field(default_factory=pd.DataFrame)
    through: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(RunResult):
    """The result of a batch, with quantiles over records in place of a table of records.

    Parameters
    ----------
    design : Design
        Points and replications.
    """

    design: Design = field(default_factory=lambda: Design(pd.DataFrame(index=range(1))))

    @property
    def statistics(self) -> pd.DataFrame:
        """Means with confidence intervals, and quantiles over runs, by point of the sweep, policy and measure."""
        return self.analysis.tables().get("statistics", pd.DataFrame())

    @property
    def differences(self) -> pd.DataFrame:
        """Differences between policies under the same random draws."""
        return self.analysis.tables().get("differences", pd.DataFrame())

    @property
    def summary(self) -> pd.DataFrame:
        """Measures by point of the sweep, if there is one, and policy, averaged over samples and replications."""
        table = self.statistics
        if table.empty:
            return pd.DataFrame()
        keys = [column for column in table.columns if column in (*self.design.swept, "policy", "records", "knowledge")]
        wide = table.pivot(index=keys, columns="measure", values="mean")
        # Only combinations that were run, in order: keys that change together are not crossed, and points of a sweep
        # over policies have different policies.
        done = table.loc[table["runs"] > 0, keys].drop_duplicates()
        wide = wide.loc[pd.MultiIndex.from_frame(done) if len(keys) > 1 else pd.Index(done[keys[0]])]
        return wide[[measure for measure in table["measure"].unique() if measure in wide]]


def batch_analysis(tables: Mapping[str, pd.DataFrame], design: Design) -> BatchAnalysis:
    """Compute the statistics of a batch."""
    found = measured(tables["runs"], design)
    computed = {"statistics": statistics_table(found), "differences": differences_table(found)}
    return analysis_among({**tables, **computed})


def analysis_among(tables: Mapping[str, pd.DataFrame]) -> BatchAnalysis:
    """Return the analysis among the tables of a batch."""
    known = {each.name for each in fields(BatchAnalysis)}
    found: dict[str, Any] = {name: table for name, table in tables.items() if name in known}
    return BatchAnalysis(**found)


def batch_warnings(outcomes: Sequence[RunOutcome], design: Design, runs: pd.DataFrame) -> tuple[str, ...]:
    """Return warnings of runs that failed, and the warnings of the other runs.

    Parameters
    ----------
    outcomes : sequence of RunOutcome
    design : Design
    runs : DataFrame
        As `batch_tables` makes it.
    """
    warnings = []
    states = Counter(outcome.state for outcome in outcomes if outcome.state != COMPLETE)
    for state, number in sorted(states.items()):
        first = next(outcome for outcome in outcomes if outcome.state == state)
        warnings.append(
            f"{number} of {len(outcomes)} runs ended as {state!r} and are left out of the statistics; the first, run "
            f"{first.task.key}: {first.error}"
        )
    said = Counter(warning for outcome in outcomes for warning in outcome.warnings)
    for warning, number in said.items():
        warnings.append(warning if number == len(outcomes) else f"{number} of {len(outcomes)} runs: {warning}")
    if design.replications > 1 and _replications_are_alike(runs[runs["state"] == COMPLETE]):
        warnings.append("all replications are equal: the scenario has no random draws")
    return tuple(warnings)


def _replications_are_alike(runs: pd.DataFrame) -> bool:
    rows = runs.groupby(["point", "replication"], observed=True)["point"]
    distinct = runs.drop(columns=["replication", "seed", "run"])
    distinct = distinct.assign(**{"row of the run": rows.cumcount(), "rows of the run": rows.transform("size")})
    return len(distinct) > 0 and len(distinct.drop_duplicates()) == len(
        distinct[["point", "row of the run"]].drop_duplicates()
    )

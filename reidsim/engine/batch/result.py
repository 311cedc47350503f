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
    """Statistics of a batch, and tables of its runs other than their measures.

    Parameters
    ----------
    statistics : DataFrame
        Means with confidence intervals, and quantiles over runs, of each measure; see `statistics_table`.
    differences : DataFrame
        Means with confidence intervals of differences between policies in the same run; see `differences_table`.
    distributions : DataFrame
        Quantiles of outcomes over the records of a run (with agents, over the records of all its rounds), one row per
        run, policy and outcome.
    rounds : DataFrame
        With agents, measures by round: one row per run, draw, policy and round.
    adversaries : DataFrame
        With agents, measures of adversaries: one row per run, draw, policy, round and adversary.
    through : DataFrame
        With agents, numbers of records attacked and re-identified: one row per run, draw, policy, round, adversary and
        combination of resources used to attack. See `reidsim.engine.rounds.AgentAnalysis` for the last three.
    """

    statistics: pd.DataFrame = field(default_factory=pd.DataFrame)
    differences: pd.DataFrame = field(default_factory=pd.DataFrame)
    distributions: pd.DataFrame = field(default_factory=pd.DataFrame)
    rounds: pd.DataFrame = field(default_factory=pd.DataFrame)
    adversaries: pd.DataFrame = field(default_factory=pd.DataFrame)
    through: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(RunResult):
    """The result of a batch.

    Its table of records is empty; `analysis` has quantiles over the records of each run instead.

    Parameters
    ----------
    design : Design
        Points and replications.
    """

    design: Design = field(default_factory=lambda: Design(pd.DataFrame(index=range(1))))

    @property
    def statistics(self) -> pd.DataFrame:
        """Means with confidence intervals, and quantiles over runs.

        One row per point of the sweep, policy and measure; see `statistics_table`. The table is empty if no run is
        complete.
        """
        return self.analysis.tables().get("statistics", pd.DataFrame())

    @property
    def differences(self) -> pd.DataFrame:
        """Differences of measures to the first policy in the same run.

        See `differences_table`. The table is empty if there are no two policies to compare.
        """
        return self.analysis.tables().get("differences", pd.DataFrame())

    @property
    def summary(self) -> pd.DataFrame:
        """Averages of measures over samples and replications.

        One row per point of the sweep (if any) and policy, one column per measure. The table is empty if no run is
        complete.
        """
        table = self.statistics
        if table.empty:
            return pd.DataFrame()
        keys = [column for column in table.columns if column in (*self.design.swept, "policy", "records", "knowledge")]
        wide = table.pivot(index=keys, columns="measure", values="mean")
        # Show only combinations that were run, in their order: keys that change together are not crossed, and in a
        # sweep over policies each point has its own policies.
        done = table.loc[table["runs"] > 0, keys].drop_duplicates()
        wide = wide.loc[pd.MultiIndex.from_frame(done) if len(keys) > 1 else pd.Index(done[keys[0]])]
        return wide[[measure for measure in table["measure"].unique() if measure in wide]]


def batch_analysis(tables: Mapping[str, pd.DataFrame], design: Design) -> BatchAnalysis:
    """Return the statistics of a batch, computed from the tables of its runs."""
    found = measured(tables["runs"], design)
    computed = {"statistics": statistics_table(found), "differences": differences_table(found)}
    return analysis_among({**tables, **computed})


def analysis_among(tables: Mapping[str, pd.DataFrame]) -> BatchAnalysis:
    """Return those of the tables that belong to `BatchAnalysis`; nothing is computed."""
    known = {each.name for each in fields(BatchAnalysis)}
    found: dict[str, Any] = {name: table for name, table in tables.items() if name in known}
    return BatchAnalysis(**found)


def batch_warnings(outcomes: Sequence[RunOutcome], design: Design, runs: pd.DataFrame) -> tuple[str, ...]:
    """Return warnings about failed runs, and the warnings of the successful runs.

    A warning of several runs appears once. If there are several replications, a warning says whether all are equal.

    Parameters
    ----------
    outcomes : sequence of RunOutcome
    design : Design
    runs : DataFrame
        Table ``runs`` from `batch_tables`.
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

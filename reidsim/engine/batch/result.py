"""The tables of a batch, combined from the tables of its runs, and its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.statistics import differences_table, measured, statistics_table
from reidsim.engine.batch.tasks import COMPLETE, GROUP_COLUMNS, RunOutcome
from reidsim.engine.results import RunResult
from reidsim.scenarios.study import AnalysisTables

# Columns that come after the measures in the table of runs.
_LAST = ("state", "error", "seed", "run")


def batch_tables(name: str, design: Design, outcomes: Iterable[RunOutcome]) -> dict[str, pd.DataFrame]:
    """Return the tables of a batch.

    They do not depend on the order in which the runs finished.

    Parameters
    ----------
    name : str
        Name of the scenario.
    design : Design
    outcomes : iterable of RunOutcome

    Returns
    -------
    dict of str to DataFrame
        ``runs`` has one row per run and policy, sorted by point, replication and the scenario's order of policies, and
        one row without measures for each failed run. Its columns are ``scenario``, ``point``, ``replication``, the
        group (such as ``policy``), the measures, ``state``, ``error``, ``seed``, ``run`` (key) and one column per key
        path of the points. The other tables hold the rows of all successful runs, with additional columns ``point`` and
        ``replication``.
    """
    ordered = sorted(outcomes, key=lambda outcome: (outcome.task.point, outcome.task.replication))
    names = dict.fromkeys(chain(("runs",), *(outcome.tables for outcome in ordered)))
    tables = {table: _stacked(table, ordered) for table in names}
    runs, number = tables["runs"]
    of_run = pd.DataFrame(
        {
            "state": [outcome.state for outcome in ordered],
            "error": [outcome.error for outcome in ordered],
            "run": [outcome.task.key for outcome in ordered],
            "seed": [outcome.task.seed for outcome in ordered],
        }
    )
    runs = pd.concat([runs, of_run.iloc[number].reset_index(drop=True)], axis=1).assign(scenario=name)
    measures = [column for column in runs if column not in (*GROUP_COLUMNS, *_LAST, "scenario", "point", "replication")]
    groups = [column for column in GROUP_COLUMNS if column in runs]
    runs = runs[["scenario", "point", "replication", *groups, *measures, *_LAST]]
    at_points = scenario_columns(design).iloc[runs["point"].to_numpy()].reset_index(drop=True)
    return {**{table: rows for table, (rows, _) in tables.items()}, "runs": pd.concat([runs, at_points], axis=1)}


def _stacked(table: str, outcomes: Sequence[RunOutcome]) -> tuple[pd.DataFrame, Any]:
    """Return one table with the rows of all runs, and the run of each row.

    The run is an index in `outcomes`. In table ``runs``, a failed run has one row of missing values.
    """
    parts = [outcome.tables.get(table, {}) for outcome in outcomes]
    heights = [len(next(iter(part.values()), ())) for part in parts]
    if table == "runs":
        heights = [height or int(each.state != COMPLETE) for height, each in zip(heights, outcomes, strict=True)]
    number = np.repeat(np.arange(len(outcomes)), heights)
    place = np.array([(each.task.point, each.task.replication) for each in outcomes], dtype=np.int64).reshape(-1, 2)
    columns: dict[str, Any] = {"point": place[number, 0], "replication": place[number, 1]}
    for column in dict.fromkeys(chain(*parts)):
        cells = (part.get(column) or [None] * height for part, height in zip(parts, heights, strict=True))
        columns[column] = _typed([*chain.from_iterable(cells)])
    return pd.DataFrame(columns), number


def _typed(values: list[Any]) -> pd.Series[Any]:
    """Return a column with a type that depends only on the types of its values.

    If all values are int, the type is int64. Other mixtures of int, float and None give float64, where None becomes
    NaN. If all values are bool, the type is bool. Any other values become text, where None stays missing.
    """
    types = set(map(type, values))
    if types <= {int, float, type(None)}:
        return pd.Series(values, dtype=np.int64 if types == {int} else np.float64)
    if types == {bool}:
        return pd.Series(values, dtype=np.bool_)
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


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

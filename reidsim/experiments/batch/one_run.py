"""One run of a batch, in whatever process it is done: the scenario at a point, solved, as plain tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reidsim.experiments.batch.design import at_point, has_numbered_replications
from reidsim.experiments.batch.studies import Studies, has_study
from reidsim.experiments.batch.tasks import RunTask, Tables
from reidsim.experiments.masking_policies import play_policy
from reidsim.experiments.masking_policies import summarise as summarise_masking
from reidsim.experiments.masking_run import check_policies, game_warnings
from reidsim.experiments.run_result import RunResult
from reidsim.experiments.tables_run import summary_of_run
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.kinds.tables.outcomes import PolicyOutcome, play, warnings_of
from reidsim.kinds.tables.study import TablesStudy, is_tables
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

# What tells rows of a run apart, in the games that have it; the other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample")
# Columns of a run's own table that say which run it is, or that it ended well.
_IDENTITY = ("scenario", "point", "replication", "state", "seed", "error", "run")
# Outcomes of single records whose distribution is kept, and what they are called.
_BY_RECORD = ("publisher_payoff", "adversary_payoff", "risk", "prosecutor", "journalist", "marketer", "overall")
LEVELS = {"minimum": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "maximum": 1.0}


@dataclass(frozen=True)
class ScenarioWork:
    """Does runs of one scenario.

    Parameters
    ----------
    loaded : LoadedScenario
        Before the values of any point.
    """

    loaded: LoadedScenario[ScenarioHead]
    _studies: Studies = field(default_factory=Studies, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[ScenarioWork], tuple[LoadedScenario[ScenarioHead]]]:
        """Leave the studies behind when it is sent to another process."""
        return ScenarioWork, (self.loaded,)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        loaded = at_point(self.loaded, task.values, task.seed)
        if has_numbered_replications(loaded.scenario):
            return self._run_masking(loaded, task.replication)
        if is_tables(loaded) and loaded.scenario.agents is None:
            return self._run_tables(loaded)
        return _run_any(loaded)

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        from reidsim.experiments.run import describe

        loaded = at_point(self.loaded, task.values, task.seed)
        if not has_study(loaded):
            describe(loaded)
            return None
        fingerprint: str = self._studies.get(loaded).fingerprint
        return fingerprint

    def _run_tables(self, loaded: LoadedScenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
        study: TablesStudy = self._studies.get(loaded)
        timed = study.scenario.publisher.unit == "table"
        if timed and not self._studies.have_been_played:
            play(study)
            self._studies.have_been_played = True
        outcomes: dict[str, PolicyOutcome] = {}
        seconds = []
        if timed:
            for policy in study.scenario.publisher.policies:
                begun = time.perf_counter()
                outcomes |= play(study, (policy,))
                seconds.append(time.perf_counter() - begun)
        else:
            outcomes = play(study)
        runs = summary_of_run(study, outcomes).reset_index()
        expanded = {policy: one.equilibrium.expand(study.cell_of_record) for policy, one in outcomes.items()}
        tables: Tables = {"runs": _columns(runs), "distributions": _columns(_equilibria(expanded))}
        if timed:
            tables["runtimes"] = {
                "policy": list(outcomes),
                "seconds": seconds,
                "nodes_evaluated": [int(outcome.equilibrium.evaluated.max(initial=0)) for outcome in outcomes.values()],
            }
        return tables, tuple(warnings_of(study, outcomes))

    def _run_masking(self, loaded: LoadedScenario[ScenarioHead], replication: int) -> tuple[Tables, tuple[str, ...]]:
        study: MaskingStudy = self._studies.get(loaded)
        truth, _ = study.games(replication)
        check_policies(study, truth)
        equilibria, seconds = {}, []
        for policy in study.scenario.subjects.policies:
            begun = time.perf_counter()
            equilibria[policy] = play_policy(study, policy, replication)
            seconds.append(time.perf_counter() - begun)
        runs = summarise_masking(study, truth, equilibria).reset_index()
        tables: Tables = {
            "runs": _columns(runs),
            "distributions": _columns(_equilibria(equilibria)),
            "runtimes": {"policy": [str(policy) for policy in equilibria], "seconds": seconds},
        }
        return tables, game_warnings(truth, equilibria)


# What agents leave, round by round.
ROUND_TABLES = ("rounds", "adversaries")


def _run_any(loaded: LoadedScenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
    from reidsim.experiments.run import run_once

    result = run_once(loaded)
    runs = result.runs
    if "knowledge" in runs:
        # Several releases in one run: their size tells them apart, and their number.
        runs = runs.rename(columns={"replication": "sample"})
    tables = {"runs": runs, "distributions": _distributions_of(result), **_rounds_of(result)}
    without = {
        name: table.drop(columns=[column for column in _IDENTITY if column in table]) for name, table in tables.items()
    }
    return {name: _columns(table) for name, table in without.items() if len(table)}, result.warnings


def _rounds_of(result: RunResult) -> dict[str, pd.DataFrame]:
    """Return what agents did round by round, if there are any."""
    tables = result.analysis.tables()
    return {name: tables[name] for name in ROUND_TABLES if name in tables}


def _equilibria(equilibria: Mapping[Any, Equilibrium]) -> pd.DataFrame:
    """Return quantiles over records of their outcomes, one row per policy and outcome."""
    rows = []
    for policy, equilibrium in equilibria.items():
        outcomes = {
            "publisher_payoff": equilibrium.publisher_payoff,
            "adversary_payoff": equilibrium.adversary_payoff,
            "risk": equilibrium.risk,
        }
        for measure, values in outcomes.items():
            found = np.quantile(values, list(LEVELS.values()))
            rows.append({"policy": str(policy), "measure": measure, **dict(zip(LEVELS, found.tolist(), strict=True))})
    return pd.DataFrame(rows)


def _distributions_of(result: RunResult) -> pd.DataFrame:
    """Return the same from the records of a result of any game; none if it keeps no records."""
    records = result.records
    groups = [column for column in ("policy", "records", "knowledge") if column in records]
    if records.empty or not groups:
        return pd.DataFrame()
    if "success_probability" in records and "attacked" in records:
        records = records.assign(risk=np.where(records["attacked"], records["success_probability"], 0.0))
    measures = [column for column in _BY_RECORD if column in records]
    rows = []
    for names, group in records.groupby(groups, sort=False, observed=True):
        for measure in measures:
            found = np.quantile(group[measure].to_numpy(dtype=np.float64), list(LEVELS.values()))
            values = dict(zip(LEVELS, found.tolist(), strict=True))
            rows.append({**dict(zip(groups, names, strict=True)), "measure": measure, **values})
    return pd.DataFrame(rows)


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain columns; text that is missing as None, numbers as they are."""
    plain = {}
    for name in table:
        column = table[name]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = column.astype(object).where(column.notna(), None)
        plain[str(name)] = column.tolist()
    return plain

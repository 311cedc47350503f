"""One run of a batch, in whatever process it is done: the scenario at a point, solved, as plain tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from reidsim.experiments.batch.design import Design, at_point, has_numbered_replications
from reidsim.experiments.batch.studies import Studies, has_study
from reidsim.experiments.batch.tasks import RunTask, Tables
from reidsim.experiments.full_domain_points import MOST_POINTS, walks_at_once
from reidsim.experiments.masking_policies import play_policy
from reidsim.experiments.masking_policies import summarise as summarise_masking
from reidsim.experiments.masking_run import check_policies, game_warnings
from reidsim.experiments.record_measures import further_measures
from reidsim.experiments.record_points import MONEY_KEYS, equilibria_at, is_thinnable
from reidsim.experiments.run_result import RunResult
from reidsim.experiments.single_run import describe_once, run_once
from reidsim.experiments.tables_run import summarise, summary_of_run
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.kinds.tables.outcomes import PolicyOutcome, equilibria_of, play, warnings_of, warnings_of_equilibria
from reidsim.kinds.tables.schema import TablesScenario
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

    Points that differ only in money are solved together as far as their game allows: the strategies of a record-level
    game are thinned once, those of a game at dataset level are found in walks that a block of points shares. Which
    points these are is a matter of the design alone, so that a run's outcome does not depend on who does which runs.

    Parameters
    ----------
    loaded : LoadedScenario
        Before the values of any point.
    design : Design, optional
        Whose runs these are; each is done on its own, if not given.
    """

    loaded: LoadedScenario[ScenarioHead]
    design: Design | None = None
    _studies: Studies = field(default_factory=Studies, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[ScenarioWork], tuple[LoadedScenario[ScenarioHead], Design | None]]:
        """Leave the studies behind when it is sent to another process."""
        return ScenarioWork, (self.loaded, self.design)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        loaded = at_point(self.loaded, task.values, task.seed)
        if has_numbered_replications(loaded.scenario):
            return self._run_masking(loaded, task.replication)
        if is_tables(loaded) and loaded.scenario.agents is None:
            block = self._blocks.get(task.point, ())
            if len(block) > 1:
                return self._run_walked(loaded, task, block)
            thinned = self._shares_studies and is_thinnable(loaded.scenario, ())
            return self._run_thinned(loaded) if thinned else self._run_tables(loaded)
        return _run_any(loaded)

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        loaded = at_point(self.loaded, task.values, task.seed)
        if not has_study(loaded):
            describe_once(loaded)
            return None
        fingerprint: str = self._studies.get(loaded).fingerprint
        return fingerprint

    @cached_property
    def _shares_studies(self) -> bool:
        """Whether there are points that differ only in money, so that it pays to thin strategies."""
        return self.design is not None and len(set(self.design.alike(MONEY_KEYS).tolist())) < len(self.design.points)

    @cached_property
    def _blocks(self) -> dict[int, tuple[int, ...]]:
        """Points that are solved in the same walks, by each of them."""
        scenario = self.loaded.scenario
        if self.design is None or not isinstance(scenario, TablesScenario):
            return {}
        if not walks_at_once(scenario, map(str, self.design.points.columns)):
            return {}
        alike = self.design.alike(MONEY_KEYS)
        groups = [np.flatnonzero(alike == first).tolist() for first in np.unique(alike).tolist()]
        blocks = [group[at : at + MOST_POINTS] for group in groups for at in range(0, len(group), MOST_POINTS)]
        return {point: tuple(block) for block in blocks for point in block}

    def _run_thinned(self, loaded: LoadedScenario[TablesScenario]) -> tuple[Tables, tuple[str, ...]]:
        """Do a run by the few strategies of each record that can be best at some amounts."""
        study: TablesStudy = self._studies.get(loaded)
        equilibria = equilibria_at(self._studies.thinned(loaded, study), loaded.scenario)
        runs = summarise(study, equilibria).join(further_measures(study, equilibria)).reset_index()
        tables = {"runs": _columns(runs), "distributions": _by_record(study, equilibria)}
        return tables, tuple(warnings_of_equilibria(study, equilibria))

    def _run_tables(self, loaded: LoadedScenario[TablesScenario]) -> tuple[Tables, tuple[str, ...]]:
        study: TablesStudy = self._studies.get(loaded)
        if study.scenario.publisher.unit == "record":
            # What is the best of each record is found for all policies in one pass.
            outcomes = play(study)
            return self._tables_of(study, outcomes), tuple(warnings_of(study, outcomes))
        if not self._studies.have_been_played:
            play(study)
            self._studies.have_been_played = True
        outcomes, seconds = {}, []
        for policy in study.scenario.publisher.policies:
            begun = time.perf_counter()
            outcomes |= play(study, (policy,))
            seconds.append(time.perf_counter() - begun)
        tables = self._tables_of(study, outcomes)
        tables["runtimes"] = {
            "policy": list(outcomes),
            "seconds": seconds,
            "nodes_evaluated": [int(outcome.equilibrium.evaluated.max(initial=0)) for outcome in outcomes.values()],
        }
        return tables, tuple(warnings_of(study, outcomes))

    def _tables_of(self, study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> Tables:
        runs = summary_of_run(study, outcomes).reset_index()
        return {"runs": _columns(runs), "distributions": _by_record(study, equilibria_of(outcomes))}

    def _run_walked(
        self, loaded: LoadedScenario[TablesScenario], task: RunTask, block: tuple[int, ...]
    ) -> tuple[Tables, tuple[str, ...]]:
        """Do a run whose walks are those of a block of points; no time of any is its own."""
        design = self.design
        assert design is not None  # noqa: S101 - blocks are those of a design
        study: TablesStudy = self._studies.get(loaded)

        def studies() -> list[TablesStudy]:
            at = [at_point(self.loaded, design.values(point), task.seed) for point in block]
            return [self._studies.get(point) for point in at]

        outcomes = self._studies.walked((block, task.seed), studies).outcomes(block.index(task.point))
        return self._tables_of(study, outcomes), tuple(warnings_of(study, outcomes))

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


def _by_record(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> dict[str, list[Any]]:
    expanded = {policy: equilibrium.expand(study.cell_of_record) for policy, equilibrium in equilibria.items()}
    return _columns(_equilibria(expanded))


# What agents leave, round by round.
ROUND_TABLES = ("rounds", "adversaries")


def _run_any(loaded: LoadedScenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
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

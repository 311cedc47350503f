"""One run of a batch, in whatever process it is done: the scenario at a point, solved, as plain tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, at_point
from reidsim.engine.batch.studies import Studies
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.run_result import RunResult
from reidsim.engine.single_run import describe_once, run_once
from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium
from reidsim.scenarios.kind import Kind, kind_of
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.people import once_each
from reidsim.scenarios.schema import ScenarioHead, economics_of
from reidsim.scenarios.study import AmountPoints, PolicyOutcome, Study, equilibria_of

# What tells rows of a run apart, in the games that have it; the other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample", "defender", "plans_against", "adversary")
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
        if not self._kind.decides or getattr(loaded.scenario, "agents", None) is not None:
            return _run_any(loaded)
        try:
            return self._play(loaded, task)
        except InputError as error:
            raise error.located(loaded.path) from None

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        loaded = at_point(self.loaded, task.values, task.seed)
        if not self._kind.decides:
            describe_once(loaded)
            return None
        return self._studies.get(loaded).fingerprint

    @property
    def _kind(self) -> Kind:
        return kind_of(self.loaded.scenario)

    def _play(self, loaded: LoadedScenario[ScenarioHead], task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        study = self._studies.get(loaded)
        draw = task.replication if self._kind.numbers_draws else 0
        outcomes = self._outcomes(loaded, study, task, draw)
        equilibria = equilibria_of(outcomes)
        runs = self._kind.summarise(study, draw, equilibria).join(self._kind.further_measures(study, equilibria))
        by_record = quantiles_by_record(equilibria, self._kind.row_of_subject(study, draw))
        tables = {"runs": columns_of_table(runs.reset_index()), "distributions": by_record}
        runtimes = self._kind.runtimes(outcomes)
        if len(runtimes):
            tables["runtimes"] = columns_of_table(runtimes)
        return tables, tuple(self._kind.warnings(study, draw, outcomes))

    def _outcomes(
        self, loaded: LoadedScenario[ScenarioHead], study: Study[Any], task: RunTask, draw: int
    ) -> Mapping[str, PolicyOutcome]:
        """Play the policies of a run: with other points, from strategies thinned for all of them, or on its own."""
        block, design = self._blocks.get(task.point, ()), self.design
        if design is not None and len(block) > 1:
            # No time is that of one point.
            together = self._studies.together((block, task.seed), lambda: self._studies_at(block, design, task.seed))
            return together(block.index(task.point))
        if self._shares_studies and self._kind.amounts_at_once(loaded.scenario, ()):
            points = self._studies.points(loaded, study)
            assert points is not None  # noqa: S101 - as the kind says
            return {policy: PolicyOutcome(found) for policy, found in equilibria_at(points, loaded.scenario).items()}
        return self._kind.play(study, draw, timed=True)

    def _studies_at(self, block: tuple[int, ...], design: Design, seed: int) -> list[Study[Any]]:
        return [self._studies.get(at_point(self.loaded, design.values(point), seed)) for point in block]

    @cached_property
    def _shares_studies(self) -> bool:
        """Whether there are points that differ only in money, so that it pays to thin strategies."""
        return self.design is not None and len(set(self._alike)) < len(self.design.points)

    @cached_property
    def _alike(self) -> list[int]:
        assert self.design is not None  # noqa: S101 - asked for where there is one
        alike: list[int] = self.design.alike(self._kind.amount_keys).tolist()
        return alike

    @cached_property
    def _blocks(self) -> dict[int, tuple[int, ...]]:
        """Points that are solved together, by each of them."""
        if self.design is None:
            return {}
        size = self._kind.points_at_once(self.loaded.scenario, tuple(map(str, self.design.points.columns)))
        if size == 1:
            return {}
        groups = [np.flatnonzero(np.equal(self._alike, first)).tolist() for first in sorted(set(self._alike))]
        blocks = [group[at : at + size] for group in groups for at in range(0, len(group), size)]
        return {point: tuple(block) for block in blocks for point in block}


def equilibria_at(points: AmountPoints, scenario: ScenarioHead) -> dict[str, Equilibrium]:
    """Return the outcome of each policy at the point of a scenario, chosen by belief and evaluated on the truth.

    Parameters
    ----------
    points : AmountPoints
        Of a study of the scenario, with any money.
    scenario : ScenarioHead
    """
    truth, believed = economics_of(scenario)
    policies = kind_of(scenario).policies_of(scenario)
    return {policy: points.plan(policy, believed).equilibrium(truth) for policy in policies}


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
    return {name: columns_of_table(table) for name, table in without.items() if len(table)}, result.warnings


def _rounds_of(result: RunResult) -> dict[str, pd.DataFrame]:
    """Return what agents did round by round, if there are any."""
    tables = result.analysis.tables()
    return {name: tables[name] for name in ROUND_TABLES if name in tables}


def quantiles_by_record(equilibria: Mapping[str, Equilibrium], row: NDArray[np.intp]) -> dict[str, list[Any]]:
    """Return quantiles over records of their outcomes, one row per policy and outcome, as plain columns.

    Parameters
    ----------
    equilibria : mapping of str to Equilibrium
        By policy.
    row : ndarray of intp, shape (n_subjects,)
        On which row of these stands each who counts once.
    """
    return columns_of_table(_equilibria({policy: found.expand(row) for policy, found in equilibria.items()}))


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
    records = once_each(result.records, result.manifest["content"])
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


def columns_of_table(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain columns; text that is missing as None, numbers as they are."""
    plain = {}
    for name in table:
        column = table[name]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            column = column.astype(object).where(column.notna(), None)
        plain[str(name)] = column.tolist()
    return plain

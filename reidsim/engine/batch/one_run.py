"""One run of a batch, in whatever process it is done: the scenario at a point, solved, as plain tables."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import Design, at_point
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.distributions import LEVELS, distributions_of_result, quantiles_of_people, quantiles_of_records
from reidsim.engine.memory import build_within_memory, needed_memory
from reidsim.engine.run_result import RunResult
from reidsim.engine.single_run import check_once, run_once
from reidsim.errors import locating
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.reidentified import measures_table
from reidsim.scenarios.kind import Kind, Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead, economics_of
from reidsim.scenarios.study import AmountPoints, PolicyOutcome, Study, equilibria_of

# What tells rows of a run apart, in the games that have it; the other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample", "defender", "plans_against", "adversary")
# Columns of a run's own table that say which run it is, or that it ended well.
_IDENTITY = ("scenario", "point", "replication", "state", "seed", "error", "run")


_KEPT_STUDIES = 2


class Studies(threading.local):
    """The last two studies that a thread built, by what they were built from.

    Parameters
    ----------
    use : str
        What they are for; see `Kind.needed_memory`.

    Attributes
    ----------
    needed_memory : int
        Bytes that the largest of them takes, besides the program.
    """

    def __init__(self, use: Use = "run") -> None:
        self._use: Use = use
        self.needed_memory = 0
        self.kept: OrderedDict[str, Study[Any]] = OrderedDict()
        self._points: dict[str, AmountPoints | None] = {}
        self._together: tuple[object, Callable[[int], Mapping[str, PolicyOutcome]]] | None = None

    def __reduce__(self) -> tuple[type[Studies], tuple[Use]]:
        """Leave the studies behind when they are sent to another process."""
        return Studies, (self._use,)

    def get(self, loaded: LoadedScenario[ScenarioHead]) -> Study[Any]:
        """Return the study of a scenario: one that is kept, with the amounts of the scenario, or a new one.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        """
        key = data_key(loaded)
        study = self.kept.pop(key, None)
        if study is None:
            last = next(reversed(self.kept.values()), None)
            study = build_within_memory(loaded, self._use, last)
            self.needed_memory = max(self.needed_memory, needed_memory(study, self._use) or 0)
        self.kept[key] = study
        while len(self.kept) > _KEPT_STUDIES:
            self._points.pop(self.kept.popitem(last=False)[0], None)
        return study.with_loaded(loaded)

    def points(self, loaded: LoadedScenario[ScenarioHead], study: Study[Any]) -> AmountPoints | None:
        """Return what plans the study of a scenario under any amounts; kept as long as the study."""
        key = data_key(loaded)
        if key not in self._points:
            self._points[key] = kind_of(loaded.scenario).amount_points(study)
        return self._points[key]

    def together(
        self, block: object, studies: Callable[[], Sequence[Study[Any]]]
    ) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes of a block of points: those asked for last, or new ones of these studies."""
        if self._together is None or self._together[0] != block:
            found = studies()
            self._together = (block, kind_of(found[0].scenario).play_together(found))
        return self._together[1]


def data_key(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Return what a study is built from: scenarios of the same key differ in amounts and beliefs alone."""
    # Unsorted: attributes in another order are other columns of the lattice.
    return json.dumps(kind_of(loaded.scenario).data_content(loaded), default=str)


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
    studies : Studies
        That are kept between runs.
    """

    loaded: LoadedScenario[ScenarioHead]
    design: Design | None = None
    studies: Studies = field(default_factory=Studies, repr=False, compare=False)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        loaded = at_point(self.loaded, task.values, task.seed)
        if not self._kind.decides or self._kind.in_rounds(loaded.scenario):
            return _run_any(loaded)
        with locating(loaded.path):
            return self._play(loaded, task)

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        loaded = at_point(self.loaded, task.values, task.seed)
        if not self._kind.decides:
            check_once(loaded)
            return None
        return self.studies.get(loaded).fingerprint

    @property
    def needed_memory(self) -> int:
        """Bytes that the largest run so far takes, besides the program."""
        return self.studies.needed_memory

    @property
    def _kind(self) -> Kind:
        return kind_of(self.loaded.scenario)

    def _play(self, loaded: LoadedScenario[ScenarioHead], task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        study = self.studies.get(loaded)
        draw = task.replication if self._kind.numbers_draws else 0
        outcomes = self._outcomes(loaded, study, task, draw)
        equilibria = equilibria_of(outcomes)
        tables = run_tables(study, draw, equilibria)
        if any(outcome.seconds is not None for outcome in outcomes.values()):
            tables["runtimes"] = columns_of_table(self._kind.runtimes(outcomes))
        return tables, tuple(self._kind.warnings(study, draw, outcomes))

    def _outcomes(
        self, loaded: LoadedScenario[ScenarioHead], study: Study[Any], task: RunTask, draw: int
    ) -> Mapping[str, PolicyOutcome]:
        """Play the policies of a run: with other points, from strategies thinned for all of them, or on its own."""
        block, design = self._blocks.get(task.point, ()), self.design
        if design is not None and len(block) > 1:
            # No time is that of one point.
            together = self.studies.together((block, task.seed), lambda: self._studies_at(block, design, task.seed))
            return together(block.index(task.point))
        if self._shares_studies and self._kind.amounts_at_once(loaded.scenario, ()):
            points = self.studies.points(loaded, study)
            assert points is not None  # noqa: S101 - as the kind says
            return {policy: PolicyOutcome(found) for policy, found in equilibria_at(points, loaded.scenario).items()}
        return self._kind.play(study, draw, timed=True)

    def _studies_at(self, block: tuple[int, ...], design: Design, seed: int) -> list[Study[Any]]:
        return [self.studies.get(at_point(self.loaded, design.values(point), seed)) for point in block]

    @cached_property
    def _shares_studies(self) -> bool:
        """Whether there are points that differ only in money, so that it pays to thin strategies."""
        return self.design is not None and len(set(self._alike)) < len(self.design.points)

    @cached_property
    def _alike(self) -> list[int]:
        assert self.design is not None  # noqa: S101 - asked for where there is one
        alike: list[int] = self.design.alike(self._kind.amount_keys).tolist()
        return alike

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Points of which the first takes longer than others: those solved together, or that differ only in money."""
        return list(dict.fromkeys(self._blocks.values())) or list(map(tuple, self._among))

    @property
    def _among(self) -> list[list[int]]:
        """Points by what differs among them besides money."""
        among: dict[int, list[int]] = {}
        for point, first in enumerate(self._alike):
            among.setdefault(first, []).append(point)
        return list(among.values())

    @cached_property
    def _blocks(self) -> dict[int, tuple[int, ...]]:
        """Points that are solved together, by each of them."""
        if self.design is None:
            return {}
        size = self._kind.points_at_once(self.loaded.scenario, tuple(map(str, self.design.points.columns)))
        if size == 1:
            return {}
        blocks = [points[at : at + size] for points in self._among for at in range(0, len(points), size)]
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
ROUND_TABLES = ("rounds", "adversaries", "through")


def _run_any(loaded: LoadedScenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
    result = run_once(loaded)
    runs = result.runs
    if "knowledge" in runs:
        # Several releases in one run: their size tells them apart, and their number.
        runs = runs.rename(columns={"replication": "sample"})
    tables = {"runs": runs, "distributions": distributions_of_result(result), **_rounds_of(result)}
    without = {
        name: table.drop(columns=[column for column in _IDENTITY if column in table]) for name, table in tables.items()
    }
    return {name: columns_of_table(table) for name, table in without.items() if len(table)}, result.warnings


def _rounds_of(result: RunResult) -> dict[str, pd.DataFrame]:
    """Return what agents did round by round, if there are any."""
    tables = result.analysis.tables()
    return {name: tables[name] for name in ROUND_TABLES if name in tables}


def run_tables(study: Study[Any], draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Any]:
    """Return the measures of policies and how outcomes are distributed over records, as plain columns by table."""
    kind = kind_of(study.scenario)
    found, rows = kind.reidentified(study, draw, equilibria), kind.row_of_subject(study, draw)
    measures = [
        kind.summarise(study, draw, equilibria), measures_table(found), kind.further_measures(study, equilibria)
    ]  # fmt: skip
    policies = pd.Index([*equilibria], name="policy")
    runs: dict[str, list[Any]] = {"policy": [*equilibria]}
    for table in measures:
        runs |= columns_of_table(table if table.index.equals(policies) else table.reindex(policies))
    by_record = quantiles_of_records({policy: each.expand(rows) for policy, each in equilibria.items()})
    distributions = [*by_record, *quantiles_of_people(found)]
    names = ("policy", "measure", *LEVELS)
    return {"runs": runs, "distributions": {name: [row[name] for row in distributions] for name in names}}


def columns_of_table(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain columns; text that is missing as None, numbers as they are."""
    plain = {}
    for name, column in table.items():
        plain[str(name)] = column.tolist()
        if not pd.api.types.is_numeric_dtype(column.dtype):
            missing = column.isna().tolist()
            plain[str(name)] = [None if no else value for value, no in zip(plain[str(name)], missing, strict=True)]
    return plain

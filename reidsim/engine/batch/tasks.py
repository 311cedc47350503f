"""One run of a batch as a task for a worker, and its outcome as plain tables.

Tasks, outcomes and the callables that do runs can be pickled, so that runs can be done in any process.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from reidsim.core.interrupts import caused
from reidsim.core.randomness import replication_seed
from reidsim.engine.batch.design import Design, at_point, has_numbered_replications
from reidsim.engine.results import LEVELS, distributions_of_result, quantiles_of_people, quantiles_of_records
from reidsim.engine.single_run import check_once, run_once
from reidsim.errors import locating
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.reidentified import measures_table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Study, equilibria_of

# Columns of tables, by name of the table, as plain data for one line of the journal.
Tables = dict[str, dict[str, list[Any]]]

COMPLETE = "complete"
FAILED = "failed"
TIMEOUT = "timeout"
KILLED = "killed"
NOT_COMPLETE = (FAILED, TIMEOUT, KILLED)

# Folders of the package whose code does not affect results.
_FACES = ("commands", "figures", "reports", "web")


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run: its place in the design, its seed, and the values of its scenario.

    Parameters
    ----------
    key : str
        Hash of everything that determines the outcome; see `tasks_of`. Runs with equal keys, also in different batches,
        have equal outcomes.
    point, replication : int
        Numbers of the point and of the replication, from 0.
    seed : int
        Root seed of the run's random draws.
    values : dict
        Values of the point, by key path.
    """

    key: str
    point: int
    replication: int
    seed: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run.

    Parameters
    ----------
    task : RunTask
    state : str
        ``complete``, ``failed`` (the run raised an error), ``timeout`` (it took too long) or ``killed`` (its process
        died, more than once).
    tables : dict
        Columns of the run's tables, by name of the table, without identifiers of the run; empty unless complete.
    error : str
        Error message, in one line; empty if complete.
    warnings : tuple of str
    seconds : float
        Duration of the run.
    """

    task: RunTask
    state: str
    tables: Tables = field(default_factory=dict)
    error: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


# A callable that runs a task and returns its tables and warnings.
Work = Callable[[RunTask], tuple[Tables, tuple[str, ...]]]


def attempt(work: Work, task: RunTask) -> RunOutcome:
    """Run a task and return its outcome.

    An error becomes the outcome, unless an interrupt caused it.
    """
    begun = time.perf_counter()
    try:
        tables, warnings = work(task)
    except Exception as error:  # other runs of the batch continue
        if caused(error):
            raise KeyboardInterrupt from error
        seconds = time.perf_counter() - begun
        return RunOutcome(task, FAILED, error=error_line(error), seconds=seconds)
    return RunOutcome(task, COMPLETE, tables, warnings=warnings, seconds=time.perf_counter() - begun)


def error_line(error: BaseException) -> str:
    """Return the type and message of an error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def tasks_of(loaded: Scenario[ScenarioHead], design: Design, content: Mapping[str, Any]) -> list[RunTask]:
    """Return the tasks of a batch, sorted so that neighbours can share a study.

    Tasks are sorted by replication, then by the values of keys other than payoff parameters, then by point. The key of
    a task is a hash of its point, replication and seed, of `content` and of the program.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    content : mapping
        Scenario of a single run without the values of a point, as plain data; see `content_of_run`. The order of its
        keys affects the hash, because the order of attributes can change outcomes. The order of key paths in a point's
        values has no effect; the order within a value has.
    """
    seed, replications = loaded.scenario.seed, range(design.replications)
    numbered = has_numbered_replications(loaded.scenario)
    seeds = [seed if numbered else replication_seed(seed, number) for number in replications]
    values = [design.values(point) for point in range(len(design.points))]
    alike = design.alike(kind_of(loaded.scenario).amount_keys).tolist()
    of_all = hashlib.sha256(f"[{json.dumps(content, default=str)}, ".encode())

    def task(number: int, point: int) -> RunTask:
        parts, of_run = [dict(sorted(values[point].items())), number, seeds[number], code_version()], of_all.copy()
        of_run.update(json.dumps(parts, default=str)[1:].encode())
        return RunTask(of_run.hexdigest()[:16], point, number, seeds[number], values[point])

    runs = itertools.product(replications, range(len(values)))
    return [task(*run) for run in sorted(runs, key=lambda run: (run[0], alike[run[1]], run[1]))]


@functools.cache
def code_version() -> str:
    """Return the versions of the program and numpy, and a hash of source files.

    The hash covers all files that affect results.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if len(place.parts) > 1 and place.parts[0] not in _FACES:
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return f"reidsim {version('reidsim')} {digest.hexdigest()[:12]}, numpy {version('numpy')}"


# Columns that identify the rows of a run (each game has some of them); other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample", "defender", "plans_against", "adversary")
# Columns of a table of runs that identify the run or its state.
_IDENTITY = ("scenario", "point", "replication", "state", "seed", "error", "run")


# Number of cached studies per thread. Tasks are ordered so that neighbours share a study; more studies take memory.
_KEPT_STUDIES = 2


class Studies(threading.local):
    """A cache, for each thread, of the last two studies it built, by data key."""

    def __init__(self) -> None:
        self.kept: dict[str, Study[Any]] = {}

    def __reduce__(self) -> tuple[type[Studies], tuple[()]]:
        """Pickle as an empty cache, because studies are large."""
        return Studies, ()

    def get(self, loaded: Scenario[ScenarioHead]) -> Study[Any]:
        """Return the study of a scenario.

        Reuse a cached study with the same data and set its payoff parameters.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        """
        key = data_key(loaded)
        study = self.kept.pop(key, None)
        if study is None:
            kind, last = kind_of(loaded.scenario), next(reversed(self.kept.values()), None)
            same = last is not None and kind_of(last.scenario) is kind
            study = kind.build_after(loaded, last) if same else kind.build(loaded)
        self.kept[key] = study
        if len(self.kept) > _KEPT_STUDIES:
            del self.kept[next(iter(self.kept))]
        return study.with_loaded(loaded)


def data_key(loaded: Scenario[ScenarioHead]) -> str:
    """Return a text that identifies the data of a scenario's study.

    Scenarios with equal keys differ only in values on which no data depend, such as payoff parameters and beliefs; they
    can share a study.
    """
    # Keys are not sorted, because the order of attributes determines the columns of the lattice.
    return json.dumps(kind_of(loaded.scenario).data_content(loaded), default=str)


@dataclass(frozen=True)
class ScenarioWork:
    """A callable that does runs of one scenario.

    Parameters
    ----------
    loaded : Scenario
        The scenario without the values of a point.
    studies : Studies
        Cache of studies between runs.

    Attributes
    ----------
    table : str
        Name of the table of runs in results folders.
    """

    loaded: Scenario[ScenarioHead]
    studies: Studies = field(default_factory=Studies, repr=False, compare=False)
    table: ClassVar[str] = "runs"

    @property
    def options(self) -> dict[str, Any]:
        """Options beside the scenario, as plain data by command; part of the manifest and of the key of every run."""
        return {}

    def study_at(self, task: RunTask) -> Study[Any]:
        """Return the study at the point of a task."""
        return self.studies.get(at_point(self.loaded, task.values, task.seed))

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        kind = kind_of(self.loaded.scenario)
        if not kind.decides or kind.in_rounds(self.loaded.scenario):
            return _run_any(at_point(self.loaded, task.values, task.seed))
        with locating(self.loaded.path):
            study = self.study_at(task)
            draw = task.replication if kind.numbers_draws else 0
            outcomes = kind.play(study, draw, timed=True)
            tables = run_tables(study, draw, equilibria_of(outcomes))
            if len(runtimes := kind.runtimes(outcomes)):
                tables["runtimes"] = columns_of_table(runtimes)
            return tables, tuple(kind.warnings(study, draw, outcomes))

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files of a task's run can be used; return a hash of the data.

        The result is None for scenarios without a decision maker.

        Raises
        ------
        InputError
            If a file cannot be used.
        """
        if not kind_of(self.loaded.scenario).decides:
            check_once(at_point(self.loaded, task.values, task.seed))
            return None
        return self.study_at(task).fingerprint


# Names of the tables by round of scenarios with agents.
ROUND_TABLES = ("rounds", "adversaries", "through")


def _run_any(loaded: Scenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
    result = run_once(loaded)
    runs, analysis = result.runs, result.analysis.tables()
    if "knowledge" in runs:
        # An assessment has several releases per run, identified by size and sample number.
        runs = runs.rename(columns={"replication": "sample"})
    tables = {"runs": runs, "distributions": distributions_of_result(result)}
    tables |= {name: analysis[name] for name in ROUND_TABLES if name in analysis}
    plain = {name: table.drop(columns=[*_IDENTITY], errors="ignore") for name, table in tables.items() if len(table)}
    return {name: columns_of_table(table) for name, table in plain.items()}, result.warnings


def run_tables(study: Study[Any], draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Any]:
    """Return the measures of policies, and quantiles of outcomes over records.

    The result holds plain columns of the tables ``runs`` (one row per policy) and ``distributions`` (one row per policy
    and outcome).
    """
    kind = kind_of(study.scenario)
    found, rows = kind.reidentified(study, draw, equilibria), kind.row_of_subject(study, draw)
    measures = [
        kind.summarise(study, draw, equilibria),
        measures_table(found),
        kind.further_measures(study, equilibria),
    ]
    policies = pd.Index([*equilibria], name="policy")
    runs: dict[str, list[Any]] = {"policy": [*equilibria]}
    for table in measures:
        runs |= columns_of_table(table if table.index.equals(policies) else table.reindex(policies))
    by_record = quantiles_of_records({policy: each.expand(rows) for policy, each in equilibria.items()})
    distributions = pd.DataFrame([*by_record, *quantiles_of_people(found)], columns=["policy", "measure", *LEVELS])
    return {"runs": runs, "distributions": columns_of_table(distributions)}


def columns_of_table(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain columns.

    Missing text becomes None, missing numbers stay NaN.
    """
    numbers = set(table.select_dtypes(["number", "bool"]).columns)
    return {
        str(name): column.tolist() if name in numbers else column.astype(object).where(column.notna(), None).tolist()
        for name, column in table.items()
    }

"""Run a scenario as a batch, in memory or in a folder.

The folder keeps every finished run.
"""

from __future__ import annotations

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import pandas as pd

from reidsim.engine.batch.batch_tables import batch_tables
from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import (
    Design,
    check_points,
    content_of_run,
    design_of,
    has_numbered_replications,
    is_batch,
    makers_of,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import AutomaticExecutor
from reidsim.engine.batch.folder import (
    INCOMPLETE,
    begin,
    finish,
    forget_journal,
    read_manifest,
    read_stored_tables,
    require_same,
)
from reidsim.engine.batch.journal import JOURNAL, damaged_lines, is_journal_of, keeps_runs
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.result import BatchResult, analysis_among, batch_analysis, batch_warnings
from reidsim.engine.batch.runner import run_tasks, tasks_of
from reidsim.engine.batch.tasks import COMPLETE, FAILED, KILLED, TIMEOUT, CheckedWork
from reidsim.engine.results import (
    Clock,
    Illustrator,
    Result,
    make_folder,
    make_manifest,
    removing_unused,
    require_free,
    require_no_links,
)
from reidsim.engine.run_result import RunResult
from reidsim.engine.single_run import run_once
from reidsim.errors import InputError
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.wording import counted

_NOT_COMPLETE = (FAILED, TIMEOUT, KILLED)

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, eq=False)
class Ended:
    """A batch in which every run has an outcome.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    tables : mapping of str to DataFrame
        Tables from `batch_tables`; if `stored`, all tables of the folder, including statistics.
    manifest : dict
    warnings : tuple of str
    report : callable
        Called with the progress of the remaining work.
    stored : bool
        Whether the folder already held the complete batch, so that no run was done.
    """

    loaded: Scenario[ScenarioHead]
    design: Design
    tables: Mapping[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    report: Progress
    stored: bool = False


class Job(ABC, Generic[R]):
    """Base class of batch jobs.

    A job defines the work of one run and the result of the batch.

    Attributes
    ----------
    table : str
        Name of the table of runs in results folders.
    options : dict
        Command-line options, as plain data by command name; part of the manifest and of the key of every run.
    """

    table = "runs"
    options: Mapping[str, Any] = {}

    @abstractmethod
    def work(self, loaded: Scenario[ScenarioHead], design: Design) -> CheckedWork:
        """Return the callable that does one run."""

    @abstractmethod
    def result(self, ended: Ended) -> R:
        """Return the result of the batch."""


class Keeping(TypedDict, total=False):
    """Arguments of `run_job` that concern its folder, progress and figures."""

    folder: Path | None
    resume: bool
    rerun_failed: bool
    progress: Progress | None
    illustrate: Illustrator | None


def run_batch_loaded(
    loaded: Scenario[ScenarioHead], executor: Executor | None = None, **keeping: Unpack[Keeping]
) -> RunResult:
    """Return the result of all points and replications of a loaded scenario.

    See `reidsim.run_batch`.
    """
    return run_job(ScenarioJob(), loaded, executor, **keeping)


def run_job(
    job: Job[R],
    loaded: Scenario[ScenarioHead],
    executor: Executor | None = None,
    *,
    folder: Path | None = None,
    resume: bool = False,
    rerun_failed: bool = False,
    progress: Progress | None = None,
    illustrate: Illustrator | None = None,
) -> R:
    """Run a job at every point and replication of a scenario; return its result.

    See `reidsim.run_batch` for the arguments. If `folder` already holds the complete batch, nothing is run again.
    `illustrate` draws the figures into the folder.

    Raises
    ------
    InputError
        If a point is invalid, a file cannot be used or changes during the batch, or the folder is in use, holds another
        batch or cannot be written. A failed run is no error: it is part of the result.
    """
    report = progress or (lambda task, done, total: None)
    clock, design = Clock(), design_of(loaded)
    check_points(loaded, design)
    makers = makers_of(loaded, design)
    work = job.work(replace(loaded, path=loaded.path.absolute()), design)
    tasks = tasks_of(loaded, design, {**content_of_run(loaded), **job.options})
    report(f"reading {loaded.name}", 0, 1)
    files = DataFiles(loaded, design, job.options)
    manifest = make_manifest(
        loaded,
        {},
        {
            "data_hash": work.fingerprint(tasks[0]),
            "scenario_file": str(loaded.path.absolute()),
            "design": {
                "points": len(design.points),
                "replications": design.replications,
                "samples": design.samples,
                "swept": list(design.swept),
                "runs": design.n_runs,
                "files": files.hashes,
            },
            **({"parts": makers} if makers else {}),
            **job.options,
        },
    )
    clock.lap("build")
    ended = Ended(loaded, design, {}, manifest, (), report)
    with contextlib.ExitStack() as held:
        damaged = 0
        if folder is not None:
            # If the manifest is damaged, the journal alone identifies the batch.
            are_same = partial(is_journal_of, folder / JOURNAL, {task.key for task in tasks}, files.digest)
            stored = held.enter_context(_opened(folder, manifest, are_same, go_on=resume or rerun_failed))
            if stored is not None:
                tables = read_stored_tables(folder, stored, job.table)
                report("running", design.n_runs, design.n_runs)
                said = tuple(stored.get("warnings", ()))
                return job.result(replace(ended, tables=tables, manifest=stored, warnings=said, stored=True))
            damaged = damaged_lines(folder / JOURNAL)
        outcomes = run_tasks(
            work,
            tasks,
            executor or AutomaticExecutor(),
            progress=report,
            folder=folder,
            again=_NOT_COMPLETE if rerun_failed else (),
            require_unchanged=lambda: files.require_unchanged(folder or loaded.path),
            data=files.digest,
        )
        clock.lap("runs")
        states = Counter(outcome.state for outcome in outcomes)
        manifest |= {
            "state": COMPLETE if states[COMPLETE] == len(outcomes) else INCOMPLETE,
            "run_states": {state: states[state] for state in (COMPLETE, *_NOT_COMPLETE)},
            "timings_seconds": {name: round(seconds, 3) for name, seconds in clock.laps.items()},
            "seconds_of_runs": round(sum(outcome.seconds for outcome in outcomes), 3),
        }
        tables = batch_tables(loaded.name, design, outcomes)
        warnings = batch_warnings(outcomes, design, tables["runs"])
        if damaged:
            warnings += (
                f"{counted(damaged, 'line')} of {JOURNAL} could not be read; the runs of these lines were repeated",
            )
        result = job.result(replace(ended, tables=tables, manifest=manifest, warnings=warnings))
        # The job may have read the data files again for its result.
        files.require_unchanged(folder or loaded.path)
        if folder is not None:
            report("writing", 0, 1)
            finish(folder, lambda into: result.write_tables(into, illustrate))
            if result.manifest["state"] == COMPLETE:
                forget_journal(folder)
    return result


@contextlib.contextmanager
def _opened(
    folder: Path, manifest: Mapping[str, Any], are_same: Callable[[], bool], *, go_on: bool
) -> Iterator[dict[str, Any] | None]:
    """Lock the folder of a new or resumed batch (`go_on`), and write its manifest.

    Yields the stored manifest if the batch is already complete, so that the folder needs no change; otherwise None. If
    the block fails, a new folder in which no run has finished is removed. `are_same` is passed to `require_same`.
    """
    if go_on and not folder.is_dir():
        raise InputError("no batch to continue", source=folder, expected="the folder of a batch")
    with contextlib.ExitStack() as held:
        if not go_on:
            require_free(folder)
            held.enter_context(removing_unused(folder))
            make_folder(folder)
        require_no_links(folder)
        held.enter_context(only_writer(folder))
        if go_on and require_same(folder, manifest, are_same) == COMPLETE and not keeps_runs(folder):
            yield read_manifest(folder)
            return
        try:
            begin(folder, manifest)
            yield None
        except BaseException:
            if not go_on and not keeps_runs(folder):
                shutil.rmtree(folder, ignore_errors=True)
            raise


class ScenarioJob(Job[RunResult]):
    """The batch job that plays the policies of a scenario, like `reidsim run`."""

    def work(self, loaded: Scenario[ScenarioHead], design: Design) -> CheckedWork:
        """Return the callable that does one run."""
        return ScenarioWork(loaded)

    def result(self, ended: Ended) -> RunResult:
        """Return the result of the batch, with measures and statistics."""
        scenario, tables = ended.loaded.scenario, ended.tables
        if has_numbered_replications(scenario) and not is_batch(scenario):
            return _with_first_draw(ended)
        analysis = analysis_among(tables) if ended.stored else batch_analysis(tables, ended.design)
        common = (ended.loaded.name, tables["runs"], pd.DataFrame(), analysis, ended.manifest, ended.warnings)
        return BatchResult(*common, design=ended.design)


def _with_first_draw(ended: Ended) -> RunResult:
    """Return the result of replications that a single run could draw itself.

    It equals the result of that run: records and figure tables are from the first replication, which is played again.
    If runs failed, the table of runs keeps the columns that describe the failures.
    """
    tables = ended.tables
    single = run_once(ended.loaded.with_sections(replications=1), progress=ended.report)
    runs = tables["runs"].drop(columns="run", errors="ignore")
    if (runs["state"] == COMPLETE).all():
        runs = runs[list(single.runs.columns)]
    analysis = single.analysis
    if "runtimes" in tables:
        analysis = replace(analysis, runtimes=tables["runtimes"].drop(columns="point", errors="ignore"))
    warnings = tuple(dict.fromkeys((*single.warnings, *ended.warnings)))
    return replace(
        single, runs=runs, analysis=analysis, manifest={**single.manifest, **ended.manifest}, warnings=warnings
    )

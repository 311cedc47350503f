"""Running a scenario as a batch: in memory, or in a folder in which nothing that ended is lost."""

from __future__ import annotations

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack

import pandas as pd

from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import (
    Design,
    check_points,
    content_of_run,
    design_of,
    has_numbered_replications,
    is_batch,
    makers_of,
    require_runs_fit,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import AutomaticExecutor
from reidsim.engine.batch.folder import (
    INCOMPLETE,
    begin,
    finish,
    forget_journal,
    read_manifest,
    read_stored,
    require_same,
)
from reidsim.engine.batch.gathered import Gathered, batch_tables
from reidsim.engine.batch.journal import JOURNAL, damaged_lines, is_journal_of, keeps_runs
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.result import BatchAnalysis, BatchResult, analysis_among, batch_analysis, batch_warnings
from reidsim.engine.batch.runner import run_tasks, tasks_of
from reidsim.engine.batch.tasks import COMPLETE, FAILED, KILLED, TIMEOUT, RunTask, Tables
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
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.wording import counted

_NOT_COMPLETE = (FAILED, TIMEOUT, KILLED)


R = TypeVar("R", bound=Result)


@dataclass(frozen=True, eq=False)
class Ended:
    """What all runs of a batch left.

    Parameters
    ----------
    loaded : LoadedScenario
    design : Design
    tables : mapping of str to DataFrame
        As `batch_tables` returns them, or as the folder has them.
    manifest : dict
    warnings : tuple of str
    report : callable
        Told of the progress of what is still to be done.
    """

    loaded: LoadedScenario[ScenarioHead]
    design: Design
    tables: Mapping[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    report: Progress


class CheckedWork(Protocol):
    """Does runs, and can tell beforehand whether the files that one needs are of use."""

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        ...

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        ...


class Job(ABC, Generic[R]):
    """What a batch does with a scenario.

    Attributes
    ----------
    table : str
        Name, in results folders, of the table of runs.
    """

    table = "runs"

    @property
    def options(self) -> dict[str, Any]:
        """What is asked for besides the scenario, as plain data by what asks: part of manifests, and of every run."""
        return {}

    @abstractmethod
    def work(self, loaded: LoadedScenario[ScenarioHead], design: Design) -> CheckedWork:
        """Return what does the runs."""

    @abstractmethod
    def result(self, ended: Ended) -> R:
        """Return what was found."""

    @abstractmethod
    def stored(self, ended: Ended) -> R:
        """Return the result of a batch of which every run has ended well, given what its folder has."""


class Keeping(TypedDict, total=False):
    """How a batch is kept, told and drawn; see `run_job`."""

    folder: Path | None
    resume: bool
    rerun_failed: bool
    progress: Progress | None
    illustrate: Illustrator | None


def run_batch_loaded(
    loaded: LoadedScenario[ScenarioHead], executor: Executor | None = None, **keeping: Unpack[Keeping]
) -> RunResult:
    """Run every point and replication of a scenario that has been read; see `reidsim.run_batch`."""
    return run_job(ScenarioJob(), loaded, executor, **keeping)


def run_job(
    job: Job[R],
    loaded: LoadedScenario[ScenarioHead],
    executor: Executor | None = None,
    *,
    folder: Path | None = None,
    resume: bool = False,
    rerun_failed: bool = False,
    progress: Progress | None = None,
    illustrate: Illustrator | None = None,
) -> R:
    """Do a job at every point and replication of a scenario, in memory or in a folder; see `reidsim.run_batch`."""
    report = progress or (lambda task, done, total: None)
    clock = Clock()
    design = design_of(loaded)
    require_runs_fit(loaded, design)
    check_points(loaded, design)
    makers = makers_of(loaded, design)
    work = job.work(replace(loaded, path=loaded.path.absolute()), design)
    tasks = tasks_of(loaded, design, content_of_run(loaded) | job.options)
    report(f"reading {loaded.name}", 0, 1)
    files = DataFiles(loaded, design, job.options)
    manifest = _manifest(loaded, design, files.hashes, work.fingerprint(tasks[0]), makers) | job.options
    clock.lap("build")
    again = _NOT_COMPLETE if rerun_failed else ()

    def require_unchanged() -> None:
        files.require_unchanged(folder or loaded.path)

    def result_of(outcomes: Gathered, lost: tuple[str, ...] = ()) -> R:
        clock.lap("runs")
        tables = batch_tables(loaded.name, design, outcomes)
        said = (*batch_warnings(outcomes, design, tables["runs"]), *lost)
        result = job.result(Ended(loaded, design, tables, {**manifest, **_facts(outcomes, clock)}, said, report))
        # A job may have read the data once more.
        require_unchanged()
        return result

    executor = executor or AutomaticExecutor()
    if folder is None:
        return result_of(run_tasks(work, tasks, executor, progress=report, require_unchanged=require_unchanged))
    # The runs alone tell what the batch is, should its manifest be damaged.
    are_same = partial(is_journal_of, folder / JOURNAL, {task.key for task in tasks}, files.digest)
    with _opened(folder, manifest, are_same, go_on=resume or rerun_failed) as ended:
        if ended is not None:
            return _stored(job, folder, loaded, design, ended, report)
        damaged = damaged_lines(folder / JOURNAL)
        outcomes = run_tasks(
            work, tasks, executor, progress=report, folder=folder, again=again, require_unchanged=require_unchanged,
            data=files.digest,
        )  # fmt: skip
        result = result_of(outcomes, _lost(damaged))
        report("writing", 0, 1)
        finish(folder, lambda into: result.write_tables(into, illustrate))
        if result.manifest["state"] == COMPLETE:
            forget_journal(folder)
    return result


def _lost(damaged: int) -> tuple[str, ...]:
    if not damaged:
        return ()
    return (f"{counted(damaged, 'line')} of {JOURNAL} could not be read; their runs were repeated",)


def _facts(outcomes: Gathered, clock: Clock) -> dict[str, Any]:
    states = Counter(outcome.state for outcome in outcomes)
    return {
        "state": COMPLETE if states[COMPLETE] == len(outcomes) else INCOMPLETE,
        "run_states": {state: states[state] for state in (COMPLETE, *_NOT_COMPLETE)},
        "timings_seconds": {name: round(seconds, 3) for name, seconds in clock.laps.items()},
        "seconds_of_runs": round(sum(outcome.seconds for outcome in outcomes), 3),
    }


def _manifest(
    loaded: LoadedScenario[ScenarioHead],
    design: Design,
    files: Mapping[str, str],
    fingerprint: str | None,
    makers: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "data_hash": fingerprint,
        "scenario_file": str(loaded.path.absolute()),
        "design": {
            "points": len(design.points),
            "replications": design.replications,
            "samples": design.samples,
            "swept": list(design.swept),
            "runs": design.n_runs,
            "files": dict(files),
        },
    }
    if makers:
        facts["parts"] = makers
    return make_manifest(loaded, {}, facts)


@contextlib.contextmanager
def _opened(
    folder: Path, manifest: Mapping[str, Any], are_same: Callable[[], bool], *, go_on: bool
) -> Iterator[dict[str, Any] | None]:
    """Hold the folder of a batch that is new, or the same as before; a new one in which nothing ended goes again.

    Yields the manifest of a batch of which every run has ended well, whose folder is left as it is, else None.
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


def _stored(
    job: Job[R],
    folder: Path,
    loaded: LoadedScenario[ScenarioHead],
    design: Design,
    manifest: dict[str, Any],
    report: Progress,
) -> R:
    """Return the result of a batch of which every run has ended well, as its folder tells it."""
    tables = {path.stem: read_stored(path, manifest) for path in sorted(folder.glob("*.parquet"))}
    warnings = tuple(manifest.get("warnings", ()))
    for name in (f"{job.table}.parquet", *manifest.get("tables", ())):
        if not (folder / name).is_file():
            raise InputError("no such file in a complete batch", source=folder / name, hint="run it again")
    report("running", design.n_runs, design.n_runs)
    return job.stored(Ended(loaded, design, tables, manifest, warnings, report))


class ScenarioJob(Job[RunResult]):
    """Plays the policies of a scenario, as `reidsim run` does."""

    def work(self, loaded: LoadedScenario[ScenarioHead], design: Design) -> ScenarioWork:
        """Return what does the runs."""
        return ScenarioWork(loaded, design)

    def result(self, ended: Ended) -> RunResult:
        """Return measures and statistics."""
        return _result(ended, lambda: batch_analysis(ended.tables, ended.design))

    def stored(self, ended: Ended) -> RunResult:
        """Return them as the folder has them."""
        return _result(ended, lambda: analysis_among(ended.tables))


def _result(ended: Ended, analysis: Callable[[], BatchAnalysis]) -> RunResult:
    scenario = ended.loaded.scenario
    if has_numbered_replications(scenario) and not is_batch(scenario):
        return _with_first_draw(ended)
    return BatchResult(
        ended.loaded.name, ended.tables["runs"], pd.DataFrame(), analysis(), ended.manifest, ended.warnings,
        design=ended.design,
    )  # fmt: skip


def _with_first_draw(ended: Ended) -> RunResult:
    """Return replications that a run draws itself as a run in this process has them: with the first one's records."""
    loaded, tables, warnings = ended.loaded, ended.tables, ended.warnings
    first = loaded.with_sections(replications=1)
    single = run_once(first, progress=ended.report)
    runs = tables["runs"].drop(columns="run", errors="ignore")
    if (runs["state"] == COMPLETE).all():
        runs = runs[list(single.runs.columns)]
    analysis = single.analysis
    if "runtimes" in tables:
        analysis = replace(analysis, runtimes=tables["runtimes"].drop(columns="point", errors="ignore"))
    said = (*single.warnings, *(warning for warning in warnings if warning not in single.warnings))
    return replace(single, runs=runs, analysis=analysis, manifest={**single.manifest, **ended.manifest}, warnings=said)

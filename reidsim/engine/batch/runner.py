"""Run the tasks of a batch, in memory or in a folder that keeps runs.

Each outcome is written to the journal of the folder as soon as its run ends; tasks that the journal holds are not run
again.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from reidsim.core.errors import InputError, listed
from reidsim.core.wording import counted
from reidsim.engine import results
from reidsim.engine.batch import folder as store
from reidsim.engine.batch import statistics
from reidsim.engine.batch.design import (
    COMPLETE,
    GROUP_COLUMNS,
    NOT_COMPLETE,
    ROUND_TABLES,
    Design,
    RunOutcome,
    RunTask,
    ScenarioWork,
    Work,
    at_point,
    check_points,
    code_version,
    content_of_run,
    design_of,
    has_numbered_replications,
    is_batch,
    tasks_of,
)
from reidsim.engine.batch.executors import AutomaticExecutor, DaskExecutor, Executor
from reidsim.engine.single_run import run_once
from reidsim.scenarios.kind import AnalysisTables, Progress
from reidsim.scenarios.scenario import Scenario

_LOGGER = logging.getLogger(__name__)
# Tables of batches other than the table of runs.
_ANALYSIS = ("runtimes", "reidentified", *ROUND_TABLES, "distributions", "statistics", "differences")

R = TypeVar("R", bound=results.Result)


@dataclass(frozen=True, eq=False)
class Ended:
    """A batch with no run left to do: each run has succeeded or failed.

    The result of the batch is made from it; see `run_job`.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    tables : mapping of str to DataFrame
        Tables by name. If `stored`, they are all tables of the folder; otherwise, they are the tables of
        `batch_tables`, without statistics.
    manifest : dict
        Manifest of the results folder.
    warnings : tuple of str
    report : callable
        Called with the progress of making the result, which may take one more run.
    stored : bool
        Whether the folder already held the complete batch, so that no run was done.
    """

    loaded: Scenario[Any]
    design: Design
    tables: Mapping[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    report: Progress
    stored: bool

    @property
    def common(self) -> dict[str, Any]:
        """The arguments of every `Result`: ``name``, ``manifest`` and ``warnings``."""
        return {"name": self.loaded.name, "manifest": self.manifest, "warnings": self.warnings}


def run_job(
    work: ScenarioWork,
    result_of: Callable[[Ended], R],
    executor: Executor | None = None,
    *,
    folder: Path | None = None,
    resume: bool = False,
    rerun_failed: bool = False,
    progress: Progress | None = None,
) -> R:
    """Run every point and replication of a scenario; return the result.

    See `Scenario.batch` for the arguments without a description here. If a batch is continued, and `folder` already
    holds all of its runs and tables, nothing is run again.

    Parameters
    ----------
    work : ScenarioWork
        Callable that does one run of the scenario.
    result_of : callable
        Called with the finished batch (see `Ended`); returns its result.

    Raises
    ------
    InputError
        If a point is invalid, a file cannot be used or changes during the batch, or the folder is in use, holds another
        batch or cannot be written. A failed run is no error: it is part of the result.
    """
    loaded = work.loaded
    design = design_of(loaded)
    makers = check_points(loaded, design)
    _, clock, report = results.begun(loaded, progress)
    # Processes of a batch share the temporary folder, which `loaded` keeps.
    work = replace(work, loaded=replace(loaded, path=loaded.path.absolute(), place=None))
    tasks = tasks_of(loaded, design, {**content_of_run(loaded), **work.options})
    files = store.DataFiles(loaded, design, work.options, source=folder)
    facts = {
        "data_hash": work.fingerprint(tasks[0]),
        "scenario_file": str(work.loaded.path),
        "design": {
            "points": len(design.points),
            "replications": design.replications,
            "samples": design.samples,
            "swept": list(design.swept),
            "runs": design.n_runs,
            "files": files.hashes,
        },
        **({"parts": makers} if makers else {}),
        **work.options,
    }
    manifest = results.make_manifest(loaded, {}, facts)
    clock.lap("build")
    with _opened(folder, manifest, go_on=resume or rerun_failed) as stored:
        if folder is not None and stored is not None:
            tables = store.read_stored_tables(folder, stored, work.table)
            report("running", design.n_runs, design.n_runs)
            own, warnings = results.without_folder(stored), tuple(stored.get("warnings", ()))
            return result_of(Ended(loaded, design, tables, own, warnings, report, True))
        damaged = 0 if folder is None else store.damaged_lines(folder / store.JOURNAL)
        again = NOT_COMPLETE if rerun_failed else ()
        outcomes = run_tasks(work, tasks, executor, progress=report, folder=folder, again=again, files=files)
        clock.lap("runs")
        states = Counter(outcome.state for outcome in outcomes)
        manifest |= {
            "state": COMPLETE if states[COMPLETE] == len(outcomes) else store.INCOMPLETE,
            "run_states": {state: states[state] for state in (COMPLETE, *NOT_COMPLETE)},
            "timings_seconds": {name: round(seconds, 3) for name, seconds in clock.laps.items()},
            "seconds_of_runs": round(sum(outcome.seconds for outcome in outcomes), 3),
        }
        tables = statistics.batch_tables(loaded.name, design, outcomes)
        warnings = statistics.batch_warnings(outcomes, design, tables["runs"])
        if damaged:
            lines = f"{counted(damaged, 'line')} of {store.JOURNAL}"
            warnings += (f"{lines} could not be read; the runs of these lines were repeated",)
        result = result_of(Ended(loaded, design, tables, manifest, warnings, report, False))
        # The result may have read the data files again.
        files.require_unchanged()
        if folder is not None:
            report("writing", 0, 1)
            store.finish(folder, result.write_tables)
            if result.manifest["state"] == COMPLETE:
                # The tables hold the same data.
                with contextlib.suppress(OSError):
                    (folder / store.JOURNAL).unlink()
    return result


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create a folder if it is missing, and lock it for the duration of the block.

    If the block fails, folders created here are removed if they are empty.
    """
    with results.removing_unused(folder):
        results.make_folder(folder)
        with store.only_writer(folder):
            yield


@contextlib.contextmanager
def _opened(folder: Path | None, manifest: Mapping[str, Any], *, go_on: bool) -> Iterator[dict[str, Any] | None]:
    """Lock the folder of a batch, if it has one, and write its manifest.

    `go_on` marks a resumed batch. An `InputError` is raised if a new batch has a folder that is not empty, or a resumed
    one has none or another batch. Yields the stored manifest if the batch is already complete, so that the folder needs
    no change; otherwise None. If the block fails, a new folder in which no run has finished is removed.
    """
    if folder is None:
        yield None
        return
    if go_on and not folder.is_dir():
        raise InputError("no batch to continue", source=folder, expected="the folder of a batch")
    (results.require_no_links if go_on else results.require_free)(folder)
    with _made(folder):
        if go_on and store.require_same(folder, manifest) == COMPLETE and not store.keeps_runs(folder):
            yield store.read_manifest(folder)
            return
        try:
            store.write_manifest(folder, {**manifest, "state": store.RUNNING})
            yield None
        except BaseException:
            if not go_on and not store.keeps_runs(folder):
                shutil.rmtree(folder, ignore_errors=True)
            raise


def run_tasks(
    work: Work,
    tasks: Sequence[RunTask],
    executor: Executor | None = None,
    *,
    progress: Progress | None = None,
    folder: Path | None = None,
    again: Iterable[str] = (),
    files: store.DataFiles | None = None,
) -> list[RunOutcome]:
    """Run every task that the journal of a folder does not hold.

    Return the outcomes of all tasks.

    Parameters
    ----------
    work : callable
        Callable that does one run.
    tasks : sequence of RunTask
        Tasks with the same key are run once.
    executor : Executor, optional
        Default: run in this process, and on all cores if the runs take long.
    progress : callable, optional
    folder : Path, optional
        Folder of the journal, locked by the caller. If not given, outcomes are only kept in memory.
    again : iterable of str
        Runs in the journal with one of these states are repeated.
    files : DataFiles, optional
        Data files of the runs, checked before finished runs are written.

    Returns
    -------
    list of RunOutcome
        One outcome per task, in the order of tasks.

    Raises
    ------
    InputError
        If the journal cannot be written, a scheduler cannot be reached, or the data changed.
    """
    by_key, again = {task.key: task for task in tasks}, set(again)
    done: dict[str, RunOutcome] = {}
    if folder is not None:
        before = store.read_journal(folder / store.JOURNAL, by_key.values())
        done |= {outcome.task.key: outcome for outcome in before if outcome.state not in again}
    report = progress or (lambda task, done, total: None)
    report("running", len(done), len(by_key))
    missing = [task for key, task in by_key.items() if key not in done]
    with contextlib.closing((executor or AutomaticExecutor()).execute(work, missing)) as groups:
        for group in groups:
            if files is not None:
                files.require_unchanged()
            if folder is not None:
                store.write_outcomes(folder / store.JOURNAL, group)
            for outcome in group:
                task, level = outcome.task, logging.INFO if outcome.state == COMPLETE else logging.WARNING
                done[task.key] = outcome
                _LOGGER.log(level, "point %d, replication %d: %s", task.point, task.replication, outcome.state)
            report("running", len(done), len(by_key))
    return [replace(done[task.key], task=task) for task in tasks]


def evaluate(
    loaded: Scenario[Any],
    points: pd.DataFrame,
    *,
    replications: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    work: ScenarioWork | None = None,
    known: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """Return the tables of a scenario's runs at given points.

    A replication has the same random draws at all points.

    Parameters
    ----------
    loaded : Scenario
        Sections on replications, sweep, uncertainty and stress test are ignored.
    points : DataFrame
        One row per point, one column per key path, such as ``economics.loss``.
    replications : int
        Number of runs at each point.
    executor : Executor, optional
        Default: run in this process, and on all cores if the runs take long.
    progress : callable, optional
        Called with the task, the number of finished runs and the number of all runs.
    folder : Path, optional
        Folder that keeps finished runs, created if missing. A later call with the same scenario and data does not
        repeat them.
    work : ScenarioWork, optional
        Callable that does one run; default: play the scenario's policies.
    known : sequence of str
        Columns of `points` that are not keys of the scenario but are used by `work`.

    Returns
    -------
    dict of str to DataFrame
        The tables of the runs, by name. ``runs`` has one row per run and policy, sorted by point and replication, with
        the columns of ``runs.parquet`` (``point`` is the row number in `points`) and one column per key path. A failed
        run has one row without measures, whose ``state`` is not ``complete``.

    Raises
    ------
    InputError
        If a point is invalid for the scenario (raised before the first run), a data file changes before the last run
        ends, or the folder cannot be written.
    """
    design, work = Design(points.reset_index(drop=True), replications), work or ScenarioWork(loaded)
    of_scenario = Design(design.points.drop(columns=list(known)), replications)
    check_points(loaded, of_scenario)
    # The folder has no manifest, so the hashes of the data files are part of the keys of the runs.
    files = store.DataFiles(loaded, of_scenario)
    tasks = tasks_of(loaded, design, {**content_of_run(loaded), **work.options, "files": files.hashes})
    with contextlib.nullcontext() if folder is None else _made(folder):
        outcomes = run_tasks(work, tasks, executor, progress=progress, folder=folder, files=files)
    return statistics.batch_tables(loaded.name, design, outcomes)


@dataclass(frozen=True, eq=False)
class Repeated:
    """A repeated run of a batch.

    Parameters
    ----------
    task : RunTask
    run : RunResult
        Rows of the run with the columns of ``runs.parquet``. Its summary holds measures by policy; for assessments, by
        size of the release and adversary, averaged over the releases that an assessment draws in the run.
    verdict : str
        Result of the comparison with the stored run, as a sentence.
    single : RunResult, optional
        Result of the single run with its records, if requested.
    """

    task: RunTask
    run: results.RunResult
    verdict: str
    single: results.RunResult | None


def rerun(
    folder: str | Path,
    run: str,
    *,
    scenario: Scenario[Any] | None = None,
    with_records: bool = False,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> Repeated:
    """Repeat one run of a batch, in this process.

    Parameters
    ----------
    folder : str or Path
        Results folder of the batch, which may be incomplete.
    run : str
        Value of column ``run``, or its first digits; or ``POINT/REPLICATION``.
    scenario : Scenario, optional
        The scenario of the batch, required if it has tables or objects in memory; by default, that of the folder.
    with_records : bool
        Whether to return the result of the single run with its records; for masking scenarios, only possible for the
        first replication.
    allow_code : bool
        Whether to import Python modules that the scenario names.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    Repeated
        The run, and the comparison with the stored run.

    Raises
    ------
    InputError
        If the folder does not hold a batch, or one of cross-play, the scenario is another one, the batch does not have
        this run, several runs have
        such a key, records are not available, or the scenario names modules that may not be imported. An error of the
        run itself is raised unchanged.

    See Also
    --------
    run_batch : run points and replications.
    load_result : load the result of the whole batch.

    Examples
    --------
    >>> import reidsim
    >>> sweep = {"sweep.values": {"economics.loss": [100, 300]}}
    >>> result = reidsim.run_batch("wan2015", overrides=sweep, folder="swept")
    >>> reidsim.rerun("swept", "1/0").verdict
    'All values equal the values in the folder.'
    """
    folder = Path(folder)
    manifest = store.read_manifest(folder)
    if "cross_play" in manifest:
        expected = "a results folder of a batch from reidsim run"
        raise InputError("a run of cross-play cannot be repeated alone", source=folder, expected=expected)
    loaded = scenario or store.scenario_of(manifest, allow_code=allow_code)
    if results.scenario_hash(results.recorded_content(loaded)) != manifest["scenario_hash"]:
        problem, expected = "not the scenario of the batch", manifest["scenario"]
        raise InputError(problem, source=folder, where="scenario", found=loaded.name, expected=expected)
    design = design_of(loaded)
    all_tasks = tasks_of(loaded, design, content_of_run(loaded))
    stored = store.read_runs(folder, manifest, design, all_tasks)
    rows = stored.loc[stored["run"].str.startswith(run), ["point", "replication"]].itertuples(index=False)
    places = {run} if "/" in run else {f"{point}/{replication}" for point, replication in rows}
    found = [each for each in all_tasks if f"{each.point}/{each.replication}" in places]
    if len(found) != 1:
        problem = "several runs have keys that begin with this text" if found else "no such run"
        ranges = f"points 0 to {len(design.points) - 1}, replications 0 to {design.replications - 1}"
        expected = ranges if "/" in run else "a key from column run, or POINT/REPLICATION"
        raise InputError(problem, source=folder, where="--run", found=run, expected=expected)
    task = found[0]
    single = at_point(loaded, task.values, task.seed)
    single.check_parts()
    if with_records and has_numbered_replications(loaded.scenario) and task.replication:
        problem, expected = "records are kept only for the first replication", "a run of replication 0, or no option -o"
        raise InputError(problem, where="--run", found=run, expected=expected)
    (progress or (lambda task, done, total: None))("running", 0, 1)
    tables, warnings = ScenarioWork(replace(loaded, path=loaded.path.absolute()))(task)
    runs = statistics.batch_tables(loaded.name, design, [RunOutcome(task, COMPLETE, tables)])["runs"]
    changed = store.changed_files(manifest["design"].get("files", {}), store.DataFiles(loaded, design).hashes)
    groups = tuple(column for column in GROUP_COLUMNS if column in runs and column != "sample")
    others = {"point", "replication", "seed", "sample", *groups}
    repeated = results.RunResult(
        runs,
        pd.DataFrame(),
        AnalysisTables(),
        by=groups,
        measured=tuple(
            name
            for name in map(str, runs.select_dtypes("number"))
            if name not in others and not name.endswith(statistics.ERROR)
        ),
        name=loaded.name,
        manifest=manifest,
        warnings=warnings,
    )
    return Repeated(
        task,
        repeated,
        verdict=_verdict(stored, runs, task, manifest, changed),
        single=run_once(single, progress=progress) if with_records else None,
    )


def _verdict(
    stored: pd.DataFrame, runs: pd.DataFrame, task: RunTask, manifest: Mapping[str, Any], changed: Sequence[str]
) -> str:
    before = stored[(stored["point"] == task.point) & (stored["replication"] == task.replication)]
    if before.empty:
        return "The folder does not contain this run yet."
    if (before["state"] != COMPLETE).any():
        return f"The run in the folder ended as {before['state'].iloc[0]!r}: {before['error'].iloc[0]}"
    compared = [column for column in runs.columns if column not in ("run", "error") and column in before]
    if before[compared].reset_index(drop=True).astype(object).equals(runs[compared].astype(object)):
        return "All values equal the values in the folder."
    version = manifest.get("code_version")
    by = "" if version == code_version() else f", which was written by another version of the program ({version})"
    since = f"; data files changed since then: {listed(changed)}" if changed else ""
    return f"Some values differ from the folder{by}{since}."


def run_loaded(
    loaded: Scenario[Any], *, executor: Executor | None = None, progress: Progress | None = None
) -> results.RunResult:
    """Return the result of a scenario: of a batch if it is one, else of a single run.

    Results are only kept in memory. `executor` does the runs of a batch; see `is_batch`. A single run also looks for
    wrong beliefs by which guarantees fail (see `run_once`); executor ``dask`` reads the files of its table.
    """
    if is_batch(loaded.scenario):
        return run_batch_loaded(loaded, executor, progress=progress)
    if isinstance(executor, DaskExecutor):
        loaded = replace(loaded, over_files=executor.over_files)
    return run_once(loaded, progress=progress, explain=True)


def run_batch_loaded(loaded: Scenario[Any], executor: Executor | None = None, **keeping: Any) -> results.RunResult:
    """Return the result of all points and replications of a loaded scenario.

    `keeping` are further arguments of `run_job`, such as ``folder`` and ``progress``. For the class of the result, see
    `batch_result`.
    """
    return run_job(ScenarioWork(loaded), batch_result, executor, **keeping)


def batch_result(ended: Ended) -> results.RunResult:
    """Return the result of a batch, with measures and statistics, as a `BatchResult`.

    If the scenario only has numbered replications, which a single run could draw itself, this is the `RunResult` of
    that run.
    """
    scenario, tables = ended.loaded.scenario, dict(ended.tables)
    if has_numbered_replications(scenario) and not is_batch(scenario):
        return _with_first_draw(ended)
    if not ended.stored:
        found = statistics.measured(tables["runs"], ended.design)
        tables |= {"statistics": statistics.statistics_table(found), "differences": statistics.differences_table(found)}
    analysis = AnalysisTables({name: tables[name] for name in _ANALYSIS if name in tables})
    return statistics.BatchResult(tables["runs"], pd.DataFrame(), analysis, design=ended.design, **ended.common)


def _with_first_draw(ended: Ended) -> results.RunResult:
    """Return the result of replications that a single run could draw itself.

    `ended` is the batch of these replications. The result equals that of one run: records and figure tables are from
    the first replication, which is played again. If runs failed, the table of runs keeps the columns that describe the
    failures.
    """
    single = run_once(ended.loaded.with_sections(replications=1), progress=ended.report)
    runs = ended.tables["runs"].drop(columns="run", errors="ignore")
    if (runs["state"] == COMPLETE).all():
        runs = runs[list(single.runs.columns)]
    analysis = single.analysis
    if "runtimes" in ended.tables:
        runtimes = ended.tables["runtimes"].drop(columns="point", errors="ignore")
        analysis = replace(analysis, named={**analysis.named, "runtimes": runtimes})
    manifest, warnings = single.manifest | ended.manifest, dict.fromkeys((*single.warnings, *ended.warnings))
    return replace(single, runs=runs, analysis=analysis, manifest=manifest, warnings=tuple(warnings))

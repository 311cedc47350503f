"""Doing the runs of a batch: those of a folder that are missing, each written down as it ends, or points in memory."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import Design, check_points, content_of_run, has_numbered_replications, iterate_runs
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import AutomaticExecutor
from reidsim.engine.batch.gathered import Gathered, batch_tables
from reidsim.engine.batch.journal import JOURNAL, Journal, read_journal
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.tasks import COMPLETE, RunTask, Work, run_keys
from reidsim.engine.results import make_folder, removing_unused
from reidsim.errors import InputError
from reidsim.random_streams import replication_seed
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

_LOGGER = logging.getLogger(__name__)


def tasks_of(loaded: LoadedScenario[ScenarioHead], design: Design, content: dict[str, object]) -> list[RunTask]:
    """Return the runs of a batch, those that share draws and all but money next to each other.

    They are sorted by replication, and so by draws, then by what else than money the points differ in.

    Parameters
    ----------
    loaded : LoadedScenario
    design : Design
    content : dict
        Of a single run, before the values of a point; see `content_of_run`.
    """
    seed = loaded.scenario.seed
    numbered = has_numbered_replications(loaded.scenario)
    seeds = [seed if numbered else replication_seed(seed, number) for number in range(design.replications)]
    values = [design.values(point) for point in range(len(design.points))]
    tasks, key_of = [], run_keys(content)
    alike = design.alike(kind_of(loaded.scenario).amount_keys).tolist()
    for point, number in sorted(iterate_runs(design), key=lambda run: (run[1], alike[run[0]], run[0])):
        key = key_of(values[point], number, seeds[number])
        tasks.append(RunTask(key, point, number, seeds[number], values[point]))
    return tasks


def run_tasks(
    work: Work,
    tasks: Sequence[RunTask],
    executor: Executor,
    *,
    progress: Progress | None = None,
    folder: Path | None = None,
    again: Iterable[str] = (),
    require_unchanged: Callable[[], None] = lambda: None,
    data: str = "",
) -> Gathered:
    """Do every task that the journal of a folder does not hold yet.

    Parameters
    ----------
    work : callable
        Does one run.
    tasks : sequence of RunTask
        Tasks with the same key are done once.
    executor : Executor
    progress : callable, optional
    folder : Path, optional
        Of the journal; must exist, and be held by the caller. Without it, nothing outlasts the call.
    again : iterable of str
        States in which runs that the journal holds are done again.
    require_unchanged : callable
        Raises an error if the data changed; called before finished runs are kept.
    data : str
        Hash of the data, written to the journal.

    Returns
    -------
    Gathered
        One outcome per task, in the order of tasks.

    Raises
    ------
    InputError
        If the journal cannot be written, a scheduler cannot be reached, or the data changed.
    """
    by_key = {task.key: task for task in tasks}
    missing, done, again = dict(by_key), Gathered(), set(again)
    with contextlib.ExitStack() as stack:
        journal = None
        if folder is not None:
            for outcome in read_journal(folder / JOURNAL, by_key):
                if outcome.state not in again:
                    done.add(outcome)
                    del missing[outcome.task.key]
            journal = stack.enter_context(Journal(folder / JOURNAL, data))
        if progress is not None:
            progress("running", len(done), len(by_key))
        groups = stack.enter_context(closing(executor.execute(work, [*missing.values()])))
        for group in groups:
            require_unchanged()
            if journal is not None:
                journal.append(group)
            for outcome in group:
                # What comes from another process has a task of its own.
                done.add(replace(outcome, task=by_key[outcome.task.key]))
                task, level = outcome.task, logging.INFO if outcome.state == COMPLETE else logging.WARNING
                _LOGGER.log(level, "point %d, replication %d: %s", task.point, task.replication, outcome.state)
            if progress is not None:
                progress("running", len(done), len(by_key))
    return done.of_tasks(tasks)


def point_tables(
    loaded: LoadedScenario[ScenarioHead],
    points: pd.DataFrame,
    *,
    replications: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    work: Work | None = None,
    options: Mapping[str, Any] | None = None,
    known: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """Run a scenario at given points, with the same random draws at each of them.

    Parameters
    ----------
    loaded : LoadedScenario
        What it says about replications, sweeps, uncertainty and analysis is left out.
    points : DataFrame
        One row per point, one column per key path, such as ``economics.loss``.
    replications : int
        Runs at each point.
    executor : Executor, optional
        Where runs are done; if not given, here, or on all cores if that takes long.
    progress : callable, optional
        Called with what is being done, how many runs ended, and how many there are.
    folder : Path, optional
        Made if it is not there. Runs that ended are kept in it, and not done again when the call is repeated with the
        same scenario and data.
    work : callable, optional
        Does the runs; by default they play the scenario's policies.
    options : mapping, optional
        What tells these runs from those of other work.
    known : sequence of str
        Columns that are no keys of the scenario, but known to the work.

    Returns
    -------
    dict of str to DataFrame
        Every table that runs leave, by name. ``runs`` has one row per run and policy, sorted by point and replication:
        ``scenario``, ``point`` (row number), and so on as in ``runs.parquet``, then one column per key path. A run that
        did not end well is one row whose ``state`` is not ``complete``, without measures.

    Raises
    ------
    InputError
        If the scenario cannot have the values of a point (before the first run), a data file changes before the last
        run ends, or the folder cannot be written.
    """
    if replications < 1:
        raise InputError("not a number of runs", where="replications", found=replications, expected="1 or more")
    if points.empty and len(points.columns):
        raise InputError("no points", expected="at least one row")
    design = Design(points.reset_index(drop=True), replications)
    of_scenario = Design(design.points.drop(columns=list(known)), replications)
    check_points(loaded, of_scenario)
    # The folder has no manifest, so what runs were made of is part of what tells them apart.
    files = DataFiles(loaded, of_scenario)
    content = {**content_of_run(loaded), **(options or {}), "files": files.hashes}
    tasks = tasks_of(loaded, design, content)
    with contextlib.ExitStack() as stack:
        if folder is not None:
            stack.enter_context(removing_unused(folder))
            make_folder(folder)
            stack.enter_context(only_writer(folder))
        executor = executor or AutomaticExecutor()
        outcomes = run_tasks(
            work or ScenarioWork(loaded, design), tasks, executor, progress=progress, folder=folder,
            require_unchanged=lambda: files.require_unchanged(loaded.path),
        )  # fmt: skip
    return batch_tables(loaded.name, design, outcomes)

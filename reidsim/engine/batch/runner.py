"""Run the tasks of a batch that are not in the journal of its folder yet.

Each outcome is written to the journal at once. Points can also be run in memory, without a folder.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.engine.batch.batch_tables import batch_tables
from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import Design, check_points, content_of_run, has_numbered_replications
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import AutomaticExecutor
from reidsim.engine.batch.journal import JOURNAL, Journal, read_journal
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, Work, run_keys
from reidsim.engine.results import make_folder, removing_unused
from reidsim.errors import InputError
from reidsim.random_streams import replication_seed
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

_LOGGER = logging.getLogger(__name__)


def tasks_of(loaded: Scenario[ScenarioHead], design: Design, content: dict[str, object]) -> list[RunTask]:
    """Return the tasks of a batch, sorted so that neighbours can share a study.

    Tasks are sorted by replication, then by the values of keys other than payoff parameters, then by point.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    content : dict
        Scenario of a single run without the values of a point, as plain data; see `content_of_run`.
    """
    seed = loaded.scenario.seed
    numbered = has_numbered_replications(loaded.scenario)
    seeds = [seed if numbered else replication_seed(seed, number) for number in range(design.replications)]
    values = [design.values(point) for point in range(len(design.points))]
    key_of, alike = run_keys(content), design.alike(kind_of(loaded.scenario).amount_keys).tolist()
    runs = itertools.product(range(design.replications), range(len(values)))
    return [
        RunTask(key_of(values[point], number, seeds[number]), point, number, seeds[number], values[point])
        for number, point in sorted(runs, key=lambda run: (run[0], alike[run[1]], run[1]))
    ]


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
) -> list[RunOutcome]:
    """Run every task that the journal of a folder does not hold.

    Return the outcomes of all tasks.

    Parameters
    ----------
    work : callable
        Callable that does one run.
    tasks : sequence of RunTask
        Tasks with the same key are run once.
    executor : Executor
    progress : callable, optional
    folder : Path, optional
        Folder of the journal, locked by the caller. If not given, outcomes are only kept in memory.
    again : iterable of str
        Runs in the journal with one of these states are repeated.
    require_unchanged : callable
        Raises an error if the data changed; called before finished runs are written.
    data : str
        Hash of the data, written to the journal.

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
    with contextlib.ExitStack() as stack:
        journal = None
        if folder is not None:
            kept = read_journal(folder / JOURNAL, by_key)
            done |= {outcome.task.key: outcome for outcome in kept if outcome.state not in again}
            journal = stack.enter_context(Journal(folder / JOURNAL, data))
        report = progress or (lambda task, done, total: None)
        report("running", len(done), len(by_key))
        missing = [task for key, task in by_key.items() if key not in done]
        for group in stack.enter_context(closing(executor.execute(work, missing))):
            require_unchanged()
            if journal is not None:
                journal.append(group)
            for outcome in group:
                done[outcome.task.key] = outcome
                level = logging.INFO if outcome.state == COMPLETE else logging.WARNING
                task = outcome.task
                _LOGGER.log(level, "point %d, replication %d: %s", task.point, task.replication, outcome.state)
            report("running", len(done), len(by_key))
    return [replace(done[task.key], task=task) for task in tasks]


def point_tables(
    loaded: Scenario[ScenarioHead],
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
    work : callable, optional
        Callable that does one run; default: play the scenario's policies.
    options : mapping, optional
        Options that are part of the key of each run, to distinguish runs of different work.
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
    if points.empty and len(points.columns):
        raise InputError("no points", expected="at least one row")
    design = Design(points.reset_index(drop=True), replications)
    of_scenario = Design(design.points.drop(columns=list(known)), replications)
    check_points(loaded, of_scenario)
    # The folder has no manifest, so the hashes of the data files are part of the keys of the runs.
    files = DataFiles(loaded, of_scenario)
    tasks = tasks_of(loaded, design, {**content_of_run(loaded), **(options or {}), "files": files.hashes})
    with contextlib.ExitStack() as stack:
        if folder is not None:
            stack.enter_context(removing_unused(folder))
            make_folder(folder)
            stack.enter_context(only_writer(folder))
        outcomes = run_tasks(
            work or ScenarioWork(loaded),
            tasks,
            executor or AutomaticExecutor(),
            progress=progress,
            folder=folder,
            require_unchanged=lambda: files.require_unchanged(loaded.path),
        )
    return batch_tables(loaded.name, design, outcomes)

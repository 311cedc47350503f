"""Do the runs of a batch: the runs that a folder lacks, each written to the journal as it ends, or points in memory."""

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

from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import Design, check_points, content_of_run, has_numbered_replications
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.choice import AutomaticExecutor
from reidsim.engine.batch.gathered import batch_tables
from reidsim.engine.batch.journal import JOURNAL, Journal, read_journal
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, Work, run_keys
from reidsim.engine.results import make_folder, removing_unused
from reidsim.errors import InputError
from reidsim.random_streams import replication_seed
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

_LOGGER = logging.getLogger(__name__)


def tasks_of(loaded: LoadedScenario[ScenarioHead], design: Design, content: dict[str, object]) -> list[RunTask]:
    """Return the runs of a batch, sorted so that neighbouring runs can share a study.

    Runs are sorted by replication, then by the values that are no amounts of money, then by point.

    Parameters
    ----------
    loaded : LoadedScenario
    design : Design
    content : dict
        Scenario of a single run, before the values of a point; see `content_of_run`.
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
    """Do every task that the journal of a folder lacks.

    Parameters
    ----------
    work : callable
        Does one run.
    tasks : sequence of RunTask
        Tasks with the same key are done once.
    executor : Executor
    progress : callable, optional
    folder : Path, optional
        Folder of the journal, locked by the caller. Without it, outcomes are kept in memory only.
    again : iterable of str
        States of runs in the journal that are repeated.
    require_unchanged : callable
        Raises an error if the data changed; called before finished runs are kept.
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
        Its replications, sweep, uncertainty and stress test are ignored.
    points : DataFrame
        One row per point, one column per key path, such as ``economics.loss``.
    replications : int
        Runs at each point.
    executor : Executor, optional
        Where runs are done; if not given, in this process, or on all cores if that takes long.
    progress : callable, optional
        Called with the task, the number of runs that ended, and the number of runs.
    folder : Path, optional
        Created if missing. Runs that ended are kept in it, and are not repeated by the next call with the same
        scenario and data.
    work : callable, optional
        Does the runs; plays the scenario's policies, if not given.
    options : mapping, optional
        Distinguishes these runs from the runs of other work.
    known : sequence of str
        Columns that are no keys of the scenario, but known to the work.

    Returns
    -------
    dict of str to DataFrame
        The tables of the runs, by name. ``runs`` has one row per run and policy, sorted by point and replication:
        ``scenario``, ``point`` (row number), and so on as in ``runs.parquet``, then one column per key path. A failed
        run is one row whose ``state`` is not ``complete``, without measures.

    Raises
    ------
    InputError
        If the scenario cannot have the values of a point (before the first run), a data file changes before the last
        run ends, or the folder cannot be written.
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

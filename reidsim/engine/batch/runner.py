"""Doing the runs of a batch that are not yet done, and writing each down as it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from reidsim.engine.batch.design import Design, has_numbered_replications, iterate_runs
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.gathered import Gathered
from reidsim.engine.batch.journal import JOURNAL, Journal, read_journal
from reidsim.engine.batch.tasks import RunTask, Work, run_keys
from reidsim.random_streams import replication_seed
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress


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

    Returns
    -------
    Gathered
        One outcome per task, in the order of tasks.

    Raises
    ------
    InputError
        If the journal cannot be written, or a scheduler cannot be reached.
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
            journal = stack.enter_context(Journal(folder / JOURNAL))
        if progress is not None:
            progress("running", len(done), len(by_key))
        groups = stack.enter_context(closing(executor.execute(work, [*missing.values()])))
        for group in groups:
            if journal is not None:
                journal.append(group)
            for outcome in group:
                # What comes from another process has a task of its own.
                done.add(replace(outcome, task=by_key[outcome.task.key]))
            if progress is not None:
                progress("running", len(done), len(by_key))
    return done.of_tasks(tasks)

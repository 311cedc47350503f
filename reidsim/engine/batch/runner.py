"""Doing the runs of a batch that are not yet done, and writing each down as it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from reidsim.engine.batch.design import Design, has_numbered_replications, iterate_runs
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.journal import JOURNAL, Journal, read_journal
from reidsim.engine.batch.tasks import RunOutcome, RunTask, Work, run_keys
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
) -> list[RunOutcome]:
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
    list of RunOutcome
        One per task.

    Raises
    ------
    InputError
        If the journal cannot be written, or a scheduler cannot be reached.
    """
    by_key = {task.key: task for task in tasks}
    done: dict[str, RunOutcome] = {}
    again = set(again)
    with contextlib.ExitStack() as stack:
        journal = None
        if folder is not None:
            kept = read_journal(folder / JOURNAL, by_key)
            done = {outcome.task.key: outcome for outcome in kept if outcome.state not in again}
            journal = stack.enter_context(Journal(folder / JOURNAL))
        missing = [task for key, task in by_key.items() if key not in done]
        if progress is not None:
            progress("running", len(done), len(by_key))
        groups = stack.enter_context(closing(executor.execute(work, missing)))
        for group in groups:
            if journal is not None:
                journal.append(group)
            done.update((outcome.task.key, outcome) for outcome in group)
            if progress is not None:
                progress("running", len(done), len(by_key))
    return [replace(done[task.key], task=task) for task in tasks]

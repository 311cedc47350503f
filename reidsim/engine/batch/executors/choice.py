"""Executors by name.

The default executor starts worker processes only if they save time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

from reidsim.engine.batch.executors import HAND_OVER_SECONDS, Executor, one_thread
from reidsim.engine.batch.executors.capacity import default_workers, require_carried
from reidsim.engine.batch.executors.cluster import DaskExecutor
from reidsim.engine.batch.executors.processes import ProcessExecutor
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, Work, attempt
from reidsim.errors import InputError, require_among
from reidsim.interrupts import came, stop_if_interrupted

EXECUTORS = ("auto", "serial", "processes", "dask")


def executor_named(
    name: str = "auto", *, workers: int | None = None, scheduler: str | None = None, timeout: float | None = None
) -> Executor:
    """Return the executor with a given name.

    Parameters
    ----------
    name : str
        One of `EXECUTORS`.
    workers : int, optional
        Number of processes; default: as many as cores and free memory allow.
    scheduler : str, optional
        Address of a dask cluster's scheduler; default: start a cluster on this computer.
    timeout : float, optional
        Seconds after which a run is stopped; needs separate processes, which executor ``auto`` then always starts.

    Raises
    ------
    InputError
        If there is no such executor, it does not support an option, or cores or memory do not suffice for `workers`.
    """
    require_among("unknown executor", (name,), EXECUTORS, where="executor")
    if workers is not None and workers < 1:
        raise InputError("number of processes out of range", where="workers", found=workers, expected="1 or more")
    if workers is not None:
        require_carried(workers)
    if timeout is not None and not timeout > 0:
        raise InputError(
            "time limit out of range", where="timeout", found=timeout, expected="a number of seconds above 0"
        )
    if scheduler is not None and name != "dask":
        raise InputError(
            "a scheduler needs executor dask", where="scheduler", found=scheduler, expected="executor dask"
        )
    if workers is not None and (scheduler is not None or name == "serial"):
        expected = "executor auto or processes, or executor dask without a scheduler"
        raise InputError("the number of processes cannot be set for this executor", where="workers", expected=expected)
    if timeout is not None and name not in ("auto", "processes"):
        # Only a separate process can stop a run.
        raise InputError(
            "this executor does not support a time limit", where="timeout", found=name, expected="executor processes"
        )
    if name == "serial":
        return SerialExecutor()
    if name == "dask":
        return DaskExecutor(scheduler, workers)
    if name == "processes" or timeout is not None:
        return ProcessExecutor(workers, timeout)
    return AutomaticExecutor(workers)


# Minimum expected remaining time, in seconds, for starting processes; below it, starting them and reading the data in
# each costs more time than it saves.
WORTH_SECONDS = 5.0


class AutomaticExecutor:
    """Executor that starts in this process and switches to several processes.

    It switches if the remaining runs are expected to take more than `WORTH_SECONDS`.

    Parameters
    ----------
    workers : int, optional
        Maximum number of processes; default: as many as cores and free memory allow.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Run every task; see `Executor`."""
        done, workers = 0, self._workers or default_workers()

        def goes_on(outcome: RunOutcome) -> bool:
            nonlocal done
            done += 1
            left = len(tasks) - done
            # The first run also reads files and compiles, so its duration is not multiplied by the number of runs.
            expected = left * outcome.seconds if done > 1 else outcome.seconds
            return workers == 1 or left < 2 or expected < WORTH_SECONDS

        yield from one_by_one(work, tasks, goes_on)
        if done < len(tasks):
            yield from ProcessExecutor(workers).execute(work, tasks[done:])


class SerialExecutor:
    """Executor that does all runs in this process, one after the other."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Run every task in the given order; see `Executor`."""
        yield from one_by_one(work, tasks, lambda outcome: True)


def one_by_one(
    work: Work, tasks: Sequence[RunTask], goes_on: Callable[[RunOutcome], bool]
) -> Generator[list[RunOutcome], None, None]:
    """Run tasks in this process until `goes_on` returns False for an outcome.

    Yield groups of outcomes, in the order of tasks, about every `HAND_OVER_SECONDS`.
    """
    group: list[RunOutcome] = []
    since = time.monotonic()
    with one_thread():
        try:
            for task in tasks:
                outcome = attempt(work, task)
                if outcome.state == COMPLETE or not came():
                    group.append(outcome)
                # A library may have caught the interrupt, or turned it into an error of the run.
                stop_if_interrupted()
                if not goes_on(group[-1]):
                    break
                if time.monotonic() - since >= HAND_OVER_SECONDS:
                    ended, group = group, []
                    yield ended
                    since = time.monotonic()
        except KeyboardInterrupt:
            # Yield the outcomes of the runs before the error, so that they are kept.
            if group:
                yield group
            raise
        if group:
            yield group

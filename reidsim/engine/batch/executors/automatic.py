"""Runs done here while that is quick, and on all cores where it is not."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from reidsim.engine.batch.executors.capacity import workers_for
from reidsim.engine.batch.executors.processes import ProcessExecutor
from reidsim.engine.batch.executors.serial import one_by_one
from reidsim.engine.batch.tasks import RunOutcome, RunTask, Work

# Below this, starting processes, each of which has to read what the scenario names, takes longer than it saves.
WORTH_SECONDS = 5.0


class AutomaticExecutor:
    """Begins here, and hands over to processes once the runs left are expected to take more than five seconds.

    Parameters
    ----------
    workers : int, optional
        Processes at most; as many as there are cores and free memory for, if not given.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task; see `Executor`."""
        done, workers = 0, workers_for(self._workers, work)

        def goes_on(outcome: RunOutcome) -> bool:
            nonlocal done
            done += 1
            left = len(tasks) - done
            # The first run also reads files and compiles; it says something about the others only if they are few.
            expected = left * outcome.seconds if done > 1 else outcome.seconds
            return workers == 1 or left < 2 or expected < WORTH_SECONDS

        yield from one_by_one(work, tasks, goes_on)
        if done < len(tasks):
            yield from ProcessExecutor(workers).execute(work, tasks[done:])

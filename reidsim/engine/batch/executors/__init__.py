"""Executors of the runs of a batch.

Runs are done in this process, in several processes of this computer, or on a cluster. An executor runs tasks in any
order. It yields outcomes in groups as they become available; the caller writes each group to disk at once.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Generator, Sequence
from typing import Protocol

from reidsim.engine.batch.tasks import RunOutcome, RunTask, Work

# Target interval, in seconds, between groups of outcomes (each is one write to disk), and the target duration of a
# chunk of tasks for a worker.
HAND_OVER_SECONDS = 0.25
# Maximum number of runs in a chunk, because a worker may keep the outcomes in memory until the chunk is finished.
_MOST_RUNS = 1_000


class Executor(Protocol):
    """Protocol of executors, which do the runs of a batch."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Run every task once; yield groups of outcomes in the order in which runs finish.

        Closing the generator early ends all worker processes.
        """


class Pace:
    """The mean duration of finished runs, which determines the next chunk."""

    def __init__(self) -> None:
        self._seconds, self._ended = 0.0, 0

    def note(self, outcomes: Sequence[RunOutcome]) -> None:
        """Add the durations of finished runs."""
        self._seconds += sum(outcome.seconds for outcome in outcomes)
        self._ended += len(outcomes)

    def chunk(self, left: deque[RunTask], workers: int) -> list[RunTask]:
        """Remove and return the next chunk of tasks.

        A chunk is about `HAND_OVER_SECONDS` of work, less near the end: at most 1/(2 `workers`) of the remaining tasks,
        so that every worker stays busy, but at least one. Before the first outcome, it is one task.
        """
        size = 1
        if self._ended:
            quick = math.ceil(HAND_OVER_SECONDS / max(self._seconds / self._ended, 1e-6))
            size = max(1, min(quick, _MOST_RUNS, len(left) // (2 * workers)))
        return [left.popleft() for _ in range(min(size, len(left)))]


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Return a context that limits linear algebra to one thread.

    Sums then do not depend on the number of cores, and parallel runs do not compete for cores.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: contextlib.AbstractContextManager[object] = threadpool_limits(1)
    return limits

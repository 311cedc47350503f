"""Executors of the runs of a batch: this process, processes of this computer, or a cluster.

An executor does tasks in any order and gives back groups of outcomes as they come, to be written down together.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Generator, Sequence
from typing import Protocol

from reidsim.engine.batch.tasks import RunOutcome, RunTask, Work

# Outcomes are handed over, and written to disk, about this often; workers are given about as much work at a time.
HAND_OVER_SECONDS = 0.25
# Most runs at a time, since a worker keeps their outcomes until all have ended.
_MOST_RUNS = 1_000


class Executor(Protocol):
    """Does runs, somewhere."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task once; yield outcomes in groups, in the order in which runs end.

        Closing the generator before its end leaves no process behind.
        """


class Pace:
    """How long runs have taken so far."""

    def __init__(self) -> None:
        self._seconds, self._ended = 0.0, 0

    def note(self, outcomes: Sequence[RunOutcome]) -> None:
        """Take runs into account that ended."""
        self._seconds += sum(outcome.seconds for outcome in outcomes)
        self._ended += len(outcomes)

    def chunk(self, left: deque[RunTask], workers: int) -> list[RunTask]:
        """Take as many runs as take about as long as it pays to wait for, while enough are left for every worker."""
        size = 1
        if self._ended:
            quick = math.ceil(HAND_OVER_SECONDS / max(self._seconds / self._ended, 1e-6))
            size = max(1, min(quick, _MOST_RUNS, len(left) // (2 * workers)))
        return [left.popleft() for _ in range(min(size, len(left)))]


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Keep linear algebra on one thread: sums do not depend on the number of cores, and runs do not compete."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: contextlib.AbstractContextManager[object] = threadpool_limits(1)
    return limits

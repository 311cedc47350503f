"""Where the runs of a batch are done: in this process, in processes of this computer, or on a cluster.

An executor does tasks in any order and gives back groups of outcomes as they come, to be written down together.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import Protocol

from reidsim.engine.batch.tasks import RunOutcome, RunTask, Work

# Outcomes are handed over, and written to disk, about this often; workers are given about as much work at a time.
HAND_OVER_SECONDS = 0.25


class Executor(Protocol):
    """Does runs, somewhere."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task once; yield outcomes in groups, in the order in which runs end.

        Closing the generator before its end leaves no process behind.
        """


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Keep linear algebra on one thread: sums do not depend on the number of cores, and runs do not compete."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: contextlib.AbstractContextManager[object] = threadpool_limits(1)
    return limits

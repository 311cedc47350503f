"""Runs done one after the other in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

from reidsim import interrupts
from reidsim.engine.batch.executors import HAND_OVER_SECONDS, one_thread
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, Work, attempt


class SerialExecutor:
    """Does runs in this process."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task in the order given; see `Executor`."""
        yield from one_by_one(work, tasks, lambda outcome: True)


def one_by_one(
    work: Work, tasks: Sequence[RunTask], goes_on: Callable[[RunOutcome], bool]
) -> Generator[list[RunOutcome], None, None]:
    """Do tasks in this process, until `goes_on` says no to an outcome; yield groups of outcomes."""
    group: list[RunOutcome] = []
    since = time.monotonic()
    with one_thread():
        try:
            for task in tasks:
                outcome = attempt(work, task)
                if outcome.state == COMPLETE or not interrupts.came():
                    group.append(outcome)
                # A library may have swallowed the interrupt, or made a failure of the run out of it.
                interrupts.stop_if_interrupted()
                if not goes_on(group[-1]):
                    break
                if time.monotonic() - since >= HAND_OVER_SECONDS:
                    ended, group = group, []
                    yield ended
                    since = time.monotonic()
        except KeyboardInterrupt:
            # What ended before is not lost.
            if group:
                yield group
            raise
        if group:
            yield group

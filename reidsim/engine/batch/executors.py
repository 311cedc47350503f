"""Executors of the runs of a batch.

Runs are done in this process, in several processes of this computer, or on a cluster (see `cluster`). An executor runs
tasks in any order. It yields outcomes in groups as they become available; the caller writes each group to disk at once.
The default executor starts worker processes only if they save time.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, cast

from reidsim.core.files import free_memory
from reidsim.core.interrupts import came, stop_if_interrupted
from reidsim.engine.batch import worker
from reidsim.engine.batch.tasks import COMPLETE, KILLED, TIMEOUT, RunOutcome, RunTask, Work, attempt
from reidsim.errors import InputError, refuse_first

# Target interval, in seconds, between groups of outcomes (each is one write to disk).
HAND_OVER_SECONDS = 0.25
# Minimum expected remaining time, in seconds, for starting processes; below it, starting them and reading the data in
# each costs more time than it saves.
WORTH_SECONDS = 5.0
# Memory of a worker after it has imported the package and compiled its functions.
_WORKER_BYTES = 300 * 1024**2
# This number of processes is always allowed: it is harmless on a computer with fewer cores, and allows comparisons
# between numbers of processes.
_ALWAYS = 4
# A run is reported as killed after its process has died this often; a single death may have another cause.
_DEATHS = 2
# The batch fails after this many processes in a row have died before they were ready.
_FAILED_STARTS = 3
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

Groups = Generator[list[RunOutcome], None, None]


class Executor(Protocol):
    """Protocol of executors, which do the runs of a batch."""

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Groups:
        """Run every task once; yield groups of outcomes in the order in which runs finish.

        Closing the generator early ends all worker processes.
        """


# The number of worker processes that fit this computer's cores and free memory.


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def default_workers() -> int:
    """Return the default number of processes: the number of cores, or less if memory is short."""
    return max(1, min(available_cores(), _fitting()))


def require_carried(workers: int) -> None:
    """Check that cores and free memory suffice for a number of processes.

    Up to four processes are allowed on a computer with fewer cores, if memory suffices.

    Raises
    ------
    InputError
        If there are too many processes.
    """
    cores, fitting = available_cores(), _fitting()
    most, problem = max(cores, _ALWAYS), "too many processes"
    refuse_first(
        (workers > most, problem, "workers", workers, f"at most {most}: this computer has {cores} cores"),
        (workers > fitting, problem, "workers", workers, f"at most {fitting}, which fit into free memory"),
    )


def _fitting() -> int:
    """Return the number of workers that fit into free memory.

    A worker needs about as much memory as this process, which has read the data.
    """
    free = free_memory()
    return available_cores() if free is None else max(1, free // max(_WORKER_BYTES, _resident()))


def _resident() -> int:
    """Return the resident memory of this process in bytes; 0 if the operating system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def one_thread() -> contextlib.AbstractContextManager[object]:
    """Return a context that limits linear algebra to one thread.

    Sums then do not depend on the number of cores, and parallel runs do not compete for cores.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: contextlib.AbstractContextManager[object] = threadpool_limits(1)
    return limits


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

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Groups:
        """Run every task in the given order; see `Executor`."""
        workers, done, group, since = self._workers or default_workers(), 0, list[RunOutcome](), time.monotonic()
        with one_thread():
            try:
                for done, task in enumerate(tasks, start=1):
                    outcome = attempt(work, task)
                    if outcome.state == COMPLETE or not came():
                        group.append(outcome)
                    # A library may have caught the interrupt, or turned it into an error of the run.
                    stop_if_interrupted()
                    left = len(tasks) - done
                    # The first run also reads files and compiles, so its duration is not multiplied.
                    expected = outcome.seconds * (left if done > 1 else 1)
                    if workers > 1 and left > 1 and expected >= WORTH_SECONDS:
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
        if done < len(tasks):
            yield from ProcessExecutor(workers).execute(work, tasks[done:])


class SerialExecutor(AutomaticExecutor):
    """Executor that does all runs in this process, one after the other."""

    def __init__(self) -> None:
        super().__init__(1)


class ProcessExecutor:
    """Executor that does runs in several processes of this computer.

    A process does one run at a time and returns each outcome at once. If it dies, its current run is tried once more,
    then reported as ``killed``; all other runs continue. Pools of other packages do not support this: a pool of
    `concurrent.futures` fails completely if one process dies, and a pool of pebble hangs if processes die during their
    start.

    Parameters
    ----------
    workers : int, optional
        Number of processes; default: as many as cores and free memory allow.
    timeout : float, optional
        Seconds after which a run is stopped and reported as ``timeout``.
    """

    def __init__(self, workers: int | None = None, timeout: float | None = None) -> None:
        self._workers, self._timeout = workers, timeout

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Groups:
        """Run every task; see `Executor`.

        Raises
        ------
        InputError
            If no process can be started.
        """
        pool = _Pool(work, tasks, self._workers or default_workers(), self._timeout)
        try:
            while pool.unfinished:
                if group := pool.next_group():
                    yield group
        finally:
            for process in [*pool.workers]:
                pool.remove(process)


class _Worker:
    """A worker process and its current task."""

    def __init__(self, work: bytes, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.task: RunTask | None = None
        self.is_ready, self.since, self._events = False, math.inf, events
        paths = [path or os.getcwd() for path in sys.path]
        self.process = subprocess.Popen(  # noqa: S603 - starts this program
            [sys.executable, "-P", worker.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            # In its own session, a worker does not receive Ctrl-C; this process receives it and ends the workers.
            start_new_session=True,
        )
        self._inbox, self._outbox = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
        threading.Thread(target=self._listen, daemon=True).start()
        self._write(work)

    def give(self, task: RunTask) -> None:
        """Send a task to an idle process."""
        self.task, self.since = task, time.monotonic()
        self._write(pickle.dumps(task))

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self._inbox, self._outbox):
            # Closing the pipe flushes buffered input, which raises OSError because the process is dead.
            with contextlib.suppress(OSError):
                pipe.close()

    def _write(self, message: bytes) -> None:
        # The listening thread handles a broken pipe.
        with contextlib.suppress(OSError):
            self._inbox.write(message)
            self._inbox.flush()

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._events.put((self, pickle.load(self._outbox)))  # noqa: S301 - sent by a process started here
        self._events.put((self, None))


class _Pool:
    """The processes of one batch and the remaining tasks."""

    def __init__(self, work: Work, tasks: Sequence[RunTask], size: int, timeout: float | None) -> None:
        self._work, self._left, self._timeout = (
            pickle.dumps(work),
            deque(tasks),
            math.inf if timeout is None else timeout,
        )
        self._events: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._deaths, self._failed_starts = Counter[str](), 0
        self._size, self.unfinished = min(size, len(tasks)), len(tasks)
        self.workers: set[_Worker] = set()

    def next_group(self) -> list[RunOutcome]:
        """Wait a moment for the processes; return the outcomes that arrived."""
        while len(self.workers) < min(self._size, self.unfinished):
            self.workers.add(_Worker(self._work, self._events))
        group: list[RunOutcome] = []
        until = time.monotonic() + HAND_OVER_SECONDS
        while (wait := until - time.monotonic()) > 0 and len(group) < self.unfinished:
            for idle in self.workers:
                if idle.is_ready and idle.task is None and self._left:
                    idle.give(self._left.popleft())
            with contextlib.suppress(queue.Empty):
                group += self._handle(*self._events.get(timeout=wait))
            for late in [each for each in self.workers if each.task and time.monotonic() - each.since > self._timeout]:
                self.remove(late)
                error = f"the run took more than {self._timeout:g} s"
                group.append(RunOutcome(cast("RunTask", late.task), TIMEOUT, error=error, seconds=self._timeout))
        self.unfinished -= len(group)
        return group

    def remove(self, process: _Worker) -> None:
        """End a process and remove it from the pool."""
        self.workers.discard(process)
        process.kill()

    def _handle(self, process: _Worker, message: Any) -> list[RunOutcome]:
        if process not in self.workers:
            return []  # removed by this pool, which has already handled its task
        if message is None:
            return self._died(process)
        if message == worker.READY:
            process.is_ready, self._failed_starts = True, 0
            return []
        process.task = None
        return [message]

    def _died(self, process: _Worker) -> list[RunOutcome]:
        self.remove(process)
        code, task = process.process.returncode, process.task
        reason = f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
        self._failed_starts += not process.is_ready
        if self._failed_starts >= _FAILED_STARTS and not any(other.is_ready for other in self.workers):
            raise InputError("worker processes do not start", expected="executor serial", hint=reason)
        if task is None:
            return []
        self._deaths[task.key] += 1
        if self._deaths[task.key] < _DEATHS:
            self._left.appendleft(task)
            return []
        return [RunOutcome(task, KILLED, error=f"the process that executed the run {reason}, twice")]

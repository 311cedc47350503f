"""Executor that does runs in several processes of this computer.

It survives the death of a process.
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
from typing import IO, Any, cast

from reidsim.engine.batch.executors import HAND_OVER_SECONDS, Pace, worker
from reidsim.engine.batch.executors.capacity import default_workers
from reidsim.engine.batch.executors.worker import READY
from reidsim.engine.batch.tasks import KILLED, TIMEOUT, RunOutcome, RunTask, Work
from reidsim.errors import InputError

# A run is reported as killed after its process has died this often; a single death may have another cause.
_DEATHS = 2
# The batch fails after this many processes in a row have died before they were ready.
_FAILED_STARTS = 3
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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
        self._workers = workers
        self._timeout = timeout

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
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
    """A worker process and its current tasks."""

    def __init__(self, work: bytes, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.chunk: deque[RunTask] = deque()
        self.is_ready = False
        self.since = math.inf
        paths = [path or os.getcwd() for path in sys.path]
        self.process = subprocess.Popen(  # noqa: S603 - starts this program
            [sys.executable, "-P", worker.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            # In its own session, a worker does not receive Ctrl-C; this process receives it and ends the workers.
            start_new_session=True,
        )
        self._inbox, self._outbox = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()
        self._write(work)

    def give(self, chunk: Sequence[RunTask]) -> None:
        """Send tasks to an idle process."""
        self.chunk, self.since = deque(chunk), time.monotonic()
        self._write(pickle.dumps(list(chunk)))

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self._inbox, self._outbox):
            # Closing the pipe flushes buffered input, which raises OSError because the process is dead.
            with contextlib.suppress(OSError):
                pipe.close()

    def exit_reason(self) -> str:
        """Return a phrase that describes how the process ended, for error messages."""
        code = self.process.wait()
        return f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"

    def _write(self, message: bytes) -> None:
        # The listening thread handles a broken pipe.
        with contextlib.suppress(OSError):
            self._inbox.write(message)
            self._inbox.flush()

    def _listen(self, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                events.put((self, pickle.load(self._outbox)))  # noqa: S301 - sent by a process that this one started
        events.put((self, None))


class _Pool:
    """The processes of one batch and the remaining tasks."""

    def __init__(self, work: Work, tasks: Sequence[RunTask], size: int, timeout: float | None) -> None:
        self._work, self._left, self._timeout = pickle.dumps(work), deque(tasks), timeout
        self._events: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._deaths: Counter[str] = Counter()
        self._pace = Pace()
        self._failed_starts = 0
        self._size = min(size, len(tasks))
        self.workers: set[_Worker] = set()
        self.unfinished = len(tasks)

    def next_group(self) -> list[RunOutcome]:
        """Wait a moment for the processes; return the outcomes that arrived."""
        while len(self.workers) < min(self._size, self.unfinished):
            self.workers.add(_Worker(self._work, self._events))
        group: list[RunOutcome] = []
        until = time.monotonic() + HAND_OVER_SECONDS
        while (wait := until - time.monotonic()) > 0 and len(group) < self.unfinished:
            for idle in self.workers:
                if idle.is_ready and not idle.chunk and self._left:
                    idle.give(self._pace.chunk(self._left, self._size))
            with contextlib.suppress(queue.Empty):
                group += self._handle(*self._events.get(timeout=wait))
            if self._timeout is not None:
                late = [w for w in self.workers if w.chunk and time.monotonic() - w.since > self._timeout]
                error = f"the run took more than {self._timeout:g} s"
                group += [RunOutcome(self._stop(w), TIMEOUT, error=error, seconds=self._timeout) for w in late]
        self.unfinished -= len(group)
        return group

    def remove(self, process: _Worker) -> None:
        """End a process and remove it from the pool."""
        self.workers.discard(process)
        process.kill()

    def _handle(self, process: _Worker, message: Any) -> list[RunOutcome]:
        if process not in self.workers:
            return []  # removed by this pool, which has already handled its tasks
        if message is None:
            return self._died(process)
        if message == READY:
            process.is_ready, self._failed_starts = True, 0
            return []
        process.chunk.popleft()
        process.since = time.monotonic()
        self._pace.note([message])
        return [message]

    def _died(self, process: _Worker) -> list[RunOutcome]:
        self._failed_starts += not process.is_ready
        others = self.workers - {process}
        if self._failed_starts >= _FAILED_STARTS and not any(other.is_ready for other in others):
            raise InputError("worker processes do not start", expected="executor serial", hint=process.exit_reason())
        if not process.chunk:
            self.remove(process)
            return []
        culprit, reason = self._stop(process), process.exit_reason()
        self._deaths[culprit.key] += 1
        if self._deaths[culprit.key] < _DEATHS:
            self._left.appendleft(culprit)
            return []
        return [RunOutcome(culprit, KILLED, error=f"the process that executed the run {reason}, twice")]

    def _stop(self, process: _Worker) -> RunTask:
        """End a process and return its current task.

        Its waiting tasks are put back into the queue.
        """
        self.remove(process)
        culprit = process.chunk.popleft()
        self._left.extendleft(reversed(process.chunk))
        return culprit

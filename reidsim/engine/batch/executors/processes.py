"""Runs done by several processes of this computer, any of which may die."""

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
from typing import IO, Any

from reidsim.engine.batch.executors import HAND_OVER_SECONDS, Pace, start_worker
from reidsim.engine.batch.executors.capacity import workers_for
from reidsim.engine.batch.executors.worker import READY
from reidsim.engine.batch.tasks import KILLED, TIMEOUT, RunOutcome, RunTask, Work
from reidsim.errors import InputError

# A run is given up when as many processes died over it; one may have been ended by something else.
_DEATHS = 2
# Processes that die one after the other before they are ready: then none can be expected to start.
_FAILED_STARTS = 3
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class ProcessExecutor:
    """Does runs in processes of this computer.

    A process works on one run at a time and hands over each outcome at once. When it dies, it is known which run it was
    at: that run is tried once more, then reported as ``killed``; all others go on.

    Parameters
    ----------
    workers : int, optional
        Number of processes; as many as there are cores and free memory for, if not given.
    timeout : float, optional
        Seconds after which a run is given up and reported as ``timeout``.
    """

    def __init__(self, workers: int | None = None, timeout: float | None = None) -> None:
        self._workers = workers
        self._timeout = timeout

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task; see `Executor`.

        Raises
        ------
        InputError
            If no process can be started.
        """
        pool = _Pool(work, tasks, workers_for(self._workers, work), self._timeout)
        try:
            while pool.unfinished:
                yield from pool.next_group()
        finally:
            pool.stop()


class _Worker:
    """A process and what it was given to do."""

    def __init__(self, work: bytes, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.chunk: deque[RunTask] = deque()
        self.is_ready = False
        self.since = math.inf
        paths = [path or os.getcwd() for path in sys.path]
        self.process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", start_worker.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            # Ctrl-C reaches this process alone, which then ends the others.
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()
        self._write(work)

    def give(self, chunk: Sequence[RunTask]) -> None:
        """Send tasks to an idle process."""
        self.chunk = deque(chunk)
        self.since = time.monotonic()
        self._write(pickle.dumps(list(chunk)))

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            # What was still to be written has nobody to read it.
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def how_it_ended(self) -> str:
        """Tell how the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"ended with code {code}"
        return f"was ended by {signal.Signals(-code).name}"

    def _write(self, message: bytes) -> None:
        pipe = self.process.stdin
        assert pipe is not None  # noqa: S101 - asked for above, said for the type checker
        # That the process is gone is noticed at its other pipe.
        with contextlib.suppress(OSError):
            pipe.write(message)
            pipe.flush()

    def _listen(self, events: queue.SimpleQueue[tuple[_Worker, Any]]) -> None:
        pipe: IO[bytes] | None = self.process.stdout
        assert pipe is not None  # noqa: S101 - asked for above, said for the type checker
        while True:
            try:
                message = pickle.load(pipe)  # noqa: S301 - from a process that this one started
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                events.put((self, None))
                return
            events.put((self, message))


class _Pool:
    """The processes of one batch and the tasks that are left."""

    def __init__(self, work: Work, tasks: Sequence[RunTask], workers: int, timeout: float | None) -> None:
        self._work = pickle.dumps(work)
        self._left = deque(tasks)
        self._timeout = timeout
        self._events: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self._deaths: Counter[str] = Counter()
        self._pace = Pace()
        self._failed_starts = 0
        self._size = min(workers, len(tasks))
        self._workers: set[_Worker] = set()
        self.unfinished = len(tasks)

    def next_group(self) -> Generator[list[RunOutcome], None, None]:
        """Let the processes work until it is time to hand over; yield what ended, if anything did."""
        while len(self._workers) < min(self._size, self.unfinished):
            self._workers.add(_Worker(self._work, self._events))
        group: list[RunOutcome] = []
        until = time.monotonic() + HAND_OVER_SECONDS
        while (wait := until - time.monotonic()) > 0 and len(group) < self.unfinished:
            self._give_tasks()
            with contextlib.suppress(queue.Empty):
                group += self._handle(*self._events.get(timeout=wait))
            group += self._overdue()
        self.unfinished -= len(group)
        if group:
            yield group

    def stop(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _give_tasks(self) -> None:
        for worker in self._workers:
            if worker.is_ready and not worker.chunk and self._left:
                worker.give(self._pace.chunk(self._left, self._size))

    def _handle(self, worker: _Worker, message: Any) -> list[RunOutcome]:
        if worker not in self._workers:
            return []  # Ended by this process, which has dealt with its tasks.
        if message is None:
            return self._died(worker)
        if message == READY:
            worker.is_ready, self._failed_starts = True, 0
            return []
        outcome: RunOutcome = message
        worker.chunk.popleft()
        worker.since = time.monotonic()
        self._pace.note([outcome])
        return [outcome]

    def _died(self, worker: _Worker) -> list[RunOutcome]:
        self._remove(worker)
        self._failed_starts += not worker.is_ready
        if self._failed_starts >= _FAILED_STARTS and not any(other.is_ready for other in self._workers):
            raise InputError("worker processes do not start", expected="executor serial", hint=worker.how_it_ended())
        if not worker.chunk:
            return []
        culprit = worker.chunk.popleft()
        self._left.extendleft(reversed(worker.chunk))
        self._deaths[culprit.key] += 1
        if self._deaths[culprit.key] < _DEATHS:
            self._left.appendleft(culprit)
            return []
        return [RunOutcome(culprit, KILLED, error=f"the process that worked on it {worker.how_it_ended()}, twice")]

    def _overdue(self) -> list[RunOutcome]:
        if self._timeout is None:
            return []
        late = [w for w in self._workers if w.chunk and time.monotonic() - w.since > self._timeout]
        outcomes = []
        for worker in late:
            self._remove(worker)
            culprit = worker.chunk.popleft()
            self._left.extendleft(reversed(worker.chunk))
            error = f"took more than {self._timeout:g} s"
            outcomes.append(RunOutcome(culprit, TIMEOUT, error=error, seconds=self._timeout))
        return outcomes

    def _remove(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        worker.kill()

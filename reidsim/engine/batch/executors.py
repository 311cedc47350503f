"""Executors of the runs of a batch.

Runs are done in this process, in several processes of this computer, or on the workers of a dask cluster. An executor
runs tasks in any order. It yields outcomes in groups as they become available; the caller writes each group to disk
before the next. The default executor starts worker processes only if they save time.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import math
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Protocol, cast

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from reidsim.core.errors import InputError, listed, refuse_first, require_among
from reidsim.core.files import free_memory
from reidsim.core.interrupts import came, stop_if_interrupted
from reidsim.core.numerics import in_one_thread
from reidsim.core.tables import OverFiles, in_turn
from reidsim.engine.batch import worker
from reidsim.engine.batch.design import COMPLETE, KILLED, TIMEOUT, RunOutcome, RunTask, Work, attempt, code_version
from reidsim.engine.batch.folder import files_named
from reidsim.engine.results import sha256_of

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
# A run is reported as killed after its process, or a worker of dask on which it ran alone, has died this often; one
# death may have another cause.
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
    """Return the number of processor cores that this process may use.

    Where the operating system does not report it, this is the number of the computer's cores, or 1 if unknown.
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_workers() -> int:
    """Return the default number of processes.

    It is the number of cores, or less (at least 1) if memory is short.
    """
    return min(available_cores(), _fitting())


def _fitting() -> int:
    """Return the number of workers that fit into free memory.

    A worker needs about as much memory as this process, which has read the data. The result is at least 1; it is the
    number of cores if the free memory is unknown.
    """
    free = free_memory()
    return available_cores() if free is None else max(1, free // max(_WORKER_BYTES, _resident()))


def _resident() -> int:
    """Return the resident memory of this process in bytes.

    It is 0 if the operating system does not report it.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


@dataclass(frozen=True)
class AutomaticExecutor:
    """Executor that starts in this process and switches to several processes.

    It switches if the remaining runs are expected to take more than `WORTH_SECONDS`.

    Parameters
    ----------
    workers : int, optional
        Maximum number of processes; default: as many as cores and free memory allow.
    """

    workers: int | None = None

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Groups:
        """Run every task; see `Executor`.

        This process runs tasks in the given order. Other processes run the tasks that are left after the switch; there
        is no switch if only one process may be used.
        """
        workers = self.workers or default_workers()
        done, group, since = 0, list[RunOutcome](), time.monotonic()
        # Sums do not depend on the number of cores if linear algebra uses one thread.
        with threadpool_limits(1):
            try:
                for done, task in enumerate(tasks, start=1):
                    outcome = attempt(work, task)
                    if outcome.state == COMPLETE or not came():
                        group.append(outcome)
                    # A library may have caught the interrupt, or turned it into an error of the run.
                    stop_if_interrupted()
                    left = len(tasks) - done
                    # The first run also reads files and compiles, so its duration is not multiplied.
                    if workers > 1 and left > 1 and outcome.seconds * (left if done > 1 else 1) >= WORTH_SECONDS:
                        break
                    if time.monotonic() - since >= HAND_OVER_SECONDS:
                        ended, group = group, []
                        yield ended
                        since = time.monotonic()
            finally:
                # Also after an interrupt, so that the outcomes of the runs before it are kept.
                if group:
                    yield group
        if done < len(tasks):
            yield from ProcessExecutor(workers).execute(work, tasks[done:])


@dataclass(frozen=True)
class SerialExecutor(AutomaticExecutor):
    """Executor that does all runs in this process, one after the other."""

    workers: int | None = field(default=1, init=False)


@dataclass(frozen=True)
class ProcessExecutor:
    """Executor that does runs in several processes of this computer.

    A process does one run at a time and returns its outcome as soon as it is done. If it dies, its current run is tried
    once more, then reported as ``killed``; all other runs continue. Pools of other packages do not support this: a pool
    of `concurrent.futures` fails completely if one process dies, and a pool of pebble hangs if processes die during
    their start.

    Parameters
    ----------
    workers : int, optional
        Number of processes; default: as many as cores and free memory allow.
    timeout : float, optional
        Seconds after which a run is stopped and reported as ``timeout``.
    """

    workers: int | None = None
    timeout: float | None = None

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Groups:
        """Run every task; see `Executor`.

        Raises
        ------
        InputError
            If no process can be started.
        """
        pickled = pickle.dumps(work)
        time_limit = self.timeout or math.inf
        most = self.workers or default_workers()
        pool = set[_Worker]()
        events: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        # Tasks that no process has, and the number of tasks without an outcome.
        left, unfinished = deque(tasks), len(tasks)
        # Number of deaths of processes by task, and number of processes in a row that died before they were ready.
        deaths, failed_starts = Counter[str](), 0

        def after_death(process: _Worker, how: str) -> list[RunOutcome]:
            """Return the outcome of a dead process' task, in a list.

            The list is empty if the process had no task, or the task is tried again: only after the second death is it
            reported as killed. `how` states how the process ended. An `InputError` is raised if three processes in a
            row died before they were ready and no other process is ready.
            """
            nonlocal failed_starts
            failed_starts += not process.is_ready
            if failed_starts >= _FAILED_STARTS and not any(other.is_ready for other in pool):
                raise InputError("worker processes do not start", expected="executor serial", hint=how)
            if (task := process.task) is None:
                return []
            deaths[task.key] += 1
            if deaths[task.key] == _DEATHS:
                return [RunOutcome(task, KILLED, error=f"the process that executed the run {how}, twice")]
            left.appendleft(task)
            return []

        try:
            while unfinished:
                while len(pool) < min(most, unfinished):
                    pool.add(_Worker(pickled, events))
                group = list[RunOutcome]()
                until = time.monotonic() + HAND_OVER_SECONDS
                while (wait := until - time.monotonic()) > 0 and len(group) < unfinished:
                    for idle in pool:
                        if idle.is_ready and idle.task is None and left:
                            idle.give(left.popleft())
                    with contextlib.suppress(queue.Empty):
                        process, message = events.get(timeout=wait)
                        # Outcomes of processes that were removed from the pool are ignored.
                        if message == worker.READY:
                            process.is_ready, failed_starts = True, 0
                        elif process in pool and message is not None:
                            process.task = None
                            group.append(message)
                        elif process in pool:
                            pool.remove(process)
                            group += after_death(process, process.kill())
                    for late in [each for each in pool if each.task and time.monotonic() - each.since > time_limit]:
                        pool.remove(late)
                        late.kill()
                        error = f"the run took more than {time_limit:g} s"
                        group.append(RunOutcome(cast("RunTask", late.task), TIMEOUT, error=error, seconds=time_limit))
                unfinished -= len(group)
                if group:
                    yield group
        finally:
            for process in pool:
                process.kill()


class _Worker:
    """A worker process and its current task.

    A new object starts the process and sends it `work`, the pickled callable that does runs. Messages of the process
    are put into the queue `events`, each with this object; None means that the process has ended.
    """

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

    def kill(self) -> str:
        """End the process, if it has not ended; return how it ended as text.

        The text is, for example, ``ended with code 1``.
        """
        self.process.kill()
        code = self.process.wait()
        for pipe in (self._inbox, self._outbox):
            # Closing the pipe flushes buffered input, which raises OSError because the process is dead.
            with contextlib.suppress(OSError):
                pipe.close()
        return f"ended with code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"

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


EXECUTORS = ("auto", "serial", "processes", "dask")
# For each option that only some executors support, the problem with others, and the executors. Only a separate process
# can stop a run.
_OPTIONS = {
    "workers": ("the number of processes cannot be set for this executor", ("auto", "processes")),
    "scheduler": ("a scheduler needs executor dask", ("dask",)),
    "timeout": ("this executor does not support a time limit", ("auto", "processes")),
}
# Longest waits for a connection and for the first worker of a scheduler. Longer ones report a wrong address or a
# scheduler without workers later, shorter ones fail on slow networks and computers.
_CONNECT_SECONDS = 5
_FIRST_WORKER_SECONDS = 30
# Maximum number of runs in a group, whose outcomes are one message. Dask needs some milliseconds per message.
_MOST_AT_ONCE = 250
_RESUME = "continue with --resume; finished runs are kept"

# Packages that log every failed attempt to reach a scheduler.
_TALKATIVE = ("distributed", "tornado", "asyncio")


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
        Address of a dask cluster's scheduler; executor ``dask`` needs it.
    timeout : float, optional
        Seconds after which a run is stopped; needs separate processes, which executor ``auto`` then always starts.

    Raises
    ------
    InputError
        If there is no such executor, it does not support an option or lacks a required one, `workers` is below 1,
        `timeout` is not above 0, or cores or memory do not suffice for `workers`.
    """
    require_among("unknown executor", (name,), EXECUTORS, where="executor")
    if workers is not None:
        cores, fitting = available_cores(), _fitting()
        most = max(cores, _ALWAYS)
        too_many = "too many processes"
        refuse_first(
            (workers < 1, "number of processes out of range", "workers", workers, "1 or more"),
            (workers > most, too_many, "workers", workers, f"at most {most}: this computer has {cores} cores"),
            (workers > fitting, too_many, "workers", workers, f"at most {fitting}, which fit into free memory"),
        )
    out_of_range, expected = timeout is not None and not timeout > 0, "a number of seconds above 0"
    refuse_first((out_of_range, "time limit out of range", "timeout", timeout, expected))
    for option, value in (("scheduler", scheduler), ("workers", workers), ("timeout", timeout)):
        problem, supporting = _OPTIONS[option]
        unsupported = value is not None and name not in supporting
        refuse_first((unsupported, problem, option, name, f"executor {' or '.join(supporting)}"))
    if name == "dask" and scheduler is None:
        raise _refused("executor dask needs a scheduler", expected="its address")
    if scheduler is not None:
        return DaskExecutor(scheduler)
    if name == "serial":
        return SerialExecutor()
    if name == "auto" and timeout is None:
        return AutomaticExecutor(workers)
    return ProcessExecutor(workers, timeout)


def files_reader(executor: str = "serial", scheduler: str | None = None) -> OverFiles:
    """Return the function that reads the files of a large table: one after the other, or on a dask cluster.

    Parameters
    ----------
    executor : {"serial", "dask"}
    scheduler : str, optional
        As in `executor_named`.

    Raises
    ------
    InputError
        As `executor_named`; also if the executor is another one.
    """
    require_among("the executor does not read single files", (executor,), ("serial", "dask"), where="executor")
    found = executor_named(executor, scheduler=scheduler)
    return found.over_files if isinstance(found, DaskExecutor) else in_turn


@dataclass(frozen=True)
class DaskExecutor:
    """Executor that does runs on the workers of a dask cluster.

    All workers must find the scenario's files at the same paths. A task of the cluster is a group of runs that takes
    about `HAND_OVER_SECONDS`, or one longer run. If a worker dies, its runs are repeated at the end, one by one with no
    other run on the cluster. A run during which workers die twice more is reported as ``killed``.
    (The scheduler of an existing cluster first tries other workers, as often as it is configured to.)

    Parameters
    ----------
    scheduler : str
        Address of a cluster's scheduler, such as ``tcp://10.0.0.1:8786``.
    """

    scheduler: str

    def execute(self, work: Any, tasks: Sequence[RunTask]) -> Groups:
        """Run every task; see `Executor`.

        Raises
        ------
        InputError
            If the scheduler cannot be reached, is lost, or has no workers with the same version of the program and the
            same files.
        """
        if not tasks:
            return
        with self._connected() as client:
            files = list[Path]()
            if hasattr(work, "loaded"):
                # The working folder of workers may differ, so relative paths would not be found.
                work = replace(work, loaded=replace(work.loaded, path=work.loaded.path.absolute()))
                values = {repr(value): (key, value) for task in tasks for key, value in task.values.items()}
                files = files_named(work.loaded, values.values())
            sent = _sent(client, work, files)
            left, running, suspects = deque(tasks), dict[Any, list[RunTask]](), list[RunTask]()

            def send(some: list[RunTask]) -> Any:
                future = client.submit(_do, sent, some, pure=False)
                running[future] = some
                return future

            try:
                # Twice as many groups of runs as cores keep all cores busy.
                most, size = 2 * _cores(client), 1
                finished = _distributed().as_completed(loop=client.loop)
                while left or running:
                    while left and len(running) < most:
                        finished.add(send([left.popleft() for _ in range(min(size, len(left)))]))
                    future = next(finished)
                    group, outcomes = running.pop(future), _result(future, _RESUME)
                    if outcomes is None:
                        suspects += group
                        continue
                    left.extendleft(reversed(group[len(outcomes) :]))
                    size = max(1, min(2 * len(outcomes), _MOST_AT_ONCE, len(left) // most))
                    yield outcomes
                for task in suspects:
                    alone = (_result(send([task]), _RESUME) for _ in range(_DEATHS))
                    killed = RunOutcome(task, KILLED, error="every worker that executed the run died")
                    yield next((outcomes for outcomes in alone if outcomes is not None), [killed])
            finally:
                with contextlib.suppress(Exception):
                    client.cancel([*running], force=True)

    def over_files(self, read: Callable[[Path, int], Any], path: Path, n_files: int, *others: Path) -> Iterator[Any]:
        """Yield the results of a function for each file of a folder; see `reidsim.core.tables.OverFiles`.

        Raises
        ------
        InputError
            As `execute`; also if `read` raises it, or every worker that reads a file dies.
        """
        with self._connected() as client:
            _cores(client)
            sent = _sent(client, functools.partial(read, path.absolute()), [path.absolute(), *others])
            futures = [client.submit(_read, sent, place, pure=False) for place in range(n_files)]
            for place in range(n_files):
                found = _result(futures[place])
                if found is None:
                    raise _refused(f"every worker that read file {place + 1} of {path} died")
                # The cluster keeps the results of futures that exist.
                futures[place] = None
                yield found

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """Yield a dask client of the scheduler.

        An `InputError` is raised if the scheduler cannot be reached.
        """
        distributed, address = _distributed(), self.scheduler
        with _without_logs():
            try:
                # A client would try for several seconds to reach a scheduler that does not listen.
                if distributed.comm.parse_address(address)[0] in ("tcp", "tls"):
                    place = distributed.comm.get_address_host_port(address, strict=True)
                    socket.create_connection(place, timeout=_CONNECT_SECONDS).close()
                client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                problem = f"the dask scheduler cannot be reached: {error}".splitlines()[0]
                expected = "the address of a scheduler, such as tcp://10.0.0.1:8786"
                raise _refused(problem, found=address, expected=expected) from None
            with client:
                yield client


def _refused(problem: str, **more: Any) -> InputError:
    return InputError(problem, where="scheduler", **more)


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Suppress all log messages of the packages in `_TALKATIVE` in the block.

    The messages would repeat that the scheduler is lost, which is reported as an error instead.
    """
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _TALKATIVE]
    with contextlib.ExitStack() as restored:
        for logger in map(logging.getLogger, names):
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        yield


def _distributed() -> Any:
    """Import and return dask.distributed, which has no type hints.

    Raises
    ------
    InputError
        If dask.distributed is not installed.
    """
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError:
        hint = "run pip install 'reidsim[distributed]'"
        raise InputError("package distributed is not installed", where="executor", found="dask", hint=hint) from None


def _sent(client: Any, work: Any, files: Iterable[Path]) -> Any:
    """Return the future of the message that `_loaded` reads: it is sent to each worker once, or again if that dies."""
    content = {str(path): sha256_of(path) for path in files}
    return client.submit(bytes, pickle.dumps((pickle.dumps(work), content, code_version())), pure=False)


def _result(future: Any, hint: str | None = None) -> Any:
    """Wait for the result of a dask future; return None if its worker died.

    `hint` is for the message if the cluster was lost.

    Raises
    ------
    InputError
        If the cluster was lost, a worker lacks a module, or `_loaded` raised it.
    """
    try:
        return future.result()
    except _distributed().KilledWorker:
        return None
    except ModuleNotFoundError as error:
        expected = "the same version of reidsim on every computer with workers"
        raise _refused(f"the cluster lacks a module of the program: {error}", expected=expected) from None
    except InputError:
        raise
    except Exception as error:
        # Errors of runs are part of their outcomes, so this error means that the scheduler was lost or restarted.
        raise _refused(f"the dask cluster was lost: {type(error).__name__}", hint=hint) from error


def _cores(client: Any) -> int:
    """Return the total number of threads of all workers of a dask client, at least 1.

    Raises
    ------
    InputError
        If no worker appears within `_FIRST_WORKER_SECONDS`.
    """
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError:
        expected = f"a worker within {_FIRST_WORKER_SECONDS} s"
        raise _refused("the dask scheduler has no workers", found=client.scheduler.address, expected=expected) from None
    return max(int(sum(client.nthreads().values())), 1)


def _read(sent: bytes, place: int) -> Any:
    """Read a file of a folder in a worker of the cluster, by its place."""
    read: Any = _loaded(sent)
    return read(place)


def _do(work: bytes, tasks: Sequence[RunTask]) -> list[RunOutcome]:
    """Run tasks in a worker of the cluster until `HAND_OVER_SECONDS` have passed; return the outcomes.

    `work` is the pickled message that `_loaded` reads. One thread is used.
    """
    outcomes, since = list[RunOutcome](), time.monotonic()
    with threadpool_limits(1), in_one_thread():
        for task in tasks:
            outcomes.append(attempt(_loaded(work), task))
            if time.monotonic() - since >= HAND_OVER_SECONDS:
                break
    return outcomes


@functools.lru_cache(maxsize=2)
def _loaded(sent: bytes) -> Work:
    """Return the callable that does runs, in a worker with the same program and files.

    `sent` holds, pickled, the pickled callable, the hashes of files by path, and the program's version.

    Raises
    ------
    InputError
        If the worker's program, files or modules differ.
    """
    pickled, files, version = pickle.loads(sent)  # noqa: S301 - sent by the process that runs the batch
    if code_version() != version:
        raise _refused("a dask worker has another version of reidsim", found=code_version(), expected=version)
    others = [path for path, content in files.items() if not os.path.exists(path) or sha256_of(Path(path)) != content]
    if others:
        problem = f"a dask worker lacks files or has different files: {listed(others)}"
        raise _refused(problem, expected="a folder that all computers share")
    work: Any = pickle.loads(pickled)  # noqa: S301
    if hasattr(work, "loaded"):
        try:
            work.loaded.makers()
        except InputError as error:
            raise error.but(problem=f"a dask worker lacks a component: {error.problem}") from None
    return work  # type: ignore[no-any-return]

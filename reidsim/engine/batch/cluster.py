"""Executor that does runs on the workers of a dask cluster, and executors by name.

Workers may be on this computer or on others.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import pickle
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from reidsim.core.numerics import in_one_thread
from reidsim.engine.batch import executors
from reidsim.engine.batch.data_files import files_named
from reidsim.engine.batch.executors import ONE_THREAD, Executor, Groups, default_workers, one_thread
from reidsim.engine.batch.tasks import KILLED, RunOutcome, RunTask, Work, attempt, code_version
from reidsim.engine.results import sha256_of
from reidsim.errors import InputError, listed, refuse_first, require_among

EXECUTORS = ("auto", "serial", "processes", "dask")
_LOOPBACK = "127.0.0.1"
# Longest waits for a connection and for the first worker of a scheduler. Longer ones report a wrong address or a
# scheduler without workers later, shorter ones fail on slow networks and computers.
_CONNECT_SECONDS = 5
_FIRST_WORKER_SECONDS = 30
# A run is reported as killed after workers have died this often while it ran alone; one death may have another cause.
_DEATHS_ALONE = 2
# Packages that log every failed attempt to reach a scheduler.
_TALKATIVE = ("distributed", "tornado", "asyncio")
# Settings of a cluster started here: a worker gets one run at a time, runs of a dead worker are rescheduled by this
# module instead of dask, and a new worker may take long to start on a busy computer.
_OWN_CLUSTER = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Omits dask's default MALLOC_TRIM_THRESHOLD_, under which every large array is allocated from the system anew.
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(ONE_THREAD[:3], "1"),
}


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
    if workers is not None:
        refuse_first((workers < 1, "number of processes out of range", "workers", workers, "1 or more"))
        executors.require_carried(workers)
    unlimited, single = timeout is None, scheduler is not None or name == "serial"
    alone = "the number of processes cannot be set for this executor"
    several = "executor auto or processes, or executor dask without a scheduler"
    stranger, endless = "a scheduler needs executor dask", "this executor does not support a time limit"
    seconds, stops = "a number of seconds above 0", name in ("auto", "processes")
    refuse_first(
        (timeout is not None and not timeout > 0, "time limit out of range", "timeout", timeout, seconds),
        (scheduler is not None and name != "dask", stranger, "scheduler", scheduler, "executor dask"),
        (workers is not None and single, alone, "workers", None, several),
        # Only a separate process can stop a run.
        (not unlimited and not stops, endless, "timeout", name, "executor processes"),
    )
    if name == "serial":
        return executors.SerialExecutor()
    if name == "dask":
        return DaskExecutor(scheduler, workers)
    if name == "auto" and unlimited:
        return executors.AutomaticExecutor(workers)
    return executors.ProcessExecutor(workers, timeout)


class DaskExecutor:
    """Executor that does runs on the workers of a dask cluster.

    All workers must find the scenario's files at the same paths. If a worker dies, its runs are repeated at the end,
    one by one with no other run on the cluster. A run during which workers die twice more is reported as ``killed``.
    (The scheduler of an existing cluster first tries other workers, as often as it is configured to.)

    Parameters
    ----------
    scheduler : str, optional
        Address of a cluster's scheduler, such as ``tcp://10.0.0.1:8786``. Default: start a cluster of processes on this
        computer, and end it after the batch.
    workers : int, optional
        Number of processes of the cluster started here; default: as many as cores and free memory allow.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        self._scheduler = scheduler
        self._workers = workers

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
        connect = self._started if self._scheduler is None else self._connected
        with connect() as client:
            files: dict[str, str] = {}
            if self._scheduler is not None and hasattr(work, "loaded"):
                # The working folder of workers may differ, so relative paths would not be found.
                work = replace(work, loaded=replace(work.loaded, path=work.loaded.path.absolute()))
                values = {repr(value): (key, value) for task in tasks for key, value in task.values.items()}
                files = {str(path): sha256_of(path) for path in files_named(work.loaded, values.values())}
            # Submitted as a result of the cluster: it is sent to each worker once, and recreated if its worker dies.
            sent = client.submit(bytes, pickle.dumps((pickle.dumps(work), files, code_version())), pure=False)
            left, running, suspects = iter(tasks), dict[Any, RunTask](), list[RunTask]()

            def send(some: Iterable[RunTask]) -> list[Any]:
                futures = {client.submit(_do, sent, task, pure=False): task for task in some}
                running.update(futures)
                return [*futures]

            try:
                # Twice as many tasks as cores keep all cores busy.
                finished = _distributed().as_completed(send(islice(left, 2 * _cores(client))), loop=client.loop)
                for batch in finished.batches():
                    finished.update(send(islice(left, len(batch))))
                    ended = [(running.pop(future), _outcome(future)) for future in batch]
                    suspects += [task for task, outcome in ended if outcome is None]
                    yield [outcome for _, outcome in ended if outcome is not None]
                for task in suspects:
                    alone = (_outcome(send([task])[0]) for _ in range(_DEATHS_ALONE))
                    killed = RunOutcome(task, KILLED, error="every worker that executed the run died")
                    yield [next((outcome for outcome in alone if outcome is not None), killed)]
            finally:
                with contextlib.suppress(Exception):
                    client.cancel([*running], force=True)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Any]:
        """Yield a client of an existing scheduler."""
        distributed, address = _distributed(), str(self._scheduler)
        try:
            # A dask client without a scheduler prints errors when it is deleted, so look for a listener first.
            comm = importlib.import_module("distributed.comm")
            if comm.parse_address(address)[0] in ("tcp", "tls"):
                host = comm.get_address_host_port(address, strict=True)
                socket.create_connection(host, timeout=_CONNECT_SECONDS).close()
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            problem = f"the dask scheduler cannot be reached: {error}".splitlines()[0]
            expected = "the address of a scheduler, such as tcp://10.0.0.1:8786"
            raise _refused(problem, found=address, expected=expected) from None
        with _without_logs(), client:
            yield client

    @contextlib.contextmanager
    def _started(self) -> Iterator[Any]:
        """Yield a client of a new cluster on this computer, which ends with the block."""
        distributed = _distributed()
        with contextlib.ExitStack() as started:
            started.enter_context(importlib.import_module("dask").config.set(_OWN_CLUSTER))
            try:
                # Fail at once if there is no loopback interface; dask would try for 30 seconds.
                with socket.create_server((_LOOPBACK, 0)) as listener:
                    socket.create_connection(listener.getsockname(), timeout=_CONNECT_SECONDS).close()
                cluster = distributed.LocalCluster(
                    n_workers=self._workers or default_workers(),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=f"{_LOOPBACK}:0",
                    silence_logs=logging.CRITICAL,
                )
                started.enter_context(cluster)
                client = started.enter_context(distributed.Client(cluster, set_as_default=False))
            except (OSError, RuntimeError) as error:
                problem = f"a dask cluster on this computer does not start: {error}".splitlines()[0]
                expected = "executor processes, or a loopback interface and free memory"
                raise InputError(problem, where="executor", found="dask", expected=expected) from None
            yield client


def _refused(problem: str, **more: Any) -> InputError:
    return InputError(problem, where="scheduler", **more)


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Suppress dask's log messages about a lost scheduler.

    The loss is reported as an error instead.
    """
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _TALKATIVE]
    levels = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


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


def _outcome(future: Any) -> RunOutcome | None:
    """Wait for the outcome of a run; return None if its worker died."""
    try:
        outcome: RunOutcome = future.result()
    except _distributed().KilledWorker:
        return None
    except ModuleNotFoundError as error:
        expected = "the same version of reidsim on every computer with workers"
        raise _refused(f"the cluster lacks a module of the program: {error}", expected=expected) from None
    except InputError:
        raise
    except Exception as error:
        # Errors of runs are part of their outcomes, so this error means that the scheduler was lost or restarted.
        problem, hint = f"the dask cluster was lost: {type(error).__name__}", "continue with --resume"
        raise _refused(problem, hint=f"{hint}; finished runs are kept") from error
    return outcome


def _cores(client: Any) -> int:
    """Return the total number of threads of all workers.

    Raise an error if there is no worker.
    """
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError:
        expected = f"a worker within {_FIRST_WORKER_SECONDS} s"
        problem, found = "the dask scheduler has no workers", client.scheduler.address
        raise _refused(problem, found=found, expected=expected) from None
    threads: dict[str, int] = client.nthreads()
    return max(sum(threads.values()), 1)


def _do(work: bytes, task: RunTask) -> RunOutcome:
    """Run a task in a worker."""
    with one_thread(), in_one_thread():
        return attempt(_loaded(work), task)


@functools.lru_cache(maxsize=2)
def _loaded(sent: bytes) -> Work:
    """Return the work in a worker that has the same program, files and modules.

    Raises
    ------
    InputError
        If the worker's program, files or modules differ.
    """
    pickled, files, version = pickle.loads(sent)  # noqa: S301 - sent by the process that runs the batch
    if code_version() != version:
        raise _refused("a dask worker has another version of reidsim", found=code_version(), expected=version)
    others = [path for path, content in files.items() if not os.path.isfile(path) or sha256_of(Path(path)) != content]
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

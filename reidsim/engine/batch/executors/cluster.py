"""Runs done by the workers of a dask cluster, near or far."""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import pickle
import socket
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from reidsim.engine.batch.executors import Pace, one_thread
from reidsim.engine.batch.executors.capacity import workers_for
from reidsim.engine.batch.executors.shipping import MOST_BYTES, Shipment, shipment
from reidsim.engine.batch.tasks import KILLED, RunOutcome, RunTask, Work, attempt, code_version
from reidsim.errors import InputError
from reidsim.threads import in_one_thread

_LOOPBACK = "127.0.0.1"
_CONNECT_SECONDS = 5
_FIRST_WORKER_SECONDS = 30
_DEATHS_ALONE = 2
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Above so many bytes, dask warns of what is sent.
_LARGE = "distributed.admin.large-graph-warning-threshold"
# Packages that log each failed attempt to reach a scheduler.
_TALKATIVE = ("distributed", "tornado", "asyncio")
# A worker has one chunk at a time, what is done after its death is decided here, and its successor may take long to
# start on a busy computer.
_OWN_CLUSTER = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Without the default's MALLOC_TRIM_THRESHOLD_, by which every large array is new memory.
    "distributed.nanny.pre-spawn-environ": dict.fromkeys(_ONE_THREAD, "1"),
}


class DaskExecutor:
    """Does runs on the workers of a dask cluster.

    When a worker dies, the runs that it was given are done once more at the end, one by one and with nothing else on
    the cluster; one over which workers die again, twice, is reported as ``killed``: a worker may have been on its way
    out when it was given the run. (The scheduler of a far cluster first tries elsewhere as often as it is set up to.)

    Parameters
    ----------
    scheduler : str, optional
        Address of a cluster's scheduler, such as ``tcp://10.0.0.1:8786``; if not given, a cluster of processes of this
        computer is started and ended.
    workers : int, optional
        Processes of that cluster; as many as there are cores and free memory for, if not given.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        self._scheduler = scheduler
        self._workers = workers

    def execute(self, work: Work, tasks: Sequence[RunTask]) -> Generator[list[RunOutcome], None, None]:
        """Do every task; see `Executor`.

        Raises
        ------
        InputError
            If the scheduler cannot be reached, is lost, or has no workers with the same version of the program.
        """
        if not tasks:
            return
        with self._client(work) as client:
            cores = _cores(client)
            sent = _Sent(client, shipment(work, tasks, far=self._scheduler is not None), tasks, cores)
            finished = _distributed().as_completed(sent.more(), loop=client.loop)
            try:
                for batch in finished.batches():
                    yield [outcome for future in batch for outcome in sent.outcomes(future)]
                    for future in sent.more():
                        finished.add(future)
            finally:
                sent.cancel()

    @contextlib.contextmanager
    def _client(self, work: Work) -> Iterator[Any]:
        distributed = _distributed()
        if self._scheduler is not None:
            try:
                _require_listener(self._scheduler)
                client = distributed.Client(self._scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                raise InputError(
                    f"no dask scheduler can be reached: {error}".splitlines()[0], where="scheduler",
                    found=self._scheduler, expected="the address of one, such as tcp://10.0.0.1:8786",
                ) from None  # fmt: skip
            with _without_logs(), client:
                yield client
            return
        workers = workers_for(self._workers, work)
        with importlib.import_module("dask").config.set(_OWN_CLUSTER), contextlib.ExitStack() as started:
            try:
                _require_loopback()
                cluster = started.enter_context(
                    distributed.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=f"{_LOOPBACK}:0",
                        silence_logs=logging.CRITICAL,
                    )
                )
                client = started.enter_context(distributed.Client(cluster, set_as_default=False))
            except (OSError, RuntimeError) as error:
                raise InputError(
                    f"a dask cluster on this computer does not start: {error}".splitlines()[0], where="executor",
                    found="dask", expected="executor processes, or a loopback interface and free memory",
                ) from None  # fmt: skip
            yield client


def _require_loopback() -> None:
    """Raise an OSError if this computer cannot connect to itself; dask would try for 30 seconds."""
    with socket.create_server((_LOOPBACK, 0)) as listener:
        socket.create_connection(listener.getsockname(), timeout=_CONNECT_SECONDS).close()


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Keep the package from printing how it tries to reach a scheduler that is gone: that is told as an error."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _TALKATIVE]
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _distributed() -> Any:
    """Return the package, which tells type checkers nothing.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise InputError(
            "package distributed is not installed", where="executor", found="dask",
            hint="pip install 'reidsim[distributed]'",
        ) from None  # fmt: skip


class _Sent:
    """The tasks of a batch, as futures of a cluster."""

    def __init__(self, client: Any, sent: Shipment, tasks: Sequence[RunTask], cores: int) -> None:
        self._client = client
        # A result of the cluster, so that it goes to each worker once, and is made again if it is lost with one.
        with importlib.import_module("dask").config.set({_LARGE: f"{2 * MOST_BYTES}B"}):
            self._work = client.submit(_as_it_is, pickle.dumps(sent), pure=False)
        self._left = deque(tasks)
        self._suspects: deque[RunTask] = deque()
        self._cores = cores
        self._chunks: dict[Any, list[RunTask]] = {}
        self._alone: Any = None
        self._deaths: Counter[str] = Counter()
        self._pace = Pace()

    def more(self) -> list[Any]:
        """Send as many tasks as keep all cores busy for a while; return their futures."""
        futures = []
        while self._left and len(self._chunks) < 2 * self._cores:
            futures.append(self._send(self._pace.chunk(self._left, self._cores)))
        if self._suspects and not self._left and not self._chunks:
            self._alone = self._send([self._suspects.popleft()])
            return [self._alone]
        return futures

    def outcomes(self, future: Any) -> list[RunOutcome]:
        """Return what came of a future that ended; nothing of runs that have to be done once more."""
        chunk = self._chunks.pop(future)
        try:
            outcomes: list[RunOutcome] = future.result()
        except _distributed().KilledWorker:
            if future is self._alone:
                self._deaths[chunk[0].key] += 1
                if self._deaths[chunk[0].key] == _DEATHS_ALONE:
                    return [RunOutcome(chunk[0], KILLED, error="workers that it was given to died, every time")]
            self._suspects.extend(chunk)
            return []
        except ModuleNotFoundError as error:
            raise InputError(
                f"the cluster lacks a part of the program: {error}", where="scheduler",
                expected="reidsim, in the same version, wherever its workers run",
            ) from None  # fmt: skip
        except InputError:
            raise
        except Exception as error:
            # A scheduler that went away, or futures that it forgot; runs themselves do not raise.
            raise InputError(
                f"the dask cluster was lost: {type(error).__name__}", where="scheduler",
                hint="go on with --resume; runs that ended are kept",
            ) from error  # fmt: skip
        self._pace.note(outcomes)
        return outcomes

    def cancel(self) -> None:
        """Call off what has not ended."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._chunks), force=True)

    def _send(self, chunk: list[RunTask]) -> Any:
        future = self._client.submit(_do, self._work, chunk, code_version(), pure=False)
        self._chunks[future] = chunk
        return future


def _require_listener(address: str) -> None:
    """Raise an error unless somebody listens at an address; a client that finds nobody complains when it is dropped."""
    comm = importlib.import_module("distributed.comm")
    protocol, _ = comm.parse_address(address)
    if protocol in ("tcp", "tls"):
        host, port = comm.get_address_host_port(address, strict=True)
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()


def _cores(client: Any) -> int:
    """Return the number of threads of all workers, of whom at least one must be there."""
    try:
        client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
    except TimeoutError:
        raise InputError(
            "the dask scheduler has no workers", where="scheduler", found=client.scheduler.address,
            expected=f"one within {_FIRST_WORKER_SECONDS} s",
        ) from None  # fmt: skip
    threads: dict[str, int] = client.nthreads()
    return max(sum(threads.values()), 1)


def _do(work: bytes, chunk: list[RunTask], version: str) -> list[RunOutcome]:
    """Do some tasks, in a worker."""
    if code_version() != version:
        raise InputError(
            "a dask worker has another version of the program",
            where="scheduler",
            found=code_version(),
            expected=version,
        )
    with one_thread(), in_one_thread():
        return [attempt(_loaded(work), task) for task in chunk]


def _as_it_is(work: bytes) -> bytes:
    return work


@functools.lru_cache(maxsize=2)
def _loaded(work: bytes) -> Work:
    sent: Shipment = pickle.loads(work)  # noqa: S301 - from the process that gave the work
    return sent.unpacked()

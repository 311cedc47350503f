"""The executor that a user names."""

from __future__ import annotations

from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.automatic import AutomaticExecutor
from reidsim.engine.batch.executors.capacity import require_carried
from reidsim.engine.batch.executors.cluster import DaskExecutor
from reidsim.engine.batch.executors.processes import ProcessExecutor
from reidsim.engine.batch.executors.serial import SerialExecutor
from reidsim.errors import InputError, require_among

EXECUTORS = ("auto", "serial", "processes", "dask")


def executor_named(
    name: str = "auto", *, workers: int | None = None, scheduler: str | None = None, timeout: float | None = None
) -> Executor:
    """Return an executor.

    Parameters
    ----------
    name : str
        One of `EXECUTORS`.
    workers : int, optional
        Processes; as many as there are cores and free memory for, if not given.
    scheduler : str, optional
        Address of a dask cluster's scheduler; a cluster of this computer, if not given.
    timeout : float, optional
        Seconds after which a run is given up.

    Raises
    ------
    InputError
        If there is no such executor, or it cannot do what is asked.
    """
    require_among("no such executor", (name,), EXECUTORS, where="executor")
    if workers is not None and workers < 1:
        raise InputError("not a number of processes", where="workers", found=workers, expected="1 or more")
    if workers is not None:
        require_carried(workers)
    if timeout is not None and not timeout > 0:
        raise InputError("not a time", where="timeout", found=timeout, expected="seconds, above 0")
    if scheduler is not None and name != "dask":
        raise InputError("only dask has a scheduler", where="scheduler", found=scheduler, expected="executor dask")
    if workers is not None and (scheduler is not None or name == "serial"):
        expected = "workers with executor auto, processes, or dask without a scheduler"
        raise InputError("the number of processes is not ours to choose", where="workers", expected=expected)
    if timeout is not None and name not in ("auto", "processes"):
        # A run cannot be stopped from within its own process.
        raise InputError("runs cannot be given up there", where="timeout", found=name, expected="executor processes")
    if name == "serial":
        return SerialExecutor()
    if name == "dask":
        return DaskExecutor(scheduler, workers)
    if name == "processes" or timeout is not None:
        return ProcessExecutor(workers, timeout)
    return AutomaticExecutor(workers)

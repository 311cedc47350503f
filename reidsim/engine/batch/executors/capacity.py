"""The number of processes for which this computer has cores and free memory."""

from __future__ import annotations

import os

from reidsim.engine.batch.tasks import Work
from reidsim.errors import InputError
from reidsim.memory import free_memory

# Memory of a worker that has imported the package and compiled its functions.
_WORKER_BYTES = 300 * 1024**2
# So few processes do no harm on a computer with fewer cores, and allow comparisons between numbers of processes.
_ALWAYS = 4


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def default_workers(needed: int = 0) -> int:
    """Return the number of processes if the user gives none: the cores, as far as there is memory.

    Parameters
    ----------
    needed : int
        Bytes that a run takes, besides the program.
    """
    return max(1, min(available_cores(), _fitting(needed)))


def workers_for(asked: int | None, work: Work) -> int:
    """Return the number of processes for some work, given the memory of a run.

    Parameters
    ----------
    asked : int, optional
        Number that the user gives.
    work : Work

    Raises
    ------
    InputError
        If the user gives more than this computer can hold.
    """
    needed = getattr(work, "needed_memory", 0)
    if asked is None:
        return default_workers(needed)
    require_carried(asked, needed)
    return asked


def require_carried(workers: int, needed: int = 0) -> None:
    """Refuse more processes than cores (than four, on a computer with fewer), or than fit into free memory.

    Parameters
    ----------
    workers : int
    needed : int
        Bytes that a run takes, besides the program.

    Raises
    ------
    InputError
        If there are too many.
    """
    cores = available_cores()
    most, fitting = max(cores, _ALWAYS), _fitting(needed)
    if workers > most:
        expected = f"{most} or fewer: this computer has {cores} cores for them"
    elif workers > fitting:
        expected = f"{fitting} or fewer: that many fit into the memory that is free"
    else:
        return
    raise InputError("too many processes", where="workers", found=workers, expected=expected)


def _fitting(needed: int) -> int:
    free = free_memory()
    return max(1, free // (_WORKER_BYTES + needed)) if free is not None else available_cores()

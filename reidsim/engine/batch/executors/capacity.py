"""How many processes this computer carries: its cores, and the memory that is free."""

from __future__ import annotations

import os

from reidsim.engine.batch.tasks import Work
from reidsim.errors import InputError
from reidsim.memory import free_memory

# A worker that has imported the package and compiled what it needs.
_WORKER_BYTES = 300 * 1024**2
# More processes than cores gain nothing; so few do no harm, and results can be compared between numbers of them.
_ALWAYS = 4


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def default_workers(needed: int = 0) -> int:
    """Return the number of processes where nobody says one: the cores, as far as free memory carries them.

    Parameters
    ----------
    needed : int
        Bytes that a run takes, besides the program.
    """
    return max(1, min(available_cores(), _carried(needed)))


def workers_for(asked: int | None, work: Work) -> int:
    """Return the number of processes for some work, once it is known what a run takes.

    Parameters
    ----------
    asked : int, optional
        By the user.
    work : Work

    Raises
    ------
    InputError
        If more are asked for than this computer carries.
    """
    needed = getattr(work, "needed_memory", 0)
    if asked is None:
        return default_workers(needed)
    require_carried(asked, needed)
    return asked


def require_carried(workers: int, needed: int = 0) -> None:
    """Refuse more processes than this computer carries.

    Parameters
    ----------
    workers : int
    needed : int
        Bytes that a run takes, besides the program.

    Raises
    ------
    InputError
        If there are more than cores (than four, on a computer with fewer), or than fit into free memory.
    """
    cores, carried = available_cores(), _carried(needed)
    if workers > max(cores, _ALWAYS):
        expected = f"{max(cores, _ALWAYS)} or fewer: this computer has {cores} cores for them"
    elif workers > carried:
        expected = f"{carried} or fewer: that many fit into the memory that is free"
    else:
        return
    raise InputError("too many processes", where="workers", found=workers, expected=expected)


def _carried(needed: int) -> int:
    free = free_memory()
    return max(1, free // (_WORKER_BYTES + needed)) if free is not None else available_cores()

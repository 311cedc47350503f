"""The number of worker processes that fit this computer's cores and free memory."""

from __future__ import annotations

import os
from pathlib import Path

from reidsim.errors import InputError
from reidsim.memory import free_memory

# Memory of a worker after it has imported the package and compiled its functions.
_WORKER_BYTES = 300 * 1024**2
# This number of processes is always allowed: it is harmless on a computer with fewer cores, and allows comparisons
# between numbers of processes.
_ALWAYS = 4


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def default_workers() -> int:
    """Return the default number of processes.

    It is the number of cores, or less if memory is short.
    """
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
    most = max(cores, _ALWAYS)
    if workers > most:
        expected = f"at most {most}: this computer has {cores} cores"
    elif workers > fitting:
        expected = f"at most {fitting}, which fit into free memory"
    else:
        return
    raise InputError("too many processes", where="workers", found=workers, expected=expected)


def _fitting() -> int:
    """Return the number of workers that fit into free memory.

    A worker needs about as much memory as this process, which has read the data.
    """
    free = free_memory()
    if free is None:
        return available_cores()
    return max(1, free // max(_WORKER_BYTES, _resident()))


def _resident() -> int:
    """Return the resident memory of this process in bytes.

    The result is 0 if the operating system does not report it.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")

"""The number of processes for which this computer has cores and free memory."""

from __future__ import annotations

import os
from pathlib import Path

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


def default_workers() -> int:
    """Return the number of processes if the user gives none: the cores, as far as there is memory."""
    return max(1, min(available_cores(), _fitting()))


def require_carried(workers: int) -> None:
    """Refuse more processes than cores (than four, on a computer with fewer), or than fit into free memory.

    Raises
    ------
    InputError
        If there are too many.
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
    """Return the number of workers that fit into free memory, each as large as this process, which read the data."""
    free = free_memory()
    if free is None:
        return available_cores()
    return max(1, free // max(_WORKER_BYTES, _resident()))


def _resident() -> int:
    """Return the bytes of this process in memory; 0 where the system does not show them."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")

"""How many processes this computer carries: its cores, and the memory that is free."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

# A worker that has imported the package and compiled what it needs; those with large data ask for more.
_WORKER_BYTES = 300 * 1024**2
# More processes than cores gain nothing; so few do no harm, and results can be compared between numbers of them.
_ALWAYS = 4


def available_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def default_workers() -> int:
    """Return the number of processes where nobody says one: the cores, as far as free memory carries them."""
    return max(1, min(available_cores(), _carried()))


def require_carried(workers: int) -> None:
    """Refuse more processes than this computer carries.

    Parameters
    ----------
    workers : int

    Raises
    ------
    InputError
        If there are more than cores (than four, on a computer with fewer), or than fit into free memory.
    """
    cores, carried = available_cores(), _carried()
    if workers > max(cores, _ALWAYS):
        expected = f"{max(cores, _ALWAYS)} or fewer: this computer has {cores} cores for them"
    elif workers > carried:
        expected = f"{carried} or fewer: that many fit into the memory that is free"
    else:
        return
    raise InputError("too many processes", where="workers", found=workers, expected=expected)


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that are free to this process, limits of its control group included.

    Parameters
    ----------
    root : Path
        Where the system's files are.

    Returns
    -------
    int or None
        None where the system does not tell.
    """
    return min(_told(root), default=None)


def _carried() -> int:
    free = free_memory()
    return max(1, free // _WORKER_BYTES) if free is not None else available_cores()


def _told(root: Path) -> Iterator[int]:
    """Yield what the system tells of free memory: of the whole computer, and of the control groups of this process."""
    lines = _text(root / "proc/meminfo").splitlines()
    yield from (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.lstrip("/")
        # In a container, the path is that of the host, and its own group is at the base.
        for folder in {base, group, *(parent for parent in group.parents if parent.is_relative_to(base))}:
            limit, used = (_text(folder / name).strip() for name in names)
            if limit.isdigit() and used.isdigit():
                yield max(int(limit) - int(used), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""

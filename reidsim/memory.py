"""Measure free memory, and refuse work that does not fit into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

# Memory of the program after imports and compilation, bytes; measured on Linux with Python 3.11.
PROGRAM_BYTES = 290 * 10**6
_PAGE = 4096
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the memory that this process can still allocate, in bytes.

    It is the minimum of the computer's available memory, the unused part of the limit of the address space
    (``ulimit -v``) and the unused parts of the limits of the process's control groups, as in containers and job
    schedulers. The result is None if the system reports none of them.

    Parameters
    ----------
    root : Path
        Root of the file system with ``proc`` and ``sys``.
    """
    free = list(_free_in_groups(root))
    available = re.search(r"^MemAvailable: +(\d+)", _text(root / "proc/meminfo"), re.MULTILINE)
    if available is not None:
        free.append(int(available[1]) * 1024)
    limit, pages = address_limit(root), _text(root / "proc/self/statm").split()
    if limit is not None and pages:
        free.append(max(limit - int(pages[0]) * _PAGE, 0))
    return min(free, default=None)


def address_limit(root: Path = Path("/")) -> int | None:
    """Return the limit of the address space (``ulimit -v``) in bytes.

    None if there is no limit, or the system does not report it.
    """
    allowed = re.search(r"^Max address space +(\d+)", _text(root / "proc/self/limits"), re.MULTILINE)
    return None if allowed is None else int(allowed[1])


def require_memory(
    needed: int,
    problem: str,
    *,
    source: str | Path | None = None,
    where: str | None = None,
    hint: str | None = None,
    free: int | None = None,
) -> None:
    """Refuse work that needs more than free memory, before its allocation.

    All work passes if the system does not report its free memory.

    Parameters
    ----------
    needed : int
        Memory that the work needs, bytes.
    problem : str
        Text such as ``"file too large for the memory that is free"``.
    source, where, hint
        Passed to `InputError`.
    free : int, optional
        Free memory before part of it was allocated, bytes; the current free memory if not given.

    Raises
    ------
    InputError
        If memory is not sufficient; the message states the needed and the free memory.
    """
    free = free_memory() if free is None else free
    if free is not None and needed > free:
        problem = f"{problem}: about {memory_text(needed)} are needed"
        expected = f"at most {memory_text(free)}, the free memory"
        raise InputError(problem, source=source, where=where, expected=expected, hint=hint)


def memory_text(size: int) -> str:
    """Return a memory size as text with two or three digits, such as ``"1.3 GB"``."""
    for unit, factor in _UNITS:
        if size >= factor:
            number = size / factor
            return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{size} bytes"


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield the free memory of each control group of this process, in bytes.

    Versions 1 and 2 of the interface are supported.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.lstrip("/")
        # Inside a container, the path is the host's path, and the container's own group is at the base.
        for folder in {base, group, *(parent for parent in group.parents if parent.is_relative_to(base))}:
            limit, used = (_text(folder / name).strip() for name in names)
            if limit.isdigit() and used.isdigit():
                yield max(int(limit) - int(used), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""

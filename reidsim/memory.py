"""Free memory, and the refusal of work that does not fit into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

# The program itself after imports and compilation, measured on Linux with Python 3.11.
PROGRAM_BYTES = 290 * 10**6
_PAGE = 4096
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that this process can still take; None where the system does not report it.

    It is the least of the computer's available memory, the limit of addresses (``ulimit -v``) and the limits of the
    process's control groups, as in containers and job schedulers.

    Parameters
    ----------
    root : Path
        Where the system's files are.
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
    """Return the bytes of addresses that this process may use (``ulimit -v``); None without a limit."""
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
    """Refuse work that needs more memory than is free, before any of it is allocated.

    Parameters
    ----------
    needed : int
        Bytes.
    problem : str
        Such as ``"file too large for the memory that is free"``.
    source, where, hint
        As of `InputError`.
    free : int, optional
        Free bytes before some of it was allocated; the current free bytes, if not given.

    Raises
    ------
    InputError
        With the bytes needed and the bytes free.
    """
    free = free_memory() if free is None else free
    if free is not None and needed > free:
        problem = f"{problem}: about {memory_text(needed)} are needed"
        expected = f"at most the {memory_text(free)} that are free"
        raise InputError(problem, source=source, where=where, expected=expected, hint=hint)


def memory_text(size: int) -> str:
    """Return a number of bytes in two or three digits, such as ``"1.3 GB"``."""
    for unit, factor in _UNITS:
        if size >= factor:
            number = size / factor
            return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{size} bytes"


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield the bytes below the limit of each control group of this process, of either version of the interface."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.lstrip("/")
        # In a container, the path is that of the host, and the container's own group is at the base.
        for folder in {base, group, *(parent for parent in group.parents if parent.is_relative_to(base))}:
            limit, used = (_text(folder / name).strip() for name in names)
            if limit.isdigit() and used.isdigit():
                yield max(int(limit) - int(used), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""

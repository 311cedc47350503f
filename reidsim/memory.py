"""Memory: how much is free to this process, and refusing what does not fit before it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

# The program itself, once it has imported, compiled and drawn what it needs.
PROGRAM_BYTES = 290 * 10**6
_PAGE = 4096
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that are free to this process, limits of its control group and of its user included.

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


def address_limit(root: Path = Path("/")) -> int | None:
    """Return the bytes of addresses that this process may use (``ulimit -v``); None without a limit.

    Parameters
    ----------
    root : Path
        Where the system's files are.
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
    """Refuse what needs more memory than is free, before any of it is taken.

    Parameters
    ----------
    needed : int
        Bytes.
    problem : str
        What is too large, such as ``"file too large for the memory that is free"``.
    source, where, hint
        As of `InputError`.
    free : int, optional
        Bytes that were free before some of it was taken; what is free now, if not given.

    Raises
    ------
    InputError
        With what is needed and what is free.
    """
    free = free_memory() if free is None else free
    if free is not None and needed > free:
        expected = f"at most the {memory_text(free)} that are free"
        raise InputError(
            f"{problem}: about {memory_text(needed)} are needed",
            source=source,
            where=where,
            expected=expected,
            hint=hint,
        )


def memory_text(size: int) -> str:
    """Return a number of bytes in two or three digits, such as ``"1.3 GB"``."""
    for unit, among in _UNITS:
        if size >= among:
            number = size / among
            return f"{number:,.1f} {unit}" if number < 10 else f"{number:,.0f} {unit}"
    return f"{size} bytes"


def _told(root: Path) -> Iterator[int]:
    """Yield what the system tells of free memory: of the whole computer, and what limits leave of this process."""
    lines = _text(root / "proc/meminfo").splitlines()
    yield from (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    allowed, pages = address_limit(root), _text(root / "proc/self/statm").split()
    if allowed is not None and pages:
        yield max(allowed - int(pages[0]) * _PAGE, 0)
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

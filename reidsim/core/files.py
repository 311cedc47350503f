"""Check files and free memory before work begins; make safe file names."""

from __future__ import annotations

import contextlib
import re
import stat
import zipfile
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import IO

from reidsim.core.errors import InputError

# Endings of files with typed columns, by program.
STATA, SPSS, SAS, EXCEL = (".dta",), (".sav", ".zsav", ".por"), (".sas7bdat", ".xpt"), (".xlsx", ".xlsm")
TYPED_ENDINGS = (*STATA, *SPSS, *SAS, *EXCEL)
# Endings of all files of tables, also compressed.
TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".data", ".gz", ".bz2", ".parquet", *TYPED_ENDINGS)

_MOST_CHARACTERS = 40
_PAGE = 4096
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("bytes", 1))
# Peak memory of reading a file as a table, as a multiple of its uncompressed content. Text: bytes, text, parsed rows
# and columns. Parquet: stored, as text, and trimmed. Workbooks: the XML parts are larger than their cells.
_TEXT_COPIES, _PARQUET_COPIES, _WORKBOOK_COPIES = 6, 4, 4
# Memory of a Parquet cell that is read as text, besides its content, bytes.
_CELL_BYTES = 24
# Number of bytes after which memory is checked again while a file is read.
_CHUNK = 16 * 2**20
# Files up to this size are read without such a check, bytes.
_SMALL = 2**20


def plain_name(name: str, taken: Container[str] = ()) -> str:
    """Return a safe file name: characters except letters, digits, - and _ become -.

    Only the first 40 characters are used; an empty name becomes ``-``.

    Parameters
    ----------
    name : str
    taken : container of str
        Names in use; a number is added to a name among them.
    """
    plain = first = re.sub(r"[^\w-]", "-", name[:_MOST_CHARACTERS]) or "-"
    number = 1
    while plain in taken:
        number += 1
        plain = f"{first}-{number}"
    return plain


def require_plain(name: str, where: str) -> None:
    """Check that a name is not a path.

    Raises
    ------
    InputError
        If the name is empty or only dots and spaces, or contains a slash, backslash, colon or character that cannot be
        printed. The message names the key or argument `where`.
    """
    if not name.strip(". ") or not name.isprintable() or any(sign in name for sign in "/\\:"):
        raise InputError("not a valid name", where=where, found=name, expected="letters and digits, without / or \\")


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

    None if there is no limit, or the system does not report it. `root` is the root of the file system with ``proc``.
    """
    allowed = re.search(r"^Max address space +(\d+)", _text(root / "proc/self/limits"), re.MULTILINE)
    return None if allowed is None else int(allowed[1])


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield the free memory of each control group of this process, in bytes.

    It is the limit of the group minus its used memory, at least 0; groups without a limit are skipped. Versions 1 and 2
    of the interface are supported. `root` is the root of the file system with ``proc`` and ``sys``.
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
    unit, factor = next((unit for unit in _UNITS if size >= unit[1]), _UNITS[-1])
    return f"{size / factor:,.{int(size < 10 * factor and factor > 1)}f} {unit}"


def require_no_device(path: Path) -> None:
    """Refuse a pipe, device or socket, which may be endless.

    A path to nothing passes.

    Raises
    ------
    InputError
        If the path leads to a pipe, device or socket.
    """
    mode = stat.S_IFREG
    with contextlib.suppress(OSError, ValueError):
        mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("is a pipe, device or socket", source=path, expected="a file")


def read_within_memory(file: IO[bytes], path: Path) -> bytes:
    """Return the content of an open file object, which may decompress it.

    Raises
    ------
    InputError
        If the content exceeds the size that can be read as a table in free memory; raised as soon as it does.
    """
    content = bytearray(file.read(_SMALL))
    # Measure before more is read, which reduces free memory.
    free = free_memory() if len(content) == _SMALL else None
    while chunk := file.read(_CHUNK):
        content += chunk
        require_memory(len(content) * _TEXT_COPIES, "too large for memory, even in part", source=path, free=free)
    return bytes(content)


def require_workbook_fits(path: Path) -> None:
    """Refuse a workbook if reading it would need more than the free memory.

    The need is estimated as four times its declared content. A workbook is a zip archive, which declares the size of
    its parts. A damaged archive passes; reading it reports the damage.

    Raises
    ------
    InputError
        If reading the content needs more memory.
    """
    declared = 0
    with contextlib.suppress(OSError, zipfile.BadZipFile, ValueError), zipfile.ZipFile(path) as archive:
        declared = sum(part.file_size for part in archive.infolist())
    require_memory(declared * _WORKBOOK_COPIES, "too large for memory", source=path)


def require_parquet_fits(path: Path, columns: Iterable[str] | None = None) -> None:
    """Refuse a Parquet file that is a device or declares content beyond free memory.

    A damaged file passes; reading it reports the damage.

    Parameters
    ----------
    path : Path
    columns : iterable of str, optional
        Columns to read; all if not given.

    Raises
    ------
    InputError
        If the file is a device, or the content of the columns is too large.
    """
    # Import here: every command reads TOML files through this module, but few commands read Parquet.
    import pyarrow as pa
    from pyarrow import parquet

    require_no_device(path)
    wanted = None if columns is None else set(columns)
    needed = 0
    with contextlib.suppress(OSError, pa.ArrowException, ValueError):
        # Use an absolute path: pyarrow interprets a relative path such as hdfs:/people.parquet as a server address.
        about = parquet.read_metadata(path.absolute())
        needed = sum(
            max(column.total_uncompressed_size, column.total_compressed_size, 0) * _PARQUET_COPIES
            + max(group.num_rows, column.num_values, 0) * _CELL_BYTES
            for group in map(about.row_group, range(about.num_row_groups))
            for column in map(group.column, range(group.num_columns))
            if wanted is None or column.path_in_schema.split(".")[0] in wanted
        )
    require_memory(needed, "too large for memory", source=path)

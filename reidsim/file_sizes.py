"""Files that have no end, or promise more than memory holds: told before it is taken, whatever they expand to."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from typing import IO

from reidsim.errors import InputError
from reidsim.memory import free_memory, require_memory

# Copies of a text that reading it as a table takes at most: bytes, text, what is parsed of it twice, columns.
TEXT_COPIES = 6
# Of the parts of a workbook, which are XML: its cells as text are smaller than that.
_WORKBOOK_COPIES = 4
_CHUNK = 16 * 2**20


def require_no_device(path: Path) -> None:
    """Check that a path leads to no pipe, device or socket, which may have no end, or wait for one who writes.

    One that leads nowhere passes: reading it says what is wrong.

    Raises
    ------
    InputError
        If it does.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("is a pipe, device or socket", source=path, expected="a file")


def read_within_memory(file: IO[bytes], path: Path) -> bytes:
    """Return all that a file holds, decompressed if it is opened so.

    Raises
    ------
    InputError
        Once there is more than can be read as a table in the memory that is free.
    """
    free, size = free_memory(), 0
    chunks: list[bytes] = []
    while chunk := file.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        # What has been read is no longer free.
        if free is not None and size * TEXT_COPIES > free:
            chunks.clear()
            require_memory(size * TEXT_COPIES, "too large for memory, as far as it was read", source=path)
            raise InputError("too large for the memory that is free", source=path)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def require_workbook_fits(path: Path) -> None:
    """Check that the parts of a workbook, which is a zip archive, can be read in the memory that is free.

    Raises
    ------
    InputError
        If what they promise to expand to is more.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            # More is never read of a part than it promises.
            promised = sum(part.file_size for part in archive.infolist())
    except (OSError, zipfile.BadZipFile, ValueError):
        return
    require_memory(promised * _WORKBOOK_COPIES, "too large for memory", source=path)

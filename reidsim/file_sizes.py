"""Check files before they are read: no devices, and no content beyond free memory."""

from __future__ import annotations

import contextlib
import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from reidsim.errors import InputError
from reidsim.memory import free_memory, require_memory

# Peak memory of reading a file as a table, as a multiple of its uncompressed content. Text: bytes, text, parsed rows
# and columns. Parquet: stored, as text, and trimmed. Workbooks: the XML parts are larger than their cells.
_TEXT_COPIES, _PARQUET_COPIES, _WORKBOOK_COPIES = 6, 4, 4
# Memory of a Parquet cell that is read as text, besides its content, bytes.
_CELL_BYTES = 24
# Number of bytes after which memory is checked again while a file is read.
_CHUNK = 16 * 2**20


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
    # Measure before reading: the chunks read so far reduce free memory.
    free, size = free_memory(), 0
    chunks: list[bytes] = []
    while chunk := file.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        require_memory(size * _TEXT_COPIES, "too large for memory, even in part", source=path, free=free)
    return b"".join(chunks)


def require_workbook_fits(path: Path) -> None:
    """Refuse a workbook whose declared content exceeds free memory.

    A workbook is a zip archive, which declares the size of its parts. A damaged archive passes; reading it reports the
    damage.

    Raises
    ------
    InputError
        If the content is too large.
    """
    declared = 0
    # Damaged archives pass here; reading them reports the damage.
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
    # Damaged files pass here; reading them reports the damage.
    with contextlib.suppress(OSError, pa.ArrowException, ValueError):
        # Use an absolute path: pyarrow interprets a relative path such as hdfs:/people.parquet as a server address.
        about = parquet.read_metadata(path.absolute())
        for group in map(about.row_group, range(about.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                if wanted is None or column.path_in_schema.split(".")[0] in wanted:
                    stored = max(column.total_uncompressed_size, column.total_compressed_size, 0)
                    needed += stored * _PARQUET_COPIES + max(group.num_rows, column.num_values, 0) * _CELL_BYTES
    require_memory(needed, "too large for memory", source=path)

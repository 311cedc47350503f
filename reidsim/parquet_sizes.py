"""Parquet files that promise more than memory holds: told before they are read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from reidsim.file_sizes import require_no_device
from reidsim.memory import require_memory

# Bytes of a cell that is read as text, besides its own: its place in a column, before and after spaces are cut.
_CELL_BYTES = 24
# Copies of what a Parquet file holds uncompressed: as it has it, as text, and with spaces cut.
_PARQUET_COPIES = 4


def require_parquet_fits(path: Path, columns: Iterable[str] | None = None) -> None:
    """Check, by what a Parquet file says of itself, that it is a file that can be read in the memory that is free.

    A file that cannot be read at all passes: reading it says what is wrong.

    Parameters
    ----------
    path : Path
    columns : iterable of str, optional
        Those that are read; all if not given.

    Raises
    ------
    InputError
        If rows and bytes that it promises are more, or it is a pipe, device or socket.
    """
    require_no_device(path)
    try:
        # Absolute: pyarrow takes a relative path such as hdfs:/people.parquet for the address of a server.
        about = parquet.read_metadata(path.absolute())
        wanted = None if columns is None else set(columns)
        promised = cells = 0
        for number in range(about.num_row_groups):
            group = about.row_group(number)
            for position in range(group.num_columns):
                column = group.column(position)
                if wanted is None or column.path_in_schema.split(".")[0] in wanted:
                    promised += max(column.total_uncompressed_size, column.total_compressed_size, 0)
                    cells += max(group.num_rows, column.num_values, 0)
    except (OSError, pa.ArrowException, ValueError):
        return
    require_memory(promised * _PARQUET_COPIES + cells * _CELL_BYTES, "too large for memory", source=path)

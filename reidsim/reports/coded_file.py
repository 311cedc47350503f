"""Read a file of people, CSV or Parquet, as integer codes by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from reidsim.errors import InputError, locating, require_distinct
from reidsim.file_sizes import require_no_device, require_parquet_fits
from reidsim.linkage.uniqueness.sample_cells import require_weights
from reidsim.populations.files import population_metadata
from reidsim.tables import (
    read_parquet,
    read_table,
    reading_parquet,
    refuse_encoding_of_types,
    require_columns,
    sniff_delimiter,
)

MISSING = 0

_PARQUET_MAGIC = b"PAR1"
# From this number on, float64 cannot represent every whole number.
_INEXACT = 2**53


@dataclass(frozen=True)
class CodedColumn:
    """Integer codes of an attribute.

    Parameters
    ----------
    name : str
    codes : ndarray of int32, shape (n_rows,)
        0 for a missing value, 1 or more for other values.
    n_codes : int
        Upper bound of the codes, exclusive; some codes may not occur.
    """

    name: str
    codes: NDArray[np.int32]
    n_codes: int


@dataclass(frozen=True)
class CodedFile:
    """Coded file of people: one row per record, or per cell with a record count.

    Parameters
    ----------
    path : Path
    kind : str or None
        Kind of content recorded in the file, such as ``"cells"``; None if not recorded.
    title, source : str
        Title and source recorded in the file; empty if not recorded.
    columns : tuple of CodedColumn
        Coded attributes, at least one.
    counts : ndarray of int64, shape (n_rows,), or None
        Number of records in each row, 0 or more; None if each row is one record.
    weights : ndarray of float64, shape (n_rows,), or None
        Sampling weight of each row: number of people in the population per record. None without a weight column.
    """

    path: Path
    kind: str | None
    title: str
    source: str
    columns: tuple[CodedColumn, ...]
    counts: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None = None


def read_coded_file(
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    count: str | None = None,
    weight: str | None = None,
    encoding: str | None = None,
) -> CodedFile:
    """Read a file of people as integer codes.

    Parameters
    ----------
    path : Path
        Parquet, or delimited text with a header. The delimiter is the comma, semicolon, tab or bar that splits the
        first two lines into the most columns. Text may be compressed (``.gz``, ``.bz2``).
    columns : sequence of str, optional
        Attributes to read. By default, the attributes recorded in the file, or else all columns but the counts.
    count : str, optional
        Column with the number of records in a row. By default, the column recorded in the file, if any.
    weight : str, optional
        Column with sampling weights.
    encoding : str, optional
        Encoding of delimited text; UTF-8 if not given.

    Returns
    -------
    CodedFile
        Coded file. Missing are nulls, NaN in a column of numbers, and empty or blank text.

    Raises
    ------
    InputError
        If the file cannot be read, has no rows, lacks a column, or its counts are not whole numbers of 0 or more.
    """
    says: dict[str, Any] = {}
    is_parquet = _is_parquet(path)
    if is_parquet:
        refuse_encoding_of_types(path.with_suffix(".parquet"), encoding)
        schema, says = _parquet_schema(path)
        names = schema.names
    else:
        refuse_encoding_of_types(path, encoding)
        delimiter = sniff_delimiter(path, encoding)
        frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding or "utf-8")
        table = pa.Table.from_pandas(frame, preserve_index=False)
        names = table.column_names
    count = count if count is not None else says.get("count")
    besides = [name for name in (count, weight) if name is not None]
    if columns is None:
        columns = [name for name in says.get("attributes") or names if name not in besides]
    require_columns(names, [*columns, *besides], path)
    if not columns:
        raise InputError(
            "the file has no attributes", source=path, expected="at least one column in addition to the counts"
        )
    if len(set(columns)) < len(columns):
        raise InputError("column named twice", source=path, found=list(columns))
    if count in columns:
        raise InputError("the column of counts is also an attribute", source=path, found=count)
    if weight in columns:
        raise InputError("the column of sampling weights is also an attribute", source=path, found=weight)
    if is_parquet:
        table = _read_parquet(path, [*columns, *besides])
    return CodedFile(
        path=path,
        kind=says.get("kind"),
        title=says.get("title") or "",
        source=says.get("source") or "",
        columns=tuple(_coded(name, table[name], path) for name in columns),
        counts=None if count is None else _counts(table[count], count, path),
        weights=None if weight is None else _weights(table[weight], weight, path),
    )


def _is_parquet(path: Path) -> bool:
    require_no_device(path)
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except (OSError, ValueError):
        # The attempt to read the file as text reports the error.
        return False


def _parquet_schema(path: Path) -> tuple[pa.Schema, dict[str, Any]]:
    """Return the schema of a file, and the metadata recorded in it."""
    with reading_parquet(path):
        schema = parquet.read_schema(path.absolute())
    require_distinct("column named twice", schema.names, source=path)
    return schema, population_metadata(schema) or {}


def _read_parquet(path: Path, names: list[str]) -> pa.Table:
    require_parquet_fits(path, names)
    table = read_parquet(path, names)
    if table.num_rows == 0:
        raise InputError("the file has no rows", source=path, expected="at least one row")
    return table


def _coded(name: str, column: pa.ChunkedArray, path: Path) -> CodedColumn:
    if pa.types.is_nested(column.type):
        raise InputError(
            "the column does not hold one value per row",
            source=path,
            where=f"column {name!r}",
            found=str(column.type),
            hint="name the columns that are attributes",
        )
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    chunks = column.chunks
    # Indices may be of a narrow unsigned type, which cannot represent -1.
    wide = (chunk.indices.cast(pa.int64()).fill_null(-1) for chunk in chunks)
    indices = np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in wide])
    code_of, n_codes = _codes_of_values(chunks[0].dictionary)
    # The last entry is the code of nulls, whose index is -1.
    codes = np.append(code_of, np.int32(MISSING))[indices]
    return CodedColumn(name, codes, n_codes)


def _codes_of_values(values: pa.Array) -> tuple[NDArray[np.int32], int]:
    """Return the code of each value and the number of codes.

    Missing values have code 0. Values that differ only in surrounding spaces have the same code.
    """
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        trimmed = compute.utf8_trim_whitespace(values)
        values = compute.if_else(compute.equal(trimmed, ""), None, trimmed)
    elif pa.types.is_floating(values.type):
        values = compute.if_else(compute.is_nan(values), None, values)
    elif pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int32), 1
    distinct = values.dictionary_encode()
    codes = distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32) + np.int32(1)
    return codes, len(distinct.dictionary) + 1


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values: NDArray[np.float64] = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(dtype=np.float64)
    return values


def _weights(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.float64]:
    """Return sampling weights; an error names the first row without a valid weight."""
    values = _numbers(column)
    with locating(path):
        require_weights(values, f"row {{row}}, column {name!r}")
    return values


def _counts(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.int64]:
    """Return counts as integers; an error names the first row without a valid count."""
    values = _numbers(column)
    wrong = ~((values >= 0) & (values < _INEXACT) & (values == np.floor(values)))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            "not a whole number of 0 or more",
            source=path,
            where=f"row {row + 1}, column {name!r}",
            found=column[row].as_py(),
            hint="for sampling weights, use --weight" if ((values >= 1) & (values < _INEXACT)).all() else None,
        )
    counts = values.astype(np.int64)
    if not counts.any():
        raise InputError(
            "all counts are 0", source=path, where=f"column {name!r}", expected="at least one count of 1 or more"
        )
    return np.asarray(counts)

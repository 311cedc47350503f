"""Reading delimited text files as text, with errors that name the file and the row or column."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from reidsim.errors import InputError, listed, nearest

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def read_table(path: Path, *, delimiter: str = ",", header: bool = True, comment: str | None = None) -> pd.DataFrame:
    """Read a delimited text file or a Parquet file, every value as text (nothing is guessed, empty stays empty).

    Parameters
    ----------
    path : Path
        Text in UTF-8, which may be compressed (``.gz``, ``.bz2``); or Parquet (``.parquet``), whose nulls become
        empty and whose whole numbers have no decimals, to which the other parameters do not apply.
    delimiter : str
        One character.
    header : bool
        Whether the first row holds column names; else columns are numbered from 0.
    comment : str, optional
        Character that starts lines to pass over at the top of the file.

    Returns
    -------
    DataFrame
        Values without the spaces around them.

    Raises
    ------
    InputError
        If the file cannot be read, is not text, has no rows, rows of different lengths or repeated column names.
    """
    if path.suffix == ".parquet":
        return _parquet(path)
    text = _text(path)
    lines = text.splitlines(keepends=True)
    passed_over = (not line.strip() or (comment is not None and line.startswith(comment)) for line in lines)
    skipped = sum(1 for _ in itertools.takewhile(bool, passed_over))
    first = next(csv.reader(lines[skipped:], delimiter=delimiter), [])
    names = [name.strip() for name in first] if header else [str(number) for number in range(len(first))]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError("column named twice", source=path, found=repeated[0])
    broken: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        broken.append(row)
        return "error"

    try:
        table = arrow_csv.read_csv(
            io.BytesIO("".join(lines[skipped:]).encode()),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=arrow_csv.ConvertOptions(
                strings_can_be_null=False, column_types=dict.fromkeys(names, pa.string())
            ),
        )
    except pa.ArrowInvalid as error:
        raise _unreadable(path, str(error), broken, header) from None
    # The header was given as names, so it comes back as the first row.
    table = table.slice(1) if header else table
    if table.num_rows == 0:
        raise InputError("the file has no rows", source=path, expected="at least one")
    columns = [compute.utf8_trim_whitespace(column).to_pandas().astype("str") for column in table.columns]
    return pd.DataFrame(dict(zip(names if header else range(len(names)), columns, strict=True)))


def _parquet(path: Path) -> pd.DataFrame:
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"not a Parquet file that can be read: {error}", source=path) from None
    if table.num_rows == 0:
        raise InputError("the file has no rows", source=path, expected="at least one")
    return pd.DataFrame({name: _as_text(table.column(name), name, path) for name in table.column_names})


def _as_text(column: pa.ChunkedArray, name: str, path: Path) -> pd.Series[str]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) and compute.all(compute.equal(column, compute.floor(column))).as_py():
        with contextlib.suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())
    try:
        text = compute.fill_null(column.cast(pa.string()), "")
    except pa.ArrowNotImplementedError:
        raise InputError(
            "column that is not of single values", source=path, where=f"column {name!r}", found=str(column.type)
        ) from None
    trimmed: pd.Series[str] = compute.utf8_trim_whitespace(text).to_pandas().astype("str")
    return trimmed


def _unreadable(path: Path, reason: str, broken: list[arrow_csv.InvalidRow], header: bool) -> InputError:
    if not broken:
        return InputError(f"rows cannot be told apart: {reason}", source=path)
    row = broken[0]
    quoted = row.text.count('"') % 2 == 1
    return InputError(
        "row of another length",
        source=path,
        where=f"row {row.number - header}",
        found=row.actual_columns,
        expected=f"{row.expected_columns} columns",
        hint="a quotation mark is not closed" if quoted else None,
    )


def _text(path: Path) -> str:
    try:
        opener: Callable[[Path, str], IO[Any]] = _OPENERS.get(path.suffix, open)
        with opener(path, "rb") as file:
            content: bytes = file.read()
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except IsADirectoryError:
        raise InputError("is a folder", source=path, expected="a file") from None
    except UnicodeDecodeError:
        raise InputError("not a text file in UTF-8", source=path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", source=path) from None
    except ValueError:
        raise InputError("not a file name", source=path) from None
    if not text.strip():
        raise InputError("the file is empty", source=path)
    if "\0" in text:
        raise InputError("not a text file", source=path, found="a zero byte")
    return text


def require_columns(frame: pd.DataFrame, columns: Iterable[str], source: Path) -> None:
    """Check that a table has some columns.

    Raises
    ------
    InputError
        For the first one missing; names the file, the column and the nearest one there is.
    """
    for column in columns:
        if column not in frame.columns:
            raise InputError(
                "column missing",
                source=source,
                where=f"column {column!r}",
                expected=f"it among the columns, which are {listed(frame.columns, 20)}",
                hint=nearest(column, map(str, frame.columns)),
            )


def numbers(frame: pd.DataFrame, column: str, source: Path) -> pd.Series[float]:
    """Return a column of text as non-negative numbers.

    Raises
    ------
    InputError
        For the first value that is not one; names the file, row and value.
    """
    values = pd.to_numeric(frame[column], errors="coerce")
    wrong = ~(values >= 0) | (values == float("inf"))
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(
            "not a number of 0 or more",
            source=source,
            where=f"row {row + 1}, column {column!r}",
            found=frame[column].iloc[row],
        )
    return values

"""Read tables from files and memory as text; errors name file, row and column.

Files are delimited text, Parquet, workbooks, or files of statistical programs with their labels.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import csv
import gzip
import importlib
import io
import itertools
import os
import re
import unicodedata
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Self

import narwhals
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.io.stata import StataReader
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from reidsim.core.errors import (
    PRIVATE,
    InputError,
    listed,
    locating,
    nearest,
    refuse_first,
    refuse_rows,
    require_distinct,
)
from reidsim.core.files import (
    EXCEL,
    SAS,
    SPSS,
    STATA,
    TYPED_ENDINGS,
    free_memory,
    is_delimited,
    is_parquet_folder,
    require_memory,
    require_no_device,
    require_workbook_fits,
)
from reidsim.core.rows import DistinctRows, Numbers, RowCounts, joined, kept, occurrences

# Marks of missing values, including the empty cell.
MISSING_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", "."})
DELIMITERS = (",", ";", "\t", "|")

# Number of bytes that contain at least a header and a row.
_BEGINNING = 2**20
# Number of bytes of a file that are read at once.
_CHUNK = 2**20
# Cells whose codes are unified at once; fewer take more time, more take more memory.
_PENDING = 2**20
# Copies of the codes of a file while its columns are completed, and bytes of a cell of text.
_COPIES, _TEXT_BYTES = 2, 24
# Every column takes time, even with few rows.
_MOST_COLUMNS = 10_000
# Time of a date without time, beside dates with times.
_MIDNIGHT = r" 00:00:00(\.0+)?$"
_OF_CSV = "an encoding only for a CSV file"
_ZIP = b"PK\x03\x04"
# Byte order marks of UTF-16.
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Description of a typed file by its ending, and the extra dependency that reads it.
_KINDS = {
    **dict.fromkeys(STATA, ("a Stata file", "")),
    **dict.fromkeys(SPSS, ("an SPSS file", "statistics")),
    **dict.fromkeys(SAS, ("a SAS file", "statistics")),
    **dict.fromkeys(EXCEL, ("an Excel workbook", "excel")),
}
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def read_table(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table with every value as text; for the parameters and errors, see `read_coded_table`."""
    table = read_coded_table(path, **options)
    require_memory(table.size * _TEXT_BYTES, "too large for memory", source=path)
    return table.astype("str")


def read_coded_table(
    path: Path,
    *,
    delimiter: str = ",",
    header: bool = True,
    comment: str | None = None,
    trim: bool = True,
    encoding: str | None = None,
    sheet: str | None = None,
    columns: Collection[str] | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> pd.DataFrame:
    """Read a table with every value as text, and each distinct value of a column once.

    No types are inferred, and empty values stay empty. Delimited text and Parquet are read in batches: memory depends
    on the distinct values, and on one to four bytes per cell.

    Parameters
    ----------
    path : Path
        Delimited text, optionally compressed (``.gz``, ``.bz2``); Parquet (``.parquet``); or a file of a statistical
        program or spreadsheet. For the last two, missing values become empty, whole numbers have no decimals, and the
        other parameters except `trim` do not apply.
    delimiter : str
        One character.
    header : bool
        Whether the first row contains column names; otherwise columns are numbered from 0.
    comment : str, optional
        First character of lines to skip at the top of the file.
    trim : bool
        Whether to remove spaces around values.
    encoding : str, optional
        UTF-8 by default. A byte order mark is removed.
    sheet : str, optional
        Sheet of a workbook; the first by default.
    columns : collection of str, optional
        Columns to read of Parquet, if all of them exist; by default, all.
    progress : callable, optional
        Called with the numbers of bytes read and in total while delimited text is read.

    Returns
    -------
    DataFrame
        Categorical columns, with categories in the order of their first rows; a column in which most values occur once
        is text.

    Raises
    ------
    InputError
        If the file cannot be read, is not text, has no rows, rows of different lengths, repeated column names,
        or more than 10,000 columns; if its values need more memory than is free; or if a sheet is given for a file that
        is no workbook.
    """
    if sheet is not None and path.suffix.lower() not in EXCEL:
        raise InputError("only a workbook has sheets", source=path, where="sheet", found=sheet)
    if path.suffix.lower() in TYPED_ENDINGS:
        return text_table(read_typed_file(path, sheet=sheet), str(path), trim=trim)
    names, batches = table_batches(
        path, delimiter, encoding, header=header, comment=comment, columns=columns, progress=progress
    )
    if columns is not None and path.suffix == ".parquet":
        names = existing(columns, names)
    cells_of = [_CodedColumn() for _ in names]
    free, rows = free_memory(), 0
    for batch in batches:
        for column, cells, name in zip(cells_of, batch.columns, names, strict=True):
            with _as_text(path, name, cells.type):
                column.add(cells)
        rows += batch.num_rows
        held = sum(column.nbytes for column in cells_of)
        require_memory(_COPIES * held, "too large for memory", source=path, free=free)
    _require_rows(path, rows)
    found = []
    for column, name in zip(cells_of, names, strict=True):
        # The codes of each column are released as soon as its values are in the table.
        with _as_text(path, name, column.type):
            found.append(column.values(column.taken(), trim=trim))
    return pd.DataFrame(dict(zip(names if header else range(len(names)), found, strict=True)), copy=False)


# Returns the results of a function of a path and the place of a file in it, for all places below a number; takes the
# function, the path, the number, and the paths of other files that the function reads.
OverFiles = Callable[..., Iterable[Any]]


def in_turn(read: Callable[[Path, int], Any], path: Path, n_files: int, *others: Path) -> Iterator[Any]:
    """Read the files of a folder one after the other; see `OverFiles`."""
    return (read(path, place) for place in range(n_files))


def read_distinct_rows(
    path: Path,
    columns: Collection[str],
    *,
    delimiter: str = ",",
    encoding: str | None = None,
    over_files: OverFiles = in_turn,
) -> tuple[pd.DataFrame, Numbers]:
    """Read the distinct rows of some columns of delimited text or Parquet with a header.

    Memory depends on the distinct rows, and on one to four bytes per row of the file. If a column does not exist, all
    columns are read.

    Parameters
    ----------
    path : Path
        The files of a folder of Parquet files are read one by one, then their distinct rows are merged.
    columns : collection of str
    delimiter, encoding
        See `read_coded_table`.
    over_files : callable
        Reads the files; by default, `in_turn`.

    Returns
    -------
    frame : DataFrame
        Text, as from `read_coded_table`, in the order of first rows; the index has the position of the first row.
    number : ndarray of unsigned int, shape (n_rows,)
        Position in `frame` of each row of the file.

    Raises
    ------
    InputError
        As `read_coded_table`.
    """
    read = partial(_rows_of_file, columns=columns, delimiter=delimiter, encoding=encoding)
    files = [*over_files(read, path, len(first_rows(path)))]
    _require_rows(path, sum(each.distinct.n_rows for each in files))
    merged = CodedRows(path, [*files[0].columns]).add(each.batch() for each in files)
    of_files, rows, met = np.concatenate(merged.numbers), 0, 0
    parts, first = list[tuple[Numbers, Numbers]](), list[NDArray[np.int64]]()
    for each in files:
        of_file = of_files[met : met + len(each.distinct)]
        parts += [(of_file, part) for part in each.numbers]
        each.numbers.clear()
        first.append(rows + each.distinct.first)
        rows, met = rows + each.distinct.n_rows, met + len(of_file)
    return merged.frame().set_axis(np.concatenate(first)[merged.distinct.first]), joined(parts)


def _rows_of_file(
    path: Path, place: int, *, columns: Collection[str], delimiter: str, encoding: str | None
) -> CodedRows:
    """Return the rows of a file, or of a file of a folder by its place; see `read_distinct_rows`."""
    names, batches = table_batches(path, delimiter, encoding, columns=columns, place=place)
    return CodedRows(path, existing(columns, names)).add(batches)


def first_rows(path: Path) -> list[int]:
    """Return the number of rows before each file of a folder of Parquet files; [0] for a single file."""
    if not is_parquet_folder(path):
        return [0]
    with reading_parquet(path):
        rows = [file.count_rows() for file in _parquet(path).get_fragments()]
    return [*itertools.accumulate(rows, initial=0)][:-1]


def existing(columns: Collection[str], names: list[str]) -> list[str]:
    """Return the names of some columns in the order of the file; all names if a column does not exist."""
    return [name for name in names if name in columns] if set(columns) <= set(names) else names


@dataclass(frozen=True, eq=False)
class CountedTable:
    """Rows of a table as text, and how often each occurs.

    Parameters
    ----------
    frame : DataFrame
        The rows, in the order of their first rows; the index has the position of the first row. Few rows are equal.
    counts : ndarray of int, shape (n,)
        Number of rows of the table that are equal to each row of `frame`.
    """

    frame: pd.DataFrame
    counts: Numbers

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        """Return a table whose rows occur once."""
        return cls(frame, np.ones(len(frame), np.int8))

    def __len__(self) -> int:
        """Return the number of rows of the table."""
        return int(self.counts.sum())

    def sample(self, n: int) -> Self:
        """Return a table of at most `n` of the rows of `frame`, at equal distances."""
        step = max(-(-len(self.frame) // n), 1)
        return type(self)(self.frame[::step], self.counts[::step])

    def rows_by_value(self, column: object) -> dict[str, int]:
        """Return the number of rows of the table with each value of a column, in the order of their first rows."""
        codes, values = coded(self.frame[column])
        return dict(zip(values.tolist(), occurrences(codes, len(values), self.counts).tolist(), strict=True))


def read_counted_table(
    path: Path,
    *,
    delimiter: str = ",",
    encoding: str | None = None,
    sheet: str | None = None,
    columns: Collection[str] | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> CountedTable:
    """Read the distinct rows of a file, and how often each occurs; for the parameters, see `read_coded_table`.

    Memory depends on the distinct rows. From 8 million of them on, further rows are not compared.

    Raises
    ------
    InputError
        As `read_coded_table`.
    """
    if sheet is not None or path.suffix.lower() in TYPED_ENDINGS:
        return CountedTable.of(read_coded_table(path, sheet=sheet))
    names, batches = table_batches(path, delimiter, encoding, columns=columns, progress=progress)
    own = {name: _CodedColumn() for name in (names if columns is None else existing(columns, names))}
    rows, free = RowCounts(len(own)), free_memory()
    for parts in _coded_parts(path, own, batches, rows):
        rows.add(parts)
        require_memory(_COPIES * rows.nbytes, "too large for memory", source=path, free=free)
    _require_rows(path, rows.n_rows)
    return CountedTable(_text_frame(path, own, rows.columns).set_axis(rows.first), rows.counts)


def table_batches(
    path: Path,
    delimiter: str,
    encoding: str | None,
    *,
    header: bool = True,
    comment: str | None = None,
    columns: Collection[str] | None = None,
    place: int | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """Return the column names of Parquet or delimited text, and its rows in batches.

    See `_parquet_batches` and `_text_batches` for the parameters.
    """
    if path.suffix == ".parquet":
        return _parquet_batches(path, columns, place)
    return _text_batches(path, delimiter, header, comment, encoding, progress)


def _coded_parts(
    path: Path,
    columns: dict[str, _CodedColumn],
    batches: Iterable[pa.RecordBatch],
    rows: DistinctRows | RowCounts,
) -> Iterator[list[list[Numbers]]]:
    """Yield the codes of all batches by column, once there are as many rows as `rows` waits for."""
    waiting = 0
    for batch in itertools.chain(batches, [None]):
        for name, column in columns.items() if batch else ():
            cells = batch.column(name)
            with _as_text(path, name, cells.type):
                column.add(cells)
        waiting += batch.num_rows if batch else 0
        if batch is None or waiting >= rows.at_once:
            yield [column.taken() for column in columns.values()]
            waiting = 0


def _text_frame(
    path: Path, columns: dict[str, _CodedColumn], codes: list[list[Numbers]], *, trim: bool = True
) -> pd.DataFrame:
    """Return rows as text, given the codes of each column in parts, which are removed."""
    values = {}
    for (name, column), own in zip(columns.items(), codes, strict=True):
        with _as_text(path, name, column.type):
            values[name] = column.values(own, trim=trim)
    return pd.DataFrame(values, copy=False)


class CodedRows:
    """Rows of some columns of a file, as numbers of distinct rows of codes.

    Attributes
    ----------
    columns : dict of str to _CodedColumn
    distinct : DistinctRows
    numbers : list of ndarray of unsigned int
        Number of the distinct row of each row, in parts.
    """

    def __init__(self, path: Path, names: list[str]) -> None:
        self._path, self.columns = path, {name: _CodedColumn() for name in names}
        self.distinct, self.numbers = DistinctRows(len(names)), list[Numbers]()

    def add(self, batches: Iterable[pa.RecordBatch]) -> Self:
        """Append the rows of all batches; return this object."""
        free = free_memory()
        for parts in _coded_parts(self._path, self.columns, batches, self.distinct):
            self.numbers.append(kept(self.distinct.number(parts), len(self.distinct)))
            held = sum(part.nbytes for part in (*self.numbers, *self.distinct.columns, self.distinct.first))
            require_memory(_COPIES * held, "too large for memory", source=self._path, free=free)
        return self

    def batch(self) -> pa.RecordBatch:
        """Return the distinct rows as a batch."""
        cells = [
            pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=codes < 0), column.dictionary)
            for column, codes in zip(self.columns.values(), self.distinct.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(cells, names=[*self.columns])

    def frame(self, names: Collection[str] | None = None, *, trim: bool = True) -> pd.DataFrame:
        """Return some columns of the distinct rows as text; by default, all columns."""
        codes = dict(zip(self.columns, self.distinct.columns, strict=True))
        columns = {name: self.columns[name] for name in (self.columns if names is None else names)}
        return _text_frame(self._path, columns, [[codes[name]] for name in columns], trim=trim)


def _require_rows(path: Path, rows: int) -> None:
    if rows == 0:
        raise InputError("the file has no rows", source=path, expected="at least one row")


class _CodedColumn:
    """Distinct values of a column, numbered in batches by one dictionary that grows.

    Cells wait until there are enough of them, because all distinct values are numbered again each time.
    """

    def __init__(self) -> None:
        self.type = pa.null()
        self.dictionary = pa.array([])
        self._pending: list[pa.DictionaryArray] = []
        self._n_pending = 0
        self._codes: list[Numbers] = []

    @property
    def nbytes(self) -> int:
        """Memory of the codes."""
        return sum(part.nbytes for part in self._codes)

    def add(self, cells: pa.Array) -> None:
        """Append the cells of a batch."""
        if pa.types.is_null(cells.type):
            # Dictionaries without a type cannot be merged.
            cells = cells.cast(pa.string())
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        if pa.types.is_null(self.type):
            self.type, self.dictionary = cells.type, coded.dictionary[:0]
        self._pending.append(coded)
        self._n_pending += len(cells)
        if self._n_pending >= max(_PENDING, len(self.dictionary)):
            self._number()

    def taken(self) -> list[Numbers]:
        """Return the codes of the cells since the last call, in parts; missing cells have the code -1."""
        if self._pending:
            self._number()
        codes, self._codes = self._codes, []
        return codes

    def _number(self) -> None:
        # The codes of values that were numbered before are unchanged.
        none = pa.DictionaryArray.from_arrays(pa.array([], self._pending[0].indices.type), self.dictionary)
        first, *others = pa.chunked_array([none, *self._pending]).unify_dictionaries().chunks
        self.dictionary = first.dictionary
        codes = np.concatenate([compute.fill_null(each.indices, -1).to_numpy() for each in others])
        self._pending, self._n_pending = [], 0
        self._codes.append(kept(codes, -len(self.dictionary) - 1))

    def values(self, codes: list[Numbers], *, trim: bool) -> Any:
        """Return cells as text, missing ones as empty: a categorical, or text if most values occur once.

        `codes` are parts of the codes of the cells, and are removed.
        """
        # In the order of their first cells; the dictionary may have values without a cell.
        order = pd.unique(np.concatenate([pd.unique(part) for part in codes]).astype(np.int32))
        values = self.dictionary.take(pa.array(order, mask=order < 0))
        if pa.types.is_floating(values.type):
            values = compute.if_else(compute.is_nan(values), None, values)
            with contextlib.suppress(pa.ArrowInvalid):
                values = values.cast(pa.int64())
        texts = compute.fill_null(values.cast(pa.string()), "")
        coded = (compute.utf8_trim_whitespace(texts) if trim else texts).dictionary_encode()
        n_distinct = len(coded.dictionary)
        # The last place is the code of missing values, -1.
        number = np.zeros(len(self.dictionary) + 1, np.min_scalar_type(-n_distinct - 1))
        number[order] = coded.indices
        parts = [(number, part) for part in codes]
        codes.clear()
        cells = joined(parts)
        distinct: Any = pd.array(coded.dictionary, dtype="str")
        if 2 * n_distinct > len(cells):
            return distinct[cells]
        return pd.Categorical.from_codes(cells, pd.Index(distinct), validate=False)


def _text_batches(
    path: Path,
    delimiter: str,
    header: bool,
    comment: str | None,
    encoding: str | None,
    progress: Callable[[int, int], object],
) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """Return the column names of delimited text, and its rows in batches; see `read_coded_table`."""
    lines = io.TextIOWrapper(_Stream(_utf8(path, encoding)), "utf-8", newline="")
    above, first = "", list[str]()
    for line in lines:
        if line.strip() and not (comment is not None and line.startswith(comment)):
            try:
                first = next(csv.reader(itertools.chain([line], lines), delimiter=delimiter))
            except csv.Error as error:
                hint = "a quotation mark is not closed"
                raise InputError(f"the first row cannot be read: {error}", source=path, hint=hint) from None
            break
        above += line
    names = [name.strip() for name in first] if header else [str(number) for number in range(len(first))]
    if len(names) > _MOST_COLUMNS:
        raise InputError("too many columns", source=path, found=len(names), expected=f"at most {_MOST_COLUMNS:,}")
    if names.count("") > 1:
        hint = "remove delimiters at the ends of lines, which add columns without a name"
        raise InputError("column named twice", source=path, found="", hint=hint)
    require_distinct("column named twice", names, source=path)
    size = path.stat().st_size
    content = _Stream(_utf8(path, encoding, lambda done: progress(done, max(done, size))))
    content.read(len(above.encode()))
    return names, _rows(path, content, above.count('"'), names, delimiter, header)


def _rows(
    path: Path, content: io.BufferedReader, quotes: int, names: list[str], delimiter: str, header: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of delimited text, without the header, in batches of coded text.

    `content` is the text from the first row on, and `quotes` the number of quotation marks before it. `header`, whether
    the first row is a header, affects only row numbers in messages.

    Raises
    ------
    InputError
        If a row has another number of columns or is too long, or a quotation mark is not closed.
    """
    broken: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        broken.append(row)
        return "error"

    def closed() -> Iterator[bytes]:
        n_quotes = quotes
        while chunk := content.read(_CHUNK):
            n_quotes += chunk.count(b'"')
            yield chunk
        # An unclosed quotation mark swallows all following text, including an appended row.
        if n_quotes % 2:
            appended.append("x")
            yield ("\n" + delimiter.join("x" for _ in names)).encode()

    unclosed, appended, rows = "a quotation mark is not closed", list[str](), 0
    last: pa.RecordBatch | None = None
    try:
        # The parser receives the header as column names, so the header is also the first row.
        for batch in arrow_csv.open_csv(
            _Stream(closed()),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False, block_size=_CHUNK),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=arrow_csv.ConvertOptions(
                strings_can_be_null=False,
                column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
            ),
        ):
            if batch.num_rows == 0:
                continue
            if last is not None:
                yield last
            last = batch.slice(int(header and rows == 0))
            rows += batch.num_rows
    except pa.ArrowInvalid as error:
        if broken:
            row, hint = broken[0], unclosed if broken[0].text.count('"') % 2 == 1 else None
            problem, where = "row with the wrong number of columns", f"row {row.number - header}"
            found, expected = row.actual_columns, f"{row.expected_columns} columns"
            raise InputError(problem, source=path, where=where, found=found, expected=expected, hint=hint) from None
        if "straddling" in str(error):
            # The row is longer than a block of the parser.
            hint = f"shorten the row; or possibly {unclosed}"
            raise InputError("a row is longer than a megabyte", source=path, hint=hint) from None
        raise InputError(f"rows cannot be parsed: {error}", source=path) from None
    if last is None:
        return
    if appended:
        if last.num_rows == 0 or any(column[-1].as_py() != "x" for column in last.columns):
            where = f"row {rows - header}" if rows > header else "first row"
            expected = "a closing quotation mark at the end of the value"
            raise InputError(unclosed, source=path, where=where, expected=expected)
        last = last.slice(0, last.num_rows - 1)
    yield last


class _Stream(io.BufferedReader):
    """A binary file with the content of an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__(_Chunks(chunks), _CHUNK)


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self._rest):
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


@contextlib.contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Return a context that turns errors of reading a Parquet file into `InputError`.

    These are an `OSError`, an error of pyarrow, and a ValueError, TypeError or KeyError; `path` is named in the
    message.
    """
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError) as error:
        # TypeError and KeyError come from damaged pandas metadata.
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot be read as a Parquet file: {reason}", source=path) from None


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file with types.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    with reading_parquet(path):
        # Use an absolute path: pyarrow interprets hdfs:/people.parquet as a server address.
        return parquet.read_table(path.absolute())


def _parquet(path: Path) -> Any:
    """Return a Parquet file, or a folder of Parquet files, as a dataset that reads text as codes."""
    # Imported only here, because it loads clients of cloud stores, for which little memory may leave no room.
    from pyarrow import dataset

    require_no_device(path)
    # Use an absolute path: pyarrow interprets hdfs:/people.parquet as a server address.
    schema = dataset.dataset(path.absolute(), format="parquet").schema
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    return dataset.dataset(path.absolute(), format=dataset.ParquetFileFormat(dictionary_columns=texts))


def _parquet_batches(
    path: Path, columns: Collection[str] | None = None, place: int | None = None
) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """Return the column names of a Parquet file, and its rows in batches.

    `columns` are the columns to read if all of them exist, and `place` the file of a folder; by default, all of them.
    """
    with reading_parquet(path):
        table = _parquet(path)
    names = table.schema.names
    chosen = names if columns is None else existing(columns, names)

    def batches() -> Iterator[pa.RecordBatch]:
        files = [*table.get_fragments()]
        types = dict(zip(names, files[0].physical_schema.types, strict=True))
        for file in files[slice(place, None if place is None else place + 1)]:
            source = path / Path(file.path).name if path.is_dir() else path
            with reading_parquet(source):
                other = {*names} ^ {*file.physical_schema.names}
            if other:
                expected = "equal columns in all files of the folder"
                raise InputError("not in all files", source=source, where=f"column {min(other)!r}", expected=expected)
            own = dict(zip(file.physical_schema.names, file.physical_schema.types, strict=True))
            # The types of the first file may be unsuitable for the values of another one.
            others = [
                f"column {name!r} ({own[name]}, not {types[name]})" for name in chosen if own[name] != types[name]
            ]
            for name in chosen:
                # As numbers, texts such as 01067 would lose characters.
                if _is_text(own[name]) != _is_text(types[name]) and pa.null() not in (own[name], types[name]):
                    problem, expected = "another type than in the first file", str(types[name])
                    raise InputError(problem, source=source, where=name, found=str(own[name]), expected=expected)
            with locating(where=listed(others)), reading_parquet(source):
                # Reading further ahead only takes memory.
                yield from file.to_batches(table.schema, columns=chosen, use_threads=False, batch_readahead=1)

    return names, batches()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


@contextlib.contextmanager
def _as_text(path: Path, name: str, kind: pa.DataType) -> Iterator[None]:
    """Return a context that turns errors of converting a column's values to text into `InputError`."""
    try:
        yield
    except pa.ArrowException as error:
        reason = f"not text in UTF-8: {error}".partition("\n")[0]
        if isinstance(error, pa.ArrowNotImplementedError):
            reason = "the column holds nested values, such as lists"
        raise InputError(reason, source=path, where=f"column {name!r}", found=str(kind)) from None


def _content(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, decompressed, in chunks."""
    require_no_device(path)
    try:
        with _OPENERS.get(path.suffix, open)(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except IsADirectoryError:
        raise InputError("is a folder", source=path, expected="a file") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", source=path) from None


def _utf8(path: Path, encoding: str | None, progress: Callable[[int], object] = lambda done: None) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8 in chunks, without a byte order mark.

    The encoding is UTF-8 by default. `progress` is called with the number of bytes read.

    Raises
    ------
    InputError
        If the file cannot be read or is empty, the encoding is unknown, or the content is not text in it; the message
        names the line.
    """
    try:
        codec = codecs.lookup(encoding or "utf-8").name.removesuffix("-sig")
    except LookupError:
        expected = "an encoding such as utf-8, latin-1 or cp1252"
        raise InputError("unknown encoding", source=path, found=encoding, expected=expected) from None
    # A decoder in steps, unlike one of a whole text, refuses UTF-16 without a byte order mark.
    marked = codec not in ("utf-16", "utf-32") or next(_content(path), b"").startswith((*_MARKS, codecs.BOM_UTF32_BE))
    decoder = codecs.getincrementaldecoder("utf-8-sig" if codec == "utf-8" else codec if marked else f"{codec}-le")()
    hint, is_utf16, is_empty, done, line = None, False, True, 0, 1
    for chunk in itertools.chain(_content(path), [b""]):
        if not done:
            archive = "the file is a zip archive: if it is an Excel workbook, rename it to .xlsx or export it as CSV"
            hint = archive if chunk.startswith(_ZIP) else None
            is_utf16 = chunk.startswith(_MARKS)
        waiting = decoder.getstate()[0].count(b"\n")
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            if codec == "utf-8" and hint is None:
                hint = "the file is in UTF-16: save it as UTF-8" if is_utf16 else "save the file as UTF-8"
                option = f"set --encoding or key encoding, such as {'utf-16' if is_utf16 else 'latin-1'}"
                hint += f", or {option}" if encoding else ""
            problem = f"not a text file in {'UTF-8' if codec == 'utf-8' else codec}"
            line += error.object.count(b"\n", 0, error.start) - waiting
            found = f"byte 0x{error.object[error.start]:02x}"
            raise InputError(problem, source=path, where=f"line {line}", found=found, hint=hint) from None
        if "\0" in text:
            raise InputError("not a text file", source=path, found="a zero byte", hint=hint)
        line, done, is_empty = line + chunk.count(b"\n"), done + len(chunk), is_empty and not text.strip()
        progress(done)
        yield text.encode()
    if is_empty:
        raise InputError("the file is empty", source=path)


def refuse_encoding_of_types(path: Path, encoding: str | None) -> None:
    """Refuse an encoding for a file whose format defines its own.

    No encoding (None) passes for every file. The file is not read.

    Raises
    ------
    InputError
        If an encoding is given for a Parquet, Excel, Stata, SPSS or SAS file.
    """
    if encoding is not None and not is_delimited(path):
        problem = "the file format defines its own encoding"
        raise InputError(problem, source="--encoding", found=encoding, expected=_OF_CSV)


def delimiter_key(path: Path) -> dict[str, str]:
    """Return the key ``delimiter`` of a section that names a file; empty if the file is no delimited text."""
    return {"delimiter": sniff_delimiter(path)} if is_delimited(path) else {}


def sniff_delimiter(path: Path, encoding: str | None = None) -> str:
    """Return the delimiter that splits a file's first two lines into most columns.

    Candidates are `DELIMITERS`; a delimiter that splits both lines into equally many columns has priority. Empty lines
    and lines that begin with ``#`` do not count. For unreadable files, the result is a comma, because reading them
    reports the reason; for Parquet and files of statistical programs and spreadsheets, too.

    Parameters
    ----------
    path : Path
        Text with a header, optionally compressed (``.gz``, ``.bz2``), or another file.
    encoding : str, optional
        UTF-8 by default.

    Raises
    ------
    InputError
        If the path is a pipe, device or socket.
    """
    require_no_device(path)
    if not is_delimited(path):
        return DELIMITERS[0]
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            beginning = stream.read(_BEGINNING).decode(encoding or "utf-8", errors="ignore").removeprefix("\ufeff")
    except (OSError, ValueError, LookupError):
        return DELIMITERS[0]
    lines = [line for line in beginning.splitlines() if line.strip() and not line.startswith("#")][:2]

    def columns(delimiter: str) -> tuple[bool, int]:
        try:
            widths = [len(next(csv.reader([line], delimiter=delimiter))) for line in lines]
        except csv.Error:
            return False, 0
        # A name or value may contain another delimiter, but rarely equally often in both lines.
        return len(set(widths)) == 1 and widths[0] > 1, max(widths, default=1)

    return max(DELIMITERS, key=columns)


def quoted_cells(cells: Iterable[str], delimiter: str = ",") -> list[str]:
    """Return cells of delimited text, in quotation marks if they have delimiters, quotation marks or line breaks."""
    special = re.compile(f'[{re.escape(delimiter)}"\r\n]')
    return ['"' + cell.replace('"', '""') + '"' if special.search(cell) else cell for cell in cells]


def delimited_line(cells: Iterable[str], delimiter: str = ",") -> str:
    """Return a line of delimited text with its line end; see `quoted_cells`.

    A single empty cell is in quotation marks too.
    """
    # A line without any character would not count as a row.
    return (delimiter.join(quoted_cells(cells, delimiter)) or '""') + "\n"


def require_columns(
    table: pd.DataFrame | Iterable[str], columns: Iterable[str], source: str | Path | None = None
) -> None:
    """Check that a table, or a collection of column names, contains columns.

    Raises
    ------
    InputError
        At the first missing column; the message names the file, the column and the nearest name.
    """
    names = [str(name) for name in (table.columns if isinstance(table, pd.DataFrame) else table)]
    for column in columns:
        if column not in names:
            expected = f"one of {listed(names, 20)}"
            hint = nearest(column, names)
            raise InputError("column missing", source=source, where=f"column {column!r}", expected=expected, hint=hint)


def numbers(frame: pd.DataFrame, column: str, source: Path) -> pd.Series[float]:
    """Return a column of text as a Series of non-negative, finite numbers.

    Raises
    ------
    InputError
        At the first value that is no such number; the message names the file, row and value.
    """
    values = pd.to_numeric(frame[column], errors="coerce")
    wrong = ~(values >= 0) | (values == float("inf"))
    found, expected = frame[column], "a number such as 72.43, with a decimal point"
    refuse_rows(wrong, "not a number of 0 or more", source=source, column=column, found=found, expected=expected)
    return values


def pandas_table(data: Any) -> Any:
    """Return a table of another library, such as polars or pyarrow, as a DataFrame of pandas.

    A DataFrame of pandas, and an object that is not a table, are returned unchanged.

    Raises
    ------
    InputError
        If the table is not in memory, such as a LazyFrame of polars.
    """
    table = _foreign_table(data)
    # As floats, large whole numbers beside missing values would change.
    return data if table is None else table.to_arrow().to_pandas(integer_object_nulls=True)


def library_of(data: Any) -> str:
    """Return the name of the library of a table, such as ``polars``; ``pandas`` if the object is not a table."""
    table = _foreign_table(data)
    return "pandas" if table is None else table.implementation.value


def _foreign_table(data: Any) -> narwhals.DataFrame[Any] | None:
    """Return a table of another library than pandas as one of narwhals; None for any other object."""
    # A DataFrame of pandas may have columns with equal names, which narwhals refuses.
    table = None if isinstance(data, pd.DataFrame) else narwhals.from_native(data, pass_through=True)
    if isinstance(table, narwhals.LazyFrame):
        expected = "a table in memory, such as the result of its method collect"
        raise InputError("not a table in memory", found=type(data).__name__, expected=expected)
    return table if isinstance(table, narwhals.DataFrame) else None


def native_table(frame: pd.DataFrame, library: str) -> Any:
    """Return a DataFrame of pandas as a table of a library; see `library_of`.

    Only a DataFrame of pandas, which is returned unchanged, has an index.
    """
    if library == "pandas":
        return frame
    backend: Any = library
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    return narwhals.from_arrow(table, backend=backend).to_native()


def text_table(frame: pd.DataFrame, source: str, *, trim: bool = True) -> pd.DataFrame:
    """Return a table in memory as text, as `read_table` returns a file.

    Whole numbers of any type have no decimals; missing values are empty. The result has a new index from 0.

    Parameters
    ----------
    frame : DataFrame
    source : str
        Name of the table in messages.
    trim : bool
        Whether to remove spaces around values.

    Raises
    ------
    InputError
        If the table has no rows or no columns, or two columns have equal names.
    """
    names = [str(name).strip() for name in frame.columns]
    require_distinct("column named twice", names, source=source)
    if not len(frame) or not names:
        expected = "at least one row and one column"
        raise InputError("the table has no rows or no columns", source=source, expected=expected)
    columns = [text_column(frame.iloc[:, position], trim=trim) for position in range(len(names))]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


@contextlib.contextmanager
def as_file(data: Any, argument: str, name: str = "data", encoding: str | None = None) -> Iterator[Path]:
    """Yield the path of a table; a table in memory is written to a private file for the duration of the block.

    Parameters
    ----------
    data : DataFrame, str or Path
        The table, also of another library, or the path of its file.
    argument : str
        Name of the table in messages.
    name : str
        Name of the file, without its ending.
    encoding : str, optional
        Encoding that the user gave for the file.

    Raises
    ------
    InputError
        If there is neither a table nor a path, or the table in memory has no rows or no columns, or two columns have
        equal names; or if an encoding is given for another file than delimited text.
    """
    table = pandas_table(data)
    if not isinstance(table, pd.DataFrame):
        wrong = not isinstance(table, str | os.PathLike), "wrong type", None, table, "a table, or the path of a file"
        refuse_first(wrong, source=argument)
        refuse_encoding_of_types(Path(table), encoding)
        yield Path(table)
        return
    refuse_first((encoding, "a table in memory has no encoding", argument, encoding, _OF_CSV), source="--encoding")
    with TemporaryDirectory(prefix=PRIVATE) as place:
        path = Path(place, f"{name}.csv")
        write_text_table(text_table(table, argument), path)
        try:
            yield path
        except InputError as error:
            raise (error.but(source=argument) if str(error.source) == str(path) else error) from None


def write_text_table(table: pd.DataFrame, path: Path, *, levels: bool = False) -> None:
    """Write a table of text as CSV; with `levels`, as a file of hierarchies: no header, semicolons."""
    form: dict[str, Any] = {"header": False, "sep": ";"} if levels else {}
    # Quote every cell, so that no column name is read as a comment.
    table.to_csv(path, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n", **form)


def text_column(column: pd.Series[Any], *, trim: bool = True) -> pd.Series[str]:
    """Return a column as text, with a new index from 0; see `text_table`.

    Missing values become empty, whole numbers have no decimals, and dates beside times have no time 00:00. `trim`
    removes spaces around values.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    missing = column.isna().to_numpy()
    text = column.astype("str")
    if trim:
        text = text.str.strip()
    is_time = np.full(len(column), pd.api.types.is_datetime64_dtype(column.dtype))
    if column.dtype == object:
        is_time = np.fromiter((isinstance(cell, datetime) for cell in column), np.bool_, len(column))
    if is_time.any():
        text = text.mask(is_time, text.str.replace(_MIDNIGHT, "", regex=True))
    if pd.api.types.is_float_dtype(column.dtype):
        # Floats from 2**53 on have no decimals.
        whole = ((column == column.round()) & (column.abs() < 2**53)).fillna(False).to_numpy(dtype=bool)
        text = text.mask(whole, column.where(whole, 0).astype("int64").astype("str"))
    return pd.Series(text.mask(missing, "").to_numpy(), dtype="str")


def coded(column: pd.Series[Any]) -> tuple[NDArray[np.signedinteger[Any]], pd.Index[str]]:
    """Return the number of each cell's text, and the texts that occur, in the order of their first cells.

    Texts have no spaces around them; missing values are "". Numbers have the smallest type of integers.
    """
    codes: NDArray[np.signedinteger[Any]]
    if isinstance(column.array, pd.Categorical):
        codes, values = column.array.codes, column.array.categories
    else:
        codes, values = pd.factorize(column)
    texts = np.array([*(str(value).strip() for value in values.tolist()), ""], dtype=object)
    # A missing value has the code -1, the last place.
    order = pd.unique(codes)
    number, distinct = pd.factorize(texts[order])
    place = np.zeros(len(texts), np.min_scalar_type(-len(distinct) - 1))
    place[order] = number
    return place[codes], pd.Index(distinct, dtype="str")


def as_visible(text: str) -> str:
    """Return a text without repeated blanks, invisible characters and compatibility forms of letters."""
    plain = unicodedata.normalize("NFKC", text)
    return " ".join("".join(letter for letter in plain if unicodedata.category(letter) != "Cf").split())


def spelled_plainly(text: str) -> str:
    """Return a text as by `as_visible`, without upper case."""
    return as_visible(text.casefold()).casefold()


def refuse_other_spelling(found: Iterable[str], lacking: Iterable[str]) -> None:
    """Check that no column of a file has the name of a lacking column in another spelling.

    Raises an `InputError` otherwise.
    """
    missing = {spelled_plainly(name): name for name in lacking}
    wrong = next((name for name in found if spelled_plainly(name) in missing), None)
    if wrong is not None:
        problem, expected = "column with another spelling", repr(missing[spelled_plainly(wrong)])
        raise InputError(problem, where="header", found=wrong, expected=expected)


def detect_encoding(path: Path) -> str:
    """Return the encoding of delimited text: utf-8, utf-16 with a byte order mark, else cp1252 or latin-1.

    The whole file is decoded. The last two differ from other encodings of one byte per
    character only in letters beyond English, so that their result is an assumption.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    decoders = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
    for number, chunk in enumerate(itertools.chain(_content(path), [b""])):
        if number == 0 and chunk.startswith(_MARKS):
            return "utf-16"
        for encoding, decoder in list(decoders.items()):
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError:
                del decoders[encoding]
    return next(iter(decoders), "latin-1")


def sheets_of(path: Path) -> tuple[str, ...]:
    """Return the names of the sheets of a workbook; empty for other files.

    Raises
    ------
    InputError
        If the workbook cannot be read, or the library to read it is not installed.
    """
    if path.suffix.lower() not in EXCEL:
        return ()
    with _opening(path), pd.ExcelFile(path, engine="openpyxl") as workbook:
        return tuple(map(str, workbook.sheet_names))


def read_typed_file(path: Path, *, sheet: str | None = None) -> pd.DataFrame:
    """Read a Stata, SPSS, SAS or Excel file; the first sheet of a workbook, unless another one is named.

    Codes with a label in the file's dictionary become the label; if two codes of a column have equal labels, the code
    is added to the label. Missing values of the dictionary are missing.

    Raises
    ------
    InputError
        If the file cannot be read, or the library to read it is not installed.
    """
    with _opening(path):
        if path.suffix.lower() in EXCEL:
            return _workbook(path, sheet)
        frame, _, labels = _statistical(path)
    columns = {}
    for name, column in frame.items():
        names = {code: label.strip() for code, label in labels.get(str(name), {}).items() if label.strip()}
        times = Counter(names.values())
        names = {code: f"{label} ({code:g})" if times[label] > 1 else label for code, label in names.items()}
        # In a column with labels, codes without a label become text, too.
        known = {code: names.get(code, _cell(code)) for code in column.dropna().unique()} if names else {}
        columns[name] = column.astype("object").map(known) if names else column
    return pd.DataFrame(columns)


def column_labels(path: Path) -> dict[str, str]:
    """Return the labels of a file's columns, by name; omit unlabelled columns.

    The result is empty for workbooks and for files of other formats.

    Raises
    ------
    InputError
        If a Stata, SPSS or SAS file cannot be read, or the library to read it is not installed.
    """
    if path.suffix.lower() not in (*STATA, *SPSS, *SAS):
        return {}
    with _opening(path):
        _, labels, _ = _statistical(path, only_labels=True)
    return {str(name): label.strip() for name, label in labels.items() if label and label.strip()}


@contextlib.contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Return a context that turns errors of reading a typed file into `InputError`.

    A missing library, and a path that is no file, are such errors. Warnings of libraries are suppressed in the context.
    """
    kind, extra = _KINDS[path.suffix.lower()]
    if not path.is_file():
        raise InputError("is a folder" if path.is_dir() else "no such file", source=path, expected=kind)
    try:
        with warnings.catch_warnings():
            # Libraries warn about irrelevant details, such as styles of a workbook.
            warnings.simplefilter("ignore")
            yield
    except ImportError as error:
        problem = f"package {error.name or 'openpyxl'} is needed to read {kind}"
        raise InputError(problem, source=path, hint=f"run pip install 'reidsim[{extra}]'") from None
    except InputError:
        raise
    except Exception as error:
        # Libraries raise different classes of errors for damaged files.
        raise InputError(f"cannot be read as {kind}: {' '.join(str(error).split())}", source=path) from None


def _statistical(
    path: Path, *, only_labels: bool = False
) -> tuple[pd.DataFrame, Mapping[str, str | None], Mapping[str, Mapping[Any, str]]]:
    """Return a file's table, the labels of its columns, and labels by column and code.

    It is a Stata, SPSS or SAS file. With `only_labels`, the table has no rows.
    """
    ending = path.suffix.lower()
    if ending in STATA:
        with StataReader(path) as reader:
            frame = pd.DataFrame() if only_labels else pd.read_stata(path, convert_categoricals=False)
            # Labels belong to a named label set, which columns may share; pandas has no public access to a column's
            # set.
            by_set, sets = reader.value_labels(), zip(vars(reader)["_varlist"], vars(reader)["_lbllist"], strict=True)
            return frame, reader.variable_labels(), {column: by_set[name] for column, name in sets if name in by_set}
    pyreadstat: ModuleType = importlib.import_module("pyreadstat")
    read = {".zsav": "read_sav", ".xpt": "read_xport"}.get(ending, f"read_{ending.removeprefix('.')}")
    frame, about = getattr(pyreadstat, read)(str(path), metadataonly=only_labels)
    return frame, about.column_names_to_labels, about.variable_value_labels


def _workbook(path: Path, sheet: str | None) -> pd.DataFrame:
    require_workbook_fits(path)
    with pd.ExcelFile(path, engine="openpyxl") as workbook:
        cells = workbook.parse(sheet or 0, header=None, dtype=object, keep_default_na=False).map(_cell)
        book: Any = workbook.book
        with (book[sheet] if sheet else book.worksheets[0])._get_source() as content:
            _require_values(content.read(), path)
    filled = cells.map(str.strip) != ""
    cells = cells.loc[filled.any(axis=1), filled.any(axis=0)]
    if cells.empty:
        raise InputError(f"the {'' if sheet else 'first '}sheet is empty", source=path, found=sheet)
    names = cells.iloc[0].str.strip().tolist()
    problem, expected = "columns without a name", "a name for each column; remove titles above the names"
    refuse_first((names.count("") > 1, problem, "header", listed(filter(None, names)), expected), source=path)
    return pd.DataFrame(cells.iloc[1:].to_numpy(), columns=names, dtype="str")


def _require_values(sheet: bytes, path: Path) -> None:
    """Check that every formula in the XML of a sheet has a stored value.

    Programs that do not compute formulas store none. A stored empty text is a value.

    Raises
    ------
    InputError
        Names the first cell without a value.
    """
    from openpyxl.xml.functions import iterparse

    elements = iterparse(io.BytesIO(sheet)) if b"f>" in sheet else ()
    for row in (element for _, element in elements if element.tag.endswith("}row")):
        for cell in row.iterfind("{*}c[{*}f]"):
            lacks, place = not cell.findtext("{*}v") and cell.get("t") != "str", f"cell {cell.get('r')}"
            problem, expected = "the formula has no value", "a value; a spreadsheet program stores it"
            refuse_first((lacks, problem, place, cell.findtext("{*}f"), expected), source=path)
        row.clear()


def _cell(value: Any) -> str:
    """Return a cell as text: dates without the time 00:00, integers without decimals.

    None becomes empty.
    """
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)

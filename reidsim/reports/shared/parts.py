"""Read records beside the outcomes of a policy, one file of the records after the other, and write released rows.

Equal records with equal outcomes are one distinct row. Memory depends on the distinct rows, and on tens of bytes per
row of one file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from reidsim.core.errors import InputError
from reidsim.core.rows import occurrences
from reidsim.core.tables import (
    CodedRows,
    OverFiles,
    delimited_line,
    existing,
    first_rows,
    quoted_cells,
    reading_parquet,
    require_columns,
    table_batches,
)
from reidsim.scenarios.schema import HISTORY_COLUMNS

# Returns the column names of a table of records, and some of its columns in batches: see `Kind.read_batches`.
Read = Callable[[Path, Collection[str], int | None], tuple[list[str], Iterator[pa.RecordBatch]]]

# Columns of the table of records on which a release depends, besides the quasi-identifiers and participation.
DECIDED = ("strategy", "success_probability")
UNORDERED = "records are not in the order of the release"
# Distinguishes columns of the table of records from columns of the file.
_OUTCOME = "\0"
# Rows that are written at once; more take memory, but no less time.
_ROWS_AT_ONCE = 2**18


@dataclass(frozen=True, eq=False)
class PolicyRows:
    """Records of a run beside the outcomes of a policy.

    Parameters
    ----------
    path : Path
        File of the records.
    read : callable
        Reads the file.
    columns : sequence of str
        Columns of the file to read.
    outcomes : Path
        Table of records of the run.
    policy : str
    attributes : sequence of str
        Names of the quasi-identifiers.
    n_records : int
        Number of records of the run.
    numbers : bool
        Whether the number of a record belongs to its row, so that all rows are distinct.
    """

    path: Path
    read: Read
    columns: Sequence[str]
    outcomes: Path
    policy: str
    attributes: Sequence[str]
    n_records: int
    numbers: bool

    @cached_property
    def start(self) -> list[int]:
        """Number of records before each file of a folder."""
        return first_rows(self.path)

    @cached_property
    def decided(self) -> list[str]:
        """Columns of the table of records that are read."""
        with reading_parquet(self.outcomes):
            names = parquet.read_schema(self.outcomes).names
        require_columns(names, ("record", "policy", *DECIDED, *self.attributes), self.outcomes)
        chosen = ["record"] * self.numbers + [*DECIDED, *self.attributes]
        return chosen + [name for name in ("participates", *HISTORY_COLUMNS) if name in names]

    def counted(self, over_files: OverFiles) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[np.int64]]:
        """Return the distinct rows of the records.

        Parameters
        ----------
        over_files : callable
            Reads the files.

        Returns
        -------
        frame : DataFrame
            Columns of the file as text, with unchanged values; the index has the position of the first row.
        outcomes : DataFrame
            Columns of the table of records, with the same index.
        times : ndarray of int64, shape (n,)
            Number of rows of the file that are equal to each row.

        Raises
        ------
        InputError
            If the file cannot be read or lacks a column, or its number or order of records differs from the run.
        """
        found = over_files(partial(_counted, self), self.path, len(self.start), self.outcomes)
        files, parts, counts = zip(*found, strict=True)
        merged = CodedRows(self.path, files[0].schema.names).add(files)
        times = occurrences(np.concatenate(merged.numbers), len(merged.distinct), np.concatenate(counts))
        require_number(int(times.sum()), self.n_records, self.path)
        first = np.concatenate([begin + part for begin, part in zip(self.start, parts, strict=True)])
        index, rows = first[merged.distinct.first], merged.batch()
        outcomes = {}
        for name, cells in zip(rows.schema.names, rows.columns, strict=True):
            if name.startswith(_OUTCOME):
                is_text = pa.types.is_string(cells.type.value_type)
                outcomes[name.removeprefix(_OUTCOME)] = cells if is_text else cells.dictionary_decode()
        text = merged.frame(rows.schema.names[: -len(outcomes)], trim=False)
        return text.set_axis(index), pa.table(outcomes).to_pandas().set_axis(index), times

    def numbered(self, path: Path, place: int) -> CodedRows:
        """Return the rows of a file by its place in the folder `path`, as numbers of distinct rows."""
        columns, batches = self.read(path, self.columns, place)
        require_columns(columns, self.columns, path)
        chosen = existing(self.columns, columns)
        names = [*chosen, *(f"{_OUTCOME}{name}" for name in self.decided)]
        beside = self._beside(path, (batch.select(chosen) for batch in batches), self.start[place], names)
        return CodedRows(path, names).add(beside)

    def _beside(
        self, path: Path, batches: Iterator[pa.RecordBatch], start: int, names: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of the records, the first one with the number `start`, with the columns of their outcomes."""
        outcomes, rest = self._outcomes(start), None
        for batch in batches:
            while batch.num_rows:
                while rest is None or not rest.num_rows:
                    rest = next(outcomes, None)
                    if rest is None:
                        found = start + batch.num_rows + sum(each.num_rows for each in batches)
                        require_number(found, self.n_records, path)
                        raise InputError(UNORDERED, source=path)
                n = min(batch.num_rows, rest.num_rows)
                if not np.array_equal(rest.column("record").slice(0, n), np.arange(start, start + n)):
                    raise InputError(UNORDERED, source=path)
                cells = [*batch.slice(0, n).columns, *rest.slice(0, n).select(self.decided).columns]
                yield pa.RecordBatch.from_arrays(cells, names=names)
                batch, rest, start = batch.slice(n), rest.slice(n), start + n

    def _outcomes(self, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the policy in the table of records, from record `start` on."""
        # Imported only here, because it loads clients of cloud stores, for which little memory may leave no room.
        from pyarrow import dataset

        with reading_parquet(self.outcomes):
            own = (dataset.field("policy") == self.policy) & (dataset.field("record") >= start)
            table = dataset.dataset(self.outcomes, format="parquet")
            # Reading further ahead only takes memory.
            names = [*dict.fromkeys(["record", *self.decided])]
            yield from table.to_batches(columns=names, filter=own, use_threads=False, batch_readahead=1)


def require_number(found: int, expected: int, source: Path) -> None:
    """Check that a file has as many records as the run, else raise an `InputError`."""
    if found != expected:
        problem = "the number of records differs from the run"
        raise InputError(problem, source=source, found=found, expected=f"{expected} records")


def _counted(rows: PolicyRows, path: Path, place: int) -> tuple[pa.RecordBatch, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows of a file of the records, their first positions in the file, and their counts."""
    found = rows.numbered(path, place)
    times = [occurrences(part, len(found.distinct)) for part in found.numbers]
    return found.batch(), found.distinct.first, np.sum(times, axis=0)


def row_order(table: pd.DataFrame) -> NDArray[np.intp]:
    """Return the order of the rows of a table by their texts, shape (n_rows,)."""
    texts = table.reset_index(drop=True).astype("str")
    return texts.sort_values(list(texts.columns), kind="stable").index.to_numpy()


def cells_of(table: pd.DataFrame) -> pa.RecordBatch:
    """Return a text table as codes of the distinct values of each column."""
    cells = []
    for name in table.columns:
        codes, values = pd.factorize(table[name])
        cells.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string())))
    return pa.RecordBatch.from_arrays(cells, names=list(map(str, table.columns)))


def lines_of(cells: pa.RecordBatch, delimiter: str) -> Any:
    """Return the rows of a table as lines of delimited text, each with its line end.

    Cells are quoted only if necessary.
    """
    texts = [
        pa.array(quoted_cells(column.dictionary.to_pylist(), delimiter), pa.large_string()).take(column.indices)
        for column in cells.columns
    ]
    rows = compute.binary_join_element_wise(*texts, pa.scalar(delimiter, pa.large_string()))
    # A line without any character would not count as a row.
    rows = compute.if_else(compute.equal(rows, ""), pa.scalar('""', pa.large_string()), rows)
    end = pa.scalar("\n", pa.large_string())
    return compute.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), end)


def csv_parts(table: pd.DataFrame, times: NDArray[np.int64], delimiter: str) -> Iterator[bytes]:
    """Yield parts of a text table as UTF-8 CSV, with a header and without the index.

    Each row is written `times` times. Cells are quoted only if necessary.
    """
    yield delimited_line(map(str, table.columns), delimiter).encode()
    lines = lines_of(cells_of(table), delimiter)
    for rows in _repeated(times):
        yield text_of(lines.take(pa.array(rows)))


def has_same_rows(path: Path, table: pd.DataFrame, times: NDArray[np.int64], delimiter: str) -> bool:
    """Return whether a file, read back, has the rows that `csv_parts` writes."""
    cells = cells_of(table)
    columns, batches = table_batches(path, delimiter, None)
    found = CodedRows(path, cells.schema.names).add([cells])
    number = np.concatenate(found.numbers)
    found.numbers.clear()
    # A release without rows has no parts.
    expected = np.concatenate([number[:0], *(number[rows] for rows in _repeated(times))])
    written = np.concatenate([number[:0], *found.add(batches).numbers])
    return columns == cells.schema.names and np.array_equal(written, expected)


def _repeated(times: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the number of each row as often as it is written, in parts."""
    ends = np.cumsum(times)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, _ROWS_AT_ONCE):
        yield np.searchsorted(ends, np.arange(begin, min(begin + _ROWS_AT_ONCE, total)), side="right")


def text_of(lines: Any) -> bytes:
    """Return the concatenated lines of an array of text that starts at the first item of its memory."""
    _, offsets, text = lines.buffers()
    return bytes(text[: int(np.frombuffer(offsets, np.int64)[len(lines)])]) if len(lines) else b""

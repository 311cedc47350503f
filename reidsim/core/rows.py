"""Numbers of the rows of large tables, handled in parts, because numpy copies numbers that it looks up to 8 bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Numbers = NDArray[np.integer[Any]]

# Rows that are handled at once: more take memory, fewer take time if there are many distinct ones.
_AT_ONCE = 2**21
# Distinct rows from which on rows are counted without a search for equal ones, which takes 60 bytes for each.
_MOST_COMPARED = 2**23


def parts_of(n: int) -> Iterator[slice]:
    """Yield consecutive slices of `n` positions."""
    return (slice(start, min(start + _AT_ONCE, n)) for start in range(0, n, _AT_ONCE))


def looked_up(values: Numbers, numbers: Numbers) -> NDArray[Any]:
    """Return ``values[numbers]`` in the smallest type; `values` are non-negative."""
    values = values.astype(np.min_scalar_type(values.max(initial=0)))
    return joined([(values, numbers[part]) for part in parts_of(len(numbers))])


def joined(parts: list[tuple[Numbers, Numbers]]) -> NDArray[Any]:
    """Return ``values[numbers]`` of consecutive pairs of values and numbers, which are removed once they are copied.

    The values of all pairs have one type.
    """
    found, start = np.empty(sum(len(numbers) for _, numbers in parts), parts[0][0].dtype), 0
    while parts:
        values, numbers = parts.pop(0)
        found[start : start + len(numbers)] = values[numbers]
        start += len(numbers)
    return found


def kept(numbers: Numbers, largest: int) -> NDArray[Any]:
    """Return a copy of numbers in the smallest type that also holds `largest`, for as long as a file is read.

    The copy is in memory of its own: parts between other arrays would leave holes, 3 bytes per row of a large file.
    """
    kind = np.min_scalar_type(largest)
    try:
        memory = mmap(-1, max(len(numbers), 1) * kind.itemsize)
    except OSError as error:
        raise MemoryError(str(error)) from None
    copy = np.frombuffer(memory, kind)[: len(numbers)]
    copy[:] = numbers
    return copy


def occurrences(numbers: Numbers, size: int, times: Numbers | None = None) -> NDArray[np.int64]:
    """Return how often each number below `size` occurs, shape (size,).

    `times` has how often each element of `numbers` counts; once by default.
    """
    counts = np.zeros(size, dtype=np.int64)
    for part in parts_of(len(numbers)):
        weights = None if times is None else times[part]
        counts += np.bincount(numbers[part], weights, size).astype(np.int64)
    return counts


def combined(columns: Sequence[Numbers]) -> NDArray[np.int64]:
    """Return the number of each row's values, from 0 in the order of their first rows, shape (n,).

    `columns` are integers from -1 on, each of shape (n,).
    """
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        base = int(column.max(initial=-1)) + 2
        if size * base > np.iinfo(np.int64).max:
            key, values = pd.factorize(key)
            size = len(values)
        key *= base
        key += column
        key += 1
        size *= base
    number: NDArray[np.int64] = pd.factorize(key)[0]
    return number


class DistinctRows:
    """Distinct rows of a table that comes in parts, numbered in the order of their first rows.

    Parameters
    ----------
    n_columns : int

    Attributes
    ----------
    columns : list of ndarray of int, each of shape (n_distinct,)
        Values of the distinct rows.
    first : ndarray of int64, shape (n_distinct,)
        Position in the table of the first row of each distinct row.
    n_rows : int
        Number of rows of the table.
    """

    def __init__(self, n_columns: int) -> None:
        self.columns: list[Numbers] = [np.zeros(0, np.int8)] * n_columns
        self.first, self.n_rows = np.zeros(0, np.int64), 0

    def __len__(self) -> int:
        return len(self.first)

    @property
    def at_once(self) -> int:
        """Number of rows to wait for before they are numbered, because all distinct rows are visited each time."""
        return max(_AT_ONCE, len(self))

    def number(self, parts: Sequence[Sequence[Numbers]]) -> NDArray[np.int64]:
        """Append rows of integers from -1 on, given by column in parts; return their numbers, shape (n,)."""
        # The distinct rows come first, so that their numbers do not change.
        columns = [np.concatenate([held, *each]) for held, each in zip(self.columns, parts, strict=True)]
        number = combined(columns)
        first = np.zeros(number.max(initial=-1) + 1, np.int64)
        # In reverse, so that the first occurrence is written last.
        first[number[::-1]] = np.arange(len(number))[::-1]
        known, self.columns = len(self), [column[first] for column in columns]
        self.first = np.concatenate([self.first, self.n_rows + first[known:] - known])
        self.n_rows += len(number) - known
        return number[known:]


class RowCounts:
    """Rows of a table that comes in parts, in the order of their first rows, and how often each occurs.

    Equal rows are counted as one, up to the first 8 million distinct rows: in a table with more of them, most rows are
    distinct.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns: int) -> None:
        self._distinct, self._counts = DistinctRows(n_columns), np.zeros(0, np.int64)
        self._others = [list[Numbers]() for _ in range(n_columns)]
        self.n_rows = 0

    @property
    def at_once(self) -> int:
        """Number of rows to wait for before they are added."""
        return _AT_ONCE if self._is_full else self._distinct.at_once

    @property
    def _is_full(self) -> bool:
        return len(self._distinct) >= _MOST_COMPARED

    def add(self, parts: Sequence[Sequence[Numbers]]) -> None:
        """Append rows of integers from -1 on, given by column in parts."""
        self.n_rows += sum(map(len, parts[0]))
        if self._is_full:
            for others, each in zip(self._others, parts, strict=True):
                others += each
            return
        number = self._distinct.number(parts)
        counts = occurrences(number, len(self._distinct))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    @property
    def nbytes(self) -> int:
        """Memory of the values."""
        return sum(part.nbytes for column in self.columns for part in column)

    @property
    def columns(self) -> list[list[Numbers]]:
        """Values of the rows by column, in parts."""
        return [[held, *others] for held, others in zip(self._distinct.columns, self._others, strict=True)]

    @property
    def first(self) -> Numbers:
        """Position in the table of the first row of each row, in the smallest type."""
        found = np.arange(self._distinct.n_rows, self.n_rows, dtype=np.min_scalar_type(self.n_rows))
        return np.concatenate([self._distinct.first.astype(found.dtype), found])

    @property
    def counts(self) -> Numbers:
        """Number of rows of the table that are equal to each row, in the smallest type."""
        kind = np.min_scalar_type(self._counts.max(initial=1))
        others = np.ones(self.n_rows - self._distinct.n_rows, kind)
        return np.concatenate([self._counts.astype(kind), others])

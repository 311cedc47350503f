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


def occurrences(numbers: Numbers, size: int) -> NDArray[np.int64]:
    """Return how often each number below `size` occurs, shape (size,)."""
    counts = np.zeros(size, dtype=np.int64)
    for part in parts_of(len(numbers)):
        counts += np.bincount(numbers[part], minlength=size)
    return counts


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

    def number(self, columns: Sequence[Numbers]) -> NDArray[np.int64]:
        """Append rows of integers from -1 on, given by column; return their numbers, shape (n,)."""
        # The distinct rows come first, so that their numbers do not change.
        columns = [np.concatenate(each) for each in zip(self.columns, columns, strict=True)]
        number = np.zeros(len(columns[0]), np.int64)
        for column in columns:
            number, _ = pd.factorize((number << 32) + column + 1)
        first = np.zeros(number.max(initial=-1) + 1, np.int64)
        # In reverse, so that the first occurrence is written last.
        first[number[::-1]] = np.arange(len(number))[::-1]
        known, self.columns = len(self), [column[first] for column in columns]
        self.first = np.concatenate([self.first, self.n_rows + first[known:] - known])
        self.n_rows += len(number) - known
        return number[known:]

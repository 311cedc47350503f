"""Attributes with ordered categories, and domains of attributes.

Values are stored as integer codes over a domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, nearest, refuse_first, require_among, require_distinct
from reidsim.core.tables import text_column
from reidsim.core.wording import whole_number

Codes = NDArray[np.int32]
Amount = TypeVar("Amount", bound=np.number[Any])

# Upper limit of 64-bit keys, low enough that arithmetic on keys does not overflow.
MOST_KEYS = 2**62


@dataclass(frozen=True)
class Attribute:
    """An attribute with ordered categories; the code of a value is its position.

    Parameters
    ----------
    name : str
        Column name, such as ``"age"``.
    categories : tuple of str
        Labels of the categories, all distinct.

    Raises
    ------
    InputError
        If there are no categories, or a category is repeated.
    """

    name: str
    categories: tuple[str, ...]

    def __post_init__(self) -> None:
        where = f"attribute {self.name!r}"
        refuse_first((not self.categories, "an attribute needs at least one category", where, None, None))
        require_distinct("category given twice", self.categories, where=where)

    def __repr__(self) -> str:
        return f"Attribute({self.name!r}, {len(self.categories):,} categories)"

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @cached_property
    def labels(self) -> pd.Index[str]:
        """The categories as a pandas index of text, in order."""
        return pd.Index(list(self.categories), dtype="str")

    def encode(self, values: Iterable[object], column: str | None = None) -> Codes:
        """Return the code of each value.

        Parameters
        ----------
        values : iterable
            Labels; an integer matches the category with the same text (``48`` and ``48.0`` both match ``"48"``).
        column : str, optional
            Column name for messages; default: the attribute's name.

        Returns
        -------
        ndarray of int32, shape (n_values,)

        Raises
        ------
        InputError
            If a value is not a category; the message names the first such row (counted from 1) and its value.
        """
        labels = text_column(values if isinstance(values, pd.Series) else pd.Series(list(values)))
        codes: Codes = self.labels.get_indexer(pd.Index(labels)).astype(np.int32)
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            value = labels.iloc[row]
            problem = f"value outside the categories of {self.name!r}" if value else "value missing"
            where, found = f"row {row + 1}, column {(column or self.name)!r}", value or None
            hint = nearest(value, self.categories) if value else None
            raise InputError(problem, where=where, found=found, expected=f"one of {listed(self.categories)}", hint=hint)
        return codes


@dataclass(frozen=True)
class Domain:
    """Attributes in a fixed order.

    Records, populations and hierarchies store values as codes over a domain.

    Parameters
    ----------
    attributes : tuple of Attribute
        The attributes, with distinct names.

    Raises
    ------
    InputError
        If there are no attributes, or a name is repeated.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        refuse_first((not self.attributes, "a domain needs at least one attribute", None, None, None))
        require_distinct("attribute named twice", self.names)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{each.name} {len(each.categories):,}" for each in self.attributes)
        return f"Domain({sizes})"

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """Return the position of the attribute with a name, from 0.

        Raises
        ------
        InputError
            If the domain has no such attribute.
        """
        require_among("no such attribute", (name,), self.names)
        return self.names.index(name)

    def select(self, names: Sequence[str]) -> Domain:
        """Return the `Domain` of a subset of the attributes, in the order of `names`.

        Raises
        ------
        InputError
            If a name is unknown or repeated, or there is none.
        """
        return Domain(tuple(self[name] for name in names))

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Return the codes of a table whose columns include every attribute.

        The result has shape (n_rows, n_attributes); other columns are ignored.

        Raises
        ------
        InputError
            If a column is missing, or a value is not a category; the message names the column, or the row.
        """
        require_among("column missing", self.names, frame.columns, where="columns")
        return np.column_stack([attribute.encode(frame[attribute.name]) for attribute in self.attributes])

    def decode(self, codes: Codes) -> pd.DataFrame:
        """Return a DataFrame of the labels, one categorical column per attribute.

        `codes` has shape (n_rows, n_attributes). Code -1 gives a missing value.
        """
        return pd.DataFrame(
            {
                attribute.name: pd.Categorical.from_codes(codes[:, position], categories=attribute.labels)
                for position, attribute in enumerate(self.attributes)
            }
        )

    def keys(self, codes: Codes) -> NDArray[np.int64]:
        """Return one integer per row of codes.

        Integers are equal if and only if the rows are equal. They are mixed-radix numbers in which the first attribute
        is the most significant.

        Raises
        ------
        InputError
            If the domain has 2**62 cells or more, too many for 64-bit keys; `row_keys` has no such limit.
        """
        return mixed_radix_keys(codes, self.shape)


def mixed_radix_keys(
    codes: NDArray[np.integer], radices: Sequence[int], *, where: str | None = None
) -> NDArray[np.int64]:
    """Return a mixed-radix number for each row of `codes` (n, m), shape (n,).

    `radices` has the number of possible codes of each column. The first column is the most significant.

    Raises
    ------
    InputError
        If there are 2**62 possible numbers or more; the message names the key `where`.
    """
    cells = math.prod(map(int, radices))
    refuse_first((cells >= MOST_KEYS, "too many cells in the domain", where, cells, "fewer than 2**62"))
    keys = np.zeros(len(codes), dtype=np.int64)
    for column, radix in enumerate(radices):
        keys *= radix
        keys += codes[:, column]
    return keys


def distinct_rows(columns: Sequence[NDArray[np.integer]], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct rows of a table of non-negative integers.

    The table has `n` rows and may have any number of columns, including none.

    Returns
    -------
    first : ndarray of int, shape (n_distinct,)
        Position of one occurrence of each distinct row, in ascending order of the rows.
    kind : ndarray of int, shape (n,)
        Index in `first` of each row.
    """
    _, first, kind = np.unique(row_keys(columns, n), return_index=True, return_inverse=True)
    return first, kind


def row_keys(columns: Sequence[NDArray[np.integer]], n: int) -> NDArray[np.int64]:
    """Return a key for each row of a table of non-negative integers, shape (n,).

    Equal rows have equal keys, and the order of keys is the lexicographic order of the rows. Keys are mixed-radix
    numbers if these fit into 64 bits; otherwise the combinations that occur are numbered, for domains of any size.
    """
    keys, room = np.zeros(n, dtype=np.int64), 1
    for column in columns:
        radix = int(column.max(initial=0)) + 1
        if room * radix >= MOST_KEYS:
            # Renumber the combinations that occur; there are at most as many as rows.
            distinct, keys = np.unique(keys, return_inverse=True)
            room = len(distinct)
        keys, room = keys * radix + column, room * radix
    return keys


def keys_of_both(first: Codes, second: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return keys for the rows of two tables of codes.

    The keys are those of `row_keys` for all rows together: equal rows have equal keys, also in different tables. Codes
    are 0 or more, and the tables have equal numbers of columns.
    """
    columns = [np.concatenate(both) for both in zip(first.T, second.T, strict=True)]
    keys = row_keys(columns, len(first) + len(second))
    return keys[: len(first)], keys[len(first) :]


def added_up(amounts: NDArray[Amount], group: NDArray[np.integer[Any]], n_groups: int) -> NDArray[Amount]:
    """Return the sums of `amounts` (n,) by group number, shape (n_groups,).

    `group` is the group of each amount, from 0. A group without amounts has the sum 0. Sums of integers are integers.
    """
    sums = np.zeros(n_groups, dtype=amounts.dtype)
    np.add.at(sums, group, amounts)
    return sums


def natural_categories(values: pd.Series[str]) -> tuple[str, ...]:
    """Return the distinct labels of a column, in order, without spaces around them.

    The order is numerical if all labels are integers, else alphabetical.
    """
    labels = {str(label).strip() for label in values.unique()}
    numbers = {label: number for label in labels if (number := whole_number(label)) is not None}
    if len(numbers) == len(labels):
        return tuple(sorted(labels, key=lambda label: (numbers[label], label)))
    return tuple(sorted(labels))

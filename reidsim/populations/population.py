"""Populations: people counted by cell of a domain, or one row of codes per person.

The keys, tables of figures and groups of values that several kinds of recipe share come last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from reidsim.core.errors import (
    InputError,
    listed,
    locating,
    nearest,
    refuse_first,
    refuse_rows,
    require_among,
    require_distinct,
)
from reidsim.core.files import data_file, require_memory
from reidsim.core.tables import (
    numbers,
    pandas_table,
    read_table,
    require_columns,
    spelled_plainly,
    text_column,
    text_table,
)
from reidsim.core.validation import LARGEST_SEED, Section
from reidsim.core.wording import whole_number

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Amount = TypeVar("Amount", bound=np.number[Any])

# Upper limit of keys of rows, low enough that arithmetic on 64-bit keys does not overflow.
MOST_KEYS = 2**62
# Numbers are counted instead of sorted if they are at most `_DENSE` times their count, or at most `_FEW`.
_DENSE, _FEW = 8, 4096


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
            If a value is not a category; the message names the first such row, by the index of a Series (counted from
            1), and its value.
        """
        given = values if isinstance(values, pd.Series) else pd.Series(list(values))
        if isinstance(given.array, pd.Categorical):
            # The last label is the label of missing values, whose code is -1. (The accessor `cat` would keep the column
            # in memory until the next garbage collection.)
            number, texts = given.array.codes, text_column(pd.Series(given.array.categories))
            labels = pd.concat([texts, pd.Series([""], dtype="str")], ignore_index=True)
        elif given.dtype == object:
            number, labels = np.arange(len(given)), given
        else:
            # A column has few distinct values. As objects, 1 and 1.0 would be one of them.
            number, distinct = pd.factorize(given, use_na_sentinel=False)
            labels = pd.Series(distinct)
        labels = text_column(labels)
        codes: Codes = self.labels.get_indexer(pd.Index(labels)).astype(np.int32)[number]
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            value = labels.iloc[number[row]]
            problem = f"value outside the categories of {self.name!r}" if value else "value missing"
            where, found = f"row {given.index[row] + 1}, column {(column or self.name)!r}", value or None
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

    @classmethod
    def from_categories(cls, categories: Mapping[str, Iterable[str]]) -> Domain:
        """Return the `Domain` of attributes with these categories, by name."""
        return cls(tuple(Attribute(name, tuple(labels)) for name, labels in categories.items()))

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


def distinct_rows(columns: Sequence[NDArray[np.integer]], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct rows of a table of non-negative integers.

    The table has `n` rows and may have any number of columns, including none.

    Returns
    -------
    first : ndarray of int, shape (n_distinct,)
        Position of the first occurrence of each distinct row, in ascending order of the rows.
    kind : ndarray of int, shape (n,)
        Index in `first` of each row.
    """
    distinct, kind = numbered(row_keys(columns, n))
    first = np.empty(len(distinct), dtype=np.intp)
    # In reverse, so that the first occurrence is written last.
    first[kind[::-1]] = np.arange(n)[::-1]
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
        room *= radix
        keys *= radix
        keys += column
    return keys


def numbered(values: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values, ascending, and each value's position among them.

    The second result has the shape of `values`.
    """
    size = int(values.max(initial=-1)) + 1
    if size > max(_DENSE * len(values), _FEW) or values.min(initial=0) < 0:
        distinct, number = np.unique(values, return_inverse=True)
        return distinct, number
    # For small non-negative numbers, counting gives the same result as sorting in a tenth of the time.
    met = np.zeros(size, dtype=np.bool_)
    met[values] = True
    return np.flatnonzero(met), (np.cumsum(met) - 1)[values]


def keys_of_both(first: Codes, second: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return keys for the rows of two tables of codes.

    The keys are those of `row_keys` for all rows together: equal rows have equal keys, also in different tables. Codes
    are 0 or more, and the tables have equal numbers of columns.
    """
    keys = row_keys([np.concatenate(both) for both in zip(first.T, second.T, strict=True)], len(first) + len(second))
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
    labels = sorted({str(label).strip() for label in values.unique()})
    numbers = list(map(whole_number, labels))
    if None in numbers:
        return tuple(labels)
    return tuple(label for _, label in sorted(zip(numbers, labels, strict=True)))


def shared_categories(columns: Sequence[tuple[str | Path, pd.Series[str]]]) -> tuple[str, ...]:
    """Return the `natural_categories` of an attribute in several tables; an empty cell is no category.

    `columns` has the source of each table, for messages, and the attribute's column.

    Raises
    ------
    InputError
        If two values differ only in spelling (see `reidsim.core.tables.spelled_plainly`), so that they would not match.
    """
    values, first = pd.concat([column for _, column in columns]), dict[str, str]()
    values = values[values != ""]
    spellings = {value: first.setdefault(spelled_plainly(value), value) for value in values.unique()}
    for source, column in columns:
        usual, problem = column.map(spellings), "a value in two spellings, which would count as two values"
        wrong = usual.notna() & usual.ne(column)
        expected = repr(usual[wrong].iloc[0]) if wrong.any() else None
        refuse_rows(wrong, problem, source=source, column=column.name, found=column, expected=expected)
    return natural_categories(values)


# Code of a missing value.
UNKNOWN = -1
# int64 when people were counted, float64 when they are expected
Counts = NDArray[np.number[Any]]


@dataclass(frozen=True)
class Population:
    """The number of people in each cell of a domain.

    Empty cells are not stored, so large domains need little memory.

    Parameters
    ----------
    domain : Domain
        Attributes and their values.
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Codes of the cells with people; each cell occurs once.
    counts : ndarray of int64, shape (n_cells,)
        Number of people in each cell; float64 for expected counts.
    name : str
        Name in messages and results.
    source : str
        Origin of the figures.

    Raises
    ------
    InputError
        If the population is empty, or a count is negative.

    See Also
    --------
    load_population : the population of a recipe.

    Examples
    --------
    >>> import numpy, reidsim
    >>> from reidsim import Attribute, Domain
    >>> domain = Domain((Attribute("age", ("0-64", "65+")), Attribute("sex", ("F", "M"))))
    >>> cells = numpy.array([[0, 0], [0, 1], [1, 0]], dtype="int32")
    >>> reidsim.Population(domain, cells, numpy.array([40, 38, 12])).total
    90.0
    """

    domain: Domain
    cells: Codes
    counts: Counts
    name: str = "population"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        least = self.counts.min(initial=0).item()
        refuse_first(
            (not self.counts.sum() > 0, "the population is empty", self.name, None, None),
            (least < 0, "negative count", self.name, least, "0 or more"),
        )

    def __repr__(self) -> str:
        return f"Population({self.name!r}: {self.total:,.0f} people, {len(self.cells):,} cells, {self.domain})"

    @classmethod
    def from_records(
        cls, domain: Domain, codes: Codes, counts: Counts | None = None, *, name: str = "population", source: str = ""
    ) -> Population:
        """Return a `Population` from rows of codes over the domain, (n, n_attributes).

        Each row is one person, or with `counts`, shape (n,), that many people. Equal rows are added, and cells with
        count 0 are omitted.
        """
        first, inverse = distinct_rows(list(codes.T), len(codes))
        totals: Counts = (
            np.bincount(inverse, minlength=len(first)) if counts is None else added_up(counts, inverse, len(first))
        )
        occupied = totals != 0
        return cls(domain, codes[first[occupied]], totals[occupied], name=name, source=source)

    @classmethod
    def from_dense(cls, domain: Domain, table: Counts, *, name: str = "population", source: str = "") -> Population:
        """Return a `Population` from a full table of counts with shape ``domain.shape``.

        Cells with a count of 0 or less are omitted.
        """
        return cls(domain, np.argwhere(table > 0).astype(np.int32), table[table > 0], name=name, source=source)

    @classmethod
    def from_frame(
        cls, frame: IntoDataFrame, count: str | None = None, *, name: str = "population", source: str = ""
    ) -> Population:
        """Return a `Population` from the rows of a table.

        Categories are the values that occur, in numerical order if all values of the column are integers, else in
        alphabetical order.

        Parameters
        ----------
        frame : DataFrame
            One row per person, or per cell if `count` is given; one column per attribute.
        count : str, optional
            Column with the number of people of each row.
        name, source : str
            See the class.

        Raises
        ------
        InputError
            If a value is missing, or a count is not a number of 0 or more; the message names the row.
        """
        table = text_table(pandas_table(frame), name)
        counts = None if count is None else read_counts(table, count, Path(name))
        names = [column for column in table.columns if column != count]
        for column in names:
            expected = "a value in every row"
            refuse_rows(table[column].eq(""), "value missing", source=name, column=column, expected=expected)
        domain = Domain.from_categories({column: natural_categories(table[column]) for column in names})
        return cls.from_records(domain, domain.encode(table), counts, name=name, source=source)

    def relabelled(self, labels: Mapping[str, Callable[[str], str]]) -> Population:
        """Return the population with new labels for categories.

        Categories with equal labels are merged: their counts are added. Labels come in the order of the old categories.
        The population itself is returned if no label changes.

        Parameters
        ----------
        labels : mapping of str to callable
            Function that returns the new label of a category, by attribute; other attributes keep their labels.
        """
        attributes, columns = [], []
        for attribute, codes in zip(self.domain.attributes, self.cells.T, strict=True):
            read = list(map(labels.get(attribute.name, str), attribute.categories))
            attributes.append(Attribute(attribute.name, tuple(dict.fromkeys(read))))
            columns.append(attributes[-1].labels.get_indexer(pd.Index(read))[codes].astype(np.int32))
        domain = Domain(tuple(attributes))
        if domain == self.domain:
            return self
        return Population.from_records(
            domain, np.column_stack(columns), self.counts, name=self.name, source=self.source
        )

    def whole_counts(self, problem: str) -> NDArray[np.int64]:
        """Return the counts of the population's cells as int64, shape (n_cells,).

        Raises
        ------
        InputError
            If the counts are expected counts; `problem` is the message.
        """
        refuse_first((self.counts.dtype.kind == "f", problem, self.name, None, "whole numbers of people"))
        return self.counts.astype(np.int64)

    @property
    def total(self) -> float:
        """Number of people in all cells."""
        return float(self.counts.sum())

    def marginal(self, names: Sequence[str]) -> Population:
        """Return the population counted by the attributes `names`, in this order.

        Raises
        ------
        InputError
            If an attribute is unknown.
        """
        if tuple(names) == self.domain.names:
            return self
        columns = [self.domain.position(name) for name in names]
        return Population.from_records(
            self.domain.select(names), self.cells[:, columns], self.counts, name=self.name, source=self.source
        )


@dataclass(frozen=True)
class Individuals:
    """People with attributes from a domain, one row per person.

    Parameters
    ----------
    domain : Domain
        Attributes and their values.
    codes : ndarray of int32, shape (n_people, n_attributes)
        Codes of the people's values; ``UNKNOWN`` (-1) for a missing value.
    name : str
        Name in messages and results.
    source : str
        Origin of the figures.

    Raises
    ------
    InputError
        If the population is empty.
    """

    domain: Domain
    codes: Codes
    name: str = "individuals"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        refuse_first((len(self.codes) == 0, "the population is empty", self.name, None, None))

    def __repr__(self) -> str:
        return f"Individuals({self.name!r}: {len(self.codes):,} people, {self.domain})"

    @classmethod
    def from_population(cls, population: Population) -> Individuals:
        """Return `Individuals`: one row per person of a population counted by cell.

        Rows are in the order of its cells.

        Raises
        ------
        InputError
            If the population has expected counts, or the rows do not fit into memory.
        """
        counts = population.whole_counts("expected counts cannot be converted to individuals")
        needed = int(counts.sum()) * len(population.domain.attributes) * population.cells.itemsize
        require_memory(needed, "too many people for one row per person", where=population.name)
        codes = np.repeat(population.cells, counts, axis=0)
        return cls(population.domain, codes, name=population.name, source=population.source)

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.codes)

    def column(self, attribute: str) -> Codes:
        """Return the people's codes of an attribute, shape (n_people,); -1 if missing.

        Raises
        ------
        InputError
            If the attribute is unknown.
        """
        return self.codes[:, self.domain.position(attribute)]

    def select(self, attributes: Sequence[str]) -> Individuals:
        """Return the same `Individuals` with some attributes, in the order given."""
        columns = [self.domain.position(name) for name in attributes]
        return replace(self, domain=self.domain.select(attributes), codes=self.codes[:, columns])

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Individuals:
        """Return the `Individuals` in some rows, selected by row numbers or by a mask.

        Row numbers select people in their order and can repeat.
        """
        return replace(self, codes=self.codes[rows])

    def population(self) -> Population:
        """Return the `Population` of these people, counted by cell.

        Raises
        ------
        InputError
            If a value is missing; the message names the attribute and the number of missing values.
        """
        missing, problem = (self.codes == UNKNOWN).sum(axis=0), "people with missing values cannot be counted in cells"
        cases = zip(self.domain.names, missing.tolist(), strict=True)
        refuse_first(*((n > 0, problem, f"{self.name}, {name!r}", f"{n} missing", None) for name, n in cases))
        return Population.from_records(self.domain, self.codes, name=self.name, source=self.source)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame of labels, with one row per person.

        There is one categorical column per attribute. Missing values are NaN.
        """
        return self.domain.decode(self.codes)


def read_counts(frame: pd.DataFrame, column: str, source: Path) -> Counts:
    """Return a column of numbers of people, shape (n_rows,).

    The type is int64 if all are whole numbers, else float64. `source` is the path of the table, for messages.

    Raises
    ------
    InputError
        If the column is missing, a count is not a number of 0 or more below 2**53, or the point of decimals may be a
        separator of thousands (``950``, ``1.012``).
    """
    require_columns(frame, [column], source)
    values, texts = numbers(frame, column, source).to_numpy(), frame[column].str.strip()
    has_point = texts.str.contains(".", regex=False)
    is_ambiguous = not has_point.all() and bool(texts[has_point].str.fullmatch(_GROUPED).all())
    expected = "whole numbers without separators of thousands, or another number of decimals"
    refuse_rows(
        has_point & is_ambiguous,
        "decimals or a separator of thousands",
        source=source,
        column=column,
        found=frame[column],
        expected=expected,
    )
    too_large, expected = values >= 2**53, "a number below 2**53"
    refuse_rows(too_large, "count too large", source=source, column=column, found=frame[column], expected=expected)
    return values.astype(np.int64 if (values == np.rint(values)).all() else np.float64)


def complete_records(
    population: Population, codes: Codes, rng: np.random.Generator, *, among: NDArray[np.bool_] | None = None
) -> Codes:
    """Return records with their unknown attributes drawn, given the known attributes.

    Each record is completed with a cell that agrees with its known values, drawn with probability proportional to
    the people in the cell.

    Parameters
    ----------
    population : Population
        People whose values are drawn.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Codes over ``population.domain``; ``UNKNOWN`` (-1) for values to draw.
    rng : numpy.random.Generator
        Source of the draws.
    among : ndarray of bool, shape (n_cells,), optional
        Mask of the cells that may be drawn; default: all cells.

    Returns
    -------
    ndarray of int32, shape (n_records, n_attributes)

    Raises
    ------
    InputError
        If no person in the cells that may be drawn agrees with the known values of a record.
    """
    completed = codes.copy()
    patterns, kind = np.unique(codes == UNKNOWN, axis=0, return_inverse=True)
    cells = population.cells if among is None else population.cells[among]
    counts = population.counts if among is None else population.counts[among]
    for number, unknown in enumerate(patterns):
        rows, known = np.flatnonzero(kind.ravel() == number), ~unknown
        if known.all():
            continue
        cell_keys, keys = keys_of_both(cells[:, known], codes[np.ix_(rows, known)])
        order = np.argsort(cell_keys, kind="stable")
        cumulative = np.concatenate([[0.0], np.cumsum(counts[order], dtype=np.float64)])
        start, stop = (np.searchsorted(cell_keys[order], keys, side=side) for side in ("left", "right"))
        if (start == stop).any():
            row = rows[(start == stop).argmax()]
            values = zip(population.domain.attributes, codes[row].tolist(), known, strict=True)
            found = ", ".join(f"{each.name} = {each.categories[code]}" for each, code, is_known in values if is_known)
            nobody = f"nobody in population {population.name!r} matches a record"
            raise InputError(f"{nobody}, so missing attributes cannot be drawn", where=f"row {row + 1}", found=found)
        low, high = cumulative[start], cumulative[stop]
        position = np.searchsorted(cumulative, low + rng.random(len(keys)) * (high - low), side="right") - 1
        completed[np.ix_(rows, unknown)] = cells[np.ix_(order[np.clip(position, start, stop - 1)], unknown)]
    return completed


# Published shares are rounded; a sum that differs from 1 by more than this is an error.
SUM_TOLERANCE = 1e-6
# A number whose points may separate thousands.
_GROUPED = r"[1-9]\d{0,2}(\.\d{3})+"

Share = Annotated[float, Field(ge=0, le=1)]
# Above the limit, differences between payoffs are smaller than rounding errors.
MOST_MONEY = 1e15
Money = Annotated[float, Field(ge=0, le=MOST_MONEY, description="currency units per record")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def _ends_no_cell(delimiter: str) -> str:
    expected = 'one character other than ", a null character and a line break'
    refuse_first((delimiter in '"\r\n\0', "invalid delimiter", None, delimiter, expected))
    return delimiter


Delimiter = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_ends_no_cell)]


@dataclass(frozen=True)
class Making:
    """The means by which a recipe makes its population.

    Parameters
    ----------
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the population.
    seed : int
        Seed of the draw.
    expected : bool
        Whether to return expected counts (float64) instead of a draw, if the recipe has them.
    other : callable, optional
        Returns the population or individuals of another recipe, given its name and `expected`; only for recipes that
        name another one.
    progress : callable, optional
        Called with the task, the number of completed steps and their total number; only for genealogies.
    """

    folder: Path
    name: str
    seed: int
    expected: bool = False
    other: Any = None
    progress: Callable[[str, int, int], None] | None = None

    def cells(self, recipe: str, *, expected: bool | None = None) -> Population:
        """Return the `Population` of another recipe, counted by cell.

        `recipe` is its name or file. Expected counts are requested if `expected` is true, by default if they are
        requested from this recipe.
        """
        made: Population | Individuals = self.other(recipe, self.expected if expected is None else expected)
        return made if isinstance(made, Population) else made.population()

    def people(self, recipe: str) -> Individuals:
        """Return the `Individuals` of another recipe, given by name or file.

        Raises
        ------
        InputError
            If it cannot be made, has counts that are not whole numbers, or does not fit into memory.
        """
        made: Population | Individuals = self.other(recipe, False)
        return Individuals.from_population(made) if isinstance(made, Population) else made

    def rng(self, kind: str = "") -> np.random.Generator:
        """Return the random generator of a draw; it depends on the seed and `kind` only.

        With `kind`, it is a separate stream: a population drawn with the same seed does not reveal the people drawn.
        """
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=tuple(kind.encode())))


class RecipeHead(Section):
    """The keys that every recipe has.

    Attributes
    ----------
    title
        title shown by `reidsim list`
    source
        origin of the figures
    """

    title: str = ""
    source: str = ""


def read_figures(
    file: str, folder: Path, columns: Iterable[str], *, delimiter: str = ",", encoding: str | None = None
) -> tuple[pd.DataFrame, Path]:
    """Return a recipe's data file as a table of text.

    The table must have the required columns.

    Parameters
    ----------
    file : str
        Path relative to the recipe's folder, or ``bundled:`` and a path. Lines at the top of the file that start with
        ``#`` are skipped.
    folder : Path
        Folder of the recipe.
    columns : iterable of str
        Required columns.
    delimiter, encoding
        Delimiter and encoding of a CSV file.

    Returns
    -------
    frame : DataFrame
        Content of the file; every value is text.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    path = data_file(file, folder, "populations")
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, columns, path)
    return frame, path


def exactly_one(*keys: str, problem: str) -> Any:
    """Return a pydantic validator of a section that requires exactly one of some keys.

    A key that is None or an empty section counts as not set. The validator raises InputError with the text `problem` if
    none or several of `keys` are set.
    """

    def check(section: Section) -> Section:
        given = [key for key in keys if getattr(section, key) not in (None, {})]
        expected = f"either {keys[0]} or {keys[1]}" if len(keys) == 2 else f"one of {listed(keys)}"
        return section.unless((len(given) != 1, problem, "", expected, listed(given) or None))

    return model_validator(mode="after")(check)


def normalised(shares: Floats, where: str | Callable[[int], str], source: Path | None = None) -> Floats:
    """Return shares, (..., n_values), with each row of the last axis divided by its sum.

    Raises
    ------
    InputError
        If a sum differs from 1 by more than `SUM_TOLERANCE`, one in a million. For the message, `where` is its place,
        or returns the place of a row, and `source` is the file.
    """
    sums = shares.sum(axis=-1, keepdims=True)
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    row = int(wrong.argmax())
    found, place = round(float(sums.flat[row]), 9), where if isinstance(where, str) else where(row)
    case = (wrong.any(), "shares do not sum to 1", place, found, f"1, within {SUM_TOLERANCE:g}")
    refuse_first(case, source=source)
    return np.asarray(shares / sums)


# Groups of values, such as age groups. Members of a group are values, ranges of integers ("18..24", "75..", "..17"), or
# "otherwise" for all other values.
Members = Annotated[tuple[str, ...], Field(min_length=1)]
Groups = dict[str, Members]

REST = "otherwise"
_RANGE = re.compile(r"(\d{0,18})\.\.(\d{0,18})")


def values_in_order(column: pd.Series[str]) -> tuple[str, ...]:
    """Return the distinct values of a column of text, in order.

    The order is numerical if all values consist of digits only, else that of first occurrence.
    """
    values = tuple(map(str, column.unique()))
    return natural_categories(column) if all(map(str.isdecimal, values)) else values


def number_range(text: str) -> tuple[int, float] | None:
    """Return the first and last integer of a range; None if the text is not a range.

    Spaces around the text are ignored. ``"18..24"`` gives (18, 24), ``"..17"`` gives (0, 17), ``"75.."`` gives (75,
    infinity).

    Raises
    ------
    InputError
        If the last number is smaller than the first.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None or text.strip() == "..":
        return None
    first, last = int(match[1] or 0), int(match[2]) if match[2] else math.inf
    refuse_first((last < first, "the range ends before it begins", None, text, None))
    return first, last


def group_codes(
    attribute: Attribute, groups: Mapping[str, Sequence[str]], *, complete: bool = True
) -> NDArray[np.int32]:
    """Return the group of each value of an attribute.

    Parameters
    ----------
    attribute : Attribute
        The attribute.
    groups : mapping of str to sequence of str
        Members of each group: values of the attribute; ranges of integers such as ``"18..24"``, ``"75.."`` and
        ``"..17"``; or ``"otherwise"`` for the values that belong to no other group.
    complete : bool
        Whether each value must be in a group; otherwise, the code of a value in no group is -1.

    Returns
    -------
    ndarray of int32, shape (n_values,)
        Index of each value's group in `groups`; a group may be empty.

    Raises
    ------
    InputError
        If a member is neither a value of the attribute nor a range, a value belongs to two groups, ``"otherwise"`` is
        in two groups, or (with `complete`) a value belongs to no group.
    """
    where = f"groups of {attribute.name!r}"
    codes = np.full(attribute.size, -1, dtype=np.int32)
    rest = []
    for code, (group, members) in enumerate(groups.items()):
        for member in members:
            if member == REST and REST not in attribute.categories:
                rest.append(code)
                continue
            positions = positions_of(attribute, member, f"group {group!r} of {attribute.name!r}")
            other = next((each for each in positions if codes[each] not in (-1, code)), None)
            if other is not None:
                hint = f"it is in {list(groups)[codes[other]]!r} and in {group!r}"
                raise InputError("value in two groups", where=where, found=attribute.categories[other], hint=hint)
            codes[positions] = code
    twice = [list(groups)[code] for code in rest[1:]]
    refuse_first((twice, f"{REST!r} in two groups", where, ", ".join(twice), None))
    codes[codes < 0] = rest[0] if rest else -1
    found, expected = attribute.categories[codes.argmin()], f"the value in one of the groups {listed(groups)}"
    refuse_first((complete and (codes < 0).any(), "value in no group", where, found, expected))
    return codes


def positions_of(attribute: Attribute, member: str, where: str) -> list[int]:
    """Return the positions of the values denoted by a value or by a range of integers.

    A range includes both ends. The list is empty if no value is in the range. A text that is a value of the attribute
    is not read as a range.

    Parameters
    ----------
    attribute : Attribute
        Attribute with the values.
    member : str
        A value, or a range such as ``"18..24"``.
    where : str
        Location to name in error messages.

    Raises
    ------
    InputError
        If `member` is neither a value nor a range, or the range ends before it begins.
    """
    if member in attribute.categories:
        return [attribute.categories.index(member)]
    with locating(where=where):
        bounds = number_range(member)
    if bounds is None:
        expected = f"one of {listed(attribute.categories)}, or a range such as '18..24'"
        problem, hint = f"not a value of {attribute.name!r}", nearest(member, attribute.categories)
        raise InputError(problem, where=where, found=member, expected=expected, hint=hint)
    numbers = map(whole_number, attribute.categories)
    return [place for place, number in enumerate(numbers) if number is not None and bounds[0] <= number <= bounds[1]]

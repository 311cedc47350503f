"""A population, stored as the number of people in each cell of a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, refuse_rows
from reidsim.populations.domain import Attribute, Codes, Domain, added_up, distinct_rows, natural_categories
from reidsim.tables import numbers, require_columns, text_table

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
    """

    domain: Domain
    cells: Codes
    counts: Counts
    name: str = "population"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.counts) == 0 or not self.counts.sum() > 0:
            raise InputError("the population is empty", where=self.name)
        if (self.counts < 0).any():
            raise InputError("negative count", where=self.name, found=self.counts.min().item(), expected="0 or more")

    def __repr__(self) -> str:
        return f"Population({self.name!r}: {self.total:,.0f} people, {len(self.cells):,} cells, {self.domain})"

    @classmethod
    def from_records(
        cls, domain: Domain, codes: Codes, counts: Counts | None = None, *, name: str = "population", source: str = ""
    ) -> Population:
        """Return a population from rows of codes over the domain, shape (n, n_attributes).

        Each row is one person, or with `counts`, shape (n,), that many people. Equal rows are added.
        """
        first, inverse = distinct_rows(list(codes.T), len(codes))
        if counts is not None and (counts < 0).any():
            raise InputError("negative count", where=name, found=counts.min().item(), expected="0 or more")
        totals: Counts = (
            np.bincount(inverse, minlength=len(first)) if counts is None else added_up(counts, inverse, len(first))
        )
        occupied = totals > 0
        return cls(domain, codes[first[occupied]], totals[occupied], name=name, source=source)

    @classmethod
    def from_dense(cls, domain: Domain, table: Counts, *, name: str = "population", source: str = "") -> Population:
        """Return a population from a full table of counts with shape ``domain.shape``."""
        cells = np.argwhere(table > 0).astype(np.int32)
        return cls(domain, cells, table[table > 0], name=name, source=source)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, count: str | None = None, *, name: str = "population", source: str = ""
    ) -> Population:
        """Return a population from the rows of a table.

        Categories are the values that occur: integers in numerical order, other values in alphabetical order.

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
        table, where = text_table(frame, name), Path(name)
        if count is not None:
            require_columns(table, [count], where)
            amounts = numbers(table, count, where).to_numpy()
        names = [column for column in table.columns if column != count]
        for column in names:
            missing = table[column].eq("")
            refuse_rows(missing, "value missing", source=name, column=column, expected="a value in every row")
        domain = Domain(tuple(Attribute(column, natural_categories(table[column])) for column in names))
        counts: Counts | None = None
        if count is not None:
            whole = bool((amounts == np.rint(amounts)).all())
            counts = amounts.astype(np.int64 if whole else np.float64)
        return cls.from_records(domain, domain.encode(table), counts, name=name, source=source)

    def relabelled(self, labels: Mapping[str, Callable[[str], str]]) -> Population:
        """Return the population with new labels for categories.

        Categories with equal labels are merged.

        Parameters
        ----------
        labels : mapping of str to callable
            Function that returns the new label of a category, by attribute.
        """
        attributes, columns, changed = [], [], False
        for position, attribute in enumerate(self.domain.attributes):
            read = list(map(labels.get(attribute.name, str), attribute.categories))
            changed |= read != list(attribute.categories)
            categories = tuple(dict.fromkeys(read))
            code_of = {category: code for code, category in enumerate(categories)}
            of_code = np.array([code_of[label] for label in read], dtype=np.int32)
            attributes.append(Attribute(attribute.name, categories))
            columns.append(of_code[self.cells[:, position]])
        if not changed:
            return self
        return Population.from_records(
            Domain(tuple(attributes)), np.column_stack(columns), self.counts, name=self.name, source=self.source
        )

    def whole_counts(self, problem: str) -> NDArray[np.int64]:
        """Return the counts as integers.

        Raises
        ------
        InputError
            If the counts are expected counts; `problem` is the message.
        """
        if not np.issubdtype(self.counts.dtype, np.integer):
            raise InputError(problem, where=self.name, expected="whole numbers of people")
        return self.counts.astype(np.int64)

    @property
    def total(self) -> float:
        """Number of people in all cells."""
        return float(self.counts.sum())

    def marginal(self, names: Sequence[str]) -> Population:
        """Return the population counted by a subset of its attributes, in the given order."""
        if tuple(names) == self.domain.names:
            return self
        columns = [self.domain.position(name) for name in names]
        return Population.from_records(
            self.domain.select(names), self.cells[:, columns], self.counts, name=self.name, source=self.source
        )

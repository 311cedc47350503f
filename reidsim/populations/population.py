"""A population as the number of people in each cell of a domain."""

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
    """People by cell of a domain; empty cells are not stored, so that large domains cost little.

    Parameters
    ----------
    domain : Domain
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Codes of the occupied cells, each once.
    counts : ndarray of int64, shape (n_cells,)
        People in each cell; float64 when they are expected counts.
    name : str
        Name in messages and results.
    source : str
        Origin of the figures.

    Raises
    ------
    InputError
        If there are no people, or a count is negative.
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
        """Return the sums by cell of rows of codes (n, m), each of one person or of `counts` people."""
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
        """Return the occupied cells of a full table of shape ``domain.shape``."""
        cells = np.argwhere(table > 0).astype(np.int32)
        return cls(domain, cells, table[table > 0], name=name, source=source)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, count: str | None = None, *, name: str = "population", source: str = ""
    ) -> Population:
        """Count the rows of a table by its columns.

        Categories are the values that occur, whole numbers by size and others as text.

        Parameters
        ----------
        frame : DataFrame
            One row per person, or per cell if `count` is given; one column per attribute.
        count : str, optional
            Column with the number of people of each row.
        name, source : str
            As of the class.

        Raises
        ------
        InputError
            If a value is missing, or a count is not a number of 0 or more; names the row.
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
        """Return the population with new labels for the categories of some attributes; equal labels are merged.

        Parameters
        ----------
        labels : mapping of str to callable
            Function from a category to its label, by attribute.
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
        """Return the counts as whole people.

        Raises
        ------
        InputError
            With the given problem, if they are expected counts.
        """
        if not np.issubdtype(self.counts.dtype, np.integer):
            raise InputError(problem, where=self.name, expected="whole numbers of people")
        return self.counts.astype(np.int64)

    @property
    def total(self) -> float:
        """People in all cells."""
        return float(self.counts.sum())

    def marginal(self, names: Sequence[str]) -> Population:
        """Return the population counted by some of its attributes, in the order given."""
        if tuple(names) == self.domain.names:
            return self
        columns = [self.domain.position(name) for name in names]
        return Population.from_records(
            self.domain.select(names), self.cells[:, columns], self.counts, name=self.name, source=self.source
        )

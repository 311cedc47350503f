"""Populations counted in files, of recipes of kinds ``counts`` and ``fitted``.

A file of kind ``counts`` has people or cells. In a recipe of kind ``fitted``, iterative proportional fitting finds the
table with given margins that is closest to a given table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among
from reidsim.core.randomness import draw_multinomial
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.population import (
    UNKNOWN,
    Attribute,
    Delimiter,
    Domain,
    Floats,
    Making,
    Population,
    RecipeHead,
    Seed,
    exactly_one,
    natural_categories,
    read_counts,
    read_figures,
    values_in_order,
)

# Maximum number of cells of the table, which is dense: 400 MB per copy.
_MOST_CELLS = 50_000_000
# Label of the category for missing values, if the recipe requests one.
MISSING = "missing"
_DONE = {"drop": "left out", "category": "counted under a category of their own"}


class CountsRecipe(RecipeHead):
    """Recipe for a CSV or Parquet file of people.

    The file has one row per person, or one row per cell with a count.

    Attributes
    ----------
    kind
        kind of recipe
    file
        CSV file with a header, or Parquet file
    delimiter
        column separator of a CSV file
    encoding
        character encoding of a CSV file, such as `latin-1`
    columns
        column of the file, by attribute
    count
        column with the number of people in each row; default: one person per row
    missing_values
        values that are read as missing
    missing
        treatment of rows with missing values: `error`, leave out (`drop`, which makes groups too small), or count in
        the category `missing` (`category`)
    categories
        categories of an attribute in order; default: the values in the file
    unknown
        treatment of rows with values outside `categories`: `error`, leave out (`drop`), or read the value as
        missing
    """

    kind: Literal["counts"]
    file: str
    delimiter: Delimiter = ","
    encoding: str = "utf-8"
    columns: dict[str, str] = Field(min_length=1)
    count: str | None = None
    missing_values: tuple[str, ...] = ("",)
    missing: Literal["error", "drop", "category"] = "error"
    categories: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default={})
    unknown: Literal["error", "drop", "missing"] = "error"

    def make(self, at: Making) -> Population:
        """Return the `Population` in a CSV or Parquet file.

        For `at` see `Making`. Categories come from the recipe, or are the values that occur, in numerical order if all
        are integers, else in alphabetical order. Missing values are treated according to ``missing``, values outside
        the categories according to ``unknown``. The population's ``source`` reports the number of affected rows.

        Raises
        ------
        InputError
            If the file cannot be used, a column has no value, all rows are left out, or a value is missing or outside
            the categories and the recipe has no rule for it; the message names the file, row and column.
        """
        frame, path = read_figures(
            self.file, at.folder, self.columns.values(), delimiter=self.delimiter, encoding=self.encoding
        )
        require_among("not an attribute of the recipe", self.categories, self.columns, where="categories")
        counts = np.ones(len(frame), dtype=np.int64) if self.count is None else read_counts(frame, self.count, path)
        attributes, columns = [], []
        blank = np.column_stack([frame[column].isin(self.missing_values) for column in self.columns.values()])
        for attribute, column, is_blank in zip(self.columns, self.columns.values(), blank.T, strict=True):
            values = frame[column].mask(is_blank, "")
            seen = self.categories.get(attribute) or natural_categories(values[values != ""])
            if not seen:
                raise InputError("the column has no value", source=path, where=f"column {column!r}")
            attributes.append(Attribute(attribute, seen))
            columns.append(attributes[-1].labels.get_indexer(pd.Index(values)).astype(np.int32))
        codes = np.column_stack(columns)
        unknown = (codes == UNKNOWN) & ~blank
        if self.unknown == "error" and unknown.any():
            hint = 'set unknown = "drop" or "missing" in the recipe'
            raise self._refusal("value outside the categories", unknown, frame, path).but(hint=hint)
        outside = unknown.any(axis=1) & (self.unknown == "drop")
        incomplete = (codes == UNKNOWN).any(axis=1) & ~outside
        if self.missing == "error" and incomplete.any():
            hint = 'set missing = "drop" or "category" in the recipe'
            wrong = (codes == UNKNOWN) & incomplete[:, None]
            raise self._refusal("value missing", wrong, frame, path).but(found=None, hint=hint)
        keep = ~outside & ~incomplete if self.missing == "drop" else ~outside
        codes, counts = codes[keep], counts[keep]
        source = self.source + _report(len(frame), int(outside.sum()), int(incomplete.sum()), self.missing)
        if not len(codes):
            raise InputError("all rows are left out", source=path, found=source.strip())
        if self.missing == "category":
            for position in np.flatnonzero((codes == UNKNOWN).any(axis=0)).tolist():
                name, seen = attributes[position].name, attributes[position].categories
                if MISSING in seen:
                    problem = f"{MISSING!r} is already a value of the attribute"
                    raise InputError(problem, source=path, where=f"attribute {name!r}")
                codes[codes[:, position] == UNKNOWN, position] = len(seen)
                attributes[position] = Attribute(name, (*seen, MISSING))
        domain = Domain(tuple(attributes))
        return Population.from_records(domain, codes, counts, name=at.name, source=source)

    def _refusal(self, problem: str, wrong: NDArray[np.bool_], frame: pd.DataFrame, path: Path) -> InputError:
        """Return, without raising it, the InputError about the first wrong value.

        `wrong` marks the wrong values, shape (n_rows, n_attributes), with columns in the order of the recipe; the first
        one is searched row by row. `frame` is the file's content and `path` its path, for the message.
        """
        row, place = np.argwhere(wrong)[0]
        column = list(self.columns.values())[place]
        found = frame[column].iloc[row]
        return InputError(problem, source=path, where=f"row {row + 1}, column {column!r}", found=found)


def _report(rows: int, outside: int, incomplete: int, rule: str) -> str:
    """Return a text on the number and treatment of unknown and missing values.

    It is in parentheses, after a space; empty if there are no such rows. `rows` is the number of all rows, `outside`
    that of rows left out for a value outside the categories, and `incomplete` that of rows with missing values, which
    are treated by `rule` (``"drop"`` or ``"category"``).
    """
    parts = [f"{outside:,} of {rows:,} rows left out: value outside the categories"] if outside else []
    parts += [f"{incomplete:,} of {rows:,} rows with missing values: {_DONE[rule]}"] if incomplete else []
    return f" ({'; '.join(parts)})" if parts else ""


class CountTable(Section):
    """A CSV file of counts, one row per cell.

    Rows of the same cell are added; a cell without a row has count 0.

    Attributes
    ----------
    file
        CSV file with one row per cell; rows of the same cell are added
    columns
        column of the file, by attribute
    count
        column of the file with the counts
    """

    file: str
    columns: dict[str, str] = Field(min_length=1)
    count: str

    def read(self, folder: Path) -> tuple[pd.DataFrame, Path]:
        """Return the file as a DataFrame of text, and its path.

        Raises
        ------
        InputError
            If the file cannot be read or lacks a column.
        """
        return read_figures(self.file, folder, [*self.columns.values(), self.count])

    def counted(self, frame: pd.DataFrame, domain: Domain, path: Path) -> Floats:
        """Return the counts as an array of float64 with shape ``domain.shape``.

        `frame` and `path` are the result of `read`; `domain` has the file's attributes in the order of `columns`. Rows
        of the same cell are added; a cell without a row has count 0.

        Raises
        ------
        InputError
            If a count is not a number of 0 or more, or a value is not in the domain.
        """
        people = numbers(frame, self.count, path).to_numpy(dtype=np.float64)
        with locating(path):
            pairs = zip(domain.attributes, self.columns.values(), strict=True)
            codes = [attribute.encode(frame[column], column) for attribute, column in pairs]
        counts = np.zeros(domain.shape)
        np.add.at(counts, tuple(codes), people)
        return counts


class StartingPoint(Section):
    """The starting table: a population or a table of counts.

    It determines the odds ratios of the attributes.

    Attributes
    ----------
    population
        population that gives the odds ratios
    attributes
        attributes of the population to use; default: all
    table
        counts in a CSV file, in place of a population
    """

    population: str | None = None
    attributes: tuple[str, ...] = ()
    table: CountTable | None = None

    _one_table = exactly_one("population", "table", problem="the starting table is missing or given twice")

    @model_validator(mode="after")
    def _selects_from_population(self) -> StartingPoint:
        alone, expected = self.attributes and self.population is None, "key population in the same section"
        refuse_first((alone, "attributes without a population", "attributes", None, expected))
        return self

    def counts(self, at: Making) -> tuple[tuple[Attribute, ...], Floats]:
        """Return the attributes of the starting table, and its counts as an array.

        The array has one axis per attribute, in order, with one item per value.

        Raises
        ------
        InputError
            If the population or file cannot be used, or the population has more than 50 million cells.
        """
        if self.table is not None:
            frame, path = self.table.read(at.folder)
            columns = self.table.columns.items()
            domain = Domain(tuple(Attribute(name, values_in_order(frame[column])) for name, column in columns))
            return domain.attributes, self.table.counted(frame, domain, path)
        start = at.cells(str(self.population))
        if self.attributes:
            start = start.marginal(self.attributes)
        _require_few_cells(start.domain, where="start", hint="select fewer attributes with start.attributes")
        counts = np.zeros(start.domain.shape)
        counts[tuple(start.cells.T)] = start.counts
        return start.domain.attributes, counts


class MarginTable(CountTable):
    """A margin of the population: counts by a subset of its attributes.

    Attributes
    ----------
    name
        name of the margin in messages
    """

    name: str = ""


class FittedRecipe(RecipeHead):
    """Recipe of people fitted to the margins of published tables.

    Attributes
    ----------
    kind
        kind of recipe
    seed
        seed of the random draw
    people
        number of people to which all margins are scaled; default: no scaling
    start
        starting point, which determines the odds ratios; default: equal cells
    margin
        tables whose counts the population must have
    tolerance
        largest accepted difference between margins and fitted counts, as a share of the people
    max_rounds
        largest number of rounds of iterative proportional fitting
    """

    kind: Literal["fitted"]
    seed: Seed
    people: Annotated[int, Field(gt=0, lt=2**53)] | None = None
    start: StartingPoint | None = None
    margin: tuple[MarginTable, ...] = Field(min_length=1)
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-09
    max_rounds: Annotated[int, Field(gt=0)] = 1000

    def make(self, at: Making) -> Population:
        """Return the population fitted to the margins.

        With expected counts (see `Making`), the fitted table is returned. Otherwise, its people, rounded to a whole
        number, are distributed by one multinomial draw.

        Returns
        -------
        Population
            Population over the attributes of the starting table, followed by further attributes of margins, in order;
            they have all values that occur. Its `source` states the remaining error of the margins.

        Raises
        ------
        InputError
            If a file cannot be used, margins contradict each other or cannot be reached, or there are more than 50
            million cells.
        """
        tables = [(margin, *margin.read(at.folder)) for margin in self.margin]
        # By default, there are no attributes and one cell with count 1.
        known, counts = ((), np.ones(())) if self.start is None else self.start.counts(at)
        seen: dict[str, list[pd.Series[str]]] = {}
        for section, frame, _ in tables:
            for attribute, column in section.columns.items():
                seen.setdefault(attribute, []).append(frame[column])
        for each in known:
            seen.pop(each.name, None)
        added = [Attribute(name, values_in_order(pd.concat(columns))) for name, columns in seen.items()]
        domain = Domain((*known, *added))
        _require_few_cells(domain)
        # In the starting table, attributes that occur only in margins are independent of all other attributes.
        table = np.broadcast_to(counts.reshape(*counts.shape, *(1 for _ in added)), domain.shape)
        margins = []
        for number, (section, frame, path) in enumerate(tables, start=1):
            title = section.name or f"{number} ({listed(section.columns)})"
            target = section.counted(frame, domain.select(tuple(section.columns)), path)
            if self.people is not None:
                target = target * (self.people / max(target.sum(), np.finfo(float).tiny))
            margins.append(Margin(title, tuple(map(domain.position, section.columns)), target))
        table, fit = fit_margins(table, margins, domain, tolerance=self.tolerance, max_rounds=self.max_rounds)
        source = f"{self.source} ({fit})" if self.source else fit
        if at.expected:
            return Population.from_dense(domain, table, name=at.name, source=source)
        drawn = draw_multinomial(at.rng(self.kind), round(float(table.sum())), table.ravel())
        return Population.from_dense(domain, drawn.reshape(domain.shape), name=at.name, source=source)


def _require_few_cells(domain: Domain, where: str | None = None, hint: str | None = None) -> None:
    cells, expected = prod(domain.shape), f"at most {_MOST_CELLS:,}"
    if cells > _MOST_CELLS:
        raise InputError("too many cells to fit", where=where, found=cells, expected=expected, hint=hint)


# Iterative proportional fitting is not a dependency because ipfn loops over the cells of each margin in Python and has
# had no release since 2021, humanleague is compiled C++, and neither names the margins that contradict each other or
# cannot be met.


@dataclass(frozen=True)
class Margin:
    """Required sums of a table over all axes except the given ones.

    Parameters
    ----------
    name : str
        Name of the margin in messages.
    axes : tuple of int
        Axes of the table that the margin keeps.
    target : ndarray of float64
        Required sums, 0 or more; its axes correspond to `axes`.
    """

    name: str
    axes: tuple[int, ...]
    target: Floats


def fit_margins(
    start: Floats, margins: Sequence[Margin], domain: Domain, *, tolerance: float = 1e-9, max_rounds: int = 1000
) -> tuple[Floats, str]:
    """Return a table fitted to all margins, and a sentence on the remaining error.

    The table is scaled to one margin after the other.

    Parameters
    ----------
    start : ndarray of float64
        Starting table, such as counts of a sample, or ones; values of 0 or more. It determines the association of the
        axes: the result has the odds ratios of `start`, and a cell of 0 stays 0.
    margins : sequence of Margin
        One or more margins. All targets must have the same total, and any two margins must have the same sums over
        their common axes.
    domain : Domain
        Domain of the table, for messages.
    tolerance : float
        Largest accepted error, divided by the number of people. Margins with larger differences contradict each other.
    max_rounds : int
        Maximum number of rounds.

    Returns
    -------
    table : ndarray of float64
        Fitted table, with the shape of the starting table.
    fit : str
        Number of rounds and error; in each round, the table is scaled to all margins in turn. The error is the largest
        absolute difference between a sum and its target, divided by the number of people.

    Raises
    ------
    InputError
        If a margin has no people, margins contradict each other (the message names both), or a margin has
        people in an entry for which every cell is 0 in `start` or according to another margin; if no table with the
        zeros of `start` has these margins, or convergence needs more rounds.

    Notes
    -----
    The result is the table with these margins that has the least Kullback-Leibler divergence from `start` (Deming and
    Stephan 1940; Csiszar 1975). A sum of 0 occurs only with a target of 0, so there is no division by 0.
    """
    for margin in margins:
        if not margin.target.sum() > 0:
            raise InputError("the margin has no number above 0", where=f"margin {margin.name!r}")
    table, axes = np.array(start, dtype=np.float64), range(start.ndim)
    total = float(margins[0].target.sum())
    # Axes over which each margin is a sum, and its target with length 1 in these axes.
    over = [tuple(axis for axis in axes if axis not in margin.axes) for margin in margins]
    targets = [
        np.expand_dims(margin.target.transpose(np.argsort(margin.axes)), rest)
        for margin, rest in zip(margins, over, strict=True)
    ]

    def place(cell: int, shape: tuple[int, ...]) -> str:
        codes = zip(domain.attributes, np.unravel_index(cell, shape), shape, strict=True)
        return "".join(f", {a.name} = {a.categories[code]}" for a, code, length in codes if length > 1)

    for one, other in combinations(range(len(margins)), 2):
        # Compare the totals, then the sums over all common axes.
        for rest in (tuple(axes), tuple({*over[one], *over[other]})):
            first, second = (targets[each].sum(axis=rest, keepdims=True) for each in (one, other))
            difference = np.abs(first - second)
            cell = int(difference.argmax())
            if difference.flat[cell] > tolerance * total:
                where = f"margins {margins[one].name!r} and {margins[other].name!r}{place(cell, difference.shape)}"
                found, expected = f"{first.flat[cell]:,.10g} and {second.flat[cell]:,.10g} people", "the same number"
                raise InputError("margins are inconsistent", where=where, found=found, expected=f"{expected} of people")
    for target in targets:
        table *= target > 0
    for margin, rest, target in zip(margins, over, targets, strict=True):
        impossible = (target > 0) & ~(table.sum(axis=rest, keepdims=True) > 0)
        if impossible.any():
            cell = int(impossible.argmax())
            problem = "the starting table or another margin has no people for this value"
            where = f"margin {margin.name!r}{place(cell, impossible.shape)}"
            expected = "0, or a cell above 0 in the starting table and in the other margins"
            raise InputError(problem, where=where, found=float(target.flat[cell]), expected=expected)
    for rounds in range(max_rounds + 1):
        sums = [table.sum(axis=rest, keepdims=True) for rest in over]
        errors = [float(np.abs(have - want).max()) / total for have, want in zip(sums, targets, strict=True)]
        if max(errors) <= tolerance:
            return table, f"fitted in {rounds} rounds to within {max(errors):.1g} of the people"
        for rest, target in zip(over, targets, strict=True):
            have = table.sum(axis=rest, keepdims=True)
            table *= np.divide(target, have, out=np.zeros_like(have), where=have > 0)
    where, expected = f"margin {margins[int(np.argmax(errors))].name!r}", f"at most {tolerance:g}"
    found = f"an error of {max(errors):.2g} of the people after {max_rounds} rounds"
    hint = "use a starting table with fewer empty cells, or check that all margins agree"
    raise InputError("no table found with all margins", where=where, found=found, expected=expected, hint=hint)

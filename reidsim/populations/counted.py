"""Populations of recipes of kind ``counts``, read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.errors import InputError, locating, require_among
from reidsim.populations.domain import Attribute, Codes, Domain, natural_categories
from reidsim.populations.population import UNKNOWN, Counts, Population, complete_records, read_counts
from reidsim.populations.recipe import Delimiter, Making, RecipeHead, Seed, read_figures

# Label of the category for missing values, if the recipe requests one.
MISSING = "missing"
_DONE = {"drop": "left out", "category": "counted under a category of their own", "draw": "drawn from complete rows"}


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
        treatment of rows with missing values: `error`, leave out (`drop`, which makes groups too small), count in
        the category `missing` (`category`), or draw the values from complete rows that agree otherwise (`draw`,
        unbiased only if values are missing at random)
    categories
        categories of an attribute in order; default: the values in the file
    unknown
        treatment of rows with values outside `categories`: `error`, leave out (`drop`), or read the value as
        missing
    seed
        seed of the draw of missing values
    """

    kind: Literal["counts"]
    file: str
    delimiter: Delimiter = ","
    encoding: str = "utf-8"
    columns: dict[str, str] = Field(min_length=1)
    count: str | None = None
    missing_values: tuple[str, ...] = ("",)
    missing: Literal["error", "drop", "category", "draw"] = "error"
    categories: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default={})
    unknown: Literal["error", "drop", "missing"] = "error"
    seed: Seed = 0

    def make(self, at: Making) -> Population:
        """Return the population in a CSV or Parquet file.

        Categories come from the recipe, or are the values that occur in natural order. Missing values are treated
        according to ``missing``, values outside the categories according to ``unknown``. The population's ``source``
        reports the number of affected rows.

        Raises
        ------
        InputError
            If the file cannot be used; the message names the file, row and column.
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
            hint = 'set missing = "drop", "category" or "draw" in the recipe'
            wrong = (codes == UNKNOWN) & incomplete[:, None]
            raise self._refusal("value missing", wrong, frame, path).but(found=None, hint=hint)
        keep = ~outside & ~incomplete if self.missing == "drop" else ~outside
        row_numbers, codes, counts = np.flatnonzero(keep) + 1, codes[keep], counts[keep]
        source = self.source + _report(len(frame), int(outside.sum()), int(incomplete.sum()), self.missing)
        if not len(codes):
            raise InputError("all rows are left out", source=path, found=source.strip())
        if self.missing == "category":
            attributes = [_with_missing_category(each, codes[:, i], path) for i, each in enumerate(attributes)]
        domain = Domain(tuple(attributes))
        if self.missing == "draw" and incomplete.any():
            codes, counts = _drawn(domain, codes, counts, row_numbers, at.rng(), path)
        return Population.from_records(domain, codes, counts, name=at.name, source=source)

    def _refusal(self, problem: str, wrong: NDArray[np.bool_], frame: pd.DataFrame, path: Path) -> InputError:
        """Return the error about the first value that is wrong; `wrong` has the columns of the recipe."""
        row, place = np.argwhere(wrong)[0]
        column = list(self.columns.values())[place]
        found = frame[column].iloc[row]
        return InputError(problem, source=path, where=f"row {row + 1}, column {column!r}", found=found)


def _with_missing_category(attribute: Attribute, codes: Codes, path: Path) -> Attribute:
    """Return the attribute with an added category if values are missing.

    Change their codes in place.
    """
    missing = codes == UNKNOWN
    if not missing.any():
        return attribute
    if MISSING in attribute.categories:
        raise InputError(
            f"{MISSING!r} is already a value of the attribute", source=path, where=f"attribute {attribute.name!r}"
        )
    codes[missing] = attribute.size
    return Attribute(attribute.name, (*attribute.categories, MISSING))


def _drawn(
    domain: Domain, codes: Codes, counts: Counts, row_numbers: NDArray[np.intp], rng: np.random.Generator, path: Path
) -> tuple[Codes, Counts]:
    """Return codes and counts with missing values drawn from complete rows.

    The missing values of each person are drawn from the complete rows with the same known values.
    """
    complete = (codes != UNKNOWN).all(axis=1)
    if not complete.any():
        raise InputError("no row is complete, so missing values cannot be drawn", source=path)
    if not np.issubdtype(counts.dtype, np.integer):
        problem = "missing values cannot be drawn with fractional counts"
        raise InputError(problem, source=path, expected="whole numbers of people")
    with locating(path):
        people = Population.from_records(domain, codes[complete], counts[complete], name=path.stem)
        times = counts[~complete].astype(np.int64)
        incomplete = np.repeat(codes[~complete], times, axis=0)
        drawn = complete_records(people, incomplete, rng, row_numbers=np.repeat(row_numbers[~complete], times))
    together = np.concatenate([people.cells, drawn]).astype(np.int32)
    return together, np.concatenate([people.counts, np.ones(len(drawn), dtype=people.counts.dtype)])


def _report(rows: int, outside: int, incomplete: int, rule: str) -> str:
    """Return a sentence on the number and treatment of rows with unknown or missing values."""
    parts = [f"{outside:,} of {rows:,} rows left out: value outside the categories"] if outside else []
    parts += [f"{incomplete:,} of {rows:,} rows with missing values: {_DONE[rule]}"] if incomplete else []
    return f" ({'; '.join(parts)})" if parts else ""

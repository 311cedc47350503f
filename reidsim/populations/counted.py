"""A user's own file as a population: one row per person, or per cell with a column of counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.bundled import data_file
from reidsim.errors import InputError, locating, refuse_rows
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.domain import natural_categories as natural_categories
from reidsim.populations.population import Counts, Population
from reidsim.populations.recipe import CountsRecipe
from reidsim.populations.sampling import UNKNOWN, complete_records
from reidsim.tables import numbers, read_table, require_columns

# The category that stands for a missing value where missing values have one of their own.
MISSING = "missing"


def counted_population(recipe: CountsRecipe, folder: Path, *, name: str, seed: int | None = None) -> Population:
    """Read a population from a CSV or Parquet file.

    Categories are those of the recipe or the values seen, in natural order. Missing values follow ``recipe.missing``,
    values outside given categories ``recipe.unknown``; ``source`` of the population says what was done to how many
    rows.

    Parameters
    ----------
    recipe : CountsRecipe
    folder : Path
        Where the recipe's file is.
    name : str
    seed : int, optional
        Of drawing missing values, instead of the recipe's.

    Raises
    ------
    InputError
        If the file cannot be used; names the file, row and column.
    """
    path = data_file(recipe.file, folder, "populations")
    frame = read_table(path, delimiter=recipe.delimiter, comment="#", encoding=recipe.encoding)
    require_columns(frame, recipe.columns.values(), path)
    _require_known_attributes(recipe)
    blank = np.column_stack([frame[column].isin(recipe.missing_values) for column in recipe.columns.values()])
    attributes, codes = [], np.full(blank.shape, UNKNOWN, dtype=np.int32)
    for position, (attribute, column) in enumerate(recipe.columns.items()):
        values = frame[column].mask(pd.Series(blank[:, position]), "")
        known = Attribute(attribute, _categories(recipe, attribute, values, path))
        codes[:, position] = known.labels.get_indexer(pd.Index(values))
        attributes.append(known)
    counts = None if recipe.count is None else _counts(frame, recipe.count, path)
    unknown = (codes == UNKNOWN) & ~blank
    if unknown.any() and recipe.unknown == "error":
        row, position = map(int, np.argwhere(unknown)[0])
        column = list(recipe.columns.values())[position]
        raise InputError(
            f"value outside the categories of {attributes[position].name!r}",
            source=path,
            where=f"row {row + 1}, column {column!r}",
            found=frame[column].iloc[row],
            hint='unknown = "drop" or "missing" in the recipe',
        )
    outside = unknown.any(axis=1) if recipe.unknown == "drop" else np.zeros(len(frame), dtype=bool)
    incomplete = (codes == UNKNOWN).any(axis=1) & ~outside
    if incomplete.any() and recipe.missing == "error":
        row = int(incomplete.argmax())
        column = list(recipe.columns.values())[int((codes[row] == UNKNOWN).argmax())]
        raise InputError(
            "value missing",
            source=path,
            where=f"row {row + 1}, column {column!r}",
            hint='missing = "drop", "category" or "draw" in the recipe',
        )
    keep = ~outside & ~incomplete if recipe.missing == "drop" else ~outside
    row_numbers = np.flatnonzero(keep) + 1
    codes, counts = codes[keep], None if counts is None else counts[keep]
    if recipe.missing == "category" and incomplete.any():
        attributes, codes = _with_category_of_their_own(attributes, codes, path)
    domain = Domain(tuple(attributes))
    if recipe.missing == "draw" and incomplete.any():
        codes, counts = _drawn(domain, codes, counts, row_numbers, recipe.seed if seed is None else seed, path)
    source = recipe.source + _report(len(frame), int(outside.sum()), int(incomplete.sum()), recipe.missing)
    if not len(codes):
        raise InputError("no row is left", source=path, found=source.strip())
    return Population.from_records(domain, codes, counts, name=name, source=source)


def _require_known_attributes(recipe: CountsRecipe) -> None:
    for attribute in recipe.categories:
        if attribute not in recipe.columns:
            raise InputError(
                "not an attribute of the recipe", where=f"categories.{attribute}", expected=f"{list(recipe.columns)}"
            )


def _categories(recipe: CountsRecipe, attribute: str, values: pd.Series[str], path: Path) -> tuple[str, ...]:
    if attribute in recipe.categories:
        return recipe.categories[attribute]
    seen = natural_categories(values[values != ""])
    if not seen:
        raise InputError("no value in the column", source=path, where=f"column {recipe.columns[attribute]!r}")
    return seen


def _counts(frame: pd.DataFrame, column: str, path: Path) -> Counts:
    require_columns(frame, [column], path)
    values = numbers(frame, column, path).to_numpy()
    too_large = values >= 2**53
    refuse_rows(too_large, "count too large", source=path, column=column, found=frame[column], expected="below 2**53")
    whole = bool((values == np.rint(values)).all())
    return values.astype(np.int64 if whole else np.float64)


def _with_category_of_their_own(attributes: list[Attribute], codes: Codes, path: Path) -> tuple[list[Attribute], Codes]:
    extended, codes = [], codes.copy()
    for position, attribute in enumerate(attributes):
        missing = codes[:, position] == UNKNOWN
        if missing.any():
            if MISSING in attribute.categories:
                raise InputError(f"{MISSING!r} is a value already", source=path, where=f"attribute {attribute.name!r}")
            codes[missing, position] = attribute.size
            attribute = Attribute(attribute.name, (*attribute.categories, MISSING))
        extended.append(attribute)
    return extended, codes


def _drawn(
    domain: Domain, codes: Codes, counts: Counts | None, row_numbers: NDArray[np.intp], seed: int, path: Path
) -> tuple[Codes, Counts | None]:
    """Draw missing values from complete rows that agree in the known ones, person by person where rows are counts."""
    complete = (codes != UNKNOWN).all(axis=1)
    if not complete.any():
        raise InputError("no row is complete, so missing values cannot be drawn", source=path)
    with locating(path):
        people = Population.from_records(
            domain, codes[complete], None if counts is None else counts[complete], name=path.stem
        )
        incomplete, numbers_of = codes[~complete], row_numbers[~complete]
        if counts is not None:
            if not np.issubdtype(counts.dtype, np.integer):
                raise InputError("missing values of fractions of people cannot be drawn", expected="whole counts")
            times = counts[~complete].astype(np.int64)
            incomplete, numbers_of = np.repeat(incomplete, times, axis=0), np.repeat(numbers_of, times)
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        drawn = complete_records(people, incomplete, rng, row_numbers=numbers_of)
    together = np.concatenate([people.cells, drawn])
    people_of_each = np.concatenate([people.counts, np.ones(len(drawn), dtype=people.counts.dtype)])
    return together.astype(np.int32), people_of_each


def _report(rows: int, outside: int, incomplete: int, rule: str) -> str:
    """Say what was done to rows with values that are unknown or missing."""
    done = {"drop": "left out", "category": "counted under a category of their own", "draw": "drawn from the others"}
    said = []
    if outside:
        said.append(f"{outside:,} of {rows:,} rows left out: value outside the categories")
    if incomplete:
        said.append(f"{incomplete:,} of {rows:,} rows with missing values: {done[rule]}")
    return f" ({'; '.join(said)})" if said else ""

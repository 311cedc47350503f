"""Populations from tables of shares or counts: kinds ``attribute-model``, ``counts`` and ``fitted``.

In a recipe of kind ``attribute-model``, people are drawn one attribute at a time; published shares of an attribute's
values are conditional on earlier attributes. A file of kind ``counts`` has people or cells. In a recipe of kind
``fitted``, iterative proportional fitting finds the table with given margins that is closest to a given table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among
from reidsim.core.numerics import draw_multinomial
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.population import (
    SUM_TOLERANCE,
    UNKNOWN,
    Attribute,
    Codes,
    Delimiter,
    Domain,
    Floats,
    Groups,
    Making,
    Members,
    Population,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    group_codes,
    natural_categories,
    normalised,
    number_range,
    read_counts,
    read_figures,
    values_in_order,
)

# Maximum number of values of a range, and of combinations of groups; all of them are kept in memory.
_TOO_MANY = 10**7

Shares = Annotated[dict[str, Share], Field(min_length=1)]


class ShareTable(Section):
    """A CSV file of shares or counts of an attribute's values.

    It has one row per value and combination of values or groups of the given attributes.

    Attributes
    ----------
    file
        CSV file with one row per value and combination of given values or groups
    delimiter
        column separator of a CSV file
    encoding
        character encoding of a CSV file, such as `latin-1`
    where
        text that a column must have for the row to be read, by column
    value
        column with the values of the attribute
    count
        column with counts
    share
        column with shares
    columns
        column of the file, by given attribute; default: the attribute's name
    """

    file: str
    delimiter: Delimiter = ","
    encoding: str = "utf-8"
    where: dict[str, str] = Field(default={})
    value: str
    count: str | None = None
    share: str | None = None
    columns: dict[str, str] = Field(default={})

    _figures = exactly_one("count", "share", problem="the column of counts or shares is missing or given twice")


class AttributeRecipe(Section):
    """One attribute: its values and their shares, given in one of four ways.

    Attributes
    ----------
    name
        name of the attribute
    source
        origin of the shares
    shares
        share of people with each value, with a sum of 1
    shares_by
        share of people with each value, for each value or group of the given attribute; each sum is 1
    table
        shares or counts in a CSV file
    uniform
        list of equally likely values, or a range such as `"1..12"`
    given
        earlier attributes on which the shares depend
    grouped
        grouping of the values of a given attribute, by attribute
    """

    name: str = Field(min_length=1)
    source: str = ""
    shares: Shares | None = None
    shares_by: dict[str, Shares] | None = Field(default=None, min_length=1)
    table: ShareTable | None = None
    uniform: Members | None = None
    given: tuple[str, ...] = ()
    grouped: dict[str, str] = Field(default={})

    _one_way = exactly_one(
        *("shares", "shares_by", "table", "uniform"), problem="the shares of the attribute are missing or given twice"
    )

    @model_validator(mode="after")
    def _depends_on_given(self) -> AttributeRecipe:
        given, by = list(self.given), "shares_by needs one given attribute"
        is_alone = self.shares_by is None and self.table is None
        independent, table = "shares and uniform cannot depend on other attributes", "shares_by or table"
        return self.unless(
            (self.shares_by is not None and len(given) != 1, by, self.name, "one attribute", given),
            (given and is_alone, independent, self.name, table, f"given = {given}"),
        )


class AttributeModelRecipe(RecipeHead):
    """Recipe of people whose attributes are drawn one after the other.

    The shares of an attribute's values can depend on earlier attributes. Each attribute has exactly one of ``shares``,
    ``shares_by``, ``table`` and ``uniform``. A table has exactly one of ``count`` and ``share``; a missing combination
    in the table is an error.

    Attributes
    ----------
    kind
        kind of recipe
    people
        number of people
    seed
        seed of the random draw
    groupings
        groups of each grouping and the values in each group: values, ranges such as `"18..24"` or `"75.."`, or
        `"otherwise"` for all remaining values
    fixed_shares
        share that replaces the share of a value, by attribute and value; the other values keep their proportions
    attribute
        attributes in the order in which they are drawn
    """

    kind: Literal["attribute-model"]
    people: Annotated[int, Field(gt=0, lt=2**53)]
    seed: Seed
    groupings: dict[str, Annotated[Groups, Field(min_length=1)]] = Field(default={})
    fixed_shares: dict[str, Shares] = Field(default={})
    attribute: tuple[AttributeRecipe, ...] = Field(min_length=1)

    def make(self, at: Making) -> Population:
        """Return the population of the attribute model, as counts by cell.

        It is drawn with the seed in `at`, or has expected counts if `at` requests them; see `Making`.

        Returns
        -------
        Population
            Population over the recipe's attributes, in order; its total is ``people``.

        Raises
        ------
        InputError
            If the recipe or one of its files cannot be used, or expected counts of more than 20 million cells are
            required.
        """
        model = build_model(self, at.folder)
        cells, counts = counts_by_cell(model, self.people, None if at.expected else at.seed)
        return Population(model.domain, cells, counts, name=at.name, source=self.source)


class Condition(NamedTuple):
    """An attribute on which shares depend, with groups of its values.

    Attributes
    ----------
    name : str
        Name of the attribute.
    labels : tuple of str
        Names of the groups.
    group_of : ndarray of int, shape (n_values,)
        Group of each value of the attribute.
    """

    name: str
    labels: tuple[str, ...]
    group_of: NDArray[np.integer]


class ConditionalShares(NamedTuple):
    """Shares of an attribute's values, conditional on groups of earlier attributes.

    Attributes
    ----------
    conditions : tuple of Condition
        Attributes on which the shares depend.
    shares : ndarray of float64, shape (n_groups, ..., n_values)
        Share of each value, with one axis per condition; the sum over values is 1. Shares of combinations of groups
        without people are placeholders.
    """

    conditions: tuple[Condition, ...]
    shares: Floats


class AttributeModel(NamedTuple):
    """A domain and the conditional shares of each attribute's values.

    Shares are conditional on any number of earlier attributes.

    Attributes
    ----------
    domain : Domain
        Attributes in the order in which they are drawn.
    conditionals : tuple of ConditionalShares
        One element per attribute, in order.
    """

    domain: Domain
    conditionals: tuple[ConditionalShares, ...]


def build_model(recipe: AttributeModelRecipe, folder: Path) -> AttributeModel:
    """Return the attribute model of a recipe; read its files and check its shares.

    Parameters
    ----------
    recipe : AttributeModelRecipe
        Parsed recipe.
    folder : Path
        Folder of the recipe's files.

    Returns
    -------
    AttributeModel

    Raises
    ------
    InputError
        If shares do not sum to 1 (the message names the row and the sum); a value or group of a given attribute has no
        shares; an attribute depends on one that does not come before it; an attribute is named twice; a grouping, value
        or attribute that the recipe names does not exist; fixed shares are too large or cannot be met; or a file cannot
        be used.
    """
    attributes: list[Attribute] = []
    conditionals: list[ConditionalShares] = []
    for section in recipe.attribute:
        with locating(where=f"attribute {section.name!r}"):
            conditions = _conditions(section, attributes, recipe.groupings)
            values, shares = _shares(section, conditions, folder)
            if section.name in recipe.fixed_shares:
                shares = _with_fixed(shares, values, recipe.fixed_shares[section.name])
            attributes.append(Attribute(section.name, values))
            conditionals.append(ConditionalShares(conditions, shares))
    domain = Domain(tuple(attributes))
    require_among("no such attribute", recipe.fixed_shares, domain.names, where="fixed_shares")
    return AttributeModel(domain, tuple(conditionals))


def _conditions(
    section: AttributeRecipe, earlier: Sequence[Attribute], groupings: Mapping[str, Groups]
) -> tuple[Condition, ...]:
    """Return the attributes on which shares depend, with their groups.

    `section` is the attribute's section, `earlier` the attributes drawn before it, and `groupings` the groups of the
    recipe's groupings. Each value of an attribute that is not grouped is a group of its own.

    Raises
    ------
    InputError
        If a given attribute is not an earlier one, a grouping does not exist, an attribute that the section groups or
        renames is not in its list ``given``, or there are more than 10 million combinations of groups.
    """
    by_name = {attribute.name: attribute for attribute in earlier}
    above, listed_above = "an attribute above this one", "the attribute in the list `given`"
    require_among("no earlier attribute of this name", section.given, by_name, where="given", otherwise=above)
    columns = section.table.columns if section.table is not None else {}
    for key, names in (("grouped", section.grouped), ("table.columns", columns)):
        problem = "the attribute is not in the list `given`"
        require_among(problem, names, section.given, where=key, otherwise=listed_above)
    for name, grouping in section.grouped.items():
        where, otherwise = f"grouped.{name}", "a grouping in section [groupings] of the recipe"
        require_among("no such grouping", (grouping,), groupings, where=where, otherwise=otherwise)
    conditions = []
    for name in section.given:
        attribute, groups = by_name[name], groupings[section.grouped[name]] if name in section.grouped else {}
        group_of = group_codes(attribute, groups) if groups else np.arange(attribute.size)
        conditions.append(Condition(name, tuple(groups) or attribute.categories, group_of))
    size = prod(len(each.labels) for each in conditions)
    if size > _TOO_MANY:
        raise InputError(
            "too many combinations of values",
            where=", ".join(section.given),
            found=size,
            expected=f"at most {_TOO_MANY:,}",
            hint="group the values of an attribute",
        )
    return tuple(conditions)


def _shares(section: AttributeRecipe, given: Sequence[Condition], folder: Path) -> tuple[tuple[str, ...], Floats]:
    """Return an attribute's values and their shares, with one axis per condition.

    Raises
    ------
    InputError
        If a range has too many values, shares do not sum to 1, or a table cannot be used.
    """
    if section.table is not None:
        return _read_shares(section.table, given, folder)
    if section.uniform is not None:
        values: list[str] = []
        for member in section.uniform:
            first, last = number_range(member) or (0, -1)
            refuse_first((last - first >= _TOO_MANY, "too many values", "uniform", member, f"at most {_TOO_MANY:,}"))
            values += map(str, range(first, int(last) + 1)) if last >= first else [member]
        return tuple(values), np.full(len(values), 1 / len(values))
    if section.shares is not None:
        return tuple(section.shares), normalised(np.array(list(section.shares.values())), "shares")
    by_group = section.shares_by or {}
    ((name, labels, group_of),) = given
    require_among(f"neither a value nor a group of {name!r}", by_group, labels, where="shares_by")
    occupied = [labels[group] for group in np.unique(group_of)]
    require_among(f"shares missing for a value of {name!r}", occupied, by_group, where="shares_by")
    found = tuple(dict.fromkeys(value for shares in by_group.values() for value in shares))
    # A group without values needs no shares; equal shares are placeholders, because no person is in the group.
    nobody = dict.fromkeys(found, 1 / len(found))
    table = np.array([[by_group.get(label, nobody).get(value, 0.0) for value in found] for label in labels])
    return found, normalised(table, lambda row: f"shares_by.{labels[row]}")


def _with_fixed(shares: Floats, values: tuple[str, ...], fixed: Mapping[str, float]) -> Floats:
    """Return shares, of the same shape, in which some values have a fixed share.

    `fixed` has the share of each such value of `values`, equal for all combinations. Other values share the rest in
    proportion.

    Raises
    ------
    InputError
        If a value is unknown, the fixed shares sum to more than 1, or they sum to less and all other values of a
        combination have share 0.
    """
    require_among("no such value", fixed, values, where="fixed_shares")
    is_fixed, total = np.array([value in fixed for value in values]), sum(fixed.values())
    others = shares[..., ~is_fixed].sum(axis=-1, keepdims=True)
    misfit = total > 1 + SUM_TOLERANCE or (total < 1 - SUM_TOLERANCE and not (others > 0).all())
    problem = "fixed shares do not fit the shares of the other values"
    expected = "a sum of at most 1, and exactly 1 if no other value has a positive share"
    refuse_first((misfit, problem, "fixed_shares", round(total, 9), expected))
    result = shares * (max(1 - total, 0.0) / np.where(others > 0, others, 1.0))
    result[..., is_fixed] = [fixed[value] for value in values if value in fixed]
    return np.asarray(result / result.sum(axis=-1, keepdims=True))


def _read_shares(table: ShareTable, given: Sequence[Condition], folder: Path) -> tuple[tuple[str, ...], Floats]:
    column = table.count if table.count is not None else str(table.share)
    given_columns = [table.columns.get(each.name, each.name) for each in given]
    columns = [table.value, column, *given_columns, *table.where]
    frame, path = read_figures(table.file, folder, columns, delimiter=table.delimiter, encoding=table.encoding)
    chosen = np.ones(len(frame), dtype=np.bool_)
    for name, text in table.where.items():
        found = frame[name][chosen].unique()
        require_among("no row has this value", (text,), found, source=path, where=f"column {name!r}")
        chosen &= (frame[name] == text).to_numpy(dtype=np.bool_)
    # Rows that are not used may hold any text; they are set to 0 rather than removed to keep row numbers in messages.
    figures = numbers(frame.assign(**{column: frame[column].where(chosen, "0")}), column, path).to_numpy(dtype=float)
    groups = [
        pd.Index(each.labels).get_indexer(pd.Index(frame[name]))
        for each, name in zip(given, given_columns, strict=True)
    ]
    # Rows for groups that the recipe does not use, such as ages without people, are skipped.
    chosen &= np.all([group >= 0 for group in groups], axis=0)
    if table.share is not None:
        repeated = frame.loc[chosen, [*given_columns, table.value]].duplicated().reindex(frame.index, fill_value=False)
        refuse_rows(repeated.to_numpy(), "share given twice", source=path, found=frame[table.value])
    values = values_in_order(frame[table.value][chosen])
    shares = np.zeros((*(len(each.labels) for each in given), len(values)))
    cell = (*groups, pd.Index(values).get_indexer(pd.Index(frame[table.value])))
    np.add.at(shares, tuple(codes[chosen] for codes in cell), figures[chosen])

    def place(row: int) -> str:
        pairs = zip(given, np.unravel_index(row, shares.shape[:-1]), strict=True)
        return ", ".join(f"{each.name} = {each.labels[group]}" for each, group in pairs)

    empty, possible = ~(shares.sum(axis=-1) > 0), np.zeros(shares.shape[:-1], dtype=np.bool_)
    possible[np.ix_(*(each.group_of for each in given))] = True
    lacking = empty & possible
    where, problem = place(int(lacking.argmax())) or None, "no row with a count or share above 0"
    refuse_first((lacking.any(), problem, where, None, None), source=path)
    # The remaining combinations have no people; equal shares are placeholders.
    shares[empty] = 1 / len(values)
    if table.count is not None:
        return values, np.asarray(shares / shares.sum(axis=-1, keepdims=True))
    return values, normalised(shares, lambda row: f"rows of {place(row)}" if given else f"column {column!r}", path)


# The people of a cell with at most this many people are drawn one by one, which is faster than binomial draws.
_FEW = 16
# Number of table entries (cells x values) to split at a time; limits memory and does not affect the result.
_SPLIT_ENTRIES = 1 << 18

# Maximum number of cells with an expected count: unlike drawn people, all of them are stored.
_MOST_EXPECTED_CELLS = 20_000_000


def counts_by_cell(model: AttributeModel, people: int, seed: int | None) -> tuple[Codes, NDArray[Any]]:
    """Return a draw of the number of people in each cell, or their expected number.

    Counts are expected if there is no seed. Cells are split by one attribute after the other: the people of a cell are
    distributed over the values of the next attribute by one multinomial draw. This is equal in distribution to drawing
    person by person, but time and memory depend on the number of occupied cells instead of people.

    Parameters
    ----------
    model : AttributeModel
        Domain and conditional shares.
    people : int
        Number of people.
    seed : int or None
        Seed of the draw; None for expected counts.

    Returns
    -------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Cells with a positive count, in the order of their codes.
    counts : ndarray of int64 or float64, shape (n_cells,)
        Number of people in each cell; the sum is `people`.

    Raises
    ------
    InputError
        If there are more than 20 million cells with an expected count.
    """
    root = np.random.SeedSequence(seed or 0, spawn_key=tuple(b"counts by cell"))
    many, few = map(np.random.default_rng, root.spawn(2))
    codes = np.zeros((1, 0), dtype=np.int32)
    counts: NDArray[Any] = np.array([people], dtype=np.float64 if seed is None else np.int64)
    for attribute, (conditions, shares) in zip(model.domain.attributes, model.conditionals, strict=True):
        # Cumulative shares are exactly 1 from the last positive share on.
        cumulative = np.cumsum(shares, axis=-1)
        last = attribute.size - 1 - (shares[..., ::-1] > 0).argmax(axis=-1)
        cumulative[np.arange(attribute.size) >= last[..., None]] = 1.0
        parts: list[tuple[Codes, NDArray[Any]]] = []
        step, n_cells = max(_SPLIT_ENTRIES // attribute.size, 1), 0
        for start in range(0, len(codes), step):
            part, held = codes[start : start + step], counts[start : start + step]
            rows = tuple(each.group_of[part[:, model.domain.position(each.name)]] for each in conditions)
            shape = (len(part), attribute.size)
            if seed is None:
                table: NDArray[Any] = held[:, None] * np.broadcast_to(shares[rows], shape)
            else:
                table = np.zeros(shape, dtype=np.int64)
                large, small = np.flatnonzero(held > _FEW), np.flatnonzero(held <= _FEW)
                table[large] = draw_multinomial(many, held[large], np.broadcast_to(shares[rows], shape)[large])
                # The people of small cells, each with the first value whose cumulative share is above a uniform number.
                person = np.repeat(small, held[small])
                sums = np.broadcast_to(cumulative[rows], shape)[person]
                np.add.at(table, (person, (sums <= few.random(len(person))[:, None]).sum(axis=1)), 1)
            cell, value = np.nonzero(table)
            parts.append((np.column_stack([part[cell], value.astype(np.int32)]), table[cell, value]))
            n_cells += len(cell)
            if seed is None and n_cells > _MOST_EXPECTED_CELLS:
                where, expected = f"attribute {attribute.name!r}", f"at most {_MOST_EXPECTED_CELLS:,} cells"
                problem, hint = "too many cells for expected counts", "draw whole people instead"
                raise InputError(problem, where=where, expected=expected, hint=hint)
        codes, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return codes, counts


# Maximum number of cells of the table, which is dense: 400 MB per copy.
_MOST_CELLS = 50_000_000
# Maximum number of rounds of iterative proportional fitting.
_MOST_ROUNDS = 1000
# Label of the category for missing values, if the recipe requests one.
MISSING = "missing"
_RULES = {
    "drop": "with missing values: left out",
    "category": "with missing values: counted under a category of their own",
}


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
        the category `missing` (`category`; for intervals, the scenario needs `reading.missing = ["missing"]`)
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

    def read(self, folder: Path) -> tuple[pd.DataFrame, Path]:
        """Return the file as a DataFrame of text, and its path; see `read_figures`."""
        return read_figures(self.file, folder, self.columns.values(), delimiter=self.delimiter, encoding=self.encoding)

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
        frame, path = self.read(at.folder)
        require_among("not an attribute of the recipe", self.categories, self.columns, where="categories")
        counts = np.ones(len(frame), dtype=np.int64) if self.count is None else read_counts(frame, self.count, path)
        categories, columns = dict[str, tuple[str, ...]](), []
        blank = np.column_stack([frame[column].isin(self.missing_values) for column in self.columns.values()])
        for attribute, column, is_blank in zip(self.columns, self.columns.values(), blank.T, strict=True):
            values = frame[column].mask(is_blank, "")
            seen = self.categories.get(attribute) or natural_categories(values[values != ""])
            refuse_first((not seen, "the column has no value", f"column {column!r}", None, None), source=path)
            categories[attribute] = seen
            columns.append(Attribute(attribute, seen).labels.get_indexer(pd.Index(values)).astype(np.int32))
        codes = np.column_stack(columns)
        unknown = (codes == UNKNOWN) & ~blank
        outside = unknown.any(axis=1) & (self.unknown == "drop")
        missing = (codes == UNKNOWN) & ~outside[:, None]
        for key, wrong, problem, other in (
            ("unknown", unknown, "value outside the categories", "missing"),
            ("missing", missing, "value missing", "category"),
        ):
            if getattr(self, key) == "error" and wrong.any():
                row, at_column = np.argwhere(wrong)[0]
                column = list(self.columns.values())[at_column]
                found = frame[column].iloc[row] if key == "unknown" else None
                where, hint = f"row {row + 1}, column {column!r}", f'set {key} = "drop" or "{other}" in the recipe'
                raise InputError(problem, source=path, where=where, found=found, hint=hint)
        incomplete = missing.any(axis=1)
        rules = (outside, "left out: value outside the categories"), (incomplete, _RULES.get(self.missing))
        reports = [f"{rows.sum():,} of {len(frame):,} rows {rule}" for rows, rule in rules if rows.any()]
        source = self.source + (f" ({'; '.join(reports)})" if reports else "")
        keep = ~outside & ~incomplete if self.missing == "drop" else ~outside
        codes, counts = codes[keep], counts[keep]
        refuse_first((not len(codes), "all rows are left out", None, source.strip(), None), source=path)
        if self.missing == "category":
            for position in np.flatnonzero((codes == UNKNOWN).any(axis=0)).tolist():
                name = list(categories)[position]
                taken, problem = MISSING in categories[name], f"{MISSING!r} is already a value of the attribute"
                refuse_first((taken, problem, f"attribute {name!r}", None, None), source=path)
                codes[codes[:, position] == UNKNOWN, position] = len(categories[name])
                categories[name] = (*categories[name], MISSING)
        return Population.from_records(Domain.from_categories(categories), codes, counts, name=at.name, source=source)


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
        """Return the counts as an array with one axis per attribute of a domain.

        `frame` and `path` are the result of `read`. Axes of attributes that the file lacks have length 1. Rows of the
        same cell are added; a cell without a row has count 0.

        Raises
        ------
        InputError
            If a count is not a number of 0 or more, or a value is not in the domain.
        """
        people = numbers(frame, self.count, path).to_numpy(dtype=np.float64)
        counts = np.zeros([attribute.size if attribute.name in self.columns else 1 for attribute in domain.attributes])
        with locating(path):
            codes = {name: domain[name].encode(frame[column], column) for name, column in self.columns.items()}
        np.add.at(counts, tuple(codes.get(name, np.zeros(len(frame), np.int32)) for name in domain.names), people)
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
        return self.unless((alone, "attributes without a population", "attributes", expected, None))

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
            domain = Domain.from_categories(
                {name: values_in_order(frame[column]) for name, column in self.table.columns.items()}
            )
            return domain.attributes, self.table.counted(frame, domain, path)
        start = at.cells(str(self.population))
        start = start.marginal(self.attributes or start.domain.names)
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
    """

    kind: Literal["fitted"]
    seed: Seed
    people: Annotated[int, Field(gt=0, lt=2**53)] | None = None
    start: StartingPoint | None = None
    margin: tuple[MarginTable, ...] = Field(min_length=1)
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 1e-09

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
        columns = [(name, frame[column]) for part, frame, _ in tables for name, column in part.columns.items()]
        new = [name for name in dict(columns) if name not in [each.name for each in known]]
        found = [pd.concat([column for each, column in columns if each == name]) for name in new]
        domain = Domain((*known, *map(Attribute, new, map(values_in_order, found))))
        _require_few_cells(domain)
        # In the starting table, attributes that occur only in margins are independent of all other attributes.
        table, margins = np.broadcast_to(counts.reshape(*counts.shape, *(1 for _ in new)), domain.shape), []
        for number, (section, frame, path) in enumerate(tables, start=1):
            target = section.counted(frame, domain, path)
            if self.people is not None:
                target *= self.people / max(target.sum(), np.finfo(float).tiny)
            margins.append((section.name or f"{number} ({listed(section.columns)})", target))
        table, fit = fit_margins(table, margins, domain, tolerance=self.tolerance)
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


def fit_margins(
    start: Floats,
    margins: Sequence[tuple[str, Floats]],
    domain: Domain,
    *,
    tolerance: float = 1e-9,
) -> tuple[Floats, str]:
    """Return a table fitted to all margins, and a sentence on the remaining error.

    The table is scaled to one margin after the other.

    Parameters
    ----------
    start : ndarray of float64
        Starting table, such as counts of a sample, or ones; values of 0 or more. It determines the association of the
        axes: the result has the odds ratios of `start`, and a cell of 0 stays 0.
    margins : sequence of tuple of str and ndarray of float64
        Name, and required sums of 0 or more, of one or more margins. Axes over which a margin is a sum have length 1.
        All margins must have the same total, and any two must have the same sums over their common axes.
    domain : Domain
        Domain of the table, for messages.
    tolerance : float
        Largest accepted error, divided by the number of people. Margins with larger differences contradict each other.

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
    problem = "the margin has no number above 0"
    refuse_first(*((not target.sum() > 0, problem, f"margin {name!r}", None, None) for name, target in margins))
    names, targets = zip(*margins, strict=True)
    table, total = np.array(start, dtype=np.float64), float(targets[0].sum())
    # Axes over which each margin is a sum.
    over = [tuple(axis for axis, length in enumerate(target.shape) if length == 1) for target in targets]

    def place(cell: int, shape: tuple[int, ...]) -> str:
        codes = zip(domain.attributes, np.unravel_index(cell, shape), shape, strict=True)
        return "".join(f", {a.name} = {a.categories[code]}" for a, code, length in codes if length > 1)

    for one, other in combinations(range(len(margins)), 2):
        # Compare the totals, then the sums over all common axes.
        for rest in (tuple(range(start.ndim)), tuple({*over[one], *over[other]})):
            first, second = (targets[each].sum(axis=rest, keepdims=True) for each in (one, other))
            difference = np.abs(first - second)
            cell = int(difference.argmax())
            if difference.flat[cell] > tolerance * total:
                where = f"margins {names[one]!r} and {names[other]!r}{place(cell, difference.shape)}"
                found, expected = f"{first.flat[cell]:,.10g} and {second.flat[cell]:,.10g} people", "the same number"
                raise InputError("margins are inconsistent", where=where, found=found, expected=f"{expected} of people")
    for target in targets:
        table *= target > 0
    for name, rest, target in zip(names, over, targets, strict=True):
        impossible = (target > 0) & ~(table.sum(axis=rest, keepdims=True) > 0)
        if impossible.any():
            cell = int(impossible.argmax())
            problem = "the starting table or another margin has no people for this value"
            where = f"margin {name!r}{place(cell, impossible.shape)}"
            expected = "0, or a cell above 0 in the starting table and in the other margins"
            raise InputError(problem, where=where, found=float(target.flat[cell]), expected=expected)
    for rounds in range(_MOST_ROUNDS + 1):
        sums = [table.sum(axis=rest, keepdims=True) for rest in over]
        errors = [float(np.abs(have - want).max()) / total for have, want in zip(sums, targets, strict=True)]
        if max(errors) <= tolerance:
            return table, f"fitted in {rounds} rounds to within {max(errors):.1g} of the people"
        for rest, target in zip(over, targets, strict=True):
            have = table.sum(axis=rest, keepdims=True)
            table *= np.divide(target, have, out=np.zeros_like(have), where=have > 0)
    where, expected = f"margin {names[int(np.argmax(errors))]!r}", f"at most {tolerance:g}"
    found = f"an error of {max(errors):.2g} of the people after {_MOST_ROUNDS} rounds"
    hint = "use a starting table with fewer empty cells, or check that all margins agree"
    raise InputError("no table found with all margins", where=where, found=found, expected=expected, hint=hint)

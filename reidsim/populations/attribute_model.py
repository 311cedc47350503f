"""Populations of recipes ``attribute-model``, drawn one attribute at a time.

Published shares of an attribute's values are conditional on earlier attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows, require_among
from reidsim.core.randomness import draw_multinomial, first_above
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.population import Attribute, Codes, Domain, Population
from reidsim.populations.recipe import (
    SUM_TOLERANCE,
    Combinations,
    Delimiter,
    Groups,
    Making,
    Members,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    normalised,
    number_range,
    read_figures,
    values_in_order,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# From this number on, the values of a range are refused instead of listed in memory.
_TOO_MANY_VALUES = 10**7

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
        refuse_first(
            (self.shares_by is not None and len(given) != 1, by, self.name, given, "one attribute"),
            (given and is_alone, independent, self.name, f"given = {given}", table),
        )
        return self


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
            given = _given(section, attributes, recipe.groupings)
            values, shares = _shares(section, given, folder)
            if section.name in recipe.fixed_shares:
                shares = _with_fixed(shares, values, recipe.fixed_shares[section.name])
            attributes.append(Attribute(section.name, values))
            conditionals.append(ConditionalShares(given, shares))
    domain = Domain(tuple(attributes))
    require_among("no such attribute", recipe.fixed_shares, domain.names, where="fixed_shares")
    return AttributeModel(domain, tuple(conditionals))


def _given(section: AttributeRecipe, earlier: Sequence[Attribute], groupings: Mapping[str, Groups]) -> Combinations:
    """Return the `Combinations` of the attributes on which shares depend.

    `section` is the attribute's section, `earlier` the attributes drawn before it, and `groupings` the groups of the
    recipe's groupings. Without given attributes, there is one combination.

    Raises
    ------
    InputError
        If a given attribute is not an earlier one, a grouping does not exist, or an attribute that the section groups
        or renames is not in its list ``given``.
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
    groups = {name: groupings[grouping] for name, grouping in section.grouped.items()}
    return Combinations([by_name[name] for name in section.given], groups)


def _shares(section: AttributeRecipe, given: Combinations, folder: Path) -> tuple[tuple[str, ...], Floats]:
    """Return an attribute's values and their shares, shape (n_combinations, n_values).

    The shares of each combination of given values sum to 1; there is one row if they depend on no attribute.

    Raises
    ------
    InputError
        If a range has more than 10,000,000 values, shares do not sum to 1, or a table cannot be used.
    """
    if section.uniform is not None:
        values: list[str] = []
        for member in section.uniform:
            first, last = number_range(member) or (0, -1)
            too_many, most = last - first >= _TOO_MANY_VALUES, f"at most {_TOO_MANY_VALUES:,}"
            refuse_first((too_many, "too many values", "uniform", member, most))
            values += map(str, range(first, int(last) + 1)) if last >= first else [member]
        return tuple(values), np.full((1, len(values)), 1 / len(values))
    if section.shares is not None:
        return tuple(section.shares), normalised(np.array([list(section.shares.values())]), "shares")
    if section.shares_by is not None:
        return _shares_by(section.shares_by, given)
    assert section.table is not None  # noqa: S101 - the recipe has exactly one of the four
    return _read_shares(section.table, given, folder)


def _shares_by(shares_by: Mapping[str, Mapping[str, float]], given: Combinations) -> tuple[tuple[str, ...], Floats]:
    (name,), (labels,), (group_of,) = given.names, given.labels, given.group_of
    require_among(f"neither a value nor a group of {name!r}", shares_by, labels, where="shares_by")
    occupied = [labels[group] for group in np.unique(group_of)]
    require_among(f"shares missing for a value of {name!r}", occupied, shares_by, where="shares_by")
    values = tuple(dict.fromkeys(value for shares in shares_by.values() for value in shares))
    # A group without values needs no shares; equal shares are placeholders, because no person is in the group.
    nobody = dict.fromkeys(values, 1 / len(values))
    table = np.array([[shares_by.get(label, nobody).get(value, 0.0) for value in values] for label in labels])
    return values, normalised(table, lambda row: f"shares_by.{labels[row]}")


def _with_fixed(shares: Floats, values: tuple[str, ...], fixed: Mapping[str, float]) -> Floats:
    """Return shares, of the same shape, in which some values have a fixed share.

    The shape is (n_combinations, n_values). `fixed` has the share of each such value of `values`, equal for all
    combinations. Other values share the rest in proportion.

    Raises
    ------
    InputError
        If a value is unknown, the fixed shares sum to more than 1, or they sum to less and all other values of a
        combination have share 0.
    """
    require_among("no such value", fixed, values, where="fixed_shares")
    is_fixed = np.array([value in fixed for value in values])
    total = sum(fixed.values())
    others = shares[:, ~is_fixed].sum(axis=1)
    misfit = total > 1 + SUM_TOLERANCE or (total < 1 - SUM_TOLERANCE and not (others > 0).all())
    problem = "fixed shares do not fit the shares of the other values"
    expected = "a sum of at most 1, and exactly 1 if no other value has a positive share"
    refuse_first((misfit, problem, "fixed_shares", round(total, 9), expected))
    result = np.zeros_like(shares)
    result[:, is_fixed] = [fixed[value] for value in values if value in fixed]
    scale = max(1 - total, 0.0) / np.where(others > 0, others, 1.0)
    result[:, ~is_fixed] = shares[:, ~is_fixed] * scale[:, None]
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _read_shares(table: ShareTable, given: Combinations, folder: Path) -> tuple[tuple[str, ...], Floats]:
    column = table.count if table.count is not None else str(table.share)
    given_columns = [table.columns.get(name, name) for name in given.names]
    columns = [table.value, column, *given_columns, *table.where]
    frame, path = read_figures(table.file, folder, columns, delimiter=table.delimiter, encoding=table.encoding)
    chosen = np.ones(len(frame), dtype=np.bool_)
    for name, text in table.where.items():
        found = frame[name][chosen].unique()
        require_among("no row has this value", (text,), found, source=path, where=f"column {name!r}")
        chosen &= (frame[name] == text).to_numpy(dtype=np.bool_)
    # Rows that are not used may hold any text; they are set to 0 rather than removed to keep row numbers in messages.
    figures = numbers(frame.assign(**{column: frame[column].where(chosen, "0")}), column, path).to_numpy(dtype=float)
    # Rows for groups that the recipe does not use, such as ages without people, are skipped.
    row = given.of_labels([frame[name] for name in given_columns], len(frame))
    chosen &= row >= 0
    values = values_in_order(frame[table.value][chosen])
    at = np.flatnonzero(chosen)
    cells = row[at] * len(values) + pd.Index(values).get_indexer(pd.Index(frame[table.value].iloc[at]))
    if table.share is not None:
        repeated = np.zeros(len(frame), dtype=bool)
        repeated[at] = pd.Series(cells).duplicated()
        refuse_rows(repeated, "share given twice", source=path, found=frame[table.value])
    shares = np.zeros((given.size, len(values)))
    np.add.at(shares.reshape(-1), cells, figures[at])
    missing = given.possible & ~(shares.sum(axis=1) > 0)
    if missing.any():
        where = given.label(int(missing.argmax())) or None
        raise InputError("no row with a count or share above 0", source=path, where=where)
    # The remaining combinations have no people; equal shares are placeholders.
    shares[shares.sum(axis=1) == 0] = 1 / len(values)
    if table.count is not None:
        return values, np.asarray(shares / shares.sum(axis=1, keepdims=True))
    place = (lambda row: f"rows of {given.label(row)}") if given.names else f"column {column!r}"
    return values, normalised(shares, place, path)


# The people of a cell with at most this many people are drawn one by one, which is faster than binomial draws.
_FEW = 16
# Number of table entries (cells x values) to split at a time; limits memory and does not affect the result.
_SPLIT_ENTRIES = 1 << 21

# Maximum number of cells with an expected count: unlike drawn people, all of them are stored.
_MOST_EXPECTED_CELLS = 20_000_000


@dataclass(frozen=True)
class ConditionalShares:
    """Shares of an attribute's values, conditional on groups of earlier attributes.

    Parameters
    ----------
    combinations : Combinations
        Combinations of the groups of the attributes on which the shares depend.
    shares : ndarray of float64, shape (n_combinations, n_values)
        Share of each value, given the combination; each row sums to 1. Rows of combinations without people are
        placeholders.
    """

    combinations: Combinations
    shares: Floats

    @cached_property
    def cumulative(self) -> Floats:
        """Cumulative sums of the shares along each row, same shape.

        They are exactly 1 from the last positive share on.
        """
        sums = np.cumsum(self.shares, axis=1)
        last = self.shares.shape[1] - 1 - (self.shares[:, ::-1] > 0).argmax(axis=1)
        sums[np.arange(self.shares.shape[1]) >= last[:, None]] = 1.0
        return np.ascontiguousarray(sums)


@dataclass(frozen=True)
class AttributeModel:
    """A domain and the conditional shares of each attribute's values.

    Shares are conditional on earlier attributes.

    Parameters
    ----------
    domain : Domain
        Attributes in the order in which they are drawn.
    conditionals : tuple of ConditionalShares
        One element per attribute, in order.
    """

    domain: Domain
    conditionals: tuple[ConditionalShares, ...]


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
    many, few = map(
        np.random.default_rng, np.random.SeedSequence(seed or 0, spawn_key=tuple(b"counts by cell")).spawn(2)
    )
    codes = np.zeros((1, 0), dtype=np.int32)
    counts: NDArray[Any] = np.array([people], dtype=np.float64 if seed is None else np.int64)
    for attribute, conditional in zip(model.domain.attributes, model.conditionals, strict=True):
        given = [model.domain.position(name) for name in conditional.combinations.names]
        parts: list[tuple[Codes, NDArray[Any]]] = []
        step, n_cells = max(_SPLIT_ENTRIES // attribute.size, 1), 0
        for start in range(0, len(codes), step):
            part, held = codes[start : start + step], counts[start : start + step]
            rows = conditional.combinations.of_codes([part[:, earlier] for earlier in given], len(part))
            if seed is None:
                table: NDArray[Any] = held[:, None] * conditional.shares[rows]
            else:
                table = np.zeros((len(held), attribute.size), dtype=np.int64)
                large, small = np.flatnonzero(held > _FEW), np.flatnonzero(held <= _FEW)
                table[large] = draw_multinomial(many, held[large], conditional.shares[rows[large]])
                _deal(conditional.cumulative, rows, held, small, few.random(int(held[small].sum())), table)
            cell, value = np.nonzero(table)
            parts.append((np.column_stack([part[cell], value.astype(np.int32)]), table[cell, value]))
            n_cells += len(cell)
            if seed is None and n_cells > _MOST_EXPECTED_CELLS:
                where, expected = f"attribute {attribute.name!r}", f"at most {_MOST_EXPECTED_CELLS:,} cells"
                problem, hint = "too many cells for expected counts", "draw whole people instead"
                raise InputError(problem, where=where, expected=expected, hint=hint)
        codes = np.concatenate([part for part, _ in parts])
        counts = np.concatenate([part for _, part in parts])
    return codes, counts


@njit(cache=True)
def _deal(
    cumulative: Floats, rows: Integers, counts: Integers, cells: Integers, uniforms: Floats, table: Integers
) -> None:
    """Add the people of some cells, each with a value drawn, to a table (cell, value).

    `cumulative` holds the cumulative shares by row, and `rows` the row of each cell; `counts` is the number of people
    of each cell, and `cells` are the numbers of the cells to deal. Each person uses one number of `uniforms`, at
    least 0 and below 1.
    """
    used = 0
    for cell in cells:
        for _ in range(counts[cell]):
            table[cell, first_above(cumulative[rows[cell]], uniforms[used])] += 1
            used += 1

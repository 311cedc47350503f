"""Populations of recipes ``attribute-model``, drawn one attribute at a time.

Published shares of an attribute's values are conditional on earlier attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows, require_among
from reidsim.core.randomness import draw_multinomial, first_above
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.population import (
    SUM_TOLERANCE,
    Attribute,
    Codes,
    Delimiter,
    Domain,
    Groups,
    Making,
    Members,
    Population,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    group_codes,
    normalised,
    number_range,
    read_figures,
    values_in_order,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

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

    Shares are conditional on earlier attributes.

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
        problem, hint = "too many combinations of values", "group the values of an attribute"
        where, expected = ", ".join(section.given), f"at most {_TOO_MANY:,}"
        raise InputError(problem, where=where, found=size, expected=expected, hint=hint)
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
            too_many, most = last - first >= _TOO_MANY, f"at most {_TOO_MANY:,}"
            refuse_first((too_many, "too many values", "uniform", member, most))
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
        cells = frame.loc[chosen, [*given_columns, table.value]]
        repeated = cells.duplicated().reindex(frame.index, fill_value=False)
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
    if (empty & possible).any():
        where = place(int((empty & possible).argmax())) or None
        raise InputError("no row with a count or share above 0", source=path, where=where)
    # The remaining combinations have no people; equal shares are placeholders.
    shares[empty] = 1 / len(values)
    if table.count is not None:
        return values, np.asarray(shares / shares.sum(axis=-1, keepdims=True))
    return values, normalised(shares, lambda row: f"rows of {place(row)}" if given else f"column {column!r}", path)


# The people of a cell with at most this many people are drawn one by one, which is faster than binomial draws.
_FEW = 16
# Number of table entries (cells x values) to split at a time; limits memory and does not affect the result.
_SPLIT_ENTRIES = 1 << 21

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
        cumulative, last = np.cumsum(shares, axis=-1), attribute.size - 1 - (shares[..., ::-1] > 0).argmax(axis=-1)
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
                sums = np.broadcast_to(cumulative[rows], shape)[small]
                _deal(sums, held[small], small, few.random(int(held[small].sum())), table)
            cell, value = np.nonzero(table)
            parts.append((np.column_stack([part[cell], value.astype(np.int32)]), table[cell, value]))
            n_cells += len(cell)
            if seed is None and n_cells > _MOST_EXPECTED_CELLS:
                where, expected = f"attribute {attribute.name!r}", f"at most {_MOST_EXPECTED_CELLS:,} cells"
                problem, hint = "too many cells for expected counts", "draw whole people instead"
                raise InputError(problem, where=where, expected=expected, hint=hint)
        codes, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return codes, counts


@njit(cache=True)
def _deal(cumulative: Floats, counts: Integers, cells: Integers, uniforms: Floats, table: Integers) -> None:
    """Add the people of some cells, each with a value drawn, to a table (cell, value).

    `cells` are the numbers of the cells, and `counts` their numbers of people; `cumulative` has the cumulative shares
    of each. Each person uses one number of `uniforms`, at least 0 and below 1.
    """
    used = 0
    for at, cell in enumerate(cells):
        for _ in range(counts[at]):
            table[cell, first_above(cumulative[at], uniforms[used])] += 1
            used += 1

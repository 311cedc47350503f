"""The arrays of an attribute model.

They hold shares of each attribute's values, conditional on earlier attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, refuse_rows, require_among
from reidsim.populations.attribute_model.recipe import AttributeModelRecipe, AttributeRecipe, ShareTable
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.figure_files import read_figures
from reidsim.populations.value_groups import Combinations, GroupedAttribute, Groups, number_range, values_in_order
from reidsim.tables import numbers

Floats = NDArray[np.float64]

# Published shares are rounded; a sum that differs from 1 by more than this is an error.
SUM_TOLERANCE = 1e-6

# From this number on, the values of a range are refused instead of listed in memory.
_TOO_MANY_VALUES = 10**7


@dataclass(frozen=True)
class ConditionalShares:
    """Shares of an attribute's values, conditional on groups of earlier attributes.

    Parameters
    ----------
    given : tuple of int
        Positions of the attributes on which the shares depend.
    combinations : Combinations
        Combinations of the groups of these attributes.
    shares : ndarray of float64, shape (n_combinations, n_values)
        Share of each value, given the combination; each row sums to 1. Rows of combinations without people are
        placeholders.
    """

    given: tuple[int, ...]
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
        if section.name in [attribute.name for attribute in attributes]:
            raise InputError("attribute named twice", where="attribute", found=section.name)
        try:
            given = Combinations(_given(section, attributes, recipe.groupings))
            values, shares = _shares(section, given, folder)
            if section.name in recipe.fixed_shares:
                shares = _with_fixed(shares, values, recipe.fixed_shares[section.name])
            attributes.append(Attribute(section.name, values))
        except InputError as error:
            named = f"attribute {section.name!r}"
            raise error.located(where=None if error.where == named else named) from None
        names = [attribute.name for attribute in attributes]
        conditionals.append(ConditionalShares(tuple(map(names.index, section.given)), given, shares))
    domain = Domain(tuple(attributes))
    require_among("no such attribute", recipe.fixed_shares, domain.names, where="fixed_shares")
    return AttributeModel(domain, tuple(conditionals))


def _given(
    section: AttributeRecipe, earlier: Sequence[Attribute], groupings: Mapping[str, Groups]
) -> list[GroupedAttribute]:
    by_name = {attribute.name: attribute for attribute in earlier}
    above = "an attribute above this one"
    require_among("no earlier attribute of this name", section.given, by_name, where="given", otherwise=above)
    columns = section.table.columns if section.table is not None else {}
    for key, names in (("grouped", section.grouped), ("table.columns", columns)):
        otherwise = "the attribute in the list `given`"
        require_among("the attribute is not in the list `given`", names, section.given, where=key, otherwise=otherwise)
    for name, grouping in section.grouped.items():
        where, otherwise = f"grouped.{name}", "a grouping in section [groupings] of the recipe"
        require_among("no such grouping", (grouping,), groupings, where=where, otherwise=otherwise)
    return [
        GroupedAttribute.of(by_name[name], groupings[section.grouped[name]] if name in section.grouped else None)
        for name in section.given
    ]


def _shares(section: AttributeRecipe, given: Combinations, folder: Path) -> tuple[tuple[str, ...], Floats]:
    """Return an attribute's values and their shares, shape (n_combinations, n_values)."""
    if section.uniform is not None:
        values = tuple(value for member in section.uniform for value in _listed_values(member))
        return values, np.full((1, len(values)), 1 / len(values))
    if section.shares is not None:
        return tuple(section.shares), _normalised(np.array([list(section.shares.values())]), lambda _: "shares")
    if section.shares_by is not None:
        return _shares_by(section.shares_by, given.grouped[0])
    assert section.table is not None  # noqa: S101 - the recipe has exactly one of the four
    return _read_shares(section.table, given, folder)


def _listed_values(member: str) -> list[str]:
    bounds = number_range(member)
    if bounds is None:
        return [member]
    first, last = bounds
    if last is None or last - first >= _TOO_MANY_VALUES:
        problem = "the range has no end" if last is None else "too many values"
        raise InputError(problem, where="uniform", found=member)
    return [str(number) for number in range(first, last + 1)]


def _shares_by(shares_by: Mapping[str, Mapping[str, float]], given: GroupedAttribute) -> tuple[tuple[str, ...], Floats]:
    problem = f"neither a value nor a group of {given.attribute.name!r}"
    require_among(problem, shares_by, given.labels, where="shares_by")
    occupied = [given.labels[code] for code in np.unique(given.codes)]
    problem = f"shares missing for a value of {given.attribute.name!r}"
    require_among(problem, occupied, shares_by, where="shares_by")
    values = tuple(dict.fromkeys(value for shares in shares_by.values() for value in shares))
    # A group without values needs no shares; equal shares are placeholders, because no person is in the group.
    nobody = dict.fromkeys(values, 1 / len(values))
    table = np.array([[shares_by.get(label, nobody).get(value, 0.0) for value in values] for label in given.labels])
    return values, _normalised(table, lambda row: f"shares_by.{given.labels[row]}")


def _normalised(shares: Floats, where: Callable[[int], str], source: Path | None = None) -> Floats:
    """Return each row divided by its sum.

    Raises InputError if a sum differs from 1 by more than `SUM_TOLERANCE`.
    """
    sums = shares.sum(axis=1)
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        found, expected = round(float(sums[row]), 9), f"1, within {SUM_TOLERANCE:g}"
        raise InputError("shares do not sum to 1", source=source, where=where(row), found=found, expected=expected)
    return np.asarray(shares / sums[:, None])


def _with_fixed(shares: Floats, values: tuple[str, ...], fixed: Mapping[str, float]) -> Floats:
    """Return shares in which some values have a fixed share.

    Other values share the rest in proportion.
    """
    require_among("no such value", fixed, values, where="fixed_shares")
    is_fixed = np.array([value in fixed for value in values])
    total = sum(fixed.values())
    others = shares[:, ~is_fixed].sum(axis=1)
    room = (total <= 1 + SUM_TOLERANCE) if not is_fixed.all() else abs(total - 1) <= SUM_TOLERANCE
    if not room or (total < 1 - SUM_TOLERANCE and not (others > 0).all()):
        raise InputError(
            "fixed shares do not fit the shares of the other values",
            where="fixed_shares",
            found=round(total, 9),
            expected="a sum of at most 1, and exactly 1 if no other value has a positive share",
        )
    result = np.zeros_like(shares)
    result[:, is_fixed] = [fixed[value] for value in values if value in fixed]
    scale = max(1 - total, 0.0) / np.where(others > 0, others, 1.0)
    result[:, ~is_fixed] = shares[:, ~is_fixed] * scale[:, None]
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _read_shares(table: ShareTable, given: Combinations, folder: Path) -> tuple[tuple[str, ...], Floats]:
    column = table.count if table.count is not None else str(table.share)
    given_columns = [table.columns.get(g.attribute.name, g.attribute.name) for g in given.grouped]
    columns = [table.value, column, *given_columns, *table.where]
    frame, path = read_figures(table.file, folder, columns, delimiter=table.delimiter, encoding=table.encoding)
    chosen = _rows_where(frame, table.where, path)
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
    place = (lambda row: f"rows of {given.label(row)}") if given.grouped else (lambda _: f"column {column!r}")
    return values, _normalised(shares, place, path)


def _rows_where(frame: pd.DataFrame, conditions: Mapping[str, str], path: Path) -> NDArray[np.bool_]:
    """Return a mask of the rows with the given texts in some columns."""
    chosen = np.ones(len(frame), dtype=np.bool_)
    for column, text in conditions.items():
        require_among(
            "no row has this value", (text,), frame[column][chosen].unique(), source=path, where=f"column {column!r}"
        )
        chosen &= (frame[column] == text).to_numpy(dtype=np.bool_)
    return chosen

"""Groups of attribute values in recipes, such as age groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.errors import InputError, listed, locating, nearest
from reidsim.populations.domain import Attribute
from reidsim.wording import whole_number

# Members of a group: values, ranges of integers ("18..24", "75..", "..17"), or "otherwise" for all other values.
Members = Annotated[tuple[str, ...], Field(min_length=1)]
Groups = dict[str, Members]

REST = "otherwise"
_RANGE = re.compile(r"(\d{0,18})\.\.(\d{0,18})")

# Maximum number of combinations of groups; arrays with one entry or row per combination are stored.
_TOO_MANY_COMBINATIONS = 10**7


@dataclass(frozen=True)
class GroupedAttribute:
    """An attribute with a partition of its values into groups.

    Parameters
    ----------
    attribute : Attribute
        Attribute whose values are grouped.
    labels : tuple of str
        Names of the groups.
    codes : ndarray of int32, shape (n_values,)
        Group of each value, as an index into `labels`.
    """

    attribute: Attribute
    labels: tuple[str, ...]
    codes: NDArray[np.int32]

    @classmethod
    def from_groups(cls, attribute: Attribute, groups: Mapping[str, Sequence[str]] | None = None) -> GroupedAttribute:
        """Return an attribute grouped by `group_codes`.

        Without `groups`, each value is its own group.
        """
        if groups is None:
            return cls(attribute, attribute.categories, np.arange(attribute.size, dtype=np.int32))
        return cls(attribute, tuple(groups), group_codes(attribute, groups))


class Combinations:
    """Numbering of all combinations of groups of some attributes.

    The last attribute changes fastest.

    Parameters
    ----------
    grouped : sequence of GroupedAttribute
        The attributes with their groups.

    Raises
    ------
    InputError
        If there are more than 10 million combinations.
    """

    def __init__(self, grouped: Sequence[GroupedAttribute]) -> None:
        self.grouped = tuple(grouped)
        self.shape = tuple(len(g.labels) for g in self.grouped)
        self.size = prod(self.shape)
        if self.size > _TOO_MANY_COMBINATIONS:
            where, expected = ", ".join(g.attribute.name for g in self.grouped), f"at most {_TOO_MANY_COMBINATIONS:,}"
            problem, hint = "too many combinations of values", "group the values of an attribute"
            raise InputError(problem, where=where, found=self.size, expected=expected, hint=hint)

    def of_codes(self, columns: Sequence[NDArray[np.integer]], n: int) -> NDArray[np.int64]:
        """Return the combination number of each of `n` people, given their codes.

        `columns` holds the codes of each attribute, shape (n,).
        """
        return self._numbers([g.codes[codes] for g, codes in zip(self.grouped, columns, strict=True)], n)

    def of_labels(self, columns: Sequence[pd.Series[str]], n: int) -> NDArray[np.int64]:
        """Return the combination number of each of `n` rows of a table, given group names.

        `columns` holds the group names of each attribute. The result is -1 where a name is unknown.
        """
        pairs = zip(self.grouped, columns, strict=True)
        groups = [pd.Index(g.labels).get_indexer(pd.Index(column)) for g, column in pairs]
        unknown = np.any([np.zeros(n, dtype=np.bool_), *(group < 0 for group in groups)], axis=0)
        return np.where(unknown, -1, self._numbers(groups, n))

    def _numbers(self, groups: Sequence[NDArray[np.integer]], n: int) -> NDArray[np.int64]:
        numbers = np.zeros(n, dtype=np.int64)
        for size, group in zip(self.shape, groups, strict=True):
            numbers *= size
            numbers += group
        return numbers

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Mask of the combinations in which every group contains a value, shape (size,)."""
        possible = np.ones(1, dtype=np.bool_)
        for g in self.grouped:
            possible = np.outer(possible, np.isin(np.arange(len(g.labels)), g.codes)).ravel()
        return possible

    def label(self, number: int) -> str:
        """Return the name of a combination for messages.

        An example is ``"sex = Male, age = 18-24"``.
        """
        groups = np.unravel_index(number, self.shape)
        return ", ".join(
            f"{g.attribute.name} = {g.labels[group]}" for g, group in zip(self.grouped, groups, strict=True)
        )


def values_in_order(column: pd.Series[str]) -> tuple[str, ...]:
    """Return the distinct values of a column, in order.

    Integers are in numerical order, other values in the order of the file.
    """
    values = [str(value) for value in column.unique()]
    numbers = {v: number for v in values if v.isdecimal() and (number := whole_number(v)) is not None}
    return tuple(sorted(values, key=numbers.__getitem__)) if len(numbers) == len(values) else tuple(values)


def number_range(text: str) -> tuple[int, int | None] | None:
    """Return the first and last integer of a range; None if the text is not a range.

    ``"18..24"`` gives (18, 24), ``"..17"`` gives (0, 17), ``"75.."`` gives (75, None).

    Raises
    ------
    InputError
        If the last number is smaller than the first.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None or text.strip() == "..":
        return None
    first, last = int(match[1] or 0), int(match[2]) if match[2] else None
    if last is not None and last < first:
        raise InputError("the range ends before it begins", found=text)
    return first, last


def group_codes(attribute: Attribute, groups: Mapping[str, Sequence[str]]) -> NDArray[np.int32]:
    """Return the group of each value of an attribute.

    Parameters
    ----------
    attribute : Attribute
    groups : mapping of str to sequence of str
        Members of each group: values of the attribute; ranges of integers such as ``"18..24"``, ``"75.."`` and
        ``"..17"``; or ``"otherwise"`` for the values that belong to no other group.

    Returns
    -------
    ndarray of int32, shape (n_values,)
        Index of each value's group in `groups`; a group may be empty.

    Raises
    ------
    InputError
        If a member is not a value of the attribute, or a value belongs to two groups or to no group.
    """
    where = f"groups of {attribute.name!r}"
    codes = np.full(attribute.size, -1, dtype=np.int32)
    rest = [
        code for code, members in enumerate(groups.values()) if REST in members and REST not in attribute.categories
    ]
    if len(rest) > 1:
        raise InputError(f"{REST!r} in two groups", where=where, found=list(groups)[rest[1]])
    for code, (group, members) in enumerate(groups.items()):
        for member in members:
            if code in rest and member == REST:
                continue
            for position in positions_of(attribute, member, f"group {group!r} of {attribute.name!r}"):
                if codes[position] not in (-1, code):
                    hint = f"it is in {list(groups)[codes[position]]!r} and in {group!r}"
                    found = attribute.categories[position]
                    raise InputError("value in two groups", where=where, found=found, hint=hint)
                codes[position] = code
    if rest:
        codes[codes < 0] = rest[0]
    if (codes < 0).any():
        found = attribute.categories[int((codes < 0).argmax())]
        raise InputError(
            "value in no group", where=where, found=found, expected=f"the value in one of the groups {listed(groups)}"
        )
    return codes


def positions_of(attribute: Attribute, member: str, where: str) -> list[int]:
    """Return the positions of the values denoted by a value or by a range of integers.

    Parameters
    ----------
    attribute : Attribute
    member : str
        A value, or a range such as ``"18..24"``.
    where : str
        Location to name in error messages.

    Raises
    ------
    InputError
        If `member` is neither a value nor a range.
    """
    if member in attribute.categories:
        return [attribute.categories.index(member)]
    with locating(where=where):
        bounds = number_range(member)
    if bounds is None:
        expected = f"one of {listed(attribute.categories)}, or a range such as '18..24'"
        problem, hint = f"not a value of {attribute.name!r}", nearest(member, attribute.categories)
        raise InputError(problem, where=where, found=member, expected=expected, hint=hint)
    return [place for place, value in enumerate(attribute.categories) if value.isdecimal() and within(value, bounds)]


def within(value: str, bounds: tuple[int, int | None]) -> bool:
    """Return whether a value is an integer within a range."""
    number = whole_number(value)
    return number is not None and number >= bounds[0] and (bounds[1] is None or number <= bounds[1])

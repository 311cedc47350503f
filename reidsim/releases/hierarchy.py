"""Generalization hierarchies: groups of the values of an attribute by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed
from reidsim.populations.domain import Attribute

# Label of a suppressed value.
SUPPRESSED = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Nested partitions of the categories of an attribute; level 0 keeps every value.

    Parameters
    ----------
    attribute : Attribute
    groups : ndarray of int32, shape (n_levels, n_values)
        ``groups[level, value]`` is the number of the value's group at that level, from 0.
    labels : tuple of tuple of str
        ``labels[level][group]`` is the label of the group.
    costless_levels : frozenset of int
        Levels whose merging does not count as information loss: the loss is computed with the group sizes of the level
        below.

    Raises
    ------
    InputError
        If a level splits a group of the level below it, or a costless level is not between 1 and the last level.

    See Also
    --------
    intervals : hierarchy rule for whole numbers.
    groups : hierarchy rule for categories.
    prefix : hierarchy rule for codes.

    Examples
    --------
    >>> import reidsim
    >>> job = reidsim.Attribute("job", ("baker", "cook", "nurse"))
    >>> reidsim.Hierarchy.from_labels(job, [["food", "food", "health"], ["*", "*", "*"]]).n_groups
    (3, 2, 1)
    """

    attribute: Attribute
    groups: NDArray[np.int32]
    labels: tuple[tuple[str, ...], ...]
    costless_levels: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for level in range(1, self.n_levels):
            self._check_nested(level)
        wrong = [level for level in self.costless_levels if not 0 < level < self.n_levels]
        if wrong:
            where, expected = f"hierarchy of {self.attribute.name!r}, costless levels", f"1 to {self.n_levels - 1}"
            raise InputError("no such level", where=where, found=wrong[0], expected=f"a level from {expected}")

    def __repr__(self) -> str:
        return f"Hierarchy({self.attribute.name!r}, {len(self.labels)} levels)"

    def _check_nested(self, level: int) -> None:
        parents = np.full(self.n_groups[level - 1], -1, dtype=np.int32)
        parents[self.groups[level - 1]] = self.groups[level]
        split = np.flatnonzero(parents[self.groups[level - 1]] != self.groups[level])
        if len(split):
            value = int(split[0])
            below = self.groups[level - 1]
            other = int(np.flatnonzero((below == below[value]) & (self.groups[level] != self.groups[level, value]))[0])
            name = self.attribute.categories
            raise InputError(
                "hierarchy is not nested",
                where=f"hierarchy of {self.attribute.name!r}, level {level}",
                found=f"{name[value]!r} and {name[other]!r} are in one group at level {level - 1} "
                f"({self.labels[level - 1][below[value]]!r}) and in different groups at level {level}",
                expected="groups that only merge from one level to the next",
            )

    @classmethod
    def from_labels(
        cls, attribute: Attribute, levels: Sequence[Sequence[str]], *, costless_levels: Sequence[int] = ()
    ) -> Hierarchy:
        """Return a hierarchy from the label of every category at every level above 0.

        Parameters
        ----------
        attribute : Attribute
        levels : sequence of sequence of str
            ``levels[k][value]`` is the label of the value at level ``k + 1``; equal labels are one group. Groups are
            numbered in the order of their first values.
        costless_levels : sequence of int
            See `Hierarchy`.

        Raises
        ------
        InputError
            As `Hierarchy`.
        """
        groups = [np.arange(attribute.size, dtype=np.int32)]
        labels = [attribute.categories]
        for level in levels:
            order = {label: code for code, label in enumerate(dict.fromkeys(level))}
            groups.append(np.array([order[label] for label in level], dtype=np.int32))
            labels.append(tuple(order))
        return cls(attribute, np.stack(groups), tuple(labels), frozenset(costless_levels))

    @property
    def n_levels(self) -> int:
        """Number of levels, including level 0 without generalization."""
        return len(self.groups)

    @cached_property
    def n_groups(self) -> tuple[int, ...]:
        """Number of groups at each level."""
        return tuple(len(labels) for labels in self.labels)

    @cached_property
    def group_sizes(self) -> NDArray[np.int64]:
        """Number of categories in the group of each value, shape (n_levels, n_values)."""
        return np.stack([np.bincount(level)[level] for level in self.groups]).astype(np.int64)

    @cached_property
    def charged_sizes(self) -> NDArray[np.int64]:
        """Group sizes that count in the information loss, shape (n_levels, n_values).

        At a costless level, they equal the sizes at the level below.
        """
        sizes = self.group_sizes.copy()
        for level in sorted(self.costless_levels):
            sizes[level] = sizes[level - 1]
        return sizes

    def parents(self, level: int) -> NDArray[np.int32]:
        """Return for each group of `level` its group at ``level + 1``, (n_groups,)."""
        parents = np.empty(self.n_groups[level], dtype=np.int32)
        parents[self.groups[level]] = self.groups[level + 1]
        return parents


def require_rows_of_values(rows: Sequence[Sequence[str]], *, first_row: int = 1) -> None:
    """Check that a hierarchy table has rows of equal length, at most one per value.

    Parameters
    ----------
    rows : sequence of sequence of str
        One row per value, one column per level; the first column holds the values.
    first_row : int
        Number of the first row in messages: 2 if the file has a header.

    Raises
    ------
    InputError
        If a row has another length than the first, or a value has two rows; the message names the first such row.
    """
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=first_row):
        where = f"row {number}"
        if len(row) != len(rows[0]):
            raise InputError(
                "row with the wrong number of columns", where=where, found=len(row), expected=f"{len(rows[0])} columns"
            )
        if row[0] in row_of:
            expected = f"one row per value; the first is row {row_of[row[0]]}"
            raise InputError("value has two rows", where=where, found=row[0], expected=expected)
        row_of[row[0]] = number


def hierarchy_from_rows(
    attribute: Attribute, rows: Sequence[Sequence[str]], *, costless_levels: Sequence[int] = ()
) -> Hierarchy:
    """Return a hierarchy from a table with a row per value and a column per level.

    This is the format of ARX. Rows of values outside the attribute's categories are ignored, so that one file can serve
    several data sets.

    Parameters
    ----------
    attribute : Attribute
    rows : sequence of sequence of str
        One row per value: the value, then its label at each level above 0.
    costless_levels : sequence of int
        See `Hierarchy`.

    Raises
    ------
    InputError
        If rows differ in length, a value has two rows, a category has none, or as `Hierarchy`.
    """
    require_rows_of_values(rows)
    by_value = {row[0]: row for row in rows}
    lacking = [category for category in attribute.categories if category not in by_value]
    if lacking:
        raise InputError(
            "value missing from its hierarchy",
            where=f"hierarchy of {attribute.name!r}",
            found=lacking[0],
            expected=f"a row for each of the {attribute.size} values of the attribute; {len(lacking)} have no row",
            hint=f"the hierarchy has rows for {listed(by_value)}",
        )
    table = [by_value[category] for category in attribute.categories]
    levels = [[row[level] for row in table] for level in range(1, len(table[0]))]
    return Hierarchy.from_labels(attribute, levels, costless_levels=costless_levels)

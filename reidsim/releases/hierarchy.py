"""Generalization hierarchies: groups of the values of an attribute by level.

Hierarchy files have the format of ARX: one row per value, one column per level.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among
from reidsim.core.tables import DELIMITERS, read_table
from reidsim.core.wording import whole_number
from reidsim.populations.population import Attribute


def interval_levels(
    attribute: Attribute, widths: Sequence[int], *, start: int | None = None, absorb_remainder: bool = True
) -> list[list[str]]:
    """Return labels of whole numbers by intervals of growing width.

    Parameters
    ----------
    attribute : Attribute
        Categories are integers; a trailing ``+`` (``"90+"``) is allowed. The empty category (a missing value) has a
        separate group.
    widths : sequence of int
        Width of the intervals at each level; each width is a multiple of the previous one, so that levels are nested.
    start : int, optional
        Lowest number of the first interval; the smallest category, if not given.
    absorb_remainder : bool
        Whether the last full interval includes the values above it. If not, these form a shorter interval.

    Returns
    -------
    list of list of str
        For each level, the label of each category, such as ``"20-29"``; the number alone for an interval of one number.
        The last interval ends with the largest category. The empty category keeps the empty label.

    Raises
    ------
    InputError
        If a category is not a whole number or is below `start`, all are missing, or the widths do not nest.
    """
    present = _present(attribute)
    number_of = dict(zip(present, whole_numbers(attribute, present), strict=True))
    lowest, top = min(number_of.values()), max(number_of.values())
    low = lowest if start is None else start
    if lowest < low:
        raise InputError("value below the first interval", found=lowest, expected=f"{low} or more")
    for finer, wider in itertools.pairwise(widths):
        if wider <= finer or wider % finer:
            expected = "increasing widths, each a multiple of the previous width"
            raise InputError("intervals do not nest", where="widths", found=list(widths), expected=expected)
    levels = []
    for width in widths:
        starts = list(range(low, top + 1, width))
        if absorb_remainder and len(starts) > 1 and top - starts[-1] + 1 < width:
            starts.pop()
        ends = [following - 1 for following in starts[1:]] + [top]
        names = [f"{first}-{last}" if first < last else str(first) for first, last in zip(starts, ends, strict=True)]
        interval = {value: names[bisect.bisect_right(starts, number) - 1] for value, number in number_of.items()}
        levels.append([interval.get(value, value) for value in attribute.categories])
    return levels


def prefix_levels(attribute: Attribute, digits: Sequence[int], *, pool: Sequence[str] = ()) -> list[list[str]]:
    """Return labels of codes such as ZIP codes by ever shorter prefixes.

    Parameters
    ----------
    attribute : Attribute
        Categories of equal length. The empty category (a missing value) has a separate group.
    digits : sequence of int
        Number of characters kept at each level, in descending order.
    pool : sequence of str
        Prefixes of equal length whose codes are grouped with each other (and with no others) at every level that keeps
        no more characters than they have: the sparsely populated ZIP3 areas of Safe Harbor.

    Returns
    -------
    list of list of str
        For each level, the label of each category, such as ``"372**"``; in brackets with all prefixes for codes of the
        pool, such as ``"[036**, 059**]"``.

    Raises
    ------
    InputError
        If codes or pooled prefixes have several lengths, all codes are missing, digits do not decrease or do not
        shorten the codes, or no code has a pooled prefix.
    """
    lengths = sorted({len(category) for category in _present(attribute)})
    if len(lengths) != 1:
        raise InputError(
            "codes of different lengths",
            where=f"attribute {attribute.name!r}",
            found=lengths,
            expected="codes of one length",
        )
    length = lengths[0]
    if any(not 0 < kept < length for kept in digits) or list(digits) != sorted(set(digits), reverse=True):
        expected = f"decreasing numbers from 1 to less than {length}"
        raise InputError("prefix lengths do not decrease", where="digits", found=list(digits), expected=expected)
    if len({len(prefix) for prefix in pool}) > 1:
        raise InputError(
            "prefixes of different lengths", where="pool", found=list(pool), expected="prefixes of one length"
        )
    unused = [prefix for prefix in pool if not any(c.startswith(prefix) for c in attribute.categories)]
    if unused:
        raise InputError("no code has this prefix", where="pool", found=unused[0])
    levels = []
    for kept in digits:
        pooled = sorted({_masked(prefix[:kept], length) for prefix in pool})
        # The label has brackets even for a single prefix, to distinguish it from codes outside the pool with this
        # prefix.
        pooled_label = f"[{', '.join(pooled)}]"
        in_pool = tuple(prefix for prefix in pool if kept <= len(prefix))
        levels.append(
            [
                pooled_label if category.startswith(in_pool) else _masked(category[:kept], length if category else 0)
                for category in attribute.categories
            ]
        )
    return levels


def group_levels(attribute: Attribute, groups: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return labels of categories by listed groups.

    Parameters
    ----------
    attribute : Attribute
    groups : sequence of sequence of sequence of str
        For each level, the groups of two or more categories; categories not listed keep their label from the level
        below.

    Returns
    -------
    list of list of str
        For each level, the label of each category: the members of its group, joined by "or".

    Raises
    ------
    InputError
        If a member is not a category, or is in two groups of a level.
    """
    current = list(attribute.categories)
    levels = []
    for number, level in enumerate(groups, start=1):
        merged: dict[str, str] = {}
        for members in level:
            where = f"groups, level {number}"
            require_among("not a category of the attribute", members, attribute.categories, where=where)
            for member in members:
                if member in merged:
                    raise InputError("category in two groups", where=where, found=member)
                merged[member] = " or ".join(members)
        current = [merged.get(category, label) for category, label in zip(attribute.categories, current, strict=True)]
        levels.append(current)
    return levels


def suppression_level(attribute: Attribute) -> list[str]:
    """Return the suppressed label, ``*``, once per category of the attribute."""
    return [SUPPRESSED] * attribute.size


def whole_numbers(attribute: Attribute, categories: Sequence[str] | None = None) -> list[int]:
    """Return the categories of an attribute as whole numbers; ``"90+"`` is 90.

    They are in the order of the categories. If `categories` are given, these are converted instead, and the attribute
    is only named in messages. The empty category is no number.

    Raises
    ------
    InputError
        If a category is not a whole number.
    """
    numbers = []
    for category in attribute.categories if categories is None else categories:
        number = whole_number(category)
        if number is None:
            where = f"attribute {attribute.name!r}"
            raise InputError(
                "not a whole number", where=where, found=category, expected="a whole number, such as 48 or 90+"
            )
        numbers.append(number)
    return numbers


def _present(attribute: Attribute) -> list[str]:
    """Return the categories of an attribute without the empty one, a missing value.

    Raises
    ------
    InputError
        If there is no other category.
    """
    present = [category for category in attribute.categories if category]
    if not present:
        raise InputError("every value is missing", where=f"attribute {attribute.name!r}")
    return present


def _masked(prefix: str, length: int) -> str:
    return prefix + "*" * (length - len(prefix))


# Label of a suppressed value.
SUPPRESSED = "*"
# Usual names of the column of values.
_VALUE_HEADER = re.compile(r"(values?|levels?|lvl)[ _-]?0?", re.IGNORECASE)


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
            value, below, name = split[0], self.groups[level - 1], self.attribute.categories
            other = np.flatnonzero((below == below[value]) & (self.groups[level] != self.groups[level, value]))[0]
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
        """Number of groups at each level, level 0 first."""
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
        """Return for each group of `level` its group number at ``level + 1``.

        The shape is (n_groups,). `level` must be below the last level.
        """
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
        columns, once = f"{len(rows[0])} columns", f"one row per value; the first is row {row_of.get(row[0])}"
        refuse_first(
            (len(row) != len(rows[0]), "row with the wrong number of columns", where, len(row), columns),
            (row[0] in row_of, "value has two rows", where, row[0], once),
        )
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


def read_hierarchy_rows(path: Path, *, delimiter: str = ";") -> list[list[str]]:
    """Return the rows of a hierarchy file, with a header if there is one.

    Each row is a list of its cells as text.

    Raises
    ------
    InputError
        If the file cannot be read, or has a single column in which every row contains another delimiter equally often.
    """
    frame = read_table(path, delimiter=delimiter, header=False)
    rows: list[list[str]] = frame.to_numpy().tolist()
    counts = {sign: {row[0].count(sign) for row in rows} for sign in DELIMITERS}
    other = next((sign for sign, found in counts.items() if len(found) == 1 and found != {0}), None)
    problem = f"the file has one column, and {other!r} occurs in every row"
    expected = f"columns separated by {delimiter!r} (set the delimiter to {other!r}, if that separates the columns)"
    with locating(path):
        refuse_first((frame.shape[1] == 1 and other, problem, "row 1", rows[0][0], expected))
    return rows


def check_header(
    rows: Sequence[Sequence[str]], *, header: bool, used: Collection[str], names: Collection[str] = ()
) -> None:
    """Check that the first row of a hierarchy file is a header if this is declared.

    It must be one if and only if `header` is true. A header that is treated as a value would change the information
    loss of every record; a value that is treated as a header would be lost.

    Parameters
    ----------
    rows : sequence of sequence of str
        All rows of the file, each of the same length.
    header : bool
        Whether the first row is declared to be a header, with the names of the levels.
    used : collection of str
        Values that occur in the records or the population.
    names : collection of str
        Names of the attribute.

    Raises
    ------
    InputError
        If `header` is true and a label of the first row is also the label of another row at the same level. Or if
        `header` is false and the first row looks like a header: its value is not in `used`, there are other rows, and
        it shares no label with them. Moreover, its first cell is the name of the attribute or a usual name of the
        column of values; or its cells all differ, and it is the only row without the label that all others have at the
        last level.
    """
    first, rest, found = rows[0], rows[1:], ";".join(rows[0])
    labels = (label for level, label in enumerate(first) if level and label in {row[level] for row in rest})
    shared = next(labels, None)
    named = first[0].casefold() in {name.casefold() for name in names} or _VALUE_HEADER.fullmatch(first[0])
    top_is_one = len(first) > 1 and len({row[-1] for row in rest}) == 1 and len(set(first)) == len(first)
    is_unlike = shared is None and first[0] not in used and (named or top_is_one)
    label = f"names of levels; {shared!r} is also a label of another row (remove header = true)"
    value = f"the row of a value; no record has {first[0]!r}, and no other row has the same labels (set header = true)"
    looks = "the first row looks like a header, but would be read as a value"
    refuse_first(
        (header and shared is not None, "the first row is the row of a value, not a header", "row 1", found, label),
        (not header and rest and is_unlike, looks, "row 1", found, value),
    )

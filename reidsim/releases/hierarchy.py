"""Generalization hierarchies of values, rules for their levels, and dates in many notations.

Hierarchy files have the format of ARX: one row per value, one column per level.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among, require_distinct
from reidsim.core.tables import DELIMITERS, read_table
from reidsim.core.wording import whole_number
from reidsim.populations.population import Attribute

# Label of a suppressed value.
SUPPRESSED = "*"
# Usual names of the column of values.
_VALUE_HEADER = re.compile(r"(values?|levels?|lvl)[ _-]?0?", re.IGNORECASE)

DayOrder = Literal["day-month", "month-day"]

# First and last year of a date.
FIRST_YEAR, LAST_YEAR = 1800, 2199
# Day 0 of spreadsheets, and the last day that is read from a number of days. Numbers must have five digits.
_SERIAL_DAY_0, _LAST_SERIAL_DAY = date(1899, 12, 30), date(2099, 12, 31)

_TIME = r"(?:[T ]\d{1,2}(?::\d{2}){0,2}(?:\.\d+)?(?: ?[AaPp][Mm])?(?:Z|[+-]\d{2}:?\d{2})?)?"
# Notations of a day, of which each is the only one that matches its texts.
_DAYS = [
    re.compile(pattern + _TIME)
    for pattern in (
        r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<year>\d{4}|\d{2})",
        r"(?P<day>\d{1,2})[. -]*(?P<name>[^\W\d_]{3,9})[. -]*(?P<year>\d{4}|\d{2})",
        r"(?P<name>[^\W\d_]{3,9})[. ]*(?P<day>\d{1,2}),? +(?P<year>\d{4})",
    )
]
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_SERIAL = re.compile(r"(\d{5})(?:[.,]\d+)?")
_YEAR = re.compile(r"(\d{4})(?:[.,]0+|-(?P<month>0[1-9]|1[0-2]))?")

# Names of each month in English and German; abbreviations need at least three letters.
_MONTHS = (
    "january januar jänner",
    "february februar",
    "march märz maerz mrz",
    "april",
    "may mai",
    "june juni",
    "july juli",
    "august",
    "september",
    "october oktober",
    "november",
    "december dezember",
)

# Names of levels in a hierarchy of dates: a month, a year, or a number of years.
_LEVEL = re.compile(r"month|year|([2-9]|[1-9]\d+) years")
# Label of the group of values that are no date, at every level.
NOT_A_DATE = "not a date"


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
        If a level splits a group of the level below it, a label stands for entirely different values at another level,
        or a costless level is not between 1 and the last level.

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
        hierarchy, names = f"hierarchy of {self.attribute.name!r}", self.attribute.categories
        for level, (below, above) in enumerate(pairwise(self.groups), start=1):
            split = np.flatnonzero(self.parents(level - 1)[below] != above)
            if len(split):
                value = split[0]
                label = self.labels[level - 1][below[value]]
                other = np.flatnonzero((below == below[value]) & (above != above[value]))[0]
                found = f"{names[value]!r} and {names[other]!r} are in one group at level {level - 1} ({label!r}) "
                found += f"and in different groups at level {level}"
                expected = "groups that only merge from one level to the next"
                where = f"{hierarchy}, level {level}"
                raise InputError("hierarchy is not nested", where=where, found=found, expected=expected)
        self._refuse_borrowed_labels(hierarchy)
        where, expected = f"{hierarchy}, costless levels", f"a level from 1 to {self.n_levels - 1}"
        levels = self.costless_levels
        refuse_first(*((not 0 < lev < self.n_levels, "no such level", where, lev, expected) for lev in levels))

    def _refuse_borrowed_labels(self, hierarchy: str) -> None:
        """Check that groups with one label at several levels have values in common.

        Readers of a released file see labels without their levels. `hierarchy` begins the message.
        """
        # Level of each label, and the first value of its group.
        seen: dict[str, tuple[int, int]] = {}
        for level, (labels, groups) in enumerate(zip(self.labels, self.groups, strict=True)):
            _, first = np.unique(groups, return_index=True)
            for group, (label, value) in enumerate(zip(labels, first.tolist(), strict=True)):
                lower, other = seen.setdefault(label, (level, value))
                if groups[other] != group and label != SUPPRESSED:
                    names, where = self.attribute.categories, f"{hierarchy}, level {level}"
                    found = f"{label!r} for {names[value]!r}, and at level {lower} for {names[other]!r}"
                    expected = "a label that is not used for other values"
                    raise InputError("one label for different groups", where=where, found=found, expected=expected)

    def __repr__(self) -> str:
        return f"Hierarchy({self.attribute.name!r}, {len(self.labels)} levels)"

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
    def charged_sizes(self) -> NDArray[np.int64]:
        """Number of categories of each value's group for the information loss, shape (n_levels, n_values).

        At a costless level, they equal the sizes at the level below.
        """
        sizes = np.stack([np.bincount(level)[level] for level in self.groups]).astype(np.int64)
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

    @property
    def table(self) -> pd.DataFrame:
        """Label of each value at each level, as in a file of ARX: one row per value, one column per level."""
        levels = enumerate(zip(self.labels, self.groups, strict=True))
        return pd.DataFrame({level: np.array(labels, dtype=object)[groups] for level, (labels, groups) in levels})

    def counts(self, people: Mapping[str, int]) -> pd.DataFrame:
        """Return the size of each group at each level.

        Parameters
        ----------
        people : mapping of str to int
            Number of people, or rows, with each value; 0 if not given.

        Returns
        -------
        DataFrame
            Columns ``level``, ``group`` and ``above`` (labels of the group and of its group at the next level, empty at
            the last), ``values`` and ``people`` (numbers of values and of people in the group).
        """
        table, own = self.table, [people.get(value, 0) for value in self.attribute.categories]
        table[self.n_levels] = ""
        return pd.concat(
            [
                pd.DataFrame(
                    {"level": level, "group": table[level], "above": table[level + 1], "values": 1, "people": own}
                )
                .groupby(["level", "group", "above"], sort=False, as_index=False)
                .sum()
                for level in range(self.n_levels)
            ],
            ignore_index=True,
        )

    def regroup(self, level: int, labels: Collection[str], to: str) -> Hierarchy:
        """Return the hierarchy with groups of the level below together in one group of a level.

        Parameters
        ----------
        level : int
            Level of the group, at least 1.
        labels : collection of str
            Labels of the groups at the level below; at level 0, values.
        to : str
            Label of the group, which may be new at its level.

        Raises
        ------
        InputError
            If there is no such level or group, if a group of the next level would lose values to another one, whose
            label would no longer describe it, or as `Hierarchy`.

        Examples
        --------
        >>> job = Attribute("job", ("baker", "cook", "nurse"))
        >>> jobs = Hierarchy.from_labels(job, [["food", "food", "health"], ["*", "*", "*"]])
        >>> jobs.regroup(1, ["cook"], "health").labels[1], jobs.regroup(1, ["baker", "cook", "nurse"], "work").labels[1]
        (('food', 'health'), ('work',))
        """
        where = self._level(level)
        require_among("no such group", labels, self.labels[level - 1], where=where, shown=20)
        table = self.table
        moved = table[level - 1].isin(labels)
        table.loc[moved, level] = to
        if level + 1 < self.n_levels:
            above, problem = table.loc[table[level] == to, level + 1].unique(), f"joins groups of level {level + 1}"
            expected = f"values of one group of level {level + 1}, whose label would be wrong otherwise"
            hint = f"merge the groups of level {level + 1} first"
            if len(above) > 1:
                raise InputError(problem, where=where, found=listed(above), expected=expected, hint=hint)
        return self._from_table(table)

    def cut(self, level: int, points: Sequence[int]) -> Hierarchy:
        """Return the hierarchy with bands of whole numbers at a level, from one cut point to the next.

        Parameters
        ----------
        level : int
            Level of the bands, at least 1. Bands of other levels are unchanged and must still nest.
        points : sequence of int
            First number of each band, increasing; smaller numbers form a band of their own.

        Raises
        ------
        InputError
            If there is no such level, points do not increase, a value is not a whole number, or as `Hierarchy`.

        Examples
        --------
        >>> age = Attribute("age", ("", "17", "18", "64", "90"))
        >>> Hierarchy.from_labels(age, [["*"] * 5, ["*"] * 5]).cut(1, [18, 65]).labels[1]
        ('', '<18', '18-64', '65+')
        """
        where, expected = self._level(level), "increasing numbers, at least one"
        rises = all(low < high for low, high in pairwise(points))
        refuse_first((not (points and rises), "cut points do not increase", where, list(points), expected))
        ends = zip(points, [*(point - 1 for point in points[1:]), None], strict=True)
        bands = [f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}" for low, high in ends]
        present, levels = _present(self.attribute), self.table
        band_of = {
            value: [f"<{points[0]}", *bands][bisect.bisect(points, number)]
            for value, number in zip(present, whole_numbers(self.attribute, present), strict=True)
        }
        levels[level] = [band_of.get(value, "") for value in self.attribute.categories]
        return self._from_table(levels)

    def _level(self, level: int) -> str:
        """Return the name of a level above 0 in messages; refuse others."""
        where, expected = f"hierarchy of {self.attribute.name!r}", f"a level from 1 to {self.n_levels - 1}"
        refuse_first((not 0 < level < self.n_levels, "no such level", where, level, expected))
        return f"{where}, level {level}"

    def _from_table(self, table: pd.DataFrame) -> Hierarchy:
        levels, costless = table.iloc[:, 1:].T.to_numpy().tolist(), sorted(self.costless_levels)
        return Hierarchy.from_labels(self.attribute, levels, costless_levels=costless)


def require_rows_of_values(rows: Sequence[Sequence[str]]) -> None:
    """Check that a hierarchy table has rows of equal length, at most one per value.

    Parameters
    ----------
    rows : sequence of sequence of str
        One row per value, one column per level, without a header; the first column holds the values.

    Raises
    ------
    InputError
        If a row has another length than the first, or a value has two rows; the message names the first such row.
    """
    row_of: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
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
    if lacking := uncovered(attribute.categories, rows):
        problem, where = "value missing from its hierarchy", f"hierarchy of {attribute.name!r}"
        expected = f"a row for each of the {attribute.size} values of the attribute; {len(lacking)} have no row"
        hint = f"the hierarchy has rows for {listed(by_value)}"
        raise InputError(problem, where=where, found=lacking[0], expected=expected, hint=hint)
    table = [by_value[category] for category in attribute.categories]
    levels = [[row[level] for row in table] for level in range(1, len(table[0]))]
    return Hierarchy.from_labels(attribute, levels, costless_levels=costless_levels)


def uncovered(values: Iterable[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the values without a row in the table of a hierarchy; see `hierarchy_from_rows`."""
    covered = {row[0] for row in rows}
    return [value for value in values if value not in covered]


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
        If `header` is true, and a label of the first row is also the label of another row at the same level; the first
        cell, which has the value, does not count. If `header` is false, and the first row looks like a header: its
        first cell is not in `used`, there are other rows, and it shares no label with them at the same level.
        Moreover, its first cell is the name of the attribute or a usual name of the column of values; or its cells all
        differ, and all other rows have the same label at the last level.
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


def interval_levels(
    attribute: Attribute, widths: Sequence[int], *, start: int | None = None, absorb_remainder: bool = True
) -> list[list[str]]:
    """Return labels of whole numbers by intervals of growing width.

    Parameters
    ----------
    attribute : Attribute
        Categories are integers; a trailing ``+`` (``"90+"``: 90 or more) is allowed. The empty category (a missing
        value) has a separate group.
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
        The last interval ends with the largest category. With a category such as ``"90+"``, it has no upper bound
        (``"85+"``) and includes all numbers from this category on. The empty category keeps the empty label.

    Raises
    ------
    InputError
        If a category is not a whole number or is below `start`, all are missing, or the widths do not nest.
    """
    present = _present(attribute)
    number_of = dict(zip(present, whole_numbers(attribute, present), strict=True))
    lowest, top, levels = min(number_of.values()), max(number_of.values()), []
    low = lowest if start is None else start
    open_from = [number for value, number in number_of.items() if value.endswith("+")]
    last = min(open_from, default=top)
    nested, expected = "intervals do not nest", "increasing widths, each a multiple of the previous width"
    refuse_first(
        (lowest < low, "value below the first interval", None, lowest, f"{low} or more"),
        *((b <= a or b % a, nested, "widths", list(widths), expected) for a, b in pairwise(widths)),
    )
    for width in widths:
        starts = list(range(low, last + 1, width))
        if absorb_remainder and len(starts) > 1 and last - starts[-1] + 1 < width:
            starts.pop()
        ends = [following - 1 for following in starts[1:]] + [last]
        names = [f"{first}-{end}" if first < end else str(first) for first, end in zip(starts, ends, strict=True)]
        if open_from:
            names[-1] = f"{starts[-1]}+"
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
    length, where, levels = lengths[0], f"attribute {attribute.name!r}", []
    falls = [*digits] == sorted({kept for kept in digits if 0 < kept < length}, reverse=True)
    expected = f"decreasing numbers from 1 to less than {length}"
    unused = [prefix for prefix in pool if not any(c.startswith(prefix) for c in attribute.categories)]
    refuse_first(
        (len(lengths) > 1, "codes of different lengths", where, lengths, "codes of one length"),
        (not falls, "prefix lengths do not decrease", "digits", list(digits), expected),
        (len({*map(len, pool)}) > 1, "prefixes of different lengths", "pool", list(pool), "prefixes of one length"),
        *((True, "no code has this prefix", "pool", prefix, None) for prefix in unused),
    )
    for kept in digits:
        # The label has brackets even for a single prefix, to distinguish it from codes outside the pool with this
        # prefix.
        pooled = f"[{', '.join(sorted({prefix[:kept].ljust(length, '*') for prefix in pool}))}]"
        in_pool = tuple(prefix for prefix in pool if kept <= len(prefix))
        levels.append(
            [
                pooled if category.startswith(in_pool) else category and category[:kept].ljust(length, "*")
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
    levels = [list(attribute.categories)]
    for number, level in enumerate(groups, start=1):
        merged, where = dict[str, str](), f"groups, level {number}"
        for members in level:
            require_among("not a category of the attribute", members, attribute.categories, where=where)
            require_distinct("category in two groups", (*members, *merged), where=where)
            merged |= dict.fromkeys(members, " or ".join(members))
        finer = zip(attribute.categories, levels[-1], strict=True)
        levels.append([merged.get(category, label) for category, label in finer])
    return levels[1:]


def whole_numbers(attribute: Attribute, categories: Sequence[str]) -> list[int]:
    """Return categories of an attribute as whole numbers, in their order; ``"90+"`` is 90.

    Like other text, the empty category (a missing value) is refused.

    Raises
    ------
    InputError
        If a category is not a whole number.
    """
    numbers = {each: whole_number(each) for each in categories}
    where, expected = f"attribute {attribute.name!r}", "a whole number, such as 48 or 90+"
    refuse_first(*((n is None, "not a whole number", where, each, expected) for each, n in numbers.items()))
    return [number for number in numbers.values() if number is not None]


def _present(attribute: Attribute) -> list[str]:
    """Return the categories of an attribute, except the empty text (a missing value).

    Raises
    ------
    InputError
        If every value is missing.
    """
    present = [category for category in attribute.categories if category]
    if not present:
        raise InputError("every value is missing", where=f"attribute {attribute.name!r}")
    return present


class Day(NamedTuple):
    """A date, or the part of a date that a text determines.

    Attributes
    ----------
    calendar : str
        The date in the form ``1970-10-07``; ``1970-10`` or ``1970`` if the text gives no day or no month.
    way : {"day", "compact", "serial", "year"}
        Notation of the text: separate parts of a day, a day such as 19701007, the day number of a spreadsheet, or a
        year with or without a month.
    short_year : bool
        Whether the year in the text has two digits.
    order : {"day-month", "month-day", "either"} or None
        If the year is last and ``/`` or ``-`` separates the parts: the only possible order of day and month, or
        "either" if both orders are possible and give different days. None for other notations, and if both orders give
        the same day.
    """

    calendar: str
    way: Literal["day", "compact", "serial", "year"]
    short_year: bool = False
    order: DayOrder | Literal["either"] | None = None


@lru_cache(maxsize=2**16)
def read_day(text: str, order: DayOrder = "day-month", two_digit_years_from: int | None = None) -> Day | None:
    """Return the date that a text denotes; None if it is no date.

    Parameters
    ----------
    text : str
        A day such as ``1970-10-07``, ``07.10.1970``, ``10/7/70``, ``7 Oct 1970``, ``Oct 7, 1970`` or ``19701007``,
        possibly with the time of day (ignored); the number of days of a spreadsheet, in five digits; a year, or a year
        and a month such as ``1970-10``. Names of months are English or German. Years are 1800 to 2199.
    order : {"day-month", "month-day"}
        Order of day and month if ``/`` or ``-`` separates them and both orders are possible. With dots between them the
        day comes first. If only one order gives a date, the text is read in that order.
    two_digit_years_from : int, optional
        First of the hundred years that two digits denote; without it, texts with two-digit years are no dates.
    """
    found = next((found for pattern in _DAYS if (found := pattern.fullmatch(text))), None)
    if found is not None:
        return _written_day(found.groupdict(), order, two_digit_years_from)
    if found := _COMPACT.fullmatch(text):
        calendar = _day(*found.groups())
        return Day(calendar, "compact") if calendar else None
    if found := _SERIAL.fullmatch(text):
        day = _SERIAL_DAY_0 + timedelta(int(found[1]))
        return Day(day.isoformat(), "serial") if int(found[1]) >= 10_000 and day <= _LAST_SERIAL_DAY else None
    found = _YEAR.fullmatch(text)
    if found is None or not FIRST_YEAR <= int(found[1]) <= LAST_YEAR:
        return None
    return Day(text if found["month"] else found[1], "year")


def _written_day(parts: dict[str, str], order: DayOrder, two_digit_years_from: int | None) -> Day | None:
    """Return the day with these parts; None if it does not exist.

    The result is also None if the year has two digits and no century is given. `parts` are texts by name: ``day``,
    ``year`` and either ``month`` (number) or ``name`` (of the month); ``sign`` is the separator if the year is last.
    The other parameters are those of `read_day`.
    """
    year, is_short = int(parts["year"]), len(parts["year"]) == 2
    if is_short:
        if two_digit_years_from is None:
            return None
        year = two_digit_years_from + (year - two_digit_years_from) % 100
    month: str | int = parts.get("month", 0)
    if "name" in parts:
        begins = (any(name.startswith(parts["name"].lower()) for name in names.split()) for names in _MONTHS)
        month = next((at for at, is_month in enumerate(begins, 1) if is_month), 0)
    day_first = _day(year, month, parts["day"])
    # Only the notation with a sign and the year last has two possible orders.
    month_first = _day(year, parts["day"], month) if "sign" in parts else None
    calendar = day_first or month_first
    possible: DayOrder | Literal["either"] | None = None
    if parts.get("sign", ".") != "." and day_first != month_first:
        possible = "either" if day_first and month_first else "day-month" if day_first else "month-day"
        calendar = month_first if possible == "either" and order == "month-day" else calendar
    return Day(calendar, "day", is_short, possible) if calendar else None


def _day(year: str | int, month: str | int, day: str | int) -> str | None:
    """Return a date in the form of `Day.calendar`; None if it does not exist or its year is out of range."""
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.isoformat() if FIRST_YEAR <= found.year <= LAST_YEAR else None


def age_on(calendar: str, reference: date) -> int | None:
    """Return the age in years on a date.

    Parameters
    ----------
    calendar : str
        Date of birth in the form of `Day.calendar`. A missing day is taken as the 15th of the month; a missing month,
        as the first of July.
    reference : date
        Date on which the age is computed.

    Returns
    -------
    int or None
        Completed years; None for a birth after `reference`, or if `calendar` is no date.
    """
    if not _is_calendar(calendar):
        return None
    year, *month_and_day = map(int, calendar.split("-"))
    born = (*month_and_day, 15)[:2] if month_and_day else (7, 1)
    years = reference.year - year - ((reference.month, reference.day) < born)
    return years if years >= 0 else None


def date_levels(attribute: Attribute, levels: Sequence[str]) -> list[list[str]]:
    """Return labels of dates by ever longer parts of the calendar.

    Parameters
    ----------
    attribute : Attribute
        Categories are days such as ``1970-10-07``, months and years. Other values share one group, `NOT_A_DATE`; an
        empty value has a group of its own.
    levels : sequence of str
        Period of each level: ``"month"``, ``"year"`` or a number of years such as ``"5 years"``. Each is longer than
        the one before, and numbers of years are multiples of the one before.

    Returns
    -------
    list of list of str
        For each level, the label of each category, such as ``1970-10``, ``1970`` or ``1970-1974``. Periods of several
        years begin with a multiple of their length. A category without a month keeps its year at level "month".

    Raises
    ------
    InputError
        If a level is none of these, or its periods do not consist of whole periods of the level before.
    """
    expected = '"month", "year", or a number of years such as "5 years"'
    refuse_first(*((not _LEVEL.fullmatch(level), "no such level", "levels", level, expected) for level in levels))
    # A month has the span 0.
    spans = [int(level.split()[0]) if " " in level else int(level == "year") for level in levels]
    nested = all(finer < wider and not (finer and wider % finer) for finer, wider in pairwise(spans))
    expected = "months, then years, then multiples of the previous number of years"
    refuse_first((not nested, "date levels do not nest", "levels", list(levels), expected))
    years = [int(category[:4]) if _is_calendar(category) else None for category in attribute.categories]
    return [
        [_label(category, year, span) for category, year in zip(attribute.categories, years, strict=True)]
        for span in spans
    ]


def _is_calendar(text: str) -> bool:
    """Return whether a text is a date in the form of `Day.calendar`."""
    return (day := read_day(text)) is not None and day.calendar == text


def _label(category: str, year: int | None, span: int) -> str:
    if year is None:
        return NOT_A_DATE if category else category
    if span == 0:
        return category[:7]
    first = year // span * span
    return f"{year}" if span == 1 else f"{first}-{first + span - 1}"

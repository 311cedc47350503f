"""Draft a hierarchy for a column, as a rule if possible, else as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.core.errors import locating
from reidsim.core.tables import sniff_delimiter
from reidsim.drafts.names import MISSING_MARKS, NUMBER, WHOLE_NUMBER, as_number, bands_of, regions_of, wider_bands
from reidsim.drafts.profile import ColumnProfile
from reidsim.populations.population import Attribute, natural_categories
from reidsim.releases.hierarchy import NOT_A_DATE, SUPPRESSED, date_levels, hierarchy_from_rows, read_hierarchy_rows

# Levels between the value and its suppression, most useful first; the first ones that fit the limit are used.
_WIDTHS = {"age": (10, 5, 20, 40), "birth year": (10, 5, 20)}
_POSTAL_DIGITS = (3, 2, 4, 1)
_US_POSTAL_LENGTH = 5
_OF_BIRTHS = ("year", "10 years", "5 years", "month")
_OF_EVENTS = ("month", "year", "5 years", "10 years")
# Maximum, minimum and preferred number of intervals in the range of a numeric column.
_MOST_PARTS, _FEWEST_PARTS, _GOOD_PARTS = 100, 3, 10
# Categories below this share or this number of rows are rare. With many categories, a further level also groups
# categories below the larger share.
_RARE_SHARE, _RARE_ROWS, _UNCOMMON_SHARE = 0.01, 5, 0.05
_MANY_CATEGORIES = 10
# Characters kept of an ICD-10 code: category, and letter of the chapter.
_ICD_CODE, _ICD_PARTS = re.compile(r"[A-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?"), (3, 1)
# Maximum length of a group label that lists the group's members.
_LONGEST_GROUP = 60


@dataclass(frozen=True)
class DraftHierarchy:
    """Hierarchy of a column, in the form of a scenario.

    Parameters
    ----------
    rule : dict
        Hierarchy of the attribute as in the scenario, such as ``{"rule": "prefix", "digits": [3, 1]}``; without the
        file name of rule ``"table"``.
    n_levels : int
        Number of levels, including the unchanged value and suppression.
    comment : str
        Description of the levels for readers.
    rows : tuple of tuple of str
        Rows of the hierarchy file in ARX format, one per value; empty if a rule defines the hierarchy.
    unlike : tuple of str
        Values that do not fit the column's type; they form one group at every level above the unchanged value.
    left_out : int
        Number of levels dropped to reduce the number of strategies.
    """

    rule: dict[str, Any]
    n_levels: int
    comment: str
    rows: tuple[tuple[str, ...], ...] = ()
    unlike: tuple[str, ...] = ()
    left_out: int = 0


def draft_hierarchy(column: ColumnProfile, most_between: int) -> DraftHierarchy:
    """Draft the hierarchy of a column.

    Parameters
    ----------
    column : ColumnProfile
        Profile with at least one value. Missing values stay separate up to the suppression of all values; values that
        do not fit the column's type form one group.
    most_between : int
        Maximum number of levels between the value and its suppression.

    Returns
    -------
    DraftHierarchy
        With no level between the value and its suppression (rule ``"suppress"``) if `most_between` is 0 or less, or the
        column's type or values offer none.
    """
    make = _DRAFTS[column.kind][0] if column.kind in _DRAFTS and most_between > 0 else lambda *_: None
    return make(column, most_between) or DraftHierarchy({"rule": "suppress"}, 2, "suppressed")


def levels_wanted(column: ColumnProfile) -> int:
    """Return the preferred number of levels between the value and its suppression.

    The number is that of the column's kind, and one more for more than 10 categories; 0 for kinds without a hierarchy,
    such as free text.
    """
    return _DRAFTS.get(column.kind, (None, 0))[1] + (column.kind == "category" and column.distinct > _MANY_CATEGORIES)


def read_hierarchy(column: ColumnProfile, path: Path) -> DraftHierarchy:
    """Read the hierarchy of a column from a file with one row per value.

    The file has one column per level, as in ARX. A header is ignored, as is the row of a value that the column lacks.

    Raises
    ------
    InputError
        If the file cannot be read, a value of the column has no row, or groups are not nested.
    """
    rows = read_hierarchy_rows(path, delimiter=sniff_delimiter(path))
    with locating(path):
        categories = natural_categories(pd.Series(list(column.rows), dtype="str"))
        hierarchy = hierarchy_from_rows(Attribute(column.name, categories), rows)
    return DraftHierarchy({"rule": "table"}, hierarchy.n_levels, f"as in {path.name}", tuple(map(tuple, rows)))


def _of_numbers(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    """Draft intervals: of round widths for whole numbers, of two widths for other numbers.

    Whole numbers of ages and birth years have widths of their own, such as 5 and 10 years. At most `most` widths are
    used. The result is None if no width fits the range, as for equal values. Values that are neither numbers nor
    missing form one group.
    """
    whole = column.kind == "whole number"
    pattern = WHOLE_NUMBER if whole else NUMBER
    numbers = {label: as_number(label) for label in filter(pattern.fullmatch, column.rows)}
    lowest, span = min(numbers.values()), max(numbers.values()) - min(numbers.values()) + whole
    if whole:
        preferred = [width for width in _WIDTHS.get(column.concept or "", ()) if width < span] or _round_widths(span)
    else:
        # Two to twenty intervals, and half as many.
        preferred = [factor * 10.0 ** (math.floor(math.log10(span)) - 1) for factor in (10, 5) if span > 0]
    widths = sorted(preferred[:most])
    if not widths:
        return None
    width, start = widths[0], math.floor(lowest / widths[-1]) * widths[-1]
    comment = f"intervals of {_joined(f'{each:.12g}' for each in widths)}"
    if whole and len(numbers) == len(column.rows) - ("" in column.rows):
        rule = {"rule": "intervals", "widths": widths, "start": start}
        return DraftHierarchy(rule, len(widths) + 2, f"{comment}, suppressed")
    between: dict[str, list[str]] = {}
    for value, number in numbers.items():
        # Wider intervals are computed from the finer ones, so that rounding cannot break the nesting.
        part = math.floor((number - start) / width)
        steps = [round(each / width) for each in widths]
        ends = [(start + part // step * step * width, start + (part // step + 1) * step * width) for step in steps]
        between[value] = [f"{low}-{high - 1}" if whole else f"[{low:.12g}, {high:.12g})" for low, high in ends]
    return _table(column, between, comment, pools=True)


def _round_widths(span: float) -> list[float]:
    """Return round widths that give 3 to 100 intervals of whole numbers in a range.

    The width that gives about 10 intervals comes first. Widths are 5, 10, 50, 100 and so on; in a range below 15 they
    are 2 and 4, 2 alone, or none below 6. Each width is a multiple of the smaller ones.
    """
    if span < 5 * _FEWEST_PARTS:
        return [2, 4] if span >= 3 * _FEWEST_PARTS else [2] if span >= 2 * _FEWEST_PARTS else []
    chain = [step * 10**power for power in range(16) for step in (1, 5)]
    widths = [width for width in chain if width >= 2 and span / _MOST_PARTS <= width <= span / _FEWEST_PARTS]
    return sorted(widths, key=lambda width: abs(math.log(span / width / _GOOD_PARTS)))


def _of_dates(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    useful = _OF_BIRTHS if column.concept == "birth date" else _OF_EVENTS
    periods = {level: date_levels(Attribute(column.name, tuple(column.rows)), [level])[0] for level in useful}
    telling = [
        level
        for level, labels in periods.items()
        if len(set(labels) - {"", NOT_A_DATE}) > 1 and (column.found.certain or level != "month")
    ]
    levels = sorted(telling[:most], key=_OF_EVENTS.index)
    if not levels:
        return None
    unlike = tuple(value for value, year in zip(column.rows, periods["year"], strict=True) if year == NOT_A_DATE)
    others = f"; {len(unlike)} other values in one group" if unlike else ""
    comment = f"{_joined(levels)}, suppressed{others}"
    return DraftHierarchy({"rule": "dates", "levels": levels}, len(levels) + 2, comment, unlike=unlike)


def _of_codes(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    values, postal = column.values, column.concept == "postal code"
    longest = max(map(len, values))
    parts = [longest * part // (most + 1) or 1 for part in range(1, most + 1)]
    useful = _POSTAL_DIGITS if postal else _ICD_PARTS if all(map(_ICD_CODE.fullmatch, values)) else parts
    digits = sorted([kept for kept in dict.fromkeys(useful) if kept < longest][:most], reverse=True)
    if not digits:
        return None
    if min(map(len, values)) == longest and len(values) == len(column.rows) - ("" in column.rows):
        comment = f"first {_joined(digits)} characters, suppressed"
        return DraftHierarchy({"rule": "prefix", "digits": digits}, len(digits) + 2, comment)
    # Spreadsheets drop the leading zeros of postal codes.
    shortened = postal and longest == _US_POSTAL_LENGTH and all(map(str.isdecimal, values))
    between = {}
    for value in values:
        code = value.zfill(longest) if shortened else value
        between[value] = [f"{code[:kept]}*" if len(code) >= kept else code for kept in digits]
    return _table(column, between, f"first {_joined(digits)} characters")


def _of_categories(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    if (regions := regions_of(column.values)) is not None:
        labels = {value: found[-most:] for value, found in regions[1].items()}
        return _table(column, labels, f"{_joined(regions[0][-most:])} by name", pools=True)
    widths, wider = wider_bands(bands_of(column.values) or {}, most)
    if widths:
        return _table(column, wider, f"bands of {_joined(widths)}")
    groups = _rare_groups(column, most)
    if not groups:
        return None
    comment = f"by frequency: {_joined(f'{len(members)} rare values in one group' for members in groups)}"
    if len(groups) == 1 and sum(map(len, groups[0])) <= _LONGEST_GROUP:
        return DraftHierarchy({"rule": "groups", "groups": [groups]}, 3, f"{comment}, suppressed")
    name = _other_than(column.rows)
    between = {value: [name if value in members else value for members in groups] for value in groups[-1]}
    return _table(column, between, comment)


def _rare_groups(column: ColumnProfile, most: int) -> list[list[str]]:
    """Return the rare categories, and those that are rare by a larger share.

    A category is rare below 5 rows or 1 % of the rows; with more than 10 categories, a second group also has those
    below 5 %. If neither group can be used (all categories or none are rare) and there are more than 10 categories, the
    only group has the rarest ones that together have less than half of the rows.

    Parameters
    ----------
    column : ColumnProfile
        Column of categories; suspected misspellings are not counted as rare.
    most : int
        Maximum number of groups.

    Returns
    -------
    list of list of str
        Members of each group, sorted, from the smallest group to the largest; empty if there is no group.
    """
    # Suspected misspellings do not count as rare categories.
    counts = {value: column.rows[value] for value in column.values if value not in column.spellings}
    rows, many = sum(column.rows.values()), column.distinct > _MANY_CATEGORIES
    groups: list[list[str]] = []
    for share in [_RARE_SHARE, _UNCOMMON_SHARE][: most if many else 1]:
        members = sorted(label for label, count in counts.items() if count < max(_RARE_ROWS, share * rows))
        if 1 < len(members) < column.distinct - 1 and members not in groups:
            groups.append(members)
    if groups or not many:
        return groups
    # If all categories or none are rare, group the rarest categories that together have less than half of the rows.
    rarest = sorted(counts, key=lambda label: (counts[label], label))
    below = sum(sum(counts[label] for label in rarest[: at + 1]) < rows / 2 for at in range(len(rarest)))
    return [sorted(rarest[:below])] if 1 < below < column.distinct - 1 else []


def _table(
    column: ColumnProfile, between: Mapping[str, Sequence[str]], comment: str, *, pools: bool = False
) -> DraftHierarchy:
    """Create a hierarchy as a table with one row per value of the column.

    Values without labels in `between` stay separate until all are suppressed. If `pools` is true, this applies
    only to missing values, and other such values form one group if there are at least two of them.

    Parameters
    ----------
    column : ColumnProfile
        The column.
    between : mapping of str to sequence of str
        Labels of a value at the levels between it and its suppression, finest first, by value; at least one value.
    comment : str
        Description of these levels; suppression is added.
    pools : bool
        Whether values without labels are grouped.
    """
    values = natural_categories(pd.Series(list(column.rows), dtype="str"))
    groups = {label for labels in between.values() for label in labels}
    name = {value: value for value in values if value not in between}
    for value in name:
        # A value equal to a group label would join the group at one level and leave it at the next.
        while name[value] in groups:
            name[value] += " alone"
    unlike = tuple(value for value in name if pools and value not in MISSING_MARKS)
    comment += ", suppressed"
    if len(unlike) > 1:
        name |= dict.fromkeys(unlike, _other_than({*values, *groups, *name.values()}))
        comment += f"; {len(unlike)} other values in one group"
    n_between = len(next(iter(between.values())))
    rows = tuple((value, *between.get(value, [name.get(value, "")] * n_between), SUPPRESSED) for value in values)
    return DraftHierarchy({"rule": "table"}, n_between + 2, comment, rows, unlike)


def _other_than(labels: Collection[str]) -> str:
    """Return a label for the remaining values that is not in use.

    It is "other", followed by " values" as often as needed to differ from `labels`.
    """
    name = "other"
    while name in labels:
        name += " values"
    return name


def _joined(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts))


# Function that drafts the hierarchy of a column of each kind, and the preferred number of levels.
_DRAFTS: dict[str, tuple[Callable[[ColumnProfile, int], DraftHierarchy | None], int]] = {
    "whole number": (_of_numbers, 3),
    "number": (_of_numbers, 2),
    "date": (_of_dates, 4),
    "code": (_of_codes, 3),
    "category": (_of_categories, 1),
}

"""Draft a hierarchy for a column, as a rule if possible, else as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.drafts.bands import bands_of, wider_bands
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.regions import regions_of
from reidsim.drafts.values import MISSING_MARKS, NUMBER, WHOLE_NUMBER, as_number
from reidsim.errors import locating
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute
from reidsim.releases.calendar import NOT_A_DATE, date_levels
from reidsim.releases.hierarchy import SUPPRESSED, hierarchy_from_rows
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.releases.hierarchy_rules import interval_levels
from reidsim.tables import sniff_delimiter

# Levels between the value and its suppression, most useful first; the first ones that fit the limit are used.
_WIDTHS = {"age": (10, 5, 20, 40), "birth year": (10, 5, 20)}
_POSTAL_DIGITS = (3, 2, 4, 1)
_US_POSTAL_LENGTH = 5
# For long postal codes, such as 37203-1234.
_LONG_POSTAL_DIGITS, _LONG_POSTAL_LENGTH = (3, 5, 2), 9
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
        Inline table of the scenario, without the file name of rule ``"table"``.
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
        With no level between the value and its suppression if the column's type or values offer none.
    """
    make = _DRAFTS.get(column.kind)
    draft = None if make is None or most_between < 1 else make(column, most_between)
    return draft or DraftHierarchy({"rule": "suppress"}, 2, "suppressed")


def read_hierarchy(column: ColumnProfile, path: Path) -> DraftHierarchy:
    """Read the hierarchy of a column from a file with one row per value.

    The file has one column per level, as in ARX.

    Raises
    ------
    InputError
        If the file cannot be read, a value has no row, or groups are not nested.
    """
    rows = read_hierarchy_rows(path, delimiter=sniff_delimiter(path))
    with locating(path):
        hierarchy = hierarchy_from_rows(Attribute(column.name, natural_categories(pd.Series(column.labels))), rows)
    written = tuple(tuple(row) for row in rows)
    return DraftHierarchy({"rule": "table"}, hierarchy.n_levels, f"as in {path.name}", written)


def levels_wanted(column: ColumnProfile) -> int:
    """Return the preferred number of levels between the value and its suppression."""
    if column.kind == "category":
        return 2 if column.distinct > _MANY_CATEGORIES else 1
    return {"whole number": 3, "number": 2, "date": 4, "code": 3}.get(column.kind, 0)


def _of_whole_numbers(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    fitting = [label for label in column.labels if WHOLE_NUMBER.fullmatch(label)]
    numbers = [int(label.removesuffix("+")) for label in fitting]
    span = max(numbers) - min(numbers) + 1
    preferred = [width for width in _WIDTHS.get(column.concept or "", ()) if width < span] or _round_widths(span)
    widths = sorted(preferred[:most])
    if not widths:
        return None
    start = min(numbers) // widths[-1] * widths[-1]
    comment = f"intervals of {_joined(widths)}, suppressed"
    if len(fitting) == len([label for label in column.labels if label]):
        return DraftHierarchy({"rule": "intervals", "widths": widths, "start": start}, len(widths) + 2, comment)
    attribute = Attribute(column.name, natural_categories(pd.Series(fitting, dtype="str")))
    levels = interval_levels(attribute, widths, start=start)
    labels = {value: [level[at] for level in levels] for at, value in enumerate(attribute.categories)}
    return _table(column, len(widths), labels.get, comment, pools=True)


def _round_widths(span: int) -> list[int]:
    """Return round nested widths, with about `_GOOD_PARTS` intervals first."""
    if span < 3 * _FEWEST_PARTS:
        return [2] if span >= 2 * _FEWEST_PARTS else []
    if span < 5 * _FEWEST_PARTS:
        return [2, 4]
    chain = [step * 10**power for power in range(16) for step in (1, 5)]
    widths = [width for width in chain if width >= 2 and span / _MOST_PARTS <= width <= span / _FEWEST_PARTS]
    return sorted(widths, key=lambda width: abs(math.log(span / width / _GOOD_PARTS)))


def _of_numbers(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    numbers = {label: as_number(label) for label in column.labels if NUMBER.fullmatch(label)}
    span = max(numbers.values()) - min(numbers.values())
    if span <= 0:
        return None
    # The width gives two to twenty intervals; the next level gives half as many.
    steps = (1, 2)[-most:]
    width = 5 * 10.0 ** (math.floor(math.log10(span)) - 1)
    start = math.floor(min(numbers.values()) / (2 * width)) * 2 * width

    def between(number: float) -> list[str]:
        # Wider intervals are computed from the finer ones, so that rounding cannot break the nesting.
        part = math.floor((number - start) / width)
        froms = [part // step * step for step in steps]
        return [
            f"[{_short(start + at * width)}, {_short(start + (at + step) * width)})"
            for at, step in zip(froms, steps, strict=True)
        ]

    labels = {value: between(number) for value, number in numbers.items()}
    comment = f"intervals of {_joined(_short(width * s) for s in steps)}, suppressed"
    return _table(column, len(steps), labels.get, comment, pools=True)


def _of_dates(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    useful: tuple[str, ...] = _OF_BIRTHS if column.concept == "birth date" else _OF_EVENTS
    if not column.found.certain:
        useful = tuple(level for level in useful if level != "month")
    attribute = Attribute(column.name, column.labels)
    years = zip(column.labels, date_levels(attribute, ["year"])[0], strict=True)
    unlike = tuple(value for value, year in years if year == NOT_A_DATE)
    telling = [level for level in useful if len(set(date_levels(attribute, [level])[0]) - {"", NOT_A_DATE}) > 1]
    levels = sorted(telling[:most], key=_OF_EVENTS.index)
    if not levels:
        return None
    comment = f"{_joined(levels)}, suppressed"
    if unlike:
        comment += f"; {len(unlike)} other values in one group"
    return DraftHierarchy({"rule": "dates", "levels": levels}, len(levels) + 2, comment, unlike=unlike)


def _of_codes(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    lengths = {len(label) for label in column.values}
    longest = max(lengths)
    postal = column.concept == "postal code"
    if postal:
        useful = _POSTAL_DIGITS if longest < _LONG_POSTAL_LENGTH else _LONG_POSTAL_DIGITS
        digits = sorted([kept for kept in useful if kept < longest][:most], reverse=True)
    elif column.values and all(_ICD_CODE.fullmatch(value) for value in column.values):
        digits = [kept for kept in _ICD_PARTS if kept < longest][:most]
    else:
        digits = sorted({max(1, longest * part // (most + 1)) for part in range(1, most + 1)} - {longest}, reverse=True)
    if not digits:
        return None
    comment = f"first {_joined(digits)} characters, suppressed"
    if len(lengths) == 1 and len(column.values) == len([label for label in column.labels if label]):
        return DraftHierarchy({"rule": "prefix", "digits": digits}, len(digits) + 2, comment)
    # Spreadsheets drop the leading zeros of postal codes.
    shortened = postal and longest == _US_POSTAL_LENGTH and all(value.isdecimal() for value in column.values)

    def between(value: str) -> list[str] | None:
        if value in MISSING_MARKS:
            return None
        code = value.zfill(longest) if shortened else value
        return [f"{code[:kept]}*" if len(code) >= kept else code for kept in digits]

    return _table(column, len(digits), between, comment)


def _of_categories(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    regions = regions_of(column.values)
    if regions is not None:
        levels, found = regions.levels[-most:], regions.region_of
        comment = f"{_joined(levels)} by name, suppressed"

        def region(value: str) -> Sequence[str] | None:
            return found[value][-most:] if value in found else None

        return _table(column, len(levels), region, comment, pools=True)
    bands = bands_of(column.values)
    widths, labels = ([], {}) if bands is None else wider_bands(bands, most)
    if widths:
        return _table(column, len(widths), labels.get, f"bands of {_joined(widths)}, suppressed")
    rows = sum(column.counts)
    # Suspected misspellings do not count as rare categories.
    counts = {
        label: count
        for label, count in zip(column.labels, column.counts, strict=True)
        if label not in MISSING_MARKS and label not in column.spellings
    }
    shares = [_RARE_SHARE] if column.distinct <= _MANY_CATEGORIES else [_RARE_SHARE, _UNCOMMON_SHARE][:most]
    joined = []
    for share in shares:
        members = sorted(label for label, count in counts.items() if count < max(_RARE_ROWS, share * rows))
        if 1 < len(members) < column.distinct - 1 and members not in joined:
            joined.append(members)
    if not joined and column.distinct > _MANY_CATEGORIES:
        # If all categories or none are rare, group the rarest categories that together have less than half of the rows.
        rarest = sorted(counts, key=lambda label: (counts[label], label))
        below = [sum(counts[label] for label in rarest[: at + 1]) < rows / 2 for at in range(len(rarest))]
        joined = [sorted(rarest[: sum(below)])] if 1 < sum(below) < column.distinct - 1 else []
    if not joined:
        return None
    told = _joined(f"{len(members)} rare values in one group" for members in joined)
    comment = f"by frequency: {told}, suppressed"
    if len(joined) == 1 and sum(map(len, joined[0])) <= _LONGEST_GROUP:
        return DraftHierarchy({"rule": "groups", "groups": [joined]}, 3, comment)
    name = _other_than(column.labels)

    def between(value: str) -> list[str] | None:
        at = [value in members for members in joined]
        return [name if is_in else value for is_in in at] if any(at) else None

    return _table(column, len(joined), between, comment)


def _table(
    column: ColumnProfile,
    n_between: int,
    between: Callable[[str], Sequence[str] | None],
    comment: str,
    *,
    pools: bool = False,
) -> DraftHierarchy:
    """Create a hierarchy as a table.

    Values for which `between` returns None stay separate until all are suppressed. If `pools` is true, this applies
    only to missing values, and other such values form one group.
    """
    values = natural_categories(pd.Series(list(column.labels), dtype="str"))
    found = {value: between(value) for value in values}
    groups = {label for labels in found.values() for label in labels or ()}

    def alone(value: str) -> str:
        # A value equal to a group label would join the group at one level and leave it at the next.
        while value in groups:
            value += " alone"
        return value

    unlike = tuple(value for value in values if pools and not found[value] and value not in MISSING_MARKS)
    name = {value: alone(value) for value in values if not found[value]}
    if len(unlike) > 1:
        name |= dict.fromkeys(unlike, _other_than({*values, *groups, *name.values()}))
        comment += f"; {len(unlike)} other values in one group"
    rows = tuple((value, *(found[value] or [name[value]] * n_between), SUPPRESSED) for value in values)
    return DraftHierarchy({"rule": "table"}, n_between + 2, comment, rows, unlike)


def _other_than(labels: Collection[str]) -> str:
    """Return a label for the remaining values that is not in use."""
    name = "other"
    while name in labels:
        name += " values"
    return name


def _short(number: float) -> str:
    return f"{number:.12g}"


def _joined(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts))


_DRAFTS: dict[str, Callable[[ColumnProfile, int], DraftHierarchy | None]] = {
    "whole number": _of_whole_numbers,
    "number": _of_numbers,
    "date": _of_dates,
    "code": _of_codes,
    "category": _of_categories,
}

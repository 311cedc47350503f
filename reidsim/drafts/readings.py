"""Determine how raw values are read: missing-value codes, decimals and dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from reidsim.core.wording import counted
from reidsim.drafts.names import Hint
from reidsim.drafts.values import MISSING_MARKS, MOSTLY, NUMBER, as_number, sample_of, share_matching
from reidsim.releases.calendar import Day, DayOrder, read_day
from reidsim.scenarios.hierarchies import (
    THOUSANDS,
    DateReading,
    NumberReading,
    Reading,
    TextReading,
    Thousands,
    grouped_number,
)

# Codes of unknown values: repeated nines, and negative survey codes in columns without other negative numbers.
_NINES = re.compile(r"9{2,}([.,]0+)?")
_NEGATIVE_CODES = re.compile(r"-(7{1,4}|8{1,4}|9{1,4}|1)([.,]0+)?")
# Nines are missing-value codes if they are at least this multiple of the largest other value.
_FAR_BEYOND = 2
_UNKNOWN_POSTAL_CODES = ("00000", "99999")
_WITH_DECIMALS = re.compile(r"[+-]?\d+[.,]0+")
# Minimum number of distinct days with four-digit years from which the century of two-digit years is inferred.
_ENOUGH_DAYS = 20
# Any century works here, because only the validity of the day is checked; this one starts with a leap year.
_SOME_CENTURY = 2000
_UNCHANGED = TextReading(type="text")


@dataclass(frozen=True)
class FoundReading:
    """Rule by which the values of a column are read.

    Parameters
    ----------
    reading : Reading
        Reading for the scenario; raw values are used unchanged by default.
    notes : tuple of str
        Assumptions to report to the user.
    certain : bool
        Whether no date can be read in both orders of day and month, or other dates of the column show the order, all
        the same one.
    ordered : bool
        Whether some dates have an order of day and month that matters: known, as in 31/12/2020, or unknown, as in
        3/4/2020.
    """

    reading: Reading = _UNCHANGED
    notes: tuple[str, ...] = ()
    certain: bool = True
    ordered: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """Reading as a scenario section; empty if raw values are used unchanged.

        Keys are the type, the order of dates and other settings that differ from defaults.
        """
        if self.reading == _UNCHANGED:
            return {}
        return self.reading.model_dump(include={"type", "order"}) | self.reading.model_dump(exclude_defaults=True)

    @property
    def kind(self) -> str:
        """Type of the values after reading: text, number, date, or age of a birth date.

        It is one of "text", "number", "date" and "age".
        """
        return "age" if "age_on" in self.content else self.content.get("type", "text")


AS_WRITTEN = FoundReading()


def find_reading(rows: Mapping[str, int], hint: Hint | None, age_on: date | None = None) -> FoundReading:
    """Determine how the values of a column are read.

    Columns of dates are read as dates; numbers with thousands separators, or with decimals that are all zero, as
    numbers; all others as text. Codes for unknown values, such as 999, and marks such as ``NA`` are read as missing.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value as written, including missing ones.
    hint : Hint or None
        Concept inferred from the column name or values.
    age_on : date, optional
        Reference day for converting dates of birth to ages; used only if the concept is a birth date.

    Returns
    -------
    FoundReading
        The rule, with notes to the user about each assumption.
    """
    values = [value for value in rows if value not in MISSING_MARKS]
    # Nines that are no valid day (unlike 9/9/99) are unknown dates.
    nines = [value for value in values if set(value) & set("0123456789") == {"9"} and _day(value) is None]
    days = _days([value for value in values if value not in nines], hint)
    sign = None if days else _thousands(values)
    plain = {value: value if sign is None else value.replace(sign, "") for value in values}
    codes = set(nines if days else _unknown_numbers(list(plain.values()), hint))
    unknown = [value for value in values if plain[value] in codes]
    missing = tuple(sorted([*unknown, *MISSING_MARKS.intersection(rows)]))
    notes = [f"{counted(rows[value], 'row')} with {value!r} read as missing" for value in unknown]
    if days:
        return _date_reading(days, rows, missing, notes, hint, age_on)
    if sign is not None:
        example = next(value for value in values if sign in value)
        notes.append(f"numbers such as {example!r} are read as {plain[example]}")
    if sign is not None or (any(map(_WITH_DECIMALS.fullmatch, values)) and _are_whole(values)):
        return FoundReading(NumberReading(type="number", missing=missing, thousands=sign), tuple(notes))
    # An empty value is missing by default, so it needs no explicit reading.
    reading = _UNCHANGED if missing in ((), ("",)) else TextReading(type="text", missing=missing)
    return FoundReading(reading, tuple(notes))


def _thousands(values: Sequence[str]) -> Thousands | None:
    """Return the thousands separator of numbers; None if there is none.

    At least 90 % of the values must be numbers with groups of three digits, such as ``1,234`` or ``56``, and no other
    value a number, such as ``1234``. If every number has the same count of separators, the values may be codes or
    decimals, and the result is None.
    """
    for sign in THOUSANDS:
        if any(sign in value for value in values):
            numbers = {value: value.count(sign) for value in values if grouped_number(sign).fullmatch(value)}
            otherwise = any(value not in numbers and NUMBER.fullmatch(value) for value in values)
            if len(set(numbers.values())) > 1 and not otherwise and len(numbers) >= MOSTLY * len(values):
                return sign
    return None


def _are_whole(values: Sequence[str]) -> bool:
    """Return whether most values are numbers and all numbers are whole.

    At least 90 % must be numbers; ``2`` and ``2.0`` are whole.
    """
    whole = [as_number(value).is_integer() for value in sample_of(values) if NUMBER.fullmatch(value)]
    return all(whole) and len(whole) >= MOSTLY * len(sample_of(values))


def _unknown_numbers(values: Sequence[str], hint: Hint | None) -> list[str]:
    """Return the values of a column that are codes for an unknown value.

    For postal codes, these are 00000 and 99999. Otherwise they are repeated nines, in a column of numbers only if they
    are at least twice the largest other number; and negative survey codes such as -9 or -77, if no other number is
    negative (codes of one digit only in a column that outsiders may know, by `hint`). A column with fewer than two
    other values, or with some numbers and some text, has no such codes.
    """
    if hint is not None and hint.concept == "postal code":
        return [value for value in values if value in _UNKNOWN_POSTAL_CODES]
    nines = list(filter(_NINES.fullmatch, values))
    negative = list(filter(_NEGATIVE_CODES.fullmatch, values))
    others = [value for value in values if value not in nines and value not in negative]
    share = share_matching(NUMBER, others)
    if not (nines or negative) or len(others) < 2 or 1 - MOSTLY <= share < MOSTLY:
        return []
    if share < MOSTLY:
        return nines + [value for value in negative if len(value) > 2]
    numbers = [as_number(value) for value in others if NUMBER.fullmatch(value)]
    unknown = [value for value in nines if as_number(value) >= _FAR_BEYOND * max(numbers) > 0]
    if min(numbers) >= 0:
        named = hint is not None and hint.role == "known"
        unknown += [value for value in negative if named or len(value.split(".")[0]) > 2]
    return unknown


def _day(value: str) -> Day | None:
    return read_day(value, two_digit_years_from=_SOME_CENTURY)


def _days(values: Sequence[str], hint: Hint | None) -> dict[str, Day]:
    """Return the day of each valid date in a date column, by value as written.

    Years of two digits are read as 2000 to 2099, so only the validity of the day matters. The result is empty if fewer
    than 90 % of the values are dates. Plain numbers count as dates only if at least half of the values are written
    dates, or the concept is a date; plain years alone are no dates.
    """
    sample = sample_of(values)
    ways = Counter(day.way for day in map(_day, sample) if day is not None)
    dated = hint is not None and hint.concept in ("birth date", "date of an event")
    enough = ways["year"] < ways.total() if dated else ways["day"] * 2 >= len(sample)
    if not sample or not enough or ways.total() < MOSTLY * len(sample):
        return {}
    return {value: day for value in values if (day := _day(value)) is not None}


def _date_reading(
    days: Mapping[str, Day],
    rows: Mapping[str, int],
    missing: tuple[str, ...],
    notes: list[str],
    hint: Hint | None,
    age_on: date | None,
) -> FoundReading:
    """Return the reading of dates, with notes about assumed orders and centuries.

    Dates with two possible orders of day and month are read in the order of most other dates, day first if there are
    none. Two-digit years are read as the 100 years up to that of `age_on`; else up to the latest four-digit year, if
    at least 20 days have one; else up to this year.

    Parameters
    ----------
    days : mapping of str to Day
        Day of each valid date, by value as written.
    rows : mapping of str to int
        Number of rows with each value.
    missing : tuple of str
        Values read as missing.
    notes : list of str
        Notes so far, to which others are appended.
    hint : Hint or None
        Concept of the column.
    age_on : date or None
        Day on which ages are computed if the concept is a birth date.
    """
    orders = Counter(day.order for value, day in days.items() for _ in range(rows[value]))
    total = orders.total()
    both: tuple[DayOrder, DayOrder] = ("day-month", "month-day")
    order, other = sorted(both, key=lambda each: -orders[each])
    if orders["either"]:
        example = next(value for value, day in days.items() if day.order == "either")
        seen = f"{orders[order]:,} with order {order}, {orders[other]:,} with order {other}"
        seen = seen if orders[other] else f"{orders[order]:,} with this order"
        evidence = f"because of other dates: {seen}" if orders[order] else "without evidence for this order"
        notes.append(
            f"{orders['either']:,} of {total:,} dates, such as {example!r}, could have day and month in either order; "
            f"read as {order}, {evidence}"
        )
    serial = sum(rows[value] for value, day in days.items() if day.way == "serial")
    if serial:
        notes.append(f"{serial:,} of {total:,} dates are read as spreadsheet dates (days since 1899-12-30)")
    short = sum(rows[value] for value, day in days.items() if day.short_year)
    century = None
    if short:
        full = [int(day.calendar[:4]) for day in days.values() if not day.short_year]
        latest = max(full) if len(full) >= _ENOUGH_DAYS else date.today().year
        century = (latest if age_on is None else age_on.year) - 99
        notes.append(f"{short:,} of {total:,} dates have years of two digits, read as {century} to {century + 99}")
    reading = DateReading(
        type="date",
        missing=missing,
        order=order,
        two_digit_years_from=century,
        age_on=None if age_on is None or hint is None or hint.concept != "birth date" else age_on,
    )
    certain = not orders["either"] or bool(orders[order]) > bool(orders[other])
    return FoundReading(reading, tuple(notes), certain, orders[None] < total)

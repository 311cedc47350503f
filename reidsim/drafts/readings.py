"""Determine how raw values are read: missing-value codes, decimals and dates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from reidsim.drafts.names import Hint
from reidsim.drafts.values import MISSING_MARKS, MOSTLY, NUMBER, SAMPLE, as_number, share_matching
from reidsim.releases.calendar import Day, DayOrder, read_day
from reidsim.scenarios.reading_schema import (
    THOUSANDS,
    DateReading,
    NumberReading,
    Reading,
    TextReading,
    Thousands,
    grouped_number,
)
from reidsim.wording import counted

# Codes of unknown values: repeated nines, and negative survey codes in columns without other negative numbers.
_NINES = re.compile(r"9{2,}([.,]0+)?")
_NEGATIVE_CODES = re.compile(r"-(7{1,4}|8{1,4}|9{1,4}|1)([.,]0+)?")
# Nines are missing-value codes if they are at least this multiple of the largest other value.
_FAR_BEYOND = 2
_UNKNOWN_POSTAL_CODES = frozenset({"00000", "99999"})
_WITH_DECIMALS = re.compile(r"[+-]?\d+[.,]0+")
_DATED = ("birth date", "date of an event")
# Minimum number of distinct days with four-digit years from which the century of two-digit years is inferred.
_ENOUGH_DAYS = 20
# Any century works here, because only the validity of the day is checked; this one starts with a leap year.
_SOME_CENTURY = 2000


@dataclass(frozen=True)
class FoundReading:
    """Rule by which the values of a column are read.

    Parameters
    ----------
    reading : Reading or None
        Reading for the scenario; None if raw values are used unchanged.
    notes : tuple of str
        Assumptions to report to the user.
    certain : bool
        Whether the order of day and month is unambiguous.
    ordered : bool
        Whether the order of day and month in the reading affects some dates.
    """

    reading: Reading | None = None
    notes: tuple[str, ...] = ()
    certain: bool = True
    ordered: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """Reading as a scenario section; empty if raw values are used unchanged."""
        if self.reading is None:
            return {}
        always = {"type", "order"} & set(type(self.reading).model_fields)
        return self.reading.model_dump(include=always) | self.reading.model_dump(exclude_defaults=True)

    def label(self, value: str) -> str:
        """Return the label of a raw value; empty if it is missing."""
        return value if self.reading is None else self.reading.label(value)


AS_IT_IS = FoundReading()


def find_reading(rows: Mapping[str, int], hint: Hint | None, age_on: date | None = None) -> FoundReading:
    """Determine how the values of a column are read.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value.
    hint : Hint or None
        Concept inferred from the column name or values.
    age_on : date, optional
        Reference day for converting dates of birth to ages.
    """
    marks = [value for value in rows if value in MISSING_MARKS]
    values = [value for value in rows if value not in MISSING_MARKS]
    days = _days(values, hint)
    sign = None if days else _thousands(values)
    plain = {value: value if sign is None else value.replace(sign, "") for value in values}
    nobody_knows = set(_unknown_dates(values) if days else _unknown_numbers(list(plain.values()), hint))
    unknown = [value for value in values if plain[value] in nobody_knows]
    missing = tuple(sorted([*marks, *unknown]))
    notes = tuple(f"{counted(rows[value], 'row')} with {value!r} read as missing" for value in unknown)
    if days:
        reading, more, certain = _date_reading(days, rows, missing, hint, age_on)
        ordered = any(day.order is not None for day in days.values())
        return FoundReading(reading, notes + more, certain, ordered)
    if sign is not None:
        example = next(value for value in values if sign in value)
        notes += (f"numbers such as {example!r} are read as {plain[example]}",)
        return FoundReading(NumberReading(type="number", missing=missing, thousands=sign), notes)
    if any(_WITH_DECIMALS.fullmatch(value) for value in values) and _are_whole(values):
        return FoundReading(NumberReading(type="number", missing=missing), notes)
    # An empty value is missing by default, so it needs no explicit reading.
    return FoundReading(TextReading(type="text", missing=missing) if set(missing) - {""} else None, notes)


def _sample(values: Sequence[str]) -> Sequence[str]:
    return values if len(values) <= SAMPLE else values[:: len(values) // SAMPLE]


def _thousands(values: Sequence[str]) -> Thousands | None:
    """Return the thousands separator of numbers; None if there is none.

    If every number has the same count of separators, the values may be codes or decimals.
    """
    for sign in THOUSANDS:
        if not any(sign in value for value in values):
            continue
        numbers = [value for value in values if grouped_number(sign).fullmatch(value)]
        otherwise = any(NUMBER.fullmatch(value) for value in set(values).difference(numbers))
        several = len({value.count(sign) for value in numbers}) > 1
        if several and not otherwise and len(numbers) >= MOSTLY * len(values):
            return sign
    return None


def _are_whole(values: Sequence[str]) -> bool:
    """Return whether most values are numbers and all numbers are whole."""
    numbers = [value for value in _sample(values) if NUMBER.fullmatch(value)]
    return len(numbers) >= MOSTLY * len(_sample(values)) and all(as_number(value).is_integer() for value in numbers)


def _unknown_numbers(values: Sequence[str], hint: Hint | None) -> list[str]:
    """Return the values that are codes for an unknown value."""
    if hint is not None and hint.concept == "postal code":
        return [value for value in values if value in _UNKNOWN_POSTAL_CODES]
    nines = [value for value in values if _NINES.fullmatch(value)]
    negative = [value for value in values if _NEGATIVE_CODES.fullmatch(value)]
    others = [value for value in values if value not in nines and value not in negative]
    if not (nines or negative) or len(others) < 2:
        return []
    share = share_matching(NUMBER, _sample(others))
    if share < 1 - MOSTLY:
        return nines + [value for value in negative if len(value) > 2]
    if share < MOSTLY:
        return []
    numbers = [as_number(value) for value in others if NUMBER.fullmatch(value)]
    unknown = [value for value in nines if as_number(value) >= _FAR_BEYOND * max(numbers) > 0]
    if min(numbers) >= 0:
        named = hint is not None and hint.role == "known"
        unknown += [value for value in negative if named or len(value.split(".")[0]) > 2]
    return unknown


def _unknown_dates(values: Sequence[str]) -> list[str]:
    """Return the values that consist of nines and are no valid day (unlike 9/9/99)."""
    nines = [value for value in values if set(value) & set("0123456789") == {"9"}]
    return [value for value in nines if _any_century(value) is None]


def _days(values: Sequence[str], hint: Hint | None) -> dict[str, Day]:
    """Return the day of each valid date in a date column, for any century.

    The result is empty if the column does not hold dates. Plain numbers count as dates only if the
    column also holds written dates or its concept is a date.
    """
    unknown = set(_unknown_dates(values))
    sample = _sample([value for value in values if value not in unknown])
    found = Counter(None if day is None else day.way for day in map(_any_century, sample))
    dates = sum(number for way, number in found.items() if way is not None)
    dated = hint is not None and hint.concept in _DATED
    enough = found["day"] * 2 >= len(sample) if not dated else found["year"] < dates
    if not sample or not enough or dates < MOSTLY * len(sample):
        return {}
    days = {value: _any_century(value) for value in values if value not in unknown}
    return {value: day for value, day in days.items() if day is not None}


def _any_century(value: str) -> Day | None:
    return read_day(value, two_digit_years_from=_SOME_CENTURY)


def _date_reading(
    days: Mapping[str, Day], rows: Mapping[str, int], missing: tuple[str, ...], hint: Hint | None, age_on: date | None
) -> tuple[DateReading, tuple[str, ...], bool]:
    orders: Counter[str | None] = Counter()
    for value, day in days.items():
        orders[day.order] += rows[value]
    order: DayOrder = "month-day" if orders["month-day"] > orders["day-month"] else "day-month"
    certain = not orders["either"] or (orders["month-day"] > 0) != (orders["day-month"] > 0)
    notes = []
    total = sum(rows[value] for value in days)
    if orders["either"]:
        example = next(value for value, day in days.items() if day.order == "either")
        notes.append(
            f"{orders['either']:,} of {total:,} dates, such as {example!r}, could have day and month in either order; "
            f"read as {order}, {_evidence(orders, order)}"
        )
    serial = sum(rows[value] for value, day in days.items() if day.way == "serial")
    if serial:
        notes.append(f"{serial:,} of {total:,} dates are read as spreadsheet dates (days since 1899-12-30)")
    short = [value for value, day in days.items() if day.short_year]
    century = None
    if short:
        full = [int(day.calendar[:4]) for day in days.values() if not day.short_year]
        latest = max(full) if len(full) >= _ENOUGH_DAYS else date.today().year
        century = (latest if age_on is None else age_on.year) - 99
        many = sum(rows[value] for value in short)
        notes.append(f"{many:,} of {total:,} dates have years of two digits, read as {century} to {century + 99}")
    born = hint is not None and hint.concept == "birth date"
    reading = DateReading(
        type="date",
        missing=missing,
        order=order,
        two_digit_years_from=century,
        age_on=age_on.isoformat() if born and age_on is not None else None,
    )
    return reading, tuple(notes), certain


def _evidence(orders: Mapping[str | None, int], order: DayOrder) -> str:
    other = "day-month" if order == "month-day" else "month-day"
    if orders[order] and orders[other]:
        return f"because of other dates: {orders[order]:,} with order {order}, {orders[other]:,} with order {other}"
    return (
        f"because of other dates: {orders[order]:,} with this order"
        if orders[order]
        else "without evidence for this order"
    )

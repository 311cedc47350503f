"""Dates in many notations, ages on a date, and hierarchies of the calendar."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute

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

# Names of months in English and German; abbreviations need at least three letters.
_MONTHS = (
    ("january", "januar", "jänner"),
    ("february", "februar"),
    ("march", "märz", "maerz", "mrz"),
    ("april",),
    ("may", "mai"),
    ("june", "juni"),
    ("july", "juli"),
    ("august",),
    ("september",),
    ("october", "oktober"),
    ("november",),
    ("december", "dezember"),
)

# Names of levels in a hierarchy of dates: a month, a year, or a number of years.
_LEVEL = re.compile(r"month|year|([2-9]|[1-9]\d+) years")
# Label of the group of values that are no date, at every level.
NOT_A_DATE = "not a date"


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
    if is_short and two_digit_years_from is None:
        return None
    if is_short and two_digit_years_from is not None:
        year = two_digit_years_from + (year - two_digit_years_from) % 100
    month: str | int = parts.get("month", 0)
    if "name" in parts:
        begins = (any(name.startswith(parts["name"].lower()) for name in names) for names in _MONTHS)
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


def has_short_year(text: str) -> bool:
    """Return whether a text is a date with a two-digit year, such as ``10/7/70``."""
    return (read := read_day(text, two_digit_years_from=2000)) is not None and read.short_year


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
    spans = []
    for level in levels:
        found = _LEVEL.fullmatch(level)
        if found is None:
            raise InputError(
                "no such level",
                where="levels",
                found=level,
                expected='"month", "year", or a number of years such as "5 years"',
            )
        spans.append(0 if level == "month" else int(found[1] or 1))
    for finer, wider in itertools.pairwise(spans):
        if wider <= finer or (finer and wider % finer):
            expected = "months, then years, then multiples of the previous number of years"
            raise InputError("date levels do not nest", where="levels", found=list(levels), expected=expected)
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

"""Schema of the conversion of a column's values to labels.

Values are converted as text, numbers or dates before they are compared.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.releases.calendar import DayOrder, age_on, has_short_year, read_day
from reidsim.validation import Section

_WHOLE = re.compile(r"([+-]?\d+)[.,]0+")
# Signs between groups of three digits; the last two are non-breaking spaces.
Thousands = Literal[",", ".", "'", " ", "\u00a0", "\u202f"]
THOUSANDS: tuple[Thousands, ...] = get_args(Thousands)


@cache
def grouped_number(sign: Thousands) -> re.Pattern[str]:
    """Return the pattern of numbers with digits in groups of three.

    The groups are separated by `sign`. Numbers with at most three digits before the decimals match too.
    """
    marks = ".,".replace(sign, "")
    return re.compile(rf"[+-]?([1-9]\d{{0,2}}({re.escape(sign)}\d{{3}})+|\d{{1,3}})([{marks}]\d+)?")


class Reading(Section):
    """Keys shared by all types of reading.

    Attributes
    ----------
    missing
        values that mark a missing value; they are read and released as empty
    """

    missing: tuple[str, ...] = ()

    def label(self, value: str) -> str:
        """Return the label of a value; empty for a missing value."""
        label = value if value in self.missing else self._label(value)
        return "" if label in self.missing else label

    def _label(self, value: str) -> str:
        return value


class TextReading(Reading):
    """Values of a column read unchanged.

    Attributes
    ----------
    type
        values are read unchanged
    """

    type: Literal["text"]


class NumberReading(Reading):
    """Numbers and codes of a column.

    Zero decimals (`1.0` is read as `1`) and signs between groups of digits are removed.

    Attributes
    ----------
    type
        numbers are read without zero decimals (`1.0` as `1`); other values are read unchanged
    thousands
        separator between groups of three digits; with `","`, `1,012` is read as `1012`
    """

    type: Literal["number"]
    thousands: Thousands | None = None

    def _label(self, value: str) -> str:
        if self.thousands is not None and grouped_number(self.thousands).fullmatch(value):
            value = value.replace(self.thousands, "")
        found = _WHOLE.fullmatch(value)
        return value if found is None else found[1]


class DateReading(Reading):
    """Dates in any mixture of formats, read as ISO dates, years or ages.

    Attributes
    ----------
    type
        dates in any common format, spreadsheet day numbers and years are read as `1970-10-07` or `1970`; other values
        are read unchanged
    order
        order of day and month in dates with `/` or `-` that are valid in both orders
    two_digit_years_from
        first of the hundred years to which two-digit years belong
    age_on
        day, such as `"2024-06-30"`, on which dates of birth are converted to ages in whole years
    """

    type: Literal["date"]
    order: DayOrder = "day-month"
    two_digit_years_from: Annotated[int, Field(ge=1800, le=2100)] | None = None
    age_on: str | None = None

    @model_validator(mode="after")
    def _has_day(self) -> DateReading:
        if self.age_on is not None:
            self._reference()
        return self

    def _reference(self) -> date:
        try:
            return date.fromisoformat(str(self.age_on))
        except ValueError:
            raise InputError(
                "not a date", where="age_on", found=self.age_on, expected='a date such as "2024-06-30"'
            ) from None

    def _label(self, value: str) -> str:
        day = read_day(value, self.order, self.two_digit_years_from)
        if day is None and self.two_digit_years_from is None and has_short_year(value):
            raise InputError(
                "year of two digits",
                found=value,
                expected="key two_digit_years_from in reading, which sets the century",
            )
        if day is None or self.age_on is None:
            return value if day is None else day.calendar
        age = age_on(day.calendar, self._reference())
        # A person born after the day has no age on that day.
        return day.calendar if age is None else str(age)


ReadingSection = Annotated[TextReading | NumberReading | DateReading, Field(discriminator="type")]

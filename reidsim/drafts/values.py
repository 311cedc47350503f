"""What the values of a column look like: numbers, dates, codes, text, or something that names a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# Digits and at most two letters in a row, in up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")

# Ways to write a day, the commonest first; the longest part that `date_format` compares is the first 10 characters.
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y%m%d")
# The same with the day and the month in the other order.
_OTHER_ORDER = {"%d/%m/%Y": "%m/%d/%Y"}

# What stands for a value that is missing, besides nothing at all. They count as missing, and stay as they are.
MISSING_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", "."})

# What names or reaches a person whatever the column is called.
DIRECT_PATTERNS: dict[str, re.Pattern[str]] = {
    "e-mail address": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+"),
    "social security number": re.compile(r"\d{3}-\d{2}-\d{4}"),
    "phone number": re.compile(
        r"(?=(\D*\d){7,15}\D*$)(?!\d{4}-\d{2}-\d{2}$)"
        r"(\+\d{1,3}[ .-]?)?(\(\d{1,5}\)|\d{2,5})([ ./-]\d{2,5}){1,4}|\+\d{8,15}"
    ),
    "network address": re.compile(r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}"),
    "web address": re.compile(r"(https?://|www\.)\S+"),
}

# Values compared to tell what a column holds, and the share of them that must look alike.
SAMPLE = 5_000
# Values among which one shows in what ways days may be written.
_FIRST = 10
MOSTLY = 0.9


def share_matching(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    """Return the share of values that a pattern matches from end to end; 0 if there are none."""
    return sum(pattern.fullmatch(value) is not None for value in values) / max(len(values), 1)


def date_format(values: Sequence[str]) -> str | None:
    """Return the way in which values write a day, perhaps with the time of day after it; None if there is none.

    Nine of ten values must be written so; no other way fits more. Days that could be read in two orders give
    ``"%d/%m/%Y"`` if no value speaks against it.
    """
    candidates = [form for form in DATE_FORMATS if any(parse_date(value, form) for value in values[:_FIRST])]
    shares = {form: sum(parse_date(value, form) is not None for value in values) / len(values) for form in candidates}
    form = max(shares, key=shares.__getitem__, default="")
    return form if shares.get(form, 0) >= MOSTLY else None


def is_ambiguous_date(values: Sequence[str], form: str) -> bool:
    """Tell whether days could as well be read with the day and the month in the other order."""
    other = _OTHER_ORDER.get(form)
    return other is not None and all(parse_date(value, other) for value in values if parse_date(value, form))


def parse_date(value: str, form: str) -> datetime | None:
    """Return the day that a value begins with; None if it is not written in this way."""
    length = 8 if form == "%Y%m%d" else 10
    day, rest = value[:length], value[length:]
    if (rest and not re.fullmatch(r"[T ]\d{1,2}(:\d{2}){0,2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})?", rest)) or len(day) < 8:
        return None
    try:
        return datetime.strptime(day, form)
    except ValueError:
        return None


def direct_pattern(values: Sequence[str]) -> str | None:
    """Return what at least half of the values are, if it names or reaches a person."""
    for what, pattern in DIRECT_PATTERNS.items():
        if share_matching(pattern, values) >= 0.5:
            return what
    return None


def is_free_text(values: Sequence[str]) -> bool:
    """Tell whether values are sentences rather than categories: long, of many words, or over several lines."""
    if not values:
        return False
    words = sum(len(value.split()) for value in values) / len(values)
    length = sum(map(len, values)) / len(values)
    return words > 5 or length > 60 or max(map(len, values)) > 500 or any("\n" in value for value in values)


def as_number(value: str) -> float:
    """Return a value that `NUMBER` or `WHOLE_NUMBER` matches, whose decimals may follow a comma."""
    return float(value.removesuffix("+").replace(",", "."))

"""What the values of a column look like: numbers, dates, codes, text, or something that names a person."""

from __future__ import annotations

import re
from collections.abc import Sequence

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# Digits and at most two letters in a row, in up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")

# What stands for a value that is missing, besides nothing at all. They count as missing.
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
MOSTLY = 0.9


def share_matching(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    """Return the share of values that a pattern matches from end to end; 0 if there are none."""
    return sum(pattern.fullmatch(value) is not None for value in values) / max(len(values), 1)


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

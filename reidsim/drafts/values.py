"""What the values of a column look like: numbers, dates, codes or text."""

from __future__ import annotations

import re
from collections.abc import Sequence

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# Digits and at most two letters in a row, in up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")

# What stands for a value that is missing, besides nothing at all. They count as missing.
MISSING_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", "."})

# Values compared to tell what a column holds, and the share of them that must look alike.
SAMPLE = 5_000
MOSTLY = 0.9


def share_matching(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    """Return the share of values that a pattern matches from end to end; 0 if there are none."""
    return sum(pattern.fullmatch(value) is not None for value in values) / max(len(values), 1)


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

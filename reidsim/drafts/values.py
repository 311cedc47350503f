"""Classify column values as numbers, codes, text or missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# At least one digit, at most two letters in a row, and up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")

# Marks of missing values, including the empty cell.
MISSING_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", "."})

# Number of values examined to infer the type of a column, and the share of them that must match.
SAMPLE = 5_000
MOSTLY = 0.9


def share_matching(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    """Return the share of values that a pattern matches fully; 0 if there are none."""
    return sum(pattern.fullmatch(value) is not None for value in values) / max(len(values), 1)


def is_free_text(values: Sequence[str]) -> bool:
    """Return whether values are sentences: long, many words, or several lines.

    Values are long if they have more than 60 characters on average or one has more than 500; many words are more than 5
    on average.
    """
    if not values:
        return False
    words = sum(len(value.split()) for value in values) / len(values)
    length = sum(map(len, values)) / len(values)
    return words > 5 or length > 60 or max(map(len, values)) > 500 or any("\n" in value for value in values)


def as_number(value: str) -> float:
    """Convert a value that matches `NUMBER` or `WHOLE_NUMBER`, with comma or point."""
    return float(value.removesuffix("+").replace(",", "."))

"""What the columns of a table hold: their types, how many values they have, and which of them name people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from reidsim.drafts.names import Hint, hint_of
from reidsim.drafts.values import (
    CODE,
    MISSING_MARKS,
    MOSTLY,
    NUMBER,
    SAMPLE,
    WHOLE_NUMBER,
    date_format,
    direct_pattern,
    is_free_text,
    share_matching,
)

Kind = Literal["empty", "constant", "whole number", "number", "date", "code", "category", "free text", "identifier"]

# A column in which so many of the rows have a value of their own tells them apart, unless its name says otherwise.
_ALMOST_UNIQUE = 0.9
# In a table with fewer rows than that, values may differ by chance.
_FEW_ROWS = 20
# What the name of a column says, where digits with hyphens between them are none of a telephone.
_LIKE_PHONE_NUMBERS = ("postal code", "birth date", "date of an event")
# Codes of few values are categories: nothing is gained by shortening them.
_FEW_CODES = 10


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What one column holds.

    Parameters
    ----------
    name : str
    kind : str
        Type of the values, of those that are not missing; ``"identifier"`` if they name a person or a row.
    missing : int
        Rows in which nothing, or a mark such as ``NA``, stands.
    labels : tuple of str
        Different values that occur, missing ones included, without spaces around them.
    counts : tuple of int
        Rows with each of them.
    hint : Hint or None
        What the name says.
    reason : str
        Why the column is taken for an identifier; empty if it is not.
    """

    name: str
    kind: Kind
    missing: int
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    hint: Hint | None
    reason: str = ""

    @property
    def values(self) -> list[str]:
        """Different values that occur, missing ones aside."""
        return [label for label in self.labels if label not in MISSING_MARKS]

    @property
    def distinct(self) -> int:
        """Number of different values, missing ones aside."""
        return len(self.labels) - sum(mark in MISSING_MARKS for mark in self.labels)

    @property
    def concept(self) -> str | None:
        """What the name says the column holds, such as ``"age"``; None if it says nothing."""
        return None if self.hint is None else self.hint.concept

    @property
    def is_direct(self) -> bool:
        """Whether the column names or reaches a person by itself."""
        return self.kind == "identifier"


def profile_table(frame: pd.DataFrame) -> tuple[ColumnProfile, ...]:
    """Tell what every column of a table of text holds.

    Parameters
    ----------
    frame : DataFrame
        As `reidsim.tables.read_table` returns it.

    Returns
    -------
    tuple of ColumnProfile
        In the order of the table.
    """
    return tuple(_profile(str(name), frame[name]) for name in frame.columns)


def _profile(name: str, column: pd.Series[str]) -> ColumnProfile:
    counted = compute.value_counts(pa.chunked_array(pa.array(column, type=pa.large_string())))
    labels = tuple(counted.field("values").to_pylist())
    counts = tuple(counted.field("counts").to_pylist())
    missing = sum(count for label, count in zip(labels, counts, strict=True) if label in MISSING_MARKS)
    values = [label for label in labels if label not in MISSING_MARKS]
    hint = hint_of(name)
    kind, reason = kind_of(values, len(column) - missing, hint)
    return ColumnProfile(name, kind, missing, labels, counts, hint, reason)


def kind_of(values: Sequence[str], present: int, hint: Hint | None) -> tuple[Kind, str]:
    """Return the type of a column, and why it is an identifier if it is one.

    Parameters
    ----------
    values : sequence of str
        Different values, missing ones aside.
    present : int
        Rows that have one.
    hint : Hint or None
        What the name of the column says.
    """
    if not values:
        return "empty", ""
    if hint is not None and hint.role == "direct":
        return "identifier", f"its name says {hint.concept}"
    if len(values) == 1:
        return "constant", ""
    sample = values if len(values) <= SAMPLE else values[:: len(values) // SAMPLE]
    kind = _kind_of_values(sample, hint)
    pattern = direct_pattern(sample) if kind in ("code", "category", "free text") else None
    if pattern == "phone number" and hint is not None and hint.concept in _LIKE_PHONE_NUMBERS:
        pattern = None
    if pattern is not None:
        return "identifier", f"its values look like: {pattern}"
    unique = present >= _FEW_ROWS and len(values) >= _ALMOST_UNIQUE * present
    if unique and hint is None and kind in ("whole number", "code", "category"):
        return "identifier", "almost every row has another value"
    return kind, ""


def _kind_of_values(sample: Sequence[str], hint: Hint | None) -> Kind:
    postal = hint is not None and hint.concept == "postal code"
    dated = hint is not None and hint.concept in ("birth date", "date of an event")
    form = date_format(sample)
    if form is not None and (form != "%Y%m%d" or dated):
        return "date"
    whole = share_matching(WHOLE_NUMBER, sample) >= MOSTLY
    if whole and (postal or _padded(sample)):
        return "code"
    if whole:
        return "whole number"
    if share_matching(NUMBER, sample) >= MOSTLY:
        return "number"
    if is_free_text(sample):
        return "free text"
    if postal or (len(sample) > _FEW_CODES and share_matching(CODE, sample) >= MOSTLY and max(map(len, sample)) <= 20):
        return "code"
    return "category"


def _padded(sample: Sequence[str]) -> bool:
    """Tell whether numbers are codes of one length, as leading zeros show."""
    return len({len(value) for value in sample}) == 1 and len(sample[0]) > 1 and any(v[0] == "0" for v in sample)

"""What the columns of a table hold: their types, how many values they have, and which of them name people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from reidsim.audit.identifier_formats import format_of
from reidsim.drafts.bands import bands_of
from reidsim.drafts.content import hint_by_values, merged_spellings, separator_of
from reidsim.drafts.names import NAMES, Hint, Names
from reidsim.drafts.readings import AS_IT_IS, FoundReading, find_reading
from reidsim.drafts.values import (
    CODE,
    MISSING_MARKS,
    MOSTLY,
    NUMBER,
    SAMPLE,
    WHOLE_NUMBER,
    is_free_text,
    share_matching,
)

Kind = Literal[
    "empty", "constant", "whole number", "number", "date", "code", "category", "set", "free text", "identifier"
]

# A column in which so many of the rows have a value of their own tells them apart, unless its name says otherwise.
_ALMOST_UNIQUE = 0.9
# In a table with fewer rows than that, values may differ by chance.
_FEW_ROWS = 20
# Concepts that other columns of a person's age or date of birth have.
_AGES = ("age", "birth date", "birth year")
# What the name of a column says, where digits with hyphens between them are none of a telephone.
_LIKE_TELEPHONES = ("postal code", "birth date", "date of an event")
# Codes of few values are categories: nothing is gained by shortening them.
_FEW_CODES = 10
# What names speak of that is a quantity, or has no order and is a category even where it is written in numbers.
_QUANTITIES = ("age", "birth year", "household", "income", "body", "birth date", "date of an event")
# What is coded by numbers of one length, the first digits of which say less.
_CODED = ("occupation", "place")
# Whole numbers of no more values are categories where the name says nothing.
_MOST_NOMINAL = 20


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What one column holds.

    Parameters
    ----------
    name : str
    kind : str
        Type of the values, of those that are not missing; ``"identifier"`` if they name a person or a row, ``"set"``
        if a cell holds several values.
    missing : int
        Rows in which nothing, or a mark such as ``NA``, stands.
    labels : tuple of str
        Different values that occur, as they are read, missing ones included, without spaces around them.
    counts : tuple of int
        Rows with each of them.
    hint : Hint or None
        What the name says, or the label or the values if the name says nothing.
    reason : str
        Why the column is taken for an identifier; empty if it is not.
    found : FoundReading
        How its values are read.
    spellings : dict of str to str
        Usual spelling of each value that is nearly spelled as another one, and is not merged with it.
    merged : dict of str to str
        Usual spelling that each value was merged with.
    separator : str
        Sign between the values of a cell, if it holds several.
    """

    name: str
    kind: Kind
    missing: int
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    hint: Hint | None
    reason: str = ""
    found: FoundReading = AS_IT_IS
    spellings: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""

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
        """What the column holds, such as ``"age"``; None if neither name nor values say it."""
        return None if self.hint is None else self.hint.concept

    @property
    def is_direct(self) -> bool:
        """Whether the column names or reaches a person by itself."""
        return self.kind == "identifier"


def profile_table(
    frame: pd.DataFrame, labels: Mapping[str, str] | None = None, age_on: date | None = None, names: Names = NAMES
) -> tuple[ColumnProfile, ...]:
    """Tell what every column of a table of text holds.

    Parameters
    ----------
    frame : DataFrame
        As `reidsim.tables.read_table` returns it.
    labels : mapping of str to str, optional
        What columns are called in full, which counts where their names say nothing.
    age_on : date, optional
        Day on which dates of birth become ages.
    names : Names
        Words that names and values are compared with.

    Returns
    -------
    tuple of ColumnProfile
        In the order of the table.
    """
    labels = labels or {}
    hints: dict[str, Hint | None] = {}
    for name in map(str, frame.columns):
        by_label = names.hint_of(labels.get(name, ""))
        hints[name] = names.hint_of(name) or (by_label and replace(by_label, source="label"))
    has_age = any(hint is not None and hint.concept in _AGES for hint in hints.values())
    return tuple(
        _profile(
            name,
            frame[column],
            hint,
            age_on,
            names,
            is_quantity=names.names_quantity(name) or names.names_quantity(labels.get(name, "")),
            has_age=has_age,
        )
        for column, (name, hint) in zip(frame.columns, hints.items(), strict=True)
    )


def _profile(
    name: str,
    column: pd.Series[str],
    hint: Hint | None,
    age_on: date | None,
    names: Names,
    *,
    is_quantity: bool,
    has_age: bool,
) -> ColumnProfile:
    counted = compute.value_counts(pa.chunked_array(pa.array(column, type=pa.large_string())))
    rows = dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))
    if hint is not None and hint.role == "direct":
        found = AS_IT_IS
    else:
        found = find_reading(rows, hint, age_on)
        if hint is None:
            present = {value: number for value, number in _read(rows, found).items() if value not in MISSING_MARKS}
            is_date = found.content.get("type") == "date"
            hint = hint_by_values(name, present, names, is_date=is_date, is_quantity=is_quantity, has_age=has_age)
            if hint is not None and is_date and age_on is not None:
                found = find_reading(rows, hint, age_on)
    read = _read(rows, found)
    is_date = found.content.get("type") == "date"
    if is_date and "age_on" in found.content:
        hint, is_date = Hint("age", "known", 1), False
    present = {value: number for value, number in read.items() if value not in MISSING_MARKS}
    missing = sum(read.values()) - sum(present.values())
    merged = {} if is_date else merged_spellings(present, names)
    for spelling, usual in merged.items():
        read[usual] += read.pop(spelling)
    values = [value for value in read if value not in MISSING_MARKS]
    kind, reason = kind_of(values, len(column) - missing, hint, is_date=is_date, is_quantity=is_quantity)
    may_be_sets = kind in ("code", "category", "free text") or (kind == "identifier" and hint is None)
    separator = separator_of(present) if may_be_sets and bands_of(values) is None else None
    if separator is not None:
        kind, reason = "set", ""
    return ColumnProfile(
        name, kind, missing, tuple(read), tuple(read.values()), hint, reason, found, merged=merged,
        separator=separator or "",
    )  # fmt: skip


def _read(rows: Mapping[str, int], found: FoundReading) -> Counter[str]:
    """Return the rows with each value as it is read."""
    read: Counter[str] = Counter()
    for value, number in rows.items():
        read[found.label(value)] += number
    return read


def kind_of(
    values: Sequence[str], present: int, hint: Hint | None, *, is_date: bool = False, is_quantity: bool = False
) -> tuple[Kind, str]:
    """Return the type of a column, and why it is an identifier if it is one.

    Parameters
    ----------
    values : sequence of str
        Different values, missing ones aside.
    present : int
        Rows that have one.
    hint : Hint or None
        What the name of the column says.
    is_date : bool
        Whether values were read as dates.
    is_quantity : bool
        Whether the name says that whole numbers count or measure something.
    """
    if not values:
        return "empty", ""
    if hint is not None and hint.role == "direct":
        return "identifier", f"by its {hint.source} ({hint.concept})"
    if len(values) == 1:
        return "constant", ""
    if is_date:
        return "date", ""
    sample = values if len(values) <= SAMPLE else values[:: len(values) // SAMPLE]
    if bands_of(values) is not None:
        return "category", ""
    kind = _kind_of_values(sample, hint)
    if kind == "whole number" and not is_quantity and _is_nominal(values, hint):
        coded = hint is not None and hint.concept in _CODED and len(values) > _FEW_CODES and _of_one_length(values)
        kind = "code" if coded else "category"
    telephones = hint is None or hint.concept not in _LIKE_TELEPHONES
    looks = format_of(sample, telephones=telephones) if kind in ("code", "category", "free text") else ""
    if looks:
        return "identifier", f"by its values ({looks})"
    unique = present >= _FEW_ROWS and len(values) >= _ALMOST_UNIQUE * present
    if unique and hint is None and kind in ("whole number", "code", "category"):
        return "identifier", "almost every row has another value"
    return kind, ""


def _kind_of_values(sample: Sequence[str], hint: Hint | None) -> Kind:
    postal = hint is not None and hint.concept == "postal code"
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


def _is_nominal(values: Sequence[str], hint: Hint | None) -> bool:
    """Tell whether whole numbers are codes without an order, so that intervals of them mean nothing."""
    return len(values) <= _MOST_NOMINAL if hint is None else hint.concept not in _QUANTITIES


def _of_one_length(values: Sequence[str]) -> bool:
    return len({len(value) for value in values}) == 1


def _padded(sample: Sequence[str]) -> bool:
    """Tell whether numbers are codes of one length, as leading zeros show."""
    return _of_one_length(sample) and len(sample[0]) > 1 and any(value[0] == "0" for value in sample)

"""Profile the columns of a table: type, number of values, and direct identifiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from reidsim.audit.identifiers import format_of
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

# Above this share of distinct values among present rows, a column without a meaningful name is an identifier.
_ALMOST_UNIQUE = 0.9
# In a table with fewer rows, all values may differ by chance.
_FEW_ROWS = 20
# If a column has one of these concepts, no other column is inferred to hold ages or birth dates.
_AGES = ("age", "birth date", "birth year")
# Concepts whose values may contain digits with hyphens that are not telephone numbers.
_LIKE_TELEPHONES = ("postal code", "birth date", "date of an event")
# Columns with at most this many codes are categories: shortening so few codes gains nothing.
_FEW_CODES = 10
# Concepts whose whole numbers are quantities. Whole numbers of other concepts have no order and are categories.
_QUANTITIES = ("age", "birth year", "household", "income", "body", "birth date", "date of an event")
# Concepts with hierarchical codes of equal length, whose prefixes are coarser categories.
_CODED = ("occupation", "place")
# If the column name suggests no concept, whole numbers with at most this many distinct values are categories.
_MOST_NOMINAL = 20


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """Profile of one column.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : str
        Type of the values that are not missing; ``"identifier"`` if they identify a person or a row, ``"set"`` if a
        cell holds several values.
    missing : int
        Number of rows with an empty cell or a missing-value mark such as ``NA``.
    labels : tuple of str
        Distinct values after reading, including missing ones, without surrounding spaces.
    counts : tuple of int
        Number of rows with each label.
    hint : Hint or None
        Meaning inferred from the column name or, if the name suggests none, from the label or the values.
    reason : str
        Reason why the column is an identifier; empty if it is not.
    found : FoundReading
        Rule by which the raw values are read.
    spellings : dict of str to str
        Usual spelling of each value whose spelling is close to another value and that is not merged with it.
    merged : dict of str to str
        Usual spelling into which each value was merged.
    separator : str
        Separator between the values of a cell if cells hold several values, else empty.
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
        """Distinct values, without missing ones."""
        return [label for label in self.labels if label not in MISSING_MARKS]

    @property
    def distinct(self) -> int:
        """Number of distinct values, without missing ones."""
        return len(self.labels) - sum(mark in MISSING_MARKS for mark in self.labels)

    @property
    def concept(self) -> str | None:
        """Concept of the column, such as ``"age"``; None if none was inferred."""
        return None if self.hint is None else self.hint.concept

    @property
    def is_direct(self) -> bool:
        """Whether the kind of the column is "identifier".

        Its values identify a person or a row, by name, format or near-uniqueness.
        """
        return self.kind == "identifier"


def profile_table(
    frame: pd.DataFrame, labels: Mapping[str, str] | None = None, age_on: date | None = None, names: Names = NAMES
) -> tuple[ColumnProfile, ...]:
    """Profile every column of a text table.

    Parameters
    ----------
    frame : DataFrame
        Text table from `reidsim.tables.read_table`.
    labels : mapping of str to str, optional
        Full label of each column, used if the column name suggests no concept.
    age_on : date, optional
        Reference day for converting dates of birth to ages.
    names : Names
        Vocabulary for column names and values.

    Returns
    -------
    tuple of ColumnProfile
        One profile per column, in table order.
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
        name,
        kind,
        missing,
        tuple(read),
        tuple(read.values()),
        hint,
        reason,
        found,
        merged=merged,
        separator=separator or "",
    )


def _read(rows: Mapping[str, int], found: FoundReading) -> Counter[str]:
    """Count the rows of each value after reading."""
    read: Counter[str] = Counter()
    for value, number in rows.items():
        read[found.label(value)] += number
    return read


def kind_of(
    values: Sequence[str], present: int, hint: Hint | None, *, is_date: bool = False, is_quantity: bool = False
) -> tuple[Kind, str]:
    """Return the type of a column, and the reason if it is an identifier.

    Parameters
    ----------
    values : sequence of str
        Distinct values, without missing ones.
    present : int
        Number of rows with a value.
    hint : Hint or None
        Meaning inferred for the column.
    is_date : bool
        Whether values were read as dates.
    is_quantity : bool
        Whether the column name indicates that whole numbers count or measure something.
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
        return "identifier", "almost every row has a different value"
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
    """Return whether whole numbers are codes without an order."""
    return len(values) <= _MOST_NOMINAL if hint is None else hint.concept not in _QUANTITIES


def _of_one_length(values: Sequence[str]) -> bool:
    return len({len(value) for value in values}) == 1


def _padded(sample: Sequence[str]) -> bool:
    """Return whether the numbers have equal length and some have leading zeros."""
    return _of_one_length(sample) and len(sample[0]) > 1 and any(value[0] == "0" for value in sample)

"""Define measures: result columns with label, format, definition and computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.int64]
WORDS = ("column", "label", "format", "definition")


@dataclass(frozen=True)
class Measure:
    """A number that summarizes an outcome.

    Parameters
    ----------
    column : str
        Column of result tables.
    label : str
        Label; begins with a capital letter.
    format : str
        Format string of values, as in `str.format`.
    definition : str
        Definition, without a final full stop.
    compute : callable, optional
        Function of an outcome per row and the number of records of each row; returns the measure over all records.
        Measures of tables other than outcomes have none.
    """

    column: str
    label: str
    format: str
    definition: str
    compute: Callable[[Any, Weights], float] | None = field(default=None, compare=False, repr=False)

    @property
    def words(self) -> dict[str, str]:
        """Column, label, format and definition as plain data."""
        return {name: getattr(self, name) for name in WORDS}

    @property
    def in_text(self) -> str:
        """The label inside a sentence: its first letter is in lower case."""
        return self.label[:1].lower() + self.label[1:]

    def text(self, value: float) -> str:
        """Return a value as text; a dash for NaN.

        Values within 1e-12 of 0 are shown as 0, without a minus sign.
        """
        return "-" if math.isnan(value) else self.format.format(0.0 if math.isclose(value, 0, abs_tol=1e-12) else value)


def columns_of(measures: Iterable[Measure]) -> list[str]:
    """Return the column of each measure, in order."""
    return [measure.column for measure in measures]


def measures_among(measures: Iterable[Measure], columns: Iterable[object]) -> dict[str, Measure]:
    """Return the measures whose columns a table contains, by column.

    They are in the order of `measures`.
    """
    present = set(columns)
    return {measure.column: measure for measure in measures if measure.column in present}


def measures_worded(words: Mapping[str, Mapping[str, Any]]) -> dict[str, Measure]:
    """Return measures without `compute`, by column.

    `words` maps each column to a mapping with ``label``, ``format`` and ``definition``.
    """
    return {column: Measure(column, **texts) for column, texts in words.items()}


def in_words(measures: Iterable[Measure], words: Mapping[str, Mapping[str, Any]]) -> tuple[Measure, ...]:
    """Return measures with other labels, formats or definitions.

    `words` maps columns to the texts that replace the measure's; measures without an entry are unchanged.
    """
    return tuple(replace(measure, **words.get(measure.column, {})) for measure in measures)

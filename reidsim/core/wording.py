"""Words and colours of results: numbers and names in sentences, measures with labels and definitions, a palette."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Colours of Okabe and Ito, which colour-blind readers can distinguish, without yellow, which is invisible on white.
BLACK, VERMILION, BLUE, GREEN = "#000000", "#D55E00", "#0072B2", "#009E73"
PURPLE, ORANGE, SKY_BLUE, GREY = "#CC79A7", "#E69F00", "#56B4E9", "#808080"

# Every number of 18 digits fits in 64 bits; Python refuses to convert strings of more than a few thousand digits.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class Code:
    """A name or command inside a sentence, displayed verbatim as code."""

    text: str


Inline = str | Code


def counted(number: float, one: str, several: str | None = None) -> str:
    """Return a number and its noun, in the singular or the plural, as ``1,200 rows``.

    Parameters
    ----------
    number : float
        Rounded to a whole number.
    one : str
        Noun in the singular.
    several : str, optional
        Noun in the plural; `one` with an s if not given.
    """
    text = f"{number:,.0f}"
    return f"{text} {one if text == '1' else several or f'{one}s'}"


def whole_number(text: str) -> int | None:
    """Return the whole number in a text of at most 18 digits; None if it is not one.

    Parameters
    ----------
    text : str
        May begin with a minus sign. A trailing plus sign is ignored: ``90+`` reads as 90. Spaces are not allowed.
    """
    digits = text.removesuffix("+").removeprefix("-")
    return int(text.removesuffix("+")) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def number_text(value: object) -> str:
    """Return a number as text for a table or a price.

    Whole numbers have no decimals; other numbers have up to six significant digits. Thousands are separated by commas.
    NaN becomes a dash, a boolean ``yes`` or ``no``, any other object its text.
    """
    if hasattr(value, "item"):
        # Convert a NumPy scalar to the Python type.
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "-" if math.isnan(value) else str(value)
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)


# Measures

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
    compute: Callable[[Any, NDArray[np.int64]], float] | None = field(default=None, compare=False, repr=False)

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

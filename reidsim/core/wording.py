"""Format numbers and names in sentences; read whole numbers from text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

# Every number of 18 digits fits in 64 bits; Python refuses to convert strings of more than a few thousand digits.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class Code:
    """A name or command inside a sentence, displayed verbatim as code."""

    text: str


Inline = str | Code
Sentence = tuple[Inline, ...]


def joined(parts: Iterable[Sentence], separator: str = ", ") -> list[Inline]:
    """Return the elements of several phrases as one list, separated by `separator`."""
    found: list[Inline] = []
    for part in parts:
        found += [separator, *part] if found else part
    return found


def codes(names: Iterable[object], separator: str = ", ") -> list[Inline]:
    """Return names as code, with a separator between them."""
    return joined(((Code(str(name)),) for name in names), separator)


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

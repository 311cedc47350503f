"""Numbers and names in sentences, and whole numbers in text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

# As many digits as every 64-bit number has; Python itself refuses to read thousands.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class Code:
    """A name or command inside a sentence, shown as it is."""

    text: str


Inline = str | Code
Sentence = tuple[Inline, ...]


def joined(parts: Iterable[Sentence], separator: str = ", ") -> list[Inline]:
    """Return parts of a sentence with a separator between them."""
    found: list[Inline] = []
    for part in parts:
        found += [separator, *part] if found else part
    return found


def codes(names: Iterable[object], separator: str = ", ") -> list[Inline]:
    """Return names as code with commas, or something else, between them."""
    return joined(((Code(str(name)),) for name in names), separator)


def counted(number: float, one: str, several: str | None = None) -> str:
    """Return a number with what it counts, in the singular or the plural.

    Parameters
    ----------
    number : float
        Written without decimals.
    one : str
        What one of them is called.
    several : str, optional
        What others are called; `one` with an s if not given.
    """
    text = f"{number:,.0f}"
    return f"{text} {one if text == '1' else several or f'{one}s'}"


def whole_number(text: str) -> int | None:
    """Return what a value of a user's file says as a whole number, of at most 18 digits; None if it is none.

    Parameters
    ----------
    text : str
        ``90+`` reads as 90.
    """
    digits = text.removesuffix("+").removeprefix("-")
    return int(text.removesuffix("+")) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def number_text(value: object) -> str:
    """Write a number of a table or a price: whole numbers whole, others with up to six digits."""
    if hasattr(value, "item"):
        # A number of numpy.
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

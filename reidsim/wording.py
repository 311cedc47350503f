"""Numbers in sentences, and whole numbers in text."""

from __future__ import annotations

# As many digits as every 64-bit number has; Python itself refuses to read thousands.
_MOST_DIGITS = 18


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

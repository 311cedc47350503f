"""Numbers in sentences."""

from __future__ import annotations


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

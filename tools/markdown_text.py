"""Pieces of the pages in Markdown that the package writes of itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph wrapped to the width of a page, with a hanging indent."""
    return fill(" ".join(text.split()), 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table."""
    return [_row(columns), _row(["---"] * len(columns)), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

"""What a page consists of, however it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reidsim.wording import Code, Inline


@dataclass(frozen=True)
class Term:
    """A quantity with its definition beside it."""

    name: str
    definition: str


@dataclass(frozen=True)
class Bar:
    """A share from 0 to 1, drawn as a bar beside its text."""

    share: float
    text: str


Cell = str | Code | Term | Bar


@dataclass(frozen=True)
class Heading:
    """A heading of the page's second level.

    Parameters
    ----------
    text : str
    screen_only : bool
        Whether it and everything after it is left out on paper.
    """

    text: str
    screen_only: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `kind` is ``"answer"`` or ``"warning"`` where they stand out."""

    parts: tuple[Inline, ...]
    kind: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[tuple[Inline, ...], ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Parameters
    ----------
    header : sequence of str or Code
    rows : sequence of sequence of cells
    caption : str
    text_columns : frozenset of int
        Columns of text; those of numbers stand on the right.
    """

    header: Sequence[Inline]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    text_columns: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Figure:
    """A PNG picture: where it is, its bytes, and what it shows, for those who do not see it."""

    path: Path
    data: bytes
    alt: str


@dataclass(frozen=True)
class Listing:
    """Text to copy, such as a command or a file, and the language that it is in."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Signature:
    """Lines to fill in by hand, each with its name."""

    fields: tuple[str, ...]


Block = Heading | Paragraph | Bullets | Table | Figure | Listing | Signature


@dataclass(frozen=True)
class Page:
    """A page: its title, lines below it, and what follows."""

    title: str
    subtitles: tuple[str, ...]
    blocks: tuple[Block, ...]


def paragraph(*parts: Inline, kind: str = "") -> Paragraph:
    """Return a paragraph of some parts."""
    return Paragraph(parts, kind)


def printable(text: str, keep: str = "") -> str:
    """Return text in which every character that cannot be shown, but those of `keep`, is written as its escape.

    Labels come from files, and may hold characters that reverse the direction of text or are no text at all.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in keep else repr(sign)[1:-1] for sign in text)


def shortened(text: str, limit: int = 160) -> str:
    """Return a text cut to `limit` characters, with a sign that it is."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."

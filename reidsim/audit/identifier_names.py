"""Names of columns by which people are named or reached, in the languages that such files come in."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Meaning = TypeVar("Meaning")

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case and plain letters: those of ``camelCase``, too."""
    plain = unicodedata.normalize("NFKD", name.translate(_UMLAUTS))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    return tuple(re.findall(r"[^\W_]+", parted.lower()))


def named_identifier(name: str) -> str:
    """Return what names a person or reaches one, if a column's name says that it holds it; else nothing.

    Examples
    --------
    >>> named_identifier("InsuranceNo")
    'insurance number'
    >>> named_identifier("page")
    ''
    """
    return meaning_of(name, _IDENTIFIERS) or ""


def is_numbered(name: str) -> bool:
    """Tell whether a name ends as those of numbers do that something is filed under, such as ``household_id``."""
    words = words_of(name)
    return bool(words) and words[-1] in _WORDS["numbered"]


def delimited(phrases: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return phrases as `meaning_of` takes them, each with what it means.

    Parameters
    ----------
    phrases : mapping of str to sequence of str
        By what they mean: words that stand next to each other; after ``=`` they are the whole name.
    """
    return [
        (f"= {phrase[1:]} =" if phrase.startswith("=") else f" {phrase} ", what)
        for what, alike in phrases.items()
        for phrase in alike
    ]


def meaning_of(name: str, phrases: Iterable[tuple[str, Meaning]]) -> Meaning | None:
    """Return the meaning of the first phrase that is in a column's name; None if none is."""
    text = f"= {' '.join(words_of(name))} ="
    return next((meaning for phrase, meaning in phrases if phrase in text), None)


_IDENTIFIERS = delimited(_WORDS["identifiers"])

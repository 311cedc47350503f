"""Recognize columns with direct identifiers by name, in several languages."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Meaning = TypeVar("Meaning")

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_CONNECTING = frozenset(_WORDS["connecting"])
# Minimum length of words that also match the end of compounds; shorter words match too many compounds by chance.
_LONG_WORD = 8
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name in lower case without accents.

    ``camelCase`` is split.
    """
    spelled = name.translate(_UMLAUTS)
    plain = unicodedata.normalize("NFKD", spelled.upper() if name.isupper() else spelled)
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    return tuple(re.findall(r"[^\W_]+", parted.lower()))


def plain_words(name: str) -> str:
    """Return the words of a name, separated by spaces.

    Connecting words such as ``of`` are removed.
    """
    words = words_of(name)
    return " ".join([word for word in words if word not in _CONNECTING] or words)


def named_identifier(name: str) -> str:
    """Return the kind of direct identifier that a column's name indicates.

    The result is empty if there is none.

    Examples
    --------
    >>> named_identifier("InsuranceNo")
    'insurance number'
    >>> named_identifier("page")
    ''
    """
    return meaning_of(name, _IDENTIFIERS) or ""


def is_numbered(name: str) -> bool:
    """Return whether a name ends like a record number, such as ``household_id``."""
    words = words_of(name)
    return bool(words) and words[-1] in _WORDS["numbered"]


def direct_phrases(more: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return all phrases that name direct identifiers, each with its meaning.

    They are the known phrases and the phrases in `more`.
    """
    return [*_IDENTIFIERS, *delimited(more)]


def delimited(phrases: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return phrases in the format that `meaning_of` requires, each with its meaning.

    Parameters
    ----------
    phrases : mapping of str to sequence of str
        Phrases by meaning. A phrase consists of neighbouring words, without connecting words such as ``of`` and
        ``de``; with a leading ``=``, it must be the whole name. A single long word also matches the end of compounds,
        such as ``geburtsdatum``.
    """
    found = []
    for meaning, synonyms in phrases.items():
        for phrase in synonyms:
            plain = plain_words(phrase)
            is_compound = " " not in plain and len(plain) >= _LONG_WORD
            whole = phrase.startswith("=")
            found.append((f"= {plain} =" if whole else f"{plain} " if is_compound else f" {plain} ", meaning))
    return found


def meaning_of(name: str, phrases: Iterable[tuple[str, Meaning]]) -> Meaning | None:
    """Return the meaning of the first phrase that occurs in a column's name.

    The result is None if no phrase occurs.
    """
    text = f"= {plain_words(name)} ="
    return next((meaning for phrase, meaning in phrases if phrase in text), None)


_IDENTIFIERS = delimited(_WORDS["identifiers"])

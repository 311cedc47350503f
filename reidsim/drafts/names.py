"""What the name of a column tells: a direct identifier, or something that other people may know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reidsim.audit.identifier_names import delimited, meaning_of, words_of
from reidsim.validation import read_toml

Role = Literal["direct", "known"]


@dataclass(frozen=True)
class Hint:
    """What a column's name says it holds.

    Parameters
    ----------
    concept : str
        Such as ``"age"``.
    role : str
        ``"direct"`` if it names or reaches a person, ``"known"`` if others may know it of a person.
    rank : int
        Which columns are taken first as quasi-identifiers: 1 for what voter lists and the like hold, up to 3.
    """

    concept: str
    role: Role
    rank: int = 0


def hint_of(name: str) -> Hint | None:
    """Return what a column's name says it holds; None if it says nothing.

    Examples
    --------
    >>> hint_of("DateOfBirth").concept
    'birth date'
    >>> hint_of("page") is None
    True
    """
    return meaning_of(name, _HINTS)


def names_quantity(name: str) -> bool:
    """Tell whether a column's name says that its whole numbers count or measure something, and are no codes."""
    return not _QUANTITIES.isdisjoint(words_of(name))


_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
_QUANTITIES = frozenset(_WORDS["quantities"])
_HINTS = [
    *((phrase, Hint(concept, "direct")) for phrase, concept in delimited(_WORDS["direct"])),
    *(
        (phrase, Hint(concept, "known", int(rank)))
        for rank, known in _WORDS["known"].items()
        for phrase, concept in delimited(known)
    ),
]

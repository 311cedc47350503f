"""Values of a category that are nearly spelled alike, as where several people typed them in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.regions import are_places

_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[-\s_.,/']+(?=[^\W\d_])")
# So many letters and digits allow one letter more, less, other or swapped with the next; so many, two. Shorter values
# are codes that differ in a letter and mean something else, such as AIAN and Asian.
_ONE_SLIP, _TWO_SLIPS = 5, 9
# A misspelling is so many times rarer than what was meant.
_RARER = 5
# Values compared by pairs; beyond it only those that differ in case, accents and signs are found.
_MOST_COMPARED = 3_000


def spelled(profile: ColumnProfile, *, merge: bool = False) -> ColumnProfile:
    """Return a column with the values that are nearly spelled alike told apart from the others, or merged.

    Parameters
    ----------
    profile : ColumnProfile
    merge : bool
        Count them as the usual spelling, instead of listing them.
    """
    if profile.kind != "category":
        return profile
    rows = dict(zip(profile.labels, profile.counts, strict=True))
    near = near_spellings({value: rows[value] for value in profile.values})
    if not merge:
        return replace(profile, spellings=near)
    together: Counter[str] = Counter()
    for value, number in rows.items():
        together[near.get(value, value)] += number
    merged = {value: near.get(usual, usual) for value, usual in profile.merged.items()} | near
    return replace(profile, labels=tuple(together), counts=tuple(together.values()), merged=merged)


def near_spellings(rows: Mapping[str, int]) -> dict[str, str]:
    """Return the usual spelling of each value that is nearly spelled as a more frequent one.

    Values that differ in upper and lower case, accents, and spaces or signs between letters are the same word. Besides,
    a rare value is near to one at least five times as frequent if a slip of the hand makes one of the other and both
    have five letters or more: a letter more, less, other or swapped with the next; two slips in nine letters or more.
    Numbers and signs in them must be the same, and two countries or states are never near.

    Parameters
    ----------
    rows : mapping of str to int
        Rows with each value, missing ones left out.

    Returns
    -------
    dict of str to str
        By spelling; usual ones are not among the keys.
    """
    order = sorted(rows, key=lambda value: (-rows[value], value))
    same: dict[str, list[str]] = defaultdict(list)
    for value in order:
        same[_plain(value)].append(value)
    usual = {value: group[0] for group in same.values() for value in group[1:]}
    words = {plain: sum(rows[value] for value in group) for plain, group in same.items()}
    if len(words) <= _MOST_COMPARED:
        for plain, meant in _slips(words).items():
            first = same[plain][0]
            if not are_places(first, same[meant][0]):
                usual |= dict.fromkeys(same[plain], same[meant][0])
    return {value: usual[value] for value in order if value in usual}


def _slips(words: Mapping[str, int]) -> dict[str, str]:
    """Return the word that was meant by each that is rare and near to it, the nearest and most frequent one."""
    names = [word for word in words if len(word) >= _ONE_SLIP]
    distances = cdist(names, names, scorer=OSA.distance, score_cutoff=2)
    meant: dict[str, str] = {}
    for at, word in enumerate(names):
        most = 2 if len(word) >= _TWO_SLIPS else 1
        near = [
            (int(distances[at, other]), -words[names[other]], names[other])
            for other in (distances[at] <= most).nonzero()[0].tolist()
            if words[names[other]] >= _RARER * words[word] and _signs(names[other]) == _signs(word)
        ]
        if near:
            meant[word] = min(near)[2]
    # What was meant may be a slip itself.
    return {word: _last(meant, word) for word in meant}


def _last(meant: Mapping[str, str], word: str) -> str:
    while word in meant:
        word = meant[word]
    return word


def _plain(value: str) -> str:
    """Return a value in lower case, without accents, without spaces and signs between letters and at its end."""
    parts = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(character for character in parts if not unicodedata.combining(character))
    return _BETWEEN_LETTERS.sub("", plain).rstrip(" .,;")


def _signs(word: str) -> str:
    """Return the numbers and signs of a value."""
    return "".join(character for character in word if not character.isalpha())

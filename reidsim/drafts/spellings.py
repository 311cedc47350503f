"""Find variant spellings of categories, as in manually entered data."""

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
# Minimum number of letters and digits for one slip (a letter inserted, deleted, replaced or swapped with the next), and
# for two slips. Shorter values may be codes that differ in one letter and have different meanings, such as AIAN and
# Asian.
_ONE_SLIP, _TWO_SLIPS = 5, 9
# A misspelling is at least this many times rarer than the intended spelling.
_RARER = 5
# Maximum number of values compared in pairs. Beyond it, only differences in case, accents and punctuation are found.
_MOST_COMPARED = 3_000


def spelled(profile: ColumnProfile, *, merge: bool = False) -> ColumnProfile:
    """Return the profile with variant spellings listed or merged.

    Parameters
    ----------
    profile : ColumnProfile
        Profile of a column; returned unchanged if its kind is not "category".
    merge : bool
        Whether to merge variants into the usual spelling instead of listing them.
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
    """Return the usual spelling of each variant spelling.

    Values that differ only in case, accents, and spaces or punctuation between letters are the same word. In addition,
    a rare value is a variant of a value at least five times as frequent, if one slip turns one into the other and both
    have at least five letters. A slip inserts, deletes or replaces a letter or swaps it with the next. Two slips are
    allowed from nine letters on. Numbers and punctuation must agree, and two countries or states are never variants.
    Slips are not searched for among more than 3,000 different words.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.

    Returns
    -------
    dict of str to str
        Usual spelling by variant; usual spellings are not keys.
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
    """Return the intended word of each rare variant: nearest, then most frequent.

    `words` holds the number of rows of each word. Chains of variants are followed to their end.
    """
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
    # The intended word may itself be a variant of another word.
    return {word: _last(meant, word) for word in meant}


def _last(meant: Mapping[str, str], word: str) -> str:
    while word in meant:
        word = meant[word]
    return word


def _plain(value: str) -> str:
    """Return a value in lower case, without accents and removable punctuation.

    Spaces and punctuation between letters and at the end are removed.
    """
    parts = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(character for character in parts if not unicodedata.combining(character))
    return _BETWEEN_LETTERS.sub("", plain).rstrip(" .,;")


def _signs(word: str) -> str:
    """Return all characters of a value that are not letters."""
    return "".join(character for character in word if not character.isalpha())

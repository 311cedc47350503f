"""Recognize names and values of columns: concepts, numbers, text, bands and places.

Words in several languages are in ``names.toml``, places in ``regions.toml``.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from reidsim.audit.identifiers import IDENTIFIERS, delimited, meaning_of, plain_words, words_of
from reidsim.core.errors import listed
from reidsim.core.validation import Section, read_toml, validated

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# At least one digit, at most two letters in a row, and up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")
_BAND = re.compile(
    r"(\d{1,9})\s*(?:-|\u2013|to)\s*(\d{1,9})"
    r"|(?:>=|\u2265)?\s*(\d{1,9})\s*(?:\+|and over|and older|or more|or older|years and over)|>=\s*(\d{1,9})"
    r"|(?:<|under|below)\s*(?P<below>\d{1,9})"
)
# Marks of missing values, including the empty cell.
MISSING_MARKS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", "."})

# Number of values examined to infer the type of a column, and the share of them that must match.
_SAMPLE, MOSTLY = 5_000, 0.9
# Minimum number of bands; two ranges may be codes with the same pattern.
_FEWEST_BANDS = 3
# Widths of the levels above the bands, as multiples of the band width.
_TIMES = (2, 4)
# Minimum share of the values of a column that must be known places.
_KNOWN_PLACES = 0.8

# First and last number; infinite on the open side of a band.
Band = tuple[float, float]


@dataclass(frozen=True)
class Hint:
    """Concept of a column, inferred from its name, label or values.

    Parameters
    ----------
    concept : str
        Concept, such as ``"age"``.
    role : str
        ``"direct"`` if the column identifies a person or allows contact, ``"known"`` if others may know its value.
    rank : int
        Priority as a quasi-identifier: 1 (highest) for attributes on voter lists and similar sources, up to 3; 0 for
        direct identifiers.
    source : str
        Origin of the inference: the column's ``"name"``, its ``"label"`` in the file, or its ``"values"``.
    """

    concept: str
    role: Literal["direct", "known"]
    rank: int = 0
    source: Literal["name", "label", "values"] = "name"


def letters_of(value: str) -> str:
    """Return the letters and digits of a value as one word.

    They are in lower case and without accents.
    """
    return "".join(words_of(value.casefold()))


Word = Annotated[str, StringConstraints(pattern=r"[^\W_]")]
Letters = Annotated[Word, AfterValidator(letters_of)]
Phrases = dict[str, list[Word]]


class Names(Section):
    """Vocabulary that maps column names and values to concepts, in several languages.

    This is the schema of ``names.toml`` and of user files that extend it.

    Attributes
    ----------
    quantities
        words in names of columns that hold counts or measurements, not codes
    direct
        names of direct identifiers, by concept
    known
        names of columns that others may know, by rank and concept
    values
        values that occur only in columns of a concept, by concept
    categories
        spellings of categories, such as `w` for `female`
    keys
        names of columns that identify people and households
    """

    quantities: frozenset[Word] = frozenset()
    direct: Phrases = Field(default_factory=dict)
    known: dict[Literal["1", "2", "3"], Phrases] = Field(default_factory=dict)
    values: dict[str, frozenset[Letters]] = Field(default_factory=dict)
    categories: dict[Literal["male", "female", "neither sex", "yes", "no"], frozenset[Letters]] = Field(
        default_factory=dict
    )
    keys: dict[Literal["person", "household"], list[Annotated[Word, AfterValidator(plain_words)]]] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _ranked(self) -> Names:
        expected = f"one of {listed(sorted(self.ranks), 20)}, or a concept in a section [known.1] to [known.3]"
        problem, unranked = "not a concept that outsiders may know", self.values.keys() - self.ranks.keys()
        return self.unless(*((True, problem, f"values.{concept}", expected, None) for concept in unranked))

    @classmethod
    def read(cls, path: Path | None = None) -> Names:
        """Return the package vocabulary, extended by a user's TOML file if given.

        Raises
        ------
        InputError
            If the file cannot be read or has a different schema.
        """
        if path is None:
            return NAMES
        return validated(cls, _joined(NAMES.model_dump(mode="json"), read_toml(path)), path)

    def hint_of(self, name: str) -> Hint | None:
        """Return the concept inferred from a column name; None if there is none.

        See `Hint`; a phrase of the vocabulary must occur in the name.
        """
        return meaning_of(name, self._hints)

    def names_quantity(self, name: str) -> bool:
        """Return whether a word of a name indicates a count or measurement, not a code."""
        return not self.quantities.isdisjoint(words_of(name))

    def meaning(self, value: str) -> str:
        """Return the category of a value, such as ``"female"`` for ``w``; else "".

        Values may be in several languages. Case and accents are ignored. A spelling of several categories means the
        sex: ``f`` is female, not no.
        """
        return self._categories.get(letters_of(value), "")

    def means(self, value: str, category: Literal["male", "female", "yes", "no"]) -> bool:
        """Return whether a value can mean a category, even if it has other meanings.

        Case, accents and a ``.0`` at the end (``1.0``) are ignored.
        """
        word = letters_of(value.removesuffix(".0"))
        return word == category or word in self.categories[category]

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Rank of each concept that others may know: 1 (highest) to 3.

        A concept with several ranks has the highest.
        """
        ranked = sorted(self.known.items(), reverse=True)
        return {concept: int(rank) for rank, concepts in ranked for concept in concepts}

    @cached_property
    def _categories(self) -> dict[str, str]:
        # "f" means female in a column of sexes and false in a yes/no column. Sexes come last, and so take precedence.
        order = sorted(self.categories, key=lambda meaning: meaning in ("male", "female"))
        return {word: meaning for meaning in order for word in (letters_of(meaning), *self.categories[meaning])}

    @cached_property
    def _hints(self) -> list[tuple[str, Hint]]:
        """Pairs of phrase and hint, in the order of their priority.

        Phrases of more words come first, then direct identifiers, then the others by rank.
        """
        hints = [(phrase, Hint(concept, "direct")) for phrase, concept in (*IDENTIFIERS, *delimited(self.direct))]
        for rank, concepts in sorted(self.known.items()):
            hints += [(phrase, Hint(concept, "known", int(rank))) for phrase, concept in delimited(concepts)]
        return sorted(hints, key=lambda each: -len(each[0].split()))


def _joined(words: Any, more: Any) -> Any:
    """Return nested word lists with additional words appended.

    Neither argument is changed. Dictionaries are merged by key, lists are joined, and any other value in `more`
    replaces that in `words`.
    """
    if isinstance(words, dict) and isinstance(more, dict):
        return words | {key: _joined(words.get(key), value) for key, value in more.items()}
    return words + more if isinstance(words, list) and isinstance(more, list) else more


NAMES = validated(Names, read_toml(Path(__file__).with_name("names.toml")), "names.toml")


def sample_of(values: Sequence[str]) -> Sequence[str]:
    """Return all values, or of n >= 10,000 values every (n // 5000)-th, in order."""
    return values[:: max(1, len(values) // _SAMPLE)]


def share_matching(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    """Return the share of values that a pattern matches fully; 0 without values.

    Of many values, a sample is examined; see `sample_of`.
    """
    sample = sample_of(values)
    return sum(pattern.fullmatch(value) is not None for value in sample) / max(len(sample), 1)


def is_free_text(values: Sequence[str]) -> bool:
    """Return whether values are sentences: long, many words, or several lines.

    Values are long if they have more than 60 characters on average or one has more than 500; many words are more than 5
    on average.
    """
    many_words = sum(len(value.split()) for value in values) > 5 * len(values)
    lengths = list(map(len, values))
    long = sum(lengths) > 60 * len(values) or max(lengths, default=0) > 500
    return many_words or long or any("\n" in value for value in values)


def as_number(value: str) -> float:
    """Return the number that a text of digits denotes, such as ``1,5`` or ``90+``.

    The text must match `NUMBER` or `WHOLE_NUMBER`. A comma is a decimal point, and a plus sign at the end is ignored.
    """
    return float(value.removesuffix("+").replace(",", "."))


def bands_of(values: Sequence[str]) -> dict[str, Band] | None:
    """Return the numeric band of each value, such as ages ``15-19``, lowest first.

    A band is a pair of its first and last whole number, infinite on an open side. The result is None if a value is not
    a band of at least two numbers, two bands overlap, or there are fewer than three bands or fewer than two with both
    ends.

    Examples
    --------
    >>> bands_of(["5-9", "0-4", "10+"])
    {'0-4': (0, 4), '5-9': (5, 9), '10+': (10, inf)}
    >>> bands_of(["0-4", "3-9", "10+"]) is None
    True
    """
    bands: dict[str, Band] = {}
    for value in values:
        found = _BAND.fullmatch(value.strip().lower())
        if found is None:
            return None
        first, last, *_ = [*(int(digits) for digits in found.groups() if digits), math.inf]
        bands[value] = (-math.inf, first - 1) if found["below"] else (first, last)
    ordered = sorted(bands.items(), key=lambda item: item[1])
    overlap = any(before[1] >= after[0] for (_, before), (_, after) in itertools.pairwise(ordered))
    enough = len(bands) >= _FEWEST_BANDS and len(_closed(bands)) >= _FEWEST_BANDS - 1
    return dict(ordered) if enough and all(low < high >= 0 for low, high in bands.values()) and not overlap else None


def wider_bands(bands: Mapping[str, Band], most: int) -> tuple[list[int], dict[str, list[str]]]:
    """Return at most `most` widths of wider bands, and the labels of each value.

    `bands` are those of `bands_of`, lowest first. The widths are two and four times the usual width of closed bands.
    Each value has one label per width, narrowest first. A width is used only if it is below the span of the closed
    bands. Without closed bands, both results are empty.

    Examples
    --------
    >>> wider_bands({"0-4": (0, 4), "5-9": (5, 9), "10-14": (10, 14), "15+": (15, math.inf)}, 1)
    ([10], {'0-4': ['0-9'], '5-9': ['0-9'], '10-14': ['10+'], '15+': ['10+']})
    """
    closed = _closed(bands)
    if not closed:
        return [], {}
    width = int(statistics.mode(high - low + 1 for low, high in closed))
    widths = [width * times for times in _TIMES if width * times < closed[-1][1] - closed[0][0] + 1][:most]
    labels: dict[str, list[str]] = {value: [] for value in bands}
    for wide in widths:
        part_of = {value: (high if low == -math.inf else low) // wide for value, (low, high) in bands.items()}
        for value, part in part_of.items():
            members = [bands[other] for other in bands if part_of[other] == part]
            low, high = members[0][0], members[-1][1]
            text = f"{low}+" if high == math.inf else f"<{high + 1}" if low == -math.inf else f"{low}-{high}"
            labels[value].append(text)
    return widths, labels


def _closed(bands: Mapping[str, Band]) -> list[Band]:
    return [band for band in bands.values() if math.isfinite(band[1] - band[0])]


def regions_of(values: Iterable[str]) -> tuple[tuple[str, str], dict[str, tuple[str, str]]] | None:
    """Return the regions of countries, or of states of the United States.

    They are the middle levels of a hierarchy. The result is None if fewer than four fifths of the values are known
    countries, and fewer than four fifths are known states. Case, accents and punctuation between words are ignored.

    Returns
    -------
    tuple of str
        Names of the two levels, finer level first: region and continent, or division and region.
    dict of str to tuple of str
        Region at the two levels of each value that is a known place.
    """
    words = {value: words_of(value.title()) for value in values}
    for levels, places in _PLACES.items():
        found = {value: places[name] for value, name in words.items() if name in places}
        if found and len(found) >= _KNOWN_PLACES * len(words):
            return levels, found
    return None


def are_places(first: str, second: str) -> bool:
    """Return whether two values are different countries, or different US states."""
    one, other = words_of(first.title()), words_of(second.title())
    return one != other and any(one in places and other in places for places in _PLACES.values())


_WORLD = read_toml(Path(__file__).with_name("regions.toml"))
_PLACES: dict[tuple[str, str], dict[tuple[str, ...], tuple[str, str]]] = {
    levels: {
        words_of(name.title()): (region, above)
        for above, regions in _WORLD[places].items()
        for region, names in regions.items()
        for name in names
    }
    for levels, places in ((("region", "continent"), "countries"), (("division", "region"), "states"))
}

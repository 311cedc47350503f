"""Profile the columns of a table: how values are read, their type and number, and their concept."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from reidsim.audit.identifiers import IDENTIFIERS, delimited, format_of, is_numbered, meaning_of, plain_words, words_of
from reidsim.core.errors import listed
from reidsim.core.files import read_toml
from reidsim.core.tables import MISSING_MARKS, CountedTable
from reidsim.core.validation import Section, validated
from reidsim.core.wording import counted
from reidsim.releases.hierarchy import Day, DayOrder, read_day
from reidsim.scenarios.hierarchies import (
    THOUSANDS,
    DateReading,
    NumberReading,
    Reading,
    TextReading,
    Thousands,
    grouped_number,
)

WHOLE_NUMBER = re.compile(r"-?\d{1,15}\+?")
NUMBER = re.compile(r"[+-]?(\d{1,15}([.,]\d+)?|[.,]\d+)([eE][+-]?\d{1,2})?")
# At least one digit, at most two letters in a row, and up to four parts.
CODE = re.compile(r"(?=.*\d)(?!.*[^\W\d_]{3})[^\W_]+([ ./-][^\W_]+){0,3}")
_BAND = re.compile(
    r"(\d{1,9})\s*(?:-|\u2013|to)\s*(\d{1,9})"
    r"|(?:>=|\u2265)?\s*(\d{1,9})\s*(?:\+|and over|and older|or more|or older|years and over)|>=\s*(\d{1,9})"
    r"|(?:<|under|below)\s*(?P<below>\d{1,9})"
)

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
        problem, ranks = "not a concept that outsiders may know", self.ranks
        return self.unless(*((name not in ranks, problem, f"values.{name}", expected, None) for name in self.values))

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
        """Return the `Hint` of a column name; None if it has no phrase of the vocabulary.

        If several phrases are in the name, the first in the order of priority counts; see `_hints`.
        """
        return meaning_of(name, self._hints)

    def names_quantity(self, name: str) -> bool:
        """Return whether a name indicates a count or measurement, not a code.

        This is the case if one of its words is in `quantities`.
        """
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
    """Return whether two values are different countries, or different US states.

    Case and accents are ignored. The result is False if either value is unknown.
    """
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


Kind = Literal[
    "empty", "constant", "whole number", "number", "date", "code", "category", "set", "free text", "identifier"
]

# Above this share of distinct values among present rows, a column without a meaningful name is an identifier, except in
# a table with few rows, where all values may differ by chance.
_ALMOST_UNIQUE, _FEW_ROWS = 0.9, 20
# If a column has one of these concepts, no other column is inferred to hold ages or birth dates.
_AGES = ("age", "birth date", "birth year")
# Concepts whose values may contain digits with hyphens that are not telephone numbers.
_LIKE_TELEPHONES = ("postal code", "birth date", "date of an event")
# Concepts whose whole numbers are quantities. Whole numbers of other concepts have no order and are categories; without
# a concept, only up to this number of distinct values.
_QUANTITIES = ("age", "birth year", "household", "income", "body", "birth date", "date of an event")
_MOST_NOMINAL = 20
# Concepts with hierarchical codes of equal length, whose prefixes are coarser categories. Columns with few codes are
# categories: shortening so few codes gains nothing.
_CODED, _FEW_CODES, _LONGEST_CODE = ("occupation", "place"), 10, 20
# Separators between several values in one cell. A column holds sets if at least this share of rows contains one, and at
# least this share of the parts also occurs as a whole cell or in another position.
SEPARATORS = ("|", ";", ",")
_FEWEST_SEVERAL, _MOSTLY_PARTS = 0.05, 0.75
# Minimum share of rows, and of distinct values, that must match a concept.
_MOST_ROWS, _MOST_WORDS = 0.8, 0.6
# Concepts with several spellings, and the maximum number of other, non-numeric values in the column.
_OPPOSITES: tuple[tuple[Literal["male", "female", "yes", "no"], ...], ...] = (("yes", "no"), ("male", "female"))
_MOST_OTHERS = 2
# Columns with more distinct values are not compared with the vocabulary: there are 249 countries in several spellings.
_MOST_CATEGORIES = 1_000
# Maximum number of categories in a column of sexes; minimum number of two-letter codes for a country column, because
# fewer may be codes of anything.
_MOST_SEXES, _FEWEST_COUNTRIES = 8, 5
# Bounds on the youngest and oldest age, the number of distinct ages, and the share of years between them that occur.
_YOUNGEST, _OLDEST, _LAST_AGE, _FEWEST_AGES, _COVERED = 25, 60, 120, 40, 0.8
# Minimum span in years of birth dates, and minimum years from the median to the latest birth date; dates of other
# events span less.
_YEARS_OF_BIRTHS, _LONG_AGO = 40, 15
_FEWEST_POSTAL_CODES, _POSTAL_SAMPLE = 3, 5_000
_PARTS = re.compile(r"[/(),;:]| - ")
_COUNTRIES = read_toml(Path(__file__).with_name("countries.toml"))
_POSTAL_CODES = list(map(re.compile, _COUNTRIES["postal_codes"]))
_COUNTRY_CODES = frozenset(_COUNTRIES["alpha_2"].split() + _COUNTRIES["alpha_3"].split())
_NATIONS = frozenset(map(letters_of, [*_COUNTRIES["names"], *_COUNTRIES["nationalities"]]))
# Codes of unknown values: repeated nines, and negative survey codes in columns without other negative numbers.
_NINES = re.compile(r"9{2,}([.,]0+)?")
_NEGATIVE_CODES = re.compile(r"-(7{1,4}|8{1,4}|9{1,4}|1)([.,]0+)?")
_WITH_DECIMALS = re.compile(r"[+-]?\d+[.,]0+")
# Minimum number of distinct days with four-digit years from which the century of two-digit years is inferred.
_ENOUGH_DAYS = 20
_UNCHANGED = TextReading(type="text")


@dataclass(frozen=True)
class FoundReading:
    """Rule by which the values of a column are read.

    Parameters
    ----------
    reading : Reading
        Reading for the scenario; raw values are used unchanged by default.
    notes : tuple of str
        Assumptions to report to the user.
    certain : bool
        Whether the order of day and month is certain: either no date can be read in both orders, or the other dates
        show an order and all show the same one.
    ordered : bool
        Whether some dates have an order of day and month that matters: known, as in 31/12/2020, or unknown, as in
        3/4/2020.
    """

    reading: Reading = _UNCHANGED
    notes: tuple[str, ...] = ()
    certain: bool = True
    ordered: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """Reading as a scenario section; empty if raw values are used unchanged.

        Keys are the type, the order of dates and other settings that differ from defaults.
        """
        if self.reading == _UNCHANGED:
            return {}
        return self.reading.model_dump(include={"type", "order"}) | self.reading.model_dump(exclude_defaults=True)

    @property
    def kind(self) -> str:
        """Type of the values after reading.

        It is "text", "number", "date", or "age" for dates of birth that are converted to ages.
        """
        return "age" if "age_on" in self.content else self.content.get("type", "text")


AS_WRITTEN = FoundReading()


def find_reading(rows: Mapping[str, int], hint: Hint | None, age_on: date | None = None) -> FoundReading:
    """Determine how the values of a column are read.

    Columns of dates are read as dates; numbers with thousands separators, or with decimals that are all zero, as
    numbers; all others as text. Codes for unknown values, such as 999, and marks such as ``NA`` are read as missing.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value as written, including missing ones.
    hint : Hint or None
        Concept inferred from the column name or values.
    age_on : date, optional
        Reference day for converting dates of birth to ages; used only if the concept is a birth date.

    Returns
    -------
    FoundReading
        The rule, with notes to the user about each assumption.
    """
    values = [value for value in rows if value not in MISSING_MARKS]
    # Nines that are no valid day (unlike 9/9/99) are unknown dates.
    nines = [value for value in values if set(value) & set("0123456789") == {"9"} and _day(value) is None]
    days = _days([value for value in values if value not in nines], hint)
    sign = None if days else _thousands(values)
    plain = {value: value if sign is None else value.replace(sign, "") for value in values}
    codes = set(nines if days else _unknown_numbers(list(plain.values()), hint))
    unknown = [value for value in values if plain[value] in codes]
    missing = tuple(sorted([*unknown, *MISSING_MARKS.intersection(rows)]))
    notes = [f"{counted(rows[value], 'row')} with {value!r} read as missing" for value in unknown]
    if days:
        return _date_reading(days, rows, missing, notes, hint, age_on)
    if sign is not None:
        example = next(value for value in values if sign in value)
        notes.append(f"numbers such as {example!r} are read as {plain[example]}")
    if sign is not None or (any(map(_WITH_DECIMALS.fullmatch, values)) and _are_whole(values)):
        return FoundReading(NumberReading(type="number", missing=missing, thousands=sign), tuple(notes))
    # An empty value is missing by default, so it needs no explicit reading.
    reading = _UNCHANGED if missing in ((), ("",)) else TextReading(type="text", missing=missing)
    return FoundReading(reading, tuple(notes))


def _thousands(values: Sequence[str]) -> Thousands | None:
    """Return the thousands separator of numbers; None if there is none.

    At least 90 % of the values must be numbers with groups of three digits, such as ``1,234`` or ``56``, and no other
    value a number, such as ``1234``. If every number has the same count of separators, the values may be codes or
    decimals, and the result is None.
    """
    for sign in THOUSANDS:
        if any(sign in value for value in values):
            numbers = {value: value.count(sign) for value in values if grouped_number(sign).fullmatch(value)}
            otherwise = any(value not in numbers and NUMBER.fullmatch(value) for value in values)
            if len(set(numbers.values())) > 1 and not otherwise and len(numbers) >= MOSTLY * len(values):
                return sign
    return None


def _are_whole(values: Sequence[str]) -> bool:
    """Return whether most values are numbers and all numbers are whole.

    At least 90 % must be numbers; ``2`` and ``2.0`` are whole.
    """
    whole = [as_number(value).is_integer() for value in sample_of(values) if NUMBER.fullmatch(value)]
    return all(whole) and len(whole) >= MOSTLY * len(sample_of(values))


def _unknown_numbers(values: Sequence[str], hint: Hint | None) -> list[str]:
    """Return the values of a column that are codes for an unknown value.

    For postal codes, these are 00000 and 99999. In other columns, they are repeated nines, such as 999, and negative
    survey codes, such as -9 or -77, if there are at least two other values. If at least 90 % of the other values are
    numbers, nines count if they are at least twice the largest other number, and negative codes if no other number is
    negative; a negative code of one digit counts only in a column that outsiders may know, by `hint`. If fewer than 10
    % are numbers, all nines and all negative codes of two digits or more count. In between, the column has no such
    codes.
    """
    if hint is not None and hint.concept == "postal code":
        return [value for value in values if value in ("00000", "99999")]
    nines = list(filter(_NINES.fullmatch, values))
    negative = list(filter(_NEGATIVE_CODES.fullmatch, values))
    others = [value for value in values if value not in nines and value not in negative]
    share = share_matching(NUMBER, others)
    if not (nines or negative) or len(others) < 2 or 1 - MOSTLY <= share < MOSTLY:
        return []
    if share < MOSTLY:
        return nines + [value for value in negative if len(value) > 2]
    numbers = [as_number(value) for value in others if NUMBER.fullmatch(value)]
    unknown = [value for value in nines if as_number(value) >= 2 * max(numbers) > 0]
    if min(numbers) >= 0:
        named = hint is not None and hint.role == "known"
        unknown += [value for value in negative if named or len(value.split(".")[0]) > 2]
    return unknown


def _day(value: str) -> Day | None:
    # Any century works here, because only the validity of the day is checked; this one starts with a leap year.
    return read_day(value, two_digit_years_from=2000)


def _days(values: Sequence[str], hint: Hint | None) -> dict[str, Day]:
    """Return the `Day` of each valid date, by value; empty if the column has no dates.

    A column holds dates if at least 90 % of its values are valid dates, and one more condition is met. If `hint`
    suggests dates, at least one value must be more than a year with or without a month. Otherwise, at least half of the
    values must have separate day, month and year, as in ``7.10.1970``. Large columns are judged by a sample
    (`sample_of`). Years of two digits are read as 2000 to 2099; their century is chosen later (`_date_reading`).
    """
    sample = sample_of(values)
    ways = Counter(day.way for day in map(_day, sample) if day is not None)
    dated = hint is not None and hint.concept in ("birth date", "date of an event")
    enough = ways["year"] < ways.total() if dated else ways["day"] * 2 >= len(sample)
    if not sample or not enough or ways.total() < MOSTLY * len(sample):
        return {}
    return {value: day for value in values if (day := _day(value)) is not None}


def _date_reading(
    days: Mapping[str, Day],
    rows: Mapping[str, int],
    missing: tuple[str, ...],
    notes: list[str],
    hint: Hint | None,
    age_on: date | None,
) -> FoundReading:
    """Return the reading of dates, with notes about assumed orders and centuries.

    Dates with two possible orders of day and month are read in the order of most other dates; day first if there are
    none, or as many of each order. Two-digit years are read as the 100 years up to the year of `age_on`; without it, up
    to the latest four-digit year, if at least 20 distinct dates have one; else up to this year.

    Parameters
    ----------
    days : mapping of str to Day
        Day of each valid date, by value as written.
    rows : mapping of str to int
        Number of rows with each value.
    missing : tuple of str
        Values read as missing.
    notes : list of str
        Notes so far, to which others are appended.
    hint : Hint or None
        Concept of the column.
    age_on : date or None
        Day on which ages are computed if the concept is a birth date.
    """
    orders = Counter(day.order for value, day in days.items() for _ in range(rows[value]))
    total, century = orders.total(), None
    both: tuple[DayOrder, DayOrder] = ("day-month", "month-day")
    order, other = sorted(both, key=lambda each: -orders[each])
    if orders["either"]:
        example = next(value for value, day in days.items() if day.order == "either")
        seen = f"{orders[order]:,} with order {order}, {orders[other]:,} with order {other}"
        seen = seen if orders[other] else f"{orders[order]:,} with this order"
        evidence = f"because of other dates: {seen}" if orders[order] else "without evidence for this order"
        notes.append(
            f"{orders['either']:,} of {total:,} dates, such as {example!r}, could have day and month in either order; "
            f"read as {order}, {evidence}"
        )
    if serial := sum(rows[value] for value, day in days.items() if day.way == "serial"):
        notes.append(f"{serial:,} of {total:,} dates are read as spreadsheet dates (days since 1899-12-30)")
    of_births, today = hint is not None and hint.concept == "birth date", date.today().year
    year = {value: int(day.calendar[:4]) for value, day in days.items() if not day.short_year}
    if of_births and (unborn := sum(rows[value] for value in year if year[value] > today)):
        notes.append(f"{unborn:,} of {total:,} dates lie after {today}")
    if short := sum(rows[value] for value, day in days.items() if day.short_year):
        # One typing error, a birth in the future, must not move the years of all others.
        full = [number for number in year.values() if number <= today or not of_births]
        latest = max(full) if len(full) >= _ENOUGH_DAYS else today
        century = (latest if age_on is None else age_on.year) - 99
        notes.append(f"{short:,} of {total:,} dates have years of two digits, read as {century} to {century + 99}")
    aged = age_on if of_births else None
    reading = DateReading(type="date", missing=missing, order=order, two_digit_years_from=century, age_on=aged)
    certain = not orders["either"] or bool(orders[order]) > bool(orders[other])
    return FoundReading(reading, tuple(notes), certain, orders[None] < total)


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """Profile of one column.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : str
        Type of the values that are not missing, one of `Kind`; ``"identifier"`` if they identify a person or a row,
        ``"set"`` if a cell holds several values, ``"empty"`` if there are none.
    rows : dict of str to int
        Number of rows with each distinct value after reading, including missing ones, without surrounding spaces.
    hint : Hint or None
        Meaning inferred from the column name or, if the name suggests none, from the label or the values.
    reason : str
        Reason why the column is an identifier; empty if it is not.
    found : FoundReading
        Rule by which the raw values are read.
    spellings : dict of str to str
        Usual spelling of each value whose spelling is close to another value and that is not merged with it.
    merged : dict of str to str
        Usual spelling into which a value was merged, by merged value, which `rows` no longer holds.
    separator : str
        Separator between the values of a cell if cells hold several values, else empty.
    """

    name: str
    kind: Kind
    rows: Mapping[str, int]
    hint: Hint | None
    reason: str = ""
    found: FoundReading = AS_WRITTEN
    spellings: Mapping[str, str] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)
    separator: str = ""

    @property
    def missing(self) -> int:
        """Number of rows with an empty cell or a missing-value mark such as ``NA``."""
        return rows_with(self.rows, MISSING_MARKS.intersection(self.rows))

    @property
    def values(self) -> list[str]:
        """Distinct values, without missing ones."""
        return [value for value in self.rows if value not in MISSING_MARKS]

    @property
    def distinct(self) -> int:
        """Number of distinct values, without missing ones."""
        return len(self.rows) - len(MISSING_MARKS.intersection(self.rows))

    @property
    def example(self) -> str:
        """First value that contains the separator of sets; "" if there is no value.

        In a column without a separator, it is the first value.
        """
        return next((value for value in self.values if self.separator in value), "")

    @property
    def concept(self) -> str | None:
        """Concept of the column, such as ``"age"``; None if none was inferred."""
        return None if self.hint is None else self.hint.concept

    @property
    def is_direct(self) -> bool:
        """Whether the kind of the column is "identifier".

        Its values identify a person or a row, by name, format or near-uniqueness.
        """
        return self.kind == "identifier"


def profile_table(
    table: CountedTable,
    labels: Mapping[str, str] = {},
    age_on: date | None = None,
    names: Names = NAMES,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> tuple[ColumnProfile, ...]:
    """Profile every column of a text table.

    Parameters
    ----------
    table : CountedTable
    labels : mapping of str to str, optional
        Full label of each column. It is used if the column name suggests no concept, and to recognize counts and
        measurements.
    age_on : date, optional
        Reference day for converting dates of birth to ages.
    names : Names
        Vocabulary for column names and values.
    progress : callable, optional
        Called with the number of columns done and the total.

    Returns
    -------
    tuple of ColumnProfile
        One profile per column, in table order.
    """
    hints: dict[str, Hint | None] = {}
    for name in map(str, table.frame.columns):
        by_label = names.hint_of(labels.get(name, ""))
        hints[name] = names.hint_of(name) or (by_label and replace(by_label, source="label"))
    has_age = any(hint is not None and hint.concept in _AGES for hint in hints.values())
    profiles = list[ColumnProfile]()
    for column, (name, hint) in zip(table.frame.columns, hints.items(), strict=True):
        progress(len(profiles), len(hints))
        written = table.rows_by_value(column)
        found = AS_WRITTEN if hint is not None and hint.role == "direct" else find_reading(written, hint, age_on)
        is_quantity = names.names_quantity(name) or names.names_quantity(labels.get(name, ""))
        if hint is None:
            no_ages = has_age or is_numbered(name) or is_quantity
            present = _present(rows_by(written, found.reading.label))
            concept = _concept(present, names, found.kind, name, has_age=has_age, no_ages=no_ages)
            if concept is not None:
                hint = Hint(concept, "known", names.ranks[concept], source="values")
                found = find_reading(written, hint, age_on) if found.kind == "date" else found
        rows = rows_by(written, found.reading.label)
        hint = Hint("age", "known", 1) if found.kind == "age" else hint
        present = _present(rows)
        merged = {} if found.kind == "date" else merged_spellings(present, names)
        for spelling, usual in merged.items():
            rows[usual] += rows.pop(spelling)
        values = list(_present(rows))
        kind, reason = _kind(values, sum(present.values()), hint, found.kind, is_quantity=is_quantity)
        may_be_sets = kind in ("code", "category", "free text") or (kind == "identifier" and hint is None)
        separator = separator_of(present) if may_be_sets and bands_of(values) is None else ""
        if separator:
            kind, reason = "set", ""
        profiles.append(ColumnProfile(name, kind, rows, hint, reason, found, merged=merged, separator=separator))
    return tuple(profiles)


def _concept(
    rows: Mapping[str, int], names: Names, read_as: str, name: str, *, has_age: bool, no_ages: bool
) -> str | None:
    """Return the concept of a column by its values, such as "age"; None if none.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value that is not missing.
    names : Names
        Vocabulary for values.
    read_as : str
        Values after reading: text, number, date or age.
    name : str
        Name of the column.
    has_age : bool
        Whether another column holds ages or dates of birth.
    no_ages : bool
        Whether whole numbers cannot be ages, because of this or another column's name.
    """
    if len(rows) < 2:
        return None
    if read_as == "date":
        return "birth date" if not has_age and _are_births(rows) else None
    if len(rows) <= _MOST_CATEGORIES:
        meanings = {names.meaning(value) for value in rows}
        if len(rows) <= _MOST_SEXES and {"male", "female"} <= meanings <= {"male", "female", "neither sex"}:
            return "sex"
        for concept, words in names.values.items():
            if _mostly(rows, (value for value in rows if _is_among(value, words))):
                return concept
        if (regions := regions_of(rows)) is not None:
            return "origin" if "continent" in regions[0] else "place"
        codes, nations = _COUNTRY_CODES.intersection(rows), (value for value in rows if _is_among(value, _NATIONS))
        if (len(codes) >= _FEWEST_COUNTRIES and _mostly(rows, codes)) or _mostly(rows, nations):
            return "origin"
    if not is_numbered(name) and _are_postal_codes(rows):
        return "postal code"
    return "age" if not no_ages and _are_ages(rows) else None


def _kind(
    values: Sequence[str], present: int, hint: Hint | None, read_as: str, *, is_quantity: bool
) -> tuple[Kind, str]:
    """Return the type of a column, and the reason if it is an identifier (else "").

    Parameters
    ----------
    values : sequence of str
        Distinct values, without missing ones.
    present : int
        Number of rows with a value.
    hint : Hint or None
        Meaning inferred for the column.
    read_as : str
        Values after reading: text, number, date or age.
    is_quantity : bool
        Whether the column name or label indicates that whole numbers count or measure something.
    """
    concept = None if hint is None else hint.concept
    if values and hint is not None and hint.role == "direct":
        return "identifier", f"by its {hint.source} ({concept})"
    if len(values) < 2:
        return "constant" if values else "empty", ""
    if read_as == "date":
        return "date", ""
    if bands_of(values) is not None:
        return "category", ""
    kind = _kind_of_values(values, is_postal=concept == "postal code")
    nominal = len(values) <= _MOST_NOMINAL if concept is None else concept not in _QUANTITIES
    if kind == "whole number" and not is_quantity and nominal:
        coded = concept in _CODED and len(values) > _FEW_CODES and len(set(map(len, values))) == 1
        kind = "code" if coded else "category"
    if kind in ("code", "category", "free text") and (
        looks := format_of(sample_of(values), telephones=concept not in _LIKE_TELEPHONES)
    ):
        return "identifier", f"by its values ({looks})"
    unique = present >= _FEW_ROWS and len(values) >= _ALMOST_UNIQUE * present
    if unique and hint is None and kind in ("whole number", "code", "category"):
        return "identifier", "almost every row has a different value"
    return kind, ""


def rows_with(rows: Mapping[str, int], values: Iterable[str]) -> int:
    """Return the number of rows with one of some distinct values.

    `values` must be keys of `rows`, each once. `rows` holds the number of rows with each value.
    """
    return sum(rows[value] for value in values)


def rows_by(rows: Mapping[str, Any], label: Callable[[str], str]) -> Counter[str]:
    """Return the number of rows with each label.

    `rows` holds the number of rows with each value, and `label` returns the label of a value, such as the value after
    reading; several values may have one label.
    """
    labelled: Counter[str] = Counter()
    for value, number in rows.items():
        labelled[label(value)] += number
    return labelled


def _present(rows: Mapping[str, int]) -> dict[str, int]:
    return {value: number for value, number in rows.items() if value not in MISSING_MARKS}


def _kind_of_values(values: Sequence[str], *, is_postal: bool) -> Kind:
    sample = sample_of(values)
    if share_matching(WHOLE_NUMBER, sample) >= MOSTLY:
        lengths = set(map(len, sample))
        padded = len(lengths) == 1 and lengths != {1} and any(value[0] == "0" for value in sample)
        return "code" if is_postal or padded else "whole number"
    if share_matching(NUMBER, sample) >= MOSTLY:
        return "number"
    if is_free_text(sample):
        return "free text"
    coded = len(sample) > _FEW_CODES and share_matching(CODE, sample) >= MOSTLY
    return "code" if is_postal or (coded and max(map(len, sample)) <= _LONGEST_CODE) else "category"


def separator_of(rows: Mapping[str, int]) -> str:
    """Return the separator of cells with several values, as in ``I10|E11``; else "".

    The separator is the first of ``|``, ``;`` and ``,`` that at least 5 % of the rows and two values contain, if at
    least 75 % of the parts of such cells also occur as whole cells or in other positions. This excludes addresses and
    names such as ``Miller, Ada``. Numbers such as ``1,234`` do not count as cells with a separator.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.
    """
    for sign in SEPARATORS:
        several = {
            value: [part.strip() for part in value.split(sign) if part.strip()]
            for value in rows
            if sign in value and not NUMBER.fullmatch(value)
        }
        if len(several) < 2 or rows_with(rows, several) < max(_FEWEST_SEVERAL * sum(rows.values()), 2):
            continue
        places: dict[str, set[int]] = defaultdict(set)
        for value in rows:
            for place, part in enumerate(several[value]) if value in several else [(-1, value.strip())]:
                places[part].add(place)
        used = [(part, rows[value]) for value, parts in several.items() for part in parts]
        roaming = sum(number for part, number in used if len(places[part]) > 1)
        if roaming >= _MOSTLY_PARTS * sum(number for _, number in used):
            return sign
    return ""


def merged_spellings(rows: Mapping[str, int], names: Names) -> dict[str, str]:
    """Return ``yes``, ``no``, ``male`` or ``female`` for each variant spelling.

    A column holds either yes and no or the two sexes.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.
    names : Names
        Spellings in several languages.

    Returns
    -------
    dict of str to str
        Standard spelling by variant; empty if each meaning has one spelling, a meaning does not occur, or the column
        holds other values (more than two, numbers, or in more than a fifth of the rows) or more than 1,000 values.
    """
    for pair in _OPPOSITES if len(rows) <= _MOST_CATEGORIES else ():
        spelled = {meaning: [value for value in rows if names.means(value, meaning)] for meaning in pair}
        several = len(rows) > len(pair) and max(map(len, spelled.values())) > 1
        others = rows.keys() - {value for values in spelled.values() for value in values}
        few = len(others) <= _MOST_OTHERS and not any(map(NUMBER.fullmatch, others))
        rare = rows_with(rows, others) <= (1 - _MOST_ROWS) * sum(rows.values())
        if several and few and rare and all(spelled.values()):
            return {value: meaning for meaning, values in spelled.items() for value in values if value != meaning}
    return {}


def _mostly(rows: Mapping[str, int], found: Iterable[str]) -> bool:
    found = list(found)
    return len(found) >= max(2, _MOST_WORDS * len(rows)) and rows_with(rows, found) >= _MOST_ROWS * sum(rows.values())


def _is_among(value: str, words: Collection[str]) -> bool:
    return letters_of(value) in words or any(letters_of(part) in words for part in _PARTS.split(value) if part.strip())


def _are_postal_codes(rows: Mapping[str, int]) -> bool:
    rows = dict(list(rows.items())[:_POSTAL_SAMPLE])
    patterns = _POSTAL_CODES if any(re.fullmatch(r"0\d{4}", value) for value in rows) else _POSTAL_CODES[:-1]
    enough = len(rows) >= _FEWEST_POSTAL_CODES
    return enough and any(_mostly(rows, filter(pattern.fullmatch, rows)) for pattern in patterns)


def _are_ages(rows: Mapping[str, int]) -> bool:
    if len(rows) < _FEWEST_AGES or not all(map(WHOLE_NUMBER.fullmatch, rows)):
        return False
    youngest, *_, oldest = sorted(map(as_number, rows))
    in_range = 0 <= youngest <= _YOUNGEST and _OLDEST <= oldest <= _LAST_AGE
    return in_range and _COVERED * (oldest - youngest + 1) <= len(rows) <= _LAST_AGE + 1


def _are_births(rows: Mapping[str, int]) -> bool:
    years = sorted(int(value[:4]) for value in rows if value[:4].isdecimal())
    enough = len(years) >= _FEWEST_AGES and years[-1] - years[0] >= _YEARS_OF_BIRTHS
    return enough and years[-1] - years[len(years) // 2] >= _LONG_AGO

"""Recognize values: numbers, codes, text, missing marks, numeric bands and places."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reidsim.audit.identifiers import words_of
from reidsim.core.validation import read_toml

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
    if not values:
        return False
    words = sum(len(value.split()) for value in values) / len(values)
    length = sum(map(len, values)) / len(values)
    return words > 5 or length > 60 or max(map(len, values)) > 500 or any("\n" in value for value in values)


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
    n_closed = sum(map(_is_closed, bands.values()))
    nonempty = all(low < high >= 0 for low, high in bands.values())
    enough = len(bands) >= _FEWEST_BANDS and n_closed >= _FEWEST_BANDS - 1
    return dict(ordered) if enough and nonempty and not overlap else None


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
    closed = [band for band in bands.values() if _is_closed(band)]
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


def _is_closed(band: Band) -> bool:
    return math.isfinite(band[1] - band[0])


class Regions(NamedTuple):
    """Regions of the places in a column, for middle levels of its hierarchy.

    Attributes
    ----------
    levels : tuple of str
        Names of the two levels, finer level first: region and continent, or division and region.
    region_of : dict of str to tuple of str
        Region of each known place in the column at the two levels, by value of the column.
    """

    levels: tuple[str, str]
    region_of: dict[str, tuple[str, str]]


def regions_of(values: Iterable[str]) -> Regions | None:
    """Return the regions of countries, or of states of the United States.

    The result is None if fewer than four fifths of the values are known countries, and fewer than four fifths are known
    states. Values that are no known places have no regions. Case, accents and punctuation between words are ignored.
    """
    words = {value: words_of(value.title()) for value in values}
    for levels, places in _PLACES.items():
        found = {value: places[name] for value, name in words.items() if name in places}
        if found and len(found) >= _KNOWN_PLACES * len(words):
            return Regions(levels, found)
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

"""Recognize numeric bands, such as ages ``15-19`` and ``85+``, and widen them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

_BETWEEN = re.compile(r"(\d{1,9})\s*(?:-|\u2013|to)\s*(\d{1,9})")
_FROM = re.compile(
    r"(?:>=|\u2265)?\s*(\d{1,9})\s*(?:\+|and over|and older|or more|or older|years and over)|>=\s*(\d{1,9})"
)
_BELOW = re.compile(r"(?:<|under|below)\s*(\d{1,9})", re.IGNORECASE)
# Minimum number of bands; two ranges may be codes with the same pattern.
_FEWEST = 3
# Widths of the levels above the bands, as multiples of the band width.
_TIMES = (2, 4)

# First and last number; None on the open side of a band.
Band = tuple[int | None, int | None]


def bands_of(values: Sequence[str]) -> dict[str, Band] | None:
    """Return the numeric band of each value, lowest first.

    The result is None if a value is not a band, two bands overlap, or there are fewer than three bands or fewer than
    two with both ends.

    Examples
    --------
    >>> bands_of(["5-9", "0-4", "10+"])
    {'0-4': (0, 4), '5-9': (5, 9), '10+': (10, None)}
    >>> bands_of(["0-4", "3-9", "10+"]) is None
    True
    """
    found: dict[str, Band] = {}
    for value in values:
        band = _band(value)
        if band is None:
            return None
        found[value] = band
    if len(found) < _FEWEST or sum(None not in band for band in found.values()) < _FEWEST - 1:
        return None
    ordered = dict(sorted(found.items(), key=lambda item: -1 if item[1][0] is None else item[1][0]))
    bands = list(ordered.values())
    for (_, before), (after, _) in itertools.pairwise(bands):
        if before is None or after is None or before >= after:
            return None
    return ordered


def wider_bands(bands: Mapping[str, Band], most: int) -> tuple[list[int], dict[str, list[str]]]:
    """Return at most `most` widths of wider bands, and the labels of each value.

    Each value has one label per width, narrowest first. A width is used only if it is below the span of all bands.

    Examples
    --------
    >>> wider_bands({"0-4": (0, 4), "5-9": (5, 9), "10-14": (10, 14), "15+": (15, None)}, 1)
    ([10], {'0-4': ['0-9'], '5-9': ['0-9'], '10-14': ['10+'], '15+': ['10+']})
    """
    closed = [(low, high) for low, high in bands.values() if low is not None and high is not None]
    width = Counter(high - low + 1 for low, high in closed).most_common(1)[0][0]
    span = max(high for _, high in closed) - min(low for low, _ in closed) + 1
    widths = [width * times for times in _TIMES if width * times < span][:most]
    labels: dict[str, list[str]] = {value: [] for value in bands}
    for each in widths:
        members: dict[int, list[str]] = {}
        for value, (low, high) in bands.items():
            members.setdefault((low if low is not None else high or 0) // each, []).append(value)
        for group in members.values():
            label = _text(bands[group[0]][0], bands[group[-1]][1])
            for value in group:
                labels[value].append(label)
    return widths, labels


def _band(value: str) -> Band | None:
    text = value.strip().lower()
    if found := _BETWEEN.fullmatch(text):
        low, high = int(found[1]), int(found[2])
        return (low, high) if low < high else None
    if found := _FROM.fullmatch(text):
        return int(found[1] or found[2]), None
    if found := _BELOW.fullmatch(text):
        return (None, int(found[1]) - 1) if int(found[1]) else None
    return None


def _text(low: int | None, high: int | None) -> str:
    if high is None:
        return f"{low}+"
    return f"<{high + 1}" if low is None else f"{low}-{high}"

"""Group countries and states of the United States by region for place hierarchies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reidsim.audit.identifier_names import words_of
from reidsim.validation import read_toml

# Minimum share of the values of a column that must be known places.
_KNOWN = 0.8


@dataclass(frozen=True)
class Regions:
    """Regions of the places in a column.

    Parameters
    ----------
    levels : tuple of str
        Names of the two levels, finer level first.
    region_of : dict of str to tuple of str
        Region of each known place in the column, at each level.
    """

    levels: tuple[str, str]
    region_of: dict[str, tuple[str, str]]


def regions_of(values: Iterable[str]) -> Regions | None:
    """Return the regions of countries, or of states of the United States.

    The result is None if fewer than four fifths of the values are known places. Case, accents and punctuation between
    words are ignored.
    """
    values = list(values)
    for levels, places in _PLACES.items():
        found = {value: places[words] for value in values if (words := words_of(value.title())) in places}
        if found and len(found) >= _KNOWN * len(values):
            return Regions(levels, found)
    return None


def are_places(first: str, second: str) -> bool:
    """Return whether two values are different known places."""
    one, other = (words_of(value.title()) for value in (first, second))
    return one != other and any(one in places and other in places for places in _PLACES.values())


def _by_words(regions: Mapping[str, Mapping[str, list[str]]]) -> dict[tuple[str, ...], tuple[str, str]]:
    return {
        words_of(name.title()): (region, above)
        for above, inner in regions.items()
        for region, names in inner.items()
        for name in names
    }


_WORLD = read_toml(Path(__file__).with_suffix(".toml"))
_PLACES = {("region", "continent"): _by_words(_WORLD["countries"]), ("division", "region"): _by_words(_WORLD["states"])}

"""Match variant spellings to each other, and columns and values to a population."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

from reidsim.core.errors import listed
from reidsim.drafts.names import MISSING_MARKS, NAMES, Names, are_places, letters_of
from reidsim.drafts.profile import ColumnProfile, find_reading, rows_with
from reidsim.populations.population import Population
from reidsim.scenarios.hierarchies import DateReading

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
    """Return the profile of a column with variant spellings listed or merged.

    Parameters
    ----------
    profile : ColumnProfile
        Profile of a column; returned unchanged if its kind is not "category".
    merge : bool
        Whether to merge variants into the usual spelling (in `rows` and `merged`) instead of listing them in
        `spellings`; see `near_spellings`.
    """
    if profile.kind != "category":
        return profile
    near = near_spellings({value: profile.rows[value] for value in profile.values})
    if not merge:
        return replace(profile, spellings=near)
    together: Counter[str] = Counter()
    for value, number in profile.rows.items():
        together[near.get(value, value)] += number
    merged = {value: near.get(usual, usual) for value, usual in profile.merged.items()} | near
    return replace(profile, rows=together, merged=merged)


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
    number = {word: rows_with(rows, group) for word, group in same.items()}
    alike: dict[str, list[str]] = defaultdict(list)
    long = [word for word in same if len(word) >= _ONE_SLIP and len(same) <= _MOST_COMPARED]
    for word in sorted(long, key=lambda word: (-number[word], word)):
        signs = "".join(character for character in word if not character.isalpha())
        # The words before a word are more frequent, and their own usual spellings are known.
        others = [other for other in alike[signs] if number[other] >= _RARER * number[word]]
        alike[signs].append(word)
        found = extractOne(word, others, scorer=OSA.distance, score_cutoff=1 + (len(word) >= _TWO_SLIPS))
        if found is not None and not are_places(same[word][0], same[found[0]][0]):
            meant = same[found[0]][0]
            usual |= dict.fromkeys(same[word], usual.get(meant, meant))
    return {value: usual[value] for value in order if value in usual}


def _plain(value: str) -> str:
    """Return a value in lower case, without accents and removable punctuation.

    Spaces and the characters ``-_.,/'`` between letters, and spaces, points, commas and semicolons at the end, are
    removed.
    """
    parts = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(character for character in parts if not unicodedata.combining(character))
    return _BETWEEN_LETTERS.sub("", plain).rstrip(" .,;")


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """Column matched to an attribute of the population.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    profile : ColumnProfile
        Profile of the column with the population's categories in place of its values, as the basis of hierarchies. Its
        `rows` hold the number of people of each category, and 0 for each unknown value.
    values : dict of str to str
        Category of each value with a different spelling.
    unknown : tuple of str
        Values, with missing ones, that match no category of the population.
    """

    attribute: str
    profile: ColumnProfile
    values: dict[str, str]
    unknown: tuple[str, ...] = ()

    @property
    def strange(self) -> tuple[str, ...]:
        """Values of the column that match no population category and are not missing."""
        return tuple(value for value in self.unknown if value not in MISSING_MARKS)


def match_columns(
    profiles: Sequence[ColumnProfile], population: Population, names: Names = NAMES
) -> tuple[dict[str, ColumnMatch], dict[str, str]]:
    """Match columns to attributes by name or meaning, and values to categories.

    An attribute matches at most one column: the first with its name, in upper or lower case, else with its concept,
    such as age. Values and categories are read by the same rule, with dates in the same order of day and month. A value
    matches a category with the same letters, or with the same meaning in another language. It also matches the only
    category that begins with it (``M`` for ``Male``).

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    population : Population
        Population whose attributes are matched.
    names : Names
        Vocabulary for names and values.

    Returns
    -------
    matches : dict of str to ColumnMatch
        Match by column name. At least half of the rows with a value must have a category of the population.
    reasons : dict of str to str
        Reason why each other column matches no attribute of the population.
    """
    matches: dict[str, ColumnMatch] = {}
    reasons = {profile.name: f"no matching attribute in {population.name}" for profile in profiles}
    for attribute in population.domain.names:
        marginal = population.marginal([attribute])
        people = dict.fromkeys(marginal.domain.attributes[0].categories, 0.0)
        for code, number in zip(marginal.cells[:, 0].tolist(), marginal.counts.tolist(), strict=True):
            people[marginal.domain.attributes[0].categories[code]] = number
        hint = names.hint_of(attribute)
        # A match by name takes precedence over a match by concept.
        same = [profile for profile in profiles if profile.name.casefold() == attribute.casefold()]
        alike = [profile for profile in profiles if hint is not None and profile.concept == hint.concept]
        for profile in [profile for profile in [*same, *alike] if profile.name not in matches]:
            match = _match(attribute, profile, people, names)
            # Strange values of half of the rows or more are another attribute with the same name.
            if 2 * rows_with(profile.rows, match.strange) <= sum(profile.rows.values()) - profile.missing:
                matches[profile.name] = match
                reasons.pop(profile.name)
                break
            shown = listed([value or "missing values" for value in match.unknown], 3)
            reasons[profile.name] = (
                f"values {shown} are not among the values of {population.name} ({listed(filter(None, people), 3)}); in "
                f"a scenario, [attributes.{attribute}.values] maps values to categories"
            )
    return matches, reasons


def _match(attribute: str, profile: ColumnProfile, people: Mapping[str, float], names: Names) -> ColumnMatch:
    """Match the values of a column to the categories of an attribute.

    The attribute is one of the population. If the column holds dates and none has an order of day and month that
    matters, the order of the population is used.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    profile : ColumnProfile
        Profile of the column.
    people : mapping of str to float
        Number of people in the population with each category.
    names : Names
        Vocabulary for the meanings of values.
    """
    found = profile.found
    if isinstance(found.reading, DateReading) and not found.ordered:
        theirs = find_reading(dict.fromkeys(people, 1), profile.hint).reading
        if isinstance(theirs, DateReading):
            found = replace(found, reading=found.reading.model_copy(update={"order": theirs.order}))
    read: dict[str, float] = defaultdict(float)
    for category, number in people.items():
        read[found.reading.label(category)] += number
    by_letters, by_meaning = _single(read, letters_of), _single(read, names.meaning)
    values: dict[str, str] = {}
    for label in [label for label in profile.values if label not in read and any(map(str.isalpha, label))]:
        letters = letters_of(label)
        begins = [category for plain, category in by_letters.items() if plain.startswith(letters)]
        only = begins[0] if len(begins) == 1 else None
        meant = by_letters.get(letters) or by_meaning.get(names.meaning(label)) or only
        values |= {} if meant is None else {label: meant}
    unknown = tuple(label for label in profile.rows if label not in read and label not in values)
    # The hierarchy covers all categories of the population.
    rows = {label: round(number) for label, number in read.items()} | dict.fromkeys(unknown, 0)
    written = {value: values.get(usual, usual) for value, usual in profile.merged.items()}
    values |= {value: category for value, category in written.items() if value != category}
    return ColumnMatch(attribute, replace(profile, found=found, rows=rows), values, unknown)


def _single(categories: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """Return the category of each key, without keys that several categories have.

    `key` computes the key of a category, such as its letters. Categories without letters, and keys that are "", are
    omitted.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for category in categories:
        groups[key(category) if any(map(str.isalpha, category)) else ""].append(category)
    return {name: group[0] for name, group in groups.items() if name and len(group) == 1}

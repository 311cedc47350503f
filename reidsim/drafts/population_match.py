"""Match columns and values of a file to attributes and categories of a population."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz.distance import OSA

from reidsim.audit.identifier_names import words_of
from reidsim.drafts.names import NAMES, Names
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.readings import find_reading
from reidsim.drafts.values import MISSING_MARKS
from reidsim.errors import listed
from reidsim.populations.population import Population
from reidsim.scenarios.reading_schema import DateReading

# Minimum length in letters of words that may differ in one letter.
_ONE_SLIP = 5


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """Column matched to an attribute of the population.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    profile : ColumnProfile
        Profile of the column with the population's categories in place of its values, as the basis of hierarchies.
    values : dict of str to str
        Category of each value with a different spelling.
    unknown : tuple of str
        Values that are not categories of the population.
    """

    attribute: str
    profile: ColumnProfile
    values: dict[str, str]
    unknown: tuple[str, ...] = ()

    @property
    def strange(self) -> tuple[str, ...]:
        """Values that are neither population categories nor missing."""
        return tuple(value for value in self.unknown if value not in MISSING_MARKS)


def match_columns(
    profiles: Sequence[ColumnProfile], population: Population, names: Names = NAMES
) -> tuple[dict[str, ColumnMatch], dict[str, str]]:
    """Match columns to attributes by name or meaning, and values to categories.

    Values and categories are read by the same rule, with dates in the same order of day and month. A value matches a
    category with the same letters, or with the same meaning in another language. It also matches the only category that
    begins with it (``M`` for ``Male``), or the only category that differs in one letter of five or more.

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
        Match by column. At least half of the rows with a value must have a category of the population.
    reasons : dict of str to str
        Reason why each other column matches no attribute of the population.
    """
    matches: dict[str, ColumnMatch] = {}
    reasons = {profile.name: f"no matching attribute in {population.name}" for profile in profiles}
    for attribute in population.domain.names:
        concept = None if (hint := names.hint_of(attribute)) is None else hint.concept
        # A match by name takes precedence over a match by concept.
        same = [profile for profile in profiles if profile.name.casefold() == attribute.casefold()]
        alike = [profile for profile in profiles if concept is not None and profile.concept == concept]
        for profile in [*same, *alike]:
            if profile.name in matches:
                continue
            people = _people_by_category(population, attribute)
            read = _read_alike(profile, people)
            values, strange = _renamed(read.labels, list(_as_read(read, people)), names)
            if _rows_of(read, strange) * 2 > sum(read.counts) - read.missing:
                shown = listed([value or "missing values" for value in strange], 3)
                theirs = listed([category for category in people if category], 3)
                reasons[profile.name] = (
                    f"values {shown} are not among the values of {population.name} ({theirs}); in a scenario, "
                    f"[attributes.{attribute}.values] maps values to categories"
                )
                continue
            everybody = _in_population(read, _as_read(read, people), strange)
            written = {value: values.get(usual, usual) for value, usual in profile.merged.items()}
            values |= {value: category for value, category in written.items() if value != category}
            matches[profile.name] = ColumnMatch(attribute, everybody, values, tuple(strange))
            reasons.pop(profile.name)
            break
    return matches, reasons


def _people_by_category(population: Population, attribute: str) -> dict[str, float]:
    """Return the number of people in each category of an attribute."""
    marginal = population.marginal([attribute])
    people = dict(zip(marginal.cells[:, 0].tolist(), marginal.counts.tolist(), strict=True))
    return {category: people.get(at, 0) for at, category in enumerate(marginal.domain.attributes[0].categories)}


def _as_read(profile: ColumnProfile, people: Mapping[str, float]) -> dict[str, float]:
    """Return the number of people by label of the category.

    The reading of the column's values determines the label of a category. The numbers of people of categories with the
    same label are added.
    """
    read: dict[str, float] = {}
    for category, number in people.items():
        label = profile.found.label(category)
        read[label] = read.get(label, 0) + number
    return read


def _read_alike(profile: ColumnProfile, people: Mapping[str, float]) -> ColumnProfile:
    """Return the profile with the population's order of day and month, if ambiguous."""
    reading = profile.found.reading
    if not isinstance(reading, DateReading):
        return profile
    theirs = find_reading(dict.fromkeys(people, 1), profile.hint).reading
    if not isinstance(theirs, DateReading) or profile.found.ordered:
        return profile
    return replace(profile, found=replace(profile.found, reading=reading.model_copy(update={"order": theirs.order})))


def _renamed(
    labels: Sequence[str], categories: Sequence[str], names: Names = NAMES
) -> tuple[dict[str, str], list[str]]:
    """Return the category of each variant spelling, and the values without a category."""
    known = set(categories)
    by_letters, by_meaning = _single(categories, _letters), _single(categories, names.meaning)
    values: dict[str, str] = {}
    strange = []
    for label in labels:
        if label in known:
            continue
        category = None
        if label not in MISSING_MARKS and any(map(str.isalpha, label)):
            category = (
                by_letters.get(_letters(label)) or by_meaning.get(names.meaning(label)) or _near(label, by_letters)
            )
        if category is None:
            strange.append(label)
        else:
            values[label] = category
    return values, strange


def _near(label: str, by_letters: Mapping[str, str]) -> str | None:
    """Return the only category that begins with a value or differs in one letter.

    The result is None unless exactly one category qualifies.
    """
    letters = _letters(label)
    begin = [category for plain, category in by_letters.items() if plain.startswith(letters)]
    if len(begin) == 1:
        return begin[0]
    # Short codes that differ in one letter have different meanings.
    slips = [
        category
        for plain, category in by_letters.items()
        if min(len(plain), len(letters)) >= _ONE_SLIP and OSA.distance(plain, letters, score_cutoff=1) == 1
    ]
    return slips[0] if len(slips) == 1 and not begin else None


def _single(categories: Sequence[str], key: Callable[[str], str]) -> dict[str, str]:
    """Return the category of each key, if only one category has the key."""
    groups: dict[str, list[str]] = {}
    for category in categories:
        if any(map(str.isalpha, category)):
            groups.setdefault(key(category), []).append(category)
    return {name: group[0] for name, group in groups.items() if name and len(group) == 1}


def _letters(value: str) -> str:
    return "".join(words_of(value))


def _rows_of(profile: ColumnProfile, values: Sequence[str]) -> int:
    """Return the number of rows with one of the given non-missing values."""
    rows, among = zip(profile.labels, profile.counts, strict=True), set(values)
    return sum(number for value, number in rows if value in among and value not in MISSING_MARKS)


def _in_population(profile: ColumnProfile, people: Mapping[str, float], unknown: Sequence[str]) -> ColumnProfile:
    counts = (*(round(number) for number in people.values()), *(0 for _ in unknown))
    return replace(profile, labels=(*people, *unknown), counts=counts)

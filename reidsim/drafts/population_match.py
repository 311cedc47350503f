"""Which columns of a table are attributes of a population, and how their values are called there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reidsim.drafts.names import hint_of
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.values import MISSING_MARKS
from reidsim.errors import listed
from reidsim.populations.population import Population


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """A column that is an attribute of the population.

    Parameters
    ----------
    attribute : str
    profile : ColumnProfile
        Of the column, with the categories of the population in the place of its values: hierarchies are over them.
    values : dict of str to str
        Category of each value that is written in another way.
    unknown : tuple of str
        Values that nobody of the population has.
    """

    attribute: str
    profile: ColumnProfile
    values: dict[str, str]
    unknown: tuple[str, ...] = ()


def match_columns(
    profiles: Sequence[ColumnProfile], population: Population
) -> tuple[dict[str, ColumnMatch], dict[str, str]]:
    """Find the attribute of each column: the one of its name, or of the same meaning.

    At least half of the rows that have a value must have one of the population's.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
    population : Population

    Returns
    -------
    matches : dict of str to ColumnMatch
        By column.
    reasons : dict of str to str
        Why each other column is no attribute of the population.
    """
    matches: dict[str, ColumnMatch] = {}
    reasons = {profile.name: f"no attribute of {population.name}" for profile in profiles}
    for attribute in population.domain.names:
        concept = None if (hint := hint_of(attribute)) is None else hint.concept
        # The name itself says more than its meaning.
        same = [profile for profile in profiles if profile.name.casefold() == attribute.casefold()]
        alike = [profile for profile in profiles if concept is not None and profile.concept == concept]
        for profile in [*same, *alike]:
            values, strange = _renamed(profile, population.domain[attribute].categories)
            if profile.name in matches:
                continue
            if _rows_of(profile, strange) * 2 > sum(profile.counts) - profile.missing:
                shown = listed([value or "missing values" for value in strange], 3)
                reasons[profile.name] = f"{shown}: no value of {attribute!r} in {population.name}"
                continue
            everybody = _in_population(profile, population, attribute, strange)
            matches[profile.name] = ColumnMatch(attribute, everybody, values, tuple(strange))
            reasons.pop(profile.name)
            break
    return matches, reasons


def _renamed(profile: ColumnProfile, categories: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Return the category of values that differ from it in upper and lower case, and values that have none."""
    known = set(categories)
    folded = {category.casefold(): category for category in categories}
    values: dict[str, str] = {}
    strange = []
    for label in profile.labels:
        if label in known:
            continue
        if label not in MISSING_MARKS and label.casefold() in folded:
            values[label] = folded[label.casefold()]
        else:
            strange.append(label)
    return values, strange


def _rows_of(profile: ColumnProfile, values: Sequence[str]) -> int:
    """Return the number of rows that have one of some values and are not missing."""
    rows = zip(profile.labels, profile.counts, strict=True)
    return sum(number for value, number in rows if value in values and value not in MISSING_MARKS)


def _in_population(
    profile: ColumnProfile, population: Population, attribute: str, unknown: Sequence[str]
) -> ColumnProfile:
    marginal = population.marginal([attribute])
    people = dict(zip(marginal.cells[:, 0].tolist(), marginal.counts.tolist(), strict=True))
    categories = marginal.domain.attributes[0].categories
    counts = tuple(round(people.get(at, 0)) for at in range(len(categories)))
    return replace(profile, labels=(*categories, *unknown), counts=(*counts, *(0 for _ in unknown)))

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
    """

    attribute: str
    profile: ColumnProfile
    values: dict[str, str]


def match_columns(
    profiles: Sequence[ColumnProfile], population: Population
) -> tuple[dict[str, ColumnMatch], dict[str, str]]:
    """Find the attribute of each column: the one of its name, or of the same meaning.

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
            if strange:
                reasons[profile.name] = f"{listed(strange, 3)}: no value of {attribute!r} in {population.name}"
                continue
            matches[profile.name] = ColumnMatch(attribute, _in_population(profile, population, attribute), values)
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
            strange.append(label or "missing values")
    return values, strange


def _in_population(profile: ColumnProfile, population: Population, attribute: str) -> ColumnProfile:
    marginal = population.marginal([attribute])
    people = dict(zip(marginal.cells[:, 0].tolist(), marginal.counts.tolist(), strict=True))
    categories = marginal.domain.attributes[0].categories
    return replace(profile, labels=categories, counts=tuple(round(people.get(at, 0)) for at in range(len(categories))))

"""Computation of the knowledge about each person from a knowledge recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.knowledge.recipe import (
    EverythingSource,
    GroupsSource,
    KnowledgeRecipe,
    SocialMediaSource,
    SourceSection,
    VoterListsSource,
)
from reidsim.bundled import resolve
from reidsim.errors import InputError, listed, locating
from reidsim.populations.domain import Attribute, Codes, Domain, distinct_rows
from reidsim.populations.social_media import load_social_media
from reidsim.populations.value_groups import positions_of
from reidsim.populations.voter_list import VOTING_AGE, ProfileOverrides, carried_attributes
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.validation import read_toml, validated
from reidsim.wording import whole_number

RECIPES = "populations/knowledge"

Positions = NDArray[np.intp]

# Profile number of people without a profile.
_NONE = -1
# Maximum age in years; a higher age is an error in the data, such as a two-digit year.
_OLDEST = 130


@dataclass(frozen=True)
class RecordsFile:
    """The file with one person per row, for messages about values.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    columns : mapping of str to str
        Column name by attribute, for attributes whose column has another name.
    """

    path: str | Path
    columns: Mapping[str, str] = field(default_factory=dict)


class _ValueOfPersonError(InputError):
    """Error in a person's value that leaves the knowledge about the person undefined."""

    def __init__(
        self,
        problem: str,
        person: int,
        attribute: str | None,
        *,
        found: object,
        expected: str,
        hint: str | None = None,
    ) -> None:
        self.person, self.attribute = person, attribute
        super().__init__(problem, found=found, expected=expected, hint=hint)

    def in_records(self, records: RecordsFile | None, asked_by: str) -> InputError:
        """Return the error with file, row and column, and the source that needs the value."""
        parts = []
        if records is None and self.attribute is not None:
            parts = [f"attribute {self.attribute!r}"]
        elif records is not None:
            parts = [f"row {self.person + 1}"]
            if self.attribute is not None:
                parts.append(f"column {records.columns.get(self.attribute, self.attribute)!r}")
        return InputError(
            self.problem,
            source=None if records is None else records.path,
            where=", ".join(parts) or None,
            found=self.found,
            expected=self.expected,
            hint="; ".join(part for part in (self.hint, f"needed by {asked_by}") if part),
        )


def load_knowledge(
    recipe: str | Path,
    domain: Domain,
    persons: Codes,
    *,
    base: Path | None = None,
    records: RecordsFile | None = None,
) -> Knowledge:
    """Compute the knowledge of a recipe's sources about persons.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"voter-registration"``, or a TOML file.
    domain : Domain
        Attributes and values of the persons.
    persons : ndarray of int32, shape (n_persons, n_attributes)
        Codes of the persons' values.
    base : Path, optional
        Folder to which a relative path refers.
    records : RecordsFile, optional
        File of the persons, if they are the rows of a file.

    Returns
    -------
    Knowledge

    Raises
    ------
    InputError
        If the recipe cannot be used or names an attribute that the persons do not have; or if the knowledge depends on
        a person's value that a source cannot use. The message then names the file, row and column of the value.
    """
    path = resolve(recipe, RECIPES, "knowledge recipe", base=base)
    sections = validated(KnowledgeRecipe, read_toml(path), path).sources
    sources = []
    for number, section in enumerate(sections):
        try:
            sources.append(_source(section, domain, persons, path.parent))
        except _ValueOfPersonError as error:
            raise error.in_records(records, f"source {section.name!r} of {path}") from None
        except InputError as error:
            raise error.located(path, f"sources[{number}]") from None
    with locating(path):
        return Knowledge(domain.names, tuple(sources))


def _source(section: SourceSection, domain: Domain, persons: Codes, folder: Path) -> Source:
    if isinstance(section, EverythingSource):
        everything = SourceProfile((AttributeGroup(domain.names),), section.presence, section.price)
        return Source(section.name, (everything,), np.zeros(len(persons), dtype=np.intp))
    if isinstance(section, GroupsSource):
        return _groups(section, domain, persons)
    if isinstance(section, VoterListsSource):
        return _voter_lists(section, domain, persons)
    return _social_media(section, domain, persons, folder)


def _groups(section: GroupsSource, domain: Domain, persons: Codes) -> Source:
    profile_of_person = np.full(len(persons), _NONE, dtype=np.intp)
    profiles = []
    for number, profile in enumerate(section.profile):
        try:
            for place, group in enumerate(profile.groups):
                for name in group.attributes:
                    _position(domain, name, f"groups[{place}].attributes")
            groups = tuple(AttributeGroup(group.attributes, group.probability) for group in profile.groups)
            profiles.append(SourceProfile(groups, profile.presence, profile.price))
            fits = profile_of_person == _NONE
            for name, members in profile.when.items():
                _position(domain, name, "when")
                fits &= _is_one_of(domain[name], members)[_column(domain, persons, name)]
        except _ValueOfPersonError:
            raise
        except InputError as error:
            raise error.located(where=f"profile[{number}]") from None
        profile_of_person[fits] = number
    if (profile_of_person == _NONE).any():
        person = int((profile_of_person == _NONE).argmax())
        names = dict.fromkeys(name for profile in section.profile for name in profile.when)
        values = (f"{name} = {domain[name].categories[persons[person, domain.position(name)]]}" for name in names)
        expected = "a profile for each person, such as a last profile without when"
        raise _ValueOfPersonError("no profile fits a person", person, None, found=", ".join(values), expected=expected)
    return Source(section.name, tuple(profiles), profile_of_person)


def _is_one_of(attribute: Attribute, members: Sequence[str]) -> NDArray[np.bool_]:
    """Return which values of an attribute are in a list of values and ranges.

    Ranges are ranges of whole numbers.
    """
    named = np.zeros(attribute.size, dtype=np.bool_)
    for member in members:
        named[positions_of(attribute, member, f"when.{attribute.name}")] = True
    return named


def _voter_lists(section: VoterListsSource, domain: Domain, persons: Codes) -> Source:
    told = section.attributes
    for name in told.named:
        _position(domain, name, "attributes")
    if section.state is None:
        lists, list_of_person = _lists_of_states(domain, persons, told.state)
        for state in section.overrides:
            _voter_profile(state, "overrides")
    else:
        lists, list_of_person = (_voter_profile(section.state, "state"),), np.zeros(len(persons), dtype=np.intp)
        for state in section.overrides:
            if state not in (lists[0].state, lists[0].abbreviation):
                raise InputError(
                    "override for a state that the source does not use",
                    where="overrides",
                    found=state,
                    expected=lists[0].state,
                )
    profiles = [_list_profile(_changed(profile, section.overrides), section) for profile in lists]
    ages = _ages(domain, persons, told.age, told.year_of_birth, section.reference_year)
    # The last profile is for people below voting age, who are on no list.
    minors = len(profiles)
    profile_of_person = np.where(ages < VOTING_AGE, minors, list_of_person)
    return Source(section.name, (*profiles, SourceProfile((), 0.0)), profile_of_person)


def _lists_of_states(
    domain: Domain, persons: Codes, attribute: str | None
) -> tuple[tuple[VoterProfile, ...], Positions]:
    """Return the lists of the persons' states, and the list of each person."""
    assert attribute is not None  # noqa: S101 - ensured by the schema; for the type checker
    column = _column(domain, persons, attribute)
    first, list_of_person = distinct_rows([column], len(column))
    lists = []
    for code in column[first].tolist():
        try:
            lists.append(voter_profile(domain[attribute].categories[code]))
        except InputError as error:
            raise _ValueOfPersonError(
                error.problem,
                int((column == code).argmax()),
                attribute,
                found=error.found,
                expected=str(error.expected),
                hint=error.hint,
            ) from None
    return tuple(lists), list_of_person


def _voter_profile(state: str, where: str) -> VoterProfile:
    with locating(where=where):
        return voter_profile(state)


def _changed(profile: VoterProfile, overrides: Mapping[str, ProfileOverrides]) -> VoterProfile:
    given = overrides.get(profile.state) or overrides.get(profile.abbreviation)
    return profile if given is None else given.applied_to(profile)


def _list_profile(profile: VoterProfile, section: VoterListsSource) -> SourceProfile:
    carried = carried_attributes(section.attributes, profile)
    told = tuple(name for name in section.attributes.named if name in carried)
    groups = (AttributeGroup(told),) if told else ()
    return SourceProfile(groups, profile.registered_share, profile.price)


def _social_media(section: SocialMediaSource, domain: Domain, persons: Codes, folder: Path) -> Source:
    model = load_social_media(resolve(section.recipe, "populations", "social-media recipe", base=folder))
    wanted = section.attributes or {name: name for name in model.attributes}
    for name in wanted.values():
        _position(domain, name, "attributes")
    if section.age is None and section.year_of_birth is None:
        ages, age_of_person = None, np.zeros(len(persons), dtype=np.intp)
    else:
        of_persons = _ages(domain, persons, section.age, section.year_of_birth, section.reference_year)
        first, age_of_person = distinct_rows([of_persons], len(persons))
        ages = of_persons[first]
    try:
        if ages is None:
            use, learnable = np.array([model.use()]), [np.array([model.learnable(name)]) for name in wanted]
        else:
            use, learnable = model.use(ages), [model.learnable(name, ages) for name in wanted]
    except InputError as error:
        place = ": ".join(part for part in (f"recipe {error.source}", error.where) if part)
        if ages is not None and isinstance(error.found, int):
            expected = f"an age of {error.expected}, for which {place} has figures"
            person, verdict_of = int((of_persons == error.found).argmax()), section.age or section.year_of_birth
            raise _ValueOfPersonError(error.problem, person, verdict_of, found=error.found, expected=expected) from None
        raise error.but(source=None, where=place) from None
    # The model's probabilities are unconditional; probabilities of groups are conditional on presence.
    given_use = [np.divide(p, use, out=np.zeros(len(use)), where=use > 0) for p in learnable]
    rows, profile_of_age = np.unique(np.column_stack([use, *given_use]), axis=0, return_inverse=True)
    profiles = tuple(
        SourceProfile(
            tuple(AttributeGroup((name,), min(p, 1.0)) for name, p in zip(wanted.values(), row[1:], strict=True)),
            presence=row[0],
        )
        for row in rows.tolist()
    )
    return Source(section.name, profiles, profile_of_age.ravel()[age_of_person], section.price)


def _ages(
    domain: Domain, persons: Codes, age: str | None, year_of_birth: str | None, reference_year: int | None
) -> NDArray[np.int64]:
    """Return the age of each person, in years.

    With a year of birth, it is the age reached in the reference year. Raises an error if the value of a person is not a
    whole number or gives an age outside 0 to 130.
    """
    name = age if year_of_birth is None else year_of_birth
    assert name is not None  # noqa: S101 - ensured by the schemas; for the type checker
    _position(domain, name, "year_of_birth" if age is None else "age")
    column = _column(domain, persons, name)
    ages = np.zeros(domain[name].size, dtype=np.int64)
    for code in np.unique(column).tolist():
        value = domain[name].categories[code]
        number = whole_number(value)
        expected = "a whole number of years" if age is not None else f"a year of birth, up to {reference_year}"
        problem = "not a whole number, so the age is unknown"
        if number is not None:
            ages[code] = number if age is not None else int(reference_year or 0) - number
            problem = "not an age of a living person" if age is not None else "not a year of birth of a living person"
        if number is None or not 0 <= ages[code] <= _OLDEST:
            raise _ValueOfPersonError(problem, int((column == code).argmax()), name, found=value, expected=expected)
    return np.asarray(ages[column])


def _position(domain: Domain, name: str, where: str) -> int:
    with locating(where=where):
        return domain.position(name)


def _column(domain: Domain, persons: Codes, name: str) -> Codes:
    """Return the codes of an attribute that controls the knowledge, one per person.

    Raises an error if a person's value is generalized.
    """
    column = persons[:, domain.position(name)]
    generalized = column >= domain[name].size
    if generalized.any():
        raise _ValueOfPersonError(
            "the source needs a value that is generalized",
            int(generalized.argmax()),
            name,
            found=None,
            expected=f"one of {listed(domain[name].categories)} for each person",
        )
    return column

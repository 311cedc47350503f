"""From a knowledge recipe and the persons it is about to what may be known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from reidsim.errors import InputError, listed
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.social_media import load_social_media
from reidsim.populations.value_groups import REST, group_codes
from reidsim.populations.voter_list import VOTING_AGE, ProfileOverrides, carried_attributes
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.validation import read_toml, validated

RECIPES = "populations/knowledge"

Positions = NDArray[np.intp]

# People to whom no profile applies are found by this number.
_NONE = -1


def load_knowledge(recipe: str | Path, domain: Domain, persons: Codes, *, base: Path | None = None) -> Knowledge:
    """Work out what a knowledge recipe's sources may tell about some persons.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"voter-registration"``, or a TOML file.
    domain : Domain
        Of the persons.
    persons : ndarray of int32, shape (n_persons, n_attributes)
        Their codes.
    base : Path, optional
        Folder where a relative path starts.

    Returns
    -------
    Knowledge

    Raises
    ------
    InputError
        If the recipe cannot be used, names an attribute that the persons do not have, or has no profile for somebody.
    """
    path = resolve(recipe, RECIPES, "knowledge recipe", base=base)
    sections = validated(KnowledgeRecipe, read_toml(path), path).sources
    sources = []
    for number, section in enumerate(sections):
        try:
            sources.append(_source(section, domain, persons, path.parent))
        except InputError as error:
            raise error.located(path, f"sources[{number}]") from None
    try:
        return Knowledge(domain.names, tuple(sources))
    except InputError as error:
        raise error.located(path) from None


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
        where = f"profile[{number}]"
        try:
            groups = tuple(AttributeGroup(group.attributes, group.probability) for group in profile.groups)
            profiles.append(SourceProfile(groups, profile.presence, profile.price))
            fits = profile_of_person == _NONE
            for name, members in profile.when.items():
                fits &= _is_one_of(domain[name], members)[_column(domain, persons, name)]
        except InputError as error:
            raise error.located(where=where) from None
        profile_of_person[fits] = number
    if (profile_of_person == _NONE).any():
        person = persons[int((profile_of_person == _NONE).argmax())]
        names = dict.fromkeys(name for profile in section.profile for name in profile.when)
        values = (f"{name} = {domain[name].categories[person[domain.position(name)]]}" for name in names)
        raise InputError(
            "no profile for a person", where="profile", found=", ".join(values), expected="a last one without when"
        )
    return Source(section.name, tuple(profiles), profile_of_person)


def _is_one_of(attribute: Attribute, members: Sequence[str]) -> NDArray[np.bool_]:
    return np.asarray(group_codes(attribute, {"these": members, "others": (REST,)}) == 0)


def _voter_lists(section: VoterListsSource, domain: Domain, persons: Codes) -> Source:
    told = section.attributes
    for name in told.named:
        _position(domain, name, "attributes")
    if section.state is None:
        assert told.state is not None  # noqa: S101 - held by the schema, said for the type checker
        states: tuple[str, ...] = domain[told.state].categories
        state_of_person = _column(domain, persons, told.state).astype(np.intp)
    else:
        states, state_of_person = (section.state,), np.zeros(len(persons), dtype=np.intp)
    for state in section.overrides:
        if not any(state in (profile.state, profile.abbreviation) for profile in map(_voter_profile, states)):
            raise InputError("a state that nobody can be of", where="overrides", found=state)
    profiles = [_list_profile(_changed(_voter_profile(state), section.overrides), section) for state in states]
    ages = _ages(domain, persons, told.age, told.year_of_birth, section.reference_year)
    # Whoever is too young to vote is on no list.
    minors = len(profiles)
    profile_of_person = np.where(ages < VOTING_AGE, minors, state_of_person)
    return Source(section.name, (*profiles, SourceProfile((), 0.0)), profile_of_person)


def _voter_profile(state: str) -> VoterProfile:
    try:
        return voter_profile(state)
    except InputError as error:
        raise error.located(where="state") from None


def _changed(profile: VoterProfile, overrides: Mapping[str, ProfileOverrides]) -> VoterProfile:
    given = overrides.get(profile.state) or overrides.get(profile.abbreviation)
    if given is None:
        return profile
    changes = {fact: value for fact, value in given if value is not None}
    if changes.get("birth") == "none":
        changes["birth"] = None
    return replace(profile, **changes)


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
        ages = None
    else:
        ages = _ages(domain, persons, section.age, section.year_of_birth, section.reference_year)
    try:
        if ages is None:
            use = np.full(len(persons), model.use())
            learnable = [np.full(len(persons), model.learnable(name)) for name in wanted]
        else:
            use, learnable = model.use(ages), [model.learnable(name, ages) for name in wanted]
    except InputError as error:
        place = ": ".join(part for part in (f"recipe {error.source}", error.where) if part)
        raise InputError(
            error.problem, where=place, found=error.found, expected=error.expected, hint=error.hint
        ) from None
    # The model tells what can be learned about anybody, groups what can be about somebody who is there.
    given_use = [np.divide(p, use, out=np.zeros(len(use)), where=use > 0) for p in learnable]
    rows, profile_of_person = np.unique(np.column_stack([use, *given_use]), axis=0, return_inverse=True)
    profiles = tuple(
        SourceProfile(
            tuple(AttributeGroup((name,), min(p, 1.0)) for name, p in zip(wanted.values(), row[1:], strict=True)),
            presence=row[0],
        )
        for row in rows.tolist()
    )
    return Source(section.name, profiles, profile_of_person.ravel(), section.price)


def _ages(
    domain: Domain, persons: Codes, age: str | None, year_of_birth: str | None, reference_year: int | None
) -> NDArray[np.int64]:
    """Return the age of each person, in the reference year where only the year of birth is told."""
    name = age if year_of_birth is None else year_of_birth
    assert name is not None  # noqa: S101 - held by the schemas, said for the type checker
    _position(domain, name, "year_of_birth" if age is None else "age")
    numbers = [category.removesuffix("+") for category in domain[name].categories]
    wrong = [
        category for category, number in zip(domain[name].categories, numbers, strict=True) if not number.isdecimal()
    ]
    if wrong:
        raise InputError("not a whole number, so ages cannot be told", where=f"attribute {name!r}", found=wrong[0])
    years = np.array([int(number) for number in numbers], dtype=np.int64)[_column(domain, persons, name)]
    return years if age is not None else np.asarray(int(reference_year or 0) - years)


def _position(domain: Domain, name: str, where: str) -> int:
    try:
        return domain.position(name)
    except InputError as error:
        raise error.located(where=where) from None


def _column(domain: Domain, persons: Codes, name: str) -> Codes:
    """Return everybody's codes of an attribute on which it depends what is told."""
    column = persons[:, domain.position(name)]
    generalized = np.unique(column[column >= domain[name].size])
    if len(generalized):
        raise InputError(
            "what is told depends on a value that is generalized",
            where=f"attribute {name!r}",
            expected=f"one of {listed(domain[name].categories)} for everybody",
        )
    return column

"""Knowledge recipes: TOML files that describe an adversary's knowledge sources.

The knowledge is computed for each person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.core.bundled import resolve
from reidsim.core.errors import InputError, listed, locating, require_distinct
from reidsim.core.validation import Section, read_toml, validated
from reidsim.core.wording import whole_number
from reidsim.populations.population import Codes, Domain, distinct_rows
from reidsim.populations.public_sources import (
    VOTING_AGE,
    ListedAttributes,
    ProfileOverrides,
    VoterProfile,
    load_social_media,
    voter_profile,
)
from reidsim.populations.recipe import Members, RecipeHead, Share, positions_of

RECIPES = "populations/knowledge"

# Profile number of people without a profile.
_NONE = -1
# Maximum age in years; a higher age is an error in the data, such as a two-digit year.
_OLDEST = 130

T = TypeVar("T")

Price = Annotated[float, Field(ge=0)]


class EverythingSource(Section):
    """A source that reveals all attributes of the records together.

    Attributes
    ----------
    kind
        source that reveals all attributes together
    name
        name of the source, different from all others
    presence
        probability that the source contains a person
    price
        price of the source, paid once
    """

    kind: Literal["everything"]
    name: str = "everything"
    presence: Share = 1.0
    price: Price = 0.0

    def source(self, people: _People) -> Source:
        """Return a `Source` with one profile: all attributes, for all people."""
        everything = SourceProfile((AttributeGroup(people.domain.names),), self.presence, self.price)
        return Source(self.name, (everything,), people.nobody_apart)


class GroupSection(Section):
    """A group of attributes that are revealed together.

    Attributes
    ----------
    attributes
        attributes that are revealed together
    probability
        probability that the group is revealed for a person in the source
    """

    attributes: tuple[str, ...] = Field(min_length=1)
    probability: Share = 1.0


class ProfileSection(Section):
    """The attributes that a source reveals about one type of people.

    Attributes
    ----------
    when
        values, or ranges such as `"18..64"`, of people with this profile, by attribute; default: all people
    presence
        probability that the source contains a person
    price
        price of the source for all people with this profile together, paid once
    groups
        groups of attributes, each revealed as a whole and independently of the others; groups do not overlap
    """

    when: dict[str, Members] = Field(default={})
    presence: Share = 1.0
    price: Price = 0.0
    groups: tuple[GroupSection, ...] = ()


class GroupsSource(Section):
    """A source that is described by groups of attributes.

    Attributes
    ----------
    kind
        source described by groups of attributes
    name
        name of the source, different from all others
    profile
        revealed attributes by type of person; the first profile that fits a person applies
    """

    kind: Literal["groups"]
    name: str = Field(min_length=1)
    profile: tuple[ProfileSection, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _all_reached(self) -> GroupsSource:
        for number, profile in enumerate(self.profile[:-1]):
            if not profile.when:
                raise InputError(
                    "the profile fits everybody, so later profiles are never used",
                    where=f"profile[{number}]",
                    expected="this profile at the end of the list",
                )
        return self

    def source(self, people: _People) -> Source:
        """Return a `Source` with the listed profiles; a person has the first that fits.

        Raises
        ------
        InputError
            If no profile fits a person, a profile names an unknown attribute or value, its groups overlap, or a value
            that it needs is generalized.
        """
        domain, profile_of_person, profiles = people.domain, people.nobody_apart + _NONE, []
        for number, profile in enumerate(self.profile):
            with people.at(f"profile[{number}]"):
                for place, group in enumerate(profile.groups):
                    people.require(group.attributes, f"groups[{place}].attributes")
                groups = tuple(AttributeGroup(group.attributes, group.probability) for group in profile.groups)
                profiles.append(SourceProfile(groups, profile.presence, profile.price))
                fits = profile_of_person == _NONE
                people.require(profile.when, "when")
                for name, members in profile.when.items():
                    codes = [code for member in members for code in positions_of(domain[name], member, f"when.{name}")]
                    fits &= np.isin(people.column(name), codes)
            profile_of_person[fits] = number
        if (profile_of_person == _NONE).any():
            person = int((profile_of_person == _NONE).argmax())
            names = dict.fromkeys(name for profile in self.profile for name in profile.when)
            found = ", ".join(f"{name} = {domain[name].categories[people.column(name)[person]]}" for name in names)
            expected = "a profile for each person, such as a last profile without when"
            raise people.error("no profile fits a person", person, None, found=found, expected=expected)
        return Source(self.name, tuple(profiles), profile_of_person)


class VoterListsSource(Section):
    """The voter lists of the states: a source about registered adults.

    Attributes
    ----------
    kind
        voter lists of the states
    name
        name of the source, different from all others
    attributes
        attributes of the records that the lists may have
    state
        state of all people, in place of `attributes.state`
    reference_year
        year of the lists; needed with a year of birth
    overrides
        values that replace facts of a state's list, by state
    """

    kind: Literal["voter-lists"]
    name: str = "voter lists"
    attributes: ListedAttributes
    state: str | None = None
    reference_year: int | None = None
    overrides: dict[str, ProfileOverrides] = Field(default={})

    @model_validator(mode="after")
    def _one_state(self) -> VoterListsSource:
        if (self.state is None) == (self.attributes.state is None):
            raise InputError("the state is missing or given twice", expected="either state or attributes.state")
        if self.attributes.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the lists")
        return self

    def source(self, people: _People) -> Source:
        """Return a `Source` with a profile per state, whose voter list it describes.

        A person's profile is that of the person's state. People below voting age are on no list.

        Raises
        ------
        InputError
            If a state, an attribute or an override is unknown, or a person's state, age or year of birth cannot be
            used.
        """
        names, person_list = self.attributes, people.nobody_apart
        people.require(names.carried(), "attributes")
        if names.state is not None:
            lists, person_list = people.by_value(names.state, voter_profile)
        else:
            with locating(where="state"):
                lists = [voter_profile(str(self.state))]
        with locating(where="overrides"):
            for state in self.overrides:
                if voter_profile(state) != lists[0] and names.state is None:
                    problem = "override for a state that the source does not use"
                    raise InputError(problem, found=state, expected=lists[0].state)
        ages = people.ages(names.age, names.year_of_birth, self.reference_year)
        # The last profile is for people below voting age, who are on no list.
        profiles = (*map(self._profile, lists), SourceProfile((), 0.0))
        return Source(self.name, profiles, np.where(ages < VOTING_AGE, len(lists), person_list))

    def _profile(self, facts: VoterProfile) -> SourceProfile:
        changes = self.overrides.get(facts.state) or self.overrides.get(facts.abbreviation)
        facts = facts if changes is None else changes.applied_to(facts)
        names = self.attributes.carried(facts)
        return SourceProfile((AttributeGroup(names),) if names else (), facts.registered_share, facts.price)


class SocialMediaSource(Section):
    """A social-media source, described by a recipe of kind ``social-media``.

    Attributes
    ----------
    kind
        source that reveals attributes through social media
    name
        name of the source, different from all others
    recipe
        social-media recipe (name or file), such as `"twitter-attributes"`
    attributes
        attribute of the records, by attribute of the recipe; default: the same name
    age
        attribute with the age, for figures by age
    year_of_birth
        attribute with the year of birth, in place of `age`
    reference_year
        year of the figures; needed with a year of birth
    price
        price of the source, paid once
    """

    kind: Literal["social-media"]
    name: str = "social media"
    recipe: str
    attributes: dict[str, str] = Field(default={})
    age: str | None = None
    year_of_birth: str | None = None
    reference_year: int | None = None
    price: Price = 0.0

    @model_validator(mode="after")
    def _one_age(self) -> SocialMediaSource:
        if self.age is not None and self.year_of_birth is not None:
            raise InputError("the age is given twice", expected="either age or year_of_birth")
        if self.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the figures")
        return self

    def source(self, people: _People) -> Source:
        """Return a `Source` with one profile per distinct set of figures of the recipe.

        Each attribute is a group of its own. The figures depend on a person's age only if the section names an
        attribute with the age or the year of birth.

        Raises
        ------
        InputError
            If the recipe cannot be used, an attribute is unknown, or a person's age is unusable or has no figures.
        """
        path = resolve(self.recipe, "populations", "social-media recipe", base=people.folder)
        model = load_social_media(path)
        wanted = self.attributes or {name: name for name in model.attributes}
        people.require(wanted.values(), "attributes")
        by_age = self.age or self.year_of_birth
        of_persons = people.ages(self.age, self.year_of_birth, self.reference_year) if by_age else people.nobody_apart
        first, age_of_person = distinct_rows([of_persons], len(of_persons))
        ages = of_persons[first] if by_age else None
        try:
            use, *learnable = map(np.atleast_1d, (model.presence(ages), *(model.learnable(n, ages) for n in wanted)))
        except InputError as error:
            place = ": ".join(part for part in (f"recipe {path.stem}", error.where) if part)
            if by_age and isinstance(error.found, int):
                expected = f"an age of {error.expected}, for which {place} has figures"
                person = int((of_persons == error.found).argmax())
                raise people.error(error.problem, person, by_age, found=error.found, expected=expected) from None
            raise error.but(source=None, where=place) from None
        rows, profile_of_age = np.unique(np.column_stack([use, *learnable]), axis=0, return_inverse=True)
        profiles = []
        for presence, *chances in rows.tolist():
            pairs = zip(wanted.values(), chances, strict=True)
            profiles.append(SourceProfile(tuple(AttributeGroup((name,), p) for name, p in pairs), presence))
        return Source(self.name, tuple(profiles), profile_of_age.ravel()[age_of_person], self.price)


SourceSection = Annotated[
    EverythingSource | GroupsSource | VoterListsSource | SocialMediaSource, Field(discriminator="kind")
]


class KnowledgeRecipe(RecipeHead):
    """A list of knowledge sources, used together.

    Attributes
    ----------
    sources
        sources of knowledge; an attribute is known if at least one source reveals it
    """

    sources: tuple[SourceSection, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_distinct_names(self) -> KnowledgeRecipe:
        names = [source.name for source in self.sources]
        require_distinct("two sources have the same name", names, where="sources", expected="different names")
        return self


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
    """Error in a person's value that leaves the knowledge about the person undefined.

    Its message already has the place of the value.
    """


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
        people = _People(domain, persons, records, path.parent, f"source {section.name!r} of {path}")
        with people.at(f"sources[{number}]", path):
            sources.append(section.source(people))
    with locating(path):
        return Knowledge(domain.names, tuple(sources))


@dataclass(frozen=True)
class _People:
    """The people about whom a source reveals attributes.

    For `domain`, `persons` and `records` see `load_knowledge`. `folder` is the folder of the recipe, and `asked_by`
    names the source in messages.
    """

    domain: Domain
    persons: Codes
    records: RecordsFile | None
    folder: Path
    asked_by: str

    @property
    def nobody_apart(self) -> NDArray[np.intp]:
        """Profile number 0 for each person, shape (n_persons,): all have the same profile."""
        return np.zeros(len(self.persons), dtype=np.intp)

    @contextmanager
    def at(self, where: str, source: Path | None = None) -> Iterator[None]:
        """Return a context that adds the place in the recipe to every InputError.

        The place is the key `where` and the file `source`. Errors in a person's value are not changed.
        """
        try:
            yield
        except _ValueOfPersonError:
            raise
        except InputError as error:
            raise error.located(source, where) from None

    def require(self, names: Iterable[str], where: str) -> None:
        """Raise InputError if people lack one of the attributes `names`.

        `where` is the key of the recipe that names them, for the message.
        """
        with locating(where=where):
            for name in names:
                self.domain.position(name)

    def column(self, name: str) -> Codes:
        """Return the codes of an attribute that controls the knowledge, (n_persons,).

        Raises
        ------
        InputError
            If a person's value is generalized, or the attribute is unknown.
        """
        column, values = self.persons[:, self.domain.position(name)], self.domain[name].categories
        generalized = column >= len(values)
        if generalized.any():
            problem, person = "the source needs a value that is generalized", int(generalized.argmax())
            expected = f"one of {listed(values)} for each person"
            raise self.error(problem, person, name, found=None, expected=expected)
        return column

    def by_value(self, name: str, look_up: Callable[[str], T]) -> tuple[list[T], NDArray[np.intp]]:
        """Return the results of `look_up` for an attribute's values, and each person's.

        The first result is a list with one item for each value that occurs. The second is the position in that list of
        each person's item, shape (n_persons,). `look_up` is called with the text of a value; its InputError gets the
        place of the first person with the value.
        """
        column = self.column(name)
        first, of_person = distinct_rows([column], len(column))
        results = []
        for person in first.tolist():
            try:
                results.append(look_up(self.domain[name].categories[column[person]]))
            except InputError as error:
                person = int((column == column[person]).argmax())
                found, expected = error.found, str(error.expected)
                raise self.error(error.problem, person, name, found=found, expected=expected, hint=error.hint) from None
        return results, of_person

    def ages(self, age: str | None, year_of_birth: str | None, reference_year: int | None) -> NDArray[np.int64]:
        """Return the age of each person, in years, shape (n_persons,).

        `age` and `year_of_birth` are names of attributes. With a year of birth, the age is the one reached in the
        reference year, and `age` is not used.

        Raises
        ------
        InputError
            If the attribute is unknown, or a person's value is not a whole number or gives an age outside 0 to 130.
        """
        born = year_of_birth is not None
        problem = "not a year of birth of a living person" if born else "not an age of a living person"
        expected = f"a year of birth, up to {reference_year}" if born else "a whole number of years"
        self.require(
            [str(year_of_birth or age)], "age" if year_of_birth is None or age is not None else "year_of_birth"
        )

        def years(value: str) -> int:
            number = whole_number(value)
            if number is None:
                raise InputError("not a whole number, so the age is unknown", found=value, expected=expected)
            number = int(reference_year or 0) - number if born else number
            if not 0 <= number <= _OLDEST:
                raise InputError(problem, found=value, expected=expected)
            return number

        ages, of_person = self.by_value(str(year_of_birth or age), years)
        return np.array(ages, dtype=np.int64)[of_person]

    def error(
        self, problem: str, person: int, attribute: str | None, *, found: object, expected: str, hint: str | None = None
    ) -> InputError:
        """Return, without raising it, the InputError for a person's value.

        The message has the file, row and column of the value, and the source that needs it.

        Parameters
        ----------
        problem, expected, hint : str
            Texts of the message.
        person : int
            Position of the person, from 0.
        attribute : str or None
            Attribute with the value; None if several attributes are at fault.
        found : object
            The value, for the message.
        """
        where = None if attribute is None else f"attribute {attribute!r}"
        if self.records is not None:
            column = None if attribute is None else self.records.columns.get(attribute, attribute)
            where = f"row {person + 1}" + ("" if column is None else f", column {column!r}")
        return _ValueOfPersonError(
            problem,
            source=None if self.records is None else self.records.path,
            where=where,
            found=found,
            expected=expected,
            hint="; ".join(part for part in (hint, f"needed by {self.asked_by}") if part),
        )

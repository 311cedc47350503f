"""Knowledge sources as groups of attributes (Xia et al. 2021), knowledge sets, and recipes.

The groups of a source are disjoint. Each group is known with a probability. A knowledge set is a set of attributes that
an adversary may know about a person. A knowledge recipe is a TOML file that describes the sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, prod
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, listed, locating, require_distinct
from reidsim.core.files import read_toml, resolve
from reidsim.core.validation import Section, validated
from reidsim.core.wording import whole_number
from reidsim.populations.census import VOTING_AGE, ListedAttributes, ProfileOverrides, VoterProfile, voter_profile
from reidsim.populations.population import Codes, Domain, Members, RecipeHead, Share, distinct_rows, positions_of
from reidsim.populations.resources import load_social_media

Floats = NDArray[np.float64]

# Sets of attributes are stored as bits of a signed 64-bit number.
MOST_ATTRIBUTES = 62
# Maximum number of knowledge sets per kind of person that are listed, which limits memory; more sets must be drawn.
_MOST_LISTED = 2**20
RECIPES = "populations/knowledge"

# Profile number of people without a profile.
_NONE = -1
# Maximum age in years; a higher age is an error in the data, such as a two-digit year.
_OLDEST = 130

T = TypeVar("T")

Price = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class AttributeGroup:
    """Attributes that a source reveals together, or not at all.

    Parameters
    ----------
    attributes : tuple of str
        Names of the attributes.
    probability : float
        Probability that the group is revealed, given that the source knows the person; in [0, 1].
    """

    attributes: tuple[str, ...]
    probability: float = 1.0


@dataclass(frozen=True)
class SourceProfile:
    """Attributes that a source reveals about one kind of people.

    An example of a kind is the voters of one state.

    Parameters
    ----------
    groups : tuple of AttributeGroup
        Disjoint groups, revealed independently of each other.
    presence : float
        Probability that the source knows the person; otherwise, it reveals nothing.
    price : float
        Price of the source for people of this kind, paid once, in currency units.

    Raises
    ------
    InputError
        If groups overlap.
    """

    groups: tuple[AttributeGroup, ...]
    presence: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        named = [name for group in self.groups for name in group.attributes]
        require_distinct("attribute in two groups", named, where="groups", expected="each attribute in one group only")


@dataclass(frozen=True)
class Source:
    """One source of knowledge.

    Parameters
    ----------
    name : str
        Name of the source.
    profiles : tuple of SourceProfile
        Profiles of the kinds of people.
    profile_of_person : ndarray of int, shape (n_persons,)
        Position in `profiles` of the profile of each person.
    price : float
        Price of the source as a whole, paid once in addition to the prices of profiles, in currency units.
    """

    name: str
    profiles: tuple[SourceProfile, ...]
    profile_of_person: NDArray[np.intp]
    price: float = 0.0

    @property
    def total_price(self) -> float:
        """Price of the source, in currency units.

        It is the price of the source as a whole plus the price of each profile that at least one person has.
        """
        return self.price + fsum(self.profiles[used].price for used in np.unique(self.profile_of_person).tolist())

    @property
    def presence(self) -> Floats:
        """Probability that the source contains each person, shape (n_persons,)."""
        return np.array([profile.presence for profile in self.profiles])[self.profile_of_person]


@dataclass(frozen=True)
class Knowledge:
    """Knowledge that an adversary may have about persons, from one or several sources.

    Parameters
    ----------
    attributes : tuple of str
        Attributes of the released records.
    sources : tuple of Source
        Sources, independent of each other. An attribute missing in one source may be revealed by another.

    Raises
    ------
    InputError
        If there are more than 62 attributes.
    """

    attributes: tuple[str, ...]
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if len(self.attributes) > MOST_ATTRIBUTES:
            expected = f"at most {MOST_ATTRIBUTES} attributes"
            raise InputError("too many attributes", found=len(self.attributes), expected=expected)

    @property
    def n_persons(self) -> int:
        """Number of persons about whom the adversary may know attributes."""
        return len(self.sources[0].profile_of_person)

    @property
    def kinds(self) -> list[list[SourceProfile]]:
        """Profiles of each kind of persons: one list per kind.

        A kind consists of the persons who have the same profile in every source. Its list has one `SourceProfile` per
        source, in the order of `sources`.
        """
        return [[s.profiles[s.profile_of_person[person]] for s in self.sources] for person in self._kinds[0]]

    @property
    def kind_of_person(self) -> NDArray[np.intp]:
        """Position of each person's kind in `kinds`, shape (n_persons,)."""
        return self._kinds[1]

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of one person of each kind, and the number of each person's kind.

        The shapes are (n_kinds,) and (n_persons,). A kind consists of the persons who have the same profile in every
        source.
        """
        return distinct_rows([source.profile_of_person for source in self.sources], self.n_persons)

    @property
    def total_price(self) -> float:
        """Price of all sources together, in currency units; see `Source.total_price`."""
        return fsum(source.total_price for source in self.sources)

    def mask(self, names: Sequence[str]) -> int:
        """Return the attributes `names` as a bit mask: bit j for the j-th of `attributes`."""
        return sum(1 << self.attributes.index(name) for name in names)


def everything(attributes: tuple[str, ...], n_persons: int) -> Knowledge:
    """Return the worst-case `Knowledge`: all attributes of all persons, for free.

    Its only source, ``worst-case``, certainly contains everyone.
    """
    profile = SourceProfile((AttributeGroup(attributes),))
    return Knowledge(attributes, (Source("worst-case", (profile,), np.zeros(n_persons, dtype=np.intp)),))


@dataclass(frozen=True)
class KnowledgeSets:
    """Knowledge sets and their probabilities for each kind of person.

    Parameters
    ----------
    sets : tuple of tuple of int
        Positions of the known attributes, ascending. Sets that are impossible for every kind are omitted.
    probability : ndarray of float64, shape (n_kinds, n_sets)
        Probability of each set for each kind of person; each row sums to 1.
    drawn : ndarray of int, shape (n_kinds, n_trials), optional
        Position in `sets` of each kind's set in each trial, if sets are drawn. All kinds use the same random numbers in
        a trial; see `draw_sets`.
    """

    sets: tuple[tuple[int, ...], ...]
    probability: Floats
    drawn: NDArray[np.intp] | None = None


def count_sets(knowledge: Knowledge) -> int:
    """Return an upper bound on the number of knowledge sets of any one kind of person.

    It is 1 if there are no persons.
    """

    def most(profile: SourceProfile) -> int:
        uncertain = sum(0 < group.probability < 1 for group in profile.groups)
        return (profile.presence > 0) * (1 << uncertain) + (profile.presence < 1)

    return max((prod(map(most, kind)) for kind in knowledge.kinds), default=1)


def enumerate_sets(knowledge: Knowledge) -> KnowledgeSets:
    """List every knowledge set that is possible for some person, as `KnowledgeSets`.

    If a source knows the person, it reveals its groups of attributes independently of each other. Sources are
    independent. The knowledge set is the union of the revealed groups.

    Raises
    ------
    InputError
        If one kind of person may have more than 1,048,576 knowledge sets.
    """
    if count_sets(knowledge) > _MOST_LISTED:
        raise InputError(
            "too many knowledge sets to list",
            found=f"up to {count_sets(knowledge):.2g} for a person",
            expected=f"at most {_MOST_LISTED:,}",
            hint="use fewer groups; for risks alone, set expectation.method = 'monte-carlo'",
        )
    by_kind = []
    for kind in knowledge.kinds:
        known = {0: 1.0}
        for profile in kind:
            both: dict[int, float] = {}
            revealed = _revealed(knowledge, profile)
            for mask, p in known.items():
                for more, q in revealed.items():
                    both[mask | more] = both.get(mask | more, 0.0) + p * q
            known = both
        by_kind.append(known)
    masks, probability = _tabulated(by_kind)
    return KnowledgeSets(tuple(map(_positions_in, masks)), probability)


def _tabulated(by_kind: Sequence[Mapping[int, float]]) -> tuple[list[int], Floats]:
    """Return the knowledge sets as bit masks, and their probability for each kind.

    `by_kind` has, for each kind of person, the probability of each of its sets by bit mask. The masks of the result are
    in the order of the positions of their attributes. The probabilities have shape (n_kinds, n_sets); 0 for a set that
    a kind does not have.
    """
    masks = sorted({mask for sets in by_kind for mask in sets}, key=_positions_in)
    rows = [[sets.get(mask, 0.0) for mask in masks] for sets in by_kind]
    return masks, np.array(rows).reshape(len(by_kind), len(masks))


def _positions_in(mask: int) -> tuple[int, ...]:
    """Return the positions of the 1 bits of a mask, ascending; bit 0 is the lowest."""
    return tuple(position for position in range(mask.bit_length()) if mask >> position & 1)


def _revealed(knowledge: Knowledge, profile: SourceProfile) -> dict[int, float]:
    """Return the probability of each set that a source can reveal, by bit mask.

    `profile` is the source's profile of one kind of people. The empty set has mask 0.
    """
    revealed = {0: profile.presence} if profile.presence > 0 else {}
    for group in profile.groups:
        bits, p = knowledge.mask(group.attributes), group.probability
        if p > 0:
            # Groups are disjoint, so each set arises in one way only and probabilities need not be added.
            without = {mask: q * (1 - p) for mask, q in revealed.items()} if p < 1 else {}
            revealed = without | {mask | bits: q * p for mask, q in revealed.items()}
    if profile.presence < 1:
        revealed[0] = revealed.get(0, 0.0) + 1 - profile.presence
    return revealed


def draw_sets(knowledge: Knowledge, trials: int, rng: np.random.Generator) -> KnowledgeSets:
    """Draw knowledge sets at random, for each kind of person, as `KnowledgeSets`.

    The probability of a set for a kind of person is the share of trials in which it was drawn. All kinds of persons use
    the same random numbers in a trial. Their sets are therefore often equal, and equal sets are computed once. The
    trials of one person are independent, so the person's standard errors are valid. The errors of two persons are
    dependent, so the standard error of a mean over persons must be computed from the mean's values in each trial.

    Parameters
    ----------
    knowledge : Knowledge
        Knowledge of the adversary.
    trials : int
        Number of draws for each kind.
    rng : numpy.random.Generator
        Source of the draws.
    """
    kinds = knowledge.kinds
    drawn = np.zeros((len(kinds), trials), dtype=np.int64)
    for number, source in enumerate(knowledge.sources):
        presence = rng.random(trials)
        # A group in several profiles uses the same numbers in all of them, so that kinds often have equal sets.
        masks = dict.fromkeys(knowledge.mask(g.attributes) for profile in source.profiles for g in profile.groups)
        uniforms = {mask: rng.random(trials) for mask in masks}
        for kind, profiles in enumerate(kinds):
            profile = profiles[number]
            for group in profile.groups:
                mask = knowledge.mask(group.attributes)
                revealed = (uniforms[mask] < group.probability) & (presence < profile.presence)
                drawn[kind] |= np.where(revealed, mask, 0)
    shares = [{mask: times / trials for mask, times in Counter(row.tolist()).items()} for row in drawn]
    listed, probability = _tabulated(shares)
    bits = np.array(listed, dtype=np.int64)
    order = np.argsort(bits)
    places = order[np.searchsorted(bits[order], drawn)] if len(kinds) else None
    return KnowledgeSets(tuple(map(_positions_in, listed)), probability, places)


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
        """Return a `Source` with one profile, the same for all people.

        The profile reveals all attributes together, with the section's probability of presence. The price is the
        profile's.
        """
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
            with locating(where=f"profile[{number}]"):
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
        """Return a `Source` with a profile for each state's voter list.

        If `attributes` names an attribute with the state, each person has the profile of the person's state; otherwise,
        all have the profile of `state`. People below voting age have a profile that reveals nothing.

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
                    raise InputError(
                        "override for a state that the source does not use", found=state, expected=lists[0].state
                    )
        ages = people.ages(names.age, names.year_of_birth, self.reference_year)
        # The last profile is for people below voting age, who are on no list.
        profiles = (*map(self._profile, lists), SourceProfile((), 0.0))
        return Source(self.name, profiles, np.where(ages < VOTING_AGE, len(lists), person_list))

    def _profile(self, facts: VoterProfile) -> SourceProfile:
        if changes := self.overrides.get(facts.state) or self.overrides.get(facts.abbreviation):
            facts = changes.applied_to(facts)
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
        """Return a `Source` with one profile for each distinct set of probabilities.

        The recipe gives the probability that a person uses the platform, and the probability that each attribute of a
        user is learned, independently of the other attributes. The probabilities depend on a person's age only if the
        section names an attribute with the age or the year of birth.

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
        profiles = (
            SourceProfile(
                tuple(AttributeGroup((n,), p) for n, p in zip(wanted.values(), chances, strict=True)), presence
            )
            for presence, *chances in rows.tolist()
        )
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

    def located(self, source: str | Path | None = None, where: str | None = None) -> InputError:
        """Return the error unchanged, without the place in the recipe."""
        return self


def load_knowledge(
    recipe: str | Path, domain: Domain, persons: Codes, *, base: Path | None = None, records: RecordsFile | None = None
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
    sources = []
    for number, section in enumerate(validated(KnowledgeRecipe, read_toml(path), path).sources):
        people = _People(domain, persons, records, path.parent, f"source {section.name!r} of {path}")
        with locating(path, f"sources[{number}]"):
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
        if (generalized := column >= len(values)).any():
            problem = "the source needs a value that is generalized"
            expected = f"one of {listed(values)} for each person"
            raise self.error(problem, int(generalized.argmax()), name, found=None, expected=expected)
        return column

    def by_value(self, name: str, look_up: Callable[[str], T]) -> tuple[list[T], NDArray[np.intp]]:
        """Call `look_up` with each value of an attribute that occurs.

        The first result is the list of its results, one per value. The second is the position in that list of the
        result for each person's value, shape (n_persons,). `look_up` is called with the text of a value; if it raises
        an InputError, the place of the first person with the value is added.

        Raises
        ------
        InputError
            If `look_up` raises one, a person's value is generalized, or the attribute is unknown.
        """
        column = self.column(name)
        first, of_person = distinct_rows([column], len(column))
        results = []
        for person in first.tolist():
            try:
                results.append(look_up(self.domain[name].categories[column[person]]))
            except InputError as error:
                raise self.error(
                    error.problem, person, name, found=error.found, expected=str(error.expected), hint=error.hint
                ) from None
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
        name, expected = str(age), "a whole number of years"
        problem = "not an age of a living person"
        if year_of_birth is not None:
            name, expected = year_of_birth, f"a year of birth, up to {reference_year}"
            problem = "not a year of birth of a living person"
        self.require([name], "age" if year_of_birth is None else "year_of_birth")

        def years(value: str) -> int:
            if (number := whole_number(value)) is None:
                raise InputError("not a whole number, so the age is unknown", found=value, expected=expected)
            number = number if year_of_birth is None else int(reference_year or 0) - number
            if not 0 <= number <= _OLDEST:
                raise InputError(problem, found=value, expected=expected)
            return number

        ages, of_person = self.by_value(name, years)
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
            where = f"row {person + 1}"
            if attribute is not None:
                where += f", column {self.records.columns.get(attribute, attribute)!r}"
        return _ValueOfPersonError(
            problem,
            source=None if self.records is None else self.records.path,
            where=where,
            found=found,
            expected=expected,
            hint=f"needed by {self.asked_by}" if hint is None else f"{hint}; needed by {self.asked_by}",
        )

"""Knowledge recipes: TOML files that describe an adversary's knowledge sources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.populations.recipe import RecipeHead, Share
from reidsim.populations.value_groups import Members
from reidsim.populations.voter_list import ListedAttributes, ProfileOverrides
from reidsim.validation import Section

Price = Annotated[float, Field(ge=0)]


class EverythingSource(Section):
    """A source that reveals all attributes of the records together."""

    kind: Literal["everything"] = Field(description="source that reveals all attributes together")
    name: str = Field(default="everything", description="name of the source, different from all others")
    presence: Share = Field(default=1.0, description="probability that the source contains a person")
    price: Price = Field(default=0.0, description="price of the source, paid once")


class GroupSection(Section):
    """A group of attributes that are revealed together."""

    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that are revealed together")
    probability: Share = Field(
        default=1.0, description="probability that the group is revealed for a person in the source"
    )


class ProfileSection(Section):
    """The attributes that a source reveals about one type of people."""

    when: dict[str, Members] = Field(
        default={},
        description='values, or ranges such as `"18..64"`, of people with this profile, by attribute; default: '
        "all people",
    )
    presence: Share = Field(default=1.0, description="probability that the source contains a person")
    price: Price = Field(default=0.0, description="price of the source for people with this profile, paid once")
    groups: tuple[GroupSection, ...] = Field(default=(), description="groups of attributes, which do not overlap")


class GroupsSource(Section):
    """A source that is described by groups of attributes."""

    kind: Literal["groups"] = Field(description="source described by groups of attributes")
    name: str = Field(min_length=1, description="name of the source, different from all others")
    profile: tuple[ProfileSection, ...] = Field(
        min_length=1,
        description="revealed attributes by type of person; the first profile that fits a person applies",
    )

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


class VoterListsSource(Section):
    """The voter lists of the states: a source about registered adults."""

    kind: Literal["voter-lists"] = Field(description="voter lists of the states")
    name: str = Field(default="voter lists", description="name of the source, different from all others")
    attributes: ListedAttributes = Field(description="attributes of the records that the lists may have")
    state: str | None = Field(default=None, description="state of all people, in place of `attributes.state`")
    reference_year: int | None = Field(default=None, description="year of the lists; needed with a year of birth")
    overrides: dict[str, ProfileOverrides] = Field(
        default={}, description="values that replace facts of a state's list, by state"
    )

    @model_validator(mode="after")
    def _one_state(self) -> VoterListsSource:
        if (self.state is None) == (self.attributes.state is None):
            raise InputError("the state is missing or given twice", expected="either state or attributes.state")
        if self.attributes.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the lists")
        return self


class SocialMediaSource(Section):
    """A social-media source, described by a recipe of kind ``social-media``."""

    kind: Literal["social-media"] = Field(description="source that reveals attributes through social media")
    name: str = Field(default="social media", description="name of the source, different from all others")
    recipe: str = Field(description='social-media recipe (name or file), such as `"twitter-attributes"`')
    attributes: dict[str, str] = Field(
        default={}, description="attribute of the records, by attribute of the recipe; default: the same name"
    )
    age: str | None = Field(default=None, description="attribute with the age, for figures by age")
    year_of_birth: str | None = Field(default=None, description="attribute with the year of birth, in place of `age`")
    reference_year: int | None = Field(default=None, description="year of the figures; needed with a year of birth")
    price: Price = Field(default=0.0, description="price of the source, paid once")

    @model_validator(mode="after")
    def _one_age(self) -> SocialMediaSource:
        if self.age is not None and self.year_of_birth is not None:
            raise InputError("the age is given twice", expected="either age or year_of_birth")
        if self.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the figures")
        return self


SourceSection = Annotated[
    EverythingSource | GroupsSource | VoterListsSource | SocialMediaSource, Field(discriminator="kind")
]


class KnowledgeRecipe(RecipeHead):
    """A list of knowledge sources, used together."""

    sources: tuple[SourceSection, ...] = Field(
        min_length=1, description="sources of knowledge; an attribute is known if at least one source reveals it"
    )

    @model_validator(mode="after")
    def _check_distinct_names(self) -> KnowledgeRecipe:
        names = [source.name for source in self.sources]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise InputError(
                    "two sources have the same name",
                    where=f"sources[{number}].name",
                    found=name,
                    expected="another name",
                )
        return self

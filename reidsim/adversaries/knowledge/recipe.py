"""Knowledge recipes: TOML files that say which sources an adversary has and what they tell about whom."""

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
    """A source that tells all attributes of the records together."""

    kind: Literal["everything"]
    name: str = "everything"
    presence: Share = Field(default=1.0, description="probability that it knows a person")
    price: Price = Field(default=0.0, description="in currency units, once")


class GroupSection(Section):
    """Attributes told together."""

    attributes: tuple[str, ...] = Field(min_length=1)
    probability: Share = Field(default=1.0, description="of being told about a person whom the source knows")


class ProfileSection(Section):
    """What a source tells about one kind of people."""

    when: dict[str, Members] = Field(
        default={}, description="attribute = values of the people told about so, or ranges; everybody if not given"
    )
    presence: Share = Field(default=1.0, description="probability that the source knows a person")
    price: Price = Field(default=0.0, description="of the source for these people, in currency units, once")
    groups: tuple[GroupSection, ...] = Field(default=(), description="disjoint groups of attributes")


class GroupsSource(Section):
    """A source described by groups of attributes."""

    kind: Literal["groups"]
    name: str = Field(min_length=1)
    profile: tuple[ProfileSection, ...] = Field(min_length=1, description="the first that fits a person counts")

    @model_validator(mode="after")
    def _all_reached(self) -> GroupsSource:
        for number, profile in enumerate(self.profile[:-1]):
            if not profile.when:
                raise InputError(
                    "fits everybody, so those after it count for nobody", where=f"profile[{number}]", expected="it last"
                )
        return self


class VoterListsSource(Section):
    """The voter lists of the states: all that a state's list carries, about registered adults."""

    kind: Literal["voter-lists"]
    name: str = "voter lists"
    attributes: ListedAttributes = Field(description="attributes of the records that the lists may tell")
    state: str | None = Field(default=None, description="of everybody; instead of attributes.state")
    reference_year: int | None = Field(default=None, description="year of the lists; needed with a year of birth")
    overrides: dict[str, ProfileOverrides] = Field(default={}, description="state = facts of its list to replace")

    @model_validator(mode="after")
    def _one_state(self) -> VoterListsSource:
        if (self.state is None) == (self.attributes.state is None):
            raise InputError("the state is not told, or twice", expected="either state or attributes.state")
        if self.attributes.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the lists")
        return self


class SocialMediaSource(Section):
    """What can be learned from what people post, by a recipe of kind ``social-media``."""

    kind: Literal["social-media"]
    name: str = "social media"
    recipe: str = Field(description="name of a bundled social-media recipe or path of one, relative to this recipe")
    attributes: dict[str, str] = Field(
        default={}, description="attribute of that recipe = attribute of the records; all by their own name if empty"
    )
    age: str | None = Field(default=None, description="attribute that tells the age, for figures by age")
    year_of_birth: str | None = Field(default=None, description="attribute that tells the age instead")
    reference_year: int | None = Field(default=None, description="needed with a year of birth")
    price: Price = Field(default=0.0, description="in currency units, once")

    @model_validator(mode="after")
    def _one_age(self) -> SocialMediaSource:
        if self.age is not None and self.year_of_birth is not None:
            raise InputError("the age is told twice", expected="either age or year_of_birth")
        if self.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the figures")
        return self


SourceSection = Annotated[
    EverythingSource | GroupsSource | VoterListsSource | SocialMediaSource, Field(discriminator="kind")
]


class KnowledgeRecipe(RecipeHead):
    """Sources of knowledge: what one lacks another may tell."""

    sources: tuple[SourceSection, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _told_apart(self) -> KnowledgeRecipe:
        names = [source.name for source in self.sources]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise InputError(
                    "two sources of one name", where=f"sources[{number}].name", found=name, expected="another name"
                )
        return self

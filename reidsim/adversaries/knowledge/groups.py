"""What sources tell about people: disjoint groups of attributes, each known with a probability (Xia et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, not_among, require_distinct
from reidsim.populations.domain import distinct_rows

Floats = NDArray[np.float64]

# Sets of attributes are bits of one 64-bit number.
MOST_ATTRIBUTES = 62


@dataclass(frozen=True)
class AttributeGroup:
    """Attributes that a source tells together, or not at all.

    Parameters
    ----------
    attributes : tuple of str
    probability : float
        Of being told, about a person whom the source knows.

    Raises
    ------
    InputError
        If there is no attribute, one is named twice, or the probability is outside [0, 1].
    """

    attributes: tuple[str, ...]
    probability: float = 1.0

    def __post_init__(self) -> None:
        if not self.attributes:
            raise InputError("a group without attributes", where="attributes")
        if len(set(self.attributes)) != len(self.attributes):
            raise InputError("attribute named twice in a group", where="attributes", found=list(self.attributes))
        _require_probability("probability", self.probability)


@dataclass(frozen=True)
class SourceProfile:
    """What a source tells about one kind of people, such as the voters of a state.

    Parameters
    ----------
    groups : tuple of AttributeGroup
        No attribute is in two of them; they are told independently of each other.
    presence : float
        Probability that the source knows the person at all; if not, it tells nothing.
    price : float
        Of the source for people of this kind, paid once, in currency units.

    Raises
    ------
    InputError
        If groups overlap, the presence is outside [0, 1] or the price is negative.
    """

    groups: tuple[AttributeGroup, ...]
    presence: float = 1.0
    price: float = 0.0

    def __post_init__(self) -> None:
        _require_probability("presence", self.presence)
        if not self.price >= 0:
            raise InputError("negative price", where="price", found=self.price, expected="0 or more")
        named = [name for group in self.groups for name in group.attributes]
        require_distinct("groups overlap", named, where="groups", expected="each attribute in one group only")


@dataclass(frozen=True)
class Source:
    """One source of knowledge.

    Parameters
    ----------
    name : str
    profiles : tuple of SourceProfile
    profile_of_person : ndarray of int, shape (n_persons,)
        Position in `profiles` of what the source tells about each person.
    price : float
        Of the source as a whole, paid once besides the prices of profiles, in currency units.

    Raises
    ------
    InputError
        If somebody has no profile, or the price is negative.
    """

    name: str
    profiles: tuple[SourceProfile, ...]
    profile_of_person: NDArray[np.intp]
    price: float = 0.0

    def __post_init__(self) -> None:
        if not self.price >= 0:
            raise InputError("negative price", where=f"source {self.name!r}", found=self.price, expected="0 or more")
        profile = self.profile_of_person
        if len(profile) and not 0 <= profile.min() <= profile.max() < len(self.profiles):
            raise InputError("a person without a profile", where=f"source {self.name!r}", found=int(profile.min()))

    @property
    def used(self) -> NDArray[np.intp]:
        """Profiles that somebody has."""
        return np.unique(self.profile_of_person)

    @property
    def total_price(self) -> float:
        """What the source costs for all kinds of people that there are."""
        return self.price + fsum(self.profiles[profile].price for profile in self.used.tolist())

    @property
    def presence(self) -> Floats:
        """Probability that the source knows each person, shape (n_persons,)."""
        return np.array([profile.presence for profile in self.profiles])[self.profile_of_person]


@dataclass(frozen=True)
class Knowledge:
    """Everything that an adversary may know about some persons: one source or several, which add up.

    Parameters
    ----------
    attributes : tuple of str
        Of the released records.
    sources : tuple of Source
        Independent of each other. What one lacks another may tell.

    Raises
    ------
    InputError
        If there is no source, sources are about different persons, an attribute is not of the records, or there are
        more than 62 attributes.
    """

    attributes: tuple[str, ...]
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("no source of knowledge")
        if len(self.attributes) > MOST_ATTRIBUTES:
            raise InputError(
                "too many attributes", found=len(self.attributes), expected=f"at most {MOST_ATTRIBUTES} attributes"
            )
        persons = {len(source.profile_of_person) for source in self.sources}
        if len(persons) > 1:
            raise InputError("sources are about different persons", found=f"{sorted(persons)} of them")
        for source in self.sources:
            for profile in source.profiles:
                for group in profile.groups:
                    for name in group.attributes:
                        self._require_attribute(source, name)

    def _require_attribute(self, source: Source, name: str) -> None:
        if name not in self.attributes:
            raise not_among(
                "a group names an attribute that the records do not have",
                name,
                self.attributes,
                where=f"source {source.name!r}",
            )

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return len(self.sources[0].profile_of_person)

    @property
    def profiles_of_kind(self) -> tuple[tuple[int, ...], ...]:
        """Kinds of persons who are told about alike: the number of their profile in each source."""
        return self._kinds[0]

    @property
    def kinds(self) -> tuple[tuple[SourceProfile, ...], ...]:
        """Kinds of persons who are told about alike: their profile of each source."""
        return tuple(
            tuple(source.profiles[profile] for source, profile in zip(self.sources, profiles, strict=True))
            for profiles in self.profiles_of_kind
        )

    @property
    def kind_of_person(self) -> NDArray[np.intp]:
        """Position of each person's kind in `kinds`, shape (n_persons,)."""
        return self._kinds[1]

    @cached_property
    def _kinds(self) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.intp]]:
        columns = [source.profile_of_person for source in self.sources]
        first, kind = distinct_rows(columns, self.n_persons)
        return tuple(tuple(int(column[person]) for column in columns) for person in first), kind

    @property
    def total_price(self) -> float:
        """What all sources cost together."""
        return fsum(source.total_price for source in self.sources)

    def mask(self, names: Sequence[str]) -> int:
        """Return a set of attributes as bits: bit j for the j-th attribute."""
        return sum(1 << self.attributes.index(name) for name in names)


def everything(attributes: tuple[str, ...], n_persons: int) -> Knowledge:
    """Return the worst case: every attribute of everybody is known."""
    profile = SourceProfile((AttributeGroup(attributes),))
    return Knowledge(attributes, (Source("worst-case", (profile,), np.zeros(n_persons, dtype=np.intp)),))


def _require_probability(where: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError("probability outside [0, 1]", where=where, found=value, expected="0 to 1")

"""Knowledge sources as disjoint groups of attributes (Xia et al. 2021).

Each group is known with a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, require_distinct
from reidsim.populations.domain import distinct_rows

Floats = NDArray[np.float64]

# Sets of attributes are stored as bits of a signed 64-bit number.
MOST_ATTRIBUTES = 62


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
    def used(self) -> NDArray[np.intp]:
        """Positions of the profiles that apply to at least one person."""
        return np.unique(self.profile_of_person)

    @property
    def total_price(self) -> float:
        """Price of the source for all kinds of people present, in currency units."""
        return self.price + fsum(self.profiles[profile].price for profile in self.used.tolist())

    @property
    def presence(self) -> Floats:
        """Probability that the source knows each person, shape (n_persons,)."""
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
        """Number of persons."""
        return len(self.sources[0].profile_of_person)

    @property
    def profiles_of_kind(self) -> tuple[tuple[int, ...], ...]:
        """Profile number in each source, for each kind of persons with equal knowledge."""
        return self._kinds[0]

    @property
    def kinds(self) -> tuple[tuple[SourceProfile, ...], ...]:
        """Profile in each source, for each kind of persons with equal knowledge."""
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
        """Total price of all sources, in currency units."""
        return fsum(source.total_price for source in self.sources)

    def mask(self, names: Sequence[str]) -> int:
        """Return a set of attributes as a bit mask: bit j for the j-th attribute."""
        return sum(1 << self.attributes.index(name) for name in names)


def everything(attributes: tuple[str, ...], n_persons: int) -> Knowledge:
    """Return the knowledge in the worst case: all attributes of all persons, for free."""
    profile = SourceProfile((AttributeGroup(attributes),))
    return Knowledge(attributes, (Source("worst-case", (profile,), np.zeros(n_persons, dtype=np.intp)),))

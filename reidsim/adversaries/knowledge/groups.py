"""Knowledge sources as groups of attributes (Xia et al. 2021), and knowledge sets.

The groups of a source are disjoint. Each group is known with a probability. A knowledge set is a set of attributes that
an adversary may know about a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, prod

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, require_distinct
from reidsim.populations.domain import distinct_rows

Floats = NDArray[np.float64]

# Sets of attributes are stored as bits of a signed 64-bit number.
MOST_ATTRIBUTES = 62
# Maximum number of knowledge sets per kind of person that are listed, which limits memory; more sets must be drawn.
_MOST_LISTED = 2**20


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
        """Profiles of each kind of persons: one list per kind, one profile per source.

        A kind consists of the persons who have the same profile in every source.
        """
        return [[s.profiles[s.profile_of_person[person]] for s in self.sources] for person in self._kinds[0]]

    @property
    def kind_of_person(self) -> NDArray[np.intp]:
        """Position of each person's kind in `kinds`, shape (n_persons,)."""
        return self._kinds[1]

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One person of each kind, and kind of each person, both as numbers.

        A kind consists of the persons who have the same profile in every source.
        """
        return distinct_rows([source.profile_of_person for source in self.sources], self.n_persons)

    @property
    def total_price(self) -> float:
        """Total price of all sources, in currency units; see `Source.total_price`."""
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

    @property
    def n_sets(self) -> int:
        """Number of different knowledge sets."""
        return len(self.sets)


def count_sets(knowledge: Knowledge) -> int:
    """Return an upper bound on the number of knowledge sets of any one kind of person.

    It is 1 if there are no persons.
    """
    return max((prod(map(_most_sets, kind)) for kind in knowledge.kinds), default=1)


def _most_sets(profile: SourceProfile) -> int:
    if profile.presence == 0:
        return 1
    return (1 << sum(0 < group.probability < 1 for group in profile.groups)) + (profile.presence < 1)


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
    return masks, np.array([[sets.get(mask, 0.0) for mask in masks] for sets in by_kind]).reshape(
        len(by_kind), len(masks)
    )


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

"""Knowledge sets: sets of attributes that an adversary may know about a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, SourceProfile
from reidsim.errors import InputError

Floats = NDArray[np.float64]

# Maximum number of knowledge sets per kind of person that are listed, which limits memory; more sets must be drawn.
_MOST_LISTED = 2**20


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
        Position in `sets` of each kind's set in each trial, if sets are drawn. Kinds are drawn jointly within a trial.
    """

    sets: tuple[tuple[int, ...], ...]
    probability: Floats
    drawn: NDArray[np.intp] | None = None

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self.sets)


def count_sets(knowledge: Knowledge) -> int:
    """Return an upper bound on the number of knowledge sets of any one kind of person."""
    return max((_most_sets(kind) for kind in knowledge.kinds), default=1)


def _most_sets(profiles: Sequence[SourceProfile]) -> int:
    most = 1
    for profile in profiles:
        if profile.presence == 0:
            continue
        open_groups = sum(0 < group.probability < 1 for group in profile.groups)
        most *= (1 << open_groups) + (profile.presence < 1)
    return most


def enumerate_sets(knowledge: Knowledge) -> KnowledgeSets:
    """List every knowledge set that is possible for some person.

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
    by_kind = [_sets_of(knowledge, kind) for kind in knowledge.kinds]
    return as_knowledge_sets(by_kind)


def as_knowledge_sets(by_kind: Sequence[dict[int, float]]) -> KnowledgeSets:
    """Return knowledge sets from each kind's set probabilities, keyed by bit mask."""
    masks = sorted({mask for sets in by_kind for mask in sets}, key=positions_in)
    place = {mask: number for number, mask in enumerate(masks)}
    probability = np.zeros((len(by_kind), len(masks)))
    for kind, sets in enumerate(by_kind):
        for mask, p in sets.items():
            probability[kind, place[mask]] = p
    return KnowledgeSets(tuple(positions_in(mask) for mask in masks), probability)


def positions_in(mask: int) -> tuple[int, ...]:
    """Return the positions of the 1 bits of a mask, ascending."""
    return tuple(position for position in range(mask.bit_length()) if mask >> position & 1)


def _sets_of(knowledge: Knowledge, profiles: Sequence[SourceProfile]) -> dict[int, float]:
    known = {0: 1.0}
    for profile in profiles:
        told = _told(knowledge, profile)
        both: dict[int, float] = {}
        for mask, p in known.items():
            for more, q in told.items():
                both[mask | more] = both.get(mask | more, 0.0) + p * q
        known = both
    return known


def _told(knowledge: Knowledge, profile: SourceProfile) -> dict[int, float]:
    """Return the probability of each set that a source can reveal, by bit mask."""
    told = {0: profile.presence} if profile.presence > 0 else {}
    for group in profile.groups:
        bits, p = knowledge.mask(group.attributes), group.probability
        if p > 0:
            # Groups are disjoint, so each set arises in one way only and probabilities need not be added.
            without = {mask: q * (1 - p) for mask, q in told.items()} if p < 1 else {}
            told = without | {mask | bits: q * p for mask, q in told.items()}
    if profile.presence < 1:
        told[0] = told.get(0, 0.0) + 1 - profile.presence
    return told


def draw_sets(knowledge: Knowledge, trials: int, rng: np.random.Generator) -> KnowledgeSets:
    """Draw knowledge sets at random.

    The probability of a set for a kind of person is the share of trials in which it was drawn. All kinds of persons use
    the same random numbers in a trial. Their sets are therefore often equal, and equal sets are computed once. The
    trials of one person are independent, so the person's standard errors are valid. The errors of two persons are
    dependent, so the standard error of a mean over persons must be computed from the mean's values in each trial.

    Parameters
    ----------
    knowledge : Knowledge
        Knowledge of the adversary.
    trials : int
        Number of draws.
    rng : numpy.random.Generator
        Source of the draws.
    """
    told = [np.zeros(trials, dtype=np.int64) for _ in knowledge.kinds]
    for number, source in enumerate(knowledge.sources):
        presence = rng.random(trials)
        # A group in several profiles uses the same numbers in all of them, so that kinds often have equal sets.
        masks = dict.fromkeys(knowledge.mask(g.attributes) for profile in source.profiles for g in profile.groups)
        uniforms = {mask: rng.random(trials) for mask in masks}
        by_profile = {
            position: _drawn_from(knowledge, source.profiles[position], presence, uniforms)
            for position in source.used.tolist()
        }
        for kind, profiles in enumerate(knowledge.profiles_of_kind):
            told[kind] |= by_profile[profiles[number]]
    sets = as_knowledge_sets(
        [{mask: times / trials for mask, times in Counter(masks.tolist()).items()} for masks in told]
    )
    bits = np.array([sum(1 << position for position in known) for known in sets.sets], dtype=np.int64)
    order = np.argsort(bits)
    drawn = order[np.searchsorted(bits[order], np.stack(told))] if told else None
    return replace(sets, drawn=drawn)


def _drawn_from(
    knowledge: Knowledge, profile: SourceProfile, presence: Floats, uniforms: dict[int, Floats]
) -> NDArray[np.int64]:
    told = np.zeros(len(presence), dtype=np.int64)
    for group in profile.groups:
        mask = knowledge.mask(group.attributes)
        told |= np.where(uniforms[mask] < group.probability, mask, 0)
    return np.where(presence < profile.presence, told, 0)

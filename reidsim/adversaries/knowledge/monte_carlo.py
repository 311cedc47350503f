"""Knowledge sets drawn at random, for sources with too many groups to list all sets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, SourceProfile
from reidsim.adversaries.knowledge.sets import KnowledgeSets, as_knowledge_sets
from reidsim.errors import InputError

Floats = NDArray[np.float64]


def draw_sets(knowledge: Knowledge, trials: int, rng: np.random.Generator) -> KnowledgeSets:
    """Draw knowledge sets; each kind's probabilities are the shares of trials in which a set was drawn.

    All kinds of persons are told from the same random numbers in a trial, so they are often known by the same set,
    which then is computed once. Each person's trials are independent, so its standard errors hold; the errors of
    two persons are not, so the error of a mean over persons is that of its own values, trial by trial.

    Parameters
    ----------
    knowledge : Knowledge
    trials : int
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If there are fewer than two trials, which tell no standard error.
    """
    if trials < 2:
        raise InputError("too few trials", where="trials", found=trials, expected="2 or more")
    told = [np.zeros(trials, dtype=np.int64) for _ in knowledge.kinds]
    for number, source in enumerate(knowledge.sources):
        presence = rng.random(trials)
        # A group that several profiles have is told by the same numbers in all of them.
        masks = dict.fromkeys(knowledge.mask(g.attributes) for profile in source.profiles for g in profile.groups)
        uniforms = {mask: rng.random(trials) for mask in masks}
        by_profile = {
            position: _told(knowledge, source.profiles[position], presence, uniforms)
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


def _told(
    knowledge: Knowledge, profile: SourceProfile, presence: Floats, uniforms: dict[int, Floats]
) -> NDArray[np.int64]:
    told = np.zeros(len(presence), dtype=np.int64)
    for group in profile.groups:
        mask = knowledge.mask(group.attributes)
        told |= np.where(uniforms[mask] < group.probability, mask, 0)
    return np.where(presence < profile.presence, told, 0)

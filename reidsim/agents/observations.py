"""Publisher's possible observations of a round with any number of adversaries.

The publisher notices groups of attacks; all attacks in a group have the same, unknown adversary. From each group it
learns which types cannot have made these attacks. If there are few possible outcomes, all are listed. Otherwise,
a sample represents them: every set of noticed adversaries is still listed, and the types excluded for each noticed
adversary are drawn. The sample covers every possible set, and its means are unbiased.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import MOST_NOTICED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Entry of a row of groups for an adversary who was absent or not noticed.
NO_GROUP = -1

# Maximum number of outcomes listed in full, and the approximate number of rows of a sample. Every set of noticed
# adversaries gets at least one row, so a sample can be larger.
_MOST_LISTED = 4096
_SAMPLED = 8192

# Observations of an adversary below this probability are omitted; the probabilities of the others are rescaled.
_NEGLIGIBLE = 1e-9


class Observations(NamedTuple):
    """Possible observations of a present adversary.

    Attributes
    ----------
    missed : float
        Probability that none of its attacks is noticed.
    excluded : ndarray of int64, shape (n_outcomes,)
        Types ruled out by each set of noticed attacks, as bits: at least one noticed attack is not in their plan.
    probability : ndarray of float64, shape (n_outcomes,)
        Probability of each outcome; the sum with `missed` is 1.
    """

    missed: float
    excluded: Ints
    probability: Floats


def possible_observations(overlaps: Floats, actor: int, noticed: float) -> Observations:
    """Return the possible observations of a present adversary.

    For a set of types, consider the event that every noticed attack is in the plan of every type of the set. It occurs
    if all other attacks are missed, so its probability is a product. Inclusion and exclusion over the sets then gives
    the probability that a set is exactly the set of types not ruled out.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    actor : int
        Index of the adversary.
    noticed : float
        Probability that an attack is noticed.
    """
    everybody = len(overlaps) - 1
    n_types = everybody.bit_length()
    own = (np.arange(len(overlaps)) >> actor & 1).astype(np.bool_)
    shared = np.where(own, overlaps, 0.0)
    for bit in range(n_types):
        pairs = shared.reshape(-1, 2, 1 << bit)
        pairs[:, 0] += pairs[:, 1]
    attacks = float(shared[1 << actor])
    log_missed = float(np.log1p(-min(noticed, MOST_NOTICED)))
    exactly = np.where(own, np.exp(np.maximum(attacks - shared, 0.0) * log_missed), 0.0)
    for bit in range(n_types):
        pairs = exactly.reshape(-1, 2, 1 << bit)
        pairs[:, 0] -= pairs[:, 1]
    missed = float(np.exp(attacks * log_missed))
    # The event that no attack is noticed rules out no type either, but is reported separately.
    exactly[everybody] -= missed
    sets = np.flatnonzero(own & (exactly > _NEGLIGIBLE))
    probability = exactly[sets]
    missed = missed if missed > _NEGLIGIBLE else 0.0
    total = missed + float(probability.sum())
    return Observations(missed / total, everybody & ~sets.astype(np.int64), probability / total)


def groups_of_round(
    overlaps: Floats, acting: Floats, noticed: float, stream: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return the possible observations of a round, or a sample of them.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present.
    noticed : float
        Probability that an attack is noticed.
    stream : numpy.random.Generator
        Source of the sample; not used if all outcomes are listed.

    Returns
    -------
    groups : ndarray of int64, shape (n_rows, n_types)
        One observation per row: the types ruled out for each group, as bits, in ascending order; `NO_GROUP` fills the
        row.
    weight : ndarray of float64, shape (n_rows,)
        Probability of each row; the sum is 1.
    """
    each = [possible_observations(overlaps, actor, noticed) for actor in range(len(acting))]
    ways = 1
    for acts, of_actor in zip(acting.tolist(), each, strict=True):
        ways *= 1 + (len(of_actor.excluded) if acts > 0.0 else 0)
    groups, weight = _all_ways(acting, each) if ways <= _MOST_LISTED else _sample(acting, each, stream)
    # The publisher cannot name the groups, so rows with the same groups in another order are the same observation.
    distinct, row = np.unique(np.sort(groups, axis=1), axis=0, return_inverse=True)
    return distinct, np.bincount(row.ravel(), weights=weight, minlength=len(distinct)).astype(np.float64)


def _all_ways(acting: Floats, each: list[Observations]) -> tuple[Ints, Floats]:
    """Return all possible observations, one column per adversary, with probabilities."""
    groups, weight = np.empty((1, 0), dtype=np.int64), np.ones(1)
    for acts, (missed, excluded, probability) in zip(acting.tolist(), each, strict=True):
        outcomes = np.concatenate([[NO_GROUP], excluded if acts > 0.0 else excluded[:0]])
        share = np.concatenate([[1.0 - acts + acts * missed], acts * probability[: len(outcomes) - 1]])
        groups = np.column_stack([groups.repeat(len(outcomes), axis=0), np.tile(outcomes, len(groups))])
        weight = np.outer(weight, share).ravel()
    return groups[weight > 0.0], weight[weight > 0.0]


def _sample(acting: Floats, each: list[Observations], stream: np.random.Generator) -> tuple[Ints, Floats]:
    """Return drawn rows for every set of noticed adversaries, with their weights."""
    seen, weight = np.zeros((1, 0), dtype=np.bool_), np.ones(1, dtype=np.float64)
    for acts, of_actor in zip(acting.tolist(), each, strict=True):
        share = acts * (1.0 - of_actor.missed)
        seen = np.column_stack([seen.repeat(2, axis=0), np.tile([False, True], len(seen))])
        weight = np.outer(weight, [1.0 - share, share]).ravel()
    seen, weight = seen[weight > 0.0], weight[weight > 0.0]
    rows = np.maximum(np.rint(_SAMPLED * weight), 1.0).astype(np.int64)
    of_row = np.repeat(np.arange(len(rows)), rows)
    first = np.cumsum(rows) - rows
    groups = np.full((len(of_row), len(each)), NO_GROUP, dtype=np.int64)
    for actor, (_, excluded, probability) in enumerate(each):
        # Stratified draws within the rows of each set, in an independent order per adversary, reduce the variance.
        order = np.lexsort((stream.random(len(of_row)), of_row))
        place = np.empty(len(of_row))
        place[order] = np.arange(len(of_row)) - first[of_row]
        draw = (place + stream.random(len(of_row))) / rows[of_row]
        here = seen[of_row, actor]
        if here.any():
            cumulated = np.cumsum(probability) / probability.sum()
            drawn = np.searchsorted(cumulated, draw[here], side="right")
            groups[here, actor] = excluded[np.minimum(drawn, len(excluded) - 1)]
    return groups, np.asarray((weight / rows)[of_row], dtype=np.float64)

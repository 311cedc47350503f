"""What a publisher may notice of a round in which any number of adversaries may come: groups of attacks without names.

Of each adversary's attacks it learns which types could not have made them. With few ways in which that may turn out,
all are listed. Of more a sample stands for all: whose attacks are noticed at all is listed even then, and what is
noticed of them is drawn. So no way is left out, and means over the sample are right on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import MOST_NOTICED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# In a row of groups: nothing was noticed of an adversary, or it was not there.
NO_GROUP = -1

# Ways that are listed in full, and rows of a sample, to which one for each set of adversaries may be added.
_MOST_LISTED = 4096
_SAMPLED = 8192

# What is noticed of an adversary with a lower probability is left out; the rest is scaled up for each of them.
_NEGLIGIBLE = 1e-9


class Noticed(NamedTuple):
    """What may be noticed of an adversary who is there.

    Attributes
    ----------
    missed : float
        Probability that none of its attacks is noticed.
    excluded : ndarray of int64, shape (n_outcomes,)
        Otherwise: the types, as bits, that do not make one of the attacks noticed.
    probability : ndarray of float64, shape (n_outcomes,)
        Of each; with `missed` they sum to 1.
    """

    missed: float
    excluded: Ints
    probability: Floats


def noticed_of(overlaps: Floats, actor: int, noticed: float) -> Noticed:
    """Return what may be noticed of an adversary who is there.

    That all attacks noticed are made by every type of a set as well is that the others were missed, a product; what is
    noticed of exactly each set follows by inclusion and exclusion.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Records attacked by exactly each set of types; see `attack_overlaps`.
    actor : int
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
    # That nothing was noticed excludes nobody either.
    exactly[everybody] -= missed
    sets = np.flatnonzero(own & (exactly > _NEGLIGIBLE))
    probability = exactly[sets]
    missed = missed if missed > _NEGLIGIBLE else 0.0
    total = missed + float(probability.sum())
    return Noticed(missed / total, everybody & ~sets.astype(np.int64), probability / total)


def groups_of_round(
    overlaps: Floats, acting: Floats, noticed: float, stream: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return what may be noticed of a round, or a sample of it.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is there.
    noticed : float
    stream : numpy.random.Generator
        For the sample; not used if all ways are listed.

    Returns
    -------
    groups : ndarray of int64, shape (n_rows, n_types)
        In each row the types, as bits, excluded for each group, ascending; `NO_GROUP` where there is none.
    weight : ndarray of float64, shape (n_rows,)
        They sum to 1.
    """
    each = [noticed_of(overlaps, actor, noticed) for actor in range(len(acting))]
    ways = 1
    for acts, of_actor in zip(acting.tolist(), each, strict=True):
        ways *= 1 + (len(of_actor.excluded) if acts > 0.0 else 0)
    groups, weight = _all_ways(acting, each) if ways <= _MOST_LISTED else _sample(acting, each, stream)
    # Groups have no names, so that rows are alike whose groups are.
    distinct, row = np.unique(np.sort(groups, axis=1), axis=0, return_inverse=True)
    return distinct, np.bincount(row.ravel(), weights=weight, minlength=len(distinct)).astype(np.float64)


def _all_ways(acting: Floats, each: list[Noticed]) -> tuple[Ints, Floats]:
    """Return all that may be noticed, by adversary, and how probable it is."""
    groups, weight = np.empty((1, 0), dtype=np.int64), np.ones(1)
    for acts, (missed, excluded, probability) in zip(acting.tolist(), each, strict=True):
        outcomes = np.concatenate([[NO_GROUP], excluded if acts > 0.0 else excluded[:0]])
        share = np.concatenate([[1.0 - acts + acts * missed], acts * probability[: len(outcomes) - 1]])
        groups = np.column_stack([groups.repeat(len(outcomes), axis=0), np.tile(outcomes, len(groups))])
        weight = np.outer(weight, share).ravel()
    return groups[weight > 0.0], weight[weight > 0.0]


def _sample(acting: Floats, each: list[Noticed], stream: np.random.Generator) -> tuple[Ints, Floats]:
    """Return rows drawn for every set of adversaries of whom something is noticed, and the weights of the rows."""
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
        # In every set's rows the draws are spread evenly, in an order of their own for each adversary.
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

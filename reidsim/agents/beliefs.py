"""How a publisher learns from noticed attacks which types of adversary it faces.

Beliefs about the weights of types are a Dirichlet distribution. Once the type of a round's attacker is known, its
parameter rises by one: the conjugate update. A round in which several types could have attacked as observed leaves a
mixture of such updates; it is replaced by the Dirichlet distribution with the same means and the same sum of second
moments. So a round that tells nothing changes nothing, and one that tells the type is updated exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# An attack is never noticed for certain, or a type that makes one attack more than was noticed would be impossible.
MOST_NOTICED = 1.0 - 1e-12


class Observation(NamedTuple):
    """What a publisher may notice of a round.

    Attributes
    ----------
    probability : float
    excluded : ndarray of bool, shape (n_types,)
        Types that do not make one of the attacks noticed.
    """

    probability: float
    excluded: NDArray[np.bool_]


def updated(parameters: Floats, responsibility: Floats) -> Floats:
    """Return the parameters after one attacker whose type is known with some probabilities.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types,)
        Of the Dirichlet distribution, all above 0.
    responsibility : ndarray of float64, shape (n_types,)
        Probability of each type given all that was noticed; sums to 1.

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    total = parameters.sum() + 1.0
    mean = (parameters + responsibility) / total
    # Mean and variance of the mixture, put so that no two large terms are subtracted from each other.
    within = mean * (1.0 - mean)
    between = responsibility * (1.0 - responsibility) / total**2
    spread = (within + total * between).sum()
    if len(parameters) == 1 or spread <= 0.0:
        return np.asarray(parameters + responsibility)
    return np.asarray(mean * total * (within - between).sum() / spread)


def attack_overlaps(attacked: Floats) -> Floats:
    """Count the records that are attacked by exactly each set of types.

    Of the records of a cell, every type reaches the same ones first.

    Parameters
    ----------
    attacked : ndarray of float64, shape (n_types, n_cells)
        Records of each cell that each type attacks.

    Returns
    -------
    ndarray of float64, shape (2 ** n_types,)
        By the set's bits: bit k for type k.
    """
    order = np.argsort(attacked, axis=0, kind="stable")
    ranked = np.take_along_axis(attacked, order, axis=0)
    sizes = np.diff(ranked, axis=0, prepend=0.0)
    # The records between two neighbours in rank are attacked by all types of the higher ranks.
    sets = np.cumsum((1 << order)[::-1], axis=0)[::-1]
    return np.bincount(sets.ravel(), weights=sizes.ravel(), minlength=1 << len(attacked)).astype(np.float64)


def observations(overlaps: Floats, actor: int, noticed: float) -> Iterator[Observation]:
    """Yield what may be noticed when a type acts, with probabilities that sum to 1.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        See `attack_overlaps`.
    actor : int
    noticed : float
        Probability that an attack is noticed.
    """
    n_types = (len(overlaps) - 1).bit_length()
    excluded = {0: 1.0}
    for members in np.flatnonzero(overlaps).tolist():
        if not members >> actor & 1:
            continue
        missed = (1.0 - min(noticed, MOST_NOTICED)) ** overlaps[members]
        outside = (len(overlaps) - 1) & ~members
        following: dict[int, float] = {}
        for types, probability in excluded.items():
            following[types] = following.get(types, 0.0) + probability * missed
            following[types | outside] = following.get(types | outside, 0.0) + probability * (1.0 - missed)
        excluded = following
    for types, probability in excluded.items():
        if probability > 0.0:
            yield Observation(probability, (types >> np.arange(n_types) & 1).astype(np.bool_))


def responsibilities(prior: Floats, observation: Observation, overlaps: Floats, noticed: float) -> Floats:
    """Return the probability of each type, given which attacks were noticed.

    A type that makes all attacks noticed explains them as well as any other, but for the attacks that it makes and
    nobody noticed; of these, what all such types make cancels out.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        Probability of each type before; sums to 1.
    observation : Observation
    overlaps : ndarray of float64, shape (2 ** n_types,)
        See `attack_overlaps`.
    noticed : float

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    members = np.arange(len(overlaps))[:, None] >> np.arange(len(prior)) & 1
    log_missed = (overlaps @ members) * np.log1p(-min(noticed, MOST_NOTICED))
    possible = (prior > 0.0) & ~observation.excluded
    if not possible.any():
        return prior
    weight = np.where(possible, prior * np.exp(np.minimum(log_missed - log_missed[possible].max(), 0.0)), 0.0)
    return np.asarray(weight / weight.sum())


def expected_update(parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float) -> Floats:
    """Return the expected parameters after a round.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types,)
    attacked : ndarray of float64, shape (n_types, n_cells)
        Records that each type attacks if it is there.
    acting : ndarray of float64, shape (n_types,)
        Probability that each type is the one there, in truth; what lacks to 1 is that nobody is.
    present : ndarray of float64, shape (n_types,)
        Probability that each type is not excluded from the round, which the publisher knows.
    noticed : float

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    prior = parameters / parameters.sum() * present
    if prior.sum() <= 0.0:
        return parameters
    prior = prior / prior.sum()
    overlaps = attack_overlaps(attacked)
    after = max(1.0 - acting.sum(), 0.0) * parameters
    for actor in np.flatnonzero(acting > 0.0).tolist():
        for observation in observations(overlaps, actor, noticed):
            share = responsibilities(prior, observation, overlaps, noticed)
            after = after + acting[actor] * observation.probability * updated(parameters, share)
    return np.asarray(after)


def sampled_update(
    parameters: Floats, attacked: Floats, actor: int, present: Floats, noticed: float, draw: float
) -> Floats:
    """Return the parameters after a round in which one type acted; `draw` in [0, 1) tells what was noticed of it.

    Other parameters are those of `expected_update`.
    """
    prior = parameters / parameters.sum() * present
    prior = prior / prior.sum()
    overlaps = attack_overlaps(attacked)
    seen = list(observations(overlaps, actor, noticed))
    place = np.searchsorted(np.cumsum([observation.probability for observation in seen]), draw, side="right")
    observation = seen[min(int(place), len(seen) - 1)]
    return updated(parameters, responsibilities(prior, observation, overlaps, noticed))

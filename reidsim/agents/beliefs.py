"""The publisher's belief about adversary types, updated by noticed attacks.

The belief about the weights of the types is a Dirichlet distribution. If the type of a round's attacker is known, the
type's parameter rises by one: the conjugate update. If several types could have made the noticed attacks, the posterior
is a mixture of such updates. It is replaced by the Dirichlet distribution with the same means and the same sum of
second moments. An uninformative round therefore leaves the belief unchanged, and a round that identifies the type gives
the exact posterior.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Upper limit of the probability that an attack is noticed. At 1, a type that makes one more attack than was noticed
# would be impossible.
MOST_NOTICED = 1.0 - 1e-12


class Observation(NamedTuple):
    """One possible observation of the publisher in a round.

    Attributes
    ----------
    probability : float
        Probability of the observation.
    excluded : ndarray of bool, shape (n_types,)
        Types that the observation rules out: at least one noticed attack is not in their plan.
    """

    probability: float
    excluded: NDArray[np.bool_]


def updated(parameters: Floats, responsibility: Floats) -> Floats:
    """Return the Dirichlet parameters after one attacker of uncertain type.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types,)
        Parameters of the Dirichlet distribution, all above 0.
    responsibility : ndarray of float64, shape (n_types,)
        Probability of each type given the noticed attacks; sums to 1.

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    total = parameters.sum() + 1.0
    mean = (parameters + responsibility) / total
    # Mean and variance of the mixture, written without subtraction of two large terms, which would lose digits.
    within = mean * (1.0 - mean)
    between = responsibility * (1.0 - responsibility) / total**2
    spread = (within + total * between).sum()
    if len(parameters) == 1 or spread <= 0.0:
        return np.asarray(parameters + responsibility)
    return np.asarray(mean * total * (within - between).sum() / spread)


def attack_overlaps(attacked: Floats) -> Floats:
    """Count the records that each set of types attacks, and no other type.

    All types attack the records of a cell in the same order.

    Parameters
    ----------
    attacked : ndarray of float64, shape (n_types, n_cells)
        Number of records of each cell that each type attacks.

    Returns
    -------
    ndarray of float64, shape (2 ** n_types,)
        Number of records by set of types; bit k of the index represents type k.
    """
    order = np.argsort(attacked, axis=0, kind="stable")
    ranked = np.take_along_axis(attacked, order, axis=0)
    sizes = np.diff(ranked, axis=0, prepend=0.0)
    # With types ranked by records attacked, all higher-ranked types attack the records between two neighbouring ranks.
    sets = np.cumsum((1 << order)[::-1], axis=0)[::-1]
    return np.bincount(sets.ravel(), weights=sizes.ravel(), minlength=1 << len(attacked)).astype(np.float64)


def observations(overlaps: Floats, actor: int, noticed: float) -> Iterator[Observation]:
    """Yield the possible observations when one type attacks.

    Their probabilities sum to 1.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    actor : int
        Index of the attacking type.
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
    """Return the posterior probability of each type, given the noticed attacks.

    All types that make every noticed attack explain the noticed attacks equally well. Their likelihoods differ only in
    the attacks that the publisher missed; missed attacks common to all these types cancel out.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        Prior probability of each type; sums to 1.
    observation : Observation
        Noticed attacks.
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    noticed : float
        Probability that an attack is noticed.

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
    """Return the expected Dirichlet parameters after a round.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types,)
        Parameters before the round.
    attacked : ndarray of float64, shape (n_types, n_cells)
        Number of records that each type attacks if present.
    acting : ndarray of float64, shape (n_types,)
        True probability that each type is the one present; with probability 1 less their sum, no adversary is present.
    present : ndarray of float64, shape (n_types,)
        Probability that each type is not excluded from the round; known to the publisher.
    noticed : float
        Probability that an attack is noticed.

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
    """Return the Dirichlet parameters after a round with a drawn observation.

    `actor` is the index of the present type; `draw`, a uniform number in [0, 1), selects the observation. The other
    parameters are the parameters of `expected_update`.
    """
    prior = parameters / parameters.sum() * present
    prior = prior / prior.sum()
    overlaps = attack_overlaps(attacked)
    seen = list(observations(overlaps, actor, noticed))
    place = np.searchsorted(np.cumsum([observation.probability for observation in seen]), draw, side="right")
    observation = seen[min(int(place), len(seen) - 1)]
    return updated(parameters, responsibilities(prior, observation, overlaps, noticed))

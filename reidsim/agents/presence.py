"""The publisher's belief about the presence of each adversary.

It applies if any number of adversaries can be present in a round. The belief about an adversary's probability of
presence is a Beta distribution. The publisher can separate the attacks of different adversaries, but cannot identify
the adversary behind them: it notices groups of attacks. Bayes' rule weights every assignment of adversaries to groups;
an adversary without a group was absent or was not noticed.

If the adversary is known to be present or absent, the update is conjugate. Otherwise the posterior is a mixture of both
updates, which is replaced by the Beta distribution with the same mean and the same second moment. A round without
information about an adversary therefore leaves its belief unchanged. If the attacks identify the adversaries, the
parameters count the rounds with and without each adversary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import MOST_NOTICED, attack_overlaps
from reidsim.agents.observations import NO_GROUP, groups_of_round, possible_observations

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def updated_presence(parameters: Floats, probability: Floats) -> Floats:
    """Return the Beta parameters after a round with uncertain presence.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Parameters of the Beta distributions, all above 0: rounds with the adversary and rounds without it.
    probability : ndarray of float64, shape (..., n_types)
        Probability that each adversary was present, given the noticed attacks.

    Returns
    -------
    ndarray of float64, shape (..., n_types, 2)
    """
    there, away = parameters[:, 0], parameters[:, 1]
    total = there + away + 1.0
    more, less = there + probability, away + 1.0 - probability
    # Mean and variance of the mixture, written without subtraction of two large terms, which would lose digits.
    known = there * away + there * (1.0 - probability) + away * probability
    size = total * known / (more * less + total * probability * (1.0 - probability))
    return np.stack([more / total * size, less / total * size], axis=-1)


def posterior_presence(prior: Floats, groups: Ints, overlaps: Floats, noticed: float) -> Floats:
    """Return the posterior probability of presence, given the noticed groups.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        Prior probability that each adversary is present.
    groups : ndarray of int64, shape (n_rows, n_groups)
        Types ruled out for each group, as bits; one observation per row.
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    noticed : float
        Probability that an attack is noticed.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_types)
        The prior for rows that no set of possible adversaries explains.
    """
    bits = np.arange(len(prior))
    sets = np.arange(len(overlaps))
    members = (sets[:, None] >> bits & 1).astype(np.bool_)
    size = members.sum(axis=1)
    # For each set of adversaries: the number of ways to assign one of them to each group so far.
    named, ways = sets[:1], np.ones((1, len(groups)))
    for number, excluded in enumerate(groups.T):
        larger = sets[size == number + 1]
        following = np.zeros((len(larger), len(groups)))
        for member in bits.tolist():
            without = np.flatnonzero(named >> member & 1 == 0)
            reached = np.searchsorted(larger, named[without] | 1 << member)
            following[reached] += ways[without] * (excluded >> member & 1 == 0)
        named, ways = larger, following
    # Noticed attacks have the same likelihood under all assignments; missed attacks do not.
    log_missed = (overlaps @ members) * np.log1p(-min(noticed, MOST_NOTICED))
    with np.errstate(divide="ignore"):
        log_unnoticed = np.log(prior) + log_missed
        log_unnamed = np.logaddexp(np.log1p(-prior), log_unnoticed)
    weight = np.where(members[named], log_unnoticed, log_unnamed).sum(axis=1)[:, None]
    highest = np.where(ways > 0.0, weight, -np.inf).max(axis=0, initial=-np.inf)
    explained = np.isfinite(highest)
    share = ways * np.exp(np.minimum(weight - np.where(explained, highest, 0.0), 0.0))
    share /= np.where(explained, share.sum(axis=0), 1.0)
    missing = np.exp(log_unnoticed - np.where(np.isfinite(log_unnamed), log_unnamed, 0.0))
    there = share.T @ np.where(members[named], 1.0, missing)
    return np.where(explained[:, None], there, prior)


def expected_presence_update(
    parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float, stream: np.random.Generator
) -> Floats:
    """Return the expected Beta parameters after a round.

    The mean of each returned belief is the expected posterior mean, so a correct belief is expected to stay unchanged.
    The sum of its two parameters, the number of rounds that the belief is worth, is the expected posterior sum.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Parameters before the round.
    attacked : ndarray of float64, shape (n_types, n_cells)
        Number of records that each adversary attacks if present.
    acting : ndarray of float64, shape (n_types,)
        True probability that each adversary is present.
    present : ndarray of float64, shape (n_types,)
        Probability that each adversary is not excluded from the round; known to the publisher.
    noticed : float
        Probability that an attack is noticed.
    stream : numpy.random.Generator
        Source of the sample if there are too many observations to list; see `groups_of_round`.
    """
    overlaps = attack_overlaps(attacked)
    groups, weight = groups_of_round(overlaps, acting, noticed, stream)
    number = (groups != NO_GROUP).sum(axis=1)
    weight = weight / weight.sum()
    means, size = np.zeros_like(parameters), np.zeros(len(parameters))
    for n_groups in np.unique(number).tolist():
        rows = number == n_groups
        # `NO_GROUP` is the lowest entry, so the groups are the last columns of a sorted row.
        named = groups[rows][:, len(parameters) - n_groups :]
        after = _after(parameters, named, overlaps, present, noticed)
        counted = after.sum(axis=-1)
        means += np.tensordot(weight[rows], after / counted[..., None], axes=1)
        size += weight[rows] @ counted
    return np.asarray(means * size[:, None])


def sampled_presence_update(
    parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float, draws: Sequence[float]
) -> Floats:
    """Return the Beta parameters after a round with a drawn observation.

    `acting` and `present` are 0 or 1. `draws` holds one uniform number in [0, 1) per type, which selects the noticed
    attacks of that type. The other parameters are the parameters of `expected_presence_update`.
    """
    overlaps = attack_overlaps(attacked)
    groups: list[int] = []
    for actor in np.flatnonzero(acting).tolist():
        missed, excluded, probability = possible_observations(overlaps, actor, noticed)
        # In the first outcome, no attack is noticed.
        place = int(np.searchsorted(missed + np.cumsum([0.0, *probability]), draws[actor], side="right"))
        if place and len(excluded):
            groups.append(int(excluded[min(place, len(excluded)) - 1]))
    after = _after(parameters, np.array([groups], dtype=np.int64), overlaps, present, noticed)
    return np.asarray(after[0])


def _after(parameters: Floats, groups: Ints, overlaps: Floats, present: Floats, noticed: float) -> Floats:
    """Return the parameters after each observation in the rows of `groups`.

    A round from which an adversary is excluded gives no information about its presence.
    """
    belief = parameters[:, 0] / parameters.sum(axis=1)
    there = posterior_presence(belief * present, groups, overlaps, noticed)
    away = 1.0 - belief * present
    free_if_away = np.divide(present * (1.0 - belief), away, out=np.zeros_like(belief), where=away > 0.0)
    free = there + (1.0 - there) * free_if_away
    probability = np.divide(there, free, out=np.broadcast_to(belief, there.shape).copy(), where=free > 0.0)
    return np.asarray(parameters + free[..., None] * (updated_presence(parameters, probability) - parameters))

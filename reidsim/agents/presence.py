"""How a publisher learns how often each of several adversaries is there, if any number of them may come in a round.

Beliefs about each adversary's probability of being there are a Beta distribution. The publisher tells the attacks of
one adversary from those of another, but not who is behind them: it notices groups of attacks. Bayes' rule weighs every
way to put names to the groups, given that whoever has none was not there or was not noticed. An adversary known to be
there, or not to be, is the conjugate update; a mixture of both is replaced by the Beta distribution with the same mean
and the same second moment. So a round that tells nothing of an adversary changes nothing, and if attacks tell the
adversaries apart, the parameters count the rounds with and without each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import MOST_NOTICED, attack_overlaps
from reidsim.agents.noticed_groups import NO_GROUP, groups_of_round, noticed_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def updated_presence(parameters: Floats, probability: Floats) -> Floats:
    """Return the parameters after a round in which each adversary was there with some probability.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Of the Beta distributions, all above 0: rounds with the adversary and rounds without it.
    probability : ndarray of float64, shape (..., n_types)
        That each was there, given all that was noticed.

    Returns
    -------
    ndarray of float64, shape (..., n_types, 2)
    """
    there, away = parameters[:, 0], parameters[:, 1]
    total = there + away + 1.0
    more, less = there + probability, away + 1.0 - probability
    # Mean and variance of the mixture, put so that no two large terms are subtracted from each other.
    known = there * away + there * (1.0 - probability) + away * probability
    size = total * known / (more * less + total * probability * (1.0 - probability))
    return np.stack([more / total * size, less / total * size], axis=-1)


def presence_given(prior: Floats, groups: Ints, overlaps: Floats, noticed: float) -> Floats:
    """Return the probability that each adversary was there, given which groups of attacks were noticed.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        That each is there, before the round.
    groups : ndarray of int64, shape (n_rows, n_groups)
        For each group the types, as bits, that cannot be behind it.
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Records attacked by exactly each set of types; see `attack_overlaps`.
    noticed : float
        Probability that an attack is noticed.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_types)
        The prior where nobody who may come attacks like this.
    """
    bits = np.arange(len(prior))
    sets = np.arange(len(overlaps))
    members = (sets[:, None] >> bits & 1).astype(np.bool_)
    size = members.sum(axis=1)
    # By the set of adversaries who are named: in how many ways the groups can be put down to them.
    named, ways = sets[:1], np.ones((1, len(groups)))
    for number, excluded in enumerate(groups.T):
        larger = sets[size == number + 1]
        following = np.zeros((len(larger), len(groups)))
        for member in bits.tolist():
            without = np.flatnonzero(named >> member & 1 == 0)
            reached = np.searchsorted(larger, named[without] | 1 << member)
            following[reached] += ways[without] * (excluded >> member & 1 == 0)
        named, ways = larger, following
    # Attacks noticed weigh alike under all names; those that nobody noticed do not.
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
    """Return the parameters of the beliefs that are expected after a round.

    Their means are the expected means, so that beliefs which are right are expected to stay; their sums, which tell how
    many rounds a belief counts as, are the expected sums.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
    attacked : ndarray of float64, shape (n_types, n_cells)
        Records that each adversary attacks if it is there.
    acting : ndarray of float64, shape (n_types,)
        Probability that each is there, in truth.
    present : ndarray of float64, shape (n_types,)
        Probability that each is not excluded from the round, which the publisher knows.
    noticed : float
    stream : numpy.random.Generator
        If more may be noticed than can be listed, for the sample that stands for it; see `groups_of_round`.
    """
    overlaps = attack_overlaps(attacked)
    groups, weight = groups_of_round(overlaps, acting, noticed, stream)
    number = (groups != NO_GROUP).sum(axis=1)
    weight = weight / weight.sum()
    means, size = np.zeros_like(parameters), np.zeros(len(parameters))
    for n_groups in np.unique(number).tolist():
        rows = number == n_groups
        # In ascending order whatever is no group comes first.
        named = groups[rows][:, len(parameters) - n_groups :]
        after = _after(parameters, named, overlaps, present, noticed)
        counted = after.sum(axis=-1)
        means += np.tensordot(weight[rows], after / counted[..., None], axes=1)
        size += weight[rows] @ counted
    return np.asarray(means * size[:, None])


def sampled_presence_update(
    parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float, draws: Sequence[float]
) -> Floats:
    """Return the parameters after a round of which it was drawn who came; `acting` and `present` are 0 or 1.

    `draws`, one in [0, 1) for each type, tell what was noticed of its attacks. Other parameters are those of
    `expected_presence_update`.
    """
    overlaps = attack_overlaps(attacked)
    groups: list[int] = []
    for actor in np.flatnonzero(acting).tolist():
        missed, excluded, probability = noticed_of(overlaps, actor, noticed)
        # The first outcome is that nothing was noticed.
        place = int(np.searchsorted(missed + np.cumsum([0.0, *probability]), draws[actor], side="right"))
        if place and len(excluded):
            groups.append(int(excluded[min(place, len(excluded)) - 1]))
    after = _after(parameters, np.array([groups], dtype=np.int64), overlaps, present, noticed)
    return np.asarray(after[0])


def _after(parameters: Floats, groups: Ints, overlaps: Floats, present: Floats, noticed: float) -> Floats:
    """Return the parameters for each row of groups; a round with an excluded adversary tells nothing of it."""
    belief = parameters[:, 0] / parameters.sum(axis=1)
    there = presence_given(belief * present, groups, overlaps, noticed)
    away = 1.0 - belief * present
    free_if_away = np.divide(present * (1.0 - belief), away, out=np.zeros_like(belief), where=away > 0.0)
    free = there + (1.0 - there) * free_if_away
    probability = np.divide(there, free, out=np.broadcast_to(belief, there.shape).copy(), where=free > 0.0)
    return np.asarray(parameters + free[..., None] * (updated_presence(parameters, probability) - parameters))

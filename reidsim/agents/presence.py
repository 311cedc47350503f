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
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import MOST_NOTICED, attack_overlaps, observations

Floats = NDArray[np.float64]

# The groups of attacks noticed in a round, in order: for each the set of types, as bits, that cannot be behind it.
Groups = tuple[int, ...]

# What may be noticed of a round, all adversaries together: the most probable of more are reckoned with.
_MOST_OBSERVATIONS = 4096


def updated_presence(parameters: Floats, probability: Floats) -> Floats:
    """Return the parameters after a round in which each adversary was there with some probability.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Of the Beta distributions, all above 0: rounds with the adversary and rounds without it.
    probability : ndarray of float64, shape (n_types,)
        That each was there, given all that was noticed.

    Returns
    -------
    ndarray of float64, shape (n_types, 2)
    """
    there, total = parameters[:, 0], parameters.sum(axis=1)
    mean = (there + probability) / (total + 1.0)
    second = (there + 1.0) * (there + 2.0 * probability) / ((total + 1.0) * (total + 2.0))
    spread = second - mean**2
    size = np.divide(mean - second, spread, out=total + 1.0, where=spread > 0.0)
    return np.stack([mean * size, (1.0 - mean) * size], axis=1)


def presence_given(prior: Floats, groups: Groups, overlaps: Floats, noticed: float) -> Floats:
    """Return the probability that each adversary was there, given which groups of attacks were noticed.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        That each is there, before the round.
    groups : tuple of int
        See `Groups`.
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Records attacked by exactly each set of types; see `attack_overlaps`.
    noticed : float
        Probability that an attack is noticed.

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    sets = np.arange(len(overlaps))
    # By the set of adversaries who are named: in how many ways the groups can be put down to them.
    ways = (sets == 0).astype(np.float64)
    for excluded in groups:
        following = np.zeros_like(ways)
        for member in range(len(prior)):
            if not excluded >> member & 1:
                without = sets[sets >> member & 1 == 0]
                following[without | 1 << member] += ways[without]
        ways = following
    named = (sets[:, None] >> np.arange(len(prior)) & 1).astype(np.bool_)
    # Attacks noticed weigh alike under all names; those that nobody noticed do not.
    log_missed = (overlaps @ named) * np.log1p(-min(noticed, MOST_NOTICED))
    with np.errstate(divide="ignore"):
        log_unnoticed = np.log(prior) + log_missed
        log_unnamed = np.logaddexp(np.log1p(-prior), log_unnoticed)
        log_ways = np.log(ways)
    weight = log_ways + np.where(named, log_unnoticed, log_unnamed).sum(axis=1)
    if not np.isfinite(weight.max()):
        # Nobody who may come attacks like this.
        return prior
    share = np.exp(weight - weight.max())
    missing = np.exp(log_unnoticed - np.where(np.isfinite(log_unnamed), log_unnamed, 0.0))
    return np.asarray(share @ np.where(named, 1.0, missing) / share.sum())


def expected_presence_update(
    parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float
) -> Floats:
    """Return the expected parameters after a round.

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
    """
    overlaps = attack_overlaps(attacked)
    joint: dict[Groups, float] = {(): 1.0}
    for actor, acts in enumerate(acting.tolist()):
        seen = _seen_of(overlaps, actor, noticed)
        following: dict[Groups, float] = {}
        for groups, probability in joint.items():
            for excluded, share in [(None, 1.0 - acts), *((excluded, acts * each) for excluded, each in seen)]:
                if share > 0.0:
                    more = groups if excluded is None else tuple(sorted((*groups, excluded)))
                    following[more] = following.get(more, 0.0) + probability * share
        joint = dict(nlargest(_MOST_OBSERVATIONS, following.items(), key=lambda item: item[1]))
    after = np.zeros_like(parameters)
    for groups, probability in joint.items():
        after += probability * _after(parameters, groups, overlaps, present, noticed)
    return np.asarray(after / sum(joint.values()))


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
        seen = _seen_of(overlaps, actor, noticed)
        place = int(np.searchsorted(np.cumsum([share for _, share in seen]), draws[actor], side="right"))
        excluded = seen[min(place, len(seen) - 1)][0]
        if excluded is not None:
            groups.append(excluded)
    return _after(parameters, tuple(sorted(groups)), overlaps, present, noticed)


def _after(parameters: Floats, groups: Groups, overlaps: Floats, present: Floats, noticed: float) -> Floats:
    """Return the parameters once some groups of attacks were noticed; a round with an excluded adversary tells none."""
    belief = parameters[:, 0] / parameters.sum(axis=1)
    there = presence_given(belief * present, groups, overlaps, noticed)
    away = 1.0 - belief * present
    free_if_away = np.divide(present * (1.0 - belief), away, out=np.zeros_like(belief), where=away > 0.0)
    free = there + (1.0 - there) * free_if_away
    probability = np.divide(there, free, out=belief.copy(), where=free > 0.0)
    return np.asarray(parameters + free[:, None] * (updated_presence(parameters, probability) - parameters))


def _seen_of(overlaps: Floats, actor: int, noticed: float) -> list[tuple[int | None, float]]:
    """Return what may be noticed of an adversary who is there: types excluded as bits, None if it goes unnoticed."""
    sets = np.arange(len(overlaps))
    missed = (1.0 - min(noticed, MOST_NOTICED)) ** float(overlaps[sets >> actor & 1 == 1].sum())
    seen: list[tuple[int | None, float]] = [(None, missed)]
    for observation in observations(overlaps, actor, noticed):
        excluded = int((1 << np.flatnonzero(observation.excluded)).sum())
        # That nothing was noticed excludes nobody, and is counted already.
        seen.append((excluded, max(observation.probability - (missed if not excluded else 0.0), 0.0)))
    return seen

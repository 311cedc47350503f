"""Beliefs updated in each round: the publisher's about adversaries, and an adversary's about its resources.

If one adversary is present in a round, the belief about the weights of the types is a Dirichlet distribution. If any
number of adversaries can be present, the belief about the probability of presence of each is a Beta distribution. The
publisher can separate the attacks of different adversaries, but cannot identify the adversary behind them: it notices
groups of attacks. From each group it learns which types cannot have made these attacks. Bayes' rule weights every
assignment of adversaries to groups; an adversary without a group was absent or was not noticed.

If the adversary of a round is known, the update is conjugate. Otherwise the posterior is a mixture of such updates,
which is replaced by the distribution of the same family with the same means and the same (sum of) second moments. An
uninformative round therefore leaves the belief unchanged, and a round that identifies the adversaries gives the exact
posterior.

Adversaries remember earlier releases. Two data subjects with identical records differ as soon as different information
about them has been released, for example because only one of them took part in an earlier round. The rows of a round
are therefore the distinct pairs of a record and the information released about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, compress
from math import prod

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Known, Setting
from reidsim.core.errors import InputError
from reidsim.core.numerics import dot, first_above
from reidsim.games.composite import RememberingAdversary, RememberingLinker, known_of
from reidsim.games.record_game import WITHHELD
from reidsim.linkage.totals import weight_by_value
from reidsim.populations.population import distinct_rows
from reidsim.releases.lattice import Rows, Strategies

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Texts = NDArray[np.object_]

# Upper limit of the probability that an attack is noticed. At 1, a type that makes one more attack than was noticed
# would be impossible.
MOST_NOTICED = 1.0 - 1e-12

# Entry of a row of groups for an adversary who was absent or not noticed.
NO_GROUP = -1

# Maximum number of outcomes listed in full, and number of rows of a sample of them. With this sample, expected beliefs
# have a standard error of about 0.0002, and a round with 7 adversaries takes 0.1 s; both depend on the attacks.
_MOST_LISTED = 4096
_SAMPLED = 16_384

# Observations of an adversary below this probability are omitted; the probabilities of the others are rescaled.
_NEGLIGIBLE = 1e-9

# Grid on which the density of the accuracy is evaluated: 2,000 midpoints in (0, 1).
_POINTS = (np.arange(2000) + 0.5) / 2000


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
    sizes = np.diff(np.take_along_axis(attacked, order, axis=0), axis=0, prepend=0.0)
    # With types ranked by records attacked, all higher-ranked types attack the records between two neighbouring ranks.
    sets = np.cumsum((1 << order)[::-1], axis=0)[::-1]
    return np.bincount(sets.ravel(), weights=sizes.ravel(), minlength=1 << len(attacked)).astype(np.float64)


def _log_unnoticed(overlaps: Floats, members: NDArray[np.integer] | NDArray[np.bool_], noticed: float) -> Floats:
    """Return, by type, the log probability that none of its attacks is noticed.

    The result has shape (n_types,).

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    members : ndarray of bool or int, shape (2 ** n_types, n_types)
        Whether each type belongs to each set of types.
    noticed : float
        Probability that an attack is noticed; at most 1 - 1e-12 is used.
    """
    return np.asarray((overlaps @ members) * np.log1p(-min(noticed, MOST_NOTICED)))


def observations(overlaps: Floats, actor: int, noticed: float) -> Floats:
    """Return the probability that each set of types is ruled out if one type attacks.

    A type is ruled out if at least one noticed attack is not in its plan.

    Parameters
    ----------
    overlaps : ndarray of float64, shape (2 ** n_types,)
        Number of records attacked by exactly each set of types; see `attack_overlaps`.
    actor : int
        Index of the attacking type.
    noticed : float
        Probability that an attack is noticed.

    Returns
    -------
    ndarray of float64, shape (2 ** n_types,)
        Probability by set of types; bit k of the index represents type k.
    """
    sets, found = np.arange(len(overlaps)), np.eye(1, len(overlaps))[0]
    for members in np.flatnonzero(overlaps * (sets >> actor & 1)).tolist():
        missed = (1.0 - min(noticed, MOST_NOTICED)) ** overlaps[members]
        seen = np.bincount(sets | sets[-1] & ~members, weights=found, minlength=len(sets))
        found = missed * found + (1.0 - missed) * seen
    return np.asarray(found)


def updated(parameters: Floats, responsibility: Floats) -> Floats:
    """Return the Dirichlet parameters after one event of uncertain category.

    The posterior is a mixture over the categories; the result is the Dirichlet distribution with the same means and the
    same sum of second moments. A Beta distribution is a Dirichlet distribution of two categories.

    Parameters
    ----------
    parameters : ndarray of float64, shape (..., n_categories)
        Parameters of the Dirichlet distributions, all above 0.
    responsibility : ndarray of float64, shape (..., n_categories)
        Probability of each category, such as the type of the attacker, given the noticed attacks; sums to 1.

    Returns
    -------
    ndarray of float64, shape (..., n_categories)
    """
    # Mean and variance of the mixture, written without subtraction of two large terms, which would lose digits.
    rest, other = parameters @ (1.0 - np.eye(parameters.shape[-1])), 1.0 - responsibility
    known = (parameters * (rest + other) + responsibility * rest).sum(axis=-1, keepdims=True)
    between = (responsibility * other).sum(axis=-1, keepdims=True)
    spread = known + (parameters.sum(axis=-1, keepdims=True) + 2.0) * between
    size = np.divide(known, spread, out=np.ones_like(spread), where=spread > 0.0)
    return np.asarray((parameters + responsibility) * size)


# One adversary in a round.


def responsibilities(prior: Floats, excluded: Ints, overlaps: Floats, noticed: float) -> Floats:
    """Return the posterior probability of each type, given the noticed attacks.

    All types that make every noticed attack explain the noticed attacks equally well. Their likelihoods differ only in
    the attacks that the publisher missed; missed attacks common to all these types cancel out.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        Prior probability of each type; sums to 1.
    excluded : ndarray of int64, shape (n_rows,)
        Types that the noticed attacks rule out, as bits; one observation per row.
    overlaps, noticed
        See `observations`.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_types)
        The prior for rows that no type explains.
    """
    bits = np.arange(len(prior))
    log_missed = _log_unnoticed(overlaps, np.arange(len(overlaps))[:, None] >> bits & 1, noticed)
    possible = (prior > 0.0) & (excluded[:, None] >> bits & 1 == 0)
    highest = np.where(possible, log_missed, -np.inf).max(axis=1, keepdims=True)
    weight = np.where(possible, prior * np.exp(np.minimum(log_missed - highest, 0.0)), 0.0)
    total = weight.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weight, total, out=np.tile(prior, (len(weight), 1)), where=total > 0.0))


def updated_weights(
    parameters: Floats, attacked: Floats, acting: Floats, present: Floats, noticed: float, draw: float | None = None
) -> Floats:
    """Return the Dirichlet parameters after a round, expected or for a drawn observation.

    If no type with a positive prior weight can be present, or no type is, the parameters are returned unchanged.

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
    draw : float, optional
        Uniform number in [0, 1) that selects the observation; each entry of `acting` is then 0 or 1. Default: the mean
        over all observations.

    Returns
    -------
    ndarray of float64, shape (n_types,)
    """
    prior, actors = parameters / parameters.sum() * present, np.flatnonzero(acting)
    if prior.sum() <= 0.0 or not len(actors):
        return parameters
    overlaps = attack_overlaps(attacked)
    after = updated(parameters, responsibilities(prior / prior.sum(), np.arange(len(overlaps)), overlaps, noticed))
    chances = [observations(overlaps, actor, noticed) for actor in actors.tolist()]
    of_actors = (
        np.stack(chances) @ after
        if draw is None
        else after[[first_above(np.cumsum(chance), draw) for chance in chances]]
    )
    return np.asarray(max(1.0 - acting.sum(), 0.0) * parameters + acting[actors] @ of_actors)


# Any number of adversaries in a round.


def posterior_presence(prior: Floats, groups: Ints, overlaps: Floats, noticed: float) -> Floats:
    """Return the posterior probability of presence, given the noticed groups.

    Parameters
    ----------
    prior : ndarray of float64, shape (n_types,)
        Prior probability that each adversary is present.
    groups : ndarray of int64, shape (n_rows, n_groups)
        Types ruled out for each group, as bits; one observation per row.
    overlaps, noticed
        See `observations`.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_types)
        The prior for rows that no set of possible adversaries explains.
    """
    bits, sets = np.arange(len(prior)), np.arange(len(overlaps))
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
    with np.errstate(divide="ignore"):
        log_unnoticed = np.log(prior) + _log_unnoticed(overlaps, members, noticed)
        log_unnamed = np.logaddexp(np.log1p(-prior), log_unnoticed)
    weight = np.where(members[named], log_unnoticed, log_unnamed).sum(axis=1)[:, None]
    highest = np.where(ways > 0.0, weight, -np.inf).max(axis=0, initial=-np.inf)
    explained = np.isfinite(highest)
    share = ways * np.exp(np.minimum(weight - np.where(explained, highest, 0.0), 0.0))
    share /= np.where(explained, share.sum(axis=0), 1.0)
    missing = np.exp(log_unnoticed - np.where(np.isfinite(log_unnamed), log_unnamed, 0.0))
    return np.where(explained[:, None], share.T @ np.where(members[named], 1.0, missing), prior)


def possible_observations(overlaps: Floats, actor: int, noticed: float) -> tuple[Ints, Floats]:
    """Return the possible observations of the attacks of a present adversary.

    Observations of probability 1e-9 or less are omitted. For the parameters see `observations`.

    Returns
    -------
    excluded : ndarray of int64, shape (n_outcomes,)
        Types ruled out by each set of noticed attacks, as bits; the first entry, `NO_GROUP` (-1), is the case that no
        attack is noticed.
    probability : ndarray of float64, shape (n_outcomes,)
        Probability of each outcome; the sum is 1.
    """
    found = observations(overlaps, actor, noticed)
    attacks = overlaps @ (np.arange(len(overlaps)) >> actor & 1)
    missed = float(np.exp(attacks * np.log1p(-min(noticed, MOST_NOTICED))))
    # If no attack is noticed, no type is ruled out either, but this outcome is separate.
    found[0] -= missed
    excluded = np.flatnonzero(found > _NEGLIGIBLE)[::-1]
    probability = np.array([missed * (missed > _NEGLIGIBLE), *found[excluded]])
    return np.array([NO_GROUP, *excluded]), probability / probability.sum()


def groups_of_round(
    overlaps: Floats, acting: Floats, noticed: float, stream: np.random.Generator, *, drawn: bool
) -> tuple[Ints, Floats]:
    """Return the possible observations of a round, or a sample of them.

    If `drawn`, one outcome is drawn. Otherwise, if there are at most 4,096 possible outcomes, all are listed; if there
    are more, 16,384 are drawn. The draws of each adversary are stratified: one in each of 16,384 intervals of equal
    probability, in random order.

    Parameters
    ----------
    overlaps, noticed
        See `observations`.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present.
    stream : numpy.random.Generator
        Source of the draws; not used if all outcomes are listed.
    drawn : bool
        Whether one outcome is drawn.

    Returns
    -------
    groups : ndarray of int64, shape (n_rows, n_types)
        One observation per row: the types ruled out for each group of noticed attacks, as bits, in ascending order;
        `NO_GROUP` (-1), which comes first, fills the row.
    weight : ndarray of float64, shape (n_rows,)
        Probability of each row; the sum is 1.
    """
    each = []
    for actor, acts in enumerate(acting.tolist()):
        excluded, shares = np.array([NO_GROUP]), np.ones(1)
        if acts:
            excluded, probability = possible_observations(overlaps, actor, noticed)
            shares = acts * probability + (1.0 - acts) * (excluded == NO_GROUP)
        each.append((excluded[shares > 0.0], shares[shares > 0.0]))
    if drawn or prod(len(shares) for _, shares in each) > _MOST_LISTED:
        n = 1 if drawn else _SAMPLED
        groups, weight = np.empty((n, len(each)), dtype=np.int64), np.full(n, 1.0 / n)
        for actor, (excluded, shares) in enumerate(each):
            draws = (stream.permutation(n) + stream.random(n)) / n
            groups[:, actor] = excluded[np.searchsorted(np.cumsum(shares)[:-1], draws, side="right")]
    else:
        places = np.indices([len(shares) for _, shares in each]).reshape(len(each), -1)
        groups = np.column_stack([excluded[place] for (excluded, _), place in zip(each, places, strict=True)])
        weight = np.prod([shares[place] for (_, shares), place in zip(each, places, strict=True)], axis=0)
    # The publisher cannot name the groups, so rows with the same groups in another order are the same observation.
    distinct, row = np.unique(np.sort(groups, axis=1), axis=0, return_inverse=True)
    return distinct, np.bincount(row.ravel(), weights=weight, minlength=len(distinct)).astype(np.float64)


def updated_presences(
    parameters: Floats,
    attacked: Floats,
    acting: Floats,
    present: Floats,
    noticed: float,
    stream: np.random.Generator,
    *,
    drawn: bool = False,
) -> Floats:
    """Return the Beta parameters after a round, expected or for a drawn observation.

    The mean of each returned belief is the expected posterior mean, so a correct belief is expected to stay unchanged.
    The sum of its two parameters, the number of rounds that the belief is worth, is the expected posterior sum.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Parameters of the Beta belief about each type's presence before the round: presence, then absence.
    attacked, acting, present, noticed
        See `updated_weights`; any number of types can be present, each with its probability in `acting`.
    stream : numpy.random.Generator
        Source of the observation, or of the sample if there are too many observations to list; see `groups_of_round`.
    drawn : bool
        Whether one observation is drawn; each entry of `acting` is then 0 or 1.

    Returns
    -------
    ndarray of float64, shape (n_types, 2)
    """
    overlaps = attack_overlaps(attacked)
    groups, weight = groups_of_round(overlaps, acting, noticed, stream, drawn=drawn)
    number = (groups != NO_GROUP).sum(axis=1)
    weight = weight / weight.sum()
    means, size = np.zeros_like(parameters), np.zeros(len(parameters))
    for n_groups in np.unique(number).tolist():
        rows = number == n_groups
        # `NO_GROUP` is the lowest entry, so the groups are the last columns of a sorted row.
        after = _after(parameters, groups[rows][:, len(parameters) - n_groups :], overlaps, present, noticed)
        counted = after.sum(axis=-1)
        means += np.tensordot(weight[rows], after / counted[..., None], axes=1)
        size += weight[rows] @ counted
    return np.asarray(means * size[:, None])


def _after(parameters: Floats, groups: Ints, overlaps: Floats, present: Floats, noticed: float) -> Floats:
    """Return the Beta parameters after each observation in the rows of `groups`.

    The result has shape (n_rows, n_types, 2). A round from which an adversary is excluded gives no information about
    its presence.

    Parameters
    ----------
    parameters : ndarray of float64, shape (n_types, 2)
        Parameters before the round.
    groups, overlaps, noticed
        See `posterior_presence`.
    present : ndarray of float64, shape (n_types,)
        Probability that each type is not excluded from the round.
    """
    belief = parameters[:, 0] / parameters.sum(axis=1)
    there = posterior_presence(belief * present, groups, overlaps, noticed)
    away = 1.0 - belief * present
    free_if_away = np.divide(present * (1.0 - belief), away, out=np.zeros_like(belief), where=away > 0.0)
    free = there + (1.0 - there) * free_if_away
    probability = np.divide(there, free, out=np.broadcast_to(belief, there.shape).copy(), where=free > 0.0)
    after = updated(parameters, np.stack([probability, 1.0 - probability], axis=-1))
    return np.asarray(parameters + free[..., None] * (after - parameters))


# Accuracy of resources.


class AccuracyBelief:
    """Belief of an adversary about the accuracy of its resources.

    The prior is a Beta distribution. Each attack outcome updates it by Bayes' rule. An attack can fail although the
    entry is correct, so the posterior is not always a Beta distribution; its density is therefore stored on a grid in
    (0, 1). If attacks fail only because of wrong entries, the posterior is the Beta distribution that counts successes
    and failures.

    Parameters
    ----------
    expected : float
        Mean of the Beta prior, in (0, 1).
    experience : float
        Number of attempts that the prior is worth, above 0.
    """

    def __init__(self, expected: float, experience: float) -> None:
        right, wrong = expected * experience, (1.0 - expected) * experience
        self._log_density = (right - 1.0) * np.log(_POINTS) + (wrong - 1.0) * np.log1p(-_POINTS)

    @property
    def mean(self) -> float:
        """Expected share of correct entries in the adversary's resources."""
        density = np.exp(self._log_density - self._log_density.max())
        return dot(density, _POINTS) / float(density.sum())

    def learn(self, success_if_right: Floats, attempts: Floats, successes: Floats) -> None:
        """Update the belief about the accuracy with the outcomes of attempts, in place.

        Parameters
        ----------
        success_if_right : ndarray of float64, shape (n_cells,)
            Probability that an attempt succeeds if the entry is correct.
        attempts, successes : ndarray of float64, shape (n_cells,)
            Number of attempts and of successes per cell; expected numbers are allowed.
        """
        self._log_density += successes.sum() * np.log(_POINTS)
        distinct, failures = weight_by_value(success_if_right, attempts - successes)
        for share, number in zip(distinct.tolist(), failures.tolist(), strict=True):
            if number > 0.0 and share > 0.0:
                self._log_density += number * np.log1p(-share * _POINTS)


# Memory of earlier releases.


class Memory:
    """Earlier releases of each data subject, and the participants of their rounds.

    If group sizes count participants only, the candidates of a record are the subjects who took part in every round in
    which the record was released, and whose own record was released in no other round. Rounds with the same
    participants and the same released records count as one round.

    Parameters
    ----------
    world : Setting
        Setting before the first round.

    Attributes
    ----------
    form : ndarray of int64, shape (n_subjects,)
        Strategy that is as informative as all earlier releases of the subject's record together; -1 without an earlier
        release.

    Raises
    ------
    InputError
        If the strategies have no meet, that is, no strategy as informative as two of them together.
    """

    def __init__(self, world: Setting) -> None:
        if world.meet is None:
            raise InputError(
                "two releases of a record cannot be combined", where="agents.remembers", found=True, expected="false"
            )
        self._world, self._meet = world, world.meet
        self.form: Strategies = np.full(world.n_subjects, WITHHELD, dtype=np.int64)
        # Participants of each round, and its equal rounds; the distinct sets of rounds in which records were released;
        # each record's set.
        self._participants: Bools = np.zeros((0, world.n_subjects), dtype=np.bool_)
        self._rounds: list[list[int]] = []
        self._sets: Bools = np.zeros((1, 0), dtype=np.bool_)
        self._released_in: Ints = np.zeros(world.n_subjects, dtype=np.int64)
        # Profiles by the numbers of candidates of the cells; the latest setting, with a subject of each row.
        self._among: dict[bytes, tuple[AdversaryProfile, ...]] = {}
        self._last: tuple[list[bytes], Rows, Setting] | None = None

    def setting(self, taking_part: Bools, planned: Strategies | None = None) -> Setting | None:
        """Return the setting of a round, with one row per distinct record and memory.

        Rows differ in the record, the earlier releases, the rounds of these, and, after an earlier release, in
        participation.

        Parameters
        ----------
        taking_part : ndarray of bool, shape (n_subjects,)
            Whether each subject takes part in the round.
        planned : ndarray of int64, shape (n_subjects,), optional
            Strategy of each subject's record in this round, if all releases were planned before the first round. Rows
            then also differ in the planned strategy.

        Returns
        -------
        Setting or None
            Setting in which the rows replace the cells (`known` holds their memory); None if no record has been
            released yet and no release was planned.

        Raises
        ------
        InputError
            If subjects with equal records have different rows, and the setting has no function `split`.
        """
        if planned is None and (self.form == WITHHELD).all():
            return None
        world, gone = self._world, (self.form != WITHHELD) & ~taking_part
        forms = np.zeros_like(self.form) if planned is None else np.where(taking_part, planned, WITHHELD)
        key = [each.tobytes() for each in (self.form, taking_part, self._sets, self._released_in, forms)]
        if self._last is not None and self._last[0] == key:
            return self._last[2]
        columns = [world.cell_of_subject, self.form - WITHHELD, gone, self._released_in, forms - WITHHELD]
        first, row = distinct_rows(columns, len(gone))
        # Without an earlier release, only some subjects of a row may take part; one of these represents the row.
        first[row[taking_part]] = np.flatnonzero(taking_part)
        people = np.bincount(row, minlength=len(first))
        participants = np.bincount(row[taking_part], minlength=len(first))
        alone = world
        if world.among is not None and taking_part.any():
            # The setting of a round on cells, as if nothing was released earlier.
            alone = world.among(world, np.bincount(world.cell_of_subject[taking_part], minlength=world.n_cells))
        known = Known(
            cells=world.cell_of_subject[first],
            past=self.form[first],
            gone=np.where(gone[first], people, 0),
            meet=self._meet,
            alone=alone,
            planned=None if planned is None else forms[first],
        )
        setting = alone
        if not np.array_equal(known.cells, np.arange(world.n_cells)):
            if world.split is None:
                problem = "equal records have different earlier releases, which this game does not support"
                raise InputError(problem, where="agents.remembers", found=True, expected="false")
            space, solve = world.split(known.cells, participants if taking_part.any() else people)
            amounts = {name: getattr(world, name)[known.cells] for name in ("benefit", "loss", "believed_loss")}
            setting = replace(world, space=space, solve=solve, cell_of_subject=row, **amounts)
        setting = self._with_candidates(replace(setting, among=None, known=known), first, taking_part)
        self._last = key, first, setting
        return setting

    def add(self, strategies: Strategies, taking_part: Bools) -> Setting | None:
        """Add the releases of a round to the memory.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_subjects,)
            Strategy of each subject's record; -1 if it is withheld.
        taking_part : ndarray of bool, shape (n_subjects,)
            Whether each subject takes part in the round.

        Returns
        -------
        Setting or None
            The latest setting of `setting`, in which subjects whose record was released in the round are no longer
            candidates of records that were not; None without a setting.
        """
        now = np.where(taking_part, strategies, WITHHELD)
        self.form, released = known_of(now, self.form, self._meet), now != WITHHELD
        if self._world.profiles_among is not None:
            number = sum(map(len, self._rounds))
            equal = np.flatnonzero((self._participants == taking_part).all(axis=1))
            equal = equal[(self._sets[:, equal][self._released_in] == released[:, None]).all(axis=0)]
            if len(equal):
                self._rounds[equal[0]].append(number)
            else:
                self._rounds.append([number])
                used, self._released_in = np.unique(2 * self._released_in + released, return_inverse=True)
                self._sets = np.column_stack([self._sets[used // 2], used % 2 == 1])
                self._participants = np.vstack([self._participants, taking_part])
        return None if self._last is None else self._with_candidates(self._last[2], self._last[1])

    def history(self) -> tuple[Texts, Texts] | None:
        """Return the rounds in which each subject took part, and those in which its record was released, as text.

        None if group sizes do not depend on participation.
        """
        if self._world.profiles_among is None:
            return None
        names = self._world.waves or tuple(str(number + 1) for number in range(self._world.rounds))
        first, took_part = distinct_rows([*self._participants.astype(np.int64)], self._world.n_subjects)

        def worded(sets: Bools) -> Texts:
            numbers = [sorted(chain.from_iterable(compress(self._rounds, each))) for each in sets]
            return np.array([", ".join(names[number] for number in each) for each in numbers], dtype=np.object_)

        return worded(self._participants[:, first].T)[took_part], worded(self._sets)[self._released_in]

    def _with_candidates(self, setting: Setting, first: Rows, taking_part: Bools | None = None) -> Setting:
        """Return a setting in which each adversary links each row with its candidates.

        If group sizes do not depend on participation, there is one set of candidates, for all rows.

        Parameters
        ----------
        setting : Setting
            Setting with `known`, and with any profiles.
        first : ndarray of int, shape (n_rows,)
            A subject of each row.
        taking_part : ndarray of bool, shape (n_subjects,), optional
            Participants of the current round, if its releases have not been added yet.
        """
        world, known = self._world, setting.known
        assert known is not None  # noqa: S101 # see `setting`
        profiles, which = [world.profiles], np.zeros((2, len(first)), dtype=np.intp)
        if world.profiles_among is not None:
            current = np.zeros(world.n_subjects, dtype=np.bool_) if taking_part is None else taking_part
            earlier = 2 * self._released_in[first]
            now = earlier + current[first]
            # A record without an earlier release has no earlier candidates; its current ones are used.
            rows = np.concatenate([now, np.where(known.past == WITHHELD, now, earlier)])
            used, number = np.unique(rows, return_inverse=True)
            before, self._among, among = self._among, {}, list[bytes]()
            for key in used.tolist():
                rounds = self._sets[key // 2]
                # Records released in no other round, of people who took part in all these rounds.
                outside: Bools = (self._sets & ~rounds).any(axis=1)
                candidates = self._participants[rounds].all(axis=0) & ~outside[self._released_in]
                candidates &= current | (key % 2 == 0)
                counts = np.bincount(world.cell_of_subject[candidates], minlength=world.n_cells)
                among.append(counts.tobytes())
                self._among[among[-1]] = before.get(among[-1]) or world.profiles_among(counts)
            profiles, order = list(self._among.values()), list(self._among)
            which = np.array([order.index(each) for each in among])[number].reshape(2, -1)
        remembering = [_remembering(versions, known, *which) for versions in zip(*profiles, strict=True)]
        return replace(setting, profiles=tuple(remembering))


def _remembering(versions: Sequence[AdversaryProfile], known: Known, which: Rows, unreleased: Rows) -> AdversaryProfile:
    """Return the profile of an adversary type with a memory.

    The equipment links on the current and all earlier releases; it is None if the type can attack no record under any
    one of the sets of candidates.

    Parameters
    ----------
    versions : sequence of AdversaryProfile
        Profile of the type without a memory, for each set of candidates.
    known : Known
        Earlier releases of each row.
    which, unreleased : ndarray of int, shape (n_rows,)
        Position in `versions` of each row's profile if its record is released in the round, and if it is not.
    """

    def equip(holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        means = [each.equip(holds, expected_accuracy, believed=believed) for each in versions]
        linkers = tuple(each.linker for each in means if each is not None)
        if means[0] is None or len(linkers) < len(means):
            return None
        linker = RememberingLinker(linkers, which, known.cells, known.past, known.meet, unreleased)
        return Equipment(linker, RememberingAdversary(means[0].adversary))

    believed = [each.believed for each in versions if each.believed is not None]
    return replace(
        versions[0], equip=equip, believed=_remembering(believed, known, which, unreleased) if believed else None
    )

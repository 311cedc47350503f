"""What adversaries attempt in a round, apart by who is there: what the number of people re-identified is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Presence
from reidsim.agents.attack import AttackPlan
from reidsim.agents.outcomes import target_shares
from reidsim.agents.profile import Setting
from reidsim.games.attempts import Case, Tries
from reidsim.portable_math import dot

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Targets may miss a whole number by rounding.
_ROUNDING = 1e-9


def cases_of_round(
    setting: Setting, plans: Sequence[AttackPlan], acting: Floats, participants: Counts, utility: Floats
) -> Iterator[Case]:
    """Yield what happens in a round in each case of who is there.

    A budget that covers some of a cell's records has a fixed number of them attacked. Where the budgets of two who are
    there each cover a part of the same cell, the parts overlap at random, and every record counts as attacked with the
    probability of its share: the expected number is the same, and its spread no smaller. Targets that an adversary
    draws count as attacked independently, too.

    Parameters
    ----------
    setting : Setting
    plans : sequence of AttackPlan
        One for each type.
    acting : ndarray of float64, shape (n_types,)
        Probability that each is there.
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell that are shared.
    utility : ndarray of float64, shape (n_cells,)
        Of the form in which they are.
    """
    shares = target_shares(plans, participants)
    success = np.stack([plan.replies.success for plan in plans])
    kept = dot(participants, setting.benefit * utility)
    for probability, coming in Presence(tuple(acting.tolist()), setting.meeting == "one-of").cases():
        who = list(coming)
        there = [plans[number] for number in who]
        gains = [setting.profiles[number].gain for number in who]
        hits = [_hits(*each, participants) for each in zip(there, shares[who], gains, strict=True)]
        earned = fsum(dot(plan.targets, plan.replies.payoff) - plan.spent for plan in there)
        if len(there) == 1 and ((shares[who] == 0.0) | (shares[who] == 1.0)).all():
            # People are re-identified as attempts succeed.
            people = Tries(hits[0].chance, hits[0].numbers, setting.loss)
        else:
            people = _people(setting, there, shares[who], success[who], participants)
        yield Case(probability, people, _together(hits), kept, earned)


def _people(
    setting: Setting, plans: Sequence[AttackPlan], shares: Floats, success: Floats, participants: Counts
) -> Tries:
    """Return whether each record is re-identified by anybody of those who are there."""
    chance = (shares * success)[0] if len(plans) == 1 else 1.0 - np.prod(1.0 - shares * success, axis=0)
    in_part = (shares > 0) & (shares < 1)
    fixed = np.array([_is_whole(plan, participants) for plan in plans], dtype=np.bool_).reshape(shares.shape)
    alone = (in_part.sum(axis=0) == 1) & (fixed | ~in_part).all(axis=0)
    if not alone.any():
        return Tries(chance, participants, setting.loss)
    attacked = np.zeros(len(participants), dtype=np.int64)
    for plan, part in zip(plans, in_part & alone, strict=True):
        attacked[part] = np.round(plan.targets[part]).astype(np.int64)
    with_all = 1.0 - np.prod(1.0 - (shares > 0) * success, axis=0)
    with_whole = 1.0 - np.prod(1.0 - (shares >= 1) * success, axis=0)
    return Tries(
        np.concatenate([np.where(alone, with_all, chance), with_whole[alone]]),
        np.concatenate([np.where(alone, attacked, participants), (participants - attacked)[alone]]),
        np.concatenate([setting.loss, setting.loss[alone]]),
    )


def _hits(plan: AttackPlan, shares: Floats, gain: float, participants: Counts) -> Tries:
    """Return whether each attempt of an adversary is made, and succeeds."""
    whole, numbers = _is_whole(plan, participants), np.round(plan.targets).astype(np.int64)
    success = plan.replies.success
    gains = np.broadcast_to(gain, success.shape)
    if whole.all():
        return Tries(success, numbers, gains)
    attempted = np.where(whole, 1.0, shares)
    failure = np.where(whole, 0.0, plan.replies.payoff - gain * success)
    return Tries(attempted * success, np.where(whole, numbers, participants), gains, attempted, failure)


def _is_whole(plan: AttackPlan, participants: Counts) -> NDArray[np.bool_]:
    """Tell for which cells a certain number of records is attacked, and not each with some probability."""
    whole = np.abs(plan.targets - np.round(plan.targets)) <= _ROUNDING * np.maximum(plan.targets, 1.0)
    if plan.drawn:
        whole &= (plan.targets <= 0.0) | (plan.targets >= participants)
    return np.asarray(whole & (np.asarray(plan.replies.frequency) >= 1.0))


def _together(hits: Sequence[Tries]) -> Tries:
    if len(hits) == 1:
        return hits[0]
    if not hits:
        return Tries(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0))
    chance, numbers, amounts = (
        np.concatenate([getattr(each, name) for each in hits]) for name in ("chance", "numbers", "amounts")
    )
    if all(each.attempted is None for each in hits):
        return Tries(chance, numbers, amounts)
    attempted = [np.ones(len(each.chance)) if each.attempted is None else each.attempted for each in hits]
    failure = [np.zeros(len(each.chance)) if each.failure is None else each.failure for each in hits]
    return Tries(chance, numbers, amounts, np.concatenate(attempted), np.concatenate(failure))

"""Attacks of a round, by set of adversaries present.

They determine the distribution of the number of people re-identified.
"""

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

# Relative tolerance for whole numbers of targets, which are computed in floating point.
_ROUNDING = 1e-9


def cases_of_round(
    setting: Setting, plans: Sequence[AttackPlan], acting: Floats, participants: Counts, utility: Floats
) -> Iterator[Case]:
    """Yield the outcome distribution of a round for each set of adversaries present.

    If a budget covers only some of a cell's records, a fixed number of them is attacked. If the budgets of two present
    adversaries each cover a part of the same cell, the two parts overlap at random. Each record is then treated as
    attacked independently, with probability equal to the attacked share of the cell: the expected number is the same,
    and its spread is no smaller. Randomly drawn targets are also treated as attacked independently.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    plans : sequence of AttackPlan
        One plan for each adversary type.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.
    utility : ndarray of float64, shape (n_cells,)
        Utility of the released record of each cell; 0 if it is withheld.
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
            # Each record is attacked at most once, so each success is one re-identified person.
            people = Tries(hits[0].chance, hits[0].numbers, setting.loss)
        else:
            people = _people(setting, there, shares[who], success[who], participants)
        yield Case(probability, people, _together(hits), kept, earned)


def _people(
    setting: Setting, plans: Sequence[AttackPlan], shares: Floats, success: Floats, participants: Counts
) -> Tries:
    """Return the trials for whether any present adversary re-identifies each record."""
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
    """Return the trials for whether an adversary makes each attack and succeeds."""
    whole, numbers = _is_whole(plan, participants), np.round(plan.targets).astype(np.int64)
    success = plan.replies.success
    gains = np.broadcast_to(gain, success.shape)
    if whole.all():
        return Tries(success, numbers, gains)
    attempted = np.where(whole, 1.0, shares)
    failure = np.where(whole, 0.0, plan.replies.payoff - gain * success)
    return Tries(attempted * success, np.where(whole, numbers, participants), gains, attempted, failure)


def _is_whole(plan: AttackPlan, participants: Counts) -> NDArray[np.bool_]:
    """Return for which cells the number of attacked records is fixed, not random."""
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

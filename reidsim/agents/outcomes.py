"""Outcomes of a round's attacks, as expected values or as draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.attack import AttackPlan
from reidsim.agents.profile import AdversaryProfile, Meeting, Setting
from reidsim.portable_math import dot

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AdversaryOutcome:
    """Outcome of one adversary's attacks, given that it is present.

    Parameters
    ----------
    attempts, successes : ndarray of float64, shape (n_cells,)
        Number of records attacked and of records re-identified.
    exploits : float
        Number of exploits.
    payoff : float
        Payoff net of purchases and of expected fines, in currency units.
    attacked : ndarray of bool, shape (n_subjects,), optional
        Whether each subject's record is attacked, if outcomes are drawn.
    """

    attempts: Floats
    successes: Floats
    exploits: float
    payoff: float
    attacked: Bools | None = None


@dataclass(frozen=True, eq=False)
class RoundOutcome:
    """Outcome of a round.

    Parameters
    ----------
    by_adversary : tuple of AdversaryOutcome
        Outcome of each adversary.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present; 0 or 1 if presence is drawn.
    attacked, risk : ndarray of float64, shape (n_cells,)
        Probability that an exposed record is attacked, and that it is re-identified, given `acting`; not drawn.
    exposure : ndarray of float64, shape (n_cells,)
        Probability that an exposed record would be re-identified if all present adversaries attacked it.
    breaches, records_attacked : ndarray of float64, shape (n_cells,)
        Number of records re-identified and of records attacked by any adversary.
    breached : ndarray of bool, shape (n_subjects,), optional
        Whether each subject is re-identified, if outcomes are drawn.
    """

    by_adversary: tuple[AdversaryOutcome, ...]
    acting: Floats
    attacked: Floats
    risk: Floats
    exposure: Floats
    breaches: Floats
    records_attacked: Floats
    breached: Bools | None = None


def together(meeting: Meeting, acting: Floats, probability: Floats) -> Floats:
    """Return the probability that any adversary causes an event, for each cell.

    Parameters
    ----------
    meeting : {"one-of", "all"}
        Whether at most one adversary is present, or each one independently.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present.
    probability : ndarray of float64, shape (n_types, n_cells)
        Probability that a present adversary causes the event.

    Returns
    -------
    ndarray of float64, shape (n_cells,)
    """
    if meeting == "one-of":
        total = acting[0] * probability[0]
        for weight, of_type in zip(acting[1:].tolist(), probability[1:], strict=True):
            total += weight * of_type
        return np.asarray(np.minimum(total, 1.0, out=total))
    return np.asarray(1.0 - np.prod(1.0 - acting[:, None] * probability, axis=0))


def expected_outcome(
    setting: Setting, plans: Sequence[AttackPlan], acting: Floats, participants: NDArray[np.int64]
) -> RoundOutcome:
    """Compute the expected outcome of a round.

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
    """
    shares = target_shares(plans, participants)
    success = np.stack([plan.replies.success for plan in plans])
    risk = together(setting.meeting, acting, shares * success)
    attacked = together(setting.meeting, acting, shares)
    outcomes = tuple(
        AdversaryOutcome(
            attempts=plan.targets,
            successes=plan.targets * plan.replies.success,
            exploits=dot(plan.targets, plan.replies.exploits),
            payoff=dot(plan.targets, plan.replies.payoff) - plan.spent,
        )
        for plan in plans
    )
    exposure = together(setting.meeting, acting, success)
    records = participants.astype(np.float64)
    return RoundOutcome(outcomes, acting, attacked, risk, exposure, records * risk, records * attacked)


def sampled_outcome(
    setting: Setting,
    plans: Sequence[AttackPlan],
    acting: Floats,
    participants: NDArray[np.int64],
    participates: Bools,
    round_number: int,
) -> RoundOutcome:
    """Draw the outcome of a round.

    Each subject has one uniform random number per adversary and decision. The number does not depend on the other
    participants or on the release. An exploit succeeds if the number is below the success probability.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    plans : sequence of AttackPlan
        One plan for each adversary type.
    acting : ndarray of float64, shape (n_types,)
        1 for each adversary who is present, else 0.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.
    participates : ndarray of bool, shape (n_subjects,)
        Whether each subject's record is exposed.
    round_number : int
        Number of the round, from 1.
    """
    cells, n = setting.cell_of_subject, setting.n_subjects
    shares = target_shares(plans, participants)
    success = np.stack([plan.replies.success for plan in plans])
    attacked_by_any, breached = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    outcomes = []
    for number, (profile, plan) in enumerate(zip(setting.profiles, plans, strict=True)):
        if not acting[number]:
            nothing = np.zeros(setting.n_cells)
            outcomes.append(AdversaryOutcome(nothing, nothing, 0.0, 0.0))
            continue
        attacked = _targets_drawn(setting, profile, plan, shares[number], participates, round_number)
        draws = subject_draws(setting, "exploits", profile.name, round_number)
        hit = attacked & (draws < plan.replies.success[cells])
        outcomes.append(_drawn(setting, profile, plan, attacked, hit))
        attacked_by_any |= attacked
        breached |= hit
    return RoundOutcome(
        tuple(outcomes),
        acting,
        together(setting.meeting, acting, shares),
        together(setting.meeting, acting, shares * success),
        together(setting.meeting, acting, success),
        _per_cell(setting, breached),
        _per_cell(setting, attacked_by_any),
        breached,
    )


def survive(
    setting: Setting,
    plans: Sequence[AttackPlan],
    outcome: RoundOutcome,
    exposed: NDArray[np.int64],
    is_out: Bools,
    never: Floats,
) -> None:
    """Update each subject's probability of never being re-identified, in place.

    Multiplies it by the probability that the subject is not re-identified in this round, for expected outcomes. If a
    budget covers only a part of a cell, the first subjects of the cell are attacked, as in `sampled_outcome`.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    plans : sequence of AttackPlan
        One plan for each adversary type.
    outcome : RoundOutcome
        Expected outcome of these plans.
    exposed : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell: released now, or earlier and remembered.
    is_out : ndarray of bool, shape (n_subjects,)
        Whether each subject's record is exposed.
    never : ndarray of float64, shape (n_subjects,)
        Probability that each subject was never re-identified; changed in place.
    """
    cells, shares = setting.cell_of_subject, target_shares(plans, exposed)
    in_part = np.stack(
        [(share > 0.0) & (share < 1.0) & ~_is_by_chance(plan) for share, plan in zip(shares, plans, strict=True)]
    )
    part = np.asarray(in_part.any(axis=0))
    subjects = np.flatnonzero(is_out & part[cells]) if part.any() else np.zeros(0, dtype=np.int64)
    before = never[subjects]
    never *= 1.0 - is_out * outcome.risk[cells]
    if len(subjects):
        order = np.argsort(cells[subjects], kind="stable")
        of = cells[subjects[order]]
        rank = np.arange(len(of)) - np.searchsorted(of, of)
        targets = np.stack([plan.targets for plan in plans])[:, of]
        own = np.where(in_part[:, of], np.clip(targets - rank, 0.0, 1.0), shares[:, of])
        success = np.stack([plan.replies.success for plan in plans])[:, of]
        never[subjects[order]] = before[order] * (1.0 - together(setting.meeting, outcome.acting, own * success))


def _is_by_chance(plan: AttackPlan) -> Bools:
    """Return for which cells targets are random, not the first records, (n_cells,)."""
    return np.asarray((np.broadcast_to(plan.replies.frequency, plan.targets.shape) < 1.0) | plan.drawn)


def subject_draws(setting: Setting, decision: str, agent: str, round_number: int) -> Floats:
    """Return each subject's uniform number in [0, 1) for a decision, (n_subjects,).

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    decision : str
        Name of the decision, such as ``"exploits"``.
    agent : str
        Name of the deciding agent.
    round_number : int
        Number of the round, from 1.
    """
    return setting.stream(decision, agent, round_number).random(setting.n_subjects)


def _drawn(
    setting: Setting, profile: AdversaryProfile, plan: AttackPlan, attacked: Bools, hit: Bools
) -> AdversaryOutcome:
    """Return an adversary's outcome, with the drawn gain in place of the expected one."""
    replies = plan.replies
    attempts, successes = _per_cell(setting, attacked), _per_cell(setting, hit)
    lucky = float(successes.sum()) - dot(attempts, replies.success)
    payoff = dot(attempts, replies.payoff) - plan.spent + profile.gain * lucky
    return AdversaryOutcome(attempts, successes, dot(attempts, replies.exploits), payoff, attacked)


def _per_cell(setting: Setting, subjects: Bools) -> Floats:
    return np.bincount(setting.cell_of_subject[subjects], minlength=setting.n_cells).astype(np.float64)


def target_shares(plans: Sequence[AttackPlan], participants: NDArray[np.int64]) -> Floats:
    """Return the attacked share of each cell for each plan, shape (n_types, n_cells).

    It is the plan's number of targets divided by the number of exposed records; 0 for cells without any.
    """
    targets = np.stack([plan.targets for plan in plans])
    # Division of floats by floats takes half the time of division by integers.
    return np.divide(targets, participants.astype(np.float64), out=np.zeros_like(targets), where=participants > 0)


def _targets_drawn(
    setting: Setting,
    profile: AdversaryProfile,
    plan: AttackPlan,
    shares: Floats,
    participates: Bools,
    round_number: int,
) -> Bools:
    """Return which subjects an adversary attacks, shape (n_subjects,).

    If its budget covers only a part of a cell, the adversary attacks the first subjects of the cell. An adversary who
    draws its targets attacks a random sample of the subjects with profitable records. If the adversary attacks with a
    frequency below 1, it attacks each subject independently, with probability equal to the attacked share of the cell.
    """
    cells, partly = setting.cell_of_subject, (shares > 0.0) & (shares < 1.0)
    attacked = participates & (shares >= 1.0)[cells]
    by_chance = partly & _is_by_chance(plan)
    if by_chance.any():
        draws = subject_draws(setting, "attacks", profile.name, round_number)
        if plan.drawn and np.min(plan.replies.frequency) >= 1.0:
            wanted = np.flatnonzero(participates & by_chance[cells])
            attacked[wanted[np.argsort(draws[wanted])[: round(float(plan.targets.sum()))]]] = True
        else:
            attacked |= participates & by_chance[cells] & (draws < shares[cells])
    for cell in np.flatnonzero(partly & ~by_chance).tolist():
        subjects = np.flatnonzero(participates & (cells == cell))
        attacked[subjects[: round(plan.targets[cell])]] = True
    return attacked

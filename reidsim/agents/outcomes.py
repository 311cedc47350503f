"""What comes of a round's attacks: expected values, or draws."""

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
    """What comes of the attacks of one adversary if it is there.

    Parameters
    ----------
    attempts, successes : ndarray of float64, shape (n_cells,)
        Records attacked and records re-identified.
    exploits : float
        Number of exploits.
    payoff : float
        Its payoff, less what it bought, in currency units; fines as expected.
    attacked : ndarray of bool, shape (n_subjects,), optional
        Whom it attacked, where that is drawn.
    """

    attempts: Floats
    successes: Floats
    exploits: float
    payoff: float
    attacked: Bools | None = None


@dataclass(frozen=True, eq=False)
class RoundOutcome:
    """What comes of a round.

    Parameters
    ----------
    by_adversary : tuple of AdversaryOutcome
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is there; 0 or 1 where that is drawn.
    attacked, risk : ndarray of float64, shape (n_cells,)
        Probability that a record shared is attacked, and re-identified.
    exposure : ndarray of float64, shape (n_cells,)
        Probability that it would be re-identified if whoever is there attacked it.
    breaches, records_attacked : ndarray of float64, shape (n_cells,)
        Records re-identified and records attacked, by anybody.
    breached : ndarray of bool, shape (n_subjects,), optional
        Who was re-identified, where that is drawn.
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
    """Return the probability that something happens to a record through anybody.

    Parameters
    ----------
    meeting : {"one-of", "all"}
        One adversary is there at most, or each of them independently.
    acting : ndarray of float64, shape (n_types,)
    probability : ndarray of float64, shape (n_types, n_cells)
        That it happens if the adversary is there.
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
    """Work out the expected outcome of a round.

    Parameters
    ----------
    setting : Setting
    plans : sequence of AttackPlan
        One for each type.
    acting : ndarray of float64, shape (n_types,)
        Probability that each is there.
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell that are shared.
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
    """Draw the outcome of a round; `acting` is 0 or 1, `participates` (n_subjects,) tells who takes part.

    Every subject has a number of its own for every adversary and decision, whoever else takes part and however
    records are shared; an exploit hits where the number is below the probability.
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
    """Multiply the probabilities that subjects were never re-identified by those of a round of expected outcomes.

    Where a budget covers a part of a cell, the first subjects of the cell are attacked, as `sampled_outcome` has it.

    Parameters
    ----------
    setting : Setting
    plans : sequence of AttackPlan
        One for each type.
    outcome : RoundOutcome
        Of these plans.
    exposed : ndarray of int64, shape (n_cells,)
        Records of each cell that are out.
    is_out : ndarray of bool, shape (n_subjects,)
        Whose records these are.
    never : ndarray of float64, shape (n_subjects,)
        Changed in place.
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
    """Return for which cells each record is attacked with some probability, rather than the first ones, (n_cells,)."""
    return np.asarray((np.broadcast_to(plan.replies.frequency, plan.targets.shape) < 1.0) | plan.drawn)


def subject_draws(setting: Setting, decision: str, agent: str, round_number: int) -> Floats:
    """Return the number in [0, 1) that each subject has for a decision of an agent in a round, (n_subjects,)."""
    return setting.stream(decision, agent, round_number).random(setting.n_subjects)


def _drawn(
    setting: Setting, profile: AdversaryProfile, plan: AttackPlan, attacked: Bools, hit: Bools
) -> AdversaryOutcome:
    """Put together what was drawn; the gain expected is replaced by the one drawn."""
    replies = plan.replies
    attempts, successes = _per_cell(setting, attacked), _per_cell(setting, hit)
    lucky = float(successes.sum()) - dot(attempts, replies.success)
    payoff = dot(attempts, replies.payoff) - plan.spent + profile.gain * lucky
    return AdversaryOutcome(attempts, successes, dot(attempts, replies.exploits), payoff, attacked)


def _per_cell(setting: Setting, subjects: Bools) -> Floats:
    return np.bincount(setting.cell_of_subject[subjects], minlength=setting.n_cells).astype(np.float64)


def target_shares(plans: Sequence[AttackPlan], participants: NDArray[np.int64]) -> Floats:
    """Return the share of each cell's records that each plan attacks, shape (n_types, n_cells)."""
    targets = np.stack([plan.targets for plan in plans])
    # Floats are divided by floats in half the time.
    return np.divide(targets, participants.astype(np.float64), out=np.zeros_like(targets), where=participants > 0)


def _targets_drawn(
    setting: Setting,
    profile: AdversaryProfile,
    plan: AttackPlan,
    shares: Floats,
    participates: Bools,
    round_number: int,
) -> Bools:
    """Return which subjects an adversary attacks: of a cell that its budget covers in part, the first ones.

    An adversary who draws its targets attacks a random sample of the subjects whose records pay. Where an adversary
    attacks with some frequency, it attacks each subject with the probability that is the share of its cell.
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

"""An adversary's reply to a release: records attacked and resources bought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Response
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings
from reidsim.core.numerics import dot
from reidsim.games.memory import RememberingLinker
from reidsim.games.record_game import WITHHELD, shared_rows
from reidsim.releases.strategy_space import Strategies

Floats = NDArray[np.float64]

# Relative tolerance of budget comparisons, and tolerance in records: rounding must not cost the adversary a target.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Replies:
    """An adversary's reply to the strategy of each cell; arrays of shape (n_cells,).

    Parameters
    ----------
    attacks : ndarray of bool
        Whether the adversary attacks the records of the cell.
    success, payoff, exploits : ndarray of float64
        Per record attacked: true probability of success, expected payoff under that probability in currency units,
        expected number of exploits.
    worth : ndarray of float64
        Payoff that the adversary expects from attacking a record, in currency units; 0 without attack.
    outlay : ndarray of float64
        Cost of attacking a record without fines, in currency units.
    frequency : ndarray of float64
        Probability of attacking a record where `attacks` is true.
    invited : ndarray of bool
        Whether an attack is profitable as the adversary believes; differs from `attacks` for an adversary who errs.
    used : ndarray of int64
        Inference stages used before linkage, as bits; see `Response`.
    """

    attacks: NDArray[np.bool_]
    success: Floats
    payoff: Floats
    exploits: Floats
    worth: Floats
    outlay: Floats
    frequency: Floats
    invited: NDArray[np.bool_]
    used: NDArray[np.int64]

    @classmethod
    def nothing(cls, n_cells: int) -> Replies:
        """Return the replies of an adversary who attacks no record."""
        success, payoff, exploits, worth, outlay = np.zeros((5, n_cells))
        attacks, invited = np.zeros((2, n_cells), dtype=np.bool_)
        used = np.zeros(n_cells, dtype=np.int64)
        return cls(attacks, success, payoff, exploits, worth, outlay, np.ones(n_cells), invited, used)


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """An adversary's plan for a round.

    Parameters
    ----------
    buys : frozenset of str
        Resources bought.
    spent : float
        Price of these resources, in currency units.
    replies : Replies
        Reply to the release with the resources held after the purchase.
    targets : ndarray of float64, shape (n_cells,)
        Number of records attacked in each cell.
    drawn : bool
        Whether the targets are a random sample of the profitable records; `targets` then holds expected numbers.
    """

    buys: Holdings
    spent: float
    replies: Replies
    targets: Floats
    drawn: bool = False


def no_plan(n_cells: int) -> AttackPlan:
    """Return the plan of an adversary who buys and attacks nothing."""
    return AttackPlan(frozenset(), 0.0, Replies.nothing(n_cells), np.zeros(n_cells))


def replies_to(profile: AdversaryProfile, equipment: Equipment | None, strategies: Strategies) -> Replies:
    """Return an adversary's reply to a release.

    Parameters
    ----------
    profile : AdversaryProfile
        Fixed characteristics of the adversary.
    equipment : Equipment or None
        Linker and planner; None for an adversary who can attack no record.
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell. -1 means that the record is withheld; adversaries with a memory can then link only its
        earlier releases.
    """
    replies = Replies.nothing(len(strategies))
    if equipment is None:
        return replies
    linker, adversary = equipment
    withheld = strategies == WITHHELD
    has_past = linker.past != WITHHELD if isinstance(linker, RememberingLinker) else np.zeros_like(withheld)
    groups = chain(shared_rows(strategies), [(WITHHELD, np.flatnonzero(withheld & has_past))])
    for linkage, rows in ((linker.link(strategy, rows), rows) for strategy, rows in groups if len(rows)):
        response = adversary.respond(linkage, rows)
        if response.frequency is not None:
            replies.frequency[rows] = response.frequency
            response = of_attacked(response)
        if response.used is not None:
            replies.used[rows] = response.used
        replies.attacks[rows], replies.invited[rows] = response.attacks, response.invited
        replies.success[rows], replies.payoff[rows] = response.success, response.adversary_payoff
        replies.exploits[rows] = response.exploits
        replies.worth[rows], replies.outlay[rows] = worth_and_outlay(profile, response)
    return replies


def of_attacked(response: Response) -> Response:
    """Return a reply with payoff and exploits per attack made, without its frequency."""
    often = 1.0 if response.frequency is None else response.frequency
    return replace(
        response, adversary_payoff=response.adversary_payoff / often, exploits=response.exploits / often, frequency=None
    )


def worth_and_outlay(profile: AdversaryProfile, response: Response) -> tuple[Floats, Floats]:
    """Return the expected payoff and the cost of attacking each record.

    Both are in currency units, and 0 without attack. The payoff is net of expected fines; the cost excludes them. The
    payoff is the payoff that the adversary believes in; if the profile has an `access_outlay`, it is the payoff of the
    reply.
    """
    fines = profile.expected_fine * response.exploits
    if profile.access_outlay is None:
        # The outlay is not given: it is the expected gain less payoff and fines.
        paid = profile.gain * response.success - response.adversary_payoff - fines
        hoped = profile.gain * response.believed_success - paid - fines
    else:
        paid = profile.access_outlay + profile.exploit_outlay * response.exploits
        hoped = response.adversary_payoff
    worth = np.where(response.attacks, hoped, 0.0)
    return worth, np.where(response.attacks, np.maximum(paid, 0.0), 0.0)


def money_rate(worth: Floats, outlay: Floats) -> Floats:
    """Return the expected payoff per currency unit spent; infinite for free attacks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(outlay > 0, worth / outlay, np.inf)


def targets_within(
    replies: Replies, participants: NDArray[np.int64], budget: float, *, at_random: bool = False
) -> Floats:
    """Return the number of records of each cell that an adversary attacks.

    The adversary attacks records in decreasing order of expected payoff per currency unit until the budget does not
    cover the next record; cheaper records after it are not attacked. Ties go to the cell with the lower index. Without
    a binding budget, all profitable records are attacked, with the reply's frequency.

    Parameters
    ----------
    replies : Replies
        Reply to the release.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.
    budget : float
        Maximum outlay, in currency units.
    at_random : bool
        Whether the adversary attacks a random sample instead, of as many records as the budget covers at their mean
        outlay. The function then returns the expected number of records of each cell.

    Returns
    -------
    ndarray of float64, shape (n_cells,)
    """
    wanted = np.where(replies.attacks, participants, 0) * replies.frequency
    total = dot(wanted, replies.outlay)
    if total <= budget * (1 + _ROUNDING):
        return wanted
    if at_random:
        number = float(wanted.sum())
        return np.asarray(wanted * (np.floor(number * budget / total + _ROUNDING) / number))
    cells = np.flatnonzero(wanted)
    rate = money_rate(replies.worth[cells], replies.outlay[cells])
    cells = cells[np.argsort(-rate, kind="stable")]
    price = replies.outlay[cells]
    before = np.cumsum(wanted[cells] * price) - wanted[cells] * price
    with np.errstate(divide="ignore", invalid="ignore"):
        affordable = np.where(price > 0, np.floor((budget - before) / price + _ROUNDING), np.inf)
    targets = np.zeros_like(wanted)
    targets[cells] = np.clip(affordable, 0.0, wanted[cells])
    return targets


def plan_attack(
    profile: AdversaryProfile,
    holds: Holdings,
    participants: NDArray[np.int64],
    rounds_left: int,
    reply: Callable[[Holdings], Replies],
) -> AttackPlan:
    """Return an adversary's plan of purchases and attacks for a round.

    The adversary expects the same release in all remaining rounds. Among the sets of resources that its budget allows,
    it buys the set with the highest expected payoff over the remaining rounds, net of the price. Among equal payoffs,
    it buys the set with the fewest resources, and nothing if no purchase raises the payoff.

    Parameters
    ----------
    profile : AdversaryProfile
        Fixed characteristics of the adversary.
    holds : frozenset of str
        Resources held.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.
    rounds_left : int
        Number of remaining rounds, including this one.
    reply : callable
        Returns the reply to the release, given a set of resources; see `replies_to`.
    """
    best, best_worth = no_plan(len(participants)), -np.inf
    offered = [name for name in profile.prices if name not in holds]
    for names in chain.from_iterable(combinations(offered, size) for size in range(len(offered) + 1)):
        price = fsum(profile.prices[name] for name in names)
        if price > profile.budget:
            continue
        replies = reply(holds.union(names))
        now, later = (
            targets_within(replies, participants, budget, at_random=profile.draws_targets)
            for budget in (profile.budget - price, profile.budget)
        )
        worth = dot(now, replies.worth) - price + (rounds_left - 1) * dot(later, replies.worth)
        if best_worth == -np.inf or worth > best_worth + INDIFFERENCE * (abs(best_worth) + price):
            best = AttackPlan(frozenset(names), price, replies, now, profile.draws_targets)
            best_worth = worth
    return best

"""What an adversary does about the forms in which records are shared: whom it attacks, and what it buys for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import PlannedResponse
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE, Response, arrays_of
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings
from reidsim.games.memory import RememberingAdversary, RememberingLinker
from reidsim.games.record_game import WITHHELD, Linker, PopulationLinker, shared_rows
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Rows, Strategies

Floats = NDArray[np.float64]

# Share of a record by which a budget may seem too small for it by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Replies:
    """An adversary's reply to the form in which each cell is shared; arrays of shape (n_cells,).

    Parameters
    ----------
    attacks : ndarray of bool
    success, payoff, exploits : ndarray of float64
        Per record attacked: true probability of success, expected payoff in truth, expected number of exploits.
    worth : ndarray of float64
        Payoff that the adversary expects of attacking a record; 0 where it does not attack.
    outlay : ndarray of float64
        What attacking a record costs, fines apart.
    frequency : ndarray of float64 or float
        How often it attacks where it does.
    invited : ndarray of bool, optional
        Where an attack pays, if it may attack where it does not; where it attacks, if not given.
    used : ndarray of int64, optional
        The stages that infer something before it links, as `PlannedResponse` has them; none, if not given.
    """

    attacks: NDArray[np.bool_]
    success: Floats
    payoff: Floats
    exploits: Floats
    worth: Floats
    outlay: Floats
    frequency: Floats | float = 1.0
    invited: NDArray[np.bool_] | None = None
    used: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """What an adversary does in a round.

    Parameters
    ----------
    buys : frozenset of str
        Resources bought.
    spent : float
        What they cost.
    replies : Replies
    targets : ndarray of float64, shape (n_cells,)
        Records of each cell that it attacks.
    drawn : bool
        Whether these are expected numbers of a random sample of the records that pay.
    """

    buys: Holdings
    spent: float
    replies: Replies
    targets: Floats
    drawn: bool = False

    @property
    def invited(self) -> Floats:
        """Records of each cell that it attacks as that pays, rather than by mistake; shape of `targets`."""
        return self.targets if self.replies.invited is None else np.where(self.replies.invited, self.targets, 0.0)


def no_plan(n_cells: int) -> AttackPlan:
    """Return the plan of an adversary who does nothing."""
    nothing = np.zeros(n_cells)
    replies = Replies(np.zeros(n_cells, dtype=np.bool_), *(nothing,) * 5)
    return AttackPlan(frozenset(), 0.0, replies, nothing)


def replies_to(profile: AdversaryProfile, equipment: Equipment | None, strategies: Strategies) -> Replies:
    """Work out the reply to one strategy per cell; nobody is attacked without equipment.

    Parameters
    ----------
    profile : AdversaryProfile
    equipment : Equipment or None
    strategies : ndarray of int64, shape (n_cells,)
        -1 where a record is withheld, so that only its earlier releases can be linked, if adversaries remember any.
    """
    n = len(strategies)
    if equipment is None:
        return no_plan(n).replies
    linker, adversary = equipment
    planner = adversary.adversary if isinstance(adversary, RememberingAdversary) else adversary
    if isinstance(linker, (PopulationLinker, RememberingLinker)) and type(planner) is OneShotAdversary:
        # Whoever replies to each record on its own replies to all at once.
        rows = np.flatnonzero((strategies != WITHHELD) | _has_past(linker))
        response = adversary.respond(linker.link_each(strategies[rows], rows), rows)
        return _of_response(profile, response if len(rows) == n else _spread(response, rows, n))
    attacks, invited = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    success, believed, payoff, exploits = (np.zeros(n) for _ in range(4))
    frequency, used = np.ones(n), np.zeros(n, dtype=np.int64)
    linked = list(shared_rows(strategies))
    unreleased = np.flatnonzero((strategies == WITHHELD) & _has_past(linker))
    if len(unreleased):
        linked.append((WITHHELD, unreleased))
    for strategy, rows in linked:
        response = adversary.respond(linker.link(strategy, rows), rows)
        if response.frequency is not None:
            frequency[rows] = response.frequency
            response = of_attacked(response)
        if isinstance(response, PlannedResponse):
            used[rows] = response.used
        attacks[rows], invited[rows] = response.attacks, response.invited
        success[rows], believed[rows] = response.success, response.believed_success
        payoff[rows] = response.adversary_payoff
        exploits[rows] = response.exploits
    replies = _of_response(profile, Response(attacks, success, believed, payoff, exploits))
    return replace(replies, frequency=frequency, invited=invited, used=used)


def _has_past(linker: Linker) -> NDArray[np.bool_] | bool:
    """Return the records of which adversaries remember an earlier release, shape (n_cells,); False if they do not."""
    return linker.past != WITHHELD if isinstance(linker, RememberingLinker) else False


def _of_response(profile: AdversaryProfile, response: Response) -> Replies:
    worth, outlay = worth_and_outlay(profile, response)
    return Replies(
        response.attacks, response.success, response.adversary_payoff, response.exploits, worth, outlay
    )  # fmt: skip


def _spread(response: Response, rows: Rows, n: int) -> Response:
    """Return a reply to n records, given that to those of `rows`; no other is attacked."""
    arrays: dict[str, Any] = {}
    for name, array in arrays_of(response).items():
        arrays[name] = np.zeros(n, dtype=array.dtype)
        arrays[name][rows] = array
    return replace(response, **arrays)


def of_attacked(response: Response) -> Response:
    """Return a reply that is made with some frequency as it is where it is made."""
    assert response.frequency is not None  # noqa: S101 - as its caller has seen
    often = response.frequency
    return replace(
        response, adversary_payoff=response.adversary_payoff / often, exploits=response.exploits / often, frequency=None
    )


def worth_and_outlay(profile: AdversaryProfile, response: Response) -> tuple[Floats, Floats]:
    """Return what an adversary expects of attacking each record and what that costs, fines apart; 0 without attack."""
    fines = profile.expected_fine * response.exploits
    if profile.access_outlay is None:
        # All that a payoff lacks to the gain hoped for was paid.
        paid = profile.gain * response.success - response.adversary_payoff - fines
        hoped = profile.gain * response.believed_success - paid - fines
    else:
        paid = profile.access_outlay + profile.exploit_outlay * response.exploits
        hoped = response.adversary_payoff
    worth = np.where(response.attacks, hoped, 0.0)
    return worth, np.where(response.attacks, np.maximum(paid, 0.0), 0.0)


def money_rate(worth: Floats, outlay: Floats) -> Floats:
    """Return what an adversary expects of each record per unit of money spent; infinite where it is free."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(outlay > 0, worth / outlay, np.inf)


def targets_within(
    replies: Replies, participants: NDArray[np.int64], budget: float, *, at_random: bool = False
) -> Floats:
    """Return how many records of each cell an adversary attacks if it can spend no more than a budget.

    It attacks first what it expects most of per unit of money spent; of equal records, those of the first cell.

    Parameters
    ----------
    replies : Replies
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell that are shared.
    budget : float
    at_random : bool
        Whether it attacks a random sample instead, as many records as the budget covers at their mean outlay. Then the
        expected number of records of each cell is returned.
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
    """Plan purchases and attacks of a round.

    The adversary expects the same release in all rounds that are left. Of the sets of resources that its budget
    allows it buys the one with the highest expected payoff over them, less the price; only if that is more than it
    expects without.

    Parameters
    ----------
    profile : AdversaryProfile
    holds : frozenset of str
        Resources held.
    participants : ndarray of int64, shape (n_cells,)
    rounds_left : int
        This one included.
    reply : callable
        Returns the reply to the release with some resources; see `replies_to`.
    """
    best: AttackPlan | None = None
    best_worth = -np.inf
    for buys, price in _affordable(profile, holds):
        replies = reply(holds | buys)
        targets = targets_within(replies, participants, profile.budget - price, at_random=profile.draws_targets)
        worth = dot(targets, replies.worth) - price
        if rounds_left > 1:
            later = targets
            if price > 0:
                later = targets_within(replies, participants, profile.budget, at_random=profile.draws_targets)
            worth += (rounds_left - 1) * dot(later, replies.worth)
        if best is None or worth > best_worth + INDIFFERENCE * (abs(best_worth) + price):
            best, best_worth = AttackPlan(buys, price, replies, targets, profile.draws_targets), worth
    assert best is not None  # noqa: S101 # buying nothing is always affordable
    return best


def _affordable(profile: AdversaryProfile, holds: Holdings) -> Iterator[tuple[Holdings, float]]:
    """Yield the sets of resources that can be bought, and what they cost: nothing first, then smaller sets."""
    offered = [name for name in profile.prices if name not in holds]
    for size in range(len(offered) + 1):
        for names in combinations(offered, size):
            price = fsum(profile.prices[name] for name in names)
            if price <= profile.budget:
                yield frozenset(names), price

"""An adversary's reply to a release, the outcome of a round, and the measures of a round.

Outcomes of a round's attacks are expected values, draws or distributions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Planner, Presence, Response
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Meeting, Setting
from reidsim.core.errors import InputError, refuse_first, require_among
from reidsim.core.files import read_toml
from reidsim.core.numerics import dot
from reidsim.core.wording import columns_of, measures_worded
from reidsim.games.composite import RememberingLinker
from reidsim.games.outcomes import MEASURES, REIDENTIFIED, Case, Equilibrium, averages, own_measures
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.linkage.totals import Tries, weight_by_value
from reidsim.releases.lattice import Strategies

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]

# Relative tolerance of budget comparisons and of whole numbers of targets, and tolerance in records: rounding must not
# cost the adversary a target.
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

    attacks: Bools
    success: Floats
    payoff: Floats
    exploits: Floats
    worth: Floats
    outlay: Floats
    frequency: Floats
    invited: Bools
    used: Counts

    @classmethod
    def nothing(cls, n_cells: int) -> Replies:
        """Return the replies of an adversary who attacks no record of `n_cells` cells.

        All arrays, of shape (n_cells,), are 0 or False, except the frequency, which is 1.
        """
        attacks, invited = np.zeros((2, n_cells), dtype=np.bool_)
        success, payoff, exploits, worth, outlay = np.zeros((5, n_cells))
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
    worth : float
        Expected payoff of the attacks over the remaining rounds, less the price of the resources, in currency units.
    """

    buys: Holdings
    spent: float
    replies: Replies
    targets: Floats
    drawn: bool = False
    worth: float = 0.0

    @property
    def by_chance(self) -> Bools:
        """Whether the targets in each cell are random, shape (n_cells,).

        They are random if the targets are a random sample, or the adversary attacks records of the cell with a
        probability below 1. Otherwise, the first records of the cell are the targets.
        """
        return np.asarray((self.replies.frequency < 1.0) | self.drawn)


def no_plan(n_cells: int) -> AttackPlan:
    """Return the plan of an adversary who buys and attacks nothing.

    `n_cells` is the number of cells.
    """
    return AttackPlan(frozenset(), 0.0, Replies.nothing(n_cells), np.zeros(n_cells))


def replies_to(
    profile: AdversaryProfile, equipment: Equipment | None, strategies: Strategies, planner: Any = None
) -> Replies:
    """Return an adversary's reply to a release, as `Replies` by cell.

    Withheld records that cannot be linked, and all records without equipment, are not attacked: their entries are 0 or
    False, with frequency 1.

    Parameters
    ----------
    profile : AdversaryProfile
        Fixed characteristics of the adversary.
    equipment : Equipment or None
        Linker, and adversary that replies to its linkage; None for an adversary who can attack no record.
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell. -1 means that the record is withheld; adversaries with a memory can then link only its
        earlier releases.
    planner : Adversary, optional
        Planner that replies in place of the one in `equipment`, with the same memory and errors of judgement.
    """
    replies = Replies.nothing(len(strategies))
    if equipment is None:
        return replies
    linker, adversary = equipment
    adversary = adversary if planner is None else _with_planner(adversary, planner)
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


def _with_planner(adversary: Any, planner: Any) -> Any:
    """Return an adversary with another innermost planner.

    Adversaries who remember releases, err, or attack people with several records wrap the planner in `adversary`.
    """
    inner = getattr(adversary, "adversary", None)
    return planner if inner is None else replace(adversary, adversary=_with_planner(inner, planner))


def of_attacked(response: Response) -> Response:
    """Return a reply with payoff and exploits per attack made, without its frequency.

    Payoff and exploits are divided by the probability of attack (`frequency`). Without a frequency, the reply is
    unchanged.
    """
    often = 1.0 if response.frequency is None else response.frequency
    return replace(
        response, adversary_payoff=response.adversary_payoff / often, exploits=response.exploits / often, frequency=None
    )


def worth_and_outlay(profile: AdversaryProfile, response: Response) -> tuple[Floats, Floats]:
    """Return the expected payoff and the cost of attacking each record.

    Both arrays are in currency units per record, in the shape of the reply's arrays, and 0 without attack. The payoff
    is net of expected fines; the cost excludes fines and is at least 0. The payoff is the payoff that the adversary
    believes in; if the profile has an `access_outlay`, it is the payoff of the reply.

    Parameters
    ----------
    profile : AdversaryProfile
        Gain, expected fine and, if given, outlays of the adversary.
    response : Response
        Reply with payoff and exploits per attack made; see `of_attacked`.
    """
    fines = profile.expected_fine * response.exploits
    if profile.access_outlay is None:
        # The outlay is not given: it is the expected gain less payoff and fines.
        paid = profile.gain * response.success - response.adversary_payoff - fines
        hoped = profile.gain * response.believed_success - paid - fines
    else:
        paid = profile.access_outlay + profile.exploit_outlay * response.exploits
        hoped = response.adversary_payoff
    return np.where(response.attacks, hoped, 0.0), np.where(response.attacks, np.maximum(paid, 0.0), 0.0)


def money_rate(worth: Floats, outlay: Floats) -> Floats:
    """Return the expected payoff per currency unit spent; infinite for free attacks.

    `worth` and `outlay` hold the expected payoff and the cost of attacking each record, in currency units; the result
    has their shape.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(outlay > 0, worth / outlay, np.inf)


def targets_within(replies: Replies, participants: Counts, budget: float, *, at_random: bool = False) -> Floats:
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
        return np.asarray(wanted * (np.floor(wanted.sum() * budget / total + _ROUNDING) / wanted.sum()))
    cells = np.flatnonzero(wanted)
    cells = cells[np.argsort(-money_rate(replies.worth, replies.outlay)[cells], kind="stable")]
    price = replies.outlay[cells]
    before = np.cumsum(wanted[cells] * price) - wanted[cells] * price
    with np.errstate(divide="ignore", invalid="ignore"):
        affordable = np.where(price > 0, np.floor((budget - before) / price + _ROUNDING), np.inf)
    targets = np.zeros_like(wanted)
    targets[cells] = np.clip(affordable, 0.0, wanted[cells])
    return targets


@dataclass(frozen=True, eq=False)
class World:
    """Facts that an adversary knows before the first round.

    Parameters
    ----------
    name : str
        Name of the adversary type.
    rounds : int
        Number of rounds.
    holds : frozenset of str
        Resources held.
    prices : mapping of str to float
        Price of each resource that the adversary can buy, in currency units.
    budget : float
        Maximum spending in a round, in currency units; infinite without a limit.
    """

    name: str
    rounds: int
    holds: Holdings
    prices: Mapping[str, float]
    budget: float


@dataclass(frozen=True, eq=False)
class Observation:
    """Facts that an adversary knows when it plans a round, and the plans that they allow.

    Parameters
    ----------
    profile : AdversaryProfile
        Fixed characteristics of the adversary.
    holds : frozenset of str
        Resources held.
    records : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`. Cells may differ between rounds.
    rounds_left : int
        Number of remaining rounds, including this one.
    reply : callable
        Returns the reply to the release as `Replies`, given a set of resources and, optionally, a planner that replies
        in place of the adversary's, such as one with an updated belief; see `replies_to`. An adversary knows
        ``attacks``, ``worth``, ``outlay``, ``frequency`` and ``invited``; the other arrays contain true probabilities.
    """

    profile: AdversaryProfile
    holds: Holdings
    records: Counts
    rounds_left: int
    reply: Callable[..., Replies]

    @property
    def offers(self) -> dict[str, float]:
        """Prices of the resources that the adversary can buy and does not hold, in currency units."""
        return {name: price for name, price in self.profile.prices.items() if name not in self.holds}

    def plan(self, buys: Collection[str] = (), targets: Floats | None = None) -> AttackPlan:
        """Return a plan with given purchases.

        Parameters
        ----------
        buys : collection of str
            Resources to buy, among `offers`.
        targets : ndarray of float64, shape (n_cells,), optional
            Number of records to attack in each cell, at most `records`, and 0 where the reply is no attack. By default,
            the adversary attacks the profitable records that the rest of the budget covers; see `targets_within`.

        Raises
        ------
        InputError
            If a resource is not for sale, the targets are not possible, or the budget does not cover the plan.
        """
        where, budget = f"plan of adversary {self.profile.name!r}", self.profile.budget
        require_among("not for sale", buys, self.offers, where=where, otherwise="no purchase")
        price = spent = fsum(self.offers[name] for name in {*buys})
        replies = self.reply(self.holds.union(buys))
        if targets is not None:
            targets, most = np.asarray(targets, dtype=np.float64), np.where(replies.attacks, self.records, 0)
            if targets.shape != most.shape or not ((targets >= 0) & (targets <= most)).all():
                expected = f"numbers of shape {most.shape}, from 0 to the number of records that the adversary attacks"
                raise InputError("impossible targets", where=where, found=targets, expected=expected)
            spent += dot(targets, replies.outlay)
        refuse_first((spent > budget * (1 + _ROUNDING), "the budget is exceeded", where, spent, f"at most {budget:g}"))
        drawn = targets is None and self.profile.draws_targets
        now, later = (
            targets_within(replies, self.records, left, at_random=self.profile.draws_targets)
            for left in (budget - price, budget)
        )
        now = now if targets is None else targets
        worth = dot(now, replies.worth) - price + (self.rounds_left - 1) * dot(later, replies.worth)
        return AttackPlan(frozenset(buys), price, replies, now, drawn, worth)

    def plans(self) -> Iterator[AttackPlan]:
        """Yield a plan for each set of resources that the budget allows, the smallest sets first.

        The adversary expects the same release in all remaining rounds. Resources whose total price exceeds the budget
        of one round are not bought. In this round, the price is paid from the budget for attacks; in later rounds, the
        whole budget is left for attacks.
        """
        for names in chain.from_iterable(combinations(self.offers, size) for size in range(len(self.offers) + 1)):
            if fsum(self.offers[name] for name in names) <= self.profile.budget:
                yield self.plan(names)

    def best_plan(self) -> AttackPlan:
        """Return the plan of `plans` with the highest expected payoff over the remaining rounds, net of the price.

        Among equal payoffs, it is the first one, with the fewest resources.
        """
        best, *others = self.plans()
        for plan in others:
            if plan.worth > best.worth + INDIFFERENCE * (abs(best.worth) + plan.spent):
                best = plan
        return best


def begun(profile: AdversaryProfile, rounds: int) -> object:
    """Return a copy of an adversary's planner before the first of some rounds, with a state of its own."""
    planner = copy.copy(profile.planner)
    let(planner, "begin", World(profile.name, rounds, profile.holds, profile.prices, profile.budget))
    return planner


def let(planner: object, method: str, about: object) -> Any:
    """Return the result of a method of a planner; a method that it lacks is that of `Planner`."""
    own = getattr(planner, method, None)
    return getattr(Planner, method)(planner, about) if own is None else own(about)


def planned(planner: object, observation: Observation) -> AttackPlan:
    """Return the plan that a planner makes.

    Raises
    ------
    InputError
        If its method ``plan`` returns something else.
    """
    plan = let(planner, "plan", observation)
    if not isinstance(plan, AttackPlan):
        expected = "the result of observation.plan() or observation.best_plan()"
        raise InputError("not a plan", where=f"adversary {observation.profile.name!r}", found=plan, expected=expected)
    return plan


@dataclass(frozen=True, eq=False)
class AdversaryOutcome:
    """Outcome of one adversary's attacks, given that it is present.

    Parameters
    ----------
    attempts, successes : ndarray of float64, shape (n_cells,)
        Number of records attacked and of records re-identified; expected or drawn.
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

    @classmethod
    def from_attempts(cls, plan: AttackPlan, attempts: Floats, successes: Floats) -> AdversaryOutcome:
        """Return the outcome of a plan's attacks, given numbers of attempts and successes.

        The payoff is the expected payoff of the attempts, less the price of the resources bought. `attempts` and
        `successes` have shape (n_cells,).
        """
        payoff = dot(attempts, plan.replies.payoff) - plan.spent
        return cls(attempts, successes, dot(attempts, plan.replies.exploits), payoff)


def together(meeting: Meeting, acting: Floats, probability: Floats) -> Floats:
    """Return the probability that any adversary causes an event, for each cell.

    Parameters
    ----------
    meeting : {"one-of", "all"}
        Whether at most one adversary is present (the sum is then limited to 1), or each one independently.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present.
    probability : ndarray of float64, shape (n_types, n_cells)
        Probability that a present adversary causes the event.

    Returns
    -------
    ndarray of float64, shape (n_cells,)
    """
    if meeting == "one-of":
        return np.asarray(np.minimum((acting[:, None] * probability).sum(axis=0), 1.0))
    return np.asarray(1.0 - np.prod(1.0 - acting[:, None] * probability, axis=0))


class Attacks:
    """The attacks of a round and their outcome, expected or drawn.

    If outcomes are drawn, each subject has one uniform random number per adversary and decision. The number does not
    depend on the other participants or on the release. An exploit succeeds if the number is below the success
    probability.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    plans : sequence of AttackPlan
        One plan for each adversary type.
    acting : ndarray of float64, shape (n_types,)
        Probability that each adversary is present; 0 or 1 if presence is drawn.
    exposed : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell: released now, or earlier and remembered; see `Setting.exposed`.
    is_out : ndarray of bool, shape (n_subjects,)
        Whether each subject's record is exposed.
    round_number : int
        Number of the round, from 1.

    Attributes
    ----------
    shares, success : ndarray of float64, shape (n_types, n_cells)
        Attacked share of each cell for each plan, and success probability of an attack; it can be above 0 where nothing
        is attacked.
    attacked, risk : ndarray of float64, shape (n_cells,)
        Probability that an exposed record is attacked, and that it is re-identified, given `acting`; not drawn.
    exposure : ndarray of float64, shape (n_cells,)
        Probability that an exposed record would be re-identified if all present adversaries attacked it.
    by_adversary : list of AdversaryOutcome
        Outcome of each adversary.
    breaches, records_attacked : ndarray of float64, shape (n_cells,)
        Number of records re-identified and of records attacked by any adversary.
    breached : ndarray of bool, shape (n_subjects,), or None
        Whether each subject is re-identified, if outcomes are drawn.
    """

    def __init__(
        self,
        setting: Setting,
        plans: Sequence[AttackPlan],
        acting: Floats,
        exposed: Counts,
        is_out: Bools,
        round_number: int = 1,
    ) -> None:
        self.setting, self.plans, self.acting = setting, plans, acting
        self.exposed, self.is_out, self.round_number = exposed, is_out, round_number
        self.shares, self.success = target_shares(plans, exposed), np.stack([plan.replies.success for plan in plans])
        self.attacked, self.risk, self.exposure = (
            together(setting.meeting, acting, each) for each in (self.shares, self.shares * self.success, self.success)
        )
        self.breaches, self.records_attacked = exposed * self.risk, exposed * self.attacked
        self.breached: Bools | None = None
        if setting.mode == "expectation":
            self.by_adversary = [
                AdversaryOutcome.from_attempts(plan, plan.targets, plan.targets * plan.replies.success)
                for plan in plans
            ]
            return

        def per_cell(subjects: Bools) -> Floats:
            return np.bincount(setting.cell_of_subject[subjects], minlength=setting.n_cells).astype(np.float64)

        by_any, self.breached = np.zeros((2, setting.n_subjects), dtype=np.bool_)
        self.by_adversary = []
        for number, (profile, plan) in enumerate(zip(setting.profiles, plans, strict=True)):
            by_one = self._targets_drawn(number) if acting[number] else np.zeros_like(by_any)
            draws = subject_draws(setting, "exploits", profile.name, round_number)
            hit = by_one & (draws < plan.replies.success[setting.cell_of_subject])
            attempts, successes = per_cell(by_one), per_cell(hit)
            # The drawn gain replaces the expected gain.
            lucky = profile.gain * (float(successes.sum()) - dot(attempts, plan.replies.success))
            outcome = AdversaryOutcome.from_attempts(plan, attempts, successes)
            self.by_adversary.append(replace(outcome, payoff=outcome.payoff + lucky, attacked=by_one))
            by_any |= by_one
            self.breached |= hit
        self.breaches, self.records_attacked = per_cell(self.breached), per_cell(by_any)

    def survive(self, never: Floats) -> None:
        """Update each subject's probability of never being re-identified, in place.

        It may be called only if outcomes are expected. It multiplies `never`, ndarray of float64, shape (n_subjects,),
        by the probability that the subject is not re-identified in this round. If a budget covers only a part of a
        cell, the first exposed subjects of the cell are attacked.
        """
        cells, shares = self.setting.cell_of_subject, self.shares
        in_part = (shares > 0.0) & (shares < 1.0) & ~np.stack([plan.by_chance for plan in self.plans])
        subjects = np.flatnonzero(self.is_out & np.asarray(in_part.any(axis=0))[cells])
        subjects = subjects[np.argsort(cells[subjects], kind="stable")]
        before, of = never[subjects], cells[subjects]
        never *= 1.0 - self.is_out * self.risk[cells]
        rank = np.arange(len(of)) - np.searchsorted(of, of)
        targets = np.stack([plan.targets for plan in self.plans])[:, of]
        own = np.where(in_part[:, of], np.clip(targets - rank, 0.0, 1.0), shares[:, of])
        never[subjects] = before * (1.0 - together(self.setting.meeting, self.acting, own * self.success[:, of]))

    def _targets_drawn(self, number: int) -> Bools:
        """Draw which subjects an adversary attacks, shape (n_subjects,).

        `number` is the adversary's position in `plans`. Only exposed subjects are attacked. If its budget covers only a
        part of a cell, the adversary attacks the first subjects of the cell. An adversary who draws its targets attacks
        a random sample of the subjects with profitable records. If the adversary attacks with a frequency below 1, it
        attacks each subject independently, with probability equal to the attacked share of the cell.
        """
        setting, plan, shares, is_out = self.setting, self.plans[number], self.shares[number], self.is_out
        cells, partly = setting.cell_of_subject, (shares > 0.0) & (shares < 1.0)
        attacked: Bools = is_out & (shares >= 1.0)[cells]
        by_chance = partly & plan.by_chance
        if by_chance.any():
            draws = subject_draws(setting, "attacks", setting.profiles[number].name, self.round_number)
            if plan.drawn and np.min(plan.replies.frequency) >= 1.0:
                wanted = np.flatnonzero(is_out & by_chance[cells])
                attacked[wanted[np.argsort(draws[wanted])[: round(float(plan.targets.sum()))]]] = True
            else:
                attacked |= is_out & by_chance[cells] & (draws < shares[cells])
        for cell in np.flatnonzero(partly & ~by_chance).tolist():
            attacked[np.flatnonzero(is_out & (cells == cell))[: round(plan.targets[cell])]] = True
        return attacked

    def cases(self, utility: Floats) -> Iterator[Case]:
        """Yield the outcome distribution of the round for each set of adversaries present.

        If a budget covers only some of a cell's records, a fixed number of them is attacked. If the budgets of two
        present adversaries each cover a part of the same cell, the two parts overlap at random. Each record is then
        treated as attacked independently, with probability equal to the attacked share of the cell: the expected number
        is the same, and its spread is no smaller. Randomly drawn targets are also treated as attacked independently.

        Each item is a `Case` with the probability of one set of adversaries. `utility` is the utility of the released
        record of each cell, shape (n_cells,); 0 if it is withheld.
        """
        setting, shares = self.setting, self.shares
        kept = dot(self.exposed, setting.benefit * utility)
        for probability, coming in Presence(tuple(self.acting.tolist()), setting.meeting == "one-of").cases():
            who = list(coming)
            there = [self.plans[number] for number in who]
            gains = [setting.profiles[number].gain for number in who]
            hits = [_hits(*each, self.exposed) for each in zip(there, shares[who], gains, strict=True)]
            earned = fsum(dot(plan.targets, plan.replies.payoff) - plan.spent for plan in there)
            people = _people(setting, there, shares[who], self.success[who], self.exposed)
            yield Case(probability, people, _together(hits), kept, earned)


def subject_draws(setting: Setting, decision: str, agent: str, round_number: int) -> Floats:
    """Return each subject's uniform number in [0, 1) for a decision, (n_subjects,).

    The numbers depend only on the arguments and on seed and replication of the setting.

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


def target_shares(plans: Sequence[AttackPlan], participants: Counts) -> Floats:
    """Return the attacked share of each cell for each plan, shape (n_types, n_cells).

    `plans` holds the attack plan of each adversary type. The share is the plan's number of targets divided by the
    number of exposed records of the cell (`participants`, shape (n_cells,)); 0 for cells without any.
    """
    targets = np.stack([plan.targets for plan in plans])
    # Division of floats by floats takes half the time of division by integers.
    return np.divide(targets, participants.astype(np.float64), out=np.zeros_like(targets), where=participants > 0)


def _people(
    setting: Setting, plans: Sequence[AttackPlan], shares: Floats, success: Floats, participants: Counts
) -> Tries:
    """Return the trials for whether any present adversary re-identifies each record.

    The trials are independent; see `Tries`. If exactly one adversary attacks a fixed number of a cell's records, but
    not all, the cell has two groups of trials: the records that it attacks, and the others. Amounts are the publisher's
    loss per record, in currency units.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model, with the loss per record.
    plans : sequence of AttackPlan
        Plans of the adversaries present.
    shares, success : ndarray of float64, shape (n_plans, n_cells)
        Attacked share of each cell, and success probability of an attack.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell.
    """
    chance = (shares * success)[0] if len(plans) == 1 else 1.0 - np.prod(1.0 - shares * success, axis=0)
    in_part = (shares > 0) & (shares < 1)
    fixed = np.array([_is_whole(plan, participants) for plan in plans], dtype=np.bool_).reshape(shares.shape)
    alone = (in_part.sum(axis=0) == 1) & (fixed | ~in_part).all(axis=0)
    targets = np.array([plan.targets for plan in plans]).reshape(shares.shape)
    attacked = np.where(in_part & alone, np.round(targets), 0.0).sum(axis=0).astype(np.int64)
    with_all = 1.0 - np.prod(1.0 - (shares > 0) * success, axis=0)
    with_whole = 1.0 - np.prod(1.0 - (shares >= 1) * success, axis=0)
    return Tries(
        np.concatenate([np.where(alone, with_all, chance), with_whole[alone]]),
        np.concatenate([np.where(alone, attacked, participants), (participants - attacked)[alone]]),
        np.concatenate([setting.loss, setting.loss[alone]]),
    )


def _hits(plan: AttackPlan, shares: Floats, gain: float, participants: Counts) -> Tries:
    """Return the trials for whether an adversary makes each attack and succeeds.

    There is one group of trials per cell; see `Tries`. If targets of any cell are random, a trial may not be made, and
    a failed attempt pays the payoff of a failure; otherwise failures pay 0.

    Parameters
    ----------
    plan : AttackPlan
        Plan of the adversary.
    shares : ndarray of float64, shape (n_cells,)
        Attacked share of each cell.
    gain : float
        Gain from a success, in currency units.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell.
    """
    whole, numbers = _is_whole(plan, participants), np.round(plan.targets).astype(np.int64)
    success = plan.replies.success
    gains = np.broadcast_to(gain, success.shape)
    if whole.all():
        return Tries(success, numbers, gains)
    attempted = np.where(whole, 1.0, shares)
    failure = np.where(whole, 0.0, plan.replies.payoff - gain * success)
    return Tries(attempted * success, np.where(whole, numbers, participants), gains, attempted, failure)


def _is_whole(plan: AttackPlan, participants: Counts) -> Bools:
    """Return for which cells the number of attacked records is fixed, not random.

    It is fixed if the plan's number of targets is a whole number (within rounding), attacks are made with certainty,
    and a sample of targets leaves out none or all of the cell's records. `participants` (n_cells,) is the number of
    exposed records of each cell; the result has the same shape.
    """
    whole = np.abs(plan.targets - np.round(plan.targets)) <= _ROUNDING * np.maximum(plan.targets, 1.0)
    some = plan.drawn & (plan.targets > 0.0) & (plan.targets < participants)
    return np.asarray(whole & ~some & (plan.replies.frequency >= 1.0))


def _together(hits: Sequence[Tries]) -> Tries:
    """Return the trials of all adversaries, one after the other.

    `hits` holds the trials of each adversary; see `Tries`. Without adversaries, the result is empty.
    """

    def joined(name: str, otherwise: float = 0.0) -> Floats:
        columns = ((getattr(each, name), len(each.chance)) for each in hits)
        return np.concatenate([np.zeros(0), *(np.full(n, otherwise) if c is None else c for c, n in columns)])

    chance, numbers, amounts = joined("chance"), joined("numbers").astype(np.int64), joined("amounts")
    if all(each.attempted is None for each in hits):
        return Tries(chance, numbers, amounts)
    return Tries(chance, numbers, amounts, joined("attempted", 1.0), joined("failure"))


# Measures that exist only for rounds, in column order.
_OWN = measures_worded(read_toml(Path(__file__).with_suffix(".toml")))
PARTICIPATION, BREACHES, DISTINCT = _OWN["participation"], _OWN["breaches"], _OWN["distinct_reidentified"]
# Levels of the quantiles of risk over released records, by column.
RISK_QUANTILES = {"risk_median": 0.5, "risk_90": 0.9, "risk_99": 0.99}
# Measures of all run tables; the measures from participation on exist only in models with agents.
RUN_MEASURES = (*MEASURES, *REIDENTIFIED, PARTICIPATION, BREACHES, DISTINCT, _OWN["risk_90"], _OWN["risk_99"])
# Measures of a round, in column order.
ROUND_MEASURES = (*MEASURES, *_OWN.values(), *REIDENTIFIED)


def round_columns() -> list[str]:
    """Return the columns of the measures of a round: `ROUND_MEASURES`, then the user's."""
    return columns_of((*ROUND_MEASURES, *own_measures()))


def release_of(setting: Setting, strategies: Strategies) -> tuple[Floats, Floats]:
    """Return the utility and the generalization intensity of each cell's strategy.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell; -1 for withheld records.

    Returns
    -------
    utility, intensity : ndarray of float64, shape (n_cells,)
        Withheld records have utility 0 and generalization intensity 1.
    """
    utility, intensity = np.zeros(len(strategies)), np.ones(len(strategies))
    for strategy, rows in shared_rows(strategies):
        utility[rows] = setting.space.utility(strategy, rows)
        intensity[rows] = setting.space.generalization_intensity(strategy)
    return utility, intensity


def record_measures(
    setting: Setting, released: Equilibrium, participants: Counts, attacks: Attacks, adversary_payoff: float
) -> dict[str, float]:
    """Return the measures of a round, averaged over all subjects' records.

    The averages are computed by the functions for games without rounds. The record of a data subject who does not take
    part is withheld: utility 0, generalization intensity 1. It can still be attacked if it was released in an earlier
    round.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    released : Equilibrium
        Outcome for the released records of each cell; see `equilibrium_of`.
    participants : ndarray of int64, shape (n_cells,)
        Number of released records of each cell.
    attacks : Attacks
        Attacks of the round and their outcome.
    adversary_payoff : float
        Total payoff of all adversaries, in currency units; divided evenly among all records.

    Returns
    -------
    dict of str to float
        Value of each measure in `MEASURES`, by column.
    """
    n, exposed = setting.n_subjects, attacks.exposed
    # Two rows per cell, for records released now and records released only earlier; one row for all other records.
    weights = np.concatenate([participants, exposed - participants, [n - int(exposed.sum())]])
    attacked, breaches = attacks.records_attacked, attacks.breaches
    frequency = np.divide(attacked, exposed, out=np.zeros_like(attacked), where=exposed > 0)
    success = np.divide(breaches, attacked, out=np.zeros_like(breaches), where=attacked > 0)
    lost, utility = setting.loss * frequency * success, released.utility

    def rows(now: Any, before: Any, never: float) -> NDArray[Any]:
        return np.concatenate([now, np.broadcast_to(before, now.shape), [never]])

    shared = replace(
        released,
        strategies=rows(released.strategies, WITHHELD, WITHHELD).astype(np.int64),
        publisher_payoff=rows(setting.benefit * utility - lost, -lost, 0.0),
        # A purchase belongs to no single record, so the payoff is divided evenly among all records.
        adversary_payoff=np.full(len(weights), adversary_payoff / n),
        attacked=rows(attacked > 0, attacked > 0, 0).astype(np.bool_),
        success_probability=rows(success, success, 0.0),
        utility=rows(utility, 0.0, 0.0),
        generalization_intensity=rows(released.generalization_intensity, 1.0, 1.0),
        frequency=rows(frequency, frequency, 0.0),
    )
    return averages(shared, weights, setting.measures)


def weighted_quantiles(values: Floats, weights: Counts, levels: Iterable[float]) -> list[float]:
    """Return weighted lower quantiles at some levels; NaN if all weights are 0.

    The quantile at level q is the lowest value at which the cumulative weight is at least q times the total. Values of
    weight 0 are ignored.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Values, in any order.
    weights : ndarray of int64, shape (n,)
        Number of records with each value.
    levels : iterable of float
        Levels in [0, 1].

    Returns
    -------
    list of float
        One quantile per level.
    """
    has_weight = weights > 0
    if not has_weight.any():
        return [np.nan for _ in levels]
    distinct, total = weight_by_value(values[has_weight], weights[has_weight])
    reached = np.cumsum(total)
    return [float(distinct[np.searchsorted(reached, level * reached[-1])]) for level in levels]


def equilibrium_of(setting: Setting, choice: Choice, attacks: Attacks) -> Equilibrium:
    """Return the outcome of a round for the released records of each cell.

    If records of the cell are attacked, `success_probability` is the probability that an attack succeeds. Otherwise,
    it is the probability that an attack by the adversaries present would succeed.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    choice : Choice
        Strategies of the publisher.
    attacks : Attacks
        Attacks of the round and their outcome.

    Returns
    -------
    Equilibrium
        Its arrays have shape (n_cells,).
    """
    utility, intensity = release_of(setting, choice.strategies)
    attacked = attacks.attacked > 0
    # The total expected payoff of all adversaries from a record, without purchases, weighted by their presence.
    plans = zip(attacks.acting.tolist(), attacks.shares, attacks.plans, strict=True)
    payoffs = (acts * share * plan.replies.payoff for acts, share, plan in plans)
    return Equilibrium(
        strategies=choice.strategies,
        publisher_payoff=setting.benefit * utility - setting.loss * attacks.risk,
        adversary_payoff=sum(payoffs, np.zeros(setting.n_cells)),
        attacked=attacked,
        success_probability=np.divide(attacks.risk, attacks.attacked, out=attacks.exposure.copy(), where=attacked),
        utility=utility,
        generalization_intensity=intensity,
        solver=choice.solver,
        evaluated=choice.evaluated,
        exact=choice.exact,
    )

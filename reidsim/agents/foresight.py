"""A publisher who foresees what adversaries will buy for its release, and whom their budgets let them attack.

Purchases and budgets tie records together: a resource is bought once for all of them, and money spent on one record is
not spent on another. So the best release is searched for. The publisher replies to what adversaries hold; plans for
them what they would do about that release; replies to the plans met so far, each as likely as it was often met; and so
on, until a reply meets the plan that it answers or the search ends. Where somebody still buys, it also replies as if
re-identifications cost more, by which a purchase may not pay any more. Of all releases met it takes the one that it
expects most of, given the plans that they meet.

A policy of which no form may be attacked is searched in another way: what nobody would attack with what is held now,
nor, beyond some worth per unit of money, with all that is for sale; of these worths the highest at which nobody buys.
If no release met is unattacked, all records are withheld.

A reply takes a budget as a bar: a record is attacked in a form that promises more per unit of money than the last
record which the budget reaches, and not in one that promises less. One record among many hardly moves that bar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Adversary, Linkage, Response
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.agents.attack import (
    AttackPlan,
    Replies,
    money_rate,
    no_plan,
    of_attacked,
    plan_attack,
    replies_to,
    worth_and_outlay,
)
from reidsim.agents.measures import release_of
from reidsim.agents.outcomes import target_shares, together
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.agents.publishing import NEGLIGIBLE, NoLinker, believed_game
from reidsim.games.adversary_types import AdversaryType, TypesAdversary, TypesLinker
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Rows, Strategies

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Replies to plans, and how many times as much a re-identification is then taken to cost.
_MOST_REPLIES = 8
_DETERRENTS = (2.0, 4.0, 8.0)

# Halvings of the worth up to which their forms may be attractive to a buyer.
_HALVINGS = 6

# Share by which two rates or payoffs are equal up to rounding.
_ROUNDING = 1e-9


class Foreseen(NamedTuple):
    """What a plan says about forms other than those that it was made for.

    Attributes
    ----------
    buys : frozenset of str
    bar : float
        Worth per unit of money above which a record is attacked.
    share_at_bar : float
        Share of the records at the bar that are.
    share : float
        Share of the records above the bar that are, of an adversary who draws its targets.
    """

    buys: Holdings
    bar: float = -np.inf
    share_at_bar: float = 1.0
    share: float = 1.0


_AS_HELD = Foreseen(frozenset())


@dataclass(frozen=True)
class Opponent:
    """One type of adversary as a publisher sees it before it shares.

    Parameters
    ----------
    profile : AdversaryProfile
        As the publisher believes it to be.
    weight : float
        Probability that it is there.
    holds : frozenset of str
    expected_accuracy : float
    believed : bool
        Whether it links as the publisher believes, instead of as it does in truth.
    """

    profile: AdversaryProfile
    weight: float
    holds: Holdings
    expected_accuracy: float
    believed: bool = True

    @property
    def is_open(self) -> bool:
        """Whether there is more to foresee than what it holds."""
        return bool(np.isfinite(self.profile.budget)) or self.is_buyer

    @property
    def is_buyer(self) -> bool:
        """Whether there is a resource that it may buy."""
        return bool(set(self.profile.prices) - self.holds)

    def equip(self, holds: Holdings) -> Equipment | None:
        """Return its equipment with some resources."""
        return self.profile.equip(holds, self.expected_accuracy, believed=self.believed)

    def plan(self, strategies: Strategies, participants: Counts, rounds_left: int) -> AttackPlan:
        """Plan what it would do about a release."""
        if self.weight <= NEGLIGIBLE:
            return no_plan(len(strategies))

        def reply(holds: Holdings) -> Replies:
            return replies_to(self.profile, self.equip(holds), strategies)

        return plan_attack(self.profile, self.holds, participants, rounds_left, reply)

    def following(self, foreseen: Foreseen) -> Equipment | None:
        """Return its equipment if it follows a plan."""
        equipment = self.equip(self.holds | foreseen.buys)
        if equipment is None or (foreseen.bar == -np.inf and foreseen.share == 1.0):
            return equipment
        return Equipment(equipment.linker, _WithinBudget(equipment.adversary, self.profile, foreseen))


@dataclass(frozen=True)
class _WithinBudget:
    """Attacks only what lies above the bar of a plan."""

    adversary: Adversary
    profile: AdversaryProfile
    foreseen: Foreseen

    def of(self, adversary: Adversary) -> _WithinBudget:
        """Return the same bar for another adversary."""
        return replace(self, adversary=adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply, less what the budget does not reach; see `Adversary`."""
        reply = self.adversary.respond(linkage, rows)
        made = reply if reply.frequency is None else of_attacked(reply)
        rate = money_rate(*worth_and_outlay(self.profile, made))
        _, bar, at_bar, above = self.foreseen
        equal = _equal(rate, bar)
        share = np.where(equal, at_bar, above * (rate > bar))
        attacks = reply.attacks & (share > 0.0)
        return Response(
            attacks=attacks,
            success=np.where(attacks, share, 1.0) * reply.success,
            believed_success=reply.believed_success,
            adversary_payoff=np.where(attacks, share * reply.adversary_payoff, 0.0),
            exploits=np.where(attacks, share * reply.exploits, 0.0),
            frequency=reply.frequency,
            pays=None if reply.pays is None else reply.pays & attacks,
        )


def foreseen_by(plan: AttackPlan, participants: Counts) -> Foreseen:
    """Return what a plan says about other forms; `participants` (n_cells,) are the records shared."""
    replies, targets = plan.replies, plan.targets
    wanted = np.where(replies.attacks, participants, 0) * replies.frequency
    missed = targets < wanted
    if not missed.any():
        return Foreseen(plan.buys)
    if not targets.any():
        return Foreseen(plan.buys, np.inf, 0.0)
    if plan.drawn:
        return Foreseen(plan.buys, share=float(targets.sum() / wanted.sum()))
    rate = money_rate(replies.worth, replies.outlay)
    bar = float(rate[missed].max())
    level = (wanted > 0) & _equal(rate, bar)
    return Foreseen(plan.buys, bar, float(targets[level].sum() / wanted[level].sum()))


def expected_payoff(
    setting: Setting,
    opponents: Sequence[Opponent],
    strategies: Strategies,
    plans: Sequence[AttackPlan],
    participants: Counts,
) -> float:
    """Return what a publisher expects of a release that meets some plans, over all records, in currency units."""
    weights = np.array([opponent.weight for opponent in opponents])
    success = np.stack([plan.replies.success for plan in plans])
    risk = together(setting.meeting, weights, target_shares(plans, setting.exposed(participants)) * success)
    utility, _ = release_of(setting, strategies)
    lost = dot(setting.exposed(participants), setting.believed_loss * risk)
    return dot(participants, setting.benefit * utility) - lost


def foreseeing_choice(
    setting: Setting, policy: str, opponents: Sequence[Opponent], participants: Counts, rounds_left: int
) -> Choice:
    """Return the release of a publisher who foresees plans; the search is told above.

    Parameters
    ----------
    setting : Setting
    policy : str
    opponents : sequence of Opponent
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell that are shared.
    rounds_left : int
        This one included.

    Returns
    -------
    Choice
        Not proved optimal; `evaluated` counts the strategies of all replies.
    """
    search = _Search(setting, policy, tuple(opponents), participants, rounds_left)
    if setting.forbids_attacks(policy):
        search.unattacked()
    else:
        search.mutual()
    return search.best()


class _Search:
    """Releases met in a search, and what the publisher expects of each."""

    def __init__(
        self,
        setting: Setting,
        policy: str,
        opponents: tuple[Opponent, ...],
        participants: Counts,
        rounds_left: int,
    ) -> None:
        self._setting = setting
        self._policy = policy
        self._opponents = opponents
        self._participants = participants
        self._rounds_left = rounds_left
        self._evaluated = np.zeros(setting.n_cells, dtype=np.int64)
        self._found: Choice | None = None
        self._payoff = -np.inf
        self._plans: dict[bytes, tuple[Foreseen, ...]] = {}
        self._for_sale = [frozenset(opponent.profile.prices) for opponent in opponents]

    def mutual(self) -> None:
        """Search for a release and plans that answer each other, and for releases that deter from buying."""
        met: list[tuple[Foreseen, ...]] = []
        release = self._reply([Counter([_AS_HELD]) for _ in self._opponents])
        for _ in range(_MOST_REPLIES):
            plan = self._consider(release)
            if set(met) == {plan}:
                break
            met.append(plan)
            release = self._reply([Counter(of_type) for of_type in zip(*met, strict=True)])
        last = self._consider(release)
        if any(foreseen.buys for foreseen in last):
            for times in _DETERRENTS:
                self._consider(self._reply([Counter([foreseen]) for foreseen in last], times))

    def unattacked(self) -> None:
        """Search for a release that nobody attacks."""
        release = self._reply([Counter([_AS_HELD]) for _ in self._opponents])
        self._consider(release)
        if np.isfinite(self._payoff):
            return
        # Whoever holds all that it could buy attacks whatever it would attack with a part of it.
        self._consider(self._reply([Counter([Foreseen(everything)]) for everything in self._for_sale]))
        low, high = 0.0, self._highest_rate(release)
        for _ in range(_HALVINGS):
            bar = (low + high) / 2.0
            within = self._reply([Counter([_AS_HELD, Foreseen(each, bar, 0.0)]) for each in self._for_sale])
            if any(foreseen.buys for foreseen in self._consider(within)):
                high = bar
            else:
                low = bar
        if not np.isfinite(self._payoff):
            # Whatever is shared would be attacked; nobody attacks what is withheld.
            self._consider(replace(release, strategies=np.full_like(release.strategies, WITHHELD)))

    def _highest_rate(self, release: Choice) -> float:
        """Return the most that a record promises per unit of money to anybody who buys all that it can."""
        highest = 0.0
        for opponent, everything in zip(self._opponents, self._for_sale, strict=True):
            released = self._setting.released(release.strategies)
            replies = replies_to(opponent.profile, opponent.equip(opponent.holds | everything), released)
            rate = money_rate(replies.worth, replies.outlay)[replies.attacks]
            highest = max(highest, float(rate[np.isfinite(rate)].max(initial=0.0)))
        return highest

    def _reply(self, plans: Sequence[Counter[Foreseen]], times: float = 1.0) -> Choice:
        """Return the policy's reply to plans of each type, each as likely as it was often met; losses `times` high."""
        setting = replace(self._setting, believed_loss=times * self._setting.believed_loss)
        weights = np.array([opponent.weight for opponent in self._opponents])
        equipment = [
            _mixed(opponent, of_type, setting.n_cells) for opponent, of_type in zip(self._opponents, plans, strict=True)
        ]
        choice = setting.solve(self._policy, believed_game(setting, weights, equipment))
        self._evaluated = self._evaluated + choice.evaluated
        return choice

    def _consider(self, release: Choice) -> tuple[Foreseen, ...]:
        """Return what each type would do about a release, and keep the release if it is the best so far."""
        key = release.strategies.tobytes()
        if key in self._plans:
            return self._plans[key]
        released, out = self._setting.released(release.strategies), self._setting.exposed(self._participants)
        plans = [opponent.plan(released, out, self._rounds_left) for opponent in self._opponents]
        self._plans[key] = tuple(foreseen_by(plan, out) for plan in plans)
        payoff = expected_payoff(self._setting, self._opponents, release.strategies, plans, self._participants)
        # Whoever left may be attacked whatever is shared now.
        taking_part = self._participants > 0
        if self._setting.forbids_attacks(self._policy) and any(plan.invited[taking_part].any() for plan in plans):
            payoff = -np.inf
        if self._found is None or payoff > self._payoff + _ROUNDING * abs(payoff):
            self._found, self._payoff = release, payoff
        return self._plans[key]

    def best(self) -> Choice:
        """Return the best release considered; of equal ones the first."""
        assert self._found is not None  # noqa: S101 # asked for after a release was considered
        return replace(self._found, evaluated=self._evaluated, exact=False)


def _mixed(opponent: Opponent, plans: Counter[Foreseen], n_cells: int) -> Equipment | None:
    """Return the equipment of an adversary who follows one of several plans."""
    total = sum(plans.values())
    each = [(count / total, opponent.following(foreseen)) for foreseen, count in plans.items()]
    if len(each) == 1 or all(equipment is None for _, equipment in each):
        return each[0][1]
    types = tuple(
        AdversaryType(str(number), share, *(equipment or Equipment(NoLinker(n_cells), NeverAttacks())))
        for number, (share, equipment) in enumerate(each)
    )
    return Equipment(TypesLinker(types), TypesAdversary(types, "one-of"))


def _equal(rate: Floats, bar: float) -> NDArray[np.bool_]:
    """Tell which rates are at the bar."""
    if np.isinf(bar):
        return np.asarray(rate == bar)
    return np.asarray(np.abs(rate - bar) <= _ROUNDING * abs(bar))

"""Releases of a publisher who foresees the adversaries' purchases and budgets.

The publisher agent holds beliefs about adversaries, chooses releases, and learns.

Purchases and budgets link the records: a resource is bought once for all records, and money spent on one record cannot
be spent on another. The best release therefore cannot be found record by record, and a heuristic search is used:

1. Compute the publisher's best response to the resources that the adversaries hold.
2. Compute each adversary's plan (purchases and attacks) against that release.
3. Reply to all plans computed so far, weighted by how often each occurred, and return to step 2. Stop when the new
   plans equal all earlier plans, or after a fixed number of replies.
4. If an adversary still buys a resource, also compute replies to its last plan with re-identification losses multiplied
   by 2, 4 and 8; such a release may make the purchase unprofitable.

The search evaluates every release against the plans that it provokes, and returns the release with the highest expected
payoff.

For a policy under which no attack may be profitable, the search is different. It only accepts a release that nobody
attacks after the purchases that the release provokes:

1. Compute the best release without a profitable attack by adversaries with the resources held now. If it is accepted,
   return it.
2. Compute the best release without a profitable attack by adversaries who hold all resources for sale.
3. Compute releases between these two. Attacks with the resources held now must be unprofitable. Attacks with all
   resources for sale may be profitable, but their expected payoff per currency unit must not exceed a bar. Bisection
   finds the highest bar at which no adversary buys.
4. Return the accepted release with the highest expected payoff. If no release is accepted, withhold all records.

A reply represents a budget by another bar: the expected payoff per currency unit of the last record that the budget
reaches. A record whose release promises more is attacked, and a record whose release promises less is not. One record
among many hardly changes this bar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Adversary, Linkage, NeverAttacks, Response
from reidsim.agents.attack import (
    AttackPlan,
    Observation,
    Replies,
    money_rate,
    no_plan,
    of_attacked,
    release_of,
    replies_to,
    target_shares,
    together,
    worth_and_outlay,
)
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.core.numerics import dot
from reidsim.games.composite import AdversaryType, TypesAdversary, TypesGame, TypesLinker
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.releases.lattice import Rows, Strategies

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Maximum number of replies to plans, and the loss multipliers of the deterrent replies.
_MOST_REPLIES = 8
_DETERRENTS = (2.0, 4.0, 8.0)

# Bisection steps for the highest expected payoff per currency unit that a buyer may be offered.
_HALVINGS = 6

# Relative tolerance within which two rates or payoffs are equal.
_ROUNDING = 1e-9

_NOBODY = "nobody"

# Adversary types, and the absence of all adversaries, are omitted from the game below this probability.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class NoLinker:
    """Linker with infinite group sizes, for an adversary who never attacks.

    Parameters
    ----------
    n_records : int
        Number of records.
    """

    n_records: int

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return a linkage with infinite group sizes for all records, or for `rows`.

        `strategy` is not used; see `Linker`.
        """
        sizes = np.full(self.n_records if rows is None else len(rows), np.inf)
        return Linkage(sizes, sizes)


def believed_game(setting: Setting, weights: Floats, equipment: Sequence[Equipment | None]) -> RecordGame:
    """Return the game that a publisher believes in.

    With one type that is present with certainty, the game is a plain `RecordGame` against it. Otherwise it is a
    `TypesGame`. Types of negligible probability (at most 1e-12) or without equipment are omitted. If no type is left
    or, with "one-of", the weights of the types left sum to less than 1, a type that never attacks is added.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    weights : ndarray of float64, shape (n_types,)
        Probability that each type is present, as the publisher believes; for "one-of", the sum is at most 1.
    equipment : sequence of Equipment or None
        Equipment of each type, as the publisher believes; None for a type who can attack no record.
    """
    n = setting.n_cells
    # Types are named by number: a name chosen by the user might equal `_NOBODY`.
    types = [
        AdversaryType(str(number), float(min(weight, 1.0)), means.linker, means.adversary)
        for number, (weight, means) in enumerate(zip(weights.tolist(), equipment, strict=True))
        if means is not None and weight > NEGLIGIBLE
    ]
    rest = 1.0 - fsum(each.weight for each in types)
    if len(types) == 1 and abs(rest) <= NEGLIGIBLE:
        only = types[0]
        return RecordGame(setting.space, only.linker, only.adversary, setting.benefit, setting.believed_loss)
    if not types or (setting.meeting == "one-of" and rest > NEGLIGIBLE):
        types.append(AdversaryType(_NOBODY, rest if setting.meeting == "one-of" else 1.0, NoLinker(n), NeverAttacks()))
    return TypesGame(setting.space, types, setting.benefit, setting.believed_loss, setting.meeting)


class Foreseen(NamedTuple):
    """Attack rule that extrapolates a plan to releases it was not computed for.

    Attributes
    ----------
    buys : frozenset of str
        Resources bought.
    bar : float
        Expected payoff per currency unit above which a record is attacked; minus infinity if the budget covers all
        profitable attacks or targets are drawn, infinity if no record is attacked.
    share_at_bar : float
        Share of the records exactly at the bar that are attacked.
    share : float
        Share of the records above the bar that are attacked; below 1 for an adversary who draws its targets.
    """

    buys: Holdings
    bar: float = -np.inf
    share_at_bar: float = 1.0
    share: float = 1.0


_AS_HELD = Foreseen(frozenset())


@dataclass(frozen=True)
class Opponent:
    """One adversary type, as the publisher sees it before the release.

    Parameters
    ----------
    profile : AdversaryProfile
        Profile that the publisher believes in.
    weight : float
        Probability that the adversary is present.
    holds : frozenset of str
        Resources held before the round's purchases.
    expected_accuracy : float
        Share of correct entries in the resources, as the adversary expects it.
    believed : bool
        Whether to use the linker that the publisher believes in, instead of the true one.
    """

    profile: AdversaryProfile
    weight: float
    holds: Holdings
    expected_accuracy: float
    believed: bool = True

    @property
    def is_open(self) -> bool:
        """Whether the adversary has a finite budget or can buy a resource.

        Only then does its plan of purchases and attacks link the records; see `is_buyer`.
        """
        return bool(np.isfinite(self.profile.budget)) or self.is_buyer

    @property
    def is_buyer(self) -> bool:
        """Whether a resource is for sale that the adversary does not hold.

        Its budget is not considered.
        """
        return bool(set(self.profile.prices) - self.holds)

    def equip(self, holds: Holdings) -> Equipment | None:
        """Return the adversary's linker and attack rule, given the resources held.

        `holds` are the names of the resources. The result is None if the adversary can attack no record with them.
        """
        return self.profile.equip(holds, self.expected_accuracy, believed=self.believed)

    def plan(self, strategies: Strategies, participants: Counts, rounds_left: int) -> AttackPlan:
        """Return the adversary's plan of purchases and attacks against a release.

        An adversary whose weight is negligible (at most 1e-12) buys and attacks nothing.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_cells,)
            Strategy of each cell; -1 if its records are withheld.
        participants : ndarray of int64, shape (n_cells,)
            Number of exposed records of each cell; see `Setting.exposed`.
        rounds_left : int
            Number of remaining rounds, including this one.
        """
        if self.weight <= NEGLIGIBLE:
            return no_plan(len(strategies))

        def reply(holds: Holdings) -> Replies:
            return replies_to(self.profile, self.equip(holds), strategies)

        return Observation(self.profile, self.holds, participants, rounds_left, reply).best_plan()

    def following(self, foreseen: Foreseen) -> Equipment | None:
        """Return the adversary's equipment, restricted to the attacks of a plan.

        The equipment uses the resources that the adversary holds and bought. Only records that the plan's rule
        `foreseen` attacks are attacked; see `Foreseen`. The result is None if no record can be attacked.
        """
        equipment = self.equip(self.holds | foreseen.buys)
        if equipment is None or (foreseen.bar == -np.inf and foreseen.share == 1.0):
            return equipment
        return Equipment(equipment.linker, _WithinBudget(equipment.adversary, self.profile, foreseen))


@dataclass(frozen=True)
class _WithinBudget:
    """Adversary that attacks only the records at or above the bar of a plan.

    Parameters
    ----------
    adversary : Adversary
        Adversary without a budget.
    profile : AdversaryProfile
        Its profile, from which the cost of an attack follows.
    foreseen : Foreseen
        Attack rule of the plan, with the bar and the shares attacked.
    """

    adversary: Adversary
    profile: AdversaryProfile
    foreseen: Foreseen

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to a linkage, without attacks on records below the bar.

        At and above the bar, success probability, payoff and exploits are multiplied by the share of the records that
        the plan attacks. The believed success probability is not. `rows` are the record numbers of the linkage; see
        `Adversary`.
        """
        reply, (_, bar, at_bar, above) = self.adversary.respond(linkage, rows), self.foreseen
        rate = money_rate(*worth_and_outlay(self.profile, of_attacked(reply)))
        share = np.where(np.isclose(rate, bar, rtol=_ROUNDING, atol=0.0), at_bar, above * (rate > bar))
        attacks = reply.attacks & (share > 0.0)
        return Response(
            attacks,
            np.where(attacks, share, 1.0) * reply.success,
            reply.believed_success,
            np.where(attacks, share * reply.adversary_payoff, 0.0),
            np.where(attacks, share * reply.exploits, 0.0),
            frequency=reply.frequency,
            pays=None if reply.pays is None else reply.pays & attacks,
        )


def foreseen_by(plan: AttackPlan, participants: Counts) -> Foreseen:
    """Return the attack rule that extrapolates a plan to other releases.

    If the plan attacks all profitable records, the rule has no bar. If it attacks no record although some attacks are
    profitable, the bar is infinite. If targets are drawn, the rule is the attacked share of the profitable records.
    Otherwise, the bar is the highest expected payoff per currency unit of a record that is not attacked.

    Parameters
    ----------
    plan : AttackPlan
        Plan against one release.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.
    """
    replies, targets = plan.replies, plan.targets
    wanted = np.where(replies.attacks, participants, 0) * replies.frequency
    if not (missed := targets < wanted).any():
        return Foreseen(plan.buys)
    if not targets.any():
        return Foreseen(plan.buys, np.inf, 0.0)
    if plan.drawn:
        return Foreseen(plan.buys, share=float(targets.sum() / wanted.sum()))
    rate = money_rate(replies.worth, replies.outlay)
    bar = float(rate[missed].max())
    level = (wanted > 0) & np.isclose(rate, bar, rtol=_ROUNDING, atol=0.0)
    return Foreseen(plan.buys, bar, float(targets[level].sum() / wanted[level].sum()))


def expected_payoff(
    setting: Setting,
    opponents: Sequence[Opponent],
    strategies: Strategies,
    plans: Sequence[AttackPlan],
    participants: Counts,
) -> float:
    """Return the publisher's expected payoff of a release against given plans.

    It is the benefit less the expected loss that the publisher believes in, summed over all records, in currency units,
    as a single number.

    Exposed records of absent subjects bring no benefit, but may cause a loss.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    opponents : sequence of Opponent
        Adversary types as the publisher sees them.
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell; -1 if its records are withheld.
    plans : sequence of AttackPlan
        Plan of each type against this release.
    participants : ndarray of int64, shape (n_cells,)
        Number of released records of each cell.
    """
    weights, exposed = np.array([opponent.weight for opponent in opponents]), setting.exposed(participants)
    success = np.stack([plan.replies.success for plan in plans])
    risk = together(setting.meeting, weights, target_shares(plans, exposed) * success)
    kept = dot(participants, setting.benefit * release_of(setting, strategies)[0])
    return kept - dot(exposed, setting.believed_loss * risk)


def foreseeing_choice(
    setting: Setting, policy: str, opponents: Sequence[Opponent], participants: Counts, rounds_left: int
) -> Choice:
    """Return the release of a publisher who foresees purchases and budgets.

    The module's docstring describes the search.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    policy : str
        Name of the publisher's policy.
    opponents : sequence of Opponent
        Adversary types as the publisher sees them.
    participants : ndarray of int64, shape (n_cells,)
        Number of released records of each cell.
    rounds_left : int
        Number of remaining rounds, including this one.

    Returns
    -------
    Choice
        Not proved optimal; `evaluated` counts the strategies of all replies.
    """
    search = _Search(setting, policy, opponents, participants, rounds_left)
    if setting.forbids_attacks(policy):
        search.unattacked()
    else:
        search.mutual()
    assert search.found is not None  # noqa: S101 # a release was considered
    return replace(search.found, evaluated=search.evaluated, exact=False)


@dataclass
class _Search:
    """State of a search: the releases evaluated, and the best one so far.

    See `foreseeing_choice` for the first five fields.

    Parameters
    ----------
    found : Choice, optional
        Best release so far.
    payoff : float
        Its expected payoff, in currency units; minus infinity if the policy forbids attacks and it is attacked.
    evaluated : ndarray of int64
        Number of strategies evaluated, by cell.
    plans : dict of bytes to tuple of Foreseen
        Each opponent's attack rule, by the strategies of the release.
    """

    setting: Setting
    policy: str
    opponents: Sequence[Opponent]
    participants: Counts
    rounds_left: int
    found: Choice | None = None
    payoff: float = -np.inf
    evaluated: Counts = field(default_factory=lambda: np.zeros((), dtype=np.int64))
    plans: dict[bytes, tuple[Foreseen, ...]] = field(default_factory=dict)

    def mutual(self) -> None:
        """Search for a release and plans that are replies to each other.

        If an adversary buys in the end, also evaluate releases that may deter the purchase.

        The result is in `found`; see the module's docstring.
        """
        met: list[tuple[Foreseen, ...]] = []
        release = self._reply([[_AS_HELD]] * len(self.opponents))
        for _ in range(_MOST_REPLIES):
            plan = self._consider(release)
            if set(met) == {plan}:
                break
            met.append(plan)
            release = self._reply(list(zip(*met, strict=True)))
        last = self._consider(release)
        if any(foreseen.buys for foreseen in last):
            for times in _DETERRENTS:
                self._consider(self._reply([[foreseen] for foreseen in last], times))

    def unattacked(self) -> None:
        """Search for a release that no adversary attacks after its purchases.

        The result is in `found`, see the module's docstring. If every release considered is attacked, all records are
        withheld.
        """
        release = self._reply([[_AS_HELD]] * len(self.opponents))
        self._consider(release)
        if np.isfinite(self.payoff):
            return
        # An adversary with all resources attacks every record that it would attack with fewer. A release that is safe
        # against all resources is therefore safe after any purchase.
        for_sale = [frozenset(opponent.profile.prices) for opponent in self.opponents]
        self._consider(self._reply([[Foreseen(everything)] for everything in for_sale]))
        # Bisect up to the highest payoff per currency unit of any attack with all resources; free attacks are excluded.
        low, high, released = 0.0, 0.0, self.setting.released(release.strategies)
        for opponent, everything in zip(self.opponents, for_sale, strict=True):
            replies = replies_to(opponent.profile, opponent.equip(opponent.holds | everything), released)
            rate = money_rate(replies.worth, replies.outlay)[replies.attacks]
            high = max(high, float(rate[np.isfinite(rate)].max(initial=0.0)))
        for _ in range(_HALVINGS):
            bar = (low + high) / 2.0
            within = self._reply([[_AS_HELD, Foreseen(each, bar, 0.0)] for each in for_sale])
            if any(foreseen.buys for foreseen in self._consider(within)):
                high = bar
            else:
                low = bar
        if not np.isfinite(self.payoff):
            # Every release considered is attacked; withheld records are not.
            self._consider(replace(release, strategies=np.full_like(release.strategies, WITHHELD)))

    def _reply(self, plans: Sequence[Sequence[Foreseen]], times: float = 1.0) -> Choice:
        """Return the policy's best release against given plans of each type.

        `plans` holds a sequence of attack rules (see `Foreseen`) for each opponent, each rule equally likely. `times`
        multiplies the publisher's loss. The strategies evaluated are added to `evaluated`.
        """
        setting = replace(self.setting, believed_loss=times * self.setting.believed_loss)
        weights = np.array([opponent.weight for opponent in self.opponents])
        equipment = [_mixed(*each, setting.n_cells) for each in zip(self.opponents, plans, strict=True)]
        choice = setting.solve(self.policy, believed_game(setting, weights, equipment))
        self.evaluated = self.evaluated + choice.evaluated
        return choice

    def _consider(self, release: Choice) -> tuple[Foreseen, ...]:
        """Return each opponent's attack rule against a release; keep the best release.

        The release replaces the best one (`found`) only if its expected payoff is higher by more than rounding, so that
        the first of equal releases is kept. Its payoff is minus infinity if the policy forbids attacks and an attack on
        a released record is profitable. A release with the same strategies as an earlier one is not evaluated again.
        The rules are in the order of the opponents; see `Foreseen`.
        """
        key = release.strategies.tobytes()
        if key in self.plans:
            return self.plans[key]
        released, out = self.setting.released(release.strategies), self.setting.exposed(self.participants)
        plans = [opponent.plan(released, out, self.rounds_left) for opponent in self.opponents]
        self.plans[key] = tuple(foreseen_by(plan, out) for plan in plans)
        payoff = expected_payoff(self.setting, self.opponents, release.strategies, plans, self.participants)
        # Attacks on cells without participants use earlier releases, which this release cannot undo.
        invited = [(plan.replies.invited & (plan.targets > 0.0) & (self.participants > 0)).any() for plan in plans]
        if self.setting.forbids_attacks(self.policy) and any(invited):
            payoff = -np.inf
        if self.found is None or payoff > self.payoff + _ROUNDING * abs(payoff):
            self.found, self.payoff = release, payoff
        return self.plans[key]


def _mixed(opponent: Opponent, plans: Sequence[Foreseen], n_cells: int) -> Equipment | None:
    """Return the equipment of an adversary who follows one of several plans.

    The plan is drawn at random, each of `plans` (see `Foreseen`) with the same probability. The result is None if no
    record can be attacked under any of them. With several distinct plans, it combines one adversary type for each; see
    `TypesAdversary`. `n_cells` is the number of cells.
    """
    each = [(count / len(plans), opponent.following(foreseen)) for foreseen, count in Counter(plans).items()]
    if len(each) == 1 or all(equipment is None for _, equipment in each):
        return each[0][1]
    types = tuple(
        AdversaryType(str(number), share, *(equipment or Equipment(NoLinker(n_cells), NeverAttacks())))
        for number, (share, equipment) in enumerate(each)
    )
    return Equipment(TypesLinker(types), TypesAdversary(types, "one-of"))

"""The adversary as an agent: what it holds and expects, what it does in a round, and what it learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mesa
import numpy as np

from reidsim.agents.accuracy import AccuracyBelief
from reidsim.agents.attack import AttackPlan, Replies, plan_attack, replies_to
from reidsim.agents.enforcement import detection_of_any, detections, next_state, no_exclusion
from reidsim.agents.outcomes import AdversaryOutcome
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings
from reidsim.releases.strategy_space import Strategies

if TYPE_CHECKING:
    from reidsim.agents.model import ReidentificationModel


class Adversary(mesa.Agent):
    """One type of adversary.

    Parameters
    ----------
    model : ReidentificationModel
    profile : AdversaryProfile

    Attributes
    ----------
    holds : frozenset of str
        Resources held.
    expected_accuracy : float
        Share of what its resources say that it takes to be right.
    acts : float
        Probability that it is there in this round; 0 or 1 where that is drawn.
    was_free : float
        Probability that no contract excluded it from this round.
    """

    model: ReidentificationModel

    def __init__(self, model: ReidentificationModel, profile: AdversaryProfile) -> None:
        super().__init__(model)
        self.profile = profile
        self.name = profile.name
        self.weight = profile.weight
        self.holds = profile.holds
        self.expected_accuracy = profile.expected_accuracy
        self._accuracy = AccuracyBelief(profile.expected_accuracy, profile.experience) if profile.learns else None
        self.acts = 0.0
        self.plan: AttackPlan | None = None
        self.outcome: AdversaryOutcome | None = None
        self.detections = 0.0
        self.was_free = 1.0
        self._exclusion = no_exclusion(model.setting.enforcement.exclusion)
        self._equipment: dict[Holdings, Equipment | None] = {}
        self._equipped_as: tuple[AdversaryProfile, float] | None = None
        self._strategies: Strategies | None = None
        self._replies: list[tuple[Equipment | None, Replies]] = []

    @property
    def free(self) -> float:
        """Probability that no contract excludes it from the round."""
        return float(self._exclusion[0])

    def equipment(self, *, believed: bool = False) -> Equipment | None:
        """Return how it links and plans with what it holds, in truth or as the publisher believes."""
        return self.profile.equip(self.holds, self.expected_accuracy, believed=believed)

    def attack(self) -> None:
        """Plan purchases and attacks, and buy if it is there."""
        model = self.model
        self.was_free = self.free
        if not (self.acts or model.needs_all_plans):
            self.plan = None
            return
        self.plan = plan_attack(
            self.profile,
            self.holds,
            model.setting.released(model.publisher.strategies),
            model.exposed,
            model.setting.rounds - model.round_number + 1,
            self._equipped,
            self._reply,
        )
        if self.acts:
            self.holds = self.holds | self.plan.buys

    def _equipped(self, holds: Holdings) -> Equipment | None:
        """Return its equipment with some resources: one object as long as nothing changes."""
        now = (self.profile, self.expected_accuracy)
        if self._equipped_as != now:
            self._equipped_as = now
            self._equipment.clear()
            self._replies.clear()
        if holds not in self._equipment:
            self._equipment[holds] = self.profile.equip(holds, self.expected_accuracy)
        return self._equipment[holds]

    def _reply(self, profile: AdversaryProfile, equipment: Equipment | None, strategies: Strategies) -> Replies:
        """Return what `replies_to` does, computed once as long as records are shared in the same forms."""
        if self._strategies is None or not np.array_equal(self._strategies, strategies):
            self._strategies = strategies.copy()
            self._replies.clear()
        for replied, replies in self._replies:
            if replied is equipment:
                return replies
        self._replies.append((equipment, replies_to(profile, equipment, strategies)))
        return self._replies[-1][1]

    def answer_for(self) -> None:
        """Have exploits detected, and be excluded for it."""
        self.detections = 0.0
        detected = 0.0
        setting = self.model.setting
        if self.acts and self.plan is not None and self.outcome is not None:
            exploits = self.plan.replies.exploits
            self.detections = detections(setting, self.profile, self.outcome, exploits, self.model.round_number)
            detected = detection_of_any(self.outcome.exploits, setting.enforcement.detection)
            if self.outcome.attacked is not None:
                detected = float(self.detections > 0)
        # `acts` is the probability that it is both free and there; exclusion starts from whoever is free.
        there = self.acts / self.free if self.free > 0 else 0.0
        self._exclusion = next_state(self._exclusion, detected * there)

    def learn(self) -> None:
        """Learn from successes how right the resources are."""
        if self._accuracy is None or self.plan is None or self.outcome is None or not self.acts:
            return
        success_if_right = np.minimum(self.plan.replies.success / self.profile.accuracy, 1.0)
        # Expected attempts and successes are those of a round in which it is there.
        attempts, successes = self.acts * self.outcome.attempts, self.acts * self.outcome.successes
        if attempts.any():
            self._accuracy.learn(success_if_right, attempts, successes)
            self.expected_accuracy = self._accuracy.mean

    # What is collected of each round.

    @property
    def attacks(self) -> float:
        """Records attacked, times the probability that it is there."""
        return self.acts * float(self.outcome.attempts.sum()) if self.outcome is not None else 0.0

    @property
    def exploits(self) -> float:
        """Exploits, likewise."""
        return self.acts * self.outcome.exploits if self.outcome is not None else 0.0

    @property
    def breaches(self) -> float:
        """Records that it re-identified, likewise."""
        return self.acts * float(self.outcome.successes.sum()) if self.outcome is not None else 0.0

    @property
    def detected(self) -> float:
        """Exploits detected, likewise."""
        return self.acts * self.detections

    @property
    def fines(self) -> float:
        """Fines for them, likewise."""
        return self.model.setting.enforcement.fine * self.detected

    @property
    def spent(self) -> float:
        """What it paid for resources, likewise."""
        return self.acts * self.plan.spent if self.plan is not None else 0.0

    @property
    def payoff(self) -> float:
        """Payoff, likewise."""
        if self.outcome is None or not self.acts:
            return 0.0
        profile, payoff = self.profile, self.outcome.payoff
        if self.outcome.attacked is not None and profile.single_exploit and profile.expected_fine > 0:
            # Plans account for expected fines; those drawn take their place.
            payoff += profile.expected_fine * self.outcome.exploits - self.fines
        return self.acts * payoff

    @property
    def belief(self) -> float:
        """Probability that the publisher gives to this type."""
        return float(self.model.publisher.beliefs[self.model.adversaries.index(self)])

    @property
    def found_through(self) -> dict[str, tuple[float, float]]:
        """Records attacked and re-identified through each combination of resources, likewise."""
        if self.outcome is None or self.plan is None or not self.acts:
            return {}
        attempts, successes = self.outcome.attempts, self.outcome.successes
        used = self.plan.replies.used
        if used is None:
            if not attempts.any():
                return {}
            return {self.profile.through(self.holds, 0): (self.attacks, self.breaches)}
        found: dict[str, tuple[float, float]] = {}
        for stages in np.unique(used[attempts > 0]).tolist():
            name, here = self.profile.through(self.holds, stages), used == stages
            before = found.get(name, (0.0, 0.0))
            found[name] = (
                before[0] + self.acts * float(attempts[here].sum()),
                before[1] + self.acts * float(successes[here].sum()),
            )
        return found

    @property
    def resources(self) -> str:
        """Names of the resources held."""
        return ", ".join(sorted(self.holds))

"""The adversary agent: its resources, its plan for a round, and its learning."""

from __future__ import annotations

from typing import Any

import mesa
import numpy as np

from reidsim.agents.accuracy import AccuracyBelief
from reidsim.agents.attack import AttackPlan, Replies, plan_attack, replies_to
from reidsim.agents.enforcement import detection_of_any, detections, next_state, no_exclusion
from reidsim.agents.model_state import ModelState
from reidsim.agents.outcomes import AdversaryOutcome
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings


class Adversary(mesa.Agent):
    """Agent for one type of adversary.

    Parameters
    ----------
    model : ReidentificationModel
        The model to which the agent belongs.
    profile : AdversaryProfile
        Fixed characteristics of the type.

    Attributes
    ----------
    holds : frozenset of str
        Resources held.
    expected_accuracy : float
        Share of correct entries in its resources, as the adversary expects it.
    acts : float
        Probability that the adversary is present in this round; 0 or 1 if presence is drawn.
    was_free : float
        Probability that the adversary was not excluded from this round.
    measures : dict of str to object
        Measures of the latest round, by column: `adversary` (name); `weight` (true weight) and `belief` (weight as the
        publisher believes); `present` (`acts`); `payoff` (net of purchases and expected fines), `spent` (on purchases)
        and `fines`, in currency units; numbers of records attacked (`attacks`), exploits (`exploits`), records
        re-identified (`breaches`) and detected exploits (`detections`); `holds` (names of the resources held);
        `expected_accuracy`; and `through` (records attacked and re-identified, by resources used). Counts and amounts
        are multiplied by `acts`.
    """

    model: ModelState

    def __init__(self, model: ModelState, profile: AdversaryProfile) -> None:
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
        self.measures: dict[str, Any] = {}
        self._replied_to: tuple[AdversaryProfile, float, bytes] | None = None
        self._replies: dict[Holdings, Replies] = {}

    @property
    def free(self) -> float:
        """Probability that the adversary is not excluded from the round."""
        return float(self._exclusion[0])

    def equipment(self, *, believed: bool = False) -> Equipment | None:
        """Return the adversary's true linker and planner, or the believed ones.

        Parameters
        ----------
        believed : bool
            Whether to return the equipment that the publisher believes in.
        """
        return self.profile.equip(self.holds, self.expected_accuracy, believed=believed)

    def attack(self) -> None:
        """Plan purchases and attacks; buy the planned resources if present."""
        model = self.model
        self.was_free = self.free
        if not (self.acts or model.needs_all_plans):
            self.plan = None
            return
        self.plan = plan_attack(
            self.profile,
            self.holds,
            model.exposed,
            model.setting.rounds - model.round_number + 1,
            self._reply_with,
        )
        if self.acts:
            self.holds = self.holds | self.plan.buys

    def _reply_with(self, holds: Holdings) -> Replies:
        """Return the reply to the round's release, given the resources held.

        Replies are cached until the release, the profile or the expected accuracy changes.
        """
        strategies = self.model.setting.released(self.model.publisher.strategies)
        now = self.profile, self.expected_accuracy, strategies.tobytes()
        if self._replied_to != now:
            self._replied_to = now
            self._replies.clear()
        if holds not in self._replies:
            equipment = self.profile.equip(holds, self.expected_accuracy)
            self._replies[holds] = replies_to(self.profile, equipment, strategies)
        return self._replies[holds]

    def answer_for(self) -> None:
        """Determine detected exploits, update the exclusion state and the measures."""
        self.detections = 0.0
        detected = 0.0
        setting = self.model.setting
        if self.acts and self.plan is not None and self.outcome is not None:
            exploits = self.plan.replies.exploits
            self.detections = detections(setting, self.profile, self.outcome, exploits, self.model.round_number)
            detected = detection_of_any(self.outcome.exploits, setting.enforcement.detection)
            if self.outcome.attacked is not None:
                detected = float(self.detections > 0)
        # `acts` is the probability of being both free and present; `next_state` needs presence given free.
        there = self.acts / self.free if self.free > 0 else 0.0
        self._exclusion = next_state(self._exclusion, detected * there)
        self.measures = self._measure()

    def learn(self) -> None:
        """Update the expected accuracy of the resources from the attack outcomes."""
        if self._accuracy is None or self.plan is None or self.outcome is None or not self.acts:
            return
        success_if_right = np.minimum(self.plan.replies.success / self.profile.accuracy, 1.0)
        # The outcome is conditional on presence; `acts` makes its counts unconditional.
        attempts, successes = self.acts * self.outcome.attempts, self.acts * self.outcome.successes
        if attempts.any():
            self._accuracy.learn(success_if_right, attempts, successes)
            self.expected_accuracy = self._accuracy.mean

    def _measure(self) -> dict[str, Any]:
        """Return the adversary's measures of the round; see `measures` of the class.

        Counts and amounts are expected values over the adversary's presence.
        """
        acts, plan, outcome = self.acts, self.plan, self.outcome
        found = dict.fromkeys(("attacks", "exploits", "breaches", "spent", "payoff"), 0.0)
        if outcome is not None:
            found["attacks"] = acts * float(outcome.attempts.sum())
            found["exploits"] = acts * outcome.exploits
            found["breaches"] = acts * float(outcome.successes.sum())
        if plan is not None:
            found["spent"] = acts * plan.spent
        detected = acts * self.detections
        fines = self.model.setting.enforcement.fine * detected
        if outcome is not None and acts:
            payoff, expected_fine = outcome.payoff, self.profile.expected_fine
            if outcome.attacked is not None and self.profile.single_exploit and expected_fine > 0:
                # The planned payoff contains the expected fines; replace them by the drawn fines.
                payoff += expected_fine * outcome.exploits - fines
            found["payoff"] = acts * payoff
        return {
            "adversary": self.name,
            "weight": self.weight,
            "belief": float(self.model.publisher.beliefs[self.model.adversaries.index(self)]),
            "present": acts,
            **found,
            "detections": detected,
            "fines": fines,
            "holds": ", ".join(sorted(self.holds)),
            "expected_accuracy": self.expected_accuracy,
            "through": self._found_through(found["attacks"], found["breaches"]),
        }

    def _found_through(self, attacks: float, breaches: float) -> dict[str, tuple[float, float]]:
        """Return records attacked and re-identified, by resources used.

        The keys are names of resources joined by " and ". The result is empty if nothing was attacked.
        """
        if self.outcome is None or self.plan is None or not self.acts:
            return {}
        attempts, successes = self.outcome.attempts, self.outcome.successes
        used = self.plan.replies.used
        if used is None:
            return {self.profile.through(self.holds, 0): (attacks, breaches)} if attempts.any() else {}
        found: dict[str, tuple[float, float]] = {}
        for stages in np.unique(used[attempts > 0]).tolist():
            name, here = self.profile.through(self.holds, stages), used == stages
            before = found.get(name, (0.0, 0.0))
            found[name] = (
                before[0] + self.acts * float(attempts[here].sum()),
                before[1] + self.acts * float(successes[here].sum()),
            )
        return found

"""The adversary agent: its resources, its plan for a round, and its learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mesa
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.attack import AdversaryOutcome, AttackPlan, plan_attack, replies_to, subject_draws
from reidsim.agents.learning import AccuracyBelief
from reidsim.agents.profile import AdversaryProfile

if TYPE_CHECKING:
    from reidsim.agents.model import ReidentificationModel

Floats = NDArray[np.float64]


def next_state(state: Floats, detected: float) -> Floats:
    """Return the exclusion state of an adversary in the next round.

    Parameters
    ----------
    state : ndarray of float64, shape (exclusion + 1,)
        Entry k is the probability that k rounds of exclusion remain; with k = 0 the adversary is free to act.
    detected : float
        Probability that an exploit was detected in this round, given that the adversary was free to act.

    Returns
    -------
    ndarray of float64, shape (exclusion + 1,)
    """
    if len(state) == 1:
        return state
    after = np.append(state[1:], 0.0)
    after[0] += state[0] * (1.0 - detected)
    after[-1] += state[0] * detected
    return after


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

    model: ReidentificationModel

    def __init__(self, model: ReidentificationModel, profile: AdversaryProfile) -> None:
        super().__init__(model)
        self.profile = profile
        self.name = profile.name
        self.holds = profile.holds
        self.expected_accuracy = profile.expected_accuracy
        self._accuracy = AccuracyBelief(profile.expected_accuracy, profile.experience) if profile.learns else None
        self.acts = 0.0
        self.plan: AttackPlan | None = None
        self.outcome: AdversaryOutcome | None = None
        self.was_free = 1.0
        self._exclusion = np.eye(1, model.setting.enforcement.exclusion + 1)[0]
        self.measures: dict[str, Any] = {}

    @property
    def free(self) -> float:
        """Probability that the adversary is not excluded from the round."""
        return float(self._exclusion[0])

    def attack(self) -> None:
        """Plan purchases and attacks; buy the planned resources if present.

        The plan of an absent adversary is needed only by a publisher who learns.
        """
        model, profile, setting = self.model, self.profile, self.model.setting
        self.was_free, self.plan = self.free, None
        if not (self.acts or setting.learning):
            return
        strategies, rounds_left = setting.released(model.publisher.strategies), setting.rounds - model.round_number + 1
        self.plan = plan_attack(
            profile,
            self.holds,
            model.exposed,
            rounds_left,
            lambda holds: replies_to(profile, profile.equip(holds, self.expected_accuracy), strategies),
        )
        if self.acts:
            self.holds = self.holds | self.plan.buys

    def answer_for(self) -> None:
        """Determine detected exploits, update the exclusion state and the measures."""
        setting, outcome = self.model.setting, self.outcome
        number = detected = 0.0
        if self.acts and self.plan is not None and outcome is not None:
            missed = 1.0 - setting.enforcement.detection
            if outcome.attacked is None:
                number = setting.enforcement.detection * outcome.exploits
                detected = 1.0 - missed**outcome.exploits
            else:
                # The number of records with at least one detected exploit.
                draws = subject_draws(setting, "detections", self.name, self.model.round_number)
                any_detected = (1.0 - missed**self.plan.replies.exploits)[setting.cell_of_subject]
                number = float((outcome.attacked & (draws < any_detected)).sum())
                detected = float(number > 0)
        # `acts` is the probability of being both free and present; `next_state` needs presence given free.
        there = self.acts / self.free if self.free > 0 else 0.0
        self._exclusion = next_state(self._exclusion, detected * there)
        self.measures = self._measure(self.acts * number)

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

    def _measure(self, detections: float) -> dict[str, Any]:
        """Return the adversary's measures of the round; see `measures` of the class.

        Counts and amounts are expected values over the adversary's presence.
        """
        acts, plan, outcome, model = self.acts, self.plan, self.outcome, self.model
        found = dict.fromkeys(("attacks", "exploits", "breaches", "spent", "payoff"), 0.0)
        fines = model.setting.enforcement.fine * detections
        if plan is not None:
            found["spent"] = acts * plan.spent
        if outcome is not None:
            found["attacks"] = acts * float(outcome.attempts.sum())
            found["exploits"] = acts * outcome.exploits
            found["breaches"] = acts * float(outcome.successes.sum())
        if outcome is not None and acts:
            payoff, expected_fine = outcome.payoff, self.profile.expected_fine
            if outcome.attacked is not None and self.profile.single_exploit and expected_fine > 0:
                # The planned payoff contains the expected fines; replace them by the drawn fines.
                payoff += expected_fine * outcome.exploits - fines
            found["payoff"] = acts * payoff
        return {
            "adversary": self.name,
            "weight": self.profile.weight,
            "belief": float(model.publisher.beliefs[model.adversaries.index(self)]),
            "present": acts,
            **found,
            "detections": detections,
            "fines": fines,
            "holds": ", ".join(sorted(self.holds)),
            "expected_accuracy": self.expected_accuracy,
            "through": self._found_through(),
        }

    def _found_through(self) -> dict[str, tuple[float, float]]:
        """Return records attacked and re-identified, by resources used.

        The keys are names of resources joined by " and ". The result is empty if nothing was attacked.
        """
        found: dict[str, tuple[float, float]] = {}
        if self.outcome is None or self.plan is None or not self.acts:
            return found
        attempts, successes, used = self.outcome.attempts, self.outcome.successes, self.plan.replies.used
        for stages in np.unique(used[attempts > 0]).tolist():
            name, here = self.profile.through(self.holds, stages), used == stages
            before = found.get(name, (0.0, 0.0))
            found[name] = (
                before[0] + self.acts * float(attempts[here].sum()),
                before[1] + self.acts * float(successes[here].sum()),
            )
        return found

"""Multi-round model of a publisher, data subjects and adversaries, based on mesa."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import fsum
from typing import Any

import mesa
import numpy as np
from mesa.datacollection import DataCollector
from numpy.typing import NDArray

from reidsim.agents.adversary import Adversary
from reidsim.agents.attack import Attacks, RoundOutcome, no_plan, subject_draws
from reidsim.agents.learning import Memory
from reidsim.agents.measures import (
    DISTINCT,
    PARTICIPATION,
    RISK_QUANTILES,
    ROUND_MEASURES,
    equilibrium_of,
    record_measures,
    weighted_quantiles,
)
from reidsim.agents.profile import PHASES, ParticipationRule, Setting
from reidsim.agents.publisher import Publisher
from reidsim.core.measures import columns_of
from reidsim.core.numerics import dot
from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK
from reidsim.games.reidentified import Reidentified, reidentified

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(eq=False)
class SubjectColumns:
    """State of all data subjects, one row each.

    Parameters
    ----------
    cell : ndarray of int, shape (n,)
        Cell (distinct record) of each subject's record.
    participates : ndarray of bool, shape (n,)
        Whether the subject takes part in the round.
    harm : ndarray of float64, shape (n,), optional
        Harm of a breach to the subject, in currency units; None if participation is not a decision.
    expected_risk : ndarray of float64, shape (n,), optional
        Probability of a breach that the subject expects; None if participation is not a decision.
    """

    cell: NDArray[np.intp]
    participates: Bools
    harm: Floats | None = None
    expected_risk: Floats | None = None


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw each subject's harm of a breach, in currency units, shape (n,).

    The harm is lognormal with the rule's mean; `spread` is the standard deviation of its logarithm.
    """
    if rule.spread == 0:
        return np.full(n, rule.harm)
    return np.asarray(rule.harm * np.exp(rng.standard_normal(n) * rule.spread - rule.spread**2 / 2))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Return which subjects take part: the reward is at least the expected harm."""
    return np.asarray(harm * expected_risk <= rule.reward)


def learn_and_decide(
    rule: ParticipationRule,
    columns: SubjectColumns,
    risk: Floats,
    rate: float,
    drawn: tuple[Bools, Bools] | None = None,
) -> Bools:
    """Update the expected risks; return which subjects take part in the next round.

    A participant observes whether its own record was breached. A subject who hears of the round's breaches learns the
    share of participants who were breached. A participant who also hears of the breaches uses the mean of both. The
    expected risk moves towards the observed value by the learning rate.

    Parameters
    ----------
    rule : ParticipationRule
        Parameters of the subjects' decision.
    columns : SubjectColumns
        State of the subjects, with harm and expected risk; the expected risk is changed.
    risk : ndarray of float64, shape (n_cells,)
        Probability of a breach of a participant.
    rate : float
        Share of participants who were breached.
    drawn : pair of ndarray of bool, shape (n,), optional
        Whether each subject was breached, and whether each subject hears of breaches, if outcomes are drawn.
    """
    assert columns.harm is not None and columns.expected_risk is not None  # noqa: S101, PT018 # as subjects decide
    breached, hears = (risk[columns.cell], rule.hears) if drawn is None else drawn
    met = np.where(columns.participates, breached + 0.5 * hears * (rate - breached), rate)
    weight = np.where(columns.participates, rule.learning_rate, rule.learning_rate * hears)
    columns.expected_risk = columns.expected_risk + weight * (met - columns.expected_risk)
    return takes_part(rule, columns.harm, columns.expected_risk)


Counts = NDArray[np.int64]

# Column with the records attacked and re-identified, by the resources used.
THROUGH = "through"
# Columns of the table of adversaries and rounds; `Adversary.measures` defines them.
ADVERSARY_MEASURES = (
    "adversary",
    "weight",
    "belief",
    "present",
    "payoff",
    "attacks",
    "exploits",
    "breaches",
    "detections",
    "fines",
    "spent",
    "holds",
    "expected_accuracy",
    THROUGH,
)


class ReidentificationModel(mesa.Model):
    """Multi-round simulation of one publisher policy.

    Each step is a round with five phases: publish, attack, resolve, enforce, learn (`reidsim.agents.profile.PHASES`).
    With one publisher, one adversary, one round and expected outcomes, the model equals the analytic game. A cell is a
    group of identical records; see `Setting`.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    policy : str
        Name of the publisher's policy.

    Attributes
    ----------
    publisher : Publisher
        The publisher agent.
    adversaries : list of Adversary
        The adversary agents, one per type.
    columns : SubjectColumns
        State of the data subjects.
    participants : ndarray of int64, shape (n_cells,)
        Number of subjects of each cell who take part in the round.
    shared_in_last_round : ndarray of bool, shape (n_subjects,)
        Whether each subject took part in the most recent round.
    reidentified : list of Reidentified
        Distribution of the number of people re-identified, for each round.
    by_record : list of dict of str to ndarray of float64, shape (n_cells,)
        Outcomes of the records of each cell, by column, for each round.
    shared : list of ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell, for each round; see `exposed`.
    planned : PlannedReleases, optional
        Releases of a policy that plans all rounds before the first.
    datacollector : mesa.DataCollector
        Measures of every round, and of every adversary in every round.
    running : bool
        Whether rounds remain; read by mesa's `run_model`.

    Raises
    ------
    InputError
        If there are no subjects or no adversaries.
    """

    def __init__(self, setting: Setting, policy: str) -> None:
        # Every supported version of mesa accepts `rng` without a warning.
        super().__init__(rng=int(setting.stream("mesa").integers(2**31)))
        if not setting.n_subjects:
            raise InputError("no data subjects", expected="one record or more")
        if not setting.profiles:
            raise InputError("no adversaries", expected="one type or more")
        self.setting = setting
        self.round_number = 0
        self.columns = _columns(setting)
        self.publisher = Publisher(self, policy)
        self.adversaries = [Adversary(self, profile) for profile in setting.profiles]
        self.participants = self._count_participants()
        self.outcome: RoundOutcome | None = None
        self._attacks: Attacks | None = None
        self.measures: dict[str, float] = {}
        self.reidentified: list[Reidentified] = []
        self.by_record: list[dict[str, Floats]] = []
        self.shared: list[Counts] = []
        self._last: Equilibrium | None = None
        self._moved = (0, 0)
        self._linked_among: Counts | None = None
        self._never_reidentified = np.ones(setting.n_subjects)
        self._was_exposed = np.zeros(setting.n_subjects, dtype=np.bool_)
        self.planned = setting.planned(policy) if setting.planned is not None else None
        several = setting.rounds > 1 or self.planned is not None
        self._memory = Memory(setting) if setting.remembers and several else None
        self.shared_in_last_round = self.columns.participates
        self.datacollector = DataCollector(
            model_reporters={column: functools.partial(_measure, column) for column in columns_of(ROUND_MEASURES)},
            agenttype_reporters={
                Adversary: {column: functools.partial(_measure, column) for column in ADVERSARY_MEASURES}
            },
        )

    def run(self) -> ReidentificationModel:
        """Play all rounds."""
        while self.running:
            self.step()
        return self

    def release(self) -> None:
        """Remove mesa's references to this model, so that its memory can be freed."""
        self.remove_all_agents()
        # mesa 3.3 keeps an agent counter per model in a class attribute, which would keep the model alive.
        counters: Any = getattr(mesa.Agent, "_ids", None)
        if counters is not None:
            counters.pop(self, None)

    def step(self) -> None:
        """Play a round."""
        self.round_number += 1
        for phase in PHASES:
            getattr(self, phase.name)()
        self.running = self.round_number < self.setting.rounds

    # Phases of a round.

    def publish(self) -> None:
        """Run the publish phase: release the records of the participants."""
        schedule = self.setting.schedule
        if schedule is not None:
            self._take_part(schedule[self.round_number - 1])
        if self.setting.participation is not None or schedule is not None:
            self.participants = self._count_participants()
            self.shared_in_last_round = self.columns.participates
            self._link_among_participants()
        if self._memory is not None:
            planned = None if self.planned is None else self.planned.strategies[self.round_number - 1]
            setting = self._memory.setting(self.columns.participates, planned)
            if setting is not None and setting is not self.setting:
                self.columns.cell = setting.cell_of_subject
                self._play_in(setting)
                self.participants = self._count_participants()
        self.publisher.publish()
        if self._memory is not None:
            self._memory.add(self.publisher.strategies[self.columns.cell], self.columns.participates)

    def attack(self) -> None:
        """Run the attack phase: adversaries plan, buy resources and attack."""
        for adversary, acts in zip(self.adversaries, self._who_acts().tolist(), strict=True):
            adversary.acts = acts
        self.agents_by_type[Adversary].do("attack")

    def resolve(self) -> None:
        """Run the resolve phase: compute or draw the outcomes of the attacks."""
        # Plans of absent adversaries are needed only for the publisher's belief update.
        plans = [adversary.plan or no_plan(self.setting.n_cells) for adversary in self.adversaries]
        acting = np.array([adversary.acts for adversary in self.adversaries])
        self._attacks = Attacks(self.setting, plans, acting, self.exposed, self.is_out, self.round_number)
        self.outcome = self._attacks.outcome()
        for adversary, outcome in zip(self.adversaries, self.outcome.by_adversary, strict=True):
            adversary.outcome = outcome

    def enforce(self) -> None:
        """Run the enforce phase: detect, fine and exclude; collect the measures."""
        self.agents_by_type[Adversary].do("answer_for")
        self._measure_round()
        self.datacollector.collect(self)

    def learn(self) -> None:
        """Run the learn phase: update the beliefs of all agents."""
        self.publisher.learn()
        self.agents_by_type[Adversary].do("learn")
        if self.setting.participation is not None:
            self._subjects_learn(self.setting.participation)

    # Results.

    def equilibrium(self) -> Equilibrium:
        """Return the latest round's outcome per released record of each cell."""
        assert self._last is not None  # noqa: S101 # asked for after a round
        return self._last

    def _payoff_of_records(self) -> Floats:
        """Return the total expected payoff of all adversaries from a record, (n_cells,).

        It excludes purchases, is in currency units, and is weighted by the adversaries' presence.
        """
        payoff = np.zeros(self.setting.n_cells)
        for adversary in self.adversaries:
            if adversary.acts and adversary.plan is not None:
                replies, targets = adversary.plan.replies, adversary.plan.targets
                share = np.divide(targets, self.exposed, out=np.zeros_like(targets), where=self.exposed > 0)
                payoff += adversary.acts * share * replies.payoff
        return payoff

    @property
    def exposed(self) -> Counts:
        """Number of exposed records of each cell, shape (n_cells,).

        A record is exposed if it is released in this round, or if adversaries remember an earlier release of it.
        """
        return self.setting.exposed(self.participants)

    @property
    def is_out(self) -> NDArray[np.bool_]:
        """Whether each subject's record is exposed, shape (n_subjects,); see `exposed`."""
        known, taking_part = self.setting.known, self.columns.participates
        return taking_part if known is None else taking_part | (known.gone > 0)[self.columns.cell]

    def _who_acts(self) -> Floats:
        """Return the probability that each adversary is present; 0 or 1 if drawn."""
        setting = self.setting
        weights = np.array([profile.weight for profile in setting.profiles])
        free = np.array([adversary.free for adversary in self.adversaries])
        if setting.mode == "expectation":
            return np.asarray(weights * free)

        def draw(agent: str = "") -> float:
            return float(setting.stream("presence", agent, self.round_number).random())

        if setting.meeting == "one-of":
            drawn = draw()
            chosen = min(int(np.searchsorted(np.cumsum(weights), drawn, side="right")), len(weights) - 1)
            return np.asarray((np.arange(len(weights)) == chosen) * free)
        draws = np.array([draw(profile.name) for profile in setting.profiles])
        return np.asarray((draws < weights) * free)

    def _count_participants(self) -> Counts:
        columns = self.columns
        return np.bincount(columns.cell[columns.participates], minlength=self.setting.n_cells).astype(np.int64)

    def _play_in(self, setting: Setting) -> None:
        """Change the setting of the round, and with it the adversaries' profiles."""
        self.setting = setting
        for adversary, profile in zip(self.adversaries, setting.profiles, strict=True):
            adversary.profile = profile

    def _link_among_participants(self) -> None:
        """Recompute linkage among this round's participants, if the setting requires it."""
        setting, taking_part = self.setting, self.participants
        if setting.among is None or not taking_part.any():
            return
        if self._linked_among is None or not np.array_equal(taking_part, self._linked_among):
            self._linked_among = taking_part
            self._play_in(setting.among(setting, taking_part))

    def _take_part(self, now: NDArray[np.bool_]) -> None:
        """Change who takes part, and count the subjects who joined and who left."""
        before, self.columns.participates = self.columns.participates, now
        self._moved = int(np.count_nonzero(now & ~before)), int(np.count_nonzero(before & ~now))

    def _subjects_learn(self, rule: ParticipationRule) -> None:
        """Update the subjects' expected risks and decide who takes part next."""
        outcome, drawn = self.outcome, None
        assert outcome is not None  # noqa: S101 # resolved before
        # Subjects hear only of breaches of current participants.
        found = float((self.participants * outcome.risk).sum())
        if outcome.breached is not None:
            found = float(np.count_nonzero(outcome.breached & self.columns.participates))
            drawn = outcome.breached, subject_draws(self.setting, "hearing", "subjects", self.round_number) < rule.hears
        shared = int(self.participants.sum())
        rate = found / shared if shared else 0.0
        self._take_part(learn_and_decide(rule, self.columns, outcome.risk, rate, drawn))

    def _measure_round(self) -> None:
        outcome, choice, attacks = self.outcome, self.publisher.choice, self._attacks
        assert outcome is not None and choice is not None and attacks is not None  # noqa: S101, PT018 # resolved before
        setting, n, participants = self.setting, self.setting.n_subjects, self.participants
        last = self._last = equilibrium_of(setting, choice, outcome, self._payoff_of_records())
        # Given the adversaries present, if presence is drawn.
        draws = functools.partial(setting.stream, "reidentified", round_number=self.round_number)
        self.reidentified.append(reidentified(n, attacks.cases(last.utility), draws))
        self.by_record.append(
            {
                PUBLISHER_PAYOFF.column: last.publisher_payoff,
                ADVERSARY_PAYOFF.column: last.adversary_payoff,
                RISK.column: outcome.risk,
            }
        )
        self.shared.append(self.exposed)
        # Subjects re-identified at least once up to this round. Given the releases and the attacks, re-identifications
        # in different rounds are independent.
        if outcome.breached is not None:
            self._never_reidentified[outcome.breached] = 0.0
        else:
            attacks.survive(outcome, self._never_reidentified)
        new = self.is_out & (outcome.attacked > 0)[self.columns.cell] & ~self._was_exposed
        self._was_exposed |= new
        total = {
            name: fsum(adversary.measures[name] for adversary in self.adversaries)
            for name in ("payoff", "exploits", "detections")
        }
        quantiles = weighted_quantiles(outcome.risk, self.exposed, RISK_QUANTILES.values())
        self.measures = {
            **record_measures(setting, last, participants, outcome, total["payoff"]),
            PARTICIPATION.column: float(participants.sum()) / n,
            "joined": self._moved[0] / n,
            "left": self._moved[1] / n,
            "changed": dot(participants, self.publisher.changed) / n,
            "attacks": float(outcome.records_attacked.sum()),
            "exploits": total["exploits"],
            "detections": total["detections"],
            "breaches": float(outcome.breaches.sum()),
            DISTINCT.column: float(n - self._never_reidentified.sum()),
            "newly_exposed": np.count_nonzero(new) / n,
            **dict(zip(RISK_QUANTILES, quantiles, strict=True)),
            **self.reidentified[-1].measures(),
        }


def _columns(setting: Setting) -> SubjectColumns:
    """Return the subjects' columns before the first round."""
    n, rule = setting.n_subjects, setting.participation
    if rule is None:
        taking_part = np.ones(n, dtype=np.bool_) if setting.schedule is None else setting.schedule[0]
        return SubjectColumns(setting.cell_of_subject, taking_part)
    harm = draw_harm(rule, n, setting.stream("valuations", "subjects"))
    expected = np.full(n, rule.expected_risk)
    return SubjectColumns(setting.cell_of_subject, takes_part(rule, harm, expected), harm, expected)


def _measure(name: str, agent: ReidentificationModel | Adversary) -> object:
    return agent.measures[name]

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

from reidsim.agents.attack import (
    DISTINCT,
    PARTICIPATION,
    RISK_QUANTILES,
    ROUND_MEASURES,
    AdversaryOutcome,
    AttackPlan,
    Attacks,
    RoundOutcome,
    equilibrium_of,
    no_plan,
    plan_attack,
    record_measures,
    replies_to,
    subject_draws,
    weighted_quantiles,
)
from reidsim.agents.foresight import Publisher
from reidsim.agents.learning import AccuracyBelief, Memory
from reidsim.agents.profile import PHASES, AdversaryProfile, ParticipationRule, Setting
from reidsim.core.errors import InputError
from reidsim.core.measures import columns_of
from reidsim.core.numerics import dot
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK
from reidsim.games.reidentified import Reidentified, reidentified

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


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

    The harm is lognormal among data subjects with mean `rule.harm`; `rule.spread` is the standard deviation of its
    logarithm. With spread 0, the harm of all subjects is `rule.harm`, and `rng` is not used.

    Parameters
    ----------
    rule : ParticipationRule
        Parameters of the subjects' decision.
    n : int
        Number of data subjects.
    rng : numpy.random.Generator
        Source of the draws.
    """
    if rule.spread == 0:
        return np.full(n, rule.harm)
    return np.asarray(rule.harm * np.exp(rng.standard_normal(n) * rule.spread - rule.spread**2 / 2))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Return which subjects take part: the reward is at least the expected harm.

    Parameters
    ----------
    rule : ParticipationRule
        Its `reward`, in currency units, is equal for all subjects.
    harm : ndarray of float64, shape (n,)
        Harm of a breach to each subject, in currency units.
    expected_risk : ndarray of float64, shape (n,)
        Probability of a breach that each subject expects.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return np.asarray(harm * expected_risk <= rule.reward)


def learn_and_decide(
    rule: ParticipationRule,
    columns: SubjectColumns,
    risk: Floats,
    rate: float,
    drawn: tuple[Bools, Bools] | None = None,
) -> Bools:
    """Update the expected risks; return which subjects take part in the next round.

    A participant observes whether its own record was breached. A non-participant who hears of the round's breaches
    observes the share of participants who were breached. A participant who also hears of the breaches uses the mean of
    both. If outcomes are not drawn, each subject hears with probability `rule.hears`, and the update is the expected
    one. The expected risk moves towards the observed value by the learning rate.

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

    Returns
    -------
    ndarray of bool, shape (n,)
        Whether each subject takes part in the next round; see `takes_part`.
    """
    assert columns.harm is not None and columns.expected_risk is not None  # noqa: S101, PT018 # as subjects decide
    breached, hears = (risk[columns.cell], rule.hears) if drawn is None else drawn
    met = np.where(columns.participates, breached + 0.5 * hears * (rate - breached), rate)
    weight = np.where(columns.participates, rule.learning_rate, rule.learning_rate * hears)
    columns.expected_risk = columns.expected_risk + weight * (met - columns.expected_risk)
    return takes_part(rule, columns.harm, columns.expected_risk)


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
        """Play all remaining rounds; return the model itself."""
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
        """Play one round: run its five phases, and stop `running` after the last round."""
        self.round_number += 1
        for phase in PHASES:
            getattr(self, phase.name)()
        self.running = self.round_number < self.setting.rounds

    # Phases of a round.

    def publish(self) -> None:
        """Run the publish phase: release the records of the participants.

        If participation is scheduled, the round's participants are set first. If subjects decide or are scheduled,
        linkage is recomputed among the participants. If adversaries remember earlier releases, the setting of the round
        may get other rows (see `Memory.setting`), and the releases are added to the memory.
        """
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
        """Run the attack phase: adversaries plan, buy resources and attack.

        For each adversary, `acts` is set first: its probability of presence, or 0 or 1 if drawn.
        """
        for adversary, acts in zip(self.adversaries, self._who_acts().tolist(), strict=True):
            adversary.acts = acts
        self.agents_by_type[Adversary].do("attack")

    def resolve(self) -> None:
        """Run the resolve phase: compute or draw the outcomes of the attacks.

        The result is stored in `outcome` (a `RoundOutcome`), and the outcome of each adversary in that adversary.
        """
        # Plans of absent adversaries are needed only for the publisher's belief update.
        plans = [adversary.plan or no_plan(self.setting.n_cells) for adversary in self.adversaries]
        acting = np.array([adversary.acts for adversary in self.adversaries])
        self._attacks = Attacks(self.setting, plans, acting, self.exposed, self.is_out, self.round_number)
        self.outcome = self._attacks.outcome()
        for adversary, outcome in zip(self.adversaries, self.outcome.by_adversary, strict=True):
            adversary.outcome = outcome

    def enforce(self) -> None:
        """Run the enforce phase: detect, fine and exclude; collect the measures.

        Measures of the round are stored in `measures`, `reidentified`, `by_record` and `shared`, and in the data
        collector.
        """
        self.agents_by_type[Adversary].do("answer_for")
        self._measure_round()
        self.datacollector.collect(self)

    def learn(self) -> None:
        """Run the learn phase: update the beliefs of publisher, adversaries and subjects.

        Subjects learn, and decide about the next round, only if the setting has a participation rule.
        """
        self.publisher.learn()
        self.agents_by_type[Adversary].do("learn")
        if self.setting.participation is not None:
            self._subjects_learn(self.setting.participation)

    # Results.

    def equilibrium(self) -> Equilibrium:
        """Return the latest round's outcome per released record of each cell.

        The outcome is an `Equilibrium` with arrays of shape (n_cells,); see `equilibrium_of`. At least one round must
        have been played.
        """
        assert self._last is not None  # noqa: S101 # asked for after a round
        return self._last

    @property
    def exposed(self) -> Counts:
        """Number of exposed records of each cell, shape (n_cells,).

        A record is exposed if it is released in this round, or if adversaries remember an earlier release of it.
        """
        return self.setting.exposed(self.participants)

    @property
    def is_out(self) -> NDArray[np.bool_]:
        """Whether each subject's record is exposed, shape (n_subjects,).

        A record is exposed if it is released in this round, or if adversaries remember an earlier release of it.
        """
        known, taking_part = self.setting.known, self.columns.participates
        return taking_part if known is None else taking_part | (known.gone > 0)[self.columns.cell]

    def _who_acts(self) -> Floats:
        """Return the probability that each adversary is present, shape (n_types,).

        The probability is the adversary's weight times its probability of not being excluded. If outcomes are drawn,
        presence is drawn too, and the entries are 0 or 1; with meeting "one-of", at most one entry is 1.
        """
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
        """Use `setting` from now on, and give each adversary its profile in it.

        The profiles of the setting have the order of the adversaries.
        """
        self.setting = setting
        for adversary, profile in zip(self.adversaries, setting.profiles, strict=True):
            adversary.profile = profile

    def _link_among_participants(self) -> None:
        """Recompute linkage among this round's participants, if the setting requires it.

        Nothing changes if the setting has no function `among`, no subject takes part, or the numbers of participants
        per cell equal those of the last computation.
        """
        setting, taking_part = self.setting, self.participants
        if setting.among is None or not taking_part.any():
            return
        if self._linked_among is None or not np.array_equal(taking_part, self._linked_among):
            self._linked_among = taking_part
            self._play_in(setting.among(setting, taking_part))

    def _take_part(self, now: NDArray[np.bool_]) -> None:
        """Set the participants, and store the numbers of subjects who joined and who left.

        `now`, ndarray of bool, shape (n_subjects,), marks the subjects who take part.
        """
        before, self.columns.participates = self.columns.participates, now
        self._moved = int(np.count_nonzero(now & ~before)), int(np.count_nonzero(before & ~now))

    def _subjects_learn(self, rule: ParticipationRule) -> None:
        """Update the subjects' expected risks and set the next round's participants.

        See `learn_and_decide`; the rate of breaches is 0 if no subject took part. `rule` holds the parameters of the
        subjects' decision.
        """
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
        # The total expected payoff of all adversaries from a record, without purchases, weighted by their presence.
        plans = zip(attacks.acting.tolist(), attacks.shares, attacks.plans, strict=True)
        payoffs = (acts * share * plan.replies.payoff for acts, share, plan in plans)
        last = self._last = equilibrium_of(setting, choice, outcome, sum(payoffs, np.zeros(setting.n_cells)))
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
    """Return the state of all subjects before the first round; see `SubjectColumns`.

    Without a participation rule, the first row of the schedule gives the participants; all subjects take part if there
    is no schedule. With a rule, each subject's harm is drawn and its expected risk is the rule's, which determine
    participation.
    """
    n, rule = setting.n_subjects, setting.participation
    if rule is None:
        taking_part = np.ones(n, dtype=np.bool_) if setting.schedule is None else setting.schedule[0]
        return SubjectColumns(setting.cell_of_subject, taking_part)
    harm = draw_harm(rule, n, setting.stream("valuations", "subjects"))
    expected = np.full(n, rule.expected_risk)
    return SubjectColumns(setting.cell_of_subject, takes_part(rule, harm, expected), harm, expected)


def _measure(name: str, agent: ReidentificationModel | Adversary) -> object:
    return agent.measures[name]


def next_state(state: Floats, detected: float) -> Floats:
    """Return the exclusion state of an adversary in the next round.

    A state of length 1 (no exclusion) is returned unchanged.

    Parameters
    ----------
    state : ndarray of float64, shape (exclusion + 1,)
        Entry k is the probability that k rounds of exclusion remain; with k = 0 the adversary is free to act.
    detected : float
        Probability that at least one exploit was detected in this round, given that the adversary was free to act; it
        is then excluded from the next `exclusion` rounds.

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
    """Agent for one type of adversary in a model with several rounds.

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
        """Probability that the adversary is not excluded from the round.

        It changes in the enforce phase, when an exploit is detected or a round of exclusion ends; it is 0 or 1 if
        outcomes are drawn.
        """
        return float(self._exclusion[0])

    def attack(self) -> None:
        """Plan purchases and attacks; buy the planned resources if present.

        The plan is stored in `plan`. An absent adversary makes a plan only if the publisher learns, and buys nothing;
        its plan is None otherwise.
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
        """Determine detected exploits, update the exclusion state and the measures.

        Nothing is detected if the adversary is absent. The number of detected exploits is expected, or, if outcomes are
        drawn, the drawn number of records with at least one detected exploit.
        """
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
        """Update the expected accuracy of the resources from the attack outcomes.

        Nothing changes if the adversary does not learn, was absent, or attacked no record. Otherwise
        `expected_accuracy` becomes the mean of the updated belief; see `AccuracyBelief`.
        """
        if self._accuracy is None or self.plan is None or self.outcome is None or not self.acts:
            return
        success_if_right = np.minimum(self.plan.replies.success / self.profile.accuracy, 1.0)
        # The outcome is conditional on presence; `acts` makes its counts unconditional.
        attempts, successes = self.acts * self.outcome.attempts, self.acts * self.outcome.successes
        if attempts.any():
            self._accuracy.learn(success_if_right, attempts, successes)
            self.expected_accuracy = self._accuracy.mean

    def _measure(self, detections: float) -> dict[str, Any]:
        """Return the adversary's measures of the round, by column.

        For the columns see `measures` of the class. `detections` is the number of detected exploits, already multiplied
        by the adversary's probability of presence (`acts`); all other counts and amounts are multiplied by it here.
        """
        acts, plan, outcome, model = self.acts, self.plan, self.outcome, self.model
        assert outcome is not None  # noqa: S101 # resolved before
        fines, payoff = model.setting.enforcement.fine * detections, outcome.payoff if acts else 0.0
        if acts and outcome.attacked is not None and self.profile.single_exploit and self.profile.expected_fine > 0:
            # The planned payoff contains the expected fines; replace them by the drawn fines.
            payoff += self.profile.expected_fine * outcome.exploits - fines
        return {
            "adversary": self.name,
            "weight": self.profile.weight,
            "belief": float(model.publisher.beliefs[model.adversaries.index(self)]),
            "present": acts,
            "attacks": acts * float(outcome.attempts.sum()),
            "exploits": acts * outcome.exploits,
            "breaches": acts * float(outcome.successes.sum()),
            "spent": acts * plan.spent if plan is not None else 0.0,
            "payoff": acts * payoff,
            "detections": detections,
            "fines": fines,
            "holds": ", ".join(sorted(self.holds)),
            "expected_accuracy": self.expected_accuracy,
            "through": self._found_through(),
        }

    def _found_through(self) -> dict[str, tuple[float, float]]:
        """Return numbers of records attacked and re-identified, by resources used.

        The keys are names of resources joined by " and "; the values are the two numbers, multiplied by the adversary's
        probability of presence (`acts`). The result is empty if nothing was attacked.
        """
        found: dict[str, tuple[float, float]] = {}
        if self.outcome is None or self.plan is None or not self.acts:
            return found
        attempts, successes, used = self.outcome.attempts, self.outcome.successes, self.plan.replies.used
        for stages in np.unique(used[attempts > 0]).tolist():
            name, here = self.profile.through(self.holds, stages), used == stages
            attacked, breached = found.get(name, (0.0, 0.0))
            attacked += self.acts * float(attempts[here].sum())
            found[name] = attacked, breached + self.acts * float(successes[here].sum())
        return found

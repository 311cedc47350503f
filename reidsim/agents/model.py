"""Multi-round model of a publisher, data subjects and adversaries, based on mesa."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from math import fsum
from typing import Any

import mesa
import numpy as np
from mesa.agent import AgentSet
from mesa.datacollection import DataCollector
from numpy.typing import NDArray

from reidsim.agents.attack import (
    DISTINCT,
    PARTICIPATION,
    RISK_QUANTILES,
    AdversaryOutcome,
    AttackPlan,
    Attacks,
    Observation,
    Replies,
    begun,
    equilibrium_of,
    let,
    no_plan,
    planned,
    record_measures,
    replies_to,
    round_columns,
    subject_draws,
    weighted_quantiles,
)
from reidsim.agents.foresight import Opponent, believed_game, foreseeing_choice
from reidsim.agents.learning import AccuracyBelief, Memory, Texts, updated_presences, updated_weights
from reidsim.agents.profile import AdversaryProfile, Holdings, ParticipationRule, Setting
from reidsim.agents.subjects import Agents, Subject
from reidsim.core.errors import InputError
from reidsim.core.numerics import dot, first_above
from reidsim.games.outcomes import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK, Equilibrium, Reidentified, reidentified
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.releases.lattice import Rows, Strategies

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw each subject's harm of a breach, in currency units, shape (n,).

    The harm is lognormal among data subjects with mean `rule.harm`; `rule.spread` is the standard deviation of its
    logarithm. With spread 0, the harm of all subjects is `rule.harm`.

    Parameters
    ----------
    rule : ParticipationRule
        Parameters of the subjects' decision.
    n : int
        Number of data subjects.
    rng : numpy.random.Generator
        Source of the draws.
    """
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


def learned_risk(
    rule: ParticipationRule,
    expected_risk: Floats,
    participates: Bools,
    breached: Floats | Bools,
    hears: float | Bools,
    rate: float,
) -> Floats:
    """Return each subject's expected risk after a round, shape (n,).

    A participant observes whether its own record was breached. A non-participant who hears of the round's breaches
    observes the share of participants who were breached. A participant who also hears of the breaches uses the mean of
    both. The expected risk moves towards the observed value by the learning rate.

    Parameters
    ----------
    rule : ParticipationRule
        Parameters of the subjects' decision.
    expected_risk : ndarray of float64, shape (n,)
        Probability of a breach that each subject expected.
    participates : ndarray of bool, shape (n,)
        Whether each subject took part in the round.
    breached : ndarray of bool or float64, shape (n,)
        Whether each subject was breached if it took part, or the probability; the update is then the expected one.
    hears : ndarray of bool, shape (n,), or float
        Whether each subject hears of breaches, or the probability.
    rate : float
        Share of participants who were breached.
    """
    met = np.where(participates, breached + 0.5 * hears * (rate - breached), rate)
    weight = np.where(participates, rule.learning_rate, rule.learning_rate * hears)
    return np.asarray(expected_risk + weight * (met - expected_risk))


# Column with the records attacked and re-identified, by the resources used.
THROUGH = "through"
# Name of the data collector's table of adversaries and rounds, and its columns after the round, with the amounts and
# counts of the round in the middle; `Adversary.measures` defines them. They are not agent reporters, because
# `mesa.batch_run` would replace measures of the round by those of the same name.
ADVERSARIES = "adversaries"
_TOTALS = ("payoff", "attacks", "exploits", "breaches", "detections", "fines", "spent")
ADVERSARY_MEASURES = ("adversary", "weight", "belief", "present", *_TOTALS, "holds", "expected_accuracy", THROUGH)


class ReidentificationModel(mesa.Model):
    """Multi-round simulation of one publisher policy.

    Each step is a round with five phases: publish, attack, resolve, enforce, learn.
    With one publisher, one adversary, one round and expected outcomes, the model equals the analytic game. A cell is a
    group of identical records; see `Setting`.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    policy : str
        Name of the publisher's policy.
    model_reporters, agent_reporters, agenttype_reporters : mapping, optional
        Further values to collect after each round, by name, as in `mesa.DataCollector`.

    Attributes
    ----------
    publisher : Publisher
        The publisher agent.
    adversaries : list of Adversary
        The adversary agents, one per type.
    participates : ndarray of bool, shape (n_subjects,)
        Whether each subject takes part in the round, and after the round, in the next one.
    harm, expected_risk : ndarray of float64, shape (n_subjects,)
        Harm of a breach to each subject, in currency units, and probability of a breach that it expects; set only if
        participation is a decision.
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
    equilibrium : Equilibrium
        The latest round's outcome per released record of each cell; see `equilibrium_of`.
    outcome : Attacks
        The latest round's attacks and their outcome.
    planned : PlannedReleases, optional
        Releases of a policy that plans all rounds before the first.
    datacollector : mesa.DataCollector
        Measures of every round, and the table ``adversaries`` with the measures of every adversary in every round.
    running : bool
        Whether rounds remain; read by mesa's `run_model`, `batch_run` and `SolaraViz`.

    Raises
    ------
    InputError
        If there are no subjects or no adversaries.
    """

    harm: Floats
    expected_risk: Floats
    equilibrium: Equilibrium
    outcome: Attacks

    def __init__(
        self,
        setting: Setting,
        policy: str,
        *,
        model_reporters: Mapping[str, Any] | None = None,
        agent_reporters: Mapping[str, Any] | None = None,
        agenttype_reporters: Mapping[type, Mapping[str, Any]] | None = None,
    ) -> None:
        # Every supported version of mesa accepts `rng` without a warning.
        super().__init__(rng=int(setting.stream("mesa").integers(2**31)))
        if not setting.n_subjects:
            raise InputError("no data subjects", expected="one record or more")
        if not setting.profiles:
            raise InputError("no adversaries", expected="one type or more")
        self.setting = setting
        self.round_number = 0
        n, rule = setting.n_subjects, setting.participation
        self.participates = np.ones(n, dtype=np.bool_) if setting.schedule is None else setting.schedule[0].copy()
        if rule is not None:
            self.harm = draw_harm(rule, n, setting.stream("valuations", "subjects"))
            self.expected_risk = np.full(n, rule.expected_risk)
            self.participates = takes_part(rule, self.harm, self.expected_risk)
        # A copy, because users may change `participates`.
        self.shared_in_last_round = self.participates.copy()
        self.publisher = Publisher(self, policy)
        self.adversaries = [Adversary(self, profile) for profile in setting.profiles]
        self.participants = self._count_participants()
        self.measures: dict[str, float] = {}
        self.reidentified: list[Reidentified] = []
        self.by_record: list[dict[str, Floats]] = []
        self.shared: list[Counts] = []
        self._moved = (0, 0)
        # Participants of the latest linkage among participants; empty before the first.
        self._linked_among: Counts = np.zeros(0, dtype=np.int64)
        self._never_reidentified = np.ones(n)
        self._was_exposed = np.zeros(n, dtype=np.bool_)
        self.planned = setting.planned(policy) if setting.planned is not None else None
        several = setting.rounds > 1 or self.planned is not None
        self._memory = Memory(setting) if setting.remembers and several else None
        measures = {column: functools.partial(_measure, column) for column in round_columns()}
        self.datacollector = DataCollector(
            model_reporters={**measures, **(model_reporters or {})},
            agent_reporters=agent_reporters,
            agenttype_reporters=agenttype_reporters,
            tables={ADVERSARIES: ("round", *ADVERSARY_MEASURES)},
        )
        # Objects of data subjects by row, made on first use and kept with the attributes that a user adds.
        self.subject_objects: dict[int, Subject] = {}
        self.agents_by_type[Subject] = Agents.of(self, (), range(n))

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

    @property  # type: ignore[misc] # the setter of mesa only raises an error
    def agents(self) -> AgentSet:
        """All agents: publisher, adversaries, agents that a user has added, and data subjects."""
        return Agents.of(self, super().agents, range(self.setting.n_subjects))

    @property
    def subjects(self) -> AgentSet:
        """The data subjects; see `Subject`."""
        return self.agents_by_type[Subject]

    def subject(self, row: int) -> Subject:
        """Return the data subject of a row; the object is made on first use and kept."""
        if row not in self.subject_objects:
            self.subject_objects[row] = Subject(self, row)
        return self.subject_objects[row]

    def register_agent(self, agent: mesa.Agent) -> None:
        """Register an agent, with a `unique_id` above the ids of all data subjects."""
        super().register_agent(agent)
        agent.unique_id += self.setting.n_subjects

    def step(self) -> None:
        """Play one round: run its five phases, and stop `running` after the last round.

        A further step does nothing: `SolaraViz` makes steps in blocks, which may be longer than the rounds that remain.
        """
        if self.round_number == self.setting.rounds:
            return
        self.round_number += 1
        for phase in ("publish", "attack", "resolve", "enforce", "learn"):
            getattr(self, phase)()
        self.running = self.round_number < self.setting.rounds

    # Phases of a round.

    def publish(self) -> None:
        """Run the publish phase: release the records of the participants.

        If participation changed, or may change, and with it the number of participants of a cell, linkage is recomputed
        among the participants. If adversaries remember earlier releases, the setting of the round may get other rows
        (see `Memory.setting`), and the releases are added to the memory.
        """
        before, now = self.shared_in_last_round, self.participates.copy()
        self._moved = int(np.count_nonzero(now & ~before)), int(np.count_nonzero(before & ~now))
        self.shared_in_last_round = now
        if any(self._moved) or self.setting.participation is not None or self.setting.schedule is not None:
            self.participants = self._count_participants()
            among = self.setting.among
            is_new = not np.array_equal(self.participants, self._linked_among)
            if among is not None and is_new and self.participants.any():
                self._linked_among = self.participants
                self._play_in(among(self.setting, self.participants))
        if self._memory is not None:
            planned = None if self.planned is None else self.planned.strategies[self.round_number - 1]
            setting = self._memory.setting(self.participates, planned)
            if setting is not None and setting is not self.setting:
                self._play_in(setting)
                self.participants = self._count_participants()
        self.publisher.publish()
        if self._memory is not None:
            released = self.publisher.strategies[self.setting.cell_of_subject]
            self._play_in(self._memory.add(released, self.participates) or self.setting)

    @property
    def history(self) -> tuple[Texts, Texts] | None:
        """Rounds of participation and of release of each subject; see `Memory.history`. None without a memory."""
        return None if self._memory is None else self._memory.history()

    def attack(self) -> None:
        """Run the attack phase: adversaries plan, buy resources and attack.

        For each adversary, `acts` is set first: its probability of presence, or 0 or 1 if drawn.
        """
        for adversary, acts in zip(self.adversaries, self._who_acts().tolist(), strict=True):
            adversary.acts = acts
        self.agents_by_type[Adversary].do("attack")

    def resolve(self) -> None:
        """Run the resolve phase: compute or draw the outcomes of the attacks.

        The result is stored in `outcome` (`Attacks`), and the outcome of each adversary in that adversary.
        """
        plans, acting = [each.plan for each in self.adversaries], np.array([each.acts for each in self.adversaries])
        self.outcome = Attacks(self.setting, plans, acting, self.exposed, self.is_out, self.round_number)
        for adversary, outcome in zip(self.adversaries, self.outcome.by_adversary, strict=True):
            adversary.outcome = outcome

    def enforce(self) -> None:
        """Run the enforce phase: detect, fine and exclude; collect the measures.

        Measures of the round are stored in `measures`, `reidentified`, `by_record` and `shared`, and in the data
        collector.
        """
        self.agents_by_type[Adversary].do("answer_for")
        self._measure_round()
        for column in ("strategies", "risks"):
            vars(self).pop(column, None)
        collector = self.datacollector
        # A user may have replaced the collector.
        if ADVERSARIES in collector.tables:
            for adversary in self.adversaries:
                collector.add_table_row(ADVERSARIES, {"round": self.round_number, **adversary.measures})
        collector.collect(self)
        # Before mesa 3.5, `batch_run` counts from 0 where it looks up agents, but not where the collector stores them.
        if self.steps in collector._agent_records and not hasattr(collector, "_collection_steps"):
            collector._agent_records[self.steps - 1] = collector._agent_records.pop(self.steps)

    def learn(self) -> None:
        """Run the learn phase: update the beliefs of publisher, adversaries and subjects.

        Subjects learn, and decide about the next round, only if the setting has a participation rule. If outcomes are
        drawn, agents learn from the draws; otherwise, from the expected outcomes. If participation is scheduled, the
        participants of the next round are set.
        """
        self.publisher.learn()
        self.agents_by_type[Adversary].do("learn")
        if self.setting.participation is not None:
            self._decide(self.setting.participation)
        schedule = self.setting.schedule
        if schedule is not None and self.round_number < self.setting.rounds:
            self.participates = schedule[self.round_number].copy()

    def _decide(self, rule: ParticipationRule) -> None:
        """Update the risks that subjects expect, and with them the participants of the next round."""
        outcome, shared = self.outcome, int(self.participants.sum())
        breached: Floats | Bools = outcome.risk[self.setting.cell_of_subject]
        hears: float | Bools = rule.hears
        # Subjects hear only of breaches of current participants.
        found = float((self.participants * outcome.risk).sum())
        if outcome.breached is not None:
            breached = outcome.breached
            hears = subject_draws(self.setting, "hearing", "subjects", self.round_number) < rule.hears
            found = float(np.count_nonzero(breached & self.participates))
        rate = found / shared if shared else 0.0
        self.expected_risk = learned_risk(rule, self.expected_risk, self.participates, breached, hears, rate)
        self.participates = takes_part(rule, self.harm, self.expected_risk)

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
        known, cells = self.setting.known, self.setting.cell_of_subject
        return self.shared_in_last_round if known is None else self.shared_in_last_round | (known.gone > 0)[cells]

    @functools.cached_property
    def strategies(self) -> Strategies:
        """Strategy of each subject's record in the latest round, shape (n_subjects,).

        It is -1 if the record is withheld, and before the first round.
        """
        if not self.measures:
            return np.full(self.setting.n_subjects, WITHHELD)
        chosen = self.equilibrium.strategies[self.outcome.setting.cell_of_subject]
        return np.where(self.outcome.is_out, chosen, WITHHELD)

    @functools.cached_property
    def risks(self) -> Floats:
        """Probability that each subject's record was re-identified in the latest round, shape (n_subjects,).

        It is 0 before the first round.
        """
        if not self.measures:
            return np.zeros(self.setting.n_subjects)
        return np.where(self.outcome.is_out, self.outcome.risk[self.outcome.setting.cell_of_subject], 0.0)

    def _who_acts(self) -> Floats:
        """Return the probability that each adversary is present, shape (n_types,).

        The probability is the adversary's weight times its probability of not being excluded. If outcomes are drawn,
        presence is drawn too, and the entries are 0 or 1; with meeting "one-of", at most one entry is 1.
        """
        setting, free = self.setting, np.array([adversary.free for adversary in self.adversaries])
        weights = np.array([profile.weight for profile in setting.profiles])
        if setting.mode == "expectation":
            return np.asarray(weights * free)

        def draw(agent: str = "") -> float:
            return float(setting.stream("presence", agent, self.round_number).random())

        if setting.meeting == "one-of":
            return np.asarray((np.arange(len(weights)) == first_above(np.cumsum(weights), draw())) * free)
        return np.asarray((np.array([draw(profile.name) for profile in setting.profiles]) < weights) * free)

    def _count_participants(self) -> Counts:
        cells = self.setting.cell_of_subject[self.participates]
        return np.bincount(cells, minlength=self.setting.n_cells).astype(np.int64)

    def _play_in(self, setting: Setting) -> None:
        """Use `setting` from now on, and give each adversary its profile in it.

        The profiles of the setting have the order of the adversaries.
        """
        self.setting = setting
        for adversary, profile in zip(self.adversaries, setting.profiles, strict=True):
            adversary.profile = profile

    def _measure_round(self) -> None:
        outcome, choice = self.outcome, self.publisher.choice
        assert choice is not None  # noqa: S101 # published before
        setting, n, participants = self.setting, self.setting.n_subjects, self.participants
        last = self.equilibrium = equilibrium_of(setting, choice, outcome)
        # Given the adversaries present, if presence is drawn.
        draws = functools.partial(setting.stream, "reidentified", round_number=self.round_number)
        self.reidentified.append(reidentified(n, outcome.cases(last.utility), draws))
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
            outcome.survive(self._never_reidentified)
        new = self.is_out & (outcome.attacked > 0)[self.setting.cell_of_subject] & ~self._was_exposed
        self._was_exposed |= new
        names = ("payoff", "exploits", "detections")
        total = {name: fsum(adversary.measures[name] for adversary in self.adversaries) for name in names}
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


def _measure(name: str, model: ReidentificationModel) -> object:
    # A user may collect before the first round.
    return model.measures.get(name, np.nan)


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
    after = np.append(state[1:], state[0] * detected)
    after[0] += state[0] * (1.0 - detected)
    return after


def of_rows(choice: Choice, cells: Rows) -> Choice:
    """Return the choice for rows, given the choice for their cells.

    A cell is a distinct record, and a row a cell together with the information released earlier. `cells` (n_rows,) is
    the cell of each row; strategies and numbers of evaluated strategies are repeated accordingly.
    """
    return Choice(choice.strategies[cells], choice.solver, choice.evaluated[cells], choice.exact)


class Publisher(mesa.Agent):
    """Agent that chooses the strategy of each record in every round.

    It represents a publisher, or data subjects who decide individually.

    Parameters
    ----------
    model : ReidentificationModel
        The model to which the agent belongs.
    policy : str
        Name of the policy.

    Attributes
    ----------
    choice : Choice or None
        Strategy of each cell; None before the first round.
    parameters : ndarray of float64, shape (n_types,) or (n_types, 2), optional
        Parameters of the Dirichlet belief about the types, or of the Beta belief about each adversary's presence; None
        if the publisher does not learn.
    changed : ndarray of float64, shape (n_cells,)
        Share of the cell's records with another strategy than in the previous round; 0 in the first round, and for
        cells without participants if the rows of the setting changed.
    """

    model: ReidentificationModel

    def __init__(self, model: ReidentificationModel, policy: str) -> None:
        super().__init__(model)
        self.policy = policy
        learning = model.setting.learning
        self.parameters: Floats | None = None if learning is None else learning.prior.copy()
        self.choice: Choice | None = None
        self.changed = np.zeros(model.setting.n_cells)
        self._rule: Choice | None = None
        # Cell and participation of each subject at the time of the choice.
        self._released = model.setting.cell_of_subject, model.shared_in_last_round
        self._met: list[object] = []
        self._believed = np.zeros(0)

    @property
    def strategies(self) -> Strategies:
        """Strategy of each cell, ndarray of int64, shape (n_cells,); -1 if withheld.

        It requires that the publisher has chosen a release.
        """
        assert self.choice is not None  # noqa: S101 # asked for after publishing
        return self.choice.strategies

    @property
    def beliefs(self) -> Floats:
        """Expected weight of each adversary type, shape (n_types,).

        It is the mean of the publisher's belief; if the publisher does not learn, the true weight.
        """
        if self.parameters is None:
            return np.array([profile.weight for profile in self.model.setting.profiles])
        if self.parameters.ndim == 1:
            return np.asarray(self.parameters / self.parameters.sum())
        return np.asarray(self.parameters[:, 0] / self.parameters.sum(axis=1))

    def publish(self) -> None:
        """Choose the release by the policy, given the beliefs about the adversaries.

        The result is stored in `choice`. The previous choice is kept if no belief has changed by more than the
        setting's tolerance and all other inputs (setting, resources that adversaries are expected to hold, and, where
        budgets or purchases are foreseen, participants and rounds left) are equal. A policy with a fixed rule chooses
        only once.
        """
        model, setting, before = self.model, self.model.setting, self.choice
        adversaries = model.adversaries
        weights = self.beliefs * np.array([adversary.free for adversary in adversaries])
        opponents: list[Opponent] = []
        if setting.foresees == "plans" and not setting.is_fixed(self.policy):
            for each, weight in zip(adversaries, weights.tolist(), strict=True):
                profile = each.profile if setting.knows_truth else each.profile.believed or each.profile
                holds, accuracy = self._expected_holdings(each), each.expected_accuracy
                opponents.append(Opponent(profile, weight, holds, accuracy, believed=not setting.knows_truth))
            if not any(opponent.is_open for opponent in opponents):
                opponents = []
        # Inputs of the choice other than beliefs; any change triggers a new choice. Purchases and affordable attacks
        # depend on the number of records; purchases also on the rounds left.
        met: list[object] = [setting, *map(self._expected_holdings, adversaries)]
        if opponents:
            for_sale = any(opponent.is_buyer for opponent in opponents)
            met += [model.participants.tolist(), model.round_number if for_sale else None]
        believed = np.concatenate([weights, [adversary.expected_accuracy for adversary in adversaries]])
        if before is not None and self._met == met and np.abs(believed - self._believed).max() <= setting.tolerance:
            self.changed = np.zeros(setting.n_cells)
            return
        if setting.is_fixed(self.policy) and setting.planned is None:
            if self._rule is None:
                self._rule = setting.solve(self.policy, self._game(weights, setting))
            choice = self._rule if setting.known is None else of_rows(self._rule, setting.known.cells)
        elif opponents:
            rounds_left = setting.rounds - model.round_number + 1
            choice = foreseeing_choice(setting, self.policy, opponents, model.participants, rounds_left)
        else:
            choice = self._reply(weights)
        self.choice = replace(choice, strategies=setting.released(choice.strategies))
        self._met, self._believed = met, believed
        self.changed = np.zeros(setting.n_cells) if before is None else self._changes(before.strategies)
        self._released = setting.cell_of_subject, model.shared_in_last_round

    def _reply(self, weights: Floats) -> Choice:
        """Return the policy's choice, given the adversaries and the earlier releases.

        Budgets and purchases are not foreseen. A release planned before the first round is returned as it is. If
        adversaries remember earlier releases, the policy's `Reply` determines whether it takes them into account,
        ignores them, or keeps each record's earlier release. `weights` (n_types,) holds the probability that each
        adversary is present, as the publisher believes.
        """
        setting = self.model.setting
        known, reply = setting.known, setting.reply_of(self.policy)
        if known is not None and known.planned is not None:
            return Choice(known.planned, self.policy, np.zeros(setting.n_cells, dtype=np.int64), exact=False)
        if known is None or reply == "to-past":
            return setting.solve(self.policy, self._game(weights, setting))
        choice = of_rows(known.alone.solve(self.policy, self._game(weights, known.alone)), known.cells)
        if reply == "alone":
            return choice
        return replace(choice, strategies=np.where(known.past == WITHHELD, choice.strategies, known.past), exact=False)

    def _game(self, weights: Floats, setting: Setting) -> RecordGame:
        """Return the game that the publisher believes in; see `believed_game`.

        `weights` (n_types,) holds the probability that each adversary is present, as the publisher believes. `setting`
        supplies the records and the profiles.
        """
        equipment = [
            profile.equip(self._expected_holdings(each), each.expected_accuracy, believed=not setting.knows_truth)
            for each, profile in zip(self.model.adversaries, setting.profiles, strict=True)
        ]
        return believed_game(setting, weights, equipment)

    def _expected_holdings(self, adversary: Adversary) -> Holdings:
        """Return the resources that the publisher expects an adversary to attack with.

        They are the names of the resources held, and of the purchases that the setting expects of this adversary.
        """
        return adversary.holds | self.model.setting.expected_purchases.get(adversary.name, frozenset())

    def _changes(self, before: Strategies) -> Floats:
        """Return the share of each cell's records with another strategy than before.

        `before` holds the previous strategies, by the cells of the previous choice. If the cells are unchanged, the
        share is 0 or 1. Otherwise it is the number of subjects who took part in both rounds and whose strategy changed,
        divided by the cell's participants in this round; 0 without participants.
        """
        model, now, cells = self.model, self.strategies, self.model.setting.cell_of_subject
        rows, took_part = self._released
        if rows is cells:
            return np.asarray(before != now, dtype=np.float64)
        other = model.participates & took_part & (before[rows] != now[cells])
        counts = np.bincount(cells[other], minlength=len(now)).astype(np.float64)
        return np.divide(counts, model.participants, out=np.zeros(len(now)), where=model.participants > 0)

    def learn(self) -> None:
        """Update the beliefs about the adversaries with the attacks noticed in the round.

        Nothing changes if the publisher does not learn. The update is expected or drawn, as the model's outcomes are;
        see `reidsim.agents.learning`.
        """
        model, setting = self.model, self.model.setting
        if self.parameters is None or setting.learning is None:
            return
        attacked = np.stack([adversary.plan.targets for adversary in model.adversaries])
        acting, free = np.array([(adversary.acts, adversary.was_free) for adversary in model.adversaries]).T
        noticed, drawn = setting.learning.noticed, setting.mode == "sampling"
        stream = setting.stream("notices", "publisher", model.round_number)
        if setting.meeting == "one-of":
            draw = float(stream.random()) if drawn else None
            self.parameters = updated_weights(self.parameters, attacked, acting, free, noticed, draw)
        else:
            self.parameters = updated_presences(self.parameters, attacked, acting, free, noticed, stream, drawn=drawn)


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
        publisher believes); `present` (`acts`); `payoff` (net of purchases and fines; the fines of sequential
        adversaries are always the expected ones), `spent` (on purchases) and `fines` (expected, or drawn if outcomes
        are drawn), in currency units; numbers of records attacked (`attacks`), exploits (`exploits`), records
        re-identified (`breaches`) and detected exploits (`detections`); `holds` (names of the resources held after the
        purchases); `expected_accuracy`; and `through` (records attacked and re-identified, by resources used). Counts
        and amounts are multiplied by `acts`.
    """

    model: ReidentificationModel
    plan: AttackPlan
    outcome: AdversaryOutcome

    def __init__(self, model: ReidentificationModel, profile: AdversaryProfile) -> None:
        super().__init__(model)
        self.profile, self.name, self.holds = profile, profile.name, profile.holds
        self._planner = begun(profile, model.setting.rounds)
        self.expected_accuracy = profile.expected_accuracy
        self._accuracy = AccuracyBelief(profile.expected_accuracy, profile.experience) if profile.learns else None
        self.acts, self.was_free = 0.0, 1.0
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

        The plan is stored in `plan`. If the adversary is absent and the publisher does not learn, the plan is to buy
        and attack nothing. If it is absent and the publisher learns, it plans as if it were present, but buys nothing.
        """
        model, profile, setting = self.model, self.profile, self.model.setting
        self.was_free, self.plan = self.free, no_plan(setting.n_cells)
        # Plans of absent adversaries are needed only for the publisher's belief update.
        if not (self.acts or setting.learning):
            return
        strategies, rounds_left = setting.released(model.publisher.strategies), setting.rounds - model.round_number + 1

        def reply(holds: Holdings, planner: Any = None) -> Replies:
            return replies_to(profile, profile.equip(holds, self.expected_accuracy), strategies, planner)

        self.plan = planned(self._planner, Observation(profile, self.holds, model.exposed, rounds_left, reply))
        if self.acts:
            self.holds = self.holds | self.plan.buys

    def answer_for(self) -> None:
        """Determine detected exploits, update the exclusion state and the measures.

        Nothing is detected if the adversary is absent. The number of detected exploits is expected, or, if outcomes are
        drawn, the drawn number of records with at least one detected exploit.
        """
        setting, outcome = self.model.setting, self.outcome
        number = detected = 0.0
        if self.acts:
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
        acts, detections = self.acts, self.acts * number
        fines, payoff = setting.enforcement.fine * detections, outcome.payoff if acts else 0.0
        if acts and outcome.attacked is not None and self.profile.expected_fine > 0:
            # The planned payoff contains the expected fines; replace them by the drawn fines.
            payoff += self.profile.expected_fine * outcome.exploits - fines
        self.measures = {
            "adversary": self.name,
            "weight": self.profile.weight,
            "belief": float(self.model.publisher.beliefs[self.model.adversaries.index(self)]),
            "present": acts,
            "attacks": acts * float(outcome.attempts.sum()),
            "exploits": acts * outcome.exploits,
            "breaches": acts * float(outcome.successes.sum()),
            "spent": acts * self.plan.spent,
            "payoff": acts * payoff,
            "detections": detections,
            "fines": fines,
            "holds": ", ".join(sorted(self.holds)),
            "expected_accuracy": self.expected_accuracy,
            "through": self._found_through(),
        }

    def learn(self) -> None:
        """Tell the planner the outcome, and update the expected accuracy of the resources.

        Nothing happens if the adversary was absent. The accuracy does not change if the adversary does not learn, or
        attacked no record. Otherwise `expected_accuracy` becomes the mean of the updated belief; see `AccuracyBelief`.
        """
        if self.acts:
            let(self._planner, "observe", self.outcome)
        if self._accuracy is None or not self.acts:
            return
        success_if_right = np.minimum(self.plan.replies.success / self.profile.accuracy, 1.0)
        # The outcome is conditional on presence; `acts` makes its counts unconditional.
        attempts, successes = self.acts * self.outcome.attempts, self.acts * self.outcome.successes
        if attempts.any():
            self._accuracy.learn(success_if_right, attempts, successes)
            self.expected_accuracy = self._accuracy.mean

    def _found_through(self) -> dict[str, tuple[float, float]]:
        """Return numbers of records attacked and re-identified, by resources used.

        The keys are names of resources joined by " and "; the values are the two numbers, multiplied by the adversary's
        probability of presence (`acts`). The result is empty if nothing was attacked.
        """
        found: dict[str, tuple[float, float]] = {}
        attempts, successes, used = self.outcome.attempts, self.outcome.successes, self.plan.replies.used
        for stages in np.unique(used[(attempts > 0) & (self.acts > 0)]).tolist():
            lists, here = self.profile.lists, used == stages
            name = " and ".join(sorted(self.holds) if lists is None else lists(self.holds, stages))
            attacked, breached = found.get(name, (0.0, 0.0))
            attacked += self.acts * float(attempts[here].sum())
            found[name] = attacked, breached + self.acts * float(successes[here].sum())
        return found

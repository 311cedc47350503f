"""The publisher agent: beliefs about adversaries, releases and learning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import mesa
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.foresight import Opponent, believed_game, foreseeing_choice
from reidsim.agents.learning import (
    expected_presence_update,
    expected_update,
    part_of,
    sampled_presence_update,
    sampled_update,
)
from reidsim.agents.profile import Holdings, Setting
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.releases.strategy_space import Rows, Strategies

if TYPE_CHECKING:
    from reidsim.agents.adversary import Adversary
    from reidsim.agents.model import ReidentificationModel

Floats = NDArray[np.float64]


def of_rows(choice: Choice, cells: Rows) -> Choice:
    """Return the choice for rows, given the choice for their cells."""
    return Choice(choice.strategies[cells], choice.solver, choice.evaluated[cells], choice.exact)


class Publisher(mesa.Agent):
    """Agent that chooses the strategy of each record.

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
        Share of the cell's records with another strategy than in the previous round.
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
        self._released = model.setting.cell_of_subject, model.columns.participates
        self._met: list[object] = []
        self._believed = np.zeros(0)

    @property
    def strategies(self) -> Strategies:
        """Strategy of each cell, shape (n_cells,)."""
        assert self.choice is not None  # noqa: S101 # asked for after publishing
        return self.choice.strategies

    @property
    def beliefs(self) -> Floats:
        """Expected weight of each type, shape (n_types,)."""
        if self.parameters is None:
            return np.array([profile.weight for profile in self.model.setting.profiles])
        if self.parameters.ndim == 1:
            return np.asarray(self.parameters / self.parameters.sum())
        return np.asarray(self.parameters[:, 0] / self.parameters.sum(axis=1))

    def publish(self) -> None:
        """Choose the release by the policy, given the beliefs about the adversaries."""
        model, setting, before = self.model, self.model.setting, self.choice
        adversaries = model.adversaries
        weights = self.beliefs * np.array([adversary.free for adversary in adversaries])
        opponents = self._opponents(weights)
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
        self._released = setting.cell_of_subject, model.columns.participates

    def _reply(self, weights: Floats) -> Choice:
        """Return the policy's choice, given the adversaries and the earlier releases."""
        setting = self.model.setting
        known, reply = setting.known, setting.reply_of(self.policy)
        if known is not None and known.planned is not None:
            return Choice(known.planned, self.policy, np.zeros(setting.n_cells, dtype=np.int64), exact=False)
        if known is None or reply == "to-past":
            return setting.solve(self.policy, self._game(weights, setting))
        choice = of_rows(known.alone.solve(self.policy, self._game(weights, known.alone)), known.cells)
        if reply == "each-to-past":
            return self._completed(choice, weights)
        if reply == "alone":
            return choice
        held = np.where(known.past == WITHHELD, choice.strategies, known.past)
        return replace(choice, strategies=held, exact=False)

    def _completed(self, choice: Choice, weights: Floats) -> Choice:
        """Return the best reply to the earlier releases.

        `choice` is the best reply to adversaries without a memory. It stays the best reply for every record whose
        `choice` contains all information known about it; only the other records are solved again.

        Proof. Let p be the information known before, w the strategy in `choice`, h another strategy, and g the meet of
        p and h: the information known after h. The adversaries' reply to h depends on g only, and g is no more general
        than h, so the payoff of h is at most the payoff of g without a memory. The payoff of g without a memory is at
        most the payoff of w, the best release without a memory. If w is no more general than p, the information known
        after w is w, so the payoff of w is the same with and without a memory. Ties: w is the first of the best
        strategies. If h had the same payoff and came before w, so would g. Constraints: whether h is permitted depends
        on g, and g is as general as the minimum if h and w are, and with w also p.
        """
        setting = self.model.setting
        assert setting.known is not None  # noqa: S101 # as something was released before
        open_ = (setting.seen(choice.strategies) != choice.strategies) & (setting.known.gone == 0)
        if not open_.any():
            return choice
        rows = np.flatnonzero(open_)
        part = part_of(setting, rows)
        solved = part.solve(self.policy, self._game(weights, part))
        strategies, evaluated = choice.strategies.copy(), choice.evaluated.copy()
        strategies[rows], evaluated[rows] = solved.strategies, solved.evaluated
        return replace(choice, strategies=strategies, evaluated=evaluated)

    def _game(self, weights: Floats, setting: Setting) -> RecordGame:
        """Return the game that the publisher believes in.

        `weights` holds the probability that each adversary is present.
        """
        equipment = [
            profile.equip(self._expected_holdings(each), each.expected_accuracy, believed=not setting.knows_truth)
            for each, profile in zip(self.model.adversaries, setting.profiles, strict=True)
        ]
        return believed_game(setting, weights, equipment)

    def _expected_holdings(self, adversary: Adversary) -> Holdings:
        """Return the resources that the publisher expects an adversary to attack with."""
        return adversary.holds | self.model.setting.expected_purchases.get(adversary.name, frozenset())

    def _changes(self, before: Strategies) -> Floats:
        """Return the share of each cell's records with another strategy than before.

        `before` holds the previous strategies, by the cells of the previous choice.
        """
        model, now, columns = self.model, self.strategies, self.model.columns
        rows, took_part = self._released
        if rows is model.setting.cell_of_subject:
            return np.asarray(before != now, dtype=np.float64)
        other = columns.participates & took_part & (before[rows] != now[columns.cell])
        counts = np.bincount(columns.cell[other], minlength=len(now)).astype(np.float64)
        return np.divide(counts, model.participants, out=np.zeros(len(now)), where=model.participants > 0)

    def learn(self) -> None:
        """Update the beliefs with the noticed attacks."""
        model, setting = self.model, self.model.setting
        if self.parameters is None or setting.learning is None:
            return
        attacked = np.stack([adversary.plan.targets for adversary in model.adversaries if adversary.plan is not None])
        acting = np.array([adversary.acts for adversary in model.adversaries])
        present = np.array([adversary.was_free for adversary in model.adversaries])
        noticed, any_number = setting.learning.noticed, setting.meeting == "all"
        stream = setting.stream("notices", "publisher", model.round_number)
        if any_number and setting.mode == "expectation":
            self.parameters = expected_presence_update(self.parameters, attacked, acting, present, noticed, stream)
        elif any_number:
            draws = stream.random(len(acting)).tolist()
            self.parameters = sampled_presence_update(self.parameters, attacked, acting, present, noticed, draws)
        elif setting.mode == "expectation":
            self.parameters = expected_update(self.parameters, attacked, acting, present, noticed)
        elif acting.any():
            actor = int(acting.argmax())
            self.parameters = sampled_update(self.parameters, attacked, actor, present, noticed, float(stream.random()))

    def _opponents(self, weights: Floats) -> list[Opponent]:
        """Return the adversaries if budgets or purchases must be foreseen, else none."""
        setting = self.model.setting
        if setting.foresees == "holdings" or setting.is_fixed(self.policy):
            return []
        believed, opponents = not setting.knows_truth, []
        for each, weight in zip(self.model.adversaries, weights.tolist(), strict=True):
            profile = each.profile.believed if believed and each.profile.believed else each.profile
            holds = self._expected_holdings(each)
            opponents.append(Opponent(profile, weight, holds, each.expected_accuracy, believed=believed))
        return opponents if any(opponent.is_open for opponent in opponents) else []

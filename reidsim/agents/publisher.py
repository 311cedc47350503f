"""The publisher agent: beliefs about adversaries, releases and learning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import mesa
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.beliefs import expected_update, sampled_update
from reidsim.agents.foresight import Opponent, foreseeing_choice
from reidsim.agents.memory import part_of
from reidsim.agents.model_state import ModelState
from reidsim.agents.presence import expected_presence_update, sampled_presence_update
from reidsim.agents.profile import Holdings, Setting
from reidsim.agents.publishing import believed_game
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.releases.strategy_space import Rows, Strategies

if TYPE_CHECKING:
    from reidsim.agents.adversary import Adversary

Floats = NDArray[np.float64]


class _Met(NamedTuple):
    """Inputs of a choice other than beliefs; any change triggers a new choice.

    Attributes
    ----------
    holdings : tuple of frozenset of str
        Resources that each adversary is expected to hold.
    setting : Setting
        Setting of the round; it changes with the participants if group sizes count participants only.
    participants : tuple of int, optional
        Number of released records of each cell, if budgets or purchases are foreseen.
    round_number : int, optional
        Number of the round, if purchases are foreseen.
    """

    holdings: tuple[Holdings, ...]
    setting: Setting
    participants: tuple[int, ...] | None = None
    round_number: int | None = None


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

    model: ModelState

    def __init__(self, model: ModelState, policy: str) -> None:
        super().__init__(model)
        self.policy = policy
        learning = model.setting.learning
        self.parameters: Floats | None = None if learning is None else learning.prior.copy()
        self.choice: Choice | None = None
        self.changed = np.zeros(model.setting.n_cells)
        self._rule: Choice | None = None
        # Cell and participation of each subject at the time of the choice.
        self._released = model.setting.cell_of_subject, model.columns.participates
        self._solved_for: tuple[Floats, _Met] | None = None
        self._found: tuple[tuple[object, ...], Choice] | None = None

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
        model, setting = self.model, self.model.setting
        adversaries = model.adversaries
        weights = self.beliefs * np.array([adversary.free for adversary in adversaries])
        expected = np.array([adversary.expected_accuracy for adversary in adversaries])
        believed = np.concatenate([weights, expected])
        holdings = tuple(self._expected_holdings(adversary) for adversary in adversaries)
        opponents = self._opponents(weights)
        met = _Met(holdings, setting)
        if opponents:
            # Purchases and affordable attacks depend on the number of records; purchases also on the rounds left.
            for_sale = any(opponent.is_buyer for opponent in opponents)
            met = met._replace(
                participants=tuple(model.participants.tolist()), round_number=model.round_number if for_sale else None
            )
        if self.choice is not None and self._is_as_before(believed, met):
            self.changed = np.zeros(setting.n_cells)
            return
        before = self.choice
        if setting.is_fixed(self.policy) and setting.planned is None:
            if self._rule is None:
                self._rule = setting.solve(self.policy, self._game(weights, setting))
            self.choice = self._rule if setting.known is None else of_rows(self._rule, setting.known.cells)
        elif opponents:
            rounds_left = setting.rounds - model.round_number + 1
            self.choice = foreseeing_choice(setting, self.policy, opponents, model.participants, rounds_left)
        else:
            self.choice = self._reply(weights)
        if setting.known is not None and setting.known.gone.any():
            self.choice = replace(self.choice, strategies=setting.released(self.choice.strategies))
        self._solved_for = believed, met
        self.changed = np.zeros(setting.n_cells) if before is None else self._changes(before.strategies)
        self._released = setting.cell_of_subject, model.columns.participates

    def _reply(self, weights: Floats) -> Choice:
        """Return the policy's choice, given the adversaries and the earlier releases."""
        setting = self.model.setting
        known, reply = setting.known, setting.reply_of(self.policy)
        if known is not None and known.planned is not None:
            return Choice(known.planned, self.policy, np.zeros(setting.n_cells, dtype=np.int64), exact=False)
        if known is None or reply == "to-past":
            return self._solved(setting, weights)
        choice = of_rows(self._solved(known.alone, weights), known.cells)
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

    def _solved(self, setting: Setting, weights: Floats) -> Choice:
        """Return the policy's choice in a setting, cached until setting or beliefs change."""
        adversaries = self.model.adversaries
        held = [(self._expected_holdings(each), each.expected_accuracy) for each in adversaries]
        given = setting, held, weights.tolist()
        if self._found is None or self._found[0] != given:
            self._found = given, setting.solve(self.policy, self._game(weights, setting))
        return self._found[1]

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
        plans = [adversary.plan for adversary in model.adversaries]
        attacked = np.stack([plan.targets for plan in plans if plan is not None])
        acting = np.array([adversary.acts for adversary in model.adversaries])
        present = np.array([adversary.was_free for adversary in model.adversaries])
        noticed, any_number = setting.learning.noticed, setting.meeting == "all"
        stream = setting.stream("notices", "publisher", model.round_number)
        if setting.mode == "expectation":
            if any_number:
                self.parameters = expected_presence_update(self.parameters, attacked, acting, present, noticed, stream)
            else:
                self.parameters = expected_update(self.parameters, attacked, acting, present, noticed)
        elif any_number:
            draws = stream.random(len(acting)).tolist()
            self.parameters = sampled_presence_update(self.parameters, attacked, acting, present, noticed, draws)
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

    def _is_as_before(self, believed: Floats, met: _Met) -> bool:
        if self._solved_for is None or self._solved_for[1] != met:
            return False
        return bool(np.abs(believed - self._solved_for[0]).max() <= self.model.setting.tolerance)

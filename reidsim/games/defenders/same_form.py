"""Defenders who must treat all records alike: one form for the whole dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.linkage.number_checks import check_share
from reidsim.releases.strategy_space import Floats

_MOST_FORMS = 1_000_000


@dataclass(frozen=True, eq=False)
class SameForm:
    """Picks the one form for all records that pays most in sum.

    Forms are taken in order of falling benefit in sum, which bounds the payoff in sum, until the bound is below the
    best payoff found; so the choice is exact. Of equal sums the lowest number wins.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    suppresses : bool
        Whether records that pay nothing in the form are withheld, as in full-domain generalization with suppression
        (Prasser et al. 2017). Without it all are shared, or none.
    limit : float
        Share of the records that may be withheld (rounded down), where `suppresses`.
    no_attack : bool
        Withhold the attacked records where `suppresses`, or else only take forms in which no record is attacked.
    minimum : int
        Only forms at least as protective as this one; any, if 0.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    plans: ClassVar[bool] = True

    name: str = "full-domain"
    weights: NDArray[np.int64] | None = None
    suppresses: bool = False
    limit: float = 1.0
    no_attack: bool = False
    minimum: int = 0

    def __post_init__(self) -> None:
        check_share("limit", self.limit)

    def choose(self, game: Game) -> Choice:
        """Return the same form for all records that are shared; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million forms.
        """
        plain = self.weights is None and not (self.suppresses or self.no_attack or self.minimum)
        if plain and isinstance(game, MaskingGame) and game.is_compiled:
            return same_strategy(game)
        return self._search(record_game_of(game))

    def _search(self, game: RecordGame) -> Choice:
        n, size = game.n_records, game.space.size
        if size > _MOST_FORMS:
            raise InputError(
                "too many forms to compare", where=self.name, found=size, expected=f"at most {_MOST_FORMS:,}"
            )
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        tie = INDIFFERENCE * float(weights @ (game.benefit + game.loss))
        minimum = np.array([self.minimum])
        allowed = [form for form in range(size) if not self.minimum or game.space.at_least(form, minimum)[0]]
        bounds = np.array([weights @ game.benefit_of(form) for form in allowed])
        # Nothing released pays 0, and any number of records may then be withheld.
        best, chosen, evaluated = 0.0, np.full(n, WITHHELD, dtype=np.int64), 0
        found = False
        form_held = size
        for position in np.argsort(-bounds, kind="stable").tolist():
            form = allowed[position]
            if bounds[position] < best - tie:
                break
            evaluated += 1
            outcome = game.outcome(form)
            shared = self._shared(outcome.publisher_payoff, outcome.response.attacks, game)
            if shared is None or weights[~shared].sum() > self._most_withheld(weights):
                continue
            total = float(weights[shared] @ outcome.publisher_payoff[shared])
            if total > best + tie or (total >= best - tie and (not found or form < form_held)):
                best, found, form_held = total, True, form
                chosen = np.where(shared, form, WITHHELD)
        return Choice(chosen, "same-form", np.full(n, evaluated, dtype=np.int64), exact=True)

    def _most_withheld(self, weights: Floats) -> float:
        return math.floor(self.limit * weights.sum()) if self.suppresses else 0.0

    def _shared(self, payoff: Floats, attacks: NDArray[np.bool_], game: RecordGame) -> NDArray[np.bool_] | None:
        """Tell which records are shared in a form; None if the form is not allowed."""
        if not self.suppresses:
            return None if self.no_attack and attacks.any() else np.ones(len(payoff), dtype=np.bool_)
        pays = payoff > game.tie()
        return np.asarray(pays & ~attacks if self.no_attack else pays)

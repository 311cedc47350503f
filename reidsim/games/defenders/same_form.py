"""Defenders who must treat all records alike: one form for the whole dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.attributes import AdmissibleGroups
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, Choice, Outcome, RecordGame
from reidsim.linkage.number_checks import check_share, most_within
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Floats, Rows


class FormOfAll(NamedTuple):
    """The best form of some records, and what comes of it.

    Attributes
    ----------
    form : int
        ``WITHHELD`` (-1) if nothing that is allowed pays.
    shared : ndarray of bool, shape (n_rows,)
        Which of the records are shared in it.
    payoff : float
        In sum, in currency units.
    evaluated : int
        Forms computed.
    """

    form: int
    shared: NDArray[np.bool_]
    payoff: float
    evaluated: int


@dataclass(frozen=True, eq=False)
class Withholding:
    """A defender who plans for all records together and may withhold some of them.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    limit : float
        Share of the records that may be withheld (rounded down).
    no_attack : bool
        Withhold the records that would be attacked.
    minimum : int
        Only forms at least as protective as this one; any, if 0.
    admissible : AdmissibleGroups, optional
        Withhold the records of groups that do not keep to the limits on sensitive attributes.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    plans: ClassVar[bool] = True

    name: str
    weights: NDArray[np.int64] | None = None
    limit: float = 1.0
    no_attack: bool = False
    minimum: int = 0
    admissible: AdmissibleGroups | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_share("limit", self.limit)

    def weights_of(self, rows: Rows) -> Floats:
        """Return the records that some rows stand for, shape (n_rows,)."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class SameForm(Withholding):
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

    name: str = "full-domain"
    suppresses: bool = False

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
        found = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies = np.where(found.shared, found.form, WITHHELD).astype(np.int64)
        return Choice(strategies, "same-form", np.full(len(strategies), found.evaluated, dtype=np.int64), exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> FormOfAll:
        """Return the best form of some records, as if there were no others to choose for.

        Raises
        ------
        InputError
            If there are more than a million forms.
        """
        require_comparable(self.name, game.space.size)
        weights, withheld = self.weights_of(rows), payoff_of_withholding(game, rows)
        needed, tie = withheld + game.tie(rows), INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        most_withheld = most_within(self.limit, weights.sum()) if self.suppresses else 0
        minimum = np.array([self.minimum])
        allowed = [form for form in range(game.space.size) if not self.minimum or game.space.at_least(form, minimum)[0]]
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in allowed])
        # Any number of records may be withheld if nothing is released.
        best = FormOfAll(WITHHELD, np.zeros(len(rows), dtype=np.bool_), dot(weights, withheld), 0)
        evaluated = 0
        for position in np.argsort(-bounds, kind="stable").tolist():
            if not bounds[position] >= best.payoff - tie:
                break
            form, evaluated = allowed[position], evaluated + 1
            outcome = game.outcome(form, rows)
            shared = self._shared(outcome, needed, self._admitted(form, rows))
            payoff = dot(weights, np.where(shared, outcome.publisher_payoff, withheld))
            first = best.form == WITHHELD or form < best.form
            better = payoff > best.payoff + tie or (payoff >= best.payoff - tie and first)
            if better and (len(rows) == 0 or weights[~shared].sum() <= most_withheld):
                best = FormOfAll(form, shared, payoff, 0)
        return best._replace(evaluated=evaluated)

    def _admitted(self, form: int, rows: Rows) -> NDArray[np.bool_]:
        """Return whether records are in a group within the limits on sensitive attributes."""
        return np.ones(len(rows), dtype=np.bool_) if self.admissible is None else self.admissible.at(form, rows)

    def _shared(self, outcome: Outcome, needed: Floats, admitted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which records are shared in a form, given what each has to pay more than and where it is admitted."""
        invited = outcome.response.invited
        allowed = admitted & ~invited if self.no_attack else admitted
        if not self.suppresses:
            return np.full(len(invited), allowed.all())
        return np.asarray((outcome.publisher_payoff > needed) & allowed)

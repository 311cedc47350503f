"""Full-domain generalization: one strategy for all records of a dataset."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.numerics import dot
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice, Outcome, RecordGame
from reidsim.linkage.number_checks import check_share, most_within
from reidsim.releases.strategy_space import Floats, Rows


class FormOfAll(NamedTuple):
    """The best single strategy for a set of records, and its outcome.

    Attributes
    ----------
    form : int
        The strategy; ``WITHHELD`` (-1) if no allowed strategy pays as much as withholding all records.
    shared : ndarray of bool, shape (n_rows,)
        Whether the record is shared.
    payoff : float
        The publisher's payoff, summed over shared and withheld records, in currency units.
    evaluated : int
        Number of strategies whose payoff was computed.
    """

    form: int
    shared: NDArray[np.bool_]
    payoff: float
    evaluated: int


@dataclass(frozen=True, eq=False)
class Withholding:
    """Base class of defenders that plan for all records together.

    They may withhold some records.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    limit : float
        Share of the records that may be withheld, in [0, 1]; the number of records is rounded down.
    no_attack : bool
        Whether to withhold the records on which an attack pays.
    minimum : int
        Least protective strategy allowed; 0 allows every strategy.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are withheld.

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

    def same_form(self) -> SameForm:
        """Return the defender with one strategy and the same rules, which withholds records that do not pay."""
        own = {item.name: getattr(self, item.name) for item in fields(Withholding)}
        return SameForm(**own, suppresses=True)

    def weights_of(self, rows: Rows) -> Floats:
        """Return the number of records that each of `rows` represents, shape (n_rows,)."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class SameForm(Withholding):
    """Choose the single strategy for all records with the highest total payoff.

    Strategies are evaluated in order of falling total benefit, which is an upper bound of the total payoff. The search
    ends when the bound falls below the best payoff found, so the choice is exact. Of strategies with equal total
    payoff, the lowest number is chosen. If no strategy is allowed or pays as much as withholding, all records are
    withheld.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    suppresses : bool
        Whether records that pay no more than withholding are withheld, as in full-domain generalization with
        suppression (Prasser et al. 2017). If False, either all records are shared or none.
    limit : float
        Share of the records that may be withheld, in [0, 1], if `suppresses`; the number of records is rounded down.
    no_attack : bool
        If `suppresses`, withhold the records on which an attack pays; otherwise allow only strategies under which an
        attack pays on no record.
    minimum : int
        Least protective strategy allowed; 0 allows every strategy.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes. If `suppresses`, withhold the records of groups that violate them; otherwise
        allow only strategies under which no group does.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "full-domain"
    suppresses: bool = False

    def choose(self, game: Game) -> Choice:
        """Return one strategy for all records that are shared; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million strategies, except in a masking game that `same_strategy` solves.
        """
        plain = self.weights is None and not (self.suppresses or self.no_attack or self.minimum)
        if plain and isinstance(game, MaskingGame) and game.is_compiled:
            return same_strategy(game)
        found = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies = np.where(found.shared, found.form, WITHHELD).astype(np.int64)
        return Choice(strategies, "same-form", np.full(len(strategies), found.evaluated, dtype=np.int64), exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> FormOfAll:
        """Return the best single strategy for `rows`, ignoring all other records.

        Without `suppresses`, either all of them are shared or none.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        require_comparable(self.name, game.space.size)
        weights, withheld = self.weights_of(rows), payoff_of_withholding(game, rows)
        needed, tie = withheld + game.tie(rows), INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        most_withheld = most_within(self.limit, weights.sum()) if self.suppresses else 0
        minimum = np.array([self.minimum])
        allowed = [form for form in range(game.space.size) if not self.minimum or game.space.at_least(form, minimum)[0]]
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in allowed])
        # The limit on withheld records does not apply if no record is released.
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
        """Return whether each record's group at a strategy meets the limits, (n_rows,).

        The limits are on sensitive attributes; without limits, the result is true for all records.
        """
        return np.ones(len(rows), dtype=np.bool_) if self.admissible is None else self.admissible.at(form, rows)

    def _shared(self, outcome: Outcome, needed: Floats, admitted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each record is shared under a strategy.

        With `suppresses`, a record is shared if its payoff exceeds `needed` and its release is allowed; otherwise, all
        records are shared if the release of every record is allowed.
        """
        invited = outcome.response.invited
        allowed = admitted & ~invited if self.no_attack else admitted
        if not self.suppresses:
            return np.full(len(invited), allowed.all())
        return np.asarray((outcome.publisher_payoff > needed) & allowed)

"""The interface of defenders, which choose a strategy for each record; best responses and fixed rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.core.numerics import dot
from reidsim.games.directions.best_replies import best_release
from reidsim.games.directions.linker import by_record, directed_linker
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.masking.searches import best_first
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice, Constraint, RecordGame
from reidsim.games.solvers import branch_and_bound
from reidsim.releases.strategy_space import Rows, Strategies

# Largest number of strategies that a defender enumerates; more would take too long.
_MOST_FORMS = 1_000_000

# A masking game is a record game with its own compiled solvers.
Game = RecordGame | MaskingGame


class Defender(Protocol):
    """Interface of a solver or policy that chooses the release of each record.

    Implementations are, for example, `BestReply`, which depends on the adversary, and `FixedForms`, which does not.
    """

    @property
    def name(self) -> str:
        """Name of the defender in results."""
        ...

    @property
    def plans(self) -> bool:
        """Whether the defender's choice depends on the adversary.

        If not, the choice is the same in games that differ only in their adversaries.
        """
        ...

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record in the game that the defender believes in.

        A strategy of -1 withholds the record; see `Choice`.

        Raises
        ------
        InputError
            If the defender cannot play this game.
        """
        ...


def paid_in(defender: Defender, game: Game, choice: Choice) -> Game:
    """Return the game in which the payoffs of a defender's choice are evaluated.

    Most defenders receive the payoffs of the true game. A defender has a method `paid_in` that returns another game if
    its choice changes the linkage, or if it is defined against an adversary with less background knowledge.

    Parameters
    ----------
    defender : Defender
        Defender that made the choice.
    game : RecordGame or MaskingGame
        The true game.
    choice : Choice
        The defender's choice.

    Returns
    -------
    RecordGame or MaskingGame
        `game` itself, if the defender has no such method.
    """
    own: Callable[[Game, Choice], Game] | None = getattr(defender, "paid_in", None)
    return game if own is None else own(game, choice)


def require_comparable(name: str, n_forms: int) -> None:
    """Check that a defender can enumerate the strategies of a game.

    `n_forms` is the number of strategies; `name` is the defender's name, for the message only.

    Raises
    ------
    InputError
        If there are more than a million strategies.
    """
    if n_forms > _MOST_FORMS:
        raise InputError("too many releases to compare", where=name, found=n_forms, expected=f"at most {_MOST_FORMS:,}")


def record_game_of(game: Game) -> RecordGame:
    """Return a game as a record game: the record game of a masking game, or itself."""
    return game.record_game if isinstance(game, MaskingGame) else game


def outcome_of(game: Game, choice: Choice) -> Equilibrium:
    """Return the outcome of a choice in the game with the true parameters.

    The result is an `Equilibrium`. In a masking game, compiled functions compute it; otherwise, see `evaluate`.
    """
    return game.evaluate(choice) if isinstance(game, MaskingGame) else evaluate(game, choice)


def withholding(game: Game, choice: Choice) -> Choice:
    """Return a choice in which unprofitable records are withheld in addition.

    Records whose payoff in `game` is below the payoff of withholding get strategy -1. The payoff of withholding is 0,
    or the payoff that an earlier release of the record leaves. Records with equal payoffs (within the tie tolerance)
    are not withheld.
    """
    payoff = outcome_of(game, choice).publisher_payoff - payoff_of_withholding(record_game_of(game))
    allowance = INDIFFERENCE * (np.asarray(game.benefit) + np.asarray(game.loss))
    strategies = np.where(payoff >= -allowance, choice.strategies, WITHHELD)
    return Choice(strategies, choice.solver, choice.evaluated, choice.exact)


@dataclass(frozen=True)
class BestReply:
    """Choose for each record the release with the highest payoff.

    The search is branch and bound or, in a masking game, best-first search. If the adversary links people to all
    released records, the choice for one record changes the group sizes of other records. The search is then exact for
    one record at a time; see `reidsim.games.directions.best_replies`.

    Parameters
    ----------
    name : str
        Name in results.
    no_attack : bool
        Whether to consider only releases that the adversary does not attack.
    may_withhold : bool
        Whether a record is withheld if its best payoff is below the payoff of withholding (0 without earlier releases).
        A masking game always allows this.
    """

    plans: ClassVar[bool] = True

    name: str = "basic"
    no_attack: bool = False
    may_withhold: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record with the highest payoff in a game.

        A record without an allowed strategy is withheld (-1). The choice is exact unless the adversary links people to
        all released records; see `BestReply`.
        """
        if isinstance(game, MaskingGame):
            return best_first(game, no_attack=self.no_attack)
        constraint = Constraint(no_attack=self.no_attack)
        if (linker := directed_linker(game)) is not None:
            alone = branch_and_bound(by_record(game), constraint)
            return best_release(game, linker, alone, constraint, may_withhold=self.may_withhold)
        choice = branch_and_bound(game, constraint)
        return withholding(game, choice) if self.may_withhold else choice


@dataclass(frozen=True, eq=False)
class SameForm:
    """Choose the single strategy for all records with the highest total payoff.

    Either all records are shared or none. Strategies are evaluated in order of falling total benefit, which is an upper
    bound of the total payoff. The search ends when the bound falls below the best payoff found, so the choice is exact.
    Of strategies with equal total payoff, the lowest number is chosen. If no strategy is allowed or pays as much as
    withholding, all records are withheld.

    Parameters
    ----------
    name : str
        Name in results.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    no_attack : bool
        Whether to allow only strategies under which an attack pays on no record.
    """

    plans: ClassVar[bool] = True

    name: str = "full-domain"
    weights: NDArray[np.int64] | None = None
    no_attack: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the best single strategy for all records, or withhold all (-1).

        Raises
        ------
        InputError
            If there are more than a million strategies, except in a masking game that `same_strategy` solves.
        """
        if isinstance(game, MaskingGame) and game.is_compiled and self.weights is None and not self.no_attack:
            return same_strategy(game)
        form, evaluated = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies, evaluations = (np.full(game.n_records, each, dtype=np.int64) for each in (form, evaluated))
        return Choice(strategies, "same-form", evaluations, exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> tuple[int, int]:
        """Return the best single strategy for `rows`, and how many were evaluated.

        `rows` are record numbers; all other records are ignored. The strategy is ``WITHHELD`` (-1) if no allowed
        strategy pays as much as withholding all of `rows`.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        require_comparable(self.name, game.space.size)
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)
        tie = INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in range(game.space.size)])
        best, most, evaluated = WITHHELD, dot(weights, payoff_of_withholding(game, rows)), 0
        for form in np.argsort(-bounds, kind="stable").tolist():
            if not bounds[form] >= most - tie:
                break
            outcome, evaluated = game.outcome(form, rows), evaluated + 1
            payoff = dot(weights, outcome.publisher_payoff)
            better = payoff > most + tie or (payoff >= most - tie and (best == WITHHELD or form < best))
            if better and not (self.no_attack and outcome.response.invited.any()):
                best, most = form, payoff
        return best, evaluated


@dataclass(frozen=True)
class OptIn:
    """Share a record unchanged if this pays more than withholding; else withhold it.

    Parameters
    ----------
    name : str
        Name in results.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them without generalization are also withheld.
    """

    plans: ClassVar[bool] = True

    name: str = "opt-in"
    admissible: AdmissibleGroups | None = None

    def choose(self, game: Game) -> Choice:
        """Return the better of sharing and withholding for each record; see `Defender`.

        Sharing means the most specific strategy, without generalization. A record is withheld (-1) if sharing does not
        pay more than withholding, or if its group violates `admissible`.
        """
        n = game.n_records
        everything = np.full(n, record_game_of(game).space.most_specific, dtype=np.int64)
        evaluated = np.ones(n, dtype=np.int64)
        payoff = outcome_of(game, Choice(everything, self.name, evaluated, exact=False)).publisher_payoff
        worth = payoff > payoff_of_withholding(record_game_of(game))
        if self.admissible is not None:
            worth &= self.admissible.at(record_game_of(game).space.most_specific)
        return Choice(np.where(worth, everything, WITHHELD), self.name, evaluated, exact=True)


@dataclass(frozen=True, eq=False)
class FixedForms:
    """Release each record by a prescribed strategy, independent of the adversary.

    Parameters
    ----------
    name : str
        Name in results.
    strategies : int or ndarray of int64, shape (n_records,)
        The prescribed strategies; ``WITHHELD`` (-1) for records that are not shared.
    """

    plans: ClassVar[bool] = False

    name: str
    strategies: int | Strategies

    def choose(self, game: Game) -> Choice:
        """Return the prescribed strategy of each record, whatever the adversary.

        If one number is prescribed, it applies to all records. The choice is not exact, and no strategy is evaluated.
        """
        n = game.n_records
        strategies = np.broadcast_to(np.asarray(self.strategies, dtype=np.int64), (n,)).copy()
        return Choice(strategies, self.name, np.zeros(n, dtype=np.int64), exact=False)

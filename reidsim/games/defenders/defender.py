"""The interface of defenders, which choose a strategy for each record of a game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.masking.game import MaskingGame
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, Choice, RecordGame

# Largest number of strategies that a defender enumerates; more would take too long.
_MOST_FORMS = 1_000_000

# A masking game is a record game with its own compiled solvers.
Game = RecordGame | MaskingGame


class Defender(Protocol):
    """A solver or policy that chooses the release of each record."""

    @property
    def name(self) -> str:
        """Name in results."""
        ...

    @property
    def plans(self) -> bool:
        """Whether the choice depends on the adversary.

        If not, the choice is the same in games that differ only in their adversaries.
        """
        ...

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record in the game that the defender believes in.

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
    game : RecordGame or MaskingGame
        The true game.
    choice : Choice
        The defender's choice.
    """
    own: Callable[[Game, Choice], Game] | None = getattr(defender, "paid_in", None)
    return game if own is None else own(game, choice)


def require_comparable(name: str, n_forms: int) -> None:
    """Check that there are few enough strategies for a defender to enumerate.

    Raises
    ------
    InputError
        If there are more than a million strategies; the message names the defender, `name`.
    """
    if n_forms > _MOST_FORMS:
        raise InputError("too many releases to compare", where=name, found=n_forms, expected=f"at most {_MOST_FORMS:,}")


def record_game_of(game: Game) -> RecordGame:
    """Return the game as a record game, for solvers of record games."""
    return game.record_game if isinstance(game, MaskingGame) else game


def outcome_of(game: Game, choice: Choice) -> Equilibrium:
    """Return the outcome of a choice; see `evaluate`.

    In a masking game, compiled functions compute it.
    """
    return game.evaluate(choice) if isinstance(game, MaskingGame) else evaluate(game, choice)


def withholding(game: Game, choice: Choice) -> Choice:
    """Withhold the records whose payoff is below the payoff of withholding.

    The payoff of withholding is 0, or the payoff that an earlier release of the record leaves. Records with equal
    payoffs (within the tie tolerance) are not withheld.
    """
    payoff = outcome_of(game, choice).publisher_payoff - payoff_of_withholding(record_game_of(game))
    allowance = INDIFFERENCE * (np.asarray(game.benefit) + np.asarray(game.loss))
    strategies = np.where(payoff >= -allowance, choice.strategies, WITHHELD)
    return Choice(strategies, choice.solver, choice.evaluated, choice.exact)

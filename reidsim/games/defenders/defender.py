"""What every defender can do: given a game, pick a form for each record."""

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

_MOST_FORMS = 1_000_000

# A masking game is a record game with compiled solvers of its own.
Game = RecordGame | MaskingGame


class Defender(Protocol):
    """A solver or policy."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def plans(self) -> bool:
        """Whether the choice depends on the adversary; if not, it is the same in games that differ by that alone."""
        ...

    def choose(self, game: Game) -> Choice:
        """Return the form of each record, chosen in the game that the defender believes in.

        Raises
        ------
        InputError
            If the defender cannot play this game.
        """
        ...


def paid_in(defender: Defender, game: Game, choice: Choice) -> Game:
    """Return the game in which a defender's choice is paid, given the true one.

    Most are paid in the game itself. One whose choice changes what linkage yields, or that is by definition about an
    adversary who knows less, says so by a method `paid_in`.
    """
    own: Callable[[Game, Choice], Game] | None = getattr(defender, "paid_in", None)
    return game if own is None else own(game, choice)


def require_comparable(name: str, n_forms: int) -> None:
    """Check that a defender who looks at all forms can.

    Raises
    ------
    InputError
        If there are more than a million forms; names the defender.
    """
    if n_forms > _MOST_FORMS:
        raise InputError("too many releases to compare", where=name, found=n_forms, expected=f"at most {_MOST_FORMS:,}")


def record_game_of(game: Game) -> RecordGame:
    """Return a game as one that every solver of record games takes."""
    return game.record_game if isinstance(game, MaskingGame) else game


def outcome_of(game: Game, choice: Choice) -> Equilibrium:
    """Work out what a choice leads to in a game, by compiled functions where there are any."""
    return game.evaluate(choice) if isinstance(game, MaskingGame) else evaluate(game, choice)


def withholding(game: Game, choice: Choice) -> Choice:
    """Withhold the records that pay less than nothing, or than what was released of them before."""
    payoff = outcome_of(game, choice).publisher_payoff - payoff_of_withholding(record_game_of(game))
    allowance = INDIFFERENCE * (np.asarray(game.benefit) + np.asarray(game.loss))
    strategies = np.where(payoff >= -allowance, choice.strategies, WITHHELD)
    return Choice(strategies, choice.solver, choice.evaluated, choice.exact)

"""Defenders that follow a rule: opt in or out, or prescribed strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reidsim.errors import InputError
from reidsim.games.attributes import AdmissibleGroups
from reidsim.games.defenders.defender import Game, outcome_of, record_game_of
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.releases.strategy_space import Strategies


@dataclass(frozen=True)
class OptIn:
    """Share a record unchanged if this pays more than withholding; else withhold it.

    Parameters
    ----------
    name : str
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them without generalization are also withheld.
    """

    plans: ClassVar[bool] = True

    name: str = "opt-in"
    admissible: AdmissibleGroups | None = None

    def choose(self, game: Game) -> Choice:
        """Return the better of sharing and withholding for each record; see `Defender`.

        A record with equal payoffs is withheld.
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
    strategies : int or ndarray of int64, shape (n_records,)
        The prescribed strategies; ``WITHHELD`` (-1) for records that are not shared.
    """

    plans: ClassVar[bool] = False

    name: str
    strategies: int | Strategies

    def choose(self, game: Game) -> Choice:
        """Return the prescribed strategies; see `Defender`.

        Raises
        ------
        InputError
            If the strategies are for another number of records, or the game has no such strategy.
        """
        n, size = game.n_records, record_game_of(game).space.size
        given = np.asarray(self.strategies, dtype=np.int64)
        if given.shape not in ((), (n,)):
            expected = f"one release, or one for each of {n} records"
            raise InputError(
                "the number of releases differs from the number of records",
                where=self.name,
                found=given.shape,
                expected=expected,
            )
        strategies = np.broadcast_to(given, (n,)).copy()
        if n and not (strategies.min() >= WITHHELD and strategies.max() < size):
            raise InputError(
                "no such release", where=self.name, found=int(strategies.max()), expected=f"a number below {size}"
            )
        return Choice(strategies, self.name, np.zeros(n, dtype=np.int64), exact=False)

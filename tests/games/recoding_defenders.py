"""Policies for whole tables, as defenders of any record game over a lattice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reidsim.games.cross_play import record_game_of
from reidsim.games.full_domain.game import AnyAdversaryGame
from reidsim.games.full_domain.search import local_recoding, multi_dimensional, search
from reidsim.games.record_game import WITHHELD, Choice, Prices


def one_node(game):
    """Return the strategies of the best node."""
    node = search(game).node
    return np.where(game.kept_at(node), node, WITHHELD), True


def in_rounds(game, rounds=100):
    """Return the strategies of local recoding."""
    return local_recoding(game, rounds=rounds).strategies, False


def in_regions(game):
    """Return the strategies of multi-dimensional recoding, and whether it is exact."""
    found = multi_dimensional(game)
    return found.strategies, found.exact


@dataclass(frozen=True, eq=False)
class WholeTable:
    """Plan for all records of a table together."""

    plans: ClassVar[bool] = True

    recode: Callable[[Any], Any]
    name: str = "whole-table"
    weights: Any = None
    limit: float = 1.0
    no_attack: bool = False
    minimum: int = 0

    def choose(self, game):
        """Return the strategies of the recoding."""
        game = record_game_of(game)
        whole = AnyAdversaryGame(
            game.space,
            np.ones(game.n_records, dtype=np.int64) if self.weights is None else self.weights,
            Prices(game.benefit, game.loss, 0.0 * game.benefit, 0.0 * game.loss),
            np.arange(game.n_records),
            no_attack=self.no_attack,
            safe_class="at-least",
            suppression_limit=self.limit,
            minimum=game.space.levels(self.minimum),
            record_game=game,
        )
        strategies, exact = self.recode(whole)
        return Choice(strategies, self.name, np.ones(game.n_records, dtype=np.int64), exact=exact)

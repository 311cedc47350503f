"""Defenders who plan each record on its own: the best reply to the adversary, exact or by greedy search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from reidsim.errors import InputError
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.lattice_search import lattice_search
from reidsim.games.masking.best_first import best_first
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.greedy import greedy
from reidsim.games.record_game import Choice, Constraint
from reidsim.releases.strategy_space import Strategies

Search = Literal["exact", "greedy"]


@dataclass(frozen=True, eq=False)
class BestReply:
    """Picks for each record the form that pays most against the adversary of the game.

    Exact search is branch and bound, or best-first search in a masking game; greedy search is the lattice-based or the
    published greedy search. All are solvers of the papers.

    Parameters
    ----------
    name : str
    no_attack : bool
        Only forms that are not attacked.
    minimum : ndarray of int64, shape (n_records,), optional
        Only forms at least as protective as this one, such as Safe Harbor's.
    may_withhold : bool
        Whether a record whose best form does not pay is withheld (payoff 0). In a masking game it always may be.
    search : {"exact", "greedy"}

    Raises
    ------
    InputError
        If the search is unknown, or cannot meet a constraint.
    """

    plans: ClassVar[bool] = True

    name: str = "basic"
    no_attack: bool = False
    minimum: Strategies | None = None
    may_withhold: bool = False
    search: Search = "exact"

    def __post_init__(self) -> None:
        if self.search not in get_args(Search):
            expected = f"one of {', '.join(get_args(Search))}"
            raise InputError("unknown search", where=self.name, found=self.search, expected=expected)

    def choose(self, game: Game) -> Choice:
        """Return the best form of each record; see `Defender`."""
        if isinstance(game, MaskingGame):
            if self.minimum is not None:
                raise InputError("a masking game has no minimum", where=self.name)
            if self.search == "exact":
                return best_first(game, no_attack=self.no_attack)
            if not game.is_compiled:
                expected = "an attack in two stages, or search 'exact'"
                raise InputError("greedy search of a masking game", where=self.name, expected=expected)
            return greedy(game, no_attack=self.no_attack)
        if self.search == "exact":
            choice = branch_and_bound(game, Constraint(no_attack=self.no_attack, minimum=self.minimum))
        elif self.no_attack or self.minimum is not None:
            raise InputError(
                "greedy search of a lattice cannot meet a constraint", where=self.name, expected="search 'exact'"
            )
        else:
            choice = lattice_search(game)
        return withholding(game, choice) if self.may_withhold else choice

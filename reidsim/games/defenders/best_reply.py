"""Defenders that choose a best response for each record separately."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

from reidsim.errors import InputError, require_among
from reidsim.games.defenders.defender import Game, withholding
from reidsim.games.directions.best_replies import best_release
from reidsim.games.directions.linker import by_record, directed_linker
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import anytime, best_first, greedy
from reidsim.games.record_game import Choice, Constraint
from reidsim.games.solvers import branch_and_bound, lattice_search
from reidsim.releases.strategy_space import Strategies

Search = Literal["exact", "greedy", "anytime"]


@dataclass(frozen=True, eq=False)
class BestReply:
    """Choose for each record the release with the highest payoff.

    Exact search is branch and bound or, in a masking game, best-first search. Greedy search is lattice-based search or,
    in a masking game, the published greedy search. These are the solvers of the papers. Anytime search is available in
    masking games only: it continues from the greedy result within a budget of strategies.

    If the adversary links people to all released records, the choice for one record changes the group sizes of other
    records. Exact search is then exact for one record at a time; see `reidsim.games.directions.best_replies`.

    Parameters
    ----------
    name : str
    no_attack : bool
        Whether to consider only releases that the adversary does not attack.
    minimum : ndarray of int64, shape (n_records,), optional
        Least protective strategy allowed for each record, such as Safe Harbor's; not available in masking games.
    may_withhold : bool
        Whether a record is withheld if its best payoff is below the payoff of withholding (0 without earlier releases).
        A masking game always allows this.
    search : {"exact", "greedy", "anytime"}
    most_evaluated : int
        Maximum number of strategies that anytime search computes for each record after the greedy search.

    Raises
    ------
    InputError
        If the search is unknown.
    """

    plans: ClassVar[bool] = True

    name: str = "basic"
    no_attack: bool = False
    minimum: Strategies | None = None
    may_withhold: bool = False
    search: Search = "exact"
    most_evaluated: int = 20_000

    def __post_init__(self) -> None:
        require_among("unknown search", (self.search,), get_args(Search), where=self.name)

    def choose(self, game: Game) -> Choice:
        """Return the best strategy of each record; see `Defender`.

        Raises
        ------
        InputError
            If the search does not support the game or a constraint: greedy search of a lattice meets no constraint,
            greedy and anytime search of a masking game need a two-stage attack, anytime search needs a masking game,
            and a masking game has no `minimum`.
        """
        if isinstance(game, MaskingGame):
            if self.minimum is not None:
                raise InputError("a masking game does not support a minimum strategy", where=self.name)
            if self.search == "exact":
                return best_first(game, no_attack=self.no_attack)
            if not game.is_compiled:
                expected = "an attack in two stages, or search 'exact'"
                raise InputError(
                    f"{self.search} search does not support this attack", where=self.name, expected=expected
                )
            if self.search == "anytime":
                return anytime(game, most_evaluated=self.most_evaluated, no_attack=self.no_attack)
            return greedy(game, no_attack=self.no_attack)
        if self.search == "anytime":
            raise InputError(
                "anytime search needs a masking game", where=self.name, expected="search 'exact' or 'greedy'"
            )
        if (linker := directed_linker(game)) is not None:
            alone = replace(self, may_withhold=False).choose(by_record(game))
            if self.search == "greedy":
                return withholding(game, alone) if self.may_withhold else alone
            constraint = Constraint(no_attack=self.no_attack, minimum=self.minimum)
            return best_release(game, linker, alone, constraint, may_withhold=self.may_withhold)
        if self.search == "exact":
            choice = branch_and_bound(game, Constraint(no_attack=self.no_attack, minimum=self.minimum))
        elif self.no_attack or self.minimum is not None:
            raise InputError("greedy search does not support constraints", where=self.name, expected="search 'exact'")
        else:
            choice = lattice_search(game)
        return withholding(game, choice) if self.may_withhold else choice

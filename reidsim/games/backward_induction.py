"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

import numpy as np

from reidsim.games.contenders import Contenders
from reidsim.games.record_game import WITHHELD, WORTH_THREADS, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.threads import done_in_threads


class _Held:
    """The best strategies so far of some records, under each constraint."""

    def __init__(self, game: RecordGame, constraints: Mapping[str, Constraint]) -> None:
        n = game.n_records
        self._game, self._constraints, self._tie = game, constraints, game.tie()
        self._best = {name: np.full(n, -np.inf) for name in constraints}
        self.strategies = {name: np.full(n, WITHHELD, dtype=np.int64) for name in constraints}

    def play(self, strategy: int) -> None:
        """Take a strategy where it is better."""
        outcome = self._game.outcome(strategy)
        for name, constraint in self._constraints.items():
            best = self._best[name]
            better = outcome.publisher_payoff > best + self._tie
            if constraint.no_attack or constraint.minimum is not None:
                better &= constraint.allows(self._game.space, strategy, outcome.response.invited)
            best[better] = outcome.publisher_payoff[better]
            self.strategies[name][better] = strategy


def backward_induction(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    *,
    contenders: Contenders | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Choice]:
    """Find the best strategy of every record under each of several constraints, in one pass over the space.

    A strategy replaces the one held when its payoff is larger by more than rounding (`RecordGame.tie`); so among
    equal payoffs the first in lattice order is kept, as in Algorithm 1. Memory is a few arrays of one value per
    record, however large the space.

    Parameters
    ----------
    game : RecordGame
    constraints : mapping of str to Constraint
    contenders : Contenders, optional
        Of this game and each of the constraints: no others are worked out again.
    progress : callable, optional
        Called with strategies done and in all; not where contenders are given, which take an instant.

    Returns
    -------
    dict of str to Choice
        Exact; a record whose constraint no strategy satisfies is withheld. `evaluated` counts all strategies, as those
        that are no contenders were compared before.
    """
    n, size = game.n_records, game.space.size
    if contenders is None or contenders.pairs is None:
        held = _of_all_strategies(game, constraints, progress)
        strategies = {name: np.concatenate([each.strategies[name] for each in held]) for name in constraints}
    else:
        strategies = dict.fromkeys(constraints, contenders.best(game))
    evaluated = np.full(n, size, dtype=np.int64)
    return {name: Choice(strategies[name], "backward-induction", evaluated, exact=True) for name in constraints}


def _of_all_strategies(
    game: RecordGame, constraints: Mapping[str, Constraint], progress: Callable[[int, int], None] | None
) -> list[_Held]:
    """Return the best of all strategies, in parts of the records that are played in threads."""
    size = game.space.size
    parts = game.parts(in_step=True)
    held = [_Held(part, {name: each.of(rows) for name, each in constraints.items()}) for rows, part in parts]
    at_once = 1
    if len(held) > 1 and isinstance(game.linker, PopulationLinker):
        # Until threads wait for each other, so long waits whoever is interrupted.
        at_once = max(1, min(WORTH_THREADS // game.n_records, game.linker.tables_kept))
    for begin in range(0, size, at_once):
        several = range(begin, min(begin + at_once, size))
        # Of two threads one links ahead while the other plays, so that neither waits for what both need.
        ahead = {strategy: Lock() for strategy in several[1:]} if len(held) > 1 else {}

        def play(each: _Held, several: range = several, ahead: Mapping[int, Lock] = ahead) -> None:
            for strategy in several:
                if strategy + 1 in ahead and ahead[strategy + 1].acquire(blocking=False):
                    game.linker.link(strategy + 1, np.empty(0, dtype=np.intp))
                each.play(strategy)

        list(done_in_threads(play, held, len(held)))
        if progress is not None:
            progress(several.stop, size)
    return held

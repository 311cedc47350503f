"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import numpy as np

from reidsim.games.contenders import Contenders
from reidsim.games.record_game import WITHHELD, WORTH_THREADS, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.releases.strategy_space import Rows
from reidsim.threads import done_in_threads


class _Held:
    """The best strategies so far of some records, under each constraint."""

    def __init__(self, game: RecordGame, records: slice, constraints: Mapping[str, Constraint]) -> None:
        n = game.n_records
        self._game, self._records, self._constraints, self._tie = game, records, constraints, game.tie()
        self._best = {name: np.full(n, -np.inf) for name in constraints}
        self.strategies = {name: np.full(n, WITHHELD, dtype=np.int64) for name in constraints}

    def play(self, strategy: int, rows: Rows | None = None) -> None:
        """Take a strategy where it is better, of all records or those of `rows`."""
        outcome, here = self._game.outcome(strategy, rows), slice(None) if rows is None else rows
        for name, constraint in self._constraints.items():
            best = self._best[name]
            better = outcome.publisher_payoff > best[here] + self._tie[here]
            if constraint.no_attack or constraint.minimum is not None:
                better &= constraint.allows(self._game.space, strategy, outcome.response.invited, rows)
            won = better if rows is None else rows[better]
            best[won] = outcome.publisher_payoff[better]
            self.strategies[name][won] = strategy

    def play_listed(self, listed: Sequence[tuple[int, Rows]]) -> None:
        """Do the same of some strategies, each for some records, ascending, of the whole game."""
        for strategy, rows in listed:
            first, last = np.searchsorted(rows, (self._records.start, self._records.stop))
            if first < last:
                self.play(strategy, rows[first:last] - self._records.start)


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
    listed = None if contenders is None else contenders.strategies
    held = [_Held(part, records, {name: each.of(records) for name, each in constraints.items()})
            for records, part in game.parts(in_step=listed is None)]  # fmt: skip
    if listed is None:
        _play_all(game, held, progress)
    else:
        list(done_in_threads(lambda each: each.play_listed(listed), held, len(held)))
    evaluated = np.full(n, size, dtype=np.int64)
    strategies = {name: np.concatenate([each.strategies[name] for each in held]) for name in constraints}
    return {name: Choice(strategies[name], "backward-induction", evaluated, exact=True) for name in constraints}


def _play_all(game: RecordGame, held: Sequence[_Held], progress: Callable[[int, int], None] | None) -> None:
    """Play all strategies in the parts of a game, each in a thread."""
    size = game.space.size
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

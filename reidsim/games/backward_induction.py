"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.contenders import Contenders
from reidsim.games.record_game import WITHHELD, WORTH_THREADS, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.linkage.risk import UniformGuess
from reidsim.populations.domain import Codes
from reidsim.populations.population import Counts
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies
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


class _HeldCompiled(_Held):
    """The same against one attempt at each record, compiled: threads need the interpreter a few times per strategy."""

    def __init__(self, game: RecordGame, constraints: Mapping[str, Constraint]) -> None:
        super().__init__(game, constraints)
        adversary, space, n = game.adversary, game.space, game.n_records
        assert isinstance(adversary, OneShotAdversary)  # noqa: S101 # as `fits` found
        assert isinstance(space, GeneralizationLattice)  # noqa: S101
        self._codes, self._lattice = np.ascontiguousarray(space.codes), space
        amounts = (game.benefit, game.loss, adversary.gain, adversary.cost * np.float64(1 + INDIFFERENCE))
        self._amounts = np.array([np.broadcast_to(each, (n,)) for each in amounts])

    @staticmethod
    def fits(game: RecordGame) -> bool:
        """Tell whether strategies of a game can be played like that."""
        adversary = game.adversary
        return (
            type(adversary) is OneShotAdversary
            and type(adversary.risk) is UniformGuess
            and type(game.space) is GeneralizationLattice
        )

    def play(self, strategy: int) -> None:
        """Take a strategy where it is better."""
        linkage, levels = self._game.linker.link(strategy), self._lattice.levels(strategy)
        columns = [position for position, level in enumerate(levels) if level > 0]
        losses = [self._lattice.losses[position][levels[position]] for position in columns]
        begins = np.cumsum([0, *map(len, losses)])
        lost = (np.array(columns, dtype=np.int64), begins, np.concatenate([*losses, np.zeros(0)]))
        sizes = (np.ascontiguousarray(linkage.group_sizes), np.ascontiguousarray(linkage.believed_group_sizes))
        for name, constraint in self._constraints.items():
            within = np.zeros(0, dtype=np.bool_)
            if constraint.minimum is not None:
                anywhere = np.zeros(self._game.n_records, dtype=np.bool_)
                within = constraint.allows(self._lattice, strategy, anywhere)
            held = (self._best[name], self.strategies[name])
            _take_better(strategy, *sizes, self._codes, *lost, self._amounts, within, constraint.no_attack, *held)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _take_better(
    strategy: int,
    group_sizes: Counts,
    believed_group_sizes: Counts,
    codes: Codes,
    columns: NDArray[np.int64],
    begins: NDArray[np.int64],
    losses: Floats,
    amounts: Floats,
    within: NDArray[np.bool_],
    no_attack: bool,
    best: Floats,
    chosen: Strategies,
) -> None:
    """Take a strategy where it is better than what is held by more than rounding; as `RecordGame.outcome` computes it.

    Parameters
    ----------
    columns, begins, losses : ndarray
        Attributes that are generalized, and where in `losses` the information loss of each of their values begins.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and what an attack must be worth more than.
    within : ndarray of bool, shape (n_records,)
        Where the strategy is at the minimum or above; of no length if there is none.
    best, chosen : ndarray, shape (n_records,)
        What is held.
    """
    benefit, loss, gain, price = amounts
    for i in range(len(group_sizes)):
        attacked = gain[i] * (1.0 / believed_group_sizes[i]) > price[i]
        if (attacked and no_attack) or (len(within) and not within[i]):
            continue
        lost = 0.0
        for j in range(len(columns)):
            lost += losses[begins[j] + codes[i, columns[j]]]
        payoff = benefit[i] * (0.0 if lost > NO_BENEFIT else 1.0 - lost)
        payoff -= loss[i] * (1.0 / group_sizes[i] if attacked else 0.0)
        if payoff > best[i] + INDIFFERENCE * (benefit[i] + loss[i]):
            best[i], chosen[i] = payoff, strategy


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
    kind = _HeldCompiled if _HeldCompiled.fits(game) else _Held
    held = [kind(part, {name: each.of(rows) for name, each in constraints.items()}) for rows, part in parts]
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

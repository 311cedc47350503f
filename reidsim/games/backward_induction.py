"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.linkage.risk import UniformGuess
from reidsim.populations.population import Counts
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# More than rounding makes of a share that is lost.
_SLACK = 1e-9
# Of fewer than this share of the records group sizes are looked up alone.
_FEW = 1 / 3


class _Held:
    """The best strategies so far of some records, under each constraint.

    Parameters
    ----------
    game : RecordGame
    constraints : sequence of Constraint
    """

    def __init__(self, game: RecordGame, constraints: Sequence[Constraint]) -> None:
        shape = (len(constraints), game.n_records)
        self._game, self._constraints, self._tie = game, constraints, game.tie()
        self._best = np.full(shape, -np.inf)
        self.strategies = np.full(shape, WITHHELD, dtype=np.int64)

    def play(self, strategy: int) -> None:
        """Take a strategy where it is better."""
        outcome = self._game.outcome(strategy)
        for best, chosen, constraint in zip(self._best, self.strategies, self._constraints, strict=True):
            better = outcome.publisher_payoff > best + self._tie
            if constraint.no_attack or constraint.restricts_forms:
                better &= constraint.allows(self._game.space, strategy, outcome.response.invited)
            best[better] = outcome.publisher_payoff[better]
            chosen[better] = strategy


class _HeldCompiled(_Held):
    """The same against one attempt at each record, compiled, for records of which a strategy may be best."""

    def __init__(self, game: RecordGame, constraints: Sequence[Constraint]) -> None:
        super().__init__(game, constraints)
        adversary, space, n = game.adversary, game.space, game.n_records
        assert isinstance(adversary, OneShotAdversary)  # noqa: S101 # as `fits` found
        assert isinstance(space, GeneralizationLattice)  # noqa: S101
        self._lattice = space
        # What is lost by all attributes but the last, whose level changes from strategy to strategy.
        self._outer, self._lost_outside = [0] * (len(space.shape) - 1), np.zeros(n)
        amounts = (game.benefit, game.loss, adversary.gain, adversary.cost * np.float64(1 + INDIFFERENCE))
        self._amounts = np.array([np.broadcast_to(each, (n,)) for each in amounts])
        # What may be lost so that a strategy may still win; nothing is held yet.
        self._room = np.full(n, np.inf)
        self._no_attack = np.array([each.no_attack for each in constraints], dtype=np.bool_)

    @staticmethod
    def fits(game: RecordGame) -> bool:
        """Tell whether strategies of a game can be played like that."""
        adversary = game.adversary
        return (
            type(adversary) is OneShotAdversary
            and type(adversary.risk) is UniformGuess
            and isinstance(game.space, GeneralizationLattice)
            and type(game.space).utility is GeneralizationLattice.utility
        )

    def _lost(self, strategy: int) -> tuple[Floats, Floats]:
        """Return what is lost of each record by all attributes but the last, and by the last; of no length if none."""
        *outer, level = self._lattice.levels(strategy)
        *losses, of_last = self._lattice.record_losses
        if outer != self._outer:
            self._outer = outer
            self._lost_outside[:] = 0.0
            for each, above in zip(losses, outer, strict=True):
                if above > 0:
                    self._lost_outside += each[above]
        return self._lost_outside, of_last[level] if level > 0 else np.zeros(0)

    def _within(self, strategy: int, rows: Rows) -> NDArray[np.bool_]:
        """Return where the strategy is allowed without attacks, (n_constraints, n_rows); of no length if everywhere."""
        if not any(each.restricts_forms for each in self._constraints):
            return np.zeros((0, 0), dtype=np.bool_)
        anywhere = np.zeros(len(rows), dtype=np.bool_)
        return np.array([each.allows(self._lattice, strategy, anywhere, rows) for each in self._constraints])

    def play(self, strategy: int) -> None:
        """Take a strategy where it is better."""
        rows = _within_room(*self._lost(strategy), self._room)
        if not len(rows):
            return
        few = len(rows) < _FEW * self._game.n_records
        linkage = self._game.linker.link(strategy, rows if few else None)
        sizes, believed = linkage.group_sizes, linkage.believed_group_sizes
        _take_better(
            strategy,
            rows,
            np.ascontiguousarray(sizes if few else sizes[rows]),
            np.ascontiguousarray(believed if few else believed[rows]),
            *self._lost(strategy),
            self._amounts,
            self._within(strategy, rows),
            self._no_attack,
            self._best,
            self.strategies,
            self._room,
        )


@numba.njit(cache=True)
def _within_room(outside: Floats, last: Floats, room: Floats) -> Rows:
    """Return the records of which no more is lost than may be; for the parameters see `_take_better`."""
    rows, found = np.empty(len(outside), dtype=np.intp), 0
    for i in range(len(outside)):
        rows[found] = i
        found += (outside[i] + last[i] if len(last) else outside[i]) <= room[i]
    return rows[:found]


@numba.njit(cache=True, error_model="numpy")
def _take_better(
    strategy: int,
    rows: Rows,
    group_sizes: Counts,
    believed_group_sizes: Counts,
    outside: Floats,
    last: Floats,
    amounts: Floats,
    within: NDArray[np.bool_],
    no_attack: NDArray[np.bool_],
    best: Floats,
    chosen: Strategies,
    room: Floats,
) -> None:
    """Take a strategy where it is better than what is held by more than rounding; as `RecordGame.outcome` computes it.

    Parameters
    ----------
    rows : ndarray of int, shape (n_rows,)
        Records that are compared; `group_sizes` and `within` are of these alone.
    outside, last : ndarray of float64, shape (n_records,)
        Information lost by all attributes but the last, and by the last, of no length if that is as it was.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and what an attack must be worth more than.
    within : ndarray of bool, shape (n_constraints, n_rows)
        Where the strategy is allowed if nobody attacks; of no length if everywhere.
    no_attack : ndarray of bool, shape (n_constraints,)
        Constraints under which nobody may be attacked.
    best, chosen : ndarray, shape (n_constraints, n_records)
        What is held.
    room : ndarray of float64, shape (n_records,)
        How much may be lost at most so that a strategy may win under any of the constraints: without an attack, which
        never makes it pay more. A little more than that, as it is computed otherwise.
    """
    benefit, loss, gain, price = amounts
    for place in range(len(rows)):
        i = rows[place]
        lost = outside[i] + last[i] if len(last) else outside[i]
        payoff, tie = benefit[i] * (0.0 if lost > NO_BENEFIT else 1.0 - lost), INDIFFERENCE * (benefit[i] + loss[i])
        attacked = gain[i] * (1.0 / believed_group_sizes[place]) > price[i]
        payoff -= loss[i] * (1.0 / group_sizes[place] if attacked else 0.0)
        least = np.inf
        for k in range(len(no_attack)):
            allowed = not (attacked and no_attack[k]) and (not len(within) or within[k, place])
            if allowed and payoff > best[k, i] + tie:
                best[k, i], chosen[k, i] = payoff, strategy
            least = min(least, best[k, i])
        # Without benefit nothing pays more than 0.
        if least + tie >= 0:
            room[i] = 1.0 - (least + tie) / benefit[i] + _SLACK if benefit[i] > 0 else -np.inf


def backward_induction(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    *,
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
    progress : callable, optional
        Called with strategies done and in all.

    Returns
    -------
    dict of str to Choice
        Exact; a record whose constraint no strategy satisfies is withheld.
    """
    n, size = game.n_records, game.space.size
    held = (_HeldCompiled if _HeldCompiled.fits(game) else _Held)(game, list(constraints.values()))
    for strategy in range(size):
        held.play(strategy)
        if progress is not None:
            progress(strategy + 1, size)
    evaluated = np.full(n, size, dtype=np.int64)
    return {
        name: Choice(strategies, "backward-induction", evaluated, exact=True)
        for name, strategies in zip(constraints, held.strategies, strict=True)
    }

"""Backward induction over all strategies (Wan et al. 2015, Algorithm 1)."""

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

# Tolerance for a share of information lost; larger than its rounding error.
_SLACK = 1e-9
# Below this fraction of records, group sizes are computed for these records only, otherwise for all.
_FEW = 1 / 3


class _Held:
    """Best strategy found so far for each record, under each constraint.

    `strategies`, shape (n_constraints, n_records), is ``WITHHELD`` (-1) where none is allowed so far.

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
        """Replace the best strategy where this one is allowed and pays more.

        The difference must exceed the tie tolerance.
        """
        outcome = self._game.outcome(strategy)
        for best, chosen, constraint in zip(self._best, self.strategies, self._constraints, strict=True):
            better = outcome.publisher_payoff > best + self._tie
            if constraint.no_attack or constraint.restricts_forms:
                better &= constraint.allows(self._game.space, strategy, outcome.response.invited)
            best[better] = outcome.publisher_payoff[better]
            chosen[better] = strategy


class _HeldCompiled(_Held):
    """Compiled version for one-shot adversaries on a lattice (`fits`).

    It skips records that a strategy cannot improve.
    """

    def __init__(self, game: RecordGame, constraints: Sequence[Constraint]) -> None:
        super().__init__(game, constraints)
        adversary, space, n = game.adversary, game.space, game.n_records
        assert isinstance(adversary, OneShotAdversary)  # noqa: S101 # as `fits` found
        assert isinstance(space, GeneralizationLattice)  # noqa: S101
        self._lattice = space
        # Information loss of all attributes but the last. Kept, since mostly only the last level changes between
        # consecutive strategies.
        self._outer, self._lost_outside = [0] * (len(space.shape) - 1), np.zeros(n)
        amounts = (game.benefit, game.loss, adversary.gain, adversary.cost * np.float64(1 + INDIFFERENCE))
        self._amounts = np.array([np.broadcast_to(each, (n,)) for each in amounts])
        # Largest information loss at which a strategy can still beat the current best; no best exists yet.
        self._room = np.full(n, np.inf)
        self._no_attack = np.array([each.no_attack for each in constraints], dtype=np.bool_)

    @staticmethod
    def fits(game: RecordGame) -> bool:
        """Return whether the compiled version supports a game.

        Supported are one-shot adversaries who guess uniformly within a group, on a lattice with the usual utility.
        """
        adversary = game.adversary
        return (
            type(adversary) is OneShotAdversary
            and type(adversary.risk) is UniformGuess
            and isinstance(game.space, GeneralizationLattice)
            and type(game.space).utility is GeneralizationLattice.utility
        )

    def _lost(self, strategy: int) -> tuple[Floats, Floats]:
        """Return the information loss of all attributes but the last, and of the last.

        Both arrays have one entry per record; the second is empty if the last attribute has level 0.
        """
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
        """Return whether the strategy is allowed for each of `rows` if no attack pays.

        The shape is (n_constraints, n_rows). The array is empty if every constraint allows all strategies without
        attacks.
        """
        if not any(each.restricts_forms for each in self._constraints):
            return np.zeros((0, 0), dtype=np.bool_)
        anywhere = np.zeros(len(rows), dtype=np.bool_)
        return np.array([each.allows(self._lattice, strategy, anywhere, rows) for each in self._constraints])

    def play(self, strategy: int) -> None:
        """Replace the best strategy where this one is allowed and pays more.

        The difference must exceed the tie tolerance.
        """
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
    """Return the records whose information loss is at most `room`, ascending.

    For the parameters see `_take_better`.
    """
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
    """Replace the best strategy where `strategy` is allowed and its payoff is larger.

    The difference must exceed the tie tolerance. The payoff is computed as in `RecordGame.outcome`.

    Parameters
    ----------
    rows : ndarray of int, shape (n_rows,)
        Records to compare; `group_sizes`, `believed_group_sizes` and `within` cover these records only.
    outside, last : ndarray of float64, shape (n_records,)
        Information loss of all attributes but the last, and of the last; `last` is empty at level 0.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and cost of an attack including the tie tolerance, in currency units. An attack pays if its
        expected gain exceeds this cost.
    within : ndarray of bool, shape (n_constraints, n_rows)
        Whether the strategy is allowed without an attack; empty if it is allowed for all records.
    no_attack : ndarray of bool, shape (n_constraints,)
        Constraints that forbid attacks.
    best, chosen : ndarray, shape (n_constraints, n_records)
        Best payoff and its strategy so far; modified in place.
    room : ndarray of float64, shape (n_records,)
        Largest information loss at which a strategy can still win under one of the constraints; modified in place. The
        bound assumes no attack, since an attack never raises the payoff. It includes `_SLACK`, since it is computed by
        another formula than the payoff.
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
        # A strategy of a record without benefit pays at most 0, so it cannot beat a best payoff of 0.
        if least + tie >= 0:
            room[i] = 1.0 - (least + tie) / benefit[i] + _SLACK if benefit[i] > 0 else -np.inf


def backward_induction(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Choice]:
    """Return the best strategy of every record under each constraint.

    The search makes one pass over the space. A strategy replaces the best so far if its payoff is larger by more than
    the tie tolerance (`RecordGame.tie`). Among equal payoffs, the first strategy in lattice order is therefore kept, as
    in Algorithm 1. Memory is a few arrays with one value per record and constraint, independent of the size of the
    space.

    Parameters
    ----------
    game : RecordGame
    constraints : mapping of str to Constraint
    progress : callable, optional
        Called with the number of strategies done and the total number.

    Returns
    -------
    dict of str to Choice
        Exact choices, by name of the constraint; a record is withheld if no strategy satisfies the constraint.
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

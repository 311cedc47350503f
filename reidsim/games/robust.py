"""Robust best responses over a set of parameter points.

The true parameter point is not known when the records are shared. Three criteria rank a strategy by its payoffs at all
points: the worst payoff (maximin, Wald 1945), the largest difference from the best strategy of each point (minimax
regret, Savage 1951), and a low quantile of the payoffs. Each record is decided separately, so the worst point may
differ by record: the sum of the records' worst payoffs is a lower bound of the worst sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.strategy_space import Floats, Rows

Criterion = Literal["maximin", "minimax-regret", "quantile"]
CRITERIA: tuple[Criterion, ...] = ("maximin", "minimax-regret", "quantile")
# Largest number of strategies; all are evaluated at all points, so more would take too long.
_MOST_STRATEGIES = 5_000_000
# Limit on points x records in memory at once; a larger limit takes more memory and fewer passes over the strategies.
_CHUNK = 2_000_000


@dataclass(frozen=True)
class RobustChoice:
    """Strategies that a criterion selects, and their values.

    Parameters
    ----------
    choice : Choice
        One strategy per record.
    value : ndarray of float64, shape (n_records,)
        Value of the criterion for the chosen strategy over the parameter points, in currency units per record: worst
        payoff, largest regret (lower is better) or quantile of payoffs; 0 where the record is withheld.
    """

    choice: Choice
    value: Floats


def lower_quantile(payoffs: Floats, level: float) -> Floats:
    """Return the quantile of the payoffs over the first axis (points).

    It is the smallest payoff that at least a share `level` of the points does not exceed; at level 0, the smallest of
    all. Points have equal weight.
    """
    return np.asarray(np.quantile(payoffs, level, axis=0, method="inverted_cdf"))


def robust_choices(
    games: Sequence[RecordGame],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    quantile: float = 0.1,
    constraint: Constraint | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Criterion, RobustChoice]:
    """Return, by criterion, the strategy of each record that ranks highest.

    Each record is decided separately. All strategies are evaluated. Among strategies of equal rank (within the tie
    tolerance, `RecordGame.tie`), the first in lattice order is chosen, as in all solvers.

    Parameters
    ----------
    games : sequence of RecordGame
        Game at each parameter point, one or more; all games share a strategy space and a linker.
    criteria : sequence of str
        Names from `CRITERIA`.
    quantile : float
        Level of criterion ``quantile``, in [0, 1]; 0 is maximin.
    constraint : Constraint, optional
        With `no_attack`, only strategies are allowed under which an attack pays at no point. Regret is measured against
        the best strategy of each point that the constraint allows.
    progress : callable, optional
        Called with the number of records done and the total number.

    Returns
    -------
    dict of str to RobustChoice
        Choices that are proved optimal, by criterion. A record without any allowed strategy is withheld, with payoff
        and value 0.

    Raises
    ------
    InputError
        If there are too many strategies.
    """
    first = games[0]
    if first.space.size > _MOST_STRATEGIES:
        raise InputError(
            "too many strategies per record for robust strategies",
            where="stress.robustness.criteria",
            found=first.space.size,
            expected=f"at most {_MOST_STRATEGIES:,}",
            hint="set criteria = [] to compare policies only",
        )
    n, chunk = first.n_records, max(1, _CHUNK // len(games))
    strategies = {criterion: np.full(n, WITHHELD, dtype=np.int64) for criterion in criteria}
    values = {criterion: np.zeros(n) for criterion in criteria}
    tie = np.max([game.tie() for game in games], axis=0)
    for begin in range(0, n, chunk):
        rows = np.arange(begin, min(begin + chunk, n))
        solved = _solve(games, criteria, quantile, constraint or Constraint(), rows, tie[rows])
        for criterion, (chosen, value) in solved.items():
            strategies[criterion][rows], values[criterion][rows] = chosen, value
        if progress is not None:
            progress(int(rows[-1]) + 1, n)
    evaluated = np.full(n, first.space.size, dtype=np.int64)
    return {
        criterion: RobustChoice(
            Choice(strategies[criterion], f"robust {criterion}", evaluated, True), values[criterion]
        )
        for criterion in criteria
    }


def _solve(
    games: Sequence[RecordGame],
    criteria: Sequence[Criterion],
    quantile: float,
    constraint: Constraint,
    rows: Rows,
    tie: Floats,
) -> dict[Criterion, tuple[NDArray[np.int64], Floats]]:
    """Return the best strategies of the records `rows` and their values, by criterion."""
    held = {criterion: _Held(len(rows), tie) for criterion in criteria}
    best = np.full((len(games), len(rows)), -np.inf)
    for strategy in range(games[0].space.size):
        payoff, allowed = _allowed(games, constraint, strategy, rows)
        if "minimax-regret" in held:
            np.maximum(best, payoff, out=best, where=allowed)
        if "maximin" in held:
            held["maximin"].offer(strategy, payoff.min(axis=0), allowed)
        if "quantile" in held:
            held["quantile"].offer(strategy, lower_quantile(payoff, quantile), allowed)
    if "minimax-regret" in held:
        for strategy in range(games[0].space.size):
            payoff, allowed = _allowed(games, constraint, strategy, rows)
            held["minimax-regret"].offer(strategy, -(best - payoff).max(axis=0, initial=0.0), allowed)
    sign = {criterion: -1.0 if criterion == "minimax-regret" else 1.0 for criterion in criteria}
    return {
        criterion: (found.strategies, np.where(found.strategies == WITHHELD, 0.0, sign[criterion] * found.value))
        for criterion, found in held.items()
    }


def _allowed(
    games: Sequence[RecordGame], constraint: Constraint, strategy: int, rows: Rows
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the payoffs of a strategy at every parameter point, and if it is allowed.

    Payoffs have shape (n_points, n_rows). All games have the same strategy space and linker, so linkage is computed
    once.
    """
    linkage, utility = games[0].linker.link(strategy, rows), games[0].space.utility(strategy, rows)
    payoff, invited = np.empty((len(games), len(rows))), np.zeros(len(rows), dtype=np.bool_)
    for point, game in enumerate(games):
        response = game.adversary.respond(linkage, rows)
        payoff[point] = game.benefit[rows] * utility - game.loss[rows] * response.reidentified
        invited |= response.invited
    return payoff, constraint.allows(games[0].space, strategy, invited, rows)


class _Held:
    """Best strategy of each record so far, and its value; larger values are better.

    `offer` takes a strategy where it is allowed and better by more than the tie tolerance.
    """

    def __init__(self, n: int, tie: Floats) -> None:
        self.strategies = np.full(n, WITHHELD, dtype=np.int64)
        self.value = np.full(n, -np.inf)
        self._tie = tie

    def offer(self, strategy: int, value: Floats, allowed: NDArray[np.bool_]) -> None:
        better = allowed & (value > self.value + self._tie)
        self.strategies[better] = strategy
        self.value[better] = value[better]

"""Robust best responses over a set of parameter points.

The true parameter point is not known when the records are shared. Three criteria rank a strategy by its payoffs at all
points: the worst payoff (maximin, Wald 1945), the largest difference from the best strategy of each point (minimax
regret, Savage 1951), and a low quantile of the payoffs. Each record is decided separately, so the worst point may
differ by record: the sum of the records' worst payoffs is a lower bound of the worst sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from reidsim.core.errors import InputError
from reidsim.games.record_game import WITHHELD, RecordGame
from reidsim.releases.lattice import Floats, Rows, Strategies

Criterion = Literal["maximin", "minimax-regret", "quantile"]
CRITERIA: tuple[Criterion, ...] = ("maximin", "minimax-regret", "quantile")
# Largest number of strategies; all are evaluated at all points, so more would take too long.
_MOST_STRATEGIES = 5_000_000
# Limit on points x records in memory at once; a larger limit takes more memory and fewer passes over the strategies.
_CHUNK = 2_000_000


class RobustChoice(NamedTuple):
    """Strategies that a criterion selects, and their values.

    Attributes
    ----------
    strategies : ndarray of int64, shape (n_records,)
        One strategy per record; no record is withheld.
    value : ndarray of float64, shape (n_records,)
        Value of the criterion for the chosen strategy over the parameter points, in currency units per record: worst
        payoff, largest regret (lower is better) or quantile of payoffs.
    """

    strategies: Strategies
    value: Floats


# Value of a criterion, larger is better, given the payoffs of a strategy, shape (n_points, n_rows), the payoffs of the
# best strategy of each point, and the level of the quantile.
_VALUE: Mapping[str, Callable[[Floats, Floats, float], Floats]] = {
    "maximin": lambda payoff, best, level: payoff.min(axis=0),
    "minimax-regret": lambda payoff, best, level: -(best - payoff).max(axis=0, initial=0.0),
    "quantile": lambda payoff, best, level: np.quantile(payoff, level, axis=0, method="inverted_cdf"),
}


def robust_choices(
    games: Sequence[RecordGame],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    quantile: float = 0.1,
    progress: Callable[[int, int], None] = lambda done, total: None,
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
        Level of criterion ``quantile``, in [0, 1]; 0 is maximin. No payoffs are interpolated.
    progress : callable, optional
        Called with the number of records done and the total number.

    Returns
    -------
    dict of str to RobustChoice
        Strategies and values by criterion, in the order of `criteria`.

    Raises
    ------
    InputError
        If there are more than 5 million strategies.
    """
    size, n, chunk = games[0].space.size, games[0].n_records, max(1, _CHUNK // len(games))
    if size > _MOST_STRATEGIES:
        raise InputError(
            "too many strategies per record for robust strategies",
            where="stress.robustness.criteria",
            found=size,
            expected=f"at most {_MOST_STRATEGIES:,}",
            hint="set criteria = [] to compare policies only",
        )
    found = {name: RobustChoice(np.full(n, WITHHELD, dtype=np.int64), np.full(n, -np.inf)) for name in criteria}
    tie = np.max([game.tie() for game in games], axis=0)
    for begin in range(0, n, chunk):
        rows = np.arange(begin, min(begin + chunk, n))
        best = np.full((len(games), len(rows)), -np.inf)
        for strategy in range(size) if "minimax-regret" in criteria else ():
            np.maximum(best, _payoffs(games, strategy, rows), out=best)
        for strategy in range(size):
            payoff = _payoffs(games, strategy, rows)
            for criterion, held in found.items():
                value = _VALUE[criterion](payoff, best, quantile)
                better = value > held.value[rows] + tie[rows]
                held.strategies[rows[better]], held.value[rows[better]] = strategy, value[better]
        progress(int(rows[-1]) + 1, n)
    return {
        name: held._replace(value=-held.value) if name == "minimax-regret" else held for name, held in found.items()
    }


def _payoffs(games: Sequence[RecordGame], strategy: int, rows: Rows) -> Floats:
    """Return the payoffs of a strategy at every parameter point, (n_points, n_rows).

    They are the publisher's expected payoffs from `rows` (record numbers), in currency units per record. All games have
    the same strategy space and linker, so linkage is computed once.
    """
    linkage, utility = games[0].linker.link(strategy, rows), games[0].space.utility(strategy, rows)
    replies = [game.adversary.respond(linkage, rows).reidentified for game in games]
    return np.array(
        [game.benefit[rows] * utility - game.loss[rows] * risk for game, risk in zip(games, replies, strict=True)]
    )

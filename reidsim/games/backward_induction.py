"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from reidsim.games.contenders import Contenders
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame


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
        Called with strategies done and in all.

    Returns
    -------
    dict of str to Choice
        Exact; a record whose constraint no strategy satisfies is withheld. `evaluated` counts all strategies, as those
        that are no contenders were compared before.
    """
    n, size = game.n_records, game.space.size
    best = {name: np.full(n, -np.inf) for name in constraints}
    strategies = {name: np.full(n, WITHHELD, dtype=np.int64) for name in constraints}
    tie = game.tie()
    listed = None if contenders is None else contenders.strategies
    for number, (strategy, rows) in enumerate(listed or ((strategy, None) for strategy in range(size))):
        outcome, here = game.outcome(strategy, rows), slice(None) if rows is None else rows
        for name, constraint in constraints.items():
            better = outcome.publisher_payoff > best[name][here] + tie[here]
            if constraint.no_attack or constraint.minimum is not None:
                better &= constraint.allows(game.space, strategy, outcome.response.invited, rows)
            won = better if rows is None else rows[better]
            best[name][won] = outcome.publisher_payoff[better]
            strategies[name][won] = strategy
        if progress is not None:
            progress(number + 1, size if listed is None else len(listed))
    evaluated = np.full(n, size, dtype=np.int64)
    return {name: Choice(strategies[name], "backward-induction", evaluated, exact=True) for name in constraints}

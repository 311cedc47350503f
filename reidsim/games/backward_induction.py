"""Backward induction: work out every strategy, keep the best (Wan et al. 2015, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame


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
    best = {name: np.full(n, -np.inf) for name in constraints}
    strategies = {name: np.full(n, WITHHELD, dtype=np.int64) for name in constraints}
    tie = game.tie()
    for strategy in range(size):
        outcome = game.outcome(strategy)
        for name, constraint in constraints.items():
            better = outcome.publisher_payoff > best[name] + tie
            if constraint.no_attack or constraint.minimum is not None:
                better &= constraint.allows(game.space, strategy, outcome.response.invited)
            best[name][better] = outcome.publisher_payoff[better]
            strategies[name][better] = strategy
        if progress is not None:
            progress(strategy + 1, size)
    evaluated = np.full(n, size, dtype=np.int64)
    return {name: Choice(strategies[name], "backward-induction", evaluated, exact=True) for name in constraints}

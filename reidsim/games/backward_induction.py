"""Backward induction over all strategies (Wan et al. 2015, Algorithm 1)."""

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
    """Return the best strategy of every record under each constraint.

    The search makes one pass over the space. A strategy replaces the best so far if its payoff is larger by more than
    the tie tolerance (`RecordGame.tie`). Among equal payoffs, the first strategy in lattice order is therefore kept, as
    in Algorithm 1. A strategy is skipped for records whose benefit, which bounds the payoff, is not larger than the
    best payoff under any constraint. Memory is a few arrays with one value per record and constraint, independent of
    the size of the space.

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
    n, size, tie = game.n_records, game.space.size, game.tie()
    best = np.full((len(constraints), n), -np.inf)
    strategies = np.full(best.shape, WITHHELD, dtype=np.int64)
    needed = np.full(n, -np.inf)
    for strategy in range(size):
        benefit = game.benefit_of(strategy)
        rows = np.flatnonzero(benefit > needed)
        if len(rows):
            response = game.adversary.respond(game.linker.link(strategy, rows), rows)
            payoff = benefit[rows] - game.loss[rows] * response.reidentified
            for held, chosen, constraint in zip(best, strategies, constraints.values(), strict=True):
                better = payoff > held[rows] + tie[rows]
                better &= constraint.allows(game.space, strategy, response.invited, rows)
                held[rows[better]], chosen[rows[better]] = payoff[better], strategy
            needed[rows] = best[:, rows].min(axis=0) + tie[rows]
        if progress is not None:
            progress(strategy + 1, size)
    evaluated = np.full(n, size, dtype=np.int64)
    return {
        name: Choice(chosen, "backward-induction", evaluated, exact=True)
        for name, chosen in zip(constraints, strategies, strict=True)
    }

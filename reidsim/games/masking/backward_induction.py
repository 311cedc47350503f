"""Backward induction with pruning, as published: all strategies but those below one that is safe and not the best."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, reply_to
from reidsim.games.masking.game import GameArrays, MaskingGame, is_ahead, payoff_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

_MOST_STRATEGIES = 2**26


def masking_backward_induction(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find the best strategy of every subject by going through all strategies (Wan et al. 2021, note S4).

    Strategies are taken in order of their number, so one that shares more comes before all that share less of the
    same. Below a strategy that is not attacked and worse than the best so far nothing is computed: its payoff is
    its benefit, which bounds the payoff of everything that shares less.

    Parameters
    ----------
    game : MaskingGame
        Against a two-stage attack.
    no_attack : bool
        Only strategies that are not attacked.

    Returns
    -------
    Choice
        Exact: the same as that of `best_first`.

    Raises
    ------
    InputError
        If the attack is another, or there are more than 2**26 strategies.
    """
    game.require_size(_MOST_STRATEGIES, "backward induction")
    n = game.n_records
    strategies = np.full(n, WITHHELD, dtype=np.int64)
    payoffs = np.full(n, -np.inf)
    evaluated = np.zeros(n, dtype=np.int64)
    arrays, attack = game.arrays, game.attack_arrays

    def solve(rows: Rows, memory: Memory) -> None:
        closed = np.zeros(game.space.size, dtype=np.bool_)
        _backward_induction(arrays, attack, memory, rows, no_attack, closed, strategies, payoffs, evaluated)

    game.in_chunks(solve, None)
    return game.chosen("backward-induction", strategies, payoffs, evaluated, exact=True)


@numba.njit(cache=True, nogil=True)
def _backward_induction(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    closed: NDArray[np.bool_],
    strategies: Strategies,
    payoffs: Floats,
    evaluated: NDArray[np.int64],
) -> None:
    for target in rows:
        tie = game.tie[target]
        best, best_confidence, chosen = -np.inf, np.inf, strategies[target]
        count = 0
        for strategy in range(len(closed)):
            # Closed if a strategy that shares one level more is: closing spreads from there to everything below.
            closed[strategy] = False
            for j in range(len(game.places)):
                if strategy // game.places[j] % game.sizes[j] > 0 and closed[strategy - game.places[j]]:
                    closed[strategy] = True
                    break
            if closed[strategy]:
                continue
            reply = reply_to(attack, memory, target, strategy)
            payoff = payoff_of(game, target, strategy, reply)
            count += 1
            if not reply.attacks and payoff < best - tie:
                closed[strategy] = True
                continue
            if no_attack and reply.attacks:
                continue
            if is_ahead(payoff, reply.confidence, best, best_confidence, tie) > 0:
                best, best_confidence, chosen = payoff, reply.confidence, strategy
        strategies[target], payoffs[target], evaluated[target] = chosen, best, count

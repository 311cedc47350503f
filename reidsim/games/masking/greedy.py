"""Greedy search with pruning, as published: mask one attribute after the other while that may pay."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, reply_to
from reidsim.games.masking.game import GameArrays, MaskingGame, Progress, is_ahead, payoff_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.releases.strategy_space import Floats, Rows, Strategies


def greedy(game: MaskingGame, *, no_attack: bool = False, progress: Progress | None = None) -> Choice:
    """Find a good strategy of every subject, masking one attribute at a time (Wan et al. 2021, note S4).

    From sharing everything, the search steps to the best of the strategies with one attribute one level further: by
    payoff, then by lower confidence, then the earlier attribute. The best strategy met is kept. It stops when the
    step is to a strategy worse than the best that is not attacked: masking more cannot help there. Under `no_attack`
    a strategy that is not attacked is better than any that is, and the search stops at the first one.

    Parameters
    ----------
    game : MaskingGame
        Against a two-stage attack.
    no_attack : bool
        Only strategies that are not attacked.
    progress : callable, optional
        Called with records done and in all.

    Returns
    -------
    Choice
        Not exact.

    Raises
    ------
    InputError
        If the attack is another.
    """
    n = game.n_records
    strategies = np.full(n, WITHHELD, dtype=np.int64)
    payoffs = np.full(n, -np.inf)
    evaluated = np.zeros(n, dtype=np.int64)
    arrays, attack = game.arrays, game.attack_arrays

    def solve(rows: Rows, memory: Memory) -> None:
        _greedy(arrays, attack, memory, rows, no_attack, strategies, payoffs, evaluated)

    game.in_chunks(solve, progress)
    return game.chosen("greedy", strategies, payoffs, evaluated, exact=False)


@numba.njit(cache=True, nogil=True)
def _greedy(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    strategies: Strategies,
    payoffs: Floats,
    evaluated: NDArray[np.int64],
) -> None:
    for target in rows:
        tie = game.tie[target]
        at = 0
        reply = reply_to(attack, memory, target, at)
        payoff = payoff_of(game, target, at, reply)
        count = 1
        best, best_confidence = -np.inf, np.inf
        if not (no_attack and reply.attacks):
            best, best_confidence, strategies[target] = payoff, reply.confidence, at
        while not (no_attack and not reply.attacks):
            step = -1
            step_payoff, step_reply = payoff, reply
            for j in range(len(game.places)):
                if at // game.places[j] % game.sizes[j] + 1 == game.sizes[j]:
                    continue
                below = at + int(game.places[j])
                below_reply = reply_to(attack, memory, target, below)
                below_payoff = payoff_of(game, target, below, below_reply)
                count += 1
                if step < 0 or (no_attack and below_reply.attacks != step_reply.attacks):
                    better = step < 0 or step_reply.attacks
                else:
                    better = is_ahead(below_payoff, below_reply.confidence, step_payoff, step_reply.confidence, tie) > 0
                if better:
                    step, step_payoff, step_reply = below, below_payoff, below_reply
            if step < 0:
                break
            at, payoff, reply = step, step_payoff, step_reply
            if no_attack and reply.attacks:
                continue
            if is_ahead(payoff, reply.confidence, best, best_confidence, tie) > 0:
                best, best_confidence, strategies[target] = payoff, reply.confidence, at
            elif not reply.attacks:
                break
        payoffs[target], evaluated[target] = best, count

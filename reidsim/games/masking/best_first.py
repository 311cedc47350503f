"""Exact solution of the masking game: strategies in order of what they are worth without attack."""

from __future__ import annotations

from heapq import heappop, heappush

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, attacks_without_inference, reply_to
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.game import GameArrays, MaskingGame, Progress, is_ahead, payoff_of
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.releases.strategy_space import Floats, Rows, Strategies

NO_LIMIT = np.iinfo(np.int64).max
# By what a sum of weights, masked one after the other, can be wrong: per attribute, as a share of their sum.
ROUNDING = 8 * float(np.finfo(np.float64).eps)


def best_first(game: MaskingGame, *, no_attack: bool = False, progress: Progress | None = None) -> Choice:
    """Find the best strategy of every subject while working out few of them.

    Strategies are visited in order of falling benefit, until the benefit of the next one is below the best payoff.

    Why no better strategy is missed. The payoff of a strategy s is its benefit b(s), less an expected loss of 0 or
    more; so b(s) bounds it from above. Let the search stop before s, with best payoff v. Every strategy not visited
    has a benefit of at most b(s) < v, so its payoff is below v: it neither wins nor ties. Hence every strategy that
    could be picked, ties included, has been compared, and which of them wins does not depend on the order of visits.

    Why every strategy is met, and in that order. For each form of the demographics the sets of masked loci are
    generated from the empty set. With loci sorted by weight, a set whose heaviest locus is the k-th has two
    successors: the set with the (k + 1)-th added, and the one with the k-th replaced by the (k + 1)-th. Each set but
    the empty one is the successor of exactly one other, and weighs no less than it; so a priority queue yields all,
    once each, by rising weight masked. No list of all strategies is ever made: 60 loci cost no more than they visit.

    Weights are cut at what utility 1 stands for, which changes no utility, and the bound has room for rounding: so it
    holds where a few values weigh very much. Sharing everything, whose utility is 1 whatever its weights sum to, comes
    first.

    Where attacks are forbidden, forms of the demographics that are attacked without any locus are left out: whoever
    attacks on these alone does so whatever loci are shared.

    Parameters
    ----------
    game : MaskingGame
        Against another chain than the two-stage attack, branch and bound solves it, also exactly.
    no_attack : bool
        Only strategies that are not attacked.
    progress : callable, optional
        Called with records done and in all.

    Returns
    -------
    Choice
        Exact; `evaluated` counts the strategies whose payoff was computed. A record whose best payoff is negative,
        or that has no strategy allowed, is withheld.
    """
    if not game.is_compiled:
        choice = branch_and_bound(game.record_game, Constraint(no_attack=no_attack))
        payoffs = game.evaluate(choice).publisher_payoff
        return game.chosen("branch-and-bound", choice.strategies, payoffs, choice.evaluated, exact=True)
    strategies, payoffs, evaluated, _ = search(game, no_attack=no_attack, progress=progress)
    return game.chosen("best-first", strategies, payoffs, evaluated, exact=True)


def search(
    game: MaskingGame,
    *,
    no_attack: bool,
    most_evaluated: int = NO_LIMIT,
    incumbents: Strategies | None = None,
    progress: Progress | None = None,
) -> tuple[Strategies, Floats, NDArray[np.int64], Floats]:
    """Run the compiled search within a number of strategies per record.

    Returns
    -------
    tuple of ndarray, shape (n_records,)
        Strategies, their payoffs, strategies evaluated, and a bound on the payoff of all not visited; -infinity
        where the search ended by itself.
    """
    n = game.n_records
    strategies = np.full(n, WITHHELD, dtype=np.int64) if incumbents is None else incumbents.copy()
    payoffs, bounds = np.full(n, -np.inf), np.full(n, -np.inf)
    evaluated = np.zeros(n, dtype=np.int64)
    arrays, attack = game.arrays, game.attack_arrays

    def solve(rows: Rows, memory: Memory) -> None:
        _best_first(arrays, attack, memory, rows, no_attack, most_evaluated, strategies, payoffs, evaluated, bounds)

    game.in_chunks(solve, progress)
    return strategies, payoffs, evaluated, bounds


@numba.njit(cache=True, nogil=True)
def _best_first(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    most_evaluated: int,
    strategies: Strategies,
    payoffs: Floats,
    evaluated: NDArray[np.int64],
    bounds: Floats,
) -> None:
    n_forms, n_linked = game.form_kept.shape
    n_bits = game.n_bits
    for target in rows:
        weights = game.weights[target if len(game.weights) > 1 else 0]
        by_weight = np.argsort(weights[n_linked:], kind="mergesort") + n_linked
        benefit, tie, total = game.benefit[target], game.tie[target], game.total_weight
        best, best_confidence, chosen = -np.inf, np.inf, strategies[target]
        if chosen >= 0:
            reply = reply_to(attack, memory, target, chosen)
            payoff = payoff_of(game, target, chosen, reply)
            best, best_confidence = payoff, reply.confidence
        cut = np.minimum(weights, total)
        kept_by_form = np.zeros(n_forms)
        for form in range(n_forms):
            for j in range(n_linked):
                kept_by_form[form] += weights[j] * game.form_kept[form, j]
            kept_by_form[form] = min(kept_by_form[form], total)
        # The first form shares everything, so it keeps most.
        whole = kept_by_form[0] + cut[n_linked:].sum()
        room = ROUNDING * len(weights) * whole
        # Weight masked, strategy, and the position by weight of the heaviest locus masked.
        queue: list[tuple[float, int, int]] = [(0.0, 0, -1) for _ in range(0)]
        for form in range(n_forms):
            if no_attack and attacks_without_inference(attack, target, form):
                continue
            heappush(queue, (kept_by_form[0] - kept_by_form[form], form << n_bits, -1))
        count = 0
        while len(queue) > 0:
            masked, strategy, heaviest = heappop(queue)
            bound = benefit * (1.0 if strategy == 0 else min((whole - masked + room) / total, 1.0))
            if bound < best - tie:
                break
            if count >= most_evaluated:
                bounds[target] = bound
                break
            if heaviest + 1 < n_bits:
                following = by_weight[heaviest + 1]
                grown = masked + cut[following]
                heappush(queue, (grown, strategy | game.places[following], heaviest + 1))
                if heaviest >= 0:
                    last = by_weight[heaviest]
                    swapped = (strategy & ~game.places[last]) | game.places[following]
                    heappush(queue, (grown - cut[last], swapped, heaviest + 1))
            reply = reply_to(attack, memory, target, strategy)
            payoff = payoff_of(game, target, strategy, reply)
            count += 1
            if no_attack and reply.attacks:
                continue
            ahead = is_ahead(payoff, reply.confidence, best, best_confidence, tie)
            if ahead > 0 or (ahead == 0 and strategy < chosen):
                best, best_confidence, chosen = payoff, reply.confidence, strategy
        strategies[target], payoffs[target], evaluated[target] = chosen, best, count

"""Exact best-first search and the published searches of the masking game.

They are for a single adversary. The searches against a two-stage attack are compiled. Games with other attacks use the
solvers of record games.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, attacks_without_inference, reply_to
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.game import GameArrays, MaskingGame, is_ahead, payoff_of
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.releases.strategy_space import Floats, Rows, Strategies

NO_LIMIT = np.iinfo(np.int64).max
# Bound on the rounding error of a sum of weights, per attribute, relative to the sum.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Most strategies that backward induction goes through, compiled and for any adversary; more would take too long.
_MOST_COMPILED, _MOST_GENERAL = 2**26, 2**20


@dataclass(frozen=True)
class BoundedChoice(Choice):
    """A choice with a bound on the payoff that a better choice could add.

    Parameters
    ----------
    gap : ndarray of float64, shape (n_records,)
        Upper bound on the payoff of any strategy minus the payoff of the chosen strategy, in currency units per record;
        0 if proved optimal.
    """

    gap: Floats


class Found(NamedTuple):
    """Result of a compiled search; arrays of shape (n_records,).

    Attributes
    ----------
    strategies : ndarray of int64
        Best strategy of each record; initially the incumbent, or ``WITHHELD``.
    payoffs : ndarray of float64
        Payoff of the best strategy.
    evaluated : ndarray of int64
        Number of strategies whose payoff was computed.
    bounds : ndarray of float64
        Upper bound on the payoff of every strategy that was not visited; minus infinity if the search is complete.
    """

    strategies: Strategies
    payoffs: Floats
    evaluated: NDArray[np.int64]
    bounds: Floats


def best_first(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find the best strategy of every subject by best-first search.

    Strategies are visited by decreasing benefit, until the benefit of the next strategy is below the best payoff.

    Correctness. The payoff of a strategy s is its benefit b(s) less an expected loss of 0 or more, so b(s) is an upper
    bound. When the search stops before s, with best payoff v, every strategy not visited has a benefit of at most
    b(s) < v and can neither win nor tie.

    Order. For each form of the demographics, sets of masked loci are generated from the empty set. With loci sorted by
    weight, a set whose heaviest locus is the k-th has two successors: the set with the (k + 1)-th added, and the set
    with the k-th replaced by the (k + 1)-th. Each set except the empty one is the successor of exactly one other set
    and has at least its weight, so a priority queue yields every set once, by increasing masked weight, without a list
    of all strategies. Weights are limited to the weight of utility 1, which changes no utility. Sharing everything,
    which has utility 1 for any sum of weights, comes first.

    Under `no_attack`, forms of the demographics that are attacked without any locus are skipped, because they are
    attacked for every set of shared loci.

    Parameters
    ----------
    game : MaskingGame
        If the attack is not a two-stage attack, branch and bound is used, which is also exact.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Exact. A record whose best payoff is negative, or that has no allowed strategy, is withheld. For ties see
        `MaskingGame`.
    """
    if not game.is_compiled:
        choice = branch_and_bound(game.record_game, Constraint(no_attack=no_attack))
        payoffs = game.evaluate(choice).publisher_payoff
        return game.chosen("branch-and-bound", choice.strategies, payoffs, choice.evaluated, exact=True)
    found = _run(game, _best_first, no_attack, NO_LIMIT)
    return game.chosen("best-first", found.strategies, found.payoffs, found.evaluated, exact=True)


def anytime(game: MaskingGame, *, most_evaluated: int = 20_000, no_attack: bool = False) -> BoundedChoice:
    """Find a good strategy of every subject within a budget, with an optimality gap.

    Greedy search finds a first strategy, and best-first search then improves on it. When the search stops, the benefit
    of the next strategy in its order bounds the payoff of every strategy that was not visited. With a larger budget,
    the payoff never decreases and the gap never increases.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack, with any number of attributes.
    most_evaluated : int
        Maximum number of strategies computed per subject by the best-first search, after the greedy search.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    BoundedChoice
        Exact if every gap is 0. Records are withheld as by `best_first`.

    Raises
    ------
    InputError
        If the budget is below 1, or the attack is not a two-stage attack.
    """
    if most_evaluated < 1:
        raise InputError("maximum number of strategies too small", found=most_evaluated, expected="1 or more")
    first = greedy(game, no_attack=no_attack)
    found = _run(game, _best_first, no_attack, most_evaluated, incumbents=first.strategies)
    # Withholding a record has a certain payoff of 0.
    gap = np.maximum(found.bounds - np.maximum(found.payoffs, 0.0), 0.0)
    evaluated, exact = found.evaluated + first.evaluated, bool((gap == 0).all())
    choice = game.chosen("anytime", found.strategies, found.payoffs, evaluated, exact=exact)
    return BoundedChoice(choice.strategies, choice.solver, choice.evaluated, choice.exact, gap)


def greedy(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find a good strategy of every subject by masking one attribute at a time.

    This is the greedy search of Wan et al. 2021, note S4.

    The search starts with sharing everything. Each step masks one attribute by one more level and goes to the best of
    these strategies: the highest payoff, then the lower confidence, then the earlier attribute. The best strategy on
    the path is kept. The search stops at a strategy that is worse than the best one and not attacked, because masking
    more cannot improve it. Under `no_attack`, a strategy that is not attacked is better than any attacked strategy, and
    the search stops at the first such strategy.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Not exact. A record is withheld if the payoff of the best strategy met is negative or, under `no_attack`, if
        every strategy met is attacked.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    found = _run(game, _greedy, no_attack, np.zeros(0, dtype=np.int64))
    return game.chosen("greedy", found.strategies, found.payoffs, found.evaluated, exact=False)


def greedy_path(game: MaskingGame, record: int) -> tuple[int, ...]:
    """Return the strategies on the path of greedy search, from full sharing on.

    Attacks are allowed. The last strategy is where the search stops, and need not be the best.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.
    record : int
        Number of the record, from 0.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    path = np.full(sum(game.space.shape), -1, dtype=np.int64)
    _greedy(game.arrays, game.attack_arrays, game.memory, np.array([record]), False, _nothing_found(game), path)
    return tuple(path[path >= 0].tolist())


def masking_backward_induction(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find the best strategy of every subject by enumeration with pruning.

    This is backward induction of Wan et al. 2021, note S4.

    Strategies are visited in order of their number, so a strategy is visited before all strategies that share less of
    the same attributes. If a strategy is not attacked and worse than the best so far, all strategies that share less
    are skipped: its payoff equals its benefit, which bounds their payoffs. Games with an attack other than the
    two-stage attack are solved without this pruning.

    Parameters
    ----------
    game : MaskingGame
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Exact; equal to the result of `best_first`.

    Raises
    ------
    InputError
        If there are more than 2**26 strategies, or 2**20 against an attack that is not a two-stage attack.
    """
    most = _MOST_COMPILED if game.is_compiled else _MOST_GENERAL
    if game.space.size > most:
        raise InputError(
            "too many strategies for backward induction",
            found=game.space.size,
            expected=f"at most {most:,}",
            hint="use best-first search, which has no such limit",
        )
    if game.is_compiled:
        found = _run(game, _backward_induction, no_attack, game.space.size)
        return game.chosen("backward-induction", found.strategies, found.payoffs, found.evaluated, exact=True)
    choice = backward_induction(game.record_game, {"": Constraint(no_attack=no_attack)})[""]
    payoffs = game.evaluate(choice).publisher_payoff
    return game.chosen(choice.solver, choice.strategies, payoffs, choice.evaluated, exact=True)


def _nothing_found(game: MaskingGame, incumbents: Strategies | None = None) -> Found:
    n = game.n_records
    strategies = np.full(n, WITHHELD, dtype=np.int64) if incumbents is None else incumbents.copy()
    return Found(strategies, np.full(n, -np.inf), np.zeros(n, dtype=np.int64), np.full(n, -np.inf))


def _run(
    game: MaskingGame, kernel: Callable[..., None], no_attack: bool, option: Any, incumbents: Strategies | None = None
) -> Found:
    """Run a compiled search for all subjects.

    `option` is the last argument of `kernel`. `incumbents` (n_records,) are strategies to start from; none, if not
    given.
    """
    arrays, attack, found = game.arrays, game.attack_arrays, _nothing_found(game, incumbents)
    game.in_chunks(lambda rows, memory: kernel(arrays, attack, memory, rows, no_attack, found, option))
    return found


@numba.njit(cache=True, nogil=True)
def _best_first(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    found: Found,
    most_evaluated: int,
) -> None:
    n_forms, n_linked = game.form_kept.shape
    n_bits = game.n_bits
    for target in rows:
        weights = game.weights[target if len(game.weights) > 1 else 0]
        by_weight = np.argsort(weights[n_linked:], kind="mergesort") + n_linked
        benefit, tie, total = game.benefit[target], game.tie[target], game.total_weight
        best, best_confidence, chosen = -np.inf, np.inf, found.strategies[target]
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
        # The first form shares everything, so it keeps the largest share of the weights.
        whole = kept_by_form[0] + cut[n_linked:].sum()
        room = ROUNDING * len(weights) * whole
        # Masked weight, strategy, and the rank by weight of the heaviest masked locus.
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
                found.bounds[target] = bound
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
        found.strategies[target], found.payoffs[target], found.evaluated[target] = chosen, best, count


@numba.njit(cache=True, nogil=True)
def _greedy(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    found: Found,
    path: Strategies,
) -> None:
    """Run greedy search; write the path of the last row into `path`, up to its length."""
    for target in rows:
        tie = game.tie[target]
        at, steps, count = 0, 0, 1
        reply = reply_to(attack, memory, target, at)
        payoff = payoff_of(game, target, at, reply)
        best, best_confidence = -np.inf, np.inf
        if not (no_attack and reply.attacks):
            best, best_confidence, found.strategies[target] = payoff, reply.confidence, at
        if len(path) > 0:
            path[0] = at
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
            steps += 1
            if steps < len(path):
                path[steps] = at
            if no_attack and reply.attacks:
                continue
            if is_ahead(payoff, reply.confidence, best, best_confidence, tie) > 0:
                best, best_confidence, found.strategies[target] = payoff, reply.confidence, at
            elif not reply.attacks:
                break
        found.payoffs[target], found.evaluated[target] = best, count


@numba.njit(cache=True, nogil=True)
def _backward_induction(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    rows: Rows,
    no_attack: bool,
    found: Found,
    n_strategies: int,
) -> None:
    closed = np.zeros(n_strategies, dtype=np.bool_)
    for target in rows:
        tie = game.tie[target]
        best, best_confidence, chosen = -np.inf, np.inf, found.strategies[target]
        count = 0
        for strategy in range(n_strategies):
            # A strategy is closed if a strategy that shares one level more is closed.
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
        found.strategies[target], found.payoffs[target], found.evaluated[target] = chosen, best, count

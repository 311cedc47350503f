"""The masking game of a data holder who uses one strategy for all subjects."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

import numba
import numpy as np

from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, reply_to
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.masking.game import GameArrays, MaskingGame
from reidsim.games.masking.searches import ROUNDING
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Number of strategies computed at a time. A larger block computes more strategies that cannot win; a smaller block
# makes more compiled calls.
_BLOCK = 256


def same_strategy(game: MaskingGame) -> Choice:
    """Find the strategy with the highest mean payoff if all subjects use it.

    Strategies are visited by decreasing mean benefit, which bounds the mean payoff, until the bound is below the best
    mean. Within a block of strategies, the losses of one subject after the other are computed, in descending order of
    the losses so far; a strategy is dropped as soon as its losses put it below the best. Both rules discard only
    strategies that cannot win, so the result is exact. Of strategies with equal means, the lowest number is chosen.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.

    Returns
    -------
    Choice
        The same strategy for every record, or all withheld if the best mean is negative (beyond the tie tolerance).
        `evaluated` counts the strategies whose loss was computed for each record.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    arrays, attack, memory, n = game.arrays, game.attack_arrays, game.memory, game.n_records
    scale = float(np.mean(arrays.benefit + arrays.loss)) * n
    tie = INDIFFERENCE * scale
    lost = np.zeros(n)
    evaluated = np.zeros(n, dtype=np.int64)
    best, chosen = -np.inf, WITHHELD
    ordered = _by_mean_benefit(game)
    # The first block has each combination of demographic levels with all loci and with none. Its best payoff is a good
    # first threshold, so that most strategies are dropped early. The block includes full sharing, for which the bounds
    # do not hold.
    every_bit = (1 << arrays.n_bits) - 1
    forms = np.arange(len(arrays.form_kept), dtype=np.int64) << arrays.n_bits
    block = np.unique(np.concatenate([forms, forms | every_bit]))
    while len(block):
        totals = np.array([_total_benefit(game, int(strategy)) for strategy in block])
        order = np.argsort(-lost, kind="stable")
        _add_losses(arrays, attack, memory, block, order, best - tie, totals, lost, evaluated)
        for strategy, total in zip(block.tolist(), totals.tolist(), strict=True):
            if total > best + tie or (total >= best - tie and strategy < chosen):
                best, chosen = total, strategy
        following = list(islice(ordered, _BLOCK))
        block = np.array([strategy for bound, strategy in following if bound >= best - tie], dtype=np.int64)
    strategies = np.full(n, chosen if best >= -tie else WITHHELD, dtype=np.int64)
    return Choice(strategies, "same-strategy", evaluated, exact=True)


def _total_benefit(game: MaskingGame, strategy: int) -> float:
    return float((np.asarray(game.benefit) * game.space.utility(strategy)).sum())


def _by_mean_benefit(game: MaskingGame) -> Iterator[tuple[float, int]]:
    """Yield upper bounds on the total payoff, falling, and their strategies.

    The total is over all subjects, in currency units, if all use the strategy; the bound is its total benefit plus a
    margin for rounding. All strategies are yielded, in the order described in `best_first`. The bound of full sharing
    can be too low, because its utility is 1 for any sum of weights.
    """
    arrays, total = game.arrays, game.arrays.total_weight
    n_linked = arrays.form_kept.shape[1]
    # Limit each weight to the weight of utility 1.
    cut = np.minimum(arrays.weights, total)
    kept = np.minimum(arrays.weights[:, :n_linked] @ arrays.form_kept.T, total)
    worth = (arrays.benefit[:, None] * cut).sum(axis=0) / total
    worth_of_form = ((arrays.benefit[:, None] * kept).sum(axis=0) / total).tolist()
    bits = n_linked + np.argsort(worth[n_linked:], kind="stable")
    queue: list[tuple[float, int, int]] = []
    for form, own in enumerate(worth_of_form):
        heappush(queue, (worth_of_form[0] - own, form << arrays.n_bits, -1))
    whole = worth_of_form[0] + float(worth[n_linked:].sum())
    room = ROUNDING * (len(worth) + np.log2(len(arrays.benefit) + 1)) * whole
    while queue:
        masked, strategy, heaviest = heappop(queue)
        yield whole - masked + room, strategy
        if heaviest + 1 < len(bits):
            following = int(bits[heaviest + 1])
            grown, place = masked + float(worth[following]), int(arrays.places[following])
            heappush(queue, (grown, strategy | place, heaviest + 1))
            if heaviest >= 0:
                last = int(bits[heaviest])
                swapped = strategy & ~int(arrays.places[last]) | place
                heappush(queue, (grown - float(worth[last]), swapped, heaviest + 1))


@numba.njit(cache=True)
def _add_losses(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    strategies: Strategies,
    order: Rows,
    mark: float,
    totals: Floats,
    lost: Floats,
    evaluated: Strategies,
) -> None:
    """Subtract expected losses from the total benefits of strategies, in place.

    A strategy is no longer updated once its total is below `mark`.

    Parameters
    ----------
    game : GameArrays
        The subjects' side of the game.
    attack : TwoStageArrays
        The adversary's side.
    memory : Memory
        Work arrays and inference cache.
    strategies : ndarray of int64, shape (n_strategies,)
        Strategies that all subjects would use.
    order : ndarray of int, shape (n_records,)
        Order in which the records are processed.
    mark : float
        Total payoff below which a strategy cannot win, in currency units.
    totals : ndarray of float64, shape (n_strategies,)
        Total benefit of each strategy over all records; becomes its total payoff, if not below `mark`.
    lost : ndarray of float64, shape (n_records,)
        Losses of each record, to which its losses under all strategies are added.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies computed for each record, which is increased.
    """
    for target in order:
        for k in range(len(strategies)):
            if totals[k] < mark:
                continue
            reply = reply_to(attack, memory, target, strategies[k])
            evaluated[target] += 1
            if reply.attacks:
                loss = game.loss[target] * reply.success
                totals[k] -= loss
                lost[target] += loss

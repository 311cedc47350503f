"""Exact solution of the masking game against adversaries who attack in two stages, or look at few attributes.

Strategies of a subject are computed in portions, in order of what they are worth without attack, until the worth of
the next one is below the best payoff found. No strategy beyond can win or tie, so the result is that of working out
all. Within a portion adversaries are added one by one, those who infer nothing first: what some of them take bounds the
payoff from above, so whoever has to infer surnames is only asked about strategies that may still win. Adversaries who
differ in gain, cost and what they make of their confidence infer once for all of them. Whoever looks at few attributes,
however it links and plans, has its replies to each form of these in a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.stages import Identify
from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, memory_for, reply_to
from reidsim.adversaries.multistage.two_stage_tables import compile_two_stage, is_two_stage
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.tabled_replies import TabledReplies, tabled
from reidsim.games.memory import RememberingAdversary, RememberingLinker, known_of, linker_with_past
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Strategies

# All strategies are put in order of their worth: once, or for every subject where weights differ by subject.
_MOST_ORDERED = 1 << 20
_MOST_ORDERED_EACH = 1 << 16

# Strategies in the first portion; later ones are a share of those computed before.
_FIRST_PORTION = 32
_SHARE = 8


# Pasts for which the strategies that may be best are kept.
_MOST_PASTS = 256


class _Inferred(NamedTuple):
    """What adversaries who infer and link in the same way have computed, and what they are known by."""

    arrays: TwoStageArrays
    memory: Memory
    attack: MultistageAttack
    space: MaskingSpace


# By the people attacked and the way of inferring and linking: the same adversaries come back under every policy, round
# after round.
_inferred: WeakKeyDictionary[MultistageWorld, dict[tuple[object, ...], _Inferred]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _Compiled:
    """An attack in two stages, compiled.

    Parameters
    ----------
    arrays : TwoStageArrays
    inferred : _Inferred
        Shared with all who infer alike.
    """

    arrays: TwoStageArrays
    inferred: _Inferred

    def of(self, target: int, strategies: Strategies) -> tuple[NDArray[np.bool_], Floats]:
        """Return whether it attacks strategies of a record, and with what probability it re-identifies it."""
        return _replies(self.arrays, self.inferred.memory, target, strategies)


@dataclass(frozen=True, eq=False)
class _Remembering:
    """An adversary who knows what was released before: it replies to that and what is released now, together."""

    replies: _Compiled | TabledReplies
    linker: RememberingLinker

    def of(self, target: int, strategies: Strategies) -> tuple[NDArray[np.bool_], Floats]:
        """Return whether it attacks strategies of a record, and with what probability it re-identifies it."""
        past = np.full(len(strategies), self.linker.past[target], dtype=np.int64)
        return self.replies.of(int(self.linker.cells[target]), known_of(strategies, past, self.linker.meet))


class _Opponent(NamedTuple):
    """One adversary, and the probability that it is there."""

    weight: float
    replies: _Compiled | TabledReplies | _Remembering

    @property
    def infers(self) -> bool:
        """Whether surnames have to be inferred to know its reply."""
        replies = self.replies.replies if isinstance(self.replies, _Remembering) else self.replies
        return isinstance(replies, _Compiled) and replies.arrays.infers


def best_against_several(game: RecordGame, *, no_attack: bool = False) -> Choice:
    """Find the best masking of every record against several adversaries.

    Parameters
    ----------
    game : RecordGame
        Branch and bound solves those of another kind, also exactly.
    no_attack : bool
        Only strategies that nobody attacks.

    Returns
    -------
    Choice
        That of `branch_and_bound`; `evaluated` counts the strategies computed against one adversary or more.
    """
    opponents = _opponents(game)
    if opponents is None:
        return branch_and_bound(game, Constraint(no_attack=no_attack))
    n, one_of, tie = game.n_records, _meeting(game) == "one-of", game.tie().tolist()
    strategies, evaluated = np.full(n, WITHHELD, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for target, (order, utility) in enumerate(_worthwhile(game)):
        strategies[target], evaluated[target] = _best_of(
            opponents, target, order, float(game.benefit[target]) * utility, float(game.loss[target]),
            tie[target], one_of=one_of, no_attack=no_attack,
        )  # fmt: skip
    return Choice(strategies, "best-first", evaluated, exact=True)


def _best_of(
    opponents: Sequence[_Opponent],
    target: int,
    order: Strategies,
    benefit: Floats,
    loss: float,
    tie: float,
    *,
    one_of: bool,
    no_attack: bool,
) -> tuple[int, int]:
    """Return the best strategy of a target and how many were computed.

    `order` holds all strategies with their falling `benefit`, both of shape (n_strategies,).
    """
    best, chosen, start = -np.inf, WITHHELD, 0
    while start < len(order) and benefit[start] >= best - tie:
        worth = benefit[start : start + _FIRST_PORTION + start // _SHARE]
        worth = worth[worth >= best - tie]
        candidates = order[start : start + len(worth)]
        payoff = _payoffs(opponents, target, candidates, worth, loss, best - tie, one_of=one_of, no_attack=no_attack)
        highest = float(payoff.max())
        if highest > -np.inf and highest >= best - tie:
            among = int(candidates[payoff >= highest - tie].min())
            # Of equal payoffs the lowest number.
            if highest > best + tie or among < chosen:
                chosen = among
            best = max(best, highest)
        start += len(worth)
    return chosen, start


def _payoffs(
    opponents: Sequence[_Opponent],
    target: int,
    candidates: Strategies,
    worth: Floats,
    loss: float,
    needed: float,
    *,
    one_of: bool,
    no_attack: bool,
) -> Floats:
    """Return the payoffs of some strategies worth what is needed; -inf where they pay less, or are not allowed."""
    payoff, reidentified = worth.copy(), np.zeros(len(worth))
    alive = np.arange(len(worth))
    for each in opponents:
        invited, success = each.replies.of(target, candidates[alive])
        if no_attack:
            payoff[alive[invited]] = -np.inf
            # Whoever errs may attack what is left.
            alive, success = alive[~invited], success[~invited]
        taken = each.weight * success
        reidentified[alive] += taken if one_of else taken * (1.0 - reidentified[alive])
        payoff[alive] = worth[alive] - loss * np.minimum(reidentified[alive], 1.0)
        alive = alive[payoff[alive] >= needed]
    return np.where(payoff >= needed, payoff, -np.inf)


@numba.njit(cache=True)
def _replies(
    arrays: TwoStageArrays, memory: Memory, target: int, strategies: Strategies
) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether an adversary attacks strategies of a target, and with what success; 0 without attack."""
    attacks, success = np.zeros(len(strategies), dtype=np.bool_), np.zeros(len(strategies))
    for k in range(len(strategies)):
        reply = reply_to(arrays, memory, target, strategies[k])
        if reply.attacks:
            attacks[k], success[k] = True, reply.success
    return attacks, success


def _opponents(game: RecordGame) -> list[_Opponent] | None:
    """Return the adversaries of a game, those who infer surnames last; None if the search is not for one of them."""
    if not isinstance(game.space, MaskingSpace) or _meeting(game) == "worst":
        return None
    if game.space.size > (_MOST_ORDERED if game.space.weights.ndim == 1 else _MOST_ORDERED_EACH):
        return None
    alone = AdversaryType("", 1.0, game.linker, game.adversary)
    opponents: list[_Opponent] = []
    for each in game.types if isinstance(game, TypesGame) else (alone,):
        planner = each.adversary.adversary if isinstance(each.adversary, RememberingAdversary) else each.adversary
        if isinstance(planner, NeverAttacks) or each.weight == 0:
            continue
        replies = _replies_of(each, game.space)
        if replies is None:
            return None
        opponents.append(_Opponent(each.weight, replies))
    return sorted(opponents, key=lambda opponent: opponent.infers)


def _meeting(game: RecordGame) -> Together:
    return game.together if isinstance(game, TypesGame) else "one-of"


def _replies_of(each: AdversaryType, space: MaskingSpace) -> _Compiled | TabledReplies | _Remembering | None:
    """Return what tells the replies of an adversary; None if it infers otherwise, or looks at too much."""
    linker, adversary = each.linker, each.adversary
    if not isinstance(linker, RememberingLinker):
        return _compiled(each) or tabled(linker, adversary, space)
    if len(linker.linkers) > 1 or not isinstance(adversary, RememberingAdversary):
        return None
    alone = replace(each, linker=linker.linkers[0], adversary=adversary.adversary)
    replies = _compiled(alone) or tabled(alone.linker, alone.adversary, space)
    return None if replies is None else _Remembering(replies, linker)


def _compiled(each: AdversaryType) -> _Compiled | None:
    """Return the attack of an adversary, compiled; None if it is no attack in two stages."""
    attack, linker = each.adversary, each.linker
    if not isinstance(attack, MultistageAttack) or type(linker) is not MultistageLinker:
        return None
    counted = any(table.counts is not None for table in linker.world.resources.values())
    if counted or not is_two_stage(linker.attack, linker.space):
        return None
    known, threshold = _inferred.setdefault(linker.world, {}), linker.attack.confidence_threshold
    # Mutation rates are arrays, which do not compare as a whole.
    stages = (stage if isinstance(stage, Identify) else id(stage) for stage in linker.attack.stages)
    way = (id(linker.space), threshold, *stages)
    if way not in known:
        arrays = compile_two_stage(linker.attack, linker.world, linker.space)
        known[way] = _Inferred(arrays, memory_for(arrays), linker.attack, linker.space)
    inferred = known[way]
    gain, cost = (
        np.broadcast_to(np.asarray(amount, dtype=np.float64), (linker.space.n_records,)).copy()
        for amount in (attack.gain, attack.cost)
    )
    arrays = inferred.arrays._replace(gain=gain, cost=cost, overconfident=linker.attack.overconfident)
    return _Compiled(arrays, inferred)


def _worthwhile(game: RecordGame) -> Iterator[tuple[Strategies, Floats]]:
    """Yield for each record the strategies that may be best, by falling utility, and their utilities.

    Who has seen something of a record learns nothing by seeing it again: sharing it as well is worth no less, brings
    the same replies, and has no higher number.
    """
    linker = linker_with_past(game)
    if linker is None:
        yield from _orders(game)
        return
    kept: dict[tuple[int, int], tuple[Strategies, Floats]] = {}
    for past, (order, utility) in zip(linker.past.tolist(), _orders(game), strict=True):
        key = (past, id(order))
        if key not in kept:
            if len(kept) >= _MOST_PASTS:
                kept.clear()
            again = known_of(order, np.full(len(order), past, dtype=np.int64), linker.meet) == order
            kept[key] = order[again], utility[again]
        yield kept[key]


def _orders(game: RecordGame) -> Iterator[tuple[Strategies, Floats]]:
    """Yield for each record all strategies by falling utility, and their utilities."""
    space = game.space
    assert isinstance(space, MaskingSpace)  # noqa: S101 # as it was compiled
    if space.weights.ndim == 1:
        ordered = _ordered(space, space.weights)
        for _ in range(game.n_records):
            yield ordered
    else:
        for weights in space.weights:
            yield _ordered(space, weights)


def _ordered(space: MaskingSpace, weights: Floats) -> tuple[Strategies, Floats]:
    kept = np.zeros(1)
    for weight, shares in zip(weights.tolist(), space.kept, strict=True):
        kept = (kept[:, None] + weight * shares).ravel()
    utility = np.minimum(kept[: space.size] / space.total_weight, 1.0)
    utility[space.most_specific] = 1.0
    order = np.argsort(-utility, kind="stable")
    return order, utility[order]

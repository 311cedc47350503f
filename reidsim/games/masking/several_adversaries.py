"""Exact solution of the masking game against adversaries who attack in two stages, or look at few attributes.

Strategies of a subject are computed in portions, in order of what they are worth without attack, until the worth of
the next one is below the best payoff found. No strategy beyond can win or tie, so the result is that of working out
all. Within a portion adversaries are added one by one, those who infer nothing first: what some of them take bounds the
payoff from above, so whoever has to infer surnames is only asked about strategies that may still win. Adversaries who
differ in gain, cost and what they make of their confidence infer once for all of them, and only where a surname may
change what one of them does. Whoever looks at few attributes, however it links and plans, has its replies to each form
of these in a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, starmap
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.two_stage import Memory, TwoStageArrays, memory_for
from reidsim.adversaries.multistage.two_stage_tables import compile_two_stage, is_two_stage
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.search_against_several import PORTION, Alike, Stakes, Tables, search
from reidsim.games.masking.tabled_replies import TabledReplies, tabled
from reidsim.games.memory import RememberingAdversary, RememberingLinker, known_of, linker_with_past
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Strategies

# All strategies are put in order of their worth: once, or for every subject where weights differ by subject.
_MOST_ORDERED = 1 << 20
_MOST_ORDERED_EACH = 1 << 16

# Records searched per compiled call, between two of which a run can be interrupted.
_CHUNK = 250

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
    n, linker = game.n_records, linker_with_past(game)
    rows = np.arange(n) if linker is None else linker.cells.copy()
    benefit, loss = game.benefit.copy(), game.loss.copy()
    stakes = Stakes(benefit, loss, game.tie().copy(), rows, _meeting(game) == "one-of", no_attack)
    strategies, evaluated = np.full(n, WITHHELD, dtype=np.int64), np.zeros(n, dtype=np.int64)
    done, risk = 0, np.zeros(PORTION)
    for _, alike in groupby(_worthwhile(game), key=lambda ordered: id(ordered[0])):
        while chunk := list(islice(alike, _CHUNK)):
            search(*opponents, stakes, np.arange(done, done + len(chunk)), *chunk[0], strategies, evaluated, risk)
            done += len(chunk)
    return Choice(strategies, "best-first", evaluated, exact=True)


def _opponents(game: RecordGame) -> tuple[tuple[Alike, ...] | None, Tables] | None:
    """Return the adversaries of a game by how their replies are known; None if the search is not for one of them."""
    if not isinstance(game.space, MaskingSpace) or _meeting(game) == "worst":
        return None
    if game.space.size > (_MOST_ORDERED if game.space.weights.ndim == 1 else _MOST_ORDERED_EACH):
        return None
    alone = AdversaryType("", 1.0, game.linker, game.adversary)
    alike: dict[int, tuple[_Inferred, list[AdversaryType]]] = {}
    tables: list[tuple[float, TabledReplies]] = []
    for each in game.types if isinstance(game, TypesGame) else (alone,):
        planner = each.adversary.adversary if isinstance(each.adversary, RememberingAdversary) else each.adversary
        if isinstance(planner, NeverAttacks) or each.weight == 0:
            continue
        now = _without_past(each, linker_with_past(game))
        if now is None:
            return None
        compiled = _compiled(now)
        infers = compiled is not None and compiled.arrays.infers
        replies = None if infers else tabled(now.linker, now.adversary, game.space)
        if replies is not None:
            tables.append((each.weight, replies))
        elif compiled is not None:
            alike.setdefault(id(compiled), (compiled, []))[1].append(now)
        else:
            return None
    groups = tuple(sorted(starmap(_alike, alike.values()), key=lambda group: group.arrays.infers))
    # Compiled functions read genealogies of one type.
    if len({group.arrays.genealogy.alleles.dtype for group in groups}) > 1:
        return None
    return groups or None, _stacked(tables, game.space.size)


def _without_past(each: AdversaryType, shared: RememberingLinker | None) -> AdversaryType | None:
    """Return an adversary as it replies to strategies that tell all that is known; None if not all know the same."""
    if shared is None:
        return each
    linker, adversary = each.linker, each.adversary
    if not isinstance(linker, RememberingLinker) or not isinstance(adversary, RememberingAdversary):
        return None
    same = np.array_equal(linker.past, shared.past) and np.array_equal(linker.cells, shared.cells)
    if len(linker.linkers) > 1 or not same:
        return None
    return replace(each, linker=linker.linkers[0], adversary=adversary.adversary)


def _alike(inferred: _Inferred, types: Sequence[AdversaryType]) -> Alike:
    shape = (len(types), inferred.space.n_records)
    alike = Alike(
        inferred.arrays, inferred.memory, np.zeros(len(types)), np.zeros(len(types)),
        np.zeros(shape), np.zeros(shape), np.zeros(len(types), dtype=np.bool_),
    )  # fmt: skip
    for number, each in enumerate(types):
        linker, attack = each.linker, each.adversary
        assert isinstance(linker, MultistageLinker)  # noqa: S101 # as it was compiled
        assert isinstance(attack, MultistageAttack)  # noqa: S101 # as it was compiled
        alike.weight[number], alike.threshold[number] = each.weight, linker.attack.confidence_threshold
        alike.gain[number], alike.cost[number] = attack.gain, attack.cost
        alike.overconfident[number] = linker.attack.overconfident
    return alike


def _stacked(tables: Sequence[tuple[float, TabledReplies]], n_strategies: int) -> Tables:
    """Put tables of replies into arrays, wide enough for the adversary who looks at most."""
    shape = (len(tables), *np.max([replies.invited.shape for _, replies in tables] or [(0, 0)], axis=0).tolist())
    invited, reidentified = np.zeros(shape, dtype=np.bool_), np.zeros(shape)
    form = np.zeros((len(tables), n_strategies), dtype=np.int32)
    for number, (_, replies) in enumerate(tables):
        invited[number, :, : replies.invited.shape[1]] = replies.invited
        reidentified[number, :, : replies.invited.shape[1]] = replies.reidentified
        form[number] = replies.form
    return Tables(np.array([weight for weight, _ in tables], dtype=np.float64), invited, reidentified, form)


def _meeting(game: RecordGame) -> Together:
    return game.together if isinstance(game, TypesGame) else "one-of"


def _compiled(each: AdversaryType) -> _Inferred | None:
    """Return what those who attack as an adversary have in common; None if it is no attack in two stages."""
    attack, linker = each.adversary, each.linker
    if not isinstance(attack, MultistageAttack) or type(linker) is not MultistageLinker:
        return None
    counted = any(table.counts is not None for table in linker.world.resources.values())
    if counted or not is_two_stage(linker.attack, linker.space):
        return None
    known = _inferred.setdefault(linker.world, {})
    way = (id(linker.space), *linker.attack.stages)
    if way not in known:
        arrays = compile_two_stage(linker.attack, linker.world, linker.space)
        known[way] = _Inferred(arrays, memory_for(arrays), linker.attack, linker.space)
    return known[way]


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

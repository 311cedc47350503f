"""Masking games against several adversaries or other planners, and their solution.

`best_against_several` visits the strategies of a record in portions, by decreasing utility, until the benefit of the
next strategy is below the best payoff. Therefore the result equals the result of exhaustive search. Within a portion,
adversaries are added one by one, starting with adversaries without inference. The loss caused by the adversaries so far
gives an upper bound of the payoff, so surnames are inferred only for strategies that can still win. Adversaries with
the same stages share inferences. The responses of an adversary that links on few attributes, with any planner, are
tabulated for each combination of levels of these attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice, starmap
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.two_stage import (
    Memory,
    TwoStageArrays,
    believed_alone,
    pays,
    reply_given,
    surname_of,
)
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.borrowed_arrays import borrowing
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.game import MaskingGame
from reidsim.games.memory import RememberingAdversary, RememberingLinker, known_of, linker_with_past
from reidsim.games.record_game import WITHHELD, Choice, Constraint, Linker, RecordGame
from reidsim.linkage.surname_inference.inference import NO_SURNAME
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Number of strategies of a record computed at a time.
PORTION = 8
# Most strategies that are sorted by utility: once, or for every record if weights differ by record. Games with more are
# solved by branch and bound.
_MOST_ORDERED = 1 << 20
_MOST_ORDERED_EACH = 1 << 16
# Records per compiled call; a run can be interrupted between two calls.
_CHUNK = 250
# Number of distinct earlier releases for which the strategies that may be best are kept in memory.
_MOST_PASTS = 256
# Limits on a table of responses: forms (combinations of levels of the linked attributes), and forms times records.
_MOST_FORMS = 256
_MOST_REPLIES = 20_000_000


def game_against_several(
    games: Mapping[str, MaskingGame], weights: Mapping[str, float], together: Together = "one-of"
) -> TypesGame:
    """Return the game against several adversaries, given the game against each alone.

    Parameters
    ----------
    games : mapping of str to MaskingGame
        Game against each adversary, with equal targets, strategies, benefits and losses.
    weights : mapping of str to float
        Probability that each adversary is present.
    together : {"one-of", "all", "worst"}
        Whether exactly one adversary is present ("one-of"), each independently of the others ("all"), or the worst one
        for each record; see `TypesGame`.
    """
    alone = {name: game.record_game for name, game in games.items()}
    types = [AdversaryType(name, weights[name], game.linker, game.adversary) for name, game in alone.items()]
    first = next(iter(alone.values()))
    return TypesGame(next(iter(games.values())).space, types, first.benefit, first.loss, together)


def without_inference(game: RecordGame | MaskingGame) -> RecordGame | MaskingGame:
    """Return the game against the same adversaries without inference.

    Adversaries then link only on released attributes; they infer no surname.
    """
    if isinstance(game, MaskingGame):
        return game.one_stage()
    if not isinstance(game, TypesGame):
        return replace(game, **_without_inference(game.linker, game.adversary))
    return game.with_types([replace(each, **_without_inference(each.linker, each.adversary)) for each in game.types])


def _without_inference(linker: Linker, adversary: Adversary) -> dict[str, Any]:
    """Return linker and adversary without inference, by name of the field of a game."""
    if isinstance(linker, MultistageLinker):
        linker = MultistageLinker(linker.attack.one_stage(), linker.world, linker.space)
    if isinstance(adversary, MultistageAttack):
        adversary = adversary.one_stage()
    elif isinstance(adversary, ErringAdversary) and isinstance(adversary.adversary, MultistageAttack):
        adversary = replace(adversary, adversary=adversary.adversary.one_stage())
    return {"linker": linker, "adversary": adversary}


class Alike(NamedTuple):
    """Two-stage adversaries with the same stages.

    Attributes
    ----------
    arrays : TwoStageArrays
        Arrays of the shared stages; payoff parameters, threshold and overconfidence in them are not used.
    memory : Memory
        Work arrays and kept inferences.
    weight : ndarray of float64, shape (n_adversaries,)
        Probability that each adversary is present.
    threshold : ndarray of float64, shape (n_adversaries,)
        Least confidence in an inferred surname at which the adversary uses it; see `MultistageAttack`.
    gain, cost : ndarray of float64, shape (n_adversaries, n_targets)
        Gain from a success and cost of an attack, in currency units per record.
    overconfident : ndarray of bool, shape (n_adversaries,)
        See `MultistageAttack`.
    """

    arrays: TwoStageArrays
    memory: Memory
    weight: Floats
    threshold: Floats
    gain: Floats
    cost: Floats
    overconfident: NDArray[np.bool_]


class Tables(NamedTuple):
    """Replies of adversaries that link on few attributes, by form of these.

    A form is a combination of levels of the linked attributes.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_adversaries,)
        Probability that each adversary is present.
    invited : ndarray of bool, shape (n_adversaries, n_targets, n_forms)
        Whether an attack pays according to the adversary's beliefs.
    reidentified : ndarray of float64, shape (n_adversaries, n_targets, n_forms)
        Probability that the adversary attacks and identifies the correct person.
    form : ndarray of int32, shape (n_adversaries, n_strategies)
        Form of each strategy.
    """

    weight: Floats
    invited: NDArray[np.bool_]
    reidentified: Floats
    form: NDArray[np.int32]


class Stakes(NamedTuple):
    """Payoff parameters of each record, and rules; arrays of shape (n_records,).

    Attributes
    ----------
    benefit, loss, tie : ndarray of float64
        Benefit, loss and tolerance for equal payoffs, in currency units per record.
    rows : ndarray of int
        Row of each record in the adversaries' arrays.
    one_of, no_attack : bool
        Whether at most one adversary is present; whether only strategies that no adversary attacks are allowed.
    """

    benefit: Floats
    loss: Floats
    tie: Floats
    rows: Rows
    one_of: bool
    no_attack: bool


def best_against_several(game: RecordGame, *, no_attack: bool = False) -> Choice:
    """Find the best masking of every record against several adversaries.

    Parameters
    ----------
    game : RecordGame
        Over a `MaskingSpace`, against two-stage attacks or adversaries that link on few attributes. Against other
        adversaries, under rule "worst", or with more than 2**20 strategies (2**16 if weights differ by record), branch
        and bound is used, which is also exact.
    no_attack : bool
        Whether to consider only strategies that no adversary attacks.

    Returns
    -------
    Choice
        Exact; the strategies equal those of `branch_and_bound`, so a record is withheld only if no strategy is allowed.
        `evaluated` counts strategies computed against one adversary or more.
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
            _search(*opponents, stakes, np.arange(done, done + len(chunk)), *chunk[0], strategies, evaluated, risk)
            done += len(chunk)
    return Choice(strategies, "best-first", evaluated, exact=True)


def _opponents(game: RecordGame) -> tuple[tuple[Alike, ...] | None, Tables] | None:
    """Return the adversaries of a game, prepared for the search; None if unsupported."""
    if not isinstance(game.space, MaskingSpace) or _meeting(game) == "worst":
        return None
    if game.space.size > (_MOST_ORDERED if game.space.weights.ndim == 1 else _MOST_ORDERED_EACH):
        return None
    alone = AdversaryType("", 1.0, game.linker, game.adversary)
    alike: dict[tuple[object, ...], tuple[MultistageLinker, list[AdversaryType]]] = {}
    tables: list[tuple[float, tuple[NDArray[np.bool_], Floats, NDArray[np.int32]]]] = []
    for each in game.types if isinstance(game, TypesGame) else (alone,):
        planner = each.adversary.adversary if isinstance(each.adversary, RememberingAdversary) else each.adversary
        if isinstance(planner, NeverAttacks) or each.weight == 0:
            continue
        now = _without_past(each, linker_with_past(game))
        if now is None:
            return None
        linker, compiled = now.linker, None
        if isinstance(now.adversary, MultistageAttack) and isinstance(linker, MultistageLinker):
            compiled = linker if linker.is_compiled else None
        infers = compiled is not None and compiled.compiled[0].infers
        replies = None if infers else _tabled(linker, now.adversary, game.space)
        if replies is not None:
            tables.append((each.weight, replies))
        elif compiled is not None:
            key = (id(compiled.world), id(compiled.space), *compiled.attack.stages)
            alike.setdefault(key, (compiled, []))[1].append(now)
        else:
            return None
    groups = tuple(sorted(starmap(_alike, alike.values()), key=lambda group: group.arrays.infers))
    # Compiled functions require the same data type of alleles in all genealogies.
    if len({group.arrays.genealogy.alleles.dtype for group in groups}) > 1:
        return None
    return groups or None, _stacked(tables, game.space.size)


def _without_past(each: AdversaryType, shared: RememberingLinker | None) -> AdversaryType | None:
    """Return an adversary without its memory, given the linker with the shared past.

    Its replies are to all releases together, written as one strategy. None if the adversaries do not all remember the
    same releases.
    """
    if shared is None:
        return each
    linker, adversary = each.linker, each.adversary
    if not isinstance(linker, RememberingLinker) or not isinstance(adversary, RememberingAdversary):
        return None
    same = np.array_equal(linker.past, shared.past) and np.array_equal(linker.cells, shared.cells)
    if len(linker.linkers) > 1 or not same:
        return None
    return replace(each, linker=linker.linkers[0], adversary=adversary.adversary)


def _alike(compiled: MultistageLinker, types: Sequence[AdversaryType]) -> Alike:
    attacks: list[Any] = [each.adversary for each in types]
    linkers: list[Any] = [each.linker for each in types]
    n = compiled.space.n_records
    return Alike(
        *compiled.compiled,
        weight=np.array([each.weight for each in types]),
        threshold=np.array([float(linker.attack.confidence_threshold) for linker in linkers]),
        gain=np.stack([np.broadcast_to(np.asarray(attack.gain, dtype=np.float64), n) for attack in attacks]),
        cost=np.stack([np.broadcast_to(np.asarray(attack.cost, dtype=np.float64), n) for attack in attacks]),
        overconfident=np.array([bool(linker.attack.overconfident) for linker in linkers]),
    )


def _tabled(
    linker: Linker, adversary: Adversary, space: MaskingSpace
) -> tuple[NDArray[np.bool_], Floats, NDArray[np.int32]] | None:
    """Return replies by form of the linked attributes, and each strategy's form.

    They are `invited`, `reidentified` and `form` of `Tables` for one adversary; None if linkage may depend on too many
    attributes.
    """
    looked_at: tuple[str, ...] | None = getattr(linker, "looked_at", None)
    if looked_at is None:
        return None
    positions = [position for position, name in enumerate(space.attributes) if name in looked_at]
    shape = [space.shape[position] for position in positions]
    n_forms = prod(shape)
    if n_forms > _MOST_FORMS or n_forms * space.n_records > _MOST_REPLIES:
        return None
    places = space.number(np.eye(len(space.attributes), dtype=np.int64))[positions]
    strategies, form = np.arange(space.size), np.zeros(space.size, dtype=np.int32)
    for place, size in zip(places.tolist(), shape, strict=True):
        form = form * size + (strategies // place % size).astype(np.int32)
    # Attributes that must be shared have a single level. The records may differ from the records of the space.
    met, first = np.unique(form, return_index=True)
    replies = [adversary.respond(linker.link(strategy)) for strategy in first.tolist()]
    invited = np.zeros((len(replies[0].attacks), n_forms), dtype=np.bool_)
    reidentified = np.zeros(invited.shape)
    for number, response in zip(met.tolist(), replies, strict=True):
        invited[:, number], reidentified[:, number] = response.invited, response.reidentified
    return invited, reidentified, form


def _stacked(
    tables: Sequence[tuple[float, tuple[NDArray[np.bool_], Floats, NDArray[np.int32]]]], n_strategies: int
) -> Tables:
    """Stack tables of replies, padded to the largest number of forms."""
    shape = (len(tables), *np.max([invited.shape for _, (invited, _, _) in tables] or [(0, 0)], axis=0).tolist())
    stacked = Tables(
        np.array([weight for weight, _ in tables], dtype=np.float64),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape),
        np.zeros((len(tables), n_strategies), dtype=np.int32),
    )
    for number, (_, (invited, reidentified, form)) in enumerate(tables):
        stacked.invited[number, :, : invited.shape[1]] = invited
        stacked.reidentified[number, :, : invited.shape[1]] = reidentified
        stacked.form[number] = form
    return stacked


def _meeting(game: RecordGame) -> Together:
    return game.together if isinstance(game, TypesGame) else "one-of"


def _worthwhile(game: RecordGame) -> Iterator[tuple[Strategies, Floats]]:
    """Yield, for each record, the strategies that can be best.

    The second array has their utilities. Records without earlier releases keep all strategies.

    An adversary that has seen an attribute learns nothing by seeing it again. So sharing this attribute again is worth
    no less, leads to the same replies, and has no higher strategy number. Strategies that mask it are left out.
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
    """Yield, for each record, all strategies by decreasing utility.

    The second array has their utilities.
    """
    space: Any = game.space
    if space.weights.ndim == 1:
        ordered = _ordered(space, space.weights)
        yield from (ordered for _ in range(game.n_records))
    else:
        yield from (_ordered(space, weights) for weights in space.weights)


def _ordered(space: MaskingSpace, weights: Floats) -> tuple[Strategies, Floats]:
    kept = np.zeros(1)
    for weight, shares in zip(weights.tolist(), space.kept, strict=True):
        kept = (kept[:, None] + weight * shares).ravel()
    utility = np.minimum(kept[: space.size] / space.total_weight, 1.0)
    utility[space.most_specific] = 1.0
    order = np.argsort(-utility, kind="stable")
    return order, utility[order]


@borrowing()
def _search(
    alike: tuple[Alike, ...] | None,
    tables: Tables,
    stakes: Stakes,
    targets: Rows,
    order: Strategies,
    utility: Floats,
    strategies: Strategies,
    evaluated: NDArray[np.int64],
    risk: Floats,
) -> None:
    """Find the best strategies of records with the same order of strategies.

    Parameters
    ----------
    alike : tuple of Alike, optional
        Two-stage adversaries, grouped by stages.
    tables : Tables
        Adversaries with tabulated replies.
    stakes : Stakes
        Payoff parameters of the records.
    targets : ndarray of int, shape (n,)
        The records.
    order : ndarray of int64, shape (n_strategies,)
        All strategies that can be best, by decreasing utility.
    utility : ndarray of float64, shape (n_strategies,)
        Utility of each strategy in `order`.
    strategies, evaluated : ndarray of int64, shape (n_records,)
        Output: best strategy of each record (the lowest number among equals), and number of computed strategies.
    risk : ndarray of float64, shape (PORTION,)
        Work array.
    """
    for target in targets:
        strategies[target], evaluated[target] = _best_of(alike, tables, stakes, target, order, utility, risk)


@borrowing(inline="always")
def _best_of(
    alike: tuple[Alike, ...] | None,
    tables: Tables,
    stakes: Stakes,
    target: int,
    order: Strategies,
    utility: Floats,
    risk: Floats,
) -> tuple[int, int]:
    benefit, tie = stakes.benefit[target], stakes.tie[target]
    best, chosen, start = -np.inf, WITHHELD, 0
    while start < len(order) and benefit * utility[start] >= best - tie:
        n = min(len(order) - start, PORTION)
        while benefit * utility[start + n - 1] < best - tie:
            n -= 1
        candidates, worth = order[start : start + n], utility[start : start + n]
        for k in range(n):
            risk[k] = 0.0
        for each in range(len(tables.weight)):
            _ask_table(tables, each, stakes, target, candidates, worth, best - tie, risk)
        if alike is not None:
            for group in alike:
                _ask_alike(group, stakes, target, candidates, worth, best - tie, risk)
        for k in range(n):
            if risk[k] == np.inf:
                continue
            payoff = benefit * worth[k] - stakes.loss[target] * min(risk[k], 1.0)
            if payoff > best + tie or (payoff >= best - tie and candidates[k] < chosen):
                chosen = candidates[k]
            best = max(best, payoff)
        start += n
    return chosen, start


@borrowing()
def _ask_table(
    tables: Tables,
    each: int,
    stakes: Stakes,
    target: int,
    candidates: Strategies,
    worth: Floats,
    needed: float,
    risk: Floats,
) -> None:
    """Add the risk from one adversary with tabulated replies to `risk`.

    The risk is infinite for strategies that cannot win. For the parameters see `_risk_with`; `worth` holds utilities.
    """
    row = stakes.rows[target]
    for k in range(len(candidates)):
        if risk[k] == np.inf:
            continue
        form = tables.form[each, candidates[k]]
        taken = tables.weight[each] * tables.reidentified[each, row, form]
        risk[k] = _risk_with(stakes, target, worth[k], needed, risk[k], taken, tables.invited[each, row, form])


@borrowing(inline="always")
def _ask_alike(
    alike: Alike, stakes: Stakes, target: int, candidates: Strategies, worth: Floats, needed: float, risk: Floats
) -> None:
    """Add the risk from two-stage adversaries with the same stages to `risk`.

    The risk is infinite for strategies that cannot win.
    """
    row, n_loci = stakes.rows[target], alike.arrays.target_alleles.shape[1]
    for k in range(len(candidates)):
        if risk[k] == np.inf:
            continue
        form = candidates[k] >> n_loci
        if stakes.no_attack:
            # An adversary for whom an attack pays without any locus attacks for every set of shared loci.
            alone = believed_alone(alike.arrays, row, form)
            for each in range(len(alike.weight)):
                if pays(alike.gain[each, row], alone, alike.cost[each, row]):
                    risk[k] = np.inf
        # If only one person matches, a surname adds nothing.
        surname, confidence = NO_SURNAME, 0.0
        if risk[k] < np.inf and alike.arrays.form_sizes[form, row] > 1:
            surname, confidence = surname_of(alike.arrays, alike.memory, row, candidates[k])
        for each in range(len(alike.weight)):
            if risk[k] < np.inf:
                reply = reply_given(
                    alike.arrays,
                    alike.memory,
                    row,
                    form,
                    surname,
                    confidence,
                    alike.gain[each, row],
                    alike.cost[each, row],
                    alike.threshold[each],
                    alike.overconfident[each],
                )
                taken = alike.weight[each] * reply.success if reply.attacks else 0.0
                risk[k] = _risk_with(stakes, target, worth[k], needed, risk[k], taken, reply.attacks)


@borrowing()
def _risk_with(
    stakes: Stakes, target: int, worth: float, needed: float, before: float, taken: float, attacked: bool
) -> float:
    """Return the probability of re-identification of a record with one more adversary.

    It is infinite if the strategy is not allowed or the payoff is less than needed.

    Parameters
    ----------
    worth : float
        Utility of the strategy.
    needed : float
        Least payoff at which the strategy can still be best, in currency units.
    before : float
        Probability of re-identification by the adversaries added so far.
    taken : float
        Probability that the adversary is present, attacks and re-identifies the record.
    attacked : bool
        Whether the adversary attacks.
    """
    if stakes.no_attack and attacked:
        return np.inf
    risk = before + (taken if stakes.one_of else taken * (1.0 - before))
    return risk if stakes.benefit[target] * worth - stakes.loss[target] * min(risk, 1.0) >= needed else np.inf

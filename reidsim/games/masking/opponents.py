"""The adversaries of a masking game, one or several, prepared for compiled solvers.

Two-stage adversaries with the same stages share inferences. The replies of an adversary that links on few attributes,
with any planner, are tabulated for each combination of levels of these attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage.attack import (
    Memory,
    MultistageAttack,
    TwoStageArrays,
    believed_alone,
    memory_beside,
    pays,
    reply_given,
    surname_of,
)
from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import Adversary, NeverAttacks
from reidsim.core.numerics import borrowing
from reidsim.games.composite import (
    AdversaryType,
    RememberingAdversary,
    RememberingLinker,
    Together,
    TypesGame,
    linker_with_past,
    parts_of,
    with_each,
)
from reidsim.games.masking.game import GameArrays, MaskingGame, level_counts, n_threads, utility_of
from reidsim.games.record_game import WITHHELD, Linker, RecordGame
from reidsim.linkage.surname_inference import NO_SURNAME
from reidsim.releases.lattice import Floats, MaskingSpace, Rows, Strategies

# Limits on a table of replies: forms (combinations of levels of the linked attributes), and forms times records.
_MOST_FORMS = 256
_MOST_REPLIES = 20_000_000
# Largest number of forms of the attributes that are not only shared or masked; every record is compared under each.
_MOST_OF_OTHERS = 1 << 16


def game_against_several(
    games: Mapping[str, MaskingGame], weights: Mapping[str, float], together: Together = "one-of"
) -> TypesGame:
    """Return the game against several adversaries, given the game against each alone.

    Parameters
    ----------
    games : mapping of str to MaskingGame
        Game against each adversary, by its name, with equal targets, strategies, benefits and losses.
    weights : mapping of str to float
        Probability that each adversary is present, by its name.
    together : {"one-of", "all", "worst"}
        Whether exactly one adversary is present ("one-of"), each independently of the others ("all"), or the worst one
        for each record; see `TypesGame`.
    """
    alone = {name: game.record_game for name, game in games.items()}
    types = [AdversaryType(name, weights[name], game.linker, game.adversary) for name, game in alone.items()]
    first = next(iter(alone.values()))
    return TypesGame(next(iter(games.values())).space, types, first.benefit, first.loss, together)


def without_inference(game: RecordGame | MaskingGame) -> RecordGame | MaskingGame:
    """Return the game against the same adversaries without inference of surnames.

    The result is of the class of `game`. Adversaries then link only on released attributes. Adversaries that infer
    nothing are unchanged.
    """
    return game.one_stage() if isinstance(game, MaskingGame) else with_each(game, _without_inference)


def _without_inference(each: AdversaryType) -> AdversaryType:
    linker, adversary = each.linker, each.adversary
    if isinstance(linker, MultistageLinker):
        linker = MultistageLinker(linker.attack.one_stage(), linker.world, linker.space)
    if isinstance(adversary, MultistageAttack):
        adversary = adversary.one_stage()
    elif isinstance(adversary, ErringAdversary) and isinstance(adversary.adversary, MultistageAttack):
        adversary = replace(adversary, adversary=adversary.adversary.one_stage())
    return replace(each, linker=linker, adversary=adversary)


class Alike(NamedTuple):
    """Two-stage adversaries with the same stages, which share their inferences.

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


# Two-stage adversaries, grouped by stages; None without such adversaries.
Groups = tuple[Alike, ...] | None


class Tables(NamedTuple):
    """Replies of adversaries that link on few attributes, by form.

    A form is a combination of levels of the attributes on which an adversary links.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_adversaries,)
        Probability that each adversary is present.
    invited : ndarray of bool, shape (n_adversaries, n_targets, n_forms)
        Whether an attack pays according to the adversary's beliefs.
    reidentified : ndarray of float64, shape (n_adversaries, n_targets, n_forms)
        Probability that the adversary attacks and identifies the correct person.
    steps : ndarray of int64, shape (n_adversaries, n_attributes)
        Step in the form's number for one more level of each attribute; 0 if not linked.
    """

    weight: Floats
    invited: NDArray[np.bool_]
    reidentified: Floats
    steps: NDArray[np.int64]


class Rules(NamedTuple):
    """Adversaries with tabulated replies, and rules for the whole game.

    Attributes
    ----------
    tables : Tables
        Adversaries with tabulated replies.
    rows : ndarray of int, shape (n_records,)
        Row of each record in the adversaries' arrays.
    past : ndarray of int64, shape (n_records,)
        Strategy equivalent to all earlier releases of each record; -1 without earlier releases.
    one_of, no_attack : bool
        Whether at most one adversary is present; whether only strategies that no adversary attacks are allowed.
    by_confidence : bool
        Whether of equally good strategies, the strategy with the lower confidence in the surname is preferred.
    """

    tables: Tables
    rows: Rows
    past: Strategies
    one_of: bool
    no_attack: bool
    by_confidence: bool


@dataclass(frozen=True, eq=False)
class Opponents:
    """The adversaries of a game, as arguments of compiled solvers.

    Parameters
    ----------
    alike : list of tuple of Alike, or of None
        Two-stage adversaries by thread, grouped by stages; None without such adversaries.
    rules : Rules
        Other adversaries, the rows of records in the adversaries' arrays, and which strategies are allowed.
    game : GameArrays
        The subjects' side of the game.
    """

    alike: list[Groups]
    rules: Rules
    game: GameArrays

    @classmethod
    def of_one(cls, game: MaskingGame, *, no_attack: bool) -> Opponents:
        """Return the only adversary of a masking game, as arguments of compiled solvers.

        With `no_attack`, only strategies that are not attacked are allowed. Of equally good strategies, the strategy
        with the lower confidence in the surname is preferred.

        Raises
        ------
        InputError
            If the attack is not a two-stage attack.
        """
        n, linker = game.n_records, game.staged_linker
        alike = [_alike(linker, [AdversaryType("", 1.0, linker, game.attack)])]
        tables = _stacked((), len(game.space.attributes))
        past = np.full(n, WITHHELD, dtype=np.int64)
        rules = Rules(tables, np.arange(n), past, one_of=True, no_attack=no_attack, by_confidence=True)
        return cls(_by_thread(alike, n), rules, game.arrays)

    @classmethod
    def of_several(cls, game: RecordGame, *, no_attack: bool) -> Opponents | None:
        """Return the adversaries of a record game, as arguments of compiled solvers.

        The result is None if compiled solvers do not support the game. They support only games over a `MaskingSpace` in
        which every adversary makes a compiled two-stage attack (`MultistageLinker.is_compiled`), or uses so few
        attributes that its replies to all combinations of their levels can be tabulated. They do not support the worst
        adversary for each record (`TypesGame` with "worst") nor very large strategy spaces.

        Parameters
        ----------
        game : RecordGame
            Game against one adversary or several types.
        no_attack : bool
            Whether only strategies that no adversary attacks are allowed.
        """
        space, together = game.space, game.together if isinstance(game, TypesGame) else "one-of"
        if not isinstance(space, MaskingSpace) or space.focus is not None or together == "worst":
            return None
        shared, sizes = linker_with_past(game), level_counts(space)
        groups: dict[tuple[object, ...], tuple[MultistageLinker, list[AdversaryType]]] = {}
        tabled: list[tuple[float, _Replies]] = []
        for each in parts_of(game):
            planner = each.adversary.adversary if isinstance(each.adversary, RememberingAdversary) else each.adversary
            if isinstance(planner, NeverAttacks) or each.weight == 0:
                continue
            now = _without_past(each, shared)
            if now is None:
                return None
            linker, in_stages = now.linker, isinstance(now.adversary, MultistageAttack)
            staged = linker if in_stages and isinstance(linker, MultistageLinker) and linker.is_compiled else None
            infers = staged is not None and staged.compiled[0].infers
            replies = None if infers else _tabled(linker, now.adversary, space, sizes)
            if replies is not None:
                tabled.append((each.weight, replies))
            elif staged is not None:
                key = (id(staged.world), id(staged.space), *staged.attack.stages)
                groups.setdefault(key, (staged, []))[1].append(now)
            else:
                return None
        alike = [_alike(staged, types) for staged, types in groups.values()]
        alike.sort(key=lambda group: group.arrays.infers)
        n_bits = sum(1 for _ in takewhile(lambda size: size == 2, sizes[::-1].tolist()))
        n_bits = min([n_bits, *(group.arrays.target_alleles.shape[1] for group in alike)])
        # Compiled functions require the same data type of alleles in all genealogies.
        dtypes = {group.arrays.genealogy.alleles.dtype for group in alike}
        if space.size >> n_bits > _MOST_OF_OTHERS or len(dtypes) > 1:
            return None
        n = game.n_records
        rows = np.arange(n) if shared is None else shared.cells.copy()
        past = np.full(n, WITHHELD, dtype=np.int64) if shared is None else shared.past.copy()
        tables, one_of = _stacked(tabled, len(sizes)), together == "one-of"
        rules = Rules(tables, rows, past, one_of=one_of, no_attack=no_attack, by_confidence=False)
        return cls(_by_thread(alike, n), rules, GameArrays.from_space(space, game.benefit, game.loss, n_bits))


_Replies = tuple[NDArray[np.bool_], Floats, NDArray[np.int64]]


def _by_thread(alike: Sequence[Alike], n_records: int) -> list[Groups]:
    """Return the groups of adversaries for each thread.

    Each thread has its own memory. The list has one entry per thread, `n_threads` of them: a tuple of the groups, or
    None without adversaries. The first thread uses the memory of `alike`.
    """
    others = (
        [group._replace(memory=memory_beside(group.memory, group.arrays)) for group in alike]
        for _ in range(1, n_threads(n_records))
    )
    return [tuple(groups) or None for groups in (alike, *others)]


def _without_past(each: AdversaryType, shared: RememberingLinker | None) -> AdversaryType | None:
    """Return an adversary without its memory of earlier releases.

    The result links on one strategy per record, for which the caller passes the strategy equivalent to all releases.
    `shared` is the linker with the past of all adversaries. If `shared` is None, the adversary is returned unchanged.
    The result is None if the adversary does not remember the same releases as `shared`, or has several linkers.
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


def _alike(staged: MultistageLinker, types: Sequence[AdversaryType]) -> Alike:
    n = staged.space.n_records
    each = [(one.weight, cast("Any", one.linker).attack, cast("Any", one.adversary)) for one in types]
    return Alike(
        *staged.compiled,
        weight=np.array([weight for weight, _, _ in each]),
        threshold=np.array([float(rule.confidence_threshold) for _, rule, _ in each]),
        gain=np.array([np.broadcast_to(attack.gain, n) for _, _, attack in each], dtype=np.float64),
        cost=np.array([np.broadcast_to(attack.cost, n) for _, _, attack in each], dtype=np.float64),
        overconfident=np.array([bool(rule.overconfident) for _, rule, _ in each]),
    )


def _tabled(linker: Linker, adversary: Adversary, space: MaskingSpace, sizes: NDArray[np.int64]) -> _Replies | None:
    """Return an adversary's replies by form of the attributes it links on.

    A form is a combination of levels of these attributes. The results are `invited` and `reidentified`, shape
    (n_records, n_forms), and `steps`, shape (n_attributes,), of `Tables` for one adversary. The result is None if the
    linker does not list its attributes, or if there are more than 256 forms or 20 million forms times records. `sizes`
    (n_attributes,) is the number of levels of each attribute.
    """
    looked_at: tuple[str, ...] | None = getattr(linker, "looked_at", None)
    if looked_at is None:
        return None
    at = np.flatnonzero([name in looked_at for name in space.attributes])
    n_forms = prod(sizes[at].tolist())
    if n_forms > _MOST_FORMS or n_forms * space.n_records > _MOST_REPLIES:
        return None
    steps, levels = np.zeros(len(sizes), dtype=np.int64), np.zeros((n_forms, len(sizes)), dtype=np.int64)
    steps[at] = n_forms // np.cumprod(sizes[at])
    levels[:, at] = np.arange(n_forms)[:, None] // steps[at] % sizes[at]
    replies = [adversary.respond(linker.link(strategy)) for strategy in space.number(levels).tolist()]
    invited, reidentified = (
        np.stack([getattr(reply, name) for reply in replies], axis=1) for name in ("invited", "reidentified")
    )
    return invited, reidentified, steps


def _stacked(tabled: Sequence[tuple[float, _Replies]], n_attributes: int) -> Tables:
    """Return the replies of several adversaries as `Tables`.

    Tables are padded with False and 0 to the largest number of forms.

    `tabled` holds, for each adversary, its probability of presence and the result of `_tabled`; it may be empty.
    `n_attributes` is the number of attributes.
    """
    shape = (len(tabled), *np.max([invited.shape for _, (invited, _, _) in tabled] or [(0, 0)], axis=0).tolist())
    stacked = Tables(
        np.array([weight for weight, _ in tabled], dtype=np.float64),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape),
        np.zeros((len(tabled), n_attributes), dtype=np.int64),
    )
    for number, (_, (invited, reidentified, steps)) in enumerate(tabled):
        stacked.invited[number, :, : invited.shape[1]] = invited
        stacked.reidentified[number, :, : invited.shape[1]] = reidentified
        stacked.steps[number] = steps
    return stacked


@borrowing()
def attacked_anyway(alike: Alike, row: int, form: int) -> bool:
    """Return whether an adversary attacks a form for every set of loci.

    An adversary for whom an attack pays without any locus attacks for every set of shared loci. The result is True if
    this holds for any adversary of the group.

    Parameters
    ----------
    alike : Alike
        Adversaries with the same stages.
    row : int
        Row of the record in the adversaries' arrays.
    form : int
        Combination of levels of the demographics (attributes other than loci).
    """
    believed, attacked = believed_alone(alike.arrays, row, form), False
    for each in range(len(alike.weight)):
        attacked |= pays(alike.gain[each, row], believed, alike.cost[each, row])
    return attacked


@borrowing()
def payoff_against(
    alike: Groups, rules: Rules, game: GameArrays, target: int, strategy: int, needed: float
) -> tuple[float, float]:
    """Return the payoff of a strategy, and the adversary's confidence in the surname.

    Adversaries are added one by one, first adversaries without inference. The risk so far bounds the payoff, so
    surnames are inferred only for strategies that can still win. The payoff is expected, in currency units. It is minus
    infinity (with confidence 0) if the strategy is not allowed or pays less than `needed`. The confidence is 0 unless
    `rules.by_confidence` is set.

    Parameters
    ----------
    alike : tuple of Alike, or None
        Two-stage adversaries, grouped by stages; None without such adversaries.
    rules : Rules
        Other adversaries, the rows of records in the adversaries' arrays, and which strategies are allowed.
    game : GameArrays
        Benefits, losses and weights of the subjects.
    target, strategy : int
        Number of the record, and of its strategy.
    needed : float
        Least payoff of interest, in currency units.
    """
    tables, row = rules.tables, rules.rows[target]
    risk, confidence = 0.0, 0.0
    worth, loss = game.benefit[target] * utility_of(game, target, strategy), game.loss[target]
    for each in range(len(tables.weight)):
        form = 0
        for j in range(len(game.places)):
            form += strategy // game.places[j] % game.sizes[j] * tables.steps[each, j]
        taken = tables.weight[each] * tables.reidentified[each, row, form]
        risk += taken if rules.one_of else taken * (1.0 - risk)
        if (rules.no_attack and tables.invited[each, row, form]) or worth - loss * min(risk, 1.0) < needed:
            return -np.inf, 0.0
    if alike is not None:
        for group in alike:
            arrays, memory = group.arrays, group.memory
            form = strategy >> arrays.target_alleles.shape[1]
            if rules.no_attack and attacked_anyway(group, row, form):
                return -np.inf, 0.0
            # If only one person matches, a surname adds nothing.
            surname, sure = NO_SURNAME, 0.0
            if rules.by_confidence or arrays.form_sizes[form, row] > 1:
                surname, sure = surname_of(arrays, memory, row, strategy)
            for each in range(len(group.weight)):
                gain, cost, threshold = group.gain[each, row], group.cost[each, row], group.threshold[each]
                reply = reply_given(
                    arrays, memory, row, form, surname, sure, gain, cost, threshold, group.overconfident[each]
                )
                taken = group.weight[each] * reply.success if reply.attacks else 0.0
                risk += taken if rules.one_of else taken * (1.0 - risk)
                if (rules.no_attack and reply.attacks) or worth - loss * min(risk, 1.0) < needed:
                    return -np.inf, 0.0
            if rules.by_confidence:
                confidence = sure
    return worth - loss * min(risk, 1.0), confidence

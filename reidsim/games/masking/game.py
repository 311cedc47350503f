"""The masking game: subjects mask attributes, an adversary attacks in stages.

Follows Wan et al. 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.linkers import MaskedRecordLinker, MultistageLinker
from reidsim.adversaries.multistage.attack import (
    Memory,
    MultistageAttack,
    MultistageWorld,
    Reply,
    TwoStageArrays,
    count_bits,
    is_two_stage,
    memory_beside,
    reply_to,
)
from reidsim.adversaries.response import INDIFFERENCE, Adversary, OneShotAdversary
from reidsim.core.errors import InputError, require_among
from reidsim.core.numerics import available_threads, borrowing, compiled, done_in_threads
from reidsim.games.outcomes import Attempts, Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.linkage.surname_inference import NO_SURNAME
from reidsim.releases.lattice import Floats, MaskingSpace, Rows, Strategies

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Added to all values before a Gini coefficient, as published; it keeps the coefficient of zeros at 0.
_OFFSET = 1e-7

PUBLISHED_YEAR = 2020
"""Reference year of the ages in the published study."""


def usefulness(values: Integers, shared: Flags, weights: Floats) -> float:
    """Return the similarity of the distributions of shared and all values, in [0, 1].

    The usefulness is the weighted mean over attributes of 1 - d, where d is the total variation distance between the
    distributions of the attribute's values among all targets and among the targets who share it. If no target shares an
    attribute, d is 1.

    Parameters
    ----------
    values : ndarray of int, shape (n, n_attributes)
        True values of the targets.
    shared : ndarray of bool, shape (n, n_attributes)
        Whether the target shares the attribute.
    weights : ndarray of float64, shape (n_attributes,)
        Weight of each attribute; the sum must be above 0.
    """
    kept = 0.0
    for j, weight in enumerate(weights):
        distinct, code = np.unique(values[:, j], return_inverse=True)
        sharing = shared[:, j]
        if sharing.any():
            everybody = np.bincount(code, minlength=len(distinct)) / len(code)
            visible = np.bincount(code[sharing], minlength=len(distinct)) / sharing.sum()
            kept += weight * (1.0 - 0.5 * np.abs(everybody - visible).sum())
    return float(kept / np.sum(weights))


def gini(values: Floats) -> float:
    """Return the Gini coefficient of values, shape (n,); 0 for equal values.

    If any value is negative, all values are shifted so that the lowest is 0. As published, 1e-7 is then added to all.
    There must be at least one value.
    """
    ordered = np.sort(values - min(values.min(), 0.0)) + _OFFSET
    n = len(ordered)
    return float(((2 * np.arange(1, n + 1) - n - 1) * ordered).sum() / (n * ordered.sum()))


def fairness(values: Floats, groupings: Sequence[Integers]) -> float:
    """Return the fairness of a measure between groups; 1 if all group means are equal.

    This is the mean over groupings of 1 - Gini coefficient of the group means. Groups have equal weight.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Measure of each subject, such as payoff, privacy or utility.
    groupings : sequence of ndarray of int, shape (n,)
        Group of every subject, for each grouping; see `birth_decades` and `state_groups`.
    """
    evenness = []
    for groups in groupings:
        _, code = np.unique(groups, return_inverse=True)
        evenness.append(1.0 - gini(np.bincount(code, weights=values) / np.bincount(code)))
    return float(np.mean(evenness))


def fairness_of_usefulness(
    values: Integers, shared: Flags, weights: Floats, groupings: Sequence[tuple[int, Integers]]
) -> float:
    """Return the fairness of usefulness between groups; see `fairness`.

    This is the mean over groupings of 1 - Gini coefficient of the usefulness within each group. Subjects who mask the
    attribute that defines the groups have no visible group, so they do not count as sharing.

    Parameters
    ----------
    values, shared, weights
        See `usefulness`.
    groupings : sequence of tuple of int and ndarray of int, shape (n,)
        Position of the attribute that defines the groups, and the group of every subject.
    """
    evenness = []
    for attribute, groups in groupings:
        visible = shared & shared[:, [attribute]]
        by_group = [usefulness(values[groups == g], visible[groups == g], weights) for g in np.unique(groups)]
        evenness.append(1.0 - gini(np.array(by_group)))
    return float(np.mean(evenness))


def birth_decades(ages: Integers, year: int = PUBLISHED_YEAR) -> Integers:
    """Return the birth-year group of each subject, an integer from 0 to 9.

    The groups are: before 1910, the eight decades from 1910 on, 1990 and later. The birth year is `year` less the age
    (`ages`, shape (n,), in years).
    """
    return np.clip((year - ages) // 10 - 190, 0, 9)


def state_groups(states: Integers) -> Integers:
    """Return the group of each subject's state, an integer from 0 to 4.

    `states` (n,) holds state codes from 0 to 50; group 0 holds codes 0 to 10, and each other group the next ten.
    """
    return np.maximum(states - 1, 0) // 10


# Records per compiled call; a run can be interrupted between two calls.
_CHUNK = 100
# State of a thread, such as its caches.
Worker = TypeVar("Worker")


@dataclass(frozen=True, eq=False)
class PartialMaskingSpace(MaskingSpace):
    """Masking space in which the first `n_always` attributes are always shared.

    Strategies are all combinations of levels of the other attributes. Demographics that every contributor states are an
    example of attributes that are always shared. The attributes that are always shared are the most significant digits
    of a strategy's number. The strategies that share them therefore have the lowest numbers, equal to their numbers in
    a game in which all attributes can be masked.

    Parameters
    ----------
    attributes, weights, n_records, kept, groups, total_weight
        See `MaskingSpace`; attributes that are always shared count towards utility.
    n_always : int
        Number of attributes that are always shared.

    Raises
    ------
    InputError
        If no attribute can be masked; or for the reasons given in `MaskingSpace`.
    """

    n_always: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.n_always < len(self.attributes):
            expected = f"fewer than {len(self.attributes)}, the number of attributes"
            raise InputError("no attribute can be masked", found=self.n_always, expected=expected)

    @property
    def size(self) -> int:
        """Number of strategies.

        It is the product of the numbers of levels of the attributes that can be masked.
        """
        return prod(self.shape[self.n_always :])

    def masking(self, shared: NDArray[np.bool_]) -> Strategies:
        """Return the strategies that share the given attributes and mask all others.

        Attributes that are always shared stay shared. The result holds strategy numbers. For the shape of `shared`
        (array of bool), and of the result, see `MaskingSpace.masking`.
        """
        return super().masking(shared | (np.arange(len(self.attributes)) < self.n_always))

    def successors(self, strategy: int) -> Iterator[int]:
        """Yield the strategies with one attribute masked by one more level.

        They are in lattice order, without strategies that mask an attribute that is always shared. `strategy` is the
        number of the strategy to start from.
        """
        return (below for below in super().successors(strategy) if below < self.size)


class GameArrays(NamedTuple):
    """The subjects' side of a masking game, as arrays for compiled solvers.

    Attributes that the adversary links on directly (such as demographics) come first, then the loci, which serve the
    inference of a surname. A target is a subject.

    Attributes
    ----------
    weights : ndarray of float64, shape (1 or n_targets, n_attributes)
        Weight of each attribute in the utility; one row if equal for all targets.
    form_kept : ndarray of float64, shape (n_forms, n_linked)
        Share of its weight that each attribute before the loci keeps, for each combination of their levels (a form).
    total_weight : float
        Total weight at which utility is 1.
    benefit, loss, tie : ndarray of float64, shape (n_targets,)
        Benefit, loss and tolerance for equal payoffs, in currency units per record.
    places : ndarray of int64, shape (n_attributes,)
        Step in the strategy number for one more level of each attribute.
    sizes : ndarray of int64, shape (n_attributes,)
        Number of levels of each attribute; 1 if it is always shared.
    n_bits : int
        Number of attributes at the end (loci) that are either shared or masked.
    """

    weights: Floats
    form_kept: Floats
    total_weight: float
    benefit: Floats
    loss: Floats
    tie: Floats
    places: NDArray[np.int64]
    sizes: NDArray[np.int64]
    n_bits: int

    @classmethod
    def from_space(cls, space: MaskingSpace, benefit: float | Floats, loss: float | Floats, n_bits: int) -> GameArrays:
        """Return the arrays of a masking game.

        Parameters
        ----------
        space : MaskingSpace
            Strategies of the game.
        benefit, loss : float or ndarray of shape (n_targets,)
            See `MaskingGame`; in currency units per record.
        n_bits : int
            Number of attributes at the end that are either shared or masked.
        """
        n, n_linked, n_forms = space.n_records, len(space.attributes) - n_bits, space.size >> n_bits
        levels = space.all_levels(np.arange(n_forms) << n_bits)[:, :n_linked]
        form_kept = np.ones((n_forms, n_linked))
        for j in range(n_linked):
            form_kept[:, j] = space.kept[j][levels[:, j]]
        sizes = np.array(space.shape, dtype=np.int64)
        gained, lost = (np.broadcast_to(each, (n,)).astype(np.float64) for each in (benefit, loss))
        return cls(
            weights=np.ascontiguousarray(np.atleast_2d(space.weights)),
            form_kept=form_kept,
            total_weight=space.total_weight,
            benefit=gained,
            loss=lost,
            tie=INDIFFERENCE * (gained + lost),
            places=np.append(np.cumprod(sizes[:0:-1])[::-1], 1),
            sizes=level_counts(space),
            n_bits=n_bits,
        )


def _always_shared(space: MaskingSpace) -> int:
    return space.n_always if isinstance(space, PartialMaskingSpace) else 0


def level_counts(space: MaskingSpace) -> NDArray[np.int64]:
    """Return the number of levels of each attribute; 1 if it is always shared.

    The result has shape (n_attributes,).
    """
    sizes = np.array(space.shape, dtype=np.int64)
    return np.where(np.arange(len(sizes)) < _always_shared(space), 1, sizes)


@borrowing()
def utility_of(game: GameArrays, target: int, strategy: int) -> float:
    """Return a strategy's utility for a target (record number), in [0, 1].

    It is the share of the total weight that the strategy keeps, at most 1. Full sharing (strategy 0) has utility 1.
    """
    if strategy == 0:
        return 1.0
    weights = game.weights[target if len(game.weights) > 1 else 0]
    form = strategy >> game.n_bits
    n_linked = game.form_kept.shape[1]
    kept = 0.0
    for j in range(n_linked):
        kept += weights[j] * game.form_kept[form, j]
    for j in range(n_linked, len(weights)):
        if not strategy & game.places[j]:
            kept += weights[j]
    return min(kept / game.total_weight, 1.0)


@borrowing()
def payoff_of(game: GameArrays, target: int, strategy: int, reply: Reply) -> float:
    """Return the subject's payoff from a strategy, given the adversary's reply.

    The payoff is expected, in currency units. `target` is the number of the subject's record.
    """
    worth = game.benefit[target] * utility_of(game, target, strategy)
    return float(worth - game.loss[target] * reply.success if reply.attacks else worth)


@borrowing()
def is_ahead(payoff: float, confidence: float, best: float, best_confidence: float, tie: float) -> int:
    """Return 1 if the first of two strategies is preferred, -1 if the second, else 0.

    Parameters come in pairs: `payoff` and `confidence` of the first, `best` and `best_confidence` of the second. The
    higher payoff is preferred; payoffs that differ by at most `tie`, in currency units, are equal. Of strategies with
    equal payoffs, the one under which the adversary has less confidence in the inferred surname is preferred;
    confidences that differ by at most 1e-12 are equal.
    """
    if payoff > best + tie:
        return 1
    if payoff < best - tie:
        return -1
    if confidence < best_confidence - INDIFFERENCE:
        return 1
    return -1 if confidence > best_confidence + INDIFFERENCE else 0


@dataclass(frozen=True, eq=False)
class MaskingGame:
    """Masking game of all subjects against one adversary, record by record.

    The subject receives ``benefit x utility`` and expects to lose ``loss x success probability`` if the adversary
    attacks. It may also withhold the record: no benefit, no attack, payoff 0. A subject with wrong beliefs chooses a
    strategy in a game with the believed parameters, and receives the payoff of the game with the true parameters.

    Of equally good strategies, the strategy with the lower confidence in the inferred surname is chosen, then the
    strategy with the lowest number. Attacks other than the two-stage attack are solved by the record game, which breaks
    ties only by the number.

    Parameters
    ----------
    space : MaskingSpace
        Combinations of levels of the attributes that can be shared.
    attack : MultistageAttack
        Stages, payoff parameters and threshold of the adversary.
    world : MultistageWorld
        True values of the targets, and the resources that the adversary uses.
    benefit, loss : float or ndarray of shape (n_targets,)
        The subject's benefit of sharing the record unmasked, and its loss if it is re-identified, in currency units per
        record.
    planner : Adversary, optional
        Planner that decides on attacks from the linkage of the attack's stages; the attack itself if not given.

    Raises
    ------
    InputError
        If a benefit or loss is negative, or attack, world and space do not fit together.
    """

    space: MaskingSpace
    attack: MultistageAttack
    world: MultistageWorld
    benefit: float | Floats = 100.0
    loss: float | Floats = 150.0
    planner: Adversary | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        game = self.record_game
        object.__setattr__(self, "benefit", game.benefit)
        object.__setattr__(self, "loss", game.loss)
        # Compiled solvers treat an attribute that is not used for linkage as a locus, and a locus can be masked.
        linked = self.attack.identify.on if isinstance(game.linker, MultistageLinker) else self.space.attributes
        require_among(
            "an attribute is always shared but not used for linkage",
            self.space.attributes[: _always_shared(self.space)],
            linked,
        )

    @property
    def n_records(self) -> int:
        """Number of subjects, with one record each."""
        return self.space.n_records

    @property
    def is_compiled(self) -> bool:
        """Whether compiled solvers support the game.

        They support only a two-stage attack (`is_two_stage`) whose planner is the attack itself.
        """
        return self.planner is None and is_two_stage(self.attack, self.world, self.space)

    def one_stage(self) -> MaskingGame:
        """Return the game without the adversary's stages that infer surnames.

        The adversary then links on released attributes only, and does not pay for these stages.
        """
        return replace(self, attack=self.attack.one_stage())

    @cached_property
    def record_game(self) -> RecordGame:
        """The same game as a `RecordGame`, for solvers of record games."""
        linker = MultistageLinker(self.attack, self.world, self.space)
        adversary = self.planner or self.attack
        return RecordGame(self.space, linker, adversary, np.asarray(self.benefit), np.asarray(self.loss))

    @property
    def staged_linker(self) -> MultistageLinker:
        """Linker of the attack's stages.

        It has the adversary's side of the game for compiled solvers (`compiled`).

        Raises
        ------
        InputError
            If the attack is not a two-stage attack, or the game is against partial knowledge.
        """
        linker = self.record_game.linker
        if not isinstance(linker, MultistageLinker):
            raise InputError("this solver does not support the attack", expected="a multi-stage attack")
        return linker

    @cached_property
    def arrays(self) -> GameArrays:
        """The subjects' side of the game, as `GameArrays` for compiled solvers.

        For the adversary's side see `staged_linker`.
        """
        return GameArrays.from_space(self.space, self.benefit, self.loss, count_bits(self.attack, self.space))

    def evaluate(self, choice: Choice) -> Equilibrium:
        """Return the outcome of chosen strategies, with this game as the true game.

        In the result, an `Equilibrium` with arrays of shape (n_records,), a withheld record (strategy -1) has payoffs
        and utility 0 and generalization intensity 1.
        """
        if not self.is_compiled:
            return evaluate(self.record_game, choice)
        strategies = np.asarray(choice.strategies, dtype=np.int64)
        publisher, adversary, success, utility, attacks = self._replies(strategies)[:5]
        attacked = attacks > 0
        gain = self.staged_linker.compiled[0].gain
        intensity = self.space.generalization_intensity(np.maximum(strategies, 0))
        return Equilibrium(
            strategies=strategies,
            publisher_payoff=publisher,
            adversary_payoff=adversary,
            attacked=attacked,
            success_probability=success,
            utility=utility,
            generalization_intensity=np.where(strategies == WITHHELD, 1.0, intensity),
            solver=choice.solver,
            evaluated=choice.evaluated,
            exact=choice.exact,
            attempts=Attempts.of_one(np.where(attacked, success, 0.0), adversary, gain, np.asarray(self.loss)),
        )

    def confidence(self, strategies: Strategies) -> tuple[NDArray[np.int64], Floats]:
        """Return the inferred surname of each record and the adversary's confidence in it.

        `strategies` has shape (n_records,), -1 for withheld records. Surnames are codes. Without an inferred surname,
        code and confidence are -1 and 0.

        Raises
        ------
        InputError
            If the attack is not a two-stage attack.
        """
        confidence, surnames = self._replies(np.asarray(strategies, dtype=np.int64))[5:]
        codes = self.staged_linker.compiled[0].surname_codes[surnames.astype(np.int64)]
        return np.where(surnames >= 0, codes, NO_SURNAME), confidence

    def _replies(self, strategies: Strategies) -> Floats:
        """Return the outcomes of strategies (n_records,), shape (7, n_records).

        The rows are the subject's and the adversary's expected payoff (in currency units), the success probability, the
        utility, whether the adversary attacks (0 or 1), its confidence in the surname, and the surname by position in
        the attack's list of surnames, -1 without one. Withheld records (strategy -1) have 0, and no surname.
        """
        (attack, memory), outcomes = self.staged_linker.compiled, np.zeros((7, self.n_records))
        outcomes[6] = NO_SURNAME
        in_chunks(
            self.n_records,
            [memory, *(memory_beside(memory, attack) for _ in range(1, n_threads(self.n_records)))],
            lambda rows, memory: _evaluate(self.arrays, attack, memory, rows, strategies, outcomes),
        )
        return outcomes

    def chosen(
        self, solver: str, strategies: Strategies, payoffs: Floats, evaluated: NDArray[np.int64], *, exact: bool
    ) -> Choice:
        """Return a solver's choice, withholding the records whose best payoff is negative.

        The result is a `Choice` with these `strategies`, `solver` (a name), `evaluated` (numbers of strategies
        computed) and `exact`. `payoffs` are the subjects' payoffs of the strategies, in currency units; arrays have
        shape (n_records,). A payoff within the tie tolerance of 0 is not negative.
        """
        worth_sharing = payoffs >= -INDIFFERENCE * (np.asarray(self.benefit) + np.asarray(self.loss))
        return Choice(np.where(worth_sharing, strategies, WITHHELD), solver, evaluated, exact)


def n_threads(n_records: int) -> int:
    """Return the number of threads that `in_chunks` can use for some records.

    It is the number of available threads, or 1 for at most 100 records.
    """
    return available_threads() if n_records > _CHUNK else 1


def in_chunks(n_records: int, workers: Sequence[Worker], solve: Callable[[Rows, Worker], None]) -> None:
    """Call a compiled solver on chunks of the records, in one thread per worker.

    The function returns when all chunks of at most 100 records are done.

    Parameters
    ----------
    n_records : int
        Number of records.
    workers : sequence
        State of each thread, such as its caches; a worker is used by one thread at a time.
    solve : callable
        Takes the record numbers of a chunk, and the worker of its thread; its result is ignored.
    """
    chunks = [np.arange(at, min(at + _CHUNK, n_records)) for at in range(0, n_records, _CHUNK)]
    free = SimpleQueue[Worker]()
    for worker in workers:
        free.put(worker)

    def solved(rows: Rows) -> None:
        worker = free.get()
        try:
            solve(rows, worker)
        finally:
            free.put(worker)

    for _ in done_in_threads(solved, chunks, len(workers)):
        pass


@dataclass(frozen=True, eq=False)
class PartialKnowledgeGame(MaskingGame):
    """Masking game against an adversary who links known attributes to a register.

    The background knowledge about a subject, a set of attributes whose values the adversary knows, is random. The
    success probability of a strategy is the mean, over knowledge sets, of 1 / the number of people in the register who
    match the values that are both shared and known (see `KnowledgeLinker`). The adversary decides by this mean and
    infers no surname. Of equally good strategies, the strategy with the lowest number is chosen. The game is solved by
    the solvers of record games.

    Parameters
    ----------
    space, attack, world, benefit, loss
        See `MaskingGame`; the attack has one stage, which links on the attributes of the knowledge.
    knowledge : Knowledge
        Background knowledge about the subjects, over the attributes of the last stage.
    """

    knowledge: Knowledge = field(kw_only=True)

    @property
    def is_compiled(self) -> bool:
        """Always False: there are no compiled solvers for partial knowledge."""
        return False

    def one_stage(self) -> MaskingGame:
        """Return the same game: its attack has no inference of surnames to omit."""
        return self

    @cached_property
    def record_game(self) -> RecordGame:
        """The same game as a `RecordGame`, for solvers of record games."""
        name, world = self.attack.identify.resource, self.world
        register, listed, guessed = world.resource(name), world.lists.get(name), world.is_guessed(name)
        linker = MaskedRecordLinker(
            self.space, world.targets, register, self.knowledge, world.registered, listed, guessed=guessed
        )
        adversary = self.planner or OneShotAdversary(self.attack.gain, self.attack.cost)
        return RecordGame(self.space, linker, adversary, np.asarray(self.benefit), np.asarray(self.loss))


@compiled(nogil=True)
def _evaluate(
    game: GameArrays, attack: TwoStageArrays, memory: Memory, rows: Rows, strategies: Strategies, outcomes: Floats
) -> None:
    for target in rows:
        strategy = strategies[target]
        if strategy < 0:
            continue
        reply = reply_to(attack, memory, target, strategy)
        outcomes[0, target] = payoff_of(game, target, strategy, reply)
        outcomes[1, target] = attack.gain[target] * reply.success - reply.price if reply.attacks else 0.0
        outcomes[2, target], outcomes[3, target] = reply.success, utility_of(game, target, strategy)
        outcomes[4, target], outcomes[5, target], outcomes[6, target] = reply.attacks, reply.confidence, reply.surname

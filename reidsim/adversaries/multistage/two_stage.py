"""The published two-stage attack, compiled: one target and one strategy at a time, with next to nothing done twice.

The attack infers a surname from the loci shared and links surname and demographics to a registry. What makes it fast:
a target is compared with the genealogy once for all strategies; inferences are kept per set of shared loci; distances
are kept per pattern for all targets; the registry stands in order of surname, so that linking reads few rows.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import check_registered
from reidsim.adversaries.multistage.stages import InferSurname
from reidsim.adversaries.multistage.world import ListedTargets, MultistageWorld
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.linkage.row_groups import OpenRowGroups
from reidsim.linkage.surname_inference.inference import (
    NO_SURNAME,
    GenealogyArrays,
    Workspace,
    compare_target,
    genealogy_arrays,
    nearest_surname,
    workspace,
)
from reidsim.linkage.surname_inference.nearest_neighbour import nearest_neighbour_surname
from reidsim.linkage.surname_inference.tmrca import (
    Ancestry,
    AncestryTables,
    DistanceCache,
    Floats,
    distance_cache,
)
from reidsim.releases.masking import MaskingSpace

Integers = NDArray[np.int64]

# Forms of the demographics: each is a root of the search, and its group sizes are kept for every target.
_MOST_FORMS = 65_536
_MOST_GROUP_SIZES = 100_000_000
_MEMO_BITS = 14
# In place of the number of a surname: agrees with every surname.
_ANY = -2


class TwoStageArrays(NamedTuple):
    """An attack on the targets of a world as the compiled functions read it.

    A strategy is a form of the demographics and a set of masked loci: ``strategy = form * 2**n_loci + masked``, where
    the last locus is bit 0 of `masked`. Loci stand in that order of bits in all arrays here.

    Parameters
    ----------
    infers : bool
        Whether there is a first stage.
    by_neighbour : bool
        Whether it takes the nearest neighbour instead of the nearest ancestor.
    tables, genealogy : AncestryTables, GenealogyArrays
    candidate_share, threshold, price : float
        Candidate rule, theta and the price of the first stage.
    overconfident : bool
        Whether a surname that is inferred with a confidence of theta or more is believed to be right.
    gain, cost : ndarray of float64, shape (n_targets,)
    target_alleles : ndarray of int32, shape (n_targets, n_loci)
    own_surnames : ndarray of int64, shape (n_targets,)
        What the registry says of each target; `_ANY` where it says nothing.
    coverage : float
        Probability that a target is in the registry, as the adversary believes.
    form_columns : ndarray of int64, shape (n_forms, n_linked)
        Column of the registry that holds each linked attribute as released; -1 where it is masked.
    form_sizes : ndarray of int32, shape (n_forms, n_targets)
        People of the registry who match the released demographics.
    form_own : ndarray of bool, shape (n_forms, n_targets)
        Whether the target is one of them.
    registry : ndarray of int32, shape (n_columns, n_people)
        Demographics at each level, -1 where missing; people in order of surname, at the end those without one.
    target_values : ndarray of int32, shape (n_targets, n_columns)
    registry_size : int
        People of the registry.
    first : ndarray of int64, shape (n_surnames + 1,)
        Where in the registry each surname begins, and where those without one do.
    as_believed, inferred_as_believed : bool
        Whether an attempt succeeds as the adversary believes, without the first stage and with it.
    surname_codes : ndarray of int64, shape (n_surnames,)
        Surnames are numbered anew from 0 in all arrays here; this gives the numbers they had.
    """

    infers: bool
    by_neighbour: bool
    tables: AncestryTables
    genealogy: GenealogyArrays
    candidate_share: float
    threshold: float
    price: float
    overconfident: bool
    gain: Floats
    cost: Floats
    target_alleles: NDArray[np.int32]
    own_surnames: Integers
    coverage: float
    form_columns: Integers
    form_sizes: NDArray[np.int32]
    form_own: NDArray[np.bool_]
    registry: NDArray[np.int32]
    registry_size: int
    target_values: NDArray[np.int32]
    first: Integers
    as_believed: bool
    inferred_as_believed: bool
    surname_codes: Integers


class Memory(NamedTuple):
    """What has been worked out for the target at hand, and distances for all of them.

    Parameters
    ----------
    room, distances : Workspace, DistanceCache
    target : ndarray of int64, shape (1,)
        The target that `room` holds; -1 for none.
    inferred : ndarray of int64, shape (2**bits, 3)
        By place: the target, the set of shared loci and the surname inferred from it.
    confidence : ndarray of float64, shape (2**bits,)
        In that surname.
    matches : ndarray of int64, shape (n_forms, 3)
        By form: the target, the surname last asked for and the people of the registry who match.
    """

    room: Workspace
    distances: DistanceCache
    target: Integers
    inferred: Integers
    confidence: Floats
    matches: Integers


class Reply(NamedTuple):
    """The adversary's reply to one strategy of one target."""

    attacks: bool
    success: float
    believed: float
    price: float
    confidence: float
    surname: int


def is_two_stage(attack: MultistageAttack, space: MaskingSpace) -> bool:
    """Tell whether an attack on releases of this kind can be compiled.

    It infers nothing, or a surname that is not released itself; loci come last in the space, are shared or masked
    whole, and are the loci of the inference; and what is linked on has not too many forms.
    """
    n_forms = prod(space.shape[: len(space.shape) - count_bits(attack, space)])
    if n_forms > _MOST_FORMS or n_forms * space.n_records > _MOST_GROUP_SIZES:
        return False
    inferences = attack.inferences
    if not inferences:
        return True
    stage = inferences[0]
    if len(inferences) > 1 or not isinstance(stage, InferSurname) or stage.infers in space.attributes:
        return False
    if any(locus in attack.identify.on for locus in stage.loci):
        return False
    n = len(stage.loci)
    return space.attributes[-n:] == stage.loci and all(size == 2 for size in space.shape[-n:])


def count_bits(attack: MultistageAttack, space: MaskingSpace) -> int:
    """Return how many attributes at the end of the list are not linked on: the loci of the inference, if there is one.

    Without an inference, all at the end that can only be shared or masked and that the adversary has no use for.
    """
    if attack.inferences:
        return sum(len(stage.loci) for stage in attack.inferences if isinstance(stage, InferSurname))
    bits = 0
    for name, size in zip(space.attributes[::-1], space.shape[::-1], strict=True):
        if size != 2 or name in attack.identify.on:
            break
        bits += 1
    return bits


def compile_two_stage(attack: MultistageAttack, world: MultistageWorld, space: MaskingSpace) -> TwoStageArrays:
    """Lay out a two-stage or one-stage attack for the compiled functions.

    Raises
    ------
    InputError
        If it is another kind of attack, or tables lack what it needs.
    """
    if not is_two_stage(attack, space):
        raise InputError(
            "attack that this solver cannot take",
            found=[type(stage).__name__ for stage in attack.stages],
            expected="a surname inferred from loci that end the list of attributes, then Identify on a few others",
            hint="best-first search takes any chain of stages",
        )
    if any(table.counts is not None for table in world.resources.values()):
        raise InputError(
            "rows that stand for several people", expected="a row for each person",
            hint="best-first search takes any table",
        )  # fmt: skip
    attack.check_attributes(space.attributes)
    check_registered(attack, world)
    n, identify = world.n_targets, attack.identify
    n_loci = count_bits(attack, space)
    registry = world.resource(identify.resource)
    forms = space.shape[: len(space.shape) - n_loci]
    n_forms = prod(forms)
    columns: list[Integers] = []
    missing: list[NDArray[np.bool_] | None] = []
    targets: list[Integers] = []
    own: list[NDArray[np.bool_]] = []
    everybody = np.arange(n)
    listed = world.lists.get(identify.resource)
    column_of = np.full((len(forms), max(forms, default=1)), -1)
    for j, size in enumerate(forms):
        name = space.attributes[j]
        values = world.targets.column(name)
        if name not in identify.on:
            continue
        for level in range(size - 1):
            column_of[j, level] = len(columns)
            columns.append(space.generalized(j, level, registry.column(name)))
            missing.append(registry.missing.get(name))
            targets.append(space.generalized(j, level, values))
            if listed is not None:
                own.append(world.agrees(identify.resource, name, columns[-1], targets[-1], everybody))
    levels = np.array(list(np.ndindex(*forms)), dtype=np.int64).reshape(n_forms, len(forms))
    form_columns = column_of[np.arange(len(forms)), levels]
    form_sizes = np.zeros((n_forms, n), dtype=np.int32)
    form_own = np.ones((n_forms, n), dtype=np.bool_)
    form_own[:] = _in_registry(world, listed)
    for form in range(n_forms):
        used = form_columns[form][form_columns[form] >= 0]
        groups = OpenRowGroups([columns[c] for c in used], [missing[c] for c in used], registry.n_rows)
        form_sizes[form] = groups.count([targets[c] for c in used], n)
        if listed is not None:
            form_own[form] &= np.logical_and.reduce([own[c] for c in used]) if len(used) else True
    genealogy, own_surnames, in_registry, codes = _surname_tables(attack, world, registry.n_rows)
    stacked = _stacked(columns, registry.n_rows)
    for column, where in enumerate(missing):
        if where is not None:
            stacked[column, where] = -1
    order = np.argsort(in_registry, kind="stable")
    stage = attack.inferences[0] if attack.inferences else None
    guessed = world.is_guessed(identify.resource)
    if isinstance(stage, InferSurname):
        rates = stage.ancestry.mutation_rates[::-1]
        ancestry = Ancestry(rates, stage.ancestry.effective_population, stage.ancestry.horizon)
        alleles = world.targets.matrix(stage.loci[::-1])
    else:
        ancestry, alleles = Ancestry(np.zeros(1)), np.zeros((n, n_loci), np.int64)
    return TwoStageArrays(
        # A surname that is not linked on cannot help.
        infers=stage is not None and stage.infers in identify.on,
        by_neighbour=isinstance(stage, InferSurname) and stage.method == "nearest-neighbour",
        tables=ancestry.tables(),
        genealogy=genealogy,
        candidate_share=float(stage.candidate_share) if isinstance(stage, InferSurname) else 0.0,
        threshold=float(attack.confidence_threshold),
        price=float(stage.price) if stage is not None else 0.0,
        overconfident=bool(attack.overconfident),
        gain=np.broadcast_to(np.asarray(attack.gain, dtype=np.float64), (n,)).copy(),
        cost=np.broadcast_to(np.asarray(attack.cost, dtype=np.float64), (n,)).copy(),
        target_alleles=np.ascontiguousarray(alleles, dtype=np.int32),
        own_surnames=own_surnames,
        coverage=1.0 if listed is None else listed.coverage,
        form_columns=form_columns,
        form_sizes=form_sizes,
        form_own=form_own,
        registry=stacked[:, order].copy(),
        registry_size=registry.n_rows,
        target_values=np.ascontiguousarray(_stacked(targets, n).T),
        first=np.searchsorted(in_registry[order], np.arange(len(codes) + 1)),
        as_believed=guessed,
        inferred_as_believed=guessed or (stage is not None and world.is_guessed(stage.resource)),
        surname_codes=codes,
    )


def _in_registry(world: MultistageWorld, listed: ListedTargets | None) -> NDArray[np.bool_]:
    """Tell which targets are in the registry, shape (n_targets,)."""
    if listed is not None:
        return np.asarray(listed.row >= 0)
    return np.ones(world.n_targets, dtype=np.bool_) if world.registered is None else world.registered


def _stacked(columns: list[Integers], n: int) -> NDArray[np.int32]:
    return np.stack(columns).astype(np.int32) if columns else np.zeros((0, n), dtype=np.int32)


def _surname_tables(
    attack: MultistageAttack, world: MultistageWorld, n_registry: int
) -> tuple[GenealogyArrays, Integers, Integers, Integers]:
    """Return the genealogy, the surnames of targets in the registry and of all people there, numbered anew from 0.

    And the numbers they had. People of the registry without a surname have the number after the last.
    """
    stage = attack.inferences[0] if attack.inferences else None
    if not isinstance(stage, InferSurname):
        nobody = genealogy_arrays(np.zeros((1, 0), np.int64), np.zeros(1, np.int64))
        return nobody, np.zeros(world.n_targets, np.int64), np.zeros(n_registry, np.int64), np.zeros(1, np.int64)
    men = world.resource(stage.resource)
    named = men.known((stage.infers,))
    if not named.any():
        raise InputError("nobody has a value", source=men.name, where=stage.infers)
    names = [men.column(stage.infers)[named], world.targets.column(stage.infers)]
    identify = attack.identify
    registry = world.resource(identify.resource)
    if stage.infers in identify.on:
        names.append(registry.column(stage.infers))
    codes, numbers = np.unique(np.concatenate(names), return_inverse=True)
    parts = np.split(numbers.astype(np.int64), np.cumsum([len(part) for part in names])[:-1])
    own, in_registry = parts[1], parts[2] if len(parts) == 3 else np.zeros(n_registry, np.int64)
    if stage.infers in identify.on:
        if stage.infers in registry.missing:
            in_registry = np.where(registry.missing[stage.infers], len(codes), in_registry)
        if identify.resource in world.lists:
            own = in_registry[world.lists[identify.resource].row]
            own = np.where(own == len(codes), _ANY, own)
    return genealogy_arrays(men.matrix(stage.loci[::-1])[named], parts[0]), own, in_registry, codes


def memory_for(arrays: TwoStageArrays) -> Memory:
    """Return an empty memory; one may serve for any number of calls on the same arrays."""
    n_loci = arrays.target_alleles.shape[1]
    size = 1 << min(n_loci, _MEMO_BITS)
    return Memory(
        room=workspace(arrays.genealogy, len(arrays.tables.prior) - 1),
        distances=distance_cache(),
        target=np.full(1, -1, np.int64),
        inferred=np.full((size, 3), -1, np.int64),
        confidence=np.zeros(size),
        matches=np.full((len(arrays.form_columns), 3), -1, np.int64),
    )


@numba.njit(cache=True)
def _place_of(shared: np.uint64, size: int) -> int:
    """Return the place in memory of a set of loci; up to 14 loci all sets have places of their own."""
    return int((shared ^ (shared >> np.uint64(14)) * np.uint64(0x9E3779B1)) & np.uint64(size - 1))


@numba.njit(cache=True)
def _infer(arrays: TwoStageArrays, memory: Memory, target: int, shared: np.uint64, place: int) -> None:
    """Put in memory the surname that the adversary infers from the loci shared, and its confidence."""
    if arrays.by_neighbour:
        surname = nearest_neighbour_surname(arrays.genealogy, arrays.target_alleles[target], shared)
        confidence = 1.0
    else:
        if memory.target[0] != target:
            compare_target(arrays.genealogy, arrays.target_alleles[target], memory.room)
            memory.target[0] = target
        surname, confidence = nearest_surname(
            arrays.tables, arrays.genealogy, memory.room, memory.distances, shared, arrays.candidate_share
        )
    memory.inferred[place, 0], memory.inferred[place, 1], memory.inferred[place, 2] = target, np.int64(shared), surname
    memory.confidence[place] = confidence


@numba.njit(cache=True)
def _agreeing(arrays: TwoStageArrays, target: int, form: int, start: int, stop: int) -> int:
    """Return how many people in some places of the registry match the released demographics."""
    matches = 0
    for person in range(start, stop):
        same = True
        for column in arrays.form_columns[form]:
            if column >= 0:
                value = arrays.registry[column, person]
                if value != arrays.target_values[target, column] and value != -1:
                    same = False
                    break
        matches += same
    return matches


@numba.njit(cache=True)
def _matches(arrays: TwoStageArrays, memory: Memory, target: int, form: int, surname: int) -> int:
    """Return how many people of the registry have the surname, or none, and match the released demographics."""
    if memory.matches[form, 0] == target and memory.matches[form, 1] == surname:
        return int(memory.matches[form, 2])
    matches = _agreeing(arrays, target, form, arrays.first[surname], arrays.first[surname + 1])
    matches += _agreeing(arrays, target, form, arrays.first[len(arrays.first) - 1], arrays.registry_size)
    memory.matches[form, 0], memory.matches[form, 1], memory.matches[form, 2] = target, surname, matches
    return matches


@numba.njit(cache=True)
def reply_to(arrays: TwoStageArrays, memory: Memory, target: int, strategy: int) -> Reply:
    """Return the adversary's reply to one strategy of one target.

    With p' = coverage / people who match the demographics and q = coverage x confidence / people who match the surname
    too, the first stage is used if someone matches, the confidence reaches theta and it strictly pays:
    ``gain q - price > gain p'``. Whoever is overconfident reckons with 1 in place of the confidence. What is true does
    not depend on that, unless no more is known of who is in a list than the adversary believes.
    """
    n_loci = arrays.target_alleles.shape[1]
    form = strategy >> n_loci
    shared = np.uint64(~strategy & ((1 << n_loci) - 1))
    surname, confidence = NO_SURNAME, 0.0
    if shared != 0 and arrays.infers:
        place = _place_of(shared, len(memory.confidence))
        if memory.inferred[place, 0] != target or memory.inferred[place, 1] != np.int64(shared):
            _infer(arrays, memory, target, shared, place)
        surname, confidence = memory.inferred[place, 2], memory.confidence[place]
    gain, price = arrays.gain[target], arrays.cost[target]
    people = arrays.form_sizes[form, target]
    believed = arrays.coverage / people if people > 0 else 0.0
    success = believed if arrays.as_believed else 0.0
    if not arrays.as_believed and people > 0 and arrays.form_own[form, target]:
        success = 1.0 / people
    sure = arrays.coverage * (1.0 if arrays.overconfident and confidence > 0.0 else confidence)
    # Nobody can be surer than that, so the registry is asked only where it may be worth it.
    if surname >= 0 and confidence >= arrays.threshold and sure > believed:
        matches = _matches(arrays, memory, target, form, surname)
        if matches > 0:
            inferring = sure / matches
            if gain * inferring - arrays.price > gain * believed + INDIFFERENCE * gain:
                own = arrays.own_surnames[target]
                right = own in (surname, _ANY) and arrays.form_own[form, target]
                believed = inferring
                success = inferring if arrays.inferred_as_believed else (1.0 / matches if right else 0.0)
                price += arrays.price
    attacks = gain * believed > price * (1.0 + INDIFFERENCE)
    return Reply(attacks, success, believed, price, confidence, surname)

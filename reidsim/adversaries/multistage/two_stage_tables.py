"""Conversion of the published two-stage attack to arrays for compiled functions."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import InferSurname, MultistageAttack
from reidsim.adversaries.multistage.two_stage import ANY, Integers, TwoStageArrays
from reidsim.adversaries.multistage.world import ListedTargets, MultistageWorld
from reidsim.errors import InputError
from reidsim.linkage.row_groups import OpenRowGroups, numbered
from reidsim.linkage.surname_inference.comparison import GenealogyArrays, genealogy_arrays
from reidsim.linkage.surname_inference.tmrca import (
    Ancestry,
)
from reidsim.releases.masking import MaskingSpace

# Maximum number of forms (combinations of levels) of the demographics, and maximum number of group sizes, one for each
# form and target: each form is a root of the search, and all group sizes are stored.
_MOST_FORMS = 65_536
_MOST_GROUP_SIZES = 100_000_000


def is_two_stage(attack: MultistageAttack, space: MaskingSpace) -> bool:
    """Return whether an attack on releases of a masking space can be compiled.

    The conditions are: the attack has no inference stage, or infers a surname that is not released itself; the loci
    come last in the space, are either released unchanged or masked, and are the loci of the inference; the adversary
    does not link on them; and the other attributes do not have too many combinations of levels.
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
    """Return the number of attributes at the end of the space that are not linked.

    With an inference stage, these are its loci. Otherwise, these are all final attributes that can only be released or
    masked and that the adversary does not use.
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
    """Return the arrays of a two-stage or one-stage attack for the compiled functions.

    A `MultistageLinker` must have accepted the attack.

    Raises
    ------
    InputError
        If the attack is of another kind, a row of a resource represents several people, a table lacks an attribute, or
        nobody in the genealogy has a surname.
    """
    if not is_two_stage(attack, space):
        raise InputError(
            "this solver does not support the attack",
            found=[type(stage).__name__ for stage in attack.stages],
            expected="surname inference from loci at the end of the attributes, then Identify on a few others",
            hint="use best-first search for other stages",
        )
    if any(table.counts is not None for table in world.resources.values()):
        raise InputError(
            "a row represents several people",
            expected="one row per person",
            hint="use best-first search for tables with counts",
        )
    attack.check_attributes(space.attributes)
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
    # Sorting of short integers is several times faster.
    order = np.argsort(in_registry.astype(np.min_scalar_type(len(codes))), kind="stable")
    stage = attack.inferences[0] if attack.inferences else None
    guessed = world.is_guessed(identify.resource)
    if isinstance(stage, InferSurname):
        rates = stage.ancestry.mutation_rates[::-1]
        ancestry = Ancestry(rates, stage.ancestry.effective_population, stage.ancestry.horizon)
        alleles = world.targets.matrix(stage.loci[::-1])
    else:
        ancestry, alleles = Ancestry(np.zeros(1)), np.zeros((n, n_loci), np.int64)
    return TwoStageArrays(
        # A surname that is not used for linkage is useless.
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
    """Return whether each target is in the registry, shape (n_targets,)."""
    if listed is not None:
        return np.asarray(listed.row >= 0)
    return np.ones(world.n_targets, dtype=np.bool_) if world.registered is None else world.registered


def _stacked(columns: list[Integers], n: int) -> NDArray[np.int32]:
    return np.stack(columns).astype(np.int32) if columns else np.zeros((0, n), dtype=np.int32)


def _surname_tables(
    attack: MultistageAttack, world: MultistageWorld, n_registry: int
) -> tuple[GenealogyArrays, Integers, Integers, Integers]:
    """Return the genealogy and the surnames, numbered anew from 0.

    The items are: the genealogy, the surnames of the targets in the registry, the surnames of all people in the
    registry, and the original codes of the surnames. A target without a surname in a drawn list has `ANY`. People in
    the registry without a surname have the number after the last surname.
    """
    stage = attack.inferences[0] if attack.inferences else None
    if not isinstance(stage, InferSurname):
        nobody = genealogy_arrays(np.zeros((1, 0), np.int64), np.zeros(1, np.int64))
        return nobody, np.zeros(world.n_targets, np.int64), np.zeros(n_registry, np.int64), np.zeros(1, np.int64)
    men = world.resource(stage.resource)
    named = men.known((stage.infers,))
    if not named.any():
        raise InputError("no person has a value", source=men.name, where=stage.infers)
    names = [men.column(stage.infers)[named], world.targets.column(stage.infers)]
    identify = attack.identify
    registry = world.resource(identify.resource)
    if stage.infers in identify.on:
        names.append(registry.column(stage.infers))
    codes, numbers = numbered(np.concatenate(names))
    parts = np.split(numbers, np.cumsum([len(part) for part in names])[:-1])
    own, in_registry = parts[1], parts[2] if len(parts) == 3 else np.zeros(n_registry, np.int64)
    if stage.infers in identify.on:
        if stage.infers in registry.missing:
            in_registry = np.where(registry.missing[stage.infers], len(codes), in_registry)
        if identify.resource in world.lists:
            own = in_registry[world.lists[identify.resource].row]
            own = np.where(own == len(codes), ANY, own)
    return genealogy_arrays(men.matrix(stage.loci[::-1])[named], parts[0]), own, in_registry, codes

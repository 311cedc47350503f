"""Linkage of many targets under each plan of a multi-stage attack."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import (
    Inference,
    InferSurname,
    Memory,
    MultistageAttack,
    MultistageWorld,
    TwoStageArrays,
    compile_two_stage,
    is_two_stage,
    memory_for,
)
from reidsim.adversaries.response import ListedCandidates, PlanLinkage, chance_of_guess, one_over
from reidsim.core.errors import InputError
from reidsim.linkage.people import OpenRowGroups, RowGroups
from reidsim.linkage.surname_inference import (
    NO_SURNAME,
    SurnameInference,
    nearest_neighbour_surnames,
    pack_bits,
)
from reidsim.releases.lattice import Floats, GeneralizationLattice, MaskingSpace, Rows

Integers = NDArray[np.int64]

# Maximum number of inference stages: each doubles the number of plans.
_MOST_INFERENCES = 8

# Maximum number of cached surnames; the cache keeps the most recent sets of released loci.
_MOST_KEPT = 20_000_000


class _Plan(NamedTuple):
    """Stages used so far and their result; arrays of shape (n,), by target.

    `stages` are positions among the attack's inference stages. `inferred` holds the inferred values by attribute.
    `confidence` is the product of the stages' confidences on which the adversary acts; 0 if the plan is unavailable.
    `right` is true where all inferred values are true. `price` is the total price of the stages.
    """

    stages: tuple[int, ...]
    inferred: dict[str, Integers]
    confidence: Floats
    right: NDArray[np.bool_]
    price: float


# Attributes used for linkage, with the level at which each is released; None if inferred.
_Link = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, eq=False)
class MultistageLinker:
    """Linker that runs the stages of an attack; a `Linker` of the record game.

    If the attack ends in a drawn list, the adversary believes that a target is in the list with a probability equal to
    the list's coverage, and that the list's values are correct. The true success probability is one over the number of
    matching people if the target's own row matches, else 0. Earlier stages ignore rows that lack a value used by the
    stage. If only the coverage of the lists is known, a plan that uses a list succeeds with the probability that the
    adversary believes in.

    A one-shot adversary with this linkage links on released attributes only: the one-stage attack. In that attack, as
    elsewhere in the package, an empty group counts as a group with the record only.

    Parameters
    ----------
    attack : MultistageAttack
        Stages and parameters of the attack.
    world : MultistageWorld
        Targets and resources.
    space : MaskingSpace
        Strategies for the targets; its attributes are columns of the targets.

    Raises
    ------
    InputError
        If there are more than 8 inference stages; if a stage needs an attribute that is neither in the space nor
        inferred earlier; or if a resource or one of its columns is missing.
    """

    attack: MultistageAttack
    world: MultistageWorld
    space: MaskingSpace
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _inferred: dict[tuple[int, int], tuple[Integers, Floats]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if len(self.attack.inferences) > _MOST_INFERENCES:
            expected = f"at most {_MOST_INFERENCES}"
            raise InputError("too many inference stages", found=len(self.attack.inferences), expected=expected)
        self.attack.check_attributes(self.space.attributes)
        self.world.targets.matrix(self.space.attributes)
        for stage in self.attack.inferences:
            self.world.resource(stage.resource).matrix((*stage.on, stage.infers))
            self.world.targets.column(stage.infers)
        for table in (self.world.targets, self.world.resource(self.attack.identify.resource)):
            table.matrix(self.attack.identify.on)

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Names of the attributes on which linkage depends.

        These are the attributes on which stages link and the inferred attributes: a stage is not used if its attribute
        is released unchanged.
        """
        return (*self.attack.looked_at, *(stage.infers for stage in self.attack.inferences))

    @property
    def is_compiled(self) -> bool:
        """Whether compiled functions exist for the attack on these tables.

        They exist if no resource has counts and `is_two_stage` holds for the attack and the space.
        """
        counted = any(table.counts is not None for table in self.world.resources.values())
        return not counted and is_two_stage(self.attack, self.space)

    @cached_property
    def compiled(self) -> tuple[TwoStageArrays, Memory]:
        """`TwoStageArrays` of the attack for the compiled functions, and their `Memory`.

        They exist only if `is_compiled` is true.
        """
        arrays = compile_two_stage(self.attack, self.world, self.space)
        return arrays, memory_for(arrays)

    def link(self, strategy: int, rows: Rows | None = None) -> PlanLinkage:
        """Return the `PlanLinkage` of records released with a strategy.

        It is for all records, or only `rows`, and has the linkage under every plan, that is, under every set of
        inference stages. A stage that infers an attribute is not in any plan if the attribute is released unchanged.
        """
        chosen = np.arange(self.world.n_targets) if rows is None else np.asarray(rows)
        n = len(chosen)
        levels = zip(self.space.attributes, self.space.all_levels(strategy).tolist(), self.space.shape, strict=True)
        released = {name: level for name, level, size in levels if level < size - 1}
        plans = [_Plan((), {}, np.ones(n), np.ones(n, dtype=np.bool_), 0.0)]
        for number, stage in enumerate(self.attack.inferences):
            # An attribute that is released unchanged need not be inferred.
            if released.get(stage.infers) != 0:
                plans += self._extended(plans, number, stage, released, chosen)
        plans.sort(key=lambda plan: (len(plan.stages), plan.stages))
        world, registry = self.world, self.attack.identify.resource
        listed = world.lists.get(registry)
        coverage = 1.0 if listed is None else listed.coverage
        candidates = [self._candidates(plan, released, chosen) for plan in plans]
        believed, success = [], []
        for plan, (size, among) in zip(plans, candidates, strict=True):
            guess = chance_of_guess(size)
            believed.append(coverage * plan.confidence * guess)
            guessed = any(world.is_guessed(self.attack.inferences[stage].resource) for stage in plan.stages)
            found = np.where(among & (plan.confidence > 0), guess, 0.0)
            success.append(believed[-1] if listed is None and guessed else found)
        size, among = candidates[0]
        alone = np.maximum(size, 1)
        linked = PlanLinkage(
            group_sizes=alone if listed is None else one_over(success[0]),
            believed_group_sizes=alone if listed is None else one_over(believed[0]),
            by_chance=listed is not None,
            candidates=None if listed is None else ListedCandidates(size, np.full(n, coverage)),
            among=None if listed is None else among,
            plans=tuple(plan.stages for plan in plans),
            plan_believed=np.stack(believed),
            plan_success=np.stack(success),
            prices=np.array([plan.price for plan in plans]),
        )
        return linked.as_believed() if world.is_guessed(registry) else linked

    def _candidates(self, plan: _Plan, released: dict[str, int], rows: Rows) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the number of final candidates, and whether each target is among them.

        Both arrays have one item per target in `rows`. Candidates are the people of the registry who match all values
        that are released (at the levels in `released`) or inferred by `plan`. Without a drawn list, a target is among
        them if all inferred values are true and it is in the registry. In a drawn list, the target's own row must
        match; a missing value matches.
        """
        identify, world = self.attack.identify, self.world
        table = world.resource(identify.resource)
        link = _link(identify.on, released, plan.inferred)
        queries = self._queries(link, plan.inferred, rows)
        missing = [table.missing.get(name) for name, _ in link]
        closed = all(where is None for where in missing)

        def column(name: str, level: int | None) -> Integers:
            return self._released_as(name, level, table.column(name))

        def grouped() -> RowGroups | OpenRowGroups:
            columns = [column(name, level) for name, level in link]
            if closed:
                return RowGroups(columns, table.n_rows, table.counts)
            return OpenRowGroups(columns, missing, table.n_rows)

        groups = self._once(link, grouped)
        size = groups.sizes_of(groups.find(queries, len(rows))) if closed else groups.count(queries, len(rows))
        if identify.resource not in world.lists:
            return size, plan.right if world.registered is None else plan.right & world.registered[rows]
        own = world.lists[identify.resource].row[rows] >= 0
        for (name, level), values in zip(link, queries, strict=True):
            own &= world.agrees(identify.resource, name, column(name, level), values, rows)
        return size, own

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, cached under `key`."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _extended(
        self, plans: list[_Plan], number: int, stage: Inference, released: dict[str, int], rows: Rows
    ) -> list[_Plan]:
        """Return each plan extended by one more stage, in the order of `plans`.

        Confidence 0 marks targets for which the extended plan is unavailable. `number` is the position of `stage` among
        the inference stages, `released` the level of each released attribute, and `rows` are the targets.
        """
        truth, extended = self.world.targets.column(stage.infers)[rows], []
        from_loci = self._surnames(number, stage, released, rows) if isinstance(stage, InferSurname) else None
        for plan in plans:
            values, confidence = from_loci or self._by_linkage(number, stage, released, plan.inferred, rows)
            available = (confidence >= self.attack.confidence_threshold) & (confidence > 0) & (values >= 0)
            sure = np.where(available, 1.0 if self.attack.overconfident else confidence, 0.0)
            inferred, right = {**plan.inferred, stage.infers: values}, plan.right & (values == truth)
            stages, price = (*plan.stages, number), plan.price + stage.price
            extended.append(_Plan(stages, inferred, plan.confidence * sure, right, price))
        return extended

    def _surnames(
        self, number: int, stage: InferSurname, released: dict[str, int], rows: Rows
    ) -> tuple[Integers, Floats]:
        """Return the inferred surnames of the targets `rows` and their confidence.

        Both have the shape of `rows`; surname -1 and confidence 0 if no locus is released. Results are cached by set of
        released loci. `number` is the position of `stage` among the inference stages, and `released` the level of each
        released attribute; a locus is released at level 0 only.
        """
        shared = np.array([released.get(locus) == 0 for locus in stage.loci])
        n = self.world.n_targets
        key = (number, int(pack_bits(shared)))
        kept = self._inferred.pop(key, None) or (np.full(n, NO_SURNAME), np.full(n, -1.0))
        self._inferred[key] = surnames, confidence = kept
        while len(self._inferred) > max(1, _MOST_KEPT // n):
            del self._inferred[next(iter(self._inferred))]
        new = rows[confidence[rows] < 0]
        if len(new):
            genealogy = self.world.resource(stage.resource)
            named = genealogy.known((stage.infers,))
            if not named.any():
                raise InputError("no person has a value", source=genealogy.name, where=stage.infers)
            targets = self.world.targets.matrix(stage.loci)[new]
            people = genealogy.matrix(stage.loci)[named], genealogy.column(stage.infers)[named]
            if stage.method == "nearest-neighbour":
                found = nearest_neighbour_surnames(*people, targets, shared)
            else:
                share = stage.candidate_share
                inference: SurnameInference = self._once(
                    number, lambda: SurnameInference(stage.ancestry, *people, candidate_share=share)
                )
                found = inference.infer(targets, shared)
            surnames[new], confidence[new] = found
        return surnames[rows], confidence[rows]

    def _by_linkage(
        self, number: int, stage: Inference, released: dict[str, int], inferred: dict[str, Integers], rows: Rows
    ) -> tuple[Integers, Floats]:
        link, table = _link(stage.on, released, inferred), self.world.resource(stage.resource)

        def grouped() -> tuple[RowGroups, Integers, Floats]:
            complete = np.flatnonzero(table.known((*(name for name, _ in link), stage.infers)))
            if not len(complete):
                problem = "no person has a value in every attribute that the stage uses"
                raise InputError(problem, source=table.name, where=stage.infers)
            columns = [self._released_as(name, level, table.column(name)[complete]) for name, level in link]
            made = RowGroups(columns, len(complete), None if table.counts is None else table.counts[complete])
            return made, *made.most_frequent(table.column(stage.infers)[complete])

        groups, common, shares = self._once((number, link), grouped)
        group = groups.find(self._queries(link, inferred, rows), len(rows))
        met = group >= 0
        return np.where(met, common[group], -1), np.where(met, shares[group], 0.0)

    def _queries(self, link: _Link, inferred: dict[str, Integers], rows: Rows) -> list[Integers]:
        return [
            inferred[name] if level is None else self._released_as(name, level, self.world.targets.column(name)[rows])
            for name, level in link
        ]

    def _released_as(self, name: str, level: int | None, values: Integers) -> Integers:
        return values if not level else self.space.generalized(self.space.attributes.index(name), level, values)


def _link(on: tuple[str, ...], released: dict[str, int], inferred: dict[str, Integers]) -> _Link:
    """Return the attributes of `on` that are used for linkage, each with its level.

    Attributes that are neither released nor inferred are omitted. The level is that in `released`, or None for an
    inferred value; an attribute that is both generalized and inferred is used twice.
    """
    known: list[tuple[str, int | None]] = []
    for name in on:
        if name in released:
            known.append((name, released[name]))
        if name in inferred:
            known.append((name, None))
    return tuple(known)


class LatticeAttackLinker:
    """Multi-stage linker for records of a lattice; a `Linker` of the record game.

    For an attack, a level of a hierarchy is equivalent to a level of a masking space: the values of a group cannot be
    distinguished, and a single group of all values is equivalent to masking.

    Parameters
    ----------
    attack : MultistageAttack
        Stages and parameters of the attack.
    world : MultistageWorld
        Targets and resources. The targets are the records of the lattice, in the same order, with the codes of its
        attributes (and of other attributes that may be inferred); the resources have the same codes.
    lattice : GeneralizationLattice
        Lattice of the records.

    Raises
    ------
    InputError
        For the reasons given in `MultistageLinker`.
    """

    def __init__(self, attack: MultistageAttack, world: MultistageWorld, lattice: GeneralizationLattice) -> None:
        self.attack, self._lattice, kept, groups = attack, lattice, [], []
        for hierarchy in lattice.hierarchies:
            # A level with a single group is the level of masked values.
            between = [level for level in range(1, hierarchy.n_levels) if hierarchy.n_groups[level] > 1]
            kept.append(np.linspace(1.0, 0.0, len(between) + 2))
            groups.append(tuple(hierarchy.groups[level].astype(np.int64) for level in between))
        weights = np.ones(len(lattice.hierarchies))
        space = MaskingSpace(lattice.domain.names, weights, lattice.n_records, tuple(kept), tuple(groups))
        self._linker = MultistageLinker(attack, world, space)

    def of_records(self, lattice: GeneralizationLattice, rows: Rows) -> LatticeAttackLinker:
        """Return a linker of the same attack for the records in `rows`.

        `lattice` is the lattice of these records only.
        """
        return LatticeAttackLinker(self.attack, self._linker.world.of_targets(rows), lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> PlanLinkage:
        """Return the `PlanLinkage` of records released at a node of the lattice.

        It is for all records, or only `rows`, and has the linkage under every plan (set of inference stages);
        `strategy` is the number of the node.
        """
        return self._linker.link(int(self._linker.space.number(self._levels[strategy])), rows)

    @cached_property
    def _levels(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Masking levels of each lattice strategy, shape (n_strategies, n_attributes)."""
        levels = self._lattice.all_levels(np.arange(self._lattice.size))
        masked = np.array(self._linker.space.shape) - 1
        for position, hierarchy in enumerate(self._lattice.hierarchies):
            suppressed = np.array([groups == 1 for groups in hierarchy.n_groups])
            levels[suppressed[levels[:, position]], position] = masked[position]
        return levels

"""Linkage by adversaries who know some attributes of people, hold drawn lists, or attack in several stages.

A released attribute that the adversary does not know is useless to it. Under one knowledge set, a strategy is therefore
equivalent to the same strategy with the unknown attributes suppressed. The success probability is the mean over the
knowledge sets. In a list that was drawn from a simulated population, a missing value is treated like an unknown one. A
multi-stage attack is linked under each of its plans.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, enumerate_sets
from reidsim.adversaries.multistage.attack import (
    Inference,
    InferSurname,
    ListedTargets,
    Memory,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
    TwoStageArrays,
    compile_two_stage,
    is_two_stage,
    memory_for,
)
from reidsim.adversaries.response import Linkage, ListedCandidates, PlanLinkage, chance_of_guess, one_over
from reidsim.core.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes, sizes_among
from reidsim.linkage.people import OpenRowGroups, RowGroups
from reidsim.linkage.surname_inference import NO_SURNAME, SurnameInference, nearest_neighbour_surnames, pack_bits
from reidsim.populations.population import UNKNOWN, Attribute, Codes, Population
from reidsim.populations.resources import PeopleList
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import Floats, GeneralizationLattice, MaskingSpace, Rows

Integers = NDArray[np.int64]

# Memory limit of the linkages that a `MaskedRecordLinker` caches, in bytes.
_MEMORY_LIMIT = 128 * 2**20
# Maximum number of inference stages: each doubles the number of plans.
_MOST_INFERENCES = 8
# Maximum number of surnames that a `MultistageLinker` caches; the most recent sets of released loci are kept.
_MOST_KEPT = 20_000_000


class KnowledgeLinker:
    """Linker of released records to people, by the attributes the adversary knows.

    It returns effective group sizes: a uniform guess in a group of this size succeeds as often as the adversary does on
    average over its knowledge sets. An adversary who makes one attempt (`OneShotAdversary`) can use them unchanged.
    With full knowledge, they are the actual group sizes.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Strategies for the records; for masked records, see `MaskedRecordLinker`.
    people : Population
        All candidates for a record's person: a population, or the released records.
    knowledge : Knowledge
        Knowledge about the persons of the lattice's records.
    registered : ndarray of bool, shape (n_records,), optional
        Whether the person of each record is among `people`. Default: all are. The adversary does not know this: it
        chooses one of the matching people, if there are any, and never succeeds if the person is not among them.
    own : ndarray of int32, shape (n_records, n_attributes), optional
        With `registered`: values of each record's person in `people`, if they may be wrong. The adversary succeeds only
        if they agree with the values that are both released and known.
    coverage : float
        Probability that a person is among `people`, as the adversary believes.

    Raises
    ------
    InputError
        If `people` have other categories than the lattice, or a kind of person may have more than 1,048,576 knowledge
        sets.
    """

    # Without a separate registry, the records are linked to all people.
    population: GroupSizes | None = None

    def __init__(
        self,
        lattice: GeneralizationLattice,
        people: Population,
        knowledge: Knowledge,
        *,
        registered: NDArray[np.bool_] | None = None,
        own: Codes | None = None,
        coverage: float = 1.0,
    ) -> None:
        self._lattice, self._people = lattice, people
        self._with_suppression = replace(lattice, hierarchies=tuple(map(suppressible, lattice.hierarchies)))
        self._sizes = sizes_among(people, self._with_suppression, holds_records=registered is None)
        self._sets, self._kinds = enumerate_sets(knowledge), knowledge.kind_of_person
        self._registered, self._own, self._coverage = registered, own, coverage
        n_attributes = range(len(knowledge.attributes))
        self._known = np.array([[position in known for position in n_attributes] for known in self._sets.sets])

    @cached_property
    def group_sizes(self) -> GroupSizes:
        """`GroupSizes` of the records if the adversary knows all attributes of everyone."""
        return sizes_among(self._people, self._lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all records, or only `rows`, released with `strategy`.

        Its group sizes are effective: one over the mean success probability over the knowledge sets, infinite where
        that is 0. The adversary believes that the record's person is among the people with probability `coverage`. If
        `registered` is not given, the true sizes equal the believed ones. A strategy is equivalent to the same strategy
        with unknown attributes suppressed, so knowledge sets with equal strategies are computed once.
        """
        lattice, chosen = self._with_suppression, slice(None) if rows is None else rows
        kinds = self._kinds[chosen]
        levels, suppressed = np.array(self._lattice.levels(strategy)), np.array(lattice.shape) - 1
        node_of_set = np.where(self._known, levels, suppressed) @ np.array(lattice.strides)
        nodes, position = np.unique(node_of_set, return_inverse=True)
        probability = np.zeros((len(nodes), len(self._sets.probability)))
        np.add.at(probability, position, self._sets.probability.T)
        # Mean chances of a uniform guess among the matching people; in the second, the person's own entry must match.
        hoped, found = np.zeros((2, len(kinds)))
        for node, chances in zip(nodes.tolist(), probability, strict=True):
            weights = chances[kinds]
            if not weights.any():
                continue
            named = weights * chance_of_guess(self._sizes.at(node, rows))
            hoped += named
            if self._own is not None:
                shared, said = self._lattice.codes[chosen], self._own[chosen]
                named = np.where(agreeing(lattice, lattice.levels(node), shared, said), named, 0.0)
            found += named
        effective = one_over(self._coverage * hoped)
        if self._registered is None:
            return Linkage(effective, effective, by_chance=True)
        return Linkage(one_over(np.where(self._registered[chosen], found, 0.0)), effective, by_chance=True)


def agreeing(lattice: GeneralizationLattice, levels: Sequence[int], shared: Codes, said: Codes) -> NDArray[np.bool_]:
    """Return whether released records agree with given entries, shape (n,).

    A record agrees with its entry if, in every attribute, both values are in the same group of the attribute's level.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice of the records.
    levels : sequence of int
        Generalization level of each attribute.
    shared : ndarray of int32, shape (n, n_attributes)
        Codes of the records.
    said : ndarray of int32, shape (n, n_attributes)
        Codes of the entries; -1 for a missing value, which agrees with every value.
    """
    agrees = np.ones(len(shared), dtype=np.bool_)
    for position, (hierarchy, level) in enumerate(zip(lattice.hierarchies, levels, strict=True)):
        groups, own = hierarchy.groups[level], said[:, position]
        agrees &= (own == UNKNOWN) | (groups[own] == groups[shared[:, position]])
    return agrees


def suppressible(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with a last level of full suppression added.

    A hierarchy whose last level has a single group is returned as it is.
    """
    if hierarchy.n_groups[-1] == 1:
        return hierarchy
    groups = np.concatenate([hierarchy.groups, np.zeros((1, hierarchy.attribute.size), dtype=np.int32)])
    return replace(hierarchy, groups=groups, labels=(*hierarchy.labels, (SUPPRESSED,)))


class MaskedRecordLinker:
    """Linker of masked records to a register, by the attributes the adversary knows.

    Attributes that the register lacks, or that the adversary cannot know, do not affect linkage. Strategies that differ
    only in these attributes are computed once.

    Parameters
    ----------
    space : MaskingSpace
        Masking space of the records.
    targets, register : PersonTable
        The data subjects, and the candidates; both with the attributes of the knowledge.
    knowledge : Knowledge
        Knowledge about the subjects, over the linked attributes in the order of the space.
    registered : ndarray of bool, shape (n_records,), optional
        Whether each subject is in the register. Default: all are.
    listed : ListedTargets, optional
        Targets in the register, if the register was drawn as a list.
    guessed : bool
        Whether only the coverage of that list is known, not its members.

    Attributes
    ----------
    looked_at : tuple of str
        Names of the attributes on which linkage depends, in the order of the space.

    Raises
    ------
    InputError
        If an attribute or a value is missing in the register, or if the groups of a level lack a value or split the
        groups of the previous level.
    """

    def __init__(
        self,
        space: MaskingSpace,
        targets: PersonTable,
        register: PersonTable,
        knowledge: Knowledge,
        registered: NDArray[np.bool_] | None = None,
        listed: ListedTargets | None = None,
        *,
        guessed: bool = False,
    ) -> None:
        self._space, self._guessed, self.looked_at = space, guessed, knowledge.attributes
        self._linked = [space.attributes.index(name) for name in knowledge.attributes]
        hierarchies, columns = [], []
        for position, name in zip(self._linked, knowledge.attributes, strict=True):
            if name in register.missing:
                raise InputError(
                    "value missing in an attribute that the adversary knows",
                    source=register.name,
                    where=name,
                    expected="a value for each person",
                )
            both = np.concatenate([targets.column(name), register.column(name)])
            values, codes = np.unique(both, return_inverse=True)
            columns.append(codes)
            between = [space.generalized(position, level, values) for level in range(1, space.shape[position] - 1)]
            levels = [[f"group {group}" for group in groups.tolist()] for groups in between]
            attribute = Attribute(name, tuple(map(str, values.tolist())))
            try:
                hierarchies.append(Hierarchy.from_labels(attribute, [*levels, [SUPPRESSED] * attribute.size]))
            except InputError:
                problem, where = "a group is split at the next level", f"levels of attribute {name!r}"
                expected = "groups that only merge from one level to the next, for an adversary with partial knowledge"
                raise InputError(problem, where=where, expected=expected) from None
        own, theirs = np.split(np.column_stack(columns).astype(np.int32), [targets.n_rows])
        lattice = GeneralizationLattice(tuple(hierarchies), own)
        self._strides = np.array(lattice.strides)
        everybody = listed is None and (registered is None or bool(registered.all()))
        self._linker = KnowledgeLinker(
            lattice,
            Population.from_records(lattice.domain, theirs, name=register.name),
            knowledge,
            registered=None if everybody else registered,
            own=None if listed is None else theirs[listed.row],
            coverage=1.0 if listed is None else listed.coverage,
        )
        self._most_kept = max(_MEMORY_LIMIT // (16 * max(targets.n_rows, 1)), 1)
        self._kept: dict[int, Linkage] = {}

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all records, or only `rows`, released with `strategy`.

        It holds effective group sizes; see `KnowledgeLinker`. The true sizes equal the believed ones if only the
        coverage of the list is known.
        """
        node = int(self._space.all_levels(strategy)[self._linked] @ self._strides)
        if node not in self._kept:
            if len(self._kept) == self._most_kept:
                self._kept.pop(next(iter(self._kept)))
            self._kept[node] = self._linker.link(node)
        found, chosen = self._kept[node], slice(None) if rows is None else rows
        believed = found.believed_group_sizes[chosen]
        if self._guessed or found.group_sizes is found.believed_group_sizes:
            return Linkage(believed, believed, by_chance=True)
        return Linkage(found.group_sizes[chosen], believed, by_chance=True)


@dataclass(frozen=True, eq=False)
class DrawnLists:
    """Lists of people, and the person behind each record.

    The adversary sees the lists but not `person`.

    Parameters
    ----------
    lists : mapping of str to PeopleList
        Lists by name; their columns are codes over the domain of the records.
    person : ndarray of int64, shape (n_records,)
        Row of the record's person in the population; -1 if the person is not in it.
    prices : mapping of str to float
        Price of each list, in currency units.
    buyers : mapping of str to tuple of str
        Names of the adversaries who can obtain each list, or "anyone".
    """

    lists: Mapping[str, PeopleList]
    person: NDArray[np.int64]
    prices: Mapping[str, float]
    buyers: Mapping[str, tuple[str, ...]]

    def own(self, name: str) -> NDArray[np.int64]:
        """Return the row of each record's person in the list `name`, (n_records,).

        It is -1 if the person is not in the list or not in the population.
        """
        return np.where(self.person >= 0, self.lists[name].record_of[self.person], -1)

    def of_records(self, rows: Rows) -> DrawnLists:
        """Return the `DrawnLists` with the same lists, for the records in `rows` only."""
        return replace(self, person=self.person[rows])


class DrawnListsLinker:
    """Linker of released records to the people in the lists that an adversary holds.

    A missing value matches every value. The adversary assumes that the entries of a list are correct, and that each
    record's person is in the list with a probability equal to the list's coverage. Its believed success probability is
    the coverage divided by the number of matching people. If it holds several lists, it uses, for each record and
    strategy, the list with the highest believed success probability; the first one among ties. The true success
    probability is one over the number of matching people if the person's own row matches, else 0.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice of the records.
    drawn : DrawnLists
        Lists for the records of the lattice.
    held : sequence of str
        Names of the lists that the adversary holds, in order.
    guessed : bool
        Whether only the coverage of the lists is known, not their members. An attempt then succeeds with the
        probability that the adversary believes in.
    """

    # The lists do not contain the whole population.
    population: GroupSizes | None = None

    def __init__(
        self, lattice: GeneralizationLattice, drawn: DrawnLists, held: Sequence[str], *, guessed: bool = False
    ) -> None:
        self._lattice, self._guessed = lattice, guessed
        self._suppressing = replace(lattice, hierarchies=tuple(map(suppressible, lattice.hierarchies)))
        self._lists = [_ListOfRecords(self._suppressing, drawn.lists[name], drawn.own(name)) for name in held]

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all records, or only `rows`, released with `strategy`.

        Each record is linked to the held list with the highest believed success probability. Group sizes are one over
        the true and the believed success probability, infinite where that is 0. `candidates` and `among` are set; with
        `guessed`, `among` is None and the true sizes equal the believed ones.
        """
        levels = self._lattice.levels(strategy)
        sizes, among = map(np.stack, zip(*(each.candidates(levels, rows) for each in self._lists), strict=True))
        coverage = np.array([each.coverage for each in self._lists])
        believed = np.where(sizes > 0, coverage[:, None] / np.maximum(sizes, 1), 0.0)
        best = believed.argmax(axis=0)
        sizes, among, believed = (np.take_along_axis(each, best[None], axis=0)[0] for each in (sizes, among, believed))
        success = np.where(among, 1.0 / np.maximum(sizes, 1), 0.0)
        candidates = ListedCandidates(sizes, coverage[best])
        linked = Linkage(one_over(success), one_over(believed), by_chance=True, candidates=candidates, among=among)
        return linked.as_believed() if self._guessed else linked


class _ListOfRecords:
    """One list: its rows by missing values, and the row of each record's person.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice of the records, with a level of full suppression in every hierarchy.
    listed : PeopleList
        The list.
    own : ndarray of int64, shape (n_records,)
        Row of each record's person in the list; -1 if absent.
    """

    def __init__(self, lattice: GeneralizationLattice, listed: PeopleList, own: NDArray[np.int64]) -> None:
        names = lattice.domain.names
        codes = np.column_stack(
            [listed.columns[name] if name in listed.columns else np.full(len(listed.person), UNKNOWN) for name in names]
        ).astype(np.int32)
        self.coverage = listed.coverage
        self._lattice, self._own = lattice, own
        self._said: Codes = np.where((own >= 0)[:, None], codes[own], UNKNOWN)
        # Each pattern of missing values with the group sizes of its list rows.
        patterns, number = np.unique(codes == UNKNOWN, axis=0, return_inverse=True)
        self._parts = []
        for pattern, lacking in enumerate(patterns):
            known = np.where(lacking, 0, codes[number.ravel() == pattern]).astype(np.int32)
            people = Population.from_records(lattice.domain, known, name=listed.name)
            self._parts.append((lacking, GroupSizes(people, lattice, holds_records=False)))

    def candidates(self, levels: Sequence[int], rows: Rows | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of matching people and whether the record's person is one.

        Both arrays have one item per record of `rows` (by default, all records), released at `levels`, one level per
        attribute. A missing value in the list matches every value.
        """
        chosen = slice(None) if rows is None else rows
        sizes = np.zeros(len(self._own[chosen]), dtype=np.int64)
        for lacking, groups in self._parts:
            # A missing value in the list matches every value, like a suppressed value in the record.
            node = int(np.where(lacking, np.array(self._lattice.shape) - 1, levels) @ np.array(self._lattice.strides))
            sizes += np.asarray(groups.at(node, rows), dtype=np.int64)
        among = agreeing(self._lattice, levels, self._lattice.codes[chosen], self._said[chosen])
        return sizes, among & (self._own[chosen] >= 0)


class _Plan(NamedTuple):
    """Stages used so far and their result; arrays of shape (n,), by target.

    `stages` are positions among the attack's inference stages. `inferred` holds the inferred values by attribute.
    `confidence` is the product of the adversary's confidence in each stage (1 for an overconfident adversary); 0 if the
    plan is unavailable. `right` is true where all inferred values are true. `price` is the total price of the stages.
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

        They exist if `is_two_stage` holds.
        """
        return is_two_stage(self.attack, self.world, self.space)

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
        chosen = np.arange(self.world.targets.n_rows) if rows is None else np.asarray(rows)
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
        """Return the result cached under `key`, or call `make` and cache its result."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _extended(
        self, plans: list[_Plan], number: int, stage: Inference, released: dict[str, int], rows: Rows
    ) -> list[_Plan]:
        """Return each plan followed by one more stage, in the order of `plans`.

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
        n = self.world.targets.n_rows
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
                inference: SurnameInference = self._once(
                    number, lambda: SurnameInference(stage.ancestry, *people, candidate_share=stage.candidate_share)
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
        """Masking levels of each lattice strategy, shape (n_strategies, n_attributes).

        A level of the lattice that has a single group becomes the attribute's level masked.
        """
        levels = self._lattice.all_levels(np.arange(self._lattice.size))
        masked = np.array(self._linker.space.shape) - 1
        for position, hierarchy in enumerate(self._lattice.hierarchies):
            suppressed = np.array([groups == 1 for groups in hierarchy.n_groups])
            levels[suppressed[levels[:, position]], position] = masked[position]
        return levels

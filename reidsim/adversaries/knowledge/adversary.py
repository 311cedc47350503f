"""Linkage by adversaries who know some attributes of people, or hold drawn lists.

A released attribute that the adversary does not know is useless to it. Under one knowledge set, a strategy is therefore
equivalent to the same strategy with the unknown attributes suppressed. The success probability is the mean over the
knowledge sets. In a list that was drawn from a simulated population, a missing value is treated like an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, enumerate_sets
from reidsim.adversaries.multistage.attack import ListedTargets, PersonTable
from reidsim.adversaries.response import Linkage, ListedCandidates, chance_of_guess, one_over
from reidsim.core.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes, sizes_among
from reidsim.populations.population import UNKNOWN, Attribute, Codes, Population
from reidsim.populations.resources import PeopleList
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice, MaskingSpace, Rows

# Memory limit of the cached linkages, in bytes.
_MEMORY_LIMIT = 128 * 2**20


class KnowledgeLinker:
    """Linker of released records to people, by the attributes the adversary knows.

    It returns effective group sizes: a uniform guess in a group of this size succeeds as often as the adversary does on
    average over its knowledge sets. An adversary who makes one attempt (`OneShotAdversary`) can use them unchanged.
    With full knowledge, they are the actual group sizes.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Strategies for the records; for the masking game, see `masking_lattice`.
    people : Population
        All candidates for a record's person: a population, or the released records.
    knowledge : Knowledge
        Knowledge about the persons of the lattice's records.
    registered : ndarray of bool, shape (n_records,), optional
        Whether the person of each record is among `people`. Default: all are. The adversary does not know this: it
        chooses one of the matching people, if there are any, and never succeeds if the person is not among them.
    own : ndarray of int32, shape (n_records, n_attributes), optional
        With `registered`: values of each record's person in `people`, if they may be wrong. The adversary succeeds
        only if they agree with the values that are both released and known.
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
        people = Population.from_records(lattice.domain, theirs, name=register.name)
        everybody = listed is None and (registered is None or bool(registered.all()))
        self._linker = KnowledgeLinker(
            lattice,
            people,
            knowledge,
            registered=None if everybody else registered,
            own=None if listed is None else theirs[listed.row],
            coverage=1.0 if listed is None else listed.coverage,
        )
        self._linked_by_node = lru_cache(max(_MEMORY_LIMIT // (16 * max(targets.n_rows, 1)), 1))(self._linker.link)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all records, or only `rows`, released with `strategy`.

        It holds effective group sizes; see `KnowledgeLinker`. The true sizes equal the believed ones if only the
        coverage of the list is known.
        """
        found = self._linked_by_node(int(self._space.all_levels(strategy)[self._linked] @ self._strides))
        believed = found.believed_group_sizes if rows is None else found.believed_group_sizes[rows]
        if self._guessed or found.group_sizes is found.believed_group_sizes:
            return Linkage(believed, believed, by_chance=True)
        return Linkage(found.group_sizes if rows is None else found.group_sizes[rows], believed, by_chance=True)


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
        Names of the adversaries who can obtain each list.
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
        the true and the believed success probability, infinite where that is 0; `candidates` and `among` are set.
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
            known_levels = np.where(lacking, np.array(self._lattice.shape) - 1, levels)
            node = int(known_levels @ np.array(self._lattice.strides))
            sizes += np.asarray(groups.at(node, rows), dtype=np.int64)
        among = agreeing(self._lattice, levels, self._lattice.codes[chosen], self._said[chosen])
        return sizes, among & (self._own[chosen] >= 0)

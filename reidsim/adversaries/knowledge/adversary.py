"""Linkage by an adversary who knows only some attributes of each person.

A released attribute that the adversary does not know is useless to it. Under one knowledge set, a strategy is therefore
equivalent to the same strategy with the unknown attributes suppressed. The success probability is the mean over the
knowledge sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, enumerate_sets
from reidsim.adversaries.response import Linkage, chance_of_guess, one_over
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.individual_risk import sizes_among
from reidsim.populations.domain import Codes
from reidsim.populations.population import UNKNOWN, Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows


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
        self._sets = enumerate_sets(knowledge)
        self._kinds = knowledge.kind_of_person
        self._registered, self._own, self._coverage = registered, own, coverage
        self._known = np.zeros((self._sets.n_sets, len(knowledge.attributes)), dtype=np.bool_)
        for number, known in enumerate(self._sets.sets):
            self._known[number, list(known)] = True

    @cached_property
    def group_sizes(self) -> GroupSizes:
        """Actual group sizes: linkage of an adversary with full knowledge."""
        return sizes_among(self._people, self._lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`; see `Linker`.

        The adversary believes that the record's person is among the people with probability `coverage`.
        """
        hoped, found = self._chances(strategy, rows)
        effective = one_over(self._coverage * hoped)
        if self._registered is None:
            return Linkage(effective, effective, by_chance=True)
        registered = self._registered if rows is None else self._registered[rows]
        return Linkage(one_over(np.where(registered, found, 0.0)), effective, by_chance=True)

    def _chances(self, strategy: int, rows: Rows | None) -> tuple[Floats, Floats]:
        """Return the probability that a uniform guess among matching people is right.

        In the second array, the guess fails if the person's own entry does not match. A strategy is equivalent to
        the same strategy with unknown attributes suppressed, so knowledge sets with equal strategies are computed once.
        """
        lattice, chosen = self._with_suppression, slice(None) if rows is None else rows
        kinds = self._kinds[chosen]
        levels, suppressed = np.array(self._lattice.levels(strategy)), np.array(lattice.shape) - 1
        node_of_set = np.where(self._known, levels, suppressed) @ np.array(lattice.strides)
        nodes, position = np.unique(node_of_set, return_inverse=True)
        probability = np.zeros((len(nodes), len(self._sets.probability)))
        np.add.at(probability, position, self._sets.probability.T)
        hoped, found = np.zeros(len(kinds)), np.zeros(len(kinds))
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
        return hoped, found


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
    """Return the hierarchy with a last level of full suppression."""
    if hierarchy.n_groups[-1] == 1:
        return hierarchy
    nothing: NDArray[np.int32] = np.zeros((1, hierarchy.attribute.size), dtype=np.int32)
    labels: Sequence[tuple[str, ...]] = (*hierarchy.labels, (SUPPRESSED,))
    return replace(hierarchy, groups=np.concatenate([hierarchy.groups, nothing]), labels=tuple(labels))

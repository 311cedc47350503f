"""An adversary with partial knowledge in games: success against shared records if only some attributes are known.

An attribute that the adversary does not know is to it as if it were not shared. So under one knowledge set a strategy
is the strategy with the unknown attributes suppressed, and its success probability the mean of theirs over the sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.sets import enumerate_sets
from reidsim.adversaries.response import Linkage, one_over
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.individual_risk import sizes_among
from reidsim.linkage.risk import chance_of_guess
from reidsim.populations.domain import Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Rows


class KnowledgeLinker:
    """Links shared records to the people of a population, by the attributes that the adversary knows.

    It returns effective group sizes: of the group in which a uniform guess succeeds as often as the adversary does on
    average over its knowledge sets. So an adversary that weighs one attempt (`OneShotAdversary`) needs no change, and
    with full knowledge the sizes are the group sizes themselves.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Forms of the records; of the masking game see `masking_lattice`.
    people : Population
        All people who may be taken for a record's person: a population, or the released records.
    knowledge : Knowledge
        About the persons of the lattice's records.
    registered : ndarray of bool, shape (n_records,), optional
        Whether the person of each record is among the people; by default all are. The adversary does not know it: it
        takes one of the people who match, if there are any, and never succeeds if the person is not among them.
    own : ndarray of int32, shape (n_records, n_attributes), optional
        With `registered`: values of each record's person there, if they may be wrong. The adversary succeeds
        only where they agree with the values shared and known.
    coverage : float
        Probability that a person is one of the people, as the adversary believes.

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
        """Sizes of the groups themselves: linkage of an adversary with full knowledge."""
        return sizes_among(self._people, self._lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return effective group sizes of all records, or of `rows`, shared as `strategy`."""
        believed = self.believed_success(strategy, rows)
        effective = one_over(believed)
        if self._registered is None:
            return Linkage(effective, effective, by_chance=True)
        return Linkage(one_over(self.success(strategy, rows)), effective, by_chance=True)

    def success(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the probability that an attack on each record shared as `strategy` names the right person."""
        if self._registered is None:
            return self.believed_success(strategy, rows)
        registered = self._registered if rows is None else self._registered[rows]
        return np.asarray(np.where(registered, self._chance(strategy, rows, as_told=self._own is not None), 0.0))

    def believed_success(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the same for an adversary who takes any person with a match to be registered."""
        return self._coverage * self._chance(strategy, rows)

    def _chance(self, strategy: int, rows: Rows | None, *, as_told: bool = False) -> Floats:
        """Return the probability to name one of the matching people; if `as_told`, only where the own entry matches."""
        kinds = self._kinds if rows is None else self._kinds[rows]
        success = np.zeros(len(kinds))
        for node, probability in self._nodes(strategy):
            weights = probability[kinds]
            if weights.any():
                sizes = self._sizes.at(node, rows)
                named = chance_of_guess(sizes)
                success += weights * (np.where(self._agrees(node, rows), named, 0.0) if as_told else named)
        return success

    def _agrees(self, node: int, rows: Rows | None) -> NDArray[np.bool_]:
        """Return whether the entry of a record's person agrees with the shared record."""
        assert self._own is not None  # noqa: S101 # asked for only where it may not
        chosen = slice(None) if rows is None else rows
        levels = self._with_suppression.levels(node)
        return agreeing(self._with_suppression, levels, self._lattice.codes[chosen], self._own[chosen])

    def _nodes(self, strategy: int) -> Iterator[tuple[int, Floats]]:
        """Yield the strategies that a strategy is to the adversary, with the probability of each by kind of person."""
        levels = np.array(self._lattice.levels(strategy))
        suppressed = np.array(self._with_suppression.shape) - 1
        node_of_set = np.where(self._known, levels, suppressed) @ np.array(self._with_suppression.strides)
        nodes, position = np.unique(node_of_set, return_inverse=True)
        probability = np.zeros((len(nodes), len(self._sets.probability)))
        np.add.at(probability, position, self._sets.probability.T)
        yield from zip(nodes.tolist(), probability, strict=True)


def masking_lattice(space: MaskingSpace, domain: Domain, codes: Codes) -> GeneralizationLattice:
    """Return the lattice whose strategies are those of a masking space, number by number.

    Parameters
    ----------
    space : MaskingSpace
    domain : Domain
        Of the space's attributes, in its order.
    codes : ndarray of int32, shape (n_records, n_attributes)
        The records.
    """
    hierarchies = []
    for position, attribute in enumerate(domain.attributes):
        values = np.arange(attribute.size, dtype=np.int64)
        between = [space.generalized(position, level, values) for level in range(1, space.shape[position] - 1)]
        levels = [[f"group {group}" for group in groups.tolist()] for groups in between]
        hierarchies.append(Hierarchy.from_labels(attribute, [*levels, [SUPPRESSED] * attribute.size]))
    return GeneralizationLattice(tuple(hierarchies), codes)


def agreeing(lattice: GeneralizationLattice, levels: Sequence[int], shared: Codes, said: Codes) -> NDArray[np.bool_]:
    """Return whether records, shared at some levels, agree with the entry of their person, -1 if missing, (n,)."""
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

"""An adversary with partial knowledge in games: what a shared record is worth to whom knows only some attributes.

An attribute that the adversary does not know is to it as if it were not shared. So under one knowledge set a strategy
is the strategy with the unknown attributes suppressed, and its success probability the mean of theirs over the sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.sets import KnowledgeSets, enumerate_sets
from reidsim.adversaries.response import Linkage
from reidsim.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.risk import RiskModel, UniformGuess
from reidsim.populations.domain import Codes, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Rows


class KnowledgeLinker:
    """Links shared records to the people of a population, by the attributes that the adversary knows.

    It tells effective group sizes: of the group in which a uniform guess succeeds as often as the adversary does on
    average over what it may know. So an adversary that weighs one attempt (`OneShotAdversary`) needs no change, and
    with everything known the sizes are those of the groups themselves.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Forms of the records; of the masking game see `masking_lattice`.
    people : Population
        Everybody who may be taken for a record's person: a population, or the released records.
    knowledge : Knowledge
        About the persons of the lattice's records.
    risk : RiskModel, optional
        Success probability from group sizes given what is known: 1 / group size, if not given.
    sets : KnowledgeSets, optional
        Of `knowledge`; all are listed, if not given.

    Raises
    ------
    InputError
        If the knowledge is about other persons or attributes.
    """

    # Without a registry that is a part of them, those linked to are everybody.
    population: GroupSizes | None = None

    def __init__(
        self,
        lattice: GeneralizationLattice,
        people: Population,
        knowledge: Knowledge,
        *,
        risk: RiskModel | None = None,
        sets: KnowledgeSets | None = None,
    ) -> None:
        if knowledge.n_persons != lattice.n_records or knowledge.attributes != lattice.domain.names:
            raise InputError(
                "the knowledge is about other records",
                found=f"{knowledge.n_persons} persons, {', '.join(knowledge.attributes)}",
                expected=f"{lattice.n_records} persons, {', '.join(lattice.domain.names)}",
            )
        self._lattice, self._people = lattice, people
        self._with_suppression = replace(lattice, hierarchies=tuple(map(_suppressible, lattice.hierarchies)))
        self._sizes = GroupSizes(people, self._with_suppression)
        self._risk = risk or UniformGuess()
        self._sets = enumerate_sets(knowledge) if sets is None else sets
        self._kinds = knowledge.kind_of_person

    @cached_property
    def group_sizes(self) -> GroupSizes:
        """Sizes of the groups themselves: what an adversary who knows everything links to."""
        return GroupSizes(self._people, self._lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return effective group sizes of all records, or of `rows`, shared as `strategy`."""
        success = self.success(strategy, rows)
        effective = np.divide(1.0, success, out=np.full(len(success), np.inf), where=success > 0)
        return Linkage(effective, effective)

    def success(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return the probability that an attack on each record shared as `strategy` names the right person."""
        kinds = self._kinds if rows is None else self._kinds[rows]
        success = np.zeros(len(kinds))
        for node, probability in self._nodes(strategy).items():
            weights = probability[kinds]
            if weights.any():
                success += weights * self._risk.success_probability(self._sizes.at(node, rows))
        return success

    def _nodes(self, strategy: int) -> dict[int, Floats]:
        """Return the strategies that a strategy is to the adversary, with the probability of each by kind of person."""
        levels = self._lattice.levels(strategy)
        suppressed = [size - 1 for size in self._with_suppression.shape]
        nodes: dict[int, Floats] = {}
        for number, known in enumerate(self._sets.sets):
            seen = [levels[j] if j in known else suppressed[j] for j in range(len(levels))]
            node = self._with_suppression.index(seen)
            nodes[node] = nodes.get(node, 0.0) + self._sets.probability[:, number]
        return nodes


def masking_lattice(space: MaskingSpace, domain: Domain, codes: Codes) -> GeneralizationLattice:
    """Return the lattice whose strategies are those of a masking space, number by number.

    Parameters
    ----------
    space : MaskingSpace
    domain : Domain
        Of the space's attributes, in its order.
    codes : ndarray of int32, shape (n_records, n_attributes)
        The records.

    Raises
    ------
    InputError
        If the domain has other attributes.
    """
    if domain.names != space.attributes:
        raise InputError(
            "the records have other attributes than the masking space",
            found=", ".join(domain.names),
            expected=", ".join(space.attributes),
        )
    hierarchies = []
    for position, attribute in enumerate(domain.attributes):
        values = np.arange(attribute.size, dtype=np.int64)
        between = [space.generalized(position, level, values) for level in range(1, space.shape[position] - 1)]
        levels = [[f"group {group}" for group in groups.tolist()] for groups in between]
        hierarchies.append(Hierarchy.from_labels(attribute, [*levels, [SUPPRESSED] * attribute.size]))
    return GeneralizationLattice(tuple(hierarchies), codes)


def _suppressible(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with a last level that tells nothing."""
    if hierarchy.n_groups[-1] == 1:
        return hierarchy
    nothing: NDArray[np.int32] = np.zeros((1, hierarchy.attribute.size), dtype=np.int32)
    labels: Sequence[tuple[str, ...]] = (*hierarchy.labels, (SUPPRESSED,))
    return replace(hierarchy, groups=np.concatenate([hierarchy.groups, nothing]), labels=tuple(labels))

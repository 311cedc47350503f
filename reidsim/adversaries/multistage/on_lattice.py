"""Multi-stage attacks on generalized records: linkage at every lattice node."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack, PlanLinkage
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Rows


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
        self._lattice = lattice
        self._linker = MultistageLinker(attack, world, masking_space_of(lattice))

    def of_records(self, lattice: GeneralizationLattice, rows: Rows) -> LatticeAttackLinker:
        """Return the linker for the records in `rows`, given their lattice."""
        return LatticeAttackLinker(self._linker.attack, self._linker.world.of_targets(rows), lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> PlanLinkage:
        """Link all records, or only `rows`, released with `strategy`, under every plan."""
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


def masking_space_of(lattice: GeneralizationLattice) -> MaskingSpace:
    """Return a masking space that contains the strategies of a lattice.

    The masking space may contain additional strategies, and its utility differs from the lattice's utility.
    """
    kept, groups = [], []
    for hierarchy in lattice.hierarchies:
        between = [level for level in range(1, hierarchy.n_levels) if hierarchy.n_groups[level] > 1]
        kept.append(np.linspace(1.0, 0.0, len(between) + 2))
        groups.append(tuple(hierarchy.groups[level].astype(np.int64) for level in between))
    n_attributes = len(lattice.hierarchies)
    return MaskingSpace(lattice.domain.names, np.ones(n_attributes), lattice.n_records, tuple(kept), tuple(groups))

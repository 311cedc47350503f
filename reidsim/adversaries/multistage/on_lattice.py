"""Attacks in stages on generalized records: linkage at every node of a lattice."""

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
    """Links records of a generalization lattice stage by stage; a `Linker` of the record game.

    A level of a hierarchy is to an attack as a level of a masking space: the values of a group cannot be distinguished
    apart, and one group of all values is as good as masked.

    Parameters
    ----------
    attack : MultistageAttack
    world : MultistageWorld
        Its targets are the records of the lattice, in order, with the codes of its attributes (and others that may be
        inferred of them); resources hold the same codes.
    lattice : GeneralizationLattice

    Raises
    ------
    InputError
        As `MultistageLinker`.
    """

    def __init__(self, attack: MultistageAttack, world: MultistageWorld, lattice: GeneralizationLattice) -> None:
        self._lattice = lattice
        self._linker = MultistageLinker(attack, world, masking_space_of(lattice))

    def of_records(self, lattice: GeneralizationLattice, rows: Rows) -> LatticeAttackLinker:
        """Return the linker of some of the records, given their lattice."""
        return LatticeAttackLinker(self._linker.attack, self._linker.world.of_targets(rows), lattice)

    def link(self, strategy: int, rows: Rows | None = None) -> PlanLinkage:
        """Link all records, or only `rows`, shared as `strategy`, under every plan."""
        return self._linker.link(int(self._linker.space.number(self._levels[strategy])), rows)

    @cached_property
    def _levels(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Levels in the masking space of every strategy of the lattice, shape (n_strategies, n_attributes)."""
        levels = self._lattice.all_levels(np.arange(self._lattice.size))
        masked = np.array(self._linker.space.shape) - 1
        for position, hierarchy in enumerate(self._lattice.hierarchies):
            suppressed = np.array([groups == 1 for groups in hierarchy.n_groups])
            levels[suppressed[levels[:, position]], position] = masked[position]
        return levels


def masking_space_of(lattice: GeneralizationLattice) -> MaskingSpace:
    """Return the masking space in which a lattice's records can be shared in at least the forms of the lattice.

    Its utility differs from the lattice's.
    """
    kept, groups = [], []
    for hierarchy in lattice.hierarchies:
        between = [level for level in range(1, hierarchy.n_levels) if hierarchy.n_groups[level] > 1]
        kept.append(np.linspace(1.0, 0.0, len(between) + 2))
        groups.append(tuple(hierarchy.groups[level].astype(np.int64) for level in between))
    n_attributes = len(lattice.hierarchies)
    return MaskingSpace(lattice.domain.names, np.ones(n_attributes), lattice.n_records, tuple(kept), tuple(groups))

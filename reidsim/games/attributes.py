"""Sensitive attributes in games: which generalizations reveal too much, and adversaries who gain from an inference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.linkage.sensitive_values import AttributeLimits, GainsFrom, SensitiveAttribute, SensitiveGroups
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True)
class AttributeLinker:
    """Links for an adversary who gains from a correct inference; group sizes are one over its success probability.

    Parameters
    ----------
    groups : SensitiveGroups
    gains_from : {"attribute", "either"}
    """

    groups: SensitiveGroups
    gains_from: GainsFrom

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return one over the success probability of each record; see `Linker`."""
        sizes = 1.0 / self.groups.success(self.gains_from, strategy)
        sizes = sizes if rows is None else sizes[rows]
        return Linkage(sizes, sizes, by_chance=True)


@dataclass(frozen=True)
class AdmissibleGroups:
    """Nodes at which a record's group is within the limits.

    Parameters
    ----------
    groups : SensitiveGroups
    limits : AttributeLimits
    columns : tuple of SensitiveAttribute
        Of all records of the table.
    """

    groups: SensitiveGroups
    limits: AttributeLimits
    columns: tuple[SensitiveAttribute, ...] = ()

    def at(self, strategy: int, rows: Rows | None = None) -> NDArray[np.bool_]:
        """Return whether records, all or those of `rows`, may be released at a node."""
        within = self.groups.within(self.limits, strategy)
        return within if rows is None else within[rows]

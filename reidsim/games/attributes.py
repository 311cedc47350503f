"""Limits on sensitive attributes, and linkage for inference attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.linkage.sensitive_values import AttributeLimits, GainsFrom, SensitiveAttribute, SensitiveGroups
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True)
class AttributeLinker:
    """Link records for an adversary who gains from inferring a sensitive value.

    The group sizes of the linkage, true and believed, are 1 over the success probability.

    Parameters
    ----------
    groups : SensitiveGroups
        Sensitive values of the group of each record.
    gains_from : {"attribute", "either"}
        With "attribute", a correct sensitive value pays; with "either", a correct value or a correct identity. See
        `SensitiveGroups.success`.
    """

    groups: SensitiveGroups
    gains_from: GainsFrom

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return 1 / success probability of each record as group size; see `Linker`."""
        sizes = 1.0 / self.groups.success(self.gains_from, strategy)
        sizes = sizes if rows is None else sizes[rows]
        return Linkage(sizes, sizes, by_chance=True)


@dataclass(frozen=True)
class AdmissibleGroups:
    """Find the nodes at which a record's group meets limits on sensitive values.

    Parameters
    ----------
    groups : SensitiveGroups
        Sensitive values of the group of each record.
    limits : AttributeLimits
        Limits on the values within a group.
    columns : tuple of SensitiveAttribute
        Sensitive columns of all records of the table, for games that form groups themselves; `at` does not use them.
    """

    groups: SensitiveGroups
    limits: AttributeLimits
    columns: tuple[SensitiveAttribute, ...] = ()

    def at(self, strategy: int, rows: Rows | None = None) -> NDArray[np.bool_]:
        """Return whether each record, or each of `rows`, may be released at a node."""
        within = self.groups.within(self.limits, strategy)
        return within if rows is None else within[rows]

"""Record games over people with several records: strategy spaces, linkage and replies by person."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import AlwaysAttacks, NeverAttacks, OneShotAdversary, RandomAttacks
from reidsim.adversaries.response import (
    Adversary,
    Linkage,
    PlanLinkage,
    Response,
    arrays_of,
    declared_information,
    one_over,
)
from reidsim.games.record_game import Linker
from reidsim.linkage.people import RowSets, best_entries
from reidsim.linkage.sensitive_values import GainsFrom, SensitiveGroups
from reidsim.populations.population import Counts
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows

# Adversaries whose replies depend on group sizes alone, and whose payoff is never lower with a smaller group.
_BY_SIZE = (OneShotAdversary, AlwaysAttacks, NeverAttacks, RandomAttacks)


@dataclass(frozen=True, eq=False)
class PeopleLattice(GeneralizationLattice):
    """Lattice over people with several records, which have the same generalization.

    A record of this lattice is a row set: all records of a person, shared by people with equal records. The utility of
    a strategy is the mean over the records of the set.

    The other parameters are the same as in `GeneralizationLattice`; `codes` holds the codes of the cells.

    Parameters
    ----------
    row_sets : RowSets
        Row sets over the cells in `codes`.
    benefit_of_cell : ndarray of float64, shape (n_cells,), optional
        Benefit of an unchanged record of each cell, if records differ in benefit. The utility is then the share of the
        total benefit of a person's records that the strategy keeps.
    """

    row_sets: RowSets = field(kw_only=True)
    benefit_of_cell: Floats | None = field(default=None, kw_only=True)

    @cached_property
    def n_records(self) -> int:  # type: ignore[override]
        """Number of row sets: the distinct sets of records that people have."""
        return self.row_sets.n_sets

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Mean information loss of the records of each row set, by level.

        There is one array (n_levels, n_sets) per attribute; losses are in [0, 1]. The mean is weighted by
        `benefit_of_cell`, if given.
        """
        return tuple(
            self.row_sets.means(losses[:, self.codes[:, position]], self.benefit_of_cell)
            for position, losses in enumerate(self.losses)
        )

    @cached_property
    def cells(self) -> GeneralizationLattice:
        """Lattice over the cells (distinct records), with one record per cell."""
        return GeneralizationLattice(self.hierarchies, self.codes, self.loss_attributes)


@dataclass(frozen=True)
class PeopleLinkage(Linkage):
    """Linkage of people who may have several records each.

    The group sizes and match probability of a person are those of the record with the smallest believed group; of equal
    records, the one with the smallest true group.

    Parameters
    ----------
    of_records : Linkage
        Linkage of the cells of all records, grouped by person.
    start : ndarray of int64, shape (n + 1,)
        Position of the first cell of each person.
    """

    of_records: Linkage = field(kw_only=True)
    start: NDArray[np.int64] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class PeopleLinker:
    """Link people by each of their records (a `Linker`).

    Parameters
    ----------
    linker : Linker
        Linker of the cells (distinct records).
    row_sets : RowSets
        Cells of each person's records.
    """

    linker: Linker
    row_sets: RowSets

    def link(self, strategy: int, rows: Rows | None = None) -> PeopleLinkage:
        """Return the linkage of all people, or of `rows`, shared under `strategy`.

        A row is a row set: all records of a person, shared by people with equal records. Its group sizes are those of
        the record with the smallest believed group (of equal records, with the smallest true group).
        """
        cells, start = self.row_sets.cells, self.row_sets.start
        if rows is not None:
            entries, start = self.row_sets.entries_of(np.asarray(rows))
            cells = cells[entries]
        of_records = self.linker.link(strategy, cells)
        true, believed = _sizes(of_records)
        worst = best_entries(start, -believed, -true)
        sizes = true[worst]
        share = of_records.match_probability
        return PeopleLinkage(
            sizes,
            sizes if believed is true else believed[worst],
            None if share is None else share[worst],
            by_chance=of_records.by_chance,
            of_records=of_records,
            start=start,
        )


@dataclass(frozen=True, eq=False)
class PeopleAdversary:
    """An adversary who attacks each person through the best of its records.

    Parameters
    ----------
    adversary : Adversary
        Adversary of single records. Payoff parameters that are arrays have one entry per person (row set).
    """

    adversary: Adversary

    @property
    def decides_on(self) -> frozenset[str]:
        """Information used for the decision, the same as for a single record.

        See `declared_information`.
        """
        return declared_information(self.adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each person, through the record that `best_entries` selects.

        A linkage other than `PeopleLinkage` is passed on to the adversary of single records. `rows` are numbers of
        people (row sets); all of the linkage, if not given. See `Adversary`.
        """
        if not isinstance(linkage, PeopleLinkage):
            return self.adversary.respond(linkage, rows)
        start = linkage.start
        people = np.arange(len(start) - 1) if rows is None else np.asarray(rows)
        reply = self.adversary.respond(linkage.of_records, np.repeat(people, np.diff(start)))
        best = best_entries(start, reply.attacks, reply.believed_success, reply.success, reply.adversary_payoff)
        arrays: dict[str, Any] = {name: array[best] for name, array in arrays_of(reply).items()}
        return replace(reply, **arrays)


def adversary_of_people(adversary: Adversary) -> Adversary:
    """Return an adversary of people, given an adversary of records.

    It is a `PeopleAdversary`. An adversary whose reply depends on group sizes alone (one-shot, always, never or
    randomly attacking), or who attacks people already, is returned unchanged.
    """
    return adversary if isinstance(adversary, (*_BY_SIZE, PeopleAdversary)) else PeopleAdversary(adversary)


def _sizes(linkage: Linkage) -> tuple[Counts, Counts]:
    """Return true and believed group sizes of a linkage, shape (n,) each.

    For a multistage attack (`PlanLinkage`), they are 1 / success probability, true and believed, of the plan without
    inference.
    """
    if isinstance(linkage, PlanLinkage):
        return one_over(linkage.plan_success[0]), one_over(linkage.plan_believed[0])
    return linkage.group_sizes, linkage.believed_group_sizes


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
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        Group sizes are 1 / success probability of an attempt; see `Linker`.
        """
        sizes = 1.0 / self.groups.success(self.gains_from, strategy)
        sizes = sizes if rows is None else sizes[rows]
        return Linkage(sizes, sizes, by_chance=True)

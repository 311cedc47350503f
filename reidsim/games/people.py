"""Record games whose rows are people with several records each: one form per person, found by any of their records.

A person's records are all shared in one form. The benefit of a form is the mean over the person's records; gain, cost
and loss are those of a person, who is attacked once, by the record by which the adversary believes to succeed most.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.information import declared_information
from reidsim.adversaries.multistage.attack import PlanLinkage
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary, Linkage, Response, arrays_of, one_over
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.games.record_game import Linker
from reidsim.linkage.people import RowSets, best_entries, smallest_groups
from reidsim.linkage.row_groups import classes_at
from reidsim.populations.population import Counts
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows

# What they do depends on group sizes alone, and never less is gained of a smaller group.
_BY_SIZE = (OneShotAdversary, AlwaysAttacks, NeverAttacks, RandomAttacks)


@dataclass(frozen=True, eq=False)
class PeopleLattice(GeneralizationLattice):
    """The lattice of people with several records: each person's are generalized alike.

    Its records are row sets, and the utility of a strategy the mean over the records of a set.

    The other parameters are those of `GeneralizationLattice`. `codes` are those of cells.

    Parameters
    ----------
    row_sets : RowSets
        Over the cells in `codes`.
    benefit_of_cell : ndarray of float64, shape (n_cells,), optional
        Benefit of a record of each cell as it is, where records differ in that: the share that is kept of the benefit
        of all of a person's records is then the utility.
    """

    row_sets: RowSets = field(kw_only=True)
    benefit_of_cell: Floats | None = field(default=None, kw_only=True)

    def of(self, rows: slice) -> PeopleLattice:
        """Return the lattice of neighbouring row sets; it shares what this one holds of them."""
        part = replace(self, row_sets=self.row_sets.of_neighbours(rows))
        part.__dict__["record_losses"] = tuple(losses[:, rows] for losses in self.record_losses)
        return part

    @property
    def n_records(self) -> int:
        """Number of row sets."""
        return self.row_sets.n_sets

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Mean information loss of the records of each set by attribute and level, shape (n_levels, n_sets) each."""
        return tuple(
            self.row_sets.means(losses[:, self.codes[:, position]], self.benefit_of_cell)
            for position, losses in enumerate(self.losses)
        )

    @cached_property
    def cells(self) -> GeneralizationLattice:
        """The lattice of the cells."""
        return GeneralizationLattice(self.hierarchies, self.codes, self.loss_attributes)

    def class_sizes(self, node: int) -> NDArray[np.int64]:
        """Return the number of people in the smallest class that the records of each set are in, shape (n_sets,)."""
        classes = classes_at(self.cells, node)
        people = self.row_sets.in_classes(classes, int(classes.max()) + 1)[classes[self.row_sets.cells]]
        return np.minimum.reduceat(people, self.row_sets.start[:-1])


@dataclass(frozen=True)
class PeopleLinkage(Linkage):
    """What linking the records of people yields; group sizes are those of the record believed to hide worst.

    Parameters
    ----------
    of_records : Linkage
        Of the cells of the people's records, one person after the other.
    start : ndarray of int64, shape (n + 1,)
        Where the cells of each person begin.
    """

    of_records: Linkage = field(kw_only=True)
    start: NDArray[np.int64] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class PeopleLinker:
    """Links people by each of their records (a `Linker`).

    Parameters
    ----------
    linker : Linker
        Of the cells of records.
    row_sets : RowSets
    """

    linker: Linker
    row_sets: RowSets

    def link(self, strategy: int, rows: Rows | None = None) -> PeopleLinkage:
        """Link all row sets, or those of `rows`, shared as `strategy`."""
        cells, start = self.row_sets.cells, self.row_sets.start
        if rows is not None:
            entries, start = self.row_sets.entries_of(np.asarray(rows))
            cells = cells[entries]
        of_records = self.linker.link(strategy, cells)
        true, believed = _sizes(of_records)
        worst = smallest_groups(start, believed, true)
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
    """An adversary who looks at each record of a person, and goes for the person by the best of them.

    Parameters
    ----------
    adversary : Adversary
        Of records; its amounts, where they differ, are those of people.
    """

    adversary: Adversary

    @property
    def decides_on(self) -> frozenset[str]:
        """What of a linkage the decision rests on: what it does for a record."""
        return declared_information(self.adversary)

    def of(self, adversary: Adversary) -> Adversary:
        """Return the same for another adversary."""
        return adversary_of_people(adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each person; see `Adversary`."""
        if not isinstance(linkage, PeopleLinkage):
            return self.adversary.respond(linkage, rows)
        start = linkage.start
        people = np.arange(len(start) - 1) if rows is None else np.asarray(rows)
        reply = self.adversary.respond(linkage.of_records, np.repeat(people, np.diff(start)))
        best = best_entries(start, reply.attacks, reply.believed_success, reply.success, reply.adversary_payoff)
        arrays: dict[str, Any] = {name: array[best] for name, array in arrays_of(reply).items()}
        return replace(reply, **arrays)


def adversary_of_people(adversary: Adversary) -> Adversary:
    """Return an adversary of people, given one of records; one who goes by group sizes alone stays as it is."""
    return adversary if isinstance(adversary, (*_BY_SIZE, PeopleAdversary)) else PeopleAdversary(adversary)


def _sizes(linkage: Linkage) -> tuple[Counts, Counts]:
    """Return true and believed group sizes; in an attack in stages, of the plan that infers nothing."""
    if isinstance(linkage, PlanLinkage):
        return one_over(linkage.plan_success[0]), one_over(linkage.plan_believed[0])
    return linkage.group_sizes, linkage.believed_group_sizes

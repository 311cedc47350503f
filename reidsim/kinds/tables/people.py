"""People behind the records of a table: several records per person, releases over time, households."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.games.equilibrium import Equilibrium
from reidsim.games.people import PeopleLattice, PeopleLinker
from reidsim.games.record_game import Linker
from reidsim.linkage.people import PeopleOfRows, RowSets, largest_in_groups, ranges
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.people import Keys


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves in which each record or person is released.

    Parameters
    ----------
    labels : tuple of str
        Labels of the waves in order, as in the file.
    enters, leaves : ndarray of int64, shape (n,)
        Indices, from 0, of the first wave with the person or record, and of the first later wave without it; the number
        of waves if it stays.
    sensitive : ndarray of int64, shape (n,), optional
        Code of the sensitive value of the person or record.
    """

    labels: tuple[str, ...]
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    sensitive: NDArray[np.int64] | None = None

    @cached_property
    def schedule(self) -> NDArray[np.bool_]:
        """Whether each person or record is in each wave, shape (n_waves, n)."""
        waves = np.arange(len(self.labels))[:, None]
        return (self.enters <= waves) & (waves < self.leaves)


@dataclass(frozen=True, eq=False)
class ReleasedPeople:
    """People behind the records of a release, if a person may have several records.

    A row set tells how many records a person has in each cell. People with equal row sets share a game row.

    Parameters
    ----------
    of_record : ndarray of int, shape (n_records,)
        The person of each record; persons are numbered from 0 in the order of their first record.
    set_of_person : ndarray of int, shape (n_people,)
        The row set of each person.
    space : PeopleLattice
        Generalizations of row sets, which consist of cells of records.
    linkers : dict
        Cache of the linkers of people, by the `id` of the linker of cells.
    """

    of_record: Keys
    set_of_person: Keys
    space: PeopleLattice
    linkers: dict[int, PeopleLinker] = field(default_factory=dict, repr=False)

    @classmethod
    def from_lattice(
        cls, lattice: GeneralizationLattice, cell_of_record: Keys, of_record: Keys, benefit_of_cell: Floats | None
    ) -> ReleasedPeople:
        """Group the records by person; see `PeopleLattice`.

        Parameters
        ----------
        lattice : GeneralizationLattice
            Over the cells of the records.
        cell_of_record, of_record : ndarray of int, shape (n_records,)
            The cell and the person of each record.
        benefit_of_cell : ndarray of float64, shape (n_cells,), or None
            Benefit of a record in each cell, in currency units; None if it is the same for all records.
        """
        row_sets, set_of_person = RowSets.from_rows(cell_of_record, of_record)
        space = PeopleLattice(
            lattice.hierarchies,
            lattice.codes,
            lattice.loss_attributes,
            row_sets=row_sets,
            benefit_of_cell=benefit_of_cell,
        )
        return cls(of_record, set_of_person, space)

    @property
    def row_sets(self) -> RowSets:
        """Distinct sets of cells that people's records occupy."""
        return self.space.row_sets

    @property
    def of_sets(self) -> Keys:
        """First person of each row set, shape (n_sets,)."""
        return np.unique(self.set_of_person, return_index=True)[1]

    def linker(self, linker: Linker) -> PeopleLinker:
        """Return the linker of people for a linker of cells; cached."""
        # The cached linker keeps `linker` alive, so that its `id` is not reused.
        return self.linkers.setdefault(id(linker), PeopleLinker(linker, self.row_sets))

    def amounts_of_sets(self, amounts: Floats, benefit: int) -> Floats:
        """Return the payoff parameters of a person in each row set, shape (n_sets, 4).

        The benefit is the mean over the person's records if it differs by record. The other parameters are equal in
        all records of a person.

        Parameters
        ----------
        amounts : ndarray of float64, shape (n_cells, 4)
            Payoff parameters of each cell, in currency units.
        benefit : int
            Column of `amounts` that holds the benefit.
        """
        sets = self.row_sets
        of_sets = amounts[sets.cells[sets.start[:-1]]]
        if self.space.benefit_of_cell is not None:
            of_sets[:, benefit] = sets.means(amounts[:, benefit])
        return of_sets

    def least_above(self, strategies: Strategies) -> Strategies:
        """Return the least common generalization of each row set, shape (n_sets,).

        It is at or above the strategy of each cell in the row set.

        Parameters
        ----------
        strategies : ndarray of int64, shape (n_cells,)
        """
        levels = self.space.all_levels(strategies)[self.row_sets.cells]
        most = np.maximum.reduceat(levels, self.row_sets.start[:-1], axis=0)
        return np.asarray(most @ np.array(self.space.strides, dtype=np.int64))

    def counted(self, name: str) -> PeopleOfRows:
        """Return the people as a population; a person counts once in each group."""
        return PeopleOfRows.from_codes(self.space.domain, self.space.codes, self.row_sets, name=name)

    def on_cells(
        self, lattice: GeneralizationLattice, cell_of_record: Keys, old_cell: NDArray[np.integer]
    ) -> tuple[ReleasedPeople, Keys]:
        """Return the same people on finer cells, and the old row set of each new one.

        Parameters
        ----------
        lattice : GeneralizationLattice
            Over the finer cells.
        cell_of_record : ndarray of int, shape (n_records,)
            The finer cell of each record.
        old_cell : ndarray of int, shape (n_cells,)
            The old cell of each finer cell.
        """
        benefit = self.space.benefit_of_cell
        finer = ReleasedPeople.from_lattice(
            lattice, cell_of_record, self.of_record, None if benefit is None else benefit[old_cell]
        )
        return finer, self.set_of_person[finer.of_sets]

    def split(self, sets: Keys) -> ReleasedPeople:
        """Return n people, of whom person i has the records of row set ``sets[i]`` and a row set of its own.

        `sets`, shape (n,), holds numbers of row sets, which may repeat. With `set_of_person` as `sets`, the result has
        the same people. `of_record` is unchanged.
        """
        entries, start = self.row_sets.entries_of(sets)
        row_sets = RowSets(
            start, self.row_sets.cells[entries], self.row_sets.rows[entries], np.ones(len(sets), dtype=np.int64)
        )
        return replace(
            self, set_of_person=np.arange(len(sets)), space=replace(self.space, row_sets=row_sets), linkers={}
        )

    def among(self, people: NDArray[np.int64]) -> tuple[ReleasedPeople, Keys]:
        """Return the participants, and the cell of each of their records.

        Participants are in the order of their row sets, and records in the order of their participants.

        Parameters
        ----------
        people : ndarray of int64, shape (n_sets,)
            Number of participants of each row set.
        """
        sets = self.row_sets
        space = replace(self.space, row_sets=replace(sets, people=people))
        each, records = np.repeat(np.arange(sets.n_sets), people), sets.rows_of_person
        position, _ = ranges((np.cumsum(records) - records)[each], records[each])
        of_record = np.repeat(np.arange(len(each)), records[each])
        return ReleasedPeople(of_record, each, space), np.repeat(sets.cells, sets.rows)[position]


def household_risk(equilibrium: Equilibrium, row_of_subject: Keys, household: Keys) -> Floats:
    """Return the re-identification risk of each person's household, (n_subjects,).

    The adversary makes one attempt on a household: on the member with the largest re-identification probability. This
    probability is 0 for people who are not attacked.

    Parameters
    ----------
    equilibrium : Equilibrium
    row_of_subject : ndarray of int, shape (n_subjects,)
        The row of each person in the equilibrium.
    household : ndarray of int, shape (n_subjects,)
        The household of each person.
    """
    return largest_in_groups(equilibrium.risk[row_of_subject], household)

"""People behind the records of a release: keys, households and sampling weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.people import PeopleLattice, PeopleLinker
from reidsim.games.record_game import Linker
from reidsim.kinds.tables.data_schema import ReleaseSection
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.linkage.individual_risk import SampledPeople
from reidsim.linkage.people import PeopleOfRows, RowSets, largest_in_groups, ranges
from reidsim.linkage.uniqueness.log_linear import fitting_model
from reidsim.linkage.uniqueness.sample_cells import SampleCells, weights_in
from reidsim.populations.domain import Domain, row_keys
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.people import Keys, key_columns, keys_of_records, require_same


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
    def of(
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
        row_sets, set_of_person = RowSets.of(cell_of_record, of_record)
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
        return PeopleOfRows.of(self.space.domain, self.space.codes, self.row_sets, name=name)

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
        finer = ReleasedPeople.of(
            lattice, cell_of_record, self.of_record, None if benefit is None else benefit[old_cell]
        )
        return finer, self.set_of_person[finer.of_sets]

    def split(self, sets: Keys) -> ReleasedPeople:
        """Return the people with a separate row set for each item of `sets`, (n,).

        Items are numbers of row sets and may repeat; each new row set has one person. With the row set of each person
        as `sets`, each person has its own row set.
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


def people_of_records(
    scenario: TablesScenario,
    frame: pd.DataFrame,
    source: str | Path,
    prices: Mapping[str, Floats],
    weights: Floats | None,
) -> tuple[Keys | None, Keys | None]:
    """Return the person and the household of each record; None without a column.

    Raises
    ------
    InputError
        If a key is missing, or a person's records differ in household, loss, gain, cost or weight. The error names the
        row.
    """
    section = scenario.release
    person = None if section.person is None else keys_of_records(frame, section.person, source)
    household = None if section.household is None else keys_of_records(frame, section.household, source)
    if person is not None:
        for price, amounts in prices.items():
            if price != "benefit":
                require_same(amounts, person, price, source, str(getattr(scenario.economics.columns, price)))
        if weights is not None and section.weight is not None:
            require_same(weights, person, "weight", source, section.weight, frame[list(key_columns(section.person))])
        if household is not None:
            require_same(household, person, "household", source, str(section.household))
    return person, household


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


if TYPE_CHECKING:
    from reidsim.kinds.tables.release import ReleasedRecords
    from reidsim.kinds.tables.schema import TablesScenario

_NAME = "the people represented by the records"


def sampling_weights(section: ReleaseSection, frame: pd.DataFrame, source: str | Path) -> Floats | None:
    """Return the sampling weight of each record, (n_records,); None without weights.

    With a sampling fraction, each weight is its inverse.

    Raises
    ------
    InputError
        If the column is missing, or a weight is not a finite number of at least 1. The error names the row.
    """
    if section.sampling_fraction is not None:
        return np.full(len(frame), 1 / section.sampling_fraction)
    if section.weight is None:
        return None
    return weights_in(frame, section.weight, source)


def sampled_people(scenario: TablesScenario, domain: Domain, records: ReleasedRecords) -> SampledPeople | None:
    """Return the people whom the records represent; None without sample risk.

    They are estimated from the sampling weights or by a log-linear model; see ``release.estimator``.

    Raises
    ------
    InputError
        If a log-linear model has too many cells.
    """
    if records.weights is None or "sample" not in scenario.risks:
        return None
    if scenario.release.estimator == "benedetti-franconi":
        return SampledPeople.of_records(domain, records.codes, records.weights, _NAME, records.person)
    occur = [np.unique(records.codes[:, position]) for position in range(records.codes.shape[1])]
    columns = [np.searchsorted(values, records.codes[:, at]) for at, values in enumerate(occur)]
    try:
        model = fitting_model(SampleCells.of_records(columns, records.weights)).everybody()
    except InputError as error:
        hint = 'use fewer or coarser quasi-identifiers, or "benedetti-franconi", which may be inaccurate'
        raise error.but(source=None, where="release.estimator", hint=hint) from None
    codes = np.column_stack([values[model.codes[:, at]] for at, values in enumerate(occur)]).astype(np.int32)
    order = np.argsort(row_keys(list(codes.T), len(codes)))
    return SampledPeople(
        domain, codes[order], model.people[order], name=_NAME, records=model.records[order], missing="poisson"
    )


def warning_of_estimator(scenario: TablesScenario, sampled: SampledPeople | None) -> str | None:
    """Return a warning if sampling weights estimate the risk of sample uniques badly.

    Return None for the log-linear estimator, without sample uniques, or if the sample is the whole population.
    """
    if sampled is None or scenario.release.estimator != "benedetti-franconi":
        return None
    sample, sets = sampled.sample, sampled.sampled
    alone = sampled.records == 1
    unique = int(alone.sum() if sets is None else (np.maximum.reduceat(alone[sets.cells], sets.start[:-1])).sum())
    if not unique or sampled.total <= sample.total:
        return None
    units = "records" if sets is None else "people"
    return (
        f"{unique:,} of {int(sample.total):,} {units} are unique in the sample; their risk by Benedetti and Franconi "
        "may be inaccurate" + ': compare release.estimator = "log-linear"' * (sets is None)
    )

"""Build the study of a scenario of cases over time: tables, people and games."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage, ListedCandidates, one_over
from reidsim.errors import InputError, locating
from reidsim.games.record_game import Linker, PopulationLinker, RecordGame
from reidsim.kinds.dynamic.cases import Cases, read_cases
from reidsim.kinds.dynamic.lattice import PeriodLattice, SimulatedTables, class_sizes, entropy
from reidsim.kinds.dynamic.schema import DynamicScenario
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import distinct_rows
from reidsim.populations.population import Population
from reidsim.random_streams import random_stream
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Rows
from reidsim.scenarios.adversary_schema import AdversarySection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.schema import EconomicsSection, economics_of
from reidsim.scenarios.study import Study, World, digest_of


@dataclass(frozen=True, eq=False)
class DynamicStudy(Study[DynamicScenario]):
    """A scenario of cases over time with its data.

    The rows of its games are the distinct cases of each period's table, in the order of periods.

    Parameters
    ----------
    loaded : Scenario
    cases : Cases
    lattice : PeriodLattice
        Strategies of the rows.
    row_of_case : ndarray of int, shape (n_cases,)
        Row of each case in the table of the last period that contains it.
    group_sizes : GroupSizes or None
        Number of people who share the released values of each distinct case: people of the list, or without a list, of
        the population. None without both.
    table_linker : TableLinker
        Linker of rows to their own tables.
    """

    cases: Cases
    lattice: PeriodLattice
    row_of_case: NDArray[np.intp]
    group_sizes: GroupSizes | None
    table_linker: TableLinker

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of cases and people."""
        cases = self.cases
        parts: list[Any] = [
            cases.codes,
            cases.period,
            cases.forecast,
            self.lattice.counts,
            cases.population,
            cases.voters,
        ]
        return digest_of(repr((self.lattice.domain, cases.periods)), parts)

    @property
    def fixed_form(self) -> int:
        """Number of the generalization at the levels of policy ``fixed``.

        Attributes that ``publisher.fixed`` does not name have level 0.

        Raises
        ------
        InputError
            If a level exceeds the last level of an attribute's hierarchy.
        """
        given = self.scenario.publisher.fixed
        levels = [given.get(name, 0) for name in self.lattice.domain.names]
        for name, level, n_levels in zip(self.lattice.domain.names, levels, self.lattice.shape, strict=True):
            if level >= n_levels:
                raise InputError(
                    "no such level", where=f"publisher.fixed.{name}", found=level, expected=f"at most {n_levels - 1}"
                )
        return self.lattice.index(levels)

    @cached_property
    def tables(self) -> SimulatedTables:
        """Simulated tables of the population, as large as the study's largest table."""
        population, largest = self.cases.population, int(self.lattice.sizes.max())
        if population is None:
            raise InputError("section missing", where="population", expected="a population, for policy pk")
        rng = random_stream(self.scenario.seed, "simulated-tables")
        if largest > population.total:
            expected = f"at most {population.total:,.0f} cases, the number of people in the population"
            raise InputError(
                "more cases in a table than people in the population",
                where="population",
                found=largest,
                expected=expected,
            )
        return SimulatedTables(population, self.lattice, largest, self.scenario.publisher.simulations, rng)

    # Games

    @property
    def coverage(self) -> float:
        """Probability that the person of a record is in the adversary's list.

        It is 1 without a list. By default it is the size of the list divided by the size of the population (at most 1),
        or 1 without a population.
        """
        section, people, voters = self.scenario.voters, self.cases.population, self.cases.voters
        if section is None or voters is None:
            return 1.0
        if section.coverage is not None:
            return section.coverage
        return 1.0 if people is None else min(1.0, voters.total / people.total)

    @property
    def linker(self) -> Linker:
        """The linker of the adversary, for the rows of all periods.

        For prosecutor risk, and without list and population, candidates are the records of the row's own table.
        Otherwise they are the people of the list or, without a list, of the population.
        """
        groups, place = self.group_sizes, self.table_linker.place
        # Without a list and a population, every adversary counts candidates in the released table.
        if self.scenario.adversary.risk == "prosecutor" or groups is None:
            return self.table_linker
        listed = PopulationLinker(groups) if self.cases.voters is None else ListLinker(groups, self.coverage)
        return LinkerByPlace(listed, place)

    def game(self, economics: EconomicsSection) -> RecordGame:
        """Return the game with the given payoff parameters.

        The benefit of a record includes the forecast benefit of its period.
        """
        adversary = planner(self.scenario.adversary, economics.adversary_gain, economics.cost, loaded=self.loaded)
        benefit = economics.benefit + self.cases.forecast[self.lattice.period]
        return RecordGame(self.lattice, self.linker, adversary, benefit, np.array(economics.loss))

    def world(self, draw: int = 0) -> World:
        """Return the true game and the believed game; see `Study`."""
        truth, belief = economics_of(self.scenario)
        return World(self.game(truth), self.game(belief), self.lattice.counts)

    def with_adversary(self, section: AdversarySection) -> Self:
        """Return the study against another adversary; see `Study`."""
        self.scenario.refuse(section, "adversary")
        return super().with_adversary(section)


@dataclass(frozen=True, eq=False)
class ListLinker:
    """Linker to the people of a list who share the released values.

    The person of a record may be missing from the list.

    Parameters
    ----------
    group_sizes : GroupSizes
        Group sizes in the list.
    coverage : float
        Probability that a person is in the list.
    """

    group_sizes: GroupSizes
    coverage: float

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of rows; see `Linker`.

        The probability that a candidate in the list is the record's person is the coverage divided by the number of
        candidates, or 0 without candidates. Its inverse is the effective group size.
        """
        listed = self.group_sizes.at(strategy, rows)
        chance = np.divide(self.coverage, listed, out=np.zeros(len(listed)), where=listed > 0)
        candidates = ListedCandidates(listed, np.full(len(listed), self.coverage))
        sizes = one_over(chance)
        return Linkage(sizes, sizes, by_chance=True, candidates=candidates)


@dataclass(frozen=True, eq=False)
class LinkerByPlace:
    """Linker that links each row as its distinct case, whatever its period.

    Parameters
    ----------
    linker : Linker
        Linker of distinct cases.
    place : ndarray of int, shape (n_rows,)
        Distinct case of each row.
    """

    linker: Linker
    place: NDArray[np.intp]

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of the rows' distinct cases; see `Linker`."""
        return self.linker.link(strategy, self.place if rows is None else self.place[rows])


@dataclass(frozen=True, eq=False)
class TableLinker:
    """Linker to the records of the row's own table that share the released values.

    The adversary knows that the person is in the table.

    Parameters
    ----------
    lattice : PeriodLattice
    groups : GroupSizes
        Group sizes of all distinct cases.
    place : ndarray of int, shape (n_rows,)
        Distinct case of each row.
    """

    lattice: PeriodLattice
    groups: GroupSizes
    place: NDArray[np.intp]

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the size of each row's equivalence class in its table; see `Linker`."""
        sizes = self.sizes(strategy, np.arange(self.lattice.n_records) if rows is None else rows)
        return Linkage(sizes, sizes)

    def sizes(self, strategy: int, rows: Rows) -> NDArray[np.int64]:
        """Return the number of cases in each row's equivalence class of its table, (n,).

        Parameters
        ----------
        strategy : int
        rows : ndarray of int, shape (n,)
        """
        lattice, node = self.lattice, self.groups.table(strategy)
        if not len(rows):
            return rows
        # Rows of periods are contiguous: compute the tables from that of the first row to that of the last.
        starts = lattice.starts[lattice.period[rows.min()] : lattice.period[rows.max()] + 2]
        here = slice(starts[0], starts[-1])
        within = class_sizes(starts - starts[0], node.group_of[self.place[here]], lattice.counts[here], len(node.keys))
        return np.asarray(within[rows - starts[0]])


def build_study(loaded: Scenario[Any]) -> DynamicStudy:
    """Read the files and recipes of a scenario, and build its tables.

    Raises
    ------
    InputError
        If the scenario is of another kind, or a file or value cannot be used.
    """
    if not isinstance(loaded.scenario, DynamicScenario):
        raise InputError("a scenario of another kind", source=loaded.path, where="game", expected="dynamic")
    with locating(loaded.path):
        study = study_on(loaded, read_cases(loaded))
        if "fixed" in loaded.scenario.publisher.policies:
            _ = study.fixed_form
        return study


def study_on(loaded: Scenario[DynamicScenario], cases: Cases) -> DynamicStudy:
    """Build the study of the given cases.

    With cumulative tables, a period's table contains the cases of this and all earlier periods.
    """
    n_attributes = cases.codes.shape[1]
    first, cell = distinct_rows(list(cases.codes.T), len(cases.codes))
    counts = np.zeros((len(cases.periods), len(first)), dtype=np.int64)
    np.add.at(counts, (cases.period, cell), 1)
    last = cases.period
    if loaded.scenario.release.table == "cumulative":
        counts, last = np.cumsum(counts, axis=0), np.full_like(cases.period, len(cases.periods) - 1)
    period, held = np.nonzero(counts)
    entropies = np.array([_entropy_of(cases.codes[:, position]) for position in range(n_attributes)])
    weights = entropies / entropies.sum() if entropies.sum() > 0 else np.full(n_attributes, 1 / n_attributes)
    lattice = PeriodLattice(
        cases.hierarchies,
        cases.codes[first[held]],
        period=period,
        counts=counts[period, held],
        attribute_weights=weights,
    )
    row_of_case = np.searchsorted(period * len(first) + held, last * len(first) + cell)
    distinct, listed = GeneralizationLattice(cases.hierarchies, cases.codes[first]), cases.voters or cases.population
    groups = None if listed is None else GroupSizes(listed, distinct, holds_records=cases.voters is None)
    everybody = Population(distinct.domain, distinct.codes, np.bincount(cell), name="cases")
    tables = TableLinker(lattice, GroupSizes(everybody, distinct), held)
    return DynamicStudy(loaded, cases, lattice, row_of_case, groups, tables)


def _entropy_of(values: NDArray[np.int32]) -> float:
    return float(entropy(np.bincount(values)[None, :])[0])

"""Kind of scenario in which a publisher releases cases in periods: people, tables, games and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage, ListedCandidates, one_over
from reidsim.agents.attack import RUN_MEASURES
from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows
from reidsim.core.files import read_toml
from reidsim.core.numerics import draw_multinomial, draw_multivariate_hypergeometric, exp, log, random_stream
from reidsim.core.tables import numbers, read_table, require_columns
from reidsim.core.wording import counted, measures_worded
from reidsim.games.outcomes import Equilibrium, Reidentified, reidentified_in
from reidsim.games.record_game import WITHHELD, PopulationLinker, RecordGame
from reidsim.kinds.dynamic.schema import FIXED, PERIOD, PK, POLICIES, DynamicScenario
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Codes, Domain, Population, distinct_rows, natural_categories
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows
from reidsim.releases.records import select_columns
from reidsim.scenarios.adversary_schema import MONEY_KEYS, AdversarySection, EconomicsSection, economics_of
from reidsim.scenarios.hierarchies import Table, hierarchy_of, hierarchy_rows, over_domain
from reidsim.scenarios.kind import (
    AnalysisTables,
    Kind,
    PolicyOutcome,
    Progress,
    RecordTable,
    SharedColumns,
    digest_of,
    numbered_times,
)
from reidsim.scenarios.scenario import Scenario, Study, World, people_named, planner, table_named

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PeriodLattice(GeneralizationLattice):
    """Generalizations of tables of cases, and their utility.

    A row represents all equal cases in the table of one period. Rows of the same period are adjacent.

    A released value is a function of the original value, so their mutual information is the entropy of the released
    values. Its normalized form is ``2 H(Y) / (H(X) + H(Y))`` for an attribute's original values X and released values Y
    in the table. It is 0 at a level above 0 that maps every value of the domain to one group; otherwise, it is 1 if X
    has one value in the table. The utility of a generalization for a table is the mean of the normalized mutual
    information over attributes, weighted by the entropy of each attribute among all cases (Gourabathina et al. 2023,
    following their program).

    Parameters
    ----------
    period : ndarray of int64, shape (n_rows,)
        Period of each row; ascending, from 0 without gaps.
    counts : ndarray of int64, shape (n_rows,)
        Number of cases of each row.
    attribute_weights : ndarray of float64, shape (n_attributes,)
        Weights of the attributes in the utility; they sum to 1.
    """

    period: NDArray[np.int64] = field(kw_only=True)
    counts: NDArray[np.int64] = field(kw_only=True)
    attribute_weights: Floats = field(kw_only=True)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Number of the first row of each period's table, then the number of all rows.

        The shape is (n_periods + 1,).
        """
        return np.searchsorted(self.period, np.arange(int(self.period[-1]) + 2))

    @property
    def tables(self) -> list[slice]:
        """Rows of each period's table, as one slice per period."""
        return [slice(start, end) for start, end in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of cases of each period's table, shape (n_periods,)."""
        return np.add.reduceat(self.counts, self.starts[:-1])

    @cached_property
    def lost(self) -> tuple[Floats, ...]:
        """Utility loss by attribute: one array per attribute, shape (n_levels, n_periods).

        An element is the attribute's weight times (1 - normalized mutual information) at a level of the attribute, in
        the table of a period; see `PeriodLattice`.
        """
        n_periods, found = len(self.starts) - 1, []
        for position, (weight, hierarchy) in enumerate(zip(self.attribute_weights, self.hierarchies, strict=True)):
            levels = []
            for groups in hierarchy.groups:
                size = int(groups.max()) + 1
                cell = self.period * size + groups[self.codes[:, position]]
                cells = np.bincount(cell, weights=self.counts, minlength=n_periods * size)
                levels.append(entropy(cells.reshape(n_periods, size)))
            released = np.stack(levels)
            both = released + released[0]
            shares = np.divide(2 * released, both, out=np.ones_like(released), where=both > 0)
            # Levels above 0 with one group carry no information, even if all original values in the table are equal.
            told = np.array(hierarchy.n_groups) > 1
            told[0] = True
            found.append(weight * (1.0 - np.where(told[:, None], np.minimum(shares, 1.0), 0.0)))
        return tuple(found)

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Utility loss of each row: one array per attribute, shape (n_levels, n_rows).

        The loss at a level is the attribute's share of the loss of the whole table (see `lost`), and therefore equal
        for all rows of a period.
        """
        return tuple(np.ascontiguousarray(lost[:, self.period]) for lost in self.lost)

    def utilities(self, period: int) -> Floats:
        """Return the utility of every generalization for one table, shape (n_strategies,).

        A utility is in [0, 1]; strategy 0, no generalization, has utility 1.

        Parameters
        ----------
        period : int
            Number of the period of the table, from 0.
        """
        lost = np.zeros(self.size)
        for by_level, level in zip(self.lost, self.all_levels(np.arange(self.size)).T, strict=True):
            lost += by_level[level, period]
        return 1.0 - lost


def entropy(counts: NDArray[np.number]) -> Floats:
    """Return the entropy of each row of counts, in nats, shape (n,).

    Parameters
    ----------
    counts : ndarray, shape (n, n_values)
        A row of zeros has entropy 0.
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.maximum(-(shares * log(np.where(shares > 0, shares, 1.0))).sum(axis=1), 0.0))


def share_below(sizes: NDArray[np.int64], weights: NDArray[np.int64], k: int) -> float:
    """Return PK, the share of records in classes of fewer than `k` records.

    Classes are the equivalence classes of a released table. The share is in [0, 1], and 0 for a table without records.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_rows,)
        Number of records in the equivalence class of each row.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    k : int
    """
    total = weights.sum()
    return float(weights[sizes < k].sum() / total) if total else 0.0


class SimulatedTables:
    """Random tables of distinct people, drawn from a population.

    Every set of people is equally likely. The table of a smaller size consists of the first people of the table of the
    largest size.

    Parameters
    ----------
    population : Population
        Whole people, over the attributes of the lattice.
    lattice : PeriodLattice
        Its hierarchies define the generalizations; its records are not used.
    size : int
        Largest number of records of a table.
    simulations : int
        Number of simulated tables.
    rng : numpy.random.Generator
        Draws the tables.
    """

    def __init__(
        self, population: Population, lattice: PeriodLattice, size: int, simulations: int, rng: np.random.Generator
    ) -> None:
        ends = np.cumsum(population.counts)
        people = np.stack([rng.choice(int(ends[-1]), size, replace=False) for _ in range(simulations)])
        # The population may be much larger than all tables together; keep only cells that occur in a table.
        occupied, cells = np.unique(np.searchsorted(ends, people, side="right"), return_inverse=True)
        self._cells = cells.reshape(people.shape).astype(np.int32)
        here = Population(population.domain, population.cells[occupied], population.counts[occupied])
        self._groups = GroupSizes(here, GeneralizationLattice(lattice.hierarchies, here.cells))

    def keep(self, strategy: int, size: int, k: int, threshold: float, quantile: float) -> bool:
        """Return whether a quantile of PK over simulated tables is at most a threshold.

        PK is the share of a table's records in equivalence classes of fewer than `k` records, at the given
        generalization. The quantile is the PK at position ``quantile * (n_simulations - 1)``, rounded up, of the PKs in
        ascending order, counted from 0.

        Parameters
        ----------
        strategy : int
            Number of the generalization of all tables.
        size : int
            Number of records of each table, at most the largest size.
        k : int
            Smallest size of an equivalence class whose records do not count.
        threshold : float
            Largest permitted PK.
        quantile : float
            Order of the quantile, from 0 to 1.
        """
        last = len(self._cells) - 1
        left = last - math.ceil(quantile * last - _ROUNDING)
        for share in self.shares_below(strategy, size, k):
            left -= share > threshold
            if left < 0:
                return False
        return True

    def shares_below(self, strategy: int, size: int, k: int) -> Iterator[float]:
        """Yield PK, in [0, 1], of each simulated table in turn; see `share_below`.

        Parameters
        ----------
        strategy : int
            Number of the generalization of all tables.
        size : int
            Number of records of each table, at most the largest size.
        k : int
            Smallest size of an equivalence class whose records do not count.
        """
        group_of = self._groups.table(strategy).group_of
        for cells in self._cells[:, :size]:
            # Each class of n records contributes n to the records in classes of that size.
            classes = np.bincount(group_of[cells])
            yield share_below(classes, classes, k)


@dataclass(frozen=True, eq=False)
class Cases:
    """Case records of a scenario, and people to link them to.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_cases, n_attributes)
        Category codes over the domain of the hierarchies; one row per case, in the order of the file or, if simulated,
        of the periods.
    period : ndarray of int64, shape (n_cases,)
        Number of each case's period, from 0.
    periods : tuple of str
        Labels of the periods, in order; each period has at least one case.
    forecast : ndarray of float64, shape (n_periods,)
        Benefit that a forecast adds to each record of the period, in currency units.
    hierarchies : tuple of Hierarchy
        Hierarchy of each attribute, in the order of the columns of `codes`.
    population, voters : Population or None
        People who may become a case, and people in the adversary's list, over the same domain as `codes`; None if the
        scenario has no such section.
    """

    codes: Codes
    period: NDArray[np.int64]
    periods: tuple[str, ...]
    forecast: Floats
    hierarchies: tuple[Hierarchy, ...]
    population: Population | None
    voters: Population | None


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
    cell : ndarray of int, shape (n_rows,)
        Number of the distinct case (combination of attribute values) of each row.
    row_of_case : ndarray of int, shape (n_cases,)
        Row of each case in the table of the last period that contains it.
    group_sizes : GroupSizes or None
        Counts, for each row, the people who share its released values: people of the list or, without a list, of the
        population. None without both.
    table_linker : TableLinker
        Linker of rows to the records of their own tables.
    """

    cases: Cases
    lattice: PeriodLattice
    cell: NDArray[np.intp]
    row_of_case: NDArray[np.intp]
    group_sizes: GroupSizes | None
    table_linker: TableLinker

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, as text, of domain, cases, periods, forecast benefits and people."""
        cases, counts = self.cases, self.lattice.counts
        parts: list[Any] = [cases.codes, cases.period, cases.forecast, counts, cases.population, cases.voters]
        return digest_of(repr((self.lattice.domain, cases.periods)), parts)

    @property
    def fixed_form(self) -> int:
        """Number, in the lattice, of the generalization at the levels of policy ``fixed``.

        Attributes that ``publisher.fixed`` does not name have level 0.

        Raises
        ------
        InputError
            If a level exceeds the last level of an attribute's hierarchy.
        """
        last = dict(zip(self.lattice.domain.names, (n - 1 for n in self.lattice.shape), strict=True))
        levels = {name: self.scenario.publisher.fixed.get(name, 0) for name in last}
        each = ((lev, last[name], f"publisher.fixed.{name}") for name, lev in levels.items())
        refuse_first(*((lev > most, "no such level", where, lev, f"at most {most}") for lev, most, where in each))
        return self.lattice.index(list(levels.values()))

    @cached_property
    def tables(self) -> SimulatedTables:
        """Simulated tables of people of the population, for policy ``pk``.

        They are as large as the study's largest table; see `SimulatedTables`.

        Raises
        ------
        InputError
            If the scenario has no population, or the largest table has more cases than the population has people.
        """
        population, largest = self.cases.population, int(self.lattice.sizes.max())
        if population is None:
            raise InputError("section missing", where="population", expected="a population, for policy pk")
        most = f"at most {population.total:,.0f} cases, the number of people in the population"
        too_many = "more cases in a table than people in the population"
        refuse_first((largest > population.total, too_many, "population", largest, most))
        rng = random_stream(self.scenario.seed, "simulated-tables")
        return SimulatedTables(population, self.lattice, largest, self.scenario.publisher.simulations, rng)

    # Games

    @property
    def coverage(self) -> float:
        """Probability that the person of a record is in the adversary's list, in [0, 1].

        It is the scenario's ``voters.coverage`` if set. Otherwise it is the size of the list divided by the size of the
        population (at most 1), or 1 without a list or without a population.
        """
        section, people, voters = self.scenario.voters, self.cases.population, self.cases.voters
        if section is not None and section.coverage is not None:
            return section.coverage
        return 1.0 if people is None or voters is None else min(1.0, voters.total / people.total)

    @property
    def linker(self) -> TableLinker | ListLinker | PopulationLinker:
        """Linker of the scenario's adversary, for the rows of all periods.

        It is the `TableLinker`, which counts the records of the row's own table, for prosecutor risk and if there is
        neither a list nor a population. Otherwise candidates are the people of the list (`ListLinker`) or, without a
        list, of the population (`PopulationLinker`).
        """
        groups = self.group_sizes
        # Without a list and a population, every adversary counts candidates in the released table.
        if self.scenario.adversary.risk == "prosecutor" or groups is None:
            return self.table_linker
        return PopulationLinker(groups) if self.cases.voters is None else ListLinker(groups, self.coverage)

    def game(self, economics: EconomicsSection) -> RecordGame:
        """Return the game against the scenario's adversary, with given payoff parameters.

        The result is a `RecordGame` over the rows of all periods. The benefit of a record is ``economics.benefit`` plus
        the benefit that a forecast from the period's table adds to each record (column ``release.forecast``).
        """
        adversary = planner(self.scenario.adversary, economics.adversary_gain, economics.cost, loaded=self.loaded)
        benefit = economics.benefit + self.cases.forecast[self.lattice.period]
        return RecordGame(self.lattice, self.linker, adversary, benefit, np.array(economics.loss))

    def world(self, draw: int = 0) -> World:
        """Return the true and the believed game, with the number of cases of each row.

        All draws are equal. See `World`.
        """
        truth, belief = map(self.game, economics_of(self.scenario))
        return World(truth, belief, self.lattice.counts)

    def with_adversary(self, section: AdversarySection) -> Self:
        """Return the study of the same cases against another adversary; see `Study`.

        Raises
        ------
        InputError
            If the kind of scenario does not support the adversary; see `DynamicScenario.refuse`.
        """
        self.scenario.refuse(section, "adversary")
        return super().with_adversary(section)


@dataclass(frozen=True, eq=False)
class ListLinker:
    """Linker to the people of a list who share the released values.

    The person of a record may be missing from the list.

    Parameters
    ----------
    group_sizes : GroupSizes
        Counts the people of the list who match each row.
    coverage : float
        Probability that the person of a record is in the list.
    """

    group_sizes: GroupSizes
    coverage: float

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all rows, or of `rows`, released with one strategy.

        Candidates are the people of the list who match a row. The probability that a candidate is the record's person
        is the coverage divided by the number of candidates, or 0 without candidates. Its inverse is the group size,
        true and believed; it is infinite without candidates.
        """
        listed = self.group_sizes.at(strategy, rows)
        sizes = one_over(np.divide(self.coverage, listed, out=np.zeros(len(listed)), where=listed > 0))
        candidates = ListedCandidates(listed, np.full(len(listed), self.coverage))
        return Linkage(sizes, sizes, by_chance=True, candidates=candidates)


@dataclass(frozen=True, eq=False)
class TableLinker:
    """Linker of an adversary who knows the period whose table contains the person.

    The group size of a row is the number of cases in the row's own table that have its released values.

    Parameters
    ----------
    lattice : PeriodLattice
    groups : GroupSizes
        Gives rows with equal released values the same group number at each strategy, also rows of different periods.
        Only these numbers are used; the cases of a group are counted in each period's table separately.
    """

    lattice: PeriodLattice
    groups: GroupSizes

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the `Linkage` of all rows, or of `rows`, released with one strategy.

        The group size, true and believed, is the number of cases in the row's equivalence class in its own table.
        """
        sizes = self.sizes(strategy, np.arange(self.lattice.n_records) if rows is None else rows)
        return Linkage(sizes, sizes)

    def sizes(self, strategy: int, rows: Rows) -> NDArray[np.int64]:
        """Return the number of cases in the equivalence class of each row, shape (n,).

        Only cases of the row's own table count.

        Parameters
        ----------
        strategy : int
            Number of the generalization of all tables.
        rows : ndarray of int, shape (n,)
            Rows of the game.
        """
        lattice, group_of = self.lattice, self.groups.table(strategy).group_of
        sizes = np.zeros(lattice.n_records, dtype=np.int64)
        tables = lattice.tables
        for period in np.unique(lattice.period[rows]).tolist():
            groups, counts = group_of[tables[period]], lattice.counts[tables[period]]
            sizes[tables[period]] = np.bincount(groups, weights=counts)[groups]
        return sizes[rows]


def read_cases(loaded: Scenario[DynamicScenario]) -> Cases:
    """Return the cases, read or simulated, and the people of the scenario.

    The categories of an attribute are the categories of the population; without one, of the list; without either, the
    values in the file. Periods without a simulated case are left out; the other periods keep their labels.

    Raises
    ------
    InputError
        If a file or recipe cannot be used, a value or period is missing, a value is not in its domain, the cases of a
        period have different forecast benefits, or the cases cannot be simulated.
    """
    scenario, section, path = loaded.scenario, loaded.scenario.release, loaded.path
    population, voters = _people("population", loaded), _people("voters", loaded)
    people, columns, labels = population or voters, scenario.columns, pd.DataFrame()
    if section.path is not None:
        path, frame = table_named(
            section.path, loaded, "release.path", partial(read_table, delimiter=section.delimiter)
        )
        labels = select_columns(frame, columns | {PERIOD: section.period}, {}, path)
        for name, column in zip(labels, (*columns.values(), section.period), strict=True):
            expected = "the period of the case" if name == PERIOD else "a value in every row"
            refuse_rows(labels[name].eq(""), "value missing", source=path, column=column, expected=expected)
    attributes = (Attribute(name, natural_categories(labels[name])) for name in columns)
    domain = Domain(tuple(attributes)) if people is None else people.domain
    hierarchies = tuple(_hierarchy(name, domain[name], loaded) for name in columns)
    if voters is not None:
        with locating(where="voters.recipe"):
            voters = over_domain(domain, voters, scenario.attributes)
    if section.path is None:
        codes, period, periods = _epidemic(scenario, population, dict(zip(columns, hierarchies, strict=True)))
        forecast = np.zeros(len(periods))
    else:
        with locating(path):
            codes = np.column_stack([domain[name].encode(labels[name], column) for name, column in columns.items()])
        periods, (period,) = numbered_times([labels[PERIOD].astype("str").rename(section.period)], "not a period", path)
        forecast = np.zeros(len(periods))
        if section.forecast is not None:
            require_columns(frame, [section.forecast], path)
            amounts = np.asarray(numbers(frame, section.forecast, path), dtype=np.float64)
            first = np.unique(period, return_index=True)[1]
            forecast = amounts[first]
            # The first case of the period of each case.
            like = first[period]
            refuse_rows(
                amounts != amounts[like],
                "cases of the same period have different benefits of the forecast",
                source=path,
                column=section.forecast,
                found=amounts,
                expected=lambda row: f"{amounts[like[row]]:g}, as in row {like[row] + 1}",
            )
    held, period = np.unique(period, return_inverse=True)
    periods = tuple(periods[number] for number in held)
    return Cases(codes, period.astype(np.int64), periods, forecast[held], hierarchies, population, voters)


def _people(key: str, loaded: Scenario[DynamicScenario]) -> Population | None:
    """Return the people of a section's recipe; None without the section.

    The people are counted by combination of values of the scenario's attributes.

    Parameters
    ----------
    key : {"population", "voters"}
        Section of the scenario.
    loaded : Scenario

    Raises
    ------
    InputError
        If the recipe cannot be used, or has counts of another type than integer.
    """
    section = getattr(loaded.scenario, key)
    if section is None:
        return None
    with locating(where=f"{key}.recipe"):
        people = people_named(section.recipe, loaded).marginal(tuple(loaded.scenario.attributes))
        people.whole_counts("the population has expected counts")
    return people


def _hierarchy(name: str, attribute: Attribute, loaded: Scenario[DynamicScenario]) -> Hierarchy:
    section, where, rows = loaded.scenario.attributes[name], f"attributes.{name}.hierarchy", None
    if isinstance(section.hierarchy, Table):
        used, names = set(attribute.categories), {name, section.column or name}
        rows = hierarchy_rows(section.hierarchy, loaded.folder, used, names, f"{where}.file")
    return hierarchy_of(attribute, section.hierarchy, loaded.folder, where, rows)


def _epidemic(
    scenario: DynamicScenario, population: Population | None, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Codes, NDArray[np.int64], tuple[str, ...]]:
    """Draw distinct people of a population as cases, and draw the period of each.

    The numbers of cases by area and period are multinomial, in proportion to the area's people times a normal curve
    around the area's peak. Within an area, every person is equally likely to become a case.

    Parameters
    ----------
    scenario : DynamicScenario
        Its section ``epidemic`` has the parameters of the wave.
    population : Population
        People who may become a case, with whole counts.
    hierarchies : dict of str to Hierarchy
        Hierarchy of each attribute; that of the area defines the areas.

    Returns
    -------
    codes : ndarray of int32, shape (n_cases, n_attributes)
        Category codes of the cases, in the order of periods.
    period : ndarray of int64, shape (n_cases,)
        Number of each case's period, from 0.
    periods : tuple of str
        Labels of all periods, from ``"1"``; periods may have no case.

    Raises
    ------
    InputError
        If the level of the area does not exist, an area has fewer people than cases, or no period has cases.
    """
    section = scenario.epidemic
    assert section is not None and population is not None  # noqa: S101, PT018 - the schema guarantees it
    groups, rng = hierarchies[section.area].groups, random_stream(scenario.seed, "epidemic")
    most = f"at most {len(groups) - 1}"
    refuse_first((section.level >= len(groups), "no such level", "epidemic.level", section.level, most))
    area = groups[section.level][population.cells[:, population.domain.position(section.area)]]
    people = np.bincount(area, weights=population.counts)
    peaks = section.peak + section.spread * rng.random(len(people))
    distance = (np.arange(1, section.periods + 1) - peaks[:, None]) / section.width
    wave = people[:, None] * exp(-(distance**2) / 2)
    refuse_first((not wave.sum() > 0, "no period has cases", "epidemic.peak", section.peak, None))
    drawn = draw_multinomial(rng, section.cases, np.asarray(wave.ravel(), dtype=np.float64)).reshape(wave.shape)
    cells, period = [], []
    for number, by_period in enumerate(drawn):
        n_cases, here, most_cases = int(by_period.sum()), np.flatnonzero(area == number), int(people[number])
        few = f"fewer cases, because one area has only {most_cases:,} people"
        refuse_first((n_cases > most_cases, "more cases than people in an area", "epidemic.cases", section.cases, few))
        if n_cases:
            counts = draw_multivariate_hypergeometric(rng, population.counts[here].astype(np.int64), n_cases)
            cells.append(rng.permutation(np.repeat(here, counts)))
            period.append(np.repeat(np.arange(section.periods), by_period))
    order = np.argsort(np.concatenate(period), kind="stable")
    labels = tuple(str(number + 1) for number in range(section.periods))
    return population.cells[np.concatenate(cells)[order]], np.concatenate(period)[order], labels


_OWN = measures_worded(read_toml(Path(__file__).with_name("measures.toml"))["own"])
MEASURES = (*RUN_MEASURES, *_OWN.values())


class DynamicKind(Kind):
    """Game of a publisher who releases a table of cases in each period; see `Kind`."""

    name = "dynamic"
    words = "a publisher releases a table of cases in each period, with one generalization per table"
    schema = DynamicScenario
    policies = POLICIES
    measures = MEASURES
    drawn_by = "reidsim.kinds.dynamic.figures"
    amount_keys = MONEY_KEYS

    def build(self, loaded: Scenario[Any]) -> DynamicStudy:
        """Read or simulate the cases, read the people, and return the `DynamicStudy`.

        A period's table contains the cases of the period or, with cumulative tables, of this and all earlier periods.

        Raises
        ------
        InputError
            If a file or value cannot be used, or a level of policy ``fixed`` does not exist.
        """
        with locating(loaded.path):
            cases = read_cases(loaded)
            first, cell = distinct_rows(list(cases.codes.T), len(cases.codes))
            counts, last = np.zeros((len(cases.periods), len(first)), dtype=np.int64), cases.period
            np.add.at(counts, (cases.period, cell), 1)
            if loaded.scenario.release.table == "cumulative":
                counts, last = np.cumsum(counts, axis=0), np.full_like(cases.period, len(cases.periods) - 1)
            period, held = np.nonzero(counts)
            spread = np.array([entropy(np.bincount(values)[None, :])[0] for values in cases.codes.T])
            weights = spread / spread.sum() if spread.sum() > 0 else np.full(len(spread), 1 / len(spread))
            counts, codes = counts[period, held], cases.codes[first[held]]
            lattice = PeriodLattice(cases.hierarchies, codes, period=period, counts=counts, attribute_weights=weights)
            listed = cases.voters or cases.population
            everybody = Population(lattice.domain, cases.codes[first], np.bincount(cell), name="cases")
            study = DynamicStudy(
                loaded=loaded,
                cases=cases,
                lattice=lattice,
                cell=held,
                row_of_case=np.searchsorted(period * len(first) + held, last * len(first) + cell),
                group_sizes=None if listed is None else GroupSizes(listed, lattice, holds_records=cases.voters is None),
                table_linker=TableLinker(lattice, GroupSizes(everybody, lattice)),
            )
            if "fixed" in study.scenario.publisher.policies:
                _ = study.fixed_form
            return study

    def describe(self, study: DynamicStudy) -> str:
        """Build the games; return a line with numbers of cases, periods, generalizations.

        Raises
        ------
        InputError
            If the adversary cannot plan with the scenario's amounts.
        """
        # Building the games reports amounts with which the adversary cannot plan, before any game is solved.
        study.world()
        return (
            f"{counted(len(study.cases.codes), 'case')} in {counted(len(study.cases.periods), 'period')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')} for the table of each"
        )

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario's sections and seed that determine cases and people.

        The result is a dict by key; keys that the scenario does not set are absent.
        """
        used = ("population", "voters", "release", "epidemic", "attributes", "seed")
        return {key: loaded.content[key] for key in used if key in loaded.content}

    def row_of_record(self, study: DynamicStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return, for each case, its game row in the last table that contains the case.

        The result has shape (n_cases,). `draw` has no effect.
        """
        return study.row_of_case

    def summarise(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy: means over all records, and measures over periods.

        The index is the policy. The first columns are the ones of every kind (see `Kind.summarise`). Then follow three
        measures over periods, named in ``measures.toml``. PK is the share of a table's records in equivalence classes
        of fewer than ``publisher.k`` records. The measures are the mean of PK, the share of periods whose PK is at most
        ``publisher.threshold``, and the number of periods in which the generalization differs from the previous
        period's (withholding counts as a generalization).
        """
        rows, threshold = {}, study.scenario.publisher.threshold
        for policy, found in equilibria.items():
            shares, forms = pk_by_period(study, found), found.strategies[study.lattice.starts[:-1]]
            rows[policy] = (shares.mean(), (shares <= threshold).mean(), float((forms[1:] != forms[:-1]).sum()))
        of_periods = pd.DataFrame.from_dict(rows, orient="index", columns=list(_OWN))
        return super().summarise(study, draw, equilibria).join(of_periods)

    def reidentified(
        self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]
    ) -> dict[str, Reidentified]:
        """Return the distribution of the number of re-identified people, by policy.

        Each case is one person and counts once. With cumulative tables, which release a case several times, it counts
        in the first of the tables in which its risk is largest. See `Reidentified`.
        """
        if study.scenario.release.table == "period":
            return super().reidentified(study, draw, equilibria)
        once, people = np.ones(len(study.row_of_case), dtype=np.int64), {}
        for number, (policy, found) in enumerate(equilibria.items()):
            rng = partial(random_stream, study.scenario.seed, "reidentified", draw, number)
            people[policy] = reidentified_in(found.expand(exposing_rows(study, found)), once, rng)
        return people

    def records(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> RecordTable:
        """Return the parts of a table of one row per case and policy, as released in the last table with the case.

        Columns are those of `RecordTable`, ``period`` (the case's own), and the released value of each attribute
        (missing if the table is withheld).
        """
        row, periods = study.row_of_case, pd.Index(study.cases.periods, dtype="str")
        period = pd.Categorical.from_codes(study.cases.period, categories=periods)

        cases = np.bincount(row, minlength=study.lattice.n_records)
        return RecordTable(
            equilibria,
            row,
            lambda policy, strategy: study.lattice.describe(strategy),
            cases,
            lambda found: {PERIOD: period},
            lambda policy, strategies, part: study.lattice.released(strategies, row[part]),
        )

    def analyse(self, study: DynamicStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress) -> AnalysisTables:
        """Return the table ``periods``, with one row per policy and period.

        See `period_table`.
        """
        equilibria = {policy: outcome.equilibrium for policy, outcome in outcomes.items()}
        return AnalysisTables({"periods": period_table(study, equilibria)})

    def facts(self, study: DynamicStudy) -> dict[str, Any]:
        """Return facts about cases, periods, generalizations and people for the manifest.

        The dict has ``records`` and ``cases`` (both the number of cases), ``periods``, ``strategies`` (number of
        generalizations), ``attribute_weights`` (by attribute), ``population`` and ``voters`` (numbers of people, if the
        scenario has them) and ``data_hash``.
        """
        people, lattice = {"population": study.cases.population, "voters": study.cases.voters}, study.lattice
        return {
            "records": len(study.cases.codes),
            "cases": len(study.cases.codes),
            "periods": len(study.cases.periods),
            "strategies": lattice.size,
            "attribute_weights": dict(zip(lattice.domain.names, lattice.attribute_weights.tolist(), strict=True)),
            **{name: each.total for name, each in people.items() if each is not None},
            "data_hash": study.fingerprint,
        }

    def cross_play_policies(self, study: DynamicStudy) -> tuple[str, ...]:
        """Return names of the policies of cross-play: of the kind, then user-defined.

        Policy ``fixed`` is left out if the scenario sets no levels, and ``pk`` if it has no population.
        """
        said = {FIXED: bool(study.scenario.publisher.fixed), PK: study.cases.population is not None}
        return tuple(name for name in super().cross_play_policies(study) if said.get(name, True))

    def warnings(self, study: DynamicStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield a warning for each policy with a table coarser than an earlier one.

        The text has the policy and the number of such tables. A table is coarser if an attribute has a higher level
        than in some earlier table; withheld tables are skipped. An adversary who keeps the earlier tables may know more
        than the model assumes. There are warnings only for cumulative tables, which contain the earlier cases again.
        """
        for policy, outcome in outcomes.items() if study.scenario.release.table == "cumulative" else ():
            forms = outcome.equilibrium.strategies[study.lattice.starts[:-1]]
            levels = study.lattice.all_levels(forms[forms != WITHHELD])
            coarser = int((levels > np.minimum.accumulate(levels, axis=0)).any(axis=1).sum())
            if coarser:
                yield (
                    f"{policy}: {counted(coarser, 'table is', 'tables are')} coarser in some attribute than an earlier "
                    "table; an adversary with the earlier table has more information than the risk assumes"
                )

    def release_file(self, scenario: DynamicScenario) -> str | None:
        """Return the path of the file of cases; None if the cases are simulated."""
        return scenario.release.path

    def shared_columns(self, scenario: DynamicScenario) -> SharedColumns:
        """Return the quasi-identifiers of the file of cases, as `SharedColumns`."""
        return SharedColumns(scenario.columns, delimiter=scenario.release.delimiter, counts_release=False)

    def decision(self, scenario: DynamicScenario) -> str:
        """Return a phrase that describes the publisher's decision, for reports.

        The decision is one generalization for the table of each period.
        """
        return "one generalization for the table of each period: the best response under the policy"


def period_table(study: DynamicStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the outcome of each period's table: one row per policy and period.

    Returns
    -------
    DataFrame
        Columns ``policy``, ``period`` (its label), ``number`` (of the period, from 1), ``records`` (number in the
        table), ``strategy`` (description, or ``withheld``), ``utility`` (mean over records), ``publisher_payoff`` and
        ``adversary_payoff`` (sums over the table, in currency units), ``attacked`` and ``reidentified`` (expected
        numbers of records of the table), ``pk`` (see `pk_by_period`), and for each attribute ``level ATTRIBUTE``, its
        level of generalization (0 if unchanged; missing where nothing is released).
    """
    lattice, periods, parts = study.lattice, study.cases.periods, []
    starts, sizes, names = lattice.starts[:-1], lattice.sizes, lattice.domain.names

    def summed(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values * lattice.counts, starts)

    for policy, found in equilibria.items():
        forms = found.strategies[starts]
        levels = np.where((forms == WITHHELD)[:, None], np.nan, lattice.all_levels(np.maximum(forms, 0)))
        columns = {
            "policy": policy,
            "period": list(periods),
            "number": np.arange(1, len(periods) + 1),
            "records": sizes,
            "strategy": ["withheld" if form == WITHHELD else lattice.describe(form) for form in forms.tolist()],
            "utility": summed(found.utility) / sizes,
            "publisher_payoff": summed(found.publisher_payoff),
            "adversary_payoff": summed(found.adversary_payoff),
            "attacked": summed(found.attack_probability),
            "reidentified": summed(found.risk),
            "pk": pk_by_period(study, found),
            **{f"level {name}": levels[:, position] for position, name in enumerate(names)},
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def pk_by_period(study: DynamicStudy, found: Equilibrium) -> NDArray[np.float64]:
    """Return PK of each period's released table, shape (n_periods,).

    PK is the share of the table's records in equivalence classes of fewer than ``publisher.k`` records; 0 where nothing
    is released. `found` is the outcome of a policy, by row of the game.
    """
    k, linker, shares = study.scenario.publisher.k, study.table_linker, []
    for table in study.lattice.tables:
        form, rows = int(found.strategies[table.start]), np.arange(table.start, table.stop)
        shares.append(0.0 if form == WITHHELD else share_below(linker.sizes(form, rows), study.lattice.counts[rows], k))
    return np.array(shares)


def exposing_rows(study: DynamicStudy, found: Equilibrium) -> NDArray[np.intp]:
    """Return the game row of each case in the cumulative table in which its risk is largest.

    The result has shape (n_cases,). Of tables with equal risk, the first counts. A case is in all tables from its own
    period on. `found` is the outcome of a policy, by row of the game.
    """
    rows, risk = study.row_of_case.copy(), found.risk
    # The last cumulative table contains all distinct cases. Go back from it, to the period of each case.
    cell_of_case = study.cell[rows]
    best = rows[np.unique(cell_of_case, return_index=True)[1]]
    for number, table in reversed([*enumerate(study.lattice.tables)]):
        cells = study.cell[table]
        best[cells] = np.where(risk[table] >= risk[best[cells]], np.arange(table.start, table.stop), best[cells])
        of_period = study.cases.period == number
        rows[of_period] = best[cell_of_case[of_period]]
    return rows


DYNAMIC = DynamicKind()

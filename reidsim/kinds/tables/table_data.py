"""Data of a table scenario: cells, people, payoff parameters and the lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.drawn_lists import DrawnLists
from reidsim.errors import InputError
from reidsim.games.attributes import AdmissibleGroups
from reidsim.games.full_domain.nodes import MOST_NODES
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.risk import records_outside
from reidsim.kinds.tables.consistency import lists_every_form, walks_whole_lattice
from reidsim.kinds.tables.people import ReleasedPeople
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.waves import Waves
from reidsim.linkage.individual_risk import SampledPeople
from reidsim.linkage.sensitive_values import SensitiveGroups, SensitiveValues
from reidsim.populations.domain import Codes
from reidsim.populations.population import Population
from reidsim.releases.full_domain import common_levels
from reidsim.releases.lattice import MOST_NUMBERED, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.adversary_schema import Risk
from reidsim.scenarios.people import Keys
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.study import Study

PRICES = ("benefit", "loss", "gain", "cost")


@dataclass(frozen=True, eq=False)
class TableData(Study[TablesScenario]):
    """Records of a scenario by distinct cell, with people and payoff parameters.

    The rows of its games are the cells, weighted by their records. If people have several records, the rows are the
    distinct sets of cells of a person's records, weighted by their people.

    Parameters
    ----------
    loaded : Scenario
    lattice : GeneralizationLattice
        Over the distinct cells; records in a cell have the same values and the same payoff parameters.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    kind : ndarray of int64, shape (n_rows,)
        Index of the payoff parameters of each game row.
    prices : Prices
        Payoff parameters of every kind of record, shape (1, n_kinds) each, in currency units.
    population : Population or None
        The population, over the quasi-identifiers.
    dataset : Population
        The released records or people, counted by cell.
    safe_harbor : ndarray of int64, shape (n_rows,), optional
        The least generalization of each game row that Safe Harbor accepts.
    sampled : SampledPeople or None
        The people that the released records represent, if sampling weights are known and needed.
    persons : ReleasedPeople, optional
        The person of each record, if people may have several; otherwise each record is a person.
    household_of : ndarray of int, shape (n_subjects,), optional
        The household of each person of the release.
    waves : Waves, optional
        The releases that contain each person, if there are several releases.
    drawn : DrawnLists, optional
        Resources that are lists drawn from the people; with such lists, each record is a separate row.
    sensitive : SensitiveValues, optional
        Values of the sensitive columns of all records of the table.
    """

    lattice: GeneralizationLattice
    cell_of_record: NDArray[np.intp]
    kind: NDArray[np.int64]
    prices: Prices
    population: Population | None
    dataset: Population
    safe_harbor: Strategies | None
    sampled: SampledPeople | None = None
    persons: ReleasedPeople | None = None
    household_of: Keys | None = None
    waves: Waves | None = None
    drawn: DrawnLists | None = None
    sensitive: SensitiveValues | None = None

    @property
    def n_records(self) -> int:
        """Number of released records."""
        return len(self.cell_of_record)

    @property
    def released(self) -> NDArray[np.int64]:
        """Number of records in each cell, shape (n_cells,)."""
        return np.bincount(self.cell_of_record, minlength=self.lattice.n_records)

    # Data subjects and game rows

    @property
    def space(self) -> GeneralizationLattice:
        """Generalizations of the game rows."""
        return self.lattice if self.persons is None else self.persons.space

    @property
    def weights(self) -> NDArray[np.int64]:
        """Number of data subjects in each game row, shape (n_rows,)."""
        return self.released if self.persons is None else self.persons.row_sets.people

    @property
    def row_of_subject(self) -> Keys:
        """Game row of each data subject, shape (n_subjects,)."""
        return self.cell_of_record if self.persons is None else self.persons.set_of_person

    @property
    def row_of_record(self) -> Keys:
        """Game row of the person of each record, shape (n_records,)."""
        return self.row_of_subject if self.persons is None else self.row_of_subject[self.persons.of_record]

    @property
    def n_subjects(self) -> int:
        """Number of data subjects: people, or records if each is a person."""
        return len(self.row_of_subject)

    @property
    def units(self) -> tuple[str, str]:
        """Singular and plural of the counted unit: record, or person with a person key."""
        return ("record", "records") if self.persons is None else ("person", "people")

    # Populations

    def people(self, risk: Risk) -> Population:
        """Return the candidates for a record's person under a risk.

        They are the population (journalist), the people estimated from the sample (sample), or the released records or
        people (prosecutor, or journalist without a population).
        """
        if risk == "sample":
            assert self.sampled is not None  # noqa: S101 - present whenever the scenario has sample risk
            return self.sampled
        return self.population if risk == "journalist" and self.population is not None else self.dataset

    @property
    def linked_population(self) -> Population:
        """True candidates for a record's person, by `linked_risk`."""
        return self.people(self.scenario.linked_risk)

    @property
    def outside(self) -> int:
        """Number of data subjects that have no person in the population.

        If more data subjects than people have the same values, the excess counts. Without a population, it is 0.
        """
        if self.population is None:
            return 0
        counts = self.dataset.counts.astype(np.int64)
        return records_outside(self.lattice_of(self.dataset.cells), counts, self.population)

    # Payoff parameters

    def prices_of(self, economics: EconomicsSection) -> Prices:
        """Return the payoff parameters of every kind of record for an economics section.

        If at least one parameter comes from a column of the records, the study's parameters are returned unchanged.
        """
        if self.scenario.has_price_columns:
            return self.prices
        return Prices.of_kinds(economics.benefit, economics.loss, economics.adversary_gain, economics.cost)

    def believed(self, prices: Prices) -> Prices:
        """Return the payoff parameters that the publisher believes in.

        Parameters
        ----------
        prices : Prices
            True parameters, which apply where the scenario gives no belief.
        """
        beliefs = self.scenario.beliefs
        believed = {"benefit": None, "loss": beliefs.loss, "gain": beliefs.gain, "cost": beliefs.cost}
        return Prices(
            **{name: getattr(prices, name) if value is None else np.asarray(value) for name, value in believed.items()}
        )

    def of_cells(self, amounts: Floats) -> Floats:
        """Return an amount per game row, (n_rows,), from one per kind, (1, n_kinds)."""
        return np.asarray(amounts[0, self.kind] if amounts.shape[1] > 1 else np.full(len(self.kind), amounts[0, 0]))

    def gain_and_cost(self, prices: Prices) -> tuple[float | Floats, float | Floats]:
        """Return the adversary's gain and cost, in currency units.

        Each is a number if it is equal for all kinds, else an array of shape (n_rows,).
        """
        gain, cost = (
            float(amounts[0, 0]) if (amounts[0] == amounts[0, 0]).all() else amounts[0, self.kind]
            for amounts in (prices.gain, prices.cost)
        )
        return gain, cost

    # Sensitive values

    @property
    def sensitive_groups(self) -> SensitiveGroups:
        """Sensitive values of the records that match each game row.

        Raises
        ------
        InputError
            If the scenario names no sensitive column.
        """
        if self.sensitive is None:
            raise InputError("no sensitive column", source=self.loaded.path, where="publisher.sensitive")
        return self.sensitive.groups(self.lattice)

    @property
    def admissible(self) -> AdmissibleGroups | None:
        """Generalizations within the limits on sensitive columns; None without limits."""
        limits = self.scenario.publisher.attribute_limits
        if not limits or self.sensitive is None:
            return None
        return AdmissibleGroups(self.sensitive_groups, limits, self.sensitive.columns)

    # Generalization

    @property
    def minimum(self) -> tuple[int, ...]:
        """Lowest level of each attribute that policies may choose."""
        return tuple(attribute.minimum_level for attribute in self.scenario.attributes.values())

    @property
    def n_nodes(self) -> int:
        """Number of lattice nodes at or above the minimum levels."""
        return math.prod(levels - low for levels, low in zip(self.lattice.shape, self.minimum, strict=True))

    def require_walkable(self) -> None:
        """Check that the lattice is small enough for the search that the scenario needs.

        Raises
        ------
        InputError
            If the lattice is too large. The error names the key that requires the search.
        """
        size = self.lattice.size
        if size >= MOST_NUMBERED:
            raise InputError(
                "too many generalizations",
                where="attributes",
                found=size,
                expected="fewer than 2**62",
                hint="use fewer attributes or levels",
            )
        if size > MOST_NODES and lists_every_form(self.scenario):
            raise InputError(
                "too many generalizations of a record for this solver",
                where="publisher.solver",
                found=size,
                expected=f"at most {MOST_NODES:,}",
                hint='use "iceberg" or "branch-and-bound", which skip most generalizations',
            )
        walking = sorted(walks_whole_lattice(self.scenario))
        if walking and self.n_nodes > MOST_NODES:
            raise InputError(
                "too many nodes for an exact search",
                where=walking[0],
                found=self.n_nodes,
                expected=f"at most {MOST_NODES:,}",
                hint='set publisher.search = "anytime" and a budget, publisher.nodes or publisher.seconds',
            )

    @property
    def safe_harbor_strategies(self) -> Strategies:
        """Safe Harbor generalization of each game row, shape (n_rows,).

        Raises
        ------
        InputError
            If the scenario has no section ``safe_harbor``.
        """
        if self.safe_harbor is None:
            raise InputError("section missing", source=self.loaded.path, where="safe_harbor")
        return self.safe_harbor

    @property
    def safe_harbor_minimum(self) -> tuple[int, ...]:
        """Lowest levels, equal for all records, that Safe Harbor and `minimum` allow.

        There is one level per attribute; see `safe_harbor_strategies`.
        """
        return tuple(np.maximum(self.minimum, common_levels(self.lattice, self.safe_harbor_strategies)).tolist())

    def lattice_of(self, codes: Codes) -> GeneralizationLattice:
        """Return the lattice over other records, shape (n, n_attributes)."""
        return GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)

"""What a scenario about a table is about: cells of records, people, amounts, how values generalize."""

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
    """The records of a scenario, on their distinct cells, with all that is known of them before anybody attacks.

    Rows of its games are the cells; or, where people have several records, the distinct sets of cells that people's
    records are in, with the weight of so many people.

    Parameters
    ----------
    loaded : LoadedScenario
    lattice : GeneralizationLattice
        Over the distinct cells; records of one cell have the same values and the same amounts.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    kind : ndarray of int64, shape (n_rows,)
        Which amounts a row of the games has.
    prices : Prices
        Of every kind of record, at one point.
    population : Population or None
        Everybody, over the quasi-identifiers.
    dataset : Population
        The released records, counted by cell.
    safe_harbor : ndarray of int64, shape (n_rows,), optional
        The least generalization that Safe Harbor accepts.
    sampled : SampledPeople or None
        The people whom the released records stand for, if their weights are known and needed.
    persons : ReleasedPeople, optional
        Whose each record is, where people may have several; each record is a person, if not given.
    household_of : ndarray of int, shape (n_subjects,), optional
        The household of each person of the release.
    waves : Waves, optional
        When each person is released, where there are several releases.
    drawn : DrawnLists, optional
        Resources that are lists drawn from the people; each record is then a row of its own.
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
        """Number of records."""
        return len(self.cell_of_record)

    @property
    def released(self) -> NDArray[np.int64]:
        """Number of records in each cell, shape (n_cells,)."""
        return np.bincount(self.cell_of_record, minlength=self.lattice.n_records)

    # People of the release, and the rows of the games on which they are

    @property
    def space(self) -> GeneralizationLattice:
        """Forms of the rows of the games."""
        return self.lattice if self.persons is None else self.persons.space

    @property
    def weights(self) -> NDArray[np.int64]:
        """People on each row of the games, shape (n_rows,); records, where each is a person."""
        return self.released if self.persons is None else self.persons.row_sets.people

    @property
    def row_of_subject(self) -> Keys:
        """The row of each person, or of each record where each is a person, shape (n_subjects,)."""
        return self.cell_of_record if self.persons is None else self.persons.set_of_person

    @property
    def row_of_record(self) -> Keys:
        """The row of the person of each record, shape (n_records,)."""
        return self.row_of_subject if self.persons is None else self.row_of_subject[self.persons.of_record]

    @property
    def n_subjects(self) -> int:
        """Number of people of the release; of records, where each is a person."""
        return len(self.row_of_subject)

    @property
    def units(self) -> tuple[str, str]:
        """What is counted: a person, people; a record, records, where each is a person."""
        return ("record", "records") if self.persons is None else ("person", "people")

    # People

    def people(self, risk: Risk) -> Population:
        """Return everybody who may be taken for a record's person: the population, or the released records."""
        if risk == "sample":
            assert self.sampled is not None  # noqa: S101 - made where a risk of the scenario is this
            return self.sampled
        return self.population if risk == "journalist" and self.population is not None else self.dataset

    @property
    def linked_population(self) -> Population:
        """Everybody who may in truth be taken for a record's person."""
        return self.people(self.scenario.linked_risk)

    @property
    def outside(self) -> int:
        """Records beyond the people whom the population has with the same values."""
        if self.population is None:
            return 0
        counts = self.dataset.counts.astype(np.int64)
        return records_outside(self.lattice_of(self.dataset.cells), counts, self.population)

    # Amounts

    def prices_of(self, economics: EconomicsSection) -> Prices:
        """Return the amounts of every kind of record under some economics; those of columns stay."""
        if self.scenario.has_price_columns:
            return self.prices
        return Prices.of_kinds(economics.benefit, economics.loss, economics.adversary_gain, economics.cost)

    def believed(self, prices: Prices) -> Prices:
        """Return what the publisher believes the amounts to be when these are true."""
        beliefs = self.scenario.beliefs
        believed = {"benefit": None, "loss": beliefs.loss, "gain": beliefs.gain, "cost": beliefs.cost}
        return Prices(
            **{name: getattr(prices, name) if value is None else np.asarray(value) for name, value in believed.items()}
        )

    def of_cells(self, amounts: Floats) -> Floats:
        """Return the amount of each row, shape (n_rows,), of amounts (1, n_kinds) of each kind of record."""
        return np.asarray(amounts[0, self.kind] if amounts.shape[1] > 1 else np.full(len(self.kind), amounts[0, 0]))

    def gain_and_cost(self, prices: Prices) -> tuple[float | Floats, float | Floats]:
        """Return the adversary's gain and cost: one amount, or one for each row of the games where they differ."""
        gain, cost = (
            float(amounts[0, 0]) if (amounts[0] == amounts[0, 0]).all() else amounts[0, self.kind]
            for amounts in (prices.gain, prices.cost)
        )
        return gain, cost

    # Sensitive values

    @property
    def sensitive_groups(self) -> SensitiveGroups:
        """Sensitive values among the records that agree with each row of the games.

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
        """The generalizations of each row that keep to the limits on sensitive columns; None without limits."""
        limits = self.scenario.publisher.attribute_limits
        if not limits or self.sensitive is None:
            return None
        return AdmissibleGroups(self.sensitive_groups, limits, self.sensitive.columns)

    # Generalization

    @property
    def minimum(self) -> tuple[int, ...]:
        """Lowest level of each attribute that may be chosen."""
        return tuple(attribute.minimum_level for attribute in self.scenario.attributes.values())

    @property
    def n_nodes(self) -> int:
        """Number of nodes from the minimum levels on."""
        return math.prod(levels - low for levels, low in zip(self.lattice.shape, self.minimum, strict=True))

    def require_walkable(self) -> None:
        """Check that the lattice is not too large for what has to walk it.

        Raises
        ------
        InputError
            Names the key that asks for it.
        """
        size = self.lattice.size
        if size >= MOST_NUMBERED:
            raise InputError(
                "too many generalizations to number", where="attributes", found=size, expected="fewer than 2**62",
                hint="fewer attributes or levels have fewer",
            )  # fmt: skip
        if size > MOST_NODES and lists_every_form(self.scenario):
            raise InputError(
                "too many generalizations of a record to compute one by one",
                where="publisher.solver",
                found=size,
                expected=f"at most {MOST_NODES:,}",
                hint='"iceberg" and "branch-and-bound" leave out those that cannot be best',
            )
        walking = sorted(walks_whole_lattice(self.scenario))
        if walking and self.n_nodes > MOST_NODES:
            raise InputError(
                "too many nodes to walk",
                where=walking[0],
                found=self.n_nodes,
                expected=f"at most {MOST_NODES:,}",
                hint='publisher.search = "anytime" stops at a budget of publisher.nodes or publisher.seconds',
            )

    @property
    def safe_harbor_strategies(self) -> Strategies:
        """What Safe Harbor prescribes for each row of the games, shape (n_rows,).

        Raises
        ------
        InputError
            If the scenario has no section for it.
        """
        if self.safe_harbor is None:
            raise InputError("section missing", source=self.loaded.path, where="safe_harbor")
        return self.safe_harbor

    @property
    def safe_harbor_minimum(self) -> tuple[int, ...]:
        """Lowest levels at which every record satisfies Safe Harbor; see `safe_harbor_strategies`."""
        return tuple(np.maximum(self.minimum, common_levels(self.lattice, self.safe_harbor_strategies)).tolist())

    def lattice_of(self, codes: Codes) -> GeneralizationLattice:
        """Return the same lattice over other records."""
        return GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)

"""From a validated scenario at dataset level to a configured study: cells, prices, people and games."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.errors import InputError
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.nodes import MOST_NODES
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.risk import records_outside, require_part_of
from reidsim.games.record_game import Linker, PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import mixed_radix_keys
from reidsim.populations.population import Population
from reidsim.releases.full_domain import common_levels
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.attack_recipe import check_attack_recipe
from reidsim.scenarios.build import safe_harbor_minimum
from reidsim.scenarios.full_domain_records import ReleasedRecords, read_full_domain
from reidsim.scenarios.full_domain_schema import FullDomainScenario, Risk, walks_whole_lattice
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

PRICES = ("benefit", "loss", "gain", "cost")


@dataclass(frozen=True, eq=False)
class FullDomainStudy:
    """A game at dataset level ready to be solved, on the distinct cells of the records.

    Parameters
    ----------
    loaded : LoadedScenario
    lattice : GeneralizationLattice
        Over the distinct cells; records of one cell have the same values and the same prices.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    kind : ndarray of int64, shape (n_cells,)
        Which prices a cell has.
    prices : Prices
        Of every kind of record, at one point.
    population : Population or None
        Everybody, over the quasi-identifiers.
    dataset : Population
        The released records, counted by cell.
    safe_harbor : ndarray of int64, shape (n_cells,), optional
        The least generalization that Safe Harbor accepts.
    linkers : dict
        What links cells to people, by risk, once it was asked for: rolled-up people do not depend on prices.
    """

    loaded: LoadedScenario[FullDomainScenario]
    lattice: GeneralizationLattice
    cell_of_record: NDArray[np.intp]
    kind: NDArray[np.int64]
    prices: Prices
    population: Population | None
    dataset: Population
    safe_harbor: Strategies | None
    linkers: dict[Risk, PopulationLinker] = field(default_factory=dict, repr=False)

    @property
    def scenario(self) -> FullDomainScenario:
        """The scenario as run."""
        return self.loaded.scenario

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.cell_of_record)

    @property
    def released(self) -> NDArray[np.int64]:
        """Number of records in each cell, shape (n_cells,)."""
        return np.bincount(self.cell_of_record, minlength=self.lattice.n_records)

    @property
    def planned_risk(self) -> Risk:
        """Whose class sizes the publisher plans with."""
        return self.scenario.beliefs.risk or self.scenario.adversary.risk

    def believed(self, prices: Prices) -> Prices:
        """Return what the publisher believes the prices to be when these are true."""
        believed = {price: getattr(self.scenario.beliefs, price) for price in ("loss", "gain", "cost")}
        amounts = {
            price: getattr(prices, price) if believed.get(price) is None else believed[price] for price in PRICES
        }
        return Prices(**amounts)

    @property
    def n_nodes(self) -> int:
        """Number of nodes from the minimum levels on."""
        return math.prod(levels - low for levels, low in zip(self.lattice.shape, self.minimum, strict=True))

    @property
    def minimum(self) -> tuple[int, ...]:
        """Lowest level of each attribute that may be chosen."""
        return tuple(attribute.minimum_level for attribute in self.scenario.attributes.values())

    @property
    def safe_harbor_minimum(self) -> tuple[int, ...]:
        """Lowest levels at which every record satisfies Safe Harbor.

        Raises
        ------
        InputError
            If the scenario has no section for it.
        """
        return tuple(np.maximum(self.minimum, common_levels(self.lattice, self.safe_harbor_strategies)).tolist())

    @property
    def safe_harbor_strategies(self) -> Strategies:
        """What Safe Harbor prescribes for each cell, shape (n_cells,); see `safe_harbor_minimum`."""
        if self.safe_harbor is None:
            raise InputError("section missing", source=self.loaded.path, where="safe_harbor")
        return self.safe_harbor

    @property
    def outside(self) -> int:
        """Records beyond the people whom the population has with the same values."""
        if self.population is None:
            return 0
        return records_outside(self.lattice, self.released, self.population)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the records, hierarchies, prices and people, as coded."""
        arrays = [self.lattice.codes, self.cell_of_record, self.kind, *(h.groups for h in self.lattice.hierarchies)]
        arrays += [getattr(self.prices, price) for price in PRICES]
        if self.population is not None:
            arrays += [self.population.cells, self.population.counts]
        digest = hashlib.sha256(repr([h.labels for h in self.lattice.hierarchies]).encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def game(
        self,
        risk: Risk,
        prices: Prices,
        *,
        no_attack: bool = False,
        minimum: Sequence[int] | None = None,
    ) -> FullDomainGame:
        """Return the game of the whole dataset under a risk and some prices."""
        return FullDomainGame(
            lattice=self.lattice,
            released=self.released,
            prices=prices,
            kind=self.kind if prices.n_kinds > 1 else None,
            population=self._people(risk),
            no_attack=no_attack,
            suppression_limit=self.scenario.publisher.suppression_limit,
            minimum=self.minimum if minimum is None else minimum,
        )

    def linker(self, risk: Risk) -> PopulationLinker:
        """Return what links cells to those among whom they hide."""
        if risk not in self.linkers:
            self.linkers[risk] = PopulationLinker(GroupSizes(self._people(risk) or self.dataset, self.lattice))
        return self.linkers[risk]

    def record_game(self, linker: Linker, prices: Prices) -> RecordGame:
        """Return the game of the cells one by one, in which any choice is evaluated; prices at one point."""
        benefit, loss, gain, cost = (
            getattr(prices, price)[0, self.kind if prices.n_kinds > 1 else np.zeros_like(self.kind)] for price in PRICES
        )
        return RecordGame(self.lattice, linker, OneShotAdversary(gain, cost), benefit, loss)

    def _people(self, risk: Risk) -> Population | None:
        return self.population if risk == "journalist" else None


def is_full_domain(loaded: LoadedScenario[ScenarioHead]) -> TypeGuard[LoadedScenario[FullDomainScenario]]:
    """Tell whether in a scenario a publisher generalizes a whole dataset in one way."""
    return isinstance(loaded.scenario, FullDomainScenario)


def build_full_domain(loaded: LoadedScenario[ScenarioHead]) -> FullDomainStudy:
    """Read everything that a scenario names and put the game together.

    Raises
    ------
    InputError
        If the scenario is of another game, or a file, value or hierarchy cannot be used.
    """
    if not is_full_domain(loaded):
        raise InputError("a scenario of another game", source=loaded.path, where="game", expected="full-domain")
    scenario = loaded.scenario
    check_attack_recipe(scenario.adversary.stages, loaded.folder)
    try:
        records = read_full_domain(loaded)
        prices, kind_of_record = _prices(scenario, records)
        radices = (*(h.attribute.size for h in records.hierarchies), prices.n_kinds)
        keys = mixed_radix_keys(np.column_stack([records.codes, kind_of_record]), radices)
        _, first, cell_of_record = np.unique(keys, return_index=True, return_inverse=True)
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(records.hierarchies, records.codes[first], counted)
        for name, attribute, levels in zip(
            lattice.domain.names, scenario.attributes.values(), lattice.shape, strict=True
        ):
            if attribute.minimum_level >= levels:
                raise InputError(
                    "no such level",
                    where=f"attributes.{name}.minimum_level",
                    found=attribute.minimum_level,
                    expected=f"at most {levels - 1}",
                )
        dataset = Population.from_records(lattice.domain, records.codes, name="the released records")
        population = records.population
        released = np.bincount(cell_of_record, minlength=lattice.n_records)
        if population is not None and scenario.population is not None and scenario.population.holds_release:
            require_part_of(lattice, released, population)
        safe_harbor = safe_harbor_minimum(scenario.safe_harbor, lattice, population or dataset)
        study = FullDomainStudy(
            loaded, lattice, cell_of_record, kind_of_record[first], prices, population, dataset, safe_harbor
        )
        _require_walkable(study)
    except InputError as error:
        raise error.located(loaded.path) from None
    return study


def has_price_columns(scenario: FullDomainScenario) -> bool:
    """Tell whether records have prices of their own."""
    return any(column is not None for _, column in scenario.economics.columns)


def repriced(study: FullDomainStudy, loaded: LoadedScenario[FullDomainScenario]) -> FullDomainStudy:
    """Return the study of a scenario that differs from that of `study` in prices, beliefs and publisher alone.

    Raises
    ------
    InputError
        If the publisher would have to walk too many nodes.
    """
    scenario = loaded.scenario
    prices = study.prices
    if not has_price_columns(scenario):
        economics = scenario.economics
        prices = Prices.of_kinds(economics.benefit, economics.loss, economics.adversary_gain, economics.cost)
    study = replace(study, loaded=loaded, prices=prices)
    try:
        _require_walkable(study)
    except InputError as error:
        raise error.located(loaded.path) from None
    return study


def _require_walkable(study: FullDomainStudy) -> None:
    """Check that the lattice is not too large for what has to walk it."""
    scenario = study.scenario
    walking = sorted(walks_whole_lattice(scenario))
    if walking and study.n_nodes > MOST_NODES:
        raise InputError(
            "too many nodes to walk",
            where=walking[0],
            found=study.n_nodes,
            expected=f"at most {MOST_NODES:,}",
            hint='publisher.search = "anytime" stops at a budget of publisher.nodes or publisher.seconds',
        )


def _prices(scenario: FullDomainScenario, records: ReleasedRecords) -> tuple[Prices, NDArray[np.int64]]:
    """Return the prices of every kind of record, and the kind of each record."""
    economics = scenario.economics
    amounts: dict[str, float | Floats] = {
        "benefit": economics.benefit,
        "loss": economics.loss,
        "gain": economics.adversary_gain,
        "cost": economics.cost,
    } | records.prices
    if economics.gain is None and "gain" not in records.prices:
        amounts["gain"] = amounts["loss"]
    n = len(records.codes)
    by_record = np.column_stack([np.broadcast_to(amounts[price], (n,)) for price in PRICES])
    if not records.prices:
        return Prices.of_kinds(*by_record[0]), np.zeros(n, dtype=np.int64)
    kinds, kind = np.unique(by_record, axis=0, return_inverse=True)
    return Prices.of_kinds(*kinds.T), kind.ravel().astype(np.int64)

"""From a validated scenario to a configured study: population, records, lattice and games."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess
from reidsim.bundled import bundled_folder, resolve
from reidsim.errors import InputError
from reidsim.games.record_game import Linker, PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.catalogue import load_population
from reidsim.populations.domain import Codes, Domain, unique_rows
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.safe_harbor import safe_harbor_strategies, zip3_population_of
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.attack_recipe import check_attack_recipe
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.records import read_release
from reidsim.scenarios.schema import EconomicsSection, RecordScenario, SafeHarborSection, ScenarioHead
from reidsim.tables import numbers, read_table


@dataclass(frozen=True, eq=False)
class RecordStudy:
    """A record-level game ready to be solved, on the distinct cells of the records.

    Parameters
    ----------
    loaded : LoadedScenario
    linked_population : Population
        Everybody who may be taken for a record's person, over the quasi-identifiers: the population, or the released
        records themselves under prosecutor risk.
    registry : Population, optional
        The part of them whom the adversary can look up; everybody, if not given.
    lattice : GeneralizationLattice
        Over the distinct cells.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    linker : PopulationLinker or KnowledgeLinker
        Of the distinct cells.
    safe_harbor : ndarray of int64, shape (n_cells,), optional
        The least generalization that Safe Harbor accepts.
    """

    loaded: LoadedScenario[RecordScenario]
    linked_population: Population
    registry: Population | None
    lattice: GeneralizationLattice
    cell_of_record: NDArray[np.intp]
    linker: PopulationLinker | KnowledgeLinker
    safe_harbor: Strategies | None

    @property
    def scenario(self) -> RecordScenario:
        """The scenario as run."""
        return self.loaded.scenario

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.cell_of_record)

    @property
    def multiplicity(self) -> NDArray[np.int64]:
        """Number of records in each cell."""
        return np.bincount(self.cell_of_record, minlength=self.lattice.n_records)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the records, hierarchies and people, as coded; changes with any data that matter."""
        people = [self.linked_population] if self.registry is None else [self.linked_population, self.registry]
        arrays = [self.lattice.codes, self.cell_of_record, *(h.groups for h in self.lattice.hierarchies)]
        arrays += [array for population in people for array in (population.cells, population.counts)]
        digest = hashlib.sha256(repr([h.labels for h in self.lattice.hierarchies]).encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @property
    def group_sizes(self) -> GroupSizes:
        """Group sizes of the distinct cells among those who can be looked up."""
        return self.linker.group_sizes

    @property
    def truth(self) -> RecordGame:
        """The game as it is."""
        return self.game(self.scenario.economics)

    @property
    def belief(self) -> RecordGame:
        """The game as the publisher believes it to be when it plans."""
        return self.game(self.scenario.beliefs.of(self.scenario.economics))

    def game(self, economics: EconomicsSection) -> RecordGame:
        """Return the game of the distinct cells under some economics."""
        return record_game(self.lattice, self.linker, economics, self.adversary(economics))

    def game_of(self, codes: Codes) -> RecordGame:
        """Return the game of other records, shape (n, n_attributes)."""
        lattice = GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)
        economics = self.scenario.economics
        return record_game(lattice, self.linker_of(lattice), economics, self.adversary(economics))

    def linker_of(self, lattice: GeneralizationLattice) -> PopulationLinker | KnowledgeLinker:
        """Return what links the records of another lattice over the same hierarchies."""
        return _linker(self.loaded, self.linked_population, self.registry, lattice)

    def lattice_of(self, codes: Codes) -> GeneralizationLattice:
        """Return the same lattice over other records."""
        return GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)

    def adversary(self, economics: EconomicsSection) -> Adversary:
        """Return the scenario's adversary under some economics."""
        if self.scenario.adversary.planner == "one-shot":
            return OneShotAdversary(economics.adversary_gain, economics.cost)
        known = self.scenario.adversary.sequential.belief == "known"
        size = None if known else round((self.registry or self.linked_population).total)
        signal = self.scenario.adversary.sequential.unconfirmed
        seen = None if signal is None else UnconfirmedSuccess(**signal.model_dump())
        return SequentialAdversary(self.sequential_attack(economics), size, seen)

    def sequential_attack(self, economics: EconomicsSection) -> SequentialAttack:
        """Return the parameters of the sequential attack under some economics."""
        section = self.scenario.adversary.sequential
        coverage = 1.0 if self.registry is None else self.registry.total / self.linked_population.total
        return SequentialAttack(
            gain=economics.adversary_gain,
            access_cost=section.access_cost,
            link_cost=section.link_cost,
            exploit_cost=economics.cost,
            penalty=section.penalty,
            max_penalties=section.max_penalties,
            detection_intercept=section.detection_intercept,
            detection_slope=section.detection_slope,
            prior=coverage if section.prior is None else section.prior,
            discount=section.discount,
            penalty_timing=section.penalty_timing,
            detection_ends_attack=section.detection_ends_attack,
        )


def is_record_level(loaded: LoadedScenario[ScenarioHead]) -> TypeGuard[LoadedScenario[RecordScenario]]:
    """Tell whether in a scenario a publisher chooses the form of each record."""
    return isinstance(loaded.scenario, RecordScenario)


def build_study(loaded: LoadedScenario[ScenarioHead]) -> RecordStudy:
    """Read everything that a scenario names and put the game together.

    Raises
    ------
    InputError
        If the scenario is of another game, or a file, value or hierarchy cannot be used.
    """
    if not is_record_level(loaded):
        raise InputError("a scenario of another game", source=loaded.path, where="game", expected="record-level")
    scenario = loaded.scenario
    check_attack_recipe(scenario.adversary.stages, loaded.folder)
    try:
        population, codes, hierarchies = read_release(loaded)
        first, cell_of_record = unique_rows(codes, tuple(h.attribute.size for h in hierarchies))
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(hierarchies, codes[first], counted)
        if scenario.adversary.risk == "journalist" and population is not None:
            linked = population.marginal(lattice.domain.names)
        else:
            linked = Population.from_records(lattice.domain, codes, name="the released records")
        registry = _registry(loaded, lattice, linked)
        linker = _linker(loaded, linked, registry, lattice)
        safe_harbor = safe_harbor_minimum(scenario.safe_harbor, lattice, linked if population is None else population)
        _check_figures(scenario, lattice.domain)
    except InputError as error:
        raise error.located(loaded.path) from None
    return RecordStudy(loaded, linked, registry, lattice, cell_of_record, linker, safe_harbor)


def record_game(
    lattice: GeneralizationLattice,
    linker: Linker,
    economics: EconomicsSection,
    adversary: Adversary | None = None,
) -> RecordGame:
    """Return the game under some economics, against a one-shot adversary if no other is given."""
    adversary = adversary or OneShotAdversary(economics.adversary_gain, economics.cost)
    benefit = np.full(lattice.n_records, economics.benefit)
    return RecordGame(lattice, linker, adversary, benefit, np.full(lattice.n_records, economics.loss))


def coded_records(domain: Domain, records: Sequence[Mapping[str, str]], where: str) -> Codes:
    """Return the codes of records given as attribute = category, shape (n_records, n_attributes).

    Raises
    ------
    InputError
        If an attribute is missing or unknown, or a category is not in the domain; `where` is the key that holds them.
    """
    expected = f"a value for each of {', '.join(domain.names)}"
    for record in records:
        for problem, wrong in (
            ("attribute missing", set(domain.names) - set(record)),
            ("no such attribute", set(record) - set(domain.names)),
        ):
            if wrong:
                raise InputError(problem, where=where, found=min(wrong), expected=expected)
    try:
        return domain.encode(pd.DataFrame(list(records)))
    except InputError as error:
        raise error.located(where=where) from None


def _check_figures(scenario: RecordScenario, domain: Domain) -> None:
    """Check the record whose strategies are drawn before anything is solved."""
    if scenario.figures.strategies is not None:
        coded_records(domain, [scenario.figures.strategies], "figures.strategies")


def _registry(
    loaded: LoadedScenario[RecordScenario], lattice: GeneralizationLattice, people: Population
) -> Population | None:
    adversary = loaded.scenario.adversary
    if adversary.planner != "fmdp" or adversary.sequential.registry is None:
        return None
    where = "adversary.sequential.registry"
    recipe = resolve(adversary.sequential.registry, "populations", "population", base=loaded.folder)
    try:
        registry = load_population(recipe).marginal(lattice.domain.names)
    except InputError as error:
        raise error.located(where=where) from None
    if registry.total > people.total:
        raise InputError(
            "the registry has more people than the population",
            where=where,
            found=registry.total,
            expected=f"at most {people.total:,.0f}",
        )
    return registry


def _linker(
    loaded: LoadedScenario[RecordScenario],
    people: Population,
    registry: Population | None,
    lattice: GeneralizationLattice,
) -> PopulationLinker | KnowledgeLinker:
    scenario = loaded.scenario
    if scenario.adversary.knowledge is not None:
        knowledge = load_knowledge(scenario.adversary.knowledge, lattice.domain, lattice.codes, base=loaded.folder)
        return KnowledgeLinker(lattice, people, knowledge)
    everybody = GroupSizes(people, lattice)
    if registry is None:
        guesses = scenario.adversary.planner == "fmdp" and scenario.adversary.sequential.belief == "unknown"
        return PopulationLinker(everybody, population=everybody if guesses else None)
    return PopulationLinker(GroupSizes(registry, lattice, holds_records=False), population=everybody)


def safe_harbor_minimum(
    section: SafeHarborSection | None, lattice: GeneralizationLattice, population: Population
) -> Strategies | None:
    """Return the least generalization of each record that Safe Harbor accepts; None if a scenario does not ask."""
    if section is None:
        return None
    zip3_population = None
    if section.zip is not None:
        if section.zip3_population == "population":
            zip3_population = zip3_population_of(population, section.zip)
        else:
            path = bundled_folder("populations") / "figures" / "us-2010-zip3.csv.gz"
            frame = read_table(path, comment="#")
            zip3_population = dict(zip(frame["zip3"], numbers(frame, "people", path), strict=True))
    return safe_harbor_strategies(lattice, age=section.age, zip_code=section.zip, zip3_population=zip3_population)

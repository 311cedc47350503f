"""From a validated scenario to a configured study: population, records, lattice and games."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.bundled import bundled_folder, resolve
from reidsim.errors import InputError
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.catalogue import load_population, natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain, unique_rows
from reidsim.populations.population import Population
from reidsim.populations.sampling import complete_records
from reidsim.random_streams import random_stream
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.hierarchy_file import read_hierarchy, read_hierarchy_rows
from reidsim.releases.hierarchy_rules import group_levels, interval_levels, prefix_levels, suppression_level
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.records import code_records, records_of, redraw_top_code, select_columns
from reidsim.releases.safe_harbor import safe_harbor_strategies, zip3_population_of
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import (
    AttributeSection,
    EconomicsSection,
    Groups,
    HierarchySection,
    Intervals,
    Prefix,
    Scenario,
    Suppress,
    Table,
)
from reidsim.tables import numbers, read_table


@dataclass(frozen=True, eq=False)
class RecordStudy:
    """A record-level game ready to be solved, on the distinct cells of the records.

    Parameters
    ----------
    loaded : LoadedScenario
    linked_population : Population
        In which groups are counted, over the quasi-identifiers.
    group_sizes : GroupSizes
        Of the distinct cells in that population.
    lattice : GeneralizationLattice
        Over the distinct cells.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    truth, belief : RecordGame
        The game as it is, and as the publisher believes it to be when it plans.
    safe_harbor : ndarray of int64, shape (n_cells,), optional
        The least generalization that Safe Harbor accepts.
    """

    loaded: LoadedScenario
    linked_population: Population
    group_sizes: GroupSizes
    lattice: GeneralizationLattice
    cell_of_record: NDArray[np.intp]
    truth: RecordGame
    belief: RecordGame
    safe_harbor: Strategies | None

    @property
    def scenario(self) -> Scenario:
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

    def lattice_of(self, codes: Codes) -> GeneralizationLattice:
        """Return the same lattice over other records."""
        return GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)


def build_study(loaded: LoadedScenario) -> RecordStudy:
    """Read everything that a scenario names and put the game together.

    Raises
    ------
    InputError
        If a file, value or hierarchy cannot be used.
    """
    scenario = loaded.scenario
    try:
        population, codes, hierarchies = _who_and_what(loaded)
        first, cell_of_record = unique_rows(codes, tuple(h.attribute.size for h in hierarchies))
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(hierarchies, codes[first], counted)
        if scenario.adversary.risk == "journalist" and population is not None:
            linked = population.marginal(lattice.domain.names)
        else:
            linked = Population.from_records(lattice.domain, codes, name="the released records")
        group_sizes = GroupSizes(linked, lattice)
        linker = PopulationLinker(group_sizes)
        economics, believed = scenario.economics, _believed_economics(scenario)
        safe_harbor = _safe_harbor(scenario, lattice, linked if population is None else population)
    except InputError as error:
        raise error.located(loaded.path) from None
    return RecordStudy(
        loaded=loaded,
        linked_population=linked,
        group_sizes=group_sizes,
        lattice=lattice,
        cell_of_record=cell_of_record,
        truth=record_game(lattice, linker, economics),
        belief=record_game(lattice, linker, believed),
        safe_harbor=safe_harbor,
    )


def record_game(lattice: GeneralizationLattice, linker: PopulationLinker, economics: EconomicsSection) -> RecordGame:
    """Return the game of a one-shot adversary under some economics."""
    adversary = OneShotAdversary(economics.adversary_gain, economics.cost)
    benefit = np.full(lattice.n_records, economics.benefit)
    return RecordGame(lattice, linker, adversary, benefit, np.full(lattice.n_records, economics.loss))


def _believed_economics(scenario: Scenario) -> EconomicsSection:
    truth, beliefs = scenario.economics, scenario.beliefs
    return EconomicsSection(
        benefit=truth.benefit,
        loss=truth.loss if beliefs.loss is None else beliefs.loss,
        gain=truth.adversary_gain if beliefs.gain is None else beliefs.gain,
        cost=truth.cost if beliefs.cost is None else beliefs.cost,
    )


def _who_and_what(loaded: LoadedScenario) -> tuple[Population | None, Codes, tuple[Hierarchy, ...]]:
    """Return the population, the codes of the records over the quasi-identifiers, and the hierarchies."""
    scenario = loaded.scenario
    attributes = scenario.attributes
    population = _population(loaded)
    source, frame = _release_table(loaded)
    in_records = {name: a.column or name for name, a in attributes.items() if not a.draw}
    labels = select_columns(frame, in_records, {name: a.values for name, a in attributes.items()}, source)
    if population is None:
        domain = Domain(
            tuple(Attribute(name, _categories(a, labels[name], loaded.folder)) for name, a in attributes.items())
        )
        codes = code_records(labels, domain, source)
        if any(attribute.top_code is not None for attribute in attributes.values()):
            raise InputError("top codes are redrawn from a population", where="population", expected="a recipe")
    else:
        for name in attributes:
            _require_attribute(population, name)
        rng = random_stream(scenario.seed, "release")
        people = population.marginal(tuple(attributes))
        domain = people.domain
        codes = code_records(labels, domain, source)
        for name, attribute in attributes.items():
            if attribute.top_code is not None:
                codes = redraw_top_code(people, codes, name, attribute.top_code, rng)
        codes = complete_records(people, codes, rng)
    hierarchies = tuple(
        _hierarchy(domain[name], attribute.hierarchy, loaded.folder, f"attributes.{name}.hierarchy")
        for name, attribute in attributes.items()
    )
    return population, codes, hierarchies


def _population(loaded: LoadedScenario) -> Population | None:
    section = loaded.scenario.population
    if section is None:
        return None
    recipe = resolve(section.recipe, "populations", "population", base=loaded.folder)
    return load_population(recipe, counts=section.counts, seed=section.seed)


def _require_attribute(population: Population, name: str) -> None:
    try:
        population.domain.position(name)
    except InputError as error:
        raise InputError(
            f"population {population.name!r} has no such attribute",
            where=f"attributes.{name}",
            expected=error.expected,
            hint=error.hint,
        ) from None


def _release_table(loaded: LoadedScenario) -> tuple[str | Path, pd.DataFrame]:
    section = loaded.scenario.release
    if section.path is not None:
        path = loaded.folder / section.path
        frame = read_adult(path) if section.format == "adult" else read_table(path, delimiter=section.delimiter)
        return path, frame
    assert section.table is not None  # noqa: S101 - held by the schema, said for the type checker
    recipe = resolve(section.table, "populations", "population", base=loaded.folder)
    return section.table, records_of(load_population(recipe))


def _categories(attribute: AttributeSection, labels: pd.Series[str], folder: Path) -> tuple[str, ...]:
    """Return the categories of an attribute without a population: its hierarchy file's, else those in the records."""
    if isinstance(attribute.hierarchy, Table):
        rows = read_hierarchy_rows(folder / attribute.hierarchy.file, delimiter=attribute.hierarchy.delimiter)
        return tuple(dict.fromkeys(row[0] for row in rows))
    return natural_categories(labels)


def _hierarchy(attribute: Attribute, section: HierarchySection, folder: Path, where: str) -> Hierarchy:
    try:
        if isinstance(section, Suppress):
            return Hierarchy.from_labels(attribute, [suppression_level(attribute)])
        if isinstance(section, Table):
            return read_hierarchy(
                attribute,
                folder / section.file,
                delimiter=section.delimiter,
                suppress=section.suppress,
                costless_levels=section.costless_levels,
            )
        levels = _ruled_levels(attribute, section)
        if section.suppress:
            levels.append(suppression_level(attribute))
        return Hierarchy.from_labels(attribute, levels, costless_levels=section.costless_levels)
    except InputError as error:
        raise error.located(where=where) from None


def _ruled_levels(attribute: Attribute, section: Intervals | Prefix | Groups) -> list[list[str]]:
    if isinstance(section, Intervals):
        return interval_levels(
            attribute, section.widths, start=section.start, absorb_remainder=section.absorb_remainder
        )
    if isinstance(section, Prefix):
        return prefix_levels(attribute, section.digits, pool=section.pool)
    return group_levels(attribute, section.groups)


def _safe_harbor(scenario: Scenario, lattice: GeneralizationLattice, population: Population) -> Strategies | None:
    section = scenario.safe_harbor
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

"""Build a study from a table scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.drawn_lists import DrawnLists
from reidsim.bundled import bundled_folder
from reidsim.errors import InputError, locating
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.risk import require_part_of
from reidsim.kinds.tables.own_adversary import OwnAdversary
from reidsim.kinds.tables.people import ReleasedPeople, sampled_people
from reidsim.kinds.tables.release import ReleasedRecords, coded_records, read_release
from reidsim.kinds.tables.schema import SafeHarborSection, TablesScenario
from reidsim.kinds.tables.study import TablesStudy
from reidsim.kinds.tables.table_data import PRICES
from reidsim.linkage.sensitive_values import SensitiveValues
from reidsim.populations.domain import Codes, distinct_rows, keys_of_both
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.random_streams import nested_stream
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.safe_harbor import safe_harbor_strategies, zip3_population_of
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.drawn_lists import People, lists_of_people
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import Keys, key_columns
from reidsim.scenarios.resource_schema import check_buyer
from reidsim.tables import numbers, read_table

# Sections that affect games, but not the data of the study.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "title", "source")
# Keys of an adversary that do not affect linkage: prior weight and payoff parameters.
_NOT_OF_LINKAGE = ("weight", "gain", "cost")
# Keys of a sequential attack that affect linkage; the others affect only its payoffs.
_PLAN_OF_THE_STUDY = ("registry", "belief")


def build_study(loaded: Scenario[Any]) -> TablesStudy:
    """Read the data of a scenario and build its study.

    Raises
    ------
    InputError
        If the scenario is of another kind, or a file, value or hierarchy cannot be used.
    """
    if not isinstance(loaded.scenario, TablesScenario):
        raise InputError("a scenario of another kind", source=loaded.path, where="game", expected="tables")
    scenario = loaded.scenario
    with locating(loaded.path):
        records = read_release(loaded)
        amounts = _amounts(scenario, records)
        kinds, kind_of_record = _kinds(amounts)
        first, cell_of_record = distinct_rows([*records.codes.T, kind_of_record], len(kind_of_record))
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(records.hierarchies, records.codes[first], counted)
        _require_levels(scenario, lattice)
        if scenario.figures.strategies is not None:
            coded_records(lattice.domain, [scenario.figures.strategies], "figures.strategies")
        dataset, persons = (
            Population.from_records(
                lattice.domain, lattice.codes, np.bincount(cell_of_record), name="the released records"
            ),
            None,
        )
        kind = kind_of_record[first]
        if records.person is not None:
            by_benefit = amounts[first, PRICES.index("benefit")] if "benefit" in records.prices else None
            persons = ReleasedPeople.of(lattice, cell_of_record, records.person, by_benefit)
            dataset = persons.counted(dataset.name)
            kinds, kind = _kinds(persons.amounts_of_sets(amounts[first], PRICES.index("benefit")))
        population = records.population
        if population is not None and _must_hold_release(scenario):
            unit = ("record", "records") if persons is None else ("person of the release", "people of the release")
            of_dataset = GeneralizationLattice(records.hierarchies, dataset.cells, counted)
            require_part_of(of_dataset, dataset.counts.astype(np.int64), population, unit)
        safe_harbor = safe_harbor_minimum(scenario.safe_harbor, lattice, population or dataset, first)
        if persons is not None and safe_harbor is not None:
            safe_harbor = persons.least_above(safe_harbor)
        study = TablesStudy(
            loaded,
            lattice,
            cell_of_record,
            kind,
            Prices.of_kinds(*kinds.T),
            population,
            dataset,
            safe_harbor,
            sampled=sampled_people(scenario, lattice.domain, records),
            persons=persons,
            household_of=_households(records),
            waves=records.waves,
            sensitive=SensitiveValues(records.codes, records.sensitive) if records.sensitive else None,
        )
        study.require_walkable()
        if scenario.lists:
            study = study.by_row()
            study = replace(study, drawn=lists_of_records(loaded, study))
        if scenario.looks_up:
            study = study.by_subject()
        return OwnAdversary.of(study)


def safe_harbor_minimum(
    section: SafeHarborSection | None,
    lattice: GeneralizationLattice,
    population: Population,
    row_of: NDArray[np.integer],
) -> Strategies | None:
    """Return the least generalization of each record that Safe Harbor accepts.

    The result has shape (n_records,), in the order of the lattice's records.

    Parameters
    ----------
    section : SafeHarborSection or None
        Attributes that Safe Harbor restricts; with None, the result is None.
    lattice : GeneralizationLattice
    population : Population
        People of three-digit ZIP areas, if `section` does not use the 2010 Census.
    row_of : ndarray of int, shape (n_records,)
        The row of each record in its file, for messages.
    """
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
    return safe_harbor_strategies(
        lattice, age=section.age, zip_code=section.zip, zip3_population=zip3_population, row_of=row_of
    )


def _must_hold_release(scenario: TablesScenario) -> bool:
    given = None if scenario.population is None else scenario.population.holds_release
    if given is None and any(attribute.unknown == "nobody" for attribute in scenario.attributes.values()):
        # The scenario declares that some records have no person in the population.
        return False
    return scenario.publisher.unit == "table" if given is None else given


def _require_levels(scenario: TablesScenario, lattice: GeneralizationLattice) -> None:
    for name, attribute, levels in zip(lattice.domain.names, scenario.attributes.values(), lattice.shape, strict=True):
        if attribute.minimum_level >= levels:
            raise InputError(
                "no such level",
                where=f"attributes.{name}.minimum_level",
                found=attribute.minimum_level,
                expected=f"at most {levels - 1}",
            )


def _amounts(scenario: TablesScenario, records: ReleasedRecords) -> Floats:
    """Return the payoff parameters of each record, (n_records, 4), as in `PRICES`."""
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
    return np.column_stack([np.broadcast_to(amounts[price], (n,)) for price in PRICES])


def _kinds(amounts: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the kinds of record by payoff parameters, and the kind of each record.

    Kinds are the distinct rows of `amounts`, shape (n_records, 4).
    """
    if (amounts == amounts[0]).all():
        return amounts[:1], np.zeros(len(amounts), dtype=np.int64)
    kinds, kind = np.unique(amounts, axis=0, return_inverse=True)
    return kinds, kind.ravel().astype(np.int64)


def _households(records: ReleasedRecords) -> Keys | None:
    """Return the household of each data subject; None without a household column."""
    if records.household is None or records.person is None:
        return records.household
    return records.household[np.unique(records.person, return_index=True)[1]]


def data_content(loaded: Scenario[TablesScenario]) -> dict[str, Any]:
    """Return the scenario content that determines cells, hierarchies and people.

    Two scenarios with equal content can share these data.
    """
    content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
    scenario = loaded.scenario
    # By default, the unit decides whether records must be people of the population.
    content["publisher.unit"] = scenario.publisher.unit
    content["publisher.sensitive"] = key_columns(scenario.publisher.sensitive)
    content["publisher.sensitive_hierarchies"] = loaded.content.get("publisher", {}).get("sensitive_hierarchies")
    # The represented people are estimated only under sample risk, true or believed.
    content["sampled"] = "sample" in scenario.risks
    if scenario.has_price_columns:
        # Payoff parameters then determine which records form one cell.
        content["economics"] = loaded.content["economics"]
    if "adversary" in content:
        content["adversary"] = _of_the_study(content["adversary"])
    if "adversaries" in content:
        content["adversaries"] = {name: _of_the_study(section) for name, section in content["adversaries"].items()}
    return content


def _of_the_study(adversary: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in adversary.items() if key not in _NOT_OF_LINKAGE}
    if "sequential" in kept:
        plan = kept["sequential"]
        kept["sequential"] = {key: plan[key] for key in _PLAN_OF_THE_STUDY if key in plan}
    return kept


# Key of the random stream that draws the persons of records. Streams for lists use 0 and 1 as the first number.
_RECORDS = (2, 0, 0)


def lists_of_records(loaded: Scenario[TablesScenario], study: TablesStudy) -> DrawnLists:
    """Draw the lists of a scenario, and the person of each of its records.

    The person of a record is drawn with equal probabilities from the people of the population with its values. Each
    person has at most one record. Records in excess of the people with their values have no person in the population.

    Raises
    ------
    InputError
        If the population has fractional counts, or a list cannot be drawn.
    """
    scenario, population = loaded.scenario, study.population
    assert population is not None  # noqa: S101 # asked for where there are lists
    assert scenario.population is not None  # noqa: S101
    with locating(where="population.counts"):
        world = Individuals.of(population)
    values = {name: world.column(name).astype(np.int64) for name in world.domain.names}
    labels = {attribute.name: attribute.categories for attribute in world.domain.attributes}
    sections = {name: scenario.resources[name] for name in scenario.lists}
    lists = lists_of_people(
        sections,
        People(values, labels),
        loaded.folder,
        scenario.population.together,
        attributes=lambda name: sections[name].attributes,
        population=scenario.population.recipe or "",
    )
    if scenario.agents is None:
        for where, section in scenario.every_adversary.items():
            check_buyer(where.rpartition(".")[2], f"{where}.holds", section.holds or (), lists.buyers)
    rng = nested_stream(scenario.seed, "lists", _RECORDS)
    person = _persons(population, study.lattice.codes, rng)
    return DrawnLists(lists.draw(scenario.seed), person, lists.prices, lists.buyers)


def _persons(population: Population, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a person for each record from the people of its cell, shape (n_records,).

    People are numbered in the order of the population's cells, as in `Individuals.of`; -1 means no person.
    """
    counts = population.counts.astype(np.int64)
    ends = np.cumsum(counts)
    keys, wanted = keys_of_both(population.cells, codes)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    cell = np.where(keys[order][place] == wanted, order[place], -1)
    person = np.full(len(codes), -1, dtype=np.int64)
    for each in np.unique(cell[cell >= 0]).tolist():
        rows = np.flatnonzero(cell == each)
        people = int(counts[each])
        chosen = rng.choice(people, min(len(rows), people), replace=False)
        person[rng.permutation(rows)[: len(chosen)]] = ends[each] - people + chosen
    return person

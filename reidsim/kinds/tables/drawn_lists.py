"""The lists of a scenario about a table, drawn from its people, and which of the people each record is about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.drawn_lists import DrawnLists
from reidsim.errors import locating
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy
from reidsim.populations.domain import Codes, mixed_radix_keys
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.random_streams import nested_stream
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.people_lists import lists_of_people
from reidsim.scenarios.people_values import People
from reidsim.scenarios.resource_schema import check_buyer

# Decisions about lists are 0 and 1.
_RECORDS = (2, 0, 0)


def lists_of_records(loaded: LoadedScenario[TablesScenario], study: TablesStudy) -> DrawnLists:
    """Draw the lists of a scenario, and the people whom its records are about.

    A record is about somebody of the population with its values, each alike; nobody has two. Records beyond the people
    with their values are about nobody in it.

    Raises
    ------
    InputError
        If the population is not of whole people, or a list cannot be drawn.
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
        sections, People(values, labels), loaded.folder, scenario.population.together,
        attributes=lambda name: sections[name].attributes, population=scenario.population.recipe or "",
    )  # fmt: skip
    if scenario.agents is None:
        for where, section in scenario.every_adversary.items():
            check_buyer(where.rpartition(".")[2], f"{where}.holds", section.holds or (), lists.buyers)
    rng = nested_stream(scenario.seed, "lists", _RECORDS)
    person = _persons(population, study.lattice.codes, rng)
    return DrawnLists(lists.draw(scenario.seed), person, lists.prices, lists.buyers)


def _persons(population: Population, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw for each record a person of its cell; people stand in the order of the cells, as in `Individuals.of`."""
    shape = population.domain.shape
    counts = population.counts.astype(np.int64)
    ends = np.cumsum(counts)
    keys = mixed_radix_keys(population.cells, shape)
    order = np.argsort(keys, kind="stable")
    wanted = mixed_radix_keys(codes, shape)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
    cell = np.where(keys[order][place] == wanted, order[place], -1)
    person = np.full(len(codes), -1, dtype=np.int64)
    for each in np.unique(cell[cell >= 0]).tolist():
        rows = np.flatnonzero(cell == each)
        people = int(counts[each])
        chosen = rng.choice(people, min(len(rows), people), replace=False)
        person[rng.permutation(rows)[: len(chosen)]] = ends[each] - people + chosen
    return person

"""Build a study from a table scenario."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import DrawnLists
from reidsim.core.bundled import bundled_folder
from reidsim.core.errors import InputError, locating, refuse_first
from reidsim.core.randomness import random_stream
from reidsim.core.tables import numbers, read_table, require_columns
from reidsim.games.full_domain.class_table import require_part_of
from reidsim.games.full_domain.game import Prices
from reidsim.kinds.tables.release import (
    ReleasedRecords,
    coded_record,
    read_release,
    read_waves,
    released_keys,
    sensitive_attributes,
)
from reidsim.kinds.tables.schema import SafeHarborSection, TablesScenario
from reidsim.kinds.tables.study import PRICES, ReleasedPeople, TablesStudy
from reidsim.linkage.group_sizes import SampledPeople
from reidsim.linkage.sensitive_values import SensitiveValues
from reidsim.linkage.uniqueness.log_linear import SampleCells, fitting_model, weights_in
from reidsim.populations.population import Codes, Domain, Individuals, Population, distinct_rows, keys_of_both, row_keys
from reidsim.releases.lattice import Floats, GeneralizationLattice, Strategies
from reidsim.releases.safe_harbor import safe_harbor_strategies, zip3_population_of
from reidsim.scenarios.hierarchies import Table, hierarchy_rows
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.resources import People, check_buyer, lists_of_people
from reidsim.scenarios.schema import spelled_out
from reidsim.scenarios.study import Keys, key_columns

# Sections that affect games, but not the data of the study.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "title", "source")
# Keys of an adversary that do not affect linkage: prior weight and payoff parameters.
_NOT_OF_LINKAGE = ("weight", "gain", "cost")
# Keys of a sequential attack that affect linkage; the others affect only its payoffs.
_PLAN_OF_THE_STUDY = ("registry", "belief")
# Key of the random stream that draws the persons of records. Streams for lists use 0 and 1 as the first number.
_RECORDS = (2, 0, 0)
_BENEFIT = PRICES.index("benefit")
_RELEASED = "the released records"


def build_study(loaded: Scenario[Any]) -> TablesStudy:
    """Read the data of a table scenario and return its `TablesStudy`.

    Raises
    ------
    InputError
        If the scenario is of another kind; if a file, value or hierarchy cannot be used; if a minimum level does not
        exist; if a record has no person in a population that must contain all records; or if the lattice is too large
        for the search that the scenario needs.
    """
    if not isinstance(loaded.scenario, TablesScenario):
        raise InputError("a scenario of another kind", source=loaded.path, where="game", expected="tables")
    scenario = loaded.scenario
    with locating(loaded.path):
        records, section, source = read_release(loaded), scenario.release, scenario.release.weight
        n, frame = len(records.codes), records.frame
        given, amounts = _amounts(scenario, records)
        weights = None if source is None else weights_in(frame, source, records.source)
        if section.sampling_fraction is not None:
            weights = np.full(n, 1 / section.sampling_fraction)
        person, household = released_keys(scenario, records, given, weights)

        def rows_of(name: str, hierarchy: Table) -> list[list[str]]:
            where = f"publisher.sensitive_hierarchies.{name}.file"
            return hierarchy_rows(hierarchy, loaded.folder, set(frame[name].str.strip()), {name}, where)

        sensitive = sensitive_attributes(scenario.publisher, frame, records.source, rows_of)
        waves = read_waves(scenario.releases, records, person, sensitive) if scenario.releases is not None else None
        kinds, kind_of_record = _kinds(amounts)
        first, cell_of_record = distinct_rows([*records.codes.T, kind_of_record], n)
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(records.hierarchies, records.codes[first], counted)
        for (name, attribute), levels in zip(scenario.attributes.items(), lattice.shape, strict=True):
            where, found = f"attributes.{name}.minimum_level", attribute.minimum_level
            refuse_first((found >= levels, "no such level", where, found, f"at most {levels - 1}"))
        if scenario.figures.strategies is not None:
            coded_record(lattice.domain, scenario.figures.strategies, "figures.strategies")
        kind, persons, unit = kind_of_record[first], None, ("record", "records")
        people = Population.from_records(lattice.domain, lattice.codes, np.bincount(cell_of_record), name=_RELEASED)
        if person is not None:
            by_benefit = amounts[first, _BENEFIT] if "benefit" in given else None
            persons = ReleasedPeople.from_lattice(lattice, cell_of_record, person, by_benefit)
            people, unit = persons.counted(_RELEASED), ("person of the release", "people of the release")
            # The benefit of a person is the mean over the person's records; other amounts are equal in all of them.
            sets = persons.row_sets
            of_sets = amounts[first[sets.cells[sets.start[:-1]]]]
            if by_benefit is not None:
                of_sets[:, _BENEFIT] = sets.means(by_benefit)
            kinds, kind = _kinds(of_sets)
            household = household if household is None else household[np.unique(person, return_index=True)[1]]
        if records.population is not None and _must_hold_release(scenario):
            of_people = GeneralizationLattice(records.hierarchies, people.cells, counted)
            require_part_of(of_people, people.counts.astype(np.int64), records.population, unit)
        harbor = _safe_harbor(scenario.safe_harbor, lattice, first, records.population or people)
        if harbor is not None and persons is not None:
            # The least common generalization of the cells of each row set.
            harbor = persons.row_sets.combined(np.maximum, lattice.all_levels(harbor)) @ np.array(lattice.strides)
        study = TablesStudy(
            loaded,
            lattice,
            cell_of_record,
            kind,
            Prices.of_kinds(*kinds.T),
            records.population,
            people,
            harbor,
            sampled=_sampled_people(scenario, lattice.domain, records.codes, weights, person),
            persons=persons,
            household_of=household,
            waves=waves,
            sensitive=SensitiveValues(records.codes, sensitive, person) if sensitive else None,
        )
        study.require_walkable()
        study = study.by_subject() if scenario.lists or scenario.looks_up else study
        return (replace(study, drawn=_drawn_lists(loaded, study)) if scenario.lists else study).equipped()


def _must_hold_release(scenario: TablesScenario) -> bool:
    """Return whether every record must match a person of the population.

    This is the scenario's ``population.holds_release``. By default, it is True if the publisher's unit is the table and
    no attribute has ``unknown = "nobody"``, by which the scenario declares that some records have no person in the
    population.
    """
    given = None if scenario.population is None else scenario.population.holds_release
    # With "nobody", the scenario declares that some records have no person in the population.
    expected = all(attribute.unknown != "nobody" for attribute in scenario.attributes.values())
    return (expected and scenario.publisher.unit == "table") if given is None else given


def _safe_harbor(
    section: SafeHarborSection | None, lattice: GeneralizationLattice, first: Keys, population: Population
) -> Strategies | None:
    """Return, for each cell, the least node that Safe Harbor accepts, or None.

    The result has shape (n_cells,); it is None without a section. A cell is a combination of quasi-identifier values of
    records.

    Parameters
    ----------
    section : SafeHarborSection or None
    lattice : GeneralizationLattice
        Over the cells of the records.
    first : ndarray of int, shape (n_cells,)
        One record of each cell, to name its row in messages.
    population : Population
        People of each three-digit ZIP code area, if the section counts them there.
    """
    if section is None:
        return None
    people = None
    if section.zip is not None and section.zip3_population == "population":
        people = zip3_population_of(population, section.zip)
    elif section.zip is not None:
        path = bundled_folder("populations") / "figures" / "us-2010-zip3.csv.gz"
        frame = read_table(path, comment="#")
        people = dict(zip(frame["zip3"], numbers(frame, "people", path), strict=True))
    return safe_harbor_strategies(lattice, age=section.age, zip_code=section.zip, zip3_population=people, row_of=first)


def _amounts(scenario: TablesScenario, records: ReleasedRecords) -> tuple[dict[str, Floats], Floats]:
    """Return payoff parameters from columns, and the parameters of each record.

    A gain that is not given equals the loss.

    Parameters
    ----------
    scenario : TablesScenario
    records : ReleasedRecords

    Returns
    -------
    dict of str to ndarray of float64, shape (n_records,)
        Amounts that a column of the records gives, by name of the parameter, in currency units.
    ndarray of float64, shape (n_records, 4)
        All parameters of each record in the order of `PRICES`: benefit, loss, gain, cost.

    Raises
    ------
    InputError
        If a column is missing, or a value is not a valid number.
    """
    economics, path = scenario.economics, Path(records.source)
    columns = {price: column for price, column in economics.columns if column is not None}
    require_columns(records.frame, list(columns.values()), path)
    given = {price: np.asarray(numbers(records.frame, column, path), np.float64) for price, column in columns.items()}
    amounts: dict[str, Any] = {price: getattr(economics, price) for price in PRICES} | given
    if amounts["gain"] is None:
        amounts["gain"] = amounts["loss"]
    return given, np.column_stack([np.broadcast_to(amounts[price], len(records.codes)) for price in PRICES])


def _kinds(amounts: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the kinds of record by payoff parameters, and the kind of each record.

    Parameters
    ----------
    amounts : ndarray of float64, shape (n, 4)
        Payoff parameters of each record, cell or person.

    Returns
    -------
    ndarray of float64, shape (n_kinds, 4)
        Distinct rows of `amounts`.
    ndarray of int64, shape (n,)
        Index of each row of `amounts` in the first result.
    """
    if (amounts == amounts[0]).all():
        return amounts[:1], np.zeros(len(amounts), dtype=np.int64)
    kinds, kind = np.unique(amounts, axis=0, return_inverse=True)
    return kinds, kind.ravel().astype(np.int64)


def _sampled_people(
    scenario: TablesScenario, domain: Domain, codes: Codes, weights: Floats | None, person: Keys | None
) -> SampledPeople | None:
    """Return the `SampledPeople` that the records represent; None without sample risk.

    They are estimated from the sampling weights or by a log-linear model; see ``release.estimator``. The result is also
    None without weights.

    Parameters
    ----------
    scenario : TablesScenario
    domain : Domain
    codes : ndarray of int32, shape (n_records, n_attributes)
        Category codes of the records over `domain`.
    weights : ndarray of float64, shape (n_records,), or None
        Number of people that each record represents.
    person : ndarray of int, shape (n_records,), or None
        Person of each record; None if each record is a person.

    Raises
    ------
    InputError
        If a log-linear model has too many cells.
    """
    name = "the people represented by the records"
    if weights is None or "sample" not in scenario.risks:
        return None
    if scenario.release.estimator == "benedetti-franconi":
        return SampledPeople.of_records(domain, codes, weights, name, person)
    occur, columns = zip(*(np.unique(column, return_inverse=True) for column in codes.T), strict=True)
    try:
        model = fitting_model(SampleCells.of_records(columns, weights)).everybody()
    except InputError as error:
        hint = 'use fewer or coarser quasi-identifiers, or "benedetti-franconi", which may be inaccurate'
        raise error.but(source=None, where="release.estimator", hint=hint) from None
    cells = np.column_stack([values[model.codes[:, at]] for at, values in enumerate(occur)]).astype(np.int32)
    order = np.argsort(row_keys(list(cells.T), len(cells)))
    sample = Population(domain, cells[order], model.records[order], name)
    return SampledPeople(domain, cells[order], model.people[order], name, sample=sample, missing="poisson")


def data_content(loaded: Scenario[TablesScenario]) -> dict[str, Any]:
    """Return the scenario content (a dict) that determines cells and people.

    Cells are the distinct records; hierarchies and linkage also depend on the content. Two scenarios with equal content
    can share these data.
    """
    content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
    scenario, publisher = loaded.scenario, loaded.scenario.publisher
    # By default, the unit decides whether records must be people of the population.
    content["publisher.unit"] = publisher.unit
    content["publisher.sensitive"] = key_columns(publisher.sensitive)
    content["publisher.sensitive_hierarchies"] = loaded.content.get("publisher", {}).get("sensitive_hierarchies")
    # The represented people are estimated only under sample risk, true or believed.
    content["sampled"] = "sample" in scenario.risks
    # Payoff parameters from columns determine which records form one cell.
    content["economics"] = loaded.content["economics"] if scenario.has_price_columns else None
    several = content.pop("adversaries", {}) | {"": content.pop("adversary", {})}
    return content | {"linkage": {name: _of_linkage(adversary) for name, adversary in several.items()}}


def _of_linkage(adversary: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of an adversary that affect linkage, with their values.

    `adversary` is the content of its section. Weight, gain, cost, and keys of sequential planning other than
    ``registry`` and ``belief`` are removed.
    """
    plan = adversary.get("sequential", {})
    kept = {key: value for key, value in adversary.items() if key not in (*_NOT_OF_LINKAGE, "sequential")}
    return kept | {"sequential": {key: plan[key] for key in _PLAN_OF_THE_STUDY if key in plan}}


def _drawn_lists(loaded: Scenario[TablesScenario], study: TablesStudy) -> DrawnLists:
    """Draw a scenario's lists, and the person of each of its records.

    The person of a record is drawn with equal probabilities from the people of the population with its values. Each
    person has at most one record. Records in excess of the people with their values have no person in the population.

    A list is a resource of people drawn from the population, such as a voter list; see `DrawnLists`.

    Raises
    ------
    InputError
        If the population has fractional counts, or a list cannot be drawn.
    """
    scenario, population, section = loaded.scenario, study.population, loaded.scenario.population
    assert population is not None and section is not None  # noqa: S101, PT018 # asked for where there are lists
    with locating(where="population.counts"):
        world = Individuals.from_population(population)
    sections = {name: scenario.resources[name] for name in scenario.lists}
    lists = lists_of_people(
        sections,
        People(
            {name: world.column(name).astype(np.int64) for name in world.domain.names},
            {attribute.name: attribute.categories for attribute in world.domain.attributes},
        ),
        loaded.folder,
        section.together,
        attributes=lambda name: sections[name].attributes,
        population=section.recipe or "",
    )
    for where, adversary in scenario.every_adversary.items() if scenario.agents is None else ():
        check_buyer(where.rpartition(".")[2], f"{where}.holds", adversary.holds or (), lists.buyers)
    person = _persons(population, study.lattice.codes, random_stream(scenario.seed, "lists", *_RECORDS))
    return DrawnLists(lists.draw(scenario.seed), person, lists.prices, lists.buyers)


def _persons(population: Population, codes: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a person of the population for each record, shape (n_records,).

    The person has the record's values; no person is drawn twice. The result has numbers of people, in the order of the
    population's cells, as in `Individuals.from_population`; -1 means no person, for records in excess of the people
    with their values.

    Parameters
    ----------
    population : Population
        Whole people, over the attributes of the records.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Category codes of the records.
    rng : numpy.random.Generator
    """
    counts, person = population.counts.astype(np.int64), np.full(len(codes), -1, dtype=np.int64)
    keys, wanted = keys_of_both(population.cells, codes)
    cell, ends = pd.Index(keys).get_indexer(pd.Index(wanted)), np.cumsum(counts)
    for each in np.unique(cell[cell >= 0]).tolist():
        rows, people = np.flatnonzero(cell == each), int(counts[each])
        chosen = rng.choice(people, min(len(rows), people), replace=False)
        person[rng.permutation(rows)[: len(chosen)]] = ends[each] - people + chosen
    return person

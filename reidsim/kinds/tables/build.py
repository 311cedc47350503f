"""Build the study of a table scenario, and the setting in which it is played in repeated rounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import DrawnLists, DrawnListsLinker, KnowledgeLinker
from reidsim.adversaries.response import Adversary
from reidsim.agents.profile import AdversaryProfile, Equip, Equipment, Holdings, PlannedReleases, Setting, Solve
from reidsim.core.bundled import bundled_folder
from reidsim.core.errors import InputError, listed, locating, refuse_first
from reidsim.core.randomness import random_stream
from reidsim.core.tables import numbers, read_table, require_columns
from reidsim.games.full_domain.class_table import require_part_of
from reidsim.games.full_domain.game import Prices
from reidsim.games.record_game import Linker
from reidsim.kinds.tables.release import (
    ReleasedRecords,
    coded_record,
    read_release,
    read_waves,
    released_keys,
    sensitive_attributes,
)
from reidsim.kinds.tables.schema import SafeHarborSection, TablesScenario, policy_named
from reidsim.kinds.tables.study import PRICES, ReleasedPeople, TablesStudy
from reidsim.linkage.group_sizes import SampledPeople
from reidsim.linkage.sensitive_values import SensitiveValues
from reidsim.linkage.uniqueness import SampleCells, fitting_model, weights_in
from reidsim.populations.population import Codes, Domain, Individuals, Population, distinct_rows, keys_of_both, row_keys
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies, StrategySpace
from reidsim.releases.m_invariance import counterfeits_of, forms_of_groups, m_invariant_groups
from reidsim.releases.safe_harbor import safe_harbor_strategies, zip3_population_of
from reidsim.scenarios.adversary_schema import AgentsSection, WeightedSection
from reidsim.scenarios.agents import (
    OWN_ADVERSARY,
    check_resources,
    economics_of,
    knowledge_held,
    linker_of,
    named,
    profile_of,
    rules_of,
    types_of,
    with_detection,
)
from reidsim.scenarios.hierarchies import Table, hierarchy_rows
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.resources import People, check_buyer, lists_of_people
from reidsim.scenarios.study import Keys

# Key of the random stream that draws the persons of records. Streams for lists use 0 and 1 as the first number.
_RECORDS = (2, 0, 0)
_BENEFIT = PRICES.index("benefit")
_RELEASED = "the released records"
# Largest number of cached equipments. A learning adversary expects a different accuracy in each round, so that the
# cache would otherwise grow with the rounds.
_MOST_MADE = 64


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
            return hierarchy_rows(hierarchy, loaded.folder, set(frame[name].astype("str").str.strip()), {name}, where)

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
        holds = None if scenario.population is None else scenario.population.holds_release
        if holds is None:
            # With "nobody", the scenario declares that some records have no person in the population.
            declared = any(attribute.unknown == "nobody" for attribute in scenario.attributes.values())
            holds = scenario.publisher.unit == "table" and not declared
        if records.population is not None and holds:
            of_people = GeneralizationLattice(records.hierarchies, people.cells, counted)
            require_part_of(of_people, people.counts.astype(np.int64), records.population, unit)
        harbor = None
        if scenario.safe_harbor is not None:
            harbor = _safe_harbor(scenario.safe_harbor, lattice, first, records.population or people)
            if persons is not None:
                # The least common generalization of the cells of each row set.
                harbor = persons.row_sets.combined(np.maximum, lattice.all_levels(harbor)) @ np.array(lattice.strides)
        study = TablesStudy(
            loaded,
            lattice,
            cell_of_record,
            kind,
            Prices(*kinds.T),
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


def _safe_harbor(
    section: SafeHarborSection, lattice: GeneralizationLattice, first: Keys, population: Population
) -> Strategies:
    """Return, for each cell, the least node that Safe Harbor accepts, shape (n_cells,).

    A cell is a combination of quasi-identifier values of records.

    Parameters
    ----------
    section : SafeHarborSection
    lattice : GeneralizationLattice
        Over the cells of the records.
    first : ndarray of int, shape (n_cells,)
        One record of each cell, to name its row in messages.
    population : Population
        People of each three-digit ZIP code area, if the section counts them there.
    """
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
    # Persons are numbered in the order of the population's cells, as in `Individuals.from_population`.
    counts, codes = population.counts.astype(np.int64), study.lattice.codes
    person, rng = np.full(len(codes), -1, dtype=np.int64), random_stream(scenario.seed, "lists", *_RECORDS)
    keys, wanted = keys_of_both(population.cells, codes)
    cell, ends = pd.Index(keys).get_indexer(pd.Index(wanted)), np.cumsum(counts)
    for each in np.unique(cell[cell >= 0]).tolist():
        rows, people = np.flatnonzero(cell == each), int(counts[each])
        chosen = rng.choice(people, min(len(rows), people), replace=False)
        person[rng.permutation(rows)[: len(chosen)]] = ends[each] - people + chosen
    return DrawnLists(lists.draw(scenario.seed), person, lists.prices, lists.buyers)


def _equip(study: TablesStudy, section: WeightedSection, planners: tuple[Adversary, Adversary]) -> Equip:
    """Return an `Equip`: a function that returns an adversary's linker and planner.

    Its arguments are the resources held, the accuracy that the adversary expects, and whether the publisher's beliefs
    apply; see `Equip`. The result of the function is None if the adversary needs resources and has none.

    Parameters
    ----------
    study : TablesStudy
        Study against this adversary alone, on the records of the participants.
    section : WeightedSection
        Settings of the adversary.
    planners : tuple of Adversary
        True planner, and the planner in which the publisher believes.
    """
    scenario, lattice, resources = study.scenario, study.lattice, study.scenario.resources

    @cache
    def by_resources(holds: Holdings, believed: bool) -> Linker:
        held = [name for name in resources if name in holds]
        if study.drawn is not None and resources[held[0]].is_list:
            guessed = believed and scenario.beliefs.lists == "coverage"
            return DrawnListsLinker(lattice, study.drawn, held, guessed=guessed)
        risk = scenario.planned_risk if believed else scenario.adversary.risk
        knowledge = knowledge_held(resources, holds, lattice.domain.names, lattice.n_records)
        return KnowledgeLinker(lattice, study.people(risk), knowledge)

    @lru_cache(_MOST_MADE)
    def equip(holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        if section.needs_resources and not holds:
            return None
        linker = by_resources(holds, believed) if section.needs_resources else study.own_linker(believed=believed)
        linker = linker_of(section, linker, expected_accuracy)
        return Equipment(*study.of_people(linker, planners[believed]))

    return equip


def setting_of(study: TablesStudy, agents: AgentsSection) -> Setting:
    """Return the `Setting` in which a study is played in repeated rounds.

    With one generalization for the table, or under prosecutor risk, records of data subjects who do not participate
    count neither in class sizes nor in the sum that the publisher maximizes.

    Parameters
    ----------
    study : TablesStudy
        Study on all records.
    agents : AgentsSection
        Rules of the rounds.

    Raises
    ------
    InputError
        If an adversary lacks a resource or cannot be used in rounds; see `profiles_of`. The error names the scenario
        file.
    """

    def among(setting: Setting, participants: NDArray[np.int64]) -> Setting:
        part = study.among(participants)
        return replace(setting, profiles=profiles_of(part, agents), solve=part.solve)

    def split(cells: Rows, participants: NDArray[np.int64]) -> tuple[StrategySpace, Solve]:
        part = study.split(cells, participants)
        return part.space, part.solve

    scenario, waves, releases = study.scenario, study.waves, dict[str, Any]()
    if waves is not None:
        releases = {"rounds": len(waves.labels), "schedule": waves.schedule, "waves": waves.labels}
    by_release = "prosecutor" in scenario.risks
    with locating(study.loaded.path):
        profiles = profiles_of(study, agents)
    return Setting(
        space=study.space,
        cell_of_subject=study.row_of_subject,
        benefit=study.of_cells(study.prices.benefit),
        loss=study.of_cells(study.prices.loss),
        believed_loss=study.of_cells(study.believed_prices.loss),
        profiles=profiles,
        solve=study.solve,
        is_fixed=lambda policy: policy_named(policy).is_rule,
        forbids_attacks=lambda policy: policy_named(policy).forbids_attacks,
        # Group sizes under journalist risk are counted in the population and do not depend on participation.
        among=among if scenario.publisher.unit == "table" or by_release else None,
        meet=study.lattice.meet,
        split=split,
        profiles_among=(lambda participants: profiles_of(study.among(participants), agents)) if by_release else None,
        seed=scenario.seed,
        reply_of=lambda policy: policy_named(policy).replies,
        **(rules_of(scenario, agents) | releases),
    )


def planned_releases(study: TablesStudy, policy: str) -> PlannedReleases:
    """Return the m-invariant releases of all waves, with counterfeit records.

    A wave is one of several successive releases. The result is a `PlannedReleases`: the generalization of each record
    in each wave, and the counterfeits that complete equivalence classes. `policy` is the name of the policy and has no
    effect, as only ``m-invariance`` plans all releases before the first round.

    Raises
    ------
    InputError
        If more than one in m of the new records of a wave have the same sensitive value, so that no groups exist.
    """
    waves, section = study.waves, study.scenario.releases
    assert waves is not None and waves.sensitive is not None and section is not None  # noqa: S101, PT018 - checked with the scenario
    codes = study.lattice.codes[study.cell_of_record]
    with locating(study.loaded.path):
        groupings = m_invariant_groups(waves.schedule, waves.sensitive, codes, section.m)
        forms = np.stack([forms_of_groups(each, study.lattice, study.cell_of_record) for each in groupings])
    first = np.unique(waves.sensitive, return_index=True)[1]
    made = [counterfeits_of(each, waves.sensitive) for each in groupings]
    added = [np.column_stack([np.full(len(like), wave), like, first[value]]) for wave, (like, value) in enumerate(made)]
    return PlannedReleases(forms, np.concatenate(added))


def profiles_of(study: TablesStudy, agents: AgentsSection) -> tuple[AdversaryProfile, ...]:
    """Return the `AdversaryProfile` of each adversary type in repeated rounds.

    Raises
    ------
    InputError
        If an adversary lacks a resource that it needs, names a resource that does not exist or that it may not have,
        combines drawn lists with other resources, or has inaccurate resources in sequential attacks; or if the records
        have different gains or costs that would apply to it.
    """
    scenario, drawn, lists, amounts = study.scenario, study.drawn, study.scenario.lists, dict[str, float]()
    types = types_of(scenario)
    for price in ("gain", "cost"):
        given = getattr(study.prices, price)
        amounts[price] = float(given.flat[0])
        for _, path, section in types:
            differs = getattr(section, price) is None and (given != given.flat[0]).any()
            problem = f"rounds of agents need the same {price} for all records"
            refuse_first((differs, problem, f"{path}.{price}", None, "an amount"))
    economics = scenario.economics.model_copy(update=amounts)
    alone = {each or OWN_ADVERSARY: against for each, against in study.each.items()}
    buyers = {name: section.buyers for name, section in scenario.resources.items() if section.buyers is not None}
    prices = {each: section.price or 0.0 for each, section in scenario.resources.items()}
    if drawn is not None:
        prices, buyers = {**prices, **drawn.prices}, {**buyers, **drawn.buyers}
    held = {name: each.scenario.adversary.holds or () for name, each in alone.items()}
    check_resources(scenario, scenario.resources, buyers, held)
    profiles = []
    for name, where, section in types:
        with named(None if None in study.owns else name):
            # Resources that the adversary holds become its equipment.
            adversary, equipped = with_detection(alone[name].scenario.adversary, agents), section.needs_resources
            own = alone[name].with_adversary(adversary.model_copy(update={"holds": ()} if equipped else {}))
            held_or_bought = (*(section.holds or ()), *section.buys)
            others = [each for each in held_or_bought if each not in lists]
            nothing, mixed = section.needs_resources and not held_or_bought, 0 < len(others) < len(held_or_bought)
            missing = "the adversary has no resource to attack with"
            problem = "drawn lists cannot be combined with other resources"
            expected = f"a `kind` for {next(iter(others), '')!r}, or none of {listed(lists)}"
            refuse_first(
                (nothing, missing, f"{where}.holds", [], "at least one resource in holds or buys"),
                (mixed, problem, where, listed(held_or_bought), expected),
            )
            both = (economics, own.scenario.beliefs.believed_economics(economics))
            sequential = own.scenario.adversary.plans_sequentially
            charged = [economics_of(section, each, agents, sequential=sequential) for each in both]
            true, believed = (own.planner(each.adversary_gain, each.cost) for each in charged)
            equip, planners = _equip(own, section, (true, believed)), zip(both, (true, believed), strict=True)
            profiles.append(profile_of(name, section, agents, equip, planners, prices))
    return tuple(profiles)

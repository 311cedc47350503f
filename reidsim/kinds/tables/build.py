"""Build the study of a table scenario and its setting of repeated rounds; evaluate files released from its records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.linkers import DrawnLists, DrawnListsLinker, KnowledgeLinker
from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, arrays_of, one_over
from reidsim.agents.profile import AdversaryProfile, Equip, Equipment, Holdings, PlannedReleases, Setting, Solve
from reidsim.audit.release import fitting_forms, people_in
from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among, require_distinct
from reidsim.core.files import bundled_folder, free_memory, require_memory
from reidsim.core.numerics import random_stream
from reidsim.core.rows import looked_up, occurrences
from reidsim.core.tables import numbers, read_table, refuse_other_spelling, require_columns, sniff_delimiter
from reidsim.core.wording import counted
from reidsim.games.composite import PeopleLattice
from reidsim.games.full_domain.class_table import require_part_of
from reidsim.games.outcomes import Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, Choice, FixedLinkage, Linker, Prices
from reidsim.kinds.tables.cells import ReleasedColumn, read_column
from reidsim.kinds.tables.claims import COLUMNS as CLAIMS
from reidsim.kinds.tables.claims import claims_about_people
from reidsim.kinds.tables.data_utility import DataUtility, by_policy, measures_of
from reidsim.kinds.tables.release import (
    ReleasedRecords,
    coded_record,
    columns_of_release,
    people_in_order,
    read_release,
    read_waves,
    sensitive_attributes,
)
from reidsim.kinds.tables.schema import SafeHarborSection, TablesScenario, policy_named
from reidsim.kinds.tables.study import PRICES, ReleasedPeople, TablesStudy
from reidsim.linkage.group_sizes import GroupSizes, SampledPeople
from reidsim.linkage.likelihood import joint_likelihood, match_rows
from reidsim.linkage.people import RowSets, SensitiveValues, distinct_people
from reidsim.linkage.uniqueness import SampleCells, fitting_model, weights_in
from reidsim.populations.population import (
    Codes,
    Domain,
    Individuals,
    Population,
    distinct_rows,
    keys_of_both,
    row_keys,
)
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies, StrategySpace
from reidsim.releases.noise import entropies
from reidsim.releases.protection import (
    counterfeits_of,
    forms_of_groups,
    m_invariant_groups,
    safe_harbor_strategies,
    zip3_population_of,
)
from reidsim.scenarios.adversary_schema import AgentsSection, Direction, Risk, WeightedSection, naming_adversary
from reidsim.scenarios.agents import (
    OWN_ADVERSARY,
    check_resources,
    economics_of,
    knowledge_held,
    linker_of,
    profile_of,
    rules_of,
    types_of,
    with_detection,
)
from reidsim.scenarios.hierarchies import Table, hierarchy_rows
from reidsim.scenarios.kind import Keys, PlayedFile, key_columns, keys_of_records, require_same
from reidsim.scenarios.resources import People, check_buyer, lists_of_people
from reidsim.scenarios.scenario import Scenario

# Key of the random stream that draws the persons of records. Streams for lists use 0 and 1 as the first number.
_RECORDS = (2, 0, 0)
_BENEFIT = PRICES.index("benefit")
_RELEASED = "the released records"
# Bytes of memory needed per row of a released file, and per value in it.
_OF_ROW, _OF_VALUE = 300, 17


def build_study(loaded: Scenario[Any], *, alone: bool = False) -> TablesStudy:
    """Read the data of a table scenario and return its `TablesStudy`.

    Parameters
    ----------
    loaded : Scenario
    alone : bool
        Whether the study is played only as it is, without changes of parameters, so that it may have fewer game rows;
        see `TablesStudy.by_suppressed_subject`.

    Raises
    ------
    InputError
        If a file, value or hierarchy cannot be used; if a minimum level does not exist; if a person's records differ in
        household, loss, gain, cost or weight; if a record has no person in a population that must contain all records;
        or if the lattice is too large for the search that the scenario needs.
    """
    scenario, study = loaded.scenario, _study_of_cells(loaded)
    with locating(loaded.path):
        perturbs = scenario.publisher.some_policy(lambda policy: policy.perturbs is not None)
        each_alone = scenario.lists or (scenario.looks_up and not alone)
        study = study.by_released_record() if perturbs else study.by_subject() if each_alone else study
        study = (replace(study, drawn=_drawn_lists(loaded, study)) if scenario.lists else study).equipped()
        return study.by_suppressed_subject() if scenario.looks_up and alone and not perturbs else study


def _study_of_cells(loaded: Scenario[Any]) -> TablesStudy:
    """Return the study by distinct record, without resources of adversaries; see `build_study`.

    The text and codes of a large file take much memory, which is free after this function.
    """
    scenario, section = loaded.scenario, loaded.scenario.release
    with locating(loaded.path):
        records = read_release(loaded)
        frame, source = records.frame, records.source
        given, amounts = _amounts(scenario, records)
        weights = None if section.weight is None else weights_in(frame, section.weight, source)
        if section.sampling_fraction is not None:
            weights = np.full(len(frame), 1 / section.sampling_fraction)
        # Numbers of the person and household of each record, from 0; None without a key.
        person, household = (
            None if key is None else keys_of_records(frame, key, source) for key in (section.person, section.household)
        )
        if person is not None:
            columns = {**dict(scenario.economics.columns), "household": section.household}
            same = {price: values for price, values in given.items() if price != "benefit"}
            for what, values in (same if household is None else same | {"household": household}).items():
                require_same(values, person, what, source, str(columns[what]))
            if weights is not None and section.weight is not None:
                require_same(
                    weights, person, "weight", source, section.weight, frame[list(key_columns(section.person))]
                )
            if scenario.changes_values and "prosecutor" in scenario.risks:
                # Each person is one candidate for a row, with one value of each quasi-identifier.
                for name, codes in zip(scenario.attributes, records.codes.T, strict=True):
                    what = f"{name}, but perturbation and noise need equal values"
                    require_same(codes[records.row], person, what, source, scenario.columns[name])

        def rows_of(name: str, hierarchy: Table) -> list[list[str]]:
            where = f"publisher.sensitive_hierarchies.{name}.file"
            return hierarchy_rows(hierarchy, loaded.folder, set(frame[name].astype("str").str.strip()), {name}, where)

        sensitive = sensitive_attributes(scenario.publisher, frame, source, rows_of)
        waves = read_waves(scenario.releases, records, person, sensitive) if scenario.releases is not None else None
        kinds, kind_of_row = _kinds(amounts)
        first, cell_of_row = distinct_rows([*records.codes.T, kind_of_row], len(frame))
        cell_of_record = looked_up(cell_of_row, records.row)
        counted = tuple(name for name, attribute in scenario.attributes.items() if attribute.in_loss)
        lattice = GeneralizationLattice(records.hierarchies, records.codes[first].astype(np.int32), counted)
        for (name, attribute), levels in zip(scenario.attributes.items(), lattice.shape, strict=True):
            where, found = f"attributes.{name}.minimum_level", attribute.minimum_level
            refuse_first((found >= levels, "no such level", where, found, f"at most {levels - 1}"))
        if scenario.figures.strategies is not None:
            coded_record(lattice.domain, scenario.figures.strategies, "figures.strategies")
        kind, persons, row_of_cell = kind_of_row[first], None, frame.index.to_numpy()[first]
        counts = occurrences(cell_of_record, len(first))
        people = Population.from_records(lattice.domain, lattice.codes, counts, name=_RELEASED)
        if person is not None:
            by_benefit = amounts[first, _BENEFIT] if "benefit" in given else None
            persons = ReleasedPeople.from_lattice(lattice, cell_of_record, person, by_benefit)
            people = persons.counted(_RELEASED)
            # The benefit of a person is the mean over the person's records; other amounts are equal in all of them.
            sets = persons.row_sets
            of_sets = amounts[first[sets.cells[sets.start[:-1]]]]
            if by_benefit is not None:
                of_sets[:, _BENEFIT] = sets.means(by_benefit)
            kinds, kind = _kinds(of_sets)
            household = None if household is None else household[np.unique(person, return_index=True)[1]]
        if records.population is not None and scenario.holds_release:
            of_people = GeneralizationLattice(records.hierarchies, people.cells, counted)
            unit = ("record", "records") if person is None else ("person of the release", "people of the release")
            require_part_of(of_people, people.counts.astype(np.int64), records.population, unit)
        study = TablesStudy(
            loaded,
            lattice,
            cell_of_record,
            kind,
            Prices(*kinds.T),
            records.population,
            people,
            _safe_harbor(scenario.safe_harbor, lattice, row_of_cell, records.population or people, persons),
            sampled=_sampled_people(scenario, lattice, cell_of_record, weights, person),
            persons=persons,
            household_of=household,
            waves=waves,
            sensitive=SensitiveValues(records.codes.astype(np.int32), sensitive, person) if sensitive else None,
            data_utility=_data_utility(scenario, records),
        )
        study.require_walkable()
        return study


def _data_utility(scenario: TablesScenario, records: ReleasedRecords) -> DataUtility | None:
    """Return the statistics of the records that section ``utility`` names; None without this section.

    Quasi-identifiers are named by attribute, other columns as in the file.

    Raises
    ------
    InputError
        If there is no such column, or as `DataUtility`.
    """
    section = scenario.utility
    if section is None:
        return None
    domain = Domain(tuple(hierarchy.attribute for hierarchy in records.hierarchies))
    quasi = domain.decode(records.codes).astype("str")
    others = records.frame.drop(columns=[*quasi, *scenario.columns.values()], errors="ignore")
    table = quasi.set_index(others.index).join(others)
    for key, columns in section.named.items():
        require_among("no such column", columns, table.columns, where=f"utility.{key}", shown=20)
    compared = section.columns or (*quasi, *key_columns(scenario.publisher.sensitive))
    needed = dict.fromkeys((*compared, *section.named["regression"], *section.named["classifier"]))
    tables = {hierarchy.attribute.name: hierarchy.table.to_numpy().tolist() for hierarchy in records.hierarchies}
    return DataUtility(table[list(needed)], section, tables, scenario.seed)


def _utility_of_file(
    study: TablesStudy, utility: DataUtility, frame: pd.DataFrame, record: Rows | None
) -> pd.DataFrame:
    """Return the statistics of a released file, as `DataUtility.compare`.

    A column that the file lacks counts as suppressed. `frame` has all columns of the file, as text, and `record` the
    record of each row; None for synthetic rows.
    """
    no_record = pd.RangeIndex(-1, -1 - len(frame), -1)
    frame = frame.set_axis(no_record if record is None else utility.original.index[record])
    places = {name: study.scenario.columns.get(name, name) for name in map(str, utility.original)}
    cells = {name: frame.get(name, frame.get(place, SUPPRESSED)) for name, place in places.items()}
    released = pd.DataFrame(cells, index=frame.index, dtype="str")
    values = {name: attribute.values for name, attribute in study.scenario.attributes.items() if name in released}
    return utility.compare(released.replace(values))


def _safe_harbor(
    section: SafeHarborSection | None,
    lattice: GeneralizationLattice,
    first: Keys,
    population: Population,
    persons: ReleasedPeople | None,
) -> Strategies | None:
    """Return the least node that Safe Harbor accepts for each game row, (n_rows,).

    The result is None if the scenario has no section ``safe_harbor``.

    Parameters
    ----------
    section : SafeHarborSection
    lattice : GeneralizationLattice
        Over the cells of the records.
    first : ndarray of int, shape (n_cells,)
        One record of each cell, to name its row in messages.
    population : Population
        Population in which the people of each three-digit ZIP code area are counted, if the section says so.
    persons : ReleasedPeople, optional
        If given, a game row is a row set (all records of a person), and its node has the highest levels of its records.
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
    nodes = safe_harbor_strategies(lattice, age=section.age, zip_code=section.zip, zip3_population=people, row_of=first)
    if persons is not None:
        # The least common generalization of the cells of each row set.
        nodes = persons.row_sets.combined(np.maximum, lattice.all_levels(nodes)) @ np.array(lattice.strides)
    return nodes


def _amounts(scenario: TablesScenario, records: ReleasedRecords) -> tuple[dict[str, Floats], Floats]:
    """Return payoff parameters from columns, and the parameters of each row of the records.

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
        All parameters of each row in the order of `PRICES`: benefit, loss, gain, cost.

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
    every = np.stack(np.broadcast_arrays(*(amounts[price] for price in PRICES)), axis=-1, dtype=np.float64)
    return given, np.broadcast_to(every, (len(records.codes), len(PRICES)))


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
    scenario: TablesScenario,
    lattice: GeneralizationLattice,
    cell_of_record: Keys,
    weights: Floats | None,
    person: Keys | None,
) -> SampledPeople | None:
    """Return the `SampledPeople` that the records represent; None without sample risk.

    They are estimated from the sampling weights or by a log-linear model; see ``release.estimator``. The result is also
    None without weights.

    Parameters
    ----------
    scenario : TablesScenario
    lattice : GeneralizationLattice
        Over the distinct records.
    cell_of_record : ndarray of int, shape (n_records,)
        Row of the lattice of each record.
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
    domain, codes = lattice.domain, lattice.codes[cell_of_record]
    if scenario.release.estimator == "benedetti-franconi":
        return SampledPeople.of_records(domain, codes, weights, name, person)
    occur, columns = zip(*(np.unique(column, return_inverse=True) for column in codes.T), strict=True)
    try:
        model = fitting_model(SampleCells.of_records(columns, weights)).everybody()
    except InputError as error:
        hint = 'estimator "benedetti-franconi" has no such limit, but may be inaccurate'
        raise error.but(where="release.estimator", hint=hint) from None
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
    values, rows = {name: world.column(name).astype(np.int64) for name in world.domain.names}, None
    if any(each.kind == "file" for each in sections.values()):
        # Persons are numbered in the order of the population's cells, but a file numbers them in their own order.
        keys, own = keys_of_both(population.cells, people_in_order(loaded, section, world.domain))
        rows = pd.Index(keys).get_indexer(pd.Index(own)).argsort(kind="stable")
    lists = lists_of_people(
        sections,
        People(values, {each.name: each.categories for each in world.domain.attributes}, rows=rows),
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

    # A learning adversary expects a different accuracy in each round, so that an unlimited cache would grow.
    @lru_cache(64)
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
    scenario, drawn, lists = study.scenario, study.drawn, study.scenario.lists
    types, amounts = types_of(scenario), {price: getattr(study.prices, price) for price in ("gain", "cost")}
    for (price, given), (_, path, section) in itertools.product(amounts.items(), types):
        problem = f"rounds of agents need the same {price} for all records"
        refuse_first((getattr(section, price) is None and np.ptp(given), problem, f"{path}.{price}", None, "an amount"))
    economics = scenario.economics.model_copy(update={price: float(given.flat[0]) for price, given in amounts.items()})
    alone = {each or OWN_ADVERSARY: against for each, against in study.each.items()}
    buyers = {name: section.buyers for name, section in scenario.resources.items() if section.buyers is not None}
    prices = {each: section.price or 0.0 for each, section in scenario.resources.items()}
    if drawn is not None:
        prices, buyers = {**prices, **drawn.prices}, {**buyers, **drawn.buyers}
    held = {name: each.scenario.adversary.holds or () for name, each in alone.items()}
    check_resources(scenario, scenario.resources, buyers, held)
    profiles = []
    for name, where, section in types:
        with naming_adversary(None if None in study.owns else name):
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


def play_released(
    study: TablesStudy,
    path: Path,
    key: str | None = None,
    control: Path | None = None,
    sensitive: Sequence[str] = (),
    *,
    synthetic: bool = False,
) -> PlayedFile:
    """Return the true outcome of a released file by data subject, claims about people, and statistics of the file.

    There is one note per attribute without a column in the file; these attributes count as suppressed. For the claims
    see `claims_about_people`.

    Parameters
    ----------
    study : TablesStudy
    path : Path
        Delimited text or Parquet, with a header.
    key : str, optional
        Column of the release and of the file that identifies the record of a row. Rows with equal keys are in the order
        of the records. Records with a key that is not in the file are withheld. By default, the file has one row per
        record, in the order of the release.
    control : Path, optional
        File of people who are not in the released file. Without it, the table of claims has no rows.
    sensitive : sequence of str
        Columns that an adversary infers; by default, those of ``publisher.sensitive`` in the file.
    synthetic : bool
        Whether no row belongs to a record.

    Raises
    ------
    InputError
        If a file cannot be read, its evaluation needs more memory than is free, it has no quasi-identifier, a cell
        cannot be parsed or is impossible given the value of its record, its rows cannot be matched, or a synthetic file
        has no control. The error names the file, and the row and column of a wrong cell.
    """
    alone = synthetic and control is None
    refuse_first(
        (
            alone,
            "synthetic rows need a control",
            "--control",
            None,
            "a file of people who are not in the released file",
        ),
        (synthetic and key, "synthetic rows belong to no record", "--key", key, "this option only without --synthetic"),
        (control is None and sensitive, "claims need a control", "--sensitive", listed(sensitive), "option --control"),
    )
    require_distinct("column named twice", sensitive, where="--sensitive")
    # Measure before the file is read, which reduces free memory.
    free = free_memory()
    frame = read_table(path, delimiter=sniff_delimiter(path))
    needed = len(frame) * (_OF_ROW + _OF_VALUE * frame.shape[1])
    require_memory(needed, "too large for memory", source=path, free=free)
    given = study.scenario.columns
    columns = {name: each for name, column in given.items() for each in (name, column) if each in frame}
    # A missing attribute counts as suppressed in every row.
    cells = {name: frame[columns[name]] if name in columns else SUPPRESSED for name in given}
    labels = pd.DataFrame(cells, index=frame.index, dtype="str")
    expected = f"some of {listed(given.values())}"
    with locating(path):
        refuse_first((not columns, "the file has no quasi-identifier", None, listed(frame.columns), expected))
        refuse_other_spelling(frame.columns, [given[name] for name in given if name not in columns])
        record = None if synthetic else _records_of(study, frame, key, path)
        found = _read_columns(study, labels, record, columns)
        file = None if record is None else ReleasedFile(study, record, found)
        played = None if file is None else file.play()
    claims, about_control = pd.DataFrame(columns=CLAIMS), tuple[str, ...]()
    if control is not None:
        sensitive = sensitive or [name for name in key_columns(study.scenario.publisher.sensitive) if name in frame]
        require_columns(frame, sensitive, path)
        known, expected = next((name for name in sensitive if name in columns.values()), None), "another column"
        refuse_first((known, "the adversary knows quasi-identifiers", "--sensitive", known, expected))
        claims, about_control = claims_about_people(study, frame, found, sensitive, control, played)
    statistics, measures = pd.DataFrame(), dict[str, float]()
    if study.data_utility is not None:
        compared = _utility_of_file(study, study.data_utility, frame, record)
        statistics, measures = by_policy({path.name: compared}), measures_of(compared)
    note = "the attribute counts as suppressed in every row"
    notes = [f"the file has no column for {name}: {note}" for name in given if name not in columns]
    scored = {*columns.values(), *sensitive, *key_columns(study.scenario.publisher.sensitive), key}
    if file is not None and study.scenario.looks_up and not file.is_of_hierarchies.all():
        notes.append(
            "some cells are no groups of the hierarchies: an adversary who looks people up weighs the rows of this "
            "file by likelihood, but counts the rows of the policies' releases, so that the risks are not comparable"
        )
    others = [name for name in frame if name not in scored]
    if others and not synthetic:
        unlike = int((~frame.duplicated(others, keep=False)).sum())
        problem = f"not scored, as if no adversary knew them: {listed(others)}"
        notes.append(f"{problem}; in these columns, {unlike:,} of {len(frame):,} rows have values of their own")
    return PlayedFile(played, claims, statistics, measures, (*notes, *about_control))


def _read_columns(
    study: TablesStudy, labels: pd.DataFrame, record: Rows | None, columns: dict[str, str]
) -> tuple[ReleasedColumn, ...]:
    """Parse the cells of a released file.

    Parameters
    ----------
    study : TablesStudy
    labels : DataFrame
        Text of the file, one column per attribute.
    record : ndarray of int, shape (n_rows,), optional
        The record of each row; None for synthetic rows.
    columns : dict of str to str
        Column of the file that holds each attribute.

    Raises
    ------
    InputError
        If a cell cannot be parsed, or is impossible given the value of its record. The error names row and column.
    """
    scenario, found = study.scenario, list[ReleasedColumn]()
    for place, hierarchy in enumerate(study.lattice.hierarchies):
        name, label = hierarchy.attribute.name, scenario.attributes[hierarchy.attribute.name].label
        own = None if record is None else study.lattice.codes[study.cell_of_record[record], place]
        noise = scenario.noise_of(name) if name in columns else "exact"
        cells = labels[name].rename(columns.get(name))
        found.append(read_column(cells, noise, hierarchy, own, label, study.loaded.folder))
    return tuple(found)


def _records_of(study: TablesStudy, frame: pd.DataFrame, key: str | None, path: Path) -> Rows:
    """Return the number of the record of each row of a file, shape (n_rows,).

    Without `key`, the rows are in the order of the records. Otherwise, the column `key` of both tables identifies the
    record, and rows with equal keys are in the order of the records.

    Parameters
    ----------
    study : TablesStudy
    frame : DataFrame
        All columns of the file, as text.
    key : str or None
        Column of the file and of the release.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the number of rows differs from the records (without `key`), a column is missing, a key is not in the release
        or in more rows than there, or a key has some but not all of its records.
    """
    if key is None:
        problem, n_rows = "the file does not have one row per record", counted(len(frame), "row")
        expected = f"{counted(study.n_records, 'record')}, or an identifier of the rows with --key COLUMN"
        refuse_first((len(frame) != study.n_records, problem, None, n_rows, expected))
        return np.arange(len(frame))
    require_columns(frame, [key], path)
    rows, records = frame[key].str.strip(), columns_of_release(study.loaded, {key: key})[key]
    # The place of a row among the rows with its key.
    wanted, places = (
        pd.MultiIndex.from_arrays([each, each.groupby(each, observed=True).cumcount()]) for each in (rows, records)
    )
    found = pd.Series(np.arange(len(records)), index=places).reindex(wanted).to_numpy()
    expected = "a key of the release, in at most as many rows as in the release"
    refuse_rows(np.isnan(found), "no such record", column=key, found=rows, expected=expected)
    of_key, in_release = rows.value_counts(), records.value_counts()
    fewer = of_key.index[(of_key < in_release.reindex(of_key.index)).to_numpy()]
    problem, all_rows = "the key has fewer rows than records in the release", in_release.get(next(iter(fewer), ""))
    expected = f"all {all_rows} rows of the key, or none, or another key"
    refuse_rows(rows.isin(fewer[:1]), problem, column=key, found=rows, expected=expected)
    return found.astype(np.intp)


@dataclass(frozen=True, eq=False)
class ReleasedFile:
    """Rows of a released file, matched to the records of a study.

    Parameters
    ----------
    study : TablesStudy
    record : ndarray of int, shape (n_rows,)
        The record of each row; records without a row are withheld.
    columns : tuple of ReleasedColumn
        The attributes of the file.
    """

    study: TablesStudy
    record: Rows
    columns: tuple[ReleasedColumn, ...]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Number of the label of each row and attribute, shape (n_rows, n_attributes)."""
        return np.column_stack([column.number for column in self.columns])

    @cached_property
    def is_of_hierarchies(self) -> NDArray[np.bool_]:
        """Whether all cells of a released row are groups of their hierarchies, (n_rows,).

        A cell is a value of the file. There is one entry per released row.
        """
        return np.asarray(np.all([column.levels[0][column.number] >= 0 for column in self.columns], axis=0))

    @property
    def is_perturbed(self) -> bool:
        """Whether a column has a model of noise."""
        return any((column.levels[1] < 0).any() for column in self.columns)

    def play(self) -> Equilibrium:
        """Return the true `Equilibrium` of the file by data subject, shape (n_subjects,).

        Raises
        ------
        InputError
            If an adversary links with more than the people who fit a row (it has knowledge, stages, a registry, lists,
            sample risk or gains from inference), and a row has cells that are not groups of the hierarchies, or people
            have several records.
        """
        study = self.study
        if study.persons is not None:
            return self._play_people(study.persons)
        keys = np.column_stack([study.cell_of_record[self.record], self.rows])
        kept = np.arange(len(keys))
        if not study.scenario.looks_up:
            keys, kept = np.unique(keys, axis=0, return_inverse=True)
        own, none = study.on_records(study.lattice.codes[keys[:, 0]], keys[:, 0]), np.zeros(len(keys), dtype=np.int64)
        utility, covering = self._utility(keys[:, 0], keys[:, 1:])
        if self.is_of_hierarchies.all():
            found = evaluate(own.truth, Choice(covering, "given", none, exact=False))
        else:
            intensity = study.lattice.generalization_intensity(covering)
            space = _as_released(utility, np.where(self.is_perturbed, np.nan, intensity))
            found = self._evaluate(own, space, keys)
        return _with_withheld(found, kept.ravel(), self.record, study.n_records)

    def _play_people(self, persons: ReleasedPeople) -> Equilibrium:
        """Return the `Equilibrium` by person if people have several records, (n_people,).

        `persons` has the person of each record. The rows of a person may have different generalizations. Utility and
        intensity are means over the person's records, the utility weighted by the records' benefits if they differ;
        records without a row are withheld, at intensity 1.
        """
        study, lattice, n = self.study, self.study.lattice, len(persons.set_of_person)
        order = np.argsort(persons.of_record[self.record], kind="stable")
        record, rows = self.record[order], self.rows[order]
        owner, cells = persons.of_record[record], study.cell_of_record[record]
        shared, begin, n_rows = np.unique(owner, return_index=True, return_counts=True)
        start, ones = np.append(begin, len(record)).astype(np.int64), np.ones(len(record), dtype=np.int64)
        row_sets = RowSets(start, np.arange(len(record)), ones, np.ones_like(n_rows))
        space = PeopleLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes, row_sets=row_sets)
        people = ReleasedPeople(np.repeat(np.arange(len(shared)), n_rows), np.arange(len(shared)), space)
        own = replace(study, persons=people, kind=study.kind[study.row_of_subject[shared]])
        utility, covering = self._utility(cells, rows)
        benefit = persons.space.benefit_of_cell
        weight = np.ones(study.n_records) if benefit is None else benefit[study.cell_of_record]
        weight = np.where(np.bincount(persons.of_record, weight, n)[persons.of_record] == 0, 1.0, weight)
        kept = np.bincount(owner, weight[record] * utility, n) / np.bincount(persons.of_record, weight, n)
        less = np.bincount(owner, 1.0 - lattice.generalization_intensity(covering), n)
        intensity = 1.0 - less / np.bincount(persons.of_record, minlength=n)
        lines = np.column_stack([cells, rows])
        intensity = np.where(self.is_perturbed, np.nan, intensity)
        found = self._evaluate(own, _as_released(kept[shared], intensity[shared]), lines)
        return _with_withheld(found, np.arange(len(shared)), shared, study.n_subjects)

    def _evaluate(self, study: TablesStudy, space: StrategySpace, lines: NDArray[np.int64]) -> Equilibrium:
        """Return the `Equilibrium` of released rows; adversaries link by likelihood.

        Parameters
        ----------
        study : TablesStudy
            Study whose game rows are the released rows, or the people who have them.
        space : StrategySpace
            Utility and intensity of each game row.
        lines : ndarray of int64, shape (n_rows, 1 + n_attributes)
            Cell of the record of each released row, and numbers of its labels.

        Raises
        ------
        InputError
            If an adversary links with more than the labels of a row.
        """
        supported, row = "rows of the scenario's hierarchies", int((~self.is_of_hierarchies).argmax())
        found = f"row {row + 1} of the released file"
        if study.persons is not None:
            supported, found = "files in which each record is a person", "release.person"
        expected = 'gains_from = "identity", without knowledge, stages, registry and sample risk'
        for name, each in study.each.items():
            # Sample risk has no estimate of the people in an arbitrary set of values.
            section, where = each.scenario.adversary, "adversary" if name is None else f"adversaries.{name}"
            wrong = not each.links_with_everybody or section.risk == "sample" or section.gains_from != "identity"
            refuse_first((wrong, f"this adversary is supported only for {supported}", where, found, expected))
        owner = study.row_sets.owner
        linked = cache(lambda risk, direction: FixedLinkage(self._linkage(risk, direction, lines, owner)))

        def by_likelihood(each: TablesStudy) -> Linker:
            return linked(each.scenario.adversary.risk, each.scenario.adversary.direction)

        game = study.game(space=space, linker_of=by_likelihood)
        none = np.zeros(space.n_records, dtype=np.int64)
        return evaluate(game, Choice(none, "given", none, exact=False))

    def _linkage(self, risk: Risk, direction: Direction, lines: NDArray[np.int64], owner: Rows) -> Linkage:
        """Return the linkage of released rows to the people of a risk.

        For `lines`, see `_evaluate`; `owner` has the game row of each released row.

        The adversary names one of the most probable people of a row, or one of the most probable rows of a person, or
        takes the direction with the higher probability. A believed group size is one over the probability that this is
        right, and a true group size one over the chance that it is. Without noise, both are the number of people who
        fit the row in direction "record". As in `GroupSizes`, a size is at least 1.
        """
        lattice, models = self.study.lattice, [column.model for column in self.columns]
        people, values = self.study.people(risk).marginal(lattice.domain.names), lattice.codes[lines[:, 0]]
        labels, counts_people = lines[:, 1:].astype(np.int32), self.study.persons is not None and not self.is_perturbed
        first, form = distinct_rows([*labels.T], len(labels))

        def fits(cells: Codes) -> scipy.sparse.csr_array:
            fitting = [[*map(np.flatnonzero, model > 0)] for model in models]
            shape = len(cells), len(first)
            return fitting_forms([*cells.T], [*labels[first].T], fitting, lattice.domain.shape, shape)

        several = distinct_people(people) if counts_people else None
        if several is not None:
            sizes = np.stack([people_in(fits(people.cells).T.tocsr(), several)[form].astype(np.float64)] * 2)
        else:
            match = GroupSizes(people, lattice).candidates.match(labels, models)
            own = joint_likelihood(labels, values, models)
            sizes = one_over(np.array([match.success(own), match.probability]))
        if direction != "record":
            if counts_people:
                one, cell = distinct_rows([*values.T], len(values))
                of_file = RowSets.from_rows(form, owner)[0]
                by_person = np.stack([people_in(fits(values[one]), of_file)[cell].astype(np.float64)] * 2)
            else:
                person = distinct_rows([owner, *values.T], len(lines))[1]
                row = match_rows(values, labels, models, match.total, person)
                right = row.success(own / match.total) / np.bincount(person)[person]
                by_person = one_over(np.array([np.bincount(person, right)[person], row.probability]))
            is_better = (direction == "person") | (by_person[1] < sizes[1] * (1 - INDIFFERENCE))
            sizes = np.where(is_better, by_person, sizes)
        true, believed = np.maximum(sizes, 1.0)
        return Linkage(true, believed, by_chance=several is None)

    def _utility(self, cells: Rows, rows: NDArray[np.int64]) -> tuple[Floats, Strategies]:
        """Return the utility of rows, (n_rows,), and the node that covers each, (n_rows,).

        The utility is one minus the information loss, in [0, 1]. The loss of a cell is the entropy of the true value
        given the label, if all values are equally probable beforehand, over the sum of the logarithms of the numbers of
        values. For a set of values without noise, this is the loss of a group of its size (Wan et al. 2015, Eqs. 1 to
        3). The node is the least lattice generalization whose groups contain the row's sets.

        Parameters
        ----------
        cells : ndarray of int, shape (n_rows,)
            Cell of the record of each row.
        rows : ndarray of int64, shape (n_rows, n_attributes)
            Number of the label of each row and attribute.
        """
        lattice = self.study.lattice
        loss = np.zeros(len(cells))
        for place, (column, full) in enumerate(zip(self.columns, lattice.entropies_of_full_loss, strict=True)):
            levels, values = column.levels[0][rows[:, place]], lattice.codes[cells, place]
            # A group of the hierarchy has the loss of its level, which is 0 at levels without cost.
            by_level = lattice.losses[place][np.maximum(levels, 0), values]
            loss += np.where(levels >= 0, by_level, entropies(column.model)[rows[:, place]] / full)
        lowest = [np.maximum(column.levels[1], 0)[rows[:, place]] for place, column in enumerate(self.columns)]
        around = np.stack(lowest, axis=1) @ np.array(lattice.strides, dtype=np.int64)
        return np.where(loss > 1.0 - 1e-12, 0.0, 1.0 - loss), around


def _as_released(utility: Floats, intensity: Floats) -> StrategySpace:
    """Return a strategy space with a single strategy, the rows as released.

    It has only the attributes that `evaluate` uses.

    Parameters
    ----------
    utility, intensity : ndarray of float64, shape (n_records,)
        Utility and generalization intensity of each row, in [0, 1].
    """
    space = SimpleNamespace(
        size=1,
        most_specific=0,
        n_records=len(utility),
        utility=lambda strategy, rows=None: utility if rows is None else utility[rows],
        generalization_intensity=lambda strategies: intensity,
    )
    return cast("StrategySpace", space)


def _with_withheld(found: Equilibrium, row_of: Rows, record: Rows, n_records: int) -> Equilibrium:
    """Return an `Equilibrium` of all records; records without a row are withheld.

    Parameters
    ----------
    found : Equilibrium
        Outcome of distinct rows.
    row_of : ndarray of int, shape (n_rows,)
        Index in `found` of each row of the file.
    record : ndarray of int, shape (n_rows,)
        Record (or person) of each row of the file.
    n_records : int
        Number of all records (or people).
    """
    rows = np.full(n_records, -1)
    rows[record] = row_of
    arrays: dict[str, Any] = {name: array[rows] for name, array in arrays_of(found).items()}
    for name, array in arrays.items():
        array[rows < 0] = {"strategies": WITHHELD, "generalization_intensity": 1, "frequency": 1}.get(name, 0)
    return replace(found, **arrays, exact=False, attempts=found.attempts and found.attempts.expand(rows))

"""Who and what of a scenario: its population, the records over the quasi-identifiers, their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError
from reidsim.populations.catalogue import load_population
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import complete_records
from reidsim.random_streams import random_stream
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, hierarchy_from_rows
from reidsim.releases.hierarchy_file import check_header
from reidsim.releases.hierarchy_rules import group_levels, interval_levels, prefix_levels, suppression_level
from reidsim.releases.records import code_records, records_of, redraw_top_code, select_columns
from reidsim.scenarios.given import given_population, given_table, table_rows
from reidsim.scenarios.hierarchy_schema import Groups, HierarchySection, Intervals, Prefix, Suppress, Table
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import AttributeSection, RecordScenario
from reidsim.tables import read_table


def read_release(loaded: LoadedScenario[RecordScenario]) -> tuple[Population | None, Codes, tuple[Hierarchy, ...]]:
    """Read the population, the records and their hierarchies.

    Returns
    -------
    population : Population or None
        As the scenario names it; it may have more attributes than the records.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Of the records over the quasi-identifiers, completed from the population.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier; they hold the domain.
    """
    scenario = loaded.scenario
    attributes = scenario.attributes
    population = _population(loaded)
    source, frame = _release_table(loaded)
    in_records = {name: a.column or name for name, a in attributes.items() if not a.draw}
    labels = select_columns(frame, in_records, {name: a.values for name, a in attributes.items()}, source)
    if population is None:
        domain = Domain(
            tuple(Attribute(name, _categories(name, a, labels[name], loaded)) for name, a in attributes.items())
        )
        codes = code_records(labels, domain, source, in_records)
        if any(attribute.top_code is not None for attribute in attributes.values()):
            raise InputError("top codes are redrawn from a population", where="population", expected="a recipe")
    else:
        for name in attributes:
            require_attribute(population, name)
        rng = random_stream(scenario.seed, "release")
        people = population.marginal(tuple(attributes))
        domain = people.domain
        codes = code_records(labels, domain, source, in_records)
        for name, attribute in attributes.items():
            if attribute.top_code is not None:
                codes = redraw_top_code(people, codes, name, attribute.top_code, rng)
        try:
            codes = complete_records(people, codes, rng)
        except InputError as error:
            raise error.located(source) from None
    hierarchies = tuple(
        hierarchy_of(domain[name], attribute.hierarchy, loaded.folder, f"attributes.{name}.hierarchy", loaded.given)
        for name, attribute in attributes.items()
    )
    return population, codes, hierarchies


def _population(loaded: LoadedScenario[RecordScenario]) -> Population | None:
    section = loaded.scenario.population
    if section is None:
        return None
    if section.recipe in loaded.given:
        return given_population(loaded.given, section.recipe)
    recipe = resolve(section.recipe, "populations", "population", base=loaded.folder)
    return load_population(recipe, counts=section.counts, seed=section.seed)


def require_attribute(population: Population, name: str) -> None:
    """Raise an error that names the key of an attribute if the population lacks it."""
    try:
        population.domain.position(name)
    except InputError as error:
        raise InputError(
            f"population {population.name!r} has no such attribute",
            where=f"attributes.{name}",
            expected=error.expected,
            hint=error.hint,
        ) from None


def _release_table(loaded: LoadedScenario[RecordScenario]) -> tuple[str | Path, pd.DataFrame]:
    section = loaded.scenario.release
    if section.path is not None and section.path in loaded.given:
        return section.path, given_table(loaded.given, section.path)
    if section.path is not None:
        path = data_file(section.path, loaded.folder, "scenarios")
        try:
            frame = read_adult(path) if section.format == "adult" else read_table(path, delimiter=section.delimiter)
        except InputError as error:
            # A file that cannot be used at all is told with the key that names it.
            raise error if error.where else error.located(where="release.path") from None
        return path, frame
    assert section.table is not None  # noqa: S101 - held by the schema, said for the type checker
    recipe = resolve(section.table, "populations", "population", base=loaded.folder)
    return section.table, records_of(load_population(recipe))


def columns_of_release(
    loaded: LoadedScenario[RecordScenario], columns: Mapping[str, str]
) -> tuple[str | Path, pd.DataFrame]:
    """Return where the records come from, and some of their columns by the names given to them, row by row.

    Raises
    ------
    InputError
        If a column is missing.
    """
    source, frame = _release_table(loaded)
    return source, select_columns(frame, columns, {}, source)


def _categories(
    name: str, attribute: AttributeSection, labels: pd.Series[str], loaded: LoadedScenario[RecordScenario]
) -> tuple[str, ...]:
    """Return the categories of an attribute without a population: its hierarchy file's, else those in the records."""
    if isinstance(attribute.hierarchy, Table):
        path = loaded.folder / attribute.hierarchy.file
        rows = table_rows(attribute.hierarchy, loaded.folder, loaded.given)
        try:
            check_header(rows, header=False, used=set(labels), names={name, attribute.column or name})
        except InputError as error:
            # This game has no key that tells of a header.
            raise InputError(
                error.problem, source=path, where=error.where, found=error.found, expected=error.expected,
                hint="take the header out of the file",
            ) from None  # fmt: skip
        return tuple(dict.fromkeys(row[0] for row in rows))
    return natural_categories(labels)


def hierarchy_of(
    attribute: Attribute, section: HierarchySection, folder: Path, where: str, given: Mapping[str, Any] | None = None
) -> Hierarchy:
    """Make the hierarchy that a scenario asks for at the key `where`."""
    try:
        if isinstance(section, Suppress):
            return Hierarchy.from_labels(attribute, [suppression_level(attribute)])
        if isinstance(section, Table):
            rows = table_rows(section, folder, given or {})
            if section.suppress:
                rows = [[*row, SUPPRESSED] for row in rows]
            try:
                return hierarchy_from_rows(attribute, rows, costless_levels=section.costless_levels)
            except InputError as error:
                raise error.located(folder / section.file) from None
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

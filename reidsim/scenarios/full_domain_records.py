"""Who and what of a scenario at dataset level: people, records, hierarchies, and prices that differ by record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.populations.catalogue import load_population
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import complete_records
from reidsim.random_streams import random_stream
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, hierarchy_from_rows
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.releases.records import records_of, redraw_top_code, select_columns
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.full_domain_schema import (
    FullDomainAttributeSection,
    FullDomainPopulationSection,
    FullDomainScenario,
    HierarchyFile,
)
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.records import hierarchy_of, require_attribute
from reidsim.tables import numbers, read_table, require_columns

Attributes = Mapping[str, FullDomainAttributeSection]


@dataclass(frozen=True, eq=False)
class ReleasedRecords:
    """What a scenario at dataset level reads.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_attributes)
        Of the records over the quasi-identifiers, completed from the population.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier; they hold the domain.
    population : Population or None
        Everybody, over the same domain.
    prices : dict of str to ndarray of float64, shape (n_records,)
        Amounts that the records bring themselves, by ``benefit``, ``loss``, ``gain`` or ``cost``.
    """

    codes: Codes
    hierarchies: tuple[Hierarchy, ...]
    population: Population | None
    prices: dict[str, Floats]


def read_full_domain(loaded: LoadedScenario[FullDomainScenario]) -> ReleasedRecords:
    """Read the records, the people, the hierarchies and the prices.

    Categories of an attribute are the rows of its hierarchy file, else those of the population, else the values that
    occur; the information loss counts them, whether they occur or not.

    Raises
    ------
    InputError
        If a file cannot be used, or a value has no place in its hierarchy: names the value, its row and the hierarchy.
    """
    scenario, attributes = loaded.scenario, loaded.scenario.attributes
    source, frame = _records(loaded)
    in_records = {name: a.column or name for name, a in attributes.items() if not a.draw}
    renamed = {name: a.values for name, a in attributes.items()}
    labels = select_columns(frame, in_records, renamed, source)
    people_source, people = _people(loaded, in_records)
    tables = {
        name: _hierarchy_rows(a.hierarchy, loaded.folder)
        for name, a in attributes.items()
        if isinstance(a.hierarchy, HierarchyFile)
    }
    domain = Domain(tuple(Attribute(name, _categories(name, tables, people, labels)) for name in attributes))
    population = None if people is None else _over(domain, people, people_source, attributes)
    codes = np.full((len(labels), len(attributes)), -1, dtype=np.int32)
    for position, (name, attribute) in enumerate(attributes.items()):
        if name in labels:
            codes[:, position] = _encode(domain[name], labels[name], source, in_records[name], attribute)
    if population is None:
        if any(attribute.top_code is not None for attribute in attributes.values()):
            raise InputError("top codes are redrawn from a population", where="population", expected="a recipe or path")
    else:
        codes = _completed(loaded, population, codes, source)
    hierarchies = tuple(
        _hierarchy(domain[name], a, tables.get(name), loaded.folder, f"attributes.{name}.hierarchy")
        for name, a in attributes.items()
    )
    prices: dict[str, Floats] = {}
    for price, column in scenario.economics.columns:
        if column is not None:
            require_columns(frame, [column], Path(source))
            prices[price] = np.asarray(numbers(frame, column, Path(source)), dtype=np.float64)
    return ReleasedRecords(codes, hierarchies, population, prices)


def _records(loaded: LoadedScenario[FullDomainScenario]) -> tuple[str | Path, pd.DataFrame]:
    section = loaded.scenario.release
    if section.path is None:
        assert section.table is not None  # noqa: S101 - held by the schema, said for the type checker
        recipe = resolve(section.table, "populations", "population", base=loaded.folder)
        return section.table, records_of(load_population(recipe))
    path = loaded.folder / section.path
    try:
        return path, read_adult(path) if section.format == "adult" else _delimited(loaded, path)
    except InputError as error:
        # A file that cannot be used at all is told with the key that names it.
        raise error if error.where else error.located(where="release.path") from None


def _delimited(loaded: LoadedScenario[FullDomainScenario], path: Path) -> pd.DataFrame:
    section = loaded.scenario.release
    frame = read_table(path, delimiter=section.delimiter, header=section.header)
    if not section.header:
        frame.columns = pd.Index([str(number) for number in range(1, frame.shape[1] + 1)])
    return frame


def _people(
    loaded: LoadedScenario[FullDomainScenario], columns: Mapping[str, str]
) -> tuple[str | Path, Population | None]:
    """Return everybody over the attributes, with the categories that the people themselves have."""
    section, attributes = loaded.scenario.population, loaded.scenario.attributes
    if section is None:
        return "", None
    if section.path is None:
        population = _recipe(section, loaded.folder)
        for name in attributes:
            require_attribute(population, name)
        return population.name, population.marginal(tuple(attributes))
    path = loaded.folder / section.path
    drawn = [name for name, attribute in attributes.items() if attribute.draw]
    in_people = {**columns, **{name: attributes[name].column or name for name in drawn}}
    try:
        frame = _delimited(loaded, path)
    except InputError as error:
        raise error if error.where else error.located(where="population.path") from None
    labels = select_columns(frame, in_people, {name: a.values for name, a in attributes.items()}, path)
    domain = Domain(tuple(Attribute(name, natural_categories(labels[name])) for name in attributes))
    return path, Population.from_records(domain, domain.encode(labels), name=path.name, source=str(path.name))


def _recipe(section: FullDomainPopulationSection, folder: Path) -> Population:
    assert section.recipe is not None  # noqa: S101 - held by the schema, said for the type checker
    recipe = resolve(section.recipe, "populations", "population", base=folder)
    return load_population(recipe, counts=section.counts, seed=section.seed)


def _hierarchy_rows(section: HierarchyFile, folder: Path) -> list[list[str]]:
    rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
    if section.header and len(rows) < 2:
        raise InputError("the file has no rows besides its header", source=folder / section.file)
    return rows[1:] if section.header else rows


def _categories(
    name: str, tables: Mapping[str, list[list[str]]], people: Population | None, labels: pd.DataFrame
) -> tuple[str, ...]:
    if name in tables:
        return tuple(dict.fromkeys(row[0] for row in tables[name]))
    return natural_categories(labels[name]) if people is None else people.domain[name].categories


def _over(domain: Domain, people: Population, source: str | Path, attributes: Attributes) -> Population:
    """Return the people over the categories of the hierarchies."""
    if people.domain == domain:
        return people
    codes = np.empty_like(people.cells)
    for position, attribute in enumerate(people.domain.attributes):
        categories = pd.Series(list(attribute.categories), dtype="str")
        occur = np.unique(people.cells[:, position])
        known = domain.attributes[position].labels.get_indexer(pd.Index(categories))
        if (known[occur] < 0).any():
            value = attribute.categories[int(occur[known[occur] < 0][0])]
            raise _no_place(value, source, f"attribute {attribute.name!r}", attributes[attribute.name])
        codes[:, position] = known[people.cells[:, position]]
    return Population.from_records(domain, codes, people.counts, name=people.name, source=people.source)


def _encode(
    attribute: Attribute, labels: pd.Series[str], source: str | Path, column: str, section: FullDomainAttributeSection
) -> Codes:
    try:
        return attribute.encode(labels, column)
    except InputError as error:
        if isinstance(section.hierarchy, HierarchyFile) and error.found is not None:
            raise _no_place(error.found, source, error.where or column, section) from None
        raise error.located(source) from None


def _no_place(value: object, source: str | Path, where: str, section: FullDomainAttributeSection) -> InputError:
    file = section.hierarchy.file if isinstance(section.hierarchy, HierarchyFile) else "its rule"
    return InputError(
        "value missing from its hierarchy", source=source, where=where, found=value, expected=f"a row for it in {file}"
    )


def _completed(
    loaded: LoadedScenario[FullDomainScenario], population: Population, codes: Codes, source: str | Path
) -> Codes:
    rng = random_stream(loaded.scenario.seed, "release")
    for name, attribute in loaded.scenario.attributes.items():
        if attribute.top_code is not None:
            codes = redraw_top_code(population, codes, name, attribute.top_code, rng)
    try:
        return complete_records(population, codes, rng)
    except InputError as error:
        raise error.located(source) from None


def _hierarchy(
    attribute: Attribute,
    section: FullDomainAttributeSection,
    rows: list[list[str]] | None,
    folder: Path,
    where: str,
) -> Hierarchy:
    if not isinstance(section.hierarchy, HierarchyFile) or rows is None:
        return hierarchy_of(attribute, section.hierarchy, folder, where)
    if section.hierarchy.suppress:
        rows = [[*row, SUPPRESSED] for row in rows]
    try:
        return hierarchy_from_rows(attribute, rows, costless_levels=section.hierarchy.costless_levels)
    except InputError as error:
        raise error.located(folder / section.hierarchy.file, where) from None

"""Build the hierarchies of a scenario's attributes from files or rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError, locating
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, hierarchy_from_rows, require_rows_of_values
from reidsim.releases.hierarchy_file import check_header, read_hierarchy_rows
from reidsim.releases.hierarchy_rules import suppression_level
from reidsim.scenarios.hierarchy_schema import GeneralizedSection, HierarchySection, Suppress, Table
from reidsim.scenarios.load import Scenario

Attributes = Mapping[str, GeneralizedSection]


def hierarchy_rows(name: str, attribute: GeneralizedSection, loaded: Scenario[Any], used: set[str]) -> list[list[str]]:
    """Return the rows of an attribute's hierarchy file, without its header.

    Parameters
    ----------
    name : str
        Name of the attribute.
    attribute : GeneralizedSection
    loaded : Scenario
    used : set of str
        Values that occur in the records or the population, to detect a wrong setting of ``header``.

    Raises
    ------
    InputError
        If the file cannot be used, or ``header`` does not agree with its first row.
    """
    section, folder = attribute.hierarchy, loaded.folder
    assert isinstance(section, Table)  # noqa: S101 - checked by the caller; for the type checker
    try:
        rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
        if section.header and len(rows) < 2:
            raise InputError("the file has no rows after its header")
        check_header(rows, header=section.header, used=used, names={name, attribute.column or name})
        rows, first = (rows[1:], 2) if section.header else (rows, 1)
        require_rows_of_values(rows, first_row=first)
    except InputError as error:
        # An error that names no row of the file names the key of the scenario.
        key = None if error.where else f"attributes.{name}.hierarchy.file"
        raise error.located(folder / section.file, key) from None
    return rows


def over_domain(domain: Domain, people: Population, attributes: Attributes) -> Population:
    """Return the population recoded to the categories of the hierarchies.

    It is returned unchanged if its domain is `domain`.

    Parameters
    ----------
    domain : Domain
        Attributes and categories of the hierarchies.
    people : Population
    attributes : mapping of str to GeneralizedSection
        Section of each attribute, for error messages.

    Raises
    ------
    InputError
        If a person has a value that its hierarchy lacks.
    """
    if people.domain == domain:
        return people
    codes = np.empty_like(people.cells)
    for position, attribute in enumerate(people.domain.attributes):
        categories = pd.Series(list(attribute.categories), dtype="str")
        occur = np.unique(people.cells[:, position])
        known = domain.attributes[position].labels.get_indexer(pd.Index(categories))
        if (known[occur] < 0).any():
            value = attribute.categories[int(occur[known[occur] < 0][0])]
            raise no_place(value, people.name, f"attribute {attribute.name!r}", attributes[attribute.name])
        codes[:, position] = known[people.cells[:, position]]
    return Population.from_records(domain, codes, people.counts, name=people.name, source=people.source)


def no_place(
    value: object, source: str | Path, where: str, section: GeneralizedSection, hint: str | None = None
) -> InputError:
    """Return the error about a value that is missing from its hierarchy.

    `source` and `where` locate the value, `section` is that of its attribute.
    """
    table = section.hierarchy if isinstance(section.hierarchy, Table) else None
    expected = "a value of the records or the population" if table is None else f"a row for the value in {table.file}"
    return InputError(
        "value missing from its hierarchy", source=source, where=where, found=value, expected=expected, hint=hint
    )


def hierarchy_of(
    attribute: Attribute, section: HierarchySection, folder: Path, where: str, rows: list[list[str]] | None = None
) -> Hierarchy:
    """Return the hierarchy of an attribute.

    Parameters
    ----------
    attribute : Attribute
    section : Suppress, Intervals, Prefix, Groups, Dates or Table
        Rule of the hierarchy.
    folder : Path
        Folder of the scenario, for error messages.
    where : str
        Key path of the section, for error messages.
    rows : list of list of str, optional
        Rows of the file; required if the section is a `Table`.
    """
    with locating(folder / section.file if isinstance(section, Table) else None, where):
        if isinstance(section, Suppress):
            return Hierarchy.from_labels(attribute, [suppression_level(attribute)])
        if isinstance(section, Table):
            assert rows is not None  # noqa: S101 - read before; for the type checker
            whole = [[*row, SUPPRESSED] for row in rows] if section.suppress else rows
            return hierarchy_from_rows(attribute, whole, costless_levels=section.costless_levels)
        levels = section.levels_of(attribute)
        if section.suppress:
            levels.append(suppression_level(attribute))
        return Hierarchy.from_labels(attribute, levels, costless_levels=section.costless_levels)

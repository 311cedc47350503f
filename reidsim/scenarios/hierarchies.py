"""Hierarchies of a scenario's attributes: read from files or made by rules, over the categories of the attributes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError, locating
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.calendar import date_levels
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, hierarchy_from_rows, require_rows_of_values
from reidsim.releases.hierarchy_file import check_header
from reidsim.releases.hierarchy_rules import group_levels, interval_levels, prefix_levels, suppression_level
from reidsim.scenarios.given import table_rows
from reidsim.scenarios.hierarchy_schema import (
    Dates,
    GeneralizedSection,
    Groups,
    HierarchySection,
    Intervals,
    Prefix,
    Suppress,
    Table,
)
from reidsim.scenarios.load import LoadedScenario

Attributes = Mapping[str, GeneralizedSection]


def hierarchy_rows(
    name: str, attribute: GeneralizedSection, loaded: LoadedScenario[Any], used: set[str]
) -> list[list[str]]:
    """Return the rows of the hierarchy file of an attribute, given the values that records and people have.

    Raises
    ------
    InputError
        If the file cannot be used, or its first row is a header where it should be none, or the reverse.
    """
    section, folder = attribute.hierarchy, loaded.folder
    assert isinstance(section, Table)  # noqa: S101 - held by the caller, said for the type checker
    try:
        rows = table_rows(section, folder, loaded.given)
        if section.header and len(rows) < 2:
            raise InputError("the file has no rows besides its header")
        check_header(rows, header=section.header, used=used, names={name, attribute.column or name})
        rows, first = (rows[1:], 2) if section.header else (rows, 1)
        require_rows_of_values(rows, first_row=first)
    except InputError as error:
        # Errors without a row name the key.
        key = None if error.where else f"attributes.{name}.hierarchy.file"
        raise error.located(folder / section.file, key) from None
    return rows


def over_domain(domain: Domain, people: Population, attributes: Attributes) -> Population:
    """Return the people over the categories of the hierarchies.

    Raises
    ------
    InputError
        If somebody has a value that its hierarchy does not.
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
    """Return the error about a value that its hierarchy lacks: the file, or the values of records and population."""
    table = section.hierarchy if isinstance(section.hierarchy, Table) else None
    expected = "a value of the records or the population" if table is None else f"a row for it in {table.file}"
    return InputError(
        "value missing from its hierarchy", source=source, where=where, found=value, expected=expected, hint=hint
    )


def hierarchy_of(
    attribute: Attribute, section: HierarchySection, folder: Path, where: str, rows: list[list[str]] | None = None
) -> Hierarchy:
    """Make the hierarchy that a scenario asks for at the key `where`, of the rows of its file if it has one."""
    with locating(folder / section.file if isinstance(section, Table) else None, where):
        if isinstance(section, Suppress):
            return Hierarchy.from_labels(attribute, [suppression_level(attribute)])
        if isinstance(section, Table):
            assert rows is not None  # noqa: S101 - as read before, said for the type checker
            whole = [[*row, SUPPRESSED] for row in rows] if section.suppress else rows
            return hierarchy_from_rows(attribute, whole, costless_levels=section.costless_levels)
        levels = _ruled_levels(attribute, section)
        if section.suppress:
            levels.append(suppression_level(attribute))
        return Hierarchy.from_labels(attribute, levels, costless_levels=section.costless_levels)


def _ruled_levels(attribute: Attribute, section: Intervals | Prefix | Groups | Dates) -> list[list[str]]:
    if isinstance(section, Intervals):
        return interval_levels(
            attribute, section.widths, start=section.start, absorb_remainder=section.absorb_remainder
        )
    if isinstance(section, Prefix):
        return prefix_levels(attribute, section.digits, pool=section.pool)
    if isinstance(section, Dates):
        return date_levels(attribute, section.levels)
    return group_levels(attribute, section.groups)

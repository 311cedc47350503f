"""Hierarchies of attributes: the schema of their rules, and their construction from rules or files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from reidsim.errors import InputError, locating
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.calendar import date_levels
from reidsim.releases.hierarchy import (
    SUPPRESSED,
    Hierarchy,
    check_header,
    hierarchy_from_rows,
    read_hierarchy_rows,
    require_rows_of_values,
)
from reidsim.releases.hierarchy_rules import group_levels, interval_levels, prefix_levels, suppression_level
from reidsim.scenarios.amounts import Delimiter
from reidsim.scenarios.load import Scenario
from reidsim.validation import Section


class Suppress(Section):
    """A hierarchy with two levels: the value and its suppression.

    Attributes
    ----------
    rule
        rule with two levels: the value and `*`
    """

    rule: Literal["suppress"]


class LevelsWithTop(Section):
    """Keys shared by rules with several levels.

    Attributes
    ----------
    suppress
        whether the last level replaces all values by `*`
    costless_levels
        levels, counted from 1, without information loss
    """

    suppress: bool = True
    costless_levels: tuple[int, ...] = ()


class Intervals(LevelsWithTop):
    """Generalization of whole numbers to intervals of growing width.

    Attributes
    ----------
    rule
        rule for whole numbers, generalized to intervals; categories may end in `+`, as in `90+`
    widths
        width of the intervals at each level, each a multiple of the previous width
    start
        lower bound of the first interval; default: the smallest category
    absorb_remainder
        whether the last full interval includes the values that remain after it
    """

    rule: Literal["intervals"]
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(min_length=1)
    start: int | None = None
    absorb_remainder: bool = True

    def levels_of(self, attribute: Attribute) -> list[list[str]]:
        """Return the label of each category at each level."""
        return interval_levels(attribute, self.widths, start=self.start, absorb_remainder=self.absorb_remainder)


class Prefix(LevelsWithTop):
    """Generalization of codes, such as postal codes, to shorter prefixes.

    Attributes
    ----------
    rule
        rule for codes of one length, generalized to shorter prefixes
    digits
        number of characters kept at each level, decreasing
    pool
        prefixes, all of one length, whose codes are combined into one group
    """

    rule: Literal["prefix"]
    digits: tuple[int, ...] = Field(min_length=1)
    pool: tuple[str, ...] = ()

    def levels_of(self, attribute: Attribute) -> list[list[str]]:
        """Return the label of each category at each level."""
        return prefix_levels(attribute, self.digits, pool=self.pool)


class Groups(LevelsWithTop):
    """Generalization of categories to the groups listed for each level.

    Attributes
    ----------
    rule
        rule for categories, generalized to listed groups
    groups
        groups of categories at each level; a category without a group keeps its label
    """

    rule: Literal["groups"]
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(min_length=1)

    def levels_of(self, attribute: Attribute) -> list[list[str]]:
        """Return the label of each category at each level."""
        return group_levels(attribute, self.groups)


class Dates(LevelsWithTop):
    """Generalization of dates to months, years or several years.

    Attributes
    ----------
    rule
        rule for dates in a column read as `"date"`, generalized by the calendar; other values share one group
    levels
        period at each level: `"month"`, `"year"` or a number of years such as `"5 years"`, each a multiple of the
        previous one
    """

    rule: Literal["dates"]
    levels: tuple[str, ...] = Field(min_length=1)

    def levels_of(self, attribute: Attribute) -> list[list[str]]:
        """Return the label of each category at each level."""
        return date_levels(attribute, self.levels)


class Table(LevelsWithTop):
    """A hierarchy in a file with one row per value and one column per level.

    Attributes
    ----------
    rule
        rule in a file in the format of ARX: one row per value, one column per level
    file
        path of the hierarchy file
    delimiter
        column separator of the hierarchy file
    header
        whether the first row contains names of levels
    suppress
        whether to add a last level that replaces all values by `*`
    """

    rule: Literal["table"]
    file: str
    delimiter: Delimiter = ";"
    header: bool = False
    suppress: bool = False


HierarchySection = Annotated[Suppress | Intervals | Prefix | Groups | Dates | Table, Field(discriminator="rule")]


class GeneralizedSection(Section):
    """A quasi-identifier: its column in the records and its hierarchy.

    Attributes
    ----------
    hierarchy
        generalization hierarchy of the values, defined by a `rule`
    column
        column of the records; default: the attribute's name
    """

    hierarchy: HierarchySection
    column: str | None = None


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


def over_domain(domain: Domain, people: Population, attributes: Mapping[str, GeneralizedSection]) -> Population:
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
    problem, expected = "value missing from its hierarchy", "a value of the records or the population"
    if isinstance(section.hierarchy, Table):
        expected = f"a row for the value in {section.hierarchy.file}"
    return InputError(problem, source=source, where=where, found=value, expected=expected, hint=hint)


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
        if isinstance(section, Table):
            assert rows is not None  # noqa: S101 - read before; for the type checker
            whole = [[*row, SUPPRESSED] for row in rows] if section.suppress else rows
            return hierarchy_from_rows(attribute, whole, costless_levels=section.costless_levels)
        own = [] if isinstance(section, Suppress) else section.levels_of(attribute)
        top = [suppression_level(attribute)] if isinstance(section, Suppress) or section.suppress else []
        return Hierarchy.from_labels(attribute, [*own, *top], costless_levels=getattr(section, "costless_levels", ()))

"""Schema of hierarchies: the generalization of an attribute's values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.populations.domain import Attribute
from reidsim.releases.calendar import date_levels
from reidsim.releases.hierarchy_rules import group_levels, interval_levels, prefix_levels
from reidsim.scenarios.amounts import Delimiter
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

"""Schema of hierarchies: the generalization of an attribute's values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.scenarios.amounts import Delimiter
from reidsim.validation import Section


class Suppress(Section):
    """A hierarchy with two levels: the value and its suppression."""

    rule: Literal["suppress"] = Field(description="rule with two levels: the value and `*`")


class LevelsWithTop(Section):
    """Keys shared by rules with several levels."""

    suppress: bool = Field(default=True, description="whether the last level replaces all values by `*`")
    costless_levels: tuple[int, ...] = Field(default=(), description="levels, counted from 1, without information loss")


class Intervals(LevelsWithTop):
    """Generalization of whole numbers to intervals of growing width."""

    rule: Literal["intervals"] = Field(
        description="rule for whole numbers, generalized to intervals; categories may end in `+`, as in `90+`"
    )
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        min_length=1, description="width of the intervals at each level, each a multiple of the previous width"
    )
    start: int | None = Field(
        default=None, description="lower bound of the first interval; default: the smallest category"
    )
    absorb_remainder: bool = Field(
        default=True, description="whether the last full interval includes the values that remain after it"
    )


class Prefix(LevelsWithTop):
    """Generalization of codes, such as postal codes, to shorter prefixes."""

    rule: Literal["prefix"] = Field(description="rule for codes of one length, generalized to shorter prefixes")
    digits: tuple[int, ...] = Field(min_length=1, description="number of characters kept at each level, decreasing")
    pool: tuple[str, ...] = Field(
        default=(), description="prefixes, all of one length, whose codes are combined into one group"
    )


class Groups(LevelsWithTop):
    """Generalization of categories to the groups listed for each level."""

    rule: Literal["groups"] = Field(description="rule for categories, generalized to listed groups")
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(
        min_length=1,
        description="groups of categories at each level; a category without a group keeps its label",
    )


class Dates(LevelsWithTop):
    """Generalization of dates to months, years or several years."""

    rule: Literal["dates"] = Field(
        description='rule for dates in a column read as `"date"`, generalized by the calendar; other values '
        "share one group"
    )
    levels: tuple[str, ...] = Field(
        min_length=1,
        description='period at each level: `"month"`, `"year"` or a number of years such as `"5 years"`, each '
        "a multiple of the previous one",
    )


class Table(LevelsWithTop):
    """A hierarchy in a file with one row per value and one column per level."""

    rule: Literal["table"] = Field(
        description="rule in a file in the format of ARX: one row per value, one column per level"
    )
    file: str = Field(description="path of the hierarchy file")
    delimiter: Delimiter = Field(default=";", description="column separator of the hierarchy file")
    header: bool = Field(default=False, description="whether the first row contains names of levels")
    suppress: bool = Field(default=False, description="whether to add a last level that replaces all values by `*`")


HierarchySection = Annotated[Suppress | Intervals | Prefix | Groups | Dates | Table, Field(discriminator="rule")]


class GeneralizedSection(Section):
    """A quasi-identifier: its column in the records and its hierarchy."""

    hierarchy: HierarchySection = Field(description="generalization hierarchy of the values, defined by a `rule`")
    column: str | None = Field(default=None, description="column of the records; default: the attribute's name")

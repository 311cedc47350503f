"""Schema of hierarchies: the generalization of an attribute's values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.scenarios.amounts import Delimiter
from reidsim.validation import Section


class Suppress(Section):
    """A hierarchy with two levels: the value and its suppression."""

    rule: Literal["suppress"] = Field(description="two levels: the value and `*`")


class LevelsWithTop(Section):
    """Keys shared by rules with several levels."""

    suppress: bool = Field(default=True, description="end with a level of `*`")
    costless_levels: tuple[int, ...] = Field(default=(), description="levels, from 1, that cost no information loss")


class Intervals(LevelsWithTop):
    """Generalization of whole numbers to intervals of growing width."""

    rule: Literal["intervals"] = Field(
        description="whole numbers by intervals; a trailing `+`, as in `90+`, is allowed"
    )
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        min_length=1, description="width at each level, each a multiple of the one before"
    )
    start: int | None = Field(
        default=None, description="where the first interval begins; the smallest category if not given"
    )
    absorb_remainder: bool = Field(default=True, description="the last full interval includes the remaining values")


class Prefix(LevelsWithTop):
    """Generalization of codes, such as postal codes, to shorter prefixes."""

    rule: Literal["prefix"] = Field(description="codes of one length by ever shorter prefixes")
    digits: tuple[int, ...] = Field(min_length=1, description="characters kept at each level, decreasing")
    pool: tuple[str, ...] = Field(default=(), description="prefixes of one length whose codes form one group")


class Groups(LevelsWithTop):
    """Generalization of categories to the groups listed for each level."""

    rule: Literal["groups"] = Field(description="categories by listed groups")
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(
        min_length=1,
        description="groups of categories, per level; others keep their label",
    )


class Dates(LevelsWithTop):
    """Generalization of dates to months, years or several years."""

    rule: Literal["dates"] = Field(
        description='days by the calendar, of a column read as `"date"`; other values share one group'
    )
    levels: tuple[str, ...] = Field(
        min_length=1,
        description='`"month"`, `"year"` or a number of years such as `"5 years"`, each a multiple of the one before',
    )


class Table(LevelsWithTop):
    """A hierarchy in a file with one row per value and one column per level."""

    rule: Literal["table"] = Field(description="a file as ARX writes it: one row per value, one column per level")
    file: str = Field(description="path of the file")
    delimiter: Delimiter = Field(default=";", description="between columns")
    header: bool = Field(default=False, description="whether the first row names the levels")
    suppress: bool = Field(default=False, description="add a level of `*`")


HierarchySection = Annotated[Suppress | Intervals | Prefix | Groups | Dates | Table, Field(discriminator="rule")]


class GeneralizedSection(Section):
    """A quasi-identifier: its column in the records and its hierarchy."""

    hierarchy: HierarchySection = Field(description="how values are generalized, by a `rule`")
    column: str | None = Field(default=None, description="column of the records; the attribute's name if not given")

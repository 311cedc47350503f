"""The schema of recipes of kind ``attribute-model``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed
from reidsim.populations.recipe import Delimiter, RecipeHead, Seed, Share
from reidsim.populations.value_groups import Groups, Members
from reidsim.validation import Section

Shares = Annotated[dict[str, Share], Field(min_length=1)]


class ShareTable(Section):
    """A CSV file of shares or counts of an attribute's values.

    It has one row per value and combination of values or groups of the given attributes.
    """

    file: str = Field(description="CSV file with one row per value and combination of given values or groups")
    delimiter: Delimiter = Field(default=",", description="column separator of a CSV file")
    encoding: str = Field(default="utf-8", description="character encoding of a CSV file, such as `latin-1`")
    where: dict[str, str] = Field(
        default={}, description="text that a column must have for the row to be read, by column"
    )
    value: str = Field(description="column with the values of the attribute")
    count: str | None = Field(default=None, description="column with counts")
    share: str | None = Field(default=None, description="column with shares")
    columns: dict[str, str] = Field(
        default={}, description="column of the file, by given attribute; default: the attribute's name"
    )

    @model_validator(mode="after")
    def _has_one_column_of_figures(self) -> ShareTable:
        if (self.count is None) == (self.share is None):
            raise InputError(
                "the column of counts or shares is missing or given twice", expected="either count or share"
            )
        return self


class AttributeRecipe(Section):
    """One attribute: its values and their shares, given in one of four ways."""

    name: str = Field(min_length=1, description="name of the attribute")
    source: str = Field(default="", description="origin of the shares")
    shares: Shares | None = Field(default=None, description="share of people with each value, with a sum of 1")
    shares_by: dict[str, Shares] | None = Field(
        default=None,
        min_length=1,
        description="share of people with each value, for each value or group of the given attribute; each sum is 1",
    )
    table: ShareTable | None = Field(default=None, description="shares or counts in a CSV file")
    uniform: Members | None = Field(
        default=None,
        description='list of equally likely values, or a range such as `"1..12"`',
    )
    given: tuple[str, ...] = Field(default=(), description="earlier attributes on which the shares depend")
    grouped: dict[str, str] = Field(default={}, description="grouping of the values of a given attribute, by attribute")

    @model_validator(mode="after")
    def _has_shares_in_one_way(self) -> AttributeRecipe:
        ways = [way for way in ("shares", "shares_by", "table", "uniform") if getattr(self, way) is not None]
        given = list(self.given)
        if len(ways) != 1:
            problem, expected = (
                "the shares of the attribute are missing or given twice",
                "one of shares, shares_by, table, uniform",
            )
            raise InputError(problem, where=self.name, found=listed(ways) or "none", expected=expected)
        if self.shares_by is not None and len(given) != 1:
            raise InputError(
                "shares_by needs one given attribute", where=self.name, found=given, expected="one attribute"
            )
        if given and self.shares_by is None and self.table is None:
            problem, found = "shares and uniform cannot depend on other attributes", f"given = {given}"
            raise InputError(problem, where=self.name, found=found, expected="shares_by or table")
        if len(set(self.given)) != len(self.given):
            raise InputError("attribute named twice", where=f"{self.name}.given", found=list(self.given))
        return self


class AttributeModelRecipe(RecipeHead):
    """Recipe of people whose attributes are drawn one after the other.

    The shares of an attribute's values can depend on earlier attributes. Each attribute has exactly one of ``shares``,
    ``shares_by``, ``table`` and ``uniform``. A table has exactly one of ``count`` and ``share``; a missing combination
    in the table is an error.
    """

    kind: Literal["attribute-model"] = Field(description="kind of recipe")
    people: Annotated[int, Field(gt=0, lt=2**53)] = Field(description="number of people")
    seed: Seed = Field(description="seed of the random draw")
    groupings: dict[str, Annotated[Groups, Field(min_length=1)]] = Field(
        default={},
        description='groups of each grouping and the values in each group: values, ranges such as `"18..24"` '
        'or `"75.."`, or `"otherwise"` for all remaining values',
    )
    fixed_shares: dict[str, Shares] = Field(
        default={},
        description="share that replaces the share of a value, by attribute and value; the other values keep "
        "their proportions",
    )
    attribute: tuple[AttributeRecipe, ...] = Field(
        min_length=1, description="attributes in the order in which they are drawn"
    )

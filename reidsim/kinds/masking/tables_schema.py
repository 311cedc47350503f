"""The tables of a scenario of the masking game: who is in them, and what the adversary holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, require_distinct
from reidsim.scenarios.adversary_schema import Share
from reidsim.scenarios.resource_schema import (
    DrawnResourceSection,
    Together,
)
from reidsim.validation import Section

Years = Annotated[int, Field(ge=1)]


class PeopleSection(Section):
    """The people from whom targets and resources are drawn."""

    recipe: str = Field(description="name of a bundled population, or path of a recipe, that lists people")
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the population; the recipe's own if not given"
    )
    generations: Years | None = Field(
        default=None, description="of a genealogy: men of the last so many; everybody if not given"
    )
    women: bool = Field(default=False, description="with `generations`: also the women, of whom no alleles are known")
    reference_year: int | None = Field(
        default=None, description="gives people an `age`, counted from their `birth_year`"
    )
    together: Together = Field(
        default=0.0,
        description=(
            "correlation of list memberships (Gaussian copula): one for all, or list = { list = correlation }"
        ),
    )

    @model_validator(mode="after")
    def _of_generations(self) -> PeopleSection:
        if self.women and self.generations is None:
            raise InputError("without generations everybody is there", where="women", expected="it with generations")
        return self


class TableSection(Section):
    """Who is in a table: drawn from the people, or the rows of a file."""

    size: Annotated[int, Field(ge=1)] | None = Field(default=None, description="people drawn")
    file: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="CSV or Parquet file instead")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="between columns of a CSV file")
    columns: dict[str, str] = Field(default={}, description="attribute = column of the file, where the names differ")

    @model_validator(mode="after")
    def _one_origin(self) -> TableSection:
        self.check_origin()
        return self

    def check_origin(self) -> None:
        """Check that one key says who is in the table.

        Raises
        ------
        InputError
        """
        if (self.size is None) == (self.file is None):
            raise InputError("nobody is in the table, or two say who", expected="either size or file")


class TargetsSection(TableSection):
    """The subjects: who shares a record."""

    person: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="column that identifies the person, without repeated values",
    )

    @model_validator(mode="after")
    def _keyed_file(self) -> TargetsSection:
        if self.person is not None and self.file is None:
            raise InputError("subjects who are drawn have no key", where="person", found=self.person, expected="a file")
        return self


class ResourceSection(DrawnResourceSection, TableSection):
    """A table that the adversary holds: a list drawn from the people if it has a `kind`, else a sample or a file."""

    holds: Literal["targets", "others", "anyone"] = Field(
        default="anyone",
        description="all subjects and more people, nobody of another such table, or people at random; in a file, "
        '`"targets"` is checked',
    )
    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that it carries")
    missing_alleles: Share | None = Field(
        default=None,
        description="share of unknown alleles; 0 if not given, 0.3 of a genealogy",
    )
    count: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="column with the number of people of each row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> ResourceSection:
        if self.kind == "file":
            if self.file is None or self.size is not None:
                raise InputError("rows of the list come from a file", where="file", expected="it, and no size")
        elif self.kind is None:
            self.check_origin()
            if self.coverage is not None:
                raise InputError("only a list drawn from the people has it", where="coverage", expected="a `kind`")
        elif self.file is not None:
            raise InputError("list that is drawn", where="file", found=self.file, expected='it with kind = "file"')
        return self

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        if self.is_list:
            if "holds" in self.model_fields_set:
                expected = "coverage, or no `kind` for a sample"
                raise InputError("who is in a list is drawn", where="holds", found=self.holds, expected=expected)
            if self.count is not None:
                raise InputError("a list has a row for each person", where="count", found=self.count)
            if self.kind == "file" and self.missing_alleles:
                raise InputError("alleles of a file are not lost", where="missing_alleles", found=self.missing_alleles)
            return self
        if self.file is not None and self.missing_alleles:
            found, expected = self.missing_alleles, "alleles left empty in the file"
            raise InputError("alleles of a file are not lost", where="missing_alleles", found=found, expected=expected)
        if self.file is None and self.count is not None:
            raise InputError("people who are drawn are not counted", where="count", found=self.count, expected="a file")
        return self

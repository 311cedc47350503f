"""Schema of the data of a table scenario: people, records and quasi-identifiers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.scenarios.amounts import Count, Delimiter, PersonKey, PopulationSeed, Text
from reidsim.scenarios.hierarchy_schema import GeneralizedSection
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.reading_schema import ReadingSection
from reidsim.scenarios.resource_schema import DrawnResourceSection, Together
from reidsim.validation import Section

Estimator = Literal["benedetti-franconi", "log-linear"]


_WITHOUT_PATH = ReadIf(lambda section, scenario: section.path is None, "without path, which replaces it")


def _is_csv(section: ReleaseSection, scenario: Any) -> bool:
    """Return whether the records or the people come from a delimited text file."""
    paths = (section.path, None if scenario.population is None else scenario.population.path)
    return section.format == "csv" and any(path is not None and not path.endswith(".parquet") for path in paths)


_OF_CSV = ReadIf(_is_csv, "with a CSV file in release.path or population.path")


class PopulationSection(Section):
    """Population in which groups are counted under journalist risk."""

    recipe: Annotated[str | None, _WITHOUT_PATH] = Field(
        default=None, description="bundled population, or path of a recipe"
    )
    path: Text | None = Field(
        default=None,
        description="file of people in the format of the released records; replaces `recipe`",
    )
    counts: Annotated[Literal["sample", "expected"], _WITHOUT_PATH] = Field(
        default="sample",
        description="number of people in each cell of the population: drawn at random, or the expected number",
    )
    seed: Annotated[PopulationSeed, _WITHOUT_PATH] = None
    together: Together = 0.0
    holds_release: bool | None = Field(
        default=None,
        description="whether every record must match a person of the population; default: true if "
        '`publisher.unit = "table"` and no attribute has `unknown = "nobody"`, else false',
    )

    @model_validator(mode="after")
    def _names_people(self) -> PopulationSection:
        if self.path is None and self.recipe is None:
            raise InputError("the population is missing", expected="a recipe, or the path of a file")
        return self


class TablesResourceSection(DrawnResourceSection):
    """External resource that adversaries can hold or buy.

    With a `kind`, the resource is a list drawn from the people of the scenario. Without a `kind`, it reveals its
    attributes of each person independently with probability `coverage`.
    """

    attributes: tuple[str, ...] = Field(
        default=(), description="quasi-identifiers that the resource reveals; default: the attributes of its `kind`"
    )
    size: Count | None = Field(default=None, description="exact number of people in a list")
    file: Text | None = Field(default=None, description='CSV or Parquet file of a list with `kind = "file"`')
    delimiter: Annotated[Delimiter, with_key("file")] = Field(default=",", description="column separator of a CSV file")
    encoding: Annotated[str, with_key("file")] = Field(
        default="utf-8", description="character encoding of a CSV file, such as `latin-1`"
    )
    columns: Annotated[dict[str, str], with_key("file")] = Field(
        default={}, description="column of the file, by attribute; default: the attribute's name"
    )

    @model_validator(mode="after")
    def _check_single_source(self) -> TablesResourceSection:
        if (self.kind == "file") != (self.file is not None):
            raise InputError('a file needs kind "file", and kind "file" needs a file', where="file", found=self.file)
        if self.kind == "file" and self.size is not None:
            raise InputError(
                "the rows of the file determine the size",
                where="size",
                found=self.size,
                expected="this key only with a drawn list",
            )
        if not self.is_list:
            if self.size is not None:
                raise InputError("the key needs a list", where="size", found=self.size, expected="a `kind`")
            if not isinstance(self.coverage, float | None):
                raise InputError("unequal coverage needs a list", where="coverage", expected="a number, or a `kind`")
        return self

    @property
    def share(self) -> float:
        """Probability that a resource without a `kind` covers a person; by default 1."""
        return self.coverage if isinstance(self.coverage, float) else 1.0


class ReleaseSection(Section):
    """Records to release."""

    path: Text | None = Field(default=None, description="file of records, which may be compressed; replaces `table`")
    table: Annotated[str | None, _WITHOUT_PATH] = Field(
        default=None,
        description="bundled population or recipe whose people are the records",
    )
    format: Literal["csv", "adult"] = Field(
        default="csv",
        description='format of the file in `path`; `"adult"` is the UCI file of the Adult data set',
    )
    encoding: Annotated[str, _OF_CSV] = Field(
        default="utf-8", description="character encoding of a CSV file, such as `latin-1`"
    )
    delimiter: Annotated[Delimiter, _OF_CSV] = Field(
        default=",", description='column separator of a CSV file; ARX writes `";"`'
    )
    header: Annotated[bool, _OF_CSV] = Field(
        default=True,
        description='whether the first row contains column names; otherwise the columns are `"1"`, `"2"` and so on',
    )
    weight: Text | None = Field(default=None, description="column with sampling weights, each at least 1")
    sampling_fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="number of records divided by the size of the population, for records without sampling weights",
    )
    estimator: Estimator = Field(
        default="log-linear",
        description="estimator of population group sizes for `sample` risk: from the sampling weights in the "
        "group (`benedetti-franconi`), or by a log-linear model of all records",
    )
    person: PersonKey | None = Field(
        default=None,
        description="column that identifies the person of each record, or columns whose combined values do; "
        "all records of a person have the same generalization",
    )
    household: Text | None = Field(
        default=None,
        description="column that identifies the person's household; with it, results have the measure `household_risk`",
    )

    @model_validator(mode="after")
    def _has_records(self) -> ReleaseSection:
        if self.path is None and self.table is None:
            raise InputError("the records are missing", expected="a path, or the name of a table")
        if self.weight is not None and self.sampling_fraction is not None:
            raise InputError(
                "weights and a sampling fraction exclude each other",
                where="sampling_fraction",
                found=self.sampling_fraction,
                expected="either release.weight or release.sampling_fraction",
            )
        return self


class AttributeSection(GeneralizedSection):
    """Source and hierarchy of a quasi-identifier."""

    reading: Annotated[ReadingSection | None, with_key("draw", False)] = Field(
        default=None, description="conversion of the values in the file; default: unchanged"
    )
    values: Annotated[dict[str, str], with_key("draw", False)] = Field(
        default={},
        description="category for each value after `reading`; other values stay unchanged",
    )
    unknown: Annotated[
        Literal["error", "nobody"],
        ReadIf(
            lambda section, scenario: not section.draw and scenario.population is not None,
            "with a population and without draw",
        ),
    ] = Field(
        default="error",
        description="treatment of values that the population lacks: an error, or a value that only the "
        "record's person has",
    )
    draw: bool = Field(
        default=False,
        description="whether the records lack the attribute, so that its values are drawn from the population "
        "given the other attributes",
    )
    top_code: int | None = Field(
        default=None,
        description="lowest value of a combined top category; values from here on are redrawn from the "
        "population given the other attributes",
    )
    in_loss: bool = Field(
        default=True, description="whether generalization of the attribute counts as information loss"
    )
    minimum_level: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="lowest level that policies may choose; fixed rules, `opt-in`, `lattice-search` and "
        "policies of your own ignore it",
    )

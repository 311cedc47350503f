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


_WITHOUT_PATH = ReadIf(lambda section, scenario: section.path is None, "without path, which takes its place")


def _is_csv(section: ReleaseSection, scenario: Any) -> bool:
    """Return whether the records or the people come from a delimited text file."""
    paths = (section.path, None if scenario.population is None else scenario.population.path)
    return section.format == "csv" and any(path is not None and not path.endswith(".parquet") for path in paths)


_OF_CSV = ReadIf(_is_csv, "with a csv file at release.path or population.path")


class PopulationSection(Section):
    """Population in which journalist risk counts candidates."""

    recipe: Annotated[str | None, _WITHOUT_PATH] = Field(
        default=None, description="name of a bundled population, or path of a recipe"
    )
    path: Text | None = Field(
        default=None,
        description="file of people, in the format of the release, in place of `recipe`",
    )
    counts: Annotated[Literal["sample", "expected"], _WITHOUT_PATH] = Field(
        default="sample",
        description="draw whole people, or keep expected counts",
    )
    seed: Annotated[PopulationSeed, _WITHOUT_PATH] = None
    together: Together = 0.0
    holds_release: bool | None = Field(
        default=None,
        description="whether records must be people of the population; by default only where "
        '`publisher.unit = "table"` and no attribute has `unknown = "nobody"`',
    )

    @model_validator(mode="after")
    def _names_people(self) -> PopulationSection:
        if self.path is None and self.recipe is None:
            raise InputError("no people", expected="a recipe, or the path of a file")
        return self


class TablesResourceSection(DrawnResourceSection):
    """External resource that adversaries can hold or buy.

    With a `kind`, the resource is a list drawn from the people of the scenario. Without a `kind`, it reveals its
    attributes of each person independently with probability `coverage`.
    """

    attributes: tuple[str, ...] = Field(
        default=(), description="quasi-identifiers that it reveals; by default, those of its kind"
    )
    size: Count | None = Field(default=None, description="of a list: exact number of people")
    file: Text | None = Field(default=None, description='of kind `"file"`: CSV or Parquet file of the list')
    delimiter: Annotated[Delimiter, with_key("file")] = Field(default=",", description="between columns of a CSV file")
    encoding: Annotated[str, with_key("file")] = Field(default="utf-8", description="of a CSV file, such as `latin-1`")
    columns: Annotated[dict[str, str], with_key("file")] = Field(
        default={}, description="attribute = column of the file, where the names differ"
    )

    @model_validator(mode="after")
    def _told_in_one_way(self) -> TablesResourceSection:
        if (self.kind == "file") != (self.file is not None):
            raise InputError('rows of a list of kind "file" come from a file', where="file", found=self.file)
        if self.kind == "file" and self.size is not None:
            raise InputError(
                "its rows say who is in it", where="size", found=self.size, expected="a list that is drawn"
            )
        if not self.is_list:
            if self.size is not None:
                raise InputError("only a list has a size", where="size", found=self.size, expected="a `kind`")
            if not isinstance(self.coverage, float | None):
                raise InputError(
                    "only a list covers people unequally", where="coverage", expected="a number, or a `kind`"
                )
        return self

    @property
    def share(self) -> float:
        """Probability that a resource without a `kind` covers a person."""
        return self.coverage if isinstance(self.coverage, float) else 1.0


class ReleaseSection(Section):
    """Records to release."""

    path: Text | None = Field(default=None, description="file of records, in place of `table`; may be compressed")
    table: Annotated[str | None, _WITHOUT_PATH] = Field(
        default=None,
        description="population whose people are the records (name or recipe)",
    )
    format: Literal["csv", "adult"] = Field(
        default="csv",
        description='of the file at `path`; `"adult"` is the UCI file',
    )
    encoding: Annotated[str, _OF_CSV] = Field(default="utf-8", description="of a csv file, such as `latin-1`")
    delimiter: Annotated[Delimiter, _OF_CSV] = Field(
        default=",", description='between columns of a csv file; ARX writes `";"`'
    )
    header: Annotated[bool, _OF_CSV] = Field(
        default=True, description='whether the first row names the columns; else `"1"`, `"2"` and so on'
    )
    weight: Text | None = Field(default=None, description="column with sampling weights, 1 or more")
    sampling_fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="records as a share of the population, where they have no weights"
    )
    estimator: Estimator = Field(
        default="log-linear",
        description='how `"sample"` risk estimates groups: by a log-linear model of all records, or from the weights '
        "of the group's own records",
    )
    person: PersonKey | None = Field(
        default=None,
        description="column that identifies the person, whose records share one generalization; a list of columns if "
        "only their values together identify a person",
    )
    household: Text | None = Field(
        default=None,
        description="column with the person's household: adds the measure `household_risk`",
    )

    @model_validator(mode="after")
    def _has_records(self) -> ReleaseSection:
        if self.path is None and self.table is None:
            raise InputError("no records", expected="a path, or the name of a table")
        if self.weight is not None and self.sampling_fraction is not None:
            raise InputError(
                "both weights and one fraction say how the records were sampled", where="sampling_fraction",
                found=self.sampling_fraction, expected="either release.weight or release.sampling_fraction",
            )  # fmt: skip
        return self


class AttributeSection(GeneralizedSection):
    """Source and hierarchy of a quasi-identifier."""

    reading: Annotated[ReadingSection | None, with_key("draw", False)] = Field(
        default=None, description="how the column is read; unchanged if not given"
    )
    values: Annotated[dict[str, str], with_key("draw", False)] = Field(
        default={},
        description="value in the records, as read = category; values not listed stay",
    )
    unknown: Annotated[
        Literal["error", "nobody"],
        ReadIf(
            lambda section, scenario: not section.draw and scenario.population is not None,
            "with a population, and without draw",
        ),
    ] = Field(
        default="error",
        description="whether values that the population lacks are errors, or unique to the record's person",
    )
    draw: bool = Field(default=False, description="the records lack it; drawn from the population, given the others")
    top_code: int | None = Field(
        default=None,
        description="values from here on are redrawn, given the other attributes",
    )
    in_loss: bool = Field(default=True, description="whether generalizing it counts as information loss")
    minimum_level: Annotated[int, Field(ge=0)] = Field(
        default=0, description="lowest level that any policy but the fixed ones may choose"
    )

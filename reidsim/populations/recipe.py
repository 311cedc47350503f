"""What a population recipe may say: one section class per kind of recipe."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.validation import Section

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]


class RecipeHead(Section):
    """What every recipe tells about itself."""

    title: str = ""
    source: str = ""


class CountsRecipe(RecipeHead):
    """People counted in a CSV or Parquet file, one row per cell or person."""

    kind: Literal["counts"]
    file: str
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    columns: dict[str, str] = Field(min_length=1, description="attribute = column of the file")
    count: str | None = Field(default=None, description="column of counts; every row is one person without it")
    missing_values: tuple[str, ...] = Field(default=("",), description="values that mean that the value is missing")
    missing: Literal["error", "drop", "category", "draw"] = Field(
        default="error", description="what to do with rows that have missing values"
    )
    categories: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, description="attribute = its values in order, instead of those seen"
    )
    unknown: Literal["error", "drop", "missing"] = Field(
        default="error", description="what to do with values outside given categories"
    )
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="of drawing missing values")


class Areas(Section):
    """Areas and their people."""

    attribute: str
    file: str
    code: str
    people: str


class Hispanic(Section):
    """Adults counted without their race, and how they spread over races."""

    column: str
    percent: dict[str, Percent]


class Race(Section):
    """Columns of adults that make up each race."""

    attribute: str
    adults: dict[str, list[str]]
    hispanic: Hispanic | None = None


class Tail(Section):
    """Weights ``exp(-linear k - quadratic k**2)`` of the k-th year above the last age of the figures."""

    linear: Annotated[float, Field(ge=0)]
    quadratic: Annotated[float, Field(ge=0)]


class Age(Section):
    """Single years of age; the last row of the file holds everybody of that age and over."""

    attribute: str
    file: str
    column: str
    oldest: int
    tail: Tail


class Sex(Section):
    """Columns of the age file for each sex and race."""

    attribute: str
    columns: dict[str, dict[str, list[str]]]


class CensusCellsRecipe(RecipeHead):
    """People by area, race, sex and age from figures by area and figures by age."""

    kind: Literal["census-cells"]
    seed: Annotated[int, Field(ge=0)]
    areas: Areas
    race: Race
    age: Age
    sex: Sex


class Sf1Recipe(RecipeHead):
    """The real 2010 Census Summary File 1: a geography file and the segments with tables PCT12A to PCT12G."""

    kind: Literal["sf1"]
    folder: str = Field(description="folder of the unzipped files")
    state: Annotated[str, Field(pattern="^[a-z]{2}$", description="postal abbreviation, as in the file names")]
    # The last age group of the tables is 110 and over.
    oldest: Annotated[int, Field(ge=110, le=150)] = 120
    tail: Tail = Tail(linear=0.13, quadratic=0.0055)


class RegistryRecipe(RecipeHead):
    """A registry that lists some people of another population, drawn at random."""

    kind: Literal["registry"]
    population: str = Field(description="name of a bundled recipe or path of one, relative to this recipe")
    size: Annotated[int, Field(gt=0)]
    seed: Annotated[int, Field(ge=0)]


class VoterFileRecipe(RecipeHead):
    """The real voter registration file of North Carolina."""

    kind: Literal["voter-file"]
    file: str
    statuses: tuple[Literal["A", "D", "I", "S"], ...] = Field(default=("A", "I", "S"), min_length=1)
    ages_missing: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), description="ages that mean unknown")
    population: str | None = Field(default=None, description="recipe of the population that gives the categories")

"""The schemas of population recipes, one section class per kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from reidsim.errors import InputError
from reidsim.seeds import LARGEST_SEED
from reidsim.validation import Section

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def _ends_no_cell(delimiter: str) -> str:
    if delimiter in '"\r\n\0':
        expected = 'a character other than ", null and ends of lines'
        raise InputError("not a delimiter", found=delimiter, expected=expected)
    return delimiter


Delimiter = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_ends_no_cell)]


class RecipeHead(Section):
    """The keys that every recipe has."""

    title: str = Field(default="", description="name shown by `reidsim list`")
    source: str = Field(default="", description="where the figures come from")


class CountsRecipe(RecipeHead):
    """Recipe for a CSV or Parquet file with one row per person, or one row per cell with a count."""

    kind: Literal["counts"] = Field(description="this kind")
    file: str = Field(description="CSV file with a header, or Parquet file")
    delimiter: Delimiter = Field(default=",", description="between columns of a CSV file")
    encoding: str = Field(default="utf-8", description="of a CSV file, such as `latin-1`")
    columns: dict[str, str] = Field(min_length=1, description="attribute = column of the file")
    count: str | None = Field(default=None, description="column of counts; every row is one person without it")
    missing_values: tuple[str, ...] = Field(default=("",), description="values that mean that the value is missing")
    missing: Literal["error", "drop", "category", "draw"] = Field(
        default="error",
        description="what to do with rows that have missing values: `drop` makes groups too small, `category` counts "
        "them under `missing`, `draw` takes values of complete rows that agree, right only if missing at random",
    )
    categories: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, description="attribute = its values in order, instead of those seen"
    )
    unknown: Literal["error", "drop", "missing"] = Field(
        default="error", description="what to do with values outside given categories"
    )
    seed: Seed = Field(default=0, description="seed of drawing missing values")


class Areas(Section):
    """The file with the number of people of each area."""

    attribute: str = Field(description="name of the attribute that holds the area")
    file: str = Field(description="CSV file with a row per area")
    code: str = Field(description="its column of areas")
    people: str = Field(description="its column of people of all ages")


class Hispanic(Section):
    """Hispanic adults, who are counted without race, and their distribution over races."""

    column: str = Field(description="their column of the area file")
    percent: dict[str, Percent] = Field(description="race = percentage of them, scaled to sum to 100")


class Race(Section):
    """The columns of adults that belong to each race."""

    attribute: str = Field(description="name of the attribute that holds the race")
    adults: dict[str, list[str]] = Field(description="race = columns of the area file whose sum is its adults")
    hispanic: Hispanic | None = Field(default=None, description="adults counted without their race")


class Tail(Section):
    """Weights ``exp(-linear k - quadratic k**2)`` of the k-th year above the last single age in the data."""

    linear: Annotated[float, Field(ge=0)] = Field(
        description="the k-th year above the last row (kind sf1: above 90) weighs exp(-linear k - quadratic k^2)"
    )
    quadratic: Annotated[float, Field(ge=0)] = Field(description="see `linear`")


class Age(Section):
    """Single years of age; the last row of the file counts all people of this age and older."""

    attribute: str = Field(description="name of the attribute that holds the age")
    file: str = Field(description="CSV file with a row per single year of age, without gaps")
    column: str = Field(description="its column of ages; the last row is that age and over")
    oldest: int = Field(description="last age of the population")
    tail: Tail = Field(description="how people of the last row are spread over years of age")


class Sex(Section):
    """The columns of the age file for each sex and race."""

    attribute: str = Field(description="name of the attribute that holds the sex")
    columns: dict[str, dict[str, list[str]]] = Field(description="sex = race = columns of the age file")


class CensusCellsRecipe(RecipeHead):
    """Recipe of people by area, race, sex and age, combined from counts by area and counts by age.

    An area without adults gets the distribution of races of all areas together.
    """

    kind: Literal["census-cells"] = Field(description="this kind")
    seed: Seed = Field(description="seed of the draw")
    areas: Areas = Field(description="areas and their people")
    race: Race = Field(description="columns of adults that make up each race")
    age: Age = Field(description="single years of age")
    sex: Sex = Field(description="columns of the age file for each sex and race")


class Sf1Recipe(RecipeHead):
    """Recipe for the 2010 Census Summary File 1: a geography file and the segments with tables PCT12A to PCT12G."""

    kind: Literal["sf1"] = Field(description="this kind")
    folder: str = Field(description="folder of the unzipped files")
    state: Annotated[str, Field(pattern="^[a-z]{2}$", description="postal abbreviation, as in the file names")] = Field(
        description="postal abbreviation, as in the file names"
    )
    # At least 110, because the last age group of the tables is 110 and over.
    oldest: Annotated[int, Field(ge=110, le=150)] = Field(default=120, description="last age of the population")
    tail: Tail = Field(
        default=Tail(linear=0.13, quadratic=0.0055),
        description="spread of people of 100 and over over years of age",
    )


class RegistryRecipe(RecipeHead):
    """Recipe of a registry of people drawn at random from another population."""

    kind: Literal["registry"] = Field(description="this kind")
    population: str = Field(description="a population, of whole people")
    size: Annotated[int, Field(gt=0)] = Field(description="people listed")
    seed: Seed = Field(description="seed of the draw")


class VoterFileRecipe(RecipeHead):
    """Recipe for the voter registration file of North Carolina."""

    kind: Literal["voter-file"] = Field(description="this kind")
    file: str = Field(description="the file of voters")
    statuses: tuple[Literal["A", "D", "I", "S"], ...] = Field(
        default=("A", "I", "S"), min_length=1, description="voters to keep: active, inactive, temporary, denied"
    )
    ages_missing: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="ages that stand for an unknown one"
    )
    population: str | None = Field(default=None, description="population that gives the categories")

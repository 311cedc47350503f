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
        expected = 'one character other than ", a null character and a line break'
        raise InputError("invalid delimiter", found=delimiter, expected=expected)
    return delimiter


Delimiter = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_ends_no_cell)]


class RecipeHead(Section):
    """The keys that every recipe has."""

    title: str = Field(default="", description="title shown by `reidsim list`")
    source: str = Field(default="", description="origin of the figures")


class CountsRecipe(RecipeHead):
    """Recipe for a CSV or Parquet file of people.

    The file has one row per person, or one row per cell with a count.
    """

    kind: Literal["counts"] = Field(description="kind of recipe")
    file: str = Field(description="CSV file with a header, or Parquet file")
    delimiter: Delimiter = Field(default=",", description="column separator of a CSV file")
    encoding: str = Field(default="utf-8", description="character encoding of a CSV file, such as `latin-1`")
    columns: dict[str, str] = Field(min_length=1, description="column of the file, by attribute")
    count: str | None = Field(
        default=None, description="column with the number of people in each row; default: one person per row"
    )
    missing_values: tuple[str, ...] = Field(default=("",), description="values that are read as missing")
    missing: Literal["error", "drop", "category", "draw"] = Field(
        default="error",
        description="treatment of rows with missing values: `error`, leave out (`drop`, which makes groups too "
        "small), count in the category `missing` (`category`), or draw the values from complete "
        "rows that agree otherwise (`draw`, unbiased only if values are missing at random)",
    )
    categories: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, description="categories of an attribute in order; default: the values in the file"
    )
    unknown: Literal["error", "drop", "missing"] = Field(
        default="error",
        description="treatment of rows with values outside `categories`: `error`, leave out (`drop`), or read "
        "the value as missing",
    )
    seed: Seed = Field(default=0, description="seed of the draw of missing values")


class Areas(Section):
    """The file with the number of people of each area."""

    attribute: str = Field(description="name of the area attribute")
    file: str = Field(description="CSV file with one row per area")
    code: str = Field(description="column of the area file with the area")
    people: str = Field(description="column of the area file with the number of people of all ages")


class Hispanic(Section):
    """Hispanic adults, who are counted without race, and their shares by race."""

    column: str = Field(description="column of the area file with the number of these adults")
    percent: dict[str, Percent] = Field(description="percentage of these adults in each race; scaled to a sum of 100")


class Race(Section):
    """The columns of adults that belong to each race."""

    attribute: str = Field(description="name of the race attribute")
    adults: dict[str, list[str]] = Field(
        description="columns of the area file whose sum is the number of adults of a race, by race"
    )
    hispanic: Hispanic | None = Field(default=None, description="adults who are counted without their race")


class Tail(Section):
    """Distribution of the people above the last single age in the data.

    The k-th year above it has the weight ``exp(-linear k - quadratic k**2)``.
    """

    linear: Annotated[float, Field(ge=0)] = Field(
        description="coefficient in the weight exp(-linear k - quadratic k^2) of the k-th year above the last "
        "row of the file (kind `sf1`: above age 90)"
    )
    quadratic: Annotated[float, Field(ge=0)] = Field(description="second coefficient of this weight")


class Age(Section):
    """The file with the number of people by single year of age.

    Its last row counts all people of this age and older.
    """

    attribute: str = Field(description="name of the age attribute")
    file: str = Field(description="CSV file with one row per year of age, without gaps")
    column: str = Field(description="column with the age in years; the last row includes all older people")
    oldest: int = Field(description="highest age in the population, in years")
    tail: Tail = Field(description="distribution of the people in the last row, by year of age")


class Sex(Section):
    """The columns of the age file for each sex and race."""

    attribute: str = Field(description="name of the sex attribute")
    columns: dict[str, dict[str, list[str]]] = Field(description="columns of the age file, by sex and race")


class CensusCellsRecipe(RecipeHead):
    """Recipe of people by area, race, sex and age.

    They are combined from counts by area and counts by age. An area without adults gets the distribution of races of
    all areas together.
    """

    kind: Literal["census-cells"] = Field(description="kind of recipe")
    seed: Seed = Field(description="seed of the random draw")
    areas: Areas = Field(description="areas and their numbers of people")
    race: Race = Field(description="numbers of adults by race")
    age: Age = Field(description="numbers of people by year of age")
    sex: Sex = Field(description="columns of the age file for each sex and race")


class Sf1Recipe(RecipeHead):
    """Recipe for the 2010 Census Summary File 1.

    It reads a geography file and the segments with tables PCT12A to PCT12G.
    """

    kind: Literal["sf1"] = Field(description="kind of recipe")
    folder: str = Field(description="folder with the unzipped files")
    state: Annotated[
        str,
        Field(pattern="^[a-z]{2}$", description="postal abbreviation of the state in lower case, as in the file names"),
    ] = Field(description="postal abbreviation of the state in lower case, as in the file names")
    # The last age group of the tables is 110 and over.
    oldest: Annotated[int, Field(ge=110, le=150)] = Field(
        default=120, description="highest age in the population, in years"
    )
    tail: Tail = Field(
        default=Tail(linear=0.13, quadratic=0.0055),
        description="distribution of people of age 100 and older, by year of age",
    )


class RegistryRecipe(RecipeHead):
    """Recipe of a registry of people drawn at random from another population."""

    kind: Literal["registry"] = Field(description="kind of recipe")
    population: str = Field(description="population with whole numbers of people")
    size: Annotated[int, Field(gt=0)] = Field(description="number of people in the registry")
    seed: Seed = Field(description="seed of the random draw")


class VoterFileRecipe(RecipeHead):
    """Recipe for the voter registration file of North Carolina."""

    kind: Literal["voter-file"] = Field(description="kind of recipe")
    file: str = Field(description="path of the voter registration file")
    statuses: tuple[Literal["A", "D", "I", "S"], ...] = Field(
        default=("A", "I", "S"),
        min_length=1,
        description="registration statuses to keep: `A` active, `D` denied, `I` inactive, `S` temporary",
    )
    ages_missing: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="ages in the file that mean an unknown age"
    )
    population: str | None = Field(default=None, description="population whose categories are used")

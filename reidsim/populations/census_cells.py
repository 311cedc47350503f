"""Population of recipes of kind ``census-cells``.

It has people by age, race, sex and area, from two sets of counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.errors import InputError, require_among
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.populations.recipe import Making, RecipeHead, Seed, read_figures
from reidsim.random_counts import draw_multinomial
from reidsim.tables import numbers, require_columns
from reidsim.validation import Section

Floats = NDArray[np.float64]
Percent = Annotated[float, Field(ge=0, le=100)]


class Areas(Section):
    """The file with the number of people of each area.

    Attributes
    ----------
    attribute
        name of the area attribute
    file
        CSV file with one row per area
    code
        column of the area file with the area
    people
        column of the area file with the number of people of all ages
    """

    attribute: str
    file: str
    code: str
    people: str


class Hispanic(Section):
    """Hispanic adults, who are counted without race, and their shares by race.

    Attributes
    ----------
    column
        column of the area file with the number of these adults
    percent
        percentage of these adults in each race; scaled to a sum of 100
    """

    column: str
    percent: dict[str, Percent]


class Race(Section):
    """The columns of adults that belong to each race.

    Attributes
    ----------
    attribute
        name of the race attribute
    adults
        columns of the area file whose sum is the number of adults of a race, by race
    hispanic
        adults who are counted without their race
    """

    attribute: str
    adults: dict[str, list[str]]
    hispanic: Hispanic | None = None


class Tail(Section):
    """Distribution of the people above the last single age in the data.

    The k-th year above it has the weight ``exp(-linear k - quadratic k**2)``.

    Attributes
    ----------
    linear
        coefficient in the weight exp(-linear k - quadratic k^2) of the k-th year above the last row of the file
        (kind `sf1`: above age 90)
    quadratic
        second coefficient of this weight
    """

    linear: Annotated[float, Field(ge=0)]
    quadratic: Annotated[float, Field(ge=0)]


class Age(Section):
    """The file with the number of people by single year of age.

    Its last row counts all people of this age and older.

    Attributes
    ----------
    attribute
        name of the age attribute
    file
        CSV file with one row per year of age, without gaps
    column
        column with the age in years; the last row includes all older people
    oldest
        highest age in the population, in years
    tail
        distribution of the people in the last row, by year of age
    """

    attribute: str
    file: str
    column: str
    oldest: int
    tail: Tail


class Sex(Section):
    """The columns of the age file for each sex and race.

    Attributes
    ----------
    attribute
        name of the sex attribute
    columns
        columns of the age file, by sex and race
    """

    attribute: str
    columns: dict[str, dict[str, list[str]]]


class CensusCellsRecipe(RecipeHead):
    """Recipe of people by area, race, sex and age.

    They are combined from counts by area and counts by age. An area without adults gets the distribution of races of
    all areas together.

    Attributes
    ----------
    kind
        kind of recipe
    seed
        seed of the random draw
    areas
        areas and their numbers of people
    race
        numbers of adults by race
    age
        numbers of people by year of age
    sex
        columns of the age file for each sex and race
    """

    kind: Literal["census-cells"]
    seed: Seed
    areas: Areas
    race: Race
    age: Age
    sex: Sex

    def make(self, at: Making) -> Population:
        """Return a population by age, race, sex and area.

        The people of an area are divided among races in the proportions of its adults (Hispanic adults by the recipe's
        percentages), in whole people by largest remainders. The people of an area and race are distributed over ages
        and sexes by one multinomial draw, in the proportions of this race in the counts by age. Expected numbers of
        people are not rounded.

        Returns
        -------
        Population
            Population over (age, race, sex, area); its total is the number of people in all areas.

        Raises
        ------
        InputError
            If a file cannot be used, ages are not consecutive years or go beyond the recipe's oldest age, or a race has
            no columns.
        """
        races = list(self.race.adults)
        areas, people, race_shares = _areas_by_race(self, at.folder)
        ages, age_sex_shares = _ages_by_sex_and_race(self, at.folder, races)
        categories = {
            self.age.attribute: map(str, ages),
            self.race.attribute: races,
            self.sex.attribute: self.sex.columns,
            self.areas.attribute: areas,
        }
        domain = Domain(tuple(Attribute(name, tuple(labels)) for name, labels in categories.items()))
        if at.expected:
            table = np.einsum("z,zr,rax->arxz", people, race_shares, age_sex_shares)
            return Population.from_dense(domain, table, name=at.name, source=self.source)
        rng, by_race = at.rng(), largest_remainders(people, race_shares)
        drawn = np.zeros(domain.shape, dtype=np.int64)
        for race in range(len(races)):
            cells = draw_multinomial(rng, by_race[:, race], age_sex_shares[race].ravel())
            drawn[:, race] = cells.reshape(len(areas), *age_sex_shares.shape[1:]).transpose(1, 2, 0)
        return Population.from_dense(domain, drawn, name=at.name, source=self.source)


def tail_weights(tail: Tail, years: int) -> Floats:
    """Return the shares of the first `years` years of an open-ended age group.

    They sum to 1.
    """
    above = np.arange(years)
    weights = np.exp(-tail.linear * above - tail.quadratic * above**2)
    return np.asarray(weights / weights.sum())


def largest_remainders(people: Floats, shares: Floats) -> NDArray[np.int64]:
    """Return ``people x shares`` rounded to integers, shape (n, m).

    Row i sums to ``people[i]``. Among equal remainders, the first column is rounded up.

    Parameters
    ----------
    people : ndarray of float64, shape (n,)
        Whole numbers of people.
    shares : ndarray of float64, shape (n, m) or (1, m)
        Shares of each row, with sum 1.
    """
    exact = people[:, None] * shares
    whole = np.floor(exact).astype(np.int64)
    lacking = np.rint(people).astype(np.int64) - whole.sum(axis=1)
    rank = np.argsort(np.argsort(whole - exact, axis=1, kind="stable"), axis=1)
    return np.asarray(whole + (rank < lacking[:, None]))


def _areas_by_race(recipe: CensusCellsRecipe, folder: Path) -> tuple[list[str], Floats, Floats]:
    """Return the areas, the people of each area, and the shares of races in it.

    The shares have shape (n_areas, n_races).
    """
    frame, path = read_figures(recipe.areas.file, folder, [recipe.areas.code, recipe.areas.people])
    people = np.asarray(numbers(frame, recipe.areas.people, path), dtype=np.float64)
    races, hispanic = recipe.race.adults, recipe.race.hispanic
    adults = np.column_stack([_sum(frame, columns, path) for columns in races.values()])
    if hispanic is not None:
        require_among("no column of adults for the race", hispanic.percent, races, where="race.hispanic.percent")
        percent = np.array([hispanic.percent.get(race, 0.0) for race in races])
        adults += np.outer(_sum(frame, [hispanic.column], path), percent / percent.sum())
    totals = adults.sum(axis=1, keepdims=True)
    # An area without adults gets the distribution of races of all areas together.
    overall = adults.sum(axis=0) / adults.sum()
    shares = np.where(totals > 0, adults / np.where(totals > 0, totals, 1.0), overall)
    return frame[recipe.areas.code].tolist(), people, np.asarray(shares)


def _ages_by_sex_and_race(recipe: CensusCellsRecipe, folder: Path, races: list[str]) -> tuple[list[int], Floats]:
    """Return the ages, and the shares of age and sex within each race.

    The shares have shape (n_races, n_ages, n_sexes).
    """
    frame, path = read_figures(recipe.age.file, folder, [recipe.age.column])
    ages = numbers(frame, recipe.age.column, path).astype(int).tolist()
    if ages != list(range(ages[0], ages[0] + len(ages))):
        raise InputError("ages are not consecutive single years", source=path, where=f"column {recipe.age.column!r}")
    if recipe.age.oldest < ages[-1]:
        raise InputError("oldest age is below the last age in the file", where="age.oldest", found=recipe.age.oldest)
    by_sex = recipe.sex.columns
    for sex, by_race in by_sex.items():
        require_among("race missing", races, by_race, where=f"sex.columns.{sex}")
    counts = np.stack(
        [np.column_stack([_sum(frame, by_race[race], path) for by_race in by_sex.values()]) for race in races]
    )
    years = recipe.age.oldest - ages[-1] + 1
    tail = counts[:, -1:, :] * tail_weights(recipe.age.tail, years)[None, :, None]
    spread = np.concatenate([counts[:, :-1], tail], axis=1)
    return list(range(ages[0], recipe.age.oldest + 1)), spread / spread.sum(axis=(1, 2), keepdims=True)


def _sum(frame: pd.DataFrame, columns: list[str], path: Path) -> Floats:
    require_columns(frame, columns, path)
    return np.asarray(np.sum([numbers(frame, column, path).to_numpy(dtype=np.float64) for column in columns], axis=0))

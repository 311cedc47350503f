"""The schema of recipes of kind ``ystr-genealogy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.populations.recipe import RecipeHead, Seed
from reidsim.validation import Section

Engine = Literal["vectorised", "simupop"]
Probability = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Year = Annotated[int, Field(ge=-10_000, le=10_000)]
Age = Annotated[int, Field(ge=1, le=100)]
Years = Annotated[int, Field(ge=0, le=200)]
# A couple needs a man and a woman.
Size = Annotated[int, Field(ge=2, lt=2**31)]


class People(Section):
    """The number of people in each generation."""

    subpopulations: tuple[Size, ...] = Field(
        min_length=1, max_length=1_000, description="number of people in each subpopulation, equal in all generations"
    )
    generations: Annotated[int, Field(ge=1, le=10_000)] = Field(description="number of generations, founders included")


class Loci(Section):
    """The table with one row per locus."""

    file: str = Field(description="CSV file with one row per locus")


class Labels(Section):
    """Table of labels, with the number of people of each label."""

    file: str = Field(description="CSV file with one row per label")
    label: str = Field(description="column with the labels, without repetitions")
    people: str = Field(description="column with the number of people of each label")
    largest: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="number of most frequent labels to keep; default: all"
    )


class Founders(Section):
    """The first generation."""

    birth_years: tuple[Year, Year] = Field(
        description="first and last year of birth; all years between them are equally likely"
    )
    surnames: Labels = Field(description="table of surnames")
    states: Labels = Field(description="table of states")
    wealth: Labels = Field(description="table of wealth levels; the rows are levels 0, 1 and so on")


class Migration(Section):
    """Moves between subpopulations, before the marriages of some generations."""

    generations: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="generations before whose marriages people move; the founders are generation 0"
    )
    shares: tuple[tuple[Probability, ...], ...] = Field(
        default=(), description="share of each subpopulation (row) that moves to each subpopulation (column)"
    )


class Marriage(Section):
    """The rules of marriage."""

    ranks: tuple[int, ...] = Field(
        default=(),
        max_length=100,
        description="wealth levels at which the second and later ranks start; people marry within a rank",
    )
    years_older: Years = Field(description="largest number of years by which a suitable husband is older than his wife")
    years_younger: Years = Field(
        description="largest number of years by which a suitable husband is younger than his wife"
    )
    # With lower probabilities, an unsuitable pair would be tried for minutes.
    accepted_anyway: Annotated[float, Field(ge=0.001, le=1)] = Field(
        description="probability that an unsuitable pair marries, in each attempt"
    )
    leaves_pool: Probability = Field(description="probability that a spouse does not marry again after a marriage")


class StateFrom(Section):
    """Odds of the source of a child's state."""

    father: Weight = Field(description="relative probability that a child has the father's state")
    mother: Weight = Field(description="relative probability that a child has the mother's state")
    anywhere: Weight = Field(
        description="relative probability that a child's state is drawn from the distribution of the founders"
    )


class Children(Section):
    """The number and traits of children."""

    mean: Annotated[float, Field(gt=0, le=50)] = Field(
        description="mean of the Poisson distribution of the number of children, which is truncated to exclude 0"
    )
    father_at_least: Age = Field(description="lowest age of a father, in years")
    mother_ages: tuple[tuple[Age, Age, Weight], ...] = Field(
        min_length=1,
        description="ages of mothers: first age, last age and relative probability of each year in between",
    )
    wealth_steps: tuple[Annotated[int, Field(ge=-100, le=100)], ...] = Field(
        min_length=1, description="steps, all equally likely, that are added to the parents' mean wealth level"
    )
    state_from: StateFrom = Field(description="origin of a child's state")


class GenealogyRecipe(RecipeHead):
    """Recipe of a genealogy of several generations, simulated as in Wan et al. 2021."""

    kind: Literal["ystr-genealogy"] = Field(description="kind of recipe")
    seed: Seed = Field(description="seed of all random draws")
    engine: Engine = Field(
        default="vectorised", description="program that simulates the genealogy: the package's own or simuPOP"
    )
    people: People = Field(description="number of people in each generation")
    loci: Loci = Field(description="table of loci")
    founders: Founders = Field(description="first generation")
    migration: Migration = Field(default=Migration(), description="moves between subpopulations; default: none")
    marriage: Marriage = Field(description="rules of marriage")
    children: Children = Field(description="number and traits of children")

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
        min_length=1, max_length=1_000, description="people of each subpopulation, the same in every generation"
    )
    generations: Annotated[int, Field(ge=1, le=10_000)] = Field(description="number of generations, with the founders")


class Loci(Section):
    """The table with one row per locus."""

    file: str = Field(description="CSV file with a row per locus")


class Labels(Section):
    """A table of labels, such as surnames, and the number of people with each label."""

    file: str = Field(description="CSV file with a row per label")
    label: str = Field(description="its column of labels, all different")
    people: str = Field(description="its column of people")
    largest: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="number of most frequent labels kept; all if not given"
    )


class Founders(Section):
    """The first generation."""

    birth_years: tuple[Year, Year] = Field(description="first and last year of birth, equally likely")
    surnames: Labels = Field(description="surnames")
    states: Labels = Field(description="states")
    wealth: Labels = Field(description="a wealth level for each row, from 0")


class Migration(Section):
    """Moves between subpopulations, before the marriages of some generations."""

    generations: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="generations before whose marriages people move; 0 are the founders"
    )
    shares: tuple[tuple[Probability, ...], ...] = Field(
        default=(), description="a row for each subpopulation: shares that go to each"
    )


class Marriage(Section):
    """The rules of marriage."""

    ranks: tuple[int, ...] = Field(
        default=(),
        max_length=100,
        description="wealth levels at which the second and later ranks start",
    )
    years_older: Years = Field(description="most years by which a suitable husband is older than his wife")
    years_younger: Years = Field(description="most years by which he is younger")
    # With lower probabilities, drawing pairs until one is accepted would take minutes.
    accepted_anyway: Annotated[float, Field(ge=0.001, le=1)] = Field(
        description="probability that an unsuitable pair marries, at each attempt"
    )
    leaves_pool: Probability = Field(description="probability, for each spouse, that a marriage is the last")


class StateFrom(Section):
    """Odds of the source of a child's state."""

    father: Weight = Field(description="weight of the father's state becoming the child's")
    mother: Weight = Field(description="weight of the mother's")
    anywhere: Weight = Field(description="weight of one drawn like the founders'")


class Children(Section):
    """The number and traits of children."""

    mean: Annotated[float, Field(gt=0, le=50)] = Field(
        description="mean of the Poisson distribution of children, which is drawn without 0"
    )
    father_at_least: Age = Field(description="least age of a father, in years")
    mother_ages: tuple[tuple[Age, Age, Weight], ...] = Field(
        min_length=1, description="first age, last age and weight of each of its years"
    )
    wealth_steps: tuple[Annotated[int, Field(ge=-100, le=100)], ...] = Field(
        min_length=1, description="added to the parents' mean level, equally likely"
    )
    state_from: StateFrom = Field(description="where a child's state comes from")


class GenealogyRecipe(RecipeHead):
    """Recipe of a genealogy of several generations, simulated as in Wan et al. 2021."""

    kind: Literal["ystr-genealogy"] = Field(description="this kind")
    seed: Seed = Field(description="seed of all draws")
    engine: Engine = Field(default="vectorised", description="which of the two engines makes it")
    people: People = Field(description="how many people live in each generation")
    loci: Loci = Field(description="table with a row for each locus")
    founders: Founders = Field(description="the first generation")
    migration: Migration = Field(default=Migration(), description="who moves between subpopulations; nobody without it")
    marriage: Marriage = Field(description="who marries whom")
    children: Children = Field(description="how many children couples have, and what becomes of them")

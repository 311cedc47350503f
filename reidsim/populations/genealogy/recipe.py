"""What a recipe of a Y-STR genealogy may say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reidsim.populations.recipe import RecipeHead
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
    """How many people live in each generation."""

    subpopulations: tuple[Size, ...] = Field(min_length=1, max_length=1_000)
    generations: Annotated[int, Field(ge=1, le=10_000)]


class Loci(Section):
    """Table with a row for each locus."""

    file: str


class Labels(Section):
    """Table of labels and how many people bear each."""

    file: str
    label: str
    people: str


class Founders(Section):
    """The first generation."""

    birth_years: tuple[Year, Year]
    surnames: Labels
    states: Labels
    wealth: Labels


class Migration(Section):
    """Moves between subpopulations, before the marriages of some generations."""

    generations: tuple[Annotated[int, Field(ge=0)], ...] = ()
    shares: tuple[tuple[Probability, ...], ...] = ()


class Marriage(Section):
    """Who marries whom."""

    ranks: tuple[int, ...] = Field(default=(), max_length=100)
    years_older: Years
    years_younger: Years
    # Far below the least probability allowed, two who suit nobody would be tried for minutes.
    accepted_anyway: Annotated[float, Field(ge=0.001, le=1)]
    leaves_pool: Probability


class StateFrom(Section):
    """Odds of where a child's state comes from."""

    father: Weight
    mother: Weight
    anywhere: Weight


class Children(Section):
    """How many children couples have, and what becomes of them."""

    mean: Annotated[float, Field(gt=0, le=50)]
    father_at_least: Age
    mother_ages: tuple[tuple[Age, Age, Weight], ...] = Field(min_length=1)
    wealth_steps: tuple[Annotated[int, Field(ge=-100, le=100)], ...] = Field(min_length=1)
    state_from: StateFrom


class GenealogyRecipe(RecipeHead):
    """Generations of families, as Wan et al. 2021 simulate them."""

    kind: Literal["ystr-genealogy"]
    seed: Annotated[int, Field(ge=0)]
    engine: Engine = "vectorised"
    people: People
    loci: Loci
    founders: Founders
    migration: Migration = Migration()
    marriage: Marriage
    children: Children

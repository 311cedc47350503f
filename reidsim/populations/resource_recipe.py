"""Recipes of external resources: a file about some people of a population, one row each."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError, not_among
from reidsim.populations.individuals import Individuals
from reidsim.populations.recipe import RecipeHead, Share
from reidsim.populations.resources import ANYONE, ExternalResource, draw_people, draw_resource
from reidsim.validation import Section


class CoverageByGroup(Section):
    """Share of the people listed, by the value of one attribute."""

    by: str = Field(description="attribute that it depends on")
    shares: dict[str, Share] = Field(min_length=1, description="value = probability")


class ResourceRecipe(RecipeHead):
    """A registry, a genealogy database or any other file about people of a population.

    At least one of ``size`` and ``coverage`` is needed.
    """

    kind: Literal["resource"] = Field(description="this kind")
    population: str = Field(description="a population, of whole people")
    seed: Annotated[int, Field(ge=0)] = Field(
        description="seed of the draw of the resource; independent of the population's"
    )
    size: Annotated[int, Field(gt=0)] | None = Field(default=None, description="exact number of records")
    coverage: Share | CoverageByGroup | None = Field(
        default=None, description="probability that a person has a record; with `size`, the weight of being drawn"
    )
    among: dict[str, tuple[str, ...]] = Field(
        default={}, description="attribute = values of the people who can be listed"
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="attributes that the file carries; all without it"
    )
    missing: dict[str, Share] = Field(default={}, description="attribute = share of its values that are missing")
    price: Annotated[float, Field(ge=0)] = Field(default=0.0, description="what the file costs, once")
    buyers: tuple[str, ...] = Field(default=(ANYONE,), min_length=1, description="kinds of adversary who may have it")

    @model_validator(mode="after")
    def _someone_is_listed(self) -> ResourceRecipe:
        if self.size is None and self.coverage is None:
            raise InputError("nothing says who is listed", expected="size, coverage or both")
        return self


def resource_of(recipe: ResourceRecipe, world: Individuals, rng: np.random.Generator, *, name: str) -> ExternalResource:
    """Draw the resource of a recipe from its population.

    Raises
    ------
    InputError
        If an attribute or value does not exist, or nobody can be listed.
    """
    coverage = recipe.coverage
    chance = _by_group(world, coverage) if isinstance(coverage, CoverageByGroup) else coverage
    among = np.ones(world.n_people, dtype=bool)
    for attribute, values in recipe.among.items():
        allowed = np.zeros(world.domain[attribute].size, dtype=bool)
        allowed[_codes(world, attribute, values, f"among.{attribute}")] = True
        codes = world.column(attribute)
        among &= (codes >= 0) & allowed[codes]
    person = draw_people(world, rng, coverage=chance, size=recipe.size, among=among)
    return draw_resource(
        world,
        person,
        rng,
        attributes=recipe.attributes,
        missing=recipe.missing,
        name=name,
        source=recipe.source,
        price=recipe.price,
        buyers=recipe.buyers,
    )


def _by_group(world: Individuals, coverage: CoverageByGroup) -> NDArray[np.float64]:
    domain = world.domain[coverage.by]
    shares = np.full(domain.size, np.nan)
    shares[_codes(world, coverage.by, tuple(coverage.shares), "coverage.shares")] = list(coverage.shares.values())
    codes = world.column(coverage.by)
    lacking = np.isnan(shares) & (np.bincount(codes[codes >= 0], minlength=domain.size) > 0)
    if lacking.any():
        raise InputError(
            "share missing", where="coverage.shares", expected=f"one for {domain.categories[int(lacking.argmax())]!r}"
        )
    if (codes < 0).any():
        raise InputError("people without a value have no share", where=f"coverage.by = {coverage.by!r}")
    return np.asarray(shares[codes])


def _codes(world: Individuals, attribute: str, values: tuple[str, ...], where: str) -> list[int]:
    categories = world.domain[attribute].categories
    for value in values:
        if value not in categories:
            raise not_among(f"not a value of {attribute!r}", value, categories, where=where)
    return [categories.index(value) for value in values]

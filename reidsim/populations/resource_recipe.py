"""Recipes of external resources: a file about some people of a population, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError, not_among, require_among
from reidsim.populations.individuals import Individuals
from reidsim.populations.recipe import RecipeHead, Seed, Share
from reidsim.populations.resources import ANYONE, ExternalResource, draw_people, draw_resource
from reidsim.populations.value_groups import number_range, within
from reidsim.validation import Section


class CoverageByGroup(Section):
    """Share of the people listed, by the value of one attribute."""

    by: str = Field(description="attribute that it depends on")
    shares: dict[str, Share] = Field(
        min_length=1, description='value, or range of numbers such as `"18..29"` or `"65.."` = probability'
    )

    def of(self, categories: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each value, NaN where none is given, shape (n_categories,).

        Raises
        ------
        InputError
            If a key is no value and no range, or a value has two.
        """
        found = np.full(len(categories), np.nan)
        place = {category: position for position, category in enumerate(categories)}
        for key, share in self.shares.items():
            bounds = None if key in place else number_range(key)
            if key not in place and bounds is None:
                raise not_among(f"not a value of {self.by!r}", key, categories, where="coverage.shares")
            positions = [place[key]] if bounds is None else [place[c] for c in categories if within(c, bounds)]
            twice = [categories[position] for position in positions if not np.isnan(found[position])]
            if twice:
                raise InputError("value with two shares", where="coverage.shares", found=twice[0], expected="one")
            found[positions] = share
        return found


# One attribute, or several whose shares are multiplied.
Coverage = Share | CoverageByGroup | Annotated[tuple[CoverageByGroup, ...], Field(min_length=1)]


class ResourceRecipe(RecipeHead):
    """A file about people of a population, such as a genealogy database.

    At least one of ``size`` and ``coverage`` is needed.
    """

    kind: Literal["resource"] = Field(description="this kind")
    population: str = Field(description="a population, of whole people")
    seed: Seed = Field(description="seed of the draw")
    size: Annotated[int, Field(gt=0)] | None = Field(default=None, description="exact number of records")
    coverage: Coverage | None = Field(
        default=None,
        description="probability that a person is listed; tables by attribute are multiplied; with `size`, weights",
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
    chance: NDArray[np.float64] | float | None = None
    if isinstance(recipe.coverage, float):
        chance = recipe.coverage
    elif recipe.coverage is not None:
        groups = recipe.coverage if isinstance(recipe.coverage, tuple) else (recipe.coverage,)
        chance = np.prod(
            [chance_by_value(group, world.column(group.by), world.domain[group.by].categories) for group in groups],
            axis=0,
        )
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


def chance_by_value(
    coverage: CoverageByGroup, codes: NDArray[np.integer], categories: Sequence[str]
) -> NDArray[np.float64]:
    """Return the probability of each person, shape (n_people,), by the value of one attribute.

    Raises
    ------
    InputError
        If somebody has no value, or one without a probability.
    """
    shares = coverage.of(categories)
    if (codes < 0).any():
        raise InputError("people without a value have no share", where=f"coverage.by = {coverage.by!r}")
    lacking = np.isnan(shares) & (np.bincount(codes, minlength=len(categories)) > 0)
    if lacking.any():
        raise InputError(
            "share missing", where="coverage.shares", expected=f"one for {categories[int(lacking.argmax())]!r}"
        )
    return np.asarray(shares[codes])


def _codes(world: Individuals, attribute: str, values: tuple[str, ...], where: str) -> list[int]:
    categories = world.domain[attribute].categories
    require_among(f"not a value of {attribute!r}", values, categories, where=where)
    return [categories.index(value) for value in values]

"""Recipes of kind ``social-media``.

They give probabilities that attributes of a person can be learned from social media.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.bundled import resolve
from reidsim.errors import InputError, listed, locating, refuse_first, require_among
from reidsim.populations.recipe import RecipeHead, exactly_one, number_range
from reidsim.validation import Section, read_toml, validated

Floats = NDArray[np.float64]
Ages = NDArray[np.integer]

_BASES = ("source", "assumed", "calibrated")


class Figure(Section):
    """A probability with its basis.

    It is published, assumed, or calibrated to a published result.

    Attributes
    ----------
    probability
        probability
    source
        publication of the figure
    assumed
        reason for an assumed figure
    calibrated
        published result to which the figure was calibrated
    """

    probability: Annotated[float, Field(ge=0, le=1)]
    source: Annotated[str, Field(min_length=1)] | None = None
    assumed: Annotated[str, Field(min_length=1)] | None = None
    calibrated: Annotated[str, Field(min_length=1)] | None = None

    _one_basis = exactly_one(*_BASES, problem="the origin of the figure is missing or given twice")


class AgeFigure(Figure):
    """A probability for people in a range of ages.

    Attributes
    ----------
    ages
        range of ages, such as `"18..29"` or `"65.."`
    """

    ages: str

    @model_validator(mode="after")
    def _has_a_range(self) -> AgeFigure:
        expected = "a range such as '18..29' or '65..'"
        refuse_first((number_range(self.ages) is None, "not a range of ages", "ages", self.ages, expected))
        return self

    @property
    def bounds(self) -> tuple[int, float]:
        """First and last age of the range; the last is infinity if the range is open."""
        return number_range(self.ages) or (0, np.inf)


class FiguresByAge(Section):
    """A probability for all ages together, by age group, or both.

    Each probability has exactly one of ``source``, ``assumed`` and ``calibrated``. If there are age groups, they apply
    to people of a known age, and an age outside them is an error.

    Attributes
    ----------
    overall
        figure for people of all ages together
    by_age
        figures for age groups, which do not overlap
    """

    overall: Figure | None = None
    by_age: tuple[AgeFigure, ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> FiguresByAge:
        no_figure = self.overall is None and not self.by_age
        refuse_first((no_figure, "figure missing", None, None, "overall, by_age or both"))
        for younger, older in pairwise(sorted(self.by_age, key=lambda figure: figure.bounds[0])):
            both, twice = f"{younger.ages} and {older.ages}", older.bounds[0] <= younger.bounds[1]
            refuse_first((twice, "age in two groups", "by_age", both, None))
        return self

    def at(self, ages: Ages) -> Floats:
        """Return the probability at each age, same shape as `ages`.

        Without age groups, it is the overall probability. Otherwise, it is NaN for ages outside all groups.
        """
        if self.overall is not None and not self.by_age:
            return np.full(ages.shape, self.overall.probability)
        found = np.full(ages.shape, np.nan)
        for figure in self.by_age:
            first, last = figure.bounds
            found[(ages >= first) & (ages <= last)] = figure.probability
        return found

    def probability(self, age: int | Ages | None) -> Floats:
        """Return the probability at each age, or for people of all ages together if no age is given.

        Raises
        ------
        InputError
            If there is no figure for an age.
        """
        if age is None:
            problem = "no figure for people of all ages"
            refuse_first((self.overall is None, problem, None, None, "overall"))
            return np.asarray(cast("Figure", self.overall).probability)
        found = self.at(ages := np.asarray(age))
        if np.isnan(found).any():
            lacking, groups = int(ages[np.isnan(found)].flat[0]), listed(figure.ages for figure in self.by_age)
            raise InputError("no figure for an age", found=lacking, expected=groups)
        return found


class SocialMediaRecipe(RecipeHead):
    """Recipe of the probability that posts reveal each attribute of a person.

    Attributes
    ----------
    kind
        kind of recipe
    platform
        name of the social-media platform
    use
        probability that a person uses the platform; default: included in the figures of the attributes
    attributes
        probability that an attribute of a user can be learned, by attribute
    """

    kind: Literal["social-media"]
    platform: str
    use: FiguresByAge | None = None
    attributes: dict[str, FiguresByAge] = Field(min_length=1)

    def presence(self, age: int | Ages | None = None) -> Floats:
        """Return the probability that a person uses the platform; 1 if the other probabilities include it.

        Parameters
        ----------
        age : int or ndarray of int, optional
            In years; people of all ages together, if not given.

        Returns
        -------
        ndarray of float64, of the shape of `age`

        Raises
        ------
        InputError
            If there is no figure for an age.
        """
        with locating(where="use"):
            return np.ones(np.shape(0 if age is None else age)) if self.use is None else self.use.probability(age)

    def learnable(self, attribute: str, age: int | Ages | None = None) -> Floats:
        """Return the probability that an attribute of a user of the platform can be learned; see `presence`.

        For two attributes of one user, the events are independent.
        """
        require_among("no such attribute", (attribute,), self.attributes)
        with locating(where=f"attributes.{attribute}"):
            return self.attributes[attribute].probability(age)


def load_social_media(recipe: str | Path) -> SocialMediaRecipe:
    """Return a parsed social-media recipe.

    It is a bundled recipe, such as ``"twitter-attributes"``, or a TOML file.

    Raises
    ------
    InputError
        If the recipe cannot be used, for example because a probability has no ``source``, ``assumed`` or
        ``calibrated``.
    """
    path = resolve(recipe, "populations", "social-media recipe")
    return validated(SocialMediaRecipe, read_toml(path), path)

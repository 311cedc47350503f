"""What can be learned about a person from social media, attribute by attribute: recipes of kind ``social-media``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.bundled import resolve
from reidsim.errors import InputError, listed, not_among
from reidsim.populations.recipe import RecipeHead
from reidsim.populations.value_groups import number_range
from reidsim.validation import Section, read_toml, validated

Floats = NDArray[np.float64]
Ages = NDArray[np.integer]


class Figure(Section):
    """A probability with where it comes from: published, assumed, or calibrated to a published result."""

    probability: Annotated[float, Field(ge=0, le=1)] = Field(description="the figure")
    source: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="where it was published")
    assumed: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="why this value, if it was not"
    )
    calibrated: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="to what result it was fitted"
    )

    @model_validator(mode="after")
    def _says_where_from(self) -> Figure:
        given = [basis for basis in ("source", "assumed", "calibrated") if getattr(self, basis) is not None]
        if len(given) != 1:
            raise InputError(
                "a figure says where it comes from",
                found=listed(given) if given else None,
                expected="one of source, assumed, calibrated",
            )
        return self


class AgeFigure(Figure):
    """A probability for people of some ages."""

    ages: str = Field(description='ages, such as `"18..29"` or `"65.."`')

    @model_validator(mode="after")
    def _is_a_range(self) -> AgeFigure:
        self.bounds  # noqa: B018 - raises what is wrong with it
        return self

    @property
    def bounds(self) -> tuple[int, int | None]:
        """First and last age; no last one if the range is open."""
        bounds = number_range(self.ages)
        if bounds is None:
            raise InputError(
                "not a range of ages", where="ages", found=self.ages, expected="such as '18..29' or '65..'"
            )
        return bounds

    def __contains__(self, age: int) -> bool:
        first, last = self.bounds
        return age >= first and (last is None or age <= last)


class FiguresByAge(Section):
    """A probability for people of all ages together, by age group, or both.

    Each figure has exactly one of ``source``, ``assumed`` and ``calibrated``. With age groups, the figure
    is 0 outside them.
    """

    overall: Figure | None = Field(default=None, description="figure for people of all ages together")
    by_age: tuple[AgeFigure, ...] = Field(
        default=(), description="figures for people of some ages, which do not overlap"
    )

    @model_validator(mode="after")
    def _complete(self) -> FiguresByAge:
        if self.overall is None and not self.by_age:
            raise InputError("no figure", expected="overall, by_age or both")
        ordered = sorted(self.by_age, key=lambda figure: figure.bounds[0])
        for younger, older in pairwise(ordered):
            if older.bounds[0] in younger:
                raise InputError("age groups overlap", where="by_age", found=f"{younger.ages} and {older.ages}")
        return self


class SocialMediaRecipe(RecipeHead):
    """For each attribute, the probability that it can be learned from a person's posts."""

    kind: Literal["social-media"] = Field(description="this kind")
    platform: str = Field(description="what people use")
    use: FiguresByAge | None = Field(
        default=None, description="probability that a person uses it; part of the other figures without it"
    )
    attributes: dict[str, FiguresByAge] = Field(
        min_length=1, description="attribute = probability that it can be learned about a user"
    )


@dataclass(frozen=True)
class SocialMediaModel:
    """Probabilities that attributes can be learned about people from social media.

    Parameters
    ----------
    recipe : SocialMediaRecipe
    name : str
        How messages call it.
    """

    recipe: SocialMediaRecipe
    name: str = "social media"

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that can be learned about somebody; all others cannot."""
        return tuple(self.recipe.attributes)

    def use(self, age: int | Ages | None = None) -> Floats:
        """Return the probability that a person uses the platform; 1 if the other figures already contain it.

        Parameters
        ----------
        age : int or ndarray of int, optional
            In years; without it, of people of all ages together.

        Returns
        -------
        ndarray of float64, of the shape of `age`

        Raises
        ------
        InputError
            If there is no figure for an age.
        """
        if self.recipe.use is None:
            return np.ones(np.shape(0 if age is None else age))
        return self._probability(self.recipe.use, "use", age)

    def learnable(self, attribute: str, age: int | Ages | None = None) -> Floats:
        """Return the probability that an attribute can be learned about a person.

        It is the probability that the person uses the platform times that of learning the attribute about a user. For
        two attributes of one person these events are only independent given use: see `use`.

        Parameters
        ----------
        attribute : str
        age : int or ndarray of int, optional
            In years; without it, of people of all ages together.

        Returns
        -------
        ndarray of float64, of the shape of `age`

        Raises
        ------
        InputError
            If the attribute is not in the recipe, or there is no figure for an age.
        """
        figures = self.recipe.attributes.get(attribute)
        if figures is None:
            raise not_among("no such attribute", attribute, self.attributes, source=self.name)
        return self.use(age) * self._probability(figures, f"attributes.{attribute}", age)

    def _probability(self, figures: FiguresByAge, where: str, age: int | Ages | None) -> Floats:
        if age is None:
            if figures.overall is None:
                raise InputError("no figure for people of all ages", source=self.name, where=where, expected="overall")
            return np.asarray(figures.overall.probability)
        ages = np.asarray(age)
        everybody = figures.overall.probability if figures.overall is not None and not figures.by_age else np.nan
        found = np.full(ages.shape, everybody)
        for figure in figures.by_age:
            first, last = figure.bounds
            found[(ages >= first) & (ages <= (np.inf if last is None else last))] = figure.probability
        if np.isnan(found).any():
            lacking = int(ages[np.isnan(found)].flat[0])
            groups = listed(figure.ages for figure in figures.by_age)
            raise InputError("no figure for an age", source=self.name, where=where, found=lacking, expected=groups)
        return found


def load_social_media(recipe: str | Path) -> SocialMediaModel:
    """Load a social-media model.

    Parameters
    ----------
    recipe : str or Path
        Name of a bundled recipe, such as ``"twitter-attributes"``, or a TOML file.

    Returns
    -------
    SocialMediaModel

    Raises
    ------
    InputError
        If the recipe cannot be used; a figure without ``source``, ``assumed`` or ``calibrated`` is an error.
    """
    path = resolve(recipe, "populations", "social-media recipe")
    return SocialMediaModel(validated(SocialMediaRecipe, read_toml(path), path), name=path.stem)

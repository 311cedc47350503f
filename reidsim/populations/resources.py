"""External resources: a file about some people of a population, one row each, such as a genealogy database.

The records, which the adversary sees, and the person behind each record are kept apart: an adversary model uses the
records alone, payoffs are computed with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError, not_among, require_among
from reidsim.populations.individuals import Individuals
from reidsim.populations.recipe import RecipeHead, Seed, Share
from reidsim.populations.sampling import UNKNOWN
from reidsim.populations.value_groups import number_range, within
from reidsim.validation import Section

Floats = NDArray[np.float64]
ANYONE = "anyone"


class CoverageByGroup(Section):
    """Probability that a person is listed, by the value of one attribute."""

    by: str = Field(description="attribute on which the probability depends")
    shares: dict[str, Share] = Field(
        min_length=1, description='probability for each value or range of numbers, such as `"18..29"` or `"65.."`'
    )

    def chances(self, codes: NDArray[np.integer], categories: Sequence[str]) -> Floats:
        """Return the probability of each person, shape (n_people,), from the codes of the attribute.

        Raises
        ------
        InputError
            If a key is no value and no range, a value has two shares, or somebody has no value or no share.
        """
        shares = np.full(len(categories), np.nan)
        for key, share in self.shares.items():
            bounds = None if key in categories else number_range(key)
            if key not in categories and bounds is None:
                raise not_among(f"not a value of {self.by!r}", key, categories, where="coverage.shares")
            members = np.array([c == key if bounds is None else within(c, bounds) for c in categories])
            twice = members & ~np.isnan(shares)
            if twice.any():
                value = categories[int(twice.argmax())]
                raise InputError(
                    "value has two shares", where="coverage.shares", found=value, expected="one share for each value"
                )
            shares[members] = share
        if (codes < 0).any():
            raise InputError("people with a missing value have no share", where=f"coverage.by = {self.by!r}")
        lacking = np.isnan(shares) & (np.bincount(codes, minlength=len(categories)) > 0)
        if lacking.any():
            expected = f"a share for {categories[int(lacking.argmax())]!r}"
            raise InputError("share missing", where="coverage.shares", expected=expected)
        return np.asarray(shares[codes])


# One attribute, or several whose shares are multiplied.
Coverage = Share | CoverageByGroup | Annotated[tuple[CoverageByGroup, ...], Field(min_length=1)]


class ResourceRecipe(RecipeHead):
    """A file about people of a population, such as a genealogy database.

    At least one of ``size`` and ``coverage`` is needed.
    """

    kind: Literal["resource"] = Field(description="kind of recipe")
    population: str = Field(description="population with whole numbers of people")
    seed: Seed = Field(description="seed of the random draw")
    size: Annotated[int, Field(gt=0)] | None = Field(default=None, description="exact number of people in the file")
    coverage: Coverage | None = Field(
        default=None,
        description="probability that the file contains a person: one number, or tables by attribute, which "
        "are multiplied; weights of the draw if `size` is set",
    )
    among: dict[str, tuple[str, ...]] = Field(
        default={}, description="values that a person must have to be in the file, by attribute"
    )
    attributes: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="attributes in the file; default: all attributes of the population"
    )
    missing: dict[str, Share] = Field(default={}, description="share of missing values, by attribute")
    price: Annotated[float, Field(ge=0)] = Field(default=0.0, description="price of the file, paid once")
    buyers: tuple[str, ...] = Field(
        default=(ANYONE,), min_length=1, description="kinds of adversary who may have the file"
    )

    @model_validator(mode="after")
    def _lists_someone(self) -> ResourceRecipe:
        if self.size is None and self.coverage is None:
            raise InputError("size and coverage are missing", expected="size, coverage or both")
        return self


@dataclass(frozen=True)
class ExternalResource:
    """A file about some people of a population.

    Parameters
    ----------
    records : Individuals
        The adversary's view; missing values are ``UNKNOWN``.
    person : ndarray of int64, shape (n_records,)
        The truth: row of the population that each record is about. Nobody has two records.
    n_people : int
        People of the population.
    price : float
        Paid once, in currency units.
    buyers : tuple of str
        Kinds of adversary who may have it; ``"anyone"`` for all.
    """

    records: Individuals
    person: NDArray[np.int64]
    n_people: int
    price: float = 0.0
    buyers: tuple[str, ...] = (ANYONE,)

    def __repr__(self) -> str:
        return f"ExternalResource({len(self.person):,} rows about {self.n_people:,} people)"

    @property
    def name(self) -> str:
        """Name in messages and results."""
        return self.records.name

    @property
    def coverage(self) -> float:
        """Share of the population that has a record."""
        return self.records.n_people / self.n_people

    def record_of(self) -> NDArray[np.int64]:
        """Return the record of each person of the population, -1 for people without one, shape (n_people,)."""
        record = np.full(self.n_people, -1, dtype=np.int64)
        record[self.person] = np.arange(len(self.person))
        return record


def resource_of(recipe: ResourceRecipe, world: Individuals, rng: np.random.Generator, *, name: str) -> ExternalResource:
    """Draw the resource of a recipe from its population.

    Raises
    ------
    InputError
        If an attribute or value does not exist, or nobody can be listed.
    """
    chance = np.ones(world.n_people)
    if isinstance(recipe.coverage, float):
        chance *= recipe.coverage
    elif recipe.coverage is not None:
        groups = recipe.coverage if isinstance(recipe.coverage, tuple) else (recipe.coverage,)
        chance = np.prod([g.chances(world.column(g.by), world.domain[g.by].categories) for g in groups], axis=0)
    for attribute, values in recipe.among.items():
        categories = world.domain[attribute].categories
        require_among(f"not a value of {attribute!r}", values, categories, where=f"among.{attribute}")
        chance = chance * np.isin(world.column(attribute), [categories.index(value) for value in values])
    person = draw_people(chance, rng, recipe.size)
    records = world.take(person).select(recipe.attributes or world.domain.names)
    require_among("not an attribute of the resource", recipe.missing, records.domain.names, where="missing")
    codes = with_values_missing(
        records.codes, {records.domain.position(each): share for each, share in recipe.missing.items()}, rng
    )
    seen = Individuals(records.domain, codes, name=name, source=recipe.source)
    return ExternalResource(seen, person, world.n_people, price=recipe.price, buyers=recipe.buyers)


def draw_people(chance: Floats, rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
    """Draw the people who have a record: each by chance, or exactly `size` of them.

    Parameters
    ----------
    chance : ndarray of float64, shape (n_people,)
        Probability that a person has a record, independent of others; with `size`, the weight of being drawn.
    rng : numpy.random.Generator
    size : int, optional
        Number of records.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Rows of the people in random order, so that the position in the file is uninformative.

    Raises
    ------
    InputError
        If too few people can be drawn, or nobody was.
    """
    possible = np.flatnonzero(chance > 0)
    if size is None:
        drawn = possible[rng.random(len(possible)) < chance[possible]]
        if not len(drawn):
            raise InputError("the list is empty", where="coverage", expected="a larger coverage or population")
        return rng.permutation(drawn).astype(np.int64)
    if not 1 <= size <= len(possible):
        raise InputError("size out of range", where="size", found=size, expected=f"1 to {len(possible)}")
    weights = chance[possible]
    if (weights == weights[0]).all():
        return rng.permutation(possible)[:size].astype(np.int64)
    # Exponential clocks that run at each person's weight: the first to ring are a weighted draw without replacement.
    rings = rng.standard_exponential(len(possible)) / weights
    order = np.argsort(rings, kind="stable")[:size]
    return rng.permutation(possible[order]).astype(np.int64)


def with_values_missing(
    codes: NDArray[np.int32], missing: Mapping[int, float], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return a copy of a file's codes in which shares of the values of some columns are missing.

    Columns of the same share lose values together: exactly ``int(records x columns x share)`` of them, every set of
    that many being equally likely (as in the genealogy database of Wan et al. 2021).

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_attributes)
    missing : mapping of int to float
        Share of missing values, by column.
    rng : numpy.random.Generator
    """
    codes = codes.copy()
    for share in dict.fromkeys(missing.values()):
        columns = np.array([column for column, each in missing.items() if each == share])
        lost = rng.choice(len(codes) * len(columns), int(len(codes) * len(columns) * share), replace=False)
        rows, chosen = np.divmod(lost, len(columns))
        codes[rows, columns[chosen]] = UNKNOWN
    return codes

"""A state's voter list drawn from a population: who of it is registered, and what the list tells about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.bundled import data_file
from reidsim.errors import InputError, locating, nearest, refuse_rows
from reidsim.populations.domain import Attribute, Codes
from reidsim.populations.population import Counts, Population
from reidsim.populations.recipe import RecipeHead, Seed, Share
from reidsim.populations.value_groups import Combinations, GroupedAttribute, Groups
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.random_counts import draw_binomial
from reidsim.tables import numbers, read_table, require_columns
from reidsim.validation import Section
from reidsim.wording import whole_number

VOTING_AGE = 18

Floats = NDArray[np.float64]


class ListedAttributes(Section):
    """Attributes of the population that a voter list may carry."""

    age: str | None = Field(default=None, description="attribute of the population that holds it")
    year_of_birth: str | None = Field(default=None, description="attribute of the population that holds it")
    sex: str | None = Field(default=None, description="attribute of the population that holds it")
    race: str | None = Field(default=None, description="attribute of the population that holds it")
    ethnicity: str | None = Field(default=None, description="attribute of the population that holds it")
    party: str | None = Field(default=None, description="attribute of the population that holds it")
    address: tuple[str, ...] = Field(default=(), description="attributes known from the address, such as the ZIP code")
    state: str | None = Field(default=None, description="attribute of the population that holds it")

    @model_validator(mode="after")
    def _one_birth(self) -> ListedAttributes:
        if (self.age is None) == (self.year_of_birth is None):
            raise InputError("adults are unknown", expected="either age or year_of_birth")
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """Attributes of the population that are named, in the order of the keys."""
        of_one = (self.age, self.year_of_birth, self.sex, self.race, self.ethnicity, self.party, self.state)
        return (*(name for name in of_one if name is not None), *self.address)


class ProfileOverrides(Section):
    """Facts of the state's profile to replace."""

    birth: Literal["full", "year", "age", "none"] | None = Field(
        default=None, description="what the list carries of the birth"
    )
    sex: bool | None = Field(default=None, description="whether the list carries it")
    race: bool | None = Field(default=None, description="whether the list carries it")
    ethnicity: bool | None = Field(default=None, description="whether the list carries it")
    party: bool | None = Field(default=None, description="whether the list carries it")
    address: bool | None = Field(default=None, description="whether the list carries it")
    registered_share: Share | None = Field(default=None, description="probability that an adult is listed")

    def applied_to(self, profile: VoterProfile) -> VoterProfile:
        """Return a profile with these facts."""
        changes = {fact: value for fact, value in self if value is not None}
        if changes.get("birth") == "none":
            changes["birth"] = None
        # What is said here is no longer an assumption of the table.
        kept = tuple(assumption for assumption in profile.assumptions if assumption.fact not in changes)
        return replace(profile, assumptions=kept, **changes)


class Coverage(Section):
    """Share of adults who are listed by group, in a CSV file, instead of one share for all."""

    file: str = Field(description="CSV file with a row per combination of values or groups")
    share: str = Field(description="its column of shares")
    columns: dict[str, str] = Field(min_length=1, description="attribute of the population = column of the file")
    groups: dict[str, Annotated[Groups, Field(min_length=1)]] = Field(
        default={}, description="attribute = group = its values, as in `groupings` of an attribute model"
    )


class VoterListRecipe(RecipeHead):
    """A voter list of a state: registered adults, with the attributes that the state's list carries.

    Exactly one of ``attributes.age`` and ``attributes.year_of_birth`` is needed. Attributes that are not named are not
    in the list.
    """

    kind: Literal["voter-list"] = Field(description="this kind")
    population: str = Field(description="a population")
    state: str = Field(description="name or postal abbreviation")
    seed: Seed = Field(description="seed of the draw")
    reference_year: int | None = Field(
        default=None, description="year of the list; needed with `attributes.year_of_birth`"
    )
    attributes: ListedAttributes = Field(description="attributes of the population that the list may carry")
    overrides: ProfileOverrides = Field(
        default=ProfileOverrides(), description="facts of the state's profile to replace"
    )
    coverage: Coverage | None = Field(default=None, description="shares by group, instead of one for all adults")

    @model_validator(mode="after")
    def _dated(self) -> VoterListRecipe:
        if self.attributes.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the list")
        return self


def voter_list_population(
    recipe: VoterListRecipe, population: Population, folder: Path, *, name: str, expected: bool, seed: int
) -> Population:
    """Draw the voter list of a recipe from its population.

    Every adult of the state is listed independently of the others, with the state's registered share or that of the
    adult's group.

    Parameters
    ----------
    recipe : VoterListRecipe
    population : Population
        The one that the recipe names.
    folder : Path
        Where the recipe's files are.
    name : str
    expected : bool
        Keep expected counts (float64) instead of drawing.
    seed : int
        Of the draw, which is independent of a population's drawn with the same seed.

    Returns
    -------
    Population
        Over the attributes that the state's list carries, in the order of `population`.

    Raises
    ------
    InputError
        If the state is unknown, the population lacks an attribute, the list would carry none or list nobody, or
        whole people are asked for from expected counts.
    """
    profile = _profile(recipe)
    with locating(where="attributes"):
        for attribute in recipe.attributes.named:
            population.domain.position(attribute)
    adults = adult_cells(population, recipe.attributes, profile, recipe.reference_year)
    cells, counts = population.cells[adults], population.counts[adults]
    if recipe.coverage is None:
        shares = np.full(len(cells), profile.registered_share)
    else:
        shares = _coverage_shares(recipe.coverage, population, cells, folder)
    drawn = _listed(counts, shares, expected, population.name, seed)
    carried = carried_attributes(recipe.attributes, profile)
    if not carried:
        raise InputError("the list carries no attribute of the population", where="state", found=profile.state)
    if not drawn.sum() > 0:
        reason = next((a.reason for a in profile.assumptions if a.fact == "registered_share"), None)
        raise InputError("the list is empty", where="state", found=profile.state, hint=reason)
    source = "; ".join(part for part in (recipe.source, _told(profile)) if part)
    voters = Population(population.domain, cells[drawn > 0], drawn[drawn > 0], name=name, source=source)
    return voters.marginal([attribute for attribute in population.domain.names if attribute in carried])


def carried_attributes(attributes: ListedAttributes, profile: VoterProfile) -> frozenset[str]:
    """Return the attributes of the population that a state's list carries."""
    carried = [attributes.state]
    if profile.birth is not None:
        carried.append(attributes.age or attributes.year_of_birth)
    carried += [getattr(attributes, fact) for fact in ("sex", "race", "ethnicity", "party") if getattr(profile, fact)]
    carried += attributes.address if profile.address else ()
    return frozenset(name for name in carried if name is not None)


def adult_cells(
    population: Population, attributes: ListedAttributes, profile: VoterProfile, reference_year: int | None = None
) -> NDArray[np.intp]:
    """Return the positions of the cells whose people are of the list's state and of voting age.

    With a year of birth, that is whoever turns 18 by the end of the reference year.

    Raises
    ------
    InputError
        If ages or years of birth are not whole numbers (the last may end in ``+``), the state is no value of the
        population, or there is no such cell.
    """
    name = attributes.age or cast("str", attributes.year_of_birth)
    position = population.domain.position(name)
    years = _whole_numbers(population.domain.attributes[position])
    old_enough = years >= VOTING_AGE
    if attributes.age is None:
        if reference_year is None:
            raise InputError("a year of birth needs the year of the list", where=name)
        old_enough = reference_year - years >= VOTING_AGE
    chosen = old_enough[population.cells[:, position]]
    if attributes.state is not None:
        states = population.domain[attributes.state]
        if profile.state not in states.categories:
            raise InputError(
                f"state that the population {population.name!r} does not have",
                where=f"attribute {attributes.state!r}",
                found=profile.state,
                hint=nearest(profile.state, states.categories),
            )
        code = states.categories.index(profile.state)
        chosen &= population.cells[:, population.domain.position(attributes.state)] == code
    if not chosen.any():
        raise InputError("no adult of the state in the population", where=population.name, found=profile.state)
    return np.flatnonzero(chosen)


def _profile(recipe: VoterListRecipe) -> VoterProfile:
    with locating(where="state"):
        profile = voter_profile(recipe.state)
    return recipe.overrides.applied_to(profile)


def _whole_numbers(attribute: Attribute) -> NDArray[np.int64]:
    numbers = [whole_number(category) for category in attribute.categories]
    for category, number in zip(attribute.categories, numbers, strict=True):
        if number is None or number < 0:
            raise InputError(
                "not a whole number, so adults are unknown", where=f"attribute {attribute.name!r}", found=category
            )
    return np.array(numbers, dtype=np.int64)


def _listed(counts: Counts, shares: Floats, expected: bool, name: str, seed: int) -> Counts:
    if expected:
        return np.asarray(counts * shares)
    if not np.issubdtype(counts.dtype, np.integer):
        raise InputError(
            "a voter list cannot be drawn from expected counts", where=name, expected="counts of whole people"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(b"voter-list")))
    return draw_binomial(rng, counts, shares)


def _coverage_shares(coverage: Coverage, population: Population, cells: Codes, folder: Path) -> Floats:
    """Return the share of listed adults for each cell, by its row of the coverage file."""
    path = data_file(coverage.file, folder, "populations")
    frame = read_table(path, comment="#")
    require_columns(frame, [*coverage.columns.values(), coverage.share], path)
    shares = numbers(frame, coverage.share, path).to_numpy(dtype=np.float64)
    refuse_rows(shares > 1, "not a share", source=path, column=coverage.share, found=frame[coverage.share])
    for name in coverage.groups:
        if name not in coverage.columns:
            raise InputError("not an attribute of coverage.columns", where="coverage.groups", found=name)
    grouped = [GroupedAttribute.of(population.domain[name], coverage.groups.get(name)) for name in coverage.columns]
    combinations = Combinations(grouped)
    rows = combinations.of_labels([frame[column] for column in coverage.columns.values()], len(frame))
    by_combination = np.full(combinations.size, np.nan)
    for row, combination in enumerate(rows):
        # A row of a group that the population does not have is passed over.
        if combination >= 0 and not np.isnan(by_combination[combination]):
            label = combinations.label(int(combination))
            raise InputError("group given twice", source=path, where=f"row {row + 1}", found=label)
        if combination >= 0:
            by_combination[combination] = shares[row]
    columns = [cells[:, population.domain.position(name)] for name in coverage.columns]
    wanted = combinations.of_codes(columns, len(cells))
    lacking = np.isnan(by_combination[wanted])
    if lacking.any():
        label = combinations.label(int(wanted[lacking.argmax()]))
        raise InputError("no row for a group of adults", source=path, where=label)
    return np.asarray(by_combination[wanted])


def _told(profile: VoterProfile) -> str:
    """Say what a state's list costs, who may have it and what of its profile is assumed."""
    said = [f"voter list of {profile.state}", f"${profile.price:,.0f} ({profile.access})"]
    said += [f"{a.fact} assumed to be {a.value}: {a.reason}" for a in profile.assumptions]
    return "; ".join(said)

"""Population of recipes of kind ``voter-list``: a state's voter list.

The list is drawn from a population.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError, locating, not_among, refuse_rows, require_among
from reidsim.populations.domain import Attribute, Codes
from reidsim.populations.figure_files import read_figures
from reidsim.populations.population import Population
from reidsim.populations.recipe import RecipeHead, Seed, Share
from reidsim.populations.value_groups import Combinations, GroupedAttribute, Groups
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.random_counts import draw_binomial
from reidsim.tables import numbers
from reidsim.validation import Section
from reidsim.wording import whole_number

VOTING_AGE = 18

Floats = NDArray[np.float64]

_FACTS = ("sex", "race", "ethnicity", "party")


class ListedAttributes(Section):
    """The population's attributes that a voter list may contain."""

    age: str | None = Field(default=None, description="attribute of the population with this information")
    year_of_birth: str | None = Field(default=None, description="attribute of the population with this information")
    sex: str | None = Field(default=None, description="attribute of the population with this information")
    race: str | None = Field(default=None, description="attribute of the population with this information")
    ethnicity: str | None = Field(default=None, description="attribute of the population with this information")
    party: str | None = Field(default=None, description="attribute of the population with this information")
    address: tuple[str, ...] = Field(
        default=(), description="attributes of the population that the address reveals, such as the ZIP code"
    )
    state: str | None = Field(default=None, description="attribute of the population with this information")

    @model_validator(mode="after")
    def _has_one_birth(self) -> ListedAttributes:
        if (self.age is None) == (self.year_of_birth is None):
            raise InputError("the age is missing or given twice", expected="either age or year_of_birth")
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """Names of the population's attributes that are set, in the order of the keys."""
        names = (self.age, self.year_of_birth, *(getattr(self, fact) for fact in _FACTS), self.state)
        return (*(name for name in names if name is not None), *self.address)


class ProfileOverrides(Section):
    """Values that replace facts of the state's profile."""

    birth: Literal["full", "year", "age", "none"] | None = Field(
        default=None, description="information on the birth in the list: full date, year, age or none"
    )
    sex: bool | None = Field(default=None, description="whether the list has this information")
    race: bool | None = Field(default=None, description="whether the list has this information")
    ethnicity: bool | None = Field(default=None, description="whether the list has this information")
    party: bool | None = Field(default=None, description="whether the list has this information")
    address: bool | None = Field(default=None, description="whether the list has this information")
    registered_share: Share | None = Field(default=None, description="probability that an adult is in the list")

    def applied_to(self, profile: VoterProfile) -> VoterProfile:
        """Return a profile with these facts replaced.

        They no longer count as assumptions of the table.
        """
        changes = {fact: value for fact, value in self if value is not None}
        if changes.get("birth") == "none":
            changes["birth"] = None
        kept = tuple(assumption for assumption in profile.assumptions if assumption.fact not in changes)
        return replace(profile, assumptions=kept, **changes)


class Coverage(Section):
    """A CSV file with the share of listed adults by group.

    It replaces the single share for all adults.
    """

    file: str = Field(description="CSV file with one row per combination of values or groups")
    share: str = Field(description="column of the file with the shares")
    columns: dict[str, str] = Field(min_length=1, description="column of the file, by attribute of the population")
    groups: dict[str, Annotated[Groups, Field(min_length=1)]] = Field(
        default={},
        description="groups of each attribute and the values in each group, as in `groupings` of an attribute model",
    )


class VoterListRecipe(RecipeHead):
    """Recipe of a state's voter list.

    The list has registered adults, with the attributes that the state's list contains. Exactly one of
    ``attributes.age`` and ``attributes.year_of_birth`` is required. An attribute that is not named in ``attributes`` is
    not in the list.
    """

    kind: Literal["voter-list"] = Field(description="kind of recipe")
    population: str = Field(description="population from which voters are drawn")
    state: str = Field(description="name or postal abbreviation of the state")
    seed: Seed = Field(description="seed of the random draw")
    reference_year: int | None = Field(
        default=None, description="year of the list; needed with `attributes.year_of_birth`"
    )
    attributes: ListedAttributes = Field(description="attributes of the population that the list may have")
    overrides: ProfileOverrides = Field(
        default=ProfileOverrides(), description="values that replace facts of the state's profile"
    )
    coverage: Coverage | None = Field(
        default=None, description="share of adults in the list by group, in place of one share for all adults"
    )

    @model_validator(mode="after")
    def _has_year_of_list(self) -> VoterListRecipe:
        if self.attributes.year_of_birth is not None and self.reference_year is None:
            raise InputError("key missing", where="reference_year", expected="the year of the list")
        return self


def voter_list_population(
    recipe: VoterListRecipe, population: Population, folder: Path, *, name: str, expected: bool, seed: int
) -> Population:
    """Return the voter list of a recipe, drawn from its population.

    Each adult of the state is listed independently, with probability equal to the state's registered share or to the
    share of the adult's group.

    Parameters
    ----------
    recipe : VoterListRecipe
        Parsed recipe.
    population : Population
        The population that the recipe names.
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the list.
    expected : bool
        Whether to return expected counts (float64) instead of a draw.
    seed : int
        Seed of the draw. The draw is independent of a population that was drawn with the same seed.

    Returns
    -------
    Population
        Population over the attributes of the state's list, in the order of `population`.

    Raises
    ------
    InputError
        If the state is unknown, the population lacks an attribute, the list would have no attribute or no people, or
        a draw is requested from a population with expected counts.
    """
    with locating(where="state"):
        profile = recipe.overrides.applied_to(voter_profile(recipe.state))
    require_among("no such attribute", recipe.attributes.named, population.domain.names, where="attributes")
    adults = adult_cells(population, recipe.attributes, profile, recipe.reference_year)
    cells, counts = population.cells[adults], population.counts[adults]
    shares = np.full(len(cells), profile.registered_share)
    if recipe.coverage is not None:
        shares = _coverage_shares(recipe.coverage, population, cells, folder)
    if expected:
        listed = counts * shares
    else:
        whole = population.whole_counts("a voter list cannot be drawn from expected counts")[adults]
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(b"voter-list")))
        listed = draw_binomial(rng, whole, shares)
    carried = carried_attributes(recipe.attributes, profile)
    if not carried:
        raise InputError(
            "the voter list has no attribute of the population",
            where="state",
            found=profile.state,
            expected="a state whose list has an attribute of the population",
        )
    if not listed.sum() > 0:
        reason = next((a.reason for a in profile.assumptions if a.fact == "registered_share"), None)
        raise InputError("the voter list is empty", where="state", found=profile.state, hint=reason)
    origin = [f"voter list of {profile.state}", f"${profile.price:,.0f} ({profile.access})"]
    origin += [f"{a.fact} assumed to be {a.value}: {a.reason}" for a in profile.assumptions]
    source = "; ".join([recipe.source, *origin] if recipe.source else origin)
    voters = Population(population.domain, cells[listed > 0], listed[listed > 0], name=name, source=source)
    return voters.marginal([attribute for attribute in population.domain.names if attribute in carried])


def carried_attributes(attributes: ListedAttributes, profile: VoterProfile) -> frozenset[str]:
    """Return the population's attributes that a state's list contains."""
    carried = [attributes.state]
    if profile.birth is not None:
        carried.append(attributes.age or attributes.year_of_birth)
    carried += [getattr(attributes, fact) for fact in _FACTS if getattr(profile, fact)]
    carried += attributes.address if profile.address else ()
    return frozenset(name for name in carried if name is not None)


def adult_cells(
    population: Population, attributes: ListedAttributes, profile: VoterProfile, reference_year: int | None = None
) -> NDArray[np.intp]:
    """Return the positions of the cells with people of voting age in the list's state.

    If the population has years of birth, people are of voting age if they turn 18 by the end of the reference year. If
    it has no attribute for the state, all people count as people of the state.

    Raises
    ------
    InputError
        If ages or years of birth are not integers (the last one may end in ``+``), the state is not a value of the
        population, or there is no such cell.
    """
    name = attributes.age or cast("str", attributes.year_of_birth)
    position = population.domain.position(name)
    years = _whole_numbers(population.domain.attributes[position])
    if attributes.age is None:
        if reference_year is None:
            raise InputError("a year of birth needs a reference year", where=name)
        years = reference_year - years
    chosen = (years >= VOTING_AGE)[population.cells[:, position]]
    if attributes.state is not None:
        states, where = population.domain[attributes.state].categories, f"attribute {attributes.state!r}"
        if profile.state not in states:
            problem = f"state missing from population {population.name!r}"
            raise not_among(problem, profile.state, states, where=where)
        code = states.index(profile.state)
        chosen &= population.cells[:, population.domain.position(attributes.state)] == code
    if not chosen.any():
        raise InputError("the population has no adult in the state", where=population.name, found=profile.state)
    return np.flatnonzero(chosen)


def _whole_numbers(attribute: Attribute) -> NDArray[np.int64]:
    numbers = []
    for category in attribute.categories:
        number = whole_number(category)
        if number is None or number < 0:
            where = f"attribute {attribute.name!r}"
            raise InputError("not a whole number, so adults cannot be identified", where=where, found=category)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def _coverage_shares(coverage: Coverage, population: Population, cells: Codes, folder: Path) -> Floats:
    """Return the share of listed adults of each cell.

    It is in the row of the coverage file for the cell's group.
    """
    frame, path = read_figures(coverage.file, folder, [*coverage.columns.values(), coverage.share])
    shares = numbers(frame, coverage.share, path).to_numpy(dtype=np.float64)
    refuse_rows(shares > 1, "share out of range", source=path, column=coverage.share, found=frame[coverage.share])
    require_among("not an attribute of coverage.columns", coverage.groups, coverage.columns, where="coverage.groups")
    grouped = [GroupedAttribute.of(population.domain[name], coverage.groups.get(name)) for name in coverage.columns]
    combinations = Combinations(grouped)
    rows = combinations.of_labels([frame[column] for column in coverage.columns.values()], len(frame))
    # Rows for groups without people in the population are skipped.
    known = np.flatnonzero(rows >= 0)
    repeated = np.setdiff1d(known, known[np.unique(rows[known], return_index=True)[1]])
    if len(repeated):
        row = int(repeated[0])
        label = combinations.label(int(rows[row]))
        raise InputError("group given twice", source=path, where=f"row {row + 1}", found=label)
    by_combination = np.full(combinations.size, np.nan)
    by_combination[rows[known]] = shares[known]
    columns = [cells[:, population.domain.position(name)] for name in coverage.columns]
    wanted = combinations.of_codes(columns, len(cells))
    lacking = np.isnan(by_combination[wanted])
    if lacking.any():
        label = combinations.label(int(wanted[lacking.argmax()]))
        raise InputError("row missing for a group of adults", source=path, where=label)
    return np.asarray(by_combination[wanted])

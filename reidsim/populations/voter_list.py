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

from reidsim.core.randomness import draw_binomial
from reidsim.errors import InputError, locating, not_among, refuse_first, refuse_rows, require_among
from reidsim.populations.domain import Attribute, Codes
from reidsim.populations.population import Population
from reidsim.populations.recipe import Making, RecipeHead, Seed, Share, read_figures
from reidsim.populations.value_groups import Combinations, GroupedAttribute, Groups
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.tables import numbers
from reidsim.validation import Section
from reidsim.wording import whole_number

VOTING_AGE = 18

Floats = NDArray[np.float64]

_FACTS = ("sex", "race", "ethnicity", "party")


class ListedAttributes(Section):
    """The population's attributes that a voter list may contain.

    Attributes
    ----------
    age
        attribute of the population with this information
    year_of_birth
        attribute of the population with this information
    sex
        attribute of the population with this information
    race
        attribute of the population with this information
    ethnicity
        attribute of the population with this information
    party
        attribute of the population with this information
    address
        attributes of the population that the address reveals, such as the ZIP code
    state
        attribute of the population with this information
    """

    age: str | None = None
    year_of_birth: str | None = None
    sex: str | None = None
    race: str | None = None
    ethnicity: str | None = None
    party: str | None = None
    address: tuple[str, ...] = ()
    state: str | None = None

    @model_validator(mode="after")
    def _has_one_birth(self) -> ListedAttributes:
        both = (self.age is None) == (self.year_of_birth is None)
        refuse_first((both, "the age is missing or given twice", None, None, "either age or year_of_birth"))
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """Names of the population's attributes that are set, in the order of the keys."""
        names = (self.age, self.year_of_birth, *(getattr(self, fact) for fact in _FACTS), self.state)
        return (*(name for name in names if name is not None), *self.address)

    def carried(self, profile: VoterProfile) -> frozenset[str]:
        """Return the population's attributes that a state's list contains."""
        facts = [self.state, *(getattr(self, fact) for fact in _FACTS if getattr(profile, fact))]
        birth = None if profile.birth is None else self.age or self.year_of_birth
        address = self.address if profile.address else ()
        return frozenset(name for name in (*facts, birth, *address) if name is not None)


class ProfileOverrides(Section):
    """Values that replace facts of the state's profile.

    Attributes
    ----------
    birth
        information on the birth in the list: full date, year, age or none
    sex
        whether the list has this information
    race
        whether the list has this information
    ethnicity
        whether the list has this information
    party
        whether the list has this information
    address
        whether the list has this information
    registered_share
        probability that an adult is in the list
    """

    birth: Literal["full", "year", "age", "none"] | None = None
    sex: bool | None = None
    race: bool | None = None
    ethnicity: bool | None = None
    party: bool | None = None
    address: bool | None = None
    registered_share: Share | None = None

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

    Attributes
    ----------
    file
        CSV file with one row per combination of values or groups
    share
        column of the file with the shares
    columns
        column of the file, by attribute of the population
    groups
        groups of each attribute and the values in each group, as in `groupings` of an attribute model
    """

    file: str
    share: str
    columns: dict[str, str] = Field(min_length=1)
    groups: dict[str, Annotated[Groups, Field(min_length=1)]] = Field(default={})


class VoterListRecipe(RecipeHead):
    """Recipe of a state's voter list.

    The list has registered adults, with the attributes that the state's list contains. Exactly one of
    ``attributes.age`` and ``attributes.year_of_birth`` is required. An attribute that is not named in ``attributes`` is
    not in the list.

    Attributes
    ----------
    kind
        kind of recipe
    population
        population from which voters are drawn
    state
        name or postal abbreviation of the state
    seed
        seed of the random draw
    reference_year
        year of the list; needed with `attributes.year_of_birth`
    attributes
        attributes of the population that the list may have
    overrides
        values that replace facts of the state's profile
    coverage
        share of adults in the list by group, in place of one share for all adults
    """

    kind: Literal["voter-list"]
    population: str
    state: str
    seed: Seed
    reference_year: int | None = None
    attributes: ListedAttributes
    overrides: ProfileOverrides = ProfileOverrides()
    coverage: Coverage | None = None

    @model_validator(mode="after")
    def _has_year_of_list(self) -> VoterListRecipe:
        lacks = self.attributes.year_of_birth is not None and self.reference_year is None
        refuse_first((lacks, "key missing", "reference_year", None, "the year of the list"))
        return self

    def make(self, at: Making) -> Population:
        """Return the voter list of a state, drawn from the population.

        Each adult of the state is listed independently, with probability equal to the state's registered share or to
        the share of the adult's group. The draw is independent of a population that was drawn with the same seed.

        Returns
        -------
        Population
            Population over the attributes of the state's list, in the order of the population.

        Raises
        ------
        InputError
            If the state is unknown, the population lacks an attribute, the list would have no attribute or no people,
            or a draw is requested from a population with expected counts.
        """
        population = at.cells(self.population)
        with locating(where="state"):
            profile = self.overrides.applied_to(voter_profile(self.state))
        require_among("no such attribute", self.attributes.named, population.domain.names, where="attributes")
        adults = adult_cells(population, self.attributes, profile, self.reference_year)
        cells, counts = population.cells[adults], population.counts[adults]
        shares: float | Floats = profile.registered_share
        if self.coverage is not None:
            shares = _coverage_shares(self.coverage, population, cells, at.folder)
        if at.expected:
            listed = counts * shares
        else:
            whole = population.whole_counts("a voter list cannot be drawn from expected counts")[adults]
            listed = draw_binomial(at.rng(self.kind), whole, shares)
        carried = self.attributes.carried(profile)
        problem, expected = "the voter list has no attribute", "a state whose list has an attribute of the population"
        refuse_first((not carried, f"{problem} of the population", "state", profile.state, expected))
        if not listed.sum() > 0:
            reason = next((a.reason for a in profile.assumptions if a.fact == "registered_share"), None)
            raise InputError("the voter list is empty", where="state", found=profile.state, hint=reason)
        origin = [self.source] if self.source else []
        origin += [f"voter list of {profile.state}", f"${profile.price:,.0f} ({profile.access})"]
        origin += [f"{a.fact} assumed to be {a.value}: {a.reason}" for a in profile.assumptions]
        some, source = listed > 0, "; ".join(origin)
        voters = Population(population.domain, cells[some], listed[some], name=at.name, source=source)
        return voters.marginal([attribute for attribute in population.domain.names if attribute in carried])


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
    numbers = [whole_number(category) for category in attribute.categories]
    for category, number in zip(attribute.categories, numbers, strict=True):
        if number is None or number < 0:
            where = f"attribute {attribute.name!r}"
            raise InputError("not a whole number, so adults cannot be identified", where=where, found=category)
    return np.array(numbers, dtype=np.int64)


def _coverage_shares(coverage: Coverage, population: Population, cells: Codes, folder: Path) -> Floats:
    """Return the share of listed adults of each cell.

    It is in the row of the coverage file for the cell's group.
    """
    frame, path = read_figures(coverage.file, folder, [*coverage.columns.values(), coverage.share])
    shares = numbers(frame, coverage.share, path).to_numpy(dtype=np.float64)
    refuse_rows(shares > 1, "share out of range", source=path, column=coverage.share, found=frame[coverage.share])
    require_among("not an attribute of coverage.columns", coverage.groups, coverage.columns, where="coverage.groups")
    grouped = [
        GroupedAttribute.from_groups(population.domain[name], coverage.groups.get(name)) for name in coverage.columns
    ]
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

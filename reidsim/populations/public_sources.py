"""Figures on sources of knowledge about people: voter lists and social media.

The profiles of the states' lists have attributes, price and coverage; a recipe of kind ``voter-list`` draws a list from
a population. A recipe of kind ``social-media`` has probabilities that attributes of a person can be learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.bundled import bundled_folder, resolve
from reidsim.core.errors import (
    InputError,
    listed,
    locating,
    nearest,
    not_among,
    refuse_first,
    require_among,
)
from reidsim.core.randomness import draw_binomial
from reidsim.core.tables import read_table
from reidsim.core.validation import Section, read_toml, validated
from reidsim.core.wording import whole_number
from reidsim.populations.population import (
    Individuals,
    Making,
    Population,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    number_range,
)
from reidsim.populations.resources import Coverage, listing_chances

VOTING_AGE = 18

Floats = NDArray[np.float64]
Ages = NDArray[np.integer]

Birth = Literal["full", "year", "age"]

# Attributes that a list may have besides the birth, and their columns in the bundled table.
_FLAGS = {"sex": "sex", "race": "race", "ethnicity": "ethnicity", "party": "party", "address": "name_and_address"}
_REGISTERED, _ADULTS = "registered_eavs2018", "vap_2020"


class Assumption(NamedTuple):
    """An assumed value of a fact that was not found or had no clear answer.

    Attributes
    ----------
    fact : str
        Name of the fact, such as ``"birth"`` or ``"registered_share"``.
    found : str
        Entry of the table of facts.
    value : str
        Assumed value; ``"average"`` for the average registered share of all states.
    reason : str
        Reason for the assumption.
    """

    fact: str
    found: str
    value: str
    reason: str


@dataclass(frozen=True)
class VoterProfile:
    """The profile of one state's voter list.

    Parameters
    ----------
    state, abbreviation : str
        Name and postal abbreviation, such as ``"Tennessee"`` and ``"TN"``; the District of Columbia counts as a state.
    birth : {"full", "year", "age"} or None
        Whether the list has the full date of birth, the year of birth, the age, or none of them.
    sex, race, ethnicity, party, address : bool
        Whether the list has this attribute.
    price : float
        Price in US dollars (EAC 2020).
    access : str
        People who may obtain the list, in the words of EAC 2020.
    registered_share : float
        Probability that an adult is listed: number of people registered in 2018 divided by the number of people of
        voting age in 2020; an assumed value if the ratio is unknown or above 1.
    assumptions : tuple of Assumption
        The facts above that are assumptions.
    """

    state: str
    abbreviation: str
    birth: Birth | None
    sex: bool
    race: bool
    ethnicity: bool
    party: bool
    address: bool
    price: float
    access: str
    registered_share: float
    assumptions: tuple[Assumption, ...]


def voter_profile(state: str) -> VoterProfile:
    """Return the `VoterProfile` of a state, by name or postal abbreviation.

    It has the attributes of the state's voter list, its price, and the share of adults listed. `state` must be spelled
    exactly, such as ``"Tennessee"`` or ``"TN"``.

    Raises
    ------
    InputError
        If there is no such state; the message names the state with the most similar name.
    """
    profiles = voter_profiles()
    names = {**{profile.abbreviation: profile for profile in profiles.values()}, **profiles}
    if state not in names:
        expected = "one of the 50 states or the District of Columbia, by name or postal abbreviation"
        raise InputError("no such state", found=state, expected=expected, hint=nearest(state, names))
    return names[state]


@lru_cache(maxsize=1)
def voter_profiles() -> Mapping[str, VoterProfile]:
    """Return the `VoterProfile` of each state by name, as a read-only mapping.

    It has the 50 states and the District of Columbia, in alphabetical order.
    """
    figures = bundled_folder("populations") / "figures"
    table = read_table(figures / "voter-lists-by-state.csv.gz", comment="#")
    assumed = read_table(figures / "voter-lists-assumed.csv.gz", comment="#")
    instead = {(row.state, row.fact): (row.value, row.reason) for row in assumed.itertuples()}
    people = table[[_REGISTERED, _ADULTS]].apply(pd.to_numeric, errors="coerce")
    table["ratio"] = people[_REGISTERED] / people[_ADULTS]
    known = people.dropna().sum()
    average = float(known[_REGISTERED] / known[_ADULTS])
    return MappingProxyType({row["state"]: _profile(row, instead, average) for row in table.to_dict("records")})


def _profile(row: Mapping[Any, Any], instead: Mapping[Any, Any], average: float) -> VoterProfile:
    """Return the `VoterProfile` in a row of the table of states.

    Facts without a clear answer are taken from `instead`, which has the assumed value and the reason by state and fact.
    `average` is the registered share of all states together.
    """
    facts = {"birth": row["birth"], **{flag: row[column] for flag, column in _FLAGS.items()}}
    facts["registered_share"] = row[_REGISTERED] if np.isnan(row["ratio"]) else f"{row['ratio']:.4f}"
    assumptions = tuple(
        Assumption(fact, found, *instead[row["state"], fact])
        for fact, found in facts.items()
        if (row["state"], fact) in instead
    )
    values = {assumption.fact: assumption.value for assumption in assumptions}
    share, facts = values.get("registered_share", row["ratio"]), facts | values
    return VoterProfile(
        state=row["state"],
        abbreviation=row["abbr"],
        birth=None if facts["birth"] == "none" else cast("Birth", facts["birth"]),
        **{flag: facts[flag] == "yes" for flag in _FLAGS},
        price=float(row["price_usd_eac2020"]),
        access=row["access_eac2020"],
        registered_share=average if share == "average" else float(share),
        assumptions=assumptions,
    )


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

    _one_birth = exactly_one("age", "year_of_birth", problem="the age is missing or given twice")

    def carried(self, profile: VoterProfile | None = None) -> tuple[str, ...]:
        """Return the names of the population's attributes that a state's list contains.

        They are in the order of the keys of this section. Without a profile, these are all attributes that the section
        names. The attribute with the state is included, because every list is about one state.
        """
        carried: list[str] = []
        for key, value in self:
            fact = "birth" if key in ("age", "year_of_birth") else key
            if value is not None and (profile is None or getattr(profile, fact)):
                carried += (value,) if isinstance(value, str) else value
        return tuple(carried)


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
        """Return a `VoterProfile` with these facts replaced.

        Keys that are not set keep the profile's facts. Replaced facts no longer count as assumptions of the table.
        """
        changes = {fact: value for fact, value in self if value is not None}
        if changes.get("birth") == "none":
            changes["birth"] = None
        kept = tuple(assumption for assumption in profile.assumptions if assumption.fact not in changes)
        return replace(profile, assumptions=kept, **changes)


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
        share of adults in the list: one number, or tables by attribute, which are multiplied; replaces the state's
        share
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

        For `at` see `Making`. Each adult of the state is listed independently, with probability equal to the state's
        registered share or to the share of the adult's group. The draw is independent of a population that was drawn
        with the same seed.

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
        require_among("no such attribute", self.attributes.carried(), population.domain.names, where="attributes")
        adults = self._adults(population, profile.state)
        cells, counts = population.cells[adults], population.counts[adults]
        shares: float | Floats = profile.registered_share
        if self.coverage is not None:
            people = Individuals(population.domain, cells)
            shares = listing_chances(
                self.coverage, {}, len(cells), lambda name, _: (people.column(name), people.domain[name].categories)
            )
        if at.expected:
            drawn = counts * shares
        else:
            whole = population.whole_counts("a voter list cannot be drawn from expected counts")[adults]
            drawn = draw_binomial(at.rng(self.kind), whole, shares)
        carried = self.attributes.carried(profile)
        problem, expected = "the voter list has no attribute", "a state whose list has an attribute of the population"
        refuse_first((not carried, f"{problem} of the population", "state", profile.state, expected))
        origin = [self.source] if self.source else []
        origin += [f"voter list of {profile.state}", f"${profile.price:,.0f} ({profile.access})"]
        origin += [f"{a.fact} assumed to be {a.value}: {a.reason}" for a in profile.assumptions]
        some, source = drawn > 0, "; ".join(origin)
        voters = Population(population.domain, cells[some], drawn[some], name=at.name, source=source)
        return voters.marginal([attribute for attribute in population.domain.names if attribute in carried])

    def _adults(self, population: Population, state: str) -> NDArray[np.bool_]:
        """Return the mask of the population's cells with adults of a state, (n_cells,).

        `state` is the state's name. Adults are people of age 18 or older. People whose year of birth is known are of
        voting age if they turn 18 by the end of the reference year. If the population has no attribute for the state,
        all people count as people of the state.

        Raises
        ------
        InputError
            If an age or year of birth is not a whole number of 0 or more, or the state is not in the population.
        """
        names = self.attributes
        birth = population.domain[names.age or cast("str", names.year_of_birth)]
        years = [whole_number(category) for category in birth.categories]
        wrong = [category for category, year in zip(birth.categories, years, strict=True) if year is None or year < 0]
        if wrong:
            problem, where = "not a whole number, so adults cannot be identified", f"attribute {birth.name!r}"
            raise InputError(problem, where=where, found=wrong[0])
        ages = np.array(years) if names.age else cast("int", self.reference_year) - np.array(years)
        adults = (ages >= VOTING_AGE)[population.cells[:, population.domain.position(birth.name)]]
        if names.state is not None:
            states, position = population.domain[names.state].categories, population.domain.position(names.state)
            if state not in states:
                problem = f"state missing from population {population.name!r}"
                raise not_among(problem, state, states, where=f"attribute {names.state!r}")
            adults &= population.cells[:, position] == states.index(state)
        return np.asarray(adults)


# Social media.

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
        """First and last age of the range, in years, both included.

        The last is infinity if the range is open.
        """
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
        """Return the probability at each age (in years), same shape as `ages`.

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
        """Return the probability at each age (in years), in the shape of `age`.

        If `age` is None, it is the probability for people of all ages together, an array of shape ().

        Raises
        ------
        InputError
            If there is no figure for an age, or `age` is None and there is no overall figure.
        """
        if age is None:
            refuse_first((self.overall is None, "no figure for people of all ages", None, None, "overall"))
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
        """Return the probability that a person uses the platform.

        It is 1 without the key ``use``, because the figures of the attributes then include it.

        Parameters
        ----------
        age : int or ndarray of int, optional
            In years; people of all ages together, if not given.

        Returns
        -------
        ndarray of float64, of the shape of `age`; () if it is not given

        Raises
        ------
        InputError
            If there is no figure for an age, or for people of all ages together.
        """
        with locating(where="use"):
            return np.ones(np.shape(0 if age is None else age)) if self.use is None else self.use.probability(age)

    def learnable(self, attribute: str, age: int | Ages | None = None) -> Floats:
        """Return the probability that an attribute of a platform user can be learned.

        `age` and the shape of the result are as in `presence`. For two attributes of one user, the events are
        independent.

        Raises
        ------
        InputError
            If the recipe has no such attribute, or no figure for an age or for people of all ages together.
        """
        require_among("no such attribute", (attribute,), self.attributes)
        with locating(where=f"attributes.{attribute}"):
            return self.attributes[attribute].probability(age)


def load_social_media(recipe: str | Path) -> SocialMediaRecipe:
    """Return a parsed `SocialMediaRecipe`.

    `recipe` is the name of a bundled recipe, such as ``"twitter-attributes"``, or a TOML file.

    Raises
    ------
    InputError
        If the recipe cannot be used, for example because a probability has no ``source``, ``assumed`` or
        ``calibrated``.
    """
    path = resolve(recipe, "populations", "social-media recipe")
    return validated(SocialMediaRecipe, read_toml(path), path)

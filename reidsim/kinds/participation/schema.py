"""Schema of a scenario of the kind ``participation``."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from reidsim.core.errors import InputError, refuse_first, require_distinct
from reidsim.core.validation import Section
from reidsim.scenarios.read_keys import Count, Money, ReadIf, Share, Text
from reidsim.scenarios.schema import ScenarioHead

PolicyName = Literal["nobody", "everybody", "from-nobody", "from-everybody", "planner"]
POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)

_Generations = Annotated[int, Field(ge=1, le=8)]


class ParticipationPopulationSection(Section):
    """The people who may join, and their relationships.

    Attributes
    ----------
    couples
        number of couples in the present generation of a random population (N_0)
    children
        with `couples`: mean number of children per couple (r)
    types
        with `couples`: number of types of people, all of equal size
    recipe
        bundled genealogy, or path of a genealogy recipe; replaces `couples`
    people
        with `recipe`: number of people in each generation; default: as in the recipe
    generations
        with `recipe`: number of generations, founders included; default: as in the recipe
    living
        with `recipe`: number of latest generations, whose people decide
    path
        pedigree file with the columns person, father and mother (empty if unknown) and optionally decides (yes or no);
        replaces `couples`
    """

    couples: Annotated[float, Field(ge=1_000, le=10_000_000_000)] | None = None
    children: Annotated[float, Field(ge=2, le=20)] = 2.5
    types: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    recipe: str | None = None
    people: Annotated[int, Field(ge=2)] | None = None
    generations: Count | None = None
    living: Count = 3
    path: Text | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ParticipationPopulationSection:
        ways = [key for key in ("couples", "recipe", "path") if getattr(self, key) is not None]
        if len(ways) != 1:
            problem = "the population is given twice" if ways else "the population is missing"
            raise InputError(problem, found=", ".join(ways) or None, expected="one of couples, recipe and path")
        keys = {"children": "couples", "types": "couples"}
        keys |= dict.fromkeys(("people", "generations", "living"), "recipe")
        foreign = [(key, way) for key, way in keys.items() if key in self.model_fields_set and way != ways[0]]
        other = "the key belongs to another kind of population"
        refuse_first(*((True, other, key, None, f"key {way} in place of {ways[0]}") for key, way in foreign))
        return self


class MatchingSection(Section):
    """Conditions under which a search of the database finds relatives.

    Attributes
    ----------
    genome
        length of the genome, in Morgans (L)
    segment
        smallest length of a shared segment that is detected, in Morgans (m)
    segments
        smallest number of shared segments in a match (n_s)
    matches
        smallest number of matches that identify a person who is not in the database (n_u)
    found_within
        largest distance of a relative that a member benefits from finding, in generations; two meioses count as one
        generation (g_maxc)
    traced_within
        largest distance of a relative whose match helps to identify a person, in generations; two meioses count as one
        generation (g_maxi)
    """

    genome: Annotated[float, Field(gt=0, le=1_000)] = 35.0
    segment: Annotated[float, Field(ge=0, le=10)] = 0.06
    segments: Annotated[int, Field(ge=1, le=20)] = 2
    matches: Annotated[int, Field(ge=1, le=20)] = 2
    found_within: _Generations = 3
    traced_within: _Generations = 5

    @model_validator(mode="after")
    def _near_ones_are_traced(self) -> MatchingSection:
        found, most = self.found_within, self.traced_within
        expected = f"at most {most}, the value of traced_within"
        refuse_first((found > most, "found_within is greater than traced_within", "found_within", found, expected))
        return self


class JoiningSubjectsSection(Section):
    """The payoffs of joining, and how people decide.

    Attributes
    ----------
    benefit
        benefit of finding a relative in the database (b)
    services
        net value of other services to a member (v); may be negative
    harm
        harm of being identified (c)
    spread
        variation of the amounts among people: each amount is multiplied by a factor drawn uniformly between 1 -
        `spread` and 1 + `spread`
    concern
        concern for relatives: weight of a relative's payoff, multiplied by the relatedness
    policies
        policies to compare, each named once
    """

    benefit: Money
    services: Annotated[float, Field(ge=-1_000_000_000, le=1_000_000_000)] = 0.0
    harm: Money
    spread: Share = 0.0
    concern: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    policies: tuple[PolicyName, ...] = Field(default=POLICY_NAMES, min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> JoiningSubjectsSection:
        require_distinct("policy given twice", self.policies, where="policies")
        return self


_OF_FAMILIES = ReadIf(
    lambda section, scenario: scenario.population.couples is None, "with recipe or path, not with couples"
)


class EquilibriaSection(Section):
    """Search for equilibria, and tests of their stability.

    Attributes
    ----------
    starts
        number of random starting points of best responses, in addition to no members and all people
    largest
        largest family, in people, whose strategy profiles are all enumerated
    lost
        shares of members who drop out at random
    draws
        number of random draws of drop-outs for each share
    """

    starts: Annotated[int, Field(ge=0, le=1_000), _OF_FAMILIES] = 8
    largest: Annotated[int, Field(ge=1, le=20), _OF_FAMILIES] = 12
    lost: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.01, 0.05, 0.2)
    draws: Annotated[int, Field(ge=1, le=10_000), _OF_FAMILIES] = 10


class ParticipationFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    equilibria
        search for equilibria, and their stability
    """

    equilibria: EquilibriaSection = EquilibriaSection()


class ParticipationScenario(ScenarioHead):
    """People decide whether to join a genomic database; relatives expose each other.

    Attributes
    ----------
    game
        kind of scenario: people decide whether to join a genomic database
    population
        people who may join, and their relationships
    matching
        conditions under which a search of the database finds relatives
    subjects
        payoffs of joining, and policies
    figures
        additional tables and figures
    """

    game: Literal["participation"]
    population: ParticipationPopulationSection
    matching: MatchingSection = MatchingSection()
    subjects: JoiningSubjectsSection
    figures: ParticipationFiguresSection = ParticipationFiguresSection()

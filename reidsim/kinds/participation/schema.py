"""Schema of a scenario of the kind ``participation``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, require_distinct
from reidsim.scenarios.amounts import Count, Money, Share, Text
from reidsim.scenarios.read_keys import ReadIf
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import Section

PolicyName = Literal["nobody", "everybody", "from-nobody", "from-everybody", "planner"]
POLICY_NAMES: tuple[PolicyName, ...] = ("nobody", "everybody", "from-nobody", "from-everybody", "planner")

_Generations = Annotated[int, Field(ge=1, le=8)]


class ParticipationPopulationSection(Section):
    """The people who may join, and their relationships."""

    couples: Annotated[float, Field(ge=1_000, le=10_000_000_000)] | None = Field(
        default=None, description="couples of the present generation of a random population (N_0)"
    )
    children: Annotated[float, Field(ge=2, le=20)] = Field(
        default=2.5, description="with `couples`: children per couple (r)"
    )
    types: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1_000, description="with `couples`: number of equally large types of people"
    )
    recipe: str | None = Field(default=None, description="instead: bundled genealogy, or path of a genealogy's recipe")
    people: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="people of each generation; those of the recipe if not given"
    )
    generations: Count | None = Field(
        default=None, description="generations with the founders; those of the recipe if not given"
    )
    living: Count = Field(default=3, description="with `recipe`: last generations, whose people decide")
    path: Text | None = Field(
        default=None,
        description=(
            "instead: pedigree with columns person, father, mother (empty if unknown) and optionally decides (yes "
            "or no)"
        ),
    )

    @model_validator(mode="after")
    def _one_way(self) -> ParticipationPopulationSection:
        ways = [key for key in ("couples", "recipe", "path") if getattr(self, key) is not None]
        if len(ways) != 1:
            problem = "several populations" if ways else "nobody is there"
            raise InputError(problem, found=", ".join(ways) or None, expected="one of couples, recipe and path")
        keys = {"children": "couples", "types": "couples"}
        keys |= dict.fromkeys(("people", "generations", "living"), "recipe")
        for key, way in keys.items():
            if key in self.model_fields_set and way != ways[0]:
                raise InputError("belongs to another kind of population", where=key, expected=f"{way}, not {ways[0]}")
        return self


class MatchingSection(Section):
    """Conditions under which a search of the database finds relatives."""

    genome: Annotated[float, Field(gt=0, le=1_000)] = Field(
        default=35.0, description="length of the genome, Morgans (L)"
    )
    segment: Annotated[float, Field(ge=0, le=10)] = Field(
        default=0.06, description="least length of a shared segment that is detected, Morgans (m)"
    )
    segments: Annotated[int, Field(ge=1, le=20)] = Field(default=2, description="segments that make a match (n_s)")
    matches: Annotated[int, Field(ge=1, le=20)] = Field(
        default=2, description="matches that identify a person who is not in the database (n_u)"
    )
    found_within: _Generations = Field(
        default=3, description="relatives worth finding: at most twice this many meioses apart (g_maxc)"
    )
    traced_within: _Generations = Field(
        default=5, description="relatives who identify: at most twice this many meioses apart (g_maxi)"
    )

    @model_validator(mode="after")
    def _near_ones_are_traced(self) -> MatchingSection:
        if self.found_within > self.traced_within:
            raise InputError(
                "relatives who are found but identify nobody", where="found_within", found=self.found_within,
                expected=f"at most traced_within, {self.traced_within}",
            )  # fmt: skip
        return self


class JoiningSubjectsSection(Section):
    """The payoffs of joining, and how people decide."""

    benefit: Money = Field(description="of finding a relative in the database (b)")
    services: Annotated[float, Field(ge=-1_000_000_000, le=1_000_000_000)] = Field(
        default=0.0, description="net value of other services (v); may be negative"
    )
    harm: Money = Field(description="of being identified (c)")
    spread: Share = Field(
        default=0.0,
        description="spread of amounts among people: uniform within this share of their values",
    )
    concern: Annotated[float, Field(ge=0, le=1_000)] = Field(
        default=0.0, description="weight of relatives' payoffs, times relatedness"
    )
    policies: tuple[PolicyName, ...] = Field(
        default=POLICY_NAMES, min_length=1, description="policies compared, the columns of the table, each once"
    )

    @model_validator(mode="after")
    def _each_once(self) -> JoiningSubjectsSection:
        require_distinct("policy given twice", self.policies, where="policies")
        return self


_OF_FAMILIES = ReadIf(lambda section, scenario: scenario.population.couples is None, "with recipe or path, not couples")


class EquilibriaSection(Section):
    """How equilibria are searched for and tested."""

    starts: Annotated[int, Field(ge=0, le=1_000), _OF_FAMILIES] = Field(
        default=8, description="random starts of best replies, besides nobody and everybody"
    )
    largest: Annotated[int, Field(ge=1, le=20), _OF_FAMILIES] = Field(
        default=12, description="largest family whose profiles are enumerated"
    )
    lost: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        default=(0.01, 0.05, 0.2), description="shares of members who drop out at random"
    )
    draws: Annotated[int, Field(ge=1, le=10_000), _OF_FAMILIES] = Field(
        default=10, description="draws of drop-outs per share"
    )


class ParticipationFiguresSection(Section):
    """Further tables and figures of a run."""

    equilibria: EquilibriaSection = Field(default=EquilibriaSection(), description="how equilibria are searched for")


class ParticipationScenario(ScenarioHead):
    """People decide whether to join a genomic database; relatives expose each other."""

    game: Literal["participation"] = Field(description="people decide whether to join a genomic database")
    population: ParticipationPopulationSection = Field(description="who may join, and who is related to whom")
    matching: MatchingSection = Field(default=MatchingSection(), description="what a search of the database finds")
    subjects: JoiningSubjectsSection = Field(description="what joining is worth, and how people decide")
    figures: ParticipationFiguresSection = Field(
        default=ParticipationFiguresSection(), description="further tables and figures"
    )

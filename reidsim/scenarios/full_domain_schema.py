"""What a scenario file of the game at dataset level may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.scenarios.analysis_schema import LinesSection, Money, Range
from reidsim.scenarios.schema import (
    RECORD_COLUMNS,
    AttributeSection,
    BeliefsSection,
    EconomicsSection,
    Groups,
    Intervals,
    Prefix,
    ReleaseSection,
    SafeHarborSection,
    ScenarioHead,
    Suppress,
    Table,
)
from reidsim.validation import Section

Risk = Literal["prosecutor", "journalist"]
FullDomainPolicy = Literal[
    "safe-harbor",
    "no-protection",
    "suppress-all",
    "basic",
    "no-attack",
    "sh-friendly",
    "local-recoding",
    "local-recoding-no-attack",
    "record-level",
    "record-level-no-attack",
    "multi-dimensional",
    "multi-dimensional-no-attack",
]
CurvePolicy = Literal[
    "safe-harbor", "no-protection", "basic", "no-attack", "sh-friendly", "record-level", "record-level-no-attack"
]
RULES = ("safe-harbor", "no-protection", "suppress-all")
# Policies that have to walk the whole lattice, whatever the search.
_WALKING = ("record-level", "multi-dimensional")
# Columns of the tables in which the attributes stand beside others.
_TAKEN = (*RECORD_COLUMNS, "node", "records", "people", "suppressed", "class_size")


def require_distinct(values: Sequence[object] | None, key: str) -> None:
    """Check that a list, if it is given, holds something and nothing twice.

    Raises
    ------
    InputError
        Names the key, and the value that is repeated.
    """
    if values is None:
        return
    if not values:
        raise InputError("the list is empty", where=key, expected="at least one of what it may hold")
    repeated = [value for value in values if values.count(value) > 1]
    if repeated:
        raise InputError("listed twice", where=key, found=repeated[0])


class FullDomainPopulationSection(Section):
    """Who exists, for journalist risk."""

    recipe: str | None = Field(default=None, description="name of a bundled population, or a recipe file (TOML)")
    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="file of people with the columns of the release; takes the place of `recipe`"
    )
    counts: Literal["sample", "expected"] = Field(
        default="sample", description="draw whole people, or keep the recipe's expected counts"
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the draw; the recipe's own if not given"
    )
    holds_release: bool = Field(default=True, description="whether the released records must be people of it")

    @model_validator(mode="after")
    def _names_people(self) -> FullDomainPopulationSection:
        if self.path is None and self.recipe is None:
            raise InputError("no people", expected="a recipe, or the path of a file")
        return self


class FullDomainReleaseSection(ReleaseSection):
    """Which records are to be shared; the files of records and people are of one form."""

    header: bool = Field(default=True, description="whether the file names its columns; else they are 1, 2, ...")


class HierarchyFile(Table):
    """A file with one row per value and one column per level."""

    header: bool = Field(default=False, description="whether the first row names the levels")


FullDomainHierarchy = Annotated[Suppress | Intervals | Prefix | Groups | HierarchyFile, Field(discriminator="rule")]


class FullDomainAttributeSection(AttributeSection):
    """One quasi-identifier: where its values come from and how they can be generalized."""

    hierarchy: FullDomainHierarchy
    minimum_level: Annotated[int, Field(ge=0)] = Field(default=0, description="lowest level that may be chosen")


class PriceColumns(Section):
    """Columns of the records that hold amounts, in place of one amount for all."""

    benefit: str | None = None
    loss: str | None = None
    gain: str | None = None
    cost: str | None = None


class FullDomainEconomicsSection(EconomicsSection):
    """What sharing, attacking and being attacked are worth."""

    columns: PriceColumns = PriceColumns()


class FullDomainBeliefsSection(BeliefsSection):
    """What the publisher believes when it plans; the truth where not given."""

    risk: Risk | None = Field(default=None, description="whose class sizes the publisher plans with")


class FullDomainAdversarySection(Section):
    """Among whom a record really hides."""

    risk: Risk = Field(default="prosecutor", description="class sizes of the released table, or of the population")


class FullDomainPublisherSection(Section):
    """How the publisher decides."""

    policies: tuple[FullDomainPolicy, ...] = ("basic", "no-attack")
    suppression_limit: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="share of the records that may be suppressed"
    )
    search: Literal["exact", "anytime"] = Field(
        default="exact", description="walk the whole lattice, or stop at a budget and report the gap"
    )
    prune: bool = Field(default=True, description="leave out branches that cannot be better; changes time alone")
    nodes: Annotated[int, Field(ge=1)] | None = Field(default=None, description="budget of the anytime search")
    seconds: Annotated[float, Field(gt=0)] | None = Field(default=None, description="budget of the anytime search")
    rounds: Annotated[int, Field(ge=1)] = Field(default=100, description="the most rounds of local recoding")

    @model_validator(mode="after")
    def _consistent(self) -> FullDomainPublisherSection:
        require_distinct(self.policies, "policies")
        budgeted = self.nodes is not None or self.seconds is not None
        if self.search == "anytime" and not budgeted:
            raise InputError("the anytime search needs a budget", where="search", expected="nodes, seconds or both")
        if self.search == "exact" and budgeted:
            raise InputError("only the anytime search has a budget", where="search", found="exact", expected="anytime")
        return self


class CurvesSection(LinesSection):
    """Payouts while one parameter changes, by what the publisher plans with."""

    gain: Range | None = None
    policies: tuple[CurvePolicy, ...] = ("basic", "no-attack")
    risks: tuple[Risk, ...] | None = Field(
        default=None, description="risks planned with; that of the beliefs if not given"
    )

    @model_validator(mode="after")
    def _changes_something(self) -> CurvesSection:
        if not any((self.benefit, self.loss, self.gain, self.cost)):
            raise InputError("nothing changes", expected="a range of benefit, loss, gain or cost")
        for key in ("policies", "risks"):
            require_distinct(getattr(self, key), key)
        return self


class NodesSection(Section):
    """Nodes beside the best one."""

    top: Annotated[int, Field(ge=0)] = Field(default=10, description="how many of those that pay most; 0 for no list")


class FullDomainRuntimesSection(Section):
    """How long solving takes, with and without pruning."""

    loss: tuple[Money, ...] = Field(description="losses at which to measure")
    record_level: bool = Field(default=True, description="also measure record-level generalization")

    @model_validator(mode="after")
    def _consistent(self) -> FullDomainRuntimesSection:
        require_distinct(self.loss, "loss")
        return self


class FullDomainAnalysisSection(Section):
    """What is worked out and drawn besides the policies."""

    nodes: NodesSection | None = Field(default=None, description="the nodes that pay most, and the Pareto front")
    curves: CurvesSection | None = None
    runtimes: FullDomainRuntimesSection | None = None


class FullDomainScenario(ScenarioHead):
    """A publisher generalizes a whole dataset in one way and suppresses records."""

    game: Literal["full-domain"]
    population: FullDomainPopulationSection | None = Field(default=None, description="needed under journalist risk")
    release: FullDomainReleaseSection
    attributes: dict[str, FullDomainAttributeSection] = Field(description="quasi-identifiers, in lattice order")
    economics: FullDomainEconomicsSection
    beliefs: FullDomainBeliefsSection = FullDomainBeliefsSection()
    adversary: FullDomainAdversarySection = FullDomainAdversarySection()
    publisher: FullDomainPublisherSection = FullDomainPublisherSection()
    safe_harbor: SafeHarborSection | None = None
    analysis: FullDomainAnalysisSection = FullDomainAnalysisSection()

    @model_validator(mode="after")
    def _consistent(self) -> FullDomainScenario:
        if not self.attributes:
            raise InputError(
                "no quasi-identifiers", where="attributes", expected="a section such as [attributes.age] for each"
            )
        taken = [name for name in self.attributes if name in _TAKEN]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
        self._check_population()
        self._check_safe_harbor()
        walking = walks_whole_lattice(self)
        if walking and self.publisher.search == "anytime":
            key, policy = next(iter(walking.items()))
            raise InputError(
                "the anytime search cannot stop it", where=key, found=policy, expected="policies that keep to a budget",
                hint='publisher.search = "exact" walks the whole lattice',
            )  # fmt: skip
        priced = [name for name, column in self.economics.columns if column is not None]
        if priced and self.analysis.curves is not None:
            raise InputError(
                "curves change one amount for all records", where="analysis.curves",
                found=f"economics.columns.{priced[0]}",
            )  # fmt: skip
        return self

    def _check_population(self) -> None:
        drawn = [name for name, attribute in self.attributes.items() if attribute.draw]
        if len(drawn) == len(self.attributes):
            raise InputError("every attribute is drawn", where="attributes", expected="one that the records hold")
        if self.population is not None:
            return
        curves = self.analysis.curves
        risks = {self.adversary.risk, self.beliefs.risk, *((curves.risks or ()) if curves else ())}
        if drawn or "journalist" in risks:
            reason = f"attribute {drawn[0]!r} is drawn from it" if drawn else "journalist risk counts its people"
            raise InputError("section missing", where="population", expected=f"a population, since {reason}")

    def _check_safe_harbor(self) -> None:
        curves = self.analysis.curves
        named = {*self.publisher.policies, *(curves.policies if curves else ())}
        if self.safe_harbor is None:
            needy = sorted(named & {"safe-harbor", "sh-friendly"})
            if needy:
                raise InputError(
                    "section missing",
                    where="safe_harbor",
                    expected=f"the attributes of age and ZIP code, as policy {needy[0]!r} needs them",
                )
            return
        for key in ("age", "zip"):
            name = getattr(self.safe_harbor, key)
            if name is not None and name not in self.attributes:
                raise InputError(
                    "no such attribute",
                    where=f"safe_harbor.{key}",
                    found=name,
                    expected=f"one of {', '.join(self.attributes)}",
                )


def walks_whole_lattice(scenario: FullDomainScenario) -> dict[str, str]:
    """Return what of a scenario walks the whole lattice: the key that asks for it, and what it asks for."""
    publisher, analysis = scenario.publisher, scenario.analysis
    exact = publisher.search == "exact"

    def walking(policies: Sequence[str]) -> list[str]:
        return [p for p in policies if p.startswith(_WALKING) or (exact and p not in RULES)]

    asked = {"publisher.policies": walking(publisher.policies)}
    if analysis.curves is not None:
        asked["analysis.curves.policies"] = walking(analysis.curves.policies)
    if analysis.runtimes is not None:
        asked["analysis.runtimes"] = ["run times"]
    return {key: policies[0] for key, policies in asked.items() if policies}

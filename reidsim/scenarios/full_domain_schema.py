"""What a scenario file of the game at dataset level may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.hierarchy_schema import Groups, Intervals, Prefix, Suppress, Table
from reidsim.scenarios.schema import (
    RECORD_COLUMNS,
    AttributeSection,
    BeliefsSection,
    EconomicsSection,
    ReleaseSection,
    SafeHarborSection,
    ScenarioHead,
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
RULES = ("safe-harbor", "no-protection", "suppress-all")
# Policies that choose one node for the whole dataset.
NODE_POLICIES = ("basic", "no-attack", "sh-friendly")
# Policies whose class sizes depend on rounds or regions are not played by agents.
AGENT_POLICIES = (*RULES, *NODE_POLICIES, "record-level", "record-level-no-attack")
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

    recipe: str | None = Field(default=None, description="name of a bundled population, or path of a recipe")
    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="file of people, of the form of the release and with its columns; takes the place of `recipe`",
    )
    counts: Literal["sample", "expected"] = Field(
        default="sample", description="draw whole people from a recipe of probabilities, or keep expected counts"
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the draw of the population; the recipe's own if not given"
    )
    holds_release: bool = Field(
        default=True, description="the released records must be people of it; else a warning says how many are not"
    )

    @model_validator(mode="after")
    def _names_people(self) -> FullDomainPopulationSection:
        if self.path is None and self.recipe is None:
            raise InputError("no people", expected="a recipe, or the path of a file")
        return self


class FullDomainReleaseSection(ReleaseSection):
    """Which records are to be shared; the files of records and people are of one form."""

    header: bool = Field(
        default=True, description='whether the first row names the columns; else they are `"1"`, `"2"` and so on'
    )


class HierarchyFile(Table):
    """A file with one row per value and one column per level."""

    header: bool = Field(default=False, description="whether the first row names the levels")


FullDomainHierarchy = Annotated[Suppress | Intervals | Prefix | Groups | HierarchyFile, Field(discriminator="rule")]


class FullDomainAttributeSection(AttributeSection):
    """One quasi-identifier: where its values come from and how they can be generalized."""

    hierarchy: FullDomainHierarchy = Field(description="how values are generalized, by a `rule`")
    minimum_level: Annotated[int, Field(ge=0)] = Field(
        default=0, description="lowest level that any policy but the fixed ones may choose"
    )


class PriceColumns(Section):
    """Columns of the records that hold amounts, in place of one amount for all."""

    benefit: str | None = Field(default=None, description="column of the records with the benefit of each")
    loss: str | None = Field(
        default=None,
        description="column of the records with the loss of each; the gain follows it unless `gain` is given",
    )
    gain: str | None = Field(default=None, description="column of the records with the gain of each")
    cost: str | None = Field(default=None, description="column of the records with the cost of each")


class FullDomainEconomicsSection(EconomicsSection):
    """What sharing, attacking and being attacked are worth."""

    columns: PriceColumns = Field(default=PriceColumns(), description="amounts that differ by record")


class FullDomainBeliefsSection(BeliefsSection):
    """What the publisher believes when it plans; the truth where not given."""

    risk: Risk | None = Field(
        default=None, description="whose class sizes the publisher plans with; the true ones if not given"
    )


class FullDomainAdversarySection(Section):
    """Among whom a record really hides."""

    risk: Risk = Field(default="prosecutor", description="class sizes of the released table, or of the population")
    stages: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="path of an attack recipe: how the adversary `multistage` of cross-play attacks"
    )


class FullDomainPublisherSection(Section):
    """How the publisher decides."""

    policies: tuple[FullDomainPolicy, ...] = Field(
        default=("basic", "no-attack"), description="what is played and compared"
    )
    suppression_limit: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0,
        description="share of the records that may be suppressed, by policies of one node, by multi-dimensional "
        "recoding, and by local recoding after its last round",
    )
    search: Literal["exact", "anytime"] = Field(
        default="exact",
        description="walk the whole lattice, or stop at a budget and report the gap; record-level and "
        'multi-dimensional generalization need `"exact"`',
    )
    prune: bool = Field(
        default=True, description="leave out branches that cannot be better; changes the time, never the result"
    )
    nodes: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="nodes that the anytime search works out at most, in each round of local recoding",
    )
    seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="time after which the anytime search stops, in each round of local recoding",
    )
    rounds: Annotated[int, Field(ge=1)] = Field(default=100, description="the most rounds of local recoding")
    k: Annotated[int, Field(ge=1)] = Field(
        default=2, description="of defender `k-anonymity` of cross-play: records that look alike"
    )

    @model_validator(mode="after")
    def _consistent(self) -> FullDomainPublisherSection:
        require_distinct(self.policies, "policies")
        budgeted = self.nodes is not None or self.seconds is not None
        if self.search == "anytime" and not budgeted:
            raise InputError("the anytime search needs a budget", where="search", expected="nodes, seconds or both")
        if self.search == "exact" and budgeted:
            raise InputError("only the anytime search has a budget", where="search", found="exact", expected="anytime")
        return self


class NodesSection(Section):
    """Nodes beside the best one."""

    top: Annotated[int, Field(ge=0)] = Field(
        default=10, description="how many of the nodes that pay most; with 0 neither they nor the front are worked out"
    )


class FullDomainFiguresSection(Section):
    """What a run works out and draws of its own game, besides the policies."""

    nodes: NodesSection | None = Field(
        default=None,
        description="the nodes that pay most, and the Pareto front of payout against share attacked; if not given, "
        "the top 10 and the front in lattices of at most 100,000 nodes",
    )


class FullDomainScenario(ScenarioHead):
    """A publisher generalizes a whole dataset in one way and suppresses records."""

    game: Literal["full-domain"] = Field(description="one generalization for all records")
    population: FullDomainPopulationSection | None = Field(
        default=None, description="who exists; needed under journalist risk, and wherever something is drawn"
    )
    release: FullDomainReleaseSection = Field(description="which records are shared")
    attributes: dict[str, FullDomainAttributeSection] = Field(
        description="the quasi-identifiers, in the order of the lattice"
    )
    economics: FullDomainEconomicsSection = Field(description="what is true")
    beliefs: FullDomainBeliefsSection = Field(
        default=FullDomainBeliefsSection(), description="what the publisher believes instead"
    )
    adversary: FullDomainAdversarySection = Field(
        default=FullDomainAdversarySection(), description="among whom a record really hides"
    )
    publisher: FullDomainPublisherSection = Field(
        default=FullDomainPublisherSection(), description="how the publisher decides"
    )
    safe_harbor: SafeHarborSection | None = Field(
        default=None, description="needed by the policies `safe-harbor` and `sh-friendly`"
    )
    figures: FullDomainFiguresSection = Field(
        default=FullDomainFiguresSection(), description="what is drawn besides the policies"
    )
    agents: AgentsSection | None = Field(
        default=None, description="several adversaries, data subjects and rounds; one analytic game if not given"
    )

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
        unplayed = [policy for policy in self.publisher.policies if policy not in AGENT_POLICIES]
        if self.agents is not None and unplayed:
            raise InputError(
                "not a policy of scenarios with agents", where="publisher.policies", found=unplayed[0],
                expected=f"among {listed(AGENT_POLICIES)}",
            )  # fmt: skip
        walking = walks_whole_lattice(self)
        if walking and self.publisher.search == "anytime":
            key, policy = next(iter(walking.items()))
            raise InputError(
                "the anytime search cannot stop it", where=key, found=policy, expected="policies that keep to a budget",
                hint='publisher.search = "exact" walks the whole lattice',
            )  # fmt: skip
        return self

    def _check_population(self) -> None:
        drawn = [name for name, attribute in self.attributes.items() if attribute.draw]
        if len(drawn) == len(self.attributes):
            raise InputError("every attribute is drawn", where="attributes", expected="one that the records hold")
        if self.population is not None:
            return
        if drawn or "journalist" in (self.adversary.risk, self.beliefs.risk):
            reason = f"attribute {drawn[0]!r} is drawn from it" if drawn else "journalist risk counts its people"
            raise InputError("section missing", where="population", expected=f"a population, since {reason}")

    def _check_safe_harbor(self) -> None:
        if self.safe_harbor is None:
            needy = sorted({"safe-harbor", "sh-friendly"}.intersection(self.publisher.policies))
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
    publisher = scenario.publisher
    exact = publisher.search == "exact"
    walking = [p for p in publisher.policies if p.startswith(_WALKING) or (exact and p not in RULES)]
    return {"publisher.policies": walking[0]} if walking else {}

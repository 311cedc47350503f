"""What a scenario file may say: one section class per table of the file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.analysis_schema import AnalysisSection, Money
from reidsim.scenarios.design_schema import Replications, SweepSection, UncertaintySection, check_design
from reidsim.scenarios.stress_schema import StressSection
from reidsim.validation import Section

# Columns of records.parquet and of the table of one record's strategies, beside which the attributes stand.
RECORD_COLUMNS = (
    "record",
    "policy",
    "strategy",
    "publisher_payoff",
    "adversary_payoff",
    "attacked",
    "success_probability",
    "utility",
    "generalization_intensity",
)
Policy = Literal["safe-harbor", "basic", "no-attack", "sh-friendly", "no-protection", "suppress-all"]


class PopulationSection(Section):
    """Who exists."""

    recipe: str = Field(description="name of a bundled population, or a recipe file (TOML)")
    counts: Literal["sample", "expected"] = Field(
        default="sample", description="draw whole people, or keep the recipe's expected counts"
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the draw; the recipe's own if not given"
    )


class ReleaseSection(Section):
    """Which records are to be shared."""

    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="file of records; takes the place of `table`"
    )
    table: str | None = Field(default=None, description="population whose people are the records, such as adult")
    format: Literal["csv", "adult"] = Field(default="csv", description="of the file at `path`")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="of a csv file")

    @model_validator(mode="after")
    def _has_records(self) -> ReleaseSection:
        if self.path is None and self.table is None:
            raise InputError("no records", expected="a path, or the name of a table")
        return self


class Suppress(Section):
    """No levels between the value and its suppression."""

    rule: Literal["suppress"]


class LevelsWithTop(Section):
    """What rules with several levels share."""

    suppress: bool = Field(default=True, description="end with a level that suppresses the value")
    costless_levels: tuple[int, ...] = Field(default=(), description="levels whose merging is not charged as loss")


class Intervals(LevelsWithTop):
    """Whole numbers by intervals of growing width."""

    rule: Literal["intervals"]
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(min_length=1)
    start: int | None = Field(default=None, description="where intervals begin; the smallest value if not given")
    absorb_remainder: bool = Field(default=True, description="the last interval takes in the values left over")


class Prefix(LevelsWithTop):
    """Codes by ever shorter prefixes."""

    rule: Literal["prefix"]
    digits: tuple[int, ...] = Field(min_length=1, description="characters kept at each level")
    pool: tuple[str, ...] = Field(default=(), description="prefixes grouped with each other once that short")


class Groups(LevelsWithTop):
    """Categories by listed groups, per level."""

    rule: Literal["groups"]
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(min_length=1)


class Table(LevelsWithTop):
    """A file with one row per value and one column per level."""

    rule: Literal["table"]
    file: str
    delimiter: str = Field(default=";", min_length=1, max_length=1)
    suppress: bool = Field(default=False, description="add a level that suppresses the value")


HierarchySection = Annotated[Suppress | Intervals | Prefix | Groups | Table, Field(discriminator="rule")]


class AttributeSection(Section):
    """One quasi-identifier: where its values come from and how they can be generalized."""

    hierarchy: HierarchySection
    column: str | None = Field(default=None, description="of the records; the attribute's name if not given")
    values: dict[str, str] = Field(default={}, description="value in the records = category of the population")
    draw: bool = Field(default=False, description="not in the records: drawn from the population given the others")
    top_code: int | None = Field(
        default=None, description="values from here on are redrawn from people of this age or more"
    )
    in_loss: bool = Field(default=True, description="whether generalizing it counts as information loss")


class EconomicsSection(Section):
    """What sharing, attacking and being attacked are worth."""

    benefit: Money = Field(description="V: publisher's benefit of sharing a record as it is")
    loss: Money = Field(description="L: publisher's loss for a re-identified record")
    gain: Money | None = Field(default=None, description="adversary's gain from a re-identification; L if not given")
    cost: Money = Field(description="c: adversary's cost of an attempt")

    @property
    def adversary_gain(self) -> float:
        """The gain, which is the publisher's loss unless stated."""
        return self.loss if self.gain is None else self.gain


class BeliefsSection(Section):
    """What the publisher believes when it plans; the truth (economics) where not given."""

    loss: Money | None = None
    gain: Money | None = None
    cost: Money | None = None

    def of(self, truth: EconomicsSection) -> EconomicsSection:
        """Return the economics believed in; a gain that is not stated follows the true loss."""
        return EconomicsSection(
            benefit=truth.benefit,
            loss=truth.loss if self.loss is None else self.loss,
            gain=truth.adversary_gain if self.gain is None else self.gain,
            cost=truth.cost if self.cost is None else self.cost,
        )


class UnconfirmedSection(Section):
    """A noisy signal in place of certainty about a hit; the first positive one is claimed."""

    sensitivity: Annotated[float, Field(ge=0, le=1)] = Field(description="probability of a positive signal on a hit")
    specificity: Annotated[float, Field(ge=0, le=1)] = Field(description="probability of a negative one on a miss")
    false_claim_cost: Money = Field(default=0.0, description="cost of claiming the wrong person")


class SequentialSection(Section):
    """The sequential attack of planner `fmdp`; its gain and cost of an exploit are those of the economics."""

    registry: str | None = Field(
        default=None, description="population that is the registry attacked through; all people if not given"
    )
    belief: Literal["known", "unknown"] = Field(
        default="known", description="whether the group size in the registry is known before access"
    )
    access_cost: Money = Field(default=0.0, description="C_d: price of access to the registry")
    link_cost: Money = Field(default=0.0, description="C_l: cost of linking the record")
    penalty: Money = Field(default=0.0, description="C_p: fine for a detected exploit")
    max_penalties: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="n_f: how often the fine is levied at most; every time if not given"
    )
    detection_intercept: float = Field(default=-4.59, description="h0 of the detection probability")
    detection_slope: float = Field(default=0.0, description="h1 of the detection probability")
    prior: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="probability that the person is in the registry; its coverage if not given"
    )
    discount: Annotated[float, Field(gt=0, le=1)] = Field(default=0.9, description="gamma: worth of money a step later")
    penalty_timing: Literal["next-state", "at-action"] = "next-state"
    detection_ends_attack: bool = False
    unconfirmed: UnconfirmedSection | None = Field(
        default=None, description="whether the adversary must guess if an exploit hit"
    )


class AdversarySection(Section):
    """How the adversary plans."""

    planner: Literal["one-shot", "fmdp"] = "one-shot"
    risk: Literal["journalist", "prosecutor"] = Field(
        default="journalist", description="group sizes counted in the population, or in the released records"
    )
    knowledge: str | None = Field(
        default=None, description="knowledge recipe: what it knows about people; everything if not given"
    )
    sequential: SequentialSection = SequentialSection()

    @model_validator(mode="after")
    def _consistent(self) -> AdversarySection:
        if self.knowledge is not None and self.planner != "one-shot":
            raise InputError(
                "partial knowledge is of one-shot adversaries", where="planner", found=self.planner, expected="one-shot"
            )
        if self.risk == "prosecutor" and self.sequential.registry is not None:
            raise InputError("a registry is not attacked under prosecutor risk", where="sequential.registry")
        if self.sequential.unconfirmed is not None and self.sequential.belief == "unknown":
            raise InputError(
                "unconfirmed success is planned for known groups only", where="sequential.belief", found="unknown"
            )
        return self


class PublisherSection(Section):
    """How the publisher decides."""

    policies: tuple[Policy, ...] = Field(default=("basic", "no-attack"), min_length=1)
    solver: Literal["backward-induction", "branch-and-bound", "lattice-search"] = "backward-induction"


class SafeHarborSection(Section):
    """Which attributes the HIPAA Safe Harbor rule restricts."""

    age: str | None = None
    zip: str | None = None
    zip3_population: Literal["population", "us-2010"] = Field(
        default="us-2010", description="where people of three-digit areas are counted"
    )


class ScenarioHead(Section):
    """What every scenario tells about itself."""

    title: str = ""
    source: str = ""
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="root of all random draws of a run")
    replications: Replications = Field(default=1, description="runs that differ in their random draws")
    sweep: SweepSection | None = Field(default=None, description="values that keys take, point by point")
    uncertainty: UncertaintySection | None = Field(default=None, description="keys whose values nobody knows for sure")
    stress: StressSection | None = Field(default=None, description="what `reidsim stress` works out")

    @model_validator(mode="after")
    def _points_are_told_once(self) -> ScenarioHead:
        check_design(self.sweep, self.uncertainty)
        return self


class RecordScenario(ScenarioHead):
    """A publisher chooses the form of each record: population, release, adversary and what to analyse."""

    game: Literal["record-level"] = "record-level"
    population: PopulationSection | None = Field(default=None, description="not needed under prosecutor risk")
    release: ReleaseSection
    attributes: dict[str, AttributeSection] = Field(min_length=1, description="quasi-identifiers, in lattice order")
    economics: EconomicsSection
    beliefs: BeliefsSection = BeliefsSection()
    adversary: AdversarySection = AdversarySection()
    publisher: PublisherSection = PublisherSection()
    safe_harbor: SafeHarborSection | None = None
    agents: AgentsSection | None = Field(default=None, description="rounds of agents; one analytic game if not given")
    analysis: AnalysisSection = AnalysisSection()

    @model_validator(mode="after")
    def _consistent(self) -> RecordScenario:
        taken = [name for name in self.attributes if name in RECORD_COLUMNS]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
        repeated = [policy for policy in self.publisher.policies if self.publisher.policies.count(policy) > 1]
        if repeated:
            raise InputError("policy given twice", where="publisher.policies", found=repeated[0])
        needs_rule = [policy for policy in self.publisher.policies if policy in ("safe-harbor", "sh-friendly")]
        if needs_rule and self.safe_harbor is None:
            raise InputError(
                "section missing",
                where="safe_harbor",
                expected=f"the attributes of age and ZIP code, as policy {needs_rule[0]!r} needs them",
            )
        constrained = [policy for policy in self.publisher.policies if policy in ("no-attack", "sh-friendly")]
        if self.publisher.solver == "lattice-search" and constrained:
            raise InputError(
                "lattice-search cannot meet the constraint of a policy",
                where="publisher.solver",
                found=constrained[0],
                expected="backward-induction or branch-and-bound",
            )
        drawn = [name for name, attribute in self.attributes.items() if attribute.draw]
        if self.population is None and (drawn or self.adversary.risk == "journalist"):
            reason = f"attribute {drawn[0]!r} is drawn from it" if drawn else "journalist risk counts its people"
            raise InputError("section missing", where="population", expected=f"a population, since {reason}")
        if len(drawn) == len(self.attributes):
            raise InputError("every attribute is drawn", where="attributes", expected="one that the records hold")
        if self.analysis.sequential is not None and self.adversary.planner != "fmdp":
            raise InputError(
                "an analysis of the sequential attack needs its planner",
                where="analysis.sequential",
                found=f"adversary.planner = {self.adversary.planner!r}",
                expected="adversary.planner = 'fmdp'",
            )
        if self.safe_harbor is not None:
            for key in ("age", "zip"):
                name = getattr(self.safe_harbor, key)
                if name is not None and name not in self.attributes:
                    raise InputError(
                        "no such attribute",
                        where=f"safe_harbor.{key}",
                        found=name,
                        expected=f"one of {', '.join(self.attributes)}",
                    )
        return self

"""What a scenario file may say: one section class per table of the file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.amounts import Money
from reidsim.scenarios.design_schema import Replications, SweepSection, UncertaintySection, check_design
from reidsim.scenarios.figures_schema import FiguresSection
from reidsim.scenarios.hierarchy_schema import HierarchySection
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

    recipe: str = Field(description="name of a bundled population, or path of a recipe")
    counts: Literal["sample", "expected"] = Field(
        default="sample",
        description="draw whole people from a recipe of probabilities, or keep expected counts; recipes of counts "
        "are the same either way",
    )
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the draw of the population; the recipe's own if not given"
    )


class ReleaseSection(Section):
    """Which records are to be shared."""

    path: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="file of records, with a header; may be compressed; takes the place of `table`"
    )
    table: str | None = Field(
        default=None,
        description="population whose people are the records: a bundled name or the path of a recipe of whole counts",
    )
    format: Literal["csv", "adult"] = Field(
        default="csv", description='of the file at `path`; `"adult"` is the UCI file without header'
    )
    delimiter: str = Field(
        default=",", min_length=1, max_length=1, description='between columns of a csv file; ARX writes `";"`'
    )

    @model_validator(mode="after")
    def _has_records(self) -> ReleaseSection:
        if self.path is None and self.table is None:
            raise InputError("no records", expected="a path, or the name of a table")
        return self


class AttributeSection(Section):
    """One quasi-identifier: where its values come from and how they can be generalized."""

    hierarchy: HierarchySection = Field(description="how values are generalized, by a `rule`")
    column: str | None = Field(default=None, description="column of the records; the attribute's name if not given")
    values: dict[str, str] = Field(
        default={}, description="value in the records = category of the population; values not listed stay"
    )
    draw: bool = Field(
        default=False, description="the records lack the attribute; it is drawn from the population, given the others"
    )
    top_code: int | None = Field(
        default=None,
        description="values from here on are redrawn among people of this value or more who agree in the other known "
        "attributes",
    )
    in_loss: bool = Field(default=True, description="whether generalizing it counts as information loss")


class EconomicsSection(Section):
    """What sharing, attacking and being attacked are worth; in the masking game to a subject, not a publisher."""

    benefit: Money = Field(description="publisher's benefit of sharing a record as it is (V, at dataset level B)")
    loss: Money = Field(description="publisher's loss for a re-identified record (L)")
    gain: Money | None = Field(
        default=None, description="adversary's gain from a re-identification (G); the loss if not given"
    )
    cost: Money = Field(
        description="adversary's cost of an attempt (c, at dataset level C), of one exploit of a sequential attack"
    )

    @property
    def adversary_gain(self) -> float:
        """The gain, which is the publisher's loss unless stated."""
        return self.loss if self.gain is None else self.gain


class BeliefsSection(Section):
    """What the publisher believes when it plans; the truth (economics) where not given."""

    loss: Money | None = Field(
        default=None, description="loss that the publisher plans with; the true one if not given"
    )
    gain: Money | None = Field(
        default=None,
        description="gain that the publisher plans with; the true one if not given, whatever the believed loss",
    )
    cost: Money | None = Field(
        default=None, description="cost that the publisher plans with; the true one if not given"
    )

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

    sensitivity: Annotated[float, Field(ge=0, le=1)] = Field(description="probability of a positive signal after a hit")
    specificity: Annotated[float, Field(ge=0, le=1)] = Field(
        description="probability of a negative signal after a miss"
    )
    false_claim_cost: Money = Field(default=0.0, description="cost of claiming the wrong person")


class SequentialSection(Section):
    """The sequential attack of planner `fmdp`; its gain and cost of an exploit are those of the economics."""

    registry: str | None = Field(
        default=None,
        description="population (name or recipe) of those whom the adversary can look up; everybody if not given; "
        "not under prosecutor risk",
    )
    belief: Literal["known", "unknown"] = Field(
        default="known",
        description="whether the adversary knows the size of the group in the registry before it pays for access",
    )
    access_cost: Money = Field(default=0.0, description="C_d: price of access to the registry")
    link_cost: Money = Field(default=0.0, description="C_l: cost of linking the record")
    penalty: Money = Field(default=0.0, description="C_p: fine for a detected exploit")
    max_penalties: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="n_f: how often the fine is levied at most; every time if not given"
    )
    detection_intercept: float = Field(
        default=-4.59, description="h0: exploit j, from 0, is detected with probability 1/(1 + exp(-(h0 + h1 j)))"
    )
    detection_slope: float = Field(default=0.0, description="h1 of that probability")
    prior: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="probability that the person is in the registry; people of the registry over people of the "
        "population if not given",
    )
    discount: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9, description="gamma: worth of money one step later"
    )
    penalty_timing: Literal["next-state", "at-action"] = Field(
        default="next-state",
        description="the fine is paid one step after the exploit, like the gain is collected, or at once",
    )
    detection_ends_attack: bool = Field(default=False, description="whether a detected exploit is the last one")
    unconfirmed: UnconfirmedSection | None = Field(
        default=None, description="whether the adversary must guess if an exploit hit; known groups only"
    )


class AdversarySection(Section):
    """How the adversary plans."""

    planner: Literal["one-shot", "fmdp"] = Field(
        default="one-shot",
        description="attack a record once, if the expected gain exceeds the cost; or plan a sequential attack",
    )
    risk: Literal["journalist", "prosecutor"] = Field(
        default="journalist", description="groups counted in the population, or in the released records"
    )
    knowledge: str | None = Field(
        default=None,
        description='knowledge recipe (name or file): what it knows about people, such as `"tennessee-voters"`; '
        'everything if not given; planner `"one-shot"` only',
    )
    stages: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="path of an attack recipe: how the adversary `multistage` of cross-play attacks"
    )
    sequential: SequentialSection = Field(
        default=SequentialSection(), description='the sequential attack of planner `"fmdp"`'
    )

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

    policies: tuple[Policy, ...] = Field(
        default=("basic", "no-attack"),
        min_length=1,
        description="policies compared, the columns of the table, each once",
    )
    solver: Literal["backward-induction", "branch-and-bound", "lattice-search"] = Field(
        default="backward-induction",
        description="of the policies that are games; lattice search cannot meet the constraint of `no-attack` and "
        "`sh-friendly`",
    )
    k: Annotated[int, Field(ge=1)] = Field(
        default=2, description="of defender `k-anonymity` of cross-play: records that look alike"
    )


class SafeHarborSection(Section):
    """Which attributes the HIPAA Safe Harbor rule restricts."""

    age: str | None = Field(default=None, description="attribute that holds ages in years")
    zip: str | None = Field(default=None, description="attribute that holds five-digit ZIP codes")
    zip3_population: Literal["population", "us-2010"] = Field(
        default="us-2010",
        description="where the people of three-digit areas are counted: bundled figures of the 2010 Census, or the "
        "scenario's population (the released records if there is none)",
    )


class ScenarioHead(Section):
    """What every scenario tells about itself."""

    title: str = Field(default="", description="printed above the results")
    source: str = Field(default="", description="where the study and its figures come from")
    seed: Annotated[int, Field(ge=0)] = Field(
        default=0, description="root of all random draws of a run; the option `--seed` replaces it"
    )
    replications: Replications = Field(default=1, description="runs that differ in their random draws: a batch")
    sweep: SweepSection | None = Field(default=None, description="values that keys take, point by point: a batch")
    uncertainty: UncertaintySection | None = Field(
        default=None, description="distributions of keys whose values nobody knows for sure: a batch"
    )
    stress: StressSection | None = Field(default=None, description="what `reidsim stress` works out")

    @model_validator(mode="after")
    def _points_are_told_once(self) -> ScenarioHead:
        check_design(self.sweep, self.uncertainty)
        return self


class RecordScenario(ScenarioHead):
    """A publisher chooses the form of each record: population, release, adversary and what to analyse."""

    game: Literal["record-level"] = Field(
        default="record-level", description="who decides about what: here a publisher about the form of each record"
    )
    population: PopulationSection | None = Field(
        default=None, description="who exists; needed under journalist risk, and wherever something is drawn"
    )
    release: ReleaseSection = Field(description="which records are shared")
    attributes: dict[str, AttributeSection] = Field(
        min_length=1, description="the quasi-identifiers, in the order of the lattice"
    )
    economics: EconomicsSection = Field(description="what is true")
    beliefs: BeliefsSection = Field(default=BeliefsSection(), description="what the publisher believes instead")
    adversary: AdversarySection = Field(default=AdversarySection(), description="how the adversary plans")
    publisher: PublisherSection = Field(default=PublisherSection(), description="how the publisher decides")
    safe_harbor: SafeHarborSection | None = Field(
        default=None, description="needed by the policies `safe-harbor` and `sh-friendly`"
    )
    agents: AgentsSection | None = Field(
        default=None, description="several adversaries, data subjects and rounds; one analytic game if not given"
    )
    figures: FiguresSection = Field(default=FiguresSection(), description="what is drawn besides the policies")

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
        if self.figures.sequential is not None and self.adversary.planner != "fmdp":
            raise InputError(
                "figures of the sequential attack need its planner",
                where="figures.sequential",
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

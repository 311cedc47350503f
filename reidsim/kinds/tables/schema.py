"""What a scenario file about a table of records may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, not_among
from reidsim.kinds.tables.data_schema import AttributeSection, PopulationSection, ReleaseSection, TablesResourceSection
from reidsim.kinds.tables.policies import POLICIES, PolicyName, policy_named
from reidsim.kinds.tables.waves import ReleasesSection
from reidsim.scenarios.adversary_schema import (
    AdversarySection,
    Risk,
    WeightedAdversarySection,
    check_adversaries,
)
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.figures_schema import FiguresSection
from reidsim.scenarios.people import HOUSEHOLD, PERSON
from reidsim.scenarios.policy import AnonymityK, with_each_k
from reidsim.scenarios.resource_schema import ListBeliefsSection, check_together, drawn_lists_of
from reidsim.scenarios.schema import RECORD_COLUMNS, EconomicsSection, ScenarioHead
from reidsim.validation import Section

# Of risks of several adversaries, the one whose people the others' are among.
_LARGEST_FIRST: tuple[Risk, ...] = ("journalist", "sample", "prosecutor")
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
        raise InputError("the list is empty", where=key, found=[], expected="at least one of what it may hold")
    repeated = [value for value in values if values.count(value) > 1]
    if repeated:
        raise InputError("listed twice", where=key, found=repeated[0])


class PriceColumns(Section):
    """Columns of the records that hold amounts, in place of one amount for all."""

    benefit: str | None = Field(default=None, description="column of the records with the benefit of each")
    loss: str | None = Field(
        default=None,
        description="column of the records with the loss of each; the gain follows it unless `gain` is given",
    )
    gain: str | None = Field(default=None, description="column of the records with the gain of each")
    cost: str | None = Field(default=None, description="column of the records with the cost of each")


class TablesEconomicsSection(EconomicsSection):
    """What sharing, attacking and being attacked are worth."""

    columns: PriceColumns = Field(default=PriceColumns(), description="amounts that differ by record")


class TablesBeliefsSection(ListBeliefsSection):
    """What the publisher believes when it plans; the truth where not given."""

    risk: Risk | None = Field(
        default=None, description="whose class sizes the publisher plans with; the true ones if not given"
    )


class PublisherSection(Section):
    """How the publisher decides."""

    unit: Literal["record", "table"] = Field(
        default="record",
        description="whether each record is shared in a generalization of its own, or all of them in one",
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("basic", "no-attack"),
        description="what is played and compared, each once",
        json_schema_extra={"minItems": 1},
    )
    safe_class: Literal["at-least", "above"] = Field(
        default="at-least",
        description="which classes are safe to policies that forbid attacks: of gain/cost people or more, as an "
        "indifferent adversary does not attack, or of more only, as in ARX",
    )
    solver: Literal["backward-induction", "branch-and-bound", "lattice-search"] = Field(
        default="backward-induction",
        description="of the best generalization of each record; lattice search cannot meet the constraint of "
        "`no-attack` and `sh-friendly`",
    )
    suppression_limit: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0,
        description="share of the records that may be suppressed, by policies of one node, by multi-dimensional "
        "recoding, and by local recoding after its last round",
    )
    search: Literal["exact", "anytime"] = Field(
        default="exact",
        description="of the best node: walk the whole lattice, or stop at a budget and report the gap; record-level "
        'and multi-dimensional generalization need `"exact"`',
    )
    prune: bool = Field(
        default=True, description="leave out branches that cannot be better; changes the time, never the result"
    )
    nodes: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="nodes that the anytime search evaluates at most, in each round of local recoding",
    )
    seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="time after which the anytime search stops, in each round of local recoding",
    )
    rounds: Annotated[int, Field(ge=1)] = Field(default=100, description="the most rounds of local recoding")
    k: AnonymityK = Field(
        default=2,
        description="of policy `k-anonymity`: records that look alike; of a list, each is a policy, such as "
        "`k-anonymity-5`",
    )

    @model_validator(mode="after")
    def _consistent(self) -> PublisherSection:
        # Wherever policies are named, that of each k has its own name.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        require_distinct(self.policies, "policies")
        budgeted = self.nodes is not None or self.seconds is not None
        if self.search == "anytime" and not budgeted:
            raise InputError("the anytime search needs a budget", where="search", expected="nodes, seconds or both")
        if self.search == "exact" and budgeted:
            raise InputError("only the anytime search has a budget", where="search", found="exact", expected="anytime")
        if self.solver == "lattice-search" and self.unit == "record":
            constrained = [policy for policy in self.policies if policy in ("no-attack", "sh-friendly")]
            if constrained:
                raise InputError(
                    "lattice-search cannot meet the constraint of a policy", where="solver", found=constrained[0],
                    expected="backward-induction or branch-and-bound",
                )  # fmt: skip
        return self


class SafeHarborSection(Section):
    """Which attributes the HIPAA Safe Harbor rule restricts."""

    age: str | None = Field(default=None, description="attribute that holds ages in years")
    zip: str | None = Field(default=None, description="attribute that holds five-digit ZIP codes")
    zip3_population: Literal["population", "us-2010"] = Field(
        default="us-2010",
        description="where the people of three-digit areas are counted: bundled figures of the 2010 Census, or the "
        "scenario's population (the released records if there is none)",
    )


class NodesSection(Section):
    """Nodes beside the best one."""

    top: Annotated[int, Field(ge=0)] = Field(
        default=10, description="how many of the nodes that pay most; with 0 neither they nor the front are worked out"
    )


class TablesFiguresSection(FiguresSection):
    """What a run works out and draws of its own game, besides the policies."""

    nodes: NodesSection | None = Field(
        default=None,
        description="the nodes that pay most, and the Pareto front of payout against share attacked; if not given, "
        "the top 10 and the front in lattices of at most 100,000 nodes",
    )


class TablesScenario(ScenarioHead):
    """A publisher shares a table of records, each in a generalization of its own or all in one."""

    game: Literal["tables"] = Field(
        default="tables", description="who decides about what: here a publisher about a table of records"
    )
    population: PopulationSection | None = Field(
        default=None, description="who exists; needed under journalist risk, and wherever something is drawn"
    )
    release: ReleaseSection = Field(description="which records are shared")
    attributes: dict[str, AttributeSection] = Field(
        description="the quasi-identifiers, in the order of the lattice", json_schema_extra={"minProperties": 1}
    )
    resources: dict[str, TablesResourceSection] = Field(default={}, description="what adversaries hold or buy, by name")
    economics: TablesEconomicsSection = Field(description="what is true")
    beliefs: TablesBeliefsSection = Field(
        default=TablesBeliefsSection(), description="what the publisher believes instead"
    )
    adversary: AdversarySection = Field(default=AdversarySection(), description="how the adversary links and plans")
    adversaries: dict[str, WeightedAdversarySection] = Field(
        default={}, description="in place of `adversary`: several by name, of whom the records meet one"
    )
    publisher: PublisherSection = Field(default=PublisherSection(), description="how the publisher decides")
    safe_harbor: SafeHarborSection | None = Field(
        default=None, description="needed by the policies `safe-harbor` and `sh-friendly`"
    )
    releases: ReleasesSection | None = Field(
        default=None, description="several releases of the records over time; one if not given"
    )
    agents: AgentsSection | None = Field(
        default=None, description="several adversaries, data subjects and rounds; one analytic game if not given"
    )
    figures: TablesFiguresSection = Field(
        default=TablesFiguresSection(), description="what is drawn besides the policies"
    )

    @property
    def every_adversary(self) -> Mapping[str, AdversarySection]:
        """The sections of all adversaries, by key path."""
        several = {f"adversaries.{name}": section for name, section in self.adversaries.items()}
        return several or {"adversary": self.adversary}

    @property
    def plain_adversary(self) -> AdversarySection | None:
        """The one adversary, if its gain and cost are those of the economics; None of several."""
        sections = list(self.every_adversary.values())
        own = any(each.amounts for each in self.adversaries.values())
        return sections[0] if len(sections) == 1 and not own else None

    @property
    def looks_up(self) -> bool:
        """Whether an adversary looks persons up, so that how one record is shared matters to others."""
        return any(section.looks_up for section in self.every_adversary.values())

    @property
    def linked_risk(self) -> Risk:
        """Whose class sizes decide who is attacked; the population's, if those of one of several adversaries."""
        risks = {section.risk for section in self.every_adversary.values()}
        return next(risk for risk in _LARGEST_FIRST if risk in risks)

    @property
    def planned_risk(self) -> Risk:
        """Whose class sizes the publisher plans with; of several adversaries as `linked_risk`."""
        return self.beliefs.risk or self.linked_risk

    @property
    def risks(self) -> frozenset[Risk]:
        """Whose class sizes matter, in truth or in what the publisher believes."""
        given: tuple[Risk, ...] = () if self.beliefs.risk is None else (self.beliefs.risk,)
        sections = self.every_adversary.values()
        # Who only looks persons up counts shared rows, and nobody in a population.
        return frozenset((*given, *(section.risk for section in sections if section.direction != "person")))

    @property
    def has_price_columns(self) -> bool:
        """Whether records have amounts of their own."""
        return any(column is not None for _, column in self.economics.columns)

    @model_validator(mode="after")
    def _consistent(self) -> TablesScenario:
        if not self.attributes:
            raise InputError(
                "no quasi-identifiers",
                where="attributes",
                found={},
                expected="a section such as [attributes.age] for each",
            )
        of_people = [PERSON] * (self.release.person is not None) + [HOUSEHOLD] * (self.release.household is not None)
        taken = [name for name in self.attributes if name in (*_TAKEN, *of_people)]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
        self._check_adversaries()
        check_directions(self)
        self._check_population()
        self._check_weights()
        self._check_safe_harbor()
        self._check_policies()
        self._check_amounts()
        self._check_people()
        self._check_releases()
        self._check_resources()
        return self

    @property
    def lists(self) -> tuple[str, ...]:
        """Resources that are lists drawn from the people."""
        return drawn_lists_of(self.resources)

    def _check_resources(self) -> None:
        self.beliefs.check_lists(self.lists)
        for name, resource in self.resources.items():
            for attribute in resource.attributes:
                if attribute not in self.attributes:
                    raise not_among(
                        "not a quasi-identifier", attribute, self.attributes, where=f"resources.{name}.attributes"
                    )
        # In rounds they may also hold what is told by shares.
        for where, section in self.every_adversary.items() if self.agents is None or not self.adversaries else ():
            for name in section.holds or ():
                if name not in self.lists:
                    raise InputError(
                        "not a list drawn from the people", where=f"{where}.holds", found=name,
                        expected=f"one of {listed(self.lists)}" if self.lists else "resources with a `kind`",
                    )  # fmt: skip
        if not self.lists:
            return
        if self.population is None:
            raise InputError("section missing", where="population", expected=f"people to draw {self.lists[0]!r} from")
        check_together(self.population.together, self.lists)
        if self.release.person is not None:
            raise InputError(
                "lists are of people with one record each", where="release.person", found=self.release.person,
                expected="it without resources that are drawn",
            )  # fmt: skip
        if self.looks_up:
            raise InputError(
                "who looks persons up knows who they are, and needs no list", where="resources",
                expected='adversary.direction = "record"',
            )  # fmt: skip

    @property
    def in_rounds(self) -> bool:
        """Whether the game is played round after round: with agents, or release by release."""
        return self.agents is not None or self.releases is not None

    def _check_releases(self) -> None:
        section, policies = self.releases, self.publisher.policies
        over_time = [name for name in policies if policy_named(name).replies != "to-past"]
        if over_time and not self.in_rounds:
            raise InputError(
                "a policy of several releases", where="publisher.policies", found=over_time[0],
                expected="a section releases, or agents, beside it",
            )  # fmt: skip
        if over_time and self.agents is not None and not self.agents.remembers:
            raise InputError(
                "a policy of several releases, and adversaries who see each on its own", where="agents.remembers",
                found=False, expected=f"true, or other policies than {over_time[0]}",
            )  # fmt: skip
        planned = [name for name in policies if policy_named(name).way == "m-invariance"]
        if planned and (section is None or section.sensitive is None):
            raise InputError(
                "m-invariance is about a sensitive value",
                where="releases.sensitive",
                expected="a column of the records",
            )
        if planned and self.release.person is not None:
            raise InputError(
                "m-invariance groups records of one person each", where="publisher.policies", found=planned[0],
                expected="other policies, or no release.person",
            )  # fmt: skip
        if section is None:
            return
        if self.agents is not None:
            for key, given in (
                ("rounds", self.agents.rounds > 1), ("participation", self.agents.participation is not None)
            ):  # fmt: skip
                if given:
                    raise InputError(
                        "the waves of the releases say it",
                        where=f"agents.{key}",
                        expected="it without section releases",
                    )
        columns = {attribute.column or name for name, attribute in self.attributes.items() if not attribute.draw}
        taken = [key for key, column in section.columns.items() if column in columns]
        if taken:
            raise InputError(
                "a quasi-identifier says when a record is released, or is sensitive", where=f"releases.{taken[0]}",
                found=section.columns[taken[0]], expected="a column that is no attribute",
            )  # fmt: skip

    def _check_people(self) -> None:
        columns = [attribute.column or name for name, attribute in self.attributes.items() if not attribute.draw]
        for key in ("person", "household"):
            column = getattr(self.release, key)
            if column is not None and column in columns:
                raise InputError(
                    f"the key of {key}s is a quasi-identifier", where=f"release.{key}", found=column,
                    expected="a column that is no attribute, as it is never shared",
                )  # fmt: skip
        if self.release.household is not None and self.in_rounds:
            raise InputError(
                "the risk of households is told of one game", where="release.household", found=self.release.household,
                expected="it without sections agents and releases",
            )  # fmt: skip
        if self.release.person is None:
            return
        for key in ("weight", "sampling_fraction"):
            if getattr(self.release, key) is not None:
                raise InputError(
                    "sampling weights are of records, and people are counted", where=f"release.{key}",
                    found=getattr(self.release, key), expected=f"either release.{key} or release.person",
                )  # fmt: skip
        if self.looks_up:
            raise InputError(
                "persons are looked up among records of one person each", where="release.person",
                found=self.release.person, expected='it with adversary.direction = "record"',
            )  # fmt: skip
        for name in self.publisher.policies:
            way = policy_named(name).way
            if way == "splits" or (way == "rounds" and "prosecutor" in self.risks):
                why = "regions" if way == "splits" else "classes of several rounds"
                raise InputError(
                    f"with release.person all records of a person have one form, and this policy puts them in {why}",
                    where="publisher.policies", found=name, expected="other policies, or no release.person",
                )  # fmt: skip

    def _check_adversaries(self) -> None:
        check_adversaries(self.adversaries, self.model_fields_set, self.agents, self.lists)
        rounds = [name for name in self.publisher.policies if policy_named(name).in_rounds]
        erring = [key for key, section in self.every_adversary.items() if section.errs]
        if rounds and erring and "prosecutor" in self.risks:
            raise InputError(
                "under prosecutor risk its records hide among those left for their round, which is told of an adversary"
                " who does not err", where="publisher.policies", found=rounds[0],
                expected=f'{erring[0]}.rationality = "perfect", or other policies',
            )  # fmt: skip
        if not self.adversaries:
            return
        if self.figures.sequential is not None:
            raise InputError(
                "it is about one adversary",
                where="figures.sequential",
                expected="[adversary] in place of [adversaries]",
            )
        if rounds and len(self.adversaries) > 1 and "prosecutor" in self.risks:
            raise InputError(
                "under prosecutor risk its records hide among those left for their round, which is told of one "
                "adversary", where="publisher.policies", found=rounds[0], expected="[adversary], or other policies",
            )  # fmt: skip

    def _check_population(self) -> None:
        drawn = [name for name, attribute in self.attributes.items() if attribute.draw]
        if len(drawn) == len(self.attributes) and self.population is not None:
            raise InputError("every attribute is drawn", where="attributes", expected="one that the records hold")
        if self.population is not None:
            return
        if drawn or "journalist" in self.risks:
            reason = f"attribute {drawn[0]!r} is drawn from it" if drawn else "journalist risk counts its people"
            raise InputError("section missing", where="population", expected=f"a population, since {reason}")

    def _check_weights(self) -> None:
        release = self.release
        taken = [name for name, attribute in self.attributes.items() if release.weight == (attribute.column or name)]
        if taken:
            raise InputError(
                "the sampling weight is no quasi-identifier", where=f"attributes.{taken[0]}", found=release.weight,
                expected="another column",
            )  # fmt: skip
        if "sample" in self.risks and release.weight is None and release.sampling_fraction is None:
            raise InputError(
                "sample risk needs to know how the records were sampled", where="release",
                expected="the column release.weight, or release.sampling_fraction",
            )  # fmt: skip
        if "sample" in self.risks and self.figures.sequential is not None:
            raise InputError(
                "it counts people, whom sample risk estimates", where="figures.sequential", expected="another risk"
            )

    def _check_safe_harbor(self) -> None:
        if self.safe_harbor is None:
            needy = [name for name in self.publisher.policies if policy_named(name).needs_safe_harbor]
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

    def _check_policies(self) -> None:
        policies = self.publisher.policies
        unplayed = [name for name in policies if not policy_named(name).by_agents]
        if self.in_rounds and unplayed:
            playable = [policy.name for policy in POLICIES.values() if policy.by_agents]
            raise InputError(
                "not a policy of scenarios with agents", where="publisher.policies", found=unplayed[0],
                expected=f"among {listed(playable, 20)}",
            )  # fmt: skip
        walking = walks_whole_lattice(self)
        if walking and self.publisher.search == "anytime":
            key, policy = next(iter(walking.items()))
            raise InputError(
                "the anytime search cannot stop it", where=key, found=policy, expected="policies that keep to a budget",
                hint='publisher.search = "exact" walks the whole lattice',
            )  # fmt: skip

    def _check_amounts(self) -> None:
        priced = [f"economics.columns.{name}" for name, column in self.economics.columns if column is not None]
        if self.figures.sequential is not None and self.adversary.planner != "fmdp":
            raise InputError(
                "figures of the sequential attack need its planner",
                where="figures.sequential",
                found=f"adversary.planner = {self.adversary.planner!r}",
                expected="adversary.planner = 'fmdp'",
            )
        if self.figures.sequential is not None and self.adversary.errs:
            raise InputError(
                "figures of the sequential attack are of an adversary who does not err", where="figures.sequential",
                found=f'adversary.rationality = "{self.adversary.rationality}"',
                expected='adversary.rationality = "perfect"',
            )  # fmt: skip
        follows = "gain" not in self.economics.model_fields_set
        gains = ("economics.columns.gain", *(("economics.columns.loss",) if follows else ()))
        for section in self.every_adversary.values():
            own = section.amounts if isinstance(section, WeightedAdversarySection) else {}
            amounts = (
                *(gains if "gain" not in own else ()),
                *(("economics.columns.cost",) if "cost" not in own else ()),
            )
            differing = [name for name in priced if name in amounts]
            if section.plans_sequentially and differing:
                raise InputError(
                    "a sequential attack has one gain and one cost for all records", where=differing[0],
                    expected="economics.gain and economics.cost",
                )  # fmt: skip


def check_directions(scenario: TablesScenario) -> None:
    """Check that a scenario whose adversary looks persons up asks for nothing that takes each record on its own.

    Raises
    ------
    InputError
        Names the key.
    """
    if not scenario.looks_up:
        return
    sections = scenario.every_adversary
    first_key, first = next(iter(sections.items()))
    for key, section in sections.items():
        for name in ("direction", "risk"):
            if getattr(section, name) != getattr(first, name):
                raise InputError(
                    "adversaries who look persons up differ in more than planners and amounts", where=f"{key}.{name}",
                    found=getattr(section, name), expected=f"{getattr(first, name)}, as {first_key}.{name}",
                )  # fmt: skip
    publisher, figures = scenario.publisher, scenario.figures
    rounds = [name for name in publisher.policies if policy_named(name).in_rounds]
    for where, asked in (
        ("agents", scenario.agents is not None),
        ("releases", scenario.releases is not None),
        ("publisher.solver", publisher.solver == "lattice-search" and publisher.unit == "record"),
        ("publisher.policies", rounds[:1]),
        ("figures.strategies", figures.strategies is not None),
        ("figures.sequential", figures.sequential is not None),
    ):
        if asked:
            what = f": {rounds[0]}" if where == "publisher.policies" else ""
            raise InputError(
                f"it takes each record on its own{what}, and who looks persons up compares all that are shared",
                where=where, expected=f'{first_key}.direction = "record"',
            )  # fmt: skip


def walks_whole_lattice(scenario: TablesScenario) -> dict[str, str]:
    """Return what of a scenario walks the whole lattice: the key that asks for it, and what it asks for."""
    publisher = scenario.publisher
    exact = publisher.search == "exact"
    walking = [
        name
        for name in publisher.policies
        if (walk := policy_named(name).walks(publisher.unit)) == "always" or (walk == "search" and exact)
    ]
    return {"publisher.policies": walking[0]} if walking else {}


def lists_every_form(scenario: TablesScenario) -> bool:
    """Tell whether every generalization of each record is computed."""
    publisher = scenario.publisher
    if publisher.unit == "table" or publisher.solver != "backward-induction":
        return False
    return any(policy_named(name).way == "unit" for name in publisher.policies)

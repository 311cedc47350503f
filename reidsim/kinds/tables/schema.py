"""Schema of a scenario file about a table of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, require_among, require_distinct
from reidsim.kinds.tables.consistency import check_consistent
from reidsim.kinds.tables.data_schema import AttributeSection, PopulationSection, ReleaseSection, TablesResourceSection
from reidsim.kinds.tables.policy import SAFE_HARBOR, PolicyName, TablesPolicy, policy_named
from reidsim.kinds.tables.waves import ReleasesSection
from reidsim.linkage.sensitive_values import AttributeLimits
from reidsim.scenarios.adversary_schema import (
    AdversarySection,
    Risk,
    WeightedAdversarySection,
)
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.amounts import Count, Share, Text
from reidsim.scenarios.figures_schema import FiguresSection
from reidsim.scenarios.hierarchy_schema import HierarchySection
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.policy import WITH_K_ANONYMITY, AnonymityK, with_each_k
from reidsim.scenarios.publisher_schema import PoliciesSection
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.resource_schema import ListBeliefsSection, drawn_lists_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead
from reidsim.validation import Section

# Risks from the largest set of candidates to the smallest; several adversaries count as the first one present.
_LARGEST_FIRST: tuple[Risk, ...] = ("journalist", "sample", "prosecutor")


class PriceColumns(Section):
    """Columns with payoff parameters that differ by record."""

    benefit: str | None = Field(default=None, description="column with the amount of each record")
    loss: str | None = Field(
        default=None,
        description="column with the amount of each record; also the gain unless `gain` is given",
    )
    gain: str | None = Field(default=None, description="column with the amount of each record")
    cost: str | None = Field(default=None, description="column with the amount of each record")


class TablesEconomicsSection(EconomicsSection):
    """True payoff parameters of the publisher and the adversary."""

    columns: PriceColumns = Field(default=PriceColumns(), description="amounts that differ by record")


class TablesBeliefsSection(ListBeliefsSection):
    """Beliefs of the publisher; a parameter without a belief has its true value."""

    risk: Risk | None = Field(
        default=None, description="where the publisher counts groups when planning; the true choice if not given"
    )


_WITH_T_CLOSENESS = ReadIf(lambda section, scenario: section.t_closeness is not None, "with t_closeness")


class PublisherSection(PoliciesSection):
    """Unit, policies, solver and limits of the publisher's decision."""

    unit: Literal["record", "table"] = Field(
        default="record",
        description="one generalization per record, or one for all",
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("basic", "no-attack"),
        description="policies compared, each once",
        json_schema_extra={"minItems": 1},
    )
    safe_class: Literal["at-least", "above"] = Field(
        default="at-least",
        description="safe classes have at least gain/cost people, or more, as in ARX",
    )
    solver: Literal["backward-induction", "branch-and-bound", "iceberg", "lattice-search"] = Field(
        default="backward-induction",
        description="of the best generalization of each record; `iceberg` for many strategies on many records",
    )
    suppression_limit: Share = Field(
        default=1.0,
        description="largest share of records that policies for the whole table suppress",
    )
    search: Literal["exact", "anytime"] = Field(
        default="exact",
        description="walk the whole lattice, or stop at a budget and report the gap; record-level and "
        'multi-dimensional generalization need `"exact"`',
    )
    prune: Annotated[bool, with_key("search", "exact")] = Field(
        default=True, description="leave out branches that cannot be better"
    )
    nodes: Count | None = Field(
        default=None,
        description="most nodes of the anytime search, per round of local recoding",
    )
    seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="most seconds of the anytime search, per round of local recoding",
    )
    rounds: Count = Field(default=100, description="the most rounds of local recoding")
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    sensitive: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="column whose values nobody shall infer, or a list of columns, each protected on its own; the one "
        "column that policy `m-invariance` protects",
    )
    sensitive_hierarchies: Annotated[dict[str, HierarchySection], _WITH_T_CLOSENESS] = Field(
        default={},
        description="hierarchies of sensitive columns, whose values are then as far apart as the lowest group of both "
        "is high (hierarchical distance); values of other columns are equally far apart",
    )
    l_diversity: Annotated[int, Field(ge=2), with_key("sensitive")] | None = Field(
        default=None, description="least number of different sensitive values in a group (distinct l-diversity)"
    )
    t_closeness: Annotated[Share, with_key("sensitive")] | None = Field(
        default=None,
        description="largest earth mover's distance between the sensitive values of a group and those of the table",
    )
    max_inference: Annotated[float, Field(gt=0, le=1), with_key("sensitive")] | None = Field(
        default=None,
        description="largest probability of a correct inference: share of the most frequent sensitive value in a group",
    )

    @model_validator(mode="after")
    def _consistent(self) -> PublisherSection:
        # Each k makes a separate policy with its own name, in all results.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        self.require_policies()
        self._check_sensitive()
        budgeted = self.nodes is not None or self.seconds is not None
        if self.search == "anytime" and not budgeted:
            raise InputError("the anytime search needs a budget", where="search", expected="nodes, seconds or both")
        if self.search == "exact" and budgeted:
            raise InputError("only the anytime search has a budget", where="search", found="exact", expected="anytime")
        if (
            self.solver == "iceberg"
            and self.attribute_limits
            and self.some_policy(lambda policy: policy.picks_each(self))
        ):
            raise InputError(
                "iceberg goes by group sizes and cannot meet limits on sensitive columns", where="solver",
                found=self.attribute_limits.describe(), expected="backward-induction or branch-and-bound",
            )  # fmt: skip
        if self.solver == "lattice-search" and self.unit == "record":
            constrained = [name for name in self.policies if policy_named(name).is_constrained]
            if constrained or (self.attribute_limits and self.some_policy(lambda policy: policy.of_unit)):
                raise InputError(
                    "lattice-search cannot meet the constraint of a policy", where="solver",
                    found=constrained[0] if constrained else self.attribute_limits.describe(),
                    expected="backward-induction, branch-and-bound or iceberg",
                )  # fmt: skip
        return self

    @property
    def attribute_limits(self) -> AttributeLimits:
        """Limits on inference from a group's sensitive values; empty if none is set."""
        return AttributeLimits(self.l_diversity, self.t_closeness, self.max_inference)

    def some_policy(self, holds: Callable[[TablesPolicy], bool]) -> bool:
        """Return whether a condition holds for at least one policy."""
        return any(holds(policy_named(name)) for name in self.policies)

    @property
    def optimizes_each(self) -> bool:
        """Whether at least one policy optimizes each record."""
        return self.some_policy(lambda policy: policy.picks_each(self))

    def _check_sensitive(self) -> None:
        columns = key_columns(self.sensitive)
        require_distinct("listed twice", columns, where="sensitive")
        for name in self.sensitive_hierarchies:
            require_among("not a sensitive column", (name,), columns, where="sensitive_hierarchies")
        unmet = [name for name in self.policies if not policy_named(name).meets_attribute_limits]
        if self.attribute_limits and unmet:
            raise InputError(
                "this policy does not keep to limits on sensitive columns", where="policies", found=unmet[0],
                expected=f"other policies, or no limit ({self.attribute_limits.describe()})",
            )  # fmt: skip


class SafeHarborSection(Section):
    """Attributes that the HIPAA Safe Harbor rule restricts."""

    age: str | None = Field(default=None, description="attribute that holds ages in years")
    zip: str | None = Field(default=None, description="attribute that holds five-digit ZIP codes")
    zip3_population: Annotated[Literal["population", "us-2010"], with_key("zip")] = Field(
        default="us-2010",
        description="where people of three-digit areas are counted: 2010 Census, or the scenario's population",
    )


class NodesSection(Section):
    """Lists of further lattice nodes besides the optimal one."""

    top: Annotated[int, Field(ge=0)] = Field(default=10, description="number of top nodes; 0 omits them and the front")


class TablesFiguresSection(FiguresSection):
    """Optional tables and figures of a run."""

    nodes: NodesSection | None = Field(
        default=None,
        description="the nodes that pay most, and the Pareto front; default up to 100,000 nodes",
    )


def _with_policy(expected: str, holds: Callable[[TablesPolicy], bool]) -> ReadIf:
    """Return the condition that at least one policy of the scenario has a property."""
    return ReadIf(lambda section, scenario: scenario.publisher.some_policy(holds), f"with {expected}")


def _of_whole_table(policy: TablesPolicy) -> bool:
    return policy.of_whole_table


def _is_planned(policy: TablesPolicy) -> bool:
    return policy.replies == "planned"


class TablesScenario(ScenarioHead):
    """A publisher shares a table, generalized by record or as a whole."""

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        **dict.fromkeys(
            ("release.weight", "release.sampling_fraction", "release.estimator"),
            ReadIf(lambda section, scenario: "sample" in scenario.risks, 'with risk = "sample"'),
        ),
        "publisher.sensitive": ReadIf(
            lambda section, scenario: scenario.infers or section.some_policy(_is_planned),
            "with l_diversity, t_closeness, max_inference, policy m-invariance, or adversaries who gain from an "
            "inference",
        ),
        **dict.fromkeys(
            ("publisher.sensitive_hierarchies.*.suppress", "publisher.sensitive_hierarchies.*.costless_levels"),
            ReadIf(lambda section, scenario: False, "of hierarchies of attributes, whose values are released"),
        ),
        "releases.m": _with_policy("policy m-invariance", _is_planned),
        "publisher.rounds": _with_policy("a policy of local recoding", lambda policy: policy.in_rounds),
        "publisher.suppression_limit": ReadIf(
            lambda section, scenario: (
                section.unit == "table" or section.some_policy(lambda policy: policy.of_whole_table)
            ),
            'with unit = "table", or a policy for the whole table',
        ),
        "publisher.solver": ReadIf(
            lambda section, scenario: section.some_policy(lambda policy: policy.picks_each(section)),
            'with unit = "record" and a policy such as basic',
        ),
        "publisher.prune": ReadIf(
            lambda section, scenario: section.some_policy(
                lambda policy: policy.picks_node(section) or policy.in_rounds
            ),
            "with a search for one generalization of the whole table",
        ),
        "publisher.safe_class": ReadIf(
            lambda section, scenario: section.some_policy(lambda policy: policy.forbids_attacks),
            "with a policy that forbids attacks",
        ),
        "beliefs.risk": ReadIf(
            lambda section, scenario: not all(a.holds and scenario.lists for a in scenario.every_adversary.values()),
            "with an adversary that does not look records up in lists",
        ),
        "safe_harbor": ReadIf(
            lambda section, scenario: scenario.publisher.some_policy(lambda policy: SAFE_HARBOR in policy.needs),
            "with policy safe-harbor or sh-friendly",
        ),
        "resources": ReadIf(
            lambda section, scenario: scenario.lists or any(a.needs_resources for a in scenario.adversaries.values()),
            "with an adversary that holds or buys one, or lists drawn from the people",
        ),
        "figures.strategies": ReadIf(
            lambda section, scenario: scenario.publisher.unit == "record" and not scenario.in_rounds,
            'with publisher.unit = "record", without agents and releases',
        ),
        "attributes.*.column": with_key("draw", False),
        "figures.nodes": ReadIf(
            lambda section, scenario: scenario.publisher.unit == "table", 'with publisher.unit = "table"'
        ),
        "population.together": ReadIf(lambda section, scenario: len(scenario.lists) > 1, "with two lists or more"),
    }

    game: Literal["tables"] = Field(default="tables", description="a publisher decides about a table of records")
    population: PopulationSection | None = Field(
        default=None, description="the population; needed under journalist risk, and wherever something is drawn"
    )
    release: ReleaseSection = Field(description="which records are shared")
    attributes: dict[str, AttributeSection] = Field(
        description="the quasi-identifiers, in the order of the lattice", json_schema_extra={"minProperties": 1}
    )
    resources: dict[str, TablesResourceSection] = Field(default={}, description="what adversaries hold or buy, by name")
    economics: TablesEconomicsSection = Field(description="the true payoff parameters")
    beliefs: TablesBeliefsSection = Field(
        default=TablesBeliefsSection(), description="what the publisher believes instead"
    )
    adversary: AdversarySection = Field(default=AdversarySection(), description="how the adversary links and plans")
    adversaries: dict[str, WeightedAdversarySection] = Field(
        default={},
        description="several by name; an `adversary` beside them gives defaults",
    )
    publisher: PublisherSection = Field(default=PublisherSection(), description="how the publisher decides")
    safe_harbor: SafeHarborSection | None = Field(
        default=None, description="needed by the policies `safe-harbor` and `sh-friendly`"
    )
    releases: ReleasesSection | None = Field(default=None, description="several releases over time")
    agents: AgentsSection | None = Field(default=None, description="several adversaries, data subjects and rounds")
    figures: TablesFiguresSection = Field(default=TablesFiguresSection(), description="further tables and figures")

    @property
    def plain_adversary(self) -> AdversarySection | None:
        """Single adversary with one-shot attacks and equal payoff parameters, or None.

        The adversary must gain from identification, must not look persons up and must attack exactly the records where
        an attack pays. Its payoff parameters must be the same for all records.
        """
        first, *others = self.every_adversary.values()
        own = any(each.amounts for each in self.adversaries.values())
        plain = first.attacks_what_pays and not first.looks_up and not self.has_price_columns
        plain &= first.gains_from == "identity"
        return first if plain and not others and not own else None

    @property
    def looks_up(self) -> bool:
        """Whether an adversary looks persons up in the released rows.

        The outcome of a record then depends on the generalizations of other records.
        """
        return any(section.looks_up for section in self.every_adversary.values())

    @property
    def infers(self) -> bool:
        """Whether inference of sensitive values is limited or profitable."""
        gains = any(section.gains_from != "identity" for section in self.every_adversary.values())
        return gains or bool(self.publisher.attribute_limits)

    @property
    def linked_risk(self) -> Risk:
        """Risk that determines true group sizes; with several, the one with most people."""
        risks = {section.risk for section in self.every_adversary.values()}
        return next(risk for risk in _LARGEST_FIRST if risk in risks)

    @property
    def planned_risk(self) -> Risk:
        """Risk of the group sizes with which the publisher plans; default `linked_risk`."""
        return self.beliefs.risk or self.linked_risk

    @property
    def risks(self) -> frozenset[Risk]:
        """Risks that occur in the scenario, true or believed."""
        given: tuple[Risk, ...] = () if self.beliefs.risk is None else (self.beliefs.risk,)
        sections = self.every_adversary.values()
        # An adversary that only looks persons up counts released rows and no people.
        return frozenset((*given, *(section.risk for section in sections if section.direction != "person")))

    @property
    def has_price_columns(self) -> bool:
        """Whether at least one payoff parameter comes from a column of the records."""
        return any(column is not None for _, column in self.economics.columns)

    @model_validator(mode="after")
    def _consistent(self) -> TablesScenario:
        check_consistent(self)
        return self

    @property
    def lists(self) -> tuple[str, ...]:
        """Names of the resources that are lists drawn from the people."""
        return drawn_lists_of(self.resources)

    @property
    def in_rounds(self) -> bool:
        """Whether the game has rounds: with agents or with several releases."""
        return self.agents is not None or self.releases is not None

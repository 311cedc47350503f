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

    benefit: str | None = Field(
        default=None, description="column with the benefit of each record, in place of `economics.benefit`"
    )
    loss: str | None = Field(
        default=None,
        description="column with the loss of each record, in place of `economics.loss`; also the gain, unless "
        "a gain is set",
    )
    gain: str | None = Field(
        default=None, description="column with the adversary's gain from each record, in place of `economics.gain`"
    )
    cost: str | None = Field(
        default=None,
        description="column with the adversary's cost of attacking each record, in place of `economics.cost`",
    )


class TablesEconomicsSection(EconomicsSection):
    """True payoff parameters of the publisher and the adversary."""

    columns: PriceColumns = Field(
        default=PriceColumns(), description="columns of the records with payoff parameters that differ by record"
    )


class TablesBeliefsSection(ListBeliefsSection):
    """Beliefs of the publisher; a parameter without a belief has its true value."""

    risk: Risk | None = Field(
        default=None,
        description="risk with which the publisher counts groups when it plans (see `adversary.risk`); "
        "default: the true risk",
    )


_WITH_T_CLOSENESS = ReadIf(lambda section, scenario: section.t_closeness is not None, "with t_closeness")


class PublisherSection(PoliciesSection):
    """Unit, policies, solver and limits of the publisher's decision."""

    unit: Literal["record", "table"] = Field(
        default="record",
        description="scope of a generalization: `record` chooses one for each record, `table` one for all records",
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("basic", "no-attack"),
        description="policies to compare, each named once",
        json_schema_extra={"minItems": 1},
    )
    safe_class: Literal["at-least", "above"] = Field(
        default="at-least",
        description="size from which policies such as `no-attack` take an equivalence class as safe: at least "
        "gain/cost people (`at-least`), or more than gain/cost people, as in ARX (`above`)",
    )
    solver: Literal["backward-induction", "branch-and-bound", "iceberg", "lattice-search"] = Field(
        default="backward-induction",
        description="algorithm that finds the best generalization of each record; `iceberg` suits many "
        "strategies and many records",
    )
    suppression_limit: Share = Field(
        default=1.0,
        description="largest share of records that a policy for the whole table may suppress",
    )
    search: Literal["exact", "anytime"] = Field(
        default="exact",
        description="search for one generalization of the table: `exact` examines the whole lattice, `anytime` "
        "stops at a budget and reports the gap to the optimum; record-level and multi-dimensional "
        "generalization need `exact`",
    )
    prune: Annotated[bool, with_key("search", "exact")] = Field(
        default=True,
        description="whether the search skips parts of the lattice that cannot improve on the best node found",
    )
    nodes: Count | None = Field(
        default=None,
        description="budget of the anytime search: largest number of nodes evaluated, per round of local recoding",
    )
    seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="budget of the anytime search: largest time in seconds, per round of local recoding",
    )
    rounds: Count = Field(default=100, description="largest number of rounds of local recoding")
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    sensitive: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="sensitive column or columns, whose values are protected against inference; several "
        "columns are protected separately, and policy `m-invariance` protects exactly one",
    )
    sensitive_hierarchies: Annotated[dict[str, HierarchySection], _WITH_T_CLOSENESS] = Field(
        default={},
        description="hierarchy of each sensitive column, which defines the distance of two values by the "
        "lowest group that contains both (hierarchical distance); without a hierarchy, all values "
        "are equally distant",
    )
    l_diversity: Annotated[int, Field(ge=2), with_key("sensitive")] | None = Field(
        default=None,
        description="smallest number of different sensitive values in an equivalence class (distinct l-diversity)",
    )
    t_closeness: Annotated[Share, with_key("sensitive")] | None = Field(
        default=None,
        description="largest earth mover's distance between the sensitive values of an equivalence class and "
        "of the table",
    )
    max_inference: Annotated[float, Field(gt=0, le=1), with_key("sensitive")] | None = Field(
        default=None,
        description="largest probability of inferring a sensitive value correctly: the share of the most "
        "frequent value in an equivalence class",
    )

    @model_validator(mode="after")
    def _consistent(self) -> PublisherSection:
        # Each k makes a separate policy with its own name, in all results.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        self.require_policies()
        self._check_sensitive()
        budgeted = self.nodes is not None or self.seconds is not None
        if self.search == "anytime" and not budgeted:
            raise InputError("the anytime search needs a budget", where="search", expected="key nodes, seconds or both")
        if self.search == "exact" and budgeted:
            raise InputError("a budget needs the anytime search", where="search", found="exact", expected="anytime")
        if (
            self.solver == "iceberg"
            and self.attribute_limits
            and self.some_policy(lambda policy: policy.picks_each(self))
        ):
            raise InputError(
                "solver iceberg does not support limits on sensitive columns",
                where="solver",
                found=self.attribute_limits.describe(),
                expected="backward-induction or branch-and-bound",
            )
        if self.solver == "lattice-search" and self.unit == "record":
            constrained = [name for name in self.policies if policy_named(name).is_constrained]
            if constrained or (self.attribute_limits and self.some_policy(lambda policy: policy.of_unit)):
                raise InputError(
                    "solver lattice-search does not support constraints of policies",
                    where="solver",
                    found=constrained[0] if constrained else self.attribute_limits.describe(),
                    expected="backward-induction, branch-and-bound or iceberg",
                )
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
        require_distinct("column given twice", columns, where="sensitive")
        for name in self.sensitive_hierarchies:
            require_among("not a sensitive column", (name,), columns, where="sensitive_hierarchies")
        unmet = [name for name in self.policies if not policy_named(name).meets_attribute_limits]
        if self.attribute_limits and unmet:
            raise InputError(
                "the policy does not support limits on sensitive columns",
                where="policies",
                found=unmet[0],
                expected=f"other policies, or no limits ({self.attribute_limits.describe()})",
            )


class SafeHarborSection(Section):
    """Attributes that the HIPAA Safe Harbor rule restricts."""

    age: str | None = Field(default=None, description="attribute with ages in years")
    zip: str | None = Field(default=None, description="attribute with five-digit ZIP codes")
    zip3_population: Annotated[Literal["population", "us-2010"], with_key("zip")] = Field(
        default="us-2010",
        description="source of the number of people in each three-digit ZIP code area: the scenario's "
        "population, or the 2010 Census (`us-2010`)",
    )


class NodesSection(Section):
    """List of the best lattice nodes, and the Pareto front."""

    top: Annotated[int, Field(ge=0)] = Field(
        default=10, description="number of best nodes in the list; 0 omits the list and the Pareto front"
    )


class TablesFiguresSection(FiguresSection):
    """Optional tables and figures of a run."""

    nodes: NodesSection | None = Field(
        default=None,
        description="list of the nodes with the highest payoff, and Pareto front; by default only for lattices "
        "of at most 100,000 nodes",
    )


def _with_policy(expected: str, holds: Callable[[TablesPolicy], bool]) -> ReadIf:
    """Return the condition that at least one policy of the scenario has a property."""
    return ReadIf(lambda section, scenario: scenario.publisher.some_policy(holds), f"with {expected}")


def _of_whole_table(policy: TablesPolicy) -> bool:
    return policy.of_whole_table


def _is_planned(policy: TablesPolicy) -> bool:
    return policy.replies == "planned"


class TablesScenario(ScenarioHead):
    """A publisher releases a table, generalized by record or as a whole."""

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        **dict.fromkeys(
            ("release.weight", "release.sampling_fraction", "release.estimator"),
            ReadIf(lambda section, scenario: "sample" in scenario.risks, 'with risk = "sample"'),
        ),
        "publisher.sensitive": ReadIf(
            lambda section, scenario: scenario.infers or section.some_policy(_is_planned),
            "with l_diversity, t_closeness, max_inference, policy m-invariance, or an adversary who "
            "gains from an inference",
        ),
        **dict.fromkeys(
            ("publisher.sensitive_hierarchies.*.suppress", "publisher.sensitive_hierarchies.*.costless_levels"),
            ReadIf(
                lambda section, scenario: False, "in the hierarchy of a quasi-identifier, not of a sensitive column"
            ),
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
            "with a policy that searches for one generalization of the table",
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
            "with an adversary that holds or buys a resource, or with lists drawn from the population",
        ),
        "figures.strategies": ReadIf(
            lambda section, scenario: scenario.publisher.unit == "record" and not scenario.in_rounds,
            'with publisher.unit = "record", without agents and releases',
        ),
        "attributes.*.column": with_key("draw", False),
        "figures.nodes": ReadIf(
            lambda section, scenario: scenario.publisher.unit == "table", 'with publisher.unit = "table"'
        ),
        "population.together": ReadIf(lambda section, scenario: len(scenario.lists) > 1, "with at least two lists"),
    }

    game: Literal["tables"] = Field(
        default="tables", description="kind of scenario: a publisher releases a table of records"
    )
    population: PopulationSection | None = Field(
        default=None,
        description="population of the data subjects; needed for journalist risk and for anything drawn from a "
        "population",
    )
    release: ReleaseSection = Field(description="records to release")
    attributes: dict[str, AttributeSection] = Field(
        description="quasi-identifiers; their order is the order of levels in the lattice",
        json_schema_extra={"minProperties": 1},
    )
    resources: dict[str, TablesResourceSection] = Field(
        default={}, description="external resources that adversaries can hold or buy"
    )
    economics: TablesEconomicsSection = Field(description="true payoff parameters")
    beliefs: TablesBeliefsSection = Field(
        default=TablesBeliefsSection(), description="values that the publisher believes in place of the true values"
    )
    adversary: AdversarySection = Field(default=AdversarySection(), description="linkage and planning of the adversary")
    adversaries: dict[str, WeightedAdversarySection] = Field(
        default={},
        description="named adversaries; a section `[adversary]` beside them gives their defaults",
    )
    publisher: PublisherSection = Field(default=PublisherSection(), description="decisions of the publisher")
    safe_harbor: SafeHarborSection | None = Field(
        default=None, description="attributes for the policies `safe-harbor` and `sh-friendly`, which need this section"
    )
    releases: ReleasesSection | None = Field(default=None, description="successive releases of the table")
    agents: AgentsSection | None = Field(
        default=None, description="repeated rounds with several adversaries and data subjects who may leave"
    )
    figures: TablesFiguresSection = Field(default=TablesFiguresSection(), description="additional tables and figures")

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
        """Whether the publisher limits, or an adversary gains from, inferred values."""
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

"""Schema of a scenario file about a table of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.errors import require_among, require_distinct
from reidsim.kinds.tables.consistency import check_consistent
from reidsim.kinds.tables.policy import SAFE_HARBOR, PolicyName, TablesPolicy, policy_named
from reidsim.linkage.sensitive_values import AttributeLimits
from reidsim.scenarios.adversary_schema import (
    AdversarySection,
    AgentsSection,
    PoliciesSection,
    Risk,
    WeightedAdversarySection,
)
from reidsim.scenarios.hierarchies import GeneralizedSection, HierarchySection, ReadingSection
from reidsim.scenarios.lists import DrawnResourceSection, ListBeliefsSection, Together, drawn_lists_of
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.policy import WITH_K_ANONYMITY, AnonymityK, with_each_k
from reidsim.scenarios.read_keys import Count, Delimiter, PersonKey, PopulationSeed, ReadIf, Share, Text, with_key
from reidsim.scenarios.schema import EconomicsSection, FiguresSection, ScenarioHead
from reidsim.validation import Section

Estimator = Literal["benedetti-franconi", "log-linear"]


_WITHOUT_PATH = ReadIf(lambda section, scenario: section.path is None, "without path, which replaces it")


def _is_csv(section: ReleaseSection, scenario: Any) -> bool:
    """Return whether the records or the people come from a delimited text file."""
    paths = (section.path, None if scenario.population is None else scenario.population.path)
    return section.format == "csv" and any(path is not None and not path.endswith(".parquet") for path in paths)


_OF_CSV = ReadIf(_is_csv, "with a CSV file in release.path or population.path")


class PopulationSection(Section):
    """Population in which groups are counted under journalist risk.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    path
        file of people in the format of the released records; replaces `recipe`
    counts
        number of people in each cell of the population: drawn at random, or the expected number
    holds_release
        whether every record must match a person of the population; default: true if `publisher.unit = "table"` and no
        attribute has `unknown = "nobody"`, else false
    """

    recipe: Annotated[str | None, _WITHOUT_PATH] = None
    path: Text | None = None
    counts: Annotated[Literal["sample", "expected"], _WITHOUT_PATH] = "sample"
    seed: Annotated[PopulationSeed, _WITHOUT_PATH] = None
    together: Together = 0.0
    holds_release: bool | None = None


class TablesResourceSection(DrawnResourceSection):
    """External resource that adversaries can hold or buy.

    With a `kind`, the resource is a list drawn from the people of the scenario. Without a `kind`, it reveals its
    attributes of each person independently with probability `coverage`.

    Attributes
    ----------
    attributes
        quasi-identifiers that the resource reveals; default: the attributes of its `kind`
    size
        exact number of people in a list
    file
        CSV or Parquet file of a list with `kind = "file"`
    delimiter
        column separator of a CSV file
    encoding
        character encoding of a CSV file, such as `latin-1`
    columns
        column of the file, by attribute; default: the attribute's name
    """

    attributes: tuple[str, ...] = ()
    size: Count | None = None
    file: Text | None = None
    delimiter: Annotated[Delimiter, with_key("file")] = ","
    encoding: Annotated[str, with_key("file")] = "utf-8"
    columns: Annotated[dict[str, str], with_key("file")] = Field(default={})

    @model_validator(mode="after")
    def _check_single_source(self) -> TablesResourceSection:
        of_file, alone = self.kind == "file", 'a file needs kind "file", and kind "file" needs a file'
        self.refuse_if(of_file != (self.file is not None), alone, "file")
        sized, expected = "the rows of the file determine the size", "this key only with a drawn list"
        self.refuse_if(of_file and self.size, sized, "size", expected)
        self.refuse_if(not self.is_list and self.size, "the key needs a list", "size", "a `kind`")
        uneven = not (self.is_list or isinstance(self.coverage, float | None))
        expected = "a number, or a `kind`"
        self.refuse_if(uneven, "unequal coverage needs a list", "coverage", expected, found=None)
        return self

    @property
    def share(self) -> float:
        """Probability that a resource without a `kind` covers a person; by default 1."""
        return self.coverage if isinstance(self.coverage, float) else 1.0


class ReleaseSection(Section):
    """Records to release.

    Attributes
    ----------
    path
        file of records, which may be compressed; replaces `table`
    table
        bundled population or recipe whose people are the records
    format
        format of the file in `path`; `"adult"` is the UCI file of the Adult data set
    encoding
        character encoding of a CSV file, such as `latin-1`
    delimiter
        column separator of a CSV file; ARX writes `";"`
    header
        whether the first row contains column names; otherwise the columns are `"1"`, `"2"` and so on
    weight
        column with sampling weights, each at least 1
    sampling_fraction
        number of records divided by the size of the population, for records without sampling weights
    estimator
        estimator of population group sizes for `sample` risk: from the sampling weights in the group
        (`benedetti-franconi`), or by a log-linear model of all records
    person
        column that identifies the person of each record, or columns whose combined values do; all records of a person
        have the same generalization
    household
        column that identifies the person's household; with it, results have the measure `household_risk`
    """

    path: Text | None = None
    table: Annotated[str | None, _WITHOUT_PATH] = None
    format: Literal["csv", "adult"] = "csv"
    encoding: Annotated[str, _OF_CSV] = "utf-8"
    delimiter: Annotated[Delimiter, _OF_CSV] = ","
    header: Annotated[bool, _OF_CSV] = True
    weight: Text | None = None
    sampling_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    estimator: Estimator = "log-linear"
    person: PersonKey | None = None
    household: Text | None = None


class AttributeSection(GeneralizedSection):
    """Source and hierarchy of a quasi-identifier.

    Attributes
    ----------
    reading
        conversion of the values in the file; default: unchanged
    values
        category for each value after `reading`; other values stay unchanged
    unknown
        treatment of values that the population lacks: an error, or a value that only the record's person has
    draw
        whether the records lack the attribute, so that its values are drawn from the population given the other
        attributes
    top_code
        lowest value of a combined top category; values from here on are redrawn from the population given the other
        attributes
    in_loss
        whether generalization of the attribute counts as information loss
    minimum_level
        lowest level that policies may choose; fixed rules, `opt-in`, `lattice-search` and policies of your own ignore
        it
    """

    reading: Annotated[ReadingSection | None, with_key("draw", False)] = None
    values: Annotated[dict[str, str], with_key("draw", False)] = Field(default={})
    unknown: Annotated[
        Literal["error", "nobody"],
        ReadIf(
            lambda section, scenario: not section.draw and scenario.population is not None,
            "with a population and without draw",
        ),
    ] = "error"
    draw: bool = False
    top_code: int | None = None
    in_loss: bool = True
    minimum_level: Annotated[int, Field(ge=0)] = 0


class SafeHarborSection(Section):
    """Attributes that the HIPAA Safe Harbor rule restricts.

    Attributes
    ----------
    age
        attribute with ages in years
    zip
        attribute with five-digit ZIP codes
    zip3_population
        source of the number of people in each three-digit ZIP code area: the scenario's population, or the 2010 Census
        (`us-2010`)
    """

    age: str | None = None
    zip: str | None = None
    zip3_population: Annotated[Literal["population", "us-2010"], with_key("zip")] = "us-2010"


class ReleasesSection(Section):
    """Successive releases (waves) of a table.

    Attributes
    ----------
    enters
        column with the number or date of the release in which each record first appears
    leaves
        column with the first release that no longer contains the record; empty for a record that stays
    m
        with policy `m-invariance`: smallest number of different sensitive values in an equivalence class
    """

    enters: Text
    leaves: Text | None = None
    m: Annotated[int, Field(ge=2, le=1000)] = 2

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the records, by key of this section."""
        return {"enters": self.enters} | ({} if self.leaves is None else {"leaves": self.leaves})


# Risks from the largest set of candidates to the smallest; several adversaries count as the first one present.
_LARGEST_FIRST: tuple[Risk, ...] = ("journalist", "sample", "prosecutor")


class PriceColumns(Section):
    """Columns with payoff parameters that differ by record.

    Attributes
    ----------
    benefit
        column with the benefit of each record, in place of `economics.benefit`
    loss
        column with the loss of each record, in place of `economics.loss`; also the gain, unless a gain is set
    gain
        column with the adversary's gain from each record, in place of `economics.gain`
    cost
        column with the adversary's cost of attacking each record, in place of `economics.cost`
    """

    benefit: str | None = None
    loss: str | None = None
    gain: str | None = None
    cost: str | None = None


class TablesEconomicsSection(EconomicsSection):
    """True payoff parameters of the publisher and the adversary.

    Attributes
    ----------
    columns
        columns of the records with payoff parameters that differ by record
    """

    columns: PriceColumns = PriceColumns()


class TablesBeliefsSection(ListBeliefsSection):
    """Beliefs of the publisher; a parameter without a belief has its true value.

    Attributes
    ----------
    risk
        risk with which the publisher counts groups when it plans (see `adversary.risk`); default: the true risk
    """

    risk: Risk | None = None


_WITH_T_CLOSENESS = ReadIf(lambda section, scenario: section.t_closeness is not None, "with t_closeness")


class PublisherSection(PoliciesSection):
    """Unit, policies, solver and limits of the publisher's decision.

    Attributes
    ----------
    unit
        scope of a generalization: `record` chooses one for each record, `table` one for all records
    policies
        policies to compare, each named once
    safe_class
        size from which policies such as `no-attack` take an equivalence class as safe: at least gain/cost people
        (`at-least`), or more than gain/cost people, as in ARX (`above`)
    solver
        algorithm that finds the best generalization of each record; `iceberg` suits many strategies and many records
    suppression_limit
        largest share of records that a policy for the whole table may suppress
    search
        search for one generalization of the table: `exact` examines the whole lattice, `anytime` stops at a budget and
        reports the gap to the optimum; record-level and multi-dimensional generalization need `exact`
    prune
        whether the search skips parts of the lattice that cannot improve on the best node found
    nodes
        budget of the anytime search: largest number of nodes evaluated, per round of local recoding
    seconds
        budget of the anytime search: largest time in seconds, per round of local recoding
    rounds
        largest number of rounds of local recoding
    sensitive
        sensitive column or columns, whose values are protected against inference; several columns are protected
        separately, and policy `m-invariance` protects exactly one
    sensitive_hierarchies
        hierarchy of each sensitive column, which defines the distance of two values by the lowest group that contains
        both (hierarchical distance); without a hierarchy, all values are equally distant
    l_diversity
        smallest number of different sensitive values in an equivalence class (distinct l-diversity)
    t_closeness
        largest earth mover's distance between the sensitive values of an equivalence class and of the table
    max_inference
        largest probability of inferring a sensitive value correctly: the share of the most frequent value in an
        equivalence class
    """

    unit: Literal["record", "table"] = "record"
    policies: tuple[PolicyName, ...] = Field(default=("basic", "no-attack"), json_schema_extra={"minItems": 1})
    safe_class: Literal["at-least", "above"] = "at-least"
    solver: Literal["backward-induction", "branch-and-bound", "iceberg", "lattice-search"] = "backward-induction"
    suppression_limit: Share = 1.0
    search: Literal["exact", "anytime"] = "exact"
    prune: Annotated[bool, with_key("search", "exact")] = True
    nodes: Count | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    rounds: Count = 100
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    sensitive: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    sensitive_hierarchies: Annotated[dict[str, HierarchySection], _WITH_T_CLOSENESS] = Field(default={})
    l_diversity: Annotated[int, Field(ge=2), with_key("sensitive")] | None = None
    t_closeness: Annotated[Share, with_key("sensitive")] | None = None
    max_inference: Annotated[float, Field(gt=0, le=1), with_key("sensitive")] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> PublisherSection:
        # Each k makes a separate policy with its own name, in all results.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        self.require_policies()
        columns, limits = key_columns(self.sensitive), self.attribute_limits
        require_distinct("column given twice", columns, where="sensitive")
        require_among("not a sensitive column", self.sensitive_hierarchies, columns, where="sensitive_hierarchies")
        policies = [policy_named(name) for name in self.policies]
        described, own = limits.describe(), [each for each in policies if each.of_unit]
        unmet = [each.name for each in policies if limits and not each.meets_attribute_limits]
        constrained = [each.name for each in own if each.forbids_attacks or each.within_safe_harbor]
        constrained += [described] * bool(limits and own)
        budgeted, ignores = self.nodes is not None or self.seconds is not None, "does not support limits on sensitive"
        expected, found = f"other policies, or no limits ({described})", next(iter(unmet), None)
        self.refuse_if(unmet, f"the policy {ignores} columns", "policies", expected, found=found)
        unlimited, expected = self.search == "anytime" and not budgeted, "key nodes, seconds or both"
        self.refuse_if(unlimited, "the anytime search needs a budget", "search", expected, found=None)
        idle = self.search == "exact" and budgeted
        self.refuse_if(idle, "a budget needs the anytime search", "search", "anytime")
        by_record, expected = self.unit == "record", "backward-induction or branch-and-bound"
        iceberg = by_record and self.solver == "iceberg" and limits and own
        self.refuse_if(iceberg, f"solver iceberg {ignores} columns", "solver", expected, found=described)
        greedy = by_record and self.solver == "lattice-search"
        expected = "backward-induction, branch-and-bound or iceberg"
        problem, found = "solver lattice-search does not support constraints of policies", next(iter(constrained), None)
        self.refuse_if(greedy and constrained, problem, "solver", expected, found=found)
        return self

    @property
    def attribute_limits(self) -> AttributeLimits:
        """Limits on inference from a group's sensitive values; empty if none is set."""
        return AttributeLimits(self.l_diversity, self.t_closeness, self.max_inference)

    def some_policy(self, holds: Callable[[TablesPolicy], bool]) -> bool:
        """Return whether a condition holds for at least one policy."""
        return any(holds(policy_named(name)) for name in self.policies)


class NodesSection(Section):
    """List of the best lattice nodes, and the Pareto front.

    Attributes
    ----------
    top
        number of best nodes in the list; 0 omits the list and the Pareto front
    """

    top: Annotated[int, Field(ge=0)] = 10


class TablesFiguresSection(FiguresSection):
    """Optional tables and figures of a run.

    Attributes
    ----------
    nodes
        list of the nodes with the highest payoff, and Pareto front; by default only for lattices of at most 100,000
        nodes
    """

    nodes: NodesSection | None = None


def _with_policy(expected: str, holds: Callable[[TablesPolicy, PublisherSection], bool]) -> ReadIf:
    """Return the condition that at least one policy of the scenario has a property."""

    def some(section: object, scenario: Any) -> bool:
        return bool(scenario.publisher.some_policy(lambda each: holds(each, scenario.publisher)))

    return ReadIf(some, f"with {expected}")


class TablesScenario(ScenarioHead):
    """A publisher releases a table, generalized by record or as a whole.

    Attributes
    ----------
    game
        kind of scenario: a publisher releases a table of records
    population
        population of the data subjects; needed for journalist risk and for anything drawn from a population
    release
        records to release
    attributes
        quasi-identifiers; their order is the order of levels in the lattice
    resources
        external resources that adversaries can hold or buy
    economics
        true payoff parameters
    beliefs
        values that the publisher believes in place of the true values
    adversary
        linkage and planning of the adversary
    adversaries
        named adversaries; a section `[adversary]` beside them gives their defaults
    publisher
        decisions of the publisher
    safe_harbor
        attributes for the policies `safe-harbor` and `sh-friendly`, which need this section
    releases
        successive releases of the table
    agents
        repeated rounds with several adversaries and data subjects who may leave
    figures
        additional tables and figures
    """

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        **dict.fromkeys(
            ("release.weight", "release.sampling_fraction", "release.estimator"),
            ReadIf(lambda _, scenario: "sample" in scenario.risks, 'with risk = "sample"'),
        ),
        "publisher.sensitive": ReadIf(
            lambda section, scenario: scenario.infers or section.some_policy(lambda each: each.replies == "planned"),
            "with l_diversity, t_closeness, max_inference, policy m-invariance, or an adversary who "
            "gains from an inference",
        ),
        **dict.fromkeys(
            ("publisher.sensitive_hierarchies.*.suppress", "publisher.sensitive_hierarchies.*.costless_levels"),
            ReadIf(lambda *_: False, "in the hierarchy of a quasi-identifier, not of a sensitive column"),
        ),
        "releases.m": _with_policy("policy m-invariance", lambda each, _: each.replies == "planned"),
        "publisher.rounds": _with_policy("a policy of local recoding", lambda each, _: each.in_rounds),
        "publisher.suppression_limit": _with_policy(
            'unit = "table", or a policy for the whole table',
            lambda each, publisher: publisher.unit == "table" or each.of_whole_table,
        ),
        "publisher.solver": _with_policy(
            'unit = "record" and a policy such as basic', lambda each, publisher: each.picks_each(publisher)
        ),
        "publisher.prune": _with_policy(
            "a policy that searches for one generalization of the table",
            lambda each, publisher: each.searches_nodes(publisher),
        ),
        "publisher.safe_class": _with_policy("a policy that forbids attacks", lambda each, _: each.forbids_attacks),
        "beliefs.risk": ReadIf(
            lambda _, scenario: not all(a.holds and scenario.lists for a in scenario.every_adversary.values()),
            "with an adversary that does not look records up in lists",
        ),
        "safe_harbor": _with_policy("policy safe-harbor or sh-friendly", lambda each, _: SAFE_HARBOR in each.needs),
        "resources": ReadIf(
            lambda _, scenario: scenario.lists or any(a.needs_resources for a in scenario.adversaries.values()),
            "with an adversary that holds or buys a resource, or with lists drawn from the population",
        ),
        "figures.strategies": ReadIf(
            lambda _, scenario: scenario.publisher.unit == "record" and not scenario.in_rounds,
            'with publisher.unit = "record", without agents and releases',
        ),
        "attributes.*.column": with_key("draw", False),
        "figures.nodes": ReadIf(
            lambda _, scenario: scenario.publisher.unit == "table", 'with publisher.unit = "table"'
        ),
        "population.together": ReadIf(lambda _, scenario: len(scenario.lists) > 1, "with at least two lists"),
    }

    game: Literal["tables"] = "tables"
    population: PopulationSection | None = None
    release: ReleaseSection
    attributes: dict[str, AttributeSection] = Field(json_schema_extra={"minProperties": 1})
    resources: dict[str, TablesResourceSection] = Field(default={})
    economics: TablesEconomicsSection
    beliefs: TablesBeliefsSection = TablesBeliefsSection()
    adversary: AdversarySection = AdversarySection()
    adversaries: dict[str, WeightedAdversarySection] = Field(default={})
    publisher: PublisherSection = PublisherSection()
    safe_harbor: SafeHarborSection | None = None
    releases: ReleasesSection | None = None
    agents: AgentsSection | None = None
    figures: TablesFiguresSection = TablesFiguresSection()

    @property
    def columns(self) -> dict[str, str]:
        """Column of each quasi-identifier in the file of records."""
        return {name: attribute.column or name for name, attribute in self.attributes.items()}

    @property
    def plain_adversary(self) -> AdversarySection | None:
        """Single adversary with one-shot attacks and equal payoff parameters, or None.

        The adversary must gain from identification, must not look persons up and must attack exactly the records where
        an attack pays. Its payoff parameters must be the same for all records.
        """
        first, *others = self.every_adversary.values()
        plain = first.attacks_what_pays and first.direction == "record" and first.gains_from == "identity"
        own = others or self.has_price_columns or any(each.amounts for each in self.adversaries.values())
        return first if plain and not own else None

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
        return min((section.risk for section in self.every_adversary.values()), key=_LARGEST_FIRST.index)

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

    @property
    def lists(self) -> tuple[str, ...]:
        """Names of the resources that are lists drawn from the people."""
        return drawn_lists_of(self.resources)

    @property
    def in_rounds(self) -> bool:
        """Whether the game has rounds: with agents or with several releases."""
        return self.agents is not None or self.releases is not None

    @model_validator(mode="after")
    def _consistent(self) -> TablesScenario:
        check_consistent(self)
        return self

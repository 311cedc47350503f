"""Schema of a scenario file about a table of records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, model_validator

from reidsim.adversaries.response import AMOUNTS_BY_RECORD, provided_by
from reidsim.agents.profile import Reply
from reidsim.core.errors import Case, listed, refuse_first, require_among, require_distinct
from reidsim.core.files import EXCEL, TYPED_ENDINGS, is_delimited
from reidsim.core.registry import require_provided
from reidsim.core.validation import Section, with_csv_file
from reidsim.games.solvers import Progress, no_progress
from reidsim.kinds.tables.data_utility import UtilitySection
from reidsim.linkage.people import AttributeLimits
from reidsim.scenarios.adversary_schema import (
    AdversarySection,
    AgentsSection,
    EconomicsSection,
    PoliciesSection,
    Risk,
    WeightedAdversarySection,
    check_adversaries,
)
from reidsim.scenarios.hierarchies import GeneralizedSection, HierarchySection, ReadingSection
from reidsim.scenarios.kind import HOUSEHOLD, PERSON, key_columns
from reidsim.scenarios.registry import (
    ANONYMITY_PATTERN,
    WITH_K_ANONYMITY,
    AnonymityK,
    BoundPolicy,
    OwnPolicy,
    PartName,
    Policies,
    Policy,
    require_by_agents,
    with_policy,
)
from reidsim.scenarios.resources import DrawnResourceSection, ListBeliefsSection, Together, check_together
from reidsim.scenarios.schema import (
    RESERVED_NAMES,
    Count,
    Delimiter,
    FiguresSection,
    PersonKey,
    PopulationSeed,
    ReadIf,
    ScenarioHead,
    Share,
    Text,
    with_key,
)

WHERE = "publisher.policies"
Unit = Literal["record", "table"]
Scope = Literal["unit", "record", "node", "rounds", "table"]

# Capabilities of a scenario that policies may need.
SAFE_HARBOR = "the attributes that Safe Harbor restricts (section safe_harbor)"
SEVERAL_RELEASES = "several releases (section releases)"
ONE_SENSITIVE_COLUMN = "exactly one sensitive column"
ONE_RECORD_PER_PERSON = "one record per person"
SIZES_AMONG_LEFT = "group sizes among the records left for a round"
LINKS_BY_VALUES = "adversaries who link by the quasi-identifiers of all people"
SEPARATE_RECORDS = "success probabilities that do not depend on the generalizations of other records"

# Policies that cross-play compares, in the order of its rows.
_ROWS: dict[Unit, tuple[str, ...]] = {
    "record": (
        *("basic", "no-attack", "sh-friendly", "lattice-search", "multi-dimensional", "local-recoding", "full-domain"),
        *("opt-in", "safe-harbor", "k-anonymity", "no-protection", "suppress-all", "random"),
    ),
    "table": (
        *("basic", "no-attack", "sh-friendly", "anytime", "local-recoding", "multi-dimensional"),
        *("local-recoding-no-attack", "multi-dimensional-no-attack", "record-level", "record-level-no-attack"),
        *("opt-in", "safe-harbor", "no-protection", "suppress-all", "k-anonymity", "random"),
    ),
}


class TablesPolicy(Policy):
    """A policy of a publisher of tables.

    A method whose result depends on the publisher's unit or solver takes the scenario section ``publisher``
    (`PublisherSection`) as an argument.

    Attributes
    ----------
    every_node : bool
        Whether the policy evaluates every node of the lattice (combination of levels, one per quasi-identifier).
    replies : {"to-past", "alone", "hold", "planned"}
        How the policy treats earlier releases; see `reidsim.agents.profile.Reply`.
    compared : bool
        Whether cross-play compares the policy.
    optimizes : {"unit", "record", "node", "rounds", "table", None}
        Scope of the policy's optimal choice: "unit", a generalization of each record or of the table, as
        ``publisher.unit`` says. The other scopes do not depend on the publisher's unit: "record", each record; "node",
        one generalization of the table; "rounds", one generalization for each round of local recoding; "table", the
        table in another way. None if the policy does not optimize.
    perturbs : str, optional
        Method by which the policy perturbs values; see `reidsim.releases.perturbation`. Each record is then a game row.
    has_lowest_level : bool
        Whether the policy respects minimum levels of attributes.
    meets_attribute_limits : bool
        Whether a scenario may set limits on sensitive columns together with the policy. Policies that optimize, and
        policy ``k-anonymity``, then keep the limits; rules with a fixed form, such as ``safe-harbor``, ignore them and
        serve as a reference.
    """

    every_node: ClassVar[bool] = False
    replies: ClassVar[Reply] = "to-past"
    compared: ClassVar[bool] = True
    optimizes: ClassVar[Scope | None] = None
    perturbs: ClassVar[str | None] = None
    has_lowest_level: ClassVar[bool] = True
    meets_attribute_limits: ClassVar[bool] = True

    @property
    def within_safe_harbor(self) -> bool:
        """Whether the policy optimizes among generalizations that Safe Harbor accepts.

        It is False for a rule, such as policy ``safe-harbor`` itself.
        """
        return SAFE_HARBOR in self.needs and not self.is_rule

    def defender(self, study: Any, draw: int, report: Progress = no_progress) -> BoundPolicy:
        """Return the policy bound to a study, whose choice calls `report`; see `Policy.defender`."""
        bound = super().defender(study, draw)
        return replace(bound, choose=partial(cast("Any", bound.choose), report=report))

    def space(self, study: Any) -> Any:
        """Return the strategy space of the policy's choices for the records of a study, such as the lattice."""
        return study.lattice

    def scope(self, publisher: Any) -> Scope | None:
        """Return the scope of an optimal choice under a publisher's unit.

        It is `optimizes`, but "node" in place of "unit" if ``publisher.unit`` is "table". The result "unit" means that
        the publisher's solver optimizes each record.
        """
        return "node" if self.optimizes == "unit" and publisher.unit == "table" else self.optimizes

    def takes_best(self, publisher: Any) -> bool:
        """Return whether the policy picks the best of a fixed set of releases.

        The set is the same for all payoff parameters. The result depends on `scope`. It is True for "record"; for
        "unit" unless ``publisher.solver`` is "lattice-search", or "iceberg" with a budget; and for "node" if the search
        is exact and the suppression limit is 1. For other scopes, it is False.
        """
        whole: bool = publisher.search == "exact"
        if self.scope(publisher) == "unit":
            return publisher.solver != "lattice-search" and (whole or publisher.solver != "iceberg")
        exact: bool = whole and publisher.suppression_limit == 1.0
        return self.optimizes == "record" or (self.scope(publisher) == "node" and exact)


class OwnTablesPolicy(OwnPolicy, TablesPolicy):
    """User-defined policy in a table scenario; see `OwnPolicy`."""

    meets_attribute_limits = False
    has_lowest_level = False


POLICIES: Policies[TablesPolicy] = Policies("reidsim.kinds.tables.policies", "reidsim.kinds.tables.perturbation")


def policy_named(name: str) -> TablesPolicy:
    """Return the `TablesPolicy` with a name.

    A name outside the registry belongs to a user-defined policy, an `OwnTablesPolicy`.
    """
    return POLICIES.get(name) or OwnTablesPolicy(name, WHERE)


def policies_of_unit(unit: Unit) -> list[str]:
    """Return the names of policies that cross-play compares, in the order of its rows.

    Cross-play lets each policy play against each adversary. The policies depend on the publisher's unit, `unit`:
    "record" for one generalization per record, "table" for one of the table. Registered policies of neither unit follow
    if `compared` is set.
    """
    placed = {name for names in _ROWS.values() for name in names}
    return [*_ROWS[unit], *(name for name, policy in POLICIES.items() if policy.compared and name not in placed)]


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]


_WITHOUT_PATH = ReadIf(lambda section, scenario: section.path is None, "without path, which replaces it")


def _of_file(expected: str, is_read: Callable[[Path], bool]) -> ReadIf:
    """Return the `ReadIf` condition that the records or the population are in a file of a format."""

    def holds(section: Any, scenario: Any) -> bool:
        paths = (section.path, scenario.population and scenario.population.path) if section.format == "csv" else ()
        return any(is_read(Path(path)) for path in paths if path)

    return ReadIf(holds, f"with {expected} in release.path or population.path")


_OF_CSV = _of_file("a CSV file", is_delimited)
_OF_WORKBOOK = _of_file("an Excel workbook", lambda path: path.suffix.lower() in EXCEL)


class PopulationSection(Section):
    """Population in which groups are counted under journalist risk.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    path
        file of people in the format of the released records, one row per person; replaces `recipe`
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
    delimiter: Annotated[Delimiter, with_csv_file("file")] = ","
    encoding: Annotated[str, with_csv_file("file")] = "utf-8"
    columns: Annotated[dict[str, str], with_key("file")] = Field(default={})

    @model_validator(mode="after")
    def _check_single_source(self) -> TablesResourceSection:
        of_file, alone = self.kind == "file", 'a file needs kind "file", and kind "file" needs a file'
        sized, uneven = "the rows of the file determine the size", not isinstance(self.coverage, float | None)
        return self.unless(
            (of_file != (self.file is not None), alone, "file", None),
            (of_file and self.size, sized, "size", "this key only with a drawn list"),
            (not self.is_list and self.size, "the key needs a list", "size", "a `kind`"),
            (uneven and not self.is_list, "unequal coverage needs a list", "coverage", "a number, or a `kind`", None),
        )

    @property
    def share(self) -> float:
        """Probability that a resource without a `kind` covers a person; by default 1.

        It is the key `coverage` if this is a number.
        """
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
    sheet
        sheet of an Excel workbook; default: the first
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
    sheet: Annotated[Text | None, _OF_WORKBOOK] = None
    delimiter: Annotated[Delimiter, _OF_CSV] = ","
    header: Annotated[bool, _OF_CSV] = True
    weight: Text | None = None
    sampling_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    estimator: Literal["benedetti-franconi", "log-linear"] = "log-linear"
    person: PersonKey | None = None
    household: Text | None = None

    def is_read_in_batches(self, path: Path) -> bool:
        """Return whether the rows of a file of records are read in batches, not at once."""
        return self.format == "csv" and self.header and path.suffix.lower() not in TYPED_ENDINGS


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
        lowest level that policies may choose; fixed rules, `opt-in`, `lattice-search`, policies of perturbation and
        policies of your own ignore it
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

    def label(self, value: str) -> str:
        """Return the category for a value as it is written in files; see `reading` and `values`."""
        read = value if self.reading is None else self.reading.label(value)
        return self.values.get(read, read)


class NoiseSection(Section):
    """How another program changed the values of a column; set one of the keys.

    Attributes
    ----------
    keep
        probability that a value was kept; otherwise, it was drawn from the values of the released file, as by
        post-randomization (PRAM) or random swapping
    deviation
        standard deviation of the normal noise that was added to numbers, in units of the column
    matrix
        CSV file of transition probabilities (PRAM matrix): first column true values, further columns released labels,
        each row with sum 1
    """

    keep: Share | None = None
    deviation: Annotated[float, Field(gt=0)] | None = None
    matrix: Text | None = None


NoiseName = Literal["exact", "estimated", "unknown"]
Noise = NoiseName | NoiseSection


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
        """Column of the records for each key of this section: ``enters``, ``leaves``.

        ``leaves`` is absent if the scenario does not set it.
        """
        return {"enters": self.enters} | ({} if self.leaves is None else {"leaves": self.leaves})


class PerturbationSection(Section):
    """Strengths that policies of perturbation try for each column, in addition to no change.

    Attributes
    ----------
    strengths
        for `pram`: probabilities that a value is drawn anew; for `swap`: shares of records that exchange values; for
        `noise`: standard deviations of the noise, as shares of the standard deviation of the column
    group_sizes
        for `microaggregate`: smallest numbers of records in a group
    """

    strengths: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(default=(0.05, 0.2, 0.5, 1.0), min_length=1)
    group_sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field(default=(3, 10, 50, 250), min_length=1)


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
        columns of the records that contain payoff parameters, for parameters that differ by record
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
        search for one generalization of the table, or of each record with solver `iceberg`: `exact` examines the whole
        lattice, `anytime` stops at a budget and reports the gap to the optimum; other searches are always exact
    prune
        whether the search skips parts of the lattice that cannot improve on the best node found
    nodes
        budget of the anytime search: largest number of nodes evaluated; 30 splits of the lattice count as one
        node; with local recoding, in each round; for records, largest mean number of rows and strategies compared with
        a record
    seconds
        budget of the anytime search: largest time in seconds; with local recoding, in each round
    rounds
        largest number of rounds of local recoding
    max_average_risk
        with policy `average-risk`: largest mean of 1 / class size over the released records
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
    max_risk
        largest probability of re-identification in a file that `reidsim share` writes; default: 1/11
    """

    unit: Literal["record", "table"] = "record"
    policies: tuple[PolicyName, ...] = Field(default=("basic", "no-attack"), min_length=1)
    safe_class: Literal["at-least", "above"] = "at-least"
    solver: Literal["backward-induction", "branch-and-bound", "iceberg", "lattice-search"] = "backward-induction"
    suppression_limit: Share = 1.0
    search: Literal["exact", "anytime"] = "exact"
    prune: Annotated[bool, with_key("search", "exact")] = True
    nodes: Count | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    rounds: Count = 100
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    max_average_risk: Annotated[float, Field(gt=0, le=1), with_policy("average-risk")] = 0.05
    sensitive: Text | Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    sensitive_hierarchies: Annotated[dict[str, HierarchySection], _WITH_T_CLOSENESS] = Field(default={})
    l_diversity: Annotated[int, Field(ge=2), with_key("sensitive")] | None = None
    t_closeness: Annotated[Share, with_key("sensitive")] | None = None
    max_inference: Annotated[float, Field(gt=0, le=1), with_key("sensitive")] | None = None
    max_risk: Share | None = None

    @model_validator(mode="after")
    def _consistent(self) -> PublisherSection:
        columns, limits = key_columns(self.sensitive), self.attribute_limits.describe()
        require_distinct("column given twice", columns, where="sensitive")
        require_among("not a sensitive column", self.sensitive_hierarchies, columns, where="sensitive_hierarchies")
        anytime, budgeted = self.search == "anytime", self.nodes is not None or self.seconds is not None
        missing, unread = "the anytime search needs a budget", "a budget needs the anytime search"
        refuse_first(
            (anytime and not budgeted, missing, "search", None, "key nodes, seconds or both"),
            (budgeted and not anytime, unread, "search", self.search, "anytime"),
        )
        walks = "the anytime search does not support a search of the whole lattice"
        unmet = "the policy does not support limits on sensitive columns"
        greedy = "solver lattice-search does not support constraints of policies"
        iceberg = "solver iceberg does not support limits on sensitive columns"
        exact = "backward-induction or branch-and-bound"
        others = exact if limits else "backward-induction, branch-and-bound or iceberg"
        for policy in map(policy_named, self.policies):
            name, solver = policy.name, self.solver if policy.scope(self) == "unit" else ""
            every, limited = anytime and policy.every_node, limits and not policy.meets_attribute_limits
            constraint = name if policy.forbids_attacks or policy.within_safe_harbor else limits
            refuse_first(
                (every, walks, "policies", name, 'other policies, or publisher.search = "exact"'),
                (limited, unmet, "policies", name, f"other policies, or no limits ({limits})"),
                (solver == "lattice-search" and constraint, greedy, "solver", constraint, others),
                (solver == "iceberg" and limits, iceberg, "solver", limits, exact),
            )
        return self

    @property
    def attribute_limits(self) -> AttributeLimits:
        """Limits on inference from a group's sensitive values, as `AttributeLimits`.

        It is false as a condition if no limit is set.
        """
        return AttributeLimits(self.l_diversity, self.t_closeness, self.max_inference)

    def some_policy(self, holds: Callable[[TablesPolicy], bool]) -> bool:
        """Return whether a condition holds for at least one policy of the section.

        `holds` is called with a `TablesPolicy` and returns a bool.
        """
        return any(holds(policy_named(name)) for name in self.policies)


class NodesSection(Section):
    """Lattice nodes with the largest publisher's payoff over all records, by policy.

    The Pareto front of this payoff and the number of attacked records is listed with them. Lattices of more than
    100,000 nodes are listed only if the section is given.

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
    """Return the `ReadIf` condition that a policy of the scenario has a property.

    Parameters
    ----------
    expected : str
        Text that completes "with ..." in messages.
    holds : callable
        Returns whether a policy has the property, given the `TablesPolicy` and the `PublisherSection`.
    """
    return ReadIf(
        lambda _, scenario: scenario.publisher.some_policy(lambda each: holds(each, scenario.publisher)),
        f"with {expected}",
    )


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
    perturbation
        strengths for the policies `pram`, `swap`, `microaggregate` and `noise`
    agents
        repeated rounds with several adversaries and data subjects who may leave
    figures
        additional tables and figures
    utility
        statistics of each release that are compared with the original records
    noise
        noise in files that `reidsim score` reads, by attribute or for all attributes: `"exact"` (cells are values,
        labels, intervals or sets that contain the true value), `"estimated"` from the original records, `"unknown"`
        (the adversary ignores the column), or, by attribute, a section; default: `"exact"`
    """

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        **dict.fromkeys(
            ("release.weight", "release.sampling_fraction", "release.estimator"),
            ReadIf(
                lambda _, scenario: "sample" in scenario.risks,
                'with risk = "sample" and another direction than "person"',
            ),
        ),
        "publisher.sensitive": ReadIf(
            lambda section, scenario: (
                scenario.infers
                or scenario.utility is not None
                or section.some_policy(lambda each: each.replies == "planned")
            ),
            "with l_diversity, t_closeness, max_inference, policy m-invariance, an adversary who gains from an "
            "inference, or section utility",
        ),
        **dict.fromkeys(
            ("publisher.sensitive_hierarchies.*.suppress", "publisher.sensitive_hierarchies.*.costless_levels"),
            ReadIf(lambda *_: False, "in the hierarchy of a quasi-identifier, not of a sensitive column"),
        ),
        **dict.fromkeys(
            ("agents.rounds", "agents.participation", "agents.remembers"),
            ReadIf(lambda _, scenario: scenario.releases is None, "without section releases, which determines it"),
        ),
        "releases.m": _with_policy("policy m-invariance", lambda each, _: each.replies == "planned"),
        "perturbation": _with_policy(
            "policy pram, swap, microaggregate or noise", lambda each, _: each.perturbs is not None
        ),
        "perturbation.strengths": _with_policy(
            "policy pram, swap or noise", lambda each, _: each.perturbs not in (None, "microaggregate")
        ),
        "perturbation.group_sizes": _with_policy(
            "policy microaggregate", lambda each, _: each.perturbs == "microaggregate"
        ),
        "publisher.rounds": _with_policy("a policy of local recoding", lambda each, _: each.optimizes == "rounds"),
        "publisher.suppression_limit": _with_policy(
            'unit = "table", or a policy for the whole table',
            lambda each, publisher: publisher.unit == "table" or each.optimizes in ("node", "rounds", "table"),
        ),
        "publisher.solver": _with_policy(
            'unit = "record" and a policy such as basic', lambda each, publisher: each.scope(publisher) == "unit"
        ),
        "publisher.search": _with_policy(
            'a policy for the whole table, or unit = "record" and solver = "iceberg"',
            lambda each, publisher: (
                each.scope(publisher) in ("node", "rounds", "table")
                or (each.scope(publisher) == "unit" and publisher.solver == "iceberg")
            ),
        ),
        "publisher.prune": _with_policy(
            "a policy that searches for one generalization of the table",
            lambda each, publisher: each.scope(publisher) in ("node", "rounds"),
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
        "utility": ReadIf(lambda _, scenario: not scenario.in_rounds, "without agents and releases"),
        "population.together": ReadIf(lambda _, scenario: len(scenario.lists) > 1, "with at least two lists"),
    }

    game: Literal["tables"] = "tables"
    population: PopulationSection | None = None
    release: ReleaseSection
    attributes: dict[str, AttributeSection] = Field(min_length=1)
    resources: dict[str, TablesResourceSection] = Field(default={})
    economics: TablesEconomicsSection
    beliefs: TablesBeliefsSection = TablesBeliefsSection()
    adversary: AdversarySection = AdversarySection()
    adversaries: dict[str, WeightedAdversarySection] = Field(default={})
    # Made with the first scenario: checks of its policies import them, and policies import this module.
    publisher: PublisherSection = Field(default_factory=PublisherSection)
    safe_harbor: SafeHarborSection | None = None
    releases: ReleasesSection | None = None
    perturbation: PerturbationSection = PerturbationSection()
    agents: AgentsSection | None = None
    figures: TablesFiguresSection = TablesFiguresSection()
    utility: UtilitySection | None = None
    noise: NoiseName | dict[str, Noise] = "exact"

    def noise_of(self, attribute: str) -> Noise:
        """Return the model of noise of an attribute in files that are scored."""
        return self.noise.get(attribute, "exact") if isinstance(self.noise, dict) else self.noise

    @property
    def changes_values(self) -> bool:
        """Whether values of released records may be wrong: a policy perturbs them, or there is a model of noise."""
        return self.noise not in ("exact", {}) or self.publisher.some_policy(lambda each: each.perturbs is not None)

    @property
    def columns(self) -> dict[str, str]:
        """Column of each quasi-identifier in the file of records, by attribute.

        By default, it is the attribute's name.
        """
        return {name: attribute.column or name for name, attribute in self.attributes.items()}

    @property
    def plain_adversary(self) -> AdversarySection | None:
        """Section of a single adversary with one-shot attacks and equal amounts, or None.

        The adversary must gain from identification, must not look persons up and must attack exactly the records where
        an attack pays. All payoff parameters must be the same for all records, without columns and amounts of its own.
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
        """Whether inference of sensitive values matters.

        This is the case if the publisher sets limits on it, or an adversary gains from it.
        """
        gains = any(section.gains_from != "identity" for section in self.every_adversary.values())
        return gains or bool(self.publisher.attribute_limits)

    @property
    def linked_risk(self) -> Risk:
        """Risk that determines true group sizes: that of the adversary with most people.

        With several adversaries, it is "journalist" if one of them has this risk, else "sample", else "prosecutor".
        """
        return min((section.risk for section in self.every_adversary.values()), key=_LARGEST_FIRST.index)

    @property
    def planned_risk(self) -> Risk:
        """Risk of the group sizes with which the publisher plans.

        It is ``beliefs.risk``; by default, `linked_risk`.
        """
        return self.beliefs.risk or self.linked_risk

    @property
    def risks(self) -> frozenset[Risk]:
        """Risks that occur in the scenario, true or believed.

        The risk of an adversary with direction "person" does not count.
        """
        # An adversary that only looks persons up counts released rows and no people.
        risks = {section.risk for section in self.every_adversary.values() if section.direction != "person"}
        return frozenset(risks if self.beliefs.risk is None else {*risks, self.beliefs.risk})

    @property
    def has_price_columns(self) -> bool:
        """Whether at least one payoff parameter comes from a column of the records."""
        return any(column is not None for _, column in self.economics.columns)

    @property
    def counts_records(self) -> bool:
        """Whether the games use nothing of a record but its quasi-identifiers.

        A file of records is then read as its distinct records.
        """
        section, draws = self.release, any(each.draw or each.top_code is not None for each in self.attributes.values())
        in_batches = section.path is not None and section.is_read_in_batches(Path(section.path))
        of_records = (section.person, section.household, section.weight, section.sampling_fraction, self.releases)
        others = draws or self.has_price_columns or self.utility is not None or self.publisher.sensitive is not None
        return in_batches and not others and all(each is None for each in of_records)

    @property
    def lists(self) -> tuple[str, ...]:
        """Names of the resources that are lists drawn from the people."""
        return tuple(name for name, section in self.resources.items() if section.is_list)

    @property
    def holds_release(self) -> bool:
        """Whether every record must match a person of the population.

        It is the key ``population.holds_release``; for its default, see `PopulationSection`.
        """
        if self.population is not None and self.population.holds_release is not None:
            return self.population.holds_release
        # With "nobody", the scenario declares that some records have no person in the population.
        return self.publisher.unit == "table" and all(each.unknown != "nobody" for each in self.attributes.values())

    @model_validator(mode="after")
    def _consistent(self) -> TablesScenario:
        check_adversaries(self.adversaries, self.agents)
        refuse_first(*_cases(self))
        attributes, lists, harbor = self.attributes, self.lists, self.safe_harbor
        for key in ("age", "zip") if harbor is not None else ():
            found = key_columns(getattr(harbor, key))
            require_among("no such attribute", found, attributes, where=f"safe_harbor.{key}")
        if isinstance(self.noise, dict):
            require_among("no such attribute", self.noise, attributes, where="noise")
        self.beliefs.check_lists(lists)
        for name, resource in self.resources.items():
            where = f"resources.{name}.attributes"
            require_among("not a quasi-identifier", resource.attributes, attributes, where=where)
        # With agents, adversaries may also hold resources without a `kind`.
        in_rounds, kind = self.agents is not None and self.adversaries, "the name of a resource with a `kind`"
        for where, section in () if in_rounds else self.every_adversary.items():
            require_among("no such list", section.holds or (), lists, where=f"{where}.holds", otherwise=kind)
        if lists and self.population is not None:
            check_together(self.population.together, lists)
        _check_capabilities(self)
        return self


def _cases(scenario: TablesScenario) -> Iterator[Case]:
    """Yield the checks of a whole scenario, for `refuse_first`.

    Each section is already valid by itself. Each check has a condition that must not hold, the problem, the key, the
    value found and the value expected. Columns of people, households, weights, releases and sensitive values must not
    be quasi-identifiers, and the first three must not be sensitive. Otherwise, columns of people, households, weights
    and releases may be equal to each other.
    """
    release, population, publisher, lists = scenario.release, scenario.population, scenario.publisher, scenario.lists
    attributes, figures, risks, in_rounds = scenario.attributes, scenario.figures, scenario.risks, scenario.in_rounds
    person, home, weight, fraction = release.person, release.household, release.weight, release.sampling_fraction
    sections, looks_up, sampled = scenario.every_adversary, scenario.looks_up, "sample" in risks
    missing = release.path is None and release.table is None
    yield missing, "the records are missing", "release", None, "a path, or the name of a table"
    problem = "weights and a sampling fraction exclude each other"
    expected = "either release.weight or release.sampling_fraction"
    yield weight and fraction, problem, "release.sampling_fraction", fraction, expected
    unweighted = sampled and weight is None and fraction is None
    yield unweighted, "sample risk needs weights or a sampling fraction", "release", None, expected
    missing = population is not None and population.path is None and population.recipe is None
    yield missing, "the population is missing", "population", None, "a recipe, or the path of a file"
    reserved, problem = {*RESERVED_NAMES, person and PERSON, home and HOUSEHOLD}, "attribute name reserved for a column"
    for name in attributes:
        expected = f"another name, with column = {name!r}"
        yield name in reserved, f"{problem} of the results", "attributes", name, expected
    drawn = [f"to draw attribute {name!r}" for name, attribute in attributes.items() if attribute.draw]
    redrawn = [f"to redraw attribute {name!r}" for name, each in attributes.items() if each.top_code is not None]
    journalist = ["for journalist risk"] * ("journalist" in risks)
    for reason in (*drawn, *redrawn, *journalist, *(f"from which {name!r} is drawn" for name in lists)):
        yield population is None, "section missing", "population", None, f"a population, {reason}"
    expected = "at least one attribute of the records"
    yield len(drawn) == len(attributes), "every attribute is drawn", "attributes", None, expected
    planned = not scenario.adversaries and scenario.adversary.plans_sequentially and not scenario.adversary.errs
    expected = 'only [adversary], with planner = "fmdp", perfect rationality, and prosecutor or journalist risk'
    problem = "the figures need a single sequential adversary without errors"
    yield figures.sequential and (not planned or sampled), problem, "figures.sequential", None, expected
    (first, same), *others = sections.items()
    direction = f"{first}.direction = {same.direction!r}"
    for (key, section), name in itertools.product(others if looks_up else (), ("direction", "risk")):
        problem, needed = "adversaries have different directions or risks", getattr(same, name)
        found = getattr(section, name)
        yield found != needed, problem, f"{key}.{name}", found, f"{needed}, as {first}.{name}"
    for where, used in {
        "agents": scenario.agents,
        "releases": scenario.releases,
        "publisher.solver": publisher.solver == "lattice-search" and publisher.unit == "record",
        "figures.strategies": figures.strategies is not None,
        "figures.sequential": figures.sequential,
        "resources": lists,
    }.items():
        problem = f"{where} needs {SEPARATE_RECORDS}, which {direction} does not provide"
        yield used and looks_up, problem, where, None, f'{first}.direction = "record"'
    gains = [f"{key}.gains_from" for key, section in sections.items() if section.gains_from != "identity"]
    limits = [f"publisher.{key}" for key, limit in vars(publisher.attribute_limits).items() if limit is not None]
    for key in [*gains, *limits][:1]:
        yield publisher.sensitive is None, "no sensitive column", key, None, "a column in publisher.sensitive"
        problem, expected = f"not supported together with {key}", f"this key only without {key}"
        for where, conflicts in {
            "agents": scenario.agents,
            "releases": scenario.releases,
            "release.household": home and gains,
            "beliefs.risk": gains and scenario.beliefs.risk not in (None, "prosecutor"),
        }.items():
            yield conflicts, problem, where, None, expected
        yield person and looks_up, problem, "release.person", None, 'adversary.direction = "record"'
    expected = "this key only without sections agents and releases"
    yield in_rounds and home, "household risk is not supported in rounds", "release.household", home, expected
    modelled, problem = release.estimator == "log-linear", "the log-linear model assumes one row per person"
    yield person and sampled and modelled, problem, "release.estimator", "log-linear", "benedetti-franconi"
    for name, noise in scenario.noise.items() if isinstance(scenario.noise, dict) else ():
        given = noise.model_dump(exclude_none=True) if isinstance(noise, NoiseSection) else {"": noise}
        expected = "one of keep, deviation and matrix"
        yield len(given) != 1, "not exactly one model of noise", f"noise.{name}", listed(given) or None, expected
    yield person and lists, "lists need one record per person", "release.person", person, "no drawn resources"
    of_attributes = [attribute.column or name for name, attribute in attributes.items() if not attribute.draw]
    sensitive, releases = key_columns(publisher.sensitive), scenario.releases
    columns = {f"release.{key}": key_columns(getattr(release, key)) for key in ("person", "household", "weight")}
    columns |= {f"releases.{key}": (column,) for key, column in (releases.columns if releases else {}).items()}
    columns["publisher.sensitive"] = sensitive
    for key, name in ((key, name) for key, names in columns.items() for name in names):
        yield name in of_attributes, "the column is a quasi-identifier", key, name, "a column that is no attribute"
        kept = key.startswith("release.") and name in sensitive
        yield kept, "the column is also the sensitive column", key, name, "another column"


def _check_capabilities(scenario: TablesScenario) -> None:
    """Check that policies and planners can be used with the scenario.

    Each policy has needs, such as several releases or section ``safe_harbor``, that the scenario must meet. With agents
    or several releases, policies must also be playable in rounds. If an adversary's gain or cost comes from a column of
    the records, the adversary's planner must support amounts that differ by record. A column of losses counts as a
    column of gains if no gain is set. An adversary with its own gain or cost does not use the column.

    Raises
    ------
    InputError
        If a need is not met, a policy cannot be played in rounds, or the planner of an adversary needs equal amounts;
        in the last case, the message names the key of the column.
    """
    release, agents, sections = scenario.release, scenario.agents, scenario.every_adversary
    first, one = next(iter(sections.items()))
    # Group sizes among the remaining records are computed only for a single adversary without errors.
    beyond = [f"{key}.rationality" for key, section in sections.items() if section.errs]
    beyond += ["release.person"] * (release.person is not None) + ["adversaries"] * (len(sections) > 1)
    forgets, several = agents is not None and not agents.remembers, len(key_columns(scenario.publisher.sensitive)) != 1
    in_file = f"{next(iter(beyond), '')} under prosecutor risk"
    linked_otherwise = ["risk 'sample'"] * ("sample" in scenario.risks) + [
        f"{key}.{name}"
        for key, section in sections.items()
        for name, used in (
            ("gains_from", section.gains_from != "identity"),
            ("holds", section.holds),
            ("knowledge", section.knowledge),
            ("stages", section.stages),
            ("sequential.registry", section.sequential.registry),
            ("sequential.belief", section.sequential.belief == "unknown"),
        )
        if used
    ]
    # Whether the scenario lacks a capability, the capability, the key to change, and the entry that lacks it.
    capabilities = (
        (scenario.safe_harbor is None, SAFE_HARBOR, "safe_harbor", "a scenario without section safe_harbor"),
        (not scenario.in_rounds, SEVERAL_RELEASES, WHERE, "a scenario without section releases or agents"),
        (forgets, SEVERAL_RELEASES, "agents.remembers", "agents.remembers = false"),
        (several, ONE_SENSITIVE_COLUMN, "publisher.sensitive", "publisher.sensitive"),
        (release.person is not None, ONE_RECORD_PER_PERSON, WHERE, "release.person"),
        (scenario.looks_up, SEPARATE_RECORDS, WHERE, f"{first}.direction = {one.direction!r}"),
        ("prosecutor" in scenario.risks and beyond, SIZES_AMONG_LEFT, WHERE, in_file),
        (linked_otherwise, LINKS_BY_VALUES, WHERE, next(iter(linked_otherwise), "")),
    )
    for policy in map(policy_named, scenario.publisher.policies):
        for lacking, need, where, provider in capabilities:
            problem = f"policy {policy.name!r} needs {need}, which {provider} does not provide"
            found = policy.name if where == WHERE else None
            refuse_first((lacking and need in policy.needs, problem, where, found, None))
        if scenario.in_rounds:
            require_by_agents(policy, POLICIES.values(), WHERE)
    columns = {name for name, column in scenario.economics.columns if column is not None}
    for key, section in sections.items() if columns else ():
        used = {"gain", "cost"} - getattr(section, "amounts", {}).keys()
        if "gain" in used and "gain" not in scenario.economics.model_fields_set:
            used.add("loss")
        for where in (f"economics.columns.{name}" for name in sorted(columns & used)):
            provider, provided = f"planner {section.planner!r} of {key}", provided_by(section.planner)
            require_provided([AMOUNTS_BY_RECORD], provided, needed_by=where, provider=provider, where=where)

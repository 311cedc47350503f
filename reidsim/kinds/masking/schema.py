"""Schema of a masking scenario."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.core.errors import InputError, refuse_first, require_among
from reidsim.core.validation import Section, with_csv_file
from reidsim.kinds.masking.policies import POLICIES, policy_named
from reidsim.scenarios import registry, schema
from reidsim.scenarios.adversary_schema import (
    AgentsSection,
    EconomicsSection,
    PlannerSection,
    PoliciesSection,
    WeightedSection,
    check_adversaries,
    naming_adversary,
)
from reidsim.scenarios.agents import scenario_alone
from reidsim.scenarios.resources import (
    DrawnResourceSection,
    IdentifySection,
    ListBeliefsSection,
    StageSection,
    Together,
    check_together,
    drawn_lists_of,
)

PolicyName = Annotated[str, registry.PartName(POLICIES, registry.ANONYMITY_PATTERN)]

TARGETS = "targets"


class PeopleSection(Section):
    """The population that supplies targets and resources.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe, with one row per person
    generations
        number of latest generations of a genealogy from which men are taken; default: all people
    women
        with `generations`: whether women, who have no known alleles, are taken too
    reference_year
        year in which ages are computed from `birth_year`; adds the attribute `age`
    """

    recipe: str
    seed: schema.PopulationSeed = None
    generations: schema.Count | None = None
    women: Annotated[bool, schema.with_key("generations")] = False
    reference_year: int | None = None
    together: Together = 0.0


class TableSection(Section):
    """The people in a table: drawn from the population, or the rows of a file.

    Attributes
    ----------
    size
        number of people drawn from the population
    file
        CSV or Parquet file of people, in place of `size`
    delimiter
        column separator of a CSV file
    columns
        column of the file, by attribute; default: the attribute's name
    """

    size: schema.Count | None = None
    file: schema.Text | None = None
    delimiter: Annotated[schema.Delimiter, with_csv_file("file")] = ","
    columns: Annotated[dict[str, str], schema.with_key("file")] = Field(default={})

    @model_validator(mode="after")
    def _one_origin(self) -> TableSection:
        incomplete = getattr(self, "kind", None) is None and (self.size is None) == (self.file is None)
        problem = "the people of the table are missing or given twice"
        return self.unless((incomplete, problem, "", "either size or file", None))


class TargetsSection(TableSection):
    """The subjects, who decide about their records.

    Attributes
    ----------
    person
        column that identifies the person, without repeated values
    """

    person: Annotated[schema.Text | None, schema.with_key("file")] = None


_INFERRED_FROM = schema.ReadIf(
    lambda section, scenario: any(
        stage.stage == "infer-surname" and scenario.resources.get(stage.resource) is section
        for each in scenario.every_adversary.values()
        for stage in each.stages
    ),
    "with a stage that infers surnames from this resource",
)
_HOLDS = schema.ReadIf(
    lambda section, scenario: not section.is_list and (section.file is None or section.holds == "targets"),
    'without `kind`, and without a file or with the value "targets"',
)
_COUNTED = schema.ReadIf(lambda section, scenario: section.file and not section.is_list, "with a file, without `kind`")


class ResourceSection(DrawnResourceSection, TableSection):
    """A table of people that the adversary has.

    With a `kind`, it is a list drawn from the people; otherwise a sample or a file.

    Attributes
    ----------
    holds
        people in a drawn table: `targets`, all subjects and other people; `others`, only people who are in no table
        that holds `targets` and in no other table that holds `others`; `anyone`, people drawn at random from all. In a
        file, `targets` checks that all subjects are present
    attributes
        attributes in the table
    missing_alleles
        share of unknown alleles; default: 0.3 in a list of kind `genealogy`, otherwise 0
    count
        column with the number of people in each row; default: one person per row
    """

    holds: Annotated[Literal["targets", "others", "anyone"], _HOLDS] = "anyone"
    attributes: Annotated[tuple[str, ...], schema.distinct("attribute given twice")] = Field(min_length=1)
    missing_alleles: Annotated[schema.Share | None, _INFERRED_FROM] = None
    count: Annotated[schema.Text | None, _COUNTED] = None

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        file, alleles, kind = self.file, self.missing_alleles, self.kind
        incomplete, drawn = kind == "file" and (file is None or self.size is not None), kind not in (None, "file")
        in_file, empty = "missing_alleles is not supported with a file", "empty cells for missing alleles in the file"
        return self.unless(
            (incomplete, 'a list of kind "file" needs a file', "file", "a file, and no size"),
            (file and drawn, "a drawn list has no file", "file", 'this key only with kind = "file"'),
            (file and alleles, in_file, "missing_alleles", empty),
        )


class GeneralizedAttribute(Section):
    """Levels of an attribute between shared and masked.

    Levels are in order from shared to masked; these two are not listed. Set either `widths` or `groups`.

    Attributes
    ----------
    widths
        width of the intervals at each level; intervals start at 0, and each width is a multiple of the previous one
    groups
        groups at each level, each a list of values; a value without a group stays unchanged
    kept
        share of the attribute's weight in the utility that remains at each level, not increasing
    """

    widths: tuple[Annotated[int, Field(ge=2)], ...] = ()
    groups: tuple[tuple[tuple[str, ...], ...], ...] = ()
    kept: tuple[schema.Share, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> GeneralizedAttribute:
        overlap = "intervals do not fit into the intervals of the next level"
        widths, groups, kept = len(self.widths), len(self.groups), len(self.kept)
        incomplete = bool(widths) == bool(groups) or (widths or groups) != kept
        found = f"{widths} widths, {groups} groupings, {kept} shares kept"
        expected = "either widths or groups, and one kept share for each level"
        increases = any(finer < wider for finer, wider in pairwise(self.kept))
        return self.unless(
            *((b % a, overlap, "widths", f"a multiple of {a} after {a}") for a, b in pairwise(self.widths)),
            (incomplete, "the levels are incomplete", "", expected, found),
            (increases, "kept shares increase", "kept", "shares that do not increase"),
        )


class SubjectsSection(PoliciesSection):
    """The attributes that data subjects may share, their value, and the policies.

    Attributes
    ----------
    attributes
        attributes that subjects can share, with loci last
    always_shared
        attributes that cannot be masked; not with policy `k-anonymity`
    weights
        weight of each attribute in the benefit: its entropy in the first resource that has it, equal weights, or your
        own numbers by attribute
    minority_support
        alpha: additional weight of rare values, or of frequent values if negative
    generalize
        levels between shared and masked, by attribute
    policies
        policies to compare, each named once
    solver
        algorithm that solves the policies that are games
    most_evaluated
        with solver `anytime`: largest number of strategies evaluated per subject
    opt_in_rate
        with policy `random-opt-in`: probability that a subject shares all attributes
    sharing_rate
        with policy `random-masking`: probability that an attribute is shared
    """

    attributes: Annotated[tuple[str, ...], schema.distinct("attribute given twice")] = Field(min_length=1)
    always_shared: tuple[str, ...] = ()
    weights: Literal["entropy", "uniform"] | dict[str, Annotated[float, Field(ge=0)]] = "entropy"
    minority_support: float = 0.0
    generalize: dict[str, GeneralizedAttribute] = Field(default={})
    policies: tuple[PolicyName, ...] = Field(default=("opt-in", "masking", "no-attack-masking"), min_length=1)
    solver: Annotated[
        Literal["best-first", "backward-induction", "greedy", "anytime"],
        schema.ReadIf(
            lambda section, scenario: any(policy_named(name).search == "scenario" for name in section.policies),
            "with a policy that solves a masking game",
        ),
    ] = "best-first"
    most_evaluated: Annotated[
        schema.Count,
        schema.ReadIf(
            lambda section, scenario: section.solver == "anytime" or "anytime-masking" in section.policies,
            'with solver = "anytime" or policy "anytime-masking"',
        ),
    ] = 20_000
    k: Annotated[registry.AnonymityK, registry.WITH_K_ANONYMITY] = 2
    opt_in_rate: Annotated[schema.Share, registry.with_policy("random-opt-in")] = 0.05
    sharing_rate: Annotated[schema.Share, registry.with_policy("random-masking")] = 0.15

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        names, always, reserved = self.attributes, self.always_shared, (*schema.RESERVED_NAMES, "gap")
        require_among("not an attribute that can be shared", self.generalize, names, where="generalize")
        result, shared = "attribute name reserved for a column of the results", "the attribute is always shared"
        first, anonymous = names[: len(always)], any(name.startswith(registry.K_ANONYMITY) for name in self.policies)
        later = "always shared attributes are not first in the list of attributes"
        suppressed = "policy k-anonymity can suppress every attribute"
        return self.unless(
            *((name in reserved, result, "attributes", None, name) for name in names),
            *((name in always, shared, f"generalize.{name}", None, None) for name in self.generalize),
            (first != always, later, "always_shared", str(list(first)), list(always)),
            (always and anonymous, suppressed, "always_shared", "no always shared attributes"),
        )


_INFERS = schema.ReadIf(
    lambda section, scenario: any(stage.stage != "identify" for stage in section.stages),
    "with a stage that infers an attribute",
)


class MaskingAdversarySection(PlannerSection):
    """How the adversary links, in stages or with background knowledge, and plans.

    Attributes
    ----------
    confidence_threshold
        theta: smallest confidence with which an inference is used
    stages
        stages of the attack in order; the last one is `identify`
    overconfident
        whether the adversary takes an inference that reaches the threshold as certain
    knowledge
        bundled knowledge recipe, or path of a recipe; replaces `stages`
    resource
        with `knowledge`: resource in which the adversary looks people up
    """

    confidence_threshold: Annotated[schema.Share, _INFERS] = 0.5
    stages: tuple[StageSection, ...] = ()
    overconfident: Annotated[bool, _INFERS] = False
    knowledge: str | None = None
    resource: Annotated[str | None, schema.with_key("knowledge")] = None

    @model_validator(mode="after")
    def _consistent(self) -> MaskingAdversarySection:
        informed = self.knowledge is not None
        if bool(self.stages) == informed:
            problem = "the attack is given twice" if self.stages else "the attack is missing"
            hint = "in an override, set adversary.stages=[] to remove the stages" if self.stages else None
            raise InputError(problem, expected="either stages or knowledge", hint=hint)
        has_registry = self.sequential.registry is not None
        no_registry = "a registry is not supported in masking scenarios"
        unknown = self.plans_sequentially and self.sequential.belief == "unknown"
        people = "the resource in which the adversary finds people"
        return self.unless(
            (has_registry, no_registry, "sequential.registry", "no registry; the last stage names it"),
            (unknown, 'belief "unknown" is not supported in masking scenarios', "sequential.belief", "known"),
            (informed and self.resource is None, "key missing", "resource", people),
        )


class WeightedMaskingAdversarySection(WeightedSection, MaskingAdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning."""


class MaskingBeliefsSection(ListBeliefsSection):
    """Beliefs of the subjects; a parameter without a belief has its true value.

    Attributes
    ----------
    sizes
        number of people that the subjects believe to be in a drawn resource, by resource
    """

    sizes: dict[str, schema.Count] = Field(default={})


class MaskingFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    search_path
        number of the record, counted from 0, whose greedy search is listed; only with two-stage attacks
    """

    search_path: Annotated[
        Annotated[int, Field(ge=0)] | None,
        schema.ReadIf(lambda section, scenario: scenario.agents is None, "without agents"),
    ] = None


class MaskingScenario(schema.ScenarioHead):
    """Data subjects choose the attributes to share; an adversary attacks in stages.

    Attributes
    ----------
    game
        kind of scenario: data subjects choose the attributes to share
    replications
        number of random draws of subjects and resources; 1 with files
    population
        population of subjects and resources; not needed with files
    targets
        data subjects, the targets of the adversary
    resources
        tables of people that the adversary has
    economics
        true payoff parameters
    beliefs
        values that the subjects believe in place of the true values
    adversary
        linkage and planning of the adversary; needed unless there are `adversaries`
    adversaries
        named adversaries; a section `[adversary]` beside them gives their defaults
    subjects
        attributes that subjects may share, the value of sharing, and policies
    agents
        repeated rounds with several adversaries; default: one game without rounds
    figures
        additional tables and figures
    """

    read_if: ClassVar[Mapping[str, schema.ReadIf]] = {
        "population": schema.ReadIf(
            lambda section, scenario: scenario.targets.size is not None,
            "with tables that are drawn from the population",
        ),
        "resources.*.coverage": schema.ReadIf(lambda section, scenario: section.is_list, "with `kind`"),
        "population.together": schema.ReadIf(
            lambda section, scenario: len(drawn_lists_of(scenario.resources)) > 1, "with at least two lists"
        ),
    }

    game: Literal["masking"]
    replications: schema.Count = 1
    population: PeopleSection | None = None
    targets: TargetsSection
    resources: dict[str, ResourceSection] = Field(min_length=1)
    economics: EconomicsSection
    beliefs: MaskingBeliefsSection = MaskingBeliefsSection()
    # An adversary needs stages or knowledge: a missing section is an error unless there are several adversaries.
    adversary: MaskingAdversarySection = MaskingAdversarySection.model_construct()
    adversaries: dict[str, WeightedMaskingAdversarySection] = Field(default={})
    subjects: SubjectsSection
    agents: AgentsSection | None = None
    figures: MaskingFiguresSection = MaskingFiguresSection()

    @property
    def columns(self) -> dict[str, str]:
        """Column of each attribute that subjects can share in the targets' file."""
        return {name: self.targets.columns.get(name, name) for name in self.subjects.attributes}

    @property
    def each(self) -> Mapping[str | None, MaskingScenario]:
        """Scenario against each adversary alone, by name of the adversary.

        With one adversary, it is the scenario itself, under the key None.
        """
        return {name: scenario_alone(self, name) for name in self.adversaries} or {None: self}

    @model_validator(mode="after")
    def _consistent(self) -> MaskingScenario:
        check_adversaries(self.adversaries, self.agents)
        missing = not self.adversaries and "adversary" not in self.model_fields_set
        path = self.adversaries and self.figures.search_path is not None
        several = "[adversary] in place of [adversaries]"
        sections = "[adversary], or several by name as [adversaries.NAME]"
        refuse_first(
            (missing, "key missing", "adversary", None, sections),
            (path, "the figure needs a single adversary", "figures.search_path", None, several),
        )
        for name, scenario in self.each.items():
            with naming_adversary(name):
                scenario._check_attack()
        lists, population = drawn_lists_of(self.resources), self.population
        self.beliefs.check_lists(lists)
        sized = [name for name, table in self.resources.items() if table.size is not None and not table.is_list]
        require_among("no such drawn resource", self.beliefs.sizes, sized, where="beliefs.sizes")
        if population is not None:
            check_together(population.together, lists)
        tables: dict[str, TableSection] = {TARGETS: self.targets, **self.resources}
        drawn = [name for name, table in tables.items() if name in lists or table.size is not None]
        mixed, only = "some tables are drawn and others are files", "only drawn tables or only files"
        origin = f"a population, from which {next(iter(drawn), None)!r} is drawn"
        reserved, repeated = "resource name reserved for the table of targets", not drawn and self.replications > 1
        return self.unless(
            (TARGETS in self.resources, reserved, f"resources.{TARGETS}", "another name", None),
            (drawn and len(drawn) < len(tables), mixed, "", only, drawn),
            (drawn and population is None, "section missing", "population", origin),
            (repeated, "all replications of files are equal", "replications", "1"),
        )

    def _check_attack(self) -> None:
        """Check that the adversary's resources exist and fit its background knowledge.

        With background knowledge, its resource must contain an attribute that subjects can share, and must not have
        missing alleles.

        Raises
        ------
        InputError
            If a resource does not exist or does not fit; the message names the key.
        """
        for number, stage in enumerate(self.adversary.stages):
            where = f"adversary.stages[{number}].resource"
            require_among("no such resource", (stage.resource,), self.resources, where=where)
        if self.adversary.knowledge is not None:
            where, register = "adversary.resource", self.register
            require_among("no such resource", (register,), self.resources, where=where)
            problem = "the resource contains no attribute that subjects can share"
            expected = f"a resource with some of {', '.join(self.subjects.attributes)}"
            refuse_first((not self.linked_on, problem, where, register, expected))
            where, alleles = f"resources.{register}.missing_alleles", self.resources[register].missing_alleles
            refuse_first((alleles, "the resource of the attack has missing alleles", where, alleles, "0.0"))

    @property
    def register(self) -> str:
        """Name of the resource on which the last stage of the attack links.

        With background knowledge, it is the adversary's resource.
        """
        return self.adversary.resource or self.adversary.stages[-1].resource

    @property
    def linked_on(self) -> tuple[str, ...]:
        """Attributes on which the last stage of the attack links, a tuple of names.

        With background knowledge, these are the attributes of the resource that subjects can share. It is empty if the
        last stage does not identify.
        """
        if self.adversary.knowledge is not None:
            carried = self.resources[self.register].attributes
            return tuple(name for name in self.subjects.attributes if name in carried)
        last = self.adversary.stages[-1]
        return last.on if isinstance(last, IdentifySection) else ()

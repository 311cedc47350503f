"""What a scenario of the masking game may say: one section class per table of the file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, nearest, not_among
from reidsim.kinds.masking.policies import PolicyName, policy_named
from reidsim.scenarios.adversary_schema import PlannerSection, Share, WeightedSection, check_adversaries
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.attack_stages import (
    IdentifySection,
    StageSection,
)
from reidsim.scenarios.policy import AnonymityK, with_each_k
from reidsim.scenarios.resource_schema import (
    DrawnResourceSection,
    ListBeliefsSection,
    Together,
    check_together,
    drawn_lists_of,
)
from reidsim.scenarios.schema import RECORD_COLUMNS, EconomicsSection, ScenarioHead
from reidsim.scenarios.several_adversaries import named, scenario_alone
from reidsim.validation import Section

TARGETS = "targets"

Years = Annotated[int, Field(ge=1)]


def _refuse_repeated(names: tuple[str, ...], where: str) -> None:
    """Raise an error if an attribute is listed twice."""
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError("attribute given twice", where=where, found=repeated[0])


class PeopleSection(Section):
    """The people from whom targets and resources are drawn."""

    recipe: str = Field(description="name of a bundled population, or path of a recipe, that lists people")
    seed: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the population; the recipe's own if not given"
    )
    generations: Years | None = Field(
        default=None, description="of a genealogy: men of the last so many; everybody if not given"
    )
    women: bool = Field(default=False, description="with `generations`: also the women, of whom no alleles are known")
    reference_year: int | None = Field(
        default=None, description="gives people an `age`, counted from their `birth_year`"
    )
    together: Together = Field(
        default=0.0,
        description="correlation of memberships in lists (Gaussian copula): one for all pairs, or list = { list = "
        "correlation }",
    )

    @model_validator(mode="after")
    def _of_generations(self) -> PeopleSection:
        if self.women and self.generations is None:
            raise InputError("without generations everybody is there", where="women", expected="it with generations")
        return self


class TableSection(Section):
    """Who is in a table: drawn from the people, or the rows of a file."""

    size: Annotated[int, Field(ge=1)] | None = Field(default=None, description="people drawn")
    file: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="CSV or Parquet file instead")
    delimiter: str = Field(default=",", min_length=1, max_length=1, description="between columns of a CSV file")
    columns: dict[str, str] = Field(default={}, description="attribute = column of the file, where the names differ")

    @model_validator(mode="after")
    def _one_origin(self) -> TableSection:
        self.check_origin()
        return self

    def check_origin(self) -> None:
        """Check that one key says who is in the table.

        Raises
        ------
        InputError
        """
        if (self.size is None) == (self.file is None):
            raise InputError("nobody is in the table, or two say who", expected="either size or file")


class TargetsSection(TableSection):
    """The subjects: who shares a record."""

    person: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="column of a file that identifies the person; a repeated value is an error",
    )

    @model_validator(mode="after")
    def _keyed_file(self) -> TargetsSection:
        if self.person is not None and self.file is None:
            raise InputError("subjects who are drawn have no key", where="person", found=self.person, expected="a file")
        return self


class ResourceSection(DrawnResourceSection, TableSection):
    """A table that the adversary holds: a list drawn from the people if it has a `kind`, else a sample or a file."""

    holds: Literal["targets", "others", "anyone"] = Field(
        default="anyone",
        description="all subjects and more people, nobody of another such table, or people at random; in a file, "
        '`"targets"` is checked',
    )
    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that it carries")
    missing_alleles: Share | None = Field(
        default=None,
        description="share of unknown alleles; 0 if not given, 0.3 of a genealogy",
    )
    count: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="column with the number of people of each row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> ResourceSection:
        if self.kind == "file":
            if self.file is None or self.size is not None:
                raise InputError("rows of the list come from a file", where="file", expected="it, and no size")
        elif self.kind is None:
            self.check_origin()
            if self.coverage is not None:
                raise InputError("only a list drawn from the people has it", where="coverage", expected="a `kind`")
        elif self.file is not None:
            raise InputError("list that is drawn", where="file", found=self.file, expected='it with kind = "file"')
        return self

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        _refuse_repeated(self.attributes, "attributes")
        if self.is_list:
            if "holds" in self.model_fields_set:
                expected = "coverage, or no `kind` for a sample"
                raise InputError("who is in a list is drawn", where="holds", found=self.holds, expected=expected)
            if self.count is not None:
                raise InputError("a list has a row for each person", where="count", found=self.count)
            if self.kind == "file" and self.missing_alleles:
                raise InputError("alleles of a file are not lost", where="missing_alleles", found=self.missing_alleles)
            return self
        if self.file is not None and self.missing_alleles:
            found, expected = self.missing_alleles, "alleles left empty in the file"
            raise InputError("alleles of a file are not lost", where="missing_alleles", found=found, expected=expected)
        if self.file is None and self.count is not None:
            raise InputError("people who are drawn are not counted", where="count", found=self.count, expected="a file")
        return self


class MaskingAdversarySection(PlannerSection):
    """How the adversary links, in stages or with what it may know about the subjects, and how it plans."""

    confidence_threshold: Share = Field(default=0.5, description="theta: an inference of less confidence is not used")
    stages: tuple[StageSection, ...] = Field(default=(), description="in order; the last one is `identify`")
    overconfident: bool = Field(
        default=False,
        description="with stages: takes inferences that reach the threshold for certain",
    )
    knowledge: str | None = Field(
        default=None, description="instead of stages: name of a bundled knowledge recipe, or path of one"
    )
    resource: str | None = Field(default=None, description="with `knowledge`: where people are looked up")

    @model_validator(mode="after")
    def _plans_on_stages(self) -> MaskingAdversarySection:
        if self.sequential.registry is not None:
            raise InputError(
                "people are looked up in a resource of the scenario", where="sequential.registry",
                found=self.sequential.registry, expected="the resource that the last stage names",
            )  # fmt: skip
        if self.plans_sequentially and self.sequential.belief == "unknown":
            raise InputError(
                "groups of an adversary who links in stages or by knowledge are known", where="sequential.belief",
                found="unknown", expected="known",
            )  # fmt: skip
        return self

    @model_validator(mode="after")
    def _one_way(self) -> MaskingAdversarySection:
        if bool(self.stages) == (self.knowledge is not None):
            problem = "two ways to attack" if self.stages else "no way to attack"
            hint = "in an override, adversary.stages=[] drops the stages" if self.stages else None
            raise InputError(problem, expected="either stages or knowledge", hint=hint)
        if (self.knowledge is None) != (self.resource is None):
            if self.resource is None:
                raise InputError("key missing", where="resource", expected="the one in which people are looked up")
            raise InputError("stages name their own resources", where="resource", expected="it with knowledge only")
        if self.overconfident and self.knowledge is not None:
            expected = "it with stages only"
            raise InputError("nothing is inferred from knowledge", where="overconfident", expected=expected)
        return self


class WeightedMaskingAdversarySection(WeightedSection, MaskingAdversarySection):
    """One of several adversaries, of whom the subjects meet one: how it links and plans."""


class GeneralizedAttribute(Section):
    """Levels of an attribute between shared and masked."""

    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(), description="widths of intervals at each level, from 0 on; each a multiple of the one before"
    )
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(
        default=(), description="values merged at each level; others stay alone"
    )
    kept: tuple[Share, ...] = Field(
        min_length=1, description="share of the attribute's weight kept at each level, not rising"
    )

    @model_validator(mode="after")
    def _one_way(self) -> GeneralizedAttribute:
        levels = len(self.widths) or len(self.groups)
        for finer, coarser in pairwise(self.widths):
            if coarser % finer:
                raise InputError(
                    "intervals that do not fit into those of the next level",
                    where="widths", found=list(self.widths), expected=f"a multiple of {finer} after {finer}",
                )  # fmt: skip
        if bool(self.widths) == bool(self.groups) or levels != len(self.kept):
            raise InputError(
                "levels are missing",
                found=f"{len(self.widths)} widths, {len(self.groups)} groupings, {len(self.kept)} shares kept",
                expected="either widths or groups, and a share kept for each",
            )
        return self


class SubjectsSection(Section):
    """What the data subjects may share, what it is worth, and how they decide."""

    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that can be shared; loci last")
    always_shared: tuple[str, ...] = Field(
        default=(),
        description="attributes that cannot be masked; the last stage links on them; not with `k-anonymity`",
    )
    weights: Literal["entropy", "uniform"] | dict[str, Annotated[float, Field(ge=0)]] = Field(
        default="entropy",
        description="entropy in the first resource that carries it, all equal, or attribute = weight",
    )
    minority_support: float = Field(
        default=0.0,
        description="alpha: extra weight of rare values; below 0, of frequent ones",
    )
    generalize: dict[str, GeneralizedAttribute] = Field(
        default={}, description="attribute = its levels between shared and masked"
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("opt-in", "masking", "no-attack-masking"),
        min_length=1,
        description="policies compared, the columns of the table, each once",
    )
    solver: Literal["best-first", "backward-induction", "greedy", "anytime"] = Field(
        default="best-first", description="of the policies that are games"
    )
    most_evaluated: Annotated[int, Field(ge=1)] = Field(
        default=20_000, description="of solver `anytime`: most strategies evaluated per subject"
    )
    k: AnonymityK = Field(
        default=2,
        description="of policy `k-anonymity`; each of a list is a policy, such as `k-anonymity-5`",
    )
    opt_in_rate: Share = Field(default=0.05, description="of policy `random-opt-in`: probability to share all")
    sharing_rate: Share = Field(
        default=0.15, description="of policy `random-masking`: probability to share each attribute"
    )

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        _refuse_repeated(self.attributes, "attributes")
        taken = [name for name in self.attributes if name in (*RECORD_COLUMNS, "gap")]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
        # Wherever policies are named, that of each k has its own name.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        repeated = [policy for policy in self.policies if self.policies.count(policy) > 1]
        if repeated:
            raise InputError("policy given twice", where="policies", found=repeated[0])
        for name in self.generalize:
            if name not in self.attributes:
                hint = nearest(name, self.attributes)
                raise InputError("not an attribute that can be shared", where=f"generalize.{name}", hint=hint)
        always = self.always_shared
        if self.attributes[: len(always)] != always:
            raise InputError(
                "attributes that are always shared do not come first in the list of attributes",
                where="always_shared", found=list(always), expected=f"{list(self.attributes[: len(always)])}",
            )  # fmt: skip
        for name in always:
            if name in self.generalize:
                raise InputError("attribute always shared as it is", where=f"generalize.{name}")
        if always and any(policy_named(name).way == "k-anonymity" for name in self.policies):
            expected = "attributes that can all be masked"
            raise InputError("policy k-anonymity suppresses any attribute", where="always_shared", expected=expected)
        return self


class MaskingBeliefsSection(ListBeliefsSection):
    """What subjects believe when they choose; the truth where not given."""

    sizes: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default={}, description="resource = number of people believed to be in it; of resources that are drawn"
    )


class MaskingFiguresSection(Section):
    """What a run works out of its own game, besides the policies."""

    search_path: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="record, from 0, whose greedy search is listed; two-stage attacks only",
    )


class MaskingScenario(ScenarioHead):
    """Data subjects choose what to share of their records, an adversary attacks in stages."""

    game: Literal["masking"] = Field(description="subjects choose what to share of their records")
    replications: Annotated[int, Field(ge=1)] = Field(
        default=1, description="draws of subjects and resources; 1 with files"
    )
    population: PeopleSection | None = Field(default=None, description="people to draw from; not needed with files")
    targets: TargetsSection = Field(description="the subjects")
    resources: dict[str, ResourceSection] = Field(min_length=1, description="tables that the adversary holds")
    economics: EconomicsSection = Field(description="what is true")
    beliefs: MaskingBeliefsSection = Field(
        default=MaskingBeliefsSection(), description="what the subjects believe instead"
    )
    adversary: MaskingAdversarySection = Field(
        # Nobody attacks without stages or knowledge: one that is not given is an error unless there are several.
        default=MaskingAdversarySection.model_construct(),
        description="how the adversary attacks; needed unless there are `adversaries`",
    )
    adversaries: dict[str, WeightedMaskingAdversarySection] = Field(
        default={}, description="in place of `adversary`: several, of whom the subjects meet one"
    )
    subjects: SubjectsSection = Field(description="what can be shared, what it is worth, how it is decided")
    agents: AgentsSection | None = Field(
        default=None, description="several adversaries and rounds; one analytic game if not given"
    )
    figures: MaskingFiguresSection = Field(
        default=MaskingFiguresSection(), description="what is computed besides the policies"
    )

    @property
    def each(self) -> Mapping[str | None, MaskingScenario]:
        """The scenario against each of several adversaries alone, by name; else the scenario itself, by None."""
        return {name: scenario_alone(self, name) for name in self.adversaries} or {None: self}

    @model_validator(mode="after")
    def _somebody_attacks(self) -> MaskingScenario:
        check_adversaries(self.adversaries, self.model_fields_set, self.agents)
        if not self.adversaries and "adversary" not in self.model_fields_set:
            raise InputError(
                "key missing", where="adversary", expected="[adversary], or several by name as [adversaries.NAME]"
            )
        if self.adversaries and self.figures.search_path is not None:
            raise InputError(
                "it is about one adversary", where="figures.search_path",
                expected="[adversary] in place of [adversaries]",
            )  # fmt: skip
        for name, scenario in self.each.items():
            with named(name):
                scenario._check_attack()
        return self

    @model_validator(mode="after")
    def _beliefs_fit(self) -> MaskingScenario:
        self.beliefs.check_lists(drawn_lists_of(self.resources))
        for name in self.beliefs.sizes:
            drawn = [
                resource for resource, table in self.resources.items() if table.size is not None and not table.is_list
            ]
            if name not in drawn:
                raise InputError(
                    "not a resource that is drawn", where=f"beliefs.sizes.{name}", expected=f"one of {listed(drawn)}"
                )
        return self

    @model_validator(mode="after")
    def _tables_fit(self) -> MaskingScenario:
        if TARGETS in self.resources:
            raise InputError("name of the targets' own table", where=f"resources.{TARGETS}", expected="another name")
        tables: dict[str, TableSection] = {TARGETS: self.targets, **self.resources}
        lists = drawn_lists_of(self.resources)
        if self.population is not None:
            check_together(self.population.together, lists)
        drawn = [name for name, table in tables.items() if name in lists or table.size is not None]
        if drawn and len(drawn) < len(tables):
            raise InputError(
                "some tables are drawn and others are files", found=drawn, expected="all of one kind: values must match"
            )
        if drawn and self.population is None:
            raise InputError("section missing", where="population", expected=f"people to draw {drawn[0]!r} from")
        if not drawn and self.replications > 1:
            raise InputError(
                "files are the same every time", where="replications", found=self.replications, expected="1"
            )
        return self

    def _check_attack(self) -> None:
        """Check that the resources of the adversary are there, and carry what its knowledge is about."""
        stages = enumerate(self.adversary.stages)
        resources = {f"adversary.stages[{number}].resource": stage.resource for number, stage in stages}
        if self.adversary.resource is not None:
            resources["adversary.resource"] = self.adversary.resource
        for where, resource in resources.items():
            if resource not in self.resources:
                raise not_among("no such resource", resource, self.resources, where=where)
        if self.adversary.knowledge is None:
            return
        register = self.resources[self.register]
        if not self.linked_on:
            raise InputError(
                "resource that carries nothing of what subjects can share", where="adversary.resource",
                found=self.register, expected=f"one with some of {', '.join(self.subjects.attributes)}",
            )  # fmt: skip
        if register.missing_alleles:
            where, expected = f"resources.{self.register}.missing_alleles", "0.0 where people are looked up"
            raise InputError("alleles lost", where=where, found=register.missing_alleles, expected=expected)

    @property
    def register(self) -> str:
        """Resource in which the attack ends: where people are looked up."""
        return self.adversary.resource or self.adversary.stages[-1].resource

    @property
    def linked_on(self) -> tuple[str, ...]:
        """Attributes by which people are looked up there."""
        if self.adversary.knowledge is not None:
            carried = self.resources[self.register].attributes
            return tuple(name for name in self.subjects.attributes if name in carried)
        last = self.adversary.stages[-1]
        return last.on if isinstance(last, IdentifySection) else ()

"""Schema of a masking scenario: one class per section of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, refuse_first, require_among
from reidsim.kinds.masking.tables_schema import (
    PeopleSection,
    ResourceSection,
    SubjectsSection,
    TableSection,
    TargetsSection,
)
from reidsim.scenarios.adversary_schema import PlannerSection, WeightedSection, check_adversaries
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.amounts import Count, Share
from reidsim.scenarios.attack_recipe import (
    IdentifySection,
    StageSection,
)
from reidsim.scenarios.read_keys import ReadIf
from reidsim.scenarios.resource_schema import (
    ListBeliefsSection,
    check_together,
    drawn_lists_of,
)
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead
from reidsim.scenarios.several_adversaries import named, scenario_alone
from reidsim.validation import Section

TARGETS = "targets"


_INFERS = ReadIf(
    lambda section, scenario: any(stage.stage != "identify" for stage in section.stages),
    "with a stage that infers an attribute",
)


class MaskingAdversarySection(PlannerSection):
    """How the adversary links, in stages or with background knowledge, and plans."""

    confidence_threshold: Annotated[Share, _INFERS] = Field(
        default=0.5, description="theta: smallest confidence with which an inference is used"
    )
    stages: tuple[StageSection, ...] = Field(
        default=(), description="stages of the attack in order; the last one is `identify`"
    )
    overconfident: Annotated[bool, _INFERS] = Field(
        default=False,
        description="whether the adversary takes an inference that reaches the threshold as certain",
    )
    knowledge: str | None = Field(
        default=None, description="bundled knowledge recipe, or path of a recipe; replaces `stages`"
    )
    resource: str | None = Field(
        default=None, description="with `knowledge`: resource in which the adversary looks people up"
    )

    @model_validator(mode="after")
    def _consistent(self) -> MaskingAdversarySection:
        informed, sequential = self.knowledge is not None, self.sequential
        if bool(self.stages) == informed:
            problem = "the attack is given twice" if self.stages else "the attack is missing"
            hint = "in an override, set adversary.stages=[] to remove the stages" if self.stages else None
            raise InputError(problem, expected="either stages or knowledge", hint=hint)
        refuse_first(
            (
                sequential.registry is not None,
                "a registry is not supported in masking scenarios",
                "sequential.registry",
                sequential.registry,
                "no registry; the last stage names the resource",
            ),
            (
                self.plans_sequentially and sequential.belief == "unknown",
                'belief "unknown" is not supported in masking scenarios',
                "sequential.belief",
                "unknown",
                "known",
            ),
            (
                informed and self.resource is None,
                "key missing",
                "resource",
                None,
                "the resource in which the adversary finds people",
            ),
            (
                not informed and self.resource is not None,
                "each stage names its own resource",
                "resource",
                None,
                "this key only with knowledge",
            ),
            (
                self.overconfident and informed,
                "overconfidence needs inference stages",
                "overconfident",
                None,
                "this key only with stages",
            ),
        )
        return self


class WeightedMaskingAdversarySection(WeightedSection, MaskingAdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning."""


class MaskingBeliefsSection(ListBeliefsSection):
    """Beliefs of the subjects; a parameter without a belief has its true value."""

    sizes: dict[str, Count] = Field(
        default={}, description="number of people that the subjects believe to be in a drawn resource, by resource"
    )


class MaskingFiguresSection(Section):
    """Further tables and figures of a run."""

    search_path: Annotated[
        Annotated[int, Field(ge=0)] | None, ReadIf(lambda section, scenario: scenario.agents is None, "without agents")
    ] = Field(
        default=None,
        description="number of the record, counted from 0, whose greedy search is listed; only with two-stage attacks",
    )


class MaskingScenario(ScenarioHead):
    """Data subjects choose the attributes to share; an adversary attacks in stages."""

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        "population": ReadIf(
            lambda section, scenario: scenario.targets.size is not None,
            "with tables that are drawn from the population",
        ),
        "population.together": ReadIf(
            lambda section, scenario: len(drawn_lists_of(scenario.resources)) > 1, "with at least two lists"
        ),
    }

    game: Literal["masking"] = Field(description="kind of scenario: data subjects choose the attributes to share")
    replications: Count = Field(default=1, description="number of random draws of subjects and resources; 1 with files")
    population: PeopleSection | None = Field(
        default=None, description="population of subjects and resources; not needed with files"
    )
    targets: TargetsSection = Field(description="data subjects, the targets of the adversary")
    resources: dict[str, ResourceSection] = Field(min_length=1, description="tables of people that the adversary has")
    economics: EconomicsSection = Field(description="true payoff parameters")
    beliefs: MaskingBeliefsSection = Field(
        default=MaskingBeliefsSection(), description="values that the subjects believe in place of the true values"
    )
    adversary: MaskingAdversarySection = Field(
        # An adversary needs stages or knowledge: a missing section is an error unless there are several adversaries.
        default=MaskingAdversarySection.model_construct(),
        description="linkage and planning of the adversary; needed unless there are `adversaries`",
    )
    adversaries: dict[str, WeightedMaskingAdversarySection] = Field(
        default={},
        description="named adversaries; a section `[adversary]` beside them gives their defaults",
    )
    subjects: SubjectsSection = Field(
        description="attributes that subjects may share, the value of sharing, and policies"
    )
    agents: AgentsSection | None = Field(
        default=None, description="repeated rounds with several adversaries; default: one game without rounds"
    )
    figures: MaskingFiguresSection = Field(default=MaskingFiguresSection(), description="additional tables and figures")

    @property
    def each(self) -> Mapping[str | None, MaskingScenario]:
        """The scenario against each adversary alone, by name.

        With one adversary, the scenario itself, under the key None.
        """
        return {name: scenario_alone(self, name) for name in self.adversaries} or {None: self}

    @model_validator(mode="after")
    def _somebody_attacks(self) -> MaskingScenario:
        check_adversaries(self.adversaries, self.agents)
        if not self.adversaries and "adversary" not in self.model_fields_set:
            raise InputError(
                "key missing", where="adversary", expected="[adversary], or several by name as [adversaries.NAME]"
            )
        if self.adversaries and self.figures.search_path is not None:
            raise InputError(
                "the figure needs a single adversary",
                where="figures.search_path",
                expected="[adversary] in place of [adversaries]",
            )
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
                    "no such drawn resource", where=f"beliefs.sizes.{name}", expected=f"one of {listed(drawn)}"
                )
        return self

    @model_validator(mode="after")
    def _tables_fit(self) -> MaskingScenario:
        tables: dict[str, TableSection] = {TARGETS: self.targets, **self.resources}
        lists = drawn_lists_of(self.resources)
        if self.population is not None:
            check_together(self.population.together, lists)
        drawn = [name for name, table in tables.items() if name in lists or table.size is not None]
        refuse_first(
            (
                TARGETS in self.resources,
                "resource name reserved for the table of targets",
                f"resources.{TARGETS}",
                None,
                "another name",
            ),
            (
                drawn and len(drawn) < len(tables),
                "some tables are drawn and others are files",
                None,
                drawn,
                "only drawn tables or only files",
            ),
            (
                drawn and self.population is None,
                "section missing",
                "population",
                None,
                f"a population, from which {next(iter(drawn), None)!r} is drawn",
            ),
            (
                not drawn and self.replications > 1,
                "all replications of files are equal",
                "replications",
                self.replications,
                "1",
            ),
        )
        return self

    def _check_attack(self) -> None:
        """Check that the adversary's resources exist and contain the linked attributes."""
        stages = enumerate(self.adversary.stages)
        resources = {f"adversary.stages[{number}].resource": stage.resource for number, stage in stages}
        if self.adversary.resource is not None:
            resources["adversary.resource"] = self.adversary.resource
        for where, resource in resources.items():
            require_among("no such resource", (resource,), self.resources, where=where)
        if self.adversary.knowledge is None:
            return
        register = self.resources[self.register]
        refuse_first(
            (
                not self.linked_on,
                "the resource contains no attribute that subjects can share",
                "adversary.resource",
                self.register,
                f"a resource with some of {', '.join(self.subjects.attributes)}",
            ),
            (
                register.missing_alleles,
                "the resource of the attack has missing alleles",
                f"resources.{self.register}.missing_alleles",
                register.missing_alleles,
                "0.0",
            ),
        )

    @property
    def register(self) -> str:
        """Resource on which the last stage of the attack links."""
        return self.adversary.resource or self.adversary.stages[-1].resource

    @property
    def linked_on(self) -> tuple[str, ...]:
        """Attributes on which the last stage of the attack links."""
        if self.adversary.knowledge is not None:
            carried = self.resources[self.register].attributes
            return tuple(name for name in self.subjects.attributes if name in carried)
        last = self.adversary.stages[-1]
        return last.on if isinstance(last, IdentifySection) else ()

"""Schema of adversaries: linkage and attack planning.

All kinds of scenario use the same keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.adversaries.factored_mdp import Method
from reidsim.adversaries.planners.base import (
    EXPECTED_PAYOFF,
    INFERENCES,
    planners,
    planners_without,
    provided_by,
)
from reidsim.core.capabilities import require_provided
from reidsim.errors import InputError, require_distinct
from reidsim.linkage.sensitive_values import GainsFrom
from reidsim.scenarios.amounts import Count, Money, Share, Text
from reidsim.scenarios.equipment_schema import EquipmentSection, refuse_knowledge_held
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.rationality_schema import RationalitySection
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.validation import Section

if TYPE_CHECKING:
    from reidsim.scenarios.agents_schema import AgentsSection

Risk = Literal["prosecutor", "journalist", "sample"]
# `record`: whose row is this? `person`: which row is this person's? `both`: the larger success probability of the two.
Direction = Literal["record", "person", "both"]
# Adversaries of cross-play that attack once, named after their linkage.
LINKED = ("multistage", "partial-knowledge")
# Name in cross-play of the scenario's adversaries taken together.
TOGETHER = "types"
# Weights are decimal numbers; their sum is 1 only up to rounding.
_ROUNDING = 1e-9

Planner = Annotated[str, PartName(planners)]


def opponent_names() -> tuple[str, ...]:
    """Return the names of the adversaries of cross-play.

    Planners that compare expected payoffs come first, then the adversaries named after their linkage, then planners
    that ignore payoffs.
    """
    yardsticks = planners_without(EXPECTED_PAYOFF)
    return (*(name for name in planners if name not in yardsticks), *LINKED, *yardsticks)


class UnconfirmedSection(Section):
    """A noisy signal of success.

    The adversary claims the first candidate with a positive signal.
    """

    sensitivity: Share = Field(description="probability of a positive signal after a hit")
    specificity: Share = Field(description="probability of a negative signal after a miss")
    false_claim_cost: Money = Field(default=0.0, description="cost of claiming the wrong person")


def _detects(scenario: Any) -> bool:
    agents = getattr(scenario, "agents", None)
    return agents is not None and agents.enforcement.detection > 0


_UNLESS_DETECTED = ReadIf(
    lambda section, scenario: not _detects(scenario), "without agents.enforcement.detection, which takes its place"
)


class SequentialSection(Section):
    """The sequential attack of planner `fmdp`; its gain and cost are in `[economics]`."""

    registry: str | None = Field(
        default=None,
        description="population that the adversary can look up (journalist risk); everybody if not given",
    )
    belief: Literal["known", "unknown"] = Field(
        default="known",
        description="whether the group's size is known before paying for access",
    )
    access_cost: Money = Field(default=0.0, description="C_d: price of access to the registry")
    link_cost: Money = Field(default=0.0, description="C_l: cost of linking the record")
    penalty: Annotated[Money, _UNLESS_DETECTED] = Field(default=0.0, description="C_p: fine for a detected exploit")
    max_penalties: Count | None = Field(default=None, description="n_f: most fines; every time if not given")
    detection_intercept: Annotated[float, _UNLESS_DETECTED] = Field(
        default=-4.59, description="h0: exploit j, from 0, is detected with probability 1/(1 + exp(-(h0 + h1 j)))"
    )
    detection_slope: Annotated[float, _UNLESS_DETECTED] = Field(default=0.0, description="h1 of that probability")
    prior: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="probability that the person is in the registry; its share of the population if not given",
    )
    discount: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9, description="gamma: worth of money one step later"
    )
    penalty_timing: Literal["next-state", "at-action"] = Field(
        default="next-state",
        description="the fine is paid one step after the exploit, or at once",
    )
    detection_ends_attack: bool = Field(default=False, description="whether a detected exploit is the last one")
    unconfirmed: UnconfirmedSection | None = Field(default=None, description="noisy signal of a hit; known groups only")
    solver: Method = Field(
        default="backward-induction",
        description="how the attack on each record is planned: the fastest, or the linear programs of Xia et al. 2015, "
        "which give the same plans",
    )


class PlannerSection(RationalitySection):
    """How an adversary plans its attacks."""

    planner: Planner = Field(
        default="one-shot",
        description=(
            "`one-shot`, `fmdp` (a sequential attack), `always`, `never`, `random`; or your own, as "
            "`package.module:factory` or an installed name"
        ),
    )
    rate: Annotated[Share, with_key("planner", "random")] = Field(
        default=0.5, description='of planner `"random"`: probability that a record is attacked'
    )
    sequential: Annotated[SequentialSection, with_key("planner", "fmdp")] = Field(
        default=SequentialSection(), description='the sequential attack of planner `"fmdp"`'
    )
    parameters: dict[str, float | str | bool] = Field(
        default={}, description="arguments of an adversary of your own, besides gain and cost"
    )

    @model_validator(mode="after")
    def _planner_consistent(self) -> PlannerSection:
        self.check_rationality(self.planner)
        if self.sequential.unconfirmed is not None and self.sequential.belief == "unknown":
            raise InputError(
                "unconfirmed success is planned for known groups only", where="sequential.belief", found="unknown"
            )
        if self.sequential.unconfirmed is not None and self.sequential.solver != "backward-induction":
            raise InputError(
                "unconfirmed success is planned by backward induction only", where="sequential.solver",
                found=self.sequential.solver, expected="backward-induction",
            )  # fmt: skip
        if self.parameters and self.planner in planners:
            raise InputError(
                "parameters are of an adversary of your own", where="parameters", found=self.planner,
                expected='planner = "package.module:factory"',
            )  # fmt: skip
        return self

    @property
    def plans_sequentially(self) -> bool:
        """Whether the planner is the sequential attack."""
        return self.planner in planners and "sequential" in planners[self.planner].keys

    @property
    def attacks_what_pays(self) -> bool:
        """Whether the adversary attacks once, exactly if the expected payoff is positive.

        Some compiled searches support only this adversary.
        """
        return self.planner == "one-shot" and not self.errs


class AdversarySection(PlannerSection):
    """How the adversary links records to people and plans its attacks."""

    risk: Risk = Field(
        default="journalist",
        description="where groups are counted: records, population, or one estimated from weights",
    )
    direction: Direction = Field(
        default="record",
        description="asks whose row this is, which row is a person's, or whichever succeeds more",
    )
    gains_from: GainsFrom = Field(
        default="identity",
        description="what a successful attack is: naming the person of a record, a correct inference of a sensitive "
        "value (a column of `publisher.sensitive`), or at least one of both",
    )
    knowledge: str | None = Field(
        default=None,
        description='knowledge recipe (name or file), such as `"tennessee-voters"`; knows everything if not given',
    )
    stages: Text | None = Field(
        default=None,
        description="path of an attack recipe: attributes are inferred before linking",
    )
    holds: tuple[str, ...] | None = Field(
        default=None,
        description="lists in which it looks records up; everybody if not given",
    )

    @model_validator(mode="after")
    def _links_consistently(self) -> AdversarySection:
        if self.holds:
            self._holds_consistently()
        if self.knowledge is not None and self.stages is not None:
            raise InputError(
                "both a knowledge recipe and an attack in stages say what is linked on", where="stages",
                found=self.stages, expected="either adversary.knowledge or adversary.stages",
            )  # fmt: skip
        if self.risk != "journalist" and self.sequential.registry is not None:
            raise InputError(f"a registry is not attacked under {self.risk} risk", where="sequential.registry")
        if self.risk == "sample" and self.plans_sequentially and self.sequential.belief == "unknown":
            raise InputError(
                "beliefs of unknown groups need a population that is counted", where="sequential.belief",
                found="unknown", expected="known",
            )  # fmt: skip
        self._infers_consistently()
        linked = "knowledge" if self.knowledge is not None else "stages" if self.stages is not None else None
        self._looks_up_consistently(linked)
        if linked is not None and self.plans_sequentially:
            if self.sequential.registry is not None:
                raise InputError(
                    f"the adversary links by its {linked}, not in a registry", where="sequential.registry",
                    found=self.sequential.registry, expected=f"either adversary.{linked} or a registry",
                )  # fmt: skip
            if self.sequential.belief == "unknown":
                raise InputError(
                    f"groups of an adversary who links by its {linked} are known", where="sequential.belief",
                    found="unknown", expected="known",
                )  # fmt: skip
        return self

    def _infers_consistently(self) -> None:
        """Check the keys of an adversary who gains from inferences.

        Such an adversary has prosecutor risk, knows all quasi-identifiers, and attacks each record once.
        """
        if self.gains_from == "identity":
            return
        require_provided(
            {INFERENCES}, provided_by(self.planner), needed_by=f"gains_from {self.gains_from!r}",
            provider=f"planner {self.planner!r}", where="planner",
        )  # fmt: skip
        for key, other, expected in (
            ("risk", self.risk != "prosecutor", '"prosecutor", as the values of others are not known'),
            ("direction", self.looks_up, '"record"'),
            ("knowledge", self.knowledge is not None, "all quasi-identifiers are known"),
            ("stages", self.stages is not None, "one attack"),
            ("holds", bool(self.holds), "no list"),
        ):
            if other:
                raise InputError(
                    f'not with gains_from = "{self.gains_from}"', where=key, found=getattr(self, key),
                    expected=expected,
                )  # fmt: skip

    def _holds_consistently(self) -> None:
        for key, given in (
            ("knowledge", self.knowledge is not None),
            ("stages", self.stages is not None),
            ("direction", self.looks_up),
            ("sequential.registry", self.sequential.registry is not None),
            ("sequential.belief", self.plans_sequentially and self.sequential.belief == "unknown"),
            ("sequential.unconfirmed", self.plans_sequentially and self.sequential.unconfirmed is not None),
        ):
            if given:
                raise InputError("not of an adversary who looks people up in lists", where=key, expected="no `holds`")
        holds = self.holds or ()
        require_distinct("list named twice", holds, where="holds")

    @property
    def looks_up(self) -> bool:
        """Whether the adversary searches the released records for a person.

        If so, the strategy of one record affects the success probabilities of other records.
        """
        return self.direction != "record"

    def _looks_up_consistently(self, linked: str | None) -> None:
        """Check the keys of an adversary who searches for persons.

        Such an adversary knows the true values of the persons and all group sizes.
        """
        found = linked
        if self.plans_sequentially and self.sequential.registry is not None:
            found = "sequential.registry"
        elif self.plans_sequentially and self.sequential.belief == "unknown":
            found = 'sequential.belief = "unknown"'
        if self.looks_up and found is not None:
            raise InputError(
                f"who looks persons up compares their true values with the shared rows, without {found}",
                where="direction", found=self.direction, expected="record",
            )  # fmt: skip


class WeightedSection(EquipmentSection):
    """Further keys of a named adversary in `[adversaries]`."""

    weight: Share = Field(
        default=1.0,
        description='probability that the records meet it, which sum to 1; with `agents.together = "all"`, that it is '
        "present",
    )


class WeightedAdversarySection(WeightedSection, AdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning."""

    holds: tuple[str, ...] | None = Field(
        default=None,
        description="lists in which it looks records up; with agents any resources, held from the start",
    )

    @model_validator(mode="after")
    def _knows_consistently(self) -> WeightedAdversarySection:
        refuse_knowledge_held(self, self.knowledge)
        if self.stages is not None and self.needs_resources:
            raise InputError(
                "both an attack in stages and resources say what is linked on", where="stages", found=self.stages,
                expected="either",
            )  # fmt: skip
        return self


def check_adversaries(
    adversaries: Mapping[str, WeightedSection], agents: AgentsSection | None, lists: Collection[str] = ()
) -> None:
    """Check the names, weights and keys of the adversaries of a scenario.

    Names must differ from the columns of cross-play. Weights must sum to 1, except with ``agents.together = "all"``,
    where at least one must be positive. Without agents, keys for rounds are refused.

    Parameters
    ----------
    adversaries : mapping of str to WeightedSection
    agents : AgentsSection, optional
        Section of the scenario that describes the rounds; None if the scenario has no rounds.
    lists : collection of str
        Lists of people in the scenario; if there are any, adversaries may have the key ``holds`` without agents.

    Raises
    ------
    InputError
        If names, weights or keys are invalid; the message names the key.
    """
    for name, section in adversaries.items():
        if name in (*opponent_names(), TOGETHER):
            raise InputError("name of a column of cross-play", where=f"adversaries.{name}", expected="another name")
        of_rounds = (*(("holds",) if section.holds is not None and not lists else ()), *section.of_rounds)
        if agents is None and of_rounds:
            where = f"adversaries.{name}.{of_rounds[0]}"
            raise InputError("it is of rounds of agents", where=where, expected="it with a section agents")
    total = fsum(section.weight for section in adversaries.values())
    if adversaries and total == 0:
        raise InputError("no adversary of positive weight", where="adversaries", expected="a weight above 0")
    if agents is not None:
        agents.check_adversaries(adversaries)
        if agents.together == "all":
            return
    if adversaries and abs(total - 1) > _ROUNDING:
        raise InputError("weights of the adversaries do not sum to 1", where="adversaries", found=total, expected="1")

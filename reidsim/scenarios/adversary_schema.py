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
from reidsim.scenarios.rationality_schema import RationalitySection
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.user_defined import PartName
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

    Attributes
    ----------
    sensitivity
        probability of a positive signal if the candidate is the right person
    specificity
        probability of a negative signal if the candidate is a wrong person
    false_claim_cost
        cost of a claim about a wrong person
    """

    sensitivity: Share
    specificity: Share
    false_claim_cost: Money = 0.0


def _detects(scenario: Any) -> bool:
    agents = getattr(scenario, "agents", None)
    return agents is not None and agents.enforcement.detection > 0


_UNLESS_DETECTED = ReadIf(
    lambda section, scenario: not _detects(scenario), "without agents.enforcement.detection, which replaces it"
)


class SequentialSection(Section):
    """The sequential attack of planner `fmdp`; its gain and cost are in `[economics]`.

    Attributes
    ----------
    registry
        population recipe of the registry in which the adversary looks people up, under journalist risk; default: the
        whole population
    belief
        whether the adversary knows the group size before it pays for access
    access_cost
        C_d: price of access to the registry
    link_cost
        C_l: cost of linking a record to its candidates in the registry
    penalty
        C_p: fine for a detected exploit
    max_penalties
        n_f: largest number of fines; default: a fine for every detected exploit
    detection_intercept
        h0: exploit j, counted from 0, is detected with probability 1/(1 + exp(-(h0 + h1 j)))
    detection_slope
        h1 in the probability of detection
    prior
        probability that the record's person is in the registry; default: the registry's share of the population
    discount
        gamma: present value of one currency unit in the next step
    penalty_timing
        time at which a fine is paid: one step after the exploit, or at the exploit
    detection_ends_attack
        whether a detected exploit ends the attack
    unconfirmed
        noisy signal that shows whether a candidate is the right person; only for known group sizes
    solver
        algorithm that plans the attack on each record: backward induction, which is the fastest, or one of two linear
        programs of Xia et al. 2015; all give the same plans
    """

    registry: str | None = None
    belief: Literal["known", "unknown"] = "known"
    access_cost: Money = 0.0
    link_cost: Money = 0.0
    penalty: Annotated[Money, _UNLESS_DETECTED] = 0.0
    max_penalties: Count | None = None
    detection_intercept: Annotated[float, _UNLESS_DETECTED] = -4.59
    detection_slope: Annotated[float, _UNLESS_DETECTED] = 0.0
    prior: Annotated[float, Field(gt=0, le=1)] | None = None
    discount: Annotated[float, Field(gt=0, le=1)] = 0.9
    penalty_timing: Literal["next-state", "at-action"] = "next-state"
    detection_ends_attack: bool = False
    unconfirmed: UnconfirmedSection | None = None
    solver: Method = "backward-induction"


class PlannerSection(RationalitySection):
    """How an adversary plans its attacks.

    Attributes
    ----------
    planner
        rule for planning attacks: `one-shot`, `fmdp` (sequential attack), `always`, `never` or `random`; or a planner
        of your own, as `package.module:factory` or by its installed name
    rate
        with planner `"random"`: probability that a record is attacked
    sequential
        parameters of planner `"fmdp"`, the sequential attack
    parameters
        arguments of a planner of your own, in addition to gain and cost
    """

    planner: Planner = "one-shot"
    rate: Annotated[Share, with_key("planner", "random")] = 0.5
    sequential: Annotated[SequentialSection, with_key("planner", "fmdp")] = SequentialSection()
    parameters: dict[str, float | str | bool] = Field(default={})

    @model_validator(mode="after")
    def _planner_consistent(self) -> PlannerSection:
        self.check_rationality(self.planner)
        if self.sequential.unconfirmed is not None and self.sequential.belief == "unknown":
            raise InputError("unconfirmed success needs known group sizes", where="sequential.belief", found="unknown")
        if self.sequential.unconfirmed is not None and self.sequential.solver != "backward-induction":
            raise InputError(
                "unconfirmed success needs backward induction",
                where="sequential.solver",
                found=self.sequential.solver,
                expected="backward-induction",
            )
        if self.parameters and self.planner in planners:
            raise InputError(
                "a built-in planner has no parameters",
                where="parameters",
                found=self.planner,
                expected='planner = "package.module:factory"',
            )
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
    """How the adversary links records to people and plans its attacks.

    Attributes
    ----------
    risk
        set in which the group of a record is counted: the released records (`prosecutor`), the population
        (`journalist`), or a population estimated from sampling weights (`sample`)
    direction
        direction of the search: from a record to its person, from a person to the person's record, or the one of both
        with the higher success probability
    gains_from
        event from which the adversary gains: re-identification of a record's person, correct inference of a sensitive
        value (see `publisher.sensitive`), or either event
    knowledge
        knowledge recipe (name or file), such as `"tennessee-voters"`; default: the adversary knows all
        quasi-identifiers of all people
    stages
        path of an attack recipe, whose stages infer attributes before they link
    holds
        lists in which the adversary looks people up; default: none, so that `risk` determines the candidates
    """

    risk: Risk = "journalist"
    direction: Direction = "record"
    gains_from: GainsFrom = "identity"
    knowledge: str | None = None
    stages: Text | None = None
    holds: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _links_consistently(self) -> AdversarySection:
        if self.holds:
            self._holds_consistently()
        if self.knowledge is not None and self.stages is not None:
            raise InputError(
                "a knowledge recipe and a multi-stage attack exclude each other",
                where="stages",
                found=self.stages,
                expected="either adversary.knowledge or adversary.stages",
            )
        if self.risk != "journalist" and self.sequential.registry is not None:
            raise InputError(f"a registry is not supported with {self.risk} risk", where="sequential.registry")
        if self.risk == "sample" and self.plans_sequentially and self.sequential.belief == "unknown":
            raise InputError(
                'belief "unknown" needs a counted population',
                where="sequential.belief",
                found="unknown",
                expected="known",
            )
        self._infers_consistently()
        linked = "knowledge" if self.knowledge is not None else "stages" if self.stages is not None else None
        self._looks_up_consistently(linked)
        if linked is not None and self.plans_sequentially:
            if self.sequential.registry is not None:
                raise InputError(
                    f"adversary.{linked} and a registry exclude each other",
                    where="sequential.registry",
                    found=self.sequential.registry,
                    expected=f"either adversary.{linked} or a registry",
                )
            if self.sequential.belief == "unknown":
                raise InputError(
                    f'belief "unknown" is not supported with adversary.{linked}',
                    where="sequential.belief",
                    found="unknown",
                    expected="known",
                )
        return self

    def _infers_consistently(self) -> None:
        """Check the keys of an adversary who gains from inferences.

        Such an adversary has prosecutor risk, knows all quasi-identifiers, and attacks each record once.
        """
        if self.gains_from == "identity":
            return
        require_provided(
            {INFERENCES},
            provided_by(self.planner),
            needed_by=f"gains_from {self.gains_from!r}",
            provider=f"planner {self.planner!r}",
            where="planner",
        )
        for key, other, expected in (
            ("risk", self.risk != "prosecutor", '"prosecutor", because sensitive values of other people are unknown'),
            ("direction", self.looks_up, '"record"'),
            ("knowledge", self.knowledge is not None, "no knowledge recipe"),
            ("stages", self.stages is not None, "no attack recipe"),
            ("holds", bool(self.holds), "no list"),
        ):
            if other:
                raise InputError(
                    f'not supported with gains_from = "{self.gains_from}"',
                    where=key,
                    found=getattr(self, key),
                    expected=expected,
                )

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
                raise InputError("not supported for an adversary with lists", where=key, expected="no `holds`")
        holds = self.holds or ()
        require_distinct("list given twice", holds, where="holds")

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
                f"this direction is not supported together with {found}",
                where="direction",
                found=self.direction,
                expected="record",
            )


class WeightedSection(EquipmentSection):
    """Further keys of a named adversary in `[adversaries]`.

    Attributes
    ----------
    weight
        probability that the records face this adversary, with a sum of 1 over all adversaries; with `agents.together =
        "all"`, probability that this adversary is present
    """

    weight: Share = 1.0


class WeightedAdversarySection(WeightedSection, AdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning.

    Attributes
    ----------
    holds
        lists in which the adversary looks people up; with `[agents]`, all resources that it has from the start
    """

    holds: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _knows_consistently(self) -> WeightedAdversarySection:
        refuse_knowledge_held(self, self.knowledge)
        if self.stages is not None and self.needs_resources:
            raise InputError(
                "a multi-stage attack and resources exclude each other",
                where="stages",
                found=self.stages,
                expected="either stages, or holds and buys",
            )
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
            raise InputError(
                "adversary name reserved for a column of cross-play",
                where=f"adversaries.{name}",
                expected="another name",
            )
        of_rounds = (*(("holds",) if section.holds is not None and not lists else ()), *section.of_rounds)
        if agents is None and of_rounds:
            where = f"adversaries.{name}.{of_rounds[0]}"
            raise InputError(
                "the key needs rounds of agents", where=where, expected="this key only with a section agents"
            )
    total = fsum(section.weight for section in adversaries.values())
    if adversaries and total == 0:
        raise InputError("no adversary of positive weight", where="adversaries", expected="a weight above 0")
    if agents is not None:
        agents.check_adversaries(adversaries)
        if agents.together == "all":
            return
    if adversaries and abs(total - 1) > _ROUNDING:
        raise InputError("weights of the adversaries do not sum to 1", where="adversaries", found=total, expected="1")

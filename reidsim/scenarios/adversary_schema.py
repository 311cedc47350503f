"""Schema of adversaries: linkage, planning, rationality and resources.

All kinds of scenario use the same keys.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.factored_mdp import Method
from reidsim.adversaries.planners import (
    EXPECTED_PAYOFF,
    INFERENCES,
    SINGLE_ATTEMPT,
    planners,
    planners_without,
    provided_by,
)
from reidsim.adversaries.rationality import LEAST_WEIGHTING, ProspectTheory
from reidsim.adversaries.response import Adversary, Weighing
from reidsim.core.registry import require_provided
from reidsim.errors import InputError, require_distinct
from reidsim.linkage.sensitive_values import GainsFrom
from reidsim.scenarios.amounts import Count, Money, Share, Text
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.user_defined import PartName
from reidsim.validation import Section

Risk = Literal["prosecutor", "journalist", "sample"]
# `record`: whose row is this? `person`: which row is this person's? `both`: the larger success probability of the two.
Direction = Literal["record", "person", "both"]
# Adversaries of cross-play that attack once, named after their linkage.
LINKED = ("multistage", "partial-knowledge")
# Name in cross-play of the scenario's adversaries taken together.
TOGETHER = "types"
# The best purchase is searched over all subsets of resources, so the work doubles with each resource.
_MOST_PURCHASES = 8

Planner = Annotated[str, PartName(planners)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Weighting = Annotated[float, Field(ge=LEAST_WEIGHTING, le=1)]
Curvature = Annotated[float, Field(gt=0, le=1)]


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


def _is_undetected(section: Any, scenario: Any) -> bool:
    agents = getattr(scenario, "agents", None)
    return agents is None or not agents.enforcement.detection > 0


_UNLESS_DETECTED = ReadIf(_is_undetected, "without agents.enforcement.detection, which replaces it")


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


class ProspectSection(Section):
    """Cumulative prospect theory of Tversky and Kahneman (1992).

    Defaults are the medians that they estimated.

    Attributes
    ----------
    gain_weighting
        gamma: exponent of the weighting function for probabilities of gains
    loss_weighting
        delta: exponent of the weighting function for probabilities of losses
    gain_curvature
        alpha: exponent of the value function for gains
    loss_curvature
        beta: exponent of the value function for losses
    loss_aversion
        weight of a loss relative to a gain of the same amount
    """

    gain_weighting: Weighting = 0.61
    loss_weighting: Weighting = 0.69
    gain_curvature: Curvature = 0.88
    loss_curvature: Curvature = 0.88
    loss_aversion: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.25

    def theory(self) -> ProspectTheory:
        """Return the parameters as a `ProspectTheory`."""
        return ProspectTheory(**self.model_dump())


class PlannerSection(Section):
    """How an adversary plans its attacks, and its rationality.

    Attributes
    ----------
    rationality
        decision rule: `perfect` attacks if the expected payoff W is above 0; `logit` attacks with probability 1/(1 +
        exp(-precision W)); the `prospect` rules use the value of the prospect as W
    precision
        lambda: precision of the logit rules, per currency unit (`logit`) or per unit of value (`prospect-logit`)
    prospect
        parameters of the rules `"prospect"` and `"prospect-logit"`
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

    rationality: Literal["perfect", "logit", "prospect", "prospect-logit"] = "perfect"
    precision: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    prospect: ProspectSection = ProspectSection()
    planner: Planner = "one-shot"
    rate: Annotated[Share, with_key("planner", "random")] = 0.5
    sequential: Annotated[SequentialSection, with_key("planner", "fmdp")] = SequentialSection()
    parameters: dict[str, float | str | bool] = Field(default={})

    @model_validator(mode="after")
    def _planner_consistent(self) -> PlannerSection:
        is_noisy, weighs = self.rationality in ("logit", "prospect-logit"), self.rationality.startswith("prospect")
        plan = self.sequential
        a_number = f'a number of 0 or more with rationality = "{self.rationality}"'
        only_logit = 'this key only with rationality = "logit" or "prospect-logit"'
        only_prospect = 'this section only with rationality = "prospect" or "prospect-logit"'
        self.refuse_if(is_noisy and self.precision is None, "key missing", "precision", a_number)
        self.refuse_if(
            not is_noisy and self.precision is not None, "a precision needs logit noise", "precision", only_logit
        )
        odd_prospect = not weighs and self.prospect != ProspectSection()
        self.refuse_if(odd_prospect, "the section needs prospect theory", "prospect", only_prospect, found=None)
        require_provided(
            [EXPECTED_PAYOFF] * self.errs + [SINGLE_ATTEMPT] * weighs,
            provided_by(self.planner),
            needed_by=f"rationality {self.rationality!r}",
            provider=f"planner {self.planner!r}",
            where="rationality",
        )
        if plan.unconfirmed is not None:
            problem, key = "unconfirmed success needs known group sizes", "sequential.belief"
            self.refuse_if(plan.belief == "unknown", problem, key)
            problem, induction = "unconfirmed success needs backward induction", "backward-induction"
            self.refuse_if(plan.solver != induction, problem, "sequential.solver", induction)
        problem, expected = "a built-in planner has no parameters", 'planner = "package.module:factory"'
        is_wrong = self.parameters and self.planner in planners
        self.refuse_if(is_wrong, problem, "parameters", expected, found=self.planner)
        return self

    @property
    def errs(self) -> bool:
        """Whether the adversary's rationality is not perfect."""
        return self.rationality != "perfect"

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

    def erring(self, adversary: Adversary, where: str) -> Adversary:
        """Return an adversary that decides with the section's rationality.

        It is `adversary` itself if rationality is perfect.

        Raises
        ------
        InputError
            If the adversary has no method ``weigh``; the message names the key `where`.
        """
        if not self.errs:
            return adversary
        if not isinstance(adversary, Weighing):
            problem = "an adversary without an expected payoff of an attack cannot make errors"
            expected = "an adversary with a method weigh(linkage, rows)"
            raise InputError(problem, where=where, found=self.rationality, expected=expected)
        weighs = self.rationality.startswith("prospect")
        return ErringAdversary(adversary, self.precision, self.prospect.theory() if weighs else None)


# Values that make a copied section perfectly rational.
PERFECT: dict[str, Any] = {"rationality": "perfect", "precision": None, "prospect": ProspectSection()}


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

    @property
    def looks_up(self) -> bool:
        """Whether the adversary searches the released records for a person.

        If so, the strategy of one record affects the success probabilities of other records.
        """
        return self.direction != "record"

    @model_validator(mode="after")
    def _links_consistently(self) -> AdversarySection:
        by_knowledge, in_stages = self.knowledge is not None, self.stages is not None
        linked = "knowledge" if by_knowledge else "stages" if in_stages else ""
        has_registry = self.sequential.registry is not None
        is_unknown = self.plans_sequentially and self.sequential.belief == "unknown"
        for key, given in (
            ("knowledge", by_knowledge),
            ("stages", in_stages),
            ("direction", self.looks_up),
            ("sequential.registry", has_registry),
            ("sequential.belief", is_unknown),
            ("sequential.unconfirmed", self.plans_sequentially and self.sequential.unconfirmed is not None),
        ):
            problem = "not supported for an adversary with lists"
            self.refuse_if(self.holds and given, problem, key, "no `holds`", found=None)
        require_distinct("list given twice", self.holds or (), where="holds")
        problem = "a knowledge recipe and a multi-stage attack exclude each other"
        self.refuse_if(by_knowledge and in_stages, problem, "stages", "either adversary.knowledge or adversary.stages")
        problem = f"a registry is not supported with {self.risk} risk"
        self.refuse_if(self.risk != "journalist" and has_registry, problem, "sequential.registry", found=None)
        problem = 'belief "unknown" needs a counted population'
        self.refuse_if(self.risk == "sample" and is_unknown, problem, "sequential.belief", "known")
        if self.gains_from != "identity":
            self._infers_consistently(by_knowledge, in_stages)
        buys_access = self.plans_sequentially and has_registry
        other = "sequential.registry" if buys_access else 'sequential.belief = "unknown"' if is_unknown else linked
        problem = f"this direction is not supported together with {other}"
        self.refuse_if(self.looks_up and other, problem, "direction", "record")
        problem = f"adversary.{linked} and a registry exclude each other"
        expected = f"either adversary.{linked} or a registry"
        self.refuse_if(linked and buys_access, problem, "sequential.registry", expected)
        problem = f'belief "unknown" is not supported with adversary.{linked}'
        self.refuse_if(linked and is_unknown, problem, "sequential.belief", "known")
        return self

    def _infers_consistently(self, by_knowledge: bool, in_stages: bool) -> None:
        """Check the keys of an adversary who gains from inferences.

        Such an adversary has prosecutor risk, knows all quasi-identifiers, and attacks each record once.
        """
        require_provided(
            {INFERENCES},
            provided_by(self.planner),
            needed_by=f"gains_from {self.gains_from!r}",
            provider=f"planner {self.planner!r}",
            where="planner",
        )
        for key, given, expected in (
            ("risk", self.risk != "prosecutor", '"prosecutor", because sensitive values of other people are unknown'),
            ("direction", self.looks_up, '"record"'),
            ("knowledge", by_knowledge, "no knowledge recipe"),
            ("stages", in_stages, "no attack recipe"),
            ("holds", self.holds, "no list"),
        ):
            self.refuse_if(given, f'not supported with gains_from = "{self.gains_from}"', key, expected)


class WeightedSection(Section):
    """Further keys of a named adversary in `[adversaries]`: payoff parameters, resources, budget and weight.

    Attributes
    ----------
    gain
        gain from a re-identification; default: `economics.gain`
    cost
        cost of an attempt or exploit; default: `economics.cost`
    holds
        with `[agents]`: resources that the adversary has from the start; default: all, unless `buys` is set
    buys
        with `[agents]`: resources that the adversary may buy, at most eight
    budget
        with `[agents]`: money for purchases and attacks in each round; default: no limit
    selection
        records attacked if the budget does not cover all profitable attacks: in every round the records with the
        highest expected payoff per unit of money, or a new random sample
    accuracy
        with `[agents]`: true share of correct entries in the adversary's resources
    expected_accuracy
        with `[agents]`: share of correct entries that the adversary first expects and then learns from its attempts;
        default: it knows the true share
    experience
        with `[agents]`: number of attempts to which the first expectation `expected_accuracy` is equivalent
    weight
        probability that the records face this adversary, with a sum of 1 over all adversaries; with `agents.together =
        "all"`, probability that this adversary is present
    """

    gain: Money | None = None
    cost: Money | None = None
    holds: tuple[str, ...] | None = None
    buys: tuple[str, ...] = ()
    budget: Money | None = None
    selection: Literal["best", "random"] = "best"
    accuracy: Annotated[float, Field(gt=0, le=1)] = 1.0
    expected_accuracy: Annotated[float, Field(gt=0, lt=1)] | None = None
    experience: Annotated[Positive, with_key("expected_accuracy")] = 10.0
    weight: Share = 1.0

    @model_validator(mode="after")
    def _equipped_consistently(self) -> WeightedSection:
        for key in ("holds", "buys"):
            require_distinct("resource given twice", getattr(self, key) or (), where=key)
        both = next((name for name in self.buys if name in (self.holds or ())), None)
        self.refuse_if(both is not None, "resource both held and bought", "buys", found=both)
        is_wrong, expected = (
            self.selection == "random" and self.budget is None,
            'selection = "random" only with a budget',
        )
        self.refuse_if(is_wrong, "random selection needs a budget", "selection", expected)
        n, expected = len(self.buys), f"at most {_MOST_PURCHASES}"
        self.refuse_if(n > _MOST_PURCHASES, "too many resources to buy", "buys", expected, found=n)
        return self

    @property
    def amounts(self) -> dict[str, float]:
        """The adversary's own gain and cost, by name.

        A value is missing if the value of the section ``economics`` applies.
        """
        return {name: amount for name in ("gain", "cost") if (amount := getattr(self, name)) is not None}

    @property
    def of_rounds(self) -> tuple[str, ...]:
        """Keys of this section set in the scenario that have an effect only in rounds.

        ``holds`` is not among them, because it also has an effect in games with lists of people.
        """
        return tuple(name for name in WeightedSection.model_fields if name in self.model_fields_set - _OF_GAMES)

    @property
    def needs_resources(self) -> bool:
        """Whether the section states resources that the adversary holds or may buy.

        If so, the adversary can attack only with these.
        """
        return self.holds is not None or bool(self.buys)

    @property
    def is_inaccurate(self) -> bool:
        """Whether the true or the expected accuracy of resources is below 1."""
        return self.accuracy < 1 or self.expected_accuracy is not None


_OF_GAMES = frozenset(("gain", "cost", "holds", "weight"))


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
        problem, expected = "a knowledge recipe and resources exclude each other", "either knowledge, or holds and buys"
        is_wrong = self.knowledge is not None and self.needs_resources
        self.refuse_if(is_wrong, problem, "knowledge", expected, found=None)
        problem, expected = "a multi-stage attack and resources exclude each other", "either stages, or holds and buys"
        self.refuse_if(self.stages is not None and self.needs_resources, problem, "stages", expected)
        return self

"""Schema of payoffs, adversaries, the publisher, and repeated rounds.

Adversaries have linkage, planning, rationality and resources; all kinds of scenario use the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import fsum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from reidsim.adversaries.factored_mdp import Method
from reidsim.adversaries.rationality import ErringAdversary, ProspectTheory
from reidsim.adversaries.response import (
    EXPECTED_PAYOFF,
    GAINS,
    INFERENCES,
    SINGLE_ATTEMPT,
    Adversary,
    Weighing,
    planners,
    planners_without,
    provided_by,
)
from reidsim.adversaries.sequential.attack import UnconfirmedSuccess
from reidsim.adversaries.testing import ListTestingSection
from reidsim.agents.profile import Enforcement, ParticipationRule
from reidsim.core.errors import InputError, refuse_first, require_among, require_distinct
from reidsim.core.registry import require_provided
from reidsim.core.validation import Section
from reidsim.linkage.people import GainsFrom
from reidsim.scenarios.registry import PartName, with_each_k
from reidsim.scenarios.schema import Count, Money, ReadIf, ScenarioHead, Share, Text, distinct, with_key

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
# A share above 0.
Part = Annotated[float, Field(gt=0, le=1)]


def opponent_names() -> tuple[str, ...]:
    """Return the names of the adversaries of cross-play.

    Planners that compare expected payoffs come first, then the adversaries named after their linkage, then planners
    that ignore payoffs.
    """
    yardsticks = planners_without(EXPECTED_PAYOFF)
    return (*(name for name in planners if name not in yardsticks), *LINKED, *yardsticks)


_UNLESS_DETECTED = ReadIf(
    lambda section, scenario: getattr(scenario, "agents", None) is None or scenario.agents.enforcement.detection == 0,
    "without agents.enforcement.detection, which replaces it",
)


# Keys that change only payoff parameters and therefore do not affect linkage.
MONEY_KEYS = (
    *(f"economics.{name}" for name in ("benefit", "loss", "gain", "cost")),
    *(f"beliefs.{name}" for name in ("loss", "gain", "cost")),
)


def _of_some(amount: str, *ignoring: str) -> ReadIf:
    """Return the condition that some adversary uses an amount of the economics.

    An adversary does not use the amount if it has its own, or if its planner is among `ignoring`.
    """

    def holds(section: Any, scenario: Any) -> bool:
        return any(
            each.planner not in ignoring and getattr(each, amount, None) is None
            for each in scenario.every_adversary.values()
        )

    return ReadIf(
        holds, f"with an adversary without its own {amount} and with a planner other than {', '.join(ignoring)}"
    )


_GAINED = _of_some("gain", *planners_without(GAINS))
_WEIGHED_GAIN, _WEIGHED_COST = (_of_some(amount, *planners_without(EXPECTED_PAYOFF)) for amount in ("gain", "cost"))


class EconomicsSection(Section):
    """Payoff parameters: benefit, loss, gain and cost.

    In the masking game, the benefit and loss belong to a data subject instead of a publisher.

    Attributes
    ----------
    benefit
        publisher's benefit from releasing a record unchanged (V, B)
    loss
        publisher's loss if a record is re-identified (L)
    gain
        adversary's gain if a record is re-identified (G); default: the loss
    cost
        adversary's cost of an attempt, or of an exploit with planner `fmdp` (c, C)
    """

    benefit: Money
    loss: Money
    gain: Annotated[Money | None, _GAINED] = None
    cost: Money

    @property
    def adversary_gain(self) -> float:
        """The adversary's gain; equal to the publisher's loss if not given."""
        return self.loss if self.gain is None else self.gain


class BeliefsSection(Section):
    """The publisher's beliefs about payoff parameters.

    A parameter without a belief has its true value.

    Attributes
    ----------
    loss
        value that the decision-maker believes; default: the true value
    gain
        value that the decision-maker believes; default: the true value
    cost
        value that the decision-maker believes; default: the true value
    """

    loss: Money | None = None
    gain: Annotated[Money | None, _WEIGHED_GAIN] = None
    cost: Annotated[Money | None, _WEIGHED_COST] = None

    def believed_economics(self, truth: EconomicsSection) -> EconomicsSection:
        """Return the believed payoff parameters, given the true ones.

        A parameter without a belief has its true value. In particular, a believed loss does not change the believed
        gain, even if the true gain follows the true loss.
        """
        believed = {name: getattr(self, name) for name in ("loss", "gain", "cost") if getattr(self, name) is not None}
        own = {"benefit": truth.benefit, "loss": truth.loss, "gain": truth.adversary_gain, "cost": truth.cost}
        return EconomicsSection(**own | believed)


def economics_of(scenario: ScenarioHead) -> tuple[EconomicsSection, EconomicsSection]:
    """Return the true and the believed payoff parameters of a scenario.

    Both are equal if the kind has no beliefs.
    """
    economics: EconomicsSection = getattr(scenario, "economics")  # noqa: B009 - only some kinds have it
    beliefs: BeliefsSection | None = getattr(scenario, "beliefs", None)
    return economics, economics if beliefs is None else beliefs.believed_economics(economics)


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
    prior: Part | None = None
    discount: Part = 0.9
    penalty_timing: Literal["next-state", "at-action"] = "next-state"
    detection_ends_attack: bool = False
    unconfirmed: UnconfirmedSuccess | None = None
    solver: Method = "backward-induction"


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
        rule for planning attacks: `one-shot`, `fmdp` (sequential attack), `testing` (tests a list first), `always`,
        `never` or `random`; or a planner of your own, as `package.module:factory` or by its installed name
    rate
        with planner `"random"`: probability that a record is attacked
    sequential
        parameters of planner `"fmdp"`, the sequential attack
    testing
        parameters of planner `"testing"`, who tests a list before it goes on
    parameters
        arguments of a planner of your own, in addition to gain and cost
    """

    rationality: Literal["perfect", "logit", "prospect", "prospect-logit"] = "perfect"
    precision: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None, with_key("rationality", "logit", "prospect-logit")
    ] = None
    prospect: Annotated[ProspectTheory, with_key("rationality", "prospect", "prospect-logit")] = ProspectTheory()
    planner: Planner = "one-shot"
    rate: Annotated[Share, with_key("planner", "random")] = 0.5
    sequential: Annotated[SequentialSection, with_key("planner", "fmdp")] = SequentialSection()
    testing: Annotated[ListTestingSection, with_key("planner", "testing")] = ListTestingSection()
    parameters: Annotated[
        dict[str, Any], ReadIf(lambda section, scenario: section.planner not in planners, "with a planner of your own")
    ] = Field(default={})

    @model_validator(mode="after")
    def _planner_consistent(self) -> Self:
        needs = [EXPECTED_PAYOFF] * self.errs + [SINGLE_ATTEMPT] * self.rationality.startswith("prospect")
        self._require_of_planner(needs, "rationality", where="rationality")
        without_precision = self.rationality.endswith("logit") and self.precision is None
        expected, attack = f'a number of 0 or more with rationality = "{self.rationality}"', self.sequential
        signal, problem = attack.unconfirmed is not None, "unconfirmed success needs"
        known, solver = "known", "backward-induction"
        return self.unless(
            (without_precision, "key missing", "precision", expected),
            (signal and attack.belief != known, f"{problem} belief {known!r}", "sequential.belief", known),
            (signal and attack.solver != solver, f"{problem} solver {solver!r}", "sequential.solver", solver),
        )

    def _require_of_planner(self, needs: list[str], key: str, where: str) -> None:
        """Check that the planner provides what the value of a key needs; see `require_provided`."""
        needed_by, provider = f"{key} {getattr(self, key)!r}", f"planner {self.planner!r}"
        require_provided(needs, provided_by(self.planner), needed_by=needed_by, provider=provider, where=where)

    @property
    def errs(self) -> bool:
        """Whether the adversary's rationality is not perfect."""
        return self.rationality != "perfect"

    @property
    def plans_sequentially(self) -> bool:
        """Whether the planner is a built-in one that uses section ``sequential``: `fmdp`."""
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
        prospect = self.prospect if self.rationality.startswith("prospect") else None
        return ErringAdversary(adversary, self.precision if self.rationality.endswith("logit") else None, prospect)


class AdversarySection(PlannerSection):
    """How the adversary links records to people and plans its attacks.

    Attributes
    ----------
    risk
        set in which the group of a record is counted: the released records (`prosecutor`), the population
        (`journalist`), or a population estimated from sampling weights (`sample`)
    direction
        direction of the search: `record`, from a record to its person; `person`, from a person to the person's record;
        `both`, the direction with the higher success probability
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
    holds: Annotated[tuple[str, ...] | None, distinct("list given twice")] = None

    @property
    def looks_up(self) -> bool:
        """Whether the adversary searches the released records for a person.

        If so, the strategy of one record affects the success probabilities of other records.
        """
        return self.direction != "record"

    @model_validator(mode="after")
    def _links_consistently(self) -> Self:
        sequential = self.sequential if self.plans_sequentially else SequentialSection()
        infers = self.gains_from != "identity"
        self._require_of_planner([INFERENCES] * infers, "gains_from", where="planner")
        links = {key: getattr(self, key) for key in ("holds", "knowledge", "stages")}
        links |= {"direction": self.looks_up, "gains_from": infers}
        plans = {
            "sequential.registry": sequential.registry,
            "sequential.belief": sequential.belief == "unknown",
            "sequential.unconfirmed": self.holds and sequential.unconfirmed,
        }
        first = next((key for key, is_set in links.items() if is_set), "")
        others = [key for key, is_set in (links | plans).items() if first and is_set and key != first]
        prosecutor = '"prosecutor", because sensitive values of other people are unknown'
        unregistered, has_registry = f"a registry is not supported with {self.risk} risk", bool(sequential.registry)
        uncounted = self.risk == "sample" and sequential.belief == "unknown"
        return self.unless(
            (infers and self.risk != "prosecutor", "not supported with gains_from", "risk", prosecutor),
            *((True, f"not supported together with {first}", key, f"either {first} or {key}") for key in others),
            (has_registry and self.risk != "journalist", unregistered, "sequential.registry", None, None),
            (uncounted, 'belief "unknown" needs a counted population', "sequential.belief", "known"),
        )


# Keys that have an effect only in rounds.
_IN_ROUNDS = ReadIf(lambda section, scenario: scenario.agents is not None, "with a section agents")
_WITH_LISTS = ReadIf(
    lambda section, scenario: scenario.agents is not None or bool(getattr(scenario, "lists", ())),
    "with a section agents, or with resources with `kind`",
)


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
        with `[agents]`: resources that the adversary may buy
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
    holds: Annotated[tuple[str, ...] | None, distinct("resource given twice"), _WITH_LISTS] = None
    buys: Annotated[
        tuple[str, ...], Field(max_length=_MOST_PURCHASES), distinct("resource given twice"), _IN_ROUNDS
    ] = ()
    budget: Annotated[Money | None, _IN_ROUNDS] = None
    selection: Annotated[Literal["best", "random"], _IN_ROUNDS] = "best"
    accuracy: Annotated[Part, _IN_ROUNDS] = 1.0
    expected_accuracy: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, _IN_ROUNDS] = None
    experience: Annotated[Positive, with_key("expected_accuracy"), _IN_ROUNDS] = 10.0
    weight: Share = 1.0

    @model_validator(mode="after")
    def _equipped_consistently(self) -> Self:
        both = [name for name in self.buys if name in (self.holds or ())]
        without_budget = self.selection == "random" and self.budget is None
        return self.unless(
            (both, "resource both held and bought", "buys", None, both),
            (without_budget, "random selection needs a budget", "selection", "a budget"),
        )

    @property
    def amounts(self) -> dict[str, float]:
        """The adversary's own gain and cost, by name.

        A name is left out if the value of the section ``economics`` applies.
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


_OF_GAMES = frozenset(("gain", "cost", "holds", "weight"))


class WeightedAdversarySection(WeightedSection, AdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning.

    Attributes
    ----------
    holds
        lists in which the adversary looks people up; with `[agents]`, all resources that it has from the start
    """

    @model_validator(mode="after")
    def _knows_consistently(self) -> Self:
        both, problem = self.needs_resources, "not supported together with holds and buys"
        return self.unless(
            (both and self.knowledge is not None, problem, "knowledge", "either knowledge or resources"),
            (both and self.stages is not None, problem, "stages", "either stages or resources"),
        )


# Overlaps of attacks are computed for every subset of adversaries, so the work doubles with each adversary.
_MOST_ADVERSARIES = 10
# Weights are decimal numbers; their sum is 1 only up to rounding.
_ROUNDING = 1e-9


_WITH_ADVERSARIES = ReadIf(lambda section, scenario: bool(scenario.adversaries), "with [adversaries]")


class LearningSection(Section):
    """How the publisher learns which adversaries it faces.

    Attributes
    ----------
    prior
        prior belief of the publisher by adversary, as a number of earlier rounds with the adversary; default: 1 for
        each
    prior_absent
        with `together = "all"`: prior belief of the publisher by adversary, as a number of earlier rounds without the
        adversary; default: 1 for each
    noticed
        probability that the publisher notices an attack
    """

    prior: dict[str, Positive] = Field(default={})
    prior_absent: Annotated[
        dict[str, Positive],
        ReadIf(lambda section, scenario: scenario.agents.together == "all", 'with together = "all"'),
    ] = Field(default={})
    noticed: Share = 1.0


class AgentsSection(Section):
    """Repeated rounds between the publisher, adversaries and data subjects.

    Attributes
    ----------
    rounds
        number of rounds
    mode
        outcomes of attacks: expected values, or random draws
    draws
        with `mode = "sampling"`: number of repetitions of all rounds, with the same records
    together
        presence of adversaries: one adversary per round, drawn by weight, or each adversary independently with its own
        probability
    foresees
        facts that the publisher foresees: the resources that adversaries hold, or also their purchases and budgets
    tolerance
        smallest change of a believed weight after which the publisher plans again
    remembers
        whether adversaries keep earlier releases and link them
    enforcement
        detection, fines and exclusion of adversaries
    learning
        learning of the publisher about adversaries; default: the publisher knows the weights
    participation
        decision of data subjects to participate; default: all participate in every round
    """

    rounds: Annotated[int, Field(ge=1, le=10_000)] = 1
    mode: Literal["expectation", "sampling"] = "expectation"
    draws: Annotated[int, Field(ge=1, le=1_000_000), with_key("mode", "sampling")] = 1
    together: Annotated[Literal["one-of", "all"], _WITH_ADVERSARIES] = "one-of"
    foresees: Annotated[
        Literal["holdings", "plans"],
        ReadIf(
            lambda section, scenario: any(
                each.buys or each.budget is not None for each in scenario.adversaries.values()
            ),
            "with an adversary that has `buys` or a budget",
        ),
    ] = "holdings"
    tolerance: Annotated[Share, with_key("learning")] = 0.001
    remembers: Annotated[bool, ReadIf(lambda section, scenario: section.rounds > 1, "with more than one round")] = True
    enforcement: Enforcement = Enforcement()
    learning: Annotated[LearningSection | None, _WITH_ADVERSARIES] = None
    participation: ParticipationRule | None = None


@contextmanager
def naming_adversary(name: str | None) -> Iterator[None]:
    """Make errors about an adversary name its section ``adversaries.NAME``.

    These are errors whose key is ``adversary`` or below it, and errors without a file whose key is empty or a stage of
    the attack. Other errors, and all errors if `name` is None, are unchanged.
    """
    try:
        yield
    except InputError as error:
        where = error.where or ""
        in_attack = error.source is None and (not where or where.startswith("stage "))
        if name is None or not (where.partition(".")[0] == "adversary" or in_attack):
            raise
        below = f", {where}" if in_attack and where else where.removeprefix("adversary")
        raise error.but(where=f"adversaries.{name}{below}") from None


def check_adversaries(adversaries: Mapping[str, WeightedSection], agents: AgentsSection | None) -> None:
    """Check the names, weights and priors of the adversaries of a scenario.

    Names must differ from the columns of cross-play. Weights must sum to 1, except with ``agents.together = "all"``,
    where at least one must be positive. `agents` is the section about rounds, if the scenario has one.

    Raises
    ------
    InputError
        If a name, weight or prior is invalid; the message names the key.
    """
    if not adversaries:
        return
    n, total = len(adversaries), fsum(each.weight for each in adversaries.values())
    reserved = next((name for name in adversaries if name in (*opponent_names(), TOGETHER)), None)
    many, most = n > _MOST_ADVERSARIES and agents is not None, f"at most {_MOST_ADVERSARIES} in rounds of agents"
    is_wrong = abs(total - 1) > _ROUNDING and (agents is None or agents.together == "one-of")
    taken = "adversary name reserved for a column of cross-play"
    refuse_first(
        (reserved, taken, f"adversaries.{reserved}", None, "another name"),
        (total == 0, "no adversary of positive weight", "adversaries", None, "a weight above 0"),
        (many, "too many adversaries", "adversaries", n, most),
        (is_wrong, "weights of the adversaries do not sum to 1", "adversaries", total, "1"),
    )
    for key in ("prior", "prior_absent"):
        prior, where = getattr(getattr(agents, "learning", None), key, {}), f"agents.learning.{key}"
        require_among("no such adversary", prior, adversaries, where=where, otherwise="[adversaries]")
        lacking = next((name for name in adversaries if prior and name not in prior), None)
        refuse_first((lacking, "adversary without a prior", where, lacking, "a prior for all adversaries or for none"))


class PoliciesSection(Section):
    """Policies of a decision maker, and their parameters.

    Attributes
    ----------
    policies
        policies to compare, each named once
    parameters
        parameters of policies of your own, by the name of the policy
    """

    policies: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, dict[str, Any]] = Field(default={})

    @model_validator(mode="after")
    def _each_policy_once(self) -> Self:
        # Each k makes a separate policy with its own name, in all results.
        object.__setattr__(self, "policies", with_each_k(self.policies, getattr(self, "k", 1)))
        require_distinct("policy given twice", self.policies, where="policies")
        return self


class PublisherScenario(ScenarioHead):
    """A scenario in which a publisher moves first and an adversary responds.

    Attributes
    ----------
    game
        kind of scenario
    economics
        true payoff parameters
    beliefs
        values that the publisher believes in place of the true values
    adversary
        linkage and planning of the adversary
    adversaries
        with `[agents]`: named adversaries; a section `[adversary]` beside them gives their defaults
    publisher
        decisions of the publisher
    agents
        repeated rounds with several adversaries and data subjects who may leave
    """

    game: str
    economics: EconomicsSection
    beliefs: BeliefsSection = BeliefsSection()
    adversary: AdversarySection = AdversarySection()
    adversaries: dict[str, WeightedAdversarySection] = Field(default={})
    publisher: PoliciesSection
    agents: AgentsSection | None = None

    @model_validator(mode="after")
    def _has_adversary(self) -> Self:
        check_adversaries(self.adversaries, self.agents)
        holds, several = list(self.adversary.holds or ()), self.adversaries and self.agents is None
        problem = "this kind of scenario supports several adversaries only in rounds"
        return self.unless(
            (holds, "this kind of scenario has no resources", "adversary.holds", "no key holds", holds),
            (several, problem, "adversaries", "[adversary], or a section agents", None),
            *(
                (value != only, f'this {key} needs game = "tables"', f"{where}.{key}", only, value)
                for where, section in {"adversary": self.adversary, **self.every_adversary}.items()
                for key, only in (("direction", "record"), ("gains_from", "identity"))
                for value in [getattr(section, key)]
            ),
        )

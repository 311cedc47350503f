"""Schema of kinds in which a publisher plays against an adversary, and of repeated rounds.

Rounds have enforcement, learning and participation. Each kind adds its own sections.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.agents.profile import ParticipationRule
from reidsim.errors import InputError, refuse_first, require_among, require_distinct
from reidsim.scenarios.adversary_schema import (
    TOGETHER,
    AdversarySection,
    Positive,
    WeightedAdversarySection,
    WeightedSection,
    opponent_names,
)
from reidsim.scenarios.amounts import Money, Share
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.schema import BeliefsSection, EconomicsSection, ScenarioHead
from reidsim.validation import Section

# Overlaps of attacks are computed for every subset of adversaries, so the work doubles with each adversary.
_MOST_ADVERSARIES = 10
# Weights are decimal numbers; their sum is 1 only up to rounding.
_ROUNDING = 1e-9


_WITH_CONSEQUENCE = ReadIf(
    lambda section, scenario: (
        section.fine > 0
        or section.exclusion > 0
        or any(each.plans_sequentially for each in scenario.every_adversary.values())
    ),
    "with a fine, an exclusion, or an adversary with planner fmdp",
)
_WITH_ADVERSARIES = ReadIf(lambda section, scenario: bool(scenario.adversaries), "with [adversaries]")


class EnforcementSection(Section):
    """Detection of exploits, and the consequences for the adversary.

    Attributes
    ----------
    detection
        probability that an exploit is detected
    fine
        fine for a detected exploit
    exclusion
        number of rounds for which a detected adversary is excluded
    """

    detection: Annotated[Share, _WITH_CONSEQUENCE] = 0.0
    fine: Annotated[Money, with_key("detection")] = 0.0
    exclusion: Annotated[int, Field(ge=0, le=10_000), with_key("detection")] = 0


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
    enforcement: EnforcementSection = EnforcementSection()
    learning: Annotated[LearningSection | None, _WITH_ADVERSARIES] = None
    participation: ParticipationRule | None = None


def check_adversaries(adversaries: Mapping[str, WeightedSection], agents: AgentsSection | None) -> None:
    """Check the names and weights of the adversaries of a scenario, and the priors for them.

    Names must differ from the columns of cross-play. Weights must sum to 1, except with ``agents.together = "all"``,
    where at least one must be positive. `agents` is the section about rounds, if the scenario has one.

    Raises
    ------
    InputError
        If a name, weight or prior is invalid; the message names the key.
    """
    n, total = len(adversaries), fsum(each.weight for each in adversaries.values())
    is_one_of = n > 0 and (agents is None or agents.together == "one-of")
    many, most = n > _MOST_ADVERSARIES and agents is not None, f"at most {_MOST_ADVERSARIES} in rounds of agents"
    for name in (name for name in adversaries if name in (*opponent_names(), TOGETHER)):
        problem = "adversary name reserved for a column of cross-play"
        raise InputError(problem, where=f"adversaries.{name}", expected="another name")
    refuse_first(
        (n and total == 0, "no adversary of positive weight", "adversaries", None, "a weight above 0"),
        (many, "too many adversaries", "adversaries", n, most),
        (
            is_one_of and abs(total - 1) > _ROUNDING,
            "weights of the adversaries do not sum to 1",
            "adversaries",
            total,
            "1",
        ),
    )
    for key in ("prior", "prior_absent"):
        prior, where = getattr(None if agents is None else agents.learning, key, {}), f"agents.learning.{key}"
        require_among("no such adversary", prior, adversaries, where=where, otherwise="[adversaries]")
        lacking = next((name for name in adversaries if prior and name not in prior), None)
        refuse_first((lacking, "adversary without a prior", where, lacking, "a prior for all adversaries or for none"))


class PoliciesSection(Section):
    """The publisher's policies.

    Attributes
    ----------
    policies
        policies to compare, each named once
    """

    policies: Annotated[tuple[str, ...], Field(min_length=1)]

    def require_policies(self) -> None:
        """Check that at least one policy is listed, and no policy twice.

        Raises
        ------
        InputError
            If no policy is listed, or a policy is repeated; the message names the repeated policy.
        """
        self.refuse_if(not self.policies, "the list is empty", "policies", "at least one policy", found=[])
        require_distinct("policy given twice", self.policies, where="policies")


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
    def _has_adversary(self) -> PublisherScenario:
        holds, several = list(self.adversary.holds or ()), self.adversaries and self.agents is None
        self.refuse_if(holds, "this kind of scenario has no resources", "adversary.holds", "no key holds", found=holds)
        check_adversaries(self.adversaries, self.agents)
        problem = "this kind of scenario supports several adversaries only in rounds"
        self.refuse_if(several, problem, "adversaries", "[adversary], or a section agents", found=None)
        for where, section in {"adversary": self.adversary, **self.every_adversary}.items():
            for key, only in ("direction", "record"), ("gains_from", "identity"):
                value, problem = getattr(section, key), f'this {key} needs game = "tables"'
                self.refuse_if(value != only, problem, f"{where}.{key}", only, found=value)
        return self

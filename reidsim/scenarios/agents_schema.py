"""Schema of repeated rounds: enforcement, learning and participation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import fsum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, not_among, refuse_first
from reidsim.scenarios.adversary_schema import TOGETHER, Positive, WeightedSection, opponent_names
from reidsim.scenarios.amounts import Money, Share
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.validation import Section

# Overlaps of attacks are computed for every subset of adversaries, so the work doubles with each adversary.
_MOST_ADVERSARIES = 10
# Weights are decimal numbers; their sum is 1 only up to rounding.
_ROUNDING = 1e-9


def _is_felt(section: Any, scenario: Any) -> bool:
    """Return whether detection has a consequence.

    Consequences are a fine, exclusion, and the end of a sequential attack.
    """
    plans = (each.plans_sequentially for each in scenario.every_adversary.values())
    return section.fine > 0 or section.exclusion > 0 or any(plans)


_MATTERS = ReadIf(_is_felt, "with a fine, an exclusion, or an adversary with planner fmdp")
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

    detection: Annotated[Share, _MATTERS] = 0.0
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
    prior_absent: dict[str, Positive] = Field(default={})
    noticed: Share = 1.0


class ParticipationSection(Section):
    """Rule by which data subjects decide, before each round, whether to participate.

    A data subject participates if the reward is at least its harm times the risk that it expects.

    Attributes
    ----------
    reward
        benefit of a data subject from participation in one round
    harm
        mean harm to a data subject from one re-identification
    spread
        standard deviation of the logarithm of the harm, which is lognormal among data subjects; 0 for equal harm
    expected_risk
        probability of re-identification that data subjects expect before the first round
    learning_rate
        weight of the latest round in the expected risk; 0 keeps the first expectation
    hears
        probability that a data subject learns of the re-identifications in a round
    """

    reward: Money
    harm: Money
    spread: Annotated[float, Field(ge=0, le=10)] = 1.0
    expected_risk: Share = 0.0
    learning_rate: Share = 0.2
    hears: Share = 1.0


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
    draws: Annotated[int, Field(ge=1, le=1_000_000)] = 1
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
    participation: ParticipationSection | None = None

    @model_validator(mode="after")
    def _consistent(self) -> AgentsSection:
        is_wrong = self.mode == "expectation" and self.draws > 1
        self.refuse_if(is_wrong, 'all draws are equal with mode "expectation"', "draws", "1")
        absent = listed(self.learning.prior_absent) if self.learning is not None and self.together != "all" else ""
        problem = "prior_absent has no effect if an adversary attacks in every round"
        self.refuse_if(absent, problem, "learning.prior_absent", 'together = "all"', found=absent)
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
        where, is_reserved = f"adversaries.{name}", name in (*opponent_names(), TOGETHER)
        problem = "adversary name reserved for a column of cross-play"
        refuse_first((is_reserved, problem, where, None, "another name"))
        of_rounds = (*(("holds",) if section.holds is not None and not lists else ()), *section.of_rounds)
        where, expected = f"{where}.{next(iter(of_rounds), '')}", "this key only with a section agents"
        refuse_first((agents is None and of_rounds, "the key needs rounds of agents", where, None, expected))
    total, n = fsum(section.weight for section in adversaries.values()), len(adversaries)
    refuse_first((n and total == 0, "no adversary of positive weight", "adversaries", None, "a weight above 0"))
    if agents is not None:
        expected = f"at most {_MOST_ADVERSARIES} in rounds of agents"
        refuse_first((n > _MOST_ADVERSARIES, "too many adversaries", "adversaries", n, expected))
        if agents.learning is not None:
            _check_priors(agents.learning, adversaries)
    if n and abs(total - 1) > _ROUNDING and (agents is None or agents.together != "all"):
        raise InputError("weights of the adversaries do not sum to 1", where="adversaries", found=total, expected="1")


def _check_priors(learning: LearningSection, names: Collection[str]) -> None:
    """Check that each prior covers all adversaries of the scenario, or none."""
    for key in ("prior", "prior_absent"):
        prior, where = getattr(learning, key), f"agents.learning.{key}"
        for name in prior:
            if name not in names:
                raise not_among("no such adversary", name, names, where=f"{where}.{name}").but(found=None)
        lacking = next((name for name in names if prior and name not in prior), None)
        expected = "a prior for all adversaries or for none"
        refuse_first((lacking is not None, "adversary without a prior", where, lacking, expected))

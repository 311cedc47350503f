"""Schema of repeated rounds: enforcement, learning and participation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, nearest
from reidsim.scenarios.amounts import Money, Share
from reidsim.scenarios.equipment_schema import Positive
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.validation import Section

# Overlaps of attacks are computed for every subset of adversaries, so the work doubles with each adversary.
_MOST_ADVERSARIES = 10


def _is_felt(section: Any, scenario: Any) -> bool:
    """Return whether detection has a consequence.

    Consequences are a fine, exclusion, and the end of a sequential attack.
    """
    plans = (each.plans_sequentially for each in scenario.every_adversary.values())
    return section.fine > 0 or section.exclusion > 0 or any(plans)


_MATTERS = ReadIf(_is_felt, "with a fine, an exclusion, or an adversary with planner fmdp")
_WITH_ADVERSARIES = ReadIf(lambda section, scenario: bool(scenario.adversaries), "with [adversaries]")


class EnforcementSection(Section):
    """Detection of exploits, and the consequences for the adversary."""

    detection: Annotated[Share, _MATTERS] = Field(default=0.0, description="probability that an exploit is detected")
    fine: Annotated[Money, with_key("detection")] = Field(default=0.0, description="fine for a detected exploit")
    exclusion: Annotated[int, Field(ge=0, le=10_000), with_key("detection")] = Field(
        default=0, description="number of rounds for which a detected adversary is excluded"
    )


class LearningSection(Section):
    """How the publisher learns which adversaries it faces."""

    prior: dict[str, Positive] = Field(
        default={},
        description="prior belief of the publisher by adversary, as a number of earlier rounds with the "
        "adversary; default: 1 for each",
    )
    prior_absent: dict[str, Positive] = Field(
        default={},
        description='with `together = "all"`: prior belief of the publisher by adversary, as a number of '
        "earlier rounds without the adversary; default: 1 for each",
    )
    noticed: Share = Field(default=1.0, description="probability that the publisher notices an attack")

    def check_names(self, names: Collection[str]) -> None:
        """Check that each prior covers all adversaries of the scenario, or none.

        Raises
        ------
        InputError
            If a prior covers only some adversaries, or unknown ones; the message names the key.
        """
        for key in ("prior", "prior_absent"):
            prior, where = getattr(self, key), f"agents.learning.{key}"
            for name in prior:
                if name not in names:
                    raise InputError(
                        "no such adversary",
                        where=f"{where}.{name}",
                        expected=f"one of {listed(names)}",
                        hint=nearest(name, names),
                    )
            lacking = [name for name in names if prior and name not in prior]
            if lacking:
                raise InputError(
                    "adversary without a prior",
                    where=where,
                    found=lacking[0],
                    expected="a prior for all adversaries or for none",
                )


class ParticipationSection(Section):
    """When data subjects participate."""

    reward: Money = Field(description="benefit of a data subject from participation in one round")
    harm: Money = Field(description="mean harm to a data subject from one re-identification")
    spread: Annotated[float, Field(ge=0, le=10)] = Field(
        default=1.0,
        description="standard deviation of the logarithm of the harm, which is lognormal among data subjects; "
        "0 for equal harm",
    )
    expected_risk: Share = Field(
        default=0.0, description="probability of re-identification that data subjects expect before the first round"
    )
    learning_rate: Share = Field(
        default=0.2, description="weight of the latest round in the expected risk; 0 keeps the first expectation"
    )
    hears: Share = Field(
        default=1.0, description="probability that a data subject learns of the re-identifications in a round"
    )


class AgentsSection(Section):
    """Repeated rounds between the publisher, adversaries and data subjects."""

    rounds: Annotated[int, Field(ge=1, le=10_000)] = Field(default=1, description="number of rounds")
    mode: Literal["expectation", "sampling"] = Field(
        default="expectation", description="outcomes of attacks: expected values, or random draws"
    )
    draws: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description='with `mode = "sampling"`: number of repetitions of all rounds, with the same records'
    )
    together: Annotated[Literal["one-of", "all"], _WITH_ADVERSARIES] = Field(
        default="one-of",
        description="presence of adversaries: one adversary per round, drawn by weight, or each adversary "
        "independently with its own probability",
    )
    foresees: Annotated[
        Literal["holdings", "plans"],
        ReadIf(
            lambda section, scenario: any(
                each.buys or each.budget is not None for each in scenario.adversaries.values()
            ),
            "with an adversary that has `buys` or a budget",
        ),
    ] = Field(
        default="holdings",
        description="facts that the publisher foresees: the resources that adversaries hold, or also their "
        "purchases and budgets",
    )
    tolerance: Annotated[Share, with_key("learning")] = Field(
        default=0.001, description="smallest change of a believed weight after which the publisher plans again"
    )
    remembers: Annotated[bool, ReadIf(lambda section, scenario: section.rounds > 1, "with more than one round")] = (
        Field(
            default=True,
            description="whether adversaries keep earlier releases and link them",
        )
    )
    enforcement: EnforcementSection = Field(
        default=EnforcementSection(), description="detection, fines and exclusion of adversaries"
    )
    learning: Annotated[LearningSection | None, _WITH_ADVERSARIES] = Field(
        default=None,
        description="learning of the publisher about adversaries; default: the publisher knows the weights",
    )
    participation: ParticipationSection | None = Field(
        default=None, description="decision of data subjects to participate; default: all participate in every round"
    )

    @model_validator(mode="after")
    def _consistent(self) -> AgentsSection:
        if self.mode == "expectation" and self.draws > 1:
            raise InputError(
                'all draws are equal with mode "expectation"', where="draws", found=self.draws, expected="1"
            )
        if self.learning is not None:
            self._check_learning(self.learning)
        return self

    def check_adversaries(self, names: Collection[str]) -> None:
        """Check the number of adversaries and the names in their priors.

        Parameters
        ----------
        names : collection of str
            Names of the adversaries; empty for a scenario without named adversaries.

        Raises
        ------
        InputError
            If there are too many adversaries or a prior does not match them; the message names the key.
        """
        if len(names) > _MOST_ADVERSARIES:
            expected = f"at most {_MOST_ADVERSARIES} in rounds of agents"
            raise InputError("too many adversaries", where="adversaries", found=len(names), expected=expected)
        if self.learning is not None:
            self.learning.check_names(names)

    def _check_learning(self, learning: LearningSection) -> None:
        if self.together != "all" and learning.prior_absent:
            raise InputError(
                "prior_absent has no effect if an adversary attacks in every round",
                where="learning.prior_absent",
                found=listed(learning.prior_absent),
                expected='together = "all"',
            )

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


_MATTERS = ReadIf(_is_felt, "with a fine, exclusion or an adversary of planner fmdp")
_WITH_ADVERSARIES = ReadIf(lambda section, scenario: bool(scenario.adversaries), "with [adversaries]")


class EnforcementSection(Section):
    """Detection of exploits, and the consequences for the adversary."""

    detection: Annotated[Share, _MATTERS] = Field(default=0.0, description="probability that an exploit is detected")
    fine: Annotated[Money, with_key("detection")] = Field(default=0.0, description="fine for a detected exploit")
    exclusion: Annotated[int, Field(ge=0, le=10_000), with_key("detection")] = Field(
        default=0, description="rounds for which a detected adversary is excluded by contract"
    )


class LearningSection(Section):
    """How the publisher learns which adversaries it faces."""

    prior: dict[str, Positive] = Field(
        default={},
        description="adversary = attackers, or rounds with it, in the first belief; 1 each if not given",
    )
    prior_absent: dict[str, Positive] = Field(
        default={},
        description='with together = "all": adversary = rounds without it that the first belief counts as; 1 of each '
        "if not given",
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
                        "no such adversary", where=f"{where}.{name}", expected=f"one of {listed(names)}",
                        hint=nearest(name, names),
                    )  # fmt: skip
            lacking = [name for name in names if prior and name not in prior]
            if lacking:
                raise InputError("adversary without a prior", where=where, found=lacking[0], expected="all or none")


class ParticipationSection(Section):
    """When data subjects participate."""

    reward: Money = Field(description="worth of participating in a round to a subject")
    harm: Money = Field(description="mean harm of a re-identification to a subject")
    spread: Annotated[float, Field(ge=0, le=10)] = Field(
        default=1.0, description="standard deviation of the logarithm of harm"
    )
    expected_risk: Share = Field(default=0.0, description="initially expected probability of re-identification")
    learning_rate: Share = Field(default=0.2, description="weight of the latest round in expectations")
    hears: Share = Field(default=1.0, description="probability of hearing of a round's re-identifications")


class AgentsSection(Section):
    """Repeated rounds between the publisher, adversaries and data subjects."""

    rounds: Annotated[int, Field(ge=1, le=10_000)] = Field(default=1, description="rounds played")
    mode: Literal["expectation", "sampling"] = Field(
        default="expectation", description="expected outcomes, or drawn ones"
    )
    draws: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="of sampling: repetitions of all rounds with the same records"
    )
    together: Annotated[Literal["one-of", "all"], _WITH_ADVERSARIES] = Field(
        default="one-of",
        description="one adversary per round, drawn by weight; or each is present with its probability",
    )
    foresees: Annotated[
        Literal["holdings", "plans"],
        ReadIf(
            lambda section, scenario: any(
                each.buys or each.budget is not None for each in scenario.adversaries.values()
            ),
            "with an adversary that has buys or a budget",
        ),
    ] = Field(
        default="holdings",
        description="whether the publisher foresees what adversaries hold, or also what they will buy and can afford",
    )
    tolerance: Annotated[Share, with_key("learning")] = Field(
        default=0.001, description="smallest change of a belief that makes the publisher replan"
    )
    remembers: Annotated[bool, ReadIf(lambda section, scenario: section.rounds > 1, "with rounds above 1")] = Field(
        default=True,
        description="whether adversaries keep earlier releases",
    )
    enforcement: EnforcementSection = Field(default=EnforcementSection(), description="detection, fines, exclusion")
    learning: Annotated[LearningSection | None, _WITH_ADVERSARIES] = Field(
        default=None, description="how the publisher learns; without it, it knows the weights"
    )
    participation: ParticipationSection | None = Field(
        default=None, description="when data subjects take part; without it, always"
    )

    @model_validator(mode="after")
    def _consistent(self) -> AgentsSection:
        if self.mode == "expectation" and self.draws > 1:
            raise InputError("expected outcomes are the same every time", where="draws", found=self.draws, expected="1")
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
                "rounds without an adversary tell nothing if one comes every round",
                where="learning.prior_absent", found=listed(learning.prior_absent), expected='together = "all"',
            )  # fmt: skip

"""Schema of kinds in which a publisher plays against an adversary.

Each kind adds its own sections.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from reidsim.errors import InputError, require_distinct
from reidsim.scenarios.adversary_schema import AdversarySection, WeightedAdversarySection
from reidsim.scenarios.agents_schema import AgentsSection, check_adversaries
from reidsim.scenarios.schema import BeliefsSection, EconomicsSection, ScenarioHead
from reidsim.validation import Section


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
        if not self.policies:
            raise InputError("the list is empty", where="policies", found=[], expected="at least one policy")
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
    def _holds_nothing(self) -> PublisherScenario:
        if self.adversary.holds:
            raise InputError(
                "this kind of scenario has no resources",
                where="adversary.holds",
                found=list(self.adversary.holds),
                expected="no key holds",
            )
        return self

    @model_validator(mode="after")
    def _somebody_attacks(self) -> PublisherScenario:
        check_adversaries(self.adversaries, self.agents)
        if self.adversaries and self.agents is None:
            raise InputError(
                "this kind of scenario supports several adversaries only in rounds",
                where="adversaries",
                expected="[adversary], or [adversaries] with a section agents",
            )
        return self

    @model_validator(mode="after")
    def _looks_rows_up(self) -> PublisherScenario:
        """Refuse adversary keys that only kind ``tables`` supports.

        The schema of a kind that supports these keys overrides this method.
        """
        for where, section in {"adversary": self.adversary, **self.every_adversary}.items():
            if section.looks_up:
                raise InputError(
                    'this direction needs game = "tables"',
                    where=f"{where}.direction",
                    found=section.direction,
                    expected="record",
                )
            if section.gains_from != "identity":
                raise InputError(
                    'sensitive values need game = "tables"',
                    where=f"{where}.gains_from",
                    found=section.gains_from,
                    expected="identity",
                )
        return self

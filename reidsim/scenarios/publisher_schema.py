"""Schema of kinds in which a publisher plays against an adversary.

Each kind adds its own sections.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from reidsim.errors import refuse_first, require_distinct
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
        problem, holds = "this kind of scenario has no resources", list(self.adversary.holds or ())
        self.refuse_if(holds, problem, "adversary.holds", "no key holds", found=holds)
        check_adversaries(self.adversaries, self.agents)
        problem = "this kind of scenario supports several adversaries only in rounds"
        expected = "[adversary], or [adversaries] with a section agents"
        self.refuse_if(self.adversaries and self.agents is None, problem, "adversaries", expected, found=None)
        for where, section in {"adversary": self.adversary, **self.every_adversary}.items():
            by_direction, by_value = 'this direction needs game = "tables"', 'sensitive values need game = "tables"'
            gains, direction = section.gains_from, section.direction
            refuse_first(
                (section.looks_up, by_direction, f"{where}.direction", direction, "record"),
                (gains != "identity", by_value, f"{where}.gains_from", gains, "identity"),
            )
        return self

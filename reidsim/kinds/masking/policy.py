"""The interface of a policy of data subjects who mask, and the registry of these policies."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from reidsim.games.defenders.defender import Game
from reidsim.games.masking.several_adversaries import without_inference
from reidsim.games.record_game import Choice
from reidsim.scenarios.given import OwnPolicy, policy_among
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.policy import ANONYMITY_PATTERN, Policies, Policy

WHERE = "subjects.policies"
Search = Literal["scenario", "greedy", "anytime"]
_LAST = 100


class MaskingPolicy(Policy):
    """A policy of data subjects who mask.

    Attributes
    ----------
    search : {"scenario", "greedy", "anytime"}, optional
        Solver of a policy that compares strategies: the scenario's, or a fixed one.
    takes_best : bool
        Whether the choice is optimal among strategies that do not depend on payoff parameters, by an exact solver.
    masks : bool
        Whether the policy decides attribute by attribute, so that a map of its strategies is informative.
    row : int, optional
        Position among the rows of cross-play; not played if None.
    """

    search: ClassVar[Search | None] = None
    takes_best: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    row: ClassVar[int | None] = _LAST

    @property
    def without_inference(self) -> bool:
        """Whether the policy is played and paid against an adversary who infers nothing."""
        return self.in_another_game

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game, without inference for two policies."""
        return self.played_in(game)

    def played_in(self, game: Game) -> Game:
        """Return the game in which the policy chooses."""
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(OwnPolicy, MaskingPolicy):
    """A policy of a user in a masking scenario."""


# In the order of figures: baselines before games.
POLICIES: Policies[MaskingPolicy] = Policies("reidsim.kinds.masking.policies")


def policy_named(name: str) -> MaskingPolicy:
    """Return a policy by its name; a name that the package does not have is a user's."""
    return policy_among(POLICIES, OwnMaskingPolicy, name, WHERE)


def cross_play_policies() -> list[str]:
    """Return the policies that cross-play compares, in the order of rows."""
    rows = {name: policy.row for name, policy in POLICIES.items() if policy.row is not None}
    return sorted(rows, key=rows.__getitem__)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]

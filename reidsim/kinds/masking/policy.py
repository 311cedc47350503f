"""Define the interface and the registry of policies of data subjects who mask."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from reidsim.games.defenders.defender import Game
from reidsim.games.masking.several_adversaries import without_inference
from reidsim.games.record_game import Choice
from reidsim.scenarios.policy import ANONYMITY_PATTERN, Policies, Policy
from reidsim.scenarios.python_objects import OwnPolicy
from reidsim.scenarios.user_defined import PartName

WHERE = "subjects.policies"
Search = Literal["scenario", "greedy", "anytime"]
_LAST = 100


class MaskingPolicy(Policy):
    """A policy of data subjects who mask.

    Attributes
    ----------
    search : {"scenario", "greedy", "anytime"}, optional
        Solver of a policy that compares strategies: the scenario's solver, or a fixed one.
    takes_best : bool
        Whether the policy finds, by an exact solver, the best of a set of strategies that does not depend on payoff
        parameters.
    masks : bool
        Whether the policy decides attribute by attribute, so that a map of its strategies is informative.
    row : int, optional
        Position among the rows of cross-play; None if cross-play omits the policy.
    """

    search: ClassVar[Search | None] = None
    takes_best: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    row: ClassVar[int | None] = _LAST

    @property
    def without_inference(self) -> bool:
        """Whether the policy faces an adversary without inference."""
        return self.in_another_game

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game that determines the policy's payoffs.

        For policies with `in_another_game`, the adversary makes no inferences.
        """
        return self.played_in(game)

    def played_in(self, game: Game) -> Game:
        """Return the game in which the policy chooses."""
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(OwnPolicy, MaskingPolicy):
    """A user-defined policy in a masking scenario."""


# In the order of figures: baselines before games.
POLICIES: Policies[MaskingPolicy] = Policies("reidsim.kinds.masking.policies")


def policy_named(name: str) -> MaskingPolicy:
    """Return a policy by name; a name outside the registry is a user-defined policy."""
    return POLICIES[name] if name in POLICIES else OwnMaskingPolicy(name, WHERE)


def cross_play_policies() -> list[str]:
    """Return the policies that cross-play compares, in the order of rows."""
    rows = {name: policy.row for name, policy in POLICIES.items() if policy.row is not None}
    return sorted(rows, key=rows.__getitem__)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]

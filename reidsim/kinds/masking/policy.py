"""The class and the registry of policies in masking scenarios."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from reidsim.games.defenders.defender import Game
from reidsim.games.masking.opponents import without_inference
from reidsim.games.record_game import Choice
from reidsim.scenarios.policy import ANONYMITY_PATTERN, Policies, Policy
from reidsim.scenarios.python_objects import OwnPolicy
from reidsim.scenarios.registry import PartName

WHERE = "subjects.policies"
Solver = Literal["scenario", "greedy", "anytime"]


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

    search: ClassVar[Solver | None] = None
    takes_best: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    row: ClassVar[int | None] = 100

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game that determines the policy's payoffs.

        For policies with `in_another_game`, the adversary makes no inferences.
        """
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(OwnPolicy, MaskingPolicy):
    """A user-defined policy in a masking scenario."""


# In the order of figures: baselines before games.
POLICIES: Policies[MaskingPolicy] = Policies()


def policy_named(name: str) -> MaskingPolicy:
    """Return a policy by name; a name outside the registry is a user-defined policy."""
    return POLICIES[name] if name in POLICIES else OwnMaskingPolicy(name, WHERE)


def cross_play_policies() -> list[str]:
    """Return the policies that cross-play compares, in the order of rows."""
    rows = {name: policy.row for name, policy in POLICIES.items() if policy.row is not None}
    return sorted(rows, key=rows.__getitem__)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]

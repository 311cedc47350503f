"""The planner ``one-shot``."""

from __future__ import annotations

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.planners.base import (
    AMOUNTS_BY_RECORD,
    EXPECTED_PAYOFF,
    GAINS,
    INFERENCES,
    SINGLE_ATTEMPT,
    Planner,
    planners,
)


@planners.register("one-shot")
class OneShot(Planner):
    """One attempt per record if expected gain exceeds cost; see `OneShotAdversary`."""

    label = "the one-shot adversary"
    provides = frozenset({EXPECTED_PAYOFF, SINGLE_ATTEMPT, INFERENCES, GAINS, AMOUNTS_BY_RECORD})
    adversary = OneShotAdversary

"""Baseline planners that compute no payoffs: ``always``, ``never`` and ``random``."""

from __future__ import annotations

from typing import Any

from reidsim.adversaries.planners.base import (
    AMOUNTS_BY_RECORD,
    EVERYBODY,
    GAINS,
    INFERENCES,
    Amount,
    Planner,
    Register,
    planners,
)
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks


@planners.register("always")
class Always(Planner):
    """Attack on every record."""

    label = "the adversary who attacks every record"
    provides = frozenset({INFERENCES, GAINS, AMOUNTS_BY_RECORD})
    adversary = AlwaysAttacks


@planners.register("never")
class Never(Planner):
    """Attack on no record."""

    label = "the adversary who attacks no record"
    provides = frozenset({INFERENCES, AMOUNTS_BY_RECORD})
    adversary = NeverAttacks


@planners.register("random")
class Random(Planner):
    """Attack on each record with the same probability."""

    label = "the adversary who attacks at random"
    provides = frozenset({INFERENCES, GAINS, AMOUNTS_BY_RECORD})
    keys = ("rate",)

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> Adversary:
        """Return the adversary who attacks each record with the section's rate."""
        return RandomAttacks(gain, cost, section.rate)

"""What a kind of scenario can solve for many points at once; nothing, if it does not say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reidsim.scenarios.study import AmountPoints


class ManyPoints:
    """Whether points of a sweep, or amounts of money, take less than a run each; see `Kind`."""

    def amounts_at_once(self, scenario: Any, keys: Sequence[str]) -> bool:
        """Tell whether points of these keys take milliseconds each, by `amount_points`."""
        return False

    def plans_under_amounts(self, scenario: Any) -> bool:
        """Tell whether studies of a scenario have `amount_points`."""
        return False

    def amount_points(self, study: Any) -> AmountPoints | None:
        """Return what plans a study under any amounts of money; None if the kind cannot."""
        return None

    def takes_best(self, scenario: Any, policy: str) -> bool:
        """Tell whether a policy takes the best of plans that are the same whatever sharing brings and costs."""
        return False

    def largest_group(self, study: Any) -> int | None:
        """Return among how many people a record may hide, where attacks depend on that whole number alone; else None.

        An attack then pays if the gain, divided by the number of people, exceeds the cost.
        """
        return None

    def points_at_once(self, scenario: Any, keys: Sequence[str]) -> int:
        """Return how many points of these keys are best solved together; 1 if each is on its own."""
        return 1

"""Where the best policy changes along an amount: as tables, in a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from reidsim.engine.results import Result

INTERVAL_COLUMNS = (
    "low", "high", "policy", "best", "gain_low", "gain_high", "publisher_payoff_low", "publisher_payoff_high",
    "utility", "share_attacked", "risk",
)  # fmt: skip
SWITCH_COLUMNS = ("value", "precision", "below", "above", "best_below", "best_above", "times_own")
# Between the names of policies that pay the same.
TOGETHER = ", "


@dataclass(frozen=True, eq=False)
class SwitchResult(Result):
    """Where the policy that pays the publisher most changes along one amount.

    Parameters
    ----------
    name : str
        Scenario.
    key : str
        The amount.
    own : float
        What the scenario says it is.
    link_gain : bool
        Whether the adversary's gain is the loss at each point.
    intervals : DataFrame
        One row per interval of the amount; columns `INTERVAL_COLUMNS`. ``best`` are the policies that pay most, several
        if they pay the same; ``policy`` the one of them with the least risk. Payoffs are its own at both ends, utility,
        share attacked and risk those at the middle. ``policy`` is empty where nothing was settled.
    switches : DataFrame
        One row per value at which the best policies change; columns `SWITCH_COLUMNS`. ``precision`` is 0 where the
        value is exact; ``times_own`` is its ratio to what the scenario says.
    lines : DataFrame
        What policies pay at the values that were tried: ``value``, ``policy``, ``publisher_payoff``.
    manifest : dict
    warnings : tuple of str
    """

    name: str
    key: str
    own: float
    link_gain: bool
    intervals: pd.DataFrame
    switches: pd.DataFrame
    lines: pd.DataFrame
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"SwitchResult({self.name!r}: {self.key}, {len(self.switches)} switches)"

    @property
    def best_now(self) -> str:
        """The policy at the scenario's own value; empty where that is outside the range, or was not settled."""
        inside = (self.intervals["low"] <= self.own) & (self.own <= self.intervals["high"])
        found = self.intervals.loc[inside, "policy"]
        return str(found.iloc[0]) if len(found) else ""

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return its tables."""
        return {"switches": self.switches, "intervals": self.intervals, "lines": self.lines}

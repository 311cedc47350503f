"""Whose releases pay most as the loss grows: the releases of a run and the attacks on them, and the loss another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from reidsim.scenarios.policy import Policy

# The expected loss of each policy in manifests of runs.
FACT = "expected_losses"


class Stretch(NamedTuple):
    """Losses between which the releases of one policy pay most."""

    low: float
    high: float
    policy: str


@dataclass(frozen=True)
class ReleasesByLoss:
    """Which releases pay most at which loss.

    Parameters
    ----------
    kept : mapping of str to float
        By policy: payoff per record if nothing were lost.
    slopes : mapping of str to float
        By policy: what each unit of the loss takes away.
    own : float
        The scenario's loss; 1 where it differs by record, as losses are then told in times of what they are.
    in_times : bool
        Whether they are.
    """

    kept: Mapping[str, float]
    slopes: Mapping[str, float]
    own: float
    in_times: bool

    @property
    def stretches(self) -> list[Stretch]:
        """From a loss of 0 without end; of policies that pay the same, the one that loses less comes first."""
        kept, slopes = self.kept, self.slopes
        best = max(kept, key=lambda policy: (kept[policy], -slopes[policy]))
        found: list[Stretch] = []
        low = 0.0
        while True:
            crossings = {
                other: (kept[best] - kept[other]) / (slopes[best] - slopes[other])
                for other in kept
                if slopes[other] < slopes[best]
            }
            if not crossings:
                return [*found, Stretch(low, math.inf, best)]
            following = min(crossings, key=lambda other: (crossings[other], slopes[other]))
            if crossings[following] > low:
                found.append(Stretch(low, crossings[following], best))
            low, best = crossings[following], following

    def of(self, policy: str) -> Stretch | None:
        """Return where a policy's releases pay most, or others that pay the same; None if nowhere."""
        line = self.kept[policy], self.slopes[policy]
        return next(
            (each for each in self.stretches if (self.kept[each.policy], self.slopes[each.policy]) == line), None
        )

    def lines(self, high: float) -> pd.DataFrame:
        """Return what each policy's releases pay at a loss of 0 and at `high`."""
        rows = [
            (loss, policy, kept - loss * self.slopes[policy])
            for policy, kept in self.kept.items()
            for loss in (0, high)
        ]
        return pd.DataFrame(rows, columns=["value", "policy", "publisher_payoff"])


def loss_text(loss: float) -> str:
    """Write a loss: whole where it is large, else with three digits."""
    return f"{loss:,.0f}" if loss >= 100 else f"{loss:.3g}"


def releases_by_loss(
    summary: pd.DataFrame, manifest: Mapping[str, Any], policies: Mapping[str, Policy]
) -> ReleasesByLoss | None:
    """Return which releases of a run pay most at which loss.

    Parameters
    ----------
    summary : DataFrame
        Measures by policy.
    manifest : mapping
        What made the run.
    policies : mapping of str to Policy
        Those of its kind.

    Returns
    -------
    ReleasesByLoss or None
        None where the run does not tell what was lost, where nothing is, or there is no choice.
    """
    expected = manifest.get(FACT)
    if not isinstance(expected, Mapping) or summary.index.name != "policy":
        return None
    names = [name for name in map(str, summary.index) if name not in policies or not policies[name].in_another_game]
    if len(names) < 2 or not all(isinstance(expected.get(name), int | float) for name in names):
        return None
    lost = {name: float(expected[name]) for name in names}
    if math.isnan(sum(lost.values())) or not any(lost.values()):
        return None
    kept = {name: float(summary["publisher_payoff"][name] + lost[name]) for name in names}
    loss = manifest["content"].get("economics", {}).get("loss")
    same = isinstance(loss, int | float) and all(
        math.isclose(lost[name], loss * float(summary["risk"][name]), rel_tol=1e-9, abs_tol=1e-9) for name in names
    )
    own = float(loss) if same else 1.0
    return ReleasesByLoss(kept, {name: lost[name] / own for name in names}, own, not same)

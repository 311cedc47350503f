"""Smallest errors about the adversary's cost or gain that expose a safe record.

The publisher plans under its beliefs. A record is safe if, under these beliefs, the adversary would not attack it
under the plan. The plan is kept while the true cost is lowered (to the breaking cost) or the true gain raised (to the
breaking gain), until the first safe record is attacked. With one-shot attacks, this is the safe record with the highest
success probability.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.study import AmountPoints, Plan

COLUMNS = ("policy", "parameter", "believed", "breaking", "error", "relative_error", "share_safe")
# Limits of the search for a bracket (doublings reach from cents to 10^15) and of the bisection (to the last digits).
_DOUBLINGS, _HALVINGS = 64, 80


def breaking_cost(success: float, believed: EconomicsSection) -> float:
    """Return the cost below which a one-shot attack on a safe record pays.

    `success` is the attack's success probability. The cost is in currency units per attack and at most the believed
    cost. NaN in place of 0: the attack would not even pay at cost 0, or the believed cost is 0.
    """
    return min(believed.adversary_gain * success, believed.cost) or np.nan


def breaking_gain(success: float, believed: EconomicsSection) -> float:
    """Return the gain above which a one-shot attack on a safe record pays.

    `success` is the attack's success probability, above 0. The gain is in currency units per re-identification and at
    least the believed gain.
    """
    return max(believed.cost / success, believed.adversary_gain)


def switch_point(attacked: Callable[[float], bool], safe: float, exposed: float) -> float:
    """Return the value between `safe` and `exposed` at which attacks begin.

    It is found by bisection, to the last digits. An attack occurs at the returned value.

    Parameters
    ----------
    attacked : callable
        Returns whether there is an attack at a value; must change exactly once between the two values.
    safe, exposed : float
        A value without attack and a value with attack.
    """
    for _ in range(_HALVINGS):
        middle = (safe + exposed) / 2
        if middle in (safe, exposed):
            break
        if attacked(middle):
            exposed = middle
        else:
            safe = middle
    return exposed


def guarantee_table(points: AmountPoints, policies: tuple[str, ...], believed: EconomicsSection) -> pd.DataFrame:
    """Return each policy's smallest error about cost or gain that exposes a record.

    The record is one that the publisher considers safe.

    Parameters
    ----------
    points : AmountPoints
    policies : tuple of str
    believed : EconomicsSection
        Payoff parameters under which the publisher plans.

    Returns
    -------
    DataFrame
        Two rows per policy (``parameter`` is ``cost`` or ``gain``): ``believed``, the believed value; ``breaking``, the
        value beyond which (a lower cost, a higher gain) a safe record is attacked while the other parameter is as
        believed; ``error``, breaking minus believed; ``relative_error``, the error divided by the believed value
        (missing if that is 0); and ``share_safe``, the share of records that the publisher expects not to be attacked.
        ``breaking`` and both errors are missing if no error exposes a record: no record is considered safe, or none of
        the safe records could be attacked. Amounts are in currency units.
    """
    rows, weights = [], points.study.world(0).weights
    for policy in policies:
        plan = points.plan(policy, believed)
        if plan.one_shot_success is None:
            share, cost, gain = _by_bisection(plan, weights, believed)
        else:
            share, cost, gain = _of_one_shot(plan.one_shot_success, weights, believed)
        for parameter, value, breaking in (("cost", believed.cost, cost), ("gain", believed.adversary_gain, gain)):
            error = breaking - value
            relative = error / value if value > 0 else np.nan
            rows.append((policy, parameter, value, breaking, error, relative, share))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_one_shot(success: Floats, weights: Counts, believed: EconomicsSection) -> tuple[float, float, float]:
    """Return share of safe records, breaking cost and breaking gain.

    The adversary makes one-shot attacks. `success` is the success probability of an attack on each row of the game,
    `weights` its number of records.
    """
    safe = ~(believed.adversary_gain * success > believed.cost * (1 + INDIFFERENCE))
    share = float(np.average(safe, weights=weights))
    highest = float(success[safe].max(initial=0.0))
    if highest == 0:
        return share, np.nan, np.nan
    return share, breaking_cost(highest, believed), breaking_gain(highest, believed)


def _by_bisection(plan: Plan, weights: Counts, believed: EconomicsSection) -> tuple[float, float, float]:
    """Return share of safe records, breaking cost and breaking gain, by bisection.

    This works against any adversary. Attacks of the adversary must increase as the cost decreases or the gain
    increases.
    """
    safe = ~plan.equilibrium(believed).attacked
    share = float(np.average(safe, weights=weights))

    def attacked_at(parameter: str, value: float) -> bool:
        # A gain that is not stated would be set equal to the loss.
        changed = {"gain": believed.adversary_gain, parameter: value}
        equilibrium = plan.equilibrium(believed.model_copy(update=changed))
        return bool((equilibrium.attacked & safe).any())

    cost = gain = np.nan
    if attacked_at("cost", 0.0):
        cost = switch_point(lambda value: attacked_at("cost", value), believed.cost, 0.0)
    high = max(believed.adversary_gain, 1.0)
    for _ in range(_DOUBLINGS):
        high *= 2
        if attacked_at("gain", high):
            gain = switch_point(lambda value: attacked_at("gain", value), believed.adversary_gain, high)
            break
    return share, cost, gain

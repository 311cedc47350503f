"""How wrong a publisher may be about the adversary before records it takes for safe are attacked.

Strategies are planned under the publisher's belief. Of the records that are then not attacked, the one most worth
an attack decides: a true cost below its breaking cost, or a true gain above its breaking gain, makes it pay.
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
# Doublings and halvings of a bracket: from cents to 10^15, and then to the last digits.
_DOUBLINGS, _HALVINGS = 64, 80


def breaking_cost(success: float, believed: EconomicsSection) -> float:
    """Return the cost below which a one-shot attack on a safe record pays, at most the cost believed in.

    Missing if the attack would not pay for nothing.
    """
    return min(believed.adversary_gain * success, believed.cost) or np.nan


def breaking_gain(success: float, believed: EconomicsSection) -> float:
    """Return the gain above which a one-shot attack on a safe record pays, at least the gain believed in."""
    return max(believed.cost / success, believed.adversary_gain)


def switch_point(attacked: Callable[[float], bool], safe: float, exposed: float) -> float:
    """Return where attacks set in between a value without and one with them, by bisection.

    Parameters
    ----------
    attacked : callable
        Whether there is an attack at a value; changes once between the two values.
    safe, exposed : float
        Values without and with attack.
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
    """Work out the smallest error about the adversary's cost and gain that breaks each policy's promise.

    Parameters
    ----------
    points : AmountPoints
    policies : tuple of str
    believed : EconomicsSection
        Under which the publisher plans.

    Returns
    -------
    DataFrame
        Two rows per policy (``parameter`` is ``cost`` or ``gain``): the value ``believed``; the value ``breaking``
        beyond which (a lower cost, a higher gain) a record taken for safe is attacked, the other parameter being as
        believed; ``error``, breaking minus believed; ``relative_error``, as a share of the value believed; and
        ``share_safe``, of records that the publisher expects not to be attacked. Missing if no error breaks it: no
        record is taken for safe, or none could be attacked.
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
    """Return the share of records taken for safe, breaking cost and breaking gain."""
    safe = ~(believed.adversary_gain * success > believed.cost * (1 + INDIFFERENCE))
    share = float(np.average(safe, weights=weights))
    highest = float(success[safe].max(initial=0.0))
    if highest == 0:
        return share, np.nan, np.nan
    return share, breaking_cost(highest, believed), breaking_gain(highest, believed)


def _by_bisection(plan: Plan, weights: Counts, believed: EconomicsSection) -> tuple[float, float, float]:
    """Return the same for any adversary, whose attacks set in as the cost falls or the gain grows."""
    safe = ~plan.equilibrium(believed).attacked
    share = float(np.average(safe, weights=weights))

    def attacked_at(parameter: str, value: float) -> bool:
        # The gain is stated, so that it does not go with the loss.
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

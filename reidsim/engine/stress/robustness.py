"""Robustness of policies over parameter points: worst case, quantile and regret.

Payoffs are arrays of shape (n_policies, n_points), one column per point of the uncertainty set, with equal weights. If
a payoff is missing at a point (a failed run), the point is ignored for all policies, so that policies are compared on
the same points. Points with all payoffs are called complete.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Payoffs that differ by less than this fraction of the largest payoff count as equal.
_SAME = 1e-12


def complete_points(payoffs: Floats) -> NDArray[np.bool_]:
    """Return whether every policy has a payoff at each point, shape (n_points,)."""
    return np.asarray(np.isfinite(payoffs).all(axis=0))


def regret(payoffs: Floats) -> Floats:
    """Return the regret of each policy at each point: the best payoff minus its own.

    The result has the same shape as `payoffs`. Regrets are never negative, and 0 for the best policy. They are missing
    at points that are not complete.
    """
    behind = payoffs.max(axis=0) - payoffs
    behind[:, ~complete_points(payoffs)] = np.nan
    return np.asarray(behind)


def best_policies(payoffs: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the best policy at each point, and its margin over the second best.

    Returns
    -------
    best : ndarray of int64, shape (n_points,)
        Index of the policy (the first of equally good ones); -1 at points that are not complete.
    margin : ndarray of float64, shape (n_points,)
        Payoff of the best minus payoff of the second-best policy; 0 if several policies are equally good. Missing if
        there is only one policy or a payoff is missing.
    """
    n_policies, n_points = payoffs.shape
    complete = complete_points(payoffs)
    known = np.where(complete, payoffs, 0.0)
    top = known.max(axis=0)
    alike = known >= top - _SAME * np.abs(known).max(axis=0)
    best = np.where(complete, alike.argmax(axis=0), -1)
    if n_policies == 1:
        return best, np.full(n_points, np.nan)
    margin = np.where(alike.sum(axis=0) > 1, 0.0, top - np.sort(known, axis=0)[-2])
    return best, np.where(complete, margin, np.nan)


def robustness_table(policies: list[str], payoffs: Floats, quantile: float) -> pd.DataFrame:
    """Rank policies by their payoffs and regrets over all points.

    Parameters
    ----------
    policies : list of str
    payoffs : ndarray of float64, shape (n_policies, n_points)
        Publisher's payoff per record.
    quantile : float
        Level of ``quantile_payoff``, in [0, 1].

    Returns
    -------
    DataFrame
        One row per policy: ``mean_payoff``, ``worst_payoff``, ``quantile_payoff`` (the smallest payoff that a share
        `quantile` of the points does not exceed), ``mean_regret``, ``largest_regret``, ``share_best`` (share of points
        at which no policy has a higher payoff) and ``points`` (number of complete points). The columns ``maximin``,
        ``minimax_regret`` and ``quantile_best`` mark the first policy with the best value of the criterion. Values are
        missing if no point is complete.
    """
    complete = complete_points(payoffs)
    known = payoffs[:, complete]
    n_points = int(complete.sum())
    if n_points == 0:
        blank = np.full(len(policies), np.nan)
        mean = worst = low = mean_regret = largest = share = blank
    else:
        behind = regret(known)
        mean, worst = known.mean(axis=1), known.min(axis=1)
        low = np.quantile(known, quantile, axis=1, method="inverted_cdf")
        mean_regret, largest = behind.mean(axis=1), behind.max(axis=1)
        share = (behind <= _SAME * np.abs(known).max(axis=0)).mean(axis=1)
    return pd.DataFrame(
        {
            "policy": policies,
            "mean_payoff": mean,
            "worst_payoff": worst,
            "quantile_payoff": low,
            "mean_regret": mean_regret,
            "largest_regret": largest,
            "share_best": share,
            "points": n_points,
            "maximin": _first(worst, n_points),
            "minimax_regret": _first(-largest, n_points),
            "quantile_best": _first(low, n_points),
        }
    )


def _first(values: Floats, n_points: int) -> NDArray[np.bool_]:
    """Return a mask of the first largest value; all False if there is no point."""
    marked = np.zeros(len(values), dtype=np.bool_)
    if n_points:
        marked[int(np.argmax(values))] = True
    return marked

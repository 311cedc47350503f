"""Maximum-likelihood fit of the precision of logit decisions to observed attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.rationality import logit_choice
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Quantile of the standard normal distribution for a two-sided 95 % interval.
_NORMAL_95 = 1.959963984540054
# Relative tolerance of the root search, close to the resolution of float64.
_TOLERANCE = 1e-15


@dataclass(frozen=True)
class PrecisionFit:
    """Fitted precision of logit decisions.

    Parameters
    ----------
    precision : float
        Estimate of lambda, per unit of worth.
    standard_error : float
        Standard error from the Fisher information; NaN if the precision is 0, the boundary of the parameter space.
    low, high : float
        95 % interval by the normal approximation, cut at 0; NaN without a standard error.
    log_likelihood : float
        Log-likelihood of the decisions at the fitted precision.
    decisions : int
        Number of observed decisions.
    against : int
        Number of decisions against the payoff: unprofitable attacks made, and profitable attacks not made.
    """

    precision: float
    standard_error: float
    low: float
    high: float
    log_likelihood: float
    decisions: int
    against: int


def fitted_precision(worth: Floats, attacked: NDArray[np.bool_]) -> PrecisionFit:
    """Return the maximum-likelihood estimate of the precision.

    The log-likelihood is the sum of ``-log(1 + exp(-lambda m))``, where m is the payoff of the observed decision less
    the payoff of the other decision. It is concave in lambda. Its maximum is above 0 if the decisions follow the payoff
    overall (the sum of all m is above 0) but not always (some m is below 0). If the decisions follow the payoff no
    better than coin tosses overall, the maximum is at 0.

    Parameters
    ----------
    worth : ndarray of float64, shape (n,)
        Expected payoff of attacking, as the adversary believes; the payoff of not attacking is 0.
    attacked : ndarray of bool, shape (n,)
        Whether the adversary attacked.

    Returns
    -------
    PrecisionFit

    Raises
    ------
    InputError
        If all payoffs are 0, or if no decision is against the payoff, so that the likelihood has no maximum.
    """
    margin = np.where(attacked, worth, -worth)
    against = int((margin < 0).sum())
    if not (worth != 0).any():
        raise InputError(
            "no precision can be estimated from these decisions",
            found=f"{len(worth)} decisions",
            expected="decisions with a positive or negative payoff",
        )
    if not against:
        raise InputError(
            "every decision follows the payoff, so the likelihood has no maximum",
            found=f"{len(worth)} decisions without an error",
            expected='some decisions against the payoff, or rationality = "perfect"',
        )
    precision = _highest(margin) if margin.sum() > 0 else 0.0
    chance = logit_choice(worth, precision)
    error = float(1.0 / np.sqrt((worth**2 * chance * (1.0 - chance)).sum())) if precision > 0 else np.nan
    return PrecisionFit(
        precision,
        error,
        max(precision - _NORMAL_95 * error, 0.0) if precision > 0 else np.nan,
        precision + _NORMAL_95 * error,
        float(-np.logaddexp(0.0, -precision * margin).sum()),
        len(worth),
        against,
    )


def _highest(margin: Floats) -> float:
    """Return the root of the log-likelihood's slope, which decreases from above 0."""

    def slope(precision: float) -> float:
        return float((margin * logit_choice(-margin, precision)).sum())

    low, high = 0.0, 1.0 / float(np.abs(margin).max())
    while slope(high) > 0:
        low, high = high, 2.0 * high
    return float(scipy.optimize.brentq(slope, low, high, xtol=high * _TOLERANCE, rtol=_TOLERANCE))

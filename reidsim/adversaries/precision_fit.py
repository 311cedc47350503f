"""Fitting the precision of logit decisions to observed attacks, by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.rationality import logit_choice
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Quantile of the normal distribution for an interval of 95 %.
_NORMAL_95 = 1.959963984540054
# Relative; close to what float64 can tell apart.
_TOLERANCE = 1e-15


@dataclass(frozen=True)
class PrecisionFit:
    """A precision of logit decisions, as fitted.

    Parameters
    ----------
    precision : float
        lambda, per unit of worth.
    standard_error : float
        From the Fisher information; NaN where the precision is 0, at the edge of what is possible.
    low, high : float
        Interval of 95 %, by the normal approximation, from 0 on; NaN where there is no standard error.
    log_likelihood : float
        Of the decisions at that precision.
    decisions : int
        How many decisions were observed.
    against : int
        How many of them were against the payoff: attacks that do not pay, or none where one does.
    """

    precision: float
    standard_error: float
    low: float
    high: float
    log_likelihood: float
    decisions: int
    against: int


def fitted_precision(worth: Floats, attacked: NDArray[np.bool_]) -> PrecisionFit:
    """Return the precision under which observed decisions are likeliest.

    The log-likelihood, the sum of ``-log(1 + exp(-lambda m))`` with m the worth of what was done over what was not, is
    concave in lambda. It has a maximum above 0 if decisions follow the worth on the whole (the sum of all m is above 0)
    but not always (some m is below 0). If they follow it on the whole no better than coins, the maximum is at 0.

    Parameters
    ----------
    worth : ndarray of float64, shape (n,)
        What attacking was worth to the adversary, against 0 for not attacking.
    attacked : ndarray of bool, shape (n,)

    Returns
    -------
    PrecisionFit

    Raises
    ------
    InputError
        If no decision mattered, or none was against the payoff, so that no precision is too high.
    """
    margin = np.where(attacked, worth, -worth)
    against = int((margin < 0).sum())
    if not (worth != 0).any():
        raise InputError(
            "decisions from which no precision can be estimated", found=f"{len(worth)} decisions",
            expected="some where attacking is worth more or less than not attacking",
        )  # fmt: skip
    if not against:
        raise InputError(
            "every decision follows the payoff, so the higher the precision the better it fits", found=f"{len(worth)} "
            "decisions without an error", expected="some errors, or rationality = \"perfect\"",
        )  # fmt: skip
    precision = _highest(margin) if margin.sum() > 0 else 0.0
    chance = logit_choice(worth, precision)
    error = float(1.0 / np.sqrt((worth**2 * chance * (1.0 - chance)).sum())) if precision > 0 else np.nan
    return PrecisionFit(
        precision, error, max(precision - _NORMAL_95 * error, 0.0) if precision > 0 else np.nan,
        precision + _NORMAL_95 * error, float(-np.logaddexp(0.0, -precision * margin).sum()), len(worth), against,
    )  # fmt: skip


def _highest(margin: Floats) -> float:
    """Return where the slope of the log-likelihood, which falls from above 0, is 0."""

    def slope(precision: float) -> float:
        return float((margin * logit_choice(-margin, precision)).sum())

    low, high = 0.0, 1.0 / float(np.abs(margin).max())
    while slope(high) > 0:
        low, high = high, 2.0 * high
    return float(scipy.optimize.brentq(slope, low, high, xtol=high * _TOLERANCE, rtol=_TOLERANCE))

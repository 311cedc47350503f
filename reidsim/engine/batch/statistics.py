"""Statistics of repeated runs: means with confidence intervals, quantiles, paired differences, runs still needed.

Runs form a table of points (draws of uncertain parameters) by replications (draws of everything else); replication *r*
has the same draws at every point and under every policy. A mean over both has the error of either: its variance is
taken as the variance of the point means over the number of points, plus that of the replication means over the number
of replications (crossed random effects; rather too large than too small), with the degrees of freedom of Welch and
Satterthwaite. With one replication the interval holds the uncertainty of the parameters alone, with one point that of
the other draws alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEVEL = 0.95
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


class MeanInterval(NamedTuple):
    """Means and what is known about them; arrays of the same shape, NaN where there is nothing to tell.

    Parameters
    ----------
    mean : ndarray of float64
    standard_error : ndarray of float64
    low, high : ndarray of float64
        Bounds of the confidence interval.
    n : ndarray of int64
        Runs that have a value.
    """

    mean: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def mean_interval(values: Floats, level: float = LEVEL) -> MeanInterval:
    """Return the mean of runs with its confidence interval.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_points, n_replications)
        NaN for runs without a value, which are left out.
    level : float
        Of confidence.
    """
    from scipy.special import stdtrit

    everything = values.reshape(*values.shape[:-2], values.shape[-2] * values.shape[-1])
    mean, _, n = _moments(everything)
    errors, degrees = np.zeros(mean.shape), np.zeros(mean.shape)
    for axis in (-1, -2):
        # Means over the one leave the draws of the other.
        part, _, count = _moments(np.moveaxis(values, axis, -1))
        usable = np.where(count > 0, part, np.nan)
        _, variance, draws = _moments(usable)
        share = np.where(draws > 1, variance / np.maximum(draws, 1), 0.0)
        errors += share
        degrees += np.where(draws > 1, share**2 / np.maximum(draws - 1, 1), 0.0)
    known = n > 1
    standard_error = np.where(known, np.sqrt(errors), np.nan)
    freedom = np.where(degrees > 0, errors**2 / np.where(degrees > 0, degrees, 1.0), 1.0)
    half = stdtrit(freedom, (1 + level) / 2) * standard_error
    return MeanInterval(mean, standard_error, mean - half, mean + half, n)


def paired_difference(first: Floats, second: Floats, level: float = LEVEL) -> MeanInterval:
    """Return the mean of ``first - second``, run by run, with its confidence interval.

    Since both have the same random draws in the same run, what these have in common cancels out.

    Parameters
    ----------
    first, second : ndarray of float64, shape (..., n_points, n_replications)
        Runs in which either has no value are left out.
    level : float
    """
    return mean_interval(first - second, level)


def required_replications(values: Floats, half_width: float | Floats, level: float = LEVEL) -> Floats:
    """Return how many runs make the interval of the mean as narrow as wanted, by the spread of those at hand.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_runs)
        Independent runs; NaN for those without a value.
    half_width : float or ndarray of float64
        Wanted distance from the mean to either bound of the interval, above 0.
    level : float

    Returns
    -------
    ndarray of float64
        At least 2; NaN if there are fewer than two runs, or the half-width is not above 0.
    """
    from scipy.special import ndtri, stdtrit

    _, variance, n = _moments(np.asarray(values, dtype=np.float64))
    share = (1 + level) / 2
    wanted = np.broadcast_to(np.asarray(half_width, dtype=np.float64), variance.shape)
    usable = (n > 1) & (wanted > 0)
    scaled = np.where(usable, variance, 0.0) / np.where(usable, wanted, 1.0) ** 2
    # Student's t needs the number itself, so start below and go up until it suffices.
    needed = np.maximum(np.ceil(ndtri(share) ** 2 * scaled), 2.0)
    for _ in range(50):
        next_needed = np.maximum(np.ceil(stdtrit(needed - 1, share) ** 2 * scaled), 2.0)
        lacking = next_needed > needed
        if not lacking.any():
            break
        # Small steps where t changes fast, so that the smallest number is found.
        needed = np.where(lacking, np.minimum(next_needed, np.maximum(needed + 1, np.floor(needed * 1.02))), needed)
    return np.where(usable, needed, np.nan)


def error_of_estimates(errors: Floats) -> Floats:
    """Return the standard error that the mean of runs has because each of their values is itself an estimate.

    Replications are estimated from draws of their own. Points of the same replication share theirs, so that their
    errors may all go the same way: they are added up, which is rather too much than too little.

    Parameters
    ----------
    errors : ndarray of float64, shape (..., n_points, n_replications)
        Standard error of each run's value, 0 where it is exact; NaN for runs without a value, which are left out.

    Returns
    -------
    ndarray of float64
        NaN where no run has a value.
    """
    known = np.isfinite(errors)
    n = known.sum(axis=(-2, -1))
    by_replication = np.where(known, errors, 0.0).sum(axis=-2)
    return np.where(n > 0, np.sqrt((by_replication**2).sum(axis=-1)) / np.maximum(n, 1), np.nan)


def quantiles(values: Floats, shares: Any) -> Floats:
    """Return quantiles of runs, interpolated between neighbours; NaN where no run has a value.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_runs)
        NaN for runs without a value, which are left out.
    shares : sequence of float
        Each in [0, 1].

    Returns
    -------
    ndarray of float64, shape (n_shares, ...)
    """
    ordered = np.sort(values, axis=-1)
    n = np.isfinite(ordered).sum(axis=-1)
    found = []
    for share in shares:
        place = share * np.maximum(n - 1, 0)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(n - 1, 0))
        low, high = (np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0] for at in (below, above))
        found.append(low + (place - below) * (high - low))
    return np.array(found)


def _moments(values: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return mean, variance (of a sample) and number of the finite values along the last axis."""
    finite = np.isfinite(values)
    n = finite.sum(axis=-1)
    kept = np.where(finite, values, 0.0)
    mean = kept.sum(axis=-1) / np.maximum(n, 1)
    spread = (np.where(finite, values - mean[..., None], 0.0) ** 2).sum(axis=-1)
    variance = np.where(n > 1, spread / np.maximum(n - 1, 1), np.nan)
    return np.where(n > 0, mean, np.nan), variance, n

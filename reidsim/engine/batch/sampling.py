"""Points drawn from the distributions of uncertain parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.random_streams import random_stream
from reidsim.scenarios import design_schema as schema

Floats = NDArray[np.float64]


def draw_points(section: schema.UncertaintySection, seed: int) -> pd.DataFrame:
    """Draw points of the uncertain parameters.

    Parameters
    ----------
    section : UncertaintySection
    seed : int
        Root seed; the points come from its stream ``uncertainty``.

    Returns
    -------
    DataFrame
        One row per point, one column per key path.

    Raises
    ------
    InputError
        If the correlations are not consistent.
    """
    keys = list(section.parameters)
    rng = random_stream(seed, "uncertainty")
    shares = spread(section.method, section.samples, len(keys), rng)
    if section.correlations:
        correlation = correlation_matrix(keys, section.correlations)
        correlated = np.flatnonzero((correlation != 0).sum(axis=0) > 1)
        shares[:, correlated] = correlate(shares[:, correlated], correlation[np.ix_(correlated, correlated)], rng)
    columns = {key: quantiles(section.parameters[key], shares[:, number]) for number, key in enumerate(keys)}
    return pd.DataFrame(columns)


def spread(method: str, n: int, n_parameters: int, rng: np.random.Generator) -> Floats:
    """Return `n` points strictly inside the unit cube, shape (n, n_parameters).

    The method is ``latin-hypercube``, ``sobol`` (scrambled sequence) or ``random`` (independent uniform points).
    """
    from scipy.stats import qmc

    if method == "sobol":
        shares = qmc.Sobol(n_parameters, scramble=True, seed=rng).random(n)
    elif method == "latin-hypercube":
        shares = qmc.LatinHypercube(n_parameters, seed=rng).random(n)
    else:
        shares = rng.random((n, n_parameters))
    # Some distributions have no finite quantile at levels 0 and 1.
    return np.clip(np.asarray(shares, dtype=np.float64), 2.0**-53, 1 - 2.0**-53)


def quantiles(distribution: schema.Distribution, shares: Floats) -> NDArray[Any]:
    """Return quantiles of a distribution.

    Parameters
    ----------
    distribution : Distribution
    shares : ndarray of float64
        Levels of the quantiles, strictly between 0 and 1.

    Returns
    -------
    ndarray
        float64; int64 (rounded) for distributions of integers; the listed values, as objects, for a discrete
        distribution.
    """
    if isinstance(distribution, schema.Discrete):
        weights = np.ones(len(distribution.values)) if distribution.weights is None else np.array(distribution.weights)
        bounds = np.cumsum(weights / weights.sum())
        at = np.minimum(np.searchsorted(bounds, shares, side="right"), np.flatnonzero(weights)[-1])
        chosen = [distribution.values[number] for number in at.tolist()]
        values = np.empty(len(chosen), dtype=object)
        values[:] = [round(value) for value in chosen] if distribution.whole else chosen
        return values
    low, high = (
        default if bound is None else float(bound)
        for bound, default in ((distribution.low, -np.inf), (distribution.high, np.inf))
    )
    found = np.clip(_continuous(distribution, low, high, shares), low, high)
    return np.rint(found).astype(np.int64) if distribution.whole else found


def _continuous(distribution: Any, low: float, high: float, shares: Floats) -> Floats:
    from scipy import stats

    match distribution:
        case schema.Uniform():
            return low + (high - low) * shares
        case schema.LogUniform():
            found = stats.loguniform.ppf(shares, low, high)
        case schema.Triangular(mode=mode):
            found = stats.triang.ppf(shares, (mode - low) / (high - low), low, high - low)
        case schema.Beta(a=a, b=b):
            found = stats.beta.ppf(shares, a, b, low, high - low)
        case schema.Normal(mean=mean, sd=sd):
            found = stats.truncnorm.ppf(shares, (low - mean) / sd, (high - mean) / sd, mean, sd)
        case _:
            with np.errstate(divide="ignore"):
                ends = (np.log([max(low, 0.0), high]) - np.log(distribution.median)) / distribution.sigma
            found = np.exp(stats.truncnorm.ppf(shares, *ends, np.log(distribution.median), distribution.sigma))
    return np.asarray(found, dtype=np.float64)


def correlation_matrix(keys: list[str], correlations: tuple[schema.CorrelationSection, ...]) -> Floats:
    """Return the matrix of Spearman correlations of all parameters.

    The result has shape (n_parameters, n_parameters).
    """
    matrix = np.eye(len(keys))
    for correlation in correlations:
        first, second = (keys.index(key) for key in correlation.keys)
        matrix[first, second] = matrix[second, first] = correlation.rank
    return matrix


def correlate(shares: Floats, correlation: Floats, rng: np.random.Generator) -> Floats:
    """Reorder each column to get rank correlations (Iman & Conover 1982).

    The correlations of the result approximate `correlation`; the approximation is better for more points. The set of
    values of each column is unchanged, so that a Latin hypercube stays one.

    Parameters
    ----------
    shares : ndarray of float64, shape (n, n_parameters)
    correlation : ndarray of float64, shape (n_parameters, n_parameters)
        Spearman correlations.
    rng : Generator

    Raises
    ------
    InputError
        If the correlations are not consistent, or there are too few points to reach them.
    """
    from scipy.special import ndtri

    n, n_parameters = shares.shape
    # Normal variables with rank correlation r have the (Pearson) correlation 2 sin(pi r / 6).
    of_scores = 2 * np.sin(np.pi * correlation / 6)
    if np.linalg.eigvalsh(of_scores).min() < 1e-9:
        where, expected = "uncertainty.correlations", "a positive definite matrix"
        raise InputError("correlations are inconsistent", where=where, expected=expected)
    if n <= 2 * n_parameters:
        problem, expected = "too few samples for correlated parameters", f"more than {2 * n_parameters} samples"
        raise InputError(problem, where="uncertainty.samples", found=n, expected=expected)
    scores = np.asarray(ndtri(np.arange(1, n + 1) / (n + 1)))
    shuffled = np.column_stack([rng.permutation(scores) for _ in range(n_parameters)])
    found = np.linalg.cholesky(np.corrcoef(shuffled, rowvar=False))
    target = shuffled @ np.linalg.inv(found).T @ np.linalg.cholesky(of_scores).T
    ranks = np.argsort(np.argsort(target, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(shares, axis=0), ranks, axis=0)

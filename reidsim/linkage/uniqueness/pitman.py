"""Pitman's sampling formula, for group sizes with a long tail (Hoshino 2001)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable, sample_is_population
from reidsim.linkage.uniqueness.likely_region import LikelyRegion, peaks
from reidsim.linkage.uniqueness.pitman_likelihood import (
    PitmanLikelihood,
    probability_of_staying_unique,
    uniques_given_sample,
)

# Grid of the profile likelihood before refinement: evenly spaced in a, and geometrically in b = 1 - a close to 0.
_EVEN = 20
_PER_DECADE = 4
_SMALLEST_B = 1e-14


@dataclass(frozen=True)
class PitmanFit:
    """The maximum-likelihood parameters.

    Parameters
    ----------
    theta, a : float
        Parameters with 0 <= a < 1 and theta > -a; theta is infinite if every record of the sample is unique.
    log_likelihood : float
        Maximum log-likelihood, without the factor that does not depend on the parameters.
    on_boundary : bool
        Whether a = 0, which is Ewens's formula.
    """

    theta: float
    a: float
    log_likelihood: float
    on_boundary: bool


def pitman_uniqueness(
    frequencies: GroupFrequencies, population_size: int, *, level: float = 0.95
) -> UniquenessEstimate:
    """Estimate population uniqueness by maximum likelihood under Pitman's formula.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample; records must be drawn independently of their group.
    population_size : int
        Number of people in the population, including the sample.
    level : float
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    UniquenessEstimate
        Expected uniques are conditional on the sample's groups (see `uniques_given_sample`); they converge to the
        sample's uniques as the sample becomes the population.
        The intervals reach from the smallest to the largest value among all parameters whose log-likelihood is within
        half the quantile of chi-square (1 degree of freedom) of the largest: profile likelihood. They describe
        uncertainty of the parameters, not the random composition of the population.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is one record of a larger
        population, or the level is not between 0 and 1.

    Notes
    -----
    When a = 0 fits best, the region of likely parameters is cut off there and keeps its quantile, so the interval
    has at least its nominal coverage. Among equally likely parameters, the smallest a is taken: 0 when every
    record is unique (theta is then infinite, and all people unique) or when all are in one group (theta is then 0).
    """
    require_usable(frequencies, population_size, level)
    if frequencies.records == population_size:
        return sample_is_population("pitman", frequencies)
    likelihood = PitmanLikelihood(frequencies)
    fit = fit_pitman(frequencies)
    b = 1 - fit.a
    tau = likelihood.best_tau(b)

    def staying(log_b: float, tau: float) -> float:
        return probability_of_staying_unique(tau, math.exp(log_b), frequencies.records, population_size)

    def uniques(log_b: float, tau: float) -> float:
        return uniques_given_sample(tau, math.exp(log_b), frequencies, population_size)

    log_b = math.log(b)
    region = LikelyRegion(
        lambda log_b: likelihood.profile(math.exp(log_b)),
        lambda log_b, floor: likelihood.tau_range(math.exp(log_b), floor),
        grid=[math.log(b) for b in _grid()],
        best=log_b,
        drop=float(scipy.stats.chi2.ppf(level, 1)) / 2,
    )
    return UniquenessEstimate.of_sample(
        "pitman",
        frequencies,
        population_size,
        (uniques(log_b, tau), *region.extremes(uniques)),
        (staying(log_b, tau), *region.extremes(staying)),
        level=level,
        parameters={"theta": fit.theta, "a": fit.a},
        note=_note(frequencies, fit),
    )


def fit_pitman(frequencies: GroupFrequencies) -> PitmanFit:
    """Find the parameters of largest likelihood, for a sample of at least two records.

    The profile likelihood in a is evaluated on a grid over [0, 1), so that the global maximum is found; it is a root of
    the derivative, or a = 0.

    Raises
    ------
    InputError
        If the sample is one record.
    """
    if frequencies.records < 2:
        raise InputError("too few records for an estimate", found=1, expected="at least two records")
    likelihood = PitmanLikelihood(frequencies)
    candidates = [1.0]
    if 1 < frequencies.groups < frequencies.records:
        # The slope is in a, which falls as b ascends.
        candidates += peaks(lambda b: -likelihood.profile_slope(b), _grid(), xtol=1e-15, rtol=1e-14)
    b = max(candidates, key=likelihood.profile)
    tau = likelihood.best_tau(b)
    return PitmanFit(theta=tau - (1 - b), a=1 - b, log_likelihood=likelihood.at(tau, b), on_boundary=b == 1)


def _grid() -> list[float]:
    """Return values of b = 1 - a, ascending to 1 (a = 0)."""
    decades = math.ceil(-math.log10(_SMALLEST_B * _EVEN))
    geometric = np.geomspace(_SMALLEST_B, 1 / _EVEN, _PER_DECADE * decades, endpoint=False)
    return [*geometric.tolist(), *np.linspace(1 / _EVEN, 1, _EVEN).tolist()]


def _note(frequencies: GroupFrequencies, fit: PitmanFit) -> str:
    if frequencies.groups == frequencies.records:
        return "every record of the sample is unique: only the lower limits are informative"
    if frequencies.groups == 1:
        return "all records of the sample are in one group: only the upper limits are informative"
    notes = ["no record of the sample is unique"] if frequencies.uniques == 0 else []
    if fit.on_boundary:
        notes.append("a = 0 fits best; the estimate equals Ewens's formula")
    return "; ".join(notes)

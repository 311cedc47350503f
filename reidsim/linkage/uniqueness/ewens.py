"""Ewens's sampling formula: Pitman's with a = 0.

The number of groups then grows with the logarithm of the number of records.
"""

from __future__ import annotations

import math

import scipy

from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable, sample_is_population
from reidsim.linkage.uniqueness.pitman_likelihood import (
    PitmanLikelihood,
    probability_of_staying_unique,
    uniques_given_sample,
)


def ewens_uniqueness(frequencies: GroupFrequencies, population_size: int, *, level: float = 0.95) -> UniquenessEstimate:
    """Estimate population uniqueness by maximum likelihood under Ewens's formula.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample; the estimate depends only on its numbers of records, groups and uniques.
    population_size : int
        Number of people in the population, including the sample.
    level : float
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    UniquenessEstimate
        With n records and N people, theta makes the expected number of groups,
        ``theta (1 / theta + ... + 1 / (theta + n - 1))``, equal to the sample's number of groups. A record unique in
        the sample stays unique with probability ``(theta + n - 1) / (theta + N - 1)``; expected uniques are conditional
        on the sample's groups. Both rise with theta, so their intervals follow from the interval of theta: all theta
        for which twice the log-likelihood is within the quantile of chi-square (1 degree of freedom) of the maximum.
        If every record of the sample is unique, theta is infinite and all people are unique. If all records are in a
        single group, theta is 0.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is one record of a larger
        population, or the level is not between 0 and 1.
    """
    require_usable(frequencies, population_size, level)
    if frequencies.records == population_size:
        return sample_is_population("ewens", frequencies)
    likelihood = PitmanLikelihood(frequencies)
    theta = likelihood.best_tau(1.0)
    floor = likelihood.at(theta, 1.0) - float(scipy.stats.chi2.ppf(level, 1)) / 2
    thetas = (theta, *likelihood.tau_range(1.0, floor))
    staying = [probability_of_staying_unique(t, 1.0, frequencies.records, population_size) for t in thetas]
    uniques = [uniques_given_sample(t, 1.0, frequencies, population_size) for t in thetas]
    note = _note(frequencies, theta)
    return UniquenessEstimate.of_sample(
        "ewens", frequencies, population_size, uniques, staying, level=level, parameters={"theta": theta}, note=note
    )


def _note(frequencies: GroupFrequencies, theta: float) -> str:
    if math.isinf(theta):
        return "every record of the sample is unique: only the lower limits are informative"
    if theta == 0:
        return "all records of the sample are in one group: only the upper limits are informative"
    return "no record of the sample is unique" if frequencies.uniques == 0 else ""

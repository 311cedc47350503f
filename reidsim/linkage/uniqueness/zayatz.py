"""Zayatz's estimator of population uniqueness (Zayatz 1991).

It assumes that group sizes have the same distribution in the population as in the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.core.randomness import draw_multinomial
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import Found
from reidsim.linkage.uniqueness.likelihood import log_gamma_ratio

# Number of bootstrap samples.
REPLICATES = 1000


def zayatz(frequencies: GroupFrequencies, population_size: int, level: float, rng: np.random.Generator) -> Found:
    """Estimate population uniqueness by Bayes's rule over group sizes.

    The rule gives the probability of each possible size, in the population, of the group of a sample unique:
    ``P = S_1 h(1) / sum_j S_j h(j)``, where S_j groups of the sample have j records and h(j) is the hypergeometric
    probability that exactly one of j people is among the n drawn of N; expected uniques are ``S_1 P N / n``. The
    intervals are percentiles over samples whose groups are drawn from the sample's groups with replacement, with
    unchanged n and N. If all groups or no groups have a single record, resampling cannot move one limit of the
    interval; this limit is the value at which such a sample has probability ``(1 - level) / 2``. The intervals do
    not include the bias of using the sample's group sizes for the population.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of a sample of at least two records, drawn without replacement.
    population_size : int
        Number of people in the population, more than the sample.
    level : float
        Confidence level of the intervals.
    rng : numpy.random.Generator
        Random generator for the bootstrap.
    """
    records, groups = frequencies.records, frequencies.groups
    weights = _exactly_one_drawn(frequencies.sizes, records, population_size)
    unique = frequencies.sizes == 1
    shares = frequencies.frequencies / groups
    scale = population_size / records

    def estimates(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ones = counts @ (unique * weights)
        others = counts @ (~unique * weights)
        p = np.divide(ones, ones + others, out=np.zeros(len(counts)), where=ones > 0)
        return p, ones * p * scale

    p, uniques = (float(values[0]) for values in estimates(frequencies.frequencies[None, :]))
    drawn = estimates(draw_multinomial(rng, np.full(REPLICATES, groups), shares))
    tails = (1 - level) / 2, (1 + level) / 2
    (low, high), (uniques_low, uniques_high) = (np.quantile(values, tails).tolist() for values in drawn)
    note = ""
    if frequencies.uniques in (0, groups):
        # Largest population share of the missing kind of group at which the sample may still contain none.
        unseen = 1 - ((1 - level) / 2) ** (1 / groups)
        pairs = float(_exactly_one_drawn(np.array([2]), records, population_size)[0])
        if frequencies.uniques == groups:
            note = "every record of the sample is unique: only the lower limits are informative"
            low = (1 - unseen) / (1 - unseen + unseen * pairs)
            uniques_low = groups * (1 - unseen) * low * scale
        else:
            note = "no record of the sample is unique: only the upper limits are informative"
            high = unseen / (unseen + (1 - unseen) * float(shares @ weights))
            uniques_high = groups * unseen * high * scale
    return Found((uniques, uniques_low, uniques_high), (p, low, high), note=note)


def _exactly_one_drawn(sizes: NDArray[np.int64], records: int, population_size: int) -> NDArray[np.float64]:
    """Return h(j) / h(1), for the probability h(j) of drawing exactly one of j people."""
    others = sizes - 1.0
    left = population_size - records - others
    # Exactly one of j people can be drawn only if the others fit among the people who are not drawn.
    possible = left >= 0
    log_ratio = (
        np.log(sizes)
        + log_gamma_ratio(np.where(possible, left, 0.0) + 1, others)
        - log_gamma_ratio(population_size - others, others)
    )
    return np.asarray(np.where(possible, np.exp(np.where(possible, log_ratio, 0.0)), 0.0))

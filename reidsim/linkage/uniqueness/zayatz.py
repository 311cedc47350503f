"""Zayatz's estimator of population uniqueness (Zayatz 1991).

It assumes that group sizes have the same distribution in the population as in the sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.core.randomness import draw_multinomial
from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable, sample_is_population
from reidsim.linkage.uniqueness.sums import log_gamma_ratio

# Numbers drawn per batch, so that memory does not grow with the number of replicates.
_DRAWN_AT_ONCE = 10**6


def zayatz_uniqueness(
    frequencies: GroupFrequencies,
    population_size: int,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> UniquenessEstimate:
    """Estimate population uniqueness by Bayes's rule over group sizes.

    The rule gives the probability of each possible size, in the population, of the group of a sample unique.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample, which is drawn without replacement.
    population_size : int
        Number of people in the population, including the sample.
    rng : numpy.random.Generator
        Random generator for the bootstrap.
    level : float
        Confidence level of the intervals, between 0 and 1.
    replicates : int
        Number of bootstrap samples.

    Returns
    -------
    UniquenessEstimate
        ``P = S_1 h(1) / sum_j S_j h(j)``, where S_j groups of the sample have j records and h(j) is the hypergeometric
        probability that exactly one of j people is among the n drawn of N; expected uniques are ``S_1 P N / n``. The
        intervals are percentiles over samples whose groups are drawn from the sample's groups with replacement, with
        unchanged n and N. If all groups or no groups have a single record, resampling cannot move one limit of the
        interval; this limit is the value at which such a sample has probability ``(1 - level) / 2``. The intervals do
        not include the bias of using the sample's group sizes for the population.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is one record of a larger
        population, the level is not between 0 and 1, or there are no replicates.
    """
    require_usable(frequencies, population_size, level)
    if replicates < 1:
        raise InputError("too few bootstrap samples", where="replicates", found=replicates, expected="1 or more")
    if frequencies.records == population_size:
        return sample_is_population("zayatz", frequencies)
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
    drawn = [estimates(counts) for counts in _resampled(rng, groups, shares, replicates)]
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.quantile(np.concatenate([values for values, _ in drawn]), tails).tolist()
    uniques_low, uniques_high = np.quantile(np.concatenate([values for _, values in drawn]), tails).tolist()
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
    intervals = (uniques, uniques_low, uniques_high), (p, low, high)
    return UniquenessEstimate.of_sample("zayatz", frequencies, population_size, *intervals, level=level, note=note)


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


def _resampled(
    rng: np.random.Generator, groups: int, shares: NDArray[np.float64], replicates: int
) -> list[NDArray[np.int64]]:
    """Draw the frequencies of each bootstrap sample, in batches (n_samples, n_sizes).

    The draws do not depend on the size of the batches.
    """
    at_once = max(1, _DRAWN_AT_ONCE // len(shares))
    starts = range(0, replicates, at_once)
    return [draw_multinomial(rng, np.full(min(at_once, replicates - start), groups), shares) for start in starts]

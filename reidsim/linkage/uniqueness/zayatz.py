"""Zayatz's estimator: the population's group sizes are distributed like the sample's (Zayatz 1991)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable, sample_is_population
from reidsim.linkage.uniqueness.sums import log_gamma_ratio
from reidsim.random_counts import draw_multinomial

# Numbers drawn at a time, so that memory does not grow with replicates.
_DRAWN_AT_ONCE = 10**6


def zayatz_uniqueness(
    frequencies: GroupFrequencies,
    population_size: int,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    replicates: int = 1000,
) -> UniquenessEstimate:
    """Estimate population uniqueness by Bayes's rule over the sizes that a sample-unique's group may have.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Of the sample, drawn without replacement.
    population_size : int
        People in the population, the sample among them.
    rng : numpy.random.Generator
        Of the bootstrap.
    level : float
        Confidence level of the intervals.
    replicates : int
        Bootstrap samples.

    Returns
    -------
    UniquenessEstimate
        ``P = S_1 h(1) / sum_j S_j h(j)``, where S_j groups of the sample have j records and h(j) is the hypergeometric
        probability that exactly one of j people is among the n drawn of N; expected uniques are ``S_1 P N / n``. The
        intervals are percentiles over samples whose groups are drawn from the sample's with replacement, n and N
        staying; where all groups or none have a single record, the limit that resampling cannot move is the value
        at which that would still happen with probability ``(1 - level) / 2``. They exclude the bias of using the
        sample's sizes for the population's.

    Raises
    ------
    InputError
        If the population is smaller than the sample, the sample is one record, or there are no replicates.
    """
    require_usable(frequencies, population_size, level)
    if replicates < 1:
        raise InputError("no bootstrap samples", where="replicates", found=replicates, expected="1 or more")
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
        # Largest share of other groups of which the sample would still contain none.
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
    """Return h(j) / h(1): the probability of drawing exactly one of j people, relative to a single person."""
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
    """Draw the frequencies of each bootstrap sample, some samples at a time; the draws do not depend on how many."""
    at_once = max(1, _DRAWN_AT_ONCE // len(shares))
    starts = range(0, replicates, at_once)
    return [draw_multinomial(rng, np.full(min(at_once, replicates - start), groups), shares) for start in starts]

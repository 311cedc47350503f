"""The slide negative binomial model of group sizes (Chen & Keller-McNulty 1998).

A group has one person and a negative binomial number of others.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import digamma

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate, require_usable, sample_is_population
from reidsim.linkage.uniqueness.likely_region import LikelyRegion, peaks
from reidsim.linkage.uniqueness.sums import log_gamma_ratio

Floats = NDArray[np.float64]

# The search for log shape and log mean goes this far above 0, and this far below the logarithm of the sampling
# fraction; beyond, the model no longer changes.
_FARTHEST = 12.0


class SlideNegativeBinomial:
    """Likelihood of the sizes of groups in a sample, given that they are not 0.

    A group of the population has 1 + X people, with X negative binomial with a shape and a mean. Each person is in the
    sample with probability `fraction`. So the first person of a group is a record with this probability, and the number
    of other records is negative binomial with the same shape and with `fraction` times the mean, the seen mean.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample.
    fraction : float
        Sample size over population size, in (0, 1).
    """

    def __init__(self, frequencies: GroupFrequencies, fraction: float) -> None:
        self.fraction = fraction
        self.lowest = math.log(fraction) - _FARTHEST
        self._uniques, self._groups = frequencies.uniques, frequencies.groups
        self._counts = frequencies.frequencies.astype(np.float64)
        self._sizes = frequencies.sizes.astype(np.float64)
        self._others = self._sizes - 1
        self._log_factorials = float(self._counts @ log_gamma_ratio(1.0, self._others))
        self._all_others = float(self._counts @ self._others)

    def log_likelihood(self, shape: float, seen_mean: float) -> float:
        """Return the log-likelihood of the sample's group sizes."""
        log_none = -math.log1p(seen_mean / shape)
        return (
            float(self._counts @ (log_gamma_ratio(shape, self._others) + np.log(self._factor(shape, seen_mean))))
            - self._log_factorials
            + self._groups * shape * log_none
            + self._all_others * math.log(seen_mean / (shape + seen_mean))
            - self._groups * math.log1p(-(1 - self.fraction) * math.exp(shape * log_none))
        )

    def slopes(self, shape: float, seen_mean: float) -> tuple[float, float]:
        """Return the derivatives of the log-likelihood in log shape and in log seen mean."""
        total = shape + seen_mean
        log_none = -math.log1p(seen_mean / shape)
        ratio = (shape + self._others) / total
        of_factor = (1 - self.fraction) / self._sizes / total / self._factor(shape, seen_mean)
        by_shape = digamma(shape + self._others) - digamma(shape) + log_none + 1 - ratio
        by_mean = self._others / seen_mean - ratio
        unseen = (1 - self.fraction) * math.exp(shape * log_none)
        odds = self._groups * unseen / (1 - unseen)
        return (
            shape
            * float(
                self._counts @ (by_shape + of_factor * seen_mean * (1 - ratio)) + odds * (log_none + 1 - shape / total)
            ),
            seen_mean * float(self._counts @ (by_mean + of_factor * shape * ratio) - odds * shape / total),
        )

    def _factor(self, shape: float, seen_mean: float) -> Floats:
        """Return the factor of a group's first person in the likelihood.

        The first person is a record, or all records of the group are among the others.
        """
        one_more = seen_mean / (shape + seen_mean) * (shape + self._others) / self._sizes
        return self.fraction + (1 - self.fraction) * one_more

    def profile(self, log_shape: float) -> float:
        """Return the largest log-likelihood over the seen mean, given the log shape."""
        return self.log_likelihood(math.exp(log_shape), math.exp(self.best_log_mean(log_shape)))

    def profile_slope(self, log_shape: float) -> float:
        """Return the derivative of the profile in the logarithm of the shape."""
        return self.slopes(math.exp(log_shape), math.exp(self.best_log_mean(log_shape)))[0]

    def best_log_mean(self, log_shape: float) -> float:
        """Return the log of the maximum-likelihood seen mean, given the log shape.

        The result is cut off at the limits of the search.
        """
        shape = math.exp(log_shape)

        def slope(log_mean: float) -> float:
            return self.slopes(shape, math.exp(log_mean))[1]

        low = high = 0.0
        while low > self.lowest and slope(low) <= 0:
            low -= 2
        while high < _FARTHEST and slope(high) >= 0:
            high += 2
        if slope(low) <= 0:
            return low
        return high if slope(high) >= 0 else float(scipy.optimize.brentq(slope, low, high, xtol=1e-12))

    def log_mean_range(self, log_shape: float, floor: float) -> tuple[float, float]:
        """Return the range of log means with a log-likelihood of at least `floor`.

        The mean is the seen mean of the class. If no mean reaches `floor`, both ends of the range are the best log
        mean. The range is cut off near the limits of the search.
        """
        best, shape = self.best_log_mean(log_shape), math.exp(log_shape)

        def excess(log_mean: float) -> float:
            return self.log_likelihood(shape, math.exp(log_mean)) - floor

        if excess(best) <= 0:
            return best, best
        ends = []
        for step in (-1.0, 1.0):
            inside = outside = best
            while self.lowest - 1 < outside < _FARTHEST + 1 and excess(outside) > 0:
                inside, outside = outside, outside + step
            ends.append(
                outside if excess(outside) > 0 else float(scipy.optimize.brentq(excess, inside, outside, xtol=1e-10))
            )
        return ends[0], ends[1]

    def staying_unique(self, shape: float, seen_mean: float) -> float:
        """Return the probability that a sample unique is unique in the population."""
        # Shares of all groups: single people in the sample, and larger groups with a single record there.
        alone = self.fraction * self._alone(shape, seen_mean)
        none_of_others = math.exp(-shape * math.log1p(seen_mean / shape))
        one_of_others = (1 - self.fraction) * shape * seen_mean / (shape + seen_mean)
        return alone / (none_of_others * (self.fraction + one_of_others))

    def uniques(self, shape: float, seen_mean: float) -> float:
        """Return the expected number of population uniques, in the sample and elsewhere."""
        unseen = (1 - self.fraction) * math.exp(-shape * math.log1p(seen_mean / shape))
        all_groups = self._groups / (1 - unseen)
        not_seen = all_groups * (1 - self.fraction) * self._alone(shape, seen_mean)
        return self._uniques * self.staying_unique(shape, seen_mean) + not_seen

    def _alone(self, shape: float, seen_mean: float) -> float:
        """Return the share of the population's groups that have one person."""
        return math.exp(-shape * math.log1p(seen_mean / self.fraction / shape))


def snb_uniqueness(frequencies: GroupFrequencies, population_size: int, *, level: float = 0.95) -> UniquenessEstimate:
    """Estimate population uniqueness by the slide negative binomial.

    Parameters are estimated by maximum likelihood.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample; records must be drawn independently of their group.
    population_size : int
        Number of people in the population, including the sample; the estimate depends only on the sample's share of it.
    level : float
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    UniquenessEstimate
        With shape and mean of the negative binomial as parameters. Its intervals reach over all parameters whose
        log-likelihood is within half the quantile of chi-square (1 degree of freedom) of the largest.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is one record of a larger
        population, the level is not between 0 and 1, or no parameters fit best: group sizes are all equal, or vary less
        than a Poisson distribution, or hardly any two records are equal.

    Notes
    -----
    The number of groups is not a parameter. Given that a group has a record in the sample, its size in the sample has
    the distribution above truncated at 0. So the likelihood needs no estimate of the number of groups without records.
    """
    require_usable(frequencies, population_size, level)
    if frequencies.records == population_size:
        return sample_is_population("snb", frequencies)
    if len(frequencies.sizes) == 1:
        raise _no_fit("all groups have the same size")
    model = SlideNegativeBinomial(frequencies, frequencies.records / population_size)
    grid = np.arange(model.lowest, _FARTHEST + 1).tolist()
    tops = peaks(model.profile_slope, grid, xtol=1e-12)
    best = max([grid[0], *tops, grid[-1]], key=model.profile)
    if best not in tops:
        raise _no_fit("the likelihood has no maximum")

    def staying(log_shape: float, log_mean: float) -> float:
        return model.staying_unique(math.exp(log_shape), math.exp(log_mean))

    def uniques(log_shape: float, log_mean: float) -> float:
        return model.uniques(math.exp(log_shape), math.exp(log_mean))

    region = LikelyRegion(
        model.profile, model.log_mean_range, grid=grid, best=best, drop=float(scipy.stats.chi2.ppf(level, 1)) / 2
    )
    log_mean = model.best_log_mean(best)
    return UniquenessEstimate.of_sample(
        "snb",
        frequencies,
        population_size,
        (uniques(best, log_mean), *region.extremes(uniques)),
        (staying(best, log_mean), *region.extremes(staying)),
        level=level,
        parameters={"shape": math.exp(best), "mean": math.exp(log_mean) / model.fraction},
        note="no record of the sample is unique" if frequencies.uniques == 0 else "",
    )


def _no_fit(reason: str) -> InputError:
    return InputError(f"the slide negative binomial cannot be fitted: {reason}", hint="use another method")

"""The slide negative binomial model of group sizes (Chen & Keller-McNulty 1998).

A group has one person and a negative binomial number of others.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import Found
from reidsim.linkage.uniqueness.likelihood import TwoParameterModel, log_gamma_ratio

Floats = NDArray[np.float64]

# The search for log shape and log mean goes this far above 0, and this far below the logarithm of the sampling
# fraction; beyond, the model no longer changes.
_FARTHEST = 12.0


class SlideNegativeBinomial(TwoParameterModel):
    """Likelihood of the sizes of groups in a sample, given that they are not 0.

    A group of the population has 1 + X people, with X negative binomial with a shape and a mean. Each person is in the
    sample with probability `fraction`. So the first person of a group is a record with this probability, and the number
    of other records is negative binomial with the same shape and with `fraction` times the mean, the seen mean. The
    outer parameter is the shape, the inner one the seen mean.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample.
    fraction : float
        Sample size over population size, in (0, 1).
    """

    highest = _FARTHEST
    of_best: ClassVar = {"xtol": 1e-12}
    of_ends: ClassVar = {"xtol": 1e-10}

    def __init__(self, frequencies: GroupFrequencies, fraction: float) -> None:
        self.fraction = fraction
        self.lowest = math.log(fraction) - _FARTHEST
        self._uniques, self._groups = frequencies.uniques, frequencies.groups
        self._counts = frequencies.frequencies.astype(np.float64)
        self._sizes = frequencies.sizes.astype(np.float64)
        self._others = self._sizes - 1
        self._log_factorials = float(self._counts @ log_gamma_ratio(1.0, self._others))
        self._all_others = float(self._counts @ self._others)

    def inner_part(self, outer: float, inner: float) -> float:
        """Return the log-likelihood of the sample's group sizes."""
        shape, seen_mean = outer, inner
        log_none = -math.log1p(seen_mean / shape)
        return (
            float(self._counts @ (log_gamma_ratio(shape, self._others) + np.log(self._factor(shape, seen_mean))))
            - self._log_factorials
            + self._groups * shape * log_none
            + self._all_others * math.log(seen_mean / (shape + seen_mean))
            - self._groups * math.log1p(-(1 - self.fraction) * math.exp(shape * log_none))
        )

    def slope(self, outer: float, inner: float) -> float:
        """Return the derivative of the log-likelihood in the log of the seen mean."""
        ratio, of_factor, odds, _ = self._terms(outer, inner)
        by_mean = self._others / inner - ratio
        return inner * float(self._counts @ (by_mean + of_factor * outer * ratio) - odds * outer / (outer + inner))

    def outer_slope(self, outer: float, inner: float) -> float:
        """Return the derivative of the log-likelihood in the log of the shape."""
        ratio, of_factor, odds, log_none = self._terms(outer, inner)
        by_shape = digamma(outer + self._others) - digamma(outer) + log_none + 1 - ratio
        of_none = odds * (log_none + 1 - outer / (outer + inner))
        return outer * float(self._counts @ (by_shape + of_factor * inner * (1 - ratio)) + of_none)

    def _terms(self, shape: float, seen_mean: float) -> tuple[Floats, Floats, float, float]:
        """Return terms of both derivatives."""
        log_none = -math.log1p(seen_mean / shape)
        ratio = (shape + self._others) / (shape + seen_mean)
        of_factor = (1 - self.fraction) / self._sizes / (shape + seen_mean) / self._factor(shape, seen_mean)
        unseen = (1 - self.fraction) * math.exp(shape * log_none)
        return ratio, of_factor, self._groups * unseen / (1 - unseen), log_none

    def _factor(self, shape: float, seen_mean: float) -> Floats:
        """Return the factor of a group's first person in the likelihood.

        The first person is a record, or all records of the group are among the others.
        """
        one_more = seen_mean / (shape + seen_mean) * (shape + self._others) / self._sizes
        return self.fraction + (1 - self.fraction) * one_more

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
        """Return the share of the population's groups that have one person.

        `seen_mean` is the mean number of records of a group besides its first person.
        """
        return math.exp(-shape * math.log1p(seen_mean / self.fraction / shape))


def snb(frequencies: GroupFrequencies, population_size: int, level: float) -> Found:
    """Estimate population uniqueness by the slide negative binomial.

    Parameters are estimated by maximum likelihood; intervals are profile likelihood intervals.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of a sample of at least two records, drawn independently of their group.
    population_size : int
        Number of people in the population, more than the sample; the estimate depends only on the sample's share of it.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    InputError
        If no parameters fit best: group sizes are all equal, or vary less than under the model.
    """
    model = SlideNegativeBinomial(frequencies, frequencies.records / population_size)
    grid = np.arange(model.lowest, _FARTHEST + 1).tolist()
    tops = model.peaks(grid, xtol=1e-12) if len(frequencies.sizes) > 1 else []
    best = max([grid[0], *tops, grid[-1]], key=model.profile)
    if best not in tops:
        reason = "the likelihood has no maximum" if len(frequencies.sizes) > 1 else "all groups have the same size"
        raise InputError(f"the slide negative binomial cannot be fitted: {reason}", hint="use another method")
    parameters = {"shape": math.exp(best), "mean": math.exp(model.best_inner(best)) / model.fraction}
    note = "no record of the sample is unique" if frequencies.uniques == 0 else ""
    uniques, staying = model.intervals(grid, best, level, model.uniques, model.staying_unique)
    return Found(uniques, staying, parameters, note)

"""The likelihood of group sizes under Pitman's sampling formula.

Records come one after the other. With n records in U groups, the next one founds a group with probability
(theta + U a) / (theta + n) and joins a group of j records with probability (j - a) / (theta + n), where 0 <= a < 1 and
theta > -a (Hoshino 2001). The code holds tau = theta + a > 0 and b = 1 - a in (0, 1]: every factor of the likelihood is
then a sum of positive numbers, and the second record founds a group with probability tau / (tau + b).
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from scipy.special import digamma, gammaln

from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.sums import (
    log_gamma_ratio,
    sum_of_logs,
    sum_of_reciprocals,
    sum_of_weighted_reciprocals,
)

# Relative tolerance, close to the resolution of float64.
_TOLERANCE = 1e-14


class PitmanLikelihood:
    """Log-likelihood of a sample of at least two records, up to a constant.

    The omitted factor does not depend on the parameters tau and b, for which see the module.

    Parameters
    ----------
    frequencies : GroupFrequencies
    """

    def __init__(self, frequencies: GroupFrequencies) -> None:
        # Records besides the first of each group; b + size - 1 would lose the digits of a small b.
        self._others = frequencies.sizes - 1
        self._frequencies = frequencies.frequencies
        self.records = frequencies.records
        self._groups = frequencies.groups

    def at(self, tau: float, b: float) -> float:
        """Return the log-likelihood.

        `tau` may be 0 if there is a single group, and infinite if every record is unique.
        """
        return self._founding(tau, b) + self._joining(b)

    def best_tau(self, b: float) -> float:
        """Return the maximum-likelihood tau.

        It is 0 if there is a single group, and infinite if every record is unique.
        """
        if self._groups == 1:
            return 0.0
        if self._groups == self.records:
            return math.inf

        # The slope in log tau, which falls from U - 1 to U - n.
        def slope(log_tau: float) -> float:
            tau = math.exp(log_tau)
            return tau * (
                sum_of_reciprocals(tau, 1 - b, self._groups - 1) - sum_of_reciprocals(tau + b, 1.0, self.records - 1)
            )

        low = high = math.log(self._groups)
        while slope(low) <= 0:
            low -= 2
        while slope(high) >= 0:
            high += 2
        return math.exp(scipy.optimize.brentq(slope, low, high, xtol=_TOLERANCE, rtol=_TOLERANCE))

    def profile(self, b: float) -> float:
        """Return the largest log-likelihood over tau."""
        return self.at(self.best_tau(b), b)

    def profile_slope(self, b: float) -> float:
        """Return the derivative of the profile in a = 1 - b.

        The sample must have at least two groups, and a group with at least two records.
        """
        tau = self.best_tau(b)
        joined = self._frequencies @ (digamma(b + self._others) - digamma(b))
        return (
            sum_of_weighted_reciprocals(tau, 1 - b, self._groups - 1)
            + sum_of_reciprocals(tau + b, 1.0, self.records - 1)
            - float(joined)
        )

    def tau_range(self, b: float, floor: float) -> tuple[float, float]:
        """Return the smallest and largest tau with a log-likelihood of at least `floor`.

        If there is none, both are `best_tau`.
        """
        best = self.best_tau(b)
        target = floor - self._joining(b)
        if self._founding(best, b) <= target:
            return best, best

        def excess(log_tau: float) -> float:
            return self._founding(math.exp(log_tau), b) - target

        middle = math.log(best) if 0 < best < math.inf else math.log(self.records)

        def edge(step: int) -> float:
            """Return the tau with log-likelihood `floor` below (-1) or above (1) the best."""
            inside = outside = middle
            while excess(outside) > 0:
                inside, outside = outside, outside + step
            while excess(inside) < 0:
                inside -= step
            low, high = sorted((inside, outside))
            return math.exp(scipy.optimize.brentq(excess, low, high, xtol=_TOLERANCE, rtol=_TOLERANCE))

        return edge(-1) if best > 0 else best, edge(1) if best < math.inf else best

    def _founding(self, tau: float, b: float) -> float:
        """Return the part of the log-likelihood that depends on tau."""
        if math.isinf(tau):
            return 0.0
        return sum_of_logs(tau, 1 - b, self._groups - 1) - sum_of_logs(tau + b, 1.0, self.records - 1)

    def _joining(self, b: float) -> float:
        return float(self._frequencies @ (gammaln(b + self._others) - gammaln(b)))


def probability_of_staying_unique(tau: float, b: float, records: int, population_size: int) -> float:
    """Return the probability that a sample unique is unique in the population.

    It is ``G(theta + a + N - 1) G(theta + n) / (G(theta + a + n - 1) G(theta + N))``, with G the gamma function, n
    records (2 or more) and N people in the population. This is the probability that none of the next N - n people joins
    the group of the record; 1 if `tau` is infinite.
    """
    if math.isinf(tau):
        return 1.0
    return float(np.exp(log_gamma_ratio(tau + records - 1, b) - log_gamma_ratio(tau + population_size - 1, b)))


def uniques_given_sample(tau: float, b: float, frequencies: GroupFrequencies, population_size: int) -> float:
    """Return the expected number of population uniques, given the sample's groups.

    The sample has n records in U groups, the population N people. Sample uniques stay unique with the probability p of
    `probability_of_staying_unique`. By exchangeability, each of the N - n other people is unique with the probability
    of the last person: ``(theta + U a) / (theta + a + n - 1)`` times p. If `tau` is infinite, all people are unique.
    """
    if math.isinf(tau):
        return float(population_size)
    records = frequencies.records
    staying = probability_of_staying_unique(tau, b, records, population_size)
    founding = (tau + (frequencies.groups - 1) * (1 - b)) / (tau + records - 1)
    return staying * (frequencies.uniques + (population_size - records) * founding)

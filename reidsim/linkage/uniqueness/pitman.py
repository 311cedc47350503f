"""Pitman's sampling formula, for group sizes with a long tail (Hoshino 2001), and Ewens's, its case a = 0.

Records come one after the other. With n records in U groups, the next one founds a group with probability
(theta + U a) / (theta + n) and joins a group of j records with probability (j - a) / (theta + n), where 0 <= a < 1 and
theta > -a. Under Ewens's formula, the number of groups grows with the logarithm of the number of records. The code
holds tau = theta + a > 0 and b = 1 - a in (0, 1]: every factor of the likelihood is then a sum of positive numbers, and
the second record founds a group with probability tau / (tau + b).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import digamma, gammaln

from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import Found
from reidsim.linkage.uniqueness.likelihood import (
    TwoParameterModel,
    log_gamma_ratio,
    sum_of_logs,
    sum_of_reciprocals,
    sum_of_weighted_reciprocals,
)

# Grid of the profile likelihood before refinement: evenly spaced in a, and geometrically in b = 1 - a close to 0.
_EVEN = 20
_PER_DECADE = 4
_SMALLEST_B = 1e-14


class PitmanLikelihood(TwoParameterModel):
    """Log-likelihood of a sample of at least two records, up to a constant.

    The omitted factor does not depend on the parameters. The outer parameter is b, the inner one tau. At the maximum,
    tau is 0 if there is a single group, and infinite if every record is unique.

    Parameters
    ----------
    frequencies : GroupFrequencies
    """

    def __init__(self, frequencies: GroupFrequencies) -> None:
        # Records besides the first of each group; b + size - 1 would lose the digits of a small b.
        self._others = frequencies.sizes - 1
        self._frequencies = frequencies.frequencies
        self.records, self._groups = frequencies.records, frequencies.groups
        self.start = math.log(self._groups)
        if self._groups in (1, self.records):
            self.at_infinity, self.start = -math.inf if self._groups == 1 else math.inf, math.log(self.records)

    def inner_part(self, outer: float, inner: float) -> float:
        """Return the log-likelihood of founding groups, which depends on tau."""
        b, tau = outer, inner
        if math.isinf(tau):
            return 0.0
        founded = sum_of_logs(tau, 1 - b, self._groups - 1) if self._groups > 1 else 0.0
        return founded - sum_of_logs(tau + b, 1.0, self.records - 1)

    def outer_part(self, outer: float) -> float:
        """Return the log-likelihood of joining groups."""
        return float(self._frequencies @ (gammaln(outer + self._others) - gammaln(outer)))

    def slope(self, outer: float, inner: float) -> float:
        """Return the slope in log tau, which falls from U - 1 to U - n."""
        b, tau = outer, inner
        founded = sum_of_reciprocals(tau, 1 - b, self._groups - 1)
        return tau * (founded - sum_of_reciprocals(tau + b, 1.0, self.records - 1))

    def outer_slope(self, outer: float, inner: float) -> float:
        """Return the derivative in b, for two groups or more, and a group with two records or more."""
        b, tau = outer, inner
        joined = self._frequencies @ (digamma(b + self._others) - digamma(b))
        return (
            float(joined)
            - sum_of_weighted_reciprocals(tau, 1 - b, self._groups - 1)
            - sum_of_reciprocals(tau + b, 1.0, self.records - 1)
        )


def pitman(frequencies: GroupFrequencies, population_size: int, level: float, *, ewens: bool = False) -> Found:
    """Estimate population uniqueness by maximum likelihood under Pitman's formula.

    Expected uniques are conditional on the sample's groups (see `uniques_given_sample`); they converge to the sample's
    uniques as the sample becomes the population. Intervals are profile likelihood intervals. They describe uncertainty
    of the parameters, not the random composition of the population. The profile likelihood in a is evaluated on a grid
    over [0, 1), so that the global maximum is found; it is a root of the derivative, or a = 0.

    When a = 0 fits best, the region of likely parameters is cut off there and keeps its quantile, so the interval has
    at least its nominal coverage. Among equally likely parameters, the smallest a is taken: 0 when every record is
    unique (theta is then infinite, and all people unique) or when all are in one group (theta is then 0).

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of a sample of at least two records, drawn independently of their group.
    population_size : int
        Number of people in the population, more than the sample.
    level : float
        Confidence level of the intervals.
    ewens : bool
        Whether a is 0, for Ewens's formula. The estimate then depends only on the sample's numbers of records, groups
        and uniques: with n records, theta makes the expected number of groups,
        ``theta (1 / theta + ... + 1 / (theta + n - 1))``, equal to the sample's number of groups.
    """
    likelihood = PitmanLikelihood(frequencies)
    grid, candidates = [0.0] if ewens else _grid(), [0.0]
    if 1 < frequencies.groups < frequencies.records and not ewens:
        candidates += likelihood.peaks(grid, xtol=1e-15, rtol=1e-14)
    best = max(candidates, key=likelihood.profile)

    def staying(b: float, tau: float) -> float:
        return probability_of_staying_unique(tau, b, frequencies.records, population_size)

    def uniques(b: float, tau: float) -> float:
        return uniques_given_sample(tau, b, frequencies, population_size)

    a = -math.expm1(best)
    parameters = {"theta": math.exp(likelihood.best_inner(best)) - a} | ({} if ewens else {"a": a})
    note = _note(frequencies, best == 0 and not ewens)
    of_uniques, of_staying = likelihood.intervals(grid, best, level, uniques, staying)
    return Found(of_uniques, of_staying, parameters, note)


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


def _grid() -> list[float]:
    """Return values of log b, ascending to 0 (a = 0)."""
    decades = math.ceil(-math.log10(_SMALLEST_B * _EVEN))
    geometric = np.geomspace(_SMALLEST_B, 1 / _EVEN, _PER_DECADE * decades, endpoint=False)
    return [math.log(b) for b in (*geometric.tolist(), *np.linspace(1 / _EVEN, 1, _EVEN).tolist())]


def _note(frequencies: GroupFrequencies, on_boundary: bool) -> str:
    if frequencies.groups == frequencies.records:
        return "every record of the sample is unique: only the lower limits are informative"
    if frequencies.groups == 1:
        return "all records of the sample are in one group: only the upper limits are informative"
    notes = ["no record of the sample is unique"] if frequencies.uniques == 0 else []
    if on_boundary:
        notes.append("a = 0 fits best; the estimate equals Ewens's formula")
    return "; ".join(notes)

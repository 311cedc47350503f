"""Estimates of population uniqueness from a sample.

By group sizes: Pitman's sampling formula (Hoshino 2001) suits group sizes with a long tail; Ewens's formula is its case
a = 0. Zayatz's estimator is from Zayatz 1991.

By a log-linear model of the cells (Skinner and Holmes 1998; Skinner and Shlomo 2008): the number of people of cell k is
Poisson with mean L_k, and each person is sampled with probability p_k. So the number of records f_k is Poisson with
mean p_k L_k, and the number of unsampled people is Poisson with mean v_k = (1 - p_k) L_k, independent of f_k. For a
record that is alone in its cell, ::

    P(F_k = 1 | f_k = 1) = exp(-v_k)        E[1 / F_k | f_k = 1] = (1 - exp(-v_k)) / v_k

The means follow a log-linear model with the main effects of all attributes, and with interactions of no, some or all
pairs of attributes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows
from reidsim.core.numerics import draw_multinomial
from reidsim.core.tables import numbers, require_columns
from reidsim.core.wording import counted
from reidsim.linkage.group_sizes import GroupFrequencies, individual_risk
from reidsim.populations.population import added_up, distinct_rows

# Number of values of b at which the edge of the region is evaluated before its extremes are refined.
_POINTS = 24
# Tolerance of a refined extreme, relative to the width of the region; quantities are flat at an extreme.
_TOLERANCE = 1e-6
# Tolerances of roots in the log of tau.
_CLOSE = {"xtol": 1e-14, "rtol": 1e-14}
# Below this ratio of the progression's length to its start, four terms of a series are exact to 1e-12, while the
# gamma functions of the closed form cancel.
_SHORT = 1e-3
# From here on, four terms of Stirling's series are exact to 1e-14.
_LARGE = 16.0

Floats = NDArray[np.float64]
# An estimate with the lower and the upper end of its interval.
Interval = tuple[float, float, float]
# Methods that use only group sizes, for samples with equal probabilities.
UniquenessMethod = Literal["pitman", "ewens", "zayatz"]
# Expected number of people unique in the population and its interval; probability that a record unique in the sample is
# unique in the population and its interval; parameters of the model; caveat.
Found = tuple[Interval, Interval, Mapping[str, float], str]

# Grid of the profile likelihood before refinement: evenly spaced in a, and geometrically in b = 1 - a close to 0.
_EVEN = 20
_PER_DECADE = 4
_SMALLEST_B = 1e-14
# Number of bootstrap samples of Zayatz's estimator.
REPLICATES = 1000

_ALL_UNIQUE = "every record of the sample is unique: only the lower limits are informative"
_NONE_UNIQUE = "no record of the sample is unique"

Integers = NDArray[np.int64]
Pair = tuple[int, int]

# Limit on the cells of the whole table, occupied or not. Fitting this many takes some seconds and 100 MB.
MOST_CELLS = 2_000_000
# Quantile of the normal distribution: random errors exceed it once in twenty times.
SIGNIFICANT = 1.96
# Iterative proportional fitting ends when no margin is off by more than this share of all records.
_CLOSE_ENOUGH = 1e-6
_MOST_ROUNDS = 200


def progression_sums(start: float, step: float, terms: int) -> tuple[float, float, float]:
    """Return three sums over an arithmetic progression of `terms` items.

    The items are ``x_i = start + i step``, from i = 0. The sums are the sums of log(x_i), 1 / x_i and i / x_i. The
    start must be positive, and the step 0 or more.
    """
    r = step / start
    if r * terms < _SHORT:
        # Series in r; p1 to p4 are the sums of i, i^2, i^3 and i^4.
        m = float(terms - 1)
        p1 = m * (m + 1) / 2
        p2, p3 = p1 * (2 * m + 1) / 3, p1 * p1
        p4 = p2 * (3 * m * m + 3 * m - 1) / 5
        return (
            terms * math.log(start) + r * (p1 - r * (p2 / 2 - r * (p3 / 3 - r * p4 / 4))),
            (terms - r * (p1 - r * (p2 - r * (p3 - r * p4)))) / start,
            (p1 - r * (p2 - r * (p3 - r * p4))) / start,
        )
    first = start / step
    logs = terms * math.log(step) + math.lgamma(first + terms) - math.lgamma(first)
    reciprocals = float(scipy.special.digamma(first + terms) - scipy.special.digamma(first)) / step
    return logs, reciprocals, (terms - start * reciprocals) / step


def log_gamma_ratio(x: ArrayLike, d: ArrayLike) -> Floats:
    """Return ``log(gamma(x + d) / gamma(x))`` without loss of precision for large x.

    x must be positive, and d 0 or more; the result has their common shape.
    """
    x, d = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(d, dtype=np.float64))
    large = np.maximum(x, _LARGE)
    stirling = (large - 0.5) * np.log1p(d / large) + d * (np.log(large + d) - 1)
    ratio = stirling + _stirling_correction(large + d) - _stirling_correction(large)
    return np.asarray(np.where(x < _LARGE, scipy.special.gammaln(x + d) - scipy.special.gammaln(x), ratio))


def _stirling_correction(x: Floats) -> Floats:
    square = 1 / (x * x)
    return np.asarray((1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x)


@dataclass(frozen=True)
class UniquenessEstimate:
    """Estimated number of population uniques, and probability for a sample unique.

    The probability is that a record unique in the sample is unique in the population.

    The intervals describe sampling uncertainty if the method's model holds, not the uncertainty of the model: methods
    often differ by more than their intervals.

    Parameters
    ----------
    method : str
        Name of the method, such as ``"pitman"``.
    sample_uniques : int
        Number of records that are unique in the sample.
    expected_uniques : float
        Expected number of people who are unique in the population, from 0 to the population size.
    uniques_low, uniques_high : float
        Interval of `expected_uniques`.
    p_unique_given_sample_unique : float
        Probability that a record unique in the sample is unique in the population, in [0, 1].
    low, high : float
        Interval of `p_unique_given_sample_unique`.
    level : float
        Confidence level of both intervals; 1 when the number is known.
    parameters : mapping of str to float
        Parameters of the fitted model, by name.
    note : str
        Caveat of the estimate; empty when nothing is unusual.
    """

    method: str
    sample_uniques: int
    expected_uniques: float
    uniques_low: float
    uniques_high: float
    p_unique_given_sample_unique: float
    low: float
    high: float
    level: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class FixedUniqueness:
    """A given probability in the place of an estimate.

    Parameters
    ----------
    p_unique_given_sample_unique : float
        Probability that a record unique in the sample is unique in the population, in [0, 1].
    """

    p_unique_given_sample_unique: float


def require_usable(frequencies: GroupFrequencies, population_size: int, level: float) -> None:
    """Check the arguments of an estimator of population uniqueness.

    For the arguments see `estimate_uniqueness`.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is a single record of a larger
        population, or the level is not between 0 and 1.
    """
    records, where = frequencies.records, "population_size"
    least = f"at least the {records} records of the sample"
    refuse_first(
        (population_size % 1 != 0, "population size is not a whole number", where, population_size, "a whole number"),
        (population_size < records, "the population is smaller than the sample", where, population_size, least),
        (records == 1 < population_size, "too few records for an estimate", None, 1, "at least two records"),
        (not 0 < level < 1, "confidence level out of range", "level", level, "a number between 0 and 1"),
    )


def estimate_uniqueness(
    frequencies: GroupFrequencies,
    population_size: int,
    *,
    method: UniquenessMethod = "pitman",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> UniquenessEstimate:
    """Estimate population uniqueness from a sample's group sizes.

    If the sample is the whole population, every sample unique is unique, and the intervals have no width.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample.
    population_size : int
        Number of people in the population, including the sample.
    method : {"pitman", "ewens", "zayatz"}
        Pitman's formula, Ewens's formula, or Zayatz's estimator.
    level : float
        Confidence level of the intervals, between 0 and 1.
    rng : numpy.random.Generator, optional
        Random generator for Zayatz's bootstrap; the other methods need none. Default: a generator with a random seed.

    Returns
    -------
    UniquenessEstimate

    Raises
    ------
    InputError
        If the level is not between 0 and 1; if the population is smaller than the sample or not a whole number; or if
        the sample is a single record of a larger population.
    """
    require_usable(frequencies, population_size, level)
    sample = frequencies, int(population_size), level
    if frequencies.records == population_size:
        level, uniques = 1.0, (float(frequencies.uniques),) * 3
        found: Found = uniques, (1.0, 1.0, 1.0), {}, "the sample is the whole population"
    elif method == "zayatz":
        found = zayatz(*sample, np.random.default_rng() if rng is None else rng)
    else:
        found = pitman(*sample, ewens=method == "ewens")
    of_population, of_sample, parameters, note = found
    return UniquenessEstimate(method, frequencies.uniques, *of_population, *of_sample, level, parameters, note)


class PitmanLikelihood:
    """Log-likelihood of a sample under Pitman's formula, up to a constant.

    The sample has two records or more. Records come one after the other. With n records in U groups, the next one
    founds a group with probability (theta + U a) / (theta + n) and joins a group of j records with probability (j - a)
    / (theta + n), where 0 <= a < 1 and theta > -a. Under Ewens's formula, the number of groups grows with the logarithm
    of the number of records. The code holds tau = theta + a > 0 and b = 1 - a in (0, 1]: every factor of the likelihood
    is then a sum of positive numbers, and the second record founds a group with probability tau / (tau + b).

    The omitted factor does not depend on the parameters. The log-likelihood is ``founding(b, tau) + joining(b)``. Given
    b, it has one maximum in tau, which is 0 if there is a single group, and infinite if every record is unique. The
    search is in the logarithms of the parameters.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample.
    population_size : int
        Number of people in the population.
    """

    def __init__(self, frequencies: GroupFrequencies, population_size: int) -> None:
        self.population_size, self._uniques = population_size, frequencies.uniques
        # Records except the first of each group; b + size - 1 would lose the digits of a small b.
        self._others, self._frequencies = frequencies.sizes - 1, frequencies.frequencies
        self.records, self._groups = frequencies.records, frequencies.groups
        # Log of tau at which the search begins; log of the best tau if it is infinite, else 0.
        self._start, self._at_infinity = math.log(self._groups), 0.0
        if self._groups in (1, self.records):
            self._start, self._at_infinity = math.log(self.records), -math.inf if self._groups == 1 else math.inf

    def founding(self, b: float, tau: float) -> float:
        """Return the part of the log-likelihood that is due to founding groups.

        It is 0 if tau is infinite.
        """
        if math.isinf(tau):
            return 0.0
        founded = progression_sums(tau, 1 - b, self._groups - 1)[0] if self._groups > 1 else 0.0
        return founded - progression_sums(tau + b, 1.0, self.records - 1)[0]

    def joining(self, b: float) -> float:
        """Return the part of the log-likelihood that is due to joining groups.

        It depends on b only.
        """
        return float(self._frequencies @ (scipy.special.gammaln(b + self._others) - scipy.special.gammaln(b)))

    def best_tau(self, log_b: float) -> float:
        """Return the log of the tau with the largest log-likelihood, given the log of b.

        It is minus infinity with a single group, and infinity if every record is unique.
        """
        if self._at_infinity:
            return self._at_infinity
        b = math.exp(log_b)

        def slope(log_tau: float) -> float:
            # With n records in U groups, U at least 2, it tends to 1 as tau goes to 0 (to U - 1 if a = 0), and to U - n
            # as tau goes to infinity.
            tau = math.exp(log_tau)
            founded = progression_sums(tau, 1 - b, self._groups - 1)[1]
            return tau * (founded - progression_sums(tau + b, 1.0, self.records - 1)[1])

        low = high = self._start
        while slope(low) <= 0:
            low -= 2
        while slope(high) >= 0:
            high += 2
        return float(scipy.optimize.brentq(slope, low, high, **_CLOSE))

    def profile(self, log_b: float) -> float:
        """Return the largest log-likelihood over tau, given the log of b."""
        b = math.exp(log_b)
        return self.founding(b, math.exp(self.best_tau(log_b))) + self.joining(b)

    def peaks(self, grid: Sequence[float]) -> list[float]:
        """Return the logs of b at maxima of the profile.

        A maximum is searched between neighbours on a grid of logs of b, ascending, if the profile rises at the first
        and does not rise at the second. There must be two groups or more, and a group with two records or more.
        """

        def slope(log_b: float) -> float:
            b, tau = math.exp(log_b), math.exp(self.best_tau(log_b))
            joined = self._frequencies @ (scipy.special.digamma(b + self._others) - scipy.special.digamma(b))
            founded = progression_sums(tau, 1 - b, self._groups - 1)[2]
            return float(joined) - founded - progression_sums(tau + b, 1.0, self.records - 1)[1]

        rises = [slope(at) > 0 for at in grid]
        return [
            scipy.optimize.brentq(slope, *between, xtol=1e-15, rtol=1e-14)
            for between, rising, still_rising in zip(itertools.pairwise(grid), rises, rises[1:], strict=False)
            if rising and not still_rising
        ]

    def tau_range(self, log_b: float, floor: float) -> tuple[float, float]:
        """Return the logs of the least and the largest tau as likely as `floor`, given the log of b.

        `floor` is a log-likelihood. If no tau has it, both are `best_tau`.
        """
        best, b = self.best_tau(log_b), math.exp(log_b)
        target = floor - self.joining(b)

        def excess(log_tau: float) -> float:
            return self.founding(b, math.exp(log_tau)) - target

        if excess(best) <= 0:
            return best, best

        def end(step: float) -> float:
            if self._at_infinity * step > 0:
                return best
            inside = outside = self._start if self._at_infinity else best
            while excess(outside) > 0:
                inside, outside = outside, outside + step
            while excess(inside) < 0:
                inside -= step
            return float(scipy.optimize.brentq(excess, *sorted((inside, outside)), **_CLOSE))

        return end(-1.0), end(1.0)

    def intervals(
        self, grid: Sequence[float], best: float, level: float, *quantities: Callable[[float, float], float]
    ) -> list[Interval]:
        """Return estimates and profile likelihood intervals of quantities.

        An interval holds the values for all parameters whose log-likelihood is within half the quantile of chi-square
        with 1 degree of freedom of the largest.

        Parameters
        ----------
        grid : sequence of float
            Logs of b, ascending: from end to end of its range, and as dense as the profile varies.
        best : float
            Log of b with the largest log-likelihood.
        level : float
            Confidence level.
        quantities : callable
            Functions of b and tau, monotonic in tau.

        Returns
        -------
        list of (float, float, float)
            For each quantity, its value at the best parameters, and the lower and upper end of its interval.
        """
        floor = self.profile(best) - float(scipy.stats.chi2.ppf(level, 1)) / 2
        points = sorted({*grid, best})
        inside = [at for at, log_b in enumerate(points) if log_b == best or self.profile(log_b) >= floor]

        def edge(within: int, beyond: int) -> float:
            if not 0 <= beyond < len(points):
                return points[within]
            ends = points[within], points[beyond]
            return float(scipy.optimize.brentq(lambda log_b: self.profile(log_b) - floor, *ends, xtol=1e-14))

        ends = edge(inside[0], inside[0] - 1), edge(inside[-1], inside[-1] + 1)

        def extreme(quantity: Callable[[float, float], float], sign: float) -> float:
            """Return the minimum of the quantity in the region, or for sign -1 the maximum.

            The region has the parameters whose log-likelihood is at least `floor`.
            """

            def at(log_b: float) -> float:
                return min(sign * quantity(math.exp(log_b), math.exp(each)) for each in self.tau_range(log_b, floor))

            places = np.linspace(*ends, _POINTS).tolist()
            values = [at(log_b) for log_b in places]
            least = int(np.argmin(values))
            options = {"xatol": _TOLERANCE * (ends[1] - ends[0])}
            bounds = places[max(least - 1, 0)], places[min(least + 1, _POINTS - 1)]
            refined = scipy.optimize.minimize_scalar(at, bounds=bounds, method="bounded", options=options)
            return sign * min(values[least], float(refined.fun))

        parameters = math.exp(best), math.exp(self.best_tau(best))
        return [(each(*parameters), extreme(each, 1.0), extreme(each, -1.0)) for each in quantities]

    def staying_unique(self, b: float, tau: float) -> float:
        """Return the probability that a sample unique is unique in the population.

        It is ``G(theta + a + N - 1) G(theta + n) / (G(theta + a + n - 1) G(theta + N))``, with G the gamma function, n
        records (2 or more) and N people in the population; b = 1 - a and tau = theta + a. This is the probability that
        none of the next N - n people joins the group of the record; 1 if `tau` is infinite.
        """
        if math.isinf(tau):
            return 1.0
        ends = log_gamma_ratio(tau + np.array([self.records, self.population_size]) - 1, b)
        return float(np.exp(ends[0] - ends[1]))

    def uniques(self, b: float, tau: float) -> float:
        """Return the expected number of population uniques, given the sample's groups.

        The sample has n records in U groups, the population N people; b = 1 - a and tau = theta + a. Sample uniques
        stay unique with the probability p of `staying_unique`. By exchangeability, each of the N - n other people is
        unique with the probability of the last person: ``(theta + U a) / (theta + a + n - 1)`` times p. If `tau` is
        infinite, all people are unique.
        """
        if math.isinf(tau):
            return float(self.population_size)
        founding = (tau + (self._groups - 1) * (1 - b)) / (tau + self.records - 1)
        return self.staying_unique(b, tau) * (self._uniques + (self.population_size - self.records) * founding)


def pitman(frequencies: GroupFrequencies, population_size: int, level: float, *, ewens: bool = False) -> Found:
    """Estimate population uniqueness by maximum likelihood under Pitman's formula.

    The result has four items: the expected number of population uniques with its interval; the probability that a
    sample unique is a population unique with its interval; the parameters theta and, unless `ewens`, a, by name; and a
    caveat, which can be empty. Expected uniques are conditional on the sample's groups (see
    `PitmanLikelihood.uniques`); they converge to the sample's uniques as the sample becomes the population. Intervals
    are profile likelihood intervals. They describe uncertainty of the parameters, not the random composition of the
    population. The profile likelihood in a is evaluated on a grid over [0, 1), so that the global maximum is found; it
    is a root of the derivative, or a = 0.

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
    likelihood = PitmanLikelihood(frequencies, population_size)
    grid, candidates = [0.0], [0.0]
    if not ewens:
        # Values of log b, ascending to 0 (a = 0).
        decades = math.ceil(-math.log10(_SMALLEST_B * _EVEN))
        geometric = np.geomspace(_SMALLEST_B, 1 / _EVEN, _PER_DECADE * decades, endpoint=False)
        grid = [math.log(b) for b in (*geometric.tolist(), *np.linspace(1 / _EVEN, 1, _EVEN).tolist())]
    if 1 < frequencies.groups < frequencies.records and not ewens:
        candidates += likelihood.peaks(grid)
    best = max(candidates, key=likelihood.profile)
    a = -math.expm1(best)
    parameters = {"theta": math.exp(likelihood.best_tau(best)) - a} | ({} if ewens else {"a": a})
    notes = [_NONE_UNIQUE] if frequencies.uniques == 0 else []
    if best == 0 and not ewens:
        notes.append("a = 0 fits best; the estimate equals Ewens's formula")
    if frequencies.groups == frequencies.records:
        notes = [_ALL_UNIQUE]
    elif frequencies.groups == 1:
        notes = ["all records of the sample are in one group: only the upper limits are informative"]
    uniques, staying = likelihood.intervals(grid, best, level, likelihood.uniques, likelihood.staying_unique)
    return uniques, staying, parameters, "; ".join(notes)


def zayatz(frequencies: GroupFrequencies, population_size: int, level: float, rng: np.random.Generator) -> Found:
    """Estimate population uniqueness by Bayes's rule over group sizes.

    The result has four items: the expected number of population uniques with its interval; the probability that a
    sample unique is a population unique with its interval; an empty mapping, because there are no parameters; and a
    caveat, which can be empty. Group sizes are assumed to have the same distribution in the population as in the
    sample.

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

    def estimates(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
        ones = counts @ (unique * weights)
        p = np.divide(ones, ones + counts @ (~unique * weights), out=np.zeros(len(counts)), where=ones > 0)
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
            note = _ALL_UNIQUE
            low = (1 - unseen) / (1 - unseen + unseen * pairs)
            uniques_low = groups * (1 - unseen) * low * scale
        else:
            note = f"{_NONE_UNIQUE}: only the upper limits are informative"
            high = unseen / (unseen + (1 - unseen) * float(shares @ weights))
            uniques_high = groups * unseen * high * scale
    return (uniques, uniques_low, uniques_high), (p, low, high), {}, note


def _exactly_one_drawn(sizes: NDArray[np.int64], records: int, population_size: int) -> Floats:
    """Return h(j) / h(1), for the probability h(j) of drawing exactly one of j people.

    The result has one item for each j in `sizes`. `records` people are drawn from `population_size` people without
    replacement. The result is 0 where more than one of the j people must be drawn.
    """
    others = sizes - 1.0
    left = population_size - records - others
    # Exactly one of j people can be drawn only if the others fit among the people who are not drawn.
    log_ratio = np.log(sizes) + log_gamma_ratio(np.maximum(left, 0.0) + 1, others)
    log_ratio -= log_gamma_ratio(population_size - others, others)
    return np.where(left >= 0, np.exp(log_ratio), 0.0)


@dataclass(frozen=True, eq=False)
class SampleCells:
    """The occupied cells of a sample: combinations of values with at least one record.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_cells, n_attributes)
        Values of each cell, numbered from 0 over the values that occur.
    records : ndarray of int64, shape (n_cells,)
        Number of sampled records of each cell, 1 or more.
    people : ndarray of float64, shape (n_cells,)
        Sum of the weights of each cell's records: estimated number of people, no fewer than the records.
    equal_weights : bool
        Whether all records have the same weight.
    """

    codes: Integers
    records: Integers
    people: Floats
    equal_weights: bool

    @classmethod
    def of_records(
        cls, columns: Sequence[NDArray[np.integer]], weights: Floats, counts: Integers | None = None
    ) -> SampleCells:
        """Return the `SampleCells` of records: their number and weights by cell.

        Parameters
        ----------
        columns : sequence of ndarray of int, shape (n_rows,)
            Values of each attribute, as numbers from 0 on.
        weights : ndarray of float64, shape (n_rows,)
            Sampling weight of a record of the row, 1 or more.
        counts : ndarray of int64, shape (n_rows,), optional
            Number of records of each row; 1 if not given. Rows without records are ignored.

        Raises
        ------
        InputError
            If a weight is not finite or is below 1; the message names the row.
        """
        require_weights(weights)
        counts = np.ones(len(weights), dtype=np.int64) if counts is None else counts
        there = counts > 0
        weights, counts = weights[there], counts[there]
        numbered = [np.unique(column[there], return_inverse=True)[1].ravel() for column in columns]
        first, cell = distinct_rows(numbered, len(counts))
        records = added_up(counts, cell, len(first))
        people = np.bincount(cell, weights=weights * counts, minlength=len(first))
        codes = np.column_stack([column[first] for column in numbered]).astype(np.int64)
        return cls(codes, records, np.maximum(people, records), bool(np.ptp(weights) <= 1e-9 * weights.max()))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of distinct values of each attribute in the sample: shape of `table`."""
        return tuple((self.codes.max(axis=0) + 1).tolist())

    def table(self, amounts: NDArray[np.number]) -> Floats:
        """Return amounts of the cells (n_cells,) as a table over all combinations.

        The table has one axis per attribute (shape `shape`). Combinations without a record have the amount 0.
        """
        table = np.zeros(self.shape)
        table[tuple(self.codes.T)] = amounts
        return table

    @property
    def unique(self) -> NDArray[np.bool_]:
        """Whether each cell has a single record, shape (n_cells,)."""
        return np.asarray(self.records == 1)

    @property
    def population_size(self) -> float:
        """Sum of all records' weights: estimated number of people in the population."""
        return float(self.people.sum())


def weights_in(frame: pd.DataFrame, column: str, source: str | Path) -> Floats:
    """Return the sampling weights in a column of a table of text, shape (n_rows,).

    `source` is the path of the table, for messages.

    Raises
    ------
    InputError
        If the column is missing, or a weight is not a finite number of 1 or more; the message names the row.
    """
    require_columns(frame, [column], Path(source))
    weights = np.asarray(numbers(frame, column, Path(source)), dtype=np.float64)
    with locating(source):
        require_weights(weights, column)
    return weights


def require_weights(weights: Floats, column: str | None = None) -> None:
    """Check that sampling weights are finite and at least 1.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_records,)
        Sampling weight of each record: number of people that it represents.
    column : str, optional
        Column of the weights, for the message.

    Raises
    ------
    InputError
        If a weight is not finite or is below 1; the message names the first such record.
    """
    wrong = ~(np.isfinite(weights) & (weights >= 1))
    expected = "a number of 1 or more: the number of people in the population that the record represents"
    if wrong.any() and abs(np.mean(weights) - 1) < 0.01:
        expected += " (the weights have mean 1: multiply them by the number of people in the population per record)"
    refuse_rows(wrong, "invalid sampling weight", column=column, found=weights, expected=expected)


def benedetti_franconi_uniqueness(cells: SampleCells, *, level: float = 0.95) -> UniquenessEstimate:
    """Estimate population uniqueness from the weights of sample uniques only.

    Follows Benedetti and Franconi 1998.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
    level : float
        Confidence level of the intervals; see `estimate_of_uniques`.

    Returns
    -------
    UniquenessEstimate
        A record unique in the sample with weight w is unique in the population with probability 1 / w. So the expected
        number of population uniques is the number of sample uniques.
    """
    return estimate_of_uniques("benedetti-franconi", cells, 1 / cells.people[cells.unique], level=level)


def estimate_of_uniques(
    method: str, cells: SampleCells, staying: Floats, *, level: float, parameters: Mapping[str, float] | None = None
) -> UniquenessEstimate:
    """Return the estimate from the probabilities of the sample uniques, one by one.

    Parameters
    ----------
    method : str
        Name of the method.
    cells : SampleCells
        Cells of the sample.
    staying : ndarray of float64, shape (n_uniques,)
        Probability of each record unique in the sample that it is unique in the population.
    level : float
        Confidence level of the intervals: a normal approximation of the random number of population uniques in the
        sample, if the probabilities are correct and independent.
    parameters : mapping of str to float, optional
        Parameters of the fitted model, by name.

    Returns
    -------
    UniquenessEstimate
        The number of population uniques is the sum, over sample uniques, of weight times probability. Without sample
        uniques, it is 0, and a note says so.
    """
    weights = cells.people[cells.unique]
    n, size = len(staying), cells.population_size
    p, uniques = float(staying.sum()) / max(n, 1), float(weights @ staying)
    reach = float(scipy.stats.norm.ppf((1 + level) / 2))
    spread = staying * (1 - staying)
    of_share = reach * float(np.sqrt(spread.sum())) / max(n, 1)
    # Variance of uniqueness, and of the sampling of uniques.
    of_uniques = reach * float(np.sqrt((weights**2 * spread + weights * (weights - 1) * staying).sum()))
    return UniquenessEstimate(
        method=method,
        sample_uniques=n,
        expected_uniques=min(uniques, size),
        uniques_low=max(uniques - of_uniques, 0.0),
        uniques_high=min(uniques + of_uniques, size),
        p_unique_given_sample_unique=p,
        low=max(p - of_share, 0.0),
        high=min(p + of_share, 1.0),
        level=level,
        parameters=dict(parameters or {}),
        note="" if n else _NONE_UNIQUE,
    )


class LogLinearModel:
    """A log-linear model of the people of all cells, including cells without a record.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
    pairs : sequence of (int, int)
        Positions of pairs of attributes that interact; without pairs, all attributes are independent.
    start : LogLinearModel, optional
        A fitted model with some of the pairs, from which fitting is faster.

    Raises
    ------
    InputError
        If the whole table (all combinations of values that occur) has more than 2,000,000 cells.

    Notes
    -----
    If weights differ, the model is fitted to the sums of weights (pseudo maximum likelihood). The sampling probability
    is one over the mean weight of a cell's records. For a cell without records, it is the ratio of the means fitted to
    records and to weights.

    The attribute `bias` estimates the bias of the expected number of population uniques in the sample, and `bias_z` is
    its ratio to its standard deviation. With d the error of L, f - p L estimates p d and (f - p L)^2 - f estimates
    (p d)^2 without bias. So the expectation of the error of ``sum of exp(-v) over sample uniques`` is, to the second
    order in d, estimated by ::

        B = sum (1 - p) exp(-L) {L (f - p L) + [2 - (1 + p) L] [(f - p L)^2 - f] / (2 p)}

    over all cells. B is above 0 if the model lacks interactions, and below 0 if it has too many parameters. For a
    Poisson number f with mean m = p L, the two terms are uncorrelated, with variances m and 2 m^2.
    """

    def __init__(self, cells: SampleCells, pairs: Sequence[Pair] = (), *, start: LogLinearModel | None = None) -> None:
        size = math.prod(cells.shape)
        expected = f"at most {MOST_CELLS:,} (use fewer attributes or coarser values)"
        refuse_first((size > MOST_CELLS, "too many cells for a log-linear model", None, size, expected))
        self.cells, self.pairs = cells, tuple(pairs)
        counts = cells.table(cells.records)
        self._records: Floats = _fitted(counts, self.pairs, None if start is None else start._records)
        if cells.equal_weights:
            self._people: Floats = self._records * (cells.population_size / cells.records.sum())
        else:
            self._people = _fitted(cells.table(cells.people), self.pairs, None if start is None else start._people)
        n_pairs = math.comb(len(cells.shape), 2)
        self.method = "log-linear" + {n_pairs: "-pairs", 0: "-independence"}.get(len(self.pairs), "")
        # Expected number of unsampled people of each cell.
        self._others = (1 - cells.records / cells.people) * self._people[tuple(cells.codes.T)]
        there = self._people > 0
        f, mean, people = counts[there], self._records[there], self._people[there]
        p = np.minimum(mean / people, 1.0)
        first = (1 - p) * np.exp(-people) * people
        second = (1 - p) * np.exp(-people) * (2 - (1 + p) * people) / (2 * p)
        self.bias = float((first * (f - mean) + second * ((f - mean) ** 2 - f)).sum())
        deviation = float(np.sqrt((first**2 * mean + 2 * (second * mean) ** 2).sum()))
        self.bias_z = self.bias / deviation if deviation > 0 else 0.0

    def uniqueness(self, *, level: float = 0.95) -> UniquenessEstimate:
        """Estimate population uniqueness by this model.

        Parameters
        ----------
        level : float
            Confidence level of the intervals; see `estimate_of_uniques`.

        Returns
        -------
        UniquenessEstimate
            Its parameters are the number of cells of the whole table, the `bias` of the expected number of sample
            uniques that are population unique, and `bias_z`, the same over its standard deviation.
        """
        parameters = {"cells": self._people.size, "bias": self.bias, "bias_z": self.bias_z}
        staying = np.exp(-self._others[self.cells.unique])
        return estimate_of_uniques(self.method, self.cells, staying, level=level, parameters=parameters)

    def individual_risk(self) -> Floats:
        """Return the expected 1 / population size of each cell's group, shape (n_cells,).

        The cells are the occupied cells of the sample.
        """
        return individual_risk(self.cells.records, self.cells.records + self._others, "poisson")

    def everybody(self) -> SampleCells:
        """Return `SampleCells` with all cells with a positive expected number of people.

        The people of a cell are its records and the expected number of people who are not sampled. Cells without a
        record, included here, have 0 `records`.
        """
        cells = self.cells
        sampled = np.divide(self._records, self._people, out=np.ones_like(self._people), where=self._people > 0)
        sampled[tuple(cells.codes.T)] = cells.records / cells.people
        records = cells.table(cells.records)
        people = records + np.maximum(1 - sampled, 0.0) * self._people
        there = people > 0
        return SampleCells(np.argwhere(there), records[there].astype(np.int64), people[there], cells.equal_weights)


def all_pairs(cells: SampleCells) -> tuple[Pair, ...]:
    """Return all pairs of attributes, by falling association beyond chance.

    A pair is two positions of attributes, the lower one first. The association is the likelihood-ratio statistic of
    independence in the sample's records, less its degrees of freedom.
    """
    table = cells.table(cells.records)
    axes = range(table.ndim)

    def beyond_chance(pair: Pair) -> float:
        # Twice the log-likelihood that the interaction adds if all else is independent, less its expectation.
        joint = table.sum(axis=tuple(axis for axis in axes if axis not in pair))
        alone = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()
        there = joint > 0
        added = 2 * float((joint[there] * np.log(joint[there] / alone[there])).sum())
        return added - float(math.prod(n - 1 for n in joint.shape))

    return tuple(sorted(itertools.combinations(axes, 2), key=beyond_chance, reverse=True))


def fitting_model(cells: SampleCells) -> LogLinearModel:
    """Return the first `LogLinearModel` without significant bias, as pairs are added.

    The first model has independent attributes, the last one all pairs; a bias is significant if its z is beyond 1.96.
    Skinner and Shlomo (2008) recommend this forward search, in which each model has one more pair of `all_pairs`:
    estimates are too high if the model lacks interactions, and too low if it has too many. If a model is too high and
    the next too low, the high one is the safe choice. If all models are too high, the one with all pairs is returned;
    if the first is too low, the first.

    Raises
    ------
    InputError
        If the whole table has more than 2,000,000 cells.
    """
    before, model = None, LogLinearModel(cells)
    pairs = all_pairs(cells)
    while model.bias_z > SIGNIFICANT and len(model.pairs) < len(pairs):
        before, model = model, LogLinearModel(cells, pairs[: len(model.pairs) + 1], start=model)
    return before if before and model.bias_z < -SIGNIFICANT else model


def _fitted(table: Floats, pairs: Sequence[Pair], start: Floats | None) -> Floats:
    """Return maximum-likelihood means by iterative proportional fitting.

    The means have the shape of `table`, and its margins over each pair, and over each attribute that is in no pair.
    Fitting starts from `start` (None: equal means). It ends when no margin is off by more than a millionth of the
    table's sum, or after 200 rounds.
    """
    axes = range(table.ndim)
    kept = [*((axis,) for axis in axes if all(axis not in pair for pair in pairs)), *pairs]
    margins = [
        (rest := tuple(axis for axis in axes if axis not in each), table.sum(axis=rest, keepdims=True)) for each in kept
    ]
    fitted = np.full(table.shape, table.sum() / table.size) if start is None else start.copy()
    for _ in range(_MOST_ROUNDS):
        off = 0.0
        for rest, wanted in margins:
            have = fitted.sum(axis=rest, keepdims=True)
            off = max(off, float(np.abs(have - wanted).max()))
            fitted *= np.divide(wanted, have, out=np.zeros_like(wanted), where=have > 0)
        if off <= _CLOSE_ENOUGH * table.sum():
            break
    return fitted


@dataclass(frozen=True)
class Uniqueness:
    """Estimates of population uniqueness from a sample by several methods.

    Parameters
    ----------
    estimates : tuple of UniquenessEstimate
        Estimates by all methods that could be used, one per method.
    taken : str
        Method of the chosen estimate.
    reason : str
        Reason of the choice, in a sentence without a full stop.
    cells : SampleCells
        Cells of the sample.
    risks : dict of str to ndarray of float64, shape (n_cells,)
        Expected 1 / size of each cell's group in the population, by method.
    """

    estimates: tuple[UniquenessEstimate, ...]
    taken: str
    reason: str
    cells: SampleCells
    risks: dict[str, Floats]


def uniqueness_of_sample(cells: SampleCells, *, rng: np.random.Generator, level: float = 0.95) -> Uniqueness:
    """Estimate population uniqueness by every method, and choose an estimate.

    The result is a `Uniqueness`. The methods are log-linear models (with independent attributes, with all pairs, and
    the model of `fitting_model`), Benedetti and Franconi's, Pitman's, Ewens's and Zayatz's. The choice is the
    log-linear model of `fitting_model`, with as many interactions as its bias requires. If the table of all
    combinations of values is too large to be fitted, log-linear models are omitted, and the choice is Pitman's formula.
    Among the methods that use only group sizes, it fits long tails, and on known populations it errs on the high side
    more often. The individual risk is never chosen, because it makes a record of weight w population unique with
    probability 1 / w, independent of its values.

    Parameters
    ----------
    cells : SampleCells
        Cells of the sample.
    rng : numpy.random.Generator
        Random generator for Zayatz's bootstrap.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    InputError
        If the sample is a single record of a larger population, or the level is not between 0 and 1.
    """
    models: list[LogLinearModel] = []
    risks = {"benedetti-franconi": individual_risk(cells.records, cells.people)}
    try:
        fitting = fitting_model(cells)
        models = [LogLinearModel(cells), LogLinearModel(cells, all_pairs(cells), start=fitting)]
        models.insert(1, fitting)
        taken, reason = fitting.method, _reason_of_model(models[0], fitting)
        risks = {model.method: model.individual_risk() for model in models} | risks
    except InputError as error:
        reason = f"the table of all combinations of values has {error.found:,} cells, too many for a log-linear model"
        reason += "" if cells.equal_weights else "; the estimate assumes equal sampling weights, but the weights differ"
        taken = "pitman"
    frequencies, size = GroupFrequencies.from_group_sizes(cells.records), round(cells.population_size)
    fitted = {model.method: model.uniqueness(level=level) for model in models}.values()
    by_size = [
        estimate_uniqueness(frequencies, size, method=name, level=level, rng=rng) for name in get_args(UniquenessMethod)
    ]
    estimates = (*fitted, benedetti_franconi_uniqueness(cells, level=level), *by_size)
    return Uniqueness(estimates, taken, reason, cells, risks)


def _reason_of_model(independence: LogLinearModel, fitting: LogLinearModel) -> str:
    reason = f"the model with independent attributes has a bias of z = {independence.bias_z:.1f}"
    if fitting.pairs:
        pairs = counted(len(fitting.pairs), "interaction")
        reason += f", the model with {pairs} of two attributes has a bias of z = {fitting.bias_z:.1f}"
    if abs(fitting.bias_z) <= SIGNIFICANT:
        return f"{reason}: no significant bias"
    high_or_low = "low" if fitting.bias_z < 0 else "high, which is conservative"
    return f"{reason}: the estimate is probably too {high_or_low}"

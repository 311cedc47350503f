"""Results of estimators of population uniqueness, and checks of arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies


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
    population_size, sample_size, sample_uniques : int
        People in the population, records in the sample, and records that are unique in the sample.
    expected_uniques : float
        Expected number of people who are unique in the population, from 0 to `population_size`.
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
    risk_of_sample_uniques : float or None
        Expected mean, over the records unique in the sample, of 1 / size of their group in the population; None where
        the method does not estimate it.
    """

    method: str
    population_size: int
    sample_size: int
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
    risk_of_sample_uniques: float | None = None

    @classmethod
    def of_sample(
        cls,
        method: str,
        frequencies: GroupFrequencies,
        population_size: int,
        uniques: Sequence[float],
        staying: Sequence[float],
        *,
        level: float,
        parameters: Mapping[str, float] | None = None,
        note: str = "",
    ) -> UniquenessEstimate:
        """Return the estimate from a sample whose group sizes are known.

        Parameters
        ----------
        method, population_size, level, parameters, note
            See `UniquenessEstimate`.
        frequencies : GroupFrequencies
            Group sizes of the sample.
        uniques, staying : sequence of float, three each
            Expected number of people unique in the population, and probability that a record unique in the sample is
            unique there, each with the two ends of its interval.
        """
        expected, least, most = uniques
        p, low, high = staying
        sizes = int(population_size), frequencies.records, frequencies.uniques
        return cls(method, *sizes, expected, least, most, p, low, high, level, parameters or {}, note)


@dataclass(frozen=True)
class FixedUniqueness:
    """A given probability in the place of an estimate.

    Parameters
    ----------
    p_unique_given_sample_unique : float
        Probability that a record unique in the sample is unique in the population, in [0, 1].

    Raises
    ------
    InputError
        If it is not a probability.
    """

    p_unique_given_sample_unique: float

    def __post_init__(self) -> None:
        found = self.p_unique_given_sample_unique
        if not 0 <= found <= 1:
            where, expected = "p_unique_given_sample_unique", "a number from 0 to 1"
            raise InputError("probability out of range", where=where, found=found, expected=expected)

    @property
    def low(self) -> float:
        """Lower end of the interval: the given probability."""
        return self.p_unique_given_sample_unique

    @property
    def high(self) -> float:
        """Upper end of the interval: the given probability."""
        return self.p_unique_given_sample_unique


def require_usable(frequencies: GroupFrequencies, population_size: int, level: float) -> None:
    """Check the arguments of an estimator.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is a single record of a larger
        population, or the level is not between 0 and 1.
    """
    records, where = frequencies.records, "population_size"
    if not math.isfinite(population_size) or population_size != int(population_size):
        expected = "a whole number"
        raise InputError("population size is not a whole number", where=where, found=population_size, expected=expected)
    if population_size < records:
        expected = f"at least the {records} records of the sample"
        problem = "the population is smaller than the sample"
        raise InputError(problem, where=where, found=population_size, expected=expected)
    if records == 1 and population_size > 1:
        raise InputError("too few records for an estimate", found=1, expected="at least two records")
    if not 0 < level < 1:
        raise InputError(
            "confidence level out of range", where="level", found=level, expected="a number between 0 and 1"
        )


def sample_is_population(method: str, frequencies: GroupFrequencies) -> UniquenessEstimate:
    """Return the exact result for a sample that is the whole population.

    Every sample unique is then unique in the population, and the intervals have no width.
    """
    uniques, note = float(frequencies.uniques), "the sample is the whole population"
    return UniquenessEstimate.of_sample(
        method, frequencies, frequencies.records, (uniques,) * 3, (1.0,) * 3, level=1.0, note=note
    )

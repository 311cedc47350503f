"""Results of estimators of population uniqueness, and checks of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from reidsim.errors import refuse_first
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.likelihood import Interval


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


class Found(NamedTuple):
    """Estimate from the group sizes of a sample that is smaller than the population.

    Attributes
    ----------
    uniques : tuple of float
        Expected number of people unique in the population, and its interval.
    staying : tuple of float
        Probability that a record unique in the sample is unique in the population, and its interval.
    parameters, note
        See `UniquenessEstimate`.
    """

    uniques: Interval
    staying: Interval
    parameters: Mapping[str, float] = MappingProxyType({})
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
    """Check the arguments of an estimator.

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

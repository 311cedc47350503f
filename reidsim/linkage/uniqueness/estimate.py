"""Estimated or given probabilities that sample uniques are population uniques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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


@dataclass(frozen=True)
class FixedUniqueness:
    """A given probability in the place of an estimate.

    Parameters
    ----------
    p_unique_given_sample_unique : float
        Probability that a record unique in the sample is unique in the population, in [0, 1].
    """

    p_unique_given_sample_unique: float

"""What every estimator of population uniqueness returns, and what it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies


@dataclass(frozen=True)
class UniquenessEstimate:
    """How many people are unique in the population, and how far a record unique in the sample can be trusted to be.

    The intervals tell what the sample leaves open if the method's model holds, not whether it does: methods often
    differ by more than their intervals.

    Parameters
    ----------
    method : str
        Such as ``"pitman"``.
    population_size, sample_size, sample_uniques : int
        People in the population, records in the sample, and those of them that are alone in their group.
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
        Of the fitted model, by name.
    note : str
        What a reader should know about this estimate; empty when nothing is unusual.
    risk_of_sample_uniques : float or None
        Mean over the records unique in the sample of one over the size of their group in the population, expected;
        None where the method does not tell it.
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
            As of the estimate.
        frequencies : GroupFrequencies
            Of the sample.
        uniques, staying : sequence of float, three each
            Expected number of people unique in the population, and probability that a record unique in the sample is
            unique there, each with the two ends of its interval.
        """
        expected, least, most = uniques
        p, low, high = staying
        return cls(
            method, int(population_size), frequencies.records, frequencies.uniques, expected, least, most, p, low, high,
            level, parameters or {}, note,
        )  # fmt: skip


@dataclass(frozen=True)
class FixedUniqueness:
    """A probability that is given rather than estimated; stands wherever an estimate can.

    Parameters
    ----------
    p_unique_given_sample_unique : float
        In [0, 1].

    Raises
    ------
    InputError
        If it is not a probability.
    """

    p_unique_given_sample_unique: float

    def __post_init__(self) -> None:
        if not 0 <= self.p_unique_given_sample_unique <= 1:
            raise InputError(
                "not a probability",
                where="p_unique_given_sample_unique",
                found=self.p_unique_given_sample_unique,
                expected="a number from 0 to 1",
            )

    @property
    def low(self) -> float:
        """The number itself."""
        return self.p_unique_given_sample_unique

    @property
    def high(self) -> float:
        """The number itself."""
        return self.p_unique_given_sample_unique


def require_usable(frequencies: GroupFrequencies, population_size: int, level: float) -> None:
    """Check what every estimator is given.

    Raises
    ------
    InputError
        If the population is smaller than the sample or not a whole number, the sample is a single record of a larger
        population, or the level is not between 0 and 1.
    """
    records = frequencies.records
    if not math.isfinite(population_size) or population_size != int(population_size):
        raise InputError(
            "not a whole number of people", where="population_size", found=population_size, expected="a whole number"
        )
    if population_size < records:
        raise InputError(
            "the population is smaller than the sample",
            where="population_size",
            found=population_size,
            expected=f"at least the {records} records of the sample",
        )
    if records == 1 and population_size > 1:
        raise InputError("one record does not suffice for an estimate", found=1, expected="at least two records")
    if not 0 < level < 1:
        raise InputError("not a confidence level", where="level", found=level, expected="a number between 0 and 1")


def sample_is_population(method: str, frequencies: GroupFrequencies) -> UniquenessEstimate:
    """Return what is known when everybody of the population is in the sample."""
    uniques, note = float(frequencies.uniques), "the sample is the whole population"
    return UniquenessEstimate.of_sample(
        method, frequencies, frequencies.records, (uniques,) * 3, (1.0,) * 3, level=1.0, note=note
    )

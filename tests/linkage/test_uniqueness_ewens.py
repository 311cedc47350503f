"""Ewens's formula: the number of groups is a sum of independent draws."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.ewens import ewens_uniqueness

CHI_SQUARE = 3.841458820694124


def expected_groups(theta, records):
    return math.fsum(theta / (theta + i) for i in range(records))


def log_likelihood(theta, groups, records):
    return groups * math.log(theta) - math.fsum(math.log(theta + i) for i in range(records))


def sample_of(groups, records):
    """Return a sample with given numbers of groups and records.

    Theta depends on these two numbers only.
    """
    largest = records - groups + 1
    if largest == 1:
        return GroupFrequencies.from_mapping({1: groups})
    return GroupFrequencies.from_mapping({1: groups - 1, largest: 1} if groups > 1 else {largest: 1})


@given(data=st.data(), records=st.integers(3, 400), factor=st.integers(2, 1000))
def test_theta_explains_the_number_of_groups(data, records, factor):
    groups = data.draw(st.integers(2, records - 1))
    people = factor * records
    estimate = ewens_uniqueness(sample_of(groups, records), people)
    theta = estimate.parameters["theta"]
    assert expected_groups(theta, records) == pytest.approx(groups, rel=1e-9)
    assert estimate.p_unique_given_sample_unique == pytest.approx(
        (theta + records - 1) / (theta + people - 1), rel=1e-12
    )
    # Each other record is as likely unique as the last one: a founder, theta / (theta + N - 1).
    staying = (groups - 1) * estimate.p_unique_given_sample_unique
    others = (people - records) * theta / (theta + people - 1)
    assert estimate.expected_uniques == pytest.approx(staying + others, rel=1e-10)
    top = log_likelihood(theta, groups, records)
    for limit in (estimate.low, estimate.high):
        end = (limit * (people - 1) - (records - 1)) / (1 - limit)
        drop = 2 * (top - log_likelihood(end, groups, records))
        # Theta is recovered from the limit only to a few digits unless it is near 1.
        assert drop == pytest.approx(CHI_SQUARE, rel=1e-6 + 1e-10 / (1 - limit))
    assert estimate.low < estimate.p_unique_given_sample_unique < estimate.high


def test_when_every_record_is_unique_so_may_be_everybody():
    estimate = ewens_uniqueness(GroupFrequencies.from_mapping({1: 30}), 900)
    assert (estimate.expected_uniques, estimate.p_unique_given_sample_unique, estimate.high) == (900, 1, 1)
    assert estimate.parameters == {"theta": math.inf}
    assert 0 < estimate.low < 1
    assert estimate.note == "every record of the sample is unique: only the lower limits are informative"

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.k_anonymity import THRESHOLDS, KAnonymityProfile


@given(sizes=st.lists(st.integers(0, 9), min_size=1).filter(any))
def test_groups_are_counted_by_size(sizes):
    frequencies = GroupFrequencies.from_group_sizes(sizes)
    occupied = [size for size in sizes if size]
    assert dict(zip(frequencies.sizes.tolist(), frequencies.frequencies.tolist(), strict=True)) == {
        size: occupied.count(size) for size in occupied
    }
    assert frequencies.records == sum(occupied)
    assert frequencies.groups == len(occupied)
    assert frequencies.uniques == occupied.count(1)
    assert frequencies.groups_between(2, 4) == sum(2 <= size <= 4 for size in occupied)
    assert frequencies.groups_between(5) == sum(size >= 5 for size in occupied)


@pytest.mark.parametrize(
    ("sizes", "frequencies", "message"),
    [
        ([], [], "no group sizes"),
        ([1, 2], [3], "sizes and frequencies have different shapes; found 'shapes (2,) and (1,)'"),
        ([2, 1], [1, 1], "sizes: group sizes are not ascending"),
        ([1, 1], [1, 1], "sizes: group sizes are not ascending"),
        ([0, 1], [1, 1], "sizes: count below 1; found 0"),
        ([1, 2], [1, 0], "frequencies: count below 1; found 0"),
        ([1.5], [1], "sizes: values are not whole numbers; found 'float64'"),
    ],
)
def test_frequencies_that_are_none_are_rejected(sizes, frequencies, message):
    with pytest.raises(InputError) as error:
        GroupFrequencies(np.array(sizes), np.array(frequencies))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("sizes", "message"), [([3, -1], "negative group size; found -1"), ([0, 0], "no group sizes")])
def test_group_sizes_that_are_none_are_rejected(sizes, message):
    with pytest.raises(InputError, match=message):
        GroupFrequencies.from_group_sizes(sizes)


group_lists = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@given(groups=group_lists)
def test_a_file_is_described_as_its_records_are_one_by_one(groups):
    profile = KAnonymityProfile.of_file(GroupFrequencies.from_group_sizes(groups))
    hides_in = [size for size in groups for _ in range(size)]
    assert profile.total == len(hides_in)
    assert profile.smallest == min(hides_in)
    assert profile.median == statistics.median(hides_in)
    assert profile.unique_share == hides_in.count(1) / len(hides_in)
    assert profile.highest_risk == 1 / min(hides_in)
    # One guess per record re-identifies one record of each group.
    assert profile.average_risk == pytest.approx(len(groups) / len(hides_in), rel=1e-12)
    for k in THRESHOLDS:
        assert profile.share_below(k) == sum(size < k for size in hides_in) / len(hides_in)
    for band in profile.bands():
        inside = [band.smallest <= size and (band.largest is None or size <= band.largest) for size in hides_in]
        assert band.records == sum(inside)
        assert band.share == pytest.approx(sum(inside) / len(hides_in))
    assert sum(band.records for band in profile.bands()) == len(hides_in)


@given(sizes=group_lists)
def test_sizes_counted_in_the_population_are_those_of_the_records(sizes):
    profile = KAnonymityProfile.of_records(sizes)
    assert profile.total == len(sizes)
    assert profile.median == statistics.median(sizes)
    assert profile.average_risk == pytest.approx(statistics.fmean(1 / size for size in sizes), rel=1e-12)


@pytest.mark.parametrize("starts", [(), (2, 5), (1, 5, 5), (1, 5, 3)])
def test_bands_that_overlap_or_leave_gaps_are_rejected(starts):
    profile = KAnonymityProfile.of_records([1, 2])
    with pytest.raises(InputError, match="starts: bands must start at 1 and ascend"):
        profile.bands(starts)


def test_a_record_is_always_in_a_group():
    with pytest.raises(InputError, match="a record is in no group; found 0"):
        KAnonymityProfile.of_records(np.array([3, 0]))

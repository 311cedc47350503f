import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.linkage.group_sizes import THRESHOLDS, GroupFrequencies, KAnonymityProfile


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


def test_a_file_without_records_is_refused():
    with pytest.raises(InputError, match="no group sizes; expected at least one record"):
        GroupFrequencies.from_group_sizes([0, 0])


group_lists = st.lists(st.integers(1, 30), min_size=1, max_size=40)


@given(groups=group_lists)
def test_a_file_is_described_as_its_records_are_one_by_one(groups):
    frequencies = GroupFrequencies.from_group_sizes(groups)
    profile = KAnonymityProfile(frequencies.sizes, frequencies.sizes * frequencies.frequencies)
    hides_in = [size for size in groups for _ in range(size)]
    assert profile.total == len(hides_in)
    assert profile.smallest == min(hides_in)
    assert profile.median == statistics.median(hides_in)
    assert profile.share_below(2) == hides_in.count(1) / len(hides_in)
    # One guess per record re-identifies one record of each group.
    assert profile.average_risk == pytest.approx(len(groups) / len(hides_in), rel=1e-12)
    for k in THRESHOLDS:
        assert profile.share_below(k) == sum(size < k for size in hides_in) / len(hides_in)
    for low, high, records, share in profile.bands():
        inside = [low <= size and (high is None or size <= high) for size in hides_in]
        assert records == sum(inside)
        assert share == pytest.approx(sum(inside) / len(hides_in))
    assert sum(records for _, _, records, _ in profile.bands()) == len(hides_in)


@given(sizes=group_lists)
def test_sizes_counted_in_the_population_are_those_of_the_records(sizes):
    profile = KAnonymityProfile(*np.unique(sizes, return_counts=True))
    assert profile.total == len(sizes)
    assert profile.median == statistics.median(sizes)
    assert profile.average_risk == pytest.approx(statistics.fmean(1 / size for size in sizes), rel=1e-12)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies


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


def test_a_mapping_may_come_in_any_order():
    frequencies = GroupFrequencies.from_mapping({3: 1, 1: 10**8})
    assert frequencies.sizes.tolist() == [1, 3]
    assert frequencies.records == 10**8 + 3
    assert frequencies.frequencies.dtype == np.int64


@pytest.mark.parametrize(
    ("sizes", "frequencies", "message"),
    [
        ([], [], "no groups; expected at least one record"),
        ([1, 2], [3], "sizes and frequencies disagree; found 'shapes (2,) and (1,)'"),
        ([2, 1], [1, 1], "sizes: sizes are not ascending"),
        ([1, 1], [1, 1], "sizes: sizes are not ascending"),
        ([0, 1], [1, 1], "sizes: not a count of 1 or more; found 0"),
        ([1, 2], [1, 0], "frequencies: not a count of 1 or more; found 0"),
        ([1.5], [1], "sizes: not whole numbers; found 'float64'"),
    ],
)
def test_frequencies_that_are_none_are_rejected(sizes, frequencies, message):
    with pytest.raises(InputError) as error:
        GroupFrequencies(np.array(sizes), np.array(frequencies))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("sizes", "message"), [([3, -1], "negative group size; found -1"), ([0, 0], "no groups")])
def test_group_sizes_that_are_none_are_rejected(sizes, message):
    with pytest.raises(InputError, match=message):
        GroupFrequencies.from_group_sizes(sizes)

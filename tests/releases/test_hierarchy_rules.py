import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute
from reidsim.releases.hierarchy import Hierarchy, group_levels, interval_levels, prefix_levels

AGES = Attribute("age", tuple(map(str, range(121))))
ZIPS = Attribute("zip", ("37201", "37203", "37310", "38001", "42223", "42602", "72338"))


def test_the_ages_of_the_study_fall_into_its_intervals():
    levels = interval_levels(AGES, [5, 15, 30, 60])
    # Age 120 joins the last full interval, as in the paper's 24 five-year groups.
    assert [len(set(labels)) for labels in levels] == [24, 8, 4, 2]
    assert [labels[48] for labels in levels] == ["45-49", "45-59", "30-59", "0-59"]
    assert [labels[90] for labels in levels] == ["90-94", "90-104", "90-120", "60-120"]
    assert [labels[120] for labels in levels] == ["115-120", "105-120", "90-120", "60-120"]


@given(
    numbers=st.lists(st.integers(-20, 130), min_size=1, max_size=40, unique=True),
    width=st.integers(2, 9),
    factor=st.integers(2, 4),
    below=st.integers(0, 10),
    absorb=st.booleans(),
)
def test_intervals_hold_the_numbers_they_say_and_nest(numbers, width, factor, below, absorb):
    attribute = Attribute("n", tuple(map(str, numbers)))
    start = min(numbers) - below
    levels = interval_levels(attribute, [width, width * factor], start=start, absorb_remainder=absorb)
    assert Hierarchy.from_labels(attribute, levels).n_levels == 3
    for step, labels in zip((width, width * factor), levels, strict=True):
        last_start = start + (max(numbers) - start) // step * step
        if absorb and last_start > start and max(numbers) - last_start + 1 < step:
            last_start -= step
        for number, label in zip(numbers, labels, strict=True):
            low = min(start + (number - start) // step * step, last_start)
            high = max(numbers) if low == last_start else low + step - 1
            assert label == (f"{low}-{high}" if low < high else str(low))


def bounds(label):
    low, _, high = label.partition("-")
    return (int(low[:-1]), math.inf) if low.endswith("+") else (int(low), int(high or low))


@given(
    numbers=st.lists(st.integers(0, 130), min_size=1, max_size=40, unique=True),
    tops=st.sets(st.integers(0, 130), min_size=1, max_size=2),
    width=st.integers(2, 9),
    absorb=st.booleans(),
)
def test_intervals_with_open_categories_contain_them(numbers, tops, width, absorb):
    attribute = Attribute("n", (*map(str, numbers), *(f"{top}+" for top in tops)))
    levels = interval_levels(attribute, [width, width * 3], start=0, absorb_remainder=absorb)
    assert Hierarchy.from_labels(attribute, levels).n_levels == 3
    for labels in levels:
        for value, label in zip(attribute.categories, labels, strict=True):
            (low, high), (least, most) = bounds(label), bounds(value)
            assert low <= least
            assert most <= high
        ends = sorted(map(bounds, set(labels)))
        assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))


def test_pooled_areas_are_grouped_with_each_other_once_as_short_as_their_prefix():
    levels = prefix_levels(ZIPS, [4, 3, 2, 1], pool=["422", "426", "723"])
    assert [labels[-3] for labels in levels] == ["4222*", "[422**, 426**, 723**]", "[42***, 72***]", "[4****, 7****]"]
    for labels in levels[1:]:
        assert labels[-3] == labels[-2] == labels[-1]
        assert labels[0] not in labels[-3:]
    assert levels[0][-3:] == ["4222*", "4260*", "7233*"]


@given(
    codes=st.sets(st.text("123", min_size=4, max_size=4), min_size=1, max_size=30),
    digits=st.sets(st.integers(1, 3), min_size=1),
)
def test_codes_share_a_group_when_they_share_a_prefix(codes, digits):
    attribute = Attribute("code", tuple(sorted(codes)))
    kept = sorted(digits, reverse=True)
    levels = prefix_levels(attribute, kept)
    for length, labels in zip(kept, levels, strict=True):
        for (a, label_a), (b, label_b) in itertools.combinations(zip(attribute.categories, labels, strict=True), 2):
            assert (label_a == label_b) == (a[:length] == b[:length])
    assert Hierarchy.from_labels(attribute, levels).n_levels == 1 + len(kept)


@pytest.mark.parametrize(
    ("categories", "digits", "pool", "message"),
    [
        (("37201", "372"), [3], [], r"codes of different lengths; found \[3, 5\]"),
        (("37201",), [3, 4], [], "prefix lengths do not decrease"),
        (("37201",), [3, 3], [], "prefix lengths do not decrease"),
        (("37201",), [5], [], "prefix lengths do not decrease"),
        (("37201",), [0], [], "prefix lengths do not decrease"),
        (("37201", "38001"), [3], ["372", "38"], "pool: prefixes of different lengths"),
        (("37201", "38001"), [3], ["372", "999"], "pool: no code has this prefix; found '999'"),
    ],
)
def test_prefixes_that_make_no_sense_are_rejected(categories, digits, pool, message):
    with pytest.raises(InputError, match=message):
        prefix_levels(Attribute("zip", categories), digits, pool=pool)


RACES = Attribute("race", ("White", "Black", "AIAN", "API", "Other"))


def test_listed_groups_merge_and_others_keep_their_label():
    levels = group_levels(RACES, [[["AIAN", "Other"]], [["White", "Black"], ["AIAN", "API", "Other"]]])
    assert levels == [
        ["White", "Black", "AIAN or Other", "API", "AIAN or Other"],
        ["White or Black", "White or Black", *["AIAN or API or Other"] * 3],
    ]

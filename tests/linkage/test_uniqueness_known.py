"""Counted or given uniqueness, and estimators by name."""

import math

import numpy as np
import pytest

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import FixedUniqueness
from reidsim.linkage.uniqueness.estimators import estimate_uniqueness
from reidsim.linkage.uniqueness.ewens import ewens_uniqueness
from reidsim.linkage.uniqueness.pitman import pitman_uniqueness
from reidsim.linkage.uniqueness.snb import snb_uniqueness
from reidsim.linkage.uniqueness.zayatz import zayatz_uniqueness
from reidsim.populations.registry import draw_registry

SAMPLE = GroupFrequencies.from_mapping({1: 20, 2: 5, 6: 1})


# In a sample of one in a thousand about 55 people are population uniques, so the truth itself varies by 13 % between
# draws: its tolerance has two of these in addition to the model's error of a tenth.
@pytest.mark.parametrize(("share", "tolerance"), [(0.001, 0.37), (0.1, 0.25), (0.5, 0.1)])
def test_pitman_is_near_the_truth_of_a_census_population(tennessee, share, tolerance):
    sample = draw_registry(tennessee, round(share * tennessee.total), np.random.default_rng(4))
    keys = tennessee.domain.keys(tennessee.cells)
    alone = np.isin(keys, sample.domain.keys(sample.cells[sample.counts == 1]))
    unique = tennessee.counts == 1
    estimate = pitman_uniqueness(GroupFrequencies.from_group_sizes(sample.counts), int(tennessee.total))
    assert estimate.expected_uniques == pytest.approx(unique.sum(), rel=tolerance)
    assert estimate.p_unique_given_sample_unique == pytest.approx(unique[alone].mean(), rel=tolerance)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_given_number_must_be_a_probability(value):
    with pytest.raises(InputError, match="p_unique_given_sample_unique: not a probability"):
        FixedUniqueness(value)


def test_methods_go_by_name():
    rng = np.random.default_rng
    assert estimate_uniqueness(SAMPLE, 500) == pitman_uniqueness(SAMPLE, 500)
    assert estimate_uniqueness(SAMPLE, 500, method="ewens", level=0.9) == ewens_uniqueness(SAMPLE, 500, level=0.9)
    assert estimate_uniqueness(SAMPLE, 500, method="snb") == snb_uniqueness(SAMPLE, 500)
    by_name = estimate_uniqueness(SAMPLE, 500, method="zayatz", rng=rng(1))
    assert by_name == zayatz_uniqueness(SAMPLE, 500, rng=rng(1))

"""Value groups: one group per value, equal numbering from codes and from labels."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute
from reidsim.populations.value_groups import Combinations, GroupedAttribute, group_codes

AGES = Attribute("age", tuple(str(age) for age in range(101)))
STATES = Attribute("state", ("Ohio", "Tennessee", "Utah"))


@given(st.lists(st.integers(1, 100), min_size=1, max_size=6, unique=True))
def test_ranges_of_whole_numbers_cover_what_falls_in_them(cuts: list[int]) -> None:
    cuts = sorted(cuts)
    groups = {f"below {cuts[0]}": [f"..{cuts[0] - 1}"], f"from {cuts[-1]}": [f"{cuts[-1]}.."]}
    groups |= {str(low): [f"{low}..{high - 1}"] for low, high in pairwise(cuts)}
    names = list(groups)
    for age, code in enumerate(group_codes(AGES, groups)):
        below = [cut for cut in cuts if cut <= age]
        expected = f"below {cuts[0]}" if not below else f"from {cuts[-1]}" if age >= cuts[-1] else str(below[-1])
        assert names[code] == expected


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["Ohio"], "b": ["Utah"]}, "groups of 'state': value in no group; found 'Tennessee'"),
        ({"a": ["Ohio", "Utah"], "b": ["Utah", "Tennessee"]}, "value in two groups; found 'Utah'"),
        ({"a": ["Ohoi"], "b": ["otherwise"]}, r"group 'a' of 'state': no value of 'state'.*did you mean 'Ohio'"),
        ({"a": ["otherwise"], "b": ["otherwise"]}, "'otherwise' in two groups"),
        ({"a": ["9..3"], "b": ["otherwise"]}, "group 'a' of 'state': range that ends before it begins; found '9..3'"),
    ],
)
def test_groups_that_cannot_be(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group_codes(STATES, groups)


def test_combinations_are_numbered_the_same_from_codes_and_from_labels() -> None:
    ages = GroupedAttribute.of(AGES, {"old": ["65.."], "young": ["..17"], "adult": ["otherwise"], "ancient": ["150.."]})
    combinations = Combinations([GroupedAttribute.of(STATES), ages])
    codes = [np.array([0, 2, 1, 2]), np.array([70, 3, 30, 99])]
    rows = combinations.of_codes(codes, 4)
    assert rows.tolist() == [0 * 4 + 0, 2 * 4 + 1, 1 * 4 + 2, 2 * 4 + 0]
    labels = [
        pd.Series(["Ohio", "Utah", "Tennessee", "Utah", "Iowa"]),
        pd.Series(["old", "young", "adult", "old", "old"]),
    ]
    assert combinations.of_labels(labels, 5).tolist() == [*rows.tolist(), -1]
    assert combinations.label(6) == "state = Tennessee, age = adult"
    assert combinations.possible.tolist() == [True, True, True, False] * 3


def test_too_many_combinations() -> None:
    wide = Attribute("zip", tuple(map(str, range(4000))))
    with pytest.raises(InputError, match="zip, code: too many combinations of values; found 16000000"):
        Combinations([GroupedAttribute.of(wide), GroupedAttribute.of(Attribute("code", wide.categories))])

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations import population as domain_module
from reidsim.populations.population import Attribute, Domain, group_codes, keys_of_both, row_keys

AGE = Attribute("age", ("47", "48", "90+"))
SEX = Attribute("sex", ("Female", "Male"))
DOMAIN = Domain((AGE, SEX))

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def coded_rows(draw, min_rows=0):
    shape = draw(shapes)
    row = st.tuples(*(st.integers(0, size - 1) for size in shape))
    rows = draw(st.lists(row, min_size=min_rows, max_size=12))
    domain = Domain(tuple(Attribute(f"x{f}", tuple(f"{f}.{c}" for c in range(n))) for f, n in enumerate(shape)))
    return domain, np.array(rows, dtype=np.int32).reshape(len(rows), len(shape))


@pytest.mark.parametrize(
    "values",
    [
        [48, 47],
        [48.0, 47.0],
        np.array([48, 47], dtype=np.uint8),
        ["48", " 47 "],
        pd.Series([48.0, 47.0]),
        pd.Series(["48", "47"], dtype="category"),
        pd.Series([48, 47], dtype="Int64"),
        pd.Series([48, 47], dtype="category"),
    ],
    ids=repr,
)
def test_numbers_match_the_category_that_prints_the_same(values):
    assert AGE.encode(values).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "row", "found"),
    [
        (["48", "49", "50"], 2, "'49'"),
        (["48", "female"], 2, "'female'"),
        ([48.5], 1, "'48.5'"),
        ([47.0, 48.5], 2, "'48.5'"),
    ],
)
def test_a_value_outside_the_categories_is_told_with_its_row(values, row, found):
    with pytest.raises(InputError) as caught:
        AGE.encode(values)
    message = str(caught.value)
    assert f"row {row}, column 'age': value outside the categories of 'age'; found {found}" in message
    assert "expected one of 47, 48, 90+" in message


@pytest.mark.parametrize(
    ("categories", "message"),
    [((), "an attribute needs at least one category"), (("a", "b", "b"), "category given twice; found 'b'")],
)
def test_categories_are_distinct_and_at_least_one(categories, message):
    with pytest.raises(InputError, match=f"attribute 'x': {message}"):
        Attribute("x", categories)


@given(drawn=coded_rows())
def test_decoding_and_encoding_gives_the_codes_back(drawn):
    domain, codes = drawn
    frame = domain.decode(codes)
    assert list(frame.columns) == list(domain.names)
    for f, attribute in enumerate(domain.attributes):
        assert frame[attribute.name].tolist() == [attribute.categories[code] for code in codes[:, f]]
    np.testing.assert_array_equal(domain.encode(frame), codes)


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match=r"columns: column missing; found 'sex'; expected one of age"):
        DOMAIN.encode(pd.DataFrame({"age": [47]}))


@given(drawn=coded_rows(), most=st.sampled_from([0, 5, 2**62]))
def test_row_keys_are_equal_for_equal_rows_and_in_their_order_in_any_domain(drawn, most):
    _, codes = drawn
    ranks = sorted(set(map(tuple, codes.tolist())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domain_module, "MOST_KEYS", most)
        keys = row_keys(list(codes.T), len(codes))
        first, second = keys_of_both(codes[::2], codes[1::2])
    expected = [ranks.index(tuple(row)) for row in codes.tolist()]
    for found in (keys, np.concatenate([first, second])):
        rows = expected if found is keys else [*expected[::2], *expected[1::2]]
        assert np.unique(found, return_inverse=True)[1].tolist() == np.unique(rows, return_inverse=True)[1].tolist()


def test_row_keys_beyond_64_bits_are_in_the_order_of_the_rows():
    # As a mixed-radix number, the first column would be shifted by 60 bits, so 0 and 16 would be equal.
    rows = np.array([[0, 5, 5, 0], [16, 5, 5, 0], [16, 5, 5, 1], [2**20 - 1] * 4])
    assert (np.diff(row_keys(list(rows.T), len(rows))) > 0).all()


# Value groups: one group per value.


AGES = Attribute("age", tuple(str(age) for age in range(101)))
STATES = Attribute("state", ("Ohio", "Tennessee", "Utah"))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": ["Ohio"], "b": ["Utah"]}, "groups of 'state': value in no group; found 'Tennessee'"),
        ({"a": ["Ohio", "Utah"], "b": ["Utah", "Tennessee"]}, "value in two groups; found 'Utah'"),
        ({"a": ["Ohoi"], "b": ["otherwise"]}, r"group 'a' of 'state': not a value of 'state'.*did you mean 'Ohio'"),
        ({"a": ["otherwise"], "b": ["otherwise"]}, "'otherwise' in two groups"),
        ({"a": ["9..3"], "b": ["otherwise"]}, "group 'a' of 'state': the range ends before it begins; found '9..3'"),
    ],
)
def test_groups_that_cannot_be(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group_codes(STATES, groups)

"""Numbers in sentences."""

import pytest

from reidsim.wording import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (1, ("record",), "1 record"),
        (1.0, ("person", "people"), "1 person"),
        (0.9999999, ("person", "people"), "1 person"),
        (0, ("record",), "0 records"),
        (2, ("strategy", "strategies"), "2 strategies"),
        (1234567.0, ("person", "people"), "1,234,567 people"),
    ],
)
def test_one_of_them_is_in_the_singular(number, words, text):
    assert counted(number, *words) == text

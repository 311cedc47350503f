"""Numbers in sentences, and whole numbers in text."""

import pytest

from reidsim.wording import counted, whole_number


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


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("-5", -5), ("90+", 90), ("9" * 18, 10**18 - 1)]
    + [(text, None) for text in ("", "+", "-", "1.0", " 1", "1e3", "--1", "1-", "x", "\u00b2", "9" * 19, "9" * 5000)],
)
def test_whole_numbers_are_read_as_far_as_they_fit(text, number):
    assert whole_number(text) == number

"""Cells of released files as sets of values, as written by ARX, sdcMicro, reidsim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.populations.population import Attribute
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, interval_levels
from reidsim.releases.records import CellReader

AGES = Attribute("age", (*map(str, range(18, 31)), "90+"))
ZIPS = Attribute("zip", ("37201", "37202", "38101", "9"))
JOBS = Attribute("job", ("nurse", "baker", "smith", "a, b"))


def reader_of(attribute, levels, renamed=()):
    return CellReader(
        Hierarchy.from_labels(attribute, [*levels, [SUPPRESSED] * attribute.size]),
        lambda text: dict(renamed).get(text, text),
    )


AGE = reader_of(AGES, interval_levels(AGES, [5], start=15, absorb_remainder=False))
ZIP = reader_of(ZIPS, [])
JOB = reader_of(JOBS, [["health", "food", "metal", "metal"], ["care", "work", "work", "work"]], {"Pfleger": "nurse"})


def values(reader, attribute, text):
    found = reader.read(text)
    return None if found is None else [attribute.categories[i] for i in np.flatnonzero(found)]


def ages(low, high, top=False):
    return [*map(str, range(low, high + 1)), *(["90+"] if top else [])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", ages(18, 30, top=True)),
        ("", ages(18, 30, top=True)),
        ("NA", ages(18, 30, top=True)),
        (" 21 ", ["21"]),
        ("90+", ["90+"]),
        # A label of the hierarchy that looks like an interval.
        ("15-19", ages(18, 19)),
        ("19 \N{EN DASH} 22", ages(19, 22)),
        ("[20, 23[", ages(20, 22)),
        ("(20,23]", ages(21, 23)),
        ("[29, inf)", ages(29, 30, top=True)),
        (">=29", ages(29, 30, top=True)),
        ("<19", ["18"]),
        ("\N{LESS-THAN OR EQUAL TO} 19", ages(18, 19)),
        ("28+", ages(28, 30, top=True)),
        ("{18, 20}", ["18", "20"]),
        ("{18,[20, 22[}", None),
        ("{18; 19-20}", ages(18, 20)),
        # Numbers that no record has; other unknown elements could denote any value.
        ("{18, 17, 40-49}", ["18"]),
        ("{18, young}", None),
        ("{17, 40}", None),
        ("2*", ages(20, 29)),
        # Cells that contain no value of the domain, or no known value, cannot be read.
        ("[40, 50[", None),
        ("young", None),
        ("[20", None),
    ],
)
def test_ages(text, expected):
    assert values(AGE, AGES, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("372**", ["37201", "37202"]), ("37*", ["37201", "37202"]), ("*8101", ["38101"]), ("5*", None)],
)
def test_codes(text, expected):
    assert values(ZIP, ZIPS, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("work", ["baker", "smith", "a, b"]),
        ("{health, metal}", ["nurse", "smith", "a, b"]),
        ("Pfleger", ["nurse"]),
        ("a, b", ["a, b"]),
        ("b*ker", ["baker"]),
    ],
)
def test_words(text, expected):
    assert values(JOB, JOBS, text) == expected


def test_a_label_of_several_groups_stands_for_all_of_them():
    attribute = Attribute("x", ("a", "b", "c", "d"))
    reader = reader_of(attribute, [["one", "two", "two", "three"], ["two", "two", "two", "three"]])
    assert values(reader, attribute, "two") == ["a", "b", "c"]


def test_values_that_files_write_as_missing_are_values_where_they_are_known():
    attribute = Attribute("x", ("", "NA", "a"))
    reader = reader_of(attribute, [])
    assert values(reader, attribute, "NA") == ["NA"]
    assert values(reader, attribute, "") == [""]
    assert values(reader, attribute, "*") == ["", "NA", "a"]


@examples(100)
@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["[]", "[[", "[)", "(]", "]]", "()"]))
def test_intervals_hold_the_numbers_between_their_ends(low, high, ends):
    begin, end = ends
    expected = [
        str(age)
        for age in range(18, 31)
        if (age >= low if begin == "[" else age > low) and (age <= high if end == "]" else age < high)
    ]
    expected += ["90+"] if high >= 90 else []
    assert (values(AGE, AGES, f"{begin}{low}, {high}{end}") or []) == expected

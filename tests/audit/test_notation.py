"""Values represented by released cells in notations of reidsim, ARX, sdcMicro."""

import pytest

from reidsim.audit.release import ColumnReader

AGES = ["7", "18", "19", "20", "29", "30", "90+", "", "unknown", "-4", "2.5"]
CODES = ["37201", "37202", "37311", "03601", "0372"]
DAYS = ["1985-03-31", "1985-03", "1985", "1989-12-01", "1990-01-02", "", "soon"]
RACES = ["White", "Black", "Black or African American", "Asian"]


def fitting(values, cell, hierarchy=()):
    reader = ColumnReader(values, hierarchy)
    return [values[position] for position in reader.fitting(cell)]


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("*", AGES), ("19", ["19"]), ("", [""]), ("unknown", ["unknown"]), ("90+", ["90+"]), ("89+", ["90+"]),
        ("18-29", ["18", "19", "20", "29"]), ("18 \N{EN DASH} 20", ["18", "19", "20"]), ("-5--1", ["-4"]),
        ("[18, 29]", ["18", "19", "20", "29"]), ("[18, 29[", ["18", "19", "20"]), ("[18, 29)", ["18", "19", "20"]),
        ("]18, 29]", ["19", "20", "29"]), ("(18, 29)", ["19", "20"]), ("[2, 2.75]", ["2.5"]),
        (">=30", ["30", "90+"]), (">30", ["90+"]), ("<7", ["-4", "2.5"]), ("<=7", ["-4", "2.5", "7"]),
        ("{19, 30}", ["19", "30"]), ("{}", []), ("19 or 30", ["19", "30"]), ("07", ["7"]), ("7.0", ["7"]),
        ("21", []), ("none of these", []), ("30-20", []),
    ],
)  # fmt: skip
def test_numbers(cell, fits):
    assert fitting(AGES, cell) == fits


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("372**", ["37201", "37202"]), ("3****", ["37201", "37202", "37311"]), ("*****", CODES[:4]), ("****", ["0372"]),
        ("[036**, 373**]", ["37311", "03601"]), ("[036**]", ["03601"]), ("**311", ["37311"]), ("999**", []),
        ("37201", ["37201"]), ("*", CODES),
    ],
)  # fmt: skip
def test_codes(cell, fits):
    assert fitting(CODES, cell) == fits


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("1985-03-31", ["1985-03-31"]), ("1985-03", ["1985-03-31", "1985-03"]),
        ("1985", ["1985-03-31", "1985-03", "1985"]),
        ("1985-1989", ["1985-03-31", "1985-03", "1985", "1989-12-01"]), ("1990", ["1990-01-02"]), ("", [""]),
        ("not a date", ["soon"]), ("1991", []),
    ],
)  # fmt: skip
def test_days(cell, fits):
    assert fitting(DAYS, cell) == fits


def test_groups_whose_members_hold_the_word_between_them():
    assert fitting(RACES, "White or Black or African American") == ["White", "Black", "Black or African American"]
    assert fitting(RACES, "White or Asian") == ["White", "Asian"]
    assert fitting(RACES, "Black or African American") == ["Black or African American"]


def test_labels_of_a_hierarchy_are_those_of_its_text():
    rows = [["White", "[1, 2]", "*"], ["Black", "[1, 2]", "*"], ["Asian", "other", "*"], ["Red", "other", "*"]]
    assert fitting(RACES, "[1, 2]", rows) == ["White", "Black"]
    assert fitting(RACES, "other", rows) == ["Asian"]
    assert fitting(RACES, "Red", rows) == []
    # A value that the text does not mention fits every cell, and itself.
    assert fitting(RACES, "*", rows) == RACES
    assert fitting(RACES, "Black or African American", rows) == ["Black or African American"]

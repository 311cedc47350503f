"""Reading a column: missing values, decimals of codes, dates of any format."""

from datetime import date
from functools import partial

import pandas as pd
import pytest

from reidsim.core.errors import InputError
from reidsim.core.tables import CountedTable
from reidsim.drafts.profile import NAMES, find_reading, profile_table
from reidsim.kinds.tables.release import attribute_labels
from reidsim.kinds.tables.schema import AttributeSection
from reidsim.releases.records import select_columns
from reidsim.scenarios.hierarchies import DateReading, NumberReading, TextReading


def found(values, name="x", **options):
    rows = pd.Series([str(value) for value in values]).value_counts().to_dict()
    return find_reading(rows, NAMES.hint_of(name), **options)


def kind(values, name="x"):
    (profile,) = profile_table(CountedTable.of(pd.DataFrame({name: list(map(str, values))}, dtype="str")))
    return profile.kind


@pytest.mark.parametrize(
    ("name", "values", "missing"),
    [
        ("age", [*range(20, 90), 999], ("999",)),
        ("age", [*(f"{age}.0" for age in range(20, 90)), "999.0", ""], ("", "999.0")),
        ("age", [*range(20, 90), -99, "."], ("-99", ".")),
        # Without a name that indicates a count, negative numbers may be valid.
        ("x", [*range(20, 90), -1, -9], ()),
        ("children", [0, 1, 2, 3, 4, 99], ("99",)),
        # Twice the largest of the other values; at least two occurrences are required.
        ("x", [*range(50), 99], ("99",)),
        ("x", [1, 999], ()),
        # An age of 99, because other ages are nearly as high.
        ("age", [*range(20, 98), 99], ()),
        ("birth_year", [*range(1930, 2005), 9999], ("9999",)),
        # A top code or an amount; the data do not decide.
        ("income", [*range(1000, 98000, 500), 99999], ()),
        ("zip", ["37203", "37014", "99999", "00000"], ("00000", "99999")),
        ("town", ["Ashby", "Brook", "Coombe", "999"], ("999",)),
        ("grade", ["A", "B", "9"], ()),
        ("dob", [*(f"{day:02}.03.1970" for day in range(1, 29)), "9999", "99.99.9999"], ("99.99.9999", "9999")),
        ("dob", [*(f"{day:02}.03.99" for day in range(1, 29)), "9.9.99"], ()),
    ],
)
def test_what_stands_for_a_missing_value(name, values, missing):
    reading = found(values, name)
    assert reading.content.get("missing", ()) == tuple(sorted(missing))
    told = [note for note in reading.notes if "read as missing" in note]
    assert len(told) == len(set(missing) - {"", "."})
    assert {value for value in map(str, values) if reading.reading.label(value) == ""} == set(missing)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["1.0", "2.0", "9.0"], ["1", "2", "9"]),
        (["1,0", "2", "-3.00"], ["1", "2", "-3"]),
        # Amounts keep their decimals, also zeros.
        (["1.0", "2.5"], ["1.0", "2.5"]),
        (["1.0", "low", "high"], ["1.0", "low", "high"]),
    ],
)
def test_codes_that_a_program_wrote_with_decimals(values, labels):
    reading = found(values)
    assert [reading.reading.label(value) for value in values] == labels
    assert reading.content.get("type") == ("number" if labels != values else None)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["950", "1,012", "1,234,567", "-2,000"], ["950", "1012", "1234567", "-2000"]),
        (["928,000", "1,012,000.50", "n/a"], ["928000", "1012000.50", ""]),
        (["1.012", "12,5", "1.234.567,25"], ["1012", "12,5", "1234567,25"]),
        # Decimals, codes of one length, and numbers in both notations.
        (["3,250", "2,980"], None),
        (["1,25", "1,250", "3"], None),
        (["912 345 678", "911 222 333"], None),
        (["1,012", "1200", "950"], None),
    ],
)
def test_digits_in_groups_of_three(values, labels):
    reading = found(values)
    assert ("thousands" in reading.content) == (labels is not None)
    if labels is not None:
        assert [reading.reading.label(value) for value in values] == labels
        example = next(
            value for value in pd.Series(values).value_counts().index if reading.content["thousands"] in value
        )
        assert reading.notes == (f"numbers such as {example!r} are read as {reading.reading.label(example)}",)


@pytest.mark.parametrize(
    ("kind_", "name", "values"),
    [
        ("category", "roof", [2, 4, 5, 9] * 9),
        ("category", "sex", [1, 2, 9] * 9),
        ("code", "occupation", [*range(1000, 9000, 37)] * 2),
        ("category", "occupation", [*range(1, 150)] * 2),
        ("whole number", "age", [20, 30, 40] * 9),
        ("whole number", "birth_year", [1970, 1971, 1980] * 9),
        ("number", "x", ["1.5", "2.5", "9.0"] * 9),
        ("date", "admission", [19700101 + day for day in range(28)] * 2),
        ("whole number", "x", [19700101 + day for day in range(28)] * 2),
        ("date", "dob", [25848 + day for day in range(60)] * 2),
        ("whole number", "x", [25848 + day for day in range(60)] * 2),
        ("date", "x", [f"{day:02}/03/1970" for day in range(1, 29)]),
        # Half are dates and half are numbers; nine of ten are dates.
        ("date", "x", [*(f"{day:02}.03.1970" for day in range(1, 11)), *range(25840, 25850)]),
        ("category", "x", [*(f"{day:02}.03.1970" for day in range(1, 2)), *range(25840, 25850)]),
        ("date", "x", [*(f"{day:02}.03.1970" for day in range(1, 10)), "unknown"]),
    ],
)
def test_intervals_are_of_quantities_only(kind_, name, values):
    assert kind(values, name) == kind_


def test_dates_in_mixed_ways_are_one_calendar_value_and_doubts_are_counted():
    ways = ["07.10.1970", "1970-10-07", "10/7/70", "25848", "Oct 7, 1970"]
    reading = found([*ways * 3, *["12/25/81"] * 4, "4/4/90", "5/5/90", "6/6/90", "7/7/90", "unknown"], "dob")
    century = date.today().year - 99
    assert reading.content == {"type": "date", "order": "month-day", "two_digit_years_from": century}
    assert {reading.reading.label(way) for way in ways} == {"1970-10-07"}
    assert reading.reading.label("unknown") == "unknown"
    assert reading.certain
    assert reading.notes == (
        "3 of 23 dates, such as '10/7/70', could have day and month in either order; read as month-day, because of "
        "other dates: 4 with this order",
        "3 of 23 dates are read as spreadsheet dates (days since 1899-12-30)",
        f"11 of 23 dates have years of two digits, read as {century} to {century + 99}",
    )


def test_a_birth_in_the_future_does_not_move_the_years_of_others():
    births = [f"{day:02}.03.{year}" for day, year in enumerate(range(1990, 2010), start=1)]
    later, short = date.today().year + 5, ["13.04.12", "14.04.28"]
    reading = found([*births, *short, f"05.05.{later}"], "dob")
    assert reading.content["two_digit_years_from"] == 2009 - 99
    assert reading.notes[0] == f"1 of 23 dates lie after {date.today().year}"
    events = found([*births, *short, f"05.05.{later}"], "expiry")
    assert events.content["two_digit_years_from"] == later - 99


@pytest.mark.parametrize(
    ("values", "order", "certain", "evidence"),
    [
        (["1/2/1970", "13/2/1970"], "day-month", True, "other dates: 1 with this order"),
        (["1/2/1970", "2/13/1970"], "month-day", True, "other dates: 1 with this order"),
        (["1/2/1970", "2/1/1970"], "day-month", False, "without evidence for this order"),
        (["1/2/1970", "2/13/1970", "13/2/1970", "14/2/1970"], "day-month", False, "1 with order month-day"),
        (["01.02.1970", "1970-02-01", "3/3/1970"], "day-month", True, ""),
    ],
)
def test_the_order_of_day_and_month_is_that_of_days_that_exist_in_one_only(values, order, certain, evidence):
    reading = found(values, "dob")
    assert (reading.content["order"], reading.certain) == (order, certain)
    (note,) = reading.notes or [""]
    assert note.endswith(evidence)
    assert bool(note) == bool(evidence)


def test_the_century_is_that_of_the_other_days_of_the_column():
    full = [f"{year}-05-01" for year in range(1970, 1990)]
    assert found([*full[1:], "1.2.95"], "dob").content["two_digit_years_from"] == date.today().year - 99
    assert found([*full, "1.2.95"], "dob").content["two_digit_years_from"] == 1890
    assert found([*full, "1.2.95"], "dob").reading.label("1.2.95") == "1895-02-01"
    assert found([*full, "1.2.95"], "dob", age_on=date(2010, 1, 1)).reading.label("1.2.95") == "14"


def test_dates_of_birth_become_ages_on_a_day_and_other_dates_do_not():
    births = [f"{year}-05-01" for year in range(1930, 1990)]
    reading = found([*births, "2025-01-01"], "dob", age_on=date(2024, 4, 30))
    assert reading.reading.label("1970-05-01") == "53"
    # No person has an age before birth.
    assert reading.reading.label("2025-01-01") == "2025-01-01"
    assert found(births, "admission", age_on=date(2024, 4, 30)).reading.label("1970-05-01") == "1970-05-01"


def test_a_scenario_reads_a_column_as_it_says():
    date_reading = DateReading(type="date", missing=("?",), order="month-day", two_digit_years_from=1930)
    frame = pd.DataFrame({"dob": ["10/7/70", " ?", "soon"], "sex": ["1.0", "9.0", "x"], "x": ["1.0", "-", "b"]})
    section = partial(AttributeSection, hierarchy={"rule": "suppress"})
    sections = {
        "born": section(reading=date_reading),
        "sex": section(reading=NumberReading(type="number", missing=("9",)), values={"1": "male"}),
        "x": section(reading=TextReading(type="text", missing=("-",))),
    }
    labels = attribute_labels(frame, {"born": "dob", "sex": "sex", "x": "x"}, sections, "people.csv")
    assert labels.to_dict("list") == {
        "born": ["1970-10-07", "", "soon"],
        "sex": ["male", "", "x"],
        "x": ["1.0", "", "b"],
    }
    with pytest.raises(InputError) as caught:
        select_columns(frame, {"born": "dob"}, {"born": DateReading(type="date").label}, "people.csv")
    assert str(caught.value).startswith(
        "people.csv: row 1, column 'dob': year of two digits; found '10/7/70'; expected "
    )

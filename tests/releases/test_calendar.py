"""Dates in every notation, ages on a date, and levels of the calendar."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute
from reidsim.releases.hierarchy import Hierarchy, age_on, date_levels, read_day

DAYS = st.dates(date(1930, 1, 1), date(2029, 12, 31))
# Each notation of a date, the order of day and month if relevant, and its description.
WAYS = {
    "iso": (lambda day: day.isoformat(), "day"),
    "iso with slashes": (lambda day: f"{day:%Y/%m/%d}", "day"),
    "iso with a time": (lambda day: f"{day.isoformat()}T23:59:59.5+02:00", "day"),
    "of pandas": (lambda day: f"{day.isoformat()} 00:00:00", "day"),
    "german": (lambda day: f"{day:%d.%m.%Y}", "day"),
    "german, short": (lambda day: f"{day.day}.{day.month}.{day:%y}", "day"),
    "english": (lambda day: f"{day.day} {day:%B} {day.year}", "day"),
    "american words": (lambda day: f"{day:%b} {day.day}, {day.year}", "day"),
    "SAS": (lambda day: f"{day:%d%b%Y}".upper(), "day"),
    "compact": (lambda day: f"{day:%Y%m%d}", "compact"),
    "spreadsheet": (lambda day: str((day - date(1899, 12, 30)).days), "serial"),
    "spreadsheet with decimals": (lambda day: f"{(day - date(1899, 12, 30)).days}.0", "serial"),
}


@pytest.mark.parametrize("way", WAYS)
@given(day=DAYS)
def test_a_day_is_the_same_however_it_is_written(way, day):
    write, told = WAYS[way]
    read = read_day(write(day), two_digit_years_from=1930)
    assert (read.calendar, read.way, read.order) == (day.isoformat(), told, None)
    assert read.short_year == (way == "german, short")


@given(DAYS, st.sampled_from("/-"), st.booleans())
def test_days_with_the_year_last_are_read_in_the_order_given_unless_only_the_other_exists(day, sign, short):
    year = f"{day:%y}" if short else f"{day.year}"
    american = f"{day.month}{sign}{day.day}{sign}{year}"
    european = f"{day.day}{sign}{day.month}{sign}{year}"
    for text, order in ((american, "month-day"), (european, "day-month")):
        read = read_day(text, order, 1930)
        assert read.calendar == day.isoformat()
        expected = None if day.day == day.month else order if day.day > 12 else "either"
        assert read.order == expected
    if day.day > 12:
        assert read_day(american, "day-month", 1930).calendar == day.isoformat()
    else:
        assert read_day(american, "day-month", 1930).calendar[5:] == f"{day.day:02}-{day.month:02}"


@pytest.mark.parametrize(
    "text",
    [
        "", "unknown", "1985-02-31", "31.02.1985", "2/30/1970", "99/99/9999", "9999", "0999", "1.5", "12", "1-2",
        "7 Octember 1970", "1970-13", "1970-10-07 noon", "10.7-1970", "37203-1234", "123456", "192.168.0.1",
        "2200-01-01", "1799-12-31", "2200", "1799", "09999", "99999",
    ],
)  # fmt: skip
def test_what_is_no_day_is_not_read_as_one(text):
    assert read_day(text, two_digit_years_from=1930) is None


@pytest.mark.parametrize(
    ("text", "calendar"),
    [("1970", "1970"), ("1970.0", "1970"), ("1970-01", "1970-01"), ("1800", "1800"), ("2199", "2199")],
)
def test_years_and_months_are_kept_as_such(text, calendar):
    assert read_day(text) == (calendar, "year", False, None)


@pytest.mark.parametrize(("first", "year"), [(1924, 1924), (1925, 2024), (1901, 1924), (2000, 2024), (1930, 2024)])
def test_years_of_two_digits_are_of_the_hundred_from_a_year_on(first, year):
    assert read_day("1.2.24", two_digit_years_from=first).calendar == f"{year}-02-01"
    assert read_day("1.2.24") is None
    assert read_day("1.2.1824", two_digit_years_from=first).calendar == read_day("1.2.1824").calendar == "1824-02-01"
    # A leap day of 2000; 1900 had none.
    assert read_day("29.2.00", two_digit_years_from=2000).short_year
    assert not read_day("1.2.1924", two_digit_years_from=2000).short_year


@given(DAYS, DAYS)
def test_an_age_is_the_number_of_birthdays_since(born, reference):
    def birthday(year):
        # A person born on a leap day has a birthday on 1 March in other years.
        return date(year, 3, 1) if (born.month, born.day) == (2, 29) and year % 4 else born.replace(year=year)

    birthdays = [year for year in range(born.year + 1, reference.year + 1) if birthday(year) <= reference]
    assert age_on(born.isoformat(), reference) == (len(birthdays) if born <= reference else None)


LEVELS = ["month", "year", "5 years", "10 years"]


@given(st.lists(DAYS, min_size=1, max_size=30, unique=True))
def test_levels_hold_the_day_and_nest(days):
    attribute = Attribute("born", (*map(str, days), "1970", "1970-10", "", "unknown", "1985-02-31"))
    levels = date_levels(attribute, LEVELS)
    Hierarchy.from_labels(attribute, levels)
    for at, day in enumerate(days):
        month, year, five, ten = (level[at] for level in levels)
        assert (month, year) == (f"{day:%Y-%m}", f"{day.year}")
        for label, span in ((five, 5), (ten, 10)):
            first, last = map(int, label.split("-"))
            assert first <= day.year <= last == first + span - 1
            assert first % span == 0
    # A year joins its days at its own level; missing values and invalid dates stay separate.
    assert [level[len(days)] for level in levels] == ["1970", "1970", "1970-1974", "1970-1979"]
    assert [level[len(days) + 1] for level in levels][:2] == ["1970-10", "1970"]
    assert {level[len(days) + 2] for level in levels} == {""}
    assert {level[at] for level in levels for at in (-2, -1)} == {"not a date"}


@pytest.mark.parametrize(
    ("levels", "problem"),
    [
        (["decade"], "no such level; found 'decade'"),
        (["0 years"], "no such level"),
        (["1 years"], "no such level"),
        (["year", "month"], "date levels do not nest"),
        (["5 years", "12 years"], "date levels do not nest"),
        (["5 years", "5 years"], "date levels do not nest"),
    ],
)
def test_levels_that_are_none_or_do_not_nest_are_refused(levels, problem):
    with pytest.raises(InputError, match=problem):
        date_levels(Attribute("born", ("1970-10-07",)), levels)

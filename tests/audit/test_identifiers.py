"""Identifying columns, found by name, format or rare values; and other columns."""

import uuid

import numpy as np
import pandas as pd
import pytest

from reidsim.audit.identifiers import format_of, named_identifier, why_identifying

N = 400
RNG = np.random.default_rng(4)


def column(values):
    return pd.Series([str(value) for value in values], dtype="str")


def luhn(digits):
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def iban(country, account):
    number = int("".join(str(int(character, 36)) for character in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02}{account}"


def kvnr(letter, digits):
    told = f"{ord(letter) - 64:02}{digits}"
    return f"{letter}{digits}{sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(told)) % 10}"


def ahv(digits):
    told = f"756{digits}"
    return f"{told}{-sum(int(d) * (1 + 2 * (i % 2)) for i, d in enumerate(told)) % 10}"


FORMATS = {
    "e-mail addresses": ["ada@example.org", "b.c@mail.example.com"],
    "bank accounts (IBAN)": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432",
                             iban("FR", "20041010050500013M026")],
    "insurance numbers": [kvnr("A", "12345678"), kvnr("T", "40502117"), "756.9217.0769.85", ahv("123456789"),
                          "AB123456C"],
    "social security or identity card numbers": ["078-05-1120", "12345678Z", "X1234567L"],
    "payment cards": [luhn("411111111111111"), "4012 8888 8888 1881"],
    "network addresses": ["192.0.2.7", "198.51.100.23"],
    "record numbers (UUID)": [str(uuid.UUID(int=5)), str(uuid.UUID(int=2**100))],
}  # fmt: skip


@pytest.mark.parametrize("what", FORMATS)
def test_formats_are_known_by_their_check_digits(what):
    assert format_of(FORMATS[what]) == what
    # Half of the values are enough.
    assert format_of(FORMATS[what] + ["unknown"] * len(FORMATS[what])) == what
    assert format_of(FORMATS[what] + ["unknown"] * (len(FORMATS[what]) + 1)) == ""


@pytest.mark.parametrize("value", ["DE89370400440532013001", "756.9217.0769.84", "12345678A", "4111111111111112"])
def test_a_wrong_check_digit_is_no_such_number(value):
    assert format_of([value]) == ""
    french = "1850578006084"
    assert format_of([f"{french}{97 - int(french) % 97:02}"]) == "insurance numbers"
    assert format_of([f"{french}{(97 - int(french) % 97 + 1) % 97:02}"]) != "insurance numbers"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("E-Mail", "e-mail"), ("Telefonnummer", "telephone"), ("MRN", "record"), ("patientID", "record"),
        ("pid", "record"), ("insurance_no", "insurance"), ("Versicherungsnummer", "insurance"), ("IBAN", "account"),
        ("Nachname", "name"), ("prénom", "name"), ("apellido", "name"), ("codice_fiscale", "social"),
        ("fødselsnummer", ""), ("Straße", "address"), ("numero_historia", "record"), ("BSN", "social"),
    ],
)  # fmt: skip
def test_names_in_several_languages(name, what):
    assert named_identifier(name).startswith(what)
    assert bool(named_identifier(name)) == bool(what)


@pytest.mark.parametrize(
    "name", ["age", "page", "diagnosis", "insurance", "sexe", "valid", "phoneme", "income", "kidney"]
)
def test_other_names_say_nothing(name):
    assert named_identifier(name) == ""


def test_numbers_of_their_own_are_refused_and_one_duplicate_hides_nothing():
    savings = [*range(1_000, 1_000 + N - 1), 1_000]
    why = why_identifying("savings", column(savings))
    assert why == "398 of 400 people have a number that no other person has, among 399 distinct values"
    assert why_identifying("expend", column(RNG.random(N))).startswith("400 of 400 people have a number")
    # Every value occurs in two rows: no person is unique, and each value leaves two candidates.
    assert why_identifying("x", column([f"v{i // 2}" for i in range(N)])).startswith("0 of 400 people have a value")
    assert why_identifying("x", column([f"v{i // 3}" for i in range(N)])) == ""


def test_people_are_counted_where_rows_repeat_them():
    """Five rows each: by rows no person is unique, by people every person is."""
    persons = np.repeat(np.arange(80), 5)
    income = column(20_000 + 137 * persons)
    assert why_identifying("amount", income) == ""
    assert why_identifying("amount", income, persons).startswith("80 of 80 people have a number")
    assert why_identifying("ward", column(persons % 8), persons) == ""
    values, times = column(RNG.integers(0, 300, N)), RNG.integers(1, 4, N)
    every = np.repeat(np.arange(N), times)
    found = why_identifying("amount", values, represented=times)
    assert found == why_identifying("amount", values.iloc[every])
    assert "of 800" not in found


def test_a_column_that_links_the_rows_of_people_is_a_key():
    """Each person has four rows; what outsiders cannot know links them."""
    persons = np.repeat(np.arange(60), 4)
    code = column([f"k{7 * p % 61}" for p in persons])
    expected = "like a key, it links all rows of 60 of 60 people with several rows"
    assert why_identifying("arm", code, persons, unique=False) == expected
    assert why_identifying("arm", code, unique=False) == ""
    # Other values in some rows, other people with the same value, or few people with several rows.
    assert why_identifying("arm", column(RNG.integers(0, 10**6, 240)), persons, unique=False) == ""
    assert why_identifying("arm", column([f"k{p // 2}" for p in persons]), persons, unique=False) == ""
    repeated = np.append(np.arange(100), [0, 1, 2])
    assert why_identifying("arm", column([f"k{p}" for p in repeated]), repeated, unique=False) == ""
    rare = column([f"k{p}" if p < 20 else "k" for p in persons])
    assert why_identifying("arm", rare, persons, unique=False) == ""


def test_record_numbers_without_a_telling_name():
    persons = RNG.integers(0, 150, N)
    assert "its values look like record numbers" in why_identifying("chart", column([f"A{p:05}" for p in persons]))
    assert "its values look like record numbers" in why_identifying("chart", column([f"{p:08}" for p in persons]))
    assert why_identifying("income", column([f"{1000 * p}" for p in persons])) == ""
    assert "a record number" in why_identifying("hid", column(persons))
    assert why_identifying("call", column([f"+49 30 {1000 + p} {p:03}" for p in persons])).startswith(
        "its values look like tel"
    )
    # ICD-10 codes and dates that each occur in many rows.
    assert why_identifying("code", column(RNG.choice(["E11.9", "I10", "J45.0", "E1165"], N))) == ""
    assert why_identifying("day", column(RNG.choice(["07.10.1970", "08.10.1970"], N))) == ""


def test_a_name_or_format_identifies_also_if_people_share_few_values():
    """As in drafts, which call such a column a direct identifier whatever its values."""
    assert why_identifying("surname", column(["Smith", "Jones"] * 200)) == "its name suggests name"
    assert why_identifying("pid", column(["7"] * N)) == "its name suggests record number"
    assert why_identifying("contact", column(["a@b.org", "c@d.org"] * 200)) == "its values look like e-mail addresses"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("diagnosis", ["flu", "asthma", "stroke", "diabetes"] * 100),
        ("name", ["NA"] * N), ("sex", ["F", "M", "M", "F"]), ("income", [1000 * (i % 9) for i in range(N)]),
    ],
)  # fmt: skip
def test_columns_that_name_nobody_are_kept(name, values):
    assert why_identifying(name, column(values)) == ""

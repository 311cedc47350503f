"""The voter file loader, on small files in the layouts of North Carolina.

The layouts are those of the State Board of Elections. Columns and codes are written here independently of the loader,
so that a mistake there does not cancel out.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labels import by_label
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.populations import census
from reidsim.populations.catalogue import load_population
from reidsim.populations.census import VoterFileRecipe
from reidsim.populations.population import Attribute, Domain, Making, Population

# Of layout_ncvoter.txt of 11 February 2022 and of the layout before it: columns that are read, and some around them.
LAYOUT_SINCE_2022 = """
county_id county_desc last_name status_cd res_street_address res_city_desc state_cd zip_code confidential_ind
race_code ethnic_code party_cd gender_code birth_year age_at_year_end birth_state vtd_desc
"""
LAYOUT_UNTIL_2022 = """
county_id county_desc status_cd last_name res_street_address res_city_desc state_cd zip_code race_code ethnic_code
party_cd gender_code birth_age birth_state confidential_ind birth_year vtd_desc
"""
LAYOUTS = {"since 2022": LAYOUT_SINCE_2022.split(), "until 2022": LAYOUT_UNTIL_2022.split()}

Row = dict[str, str]
Cell = tuple[str, ...]


def row(age: str, race: str, sex: str, zip_code: str, **others: str) -> Row:
    """Return a voter's values; `age` is written to the age column of the layout."""
    usual = {
        "county_id": "1",
        "county_desc": "ALAMANCE",
        "last_name": "DOE",
        "status_cd": "A",
        "res_street_address": "12  ELM ST  ",
        "state_cd": "NC",
        "confidential_ind": "N",
        "ethnic_code": "UN",
        "party_cd": "UNA",
    }
    return {**usual, "age": age, "race_code": race, "gender_code": sex, "zip_code": zip_code, **others}


def line(columns: list[str], values: Row) -> str:
    age = {"birth_age": values["age"], "age_at_year_end": values["age"]}
    return "\t".join(f'"{(values | age).get(column, "")}"' for column in columns)


def write(path: Path, columns: list[str], rows: list[Row], *, end: str = "\r\n", quoted: bool = True) -> Path:
    lines = ["\t".join(f'"{column}"' for column in columns), *(line(columns, values) for values in rows)]
    text = "".join(written + end for written in lines)
    path.write_bytes((text if quoted else text.replace('"', "")).encode("latin-1"))
    return path


def read_voter_file(
    path: Path, *, within: Domain | None = None, block_size: int = 1 << 24, **keys: Any
) -> tuple[Population, Counter[str]]:
    """Return the voters of a file, and the number of rows left out by reason, as reported in the source."""
    people = None if within is None else Population(within, np.zeros((1, 4), np.int32), np.ones(1, np.int64))
    named = {} if within is None else {"population": "people"}
    recipe = VoterFileRecipe(kind="voter-file", file=str(path), **named, **keys)
    with mock.patch.object(census, "BLOCK_SIZE", block_size):
        voters = recipe.make(Making(path.parent, "voters", 0, other=lambda *_: people))
    reported = re.findall(r"([a-z ]+) ([\d,]+)(?=[,)])", voters.source.partition("left out:")[2])
    return voters, Counter({reason.strip(): int(number.replace(",", "")) for reason, number in reported})


def failure(path: Path, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_voter_file(path, **options)
    return caught.value


@pytest.fixture(params=LAYOUTS)
def columns(request: pytest.FixtureRequest) -> list[str]:
    return LAYOUTS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ncvoter1.txt"


KEPT = [
    row("48", "W", "F", "27215"),
    row("048", "W", "F", "272151234"),  # the same cell
    row("18", "B", "M", "27006", status_cd="I"),
    row("19", "I", "M", "27006", status_cd="S"),
    row("20", "A", "F", "28909", last_name="PEÑA", res_city_desc="CAÑON"),
    row("20", "P", "F", "28909", res_street_address="5 REMOVED RD"),  # the same cell
    row("120", "O", "M", "27215"),
    row("0", "M", "F", "02134", state_cd="MA"),
]
CELLS = {
    ("48", "White", "Female", "27215"): 2,
    ("18", "Black", "Male", "27006"): 1,
    ("19", "AIAN", "Male", "27006"): 1,
    ("20", "API", "Female", "28909"): 2,
    ("120", "Other", "Male", "27215"): 1,
    ("0", "Other", "Female", "02134"): 1,
}


LEFT_OUT = [
    ("status removed", row("48", "W", "F", "27215", status_cd="R")),
    ("status removed", row("48", "W", "F", " ", status_cd="R", res_street_address="REMOVED", state_cd=" ")),
    ("status removed", row("48", "W", "F", "27215", res_street_address="REMOVED")),
    ("status not kept", row("48", "W", "F", "27215", status_cd="D")),
    ("status not kept", row("48", "W", "F", "27215", status_cd=" ")),
    ("age missing", row("", "W", "F", "27215")),
    ("age missing", row(" ", "U", "U", "")),  # the first reason counts
    ("age implausible", row("121", "W", "F", "27215")),
    ("age implausible", row("999999999", "W", "F", "27215")),
    ("age unreadable", row("9" * 5000, "W", "F", "27215")),
    ("age unreadable", row("4x", "W", "F", "27215")),
    ("age unreadable", row("-1", "W", "F", "27215")),
    ("age unreadable", row("4²", "W", "F", "27215")),
    ("race missing", row("48", "U", "F", "27215")),
    ("race missing", row("48", " ", "U", "27215")),
    ("race unreadable", row("48", "NA", "F", "27215")),
    ("race unreadable", row("48", "WHITE", "F", "27215")),
    ("race unreadable", row("48", "F", "F", "27215")),
    ("sex missing", row("48", "W", "U", "27215")),
    ("sex missing", row("48", "W", "", "27215")),
    ("sex unreadable", row("48", "W", "W", "27215")),
    ("zip missing", row("48", "W", "F", " ", confidential_ind="Y", res_street_address=" ", res_city_desc=" ")),
    ("zip unreadable", row("48", "W", "F", "2721")),
    ("zip unreadable", row("48", "W", "F", "272151")),
    ("zip unreadable", row("48", "W", "F", "2721A")),
    ("zip unreadable", row("48", "W", "F", "27215-234")),
]


@pytest.mark.parametrize(("quoted", "block_size"), [(True, 1), (False, 3000), (True, 1 << 20)])
def test_report_of_all_rows_left_out(path: Path, columns: list[str], block_size: int, quoted: bool) -> None:
    rows = [*KEPT, *(values for _, values in LEFT_OUT)]
    population, left_out = read_voter_file(write(path, columns, rows, quoted=quoted), block_size=block_size)
    assert by_label(population) == CELLS
    assert left_out == Counter(reason for reason, _ in LEFT_OUT)
    assert f"({len(KEPT)} of {len(rows)} rows kept;" in population.source


def district(zips: tuple[str, ...]) -> Domain:
    """Return a domain of some ZIP codes."""
    return Domain(
        (
            Attribute("age", tuple(str(age) for age in range(121))),
            Attribute("race", ("White", "Black", "AIAN", "API", "Other")),
            Attribute("sex", ("Male", "Female")),
            Attribute("zip", zips),
        )
    )


@pytest.mark.parametrize(("change", "n_fields"), [("\t", 1), ("", -1)])
@pytest.mark.parametrize("block_size", [1, 2000])
def test_broken_line(path: Path, columns: list[str], change: str, n_fields: int, block_size: int) -> None:
    write(path, columns, KEPT)
    lines = path.read_bytes().split(b"\n")
    lines[5] = lines[5].replace(b"\t", change.encode() + b"\t" * (n_fields > 0), 1)
    path.write_bytes(b"\n".join(lines))
    error = failure(path, block_size=block_size)
    assert (error.problem, error.source, error.where) == ("line with the wrong number of fields", str(path), "line 6")
    assert error.found == f"{len(columns) + n_fields} fields"
    assert str(error.expected).startswith(f"{len(columns)} fields")


@pytest.mark.parametrize("column", ["status_cd", "zip_code"])
def test_missing_column(path: Path, columns: list[str], column: str) -> None:
    kept = [name if name != column else f"{name}_x" for name in columns]
    error = failure(write(path, kept, KEPT))
    assert (error.problem, error.source, error.where) == ("column missing", str(path), f"column {column!r}")
    assert error.hint == f"did you mean '{column}_x'?"


def test_no_column_of_ages(path: Path, columns: list[str]) -> None:
    kept = [name for name in columns if name not in ("birth_age", "age_at_year_end")]
    error = failure(write(path, kept, KEPT))
    assert (error.problem, error.source, error.where) == ("age column missing", str(path), "line 1")
    assert "'age_at_year_end' or 'birth_age'" in str(error)


def test_nobody_kept(path: Path, columns: list[str]) -> None:
    error = failure(write(path, columns, [values for _, values in LEFT_OUT[:4]]))
    assert error.source == str(path)
    assert error.problem == (
        "the file has no usable row (0 of 4 rows kept; rows left out: status removed 3, status not kept 1)"
    )
    error = failure(write(path, columns, KEPT[:2]), within=district(("99999",)))
    assert error.problem == "the file has no usable row (0 of 2 rows kept; rows left out: zip not in the population 2)"


def naive(
    path: Path, statuses: tuple[str, ...], unknown_ages: tuple[int, ...], zips: tuple[str, ...] | None
) -> Counter[Cell]:
    lines = path.read_bytes().decode("latin-1").split("\n")
    header = [name.strip("\r").strip('"') for name in lines[0].split("\t")]
    counted: Counter[Cell] = Counter()
    for text in lines[1:]:
        if not text:
            continue
        fields = text.removesuffix("\r").split("\t")
        assert len(fields) == len(header)
        value = {name: field.strip().strip('"').strip() for name, field in zip(header, fields, strict=True)}
        age = value.get("birth_age") or value.get("age_at_year_end") or ""
        race = {"W": "White", "B": "Black", "I": "AIAN", "A": "API", "P": "API", "O": "Other", "M": "Other"}
        sex = {"M": "Male", "F": "Female"}
        complete = (
            value["status_cd"] in statuses
            and value["res_street_address"] != "REMOVED"
            and re.fullmatch("[0-9]+", age)
            and int(age) <= 120
            and int(age) not in unknown_ages
            and value["race_code"] in race
            and value["gender_code"] in sex
            and re.fullmatch("[0-9]{5}([0-9]{4})?", value["zip_code"])
            and (zips is None or value["zip_code"][:5] in zips)
        )
        if complete:
            cell = (str(int(age)), race[value["race_code"]], sex[value["gender_code"]], value["zip_code"][:5])
            counted[cell] += 1
    return counted


# Any character but the separators; mostly voters' names.
NAMES = st.one_of(
    st.sampled_from(
        ["DOE", 'JO ""JACK""', '"', '"""', '"\\', "\\t\\n", "NULL", " ", "", "CR\rCR", "NUL\x00", "VT\x0b"]
    ),
    st.text(st.characters(max_codepoint=255, exclude_characters="\t\n"), max_size=6),
)
ROWS = st.fixed_dictionaries(
    {
        "age": st.sampled_from(["", " ", "0", "7", "018", "18", "44", "118", "120", "121", "x", "4.0"]),
        "race_code": st.sampled_from([*"AABIMOPUWWW", "", " ", " W ", "X", "NA", "1"]),
        "gender_code": st.sampled_from([*"FFMMU", "", " ", "X"]),
        "zip_code": st.sampled_from(["27006", "270061234", "27215", "28909", "00501", "", " ", "27006    ", "2700"]),
        "status_cd": st.sampled_from([*"AAAAISDR", "", " "]),
        "res_street_address": st.sampled_from(["1 ELM ST", "REMOVED", " REMOVED ", "NOT REMOVED", "", " "]),
        "county_id": NAMES,
        "last_name": NAMES,
        "vtd_desc": NAMES,
    }
)


@examples(60, fast=5)
@given(
    rows=st.lists(ROWS, max_size=25),
    layout=st.sampled_from(list(LAYOUTS.values())),
    end=st.sampled_from(["\n", "\r\n"]),
    statuses=st.sampled_from([("A", "I", "S"), ("A",), ("D", "A")]),
    unknown_ages=st.sampled_from([(), (118,), (0, 44)]),
    zips=st.sampled_from([None, ("27215", "27006", "30301")]),
    block_size=st.sampled_from([1, 500, 1 << 20]),
    quoted=st.booleans(),
)
def test_same_as_one_line_at_a_time(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    layout: list[str],
    end: str,
    statuses: tuple[str, ...],
    unknown_ages: tuple[int, ...],
    zips: tuple[str, ...] | None,
    block_size: int,
    quoted: bool,
) -> None:
    path = tmp_path_factory.mktemp("voters") / "ncvoter1.txt"
    # One voter who is always kept, so that the population is not empty.
    rows = [row("44", "W", "F", "27215") | {"age": "45"}, *rows]
    write(path, layout, rows, end=end, quoted=quoted)
    within = None if zips is None else district(zips)
    population, left_out = read_voter_file(
        path, statuses=statuses, ages_missing=unknown_ages, within=within, block_size=block_size
    )
    expected = naive(path, statuses, unknown_ages, zips)
    assert by_label(population) == expected
    assert left_out.total() == len(rows) - expected.total()
    assert all(number > 0 for number in left_out.values())


RECIPE = """
kind = "voter-file"
source = "made up"
file = "files/ncvoter1.txt"
"""
TOWN = """
kind = "counts"
file = "town.csv"
columns = { age = "age", race = "race", sex = "sex", zip = "zip" }
"""


@pytest.fixture
def recipe(tmp_path: Path, columns: list[str]) -> Path:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files" / "ncvoter1.txt", columns, [*KEPT, row("118", "W", "F", "27215", status_cd="D")])
    path = tmp_path / "alamance.toml"
    path.write_text(RECIPE)
    return path


def test_recipe_with_the_categories_of_a_population(recipe: Path) -> None:
    recipe.write_text(RECIPE + 'population = "./town.toml"\n')
    (recipe.parent / "town.toml").write_text(TOWN)
    (recipe.parent / "town.csv").write_text("age,race,sex,zip\n48,White,Female,27215\n18,Black,Male,27006\n")
    voters = load_population(recipe)
    assert voters.domain == load_population(recipe.parent / "town.toml").domain
    assert by_label(voters) == {("48", "White", "Female", "27215"): 2, ("18", "Black", "Male", "27006"): 1}
    # The result is the same with expected counts, because voters are counted.
    assert by_label(load_population(recipe, counts="expected")) == by_label(voters)

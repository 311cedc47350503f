"""The SF1 loader, on a small state in the Census Bureau's format.

Positions, segment numbers and the order of cells are written here independently of the loader, so that a mistake
there does not cancel out.
"""

from pathlib import Path

import pytest
from labels import by_label
from tiers import cases

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import load_population

TABLES = "ABCDEFG"
SEGMENT = {"A": "20", "B": "21", "C": "22", "D": "23", "E": "24", "F": "25", "G": "26"}
AGE_GROUPS = [*map(str, range(100)), "100-104", "105-109", "110+"]

# People by ZCTA, table, sex and age group. 37999 has none; the geographic header is not in order of the ZCTAs.
PEOPLE = {
    "38501": {("A", "Female", "0"): 7, ("A", "Male", "99"): 3, ("F", "Male", "50"): 4, ("G", "Male", "50"): 5},
    "37999": {},
    "37010": {
        ("A", "Male", "0"): 11,
        ("A", "Male", "1"): 13,
        ("A", "Female", "99"): 17,
        ("A", "Male", "100-104"): 31,
        ("A", "Female", "105-109"): 3,
        ("A", "Female", "110+"): 2,
        ("B", "Female", "37"): 19,
        ("C", "Female", "64"): 23,
        ("D", "Male", "20"): 29,
        ("E", "Male", "20"): 1,
        ("E", "Female", "21"): 2,
        ("G", "Female", "5"): 6,
    },
}
ZCTA_RECORDS = {"38501": "0000005", "37999": "0000007", "37010": "0000008"}
LAST_ZCTA_LINE = 7  # of 37010 in every segment

# Weights halve with every year: 16:8:4:2:1 over 100-104 and 105-109, 4:2:1 over 110-112.
RECIPE = """
kind = "sf1"
source = "made up"
folder = "files"
state = "tn"
oldest = 112
tail = { linear = 0.6931471805599453, quadratic = 0.0 }
"""


def header_line(
    logrecno: str, sumlev: str, *, geocomp: str = "00", zcta: str = "", people: int = 0, name: str = ""
) -> str:
    line = list(" " * 500)
    fields = {
        1: "SF1ST ", 7: "TN", 9: sumlev, 12: geocomp, 14: "000", 17: "01", 19: logrecno, 28: "47",
        172: zcta, 227: name, 319: f"{people:>9}", 328: f"{0:>9}", 337: "+35.8",
    }  # fmt: skip
    for start, text in fields.items():
        line[start - 1 : start - 1 + len(text)] = text
    return "".join(line)


def segment_line(table: str, logrecno: str, people: dict[tuple[str, str, str], int]) -> str:
    by_sex = {sex: [people.get((table, sex, group), 0) for group in AGE_GROUPS] for sex in ("Male", "Female")}
    cells = [sum(map(sum, by_sex.values()))]
    for ages in by_sex.values():
        cells += [sum(ages), *ages]
    assert len(cells) == 209
    return ",".join(["SF1ST", "TN", "000", SEGMENT[table], logrecno, *map(str, cells)])


def write_state(folder: Path) -> Path:
    """Write the files and the recipe; return the recipe's path."""
    files = folder / "files"
    files.mkdir()
    everybody = {(table, "Male", "30"): 1000 for table in TABLES}
    header = [
        header_line("0000001", "040", people=7000, name="Tennessee"),
        header_line("0000002", "040", geocomp="01", people=7000, name="Tennessee -- Urban"),
        header_line("0000003", "050", people=7000, name="Cañon County"),
        header_line("0000004", "101", zcta="37010", people=7000),  # blocks have no lines in the segments of PCT tables
    ]
    lines: dict[str, list[str]] = {table: [] for table in TABLES}
    for table in TABLES:
        lines[table] += [segment_line(table, f"000000{n}", everybody) for n in (1, 2, 3)]
    for zcta, logrecno in ZCTA_RECORDS.items():
        total = sum(PEOPLE[zcta].values())
        header.append(header_line(logrecno, "871", zcta=zcta, people=total, name=f"ZCTA5 {zcta}"))
        if zcta == "38501":
            header.append(header_line("0000006", "871", geocomp="A0", zcta=zcta, people=7000))
        for table in TABLES:
            lines[table].append(segment_line(table, logrecno, PEOPLE[zcta]))
            if zcta == "38501":
                lines[table].append(segment_line(table, "0000006", everybody))
    header.append(header_line("0000009", "881", zcta="37010", people=7000))
    for table in TABLES:
        lines[table].append(segment_line(table, "0000009", everybody))
        (files / f"tn000{SEGMENT[table]}2010.sf1").write_text("\n".join(lines[table]) + "\n", encoding="latin-1")
    (files / "tngeo2010.sf1").write_text("\n".join(header) + "\n", encoding="latin-1")
    recipe = folder / "small.toml"
    recipe.write_text(RECIPE)
    return recipe


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return write_state(tmp_path)


def change_cell(path: Path, number: int, cell: int, value: str) -> None:
    """Set one cell of one line of a segment.

    Cells are counted from 1, without the linking fields.
    """
    lines = path.read_text(encoding="latin-1").split("\n")
    fields = lines[number - 1].split(",")
    assert fields[4 + cell] != value
    fields[4 + cell] = value
    lines[number - 1] = ",".join(fields)
    path.write_text("\n".join(lines), encoding="latin-1")


def failure(recipe: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        load_population(recipe)
    return caught.value


def segment(recipe: Path, table: str) -> Path:
    return recipe.parent / "files" / f"tn000{SEGMENT[table]}2010.sf1"


def header(recipe: Path) -> Path:
    return recipe.parent / "files" / "tngeo2010.sf1"


@pytest.mark.deep
def test_every_cell(recipe: Path) -> None:
    assert by_label(load_population(recipe)) == {
        ("0", "White", "Female", "38501"): 7,
        ("99", "White", "Male", "38501"): 3,
        ("50", "Other", "Male", "38501"): 9,  # 4 of some other race, 5 of two or more
        ("0", "White", "Male", "37010"): 11,
        ("1", "White", "Male", "37010"): 13,
        ("99", "White", "Female", "37010"): 17,
        # 31 people aged 100-104 as 16:8:4:2:1
        ("100", "White", "Male", "37010"): 16,
        ("101", "White", "Male", "37010"): 8,
        ("102", "White", "Male", "37010"): 4,
        ("103", "White", "Male", "37010"): 2,
        ("104", "White", "Male", "37010"): 1,
        # 3 people aged 105-109: 1.55, 0.77, 0.39, 0.19, 0.10
        ("105", "White", "Female", "37010"): 2,
        ("106", "White", "Female", "37010"): 1,
        # 2 people aged 110 to 112: 1.14, 0.57, 0.29
        ("110", "White", "Female", "37010"): 1,
        ("111", "White", "Female", "37010"): 1,
        ("37", "Black", "Female", "37010"): 19,
        ("64", "AIAN", "Female", "37010"): 23,
        ("20", "API", "Male", "37010"): 30,  # 29 Asian, 1 Pacific Islander
        ("21", "API", "Female", "37010"): 2,
        ("5", "Other", "Female", "37010"): 6,
    }


def test_missing_folder(recipe: Path) -> None:
    recipe.write_text(RECIPE.replace('"files"', '"nowhere"'))
    error = failure(recipe)
    assert error.problem == "no such folder"
    assert error.source == str(recipe.parent / "nowhere")
    assert "tn2010.sf1.zip" in str(error)


@pytest.mark.deep
def test_truncated_segment(recipe: Path) -> None:
    path = segment(recipe, "D")
    path.write_text(path.read_text()[:-30])
    error = failure(recipe)
    assert error.problem == "row with the wrong number of columns"
    assert (error.source, error.where) == (str(path), "row 8")
    assert "214" in str(error)


# The total, the totals of males and females, and the first and last age of both.
@pytest.mark.deep
@pytest.mark.parametrize("cell", cases([1, 2, 3, 105, 106, 107, 209], [1, 106, 209]))
def test_cells_that_do_not_add_up(recipe: Path, cell: int) -> None:
    change_cell(segment(recipe, "B"), LAST_ZCTA_LINE, cell, "20")
    error = failure(recipe)
    assert error.problem == "cells do not sum to the totals"
    assert error.source == str(segment(recipe, "B"))
    assert error.where == "LOGRECNO 0000008, PCT12B"


@pytest.mark.deep
def test_table_in_the_place_of_another(recipe: Path) -> None:
    # PCT12D under the name of PCT12B adds up within itself, but not to the people of the ZCTA.
    segment(recipe, "B").write_bytes(segment(recipe, "D").read_bytes())
    error = failure(recipe)
    assert error.problem == "tables PCT12A to PCT12G do not sum to the population of the ZCTA"
    assert error.source == str(header(recipe))
    assert error.where == "LOGRECNO 0000008 (ZCTA 37010)"
    assert (error.found, error.expected) == (157 - 19 + 29, "157 (POP100)")

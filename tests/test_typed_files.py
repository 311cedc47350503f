"""Statistical files, spreadsheets and other encodings, read as text tables."""

import datetime
import re
import zipfile
from pathlib import Path

import openpyxl
import own_files
import pandas as pd
import pyreadstat
import pytest

import reidsim
import reidsim.core.tables
from reidsim.core.errors import InputError
from reidsim.core.tables import column_labels, read_table, sniff_delimiter, text_table

SURVEY = own_files.survey(120)
# The expected table equals a CSV file with labels in place of the codes.
LABELLED = text_table(
    SURVEY.assign(**{name: SURVEY[name].map(labels) for name, labels in own_files.VALUE_LABELS.items()}), "survey"
)


def stata(path):
    SURVEY.to_stata(
        path, write_index=False, value_labels=own_files.VALUE_LABELS, variable_labels=own_files.COLUMN_LABELS
    )


def spss(path):
    pyreadstat.write_sav(
        SURVEY, path, variable_value_labels=own_files.VALUE_LABELS, column_labels=own_files.COLUMN_LABELS
    )


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("dta", stata),
        ("sav", spss),
    ],
)
def test_codes_are_read_as_their_labels(tmp_path, ending, write):
    path = tmp_path / f"survey.{ending}"
    write(path)
    pd.testing.assert_frame_equal(read_table(path), LABELLED)
    assert column_labels(path) == own_files.COLUMN_LABELS


@pytest.mark.parametrize("name", ["a.dta", "a.sav", "a.parquet", "a.xlsx", "a.csv", "a.csv.gz"])
def test_a_preview_has_the_table_and_how_it_is_read(tmp_path, name):
    path, write = tmp_path / name, {"dta": stata, "sav": spss}.get(name.rpartition(".")[2])
    if write is not None:
        write(path)
    elif path.suffix in (".parquet", ".xlsx"):
        (LABELLED.to_parquet if path.suffix == ".parquet" else LABELLED.to_excel)(path, index=False)
    else:
        LABELLED.to_csv(path, index=False, sep=";")
    found = reidsim.preview(path)
    pd.testing.assert_frame_equal(found.frame, LABELLED)
    assert found.is_text == (".csv" in name)
    assert not found.is_text or (found.delimiter, found.encoding) == (";", "utf-8")


def test_a_sheet_is_read_in_every_step(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        pd.DataFrame({"note": ["unused"]}).to_excel(book, sheet_name="notes", index=False)
        pd.DataFrame({"age": [*range(20, 60)], "sex": ["F", "M"] * 20}).to_excel(book, sheet_name="people", index=False)
    assert reidsim.preview(tmp_path / "a.xlsx", sheet="people").sheets == ("notes", "people")
    draft = reidsim.new(tmp_path / "a.xlsx", sheet="people")
    assert draft.scenario.scenario.release.sheet == "people"
    assert len(reidsim.share(draft.run(), "basic", accept_risk=True)) == 40
    # A table, or another file with its hierarchy, has no keys of the workbook.
    people = pd.DataFrame({"age": ["20", "30"] * 9, "sex": ["F", "M"] * 9})
    people.to_parquet(tmp_path / "b.parquet")
    people.to_excel(tmp_path / "b.xlsx", index=False)
    pd.DataFrame({"age": ["20", "30"], "1": ["young", "young"]}).to_excel(tmp_path / "ages.xlsx", index=False)
    assert draft.scenario.with_(records=people).run().manifest["records"] == 18
    own = {"hierarchies": {"age": tmp_path / "ages.xlsx", "sex": "suppress"}, "benefit": 9, "loss": 9, "cost": 1}
    for path in ("b.parquet", "b.xlsx"):
        assert reidsim.Scenario.from_frames(tmp_path / path, **own).run().manifest["records"] == 18
    for options in ({"sheet": "x"}, {}):
        with pytest.raises(InputError):
            reidsim.new(tmp_path / "a.xlsx", quasi_identifiers=["age"], **options)


@pytest.mark.parametrize(
    ("text", "encoding"), [("Zoë", "utf-8"), ("Zoë", "cp1252"), ("Zo\x81", "latin-1"), ("Zoë", "utf-16")]
)
def test_the_encoding_is_found_behind_the_first_rows(tmp_path, text, encoding):
    (tmp_path / "a.csv").write_text("name,x\n" + "Ada,1\n" * 300_000 + f"{text},2\n", encoding=encoding)
    assert reidsim.preview(tmp_path / "a.csv").encoding == encoding


def test_codes_of_one_label_are_told_apart_and_those_of_none_stay(tmp_path):
    frame = pd.DataFrame({"answer": [1.0, 8.0, 9.0, 5.0, None], "again": [1.0, 5.0, 5.0, 1.0, 1.0]})
    labels = {"answer": {1: "yes", 8: "unknown", 9: "unknown"}}
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels, missing_ranges={"answer": [5]})
    read = read_table(tmp_path / "a.dta")
    assert read["answer"].tolist() == ["yes", "unknown (8)", "unknown (9)", "5", ""]
    assert read["again"].tolist() == ["1", "5", "5", "1", "1"]
    # A value declared missing in the dictionary is missing even without a label.
    assert read_table(tmp_path / "a.sav")["answer"].tolist() == ["yes", "unknown (8)", "unknown (9)", "", ""]


def test_cells_of_a_workbook_are_its_values(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [
        ["zip", "born", "age", "share", "seen", None],
        ["02138", datetime.date(1970, 10, 7), 53.0, 0.5, datetime.datetime(2024, 1, 2, 3, 4), None],
        ["37203", "07.10.1970", 999, None, True, None],
        [None, None, None, None, None, None],
    ]:
        sheet.append(row)
    sheet["H9"] = " "
    book.create_sheet("codes").append(["not", "read"])
    book.save(tmp_path / "people.xlsx")
    assert read_table(tmp_path / "people.xlsx").to_dict("list") == {
        "zip": ["02138", "37203"],
        "born": ["1970-10-07", "07.10.1970"],
        "age": ["53", "999"],
        "share": ["0.5", ""],
        "seen": ["2024-01-02 03:04:00", "True"],
    }


def _with_cell(path, cell, changed):
    """Write another element of a cell to the only sheet of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, re.sub(f'<c r="{cell}".*?</c>', changed, content))


def test_a_formula_needs_a_value(tmp_path):
    """A workbook that no spreadsheet program has saved holds formulas without values, which are no missing values."""
    path, book = tmp_path / "people.xlsx", openpyxl.Workbook()
    for row in (["age", "sex"], [30, "F"], ["=1+33", "M"], [50, "F"]):
        book.active.append(row)
    book.create_sheet("other").append(["age", "sex"])
    book["other"].append(["=2+40", "F"])
    book.save(path)
    problem = r"people\.xlsx: cell A3: the formula has no value; found '1\+33'; expected a value"
    with pytest.raises(InputError, match=problem):
        reidsim.describe(path)
    with pytest.raises(InputError, match=r"cell A2: the formula has no value; found '2\+40'"):
        read_table(path, sheet="other")
    for value, read in (('<c r="A3"><f>1+33</f><v>34</v></c>', "34"), ('<c r="A3" t="str"><f>""</f><v></v></c>', "")):
        _with_cell(path, "A3", value)
        assert read_table(path)["age"].tolist() == ["30", read, "50"]


def test_a_title_above_the_names_of_a_sheet_is_named(tmp_path):
    frame = pd.DataFrame({"age": [30, 40], "sex": ["F", "M"], "zip": ["01", "02"]})
    frame.to_excel(tmp_path / "people.xlsx", index=False, startrow=2)
    book = openpyxl.load_workbook(tmp_path / "people.xlsx")
    book.active["A1"] = "Report 2024"
    book.save(tmp_path / "people.xlsx")
    problem = r"people\.xlsx: header: columns without a name; found 'Report 2024'; expected a name for each .* titles"
    with pytest.raises(InputError, match=problem):
        reidsim.describe(tmp_path / "people.xlsx")
    # A column of row numbers has no name in many files.
    frame.to_excel(tmp_path / "people.xlsx")
    assert list(read_table(tmp_path / "people.xlsx")) == ["", "age", "sex", "zip"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.dta", "a Stata file"), ("a.sav", "an SPSS file"), ("a.XPT", "a SAS file"), ("a.xlsx", "an Excel workbook")],
)
def test_what_cannot_be_read_is_told_in_a_line(tmp_path, name, kind):
    with pytest.raises(InputError, match=f"no such file; expected {kind}"):
        read_table(tmp_path / name)
    (tmp_path / name).write_text("age,sex\n30,F\n")
    with pytest.raises(InputError, match=f"cannot be read as {kind}: ") as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_table((tmp_path / "b").rename(tmp_path / f"b{Path(name).suffix}"))


@pytest.mark.parametrize(("name", "extra"), [("a.sav", "statistics"), ("a.xlsx", "excel")])
def test_what_is_not_installed_is_told_with_the_extra_that_brings_it(tmp_path, monkeypatch, name, extra):
    def missing(module):
        raise ModuleNotFoundError(name=module)

    (tmp_path / name).write_text("x")
    monkeypatch.setattr(reidsim.core.tables.importlib, "import_module", missing)
    with pytest.raises(InputError, match=rf"is needed to read .* \(run pip install 'reidsim\[{extra}\]'\)"):
        read_table(tmp_path / name)


TEXT = "town;age\nKöln;30\n"


@pytest.mark.parametrize(
    "encoding",
    [
        "latin-1",
        "cp1252",
        "utf-16",
        "utf-8",
    ],
)
def test_text_is_read_in_the_encoding_that_is_given(tmp_path, encoding):
    path = tmp_path / "people.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert sniff_delimiter(path, encoding) == ";"
    assert read_table(path, delimiter=";", encoding=encoding).to_dict("list") == {"town": ["Köln"], "age": ["30"]}


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (TEXT.encode("latin-1"), "utf-8", "or set --encoding or key encoding, such as latin-1"),
        (TEXT.encode("utf-16"), "utf-8", "or set --encoding or key encoding, such as utf-16"),
        (TEXT.encode("latin-1"), "ascii", "line 2: not a text file in ascii; found 'byte 0xf6'"),
        (TEXT.encode(), "latin1000", "unknown encoding; found 'latin1000'"),
    ],
)
def test_what_cannot_be_decoded_is_told(tmp_path, content, encoding, message):
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(path, delimiter=";", encoding=encoding)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("a.csv", "release.sheet", "people"),
        ("a.parquet", "release.sheet", "people"),
        ("a.xlsx", "release.delimiter", ";"),
        ("a.dta", "release.encoding", "latin-1"),
        ("a.xlsx", "release.header", False),
        ("a.csv", "attributes.age.hierarchy", {"rule": "table", "file": "ages.parquet", "delimiter": ","}),
    ],
)
def test_keys_that_the_format_of_the_file_ignores_are_refused(tmp_path, path, key, value):
    (tmp_path / "a.csv").write_text("age\n" + "30\n40\n" * 9, encoding="utf-8")
    drafted = reidsim.new(tmp_path / "a.csv", quasi_identifiers=["age"]).scenario
    with pytest.raises(InputError, match=r"the key has no effect; expected this key only with an? .* in "):
        drafted.with_({"release.path": path, key: value})

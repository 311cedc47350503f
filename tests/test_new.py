"""`reidsim new`: column detection for all kinds of tables, and runnable drafts."""

import os
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.tables import MISSING_MARKS, CountedTable, delimited_line, read_table, sniff_delimiter
from reidsim.core.validation import validated
from reidsim.drafts.choice import MOST_NAMED, MOST_TAKEN, choose, draft_hierarchy
from reidsim.drafts.draft import draft_scenario
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.profile import is_free_text, profile_table
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.populations.population import Attribute, natural_categories
from reidsim.releases.hierarchy import hierarchy_from_rows
from reidsim.scenarios.hierarchies import hierarchy_of
from reidsim.scenarios.scenario import Scenario

ROWS = 60


def column(values, name="x"):
    (profile,) = profile_table(CountedTable.of(pd.DataFrame({name: list(map(str, values))}, dtype="str")))
    return profile


def written(path, table):
    path.write_text(
        "".join([delimited_line(table), *map(delimited_line, zip(*table.values(), strict=True))]),
        encoding="utf-8",
        newline="",
    )
    return path


# Column values.

KINDS = {
    "empty": ["", "NA", ""] * 20,
    "constant": ["blue"] * 60,
    "whole number": [20 + i % 40 for i in range(ROWS)],
    "number": [f"{i * 0.37:.2f}" for i in range(ROWS)],
    "date": [f"19{50 + i % 40}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)],
    "code": [f"0{i % 30:04}" for i in range(ROWS)],
    "category": ["red", "green", "blue"] * 20,
    "free text": [f"the patient complained for a while about item {i % 30}" for i in range(ROWS)],
    "identifier": [f"P{i:05}" for i in range(ROWS)],
}


def test_a_column_of_every_type():
    for kind, values in KINDS.items():
        profile = column(values)
        assert profile.kind == kind
        distinct = {str(value) for value in values} - MISSING_MARKS
        assert (profile.distinct, profile.missing) == (len(distinct), sum(v in ("", "NA") for v in values))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("whole number", ["90+", *range(20, 60)] * 2),
        ("whole number", ["", "NA", "unknown", *range(20, 60)] * 2),
        ("number", [f"{i},5" for i in range(40)]),
        ("date", [f"{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i}" for i in range(40)]),
        ("date", ["unknown", "2020-02-30", *(f"2020-01-{1 + i % 28:02}" for i in range(60))]),
        ("category", ["unknown", "none", "none yet", *(f"2020-01-{1 + i:02}" for i in range(20))] * 3),
        ("code", [f"C{i % 30:02}.{i % 10}" for i in range(90)]),
        ("identifier", [f"u{i}@example.org" for i in range(9)]),
        ("identifier", [f"{100 + i}-45-{6000 + i}" for i in range(9)]),
        ("identifier", [f"+44 20 7946 {1000 + i}" for i in range(9)]),
        ("category", [f"{i}-{i + 9}" for i in range(0, 90, 10)] * 7),
    ],
)
def test_values_that_look_like_something(kind, values):
    assert column(values).kind == kind


@pytest.mark.parametrize(
    ("values", "is_text"),
    [
        ([], False),
        # More than five words on average.
        (["a b c d e f", "a b c d"], False),
        (["a b c d e f g h", "a b c d"], True),
        # More than 60 characters on average.
        (["x" * 62, "x" * 58], False),
        (["x" * 64, "x" * 58], True),
        # One value of more than 500 characters, or one of several lines, however short the others are.
        (["x" * 500, *"abcdefghi"], False),
        (["x" * 501, *"abcdefghi"], True),
        (["a", "b\nc", "d"], True),
    ],
)
def test_sentences_are_told_from_categories(values, is_text):
    assert is_free_text(values) is is_text


@given(st.lists(st.text(max_size=8), min_size=1, max_size=12))
def test_counts_are_those_of_the_column(values):
    values = [value.strip() for value in values]
    profile = column(values)
    read = list(map(profile.found.reading.label, values))
    assert profile.missing == sum(value in MISSING_MARKS for value in read)
    assert profile.distinct == len(set(read) - MISSING_MARKS)
    assert profile.rows == pd.Series(read).value_counts().to_dict()
    assert {value for value in values if not profile.found.reading.label(value)} >= set(values) & MISSING_MARKS


# Hierarchies.


def as_hierarchy(profile, draft):
    """Build a drafted hierarchy as a run does."""
    attribute = Attribute(profile.name, natural_categories(pd.Series(list(profile.rows), dtype="str")))
    if draft.rows:
        return hierarchy_from_rows(attribute, draft.rows)
    content = {
        "release": {"path": "x"},
        "attributes": {"x": {"hierarchy": draft.rule}},
        "economics": {"benefit": 1, "loss": 1, "cost": 1},
        "adversary": {"risk": "prosecutor"},
    }
    section = validated(TablesScenario, content, "draft").attributes["x"].hierarchy
    return hierarchy_of(attribute, section, Path(), "x")


MIXED = st.one_of(
    st.lists(st.integers(-50, 2000).map(str), min_size=2, max_size=60),
    st.lists(st.decimals(-100, 1000, places=2).map(str), min_size=2, max_size=60),
    st.lists(st.dates().map(str), min_size=2, max_size=60),
    st.lists(st.dates().map(lambda day: f"{day:%d/%m/}{day.year:04}"), min_size=2, max_size=60),
    st.lists(st.integers(0, 99999).map("{:05}".format), min_size=12, max_size=60),
    st.lists(st.sampled_from(["A1", "A12", "B3.1", "C", "A1*", "10-19", "0-9", "*", "?"]), min_size=2, max_size=60),
    st.lists(st.text(max_size=6).map(str.strip), min_size=2, max_size=60),
)


@given(
    MIXED,
    st.lists(st.sampled_from(["", "NA", "unknown", "10-19", "0-9", "other", "*", "3", "12 alone"]), max_size=3),
    st.sampled_from(["x", "age", "zip", "birth year", "dob"]),
    st.integers(0, 4),
)
@example([str(i) for i in range(60)], ["10-19"], "age", 3)
@example([str(i) for i in range(60)], ["0-9", "0-9 alone"], "x", 2)
def test_every_drafted_hierarchy_is_one(values, odd, name, most):
    """Levels nest, end in suppression, and never exceed the requested number."""
    profile = column(values + odd, name)
    assume(profile.distinct)
    draft = draft_hierarchy(profile, most)
    hierarchy = as_hierarchy(profile, draft)
    assert hierarchy.n_levels == draft.n_levels <= most + 2
    assert hierarchy.labels[-1] == ("*",)
    # Every level in between merges values; the requested levels are at most the default number of the kind.
    if draft.rule["rule"] in ("intervals", "prefix"):
        assert hierarchy.n_groups[1] <= hierarchy.attribute.size


def labels_of(values, name="x", most=None):
    """Return the labels of each value from level 1 on."""
    profile = column(values, name)
    draft = draft_hierarchy(profile, most)
    hierarchy = as_hierarchy(profile, draft)
    return {
        value: [hierarchy.labels[level][hierarchy.groups[level, at]] for level in range(1, hierarchy.n_levels)]
        for at, value in enumerate(hierarchy.attribute.categories)
    }


def test_levels_of_each_type():
    assert labels_of(range(80), "age")["34"] == ["30-34", "30-39", "20-39", "*"]
    assert labels_of([*range(0, 3100, 7)] * 2)["21"] == ["0-99", "0-499", "0-999", "*"]
    assert labels_of([*range(80), ""], "age")[""] == ["", "", "", "*"]
    births = ["1970-05", "1970", "1970-1974", "1970-1979", "*"]
    assert labels_of(["1970-05-17", "1981-02-03"], "dob")["1970-05-17"] == births
    assert labels_of(["17.05.1970", "3.2.1981"], "dob")["1970-05-17"] == births
    assert labels_of(["05/06/1970", "03/02/1981"], "dob")["1970-06-05"] == births[1:]
    assert labels_of(["2023-01-05", "2023-01-17", "2023-03-09"], "admission")["2023-01-17"] == ["2023-01", "*"]
    assert labels_of(["37203", "37014", "38363"], "zip")["37203"] == ["3720*", "372**", "37***", "*"]
    assert labels_of(["2138", "37014", "38363"], "zip")["2138"] == ["0213*", "021*", "02*", "*"]
    assert labels_of([f"CX{i:02}{i % 10}" for i in range(30)] * 3)["CX077"] == ["CX0**", "CX***", "C****", "*"]
    # The levels of a diagnosis are its category and the letter of its chapter.
    assert labels_of([f"C{i:02}.{i % 10}" for i in range(30)] * 3)["C07.7"] == ["C07**", "C****", "*"]
    assert labels_of(["1.5", "2.25", "30", "71.5"], "bmi")["2.25"] == ["[0, 5)", "[0, 10)", "*"]
    assert labels_of(["101.5", "102.25", "130", "171.5"], "bmi")["102.25"] == ["[100, 105)", "[100, 110)", "*"]
    assert labels_of(["F", "M", "F"], "sex")["F"] == ["*"]


@pytest.mark.parametrize(
    ("name", "values", "unlike"),
    [
        ("dob", [f"{1950 + i}-03-{1 + i % 28:02}" for i in range(60)], ["1985-02-31", "unknown", "unknown!!!"]),
        ("admission", [f"{1 + i % 28:02}.03.{1950 + i}" for i in range(60)], ["31.02.1985", "unknown"]),
        ("age", list(range(60)), ["unknown", "thirty", "other"]),
        ("bmi", [f"{i * 0.37:.2f}" for i in range(60)], ["heavy", "n. a."]),
    ],
)
def test_values_unlike_the_others_share_one_group_and_missing_ones_stay_as_they_are(name, values, unlike):
    values = [*map(str, values), *unlike, "NA"]
    labels, read = labels_of(values, name), column(values, name).found.reading.label
    (shared,) = {tuple(labels[value]) for value in unlike}
    assert shared[-1] == "*"
    assert labels[""] == [""] * (len(shared) - 1) + ["*"]
    for value in set(values) - set(unlike):
        assert not set(labels[read(value)][:-1]) & set(shared)
    assert set(draft_hierarchy(column(values, name), 3).unlike) == set(unlike)


def test_rare_categories_share_a_level():
    values = ["White"] * 500 + ["Black"] * 300 + ["Inuit"] * 2 + ["Maori"] * 3
    assert labels_of(values, "race") == {
        "White": ["White", "*"], "Black": ["Black", "*"],
        "Inuit": ["Inuit or Maori", "*"], "Maori": ["Inuit or Maori", "*"],
    }  # fmt: skip
    many = ["White"] * 500 + ["Black"] * 300 + [f"people number {i:02}" for i in range(30)] + ["other"] * 40
    # Values with less than a twentieth of the rows are joined next: here 40 values, under the label "other".
    labels = labels_of(many, "race")
    assert labels["people number 07"] == ["other values", "other values", "*"]
    assert labels["other"] == ["other", "other values", "*"]
    assert labels["Black"] == ["Black", "Black", "*"]


# Selected columns.


def table_of(**columns):
    return pd.DataFrame({name: pd.Series(list(map(str, values)), dtype="str") for name, values in columns.items()})


def chosen(frame, **options):
    choice = choose(profile_table(CountedTable.of(frame)), frame, DraftOptions(**options))
    return [taken.profile.name for taken in choice.chosen], choice


PEOPLE = {
    "patient_id": [f"P{i:05}" for i in range(ROWS)],
    "name": ["Ann", "Bob", "Zoë"] * 20,
    "diagnosis": ["flu", "asthma"] * 30,
    "age": [20 + i % 30 for i in range(ROWS)],
    "sex": ["F", "M"] * 30,
    "race": ["A", "B", "C"] * 20,
    "zip": [f"37{i % 7:03}" for i in range(ROWS)],
    "income": [20000 + 100 * (i % 9) for i in range(ROWS)],
    "country": ["US"] * ROWS,
}


def test_named_columns_are_added_to_the_proposal_or_replace_it():
    table = table_of(**PEOPLE)
    assert chosen(table, quasi_identifier=["diagnosis", "age"])[0] == ["diagnosis", "age", "sex", "race", "zip"]
    assert chosen(table, quasi_identifier=["diagnosis", "age"], only_named=True)[0] == ["diagnosis", "age"]
    assert chosen(table, quasi_identifier=["diagnosis"], drop=["race"])[0] == ["diagnosis", "age", "sex", "zip"]
    with pytest.raises(InputError, match="--only-named"):
        chosen(table, only_named=True)


def test_a_table_of_many_telling_columns_stays_solvable():
    frame = table_of(**{f"age {i}": [20 + (i + j) % 50 for j in range(60)] for i in range(40)})
    names, choice = chosen(frame)
    assert len(names) == MOST_TAKEN
    assert choice.strategies <= 10_000


def test_codes_of_many_values_are_shortened():
    number = 51_000
    codes = ["" if not i else f"{10_000 + i // 10}-{i % 10:04}" for i in range(number)]
    frame = table_of(zip=codes, occupation=[f"job {i}" for i in range(number)], sex=["F", "M"] * (number // 2))
    names, choice = chosen(frame)
    assert names == ["zip", "sex"]
    assert choice.left_out["occupation"] == "more than 50,000 values"
    hierarchy = choice.chosen[0].hierarchy
    assert hierarchy.n_levels == 5
    assert (hierarchy.rule["rule"], len(hierarchy.rows)) == ("prefix", 0)


def test_more_columns_than_can_be_solved_are_refused():
    frame = table_of(**{f"c{i}": ["a", "b"] for i in range(MOST_NAMED + 1)})
    with pytest.raises(InputError, match=f"expected at most {MOST_NAMED}"):
        chosen(frame, quasi_identifier=list(frame.columns))
    names, choice = chosen(frame, quasi_identifier=list(frame.columns)[1:])
    assert (len(names), choice.strategies) == (MOST_NAMED, 2**MOST_NAMED)


# The scenario.


CELLS = st.one_of(
    st.text(max_size=10),
    st.sampled_from(["=1+1", '"', '""', "a\nb", "a\r\nb", "é;,", "\u2028", "[x]", "\t|", "'", "#", "\\"]),
)


@examples(15, fast=5)
@given(
    st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=5),
    st.lists(st.lists(CELLS, min_size=5, max_size=5), min_size=2, max_size=12),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_whatever_the_file_holds_its_draft_is_ready_to_run(tmp_path_factory, names, rows, delimiter):
    """All columns but one are selected, whatever their names and values."""
    names = [name.strip() for name in names]
    assume(len(set(names)) == len(names) and all(names) and not any("\0" in c for r in rows for c in [*r, *names]))
    folder = tmp_path_factory.mktemp("draft")
    rows = [row[: len(names)] for row in rows]
    lines = [delimited_line(names, delimiter), *(delimited_line(row, delimiter) for row in rows)]
    (folder / "data.csv").write_text("".join(lines), encoding="utf-8", newline="")
    assume(sniff_delimiter(folder / "data.csv") == delimiter)
    profiles = profile_table(CountedTable.of(read_table(folder / "data.csv", delimiter=delimiter)))
    taken = [profile.name for profile in profiles if profile.kind not in ("empty", "set")]
    assume(taken)
    draft = draft_scenario(folder / "data.csv", folder / "out", DraftOptions(quasi_identifier=taken))
    (folder / "out").mkdir()
    draft.write(folder / "out")
    study = build_study(Scenario.load(folder / "out" / draft.scenario_file))
    assert study.n_records == len(rows)
    assert study.lattice.size == draft.choice.strategies


# Populations.

RESIDENTS = {
    "Age": ["34", "93", "48", "61"],
    "Gender": ["female", "Female", "male", "Male"],
    "race": ["White", "White", "Martian", "Black"],
    "zipcode": ["37208", "37014", "38363", "37208"],
    "marital": ["single", "married", "single", "married"],
}


def test_a_population_gives_the_risk_of_a_journalist(folder, reidsim_):
    """Column names and letter case of values differ from the population's."""
    written(folder / "residents.csv", RESIDENTS)
    options = ("--population", "tennessee-2010")
    code, _, err = reidsim_("new", "residents.csv", *options)
    assert code == 2
    assert "column marital: " in err
    assert "--drop marital" in err
    code, _, err = reidsim_("new", "residents.csv", *options, "--drop", "marital")
    assert code == 2
    assert "column 'race': " in err
    assert "found 'Martian'" in err
    code, _, err = reidsim_("new", "residents.csv", *options, "--drop", "marital", "--unmatched-unique", "race")
    assert code == 0
    assert "column 'race': 1 row with a value that no person in the population has, such as 'Martian'" in err
    scenario = Scenario.load("residents/residents.toml").scenario
    assert (scenario.adversary.risk, scenario.population.recipe) == ("journalist", "tennessee-2010")
    assert {name: a.column for name, a in scenario.attributes.items()} == {
        "age": "Age", "sex": "Gender", "race": None, "zip": "zipcode",
    }  # fmt: skip
    assert {name: a.unknown for name, a in scenario.attributes.items()} == {
        "age": "error", "sex": "error", "race": "nobody", "zip": "error",
    }  # fmt: skip
    assert scenario.attributes["sex"].values == {"female": "Female", "male": "Male"}
    study = build_study(Scenario.load("residents/residents.toml"))
    assert (study.n_records, study.linked_population.total) == (4, 6_346_105)
    sizes = study.linker("journalist").group_sizes
    # A value that nobody in the population has is unique; suppressed, it hides among all other people.
    martian = int(study.cell_of_record[2])
    by_level = [int(sizes.at(race * study.lattice.strides[2])[martian]) for race in range(study.lattice.shape[2])]
    assert (by_level[0], sizes.outside.tolist().count(True)) == (1, 1)
    assert by_level[-1] > 1


# Unusable columns.

BAD_FILES = {
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "not a text file"),
    "empty": (b"", "the file is empty"),
    "header alone": (b"age,sex\n", "the file has no rows"),
    "twice": (b"age,sex,age\n1,F,2\n", "column named twice; found 'age'"),
    "no names": (b"age,sex,,\n1,F,,\n", "column named twice; found '' (remove delimiters at the ends of lines"),
    "utf-16": ("age,sex\n30,F\n".encode("utf-16"), "is in UTF-16"),
    "open quote in a short file": (b'age,sex\n30,"F\n31,M\n', "data.csv: row 1: a quotation mark is not closed"),
    "workbook": (b"PK\3\4\x14\0\6\0\x08\0\xff\xfe", "if it is an Excel workbook"),
    "open quote": (b'age,"sex\n' + b"30,F\n" * 50_000, "a quotation mark is not closed"),
    "one value": (b"age\n" + b"40\n" * 30, "no column looks like a quasi-identifier"),
    "one row": (b"age,sex\n40,F\n", "found 'age (one value for all), sex (one value for all)'; expected a column such "
                "as age, sex or postal code, with at least two values"),
    "no header": (b"30,37209\n31,37209\n", "add a row with the column names"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_that_cannot_be_used_is_told_in_one_line(folder, reidsim_, case):
    content, message = BAD_FILES[case]
    (folder / "data.csv").write_bytes(content)
    code, out, err = reidsim_("new", "data.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert os.listdir(folder) == ["data.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["."], "is a folder"),
        (["data.csv", "--loss", "-1"], "--loss: amount out of range; found -1.0"),
        (
            ["data.csv", "--loss", "1e20"],
            "--loss: amount out of range; found 1e+20; expected 0 to 1,000,000,000,000,000",
        ),
        (["data.csv", "--cost", "inf"], "--cost: amount out of range; found inf"),
        (["data.csv", "--quasi-identifier", "agr"], "did you mean 'age'?"),
        (["data.csv", "-o", "taken"], "folder is not empty"),
        (["data.csv", "--hierarchy", "age=a.csv", "--hierarchy", "age=b.csv"], "--hierarchy: column named twice"),
    ],
)
def test_what_is_given_wrong_is_told_in_one_line(folder, reidsim_, arguments, message):
    (folder / "data.csv").write_text("age,sex\n30,F\n31,M\n")
    (folder / "taken").mkdir()
    (folder / "taken" / "mine").write_text("kept")
    code, out, err = reidsim_("new", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(os.listdir(folder)) == ["data.csv", "taken"]
    assert os.listdir(folder / "taken") == ["mine"]


def test_amounts_of_the_command_are_those_of_the_draft(folder, reidsim_):
    (folder / "data.csv").write_text("age,sex\n30,F\n31,M\n")
    code, *_ = reidsim_("new", "data.csv", "--loss", "500", "--cost", "0")
    assert code == 0
    economics = tomllib.loads((folder / "data" / "data.toml").read_text())["economics"]
    assert (economics["loss"], economics["cost"]) == (500, 0)


def test_columns_with_the_names_of_columns_of_results_are_drafted_and_shared(tmp_path):
    names = ["participates", "replication", "people", "knowledge"]
    table = pd.DataFrame({name: ["1", "2", "3", "3"] * 20 for name in names} | {"sex": ["f", "m"] * 40})
    draft = reidsim.new(table, quasi_identifiers=[*names, "sex"])
    result = draft.scenario.with_(policies=["no-protection"]).run()
    shared = result.share("no-protection", path=tmp_path / "shared.csv", accept_risk=True)
    assert shared.value_counts().to_dict() == table.value_counts().to_dict()
    for name in names:
        text = draft.text.replace(f"{name}_value", name)
        (tmp_path / "own.toml").write_text(text)
        with pytest.raises(InputError, match=f"reserved for a column of the results; found '{name}'; expected another"):
            reidsim.Scenario.load(tmp_path / "own.toml")

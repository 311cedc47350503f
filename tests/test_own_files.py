"""From a user's file to the shared file: hospital export, survey, census extract."""

import json
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import own_files
import pandas as pd
import pyreadstat
import pytest

from reidsim.core.errors import InputError
from reidsim.drafts.draft import draft_scenario
from reidsim.drafts.options import DraftOptions
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.release import read_release
from reidsim.reports.shared.file import verify_shared
from reidsim.scenarios.scenario import Scenario


@pytest.fixture
def reidsim_(reidsim_):
    """Return a function that runs the command line and checks its exit code.

    The function returns standard output and the warnings, one per line.
    """

    def run(*arguments, code=0):
        ended, out, err = reidsim_(*arguments)
        assert ended == code, err
        return " ".join(out.split()), [line.removeprefix("warning: ") for line in err.splitlines()]

    return run


def drafted(folder, table, name="hospital.csv", **options):
    """Draft a scenario for a hospital table; return the draft and the loaded scenario."""
    draft = draft_scenario(own_files.write_hospital(folder / name, table), folder / "draft", DraftOptions(**options))
    (folder / "draft").mkdir()
    draft.write(folder / "draft")
    return draft, Scenario.load(folder / "draft" / draft.scenario_file)


def labels_read(loaded):
    """Return the attribute values of the records as a run reads them."""
    release = read_release(loaded)
    return {
        hierarchy.attribute.name: np.array(hierarchy.attribute.categories, dtype=object)[release.codes[:, at]].tolist()
        for at, hierarchy in enumerate(release.hierarchies)
    }


# A hospital.


def test_an_export_of_a_hospital_is_drafted_run_and_shared(folder, reidsim_):
    table = own_files.hospital(800, 470)
    own_files.write_hospital(folder / "stays.csv", table)
    _, warnings = reidsim_("new", "stays.csv", "--merge", "race")
    told = "\n".join(warnings)
    assert "dates, such as" in told
    assert "read as month-day, because" in told
    assert "are read as spreadsheet dates" in told
    assert f"column 'age': {(table['age'] == '999').sum()} rows with '999' read as missing" in told
    content = tomllib.loads((folder / "stays/stays.toml").read_text(encoding="utf-8"))
    assert content["release"] == {"path": "../stays.csv", "delimiter": ";", "person": "pid"}
    attributes = content["attributes"]
    assert attributes["dob"]["reading"]["type"] == "date"
    assert attributes["dob"]["hierarchy"] == {"rule": "dates", "levels": ["month", "year", "5 years", "10 years"]}
    assert attributes["age"]["hierarchy"]["widths"] == [5, 10, 20]
    assert attributes["sex"]["hierarchy"] == {"rule": "suppress"}
    reidsim_("check", "stays/stays.toml")
    reidsim_("run", "stays/stays.toml", "-o", "results", "--set", 'publisher.policies=["no-protection"]')
    reidsim_(
        "share",
        "results",
        "-o",
        "shared.csv",
        "--policy",
        "no-protection",
        "--keep",
        "diagnosis",
        "--accept-risk",
        "--unknown-to-outsiders",
        "diagnosis",
    )
    shared = pd.read_csv("shared.csv", sep=";", dtype=str, keep_default_na=False)
    # Each patient has one date of birth, written in up to four formats.
    records = pd.read_parquet("results/records.parquet")
    days = records.groupby("person")["dob"].nunique()
    written = table["dob"].groupby(table["pid"]).nunique()
    assert written.max() == 4
    ambiguous = table["dob"].str.fullmatch(r"(\d|1[0-2])/(\d|1[0-2])/\d\d")
    assert ambiguous.sum() > 20
    assert days.max() == 1
    assert Counter(shared["race"]) == Counter(
        next(usual for usual, spellings in own_files.RACES.items() if race in spellings) for race in table["race"]
    )
    own = table.assign(age=table["age"].replace("999", ""))
    assert Counter(zip(shared["age"], shared["zip"], strict=True)) == Counter(zip(own["age"], own["zip"], strict=True))
    assert json.loads(Path("shared.csv.json").read_text())["delimiter"] == ";"
    assert verify_shared(Path("shared.csv"))["records"]["shared"] == 800


def test_days_are_those_that_clerks_meant(folder):
    """Dates of birth are recovered from every format."""
    table = own_files.hospital(2_000, 1_176)
    _, loaded = drafted(folder, table)
    read = pd.Series(labels_read(loaded)["dob"])
    meant = read.where(table["dob"].str.contains(r"[.]|^\d{4}-")).groupby(table["pid"]).first()
    known = meant.reindex(table["pid"]).to_numpy()
    assert (pd.notna(known)).sum() > 1_000
    assert (read.to_numpy()[pd.notna(known)] == known[pd.notna(known)]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge": ["zip"]}, "--merge: the column has no similar spellings to merge; found 'zip'"),
        ({"merge": ["diagnosis"]}, "--merge: not a quasi-identifier; found 'diagnosis'"),
        ({"merge": ["rase"]}, "column 'rase': column missing"),
        ({"age_on": "31.12.2023"}, "--age-on: not a date; found '31.12.2023'; expected a date such as 2024-06-30"),
        (
            {"age_on": "2023-12-31", "drop": ["dob"]},
            "--age-on: no quasi-identifier holds dates of birth",
        ),
        ({"encoding": "latin1000"}, "unknown encoding; found 'latin1000'"),
    ],
)
def test_options_that_do_not_fit_the_columns_are_refused(folder, options, message):
    with pytest.raises(InputError) as caught:
        drafted(folder, own_files.hospital(200, 120), **options)
    assert message in str(caught.value)


# A survey.


def survey_files(folder):
    table = own_files.survey(400)
    labels = {"value_labels": own_files.VALUE_LABELS, "variable_labels": own_files.COLUMN_LABELS}
    table.to_stata(folder / "survey.dta", write_index=False, **labels)
    pyreadstat.write_sav(
        table,
        folder / "survey.sav",
        column_labels=own_files.COLUMN_LABELS,
        variable_value_labels=own_files.VALUE_LABELS,
    )
    table.to_csv(folder / "survey.csv", index=False)
    return table


def test_a_survey_with_labels_is_drafted_run_and_shared(folder, reidsim_):
    file = "survey.sav"
    table = survey_files(folder)
    reidsim_(
        "new", file, "--quasi-identifier", "roof", *(f"--quasi-identifier={name}" for name in ("sex", "age", "hhcivil"))
    )
    content = tomllib.loads((folder / "survey/survey.toml").read_text(encoding="utf-8"))
    assert content["release"] == {"path": f"../{file}", "household": "ori_hid"}
    reidsim_("run", "survey/survey.toml", "-o", "results", "--set", 'publisher.policies=["no-protection"]')
    reidsim_("share", "results", "-o", "shared.csv", "--policy", "no-protection", "--accept-risk")
    shared = pd.read_csv("shared.csv", dtype=str, keep_default_na=False)
    own = {name: table[name].map(own_files.VALUE_LABELS[name]) for name in ("roof", "sex", "hhcivil")}
    own["age"] = table["age"].map(lambda age: "" if pd.isna(age) else f"{age:.0f}")
    assert Counter(zip(*(shared[name] for name in own), strict=True)) == Counter(zip(*own.values(), strict=True))


def test_codes_of_a_survey_are_no_quantities(folder):
    table = survey_files(folder)
    named = ["roof", "sex", "age", "hhcivil"]
    draft = draft_scenario(folder / "survey.csv", folder / "draft", DraftOptions(quasi_identifier=named))
    kinds = {column.profile.name: column.profile.kind for column in draft.choice.chosen}
    assert kinds == {"roof": "category", "sex": "category", "age": "whole number", "hhcivil": "category"}
    rules = {column.profile.name: column.hierarchy.rule["rule"] for column in draft.choice.chosen}
    assert rules["age"] == "intervals"
    assert "intervals" not in {rules[name] for name in ("roof", "sex", "hhcivil")}
    (folder / "draft").mkdir()
    draft.write(folder / "draft")
    read = labels_read(Scenario.load(folder / "draft" / draft.scenario_file))
    # The file writes 4.0.
    assert read["roof"] == [f"{code:.0f}" for code in table["roof"]]
    assert read["age"].count("") == table["age"].isna().sum() > 0


# A census.


def test_a_census_extract_is_drafted_run_and_shared(folder, reidsim_):
    table = own_files.census(1_000)
    table.to_csv(folder / "census.csv", index=False)
    reidsim_("new", "census.csv")
    loaded = Scenario.load("census/census.toml")
    country = next(h for h in read_release(loaded).hierarchies if h.attribute.name == "native-country")
    assert country.attribute.size == 42
    # The levels are countries, regions, continents and suppression; missing values stay separate until suppression.
    assert country.n_groups[0] > country.n_groups[1] > country.n_groups[2] > country.n_groups[3] == 1
    at = country.attribute.categories.index
    path = [country.labels[level][country.groups[level, at("Mexico")]] for level in range(4)]
    assert path == ["Mexico", "Central America", "America", "*"]
    assert [country.labels[level][country.groups[level, at("")]] for level in range(4)] == ["", "", "", "*"]
    reidsim_("run", "census/census.toml", "-o", "results", "--set", 'publisher.policies=["no-attack"]')
    out, _ = reidsim_("share", "results", "-o", "shared.csv", "--policy", "no-attack")
    assert "no-attack: 1,000 of 1,000 records" in out
    shared = pd.read_csv("shared.csv", dtype=str, keep_default_na=False)
    values = set(shared["native-country"])
    assert values <= {"*", *(label for labels in country.labels for label in labels)}
    assert {"America", "Europe"} & values


# Values missing from the scenario's population.

PEOPLE = pd.DataFrame({"age": ["30", "40", "50"] * 40, "race": ["White", "Black", "White"] * 40})
RECORDS = pd.DataFrame({"age": ["30", "40", "50", "40"] * 10, "race": ["White", "Martian", "White", ""] * 10})


def test_values_that_the_population_lacks_are_nobodys(folder):
    PEOPLE.to_csv(folder / "everybody.csv", index=False)
    recipe = 'kind = "counts"\nfile = "everybody.csv"\n[columns]\nage = "age"\nrace = "race"\n'
    (folder / "everybody.toml").write_text(recipe)
    draft, loaded = drafted(folder, RECORDS, population="everybody.toml", unmatched_unique=["race"])
    assert [column.profile.name for column in draft.choice.chosen] == ["age", "race"]
    assert [warning for warning in draft.warnings if "match no person" in warning] == [
        "column 'race': 20 rows with a value that no person in the population has, such as 'Martian'; these rows match "
        "no person"
    ]
    study = build_study(loaded)
    assert set(study.lattice.domain["race"].categories) == {"White", "Black", "Martian", ""}
    linker = study.linker("journalist")
    of = study.cell_of_record[:4]
    # 40 people of each age with its race; a value that nobody has is unique unless it is suppressed.
    assert linker.group_sizes.at(0)[of].tolist() == [40, 1, 40, 1]
    suppressed = study.lattice.strides[1] * (study.lattice.shape[1] - 1)
    assert linker.group_sizes.at(suppressed)[of].tolist() == [40, 40, 40, 40]
    # With `unknown = "error"`, such values are an error.
    text = (folder / "draft/hospital.toml").read_text().replace('unknown = "nobody"', 'unknown = "error"')
    (folder / "draft/hospital.toml").write_text(text)
    with pytest.raises(InputError, match="row 2, column 'race': value outside the categories of 'race'"):
        build_study(Scenario.load(folder / "draft/hospital.toml"))


# Missing values.


def test_a_file_too_large_to_search_is_drafted_run_and_shared(folder, reidsim_, monkeypatch):
    rows = 800
    for module in ("reidsim.drafts.draft", "reidsim.games.directions.best_replies"):
        monkeypatch.setattr(f"{module}.MOST_SEARCHED", 0)
    rng = np.random.default_rng(3)
    zips = [f"{number:05d}" for number in rng.choice(np.arange(10_000, 99_999), 80, replace=False)]
    table = {
        "age": rng.integers(0, 95, rows),
        "sex": rng.choice(["F", "M"], rows),
        "zip": rng.choice(zips, rows),
        "race": rng.choice(["White", "Black", "Asian", "Other"], rows, p=[0.6, 0.2, 0.15, 0.05]),
        "marital_status": rng.choice(["married", "single", "divorced", "widowed"], rows),
        "education": rng.choice(["none", "high school", "college", "master"], rows),
    }
    pd.DataFrame(table).to_csv("large.csv", index=False)
    reidsim_("new", "large.csv")
    text = Path("large/large.toml").read_text()
    assert tomllib.loads(text)["adversary"]["direction"] == "both"
    assert "too large to find the cheapest release" in text
    reidsim_("run", "large/large.toml", "-o", "results")
    out, _ = reidsim_("share", "results", "-o", "shared.csv", "--policy", "no-attack")
    assert "; within the limit of 0.0909" in out


def test_safe_harbor_suppresses_missing_values_and_names_the_row_that_it_cannot_take(folder):
    rows = ["30,37203", ",37203", "95,", "40,37203", "unknown,37203"]
    text = (
        '[release]\npath = "people.csv"\n'
        '[attributes.age]\nhierarchy = {{ rule = "table", file = "ages.csv" }}\n'
        '[attributes.zip]\nhierarchy = {{ rule = "prefix", digits = [3], suppress = {suppress} }}\n'
        '[safe_harbor]\nage = "age"\nzip = "zip"\n[economics]\nbenefit = 10\nloss = 10\ncost = 1\n'
        '[adversary]\nrisk = "prosecutor"\n[publisher]\npolicies = ["safe-harbor"]\n'
    )
    (folder / "ages.csv").write_text("30;0-89;*\n40;0-89;*\n95;90+;*\n;;*\nunknown;other;*\n")
    (folder / "people.toml").write_text(text.format(suppress="true"))
    (folder / "people.csv").write_text("age,zip\n" + "\n".join(rows[:4]) + "\n")
    study = build_study(Scenario.load("people.toml"))
    levels = [study.lattice.levels(int(study.safe_harbor[cell])) for cell in study.cell_of_record]
    # Ages of 90 or more are joined, ZIP codes keep three digits, and missing values are suppressed.
    assert levels == [(0, 1), (2, 1), (1, 2), (0, 1)]
    (folder / "people.csv").write_text("age,zip\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match="row 5: attribute 'age': not a whole number; found 'unknown'"):
        build_study(Scenario.load("people.toml"))
    (folder / "people.csv").write_text("age,zip\n" + "\n".join(rows[:4]) + "\n")
    (folder / "people.toml").write_text(text.format(suppress="false"))
    with pytest.raises(
        InputError, match=r"row 3: hierarchy of 'zip', value '': the hierarchy cannot satisfy Safe Harbor"
    ):
        build_study(Scenario.load("people.toml"))


# Running time; benchmarks/first_minute.py measures how long a file takes.


@pytest.mark.parametrize("command", [["new", "stay.csv"], ["check", "wan2051"]])
def test_a_mistyped_name_is_told_before_libraries_are_loaded(folder, command):
    code = (
        f"import sys; sys.argv = ['reidsim', *{command!r}]\n"
        "from reidsim.cli import main\n"
        "try:\n    main()\nfinally:\n    print(sorted({'numba', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "[]\n")
    assert command[1] in done.stderr

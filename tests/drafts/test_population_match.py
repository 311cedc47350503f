"""Columns and values in another notation are matched to a population, or refused."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.tables import CountedTable
from reidsim.drafts.choice import match_columns
from reidsim.drafts.draft import draft_scenario
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.profile import profile_table
from reidsim.kinds.tables.build import build_study
from reidsim.populations.population import Population
from reidsim.scenarios.scenario import Scenario

CODES = {"Male": "M", "Female": "F"}


def register(people=400, seed=1, day="%Y-%m-%d"):
    """Return a register of people: birth date, sex, marital status."""
    rng = np.random.default_rng(seed)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 600, people) * 30, unit="D")
    return pd.DataFrame(
        {
            "birth_date": born.strftime(day),
            "sex": rng.choice(["Male", "Female"], people),
            "marital": rng.choice(["Single", "Married", "Widowed"], people, p=[0.45, 0.45, 0.1]),
        }
    )


def written(folder, people, records):
    people.to_csv(folder / "register.csv", index=False)
    columns = "\n".join(f'{name} = "{name}"' for name in people.columns)
    (folder / "register.toml").write_text(f'kind = "counts"\nfile = "register.csv"\n[columns]\n{columns}\n')
    records.to_csv(folder / "patients.csv", index=False)


def in_other_words(people):
    """Return records in another notation: DD.MM.YYYY, M and F, capital letters."""
    return people.assign(
        birth_date=pd.to_datetime(people["birth_date"], format="mixed").dt.strftime("%d.%m.%Y"),
        sex=people["sex"].map(CODES),
        marital=people["marital"].str.upper(),
    )


def test_letters_with_separate_accents_match_and_are_visible_in_messages(folder, reidsim_):
    """The population has o and the accent as two characters (NFD), the records have one (NFC)."""
    people = pd.DataFrame({"sex": ["F", "M"] * 20, "city": ["Bonn", "Bonn", "Köln", "Köln"] * 10})
    written(folder, people.replace("Köln", "Ko\u0308ln"), people)
    assert reidsim_("new", "patients.csv", "--population", "register.toml")[0] == 0
    drafted = Path("patients/patients.toml").read_text()
    assert tomllib.loads(drafted)["attributes"]["city"]["values"] == {"Köln": "Ko\u0308ln"}
    Path("patients/patients.toml").write_text(drafted.replace('"Köln" = ', '"Cologne" = '))
    code, _, err = reidsim_("check", "patients/patients.toml")
    assert (code, "found 'Köln'; expected one of Bonn, Ko\\u0308ln (did you mean" in err) == (2, True)


@pytest.mark.parametrize(
    "day",
    [
        "%Y-%m-%d",
        "%d.%m.%Y",
    ],
)
def test_records_in_other_words_have_the_risk_of_those_in_the_populations_words(tmp_path, day):
    people = register()
    written(
        tmp_path,
        people.assign(birth_date=pd.to_datetime(people["birth_date"]).dt.strftime(day)),
        in_other_words(people.head(80)),
    )
    options = DraftOptions(population=str(tmp_path / "register.toml"))
    draft = draft_scenario(tmp_path / "patients.csv", tmp_path / "draft", options)
    (tmp_path / "draft").mkdir()
    draft.write(tmp_path / "draft")
    assert '"M" = "Male"' in draft.files["patients.toml"] or 'M = "Male"' in draft.files["patients.toml"]
    study = build_study(Scenario.load(tmp_path / "draft" / "patients.toml"))
    assert set(study.lattice.domain.names) == {"birth_date", "sex", "marital"}
    sizes = study.linker("journalist").group_sizes.at(0)[study.cell_of_record]
    expected = people.groupby(list(people.columns))["sex"].transform("size").head(80)
    assert sizes.tolist() == expected.tolist()


@pytest.mark.parametrize("mark", ["", "NA"])
def test_empty_cells_have_the_risk_of_the_populations_missing_values(folder, reidsim_, mark):
    people = register(day="%Y")
    people.loc[::7, "marital"] = people.loc[::5, "birth_date"] = ""
    written(folder, people, people.head(80).replace("", mark))
    Path("register.toml").write_text('missing = "category"\n' + Path("register.toml").read_text())
    code, _, err = reidsim_("new", "patients.csv", "--population", "register.toml")
    assert (code, "match no person" in err) == (0, False)
    study = build_study(Scenario.load("patients/patients.toml"))
    sizes = study.linker("journalist").group_sizes.at(0)[study.cell_of_record]
    assert sizes.tolist() == people.groupby(list(people.columns))["sex"].transform("size").head(80).tolist()


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"sex": {"M": "1", "F": "2"}}, "sex"),
        ({"marital": {"WIDOWED": "Partnered"}}, "marital"),
    ],
)
def test_a_value_that_does_not_match_stops_the_command(folder, reidsim_, change, column):
    people = register()
    records = in_other_words(people.head(80)).replace(change)
    written(folder, people, records)
    code, out, err = reidsim_("new", "patients.csv", "--population", "register.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"--drop {column}" in err
    assert not (folder / "patients").exists()
    assert reidsim_("new", "patients.csv", "--population", "register.toml", "--drop", column)[0] == 0


def matched(values, categories):
    frame = pd.DataFrame({"group": values})
    population = Population.from_frame(pd.DataFrame({"group": categories}))
    return match_columns(profile_table(CountedTable.of(frame)), population)[0].get("group")


@pytest.mark.parametrize(
    ("value", "category"),
    [
        ("m", "Male"),
        ("w", "Female"),
        ("männlich", "Male"),
    ],
)
def test_near_values_are_matched(value, category):
    match = matched([value] * 4 + ["Male", "Female"], ["Male", "Female"])
    assert match.values[value] == category
    assert all(match.values.get(same, same) == same for same in ("Male", "Female"))
    assert match.strange == ()


@pytest.mark.parametrize("value", ["M", "Mar"])
def test_a_value_that_two_categories_may_mean_is_not_matched(value):
    match = matched([value, "Married", "Marked", "Single"], ["Married", "Marked", "Single"])
    assert (match.strange, match.values) == ((value,), {})


def test_numbers_are_never_near():
    match = matched(["1", "12345", "10000", "20000"], ["10000", "20000", "12346"])
    assert match.values == {}
    assert match.strange == ("1", "12345")


@examples(20)
@given(
    categories=st.lists(st.text("abcdefg", min_size=1, max_size=7), min_size=2, max_size=6, unique=True),
    data=st.data(),
)
def test_a_match_is_the_only_category_that_a_value_may_mean(categories, data):
    values = data.draw(st.lists(st.text("abcdefg", min_size=1, max_size=7), min_size=1, max_size=6))
    match = matched(values + categories * 9, categories)
    for value, category in match.values.items():
        assert value not in categories
        begin = [name for name in categories if name.startswith(value)]
        assert begin == [category]
    assert set(match.strange) == set(values) - set(categories) - set(match.values)

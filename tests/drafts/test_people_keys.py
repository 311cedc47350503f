"""Keys of people and households are detected from the data under any column names."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core import rows
from reidsim.core.errors import InputError
from reidsim.core.tables import CountedTable
from reidsim.drafts.draft import UndecidedPersonError, draft_scenario
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.people import people_keys
from reidsim.drafts.profile import profile_table


def claims(rows=2_000, people=400, seed=1, **names):
    """Return insurance claims with a number, birth date and sex per person."""
    rng = np.random.default_rng(seed)
    of = np.concatenate([np.arange(people), rng.integers(0, people, rows - people)])
    born = pd.Timestamp("1935-01-01") + pd.to_timedelta(rng.integers(0, 29_000, people), unit="D")
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    table = pd.DataFrame(
        {
            "Versichertennummer": [f"{'ABCDEFGH'[n % 8]}{100_000_000 + 7 * n}" for n in of],
            "Geburtsdatum": born[of].strftime("%d.%m.%Y"),
            "Geschlecht": rng.choice(["m", "w"], people)[of],
            "Arztnummer": rng.integers(70_000, 70_060, rows),
            "Leistungsdatum": day.strftime("%d.%m.%Y"),
            "Diagnose": rng.choice(["I10", "E11", "J45", "F32", "M54"], rows),
            "Betrag": [f"{euros:.2f}".replace(".", ",") for euros in rng.lognormal(4, 1, rows)],
        }
    )
    return table.astype("str").rename(columns=names)


def found(frame, **options):
    table = CountedTable.of(frame)
    return people_keys(table, profile_table(table), DraftOptions(**options))


@pytest.mark.parametrize("name", ["Versichertennummer", "X7"])
def test_a_number_whose_rows_agree_in_birth_date_and_sex_identifies_people(name):
    keys = found(claims(Versichertennummer=name))
    assert (keys.person, keys.household) == ((name,), None)
    assert keys.n_people == 400


def test_typing_errors_in_birth_dates_do_not_hide_people():
    table = claims()
    table.loc[::200, "Geburtsdatum"] = "01.01.1900"
    assert found(table)[:2] == (("Versichertennummer",), None)


def test_a_pair_of_columns_identifies_people_if_neither_does_alone():
    table = claims()
    person = pd.factorize(table["Versichertennummer"])[0]
    table = (
        table.drop(columns="Versichertennummer").assign(haus_nr=person % 20 + 1, pat_nr=person // 20 + 1).astype("str")
    )
    # Another pair that separates the rows of a person agrees as well; the pair with the fewest people is used.
    visit = pd.Series(10 * (person % 20 + 1) + np.arange(len(person)) % 2, name="abteilung_nr").astype("str")
    for frame in (table, pd.concat([visit, table], axis=1)):
        assert set(found(frame).person) == {"haus_nr", "pat_nr"}
        assert found(frame).n_people == 400


@pytest.mark.parametrize(
    ("outer", "inner"),
    [("hospital", "patient_id"), ("Klinik", "PatNr"), ("Haushalt", "Person"), ("Klasse", "Schülernr")],
)
@pytest.mark.parametrize("written", ["{}", "10{}", "Haus {}"])
def test_a_number_within_a_hospital_or_household_identifies_people_with_it(outer, inner, written):
    table = claims()
    person = pd.factorize(table["Versichertennummer"])[0]
    columns = {outer: [written.format(each % 8) for each in person], inner: (person // 8).astype("str")}
    keys = found(table.drop(columns="Versichertennummer").assign(**columns))
    assert (set(keys.person), keys.n_people) == ({outer, inner}, 400)


@pytest.mark.parametrize("known", [["Geschlecht"], ["Geburtsdatum"], ["Geschlecht", "Geburtsdatum"]])
def test_a_column_that_follows_from_sex_or_birth_date_is_no_part_of_a_key(known):
    table = claims(people=2_000)
    table["Form"] = table["Geschlecht"].map({"m": "Herr", "w": "Frau"})
    table["Gruppe"] = table["Geburtsdatum"].str[-2]
    assert found(table[["Arztnummer", "Form", "Gruppe", "Diagnose", *known]]).person == ()


@pytest.mark.parametrize("name", ["survey_hid", "ident_id"])
def test_a_household_key_is_found_by_its_name_or_by_where_its_people_live(name):
    rng = np.random.default_rng(3)
    household = np.sort(rng.integers(0, 300, 900))
    table = pd.DataFrame(
        {
            "identmen": 10_000 + household,
            "annee_naissance": rng.integers(1930, 2015, 900),
            "sexe": rng.choice(["F", "H"], 900),
            "logement": rng.choice(["maison", "appartement", "autre"], 300)[household],
            "taille_commune": rng.choice(list("abcdef"), 300)[household],
        }
    ).astype("str")
    table = table.rename(columns={"identmen": name})
    assert found(table)[:2] == ((), name)


def test_an_identifier_that_repeats_without_evidence_is_for_the_user_to_decide(tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"Vertragsnummer": rng.integers(0, 50, 200) + 900_000, "age": rng.integers(20, 80, 200), "plz": "10115"}
    ).astype("str")
    table = table.rename(columns={"Vertragsnummer": "policy number"})
    table.to_csv(tmp_path / "contracts.csv", index=False)
    with pytest.raises(UndecidedPersonError, match=r"'policy number' .*--one-row-per-person") as error:
        draft_scenario(tmp_path / "contracts.csv", tmp_path / "draft")
    assert error.value.columns == ("policy number",)
    by_person = draft_scenario(tmp_path / "contracts.csv", tmp_path / "draft", DraftOptions(person=["policy number"]))
    assert 'person = "policy number"' in by_person.files["contracts.toml"]
    by_row = draft_scenario(tmp_path / "contracts.csv", tmp_path / "draft", DraftOptions(one_row_per_person=True))
    assert "\nperson =" not in by_row.files["contracts.toml"]
    with pytest.raises(InputError, match="person 'policy number'"):
        reidsim.new(table)
    assert "person" in reidsim.new(table, person="policy number").scenario.scenario.release.model_dump()


def test_numbers_of_people_in_two_forms_are_refused():
    """Each number occurs once as written, and twice as a number."""
    table = pd.DataFrame({"patient": ["0007", "7", "0012", "12.0"], "age": list("3344"), "sex": list("fmmf")})
    with pytest.raises(InputError, match=r"row 2, column 'patient': a key in two forms.*expected '0007' as in row 1"):
        reidsim.new(table)
    assert reidsim.new(table, one_row_per_person=True).unit == "4 rows: each row is a person (as declared)"


def test_a_draft_changes_roles_without_reading_the_file_again(tmp_path, monkeypatch):
    table, done = claims(), []
    table.loc[0, "Diagnose"] = table.loc[1, "Diagnose"] = "C50"
    table.to_csv(tmp_path / "claims.csv", index=False)
    draft = reidsim.new(tmp_path / "claims.csv", folder=tmp_path, progress=lambda *step: done.append(step))
    assert {step[0] for step in done} == {"reading claims.csv", "examining columns"}
    monkeypatch.setattr("reidsim.drafts.preview.read_counted_table", None)
    columns = draft.columns.set_index("column")
    assert columns["role"]["Versichertennummer"] == "person key"
    assert columns["role"]["Geschlecht"] == "quasi-identifier"
    # The number of a person is the person's alone; two people have the same rare diagnosis.
    assert columns["singled_out"][["Versichertennummer", "Diagnose"]].tolist() == ["1.0000", "0.0000"]
    assert "400 people" in draft.unit
    assert not any("'Versichertennummer' is left out" in warning for warning in draft.warnings)
    changed = reidsim.new(draft.source, folder=tmp_path, drop=["Geschlecht"], one_row_per_person=True)
    assert changed.columns.set_index("column")["role"]["Geschlecht"] == "left out"
    assert changed.unit == "2,000 rows: each row is a person (as declared)"
    assert (tmp_path / "claims.toml").read_text() == changed.text != draft.text


def test_people_are_found_among_distinct_rows(tmp_path, monkeypatch):
    table = claims(rows=600, people=100)
    table.to_csv(tmp_path / "claims.csv", index=False)
    once = draft_scenario(tmp_path / "claims.csv", tmp_path / "draft")
    monkeypatch.setattr(rows, "_MOST_COMPARED", 0)
    assert draft_scenario(tmp_path / "claims.csv", tmp_path / "draft").files == once.files
    # Each row three times: as many people, with three times the rows.
    pd.concat([table] * 3).to_csv(tmp_path / "claims.csv", index=False)
    monkeypatch.undo()
    thrice = draft_scenario(tmp_path / "claims.csv", tmp_path / "draft")
    assert thrice.files == once.files
    assert (once.records, thrice.records) == (600, 1800)
    assert thrice.unit == once.unit.replace("600", "1,800")
    assert [dict(each.rows) for each in thrice.profiles] == [
        {value: 3 * number for value, number in each.rows.items()} for each in once.profiles
    ]


def test_a_key_with_missing_values_is_never_dropped_silently(tmp_path):
    table = claims()
    table.loc[7, "Versichertennummer"] = ""
    table.to_csv(tmp_path / "claims.csv", index=False)
    with pytest.raises(InputError, match="Versichertennummer"):
        draft_scenario(tmp_path / "claims.csv", tmp_path / "draft")
    with pytest.raises(InputError, match="row 8, column 'Versichertennummer': value missing"):
        draft_scenario(tmp_path / "claims.csv", tmp_path / "draft", DraftOptions(person=["Versichertennummer"]))


def test_a_pair_of_columns_counts_people_in_the_run(tmp_path):
    table = claims(rows=300, people=100)
    person = pd.factorize(table["Versichertennummer"])[0]
    table = (
        table.drop(columns="Versichertennummer").assign(haus_nr=person % 20 + 1, pat_nr=person // 20 + 1).astype("str")
    )
    by_pair = reidsim.new(table.astype("str"), quasi_identifiers=["Geschlecht", "Diagnose"])
    by_one = reidsim.new(
        table.assign(who=person).astype("str"), quasi_identifiers=["Geschlecht", "Diagnose"], person="who"
    )
    results = [drafted.scenario.with_(policies=["no-attack"]).run() for drafted in (by_pair, by_one)]
    assert results[0].manifest["released_people"] == 100
    pd.testing.assert_frame_equal(results[0].summary, results[1].summary)
    with pytest.raises(InputError, match="keep: the column is a key of persons"):
        results[0].share("no-attack", path=tmp_path / "shared.csv", keep=["pat_nr"])


@examples(25, fast=4)
@given(
    people=st.integers(60, 100),
    rows=st.integers(2, 6),
    seed=st.integers(0, 999),
    missing=st.sampled_from([0.0, 0.02]),
    shuffled=st.booleans(),
)
def test_whatever_the_names_no_file_of_several_rows_per_person_is_counted_by_rows(
    people, rows, seed, missing, shuffled
):
    table = claims(rows * people, people, seed, Versichertennummer="c1", Geburtsdatum="birthdate", Geschlecht="sex")
    rng = np.random.default_rng(seed)
    table.loc[rng.random(len(table)) < missing, "birthdate"] = ""
    if shuffled:
        table = table.sample(frac=1, random_state=seed).reset_index(drop=True)
    keys = found(table)
    assert keys.person == ("c1",)
    assert keys.n_people == people

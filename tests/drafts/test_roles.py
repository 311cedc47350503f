"""Column roles by names in seven languages, SPSS and Stata labels, and values."""

import csv
import stat
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.tables import CountedTable
from reidsim.drafts.profile import NAMES, Names, profile_table

ROWS = 240
CODES = ["I10", "E11", "J45", "F32"]
SMOKER = ["Yes", "yes", "YES", "Y", "TRUE", "1", "No", "no", "N", "FALSE", "0", "n"]


def insurance_claims():
    """Return claims of 60 insured people, as a German system exports them."""
    rng = np.random.default_rng(12)
    of = np.arange(ROWS) % 60
    born = pd.Timestamp("1935-01-01") + pd.to_timedelta(rng.integers(0, 29_000, 60), unit="D")
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, ROWS), unit="D")
    return pd.DataFrame(
        {
            "Versichertennummer": [f"{'ABCD'[n % 4]}{100_000_000 + 7 * n}" for n in of],
            "Geburtsdatum": born[of].strftime("%d.%m.%Y"),
            "Geschlecht": rng.choice(["männlich", "weiblich"], 60)[of],
            "Staatsangehörigkeit": rng.choice(["deutsch", "türkisch", "polnisch"], 60)[of],
            "Familienstand": rng.choice(["ledig", "verheiratet", "geschieden"], 60)[of],
            "Leistungsdatum": day.strftime("%d.%m.%Y"),
            "Diagnose": rng.choice(CODES, ROWS),
            "Betrag": [f"{euros:.2f}".replace(".", ",") for euros in rng.lognormal(4, 1, ROWS)],
        }
    )


def portal_export():
    """Return people of a web portal with difficult columns.

    UUIDs, free text, twelve spellings of yes and no, several diagnoses in a cell.
    """
    rng = np.random.default_rng(13)
    sets = ["|".join(sorted(rng.choice(CODES, rng.integers(1, 4), replace=False))) for _ in range(ROWS)]
    return pd.DataFrame(
        {
            "record": [f"{n:08x}-0000-4000-8000-{n * 7919:012x}" for n in range(1, ROWS + 1)],
            "age": rng.integers(18, 90, ROWS),
            "gender": rng.choice(["M", "F", "male", "Female"], ROWS),
            "race": rng.choice(["White", "Black", "Asian", "AIAN"], ROWS, p=[0.6, 0.2, 0.17, 0.03]),
            "smoker": [SMOKER[n % 12] for n in range(ROWS)],
            "diagnoses": sets,
            "note": [f"Patient {n} reports feeling better since the last visit." for n in range(ROWS)],
        }
    )


def profiles(**columns):
    table = pd.DataFrame({name: pd.Series(list(map(str, values)), dtype="str") for name, values in columns.items()})
    return {profile.name: profile for profile in profile_table(CountedTable.of(table))}


def uses(folder):
    """Return the use and the reason of each column of a draft."""
    with open(folder / "columns.csv", encoding="utf-8", newline="") as file:
        return {row["column"]: (row["use"], row["why"]) for row in csv.DictReader(file)}


def quasi_identifiers(drafted):
    columns = drafted.columns
    return columns.loc[columns["use"] == "quasi-identifier", "column"].tolist()


@pytest.mark.parametrize(
    ("concept", "names"),
    [
        ("sex", "sex Gender Geschlecht sexe sexo geslacht sesso Género"),
        ("birth date", "Geburtsdatum date_de_naissance fecha_de_nacimiento geboortedatum"),
        ("birth date", "data_de_nascimento DataDiNascita"),
        ("age", "AGE age_at_visit PatientAge ageYears Alter Âge edad leeftijd idade età"),
        ("origin", "Staatsangehörigkeit STAATSANGEHÖRIGKEIT nationalité natlty"),
        ("origin", "nacionalidad nationaliteit nacionalidade cittadinanza"),
        ("marital status", "marstat état_civil Familienstand burgerlijke_staat"),
        ("marital status", "estado.civil stato_civile situação_conjugal"),
        ("education", "educ Bildung niveau_d'études nivel_de_estudios opleiding escolaridade titolo_di_studio"),
        ("postal code", "PLZ code_postal CAP código_postal postcode CEP"),
        ("place", "Wohnort commune municipio woonplaats concelho comune code_insee"),
        ("occupation", "Beruf profession profesión beroep profissão professione"),
        ("religion", "Konfession religión godsdienst religião religione"),
        ("household", "hhsize taille_du_ménage hogar huishouden agregado_familiar Kinderzahl"),
        ("housing tenure", "tenure statut_d'occupation régimen_de_tenencia"),
        ("insurance number", "Versichertennummer KVNR Versicherten-ID numero_assure"),
        ("birth year", "yob birth_year born"),
        ("race", "race Ethnicity ethnic.group"),
        ("name", "name first_name Surname Nachname patientName"),
        ("e-mail address", "email e-mail contact_email"),
        ("telephone number", "phone tel mobile_number Fax"),
        ("social security or tax number", "ssn SocialSecurity"),
        ("record number", "id patient_id MRN patient"),
        ("address", "street home_address ip"),
    ],
)  # fmt: skip
def test_names_in_seven_languages_have_the_role_of_their_concept(concept, names):
    found = {name: NAMES.hint_of(name) for name in names.split()}
    assert {name: hint and hint.concept for name, hint in found.items()} == dict.fromkeys(found, concept)


def test_a_long_word_may_end_a_compound_and_a_short_one_may_not():
    assert NAMES.hint_of("Patientengeburtsdatum").concept == "birth date"
    for name in ("massage", "page", "average", "sexton", "hospital_name", "diagnosis", "x", "", "1", "statement"):
        assert NAMES.hint_of(name) is None, name


@pytest.mark.parametrize(
    ("concept", "values"),
    [
        ("sex", ["M", "F"] * 30),
        ("marital status", ["Divorcé(e)", "Marié(e)", "Veuf/veuve"] * 20),
        ("education", ["Licenza media", "Laurea", "Dottorato"] * 20),
        ("religion", ["katholisch", "evangelisch", "keine"] * 20 + ["katholisch"] * 60),
        ("occupation", ["jubilado", "estudiante", "desempleado"] * 20),
        ("origin", ["Frankreich", "Deutschland", "Italien"] * 20),
        ("origin", ["FR", "DE", "IT", "ES", "PT"] * 20),
        ("postal code", ["SW1A 1AA", "EC1A 1BB", "M1 1AE"] * 20),
        ("age", [*range(90)] * 3),
        ("birth date", [f"{1930 + n % 80}-0{1 + n % 9}-1{n % 9}" for n in range(400)]),
    ],
)
def test_values_tell_the_role_of_a_column_whose_name_says_nothing(concept, values):
    hint = profiles(v7=values)["v7"].hint
    assert (hint.concept, hint.source) == (concept, "values")


@pytest.mark.parametrize(
    "values",
    [
        ["y", "n"] * 30,
        ["F", "T"] * 30,
        ["flu", "asthma"] * 30,
        ["DE", "A1", "B2", "C3"] * 20,
        [*range(40, 121)] * 3,
        [f"2023-0{1 + n % 9}-1{n % 9}" for n in range(60)],
        [10115 + n for n in range(30)] * 3,
    ],
)
def test_values_that_may_be_anything_tell_no_role(values):
    assert profiles(v7=values)["v7"].hint is None


def test_spellings_of_yes_and_no_become_one_boolean_without_hand_work(folder, reidsim_):
    table = portal_export()
    table.to_csv("portal.csv", index=False)
    code, _, err = reidsim_("new", "portal.csv", "--quasi-identifier", "smoker")
    assert code == 0
    assert "'smoker': 10 spellings" in err
    content = tomllib.loads((folder / "portal" / "portal.toml").read_text(encoding="utf-8"))
    assert list(content["attributes"]) == ["age", "gender", "race", "smoker"]
    is_yes = {value: "yes" if n < 6 else "no" for n, value in enumerate(SMOKER)}
    read_as = content["attributes"]["smoker"]["values"]
    assert {value: read_as.get(value, value) for value in SMOKER} == is_yes
    assert content["attributes"]["gender"]["values"] == {"M": "male", "F": "female", "Female": "female"}
    # The run counts two values, and the shared file holds both.
    reidsim.run("portal/portal.toml", overrides={"publisher.policies": ["no-protection"]}).save("results")
    share = ("share", "results", "-o", "shared.csv", "--policy", "no-protection", "--accept-risk")
    assert reidsim_(*share)[0] == 0
    assert sorted(pd.read_csv("shared.csv", dtype=str)["smoker"]) == sorted(table["smoker"].map(is_yes))


@pytest.mark.parametrize(
    "values", [["Yes", "No"], ["0", "1", "2"], ["yes", "no", "1", "2", "3"], ["Y", "N", "U", "maybe"]]
)
def test_other_values_are_not_merged(values):
    assert profiles(x=values * 20)["x"].merged == {}


def test_cells_of_several_values_are_left_out_with_advice(folder, reidsim_):
    table, sign = portal_export(), "; "
    table["diagnoses"] = table["diagnoses"].str.replace("|", sign)
    table.to_csv("portal.csv", index=False)
    code, _, err = reidsim_("new", "portal.csv")
    assert code == 0
    assert [line for line in err.splitlines() if "'diagnoses'" in line and "split" in line]
    use, why = uses(folder / "portal")["diagnoses"]
    assert use == "left out"
    assert repr(sign.strip()) in why
    code, _, err = reidsim_("new", "portal.csv", "-o", "again", "--quasi-identifier", "diagnoses")
    assert (code, err.count("\n")) == (2, 1)
    assert "column 'diagnoses'" in err
    assert not (folder / "again").exists()


@pytest.mark.parametrize(
    "values",
    [
        ["Miller, Ada", "Smith, Ben", "Jones, Cleo"] * 20,
        ["Main Street 1; Boston", "Oak Street 2; Salem", "Elm Street 3; Boston"] * 20,
        ["1,5", "5,1", "2,5", "5,2"] * 20,
        ["18-29", "30-44", "45 or more"] * 20,
    ],
)
def test_other_values_with_such_signs_are_one_value(values):
    assert profiles(x=values)["x"].separator == ""


NAMES_FILE = """
[direct]
"record number" = ["krs"]
[known.1]
age = ["wiek"]
sex = ["płeć"]
[known.2]
caste = ["jati"]
[values]
caste = ["kshatriya", "vaishya"]
[categories]
yes = ["tak"]
no = ["nie"]
"""


def test_words_of_a_file_are_added(folder, reidsim_):
    (folder / "polski.toml").write_text(NAMES_FILE, encoding="utf-8")
    table = pd.DataFrame(
        {
            "Wiek": 20 + np.arange(60) % 30,
            "PŁEĆ": ["K", "M"] * 30,
            "pali": ["tak", "Tak", "nie", "NIE"] * 15,
            "v": ["Kshatriya", "Vaishya"] * 30,
            "krs": np.arange(60) % 50,
        }
    )
    table.to_csv("ludzie.csv", index=False)
    assert reidsim_("new", "ludzie.csv", "--names", "polski.toml", "--one-row-per-person")[0] == 0
    found = uses(folder / "ludzie")
    assert [name for name, (use, _) in found.items() if use == "quasi-identifier"] == ["Wiek", "PŁEĆ", "v"]
    assert "record number" in found["krs"][1]
    # Such a column is a direct identifier for `share`, too, although it knows nothing of the file with words.
    assert tomllib.loads((folder / "ludzie/ludzie.toml").read_text())["kept"] == {"krs": {"known_to": "everyone"}}
    assert reidsim_("run", "ludzie/ludzie.toml", "-o", "results")[0] == 0
    code, _, err = reidsim_("share", "results", "-o", "s.csv", "--policy", "no-attack", "--keep", "krs")
    assert (code, "the scenario names the column a direct identifier; found 'krs' (use --keep-identifier" in err) == (
        2,
        True,
    )
    drafted = reidsim.new(table, names="polski.toml", quasi_identifiers=["pali"], one_row_per_person=True)
    assert {profile.name: profile.distinct for profile in drafted.profiles}["pali"] == 2
    # The package's own words are kept.
    assert Names.read(folder / "polski.toml").hint_of("Geschlecht").concept == "sex"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[known.4]\nage = ['wiek']", "known"),
        ("[known.1]\nage = 'wiek'", "known.1.age"),
        ("[ages]\n", "ages"),
    ],
)
def test_a_file_of_words_with_another_layout_is_refused(folder, reidsim_, text, says):
    (folder / "names.toml").write_text(text)
    insurance_claims().to_csv("data.csv", index=False)
    code, _, err = reidsim_("new", "data.csv", "--names", "names.toml")
    assert (code, err.count("\n")) == (2, 1)
    assert "names.toml" in err
    assert says in err
    assert not (folder / "data").exists()


def test_each_command_reads_the_encoding_that_is_named(folder, reidsim_):
    insurance_claims().to_csv("abrechnung.csv", sep=";", index=False, encoding="latin-1")
    assert reidsim_("new", "abrechnung.csv", "--encoding", "latin-1")[0] == 0
    reidsim.run("abrechnung/abrechnung.toml", overrides={"publisher.policies": ["no-protection"]}).save("results")
    share = ("share", "results", "-o", "shared.csv", "--policy", "no-protection", "--accept-risk")
    code, out, _ = reidsim_(*share, "--rulebook", "rules.csv")
    assert code == 0
    # The texts count people and call them people.
    assert "60 of 60 people" in out
    if sys.platform != "win32":
        assert stat.S_IMODE((folder / "rules.csv").stat().st_mode) == 0o600
    code, _, err = reidsim_("apply", "rules.csv", "abrechnung.csv", "-o", "new.csv")
    assert (code, "abrechnung.csv" in err, "encoding" in err) == (2, True, True)
    assert reidsim_("apply", "rules.csv", "abrechnung.csv", "-o", "new.csv", "--encoding", "latin-1")[0] == 0
    shared, applied = ((folder / name).read_text(encoding="utf-8") for name in ("shared.csv", "new.csv"))
    assert applied == shared
    assert "türkisch" in applied
    columns = ("--column", "Staatsangehörigkeit", "--column", "Geschlecht")
    code, _, err = reidsim_("describe", "abrechnung.csv", *columns)
    assert (code, "abrechnung.csv" in err) == (2, True)
    assert reidsim_("describe", "abrechnung.csv", *columns, "--encoding", "latin-1")[0] == 0
    described = reidsim.describe("abrechnung.csv", columns=["Staatsangehörigkeit"], encoding="latin-1")
    assert described.cells == 3
    (folder / "people.toml").write_text(
        'kind = "counts"\nfile = "abrechnung.csv"\ndelimiter = ";"\nencoding = "latin-1"\n'
        'columns = { nation = "Staatsangehörigkeit" }\n',
        encoding="utf-8",
    )
    assert reidsim_("populate", "people.toml", "-o", "people.parquet")[0] == 0
    assert reidsim.describe("people.parquet").cells == 3


def test_a_file_with_types_has_no_encoding_to_name(folder, reidsim_):
    insurance_claims().to_parquet("claims.parquet")
    code, _, err = reidsim_("describe", "claims.parquet", "--encoding", "latin-1")
    assert (code, "latin-1" in err) == (2, True)
    with pytest.raises(InputError, match="latin-1"):
        reidsim.new("claims.parquet", encoding="latin-1")
